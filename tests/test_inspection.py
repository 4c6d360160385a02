"""Figures of vocabularies, of texts, and of two tokenizers compared: against counting by hand."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from itertools import islice, pairwise
from types import SimpleNamespace

import naive
import numpy as np
import pytest
import texts
import warned
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from vocabularies import BYTE_RANKS, BYTES, through_hf, vocab_of

import nbbpe
from nbbpe import inspection


def tokens(tokenizer: nbbpe.Tokenizer, text: str | bytes) -> list[bytes]:
    return [tokenizer.id_to_token(token_id) for token_id in tokenizer.encode_ordinary(text)]


def first_merges(tokenizer: nbbpe.Tokenizer, n: int) -> nbbpe.Tokenizer:
    """A tokenizer with the first merges of another, and all its special tokens."""
    merges = tokenizer.merges[:n]
    return nbbpe.Tokenizer(vocab_of(merges), merges, list(tokenizer.special_tokens))


def test_figures_of_a_vocabulary(small):
    figures = inspection.vocabulary_figures(small, n_longest=4)
    ordinary = [token for token_id, token in small.vocab.items() if token_id != small.special_tokens[texts.SPECIAL]]
    assert figures.n_tokens == 400
    assert figures.n_merges == 400 - 256 - 1
    assert figures.special_tokens == {texts.SPECIAL: 399}
    assert (figures.pattern, figures.dtype) == ("gpt2", "uint16")
    assert figures.length_counts == Counter(map(len, ordinary))
    assert [token.token for token in figures.longest] == sorted(ordinary, key=len, reverse=True)[:4]
    assert all(small.id_to_token(token.token_id) == token.token for token in figures.longest)


def test_merges_of_pretokens_that_are_tokens_are_not_counted(tmp_path):
    """abc becomes that token without a merge; with the first merge alone it would be a, bc, which abc is not made of."""
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]
    by_merges = nbbpe.Tokenizer(BYTES | {256: b"bc", 257: b"ab", 258: b"abc"}, merges)
    tokenizer = through_hf(by_merges, tmp_path, ignore_merges=True)
    counts = inspection.text_figures(tokenizer, documents=["abc"]).counts
    assert tokenizer.encode("abc") == [258]
    assert inspection.merge_counts(tokenizer, counts) is None
    assert inspection.compression_by_size(tokenizer, counts) is None


def test_tokens_that_are_made_and_added_are_not_counted_as_made(tmp_path):
    """Where the added token is found, no merge is applied; its count does not say how often that is."""
    ordinary = nbbpe.Tokenizer(BYTES | {256: b"12", 257: b"xy"}, [(b"1", b"2"), (b"x", b"y")])
    tokenizer = through_hf(ordinary, tmp_path, "12")
    counts = inspection.text_figures(tokenizer, documents=["12 xy"], allowed_special="all").counts
    assert inspection.merge_counts(tokenizer, counts) is None
    assert inspection.compression_by_size(tokenizer, counts) is None
    without = inspection.text_figures(tokenizer, documents=["xy xy"]).counts
    assert inspection.merge_counts(tokenizer, without).tolist() == [0, 2]
    assert inspection.compression_by_size(tokenizer, without)[1].tolist() == [1, 1, 5 / 3]


@given(st.lists(st.one_of(texts.texts(), texts.data()), max_size=3))
@with_settings(max_examples=50)
def test_figures_of_a_text_are_those_of_its_tokens(small, documents):
    figures = inspection.text_figures(small, documents=documents, n_most_frequent=1000)
    plain = [token_id for document in documents for token_id in small.encode_ordinary(document)]
    assert {i: int(n) for i, n in enumerate(figures.counts) if n} == Counter(plain)  # documents are records
    figures = inspection.text_figures(small, documents=documents, n_most_frequent=1000, allowed_special="all")
    counted = inspection.count_tokens_of_each(small, [iter(documents)], None, "raise", "all")
    assert counted == [(figures.n_tokens, figures.n_bytes)]
    ids = [token_id for document in documents for token_id in small.encode(document)]
    counts = Counter(ids)
    special = small.special_tokens[texts.SPECIAL]
    assert figures.n_tokens == len(ids)
    assert figures.n_bytes == sum(len(small.id_to_token(token_id)) for token_id in ids)
    assert {i: int(n) for i, n in enumerate(figures.counts) if n} == counts
    used = set(counts) - {special}
    assert figures.n_used == len(used)
    assert figures.n_vocab == 399
    assert [token.token_id for token in figures.unused] == [i for i in range(399) if i not in used]
    assert {token.token_id: n for token, n in figures.most_frequent} == {i: counts[i] for i in used}
    assert [n for _, n in figures.most_frequent] == sorted((counts[i] for i in used), reverse=True)
    assert figures.bytes_per_token == (figures.n_bytes / len(ids) if ids else None)


def test_the_most_frequent_tokens_are_as_many_as_asked_for_beside_special_ones(small):
    documents = ["a the the " + texts.SPECIAL * 9, "a a b"]
    for allowed in (), "all":
        figures = inspection.text_figures(small, documents=documents, n_most_frequent=1000, allowed_special=allowed)
        assert len(figures.most_frequent) > 3
        for n in range(4):
            few = inspection.text_figures(small, documents=documents, n_most_frequent=n, allowed_special=allowed)
            assert few.most_frequent == figures.most_frequent[:n]


def test_a_separator_goes_after_each_record_and_skipped_ones_are_warned_of(small, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"body": "b"}\n{"text": "c"}\n')
    options = {"separator": texts.SPECIAL, "field": "text", "on_error": "skip"}
    with pytest.warns(UserWarning, match="skipped"):
        found = [ids.tolist() for ids in inspection.encoded(small, tmp_path / "a.jsonl", **options)]
    end = small.special_tokens[texts.SPECIAL]
    assert [token_id for ids in found for token_id in ids] == [ord("a"), end, ord("c"), end]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [ids.tolist() for ids in inspection.encoded(small, tmp_path / "a.jsonl", **options, warn=False)] == found


def test_a_file_is_read_in_bounded_parts(small, tmp_path):
    data = (texts.SAMPLE + texts.SPECIAL).encode() * 10_000 + b"\xff\xfe"
    (tmp_path / "text").write_bytes(data)
    seen = []
    arrays = inspection.encoded(small, tmp_path / "text", "look", lambda *now: seen.append(now))
    sizes = [len(ids) for ids in arrays]
    assert sum(sizes) == small.count(data)
    assert max(sizes) < sum(sizes) / 3
    assert seen[-1] == ("look", len(data), len(data))


def test_a_folder_in_place_of_a_tokenizer_is_told(small):
    """As the command takes one."""
    counts = np.zeros(400, dtype=np.int64)
    for argument, figure in (
        ("tokenizer", inspection.vocabulary_figures),
        ("tokenizer", lambda wrong: inspection.text_figures(wrong, documents=["a"])),
        ("tokenizer", lambda wrong: list(inspection.encoded(wrong, documents=["a"]))),
        ("tokenizer", lambda wrong: inspection.count_tokens_of_each(wrong, [], None, "raise", None)),
        ("tokenizer", lambda wrong: inspection.merge_counts(wrong, counts)),
        ("tokenizer", lambda wrong: inspection.compression_by_size(wrong, counts)),
        ("a", lambda wrong: inspection.compare(wrong, small, documents=["a"])),
        ("b", lambda wrong: inspection.compare(small, wrong, documents=["a"])),
    ):
        with pytest.raises(TypeError, match=rf"^{argument} must be a Tokenizer \(see nbbpe\.load\), not 'folder'$"):
            figure("folder")


@pytest.mark.parametrize("separator_first", [False, True])
def test_arrays_of_a_source_can_be_kept(small, separator_first):
    """As by np.concatenate(list(...))."""
    documents = ["the cat " * 100_000, "a dog " * 200_000, "x" * 1_000_000]
    separator = texts.SPECIAL if separator_first else None
    options = {"documents": documents, "separator": separator, "separator_first": separator_first}
    arrays = list(inspection.encoded(small, **options))
    assert len(arrays) > 1
    ids = small.encode_batch(documents)
    expected = [token_id for each in ids for token_id in (([399] if separator_first else []) + each)]
    assert np.concatenate(arrays).tolist() == expected


def test_merges_are_counted_and_their_savings_without_encoding_again(small):
    text = texts.SAMPLE * 3 + texts.SPECIAL + "the cat sat aaa ababab"
    figures = inspection.text_figures(small, documents=[text], allowed_special="all")
    applied = inspection.merge_counts(small, figures.counts)
    sizes, ratios = inspection.compression_by_size(small, figures.counts)
    n_merges = len(small.merges)
    assert len(applied) == n_merges
    assert sizes.tolist() == list(range(257, 257 + n_merges + 1))
    n_tokens = [first_merges(small, n).count(text) for n in range(n_merges + 1)]
    assert applied.tolist() == [before - after for before, after in pairwise(n_tokens)]
    np.testing.assert_allclose(ratios, [figures.n_bytes / n for n in n_tokens])


def test_counts_of_another_vocabulary_are_an_error(small):
    """They would be those of other tokens; so would counts by id, as `frequencies` gives them, where ids have gaps."""
    smaller, _ = small.truncate(300)
    with_gaps, _ = small.truncate(300, renumber=False)
    text = texts.SAMPLE
    for tokenizer, counts in (
        (smaller, small.frequencies(documents=[text])),
        (with_gaps, with_gaps.frequencies(documents=[text])),
    ):
        for figure in inspection.merge_counts, inspection.compression_by_size:
            with pytest.raises(ValueError, match=r"token_counts must have a number for each of the 300 tokens.*\(400,\)"):
                figure(tokenizer, counts)
    right = inspection.text_figures(with_gaps, documents=[text]).counts
    by_id = with_gaps.frequencies(documents=[text])
    assert by_id[sorted(with_gaps.vocab)].tolist() == right.tolist()
    assert inspection.merge_counts(with_gaps, right.tolist()).tolist() == inspection.merge_counts(with_gaps, right).tolist()
    assert inspection.compression_by_size(smaller, right.tolist())[1].tolist() == (
        inspection.compression_by_size(smaller, right)[1].tolist()
    )


@pytest.mark.parametrize(("dtype", "count"), [(np.uint8, 100), (np.int32, 2**30)])
def test_counts_of_few_bits_are_added_up_without_wrapping_around(small, dtype, count):
    few, many = (np.full(len(small), count, dtype=each) for each in (dtype, np.int64))
    assert inspection.merge_counts(small, many).max() > np.iinfo(dtype).max
    assert inspection.merge_counts(small, few).tolist() == inspection.merge_counts(small, many).tolist()
    for found, expected in zip(*(inspection.compression_by_size(small, each) for each in (few, many)), strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("change", [lambda counts: counts / 2, lambda counts: counts > 0, lambda counts: counts * np.nan])
def test_counts_that_are_no_whole_numbers_are_an_error(small, recwarn, change):
    counts = change(inspection.text_figures(small, documents=["the cat"]).counts)
    for figure in inspection.merge_counts, inspection.compression_by_size:
        with pytest.raises(ValueError, match="token_counts must be whole numbers"):
            figure(small, counts)
    assert not warned.here(recwarn)


@pytest.mark.parametrize(("wrong", "error"), [(-1, ValueError), (2.5, TypeError), ("3", TypeError), (None, TypeError)])
def test_numbers_of_examples_that_cannot_be_are_errors_before_the_text_is_read(small, wrong, error):
    missing = "missing.txt"
    for name, figure in (
        ("n_longest", lambda: inspection.vocabulary_figures(small, wrong)),
        ("n_most_frequent", lambda: inspection.text_figures(small, missing, wrong)),
        ("n_splits", lambda: inspection.compare(small, small, missing, wrong)),
    ):
        with pytest.raises(error, match=f"{name} must be"):
            figure()


def test_special_tokens_of_one_id_are_counted_once():
    """As in o200k_harmony, where a reserved token has the id of another."""
    ranks = BYTE_RANKS | {b"th": 256, b"the": 257}
    special = {"<a>": 260, "<b>": 260}
    encoding = SimpleNamespace(name="x", _mergeable_ranks=ranks, _pat_str=r"\w+|\W", _special_tokens=special)
    tokenizer = nbbpe.load(encoding)
    figures = inspection.text_figures(tokenizer, documents=["the the<a>the<b>"], allowed_special="all")
    sizes, ratios = inspection.compression_by_size(tokenizer, figures.counts)
    assert (sizes[-1], ratios[-1]) == (len(tokenizer), figures.bytes_per_token)


def test_special_tokens_from_an_iterator_are_allowed_in_every_file(small, tmp_path):
    for name in "a.txt", "b.txt":
        (tmp_path / name).write_text(f"a{texts.SPECIAL}")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    found = [ids.tolist() for ids in inspection.encoded(small, files, allowed_special=iter([texts.SPECIAL]))]
    assert found == 2 * [small.encode(f"a{texts.SPECIAL}")]
    assert len(found[0]) == 2


def test_merges_of_another_kind_are_not_counted(small, tmp_path):
    out_of_order = nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"abc"}, [(b"ab", b"c"), (b"a", b"b")])
    right_later = nbbpe.Tokenizer(BYTES | {256: b"bc", 257: b"abc"}, [(b"a", b"bc"), (b"b", b"c")])
    twice = nbbpe.Tokenizer(
        BYTES | {256: b"ab", 257: b"bc", 258: b"abc"}, [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")]
    )
    for tokenizer in out_of_order, right_later, twice:
        counts = inspection.text_figures(tokenizer, documents=["abc abc"]).counts
        assert inspection.merge_counts(tokenizer, counts) is None
        assert inspection.compression_by_size(tokenizer, counts) is None
    assert inspection.compression_by_size(small, np.zeros(400, dtype=np.int64)) is None


@given(st.lists(st.one_of(texts.texts(), texts.data()), max_size=3))
@with_settings(max_examples=100)
def test_a_comparison_is_that_of_the_tokens_side_by_side(small, other, documents):
    found = inspection.compare(small, other, documents=documents, n_splits=1000)
    n_same, differing = naive.compare_splits(
        [token for document in documents for token in tokens(small, document)],
        [token for document in documents for token in tokens(other, document)],
    )
    sizes = {pair: len(b"".join(pair[0])) for pair in differing}
    assert found.n_same == n_same
    assert found.n_differing == sum(differing.values())
    assert found.n_differing_bytes == sum(sizes[pair] * n for pair, n in differing.items())
    assert {(tuple(each.a), tuple(each.b)): each.count for each in found.splits} == {
        pair: n for pair, n in differing.items() if sizes[pair] <= 64
    }
    assert all(each.text == b"".join(each.a) == b"".join(each.b) for each in found.splits)
    assert [each.count for each in found.splits] == sorted((each.count for each in found.splits), reverse=True)
    for figures, tokenizer in (found.a, small), (found.b, other):
        assert figures.counts.tolist() == inspection.text_figures(tokenizer, documents=documents).counts.tolist()


def test_a_comparison_shows_as_many_stretches_as_asked_for_the_most_frequent_first(small):
    bytes_only, _ = small.truncate(257)
    documents = ["the the the cat cat on on on on"]
    found = inspection.compare(small, bytes_only, documents=documents, n_splits=1000).splits
    assert [split.count for split in found] == sorted((split.count for split in found), reverse=True)
    assert len(found) > 2
    assert inspection.compare(small, bytes_only, documents=documents, n_splits=2).splits == found[:2]


@pytest.mark.parametrize("most", [0, 1, 7, 1000])
def test_of_very_many_stretches_the_first_are_counted(small, other, sizes, tmp_path, most):
    text = (texts.SAMPLE + "".join(chr(97 + i * i % 26) for i in range(97))) * 3
    (tmp_path / "text").write_text(text, encoding="utf-8", newline="")
    _, differing = naive.compare_splits(tokens(small, text), tokens(other, text))
    short = Counter({pair: n for pair, n in differing.items() if sum(map(len, pair[0])) <= 64})
    assert 7 < len(short) < 1000
    sizes(stretches=most, window=100)
    found = inspection.compare(small, other, tmp_path / "text", n_splits=1000).splits
    wanted = Counter(dict(islice(short.items(), most)))
    assert [((tuple(each.a), tuple(each.b)), each.count) for each in found] == wanted.most_common()


def test_a_comparison_shows_stretches_of_up_to_64_bytes():
    doubled = [b"a" * 2**i for i in range(7)]  # up to 64
    merges = [(each, each) for each in doubled[:-1]]
    long = nbbpe.Tokenizer(BYTES | dict(enumerate(doubled[1:], 256)), merges, [], None)
    found = inspection.compare(long, nbbpe.Tokenizer(BYTES, [], [], None), documents=["a" * 64])
    assert [each.text for each in found.splits] == [b"a" * 64]
    longer = nbbpe.Tokenizer(
        BYTES | dict(enumerate([*doubled[1:], b"a" * 64 + b"b"], 256)), [*merges, (b"a" * 64, b"b")], [], None
    )
    found = inspection.compare(longer, nbbpe.Tokenizer(BYTES, [], [], None), documents=["a" * 64 + "b"])
    assert (found.n_differing, found.n_differing_bytes, found.splits) == (1, 65, [])


def test_a_comparison_knows_what_the_vocabularies_share(small, other):
    found = inspection.compare(small, other, documents=[])
    a = {token for token in small.vocab.values() if token != texts.SPECIAL.encode()}
    b = set(other.vocab.values())
    assert (found.n_shared, found.n_only_a, found.n_only_b) == (len(a & b), len(a - b), len(b - a))
    assert found.n_only_a > 0
    assert (found.a.n_tokens, found.n_differing, found.splits) == (0, 0, [])


def test_files_are_compared_part_by_part_as_a_whole(small, other, tmp_path):
    text = (texts.SAMPLE + "".join(chr(97 + i * i % 26) for i in range(997))) * 1500
    (tmp_path / "text").write_text(text, encoding="utf-8", newline="")
    whole = inspection.compare(small, other, documents=[text])
    by_parts = inspection.compare(small, other, tmp_path / "text")
    assert by_parts.n_same == whole.n_same > 0
    assert by_parts.n_differing == whole.n_differing > 0
    assert by_parts.n_differing_bytes == whole.n_differing_bytes
    assert {(each.text, each.count) for each in by_parts.splits} == {(each.text, each.count) for each in whole.splits}


def test_a_source_that_can_be_read_once_is_refused(small):
    with pytest.raises(TypeError, match="read twice"):
        inspection.compare(small, small, iter(["a"]))
    with pytest.raises(TypeError, match="documents is read twice"):
        inspection.compare(small, small, documents=(text for text in ["a", "b"]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_text_to_compare_on_is_told_and_not_opened(small, other, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"source is read twice, and '.*pipe' is a pipe or the like"):
        inspection.compare(small, other, [tmp_path / "pipe"])


def test_what_is_odd_about_a_text_to_compare_on_is_told_once(small, other, tmp_path):
    (tmp_path / "a.csv").write_text("the cat")
    (tmp_path / "b.jsonl").write_text('{"text": null}\n')
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        inspection.compare(small, other, [tmp_path / "a.csv", tmp_path / "b.jsonl"], on_error="skip")
    table, skipped = [str(each.message) for each in warned.here(caught)]
    assert "is a table" in table
    assert "1 malformed record was skipped" in skipped


def test_a_table_of_arrow_is_compared_on(small, other):
    arrow = pytest.importorskip("pyarrow")
    found = inspection.compare(small, other, arrow.table({"text": ["the cat", "a mat"]}))
    assert found.splits == inspection.compare(small, other, documents=["the cat", "a mat"]).splits
