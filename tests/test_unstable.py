"""What may follow the stable ids of a text is what tiktoken says."""

from __future__ import annotations

import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTE_RANKS, BYTES, ranks_of

import nbbpe.tiktoken
from nbbpe.patterns.pattern import NAMED

tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
END = texts.SPECIAL


def made(ranks: dict[bytes, int], pattern: str) -> tuple[nbbpe.tiktoken.Encoding, tiktoken.Encoding]:
    """The same encoding of ours and of theirs, with two special tokens."""
    special = {END: len(ranks), "<|x|>": len(ranks) + 1}
    arguments = {"pat_str": NAMED[pattern].regex, "mergeable_ranks": ranks, "special_tokens": special}
    return nbbpe.tiktoken.Encoding("few", **arguments), tiktoken.Encoding("few", **arguments)


def assert_same(ours: nbbpe.tiktoken.Encoding, theirs: tiktoken.Encoding, text: str, **choice: object) -> None:
    ids, completions = theirs.encode_with_unstable(text, **choice)
    assert ours.encode_with_unstable(text, **choice) == (ids, sorted(map(list, completions)))


@pytest.mark.parametrize(("name", "pattern"), [("r50k_base", "gpt2"), ("cl100k_base", "cl100k")])
def test_completions_are_tiktokens(shared, name, pattern):
    from tiktoken.load import load_tiktoken_bpe

    both = made(load_tiktoken_bpe(str(shared / "vocabs" / f"{name}.tiktoken")), pattern)
    for text in "", "hello fanta", "a \n \n", "\n\n", "x\u3000", "日本", "12345", "don't", "👍🏽", "a!\x1c":
        assert_same(*both, text)
    for text in f"a{END}", f"{END} wo", f"wo{END} \n <|x|>", f"{END}\n \n":
        assert_same(*both, text, allowed_special="all")
        assert_same(*both, text, disallowed_special=())
        with pytest.raises(ValueError, match="special token"):
            both[0].encode_with_unstable(text)


CHARACTERS = "ab! é中 \n\t\u3000\x1c\x85"


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=30), st.text(CHARACTERS, max_size=8))
def test_completions_by_few_tokens_are_tiktokens(pattern, pairs, text):
    tokens = list(BYTES.values())
    some = sorted({bytes([byte]) for byte in CHARACTERS.encode()})
    for left, right in pairs:
        token = some[left % len(some)] + some[right % len(some)]
        if token not in tokens:  # tokens of two, three and more bytes, also of parts of characters
            tokens.append(token)
            some.append(token)
    assert_same(*made(ranks_of(tokens), pattern), text)


def test_a_control_character_is_no_whitespace_before_which_is_split():
    ranks = BYTE_RANKS | {b"!\x1c": 256, b"  ": 257}
    assert_same(*made(ranks, "gpt2"), "a!\x1c")
    assert_same(*made(ranks, "gpt2"), "a  ")


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
@pytest.mark.parametrize("text", ["a  b", "a   b", "a\n  b", "a\n ", "  b", f"a{END}  b"])
def test_whitespace_before_a_pretoken_that_begins_with_it_is_unstable_too(pattern, text):
    tokens = [*BYTES.values(), b"  ", b" \n", b"\n ", b"  b", b"\n  b"]
    ranks = ranks_of(tokens)
    both = made(ranks, pattern)
    assert_same(*both, text, allowed_special="all")
    assert_same(*both, text, disallowed_special=())
