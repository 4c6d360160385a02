"""train(on_interrupt="keep"): a signal while merges are learned ends in the tokenizer so far, and at no other time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import processes
import pytest
import texts
import warned

import nbbpe

DOCUMENTS = [texts.SAMPLE, "the cat sat on the mat and ate the rat that sat there " * 3]
# Says on stdout when it learns, and after three merges waits for the end of stdin each time.
SLOW_COMMAND = """
import sys
from nbbpe.cli import main
from nbbpe.training import merges
merges.BATCH_BUDGET = 1
real, n_begun = merges.merge_loop.merge_batch, 0
class Slow:
    def __getattr__(self, name): return getattr(merge_loop, name)
    def merge_batch(self, *args):
        global n_begun
        n_begun += 1
        print("learning", flush=True)
        if n_begun >= 3:
            sys.stdin.read()
        return real(*args)
merge_loop, merges.merge_loop = merges.merge_loop, Slow()
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def small_batches(sizes):
    sizes(budget=1)


def sends(number: int, stage: str, n_times: int = 1, after: int = 3):
    """A callable for progress that sends this process a signal in a stage."""
    calls = 0

    def progress(name: str, done: int, total: int | None) -> None:
        nonlocal calls
        if name == stage:
            calls += 1
            if after <= calls < after + n_times:
                signal.raise_signal(number)

    return progress


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_merges_so_far_are_kept(number):
    whole = nbbpe.train(iter(DOCUMENTS), 330, ["<s>"])
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.warns(UserWarning, match=rf"interrupted by {number.name} after 3 of the 73 merges .*vocab_size=330"):
        kept = nbbpe.train(
            iter(DOCUMENTS), 330, ["<s>"], on_interrupt="keep", progress=sends(number, "learn merges"), workers=1
        )
    assert kept.merges == whole.merges[:3]
    assert kept.special_tokens == {"<s>": 259}
    assert kept.provenance["training"] == {**whole.provenance["training"], "interrupted": True}
    assert kept.provenance["training"]["vocab_size"] == 330
    assert "interrupted" not in whole.provenance["training"]
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == handlers


@pytest.mark.parametrize("specials", [[], ["<s>", "<pad>"]])
@pytest.mark.parametrize("options", [{}, {"tie_break": "ids", "min_frequency": 2, "max_token_length": 5}])
def test_training_that_goes_on_ends_in_the_tokenizer_of_one_go(tmp_path, specials, options):
    """From the text or its counts, however often it was interrupted, and also after it was saved."""
    pytest.importorskip("pyarrow")
    size = 300 + len(specials)
    whole = nbbpe.train(iter(DOCUMENTS), size, specials, **options)
    counts = nbbpe.count_words(iter(DOCUMENTS), special_tokens=specials)
    tok = None
    for n in range(3):
        with pytest.warns(UserWarning, match="interrupted"):
            tok = nbbpe.train(
                counts=counts,
                vocab_size=size,
                special_tokens=specials,
                start=tok,
                on_interrupt="keep",
                progress=sends(signal.SIGINT, "learn merges"),
                **options,
            )
        tok.save(tmp_path / str(n))
        tok = nbbpe.load(tmp_path / str(n))
        assert 0 < len(tok.merges) < len(whole.merges)
        assert list(tok.special_tokens.values()) == list(range(len(tok) - len(specials), len(tok)))
    for given in {"counts": counts}, {"documents": DOCUMENTS}:
        done = nbbpe.train(**given, vocab_size=size, start=tok, **options)
        assert done == whole
        assert done.special_tokens == whole.special_tokens
        assert "interrupted" not in done.provenance["training"]
    if specials:  # as always where a vocabulary is extended
        assert tok.extend(documents=DOCUMENTS, vocab_size=size, **options).special_tokens == tok.special_tokens
        assert nbbpe.train(documents=DOCUMENTS, vocab_size=size + 5, start=done).special_tokens == done.special_tokens


def test_what_was_asked_for_is_saved_with_it(tmp_path):
    with pytest.warns(UserWarning, match="interrupted"):
        kept = nbbpe.train(
            iter(DOCUMENTS), 330, tie_break="ids", on_interrupt="keep", progress=sends(signal.SIGINT, "learn merges")
        )
    kept.save(tmp_path / "tok")
    training = nbbpe.load(tmp_path / "tok").provenance["training"]
    assert (training["vocab_size"], training["tie_break"], training["interrupted"]) == (330, "ids", True)


