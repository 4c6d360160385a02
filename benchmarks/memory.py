"""Peak memory of a process and all its children together, with and without the pages of mapped files.

A library that maps its input holds all of it in memory as long as nobody else needs the room; one that reads it does
not. The two peaks tell these apart: the sum of all PSS (see scripts/peak_memory.py), and the part of it that no file
backs.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

sys.path.insert(1, str(Path(__file__).parents[1] / "scripts"))
from peak_memory import LARGEST, REST_FACTOR, largest_process, process_tree, proportional_set_size

INTERVAL = 0.01  # seconds between two looks: some of the work to be watched takes a few tenths of a second
METHOD = "PSS of all processes"


class Peak:
    """Context manager; afterwards `facts` has peak_bytes, peak_anonymous_bytes (None if not known) and memory_method.

    A process of its own looks every INTERVAL, or less often, so that it takes at most a tenth of its processor.
    """

    def __init__(self) -> None:
        self.facts: dict[str, int | str | None] = {}
        self._watcher: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Peak:
        if os.access("/proc/self/smaps_rollup", os.R_OK):
            command = [sys.executable, "-S", os.path.abspath(__file__), str(os.getpid())]
            self._watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._watcher.stdout is not None
            self._watcher.stdout.readline()  # it has looked once
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._watcher is None:
            peak, _ = largest_process()
            self.facts = {"peak_bytes": peak, "peak_anonymous_bytes": None, "memory_method": LARGEST}
            return
        answer, _ = self._watcher.communicate(b"stop\n")
        self.facts = {**json.loads(answer), "memory_method": METHOD}


def memory_of(pid: int) -> tuple[int, int]:
    """The PSS of a process and the part of it that no file backs, in bytes; zeros if the process has ended."""
    try:
        return proportional_set_size(pid)
    except OSError:  # it has ended
        return 0, 0


def watch(root: int) -> None:
    """Look at a process and its descendants until a line comes on stdin; then print both peaks."""
    me = os.getpid()
    peaks = (0, 0)

    def look() -> float:
        nonlocal peaks
        began = time.perf_counter()
        sizes = [memory_of(pid) for pid in process_tree(root) if pid != me]
        peaks = tuple(max(peak, sum(parts)) for peak, parts in zip(peaks, zip(*sizes, strict=True), strict=True))
        return max(INTERVAL, REST_FACTOR * (time.perf_counter() - began))

    rest = look()
    print("ready", flush=True)
    while os.getppid() == root and not select.select([sys.stdin], [], [], rest)[0]:
        rest = look()
    look()
    print(json.dumps({"peak_bytes": peaks[0], "peak_anonymous_bytes": peaks[1] or None}), flush=True)


if __name__ == "__main__":
    watch(int(sys.argv[1]))
