"""Tables of the results: Markdown into README.md, between its two markers, or plain text at the end of a run.

python benchmarks/report.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(1, str(ROOT))

from benchmarks.corpora import TRIAL  # noqa: E402
from benchmarks.race import Entry  # noqa: E402
from benchmarks.results import RESULTS, Section, load, number  # noqa: E402

START, END = "<!-- benchmark:start -->", "<!-- benchmark:end -->"
HEADER = ("work", "by", "seconds", "least to most", "before it", "peak MB", "of them anonymous")
LEGEND = (
    "Every run is a fresh process, and entrants take turns. Seconds are the median of the rounds, for the work alone; "
    '"before it" is the import of the library, loading a vocabulary, and a first tiny use (with nbbpe: importing numba '
    "and loading compiled kernels from disk, where they were cached before the first round). Peak memory is the PSS of "
    "all processes together, seen in a run of its own that does not count for time; pages of mapped files are in it, "
    "anonymous memory is without them."
)


def rows(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    """A row for each entry; the first one of a section has its title."""
    return [
        (title, *_cells(entry))
        for section in sections
        for title, entry in zip([section.title, *[""] * len(section.entries)], section.entries, strict=False)
    ]


def _cells(entry: Entry) -> tuple[str, ...]:
    times = sorted(run["seconds"] for run in entry.runs)
    return (
        entry.label,
        _seconds(entry.seconds),
        f"{_seconds(times[0])} to {_seconds(times[-1])} (of {len(times)})",
        _seconds(entry.seconds_before),
        _megabytes(entry.checked.get("peak_bytes")),
        _megabytes(entry.checked.get("peak_anonymous_bytes")),
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _megabytes(n_bytes: int | None) -> str:
    return "" if n_bytes is None else f"{n_bytes / 1e6:,.0f}"


def text(sections: Sequence[Section]) -> list[str]:
    """The lines of plain tables: entries, rounds one by one, claims."""
    table = [HEADER, *rows(sections)]
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADER))]
    lines = [_line(row, widths) for row in table]
    lines += ["", "rounds in seconds, in order:"]
    for section in sections:
        for entry in section.entries:
            times = " ".join(_seconds(run["seconds"]) for run in entry.runs)
            cold = {kernel for run in entry.runs for kernel in run["compiled_kernels"]}
            lines.append(f"  {section.name}, {entry.label}: {times}" + _compiled(cold))
    lines += ["", "compared results:", *(f"  {section.name}: {section.note}" for section in sections if section.note)]
    for section in sections:
        lines += ["", section.title, *(f"  {claim}" for claim in section.claims)]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of a plain table: the first two columns to the left, numbers to the right."""
    padded = [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _compiled(kernels: set[str]) -> str:
    """What to say of kernels that were compiled in measured runs."""
    if not kernels:
        return ""
    some = ", ".join(sorted(kernels)[:3]) + (", ..." if len(kernels) > 3 else "")
    return f"  ({len(kernels)} kernels were compiled in these runs: {some})"


def markdown(machine: dict[str, Any], sections: Sequence[Section]) -> list[str]:
    """The lines of the README's part: machine, figures asked for, entries."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
    memory = f", {machine['memory_gb']:g} GB" if machine["memory_gb"] else ""
    lines = [
        f"On {machine['cpu']}, {machine['processors']} processors{memory}, {machine['system']}, "
        f"Python {machine['python']}, {packages}; {_made(sections)}.",
        "",
        "| work | figure | measured | asked for |",
        "| --- | --- | ---: | --- |",
    ]
    for section in sections:
        for claim in section.claims:
            if not claim.minor:
                asked = claim.asked if claim.met else f"{claim.asked}, **short of it**"
                lines.append(f"| {section.title} | {claim.what} | {number(claim.value)} | {asked} |")
    lines += ["", f"| {' | '.join(HEADER)} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    lines += [f"| {' | '.join(row)} |" for row in rows(sections)]
    return [*lines, "", LEGEND]


def _made(sections: Sequence[Section]) -> str:
    """Date, commit and command of the sections; all that there are, where they differ."""
    made = [section.made for section in sections]
    dates, commits, commands = (sorted({str(m.get(key)) for m in made}) for key in ("date", "commit", "command"))
    commands = [f"`{command}`" for command in commands]
    return f"{' and '.join(dates)}, commit {' and '.join(commits)}, {' and '.join(commands)}"


def insert(readme: str, lines: Sequence[str]) -> str | None:
    """The README with the lines between its markers; None where it has no markers."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    return f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}" if end else None


def main() -> int:
    machine, sections = load()
    if not sections:
        print(f"no results in {RESULTS.name}: run `pytest --benchmark-only` first", file=sys.stderr)
        return 1
    lines = markdown(machine, list(sections.values()))
    path = ROOT / "README.md"
    readme = insert(path.read_text(), lines) if path.exists() and not TRIAL else None
    if readme is None:
        print("\n".join(lines))
    else:
        path.write_text(readme)
    return 0


if __name__ == "__main__":
    sys.exit(main())
