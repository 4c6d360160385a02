"""Smaller vocabularies: prefixes of the merges, without the tokens that a text uses least, or without given tokens."""

from __future__ import annotations

import json
import warnings

import naive
import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES, saved_as_ranks, through_hf

import nbbpe
from nbbpe.vocabulary.reduction import prune, truncate

pytestmark = pytest.mark.filterwarnings("ignore:the text has pairs")
SPECIALS = ["<|a|>", "<|b|>"]


def trained(text: str, size: int, special=SPECIALS, **options) -> nbbpe.Tokenizer:
    return nbbpe.train(documents=[text + " x"], vocab_size=size, special_tokens=special, **options)


def check_map(old: nbbpe.Tokenizer, new: nbbpe.Tokenizer, old_to_new: np.ndarray) -> None:
    """Each id of the old tokenizer leads to the same token of the new one, or to none."""
    assert old_to_new.dtype == np.int64
    assert old_to_new.shape == (old.vocab_size,)
    kept = {token_id: int(old_to_new[token_id]) for token_id in range(old.vocab_size) if old_to_new[token_id] >= 0}
    assert {new_id: old.vocab[token_id] for token_id, new_id in kept.items()} == dict(new.vocab)
    assert list(kept.values()) == sorted(kept.values())


# Prefixes of the merges


@given(texts.texts(), st.integers(258, 290), st.integers(0, 40))
def test_truncated_is_trained_to_the_smaller_size(text, size, fewer):
    whole = trained(text, size)
    n = max(whole.vocab_size - fewer, 258)
    found, old_to_new = whole.truncate(n)
    assert found == trained(text, n)
    assert found.vocab_size == n
    check_map(whole, found, old_to_new)


@given(texts.texts(), texts.texts(), st.integers(258, 280), st.integers(0, 30))
def test_extend_then_truncate_is_the_identity(text, other, size, more):
    start = trained(text, size)
    larger = start.extend(documents=[other + " y"], vocab_size=start.vocab_size + more)
    found, old_to_new = larger.truncate(start.vocab_size)
    assert found == start
    assert old_to_new.tolist() == [*range(start.vocab_size), *[-1] * (larger.vocab_size - start.vocab_size)]


def test_extend_then_truncate_is_the_identity_for_known_vocabularies(shared, gpt2, tmp_path):
    ranks = saved_as_ranks([b"bc", b"abcd", b"xy"], tmp_path, {"<|s|>": 300})
    for start in gpt2, nbbpe.load(shared / "vocabs" / "gpt_neox_20b_tokenizer.json"), ranks:
        larger = start.extend(documents=["zwxyzw zwxyzw"], vocab_size=start.vocab_size + 2)
        assert larger.truncate(start.vocab_size)[0] == start


def test_ids_stay_on_wish():
    tok = trained("the cat sat on the mat, the cat", 264)
    found, old_to_new = tok.truncate(260, renumber=False)
    assert found.vocab == {token_id: token for token_id, token in tok.vocab.items() if token_id not in range(258, 262)}
    assert found.special_tokens == tok.special_tokens
    assert found.merges == tok.merges[:2]
    assert old_to_new.tolist() == [*range(258), -1, -1, -1, -1, 262, 263]


def test_gaps_that_there_were_stay():
    tok = nbbpe.Tokenizer(BYTES | {300: b"ab", 302: b"abc", 400: b"bb"}, [(b"a", b"b"), (b"ab", b"c")], {"<s>": 350})
    found, old_to_new = tok.truncate(400)
    assert found.vocab == BYTES | {300: b"ab", 349: b"<s>", 399: b"bb"}  # no merge makes bb
    assert found.special_tokens == {"<s>": 349}
    check_map(tok, found, old_to_new)
    with pytest.raises(ValueError, match="the smallest size is 399"):
        tok.truncate(398)


def test_merges_after_the_first_dropped_one_go_too():
    # (a, bc) is another way to abc, and comes after xy.
    vocab = BYTES | {256: b"ab", 257: b"abc", 258: b"bc", 259: b"xy", 260: b"zz"}
    merges = [(b"a", b"b"), (b"ab", b"c"), (b"b", b"c"), (b"x", b"y"), (b"a", b"bc"), (b"z", b"z")]
    tok = nbbpe.Tokenizer(vocab, merges, pattern=None)
    assert tok.truncate(260)[0].merges == merges[:5]
    assert tok.truncate(259)[0].merges == merges[:3]
    # (a, bd) comes between the two ways to abc.
    vocab = BYTES | {256: b"ab", 257: b"bc", 258: b"bd", 259: b"abd", 260: b"abc"}
    merges = [(b"a", b"b"), (b"b", b"c"), (b"b", b"d"), (b"ab", b"d"), (b"ab", b"c"), (b"a", b"bd"), (b"a", b"bc")]
    assert nbbpe.Tokenizer(vocab, merges, pattern=None).truncate(260)[0].merges == merges[:4]