def test_a_second_signal_raises():
    with pytest.raises(KeyboardInterrupt):
        nbbpe.train(
            iter(DOCUMENTS),
            330,
            on_interrupt="keep",
            # The second one comes in the same call, before the loop looks.
            progress=lambda *said: [signal.raise_signal(signal.SIGINT) for _ in range(2 * (said[0] == "learn merges"))],
        )


@pytest.mark.parametrize(("stage", "options"), [("count words", {"on_interrupt": "keep"}), ("learn merges", {})])
def test_otherwise_it_raises(stage, options):
    with pytest.raises(KeyboardInterrupt):
        nbbpe.train(iter(DOCUMENTS), 330, progress=sends(signal.SIGINT, stage, after=1), **options)


@pytest.mark.filterwarnings("ignore:training was interrupted")
@pytest.mark.parametrize("after", [260, 300])
def test_superwords_that_were_interrupted_do_not_go_on(after):
    """They would be learned from whole phrases: other merges than in one go."""
    asked = {"vocab_size": 320, "superwords": nbbpe.Superwords(after=after)}
    stop = sends(signal.SIGINT, "learn merges", after=10)
    kept = nbbpe.train(documents=DOCUMENTS, **asked, on_interrupt="keep", progress=stop)
    assert kept.merges == nbbpe.train(documents=DOCUMENTS, **asked).merges[: len(kept.merges)]
    with pytest.raises(ValueError, match="the training of start, with superwords, was interrupted"):
        nbbpe.train(documents=DOCUMENTS, vocab_size=320, start=kept)
    assert kept.extend(documents=DOCUMENTS, vocab_size=310).merges[: len(kept.merges)] == kept.merges


def mixture(**parity) -> nbbpe.Mixture:
    return nbbpe.Mixture({"a": iter(DOCUMENTS[:1]), "b": iter(DOCUMENTS[1:])}, parity=nbbpe.Parity(**parity))


@pytest.mark.filterwarnings("ignore:training was interrupted")
def test_parity_with_a_window_does_not_go_on():
    """Which sources the last merges were for is known no more: other ones may wait."""
    stop = sends(signal.SIGINT, "learn merges", after=10)
    kept = nbbpe.train(mixture(window=4), 320, on_interrupt="keep", progress=stop)
    with pytest.raises(ValueError, match="window depends on the last merges, and start does not record"):
        nbbpe.train(mixture(window=4), 320, start=kept)
    assert nbbpe.train(mixture(), 320, start=kept).merges[: len(kept.merges)] == kept.merges
    assert kept.extend(mixture(window=4), 320).vocab_size == 320


@pytest.mark.filterwarnings("ignore:training was interrupted")
def test_parity_after_so_many_tokens_goes_on_when_these_are_there():
    stop = sends(signal.SIGINT, "learn merges", after=10)
    kept = nbbpe.train(mixture(after=260), 320, on_interrupt="keep", progress=stop)
    whole = nbbpe.train(mixture(after=260), 320)
    for options in {"after": len(kept)}, {"after": 260}, {}:
        assert nbbpe.train(mixture(**options), 320, start=kept) == whole
    with pytest.raises(ValueError, match=r"start has \d+ tokens, fewer than after=300, .* train from the bytes again"):
        nbbpe.train(mixture(after=300), 320, start=kept)


@pytest.mark.filterwarnings("ignore:training was interrupted")
def test_with_ids_that_were_chosen_since_it_does_not_go_on():
    """They would be other ones in the vocabulary of one go."""
    stop = sends(signal.SIGINT, "learn merges", after=10)
    kept = nbbpe.train(iter(DOCUMENTS), 330, ["<s>"], on_interrupt="keep", progress=stop)
    with_gap = kept.with_special_tokens({"<pad>": 1000})
    pruned, _ = kept.prune(documents=DOCUMENTS, n=kept.vocab_size - 1, renumber=False)
    for start in with_gap, pruned:
        with pytest.raises(ValueError, match=r"ids without a token, .* add tokens with Tokenizer.extend"):
            nbbpe.train(documents=DOCUMENTS, vocab_size=1010, start=start)
    larger = with_gap.extend(documents=DOCUMENTS, vocab_size=1003)
    assert (larger.special_tokens["<pad>"], larger.vocab_size) == (1000, 1003)
    with_last = kept.with_special_tokens(["<pad>"])
    whole = nbbpe.train(iter(DOCUMENTS), 330, ["<s>", "<pad>"])
    assert nbbpe.train(documents=DOCUMENTS, vocab_size=330, start=with_last).special_tokens == whole.special_tokens


