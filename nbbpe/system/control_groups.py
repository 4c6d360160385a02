"""The control groups of this process (Linux), which limit the processors and the memory of a container."""

from __future__ import annotations

import os
from collections.abc import Iterator


def groups_of(controller: str, machine_root: str = "/") -> Iterator[tuple[str, int]]:
    """Yield the folder and the version (1 or 2) of each control group that this process is in, from the top to its own.

    controller   : such as "memory"; a group of version 2 that does not have it is yielded, too, but lacks its files
    machine_root : where /proc and /sys are, for tests
    """
    try:
        with open(os.path.join(machine_root, "proc/self/cgroup"), "rb") as file:  # a group may have any name
            lines = [os.fsdecode(line).rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for line in lines:
        if len(line) < 3:
            continue
        _, controllers, path = line
        if not controllers:
            top, version = "sys/fs/cgroup", 2
        elif controller in controllers.split(","):
            top, version = f"sys/fs/cgroup/{controller}", 1
        else:
            continue
        # In a container the path may be the host's: then some of these folders are missing, and have no limit to read.
        names = [name for name in path.split("/") if name not in ("", "..")]
        for depth in range(len(names) + 1):
            yield os.path.join(machine_root, top, *names[:depth]), version


def read_file(folder: str, name: str) -> str:
    """Return the text of a file of a control group. Raises OSError if the group has no such file."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()
