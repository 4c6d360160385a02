"""Several processes that train: the same merges however they are started and cut, and nothing left of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest
import texts
import warned

import nbbpe
from nbbpe.counting import counters
from nbbpe.counting.counters import WordRules
from nbbpe.counting.parallel_counting import count_files
from nbbpe.counting.word_counts import corpus_fingerprint
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import find_inputs
from nbbpe.system.workers import WorkerError

NOT_COMPILED = r"\b\w+|\W"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"".join(texts.SAMPLE.encode() + b" word%d\n\n  %d<|endoftext|>" % (i, i * i) for i in range(200)))
    return path


def in_a_worker() -> bool:
    return multiprocessing.parent_process() is not None


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_merges_are_the_same_however_workers_are_started(source, sizes, monkeypatch, method):
    wanted = nbbpe.train(source, 600, [texts.SPECIAL], workers=1)
    context = multiprocessing.get_context(method)
    monkeypatch.setattr(multiprocessing, "get_context", lambda other=None: context)
    sizes(for_workers=0, chunk=5000, counted=5000)
    assert nbbpe.train(source, 600, [texts.SPECIAL], workers=2) == wanted
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("sent", [1, 100, 1 << 18])
@pytest.mark.parametrize(
    ("pattern", "by_regex"), [("gpt2", False), ("gpt2", True), ("o200k", False), (NOT_COMPILED, False)]
)
def test_words_that_workers_hand_over_are_all_there(source, sizes, monkeypatch, pattern, by_regex, sent):
    def fingerprint(n_workers):
        inputs = find_inputs([source, source], None, "raise")
        words = count_files(
            inputs, WordRules(get_pattern(pattern), [b"<|endoftext|>"], by_regex=by_regex), n_workers, lambda n: None
        )
        return corpus_fingerprint(words)

    wanted = fingerprint(1)
    sizes(for_workers=0, chunk=9000, counted=9000, split=sent)
    taken = []
    for kind in counters.PieceCounter, counters.RegexCounter:

        def take_over(self, gathered, real=kind.take_over):
            taken.append(gathered)
            real(self, gathered)

        monkeypatch.setattr(kind, "take_over", take_over)
    for n_workers in 2, 3:
        assert fingerprint(n_workers) == wanted
    assert taken


def test_a_worker_that_is_killed_is_an_error_and_nothing_is_left(source, sizes, monkeypatch):
    real = counters.PieceCounter.count

    def count(self, window):
        if in_a_worker():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)  # so that this process does not do all tasks before the other one has begun
        return real(self, window)

    sizes(for_workers=0, chunk=2000, counted=2000)
    with monkeypatch.context() as patch:
        patch.setattr(counters.PieceCounter, "count", count)
        with pytest.raises(WorkerError, match=r"exit code -9.*fewer workers"):
            nbbpe.train(source, 300, workers=2)
    assert multiprocessing.active_children() == []
    assert nbbpe.train(source, 300, workers=2) == nbbpe.train(source, 300, workers=1)


def test_what_is_counted_goes_through_no_shared_memory_and_no_file(source, sizes, tmp_path, monkeypatch):
    """So a full /dev/shm is no matter, and nothing can be left there, however a process ends."""
    seen = []

    def told(stage, done, total):
        seen.append(sorted(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else [])
        seen.append(sorted(os.listdir(tmp_path)))

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sizes(for_workers=0, chunk=5000, counted=5000)
    told("before", 0, 0)
    nbbpe.train(source, 300, workers=3, progress=told)
    others = set(seen[0])  # of other programs
    own = [name for names in seen for name in names if str(os.getpid()) in name or "nbbpe" in name]
    assert set(own) <= others
    assert seen[1] == seen[-1] == ["text.txt"]


def test_malformed_records_are_told_once_whoever_found_them(tmp_path, sizes):
    good, bad = '{"text": "the cat sat on the mat"}\n', '{"text": 5}\n'
    path = tmp_path / "a.jsonl"
    path.write_text((good * 9 + bad) * 60)
    sizes(for_workers=0, chunk=500, counted=500)
    with pytest.warns(UserWarning, match="60 malformed records") as seen:
        tokenizer = nbbpe.train(path, 268, on_error="skip", workers=3)
    (told,) = warned.here(seen)
    assert "line 10:" in str(told.message)
    assert tokenizer.merges == nbbpe.train(documents=["the cat sat on the mat"] * 540, vocab_size=268).merges
    with pytest.raises(ValueError, match=r"a\.jsonl', line \d+0"):
        nbbpe.train(path, 268, workers=3)