def test_the_tokens_around_a_text_get_their_new_ids(tmp_path):
    pytest.importorskip("tokenizers")
    tok = trained("the cat sat on the mat, the cat", 268)
    tok.to_hf(tmp_path / "t.json")
    about = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    a, b = (tok.special_tokens[token] for token in SPECIALS)
    template = [{"SpecialToken": {"id": "<|a|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    for processor in (
        {"type": "BertProcessing", "cls": ["<|a|>", a], "sep": ["<|b|>", b]},
        {
            "type": "Sequence",
            "processors": [
                {
                    "type": "TemplateProcessing",
                    "single": template,
                    "pair": template,
                    "special_tokens": {"<|a|>": {"id": "<|a|>", "ids": [a], "tokens": ["<|a|>"]}},
                }
            ],
        },
    ):
        about["post_processor"] = processor
        (tmp_path / "t.json").write_text(json.dumps(about), encoding="utf-8")
        whole = nbbpe.load(tmp_path / "t.json")
        found, old_to_new = whole.truncate(262)
        with_tokens = whole._templates.around([])
        assert with_tokens
        assert found._templates.around([]) == old_to_new[with_tokens].tolist()


@pytest.mark.parametrize("gone", [258, 5000])
def test_a_token_that_is_put_around_a_text_is_never_dropped(tmp_path, gone):
    tok = trained("the cat sat on the mat, the cat", 268)
    tok.to_hf(tmp_path / "t.json")
    about = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    about["post_processor"] = {"type": "BertProcessing", "cls": ["x", gone], "sep": ["y", 257]}
    (tmp_path / "t.json").write_text(json.dumps(about), encoding="utf-8")
    whole = nbbpe.load(tmp_path / "t.json")
    for smaller in whole.truncate, lambda n: whole.prune(documents=["the cat"] if gone > 300 else ["a"], n=n):
        with pytest.raises(ValueError, match=f"post_processor of this tokenizer puts id {gone} around texts"):
            smaller(260)


# The least used tokens


@pytest.mark.filterwarnings("ignore:the source has no text")
@given(texts.texts(), texts.texts(), st.integers(260, 285), st.integers(0, 25))
def test_what_is_dropped_is_what_the_twin_drops(text, other, size, fewer):
    tok = trained(text, size)
    n_dropped = min(fewer, len(tok.merges))
    found, old_to_new = tok.prune(documents=[other], n=tok.vocab_size - n_dropped)
    counts = tok.frequencies(documents=[other])
    used = {token: int(counts[token_id]) for token_id, token in tok.vocab.items() if token_id < 256 + len(tok.merges)}
    dropped = naive.prune(tok.merges, used, n_dropped)
    assert {tok.vocab[token_id] for token_id in np.flatnonzero(old_to_new < 0).tolist()} == set(dropped)
    assert found.merges == [(left, right) for left, right in tok.merges if left + right not in dropped]
    check_map(tok, found, old_to_new)


@pytest.mark.filterwarnings("ignore:the source has no text")
@given(texts.texts(), texts.texts(), st.integers(260, 285), st.integers(0, 25))
def test_every_token_that_stays_can_be_made(text, other, size, fewer):
    tok = trained(text, size)
    found, _ = tok.prune(documents=[other], n=max(tok.vocab_size - fewer, 258))
    assert len(found.unreachable()) == 0
    assert found.decode(found.encode(text)) == text


def test_prune_of_nothing_is_the_identity(gpt2, small, tmp_path):
    for tok in gpt2, small, saved_as_ranks([b"bc", b"abcd"], tmp_path):
        found, old_to_new = tok.prune(documents=[texts.SAMPLE], n=tok.vocab_size)
        assert found == tok
        assert old_to_new.tolist() == list(range(tok.vocab_size))


@given(texts.texts(), texts.texts(), st.integers(258, 285))
def test_prune_of_nothing_is_the_identity_whatever_was_trained(text, other, size):
    tok = trained(text, size)
    for renumber in True, False:
        found, old_to_new = tok.prune(documents=[other], n=tok.vocab_size, renumber=renumber)
        assert found == tok
        assert found.provenance == tok.provenance
        assert old_to_new.tolist() == list(range(tok.vocab_size))


@pytest.mark.parametrize("documents", [[], [""], ["<|endoftext|>"]])
def test_a_source_that_uses_no_token_is_a_warning(small, documents):
    """Else nothing says that the tokens which a text needs may be those that are dropped."""
    options = {"documents": documents, "allowed_special": "all"}
    with pytest.warns(UserWarning, match="the source has no text.* uses no token: those with the highest ids are dropped"):
        found, _ = small.prune(n=small.vocab_size - 1, **options)
    assert found == small.truncate(small.vocab_size - 1)[0]


@pytest.mark.parametrize(("documents", "n_dropped"), [([], 0), (["the"], 1)])
def test_there_is_no_warning_if_no_token_is_dropped_or_the_source_uses_one(small, documents, n_dropped):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the source has no text")
        found, _ = small.prune(documents=documents, n=small.vocab_size - n_dropped)
    assert found.vocab_size == small.vocab_size - n_dropped


def test_what_a_text_uses_stays(gpt2):
    text = texts.SAMPLE * 2
    counts = gpt2.frequencies(documents=[text])
    found, old_to_new = gpt2.prune(documents=[text], n=2000)
    assert found.vocab_size == 2000
    assert (old_to_new[np.flatnonzero(counts)] >= 0).all()
    assert old_to_new[gpt2.encode(text)].tolist() == found.encode(text)
    assert len(found.unreachable()) == 0


def test_a_vocabulary_of_ranks_keeps_what_its_tokens_are_made_of(tmp_path):
    tok = saved_as_ranks([b"bc", b"abcd", b"xy", b"xyz", b"qq"], tmp_path)
    assert tok._model.merges is None
    found, _ = tok.prune(documents=["abcd xyz"], n=tok.vocab_size - 2)
    assert {*found.vocab.values()} - {*BYTES.values()} == {b"abcd", b"xy", b"xyz"}
    assert found.encode_ordinary("abcd xyz") == [256, 32, 258]


def test_by_rank_uses_go_to_the_parts_that_make_a_token(tmp_path):
    # Of ab and c, or of a and bc; and no merge makes xyz.
    for first, second in (b"ab", b"bc"), (b"bc", b"ab"):
        ranks = saved_as_ranks([first, second, b"abc", b"xyz"], tmp_path)
        text = b"\n".join([b"abc"] * 5 + [first, second, second] + [b"xyz"] * 9)
        smaller, _ = ranks.prune(documents=[text], n=258)
        assert [smaller.id_to_token(token_id) for token_id in (256, 257)] == [first, b"xyz"]


def test_a_token_that_another_has_twice_stays_while_a_third_needs_it():
    vocab = BYTES | {256: b"aa", 257: b"aaaa", 258: b"aab"}
    tok = nbbpe.Tokenizer(vocab, [(b"a", b"a"), (b"aa", b"aa"), (b"aa", b"b")])
    assert tok.prune(documents=["aab aab"], n=257)[0].vocab == BYTES | {256: b"aa"}


def test_a_token_that_another_has_twice_is_used_twice_in_its_place():
    vocab, merges = BYTES | {256: b"aa", 257: b"aaaa", 258: b"xy"}, [(b"a", b"a"), (b"aa", b"aa"), (b"x", b"y")]
    tok = nbbpe.Tokenizer(vocab, merges, pattern=None)
    assert tok.prune(documents=["aaaa"] * 3 + ["xy"] * 5, n=257)[0].merges == merges[:1]


def test_an_empty_token_is_dropped_as_any_that_no_text_has(tmp_path):
    ranks = saved_as_ranks([b"", b"ab"], tmp_path)
    assert ranks.prune(documents=["ab"], n=257)[0].vocab == BYTES | {256: b"ab"}


# Tokens of one's choice


@given(texts.texts(), texts.texts(), st.integers(260, 285), st.data())
def test_text_without_dropped_tokens_keeps_its_own(text, other, size, data):
    tok = trained(text, size)
    made = [tok.token_to_id(left + right) for left, right in tok.merges]
    asked = data.draw(st.lists(st.sampled_from(made), unique=True)) if made else []
    found, old_to_new = tok.drop(asked)
    check_map(tok, found, old_to_new)
    gone = set(np.flatnonzero(old_to_new < 0).tolist())
    parts = {tok.token_to_id(left + right): (left, right) for left, right in tok.merges}
    assert gone == {*asked} | {i for i in parts if {tok.token_to_id(side) for side in parts[i]} & gone}
    assert found.merges == [pair for i, pair in parts.items() if i not in gone]
    assert len(found.unreachable()) == 0
    for each in text, other:
        ids = tok.encode(each)
        assert found.decode(found.encode(each)) == each
        if not gone.intersection(ids):
            assert found.encode(each) == old_to_new[ids].tolist()


def test_tokens_that_only_dropped_ones_make_are_dropped():
    merges = [(b"a", b"b"), (b"ab", b"c"), (b"b", b"d"), (b"a", b"bd"), (b"ab", b"d"), (b"abc", b"abc")]
    vocab = BYTES | {256: b"ab", 257: b"abc", 258: b"bd", 259: b"abd", 260: b"abcabc"}
    tok = nbbpe.Tokenizer(vocab, merges, ["<s>"])
    found, old_to_new = tok.drop(np.array([256]), renumber=False)
    assert found.vocab == BYTES | {258: b"bd", 259: b"abd", 261: b"<s>"}  # another merge makes abd
    assert found.merges == [(b"b", b"d"), (b"a", b"bd")]
    assert old_to_new[256:].tolist() == [-1, -1, 258, 259, -1, 261]
    assert tok.drop([260, 260])[0].vocab_size == 261
    for nothing in [], iter([]):
        assert tok.drop(nothing)[0] == tok
    # The order of merges does not say what is made of what.
    vocab = BYTES | {256: b"ab", 257: b"abc", 258: b"abcd"}
    backwards = nbbpe.Tokenizer(vocab, [(b"abc", b"d"), (b"ab", b"c"), (b"a", b"b")])
    assert backwards.drop([256])[0].vocab == BYTES


def test_tokens_of_ranks_are_dropped_with_what_only_they_make(tmp_path):
    tok = saved_as_ranks([b"ab", b"bc", b"abc", b"abcd", b"xyz"], tmp_path, {"<s>": 300})
    found, _ = tok.drop([256])
    assert [found.id_to_token(i) for i in range(256, 260)] == [b"bc", b"abc", b"abcd", b"xyz"]
    assert found.encode("abcd<s>") == [258, 299]
    assert tok.drop(i for i in [256, 257])[0].vocab == BYTES | {256: b"xyz", 296: b"<s>"}


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([258, 97], ValueError, "id 97 is the byte b'a', which cannot be dropped"),
        ([399], ValueError, "id 399 is a special token, so it cannot be dropped"),
        ([400], ValueError, "id 400 is not in the vocabulary"),
        ([-1], ValueError, "id -1 is not in the vocabulary"),
        ([300, 300.0], TypeError, "the id at index 1 must be an integer, not 300.0"),
        ("a", TypeError, "the id at index 0 must be an integer, not 'a'"),
        (300, TypeError, "ids must be a list or an array of integers, not 300"),
    ],
)
def test_what_cannot_be_dropped_is_an_error(small, ids, error, message):
    with pytest.raises(error, match=message):
        small.drop(ids)


