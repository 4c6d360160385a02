"""text/chunks.py: where files are cut for workers, and find_chunk_boundaries."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path

import naive
import pytest
import texts
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from real_patterns import WITHOUT_PIECES

import nbbpe
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern import NAMED, Pattern
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text import chunks
from nbbpe.text.chunks import CutRules, CutTables, PositionedBytes, cut_file, find_chunk_boundaries, find_cut, find_cuts
from nbbpe.text.utf8 import to_text

SPECIAL = texts.SPECIAL.encode()
GPT2 = NAMED["gpt2"]


# find_chunk_boundaries


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"<", b"<|", SPECIAL, b"\n" * 9]), max_size=40).map(b"".join), st.integers(1, 12)
)
def test_boundaries_are_the_first_special_token_from_each_even_cut(data, n_chunks):
    for token in SPECIAL, b"<", b"a":
        boundaries = find_chunk_boundaries(io.BytesIO(data), n_chunks, token)
        assert boundaries == naive.find_chunk_boundaries(data, n_chunks, token)


@given(texts.data(200), st.integers(1, 9))
def test_boundaries_cut_a_file_into_parts_that_start_at_a_special_token(data, n_chunks):
    token = b"\n"
    boundaries = find_chunk_boundaries(io.BytesIO(data), n_chunks, token)
    assert boundaries == sorted(set(boundaries))
    assert (boundaries[0], boundaries[-1]) == (0, len(data))
    assert len(boundaries) <= n_chunks + 1
    assert all(data.startswith(token, at) for at in boundaries[1:-1])


def test_a_special_token_that_lies_across_two_blocks_is_found():
    # The file is read in blocks of 64 kB: the token begins in one and ends in the next.
    for shift in range(1, len(SPECIAL) + 1):
        data = b"x" * ((1 << 16) - shift) + SPECIAL + b"y" * 100_000 + SPECIAL
        whole = io.BytesIO(b"z" * len(data) + data)  # with two chunks, the search starts where data does
        assert find_chunk_boundaries(whole, 2, SPECIAL) == [0, len(data) + (1 << 16) - shift, 2 * len(data)]


def test_a_file_is_read_once_however_many_chunks_it_has():
    class File(io.BytesIO):
        n_read = 0

        def read(self, n=-1):
            data = super().read(n)
            self.n_read += len(data)
            return data

    for data in b"x" * 300_000, (b"x" * 100 + SPECIAL) * 3000:
        file = File(data)
        find_chunk_boundaries(file, 1000, SPECIAL)
        n_blocks = len(data) / (1 << 16) + 1
        assert 0 < file.n_read <= len(data) + n_blocks * len(SPECIAL)


def test_a_special_token_longer_than_a_block_is_found():
    token = b"<" + b"long" * 30_000 + b">"
    data = b"x" * 50_000 + token + b"y" * 10
    assert find_chunk_boundaries(io.BytesIO(b"z" * len(data) + data), 2, token) == [0, len(data) + 50_000, 2 * len(data)]


def test_boundaries_of_small_and_empty_files():
    assert find_chunk_boundaries(io.BytesIO(b""), 5, SPECIAL) == [0]
    assert find_chunk_boundaries(io.BytesIO(b"a"), 5, SPECIAL) == [0, 1]
    assert find_chunk_boundaries(io.BytesIO(b"no such token" * 100), 7, SPECIAL) == [0, 1300]
    assert find_chunk_boundaries(io.BytesIO(SPECIAL * 2), 100, SPECIAL) == [0, 13, 26]
    assert find_chunk_boundaries(io.BytesIO(b"a" * 13 + SPECIAL), 2, SPECIAL) == [0, 13, 26]
    assert find_chunk_boundaries(io.BytesIO(b"abc"), 1, b"b") == [0, 3]


def test_boundaries_of_a_real_file(stories):
    data = stories.read_bytes()
    with open(stories, "rb") as file:
        for n_chunks in 1, 2, 4, 8, 100, 1000:
            boundaries = nbbpe.find_chunk_boundaries(file, n_chunks, SPECIAL)
            assert boundaries == naive.find_chunk_boundaries(data, n_chunks, SPECIAL)
    assert len(boundaries) == 2 + data.count(SPECIAL)
    assert nbbpe.find_chunk_boundaries(
        file=io.BytesIO(data), desired_num_chunks=4, split_special_token=SPECIAL
    ) == naive.find_chunk_boundaries(data, 4, SPECIAL)


def test_bad_arguments_of_find_chunk_boundaries_are_errors():
    with pytest.raises(TypeError, match="split_special_token must be bytes, not str"):
        find_chunk_boundaries(io.BytesIO(b"a"), 2, "<s>")
    with pytest.raises(ValueError, match="split_special_token is empty"):
        find_chunk_boundaries(io.BytesIO(b"a"), 2, b"")
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        find_chunk_boundaries(io.BytesIO(b"a"), 0, SPECIAL)


@pytest.mark.parametrize(("make", "kind"), [(str, "str"), (open, "TextIOWrapper"), (lambda path: path, r"\w+Path")])
def test_boundaries_are_those_of_a_file_of_bytes(tmp_path, make, kind):
    path = tmp_path / "text.txt"
    path.write_text("the cat")
    file = make(path)
    with pytest.raises(TypeError, match=rf'file must be a file of bytes, as of open\(path, "rb"\), not {kind}$'):
        find_chunk_boundaries(file, 2, SPECIAL)


@pytest.mark.parametrize("n", [2.5, "2", True, None])
def test_the_number_of_chunks_is_an_integer(n):
    with pytest.raises(TypeError, match="desired_num_chunks must be an integer, not"):
        find_chunk_boundaries(io.BytesIO(b"the cat"), n, SPECIAL)


# cut_file


def cut(path: Path, data: bytes, n: int, pattern=GPT2, tokens=(SPECIAL,)) -> list[bytes]:
    """The chunks of a file as bytes; together they are the file."""
    path.write_bytes(data)
    found = cut_file(path, n, CutRules(pattern, list(tokens)))
    assert [chunk.path for chunk in found] == [path] * len(found)
    assert [chunk.start for chunk in found[1:]] == [chunk.end for chunk in found[:-1]]
    assert (found[0].start, found[-1].end) == (0, len(data) or None)
    return [data[chunk.start : chunk.end] for chunk in found]


@given(
    data=st.one_of(texts.data(300), st.lists(st.sampled_from([b"ab", b"b ", b" a", b"a", b".", SPECIAL])).map(b"".join)),
    n=st.integers(1, 100),
    look=st.sampled_from([1, 5, 1 << 16]),
    near=st.sampled_from([1, 3, 1 << 10]),
)
def test_chunks_can_be_split_apart_from_each_other(sizes, tmp_path, data, n, look, near):
    for tokens in (SPECIAL,), (), (b"ab", b"b "), (b"ab", b"b a", b"abab ", b"."):
        sizes(look=look, near=near)
        parts = cut(tmp_path / "f", data, n, tokens=tokens)
        assert sum(map(bool, parts)) == len(parts) or not data
        pretokens = [
            word for part in parts for d, _ in naive.documents(part, tokens) for word in naive.split(d, GPT2.compiled)
        ]
        assert pretokens == [w for d, _ in naive.documents(data, tokens) for w in naive.split(d, GPT2.compiled)]
        found = [token for part in parts for _, _, token in naive.find_specials(part, tokens)]
        assert found == [token for _, _, token in naive.find_specials(data, tokens)]


# Of what classes of characters, pretokens and special tokens are made that overlap, and what is not UTF-8.
PARTS = [
    "a",
    "b",
    " ",
    "  ",
    "\n",
    "'s",
    "12",
    "中",
    "é",
    "\u3000",
    ".",
    "\r\n",
    "🙂",
    "\u0301",
    "x" * 30,
    "<s>",
    "s> a",
    "z" * 30,
]


INVALID = [b"\xff", b"\xe4\xb8", b"\x80", b"\xf0\x9f"]


def tokens_and_text(source: random.Random) -> tuple[list[bytes], bytes]:
    some = source.sample(PARTS, source.randrange(1, 8))
    spelled = ("".join(source.choices(some, k=source.randrange(1, 4))) for _ in range(source.choice([0, 0, 1, 3])))
    tokens = [*map(str.encode, dict.fromkeys(spelled))]
    chosen = [*map(str.encode, some), *tokens, *source.sample(INVALID, source.choice([0, 0, 1]))]
    return tokens, b"".join(source.choices(chosen, k=source.randrange(1, 60)))


def split_between(data: bytes, tokens: list[bytes], pattern: Pattern) -> list[str | bytes]:
    """The pretokens of a text, with the special tokens between them."""
    words: list[str | bytes] = []
    for document, special in naive.documents(data, tokens):
        words += [*pattern.split(to_text(document)), *([] if special is None else [special])]
    return words


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek3"])
def test_no_pretoken_and_no_special_token_is_cut_wherever_a_search_ends(sizes, name):
    source, pattern, n_cuts = random.Random(name), get_pattern(name), 0
    for _ in range(examples(250, 3000)):
        tokens, data = tokens_and_text(source)
        n_parts = source.randrange(1, 40)  # perhaps more than there are bytes
        look = source.choice([1, 5, 20, 1 << 16])
        sizes(near=source.choice([1, 3, 8, 1 << 10]))
        tables = CutTables(pattern.tables, new_special_tokens(tokens))
        cuts = [*find_cuts(PositionedBytes(data), len(data), n_parts, tables, look)]
        parts = [data[start:end] for start, end in itertools.pairwise([0, *cuts, len(data)])]
        assert all(parts)
        found = [word for part in parts for word in split_between(part, tokens, pattern)]
        assert found == split_between(data, tokens, pattern), (parts, tokens)
        n_cuts += len(cuts)
    assert n_cuts > 500


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek3"])
def test_no_pretoken_and_no_special_token_is_cut_whatever_stands_around_a_text(sizes, name):
    source, pattern, n_cuts = random.Random(name), get_pattern(name), 0
    for _ in range(examples(250, 3000)):
        tokens, data = tokens_and_text(source)
        sizes(near=source.choice([1, 3, 8, 1 << 10]))
        start = source.randrange(len(data) // 4 + 1)  # perhaps within a special token or a character
        end = len(data) - source.randrange(len(data) // 4 + 1)
        cut = find_cut(data[start:end], CutRules(pattern, tokens))
        if cut is not None:
            parts = [data[: start + cut], data[start + cut :]]
            found = [word for part in parts for word in split_between(part, tokens, pattern)]
            assert found == split_between(data, tokens, pattern), (parts, start, end, tokens)
            n_cuts += 1
    assert n_cuts > 100


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_whitespace_is_not_cut_before_its_last_character_where_a_special_token_follows(name):
    # Before other text it may be. As many bytes are searched as the longest special token has, up to where one begins.
    # (With 28 to 31 or 60 to 63, as boundaries that depend on a third character are found in whole vectors only.)
    for longest in range(3, 70):
        text = b"x".ljust(200) + b"<s>"
        text = text.ljust(2 * (200 - longest), b"y")  # the search begins in the middle
        tokens = new_special_tokens([b"<s>", b"z" * longest])
        assert [*find_cuts(PositionedBytes(text), len(text), 2, CutTables(get_pattern(name).tables, tokens), 1)] == [200]


def test_whitespace_is_not_cut_before_its_last_character_where_the_longest_special_token_follows():
    for longest in range(3, 66):
        token = b"s" * longest
        text = b"x".ljust(200) + token  # which begins where the first search ends
        text = text.ljust(2 * (200 - longest), b"y")
        tables = CutTables(GPT2.tables, new_special_tokens([token]))
        assert [*find_cuts(PositionedBytes(text), len(text), 2, tables, 1)] == [200], longest


def test_a_file_with_special_tokens_is_cut_at_them(tmp_path):
    data = (b"It's a story. " * 20 + SPECIAL) * 30
    parts = cut(tmp_path / "f", data, 1000)
    assert len(parts) >= 8
    assert all(part.startswith(SPECIAL) for part in parts[1:])


def test_a_file_of_special_tokens_side_by_side_is_cut_between_them(tmp_path):
    assert cut(tmp_path / "f", SPECIAL * 100, len(SPECIAL) * 10) == [SPECIAL * 10] * 10


def test_a_file_without_special_tokens_is_cut_at_certain_boundaries(tmp_path):
    data = b"It's a story without end. " * 1000
    for pattern_tokens in (), (SPECIAL,):
        parts = cut(tmp_path / "f", data, 1000, tokens=pattern_tokens)
        assert len(parts) == 26
        assert max(map(len, parts)) < 1100


def test_a_file_with_few_special_tokens_is_cut_at_boundaries_too(tmp_path):
    data = SPECIAL + b"It's a story without end. " * 1000 + SPECIAL
    parts = cut(tmp_path / "f", data, 1000)
    assert len(parts) >= 25


def test_what_has_no_certain_boundary_is_not_cut(tmp_path):
    assert cut(tmp_path / "f", b"a" * 5000, 100) == [b"a" * 5000]
    assert cut(tmp_path / "f", "中".encode() * 5000, 100) == ["中".encode() * 5000]
    for pattern in get_pattern(None), get_pattern(WITHOUT_PIECES):
        assert cut(tmp_path / "f", b"a story " * 500, 100, pattern) == [b"a story " * 500]


def test_a_pattern_of_ones_own_is_cut_at_its_certain_boundaries(tmp_path):
    for pattern in r"\w+|\s+", r"\b\w+|\s+":
        parts = cut(tmp_path / "f", b"a story " * 500, 100, get_pattern(pattern))
        assert len(parts) >= 20


def test_a_pattern_without_certain_boundaries_is_cut_at_special_tokens_only(tmp_path):
    data = (b"a story " * 50 + SPECIAL) * 30
    parts = cut(tmp_path / "f", data, 1000, get_pattern(WITHOUT_PIECES))
    assert len(parts) >= 8
    assert all(part.startswith(SPECIAL) for part in parts[1:])


def test_a_cut_in_a_long_file_stands_near_the_even_place(tmp_path):
    data = b"x" * 100_000 + b" y" + b"z" * 100_000
    assert cut(tmp_path / "f", data, 60_000) == [b"x" * 100_000, b" y" + b"z" * 100_000]


def test_text_that_cannot_be_cut_is_read_in_few_blocks_of_a_limited_size(monkeypatch):
    lengths: list[int] = []

    class Counted(PositionedBytes):
        def read(self, begin: int, end: int) -> bytes:
            lengths.append(end - begin)
            return super().read(begin, end)

    monkeypatch.setattr(chunks, "WINDOW", 1000)
    text = Counted(b"a" * 100_000)
    assert list(find_cuts(text, 100_000, 2, CutTables(GPT2.tables, new_special_tokens([])), look=1)) == []
    assert max(lengths) == 1000
    assert len(lengths) < 3 * (50_000 // 1000 + 10)  # with what is before and after each; they become longer first


def test_an_empty_file_is_read_to_its_end(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert cut_file(tmp_path / "f", 100, CutRules(GPT2, [SPECIAL])) == [(tmp_path / "f", 0, None)]


def test_a_file_that_becomes_shorter_before_it_is_cut_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"the cat " * 100)
    monkeypatch.setattr(chunks, "file_size", lambda _: 8000)
    with pytest.raises(OSError, match="f' became shorter while it was read"):
        cut_file(tmp_path / "f", 1000, CutRules(GPT2, [SPECIAL]))