@pytest.mark.filterwarnings("ignore:training was interrupted")
@pytest.mark.parametrize("saves", [False, True])
def test_without_tokens_that_were_dropped_since_it_does_not_go_on(tmp_path, saves):
    """The vocabulary of one go has them, at other places than where they would be made again."""
    stop = sends(signal.SIGINT, "learn merges", after=10)
    kept = nbbpe.train(iter(DOCUMENTS), 330, ["<s>"], on_interrupt="keep", progress=stop)
    smaller, _ = kept.drop([256])
    if saves:
        smaller.save(tmp_path / "tok")
        smaller = nbbpe.load(tmp_path / "tok")
    with pytest.raises(ValueError, match=r"or tokens were dropped, .* add tokens with Tokenizer.extend"):
        nbbpe.train(documents=DOCUMENTS, vocab_size=330, start=smaller)
    assert smaller.extend(documents=DOCUMENTS, vocab_size=330).merges[: len(smaller.merges)] == smaller.merges


def test_a_signal_at_the_last_merge_is_no_interruption(recwarn):
    whole = nbbpe.train(iter(DOCUMENTS), 330)

    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "learn merges" and done == 330 and not sent:
            sent.append(done)
            signal.raise_signal(signal.SIGINT)

    sent: list[int] = []
    kept = nbbpe.train(iter(DOCUMENTS), 330, on_interrupt="keep", progress=progress)
    assert sent
    assert kept.merges == whole.merges
    assert "interrupted" not in kept.provenance["training"]
    assert not warned.here(recwarn)


def test_signals_that_are_ignored_stay_so_and_other_threads_get_none():
    whole = nbbpe.train(iter(DOCUMENTS), 330)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        kept = nbbpe.train(iter(DOCUMENTS), 330, on_interrupt="keep", progress=sends(signal.SIGINT, "learn merges"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert kept.merges == whole.merges
    found = []
    thread = threading.Thread(target=lambda: found.append(nbbpe.train(iter(DOCUMENTS), 330, on_interrupt="keep")))
    thread.start()
    thread.join()
    assert found[0].merges == whole.merges


def test_another_word_is_an_error():
    with pytest.raises(ValueError, match="on_interrupt must be one of 'raise', 'keep', not 'stop'"):
        nbbpe.train(iter(DOCUMENTS), 330, on_interrupt="stop")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("keep", [True, False])
def test_the_command_saves_what_it_has(tmp_path, keep, number):
    (tmp_path / "text.txt").write_text(" ".join(DOCUMENTS))
    arguments = ["train", "text.txt", "--vocab-size", "330", "-o", "tok", *["--keep"][: int(keep)]]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_COMMAND, *arguments],
        env=processes.environment(),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "learning\n"
    os.kill(process.pid, number)
    _, stderr = process.communicate(timeout=60)
    if keep:
        assert process.returncode == 0, stderr
        assert f"nbbpe: warning: training was interrupted by {number.name} after " in stderr
        n_merges = len(nbbpe.load(tmp_path / "tok").merges)
        assert 2 <= n_merges < 20
        assert len(stderr.splitlines()) == 1
    else:
        assert process.returncode == 128 + number
        assert not Path(tmp_path / "tok").exists()
    assert set(os.listdir(tmp_path)) <= {"text.txt", "tok"}


def test_new_tokens_so_far_are_kept_where_a_vocabulary_is_extended():
    start = nbbpe.train(iter(DOCUMENTS), 280, ["<s>"])
    whole = start.extend(iter(DOCUMENTS), 330)
    with pytest.warns(UserWarning, match=r"training was interrupted by SIGINT after \d+ of the 50 new tokens"):
        tok = nbbpe.train(
            iter(DOCUMENTS),
            330,
            ["<s>"],
            start=start,
            on_interrupt="keep",
            progress=sends(signal.SIGINT, "learn merges"),
        )
    assert len(start.merges) < len(tok.merges) < len(whole.merges)
    assert tok.merges == whole.merges[: len(tok.merges)]
    assert tok.provenance["training"]["interrupted"] is True
    assert tok.extend(iter(DOCUMENTS), 330).merges == whole.merges
