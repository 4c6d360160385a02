"""Attributes that are worked out on first use, and wait for nobody."""

from __future__ import annotations

import threading

from nbbpe.system.lazy import lazy


class Slow:
    def __init__(self, begun: threading.Event | None = None, gate: threading.Event | None = None) -> None:
        self.begun, self.gate = begun, gate
        self.n_times = 0

    @lazy
    def value(self) -> list[int]:
        """What is asked for."""
        self.n_times += 1
        if self.begun and self.gate:
            self.begun.set()
            self.gate.wait(60)
        return []


def test_it_is_worked_out_once_for_each_instance():
    first, second = Slow(), Slow()
    assert first.value is first.value
    assert first.value is not second.value
    assert (first.n_times, second.n_times) == (1, 1)
    assert Slow.value.__doc__ == "What is asked for."


def test_nobody_waits_while_another_works_it_out():
    """As a forked process would for good, were there a lock that a thread of its parent held."""
    begun, gate = threading.Event(), threading.Event()
    slow = Slow(begun, gate)
    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(slow.value))
    thread.start()
    try:
        assert begun.wait(60)
        ended = threading.Event()
        threading.Thread(target=lambda: (Slow().value, ended.set()), daemon=True).start()
        assert ended.wait(30)
        slow.gate = None
        mine = slow.value
    finally:
        gate.set()
        thread.join()
    assert found[0] is mine is slow.value  # all have the first
