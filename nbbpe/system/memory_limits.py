"""Limits of memory: the user's, and those of the machine and the control groups of this process."""

from __future__ import annotations

import os
from contextlib import suppress

from .arguments import argument
from .byte_sizes import byte_size
from .control_groups import groups_of, read_file
from .excerpt import shown

LEAST = 64 * 10**6  # bytes; a lower limit would be used up by the interpreter itself
_FILES = {1: ("memory.limit_in_bytes", "memory.usage_in_bytes"), 2: ("memory.max", "memory.current")}  # by version

MemoryLimit = int | str | None


def memory_limit_of(value: MemoryLimit, machine_root: str = "/") -> int | None:
    """Return the argument `memory_limit` in bytes. It is a number of bytes, or a str such as "4GB" or "512 MiB".

    None stands for three quarters of `memory_left`, but at least LEAST, or for no limit (None) if that is not known.
    Raises TypeError or ValueError for another value.
    """
    if value is None:
        left = memory_left(machine_root)
        return None if left is None else max(3 * left // 4, LEAST)
    n_bytes = byte_size(argument("memory_limit"), value)
    if n_bytes < LEAST:
        raise ValueError(f"{argument('memory_limit')} must be at least {LEAST:,} bytes (64MB), not {shown(value)}")
    return n_bytes


def memory_left(machine_root: str = "/") -> int | None:
    """How many more bytes of memory this process may take: the least of what the machine and each control group that the
    process is in have left; None if that is not known.

    machine_root : where /proc and /sys are, for tests
    """
    left = [_left_in_machine(machine_root), *_left_in_groups(machine_root)]
    known = [n for n in left if n is not None]
    return min(known) if known else None


def _left_in_machine(root: str) -> int | None:
    with suppress(OSError, ValueError), open(os.path.join(root, "proc/meminfo"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    if root != "/":
        return None
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return None


def _left_in_groups(root: str) -> list[int | None]:
    """The bytes that each control group has left; None for one without a limit."""
    return [_left_in_group(folder, *_FILES[version]) for folder, version in groups_of("memory", root)]


def _left_in_group(folder: str, limit: str, used: str) -> int | None:
    with suppress(OSError, ValueError):  # no such file, or "max"
        most, taken = (int(read_file(folder, name)) for name in (limit, used))
        return max(most - taken + _inactive(folder), 0)
    return None


def _inactive(folder: str) -> int:
    """The bytes of cached files in a control group, which the system can drop."""
    with suppress(OSError, ValueError):
        values = dict(line.split() for line in read_file(folder, "memory.stat").splitlines())
        return int(values.get("total_inactive_file", values.get("inactive_file", 0)))
    return 0
