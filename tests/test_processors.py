"""system/processors.py: how many processors this process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbbpe.system import processors
from nbbpe.system.processors import usable_processors
from nbbpe.system.workers import default_workers


@pytest.fixture
def most_at_once():
    """The function, without what it remembers."""
    return processors.most_at_once.__wrapped__


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("quota", "n"),
    [
        ("max 100000", None),
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("1 0", None),
        ("0 1", None),
        ("", None),
    ],
)
def test_a_control_group_of_version_2(tmp_path, most_at_once, quota, n):
    write(tmp_path / "proc/self/cgroup", "0::/pod:1/task\n")
    assert most_at_once(str(tmp_path)) is None
    write(tmp_path / "sys/fs/cgroup/pod:1/task/cpu.max", f"{quota}\n")
    assert most_at_once(str(tmp_path)) == n
    write(tmp_path / "sys/fs/cgroup/cpu.max", "300000 100000\n")  # of a group above
    assert most_at_once(str(tmp_path)) == min(n or 3, 3)


@pytest.mark.parametrize(("quota", "n"), [("-1", None), ("250000", 3)])
def test_a_control_group_of_version_1(tmp_path, most_at_once, quota, n):
    write(tmp_path / "proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n7:memory:/x\n0::/\n")
    top = tmp_path / "sys/fs/cgroup/cpu"  # as in a container, where the path outside is not there
    write(top / "cpu.cfs_quota_us", f"{quota}\n")
    assert most_at_once(str(tmp_path)) is None
    write(top / "cpu.cfs_period_us", "100000\n")
    assert most_at_once(str(tmp_path)) == n


def test_a_group_of_another_controller_does_not_count(tmp_path, most_at_once):
    write(tmp_path / "proc/self/cgroup", "nonsense\n7:memory:/large\n4:cpu,cpuacct:/small\n")
    for name, quota in ("large", 100_000), ("small", 300_000):
        write(tmp_path / "sys/fs/cgroup/cpu" / name / "cpu.cfs_quota_us", f"{quota}\n")
        write(tmp_path / "sys/fs/cgroup/cpu" / name / "cpu.cfs_period_us", "100000\n")
    assert most_at_once(str(tmp_path)) == 3


def test_what_is_above_the_folder_of_groups_is_none(tmp_path, most_at_once):
    """A path has dots where the process is in a group that its container does not see."""
    write(tmp_path / "proc/self/cgroup", "0::/../pod\n")
    write(tmp_path / "sys/fs/cpu.max", "100000 100000\n")
    write(tmp_path / "sys/fs/cgroup/pod/cpu.max", "300000 100000\n")
    assert most_at_once(str(tmp_path)) == 3


def test_without_control_groups(tmp_path, most_at_once):
    assert most_at_once(str(tmp_path)) is None
    write(tmp_path / "proc/self/cgroup", "nonsense\nmore:nonsense\n")
    assert most_at_once(str(tmp_path)) is None


@pytest.mark.parametrize(("may_run_on", "most", "n"), [(96, 4, 4), (2, 4, 2), (5, None, 5)])
def test_there_are_as_many_workers_as_may_run_at_once(monkeypatch, may_run_on, most, n):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(may_run_on)), raising=False)
    monkeypatch.setattr(processors, "most_at_once", lambda: most)
    assert usable_processors() == default_workers() == n


def test_where_the_system_does_not_say_what_a_process_may_run_on(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(processors, "most_at_once", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert usable_processors() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_processors() == 1
