"""Other Python processes for tests, of the nbbpe under test: how they end, also by Ctrl-C, and what they leave; fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbbpe

PACKAGE = Path(nbbpe.__file__).resolve().parents[1]  # scripts run there, as Python looks for modules there first


# The end of a script that imported `words` and np: runs one small kernel, and prints its name if it was compiled for it.
RUN_A_KERNEL = """
text = np.frombuffer(b"abab", dtype=np.uint8)
assert words.digest_words(text, np.array([0, 4], dtype=np.int64), np.ones(1, dtype=np.int64))
if words.digest_words.was_compiled: print("digest_words")
"""

# The beginning of a script that measures its memory: `status` tells what it takes now, and the most it took since the last
# `forget_peak`, in bytes.
MEASURE = """
import gc, sys, threading
import numpy as np
import nbbpe
from nbbpe.encoding import compiled_encoder

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

def forget_peak():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

tokenizer = nbbpe.Tokenizer(
    {**{byte: bytes([byte]) for byte in range(256)}, 256: b"aa", 257: b"aaaa", 258: b"th"},
    [(b"a", b"a"), (b"aa", b"aa"), (b"t", b"h")],
)
gc.disable()  # what goes only when garbage is collected stays for long
"""


def environment(**extra: str | None) -> dict[str, str]:
    """This process's environment, with the nbbpe under test first on the path, and `extra`; None is not set."""
    path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    variables = {**os.environ, "PYTHONPATH": path, **extra}
    return {name: value for name, value in variables.items() if value is not None}


def ended(
    *arguments: object, cwd: Path = PACKAGE, stdin: str | None = None, **extra: str | None
) -> subprocess.CompletedProcess[str]:
    """How Python with these arguments ended, and what it said; `extra` is for its environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment(**extra),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def started(*arguments: object, **extra: str | None) -> subprocess.Popen[str]:
    """Python at work with these arguments, and what it prints to read."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, cwd=PACKAGE, env=environment(**extra), stdout=subprocess.PIPE, text=True)


def run(script: str, *arguments: object, **extra: str | None) -> str:
    """What a script prints; its failure is an error that shows stderr."""
    done = ended("-c", script, *arguments, **extra)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fork(work: Callable[[], object]) -> int:
    """Do something in a copy of this process, which then ends with 0, or with 1 after an error; returns its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def exit_code(child: int) -> int:
    """How a forked process ends: its exit code, or less the number of the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


_PARENT, _SESSION, _BEGAN = 1, 3, 19  # of the fields that Linux shows of a process, from its state on


def _fields(pid: int) -> list[str]:
    """What Linux shows of a living process; nothing where it has ended, though nobody may have waited for it yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return fields if fields[0] not in "ZX" else []


def beginning(pid: int) -> str:
    """When a living process was started (numbers are used again); "" where it has ended."""
    return fields[_BEGAN] if (fields := _fields(pid)) else ""


def children_of(pid: int) -> list[int]:
    """The living children of a process."""
    return _with(_PARENT, pid)


def session_of(leader: int) -> list[int]:
    """The living processes of a session, by the process that leads it."""
    return _with(_SESSION, leader)


def _with(field: int, value: int) -> list[int]:
    pids = map(int, filter(str.isdigit, os.listdir("/proc")))
    return sorted(pid for pid in pids if (fields := _fields(pid)) and int(fields[field]) == value)


class Interrupted(NamedTuple):
    """How a script ended after Ctrl-C."""

    seconds: float
    returncode: int
    stderr: str
    orphans: bool  # whether any process of it was left


def interrupt(script: str, *arguments: str, number: int = signal.SIGINT) -> Interrupted:
    """Run a script until it prints a line, then send SIGINT to it and all its children, as a terminal does (or another)."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment(), cwd=PACKAGE, start_new_session=True, **pipes)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        time.sleep(0.3)
        assert process.poll() is None, "the script ended before it could be interrupted"
        os.killpg(process.pid, number)
        start = time.monotonic()
        _, stderr = process.communicate(timeout=60)
        seconds = time.monotonic() - start
        try:
            os.killpg(process.pid, 0)
            orphans = True
        except ProcessLookupError:
            orphans = False
        return Interrupted(seconds, process.returncode, stderr, orphans)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def assert_ended_well(ended: Interrupted) -> None:
    """One traceback, of the main process, within seconds, and nobody left."""
    assert ended.stderr.count("Traceback (most recent call last)") == 1, ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt"), ended.stderr
    assert ended.returncode in (-signal.SIGINT, 1)
    assert not ended.orphans
    # A second is the promise; the rest is for a machine that does other things meanwhile. What does not end is waited for
    # for 5 seconds, which would be too long.
    assert ended.seconds < 4.5, ended.seconds
