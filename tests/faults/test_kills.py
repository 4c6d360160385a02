"""A parent or a worker killed at a step of each stage (see trials.py; `python -m tests.faults` draws many more)."""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import trials
import victim

pytestmark = [
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes in /proc"),
    pytest.mark.filterwarnings("ignore"),
]
SECONDS = 10  # of trials that are drawn at random
STAGES = [(job, stage) for job, stages in trials.STAGES.items() for stage in stages]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> trials.Place:
    sizes = [(victim.division, "_CHUNK_BYTES"), (victim.division, "MIN_BYTES_FOR_WORKERS"), (victim.merges, "BATCH_BUDGET")]
    sizes += [
        (victim.parallel_counting, name)
        for name in ("_CHUNK_BYTES", "_SHARED_CHUNK_BYTES", "MIN_BYTES_FOR_WORKERS", "BATCH")
    ]
    before = [getattr(*size) for size in sizes]
    victim.cut_small()
    yield trials.Place(tmp_path_factory.mktemp("place"))
    for (owner, name), value in zip(sizes, before, strict=True):
        setattr(owner, name, value)


def trial_of(job: str, stage: str, **changes: object) -> trials.Trial:
    return trials.Trial(job, stage, 1, "before", "parent", 0.0, True)._replace(**changes)


@pytest.mark.slow
@pytest.mark.parametrize(("job", "stage"), STAGES)
def test_a_parent_that_is_killed(place, job, stage):
    n_killed = 0
    for nth, when in (1, "before"), (2, "after"):
        outcome = trials.run_trial(trial_of(job, stage, nth=nth, when=when), place)
        assert not outcome.problems
        n_killed += outcome.was_killed
    assert n_killed


@pytest.mark.slow
@pytest.mark.parametrize(("job", "stage"), [pair for pair in STAGES if pair[1] in trials.IN_WORKERS])
def test_a_worker_that_is_killed(place, job, stage):
    if job == "encode in threads":
        pytest.skip("has no worker processes")
    outcome = trials.run_trial(trial_of(job, stage, nth=4, whom="worker"), place)
    assert not outcome.problems
    assert outcome.was_killed


def test_one_that_is_resumed_redoes_two_parts_at_most(place):
    """Killed when nine of ten parts are noted."""
    n_parts = len(place.source.read_bytes()) / victim.CHUNK
    nth = round(0.9 * n_parts)
    outcome = trials.run_trial(trial_of("resume", "noting", nth=nth, is_older_there=False), place)
    assert not outcome.problems
    assert outcome.was_killed
    assert 1 <= outcome.n_redone <= 2


@pytest.mark.slow
def test_any_that_is_killed(place):
    source = random.Random(os.urandom(8))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        trial = trials.random_trial(source)
        assert not trials.run_trial(trial, place).problems, trial