def test_without_tokens_that_merging_does_not_give_it_is_the_tokenizer_of_its_file(tmp_path):
    """By these merges abc is a, bc. Pretokens are looked up only as long as there is that token."""
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]
    by_merges = nbbpe.Tokenizer(BYTES | {256: b"bc", 257: b"ab", 258: b"abc"}, merges)
    tokenizer = through_hf(by_merges, tmp_path, ignore_merges=True)
    assert tokenizer.encode("abc") == [258]
    for smaller in tokenizer.drop([258])[0], tokenizer.truncate(258)[0], tokenizer.prune(documents=["ab"], n=258)[0]:
        assert smaller == nbbpe.Tokenizer(BYTES | {256: b"bc", 257: b"ab"}, merges[:2])
        smaller.to_hf(tmp_path / "again.json")
        assert nbbpe.load(tmp_path / "again.json").fingerprint == smaller.fingerprint


def test_pruned_and_truncated_tokenizers_are_saved_and_loaded(small, tmp_path):
    for found, _ in small.truncate(300), small.prune(documents=[texts.SAMPLE], n=300):
        found.save(tmp_path / "tok")
        assert nbbpe.load(tmp_path / "tok") == found
        found.to_hf(tmp_path / "t.json")
        assert nbbpe.load(tmp_path / "t.json") == found
        assert found.provenance["reduced_from"]["fingerprint"] == small.fingerprint


def test_a_resized_embedding_gives_each_token_its_row(small):
    rows = np.arange(small.vocab_size, dtype=np.float64)[:, None] * [1.0, -1.0]
    found, old_to_new = small.prune(documents=["the cat sat"], n=300)
    smaller = np.empty((found.vocab_size, 2))
    smaller[old_to_new[old_to_new >= 0]] = rows[old_to_new >= 0]
    for token_id, token in found.vocab.items():
        assert smaller[token_id].tolist() == rows[small.token_to_id(token)].tolist()


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (True, TypeError, "must be an integer"),
        ("300", TypeError, "must be an integer"),
        (401, ValueError, "a size of 401 is above the 400"),
        (256, ValueError, "the smallest size is 257"),
    ],
)
def test_invalid_sizes_are_errors(small, n, error, message):
    for reduced in truncate, lambda model, n: prune(model, np.zeros(400, dtype=np.int64), n):
        with pytest.raises(error, match=message):
            reduced(small._model, n)


def test_a_missing_size_is_an_error(small):
    with pytest.raises(TypeError, match="n is missing"):
        small.prune(documents=["a"])
