"""Measurements in fresh processes, all entrants in each round; results are compared before times count."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from unittest import SkipTest

from benchmarks.corpora import TRIAL

MEASURE = Path(__file__).with_name("measure.py")
Facts = dict[str, Any]
BEFORE = ("import_seconds", "import_numba_seconds", "vocabulary_seconds", "load_seconds")  # a run may have these


class MeasurementError(Exception):
    """A measured process failed; the message has the last lines of its stderr."""


@dataclass
class Entry:
    """The measurements of one entrant of a race."""

    label: str
    checked: Facts = field(default_factory=dict)  # the run whose memory was watched; its time does not count
    runs: list[Facts] = field(default_factory=list)  # the rounds that count

    @property
    def library(self) -> str:
        """The library, without the way it is used."""
        return self.runs[0]["library"].partition("-")[0]

    def median(self, *names: str) -> float:
        """The median over the rounds of a fact, or of the sum of several facts (missing ones are 0)."""
        return median(sum(run.get(name, 0.0) for name in names) for run in self.runs)

    @property
    def seconds(self) -> float:
        """The median time of the work itself."""
        return self.median("seconds")

    @property
    def seconds_from_import(self) -> float:
        """The median time of the work and everything before it in a process (see `seconds_before`)."""
        return self.median(*BEFORE, "seconds")

    @property
    def seconds_before(self) -> float:
        """The median time of import, loading a vocabulary and a first tiny use together."""
        return self.median(*BEFORE)

    @property
    def peak_mb(self) -> float:
        """The peak memory of all processes of this entrant together, in MB."""
        return self.checked["peak_bytes"] / 1e6

    @property
    def peak_anonymous_mb(self) -> float:
        """The same without the pages of mapped files; 0 if not known."""
        return (self.checked["peak_anonymous_bytes"] or 0) / 1e6


def measure(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Facts:
    """Run measure.py and return its facts, with `process_seconds`, the time of the whole process."""
    # Bytecode is kept, as pip does: otherwise the modules of this checkout would be compiled in each process.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(MEASURE), *arguments], capture_output=True, env=kept | dict(environment or {})
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise MeasurementError(f"{' '.join(arguments)} ended with code {done.returncode}:\n" + "\n".join(said[-20:]))
    return {**json.loads(done.stdout), "process_seconds": seconds}


def need(library: str) -> None:
    """Raise SkipTest, which skips the benchmark, unless a library is installed."""
    if importlib.util.find_spec(library) is None:
        raise SkipTest(f"{library} is not installed (the bench extra has it)")


def n_rounds(default: int) -> int:
    """The number of measured rounds: NBBPE_ROUNDS, or the default of the benchmark."""
    return int(os.environ.get("NBBPE_ROUNDS") or (1 if TRIAL else default))


def race(benchmark: Any, entrants: Mapping[str, Sequence[str]], rounds: int, same: Sequence[str] = ()) -> dict[str, Entry]:
    """Measure entrants (label -> arguments of measure.py) in interleaved rounds; the first of them is ours.

    Before the rounds, there is one run of each entrant for peak memory and for its results. The facts named in `same` must
    be equal for all entrants, then and in every round: AssertionError otherwise. `benchmark` times the whole process of
    ours.
    """
    ours, *others = entrants
    entries = {label: Entry(label, _watched(arguments)) for label, arguments in entrants.items()}
    _expect_same([entry.checked for entry in entries.values()], same)

    def run(label: str) -> None:
        entries[label].runs.append(measure(entrants[label]))

    def run_others() -> None:
        for label in others:
            run(label)

    benchmark.pedantic(run, args=(ours,), setup=run_others, rounds=n_rounds(rounds))
    _expect_same([run for entry in entries.values() for run in [entry.checked, *entry.runs]], same)
    return _named(benchmark, entries)


def _watched(arguments: Sequence[str]) -> Facts:
    """The facts of a run whose memory is watched; if that compiles kernels, which takes 100 MB, those of the next run."""
    arguments = [*arguments, "--memory"]
    facts = measure(arguments)
    return measure(arguments) if facts["compiled_kernels"] else facts


def race_inside(benchmark: Any, arguments: Sequence[str], rounds: int) -> dict[str, Entry]:
    """Like `race`, if one call of measure.py measures all entrants in turns, and compares their results: each round is a
    process."""
    entries: dict[str, Entry] = {}

    def run() -> None:
        facts = measure(arguments)
        for label, of_entrant in facts.pop("entrants").items():
            entries.setdefault(label, Entry(label)).runs.append({**facts, **of_entrant})

    measure(arguments)  # kernels are compiled and cached
    benchmark.pedantic(run, rounds=n_rounds(rounds))
    return _named(benchmark, entries)


def _named(benchmark: Any, entries: dict[str, Entry]) -> dict[str, Entry]:
    """The entries, whose times are also put into the output of pytest-benchmark."""
    benchmark.extra_info.update({f"seconds, {label}": entry.seconds for label, entry in entries.items()})
    return entries


def _expect_same(runs: Sequence[Facts], names: Sequence[str]) -> None:
    """Raise AssertionError unless the named facts are the same in all runs that have them."""
    for name in names:
        facts = [(run["library"], run[name]) for run in runs if run.get(name) is not None]
        assert len({value for _, value in facts}) == 1, f"{name} differs, so times cannot be compared: {set(facts)}"
