"""Peak memory of this process and all its children together, over a stretch of work.

    with PeakMemory() as memory:
        work()
    print(memory.peak_bytes, memory.method)

A small separate process samples the memory about every 50 ms. A thread could do that, too, but Python 3.12 and later warn
when a process that has threads forks, and work that holds the GIL would delay the samples.

The PSS (proportional set size) of all processes is added up: a page that n processes share counts 1/n in each, so memory
that forked workers share with their parent counts once. Work that maps its input holds all of it as long as no other
process needs the memory, and work that reads it does not: the part of the PSS that no file backs tells these apart. All
this needs Linux; elsewhere `PeakMemory` falls back to `getrusage`, and `method` says so.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from collections import defaultdict
from types import TracebackType

INTERVAL = 0.05  # seconds between two samples
# A sample takes time in the operating system, more for big processes; the watcher rests at least so many times as long.
REST_FACTOR = 10
PSS = "PSS of all processes"
RSS = "RSS of all processes, shared pages counted in each"
LARGEST = "the largest process since the start (getrusage)"
NOT_MEASURED = "not measured on this system"


class PeakMemory:
    """Context manager; afterwards `peak_bytes`, `peak_anonymous_bytes` (None if not measured) and `method` are set.

    peak_anonymous_bytes : the peak of memory that no file backs; it may have been at another time than the peak of all
    method : what was measured, in words
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self.peak_bytes: int | None = None
        self.peak_anonymous_bytes: int | None = None
        self.method = NOT_MEASURED
        self._interval = interval
        self._watcher: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PeakMemory:
        if os.path.exists("/proc/self/statm"):
            # -I -S: no user's modules and no site packages, so that it starts fast and stays small. A new session keeps
            # the terminal's Ctrl-C away from it.
            self._watcher = subprocess.Popen(
                [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), str(self._interval)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            assert self._watcher.stdout is not None
            self._watcher.stdout.readline()  # it has taken one sample
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.peak_bytes, self.method = largest_process()
        if self._watcher is None:
            return
        # A message, and not only a closed pipe: a forked worker that still lives holds the pipe open.
        answer, _ = self._watcher.communicate(b"stop\n")
        words = answer.split(maxsplit=2)
        if len(words) == 3:  # otherwise the watcher was ended from outside
            self.peak_bytes, self.method = int(words[0]), words[2].decode().strip()
            self.peak_anonymous_bytes = int(words[1]) if self.method == PSS else None


def largest_process() -> tuple[int | None, str]:
    """Return the peak memory in bytes of the largest process so far, this one or an ended child, and what that is."""
    try:
        import resource
    except ImportError:  # Windows
        return None, NOT_MEASURED
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak * (1 if sys.platform == "darwin" else 1024), LARGEST


def process_tree(root: int) -> list[int]:
    """Return the ids of the process `root` and of all its descendants."""
    children = defaultdict(list)
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:  # it may have ended
                # The second field is the name in parentheses and may hold spaces; the parent follows two fields later.
                children[int(file.read().rpartition(b")")[2].split()[1])].append(int(entry))
    tree = [root]
    for pid in tree:  # grows on the way
        tree += children[pid]
    return tree


def proportional_set_size(pid: int) -> tuple[int, int]:
    """Return the PSS of a process and the part of it that no file backs, in bytes; an OSError if it has ended."""
    with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        fields = {name: int(value) * 1024 for name, value, *_ in map(bytes.split, file) if name.startswith(b"Pss")}
    return fields.get(b"Pss:", 0), fields.get(b"Pss_Anon:", 0)


def process_memory(pid: int, method: str) -> tuple[int, int]:
    """Return the memory of one process and the part of it known to be anonymous, in bytes; zeros if it has ended.

    If the PSS may not be read, it is the RSS.
    """
    try:
        if method == PSS:
            with contextlib.suppress(PermissionError):
                return proportional_set_size(pid)
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), 0
    except (OSError, IndexError):
        return 0, 0


def tree_memory(root: int, method: str, without: int) -> tuple[int, int]:
    """Return the same two numbers for `root` and its descendants together, except the process `without`."""
    sizes = [process_memory(pid, method) for pid in process_tree(root) if pid != without]
    return sum(size for size, _ in sizes), sum(anonymous for _, anonymous in sizes)


def watch(pid: int, interval: float) -> None:
    """Sample `pid` and its descendants until a line comes on stdin; then print both peaks in bytes, and the method.

    Prints a line after the first sample. Ends by itself when `pid` is no longer its parent.
    """
    method = PSS if os.access(f"/proc/{pid}/smaps_rollup", os.R_OK) else RSS
    me = os.getpid()
    peaks = (0, 0)

    def look() -> None:
        nonlocal peaks
        size, anonymous = tree_memory(pid, method, without=me)
        peaks = max(peaks[0], size), max(peaks[1], anonymous)

    look()
    print("ready", flush=True)
    rest = interval
    while not select.select([sys.stdin], [], [], rest)[0]:
        if os.getppid() != pid:
            return
        began = time.perf_counter()
        look()
        rest = max(interval, REST_FACTOR * (time.perf_counter() - began))
    look()
    print(*peaks, method, flush=True)


if __name__ == "__main__":
    watch(int(sys.argv[1]), float(sys.argv[2]))
