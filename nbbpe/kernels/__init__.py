"""Compiled loops over NumPy arrays, one module a data structure. Nothing here knows Python objects, files or `regex`."""

from numba.core import config, event

from .compiler.notices import say

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise RuntimeError("nbbpe's kernels run only compiled: unset NUMBA_DISABLE_JIT")


class _CompileNotice(event.Listener):
    """Says once that kernels are being compiled, so that nobody wonders why the first use of any takes seconds."""

    said = False

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        if not self.said and function.__module__.startswith(__name__):
            self.said = True
            say(
                "compiling kernels for the first use of this kind on this machine, 5 to 30 seconds "
                "(`python -m nbbpe warmup` compiles all) ..."
            )

    def on_end(self, event: event.Event) -> None:
        """The end of a compilation needs no word."""


event.register("numba:compile", _CompileNotice())
