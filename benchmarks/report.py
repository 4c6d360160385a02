"""Writes the results that `pytest --benchmark-only` has stored as text: `python benchmarks/report.py`.

A short table goes into README.md, between its two markers; all measurements, with goals, commands and commits, go into
benchmarks/results/REPORT.md, figures into docs/figures (see figures.py), and plain tables to the end of a test run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[1]
sys.path.insert(1, str(ROOT))

from benchmarks import figures  # noqa: E402
from benchmarks.corpora import TRIAL, unfinished  # noqa: E402
from benchmarks.headlines import README, ROWS  # noqa: E402
from benchmarks.race import Entry  # noqa: E402
from benchmarks.results import RESULTS, Claim, Section, duration, load, number  # noqa: E402

T = TypeVar("T")

START, END = "<!-- benchmark:start -->", "<!-- benchmark:end -->"
# Package indexes show the README without the other files.
REPOSITORY = "https://raw.githubusercontent.com/nbbpe/nbbpe/main"
REPORT = RESULTS.with_name("REPORT.md")
FIGURES = ROOT / "docs" / "figures"
HEADER = ("work", "by", "time", "least to most", "before it", "peak MB", "of them anonymous")
NOT_MEASURED = {
    "quicktok": "the package of this name (0.2.0) has only a BasicTokenizer, which has no split pattern and loads no "
    "vocabulary but its own, so no result of it can be compared",
}
LEGEND = (
    "Every run is a fresh process, and entrants take turns (those of short texts do so within one process). Times are the "
    "median of the rounds, for the work alone; "
    '"before it" is the import of the library, loading a vocabulary, and a first tiny use (with nbbpe: loading compiled '
    "kernels from disk, where they were cached before the first round). Peak memory is the PSS of "
    "all processes together, seen in a run of its own that does not count for time; pages of mapped files are in it, "
    "anonymous memory is without them."
)


def rows(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    """A row for each entry; the first one of a section has its title."""
    return [(title, *_cells(entry)) for section in sections for title, entry in _titled(section, section.entries)]


def _titled(section: Section, parts: Sequence[T]) -> list[tuple[str, T]]:
    """Parts of a section, the first one with its title."""
    return [("" if number else section.title, part) for number, part in enumerate(parts)]


def _cells(entry: Entry) -> tuple[str, ...]:
    times = sorted(run["seconds"] for run in entry.runs)
    return (
        entry.label,
        duration(entry.seconds),
        f"{duration(times[0])} to {duration(times[-1])} (of {len(times)})",
        duration(entry.seconds_before) if entry.seconds_before else "",
        _megabytes(entry.checked.get("peak_bytes")),
        _megabytes(entry.checked.get("peak_anonymous_bytes")),
    )


def _megabytes(n_bytes: int | None) -> str:
    return "" if n_bytes is None else f"{n_bytes / 1e6:,.0f}"


def text(sections: Sequence[Section]) -> list[str]:
    """The lines of plain tables: entries, rounds one by one, claims."""
    table = [HEADER, *rows(sections)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADER))]
    lines = [_line(row, widths) for row in table]
    lines += ["", "rounds, in order:", *(f"  {line}" for line in rounds(sections))]
    lines += ["", "compared results:", *(f"  {section.name}: {section.note}" for section in sections if section.note)]
    for section in sections:
        lines += ["", section.title, *(f"  {claim}" for claim in section.claims)]
    return lines


def rounds(sections: Sequence[Section]) -> list[str]:
    """A line for each entry: all its rounds, the median of later passes behind a slash."""
    lines = []
    for section in sections:
        for entry in section.entries:
            times = ", ".join(
                duration(run["seconds"]) + (f" / {duration(run['warm_seconds'])}" if "warm_seconds" in run else "")
                for run in entry.runs
            )
            cold = {kernel for run in entry.runs for kernel in run["compiled_kernels"]}
            lines.append(f"{section.name}, {entry.label}: {times}" + _compiled(cold))
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of a plain table: the first two columns to the left, numbers to the right."""
    padded = [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _compiled(kernels: set[str]) -> str:
    """A remark on kernels that were compiled in measured runs."""
    if not kernels:
        return ""
    some = ", ".join(sorted(kernels)[:3]) + (", ..." if len(kernels) > 3 else "")
    return f"  ({len(kernels)} kernels were compiled in these runs: {some})"


def short(machine: dict[str, Any], sections: Sequence[Section], plots: Sequence[str] = ()) -> list[str]:
    """The lines of the README's part: a table of a few rows, the machine, the figures (by their paths)."""
    lines = ["| task | nbbpe | other library | times as fast |", "| --- | ---: | ---: | ---: |"]
    for row, title in README.items():
        if worst := _worst(sections, row):
            lines.append(f"| {title} | {worst.ours} | {worst.theirs} | {_times_as_fast(worst)} |")
    lines += [
        "",
        f"{_machine(machine)}. Medians of several runs, on text that the tokenizer has not seen, except for the chat "
        "message and transformers: all libraries have encoded those texts before. Every result is checked to equal that of "
        "the other library. A row for several texts shows the one with the smallest lead. All texts, runs, memory, "
        "versions and commands: [benchmarks/results/REPORT.md]"
        "(https://github.com/nbbpe/nbbpe/blob/main/benchmarks/results/REPORT.md).",
    ]
    for plot in plots:
        lines += ["", f"![{figures.FIGURES[Path(plot).stem][0]}]({REPOSITORY}/{plot})"]
    return lines


def _worst(sections: Sequence[Section], row: str) -> Claim | None:
    """The claim of a row with the smallest lead over its goal; None if there are no claims."""
    claims = [claim for section in sections for claim in section.claims if claim.row == row]
    return min(claims, key=lambda claim: claim.reserve, default=None)


def _times_as_fast(claim: Claim) -> str:
    return f"{number(claim.value)}x" if claim.unit == "x" else ""


def headlines(sections: Sequence[Section]) -> list[str]:
    """The lines of a table with a row for each headline, and its goal."""
    lines = ["| work | nbbpe | compared with | ratio | goal |", "| --- | ---: | ---: | ---: | --- |"]
    for row, title in ROWS.items():
        if worst := _worst(sections, row):
            n_claims = sum(claim.row == row for section in sections for claim in section.claims)
            which = f" (least of {n_claims}: {worst.case})" if n_claims > 1 else ""
            lines.append(f"| {title}{which} | {worst.ours} | {worst.theirs} | {_times_as_fast(worst)} | {_goal(worst)} |")
    return lines


def _goal(claim: Claim) -> str:
    return claim.goal if claim.met else f"{claim.goal}, **short of it**"


def full(machine: dict[str, Any], sections: Sequence[Section]) -> list[str]:
    """The lines of the long report: all claims, entries, rounds, and how results were compared."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    lines = [
        "# All that was measured",
        "",
        f"{_machine(machine)}, {packages}. Written by `python benchmarks/report.py`.",
        "",
        "## In short",
        "",
        "Where a row stands for several cases, it shows the one with the smallest lead over its goal.",
        "",
        *headlines(sections),
        "",
        "## How it was made",
        "",
        *_made(sections),
        "",
        "## All claims",
        "",
        "| work | figure | measured | goal |",
        "| --- | --- | ---: | --- |",
    ]
    for section in sections:
        for title, claim in _titled(section, section.claims):
            lines.append(f"| {title} | {claim.what} | {number(claim.value)} | {_goal(claim)} |")
    lines += [
        "",
        "## Times and memory",
        "",
        f"| {' | '.join(HEADER)} |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows(sections)]
    lines += ["", LEGEND, "", "## All rounds", "", "In order; behind a slash the median of the later passes.", ""]
    lines += [f"- {line}" for line in rounds(sections)]
    lines += ["", "## How results were compared", ""]
    lines += [f"- {section.name}: {section.note}" for section in sections if section.note]
    return [*lines, "", "## Not measured", "", *(f"- {name}: {reason}" for name, reason in NOT_MEASURED.items())]


def _machine(machine: dict[str, Any]) -> str:
    memory = f", {machine['memory_gb']:g} GB" if machine["memory_gb"] else ""
    return (
        f"On {machine['cpu']}, {machine['processors']} processors{memory}, {machine['system']}, Python {machine['python']}"
    )


def _made(sections: Sequence[Section]) -> list[str]:
    """A line for each date, commit and command with which sections were made, and the beginnings of their names."""
    made: dict[tuple[str, ...], list[str]] = {}
    for section in sections:
        how = tuple(str(section.made.get(name)) for name in ("date", "commit", "command"))
        made.setdefault(how, []).append(section.name.partition("/")[0])
    return [
        f"- {date}, commit {commit}: `{command}` ({', '.join(dict.fromkeys(names))})"
        for (date, commit, command), names in sorted(made.items())
    ]


def insert(readme: str, lines: Sequence[str]) -> str | None:
    """The README with these lines between its markers; None if it has no markers."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}" if end else None


def write(
    machine: dict[str, Any],
    sections: Sequence[Section],
    readme_path: Path = ROOT / "README.md",
    report: Path = REPORT,
    folder: Path = FIGURES,
) -> list[str]:
    """Write figures, the long report and the README's part; returns messages about the parts that were not possible."""
    problems = []
    try:
        plots = figures.draw(sections, folder)
    except ImportError:
        problems.append('no figures: they need matplotlib (pip install "nbbpe[plot]")')
        plots = sorted(folder.glob("*.svg"))
    _write_text(report, "\n".join(full(machine, sections)) + "\n")
    names = [os.path.relpath(path, readme_path.parent) for path in plots]
    readme = insert(readme_path.read_text(encoding="utf-8"), short(machine, sections, names))
    if readme is None:
        problems.append(f"{readme_path.name} has no lines {START} and {END}, so no table was written into it")
    else:
        _write_text(readme_path, readme)
    return problems


def _write_text(path: Path, text: str) -> None:
    with unfinished(path) as target:
        target.write_text(text, encoding="utf-8")


def main(argv: Sequence[str] = ()) -> int:
    argparse.ArgumentParser(
        "report.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(argv)
    machine, found = load()
    sections = list(found.values())
    if not sections:
        print(f"no results in {RESULTS.name}: run `pytest --benchmark-only` first", file=sys.stderr)
        return 1
    if TRIAL:
        print("\n".join([*short(machine, sections), "", *full(machine, sections)]))
        return 0
    problems = write(machine, sections)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
