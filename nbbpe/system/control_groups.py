"""The control groups of this process (Linux), by which containers are given less than the machine has."""

from __future__ import annotations

import os
from collections.abc import Iterator


def groups_of(controller: str, machine_root: str = "/") -> Iterator[tuple[str, int]]:
    """The folder of each control group that this process is in, from the first to its own, and its version, 1 or 2.

    controller   : such as "memory"; a group of version 2 may be without it, and then lacks its files
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
        # In a container the path may be that outside; what is then not there has no limit to be read.
        names = [name for name in path.split("/") if name not in ("", "..")]
        for depth in range(len(names) + 1):
            yield os.path.join(machine_root, top, *names[:depth]), version


def read_file(folder: str, name: str) -> str:
    """A file of a control group. Raises OSError if the group has none of this name."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()
