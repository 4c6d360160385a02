"""The results of benchmarks: sections with entries and claims, kept in one JSON file with facts about the machine."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, TRIAL, cache_folder, unfinished
from benchmarks.headlines import ROWS
from benchmarks.race import Entry

RESULTS = cache_folder() / "trial-results.json" if TRIAL else Path(__file__).parent / "results" / "results.json"
LAYOUT = 2  # of the file; to be raised when a field in it changes
MEMORY_LIMIT_MB = 200  # in addition to input and ids, if these are in memory
PACKAGES = (
    *("numpy", "numba", "regex", "pyarrow", "zstandard"),
    *("gigatoken", "rustbpe", "tokenizers", "tiktoken", "quicktok", "transformers"),
)


@dataclass
class Claim:
    """A measured value and the figure that it should reach, if there is one."""

    what: str
    value: float
    figure: float | None = None
    at_least: bool = True  # else the value must be below the figure
    row: str = ""  # of the report's first table, one of headlines.ROWS; else it is in the table of all claims only
    ours: str = ""  # the measurements of nbbpe and of the other side, in words, for that row
    theirs: str = ""
    case: str = ""  # distinguishes it from other claims of its row
    unit: str = ""  # "x" if the value is a ratio

    @property
    def met(self) -> bool:
        """Whether the value reaches the figure; True if there is none."""
        return self.figure is None or (self.value >= self.figure if self.at_least else self.value < self.figure)

    @property
    def reserve(self) -> float:
        """How many times as good as the figure the value is (below 1: short of it); without a figure, compared with 1."""
        good, bad = (self.value, self.figure or 1.0) if self.at_least else (self.figure or 1.0, self.value)
        return good / bad if bad else float("inf")

    def __str__(self) -> str:
        verdict = "for information" if self.figure is None else "reached" if self.met else "SHORT OF THE GOAL"
        goal = f" (goal: {self.goal})" if self.goal else ""
        return f"{self.what}: {number(self.value)}{goal} [{verdict}]"

    @property
    def goal(self) -> str:
        """The figure that should be reached, in words; empty if there is none."""
        if self.figure is None:
            return ""
        unit = f" {self.unit}".replace(" x", "x") if self.unit else ""
        return f"{'at least' if self.at_least else 'below'} {number(self.figure)}{unit}"


@dataclass
class Section:
    """One race and its claims."""

    name: str
    title: str
    entries: list[Entry]
    claims: list[Claim] = field(default_factory=list)
    note: str = ""  # how the results were compared, and what differs between entrants
    made: dict[str, Any] = field(default_factory=dict)  # date, commit, command, load average


def number(value: float) -> str:
    """A number with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time in a unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= (0.1 if unit == "s" else 1):
            return f"{number(seconds * factor)} {unit}"
    return f"{number(seconds * 1e9)} ns"


def rate(n_bytes: float, seconds: float) -> str:
    """Bytes in a time, in MB/s."""
    return f"{number(n_bytes / 1e6 / seconds)} MB/s"


def ratio(
    ours: Entry,
    peer: Entry,
    figure: float | None,
    row: str = "",
    *,
    fact: str = "seconds",
    detail: str = "",
    case: str = "",
    rates: bool = False,
) -> Claim:
    """How many times as fast as a peer we are: the ratio of the medians of a time, which is a fact of all runs.

    `detail` and `case` distinguish this claim from others in its section and in its row (`case` is by default the detail).
    With `rates`, the README gives MB/s instead of times.
    """
    seconds = [entry.median(fact) for entry in (ours, peer)]
    amounts = [rate(ours.runs[0]["n_bytes"], each) if rates else duration(each) for each in seconds]
    what = f"times as fast as {peer.label}{f', {detail}' if detail else ''}"
    theirs = f"{peer.library} {amounts[1]}"
    value = seconds[1] / seconds[0]
    return Claim(what, value, figure, row=row, ours=amounts[0], theirs=theirs, case=case or detail, unit="x")


