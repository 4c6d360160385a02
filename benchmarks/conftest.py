"""Benchmarks run with `pytest --benchmark-only`, and only then.

NBBPE_ENFORCE=1   a benchmark fails if it does not reach a figure (otherwise only the table at the end says so)
NBBPE_BIG=1       also run benchmarks that need 20 GB of disk and ten minutes
NBBPE_ROUNDS=n    rounds of every race, instead of its default
NBBPE_TRIAL=1     small inputs and one round, to try the benchmarks themselves; results are not kept in the repository
NBBPE_BENCH_CACHE=folder   the folder for generated inputs; by default in the system's temporary folder
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report, results
from benchmarks.corpora import TRIAL
from benchmarks.race import Entry
from benchmarks.results import Claim, Section

HERE = Path(__file__).parent
FINISHED: pytest.StashKey[list[Section]] = pytest.StashKey()
ENFORCE = os.environ.get("NBBPE_ENFORCE") == "1"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FINISHED] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if HERE in item.path.parents]
    if config.getoption("--benchmark-only", default=False):
        # Otherwise pytest would say of each test that it was skipped, in thousands of lines below the results.
        config.hook.pytest_deselected(items=[item for item in items if HERE not in item.path.parents])
        items[:] = here
    else:
        for item in here:
            item.add_marker(pytest.mark.skip(reason="benchmarks run with --benchmark-only"))


@pytest.fixture(scope="session")
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Date, commit and command of this run."""
    return results.made_by(request.config.invocation_params.args)


@pytest.fixture
def conclude(request: pytest.FixtureRequest, made: dict[str, Any]) -> Callable[..., None]:
    """Stores a section, given by its fields except the last; fails if a figure is not reached and NBBPE_ENFORCE=1."""

    def finish(name: str, title: str, entries: Iterable[Entry], claims: list[Claim], note: str = "") -> None:
        section = Section(name, title, list(entries), claims, note, made)
        results.store(section)
        request.config.stash[FINISHED].append(section)
        short = [str(claim) for claim in claims if not claim.met]
        if short and ENFORCE:
            pytest.fail("\n".join(short), pytrace=False)

    return finish


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    sections = config.stash[FINISHED]
    if not sections:
        return
    terminalreporter.section("nbbpe compared with other libraries")
    if TRIAL:
        terminalreporter.write_line("a TRIAL on small inputs: these figures mean nothing")
    for line in [*report.text(sections), "", report.LEGEND]:
        terminalreporter.write_line(line)
