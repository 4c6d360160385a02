"""What benchmarks found: sections with entries and claims, kept in one JSON file with facts about the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.corpora import ROOT, TRIAL, cache_folder, unfinished
from benchmarks.race import Entry

RESULTS = cache_folder() / "trial-results.json" if TRIAL else Path(__file__).parent / "results" / "results.json"
PACKAGES = ("numpy", "numba", "regex", "gigatoken", "rustbpe", "tokenizers", "tiktoken")


@dataclass
class Claim:
    """A measured value and the figure it is held against, if there is one."""

    what: str
    value: float
    figure: float | None = None
    at_least: bool = True  # else the value must be below the figure
    minor: bool = False  # not for the README

    @property
    def met(self) -> bool:
        """Whether the value reaches the figure; True where there is none."""
        return self.figure is None or (self.value >= self.figure if self.at_least else self.value < self.figure)

    def __str__(self) -> str:
        verdict = "for information" if self.figure is None else "reached" if self.met else "SHORT OF THE FIGURE"
        asked = f" (asked: {self.asked})" if self.asked else ""
        return f"{self.what}: {number(self.value)}{asked} [{verdict}]"

    @property
    def asked(self) -> str:
        """The figure in words; empty where there is none."""
        if self.figure is None:
            return ""
        return f"{'at least' if self.at_least else 'below'} {number(self.figure)}"


@dataclass
class Section:
    """One race and what it shows."""

    name: str
    title: str
    entries: list[Entry]
    claims: list[Claim] = field(default_factory=list)
    note: str = ""  # how the results were compared, and what differs between entrants
    made: dict[str, Any] = field(default_factory=dict)  # date, commit, command, load average


def number(value: float) -> str:
    """A number in as many digits as say something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def faster(ours: Entry, peer: Entry, figure: float | None) -> list[Claim]:
    """Two claims: the ratio of the medians of the work itself, and, for information, that from import to the end."""
    whole = peer.seconds_from_import / ours.seconds_from_import
    return [
        Claim(f"times as fast as {peer.label}", peer.seconds / ours.seconds, figure),
        Claim(f"times as fast as {peer.label}, import and first tiny use included", whole, minor=True),
    ]


def machine() -> dict[str, Any]:
    """The machine and the versions: results of another are not put beside those of this one."""
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
        "command": " ".join(["pytest", *(os.path.relpath(a, ROOT) if os.path.isabs(a) else a for a in arguments)]),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def load(path: Path = RESULTS) -> tuple[dict[str, Any], dict[str, Section]]:
    """The machine and the sections by name; both empty where there is no file."""
    if not path.exists():
        return {}, {}
    stored = json.loads(path.read_text())
    sections = {}
    for name, facts in stored["sections"].items():
        entries = [Entry(**entry) for entry in facts.pop("entries")]
        claims = [Claim(**claim) for claim in facts.pop("claims")]
        sections[name] = Section(entries=entries, claims=claims, **facts)
    return stored["machine"], sections


def store(section: Section, path: Path = RESULTS) -> None:
    """Put a section into the file, over an older one of its name. Sections of another machine or versions go."""
    here = machine()
    stored_machine, sections = load(path)
    if stored_machine != here:
        sections = {}
    sections[section.name] = section
    path.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(path) as target:
        data = {"machine": here, "sections": {name: asdict(sections[name]) for name in sorted(sections)}}
        target.write_text(json.dumps(data, indent=1) + "\n")