def faster(ours: Entry, peer: Entry, figure: float | None, row: str = "", case: str = "") -> list[Claim]:
    """Two claims: the ratio of the median times of the work itself and, for information, of those from import to the
    end."""
    whole = peer.seconds_from_import / ours.seconds_from_import
    return [
        ratio(ours, peer, figure, row, case=case),
        Claim(f"times as fast as {peer.label}, import and first tiny use included", whole, unit="x"),
    ]


def memory(entry: Entry) -> Claim:
    """A claim on peak memory, without input and ids that must be in memory."""
    n_bytes = entry.checked.get("held_bytes", 0)
    peak = entry.peak_mb - n_bytes / 1e6
    besides = f" besides {n_bytes / 1e6:,.0f} MB of input and ids" if n_bytes else ""
    return Claim(f"MB of peak memory{besides}, {entry.label}", peak, MEMORY_LIMIT_MB, at_least=False, unit="MB")


def two_workers(two: Entry, one: Entry, figure: float | None) -> list[Claim]:
    """Claims on two workers compared with one: how many times as fast they are, their processor time and peak memory."""
    return [
        ratio(two, one, figure),
        Claim(
            "times the processor time of one worker",
            two.median("processor_seconds") / one.median("processor_seconds"),
            at_least=False,
            unit="x",
        ),
        memory(two),
    ]


def within(seconds: float, limit: float, what: str, row: str = "", theirs: str = "", case: str = "") -> Claim:
    """A claim that a time is below a limit; `theirs` is what the README compares it with."""
    ours = duration(seconds)
    return Claim(f"seconds {what}", seconds, limit, False, row=row, ours=ours, theirs=theirs, case=case, unit="s")


def machine() -> dict[str, Any]:
    """The machine and the versions: results of other machines or versions are not compared with these."""
    cpu = platform.processor()
    memory = None
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9, 1)
    except (OSError, ValueError, AttributeError):
        pass
    return {
        "cpu": cpu or platform.machine(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": memory,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def made_by(arguments: Iterable[str]) -> dict[str, Any]:
    """When and how a section is made: date, commit, command, and how busy the machine was before it."""
    return {
        "date": date.today().isoformat(),
        "commit": _git("rev-parse", "--short", "HEAD") + ("+changes" if _git("status", "--short", "nbbpe") else ""),
        "command": shlex.join(["pytest", *(os.path.relpath(a, ROOT) if os.path.isabs(a) else a for a in arguments)]),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def load(path: Path = RESULTS) -> tuple[dict[str, Any], dict[str, Section]]:
    """The machine and the sections by name; both empty if there is no file, or one of another layout."""
    if not path.exists():
        return {}, {}
    stored = json.loads(path.read_text())
    if stored.get("layout") != LAYOUT:
        return {}, {}
    sections = {}
    for name, facts in stored["sections"].items():
        entries = [Entry(**entry) for entry in facts.pop("entries")]
        claims = [Claim(**claim) for claim in facts.pop("claims")]
        sections[name] = Section(entries=entries, claims=claims, **facts)
    return stored["machine"], sections


def store(section: Section, path: Path = RESULTS) -> None:
    """Put a section into the file, in place of an older one of its name. Sections of other machines or versions are
    removed.

    Raises ValueError for a claim whose row is unknown.
    """
    for claim in section.claims:
        if claim.row and claim.row not in ROWS:
            raise ValueError(f"there is no row {claim.row!r} in headlines.py")
    here = machine()
    stored_machine, sections = load(path)
    if stored_machine != here:
        sections = {}
    sections[section.name] = section
    path.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(path) as target:
        data = {"layout": LAYOUT, "machine": here, "sections": {name: asdict(sections[name]) for name in sorted(sections)}}
        target.write_text(json.dumps(data, indent=1) + "\n")
