"""How often a source uses each token: the counts of the ids that encoding gives."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import naive
import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES, saved_as_ranks

import nbbpe
from nbbpe.kernels.encoding.count_ids import count_long_ids, count_short_ids
from nbbpe.system.workers import run_jobs
from nbbpe.vocabulary import frequencies


@given(st.lists(st.integers(0, 9), max_size=40))
def test_ids_are_counted_as_the_twin_counts_them(ids):
    expected = [Counter(ids)[token_id] for token_id in range(10)]
    for kernel, dtype in (count_short_ids, np.uint16), (count_long_ids, np.uint32):
        counts = np.full(10, 5, dtype=np.int64)
        kernel(np.array(ids, dtype=dtype), counts)
        assert (counts - 5).tolist() == expected


@given(st.lists(texts.data(), max_size=5))
def test_frequencies_are_those_of_the_ids(small, documents):
    ids = [token_id for document in documents for token_id in small.encode_ordinary(document)]
    counts = small.frequencies(documents=documents)
    assert counts.dtype == np.int64
    assert counts.tolist() == np.bincount(ids, minlength=400).tolist() if ids else not counts.any()


def test_the_sum_is_the_number_of_ids_that_are_written(small, stories, tmp_path):
    records = tmp_path / "r.jsonl"
    records.write_text("".join(json.dumps({"text": texts.SAMPLE + texts.SPECIAL}) + "\n" for _ in range(30)))
    with gzip.open(tmp_path / "s.txt.gz", "wb") as file:
        file.write(stories.read_bytes()[:10_000])
    for source in stories, records, [stories, records, tmp_path / "s.txt.gz"]:
        for allowed in None, "all", ():
            n_ids = small.encode_file(source, tmp_path / "a.bin", allowed_special=allowed)
            counts = small.frequencies(source, allowed_special=allowed)
            assert int(counts.sum()) == n_ids
            ids = np.fromfile(tmp_path / "a.bin", dtype=np.uint16)
            assert counts.tolist() == np.bincount(ids, minlength=400).tolist()


@pytest.mark.parametrize("pattern", ["gpt2", r"(?<=x)\w+|\W+"])  # one that is compiled, in threads; and in processes
def test_workers_count_the_same(pattern, stories, cut_everywhere, tmp_path):
    tok = nbbpe.train(stories, 300, [texts.SPECIAL], pattern=pattern)
    text = stories.read_bytes()[:3000]
    (tmp_path / "a.txt").write_bytes(text)
    expected = tok.frequencies(tmp_path / "a.txt", workers=1)
    cut_everywhere(100)
    told = []
    found = tok.frequencies(tmp_path / "a.txt", workers=3, progress=lambda *said: told.append(said))
    assert found.tolist() == expected.tolist()
    assert int(found.sum()) == tok.count(text)
    assert told[-1] == ("count tokens", len(text), len(text))


def test_a_wide_vocabulary_and_regex_count_the_same(small):
    wide = nbbpe.Tokenizer(dict(small.vocab) | {70_000: b"zzzz"}, small.merges, [texts.SPECIAL])
    counts = wide.frequencies(documents=[texts.SAMPLE])
    assert counts.shape == (70_001,)
    assert counts[:400].tolist() == small.frequencies(documents=[texts.SAMPLE], split_with="regex").tolist()


def test_no_array_by_id_is_made_where_an_id_is_far(small, tmp_path):
    far = small.with_special_tokens({"<|far|>": 2**31 - 2})
    (tmp_path / "a.txt").write_text("a cat")
    calls = [
        lambda: far.frequencies(documents=["a"]),
        lambda: far.truncate(far.vocab_size - 1),
        lambda: far.drop([300]),
        lambda: far.prune(documents=["a"], n=far.vocab_size - 1),
        lambda: far.report(tmp_path / "report.html", tmp_path / "a.txt"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="would be mostly empty"):
            call()


def test_malformed_records_are_skipped_with_one_warning(small, tmp_path):
    (tmp_path / "r.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    with pytest.warns(UserWarning, match="1 malformed record was skipped"):
        assert int(small.frequencies(tmp_path / "r.jsonl", on_error="skip").sum()) == 1


def test_progress_goes_on_within_a_part_and_reaches_the_size(small, tmp_path, sizes):
    path = tmp_path / "r.jsonl"
    path.write_text('{"text": "a"}\n' * 200 + "\n" * 5000)
    sizes(window=500, batch=500)
    told = []
    small.frequencies(path, workers=1, progress=lambda *said: told.append(said[1]))
    assert told[-1] == path.stat().st_size
    assert len(told) > 3


def test_skipped_records_are_named_in_the_order_of_the_source_whoever_is_ready_first(
    small, tmp_path, cut_everywhere, monkeypatch
):
    (tmp_path / "r.jsonl").write_text('{"text": 1}\n' * 20)
    cut_everywhere(20)
    monkeypatch.setattr(frequencies, "run_jobs", lambda *arguments: reversed(list(run_jobs(*arguments))))
    with pytest.warns(UserWarning, match=r"20 malformed records were skipped: .*line 1:.*line 2:.*line 3:"):
        small.frequencies(tmp_path / "r.jsonl", on_error="skip", workers=2)


def test_bytes_of_tokens_are_their_lengths_and_special_tokens_have_none(small, gpt2):
    for tok in small, gpt2:
        lengths = tok.token_bytes
        assert lengths.dtype == np.int32
        assert lengths.shape == (tok.vocab_size,)
        special = set(tok.special_tokens.values())
        assert lengths.tolist() == [0 if i in special else len(tok.vocab[i]) for i in range(tok.vocab_size)]
        counts = tok.frequencies(documents=[texts.SAMPLE])
        assert int((counts * lengths).sum()) == len(texts.SAMPLE.encode())
    gaps = nbbpe.Tokenizer(BYTES | {300: b"ab"}, [(b"a", b"b")])
    assert gaps.token_bytes[256:].tolist() == [0] * 44 + [2]


def test_unused_tokens_are_those_that_are_not_used(small):
    used = set(small.encode_ordinary("the cat"))
    assert small.unused(documents=["the cat"]).tolist() == [i for i in range(400) if i not in used and i != 399]


@given(st.lists(texts.word_counts("abc"), min_size=1, max_size=1), st.randoms(use_true_random=False))
def test_unreachable_tokens_are_those_that_the_twin_does_not_merge(found, source):
    merges, tokens = naive.train(found[0], 266)
    source.shuffle(merges)  # so that some tokens cannot be made
    tok = nbbpe.Tokenizer(dict(enumerate(tokens)), merges, pattern=None)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    lost = [i for i, token in enumerate(tokens) if naive.encode_pretoken(token, ranks) != [token]]
    assert tok.unreachable().tolist() == lost


def test_a_token_that_is_whole_only_can_be_reached(tmp_path, gpt2):
    assert saved_as_ranks([b"bc", b"abcd"], tmp_path).unreachable().tolist() == []
    assert gpt2.unreachable().tolist() == []
