"""Tokenizers into tiktoken: encodings and rank files with the same ids, and errors if ranks cannot express the merges."""

from __future__ import annotations

import sys
import warnings

import pytest
import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import BYTE_RANKS, BYTES

import nbbpe
from nbbpe.patterns.pattern import NAMED

tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")

SLICE = 200_000


def test_no_pattern_is_no_pattern_on_the_way_back():
    bare = nbbpe.train(iter([texts.SAMPLE]), 300, [texts.SPECIAL], pattern=None)
    again = nbbpe.load(bare.to_tiktoken())
    assert again.pattern is None
    assert again.fingerprint == bare.fingerprint


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_rank_files_are_written_byte_for_byte(shared, tmp_path, name):
    path = shared / "vocabs" / f"{name}.tiktoken"
    nbbpe.Tokenizer.from_tiktoken(path).save_tiktoken(tmp_path / path.name)
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_gpt2s_own_files_give_tiktokens_rank_file(shared, gpt2, tmp_path):
    gpt2.save_tiktoken(tmp_path / "ranks")
    assert (tmp_path / "ranks").read_bytes() == (shared / "vocabs" / "r50k_base.tiktoken").read_bytes()
    # By its content it is known.
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "ranks") == gpt2


@pytest.mark.parametrize("file", texts.FILES)
def test_ids_on_real_text_are_the_same(shared, gpt2_there, file):
    ours, theirs = gpt2_there
    text = texts.middle_of(shared, file, SLICE)
    assert ours.encode(text) == theirs.encode(text, allowed_special="all")


@pytest.fixture(scope="module")
def gpt2_there(gpt2) -> tuple[nbbpe.Tokenizer, tiktoken.Encoding]:
    return gpt2, gpt2.to_tiktoken("gpt2 of nbbpe")


# tiktoken has one regex, so no sequences.
ONE_REGEX = [name for name, pattern in NAMED.items() if not pattern.then]


@pytest.mark.parametrize("pattern", [*ONE_REGEX, None, r"\w+|[^\w\s]+", r"[a-zé']+|\d{1,3}+"])
def test_a_tokenizer_trained_here_gives_the_same_ids(stories, tmp_path, pattern):
    ours = nbbpe.train(stories, 700, [texts.SPECIAL, "<|é a|>"], pattern=pattern)
    theirs = ours.to_tiktoken()
    assert isinstance(theirs, tiktoken.Encoding)
    assert theirs.name == "nbbpe"
    for text in "", " ", texts.SAMPLE, f"<|é a|>x{texts.SPECIAL}", stories.read_text(encoding="utf-8")[:30_000]:
        assert theirs.encode(text, allowed_special="all") == ours.encode(text)
        assert theirs.decode(ours.encode(text)) == text
    ours.save_tiktoken(tmp_path / "ranks.tiktoken")
    again = nbbpe.Tokenizer.from_tiktoken(tmp_path / "ranks.tiktoken", pattern or r"(?s:.+)", ours.special_tokens)
    assert (again.vocab, again.merges, again.special_tokens) == (ours.vocab, ours.merges, ours.special_tokens)
    if pattern in NAMED and NAMED[pattern].takes_all:  # else the regex says more, see split_regex
        assert nbbpe.load(theirs) == ours


