"""How many processors this process may use."""

from __future__ import annotations

import functools
import os
from contextlib import suppress

from .control_groups import groups_of, read_file


def usable_processors() -> int:
    """How many processors this process may run on, or fewer if a control group limits its time (`docker run --cpus`)."""
    try:
        n = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        n = os.cpu_count() or 1
    most = most_at_once()
    return n if most is None else min(n, most)


@functools.cache  # reading the files takes longer than encoding a short text
def most_at_once(machine_root: str = "/") -> int | None:
    """How many processors' time the control groups of this process give it, rounded up; None if they do not limit it.

    machine_root : where /proc and /sys are, for tests
    """
    quotas = [_quota(folder, version) for folder, version in groups_of("cpu", machine_root)]
    return min([n for n in quotas if n is not None], default=None)


def _quota(folder: str, version: int) -> int | None:
    """As `most_at_once`, for one group: the processor time that it may use per period, divided by the period."""
    with suppress(OSError, ValueError):  # no such file, or "max"
        if version == 2:
            quota, period = map(int, read_file(folder, "cpu.max").split())
        else:
            quota, period = int(read_file(folder, "cpu.cfs_quota_us")), int(read_file(folder, "cpu.cfs_period_us"))
        if quota > 0 and period > 0:  # -1 for no limit
            return -(-quota // period)
    return None
