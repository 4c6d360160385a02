"""Time and peak memory of the stages of a job, and the table of them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from peak_memory import PeakMemory
from progress_bar import ProgressBar

MB = 1e6


class NbbpeProgress:
    """To be passed to nbbpe as `progress`: shows a bar for each stage that nbbpe reports, and times it.

    `seconds` has the time of each stage by name. A stage lasts from the end of the one before it, or from the making of
    this object, to its own last report.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = self._last = time.perf_counter()
        self._bar: ProgressBar | None = None

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self.seconds or self._bar is None:
            self.close()
            self._began = self._last
            self._bar = ProgressBar(stage, total, unit="")
        self._last = time.perf_counter()
        self.seconds[stage] = self._last - self._began
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@dataclass
class Stage:
    """One stage of a job, as measured."""

    name: str
    n_bytes: int | None  # of text it works on, where a speed makes sense
    seconds: float = 0.0
    peak_bytes: int | None = None
    parts: dict[str, float] = field(default_factory=dict)  # seconds of what it consists of, by name


@dataclass
class StageLog:
    """The stages of a job, in order."""

    stages: list[Stage] = field(default_factory=list)
    memory_method: str = ""

    @contextlib.contextmanager
    def stage(self, name: str, n_bytes: int | None = None) -> Iterator[NbbpeProgress]:
        """Measure the enclosed work as a stage; its name goes to stderr when it starts.

        Yields a callable for nbbpe's `progress`, whose stages become the parts of this one. A stage that raises is not
        recorded.
        """
        print(f"{name} ...", file=sys.stderr, flush=True)
        stage = Stage(name, n_bytes)
        with PeakMemory() as memory:
            progress = NbbpeProgress()
            began = time.perf_counter()
            try:
                yield progress
            finally:
                progress.close()
            stage.seconds = time.perf_counter() - began
        stage.peak_bytes, stage.parts = memory.peak_bytes, progress.seconds
        self.stages.append(stage)
        self.memory_method = memory.method

    def table(self) -> list[str]:
        """Return the lines of an aligned table: the stages with their parts, the slowest stage marked, and the sum."""
        slowest = max(self.stages, key=lambda stage: stage.seconds)
        peaks = [stage.peak_bytes for stage in self.stages if stage.peak_bytes is not None]
        rows = [("stage", "seconds", "peak memory", "MB/s", "")]
        for stage in self.stages:
            peak = "-" if stage.peak_bytes is None else f"{stage.peak_bytes / MB:,.0f} MB"
            speed = f"{stage.n_bytes / MB / max(stage.seconds, 1e-9):,.1f}" if stage.n_bytes else ""
            rows.append((stage.name, f"{stage.seconds:,.2f}", peak, speed, "<- most time" if stage is slowest else ""))
            if len(stage.parts) > 1:
                rows += [(f"  {name}", f"{seconds:,.2f}", "", "", "") for name, seconds in stage.parts.items()]
        total = sum(stage.seconds for stage in self.stages)
        rows.append(("all", f"{total:,.2f}", f"{max(peaks) / MB:,.0f} MB" if peaks else "-", "", ""))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)), row[4]]).rstrip()
            for row in rows
        ]
        return [*lines, f"(peak memory: {self.memory_method})"]
