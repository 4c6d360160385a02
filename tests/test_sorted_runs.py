"""Words sorted in memory and merged from runs: equal to Python's sort of bytes, and to sums of counts, on any words."""

from __future__ import annotations

import os

import naive
import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from nbbpe.counting import sorted_runs
from nbbpe.counting.sorted_runs import RunFolder, concatenate, in_blocks, merged, read_run, sorted_words, write_run
from nbbpe.counting.word_counts import WordCounts, words_from_dict
from nbbpe.kernels.machine.intrinsics import PADDING

# Few different bytes, zero among them, so that prefixes are equal, padded ones too; some are longer than a prefix.
word = st.lists(st.sampled_from([0, 1, 97, 255]), max_size=12).map(bytes) | st.sampled_from(
    [b"a" * n + end for n in (7, 8, 9, 16) for end in (b"", b"\0", b"b")]
)
pairs = st.lists(st.tuples(word, st.integers(1, 2**40)), max_size=60)


def words_of(items: list[tuple[bytes, int]]) -> WordCounts:
    """Words that may be there several times."""
    return concatenate([words_from_dict({word: count}) for word, count in items])


def items_of(words: WordCounts) -> list[tuple[bytes, int]]:
    text, starts = words.text.tobytes(), words.starts.tolist()
    return [(text[start:end], n) for start, end, n in zip(starts, starts[1:], words.counts.tolist(), strict=False)]


@given(pairs)
def test_sorted_words_are_those_of_pythons_sort(items):
    assert items_of(sorted_words(words_of(items))) == naive.add_up(items)


@settings(max_examples=examples(10, 100))
@given(st.lists(pairs, max_size=6), st.sampled_from([1, 40, 10**6]))
def test_merged_streams_are_as_if_sorted_together(streams, block):
    runs = [in_blocks(sorted_words(words_of(items)), block) for items in streams]
    found = [each for batch in merged(runs) for each in items_of(batch)]
    assert found == naive.add_up([each for items in streams for each in items])


def test_many_equal_prefixes_cost_no_square():
    rng = np.random.default_rng(0)
    items = [(b" understand" + rng.bytes(3), int(n)) for n in rng.integers(1, 9, 30_000)]
    assert items_of(sorted_words(words_of_many(items))) == naive.add_up(items)


def test_sorting_many_words_is_interrupted_by_ctrl_c(monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    words = words_of_many([(b"%d" % i, 1) for i in range(1 << 17)])
    monkeypatch.setattr(sorted_runs, "interruptible", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sorted_words(words)


def words_of_many(items: list[tuple[bytes, int]]) -> WordCounts:
    """As words_of, for many."""
    text = np.frombuffer(b"".join(word for word, _ in items) + bytes(64), dtype=np.uint8)
    starts = np.cumsum([0, *(len(word) for word, _ in items)], dtype=np.int64)
    return WordCounts(text, starts, np.array([n for _, n in items], dtype=np.int64))


def test_blocks_hold_as_many_words_as_fit_and_one_at_least():
    lengths = [3, 1, 40, 100, 2, 5, 5]
    words = words_from_dict({bytes([65 + i]) * n: 1 for i, n in enumerate(lengths)})
    for n_bytes in range(1, sum(lengths) + 16 * len(lengths) + 2):
        wanted: list[list[int]] = []
        for n in lengths:
            if wanted and sum(wanted[-1]) + n + 16 * (len(wanted[-1]) + 1) <= n_bytes:
                wanted[-1].append(n)
            else:
                wanted.append([n])
        assert [np.diff(block.starts).tolist() for block in in_blocks(words, n_bytes)] == wanted


def test_a_run_is_read_as_it_was_written(tmp_path, sizes):
    sizes(run_block=50)
    items = naive.add_up([(b"w%d" % (i * i), i) for i in range(1, 100)] + [(b"x" * 500, 7)])
    run = write_run(str(tmp_path / "a.run"), in_blocks(words_of(items), 300))
    n_text = sum(n * len(word) for word, n in items)
    assert (run.n_words, run.longest, run.total, run.n_text) == (100, 500, sum(n for _, n in items), n_text)
    blocks = list(read_run(run))
    assert len(blocks) > 10
    assert all(len(block.text) == block.starts[-1] + PADDING for block in blocks)
    assert [each for block in blocks for each in items_of(block)] == items
    for factor in 2, 3:
        multiplied = [each for block in read_run(run._replace(factor=factor)) for each in items_of(block)]
        assert multiplied == [(word, factor * n) for word, n in items]


def test_more_runs_than_are_merged_at_a_time_are_merged_in_steps_and_removed(tmp_path, sizes):
    sizes(runs=3, run_block=64)
    folder = RunFolder(str(tmp_path))
    items = [[(b"%d" % (i * j % 97), j + 1) for j in range(40)] for i in range(11)]
    runs = [folder.write([sorted_words(words_of(each))]) for each in items]
    found = [each for batch in folder.merge(runs) for each in items_of(batch)]
    assert found == naive.add_up([each for some in items for each in some])
    assert os.listdir(tmp_path) == []


def test_a_run_that_was_cut_is_an_error_wherever_that_was(tmp_path):
    run = write_run(str(tmp_path / "a.run"), [words_of([(b"abc", 1), (b"abd", 2)]), words_of([(b"b", 3)])])
    for size in range(os.path.getsize(run.path) - 1, -1, -1):
        os.truncate(run.path, size)
        with pytest.raises(OSError, match=r"a\.run', a temporary file of counted words, has been cut"):
            list(read_run(run))
        with pytest.raises(OSError, match=r"has been cut: no other program may change it$"):  # also if written again
            write_run(str(tmp_path / "b.run"), read_run(run))


def test_a_run_that_cannot_be_written_is_an_error_that_says_how_to_choose_another_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="TMPDIR names another folder") as caught:
        write_run(str(tmp_path / "missing" / "a.run"), [])
    assert caught.value.filename == str(tmp_path)


def test_sums_of_counts_are_exact():
    for counts in [2**62] * 2, [2**62, 2**62, 3], [2**62, 2**62, 2**62, 3], [2**63 - 1] * 9, []:
        assert sorted_runs.total_of(np.array(counts, dtype=np.int64)) == sum(counts)
    words = words_from_dict({b"abcd": 2**62 + 1, b"": 2**62, b"xy": 3})
    assert sorted_runs.n_text_of(words) == 4 * (2**62 + 1) + 6


def test_the_memory_of_words_is_that_of_their_arrays():
    words = words_from_dict({b"%d" % i: i for i in range(1, 1000)})
    assert sorted_runs.n_bytes_of(words) == sum(each.nbytes for each in words) - PADDING - 8
