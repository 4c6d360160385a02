"""Compiled loops over NumPy arrays, one module a data structure. Nothing here knows Python objects, files or `regex`."""

import sys

from numba.core import event


class _CompileNotice(event.Listener):
    """Says once that kernels are being compiled, so that nobody wonders why the first run of all takes seconds."""

    said = False

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        if not self.said and function.__module__.startswith(__name__):
            self.said = True
            print("nbbpe: compiling its kernels, once for this machine (some 10 seconds) ...", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """The end of a compilation needs no word."""


event.register("numba:compile", _CompileNotice())