@settings(max_examples=100)
@given(
    texts=st.lists(st.text("aab ", min_size=1, max_size=12), min_size=1, max_size=4), n=st.integers(0, 12), data=st.data()
)
def test_any_merges_are_ranks_or_refused(texts, n, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = nbbpe.train(iter(texts), 256 + n, pattern=None)
    merges = data.draw(st.permutations(ours.merges))
    try:
        theirs = nbbpe.Tokenizer(ours.vocab, merges, pattern=None).to_tiktoken()
    except ValueError:
        assert merges != ours.merges
        return
    ours = nbbpe.Tokenizer(ours.vocab, merges, pattern=None)
    for text in data.draw(st.lists(st.text("ab ", max_size=16), min_size=5, max_size=5)):
        assert ours.encode(text) == theirs.encode(text)


def test_a_list_with_more_pairs_than_ranks_need_is_ranks():
    vocab = BYTES | {256: b"ab", 257: b"abc"}
    ours = nbbpe.Tokenizer(vocab, [(b"a", b"b"), (b"a", b"bc"), (b"ab", b"c")][::2], pattern=None)
    theirs = ours.to_tiktoken()
    assert theirs.encode("abcab") == ours.encode("abcab") == [257, 256]


UNRANKED = {
    "merges in another order": (
        nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"bc"}, [(b"b", b"c"), (b"a", b"b")]),
        r"not in the order of their tokens' ids.*b'bc' \(id 257\) comes before b'ab' \(id 256\)",
    ),
    "a token without merges": (
        nbbpe.Tokenizer(BYTES | {256: b"xyz"}, []),
        r"the token b'xyz' \(id 256\) is not made of two tokens of lower ids",
    ),
    "a token of two bytes without a merge": (
        nbbpe.Tokenizer(BYTES | {256: b"ab"}, []),
        r"by ranks b'a' and b'b' would merge to b'ab' \(id 256\)",
    ),
    "merged of other tokens": (
        nbbpe.Tokenizer(
            BYTES | {256: b"ab", 257: b"bc", 258: b"abc"}, [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")], pattern=None
        ),
        r"by ranks b'ab' and b'c' would merge to b'abc' \(id 258\), and the list of merges does not have that",
    ),
    "two ids of one token": (
        nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"ab"}, [(b"a", b"b")]),
        r"ids 256 and 257 are both b'ab'",
    ),
}


@pytest.mark.parametrize(("tokenizer", "message"), UNRANKED.values(), ids=UNRANKED)
def test_what_ranks_cannot_say_is_an_error_that_shows_it(tokenizer, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        tokenizer.to_tiktoken()
    with pytest.raises(ValueError, match=message):
        tokenizer.save_tiktoken(tmp_path / "ranks")
    assert not list(tmp_path.iterdir())


def test_special_tokens_that_begin_alike_are_an_error():
    tokenizer = nbbpe.Tokenizer(BYTES, [], ["<a>b", "x", "<a>"])
    with pytest.raises(ValueError, match="special token '<a>b' begins with '<a>'"):
        tokenizer.to_tiktoken()


def test_a_pattern_that_tiktoken_reads_otherwise_is_an_error():
    with pytest.raises(ValueError, match=r"'\$' \(character 3"):
        nbbpe.Tokenizer(BYTES, [], pattern=r"\w+$|\W|\w").to_tiktoken()


def test_several_patterns_in_turn_are_an_error():
    with pytest.raises(ValueError, match=r"\['\\\\p\{N\}\+', 'gpt2'\] is 2 regexes, and tiktoken has one"):
        nbbpe.Tokenizer(BYTES, [], pattern=[r"\p{N}+", "gpt2"]).to_tiktoken()


def test_an_irregular_vocabulary_of_ranks_is_what_it_was(tmp_path):
    ranks = BYTE_RANKS | {b"xyz": 256, b"th": 257, b"hx": 258}
    there = tiktoken.Encoding("odd", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<s>": 300})
    ours = nbbpe.Tokenizer.from_tiktoken(there)
    again = ours.to_tiktoken()
    text = "xyz xyzth thx <s>hxyz"
    assert again.encode(text, allowed_special="all") == there.encode(text, allowed_special="all") == ours.encode(text)
    ours.save_tiktoken(tmp_path / "odd.tiktoken")
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "odd.tiktoken", r"\w+|\W", {"<s>": 300}) == ours


def test_without_tiktoken_the_error_says_how_to_get_it(small, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ImportError, match=r'pip install "nbbpe\[tiktoken\]"'):
        small.to_tiktoken()
    small.save_tiktoken(tmp_path / "ranks")  # needs no tiktoken
    assert len((tmp_path / "ranks").read_bytes().splitlines()) == 399
