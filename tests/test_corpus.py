"""Sources of text: chunk boundaries, cutting files, reading by windows, joining documents, text as bytes."""

from __future__ import annotations

import io
import itertools
import os
import random
from pathlib import Path

import naive
import numpy as np
import pytest
import texts
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from real_patterns import WITHOUT_PIECES

import nbbpe
from nbbpe.idfiles import part_encoder
from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.pieces.special_tokens import SpecialTokens, new_special_tokens
from nbbpe.patterns.pattern import NAMED, get_pattern
from nbbpe.text import special_search, utf8, windows
from nbbpe.text.chunks import CutRules, PositionedBytes, cut_file, find_chunk_boundaries, find_cuts
from nbbpe.text.utf8 import to_bytes, to_text
from nbbpe.text.windows import Reader, TextReader, TextStream, concatenated

SPECIAL = texts.SPECIAL.encode()
GPT2 = NAMED["gpt2"]


def specials(*tokens: bytes) -> SpecialTokens:
    """Special tokens whose ids are their numbers."""
    return new_special_tokens(list(tokens), list(range(len(tokens))))


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


def test_a_special_token_longer_than_a_block_is_found():
    token = b"<" + b"long" * 30_000 + b">"
    data = b"x" * 50_000 + token + b"y" * 10
    assert find_chunk_boundaries(io.BytesIO(b"z" * len(data) + data), 2, token) == [0, len(data) + 50_000, 2 * len(data)]


def test_boundaries_of_small_and_empty_files():
    assert find_chunk_boundaries(io.BytesIO(b""), 5, SPECIAL) == [0]
    assert find_chunk_boundaries(io.BytesIO(b"a"), 5, SPECIAL) == [0, 1]
    assert find_chunk_boundaries(io.BytesIO(b"no such token" * 100), 7, SPECIAL) == [0, 1300]
    assert find_chunk_boundaries(io.BytesIO(SPECIAL * 2), 100, SPECIAL) == [0, 13, 26]
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "deepseek3"])
def test_no_pretoken_and_no_special_token_is_cut_wherever_a_search_ends(sizes, name):
    source, pattern, n_cuts = random.Random(name), get_pattern(name), 0

    def split(data: bytes, tokens: list[bytes]) -> list[str | bytes]:
        words: list[str | bytes] = []
        for document, special in naive.documents(data, tokens):
            words += [*pattern.split(to_text(document)), *([] if special is None else [special])]
        return words

    for _ in range(examples(250, 3000)):
        some = source.sample(PARTS, source.randrange(1, 8))
        spelled = ("".join(source.choices(some, k=source.randrange(1, 4))) for _ in range(source.choice([0, 0, 1, 3])))
        tokens = [*map(str.encode, dict.fromkeys(spelled))]
        chosen = [*map(str.encode, some), *tokens, *source.sample(INVALID, source.choice([0, 0, 1]))]
        data = b"".join(source.choices(chosen, k=source.randrange(1, 60)))
        n_parts = source.randrange(1, 40)  # perhaps more than there are bytes
        look = source.choice([1, 5, 20, 1 << 16])
        sizes(near=source.choice([1, 3, 8, 1 << 10]))
        cuts = [*find_cuts(PositionedBytes(data), len(data), n_parts, pattern.tables, specials(*tokens), look)]
        parts = [data[start:end] for start, end in itertools.pairwise([0, *cuts, len(data)])]
        assert all(parts)
        assert [word for part in parts for word in split(part, tokens)] == split(data, tokens), (parts, tokens)
        n_cuts += len(cuts)
    assert n_cuts > 500


@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_whitespace_is_not_cut_before_its_last_character_where_a_special_token_follows(name):
    # Before other text it may be. As many bytes are searched as the longest special token has, up to where one begins.
    # (With 28 to 31 or 60 to 63, as boundaries that depend on a third character are found in whole vectors only.)
    for longest in range(3, 70):
        text = b"x".ljust(200) + b"<s>"
        text = text.ljust(2 * (200 - longest), b"y")  # the search begins in the middle
        tokens = specials(b"<s>", b"z" * longest)
        assert [*find_cuts(PositionedBytes(text), len(text), 2, get_pattern(name).tables, tokens, 1)] == [200]


def test_whitespace_is_not_cut_before_its_last_character_where_the_longest_special_token_follows():
    for longest in range(3, 66):
        token = b"s" * longest
        text = b"x".ljust(200) + token  # which begins where the first search ends
        text = text.ljust(2 * (200 - longest), b"y")
        assert [*find_cuts(PositionedBytes(text), len(text), 2, GPT2.tables, specials(token), 1)] == [200], longest


def test_a_file_with_special_tokens_is_cut_at_them(tmp_path):
    data = (b"It's a story. " * 20 + SPECIAL) * 30
    parts = cut(tmp_path / "f", data, 1000)
    assert len(parts) >= 8
    assert all(part.startswith(SPECIAL) for part in parts[1:])


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


def test_an_empty_file_is_read_to_its_end(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert cut_file(tmp_path / "f", 100, CutRules(GPT2, [SPECIAL])) == [(tmp_path / "f", 0, None)]


# Reading


class Trickle:
    """A source that gives a few bytes at a time, as pipes do."""

    def __init__(self, data: bytes, seed: int) -> None:
        self.data = data
        self.random = random.Random(seed)

    def readinto(self, buffer: memoryview) -> int:
        n = min(self.random.randrange(1, 9), len(buffer), len(self.data))
        buffer[:n] = self.data[:n]
        self.data = self.data[n:]
        return n


@given(
    data=st.lists(st.one_of(texts.data(40), st.sampled_from([SPECIAL, b"<|"])), max_size=8).map(b"".join),
    window=st.integers(1, 80),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(-1, 9),
)
@example(data=b"ab" * 50, window=8, share=1.0, seed=-1)  # windows shorter than what is not certain at their ends
def test_windows_show_all_of_a_source_once_and_every_special_token(sizes, data, window, share, seed):
    tokens = SPECIAL, b"<|"
    sizes(window=window, copied=window // 16, text_window=window)
    if seed < 0:
        data = data * 9  # longer than the padding
        reader = TextReader(data, specials(*tokens))
    else:
        reader = Reader(Trickle(data, seed), None, specials(*tokens))
    position = taken = 0
    found = []
    while (seen := reader.advance(taken)) is not None:
        assert seen.data[seen.start : seen.end].tobytes() == data[position : position + seen.end - seen.start]
        assert seen.start <= seen.limit <= seen.end
        assert len(seen.data) >= seen.end + PADDING
        last = position + seen.end - seen.start == len(data) and seen.limit == seen.end
        # Take some of what is certain, but no part of a special token.
        taken = seen.end if last else max(int(seen.limit * share), seen.start)
        for first, end, _ in seen.breaks.tolist():
            if first < taken < end:
                taken = first
        before = position - seen.start
        found += [(before + first, before + end) for first, end, _ in seen.breaks.tolist() if first < taken]
        position += taken - seen.start
    assert position == len(data)
    assert found == [(start, end) for start, end, _ in naive.find_specials(data, tokens)]


def test_a_reader_reads_no_more_than_it_is_told(sizes):
    data = bytes(range(1, 200))
    for window in 1, 7, 50, 100, 101, 1000:
        sizes(window=window)
        for n_bytes in 0, 1, 50, 99, 100, 101, 199:
            source = io.BytesIO(data)
            reader = Reader(source, n_bytes, specials())
            out, taken = b"", 0
            while (seen := reader.advance(taken)) is not None:
                taken = seen.limit
                out += seen.data[:taken].tobytes()
            assert out == data[:n_bytes]
            assert source.tell() == n_bytes


def test_the_bytes_after_a_text_are_zero(sizes):
    sizes(window=64)
    for n in range(1, 200):
        reader = Reader(io.BytesIO(b"\xff" * 500), n, specials())
        taken = 0
        while (seen := reader.advance(taken)) is not None:
            taken = seen.limit
            if seen.limit == seen.end:
                assert not seen.data[seen.end : seen.end + PADDING].any(), n


def test_a_source_that_is_wanted_at_once_is_one_window(sizes):
    sizes(window=10)
    data = texts.SAMPLE.encode()
    reader = Reader(Trickle(data, 1), None, specials(), at_once=True)
    seen = reader.advance(0)
    assert (seen.start, seen.end, seen.limit) == (0, len(data), len(data))
    assert seen.data[: seen.end].tobytes() == data
    assert reader.advance(seen.end) is None


def test_a_file_that_became_shorter_is_an_error(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    with (
        open(path, "rb", buffering=0) as file,
        pytest.raises(OSError, match=r"f'.* became shorter while it was read"),
    ):
        Reader(file, 10, specials()).advance(0)


def test_a_window_holds_no_more_than_a_few_windows_of_a_long_text(sizes):
    sizes(window=1000)
    reader = Reader(io.BytesIO(b"the cat " * 50_000), None, specials(SPECIAL))
    longest = taken = 0
    while (seen := reader.advance(taken)) is not None:
        longest = max(longest, len(seen.data))
        taken = seen.limit
    assert longest <= 1000 + PADDING


def test_a_source_that_does_not_wait_is_not_taken_to_have_ended():
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.write(write_end, b"the cat")
    with (
        open(read_end, "rb", buffering=0) as source,
        open(write_end, "wb"),
        pytest.raises(BlockingIOError, match="does not wait for its text; open it blocking"),
    ):
        Reader(source, None, specials(SPECIAL)).advance(0)


def test_a_text_in_memory_is_not_copied_but_for_its_end(sizes):
    sizes(copied=62)
    sizes(text_window=1000)
    data = b"the cat " * 1000
    reader = TextReader(data, specials(SPECIAL))
    views = np.frombuffer(data, dtype=np.uint8)
    copied = taken = 0
    while (seen := reader.advance(taken)) is not None:
        taken = seen.limit
        if not np.shares_memory(seen.data, views):
            copied += seen.end
    assert 0 < copied <= PADDING + 64


def test_a_stream_of_texts_is_their_bytes():
    items = ["ab", "", b"", "é", b"\xff", "\udc80", "x" * 100]
    stream = TextStream(iter(items))
    buffer = bytearray(7)
    out = b""
    while n := stream.readinto(memoryview(buffer)):
        out += buffer[:n]
    assert out == b"".join(map(to_bytes, items))


# Documents of iterables


@given(st.lists(st.one_of(texts.data(30), st.just(SPECIAL)), max_size=8))
def test_joined_documents_have_a_break_between_any_two(documents):
    window = concatenated(documents, specials(SPECIAL))
    stretches = [[]]
    for text, break_id in window.documents():
        stretches[-1].append(text)
        if break_id == -1:
            stretches.append([])
    assert stretches.pop() == []
    wanted = [[text for text, _ in naive.documents(document, [SPECIAL])] for document in documents]
    assert stretches == (wanted or [[b""]])
    starts = window.breaks[:, 0]
    assert (np.diff(starts) > 0).all()


@given(st.lists(texts.data(30), max_size=12), st.integers(1, 60))
def test_batches_hold_all_documents_in_order(sizes, documents, n):
    sizes(batch=n)
    reader = windows.DocumentReader(iter(documents), specials(), windows.NO_ID)
    found = list(iter(lambda: reader.advance(0), None))
    assert [text for window in found for text, _ in list(window.documents())[:-1]] == documents
    assert all(window.end <= n + 40 * 4 + len(documents) for window in found)


# Text and bytes


@given(texts.data())
def test_bytes_as_text_are_the_same_bytes_again(data):
    assert to_bytes(to_text(data)) == data
    assert to_bytes(data) is data


@given(st.text(st.characters(), max_size=50))
def test_any_str_has_bytes_character_by_character(text):
    assert to_bytes(text) == b"".join(map(to_bytes, text))


def test_lone_surrogates_become_the_bytes_they_stand_for_or_their_own_three():
    assert to_bytes("\udc80") == b"\x80"
    assert to_bytes("\udcff") == b"\xff"
    assert to_bytes("\ud800") == b"\xed\xa0\x80"
    assert to_bytes("\udfff") == b"\xed\xbf\xbf"
    assert to_bytes("\udc7f") == b"\xed\xb1\xbf"
    assert to_bytes("\udd00") == b"\xed\xb4\x80"
    assert to_bytes("a\udc80é\ud800") == b"a\x80\xc3\xa9\xed\xa0\x80"


@pytest.mark.parametrize("bad", [None, 1, ["a"], memoryview(b"abcd").cast("I"), memoryview(b"abcd").cast("B", (2, 2))])
def test_what_is_no_text_is_an_error(bad):
    with pytest.raises(TypeError, match="text must be str or bytes, not "):
        to_bytes(bad)


# Special tokens


def test_special_tokens_are_found_as_the_twin_finds_them():
    source = random.Random(16)
    long = b"x" * 65
    for _ in range(3000):
        tokens = source.sample([b"a", b"aa", b"aba", b"b", b"<|", b"<|a|>", long, b"\xc3\xa9", b"\xc3\xa9a"], 3)
        letters = [b"a", b"aa", b"ab", b"<", b"<|", b"|>", long, long[1:], b"\xc3\xa9", b"\xc3"]
        parts = source.choices(letters, k=source.randrange(30))
        data = b"-" * source.choice([0, 1, 50, 60, 63, 64]) + b"".join(parts)
        breaks = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), specials(*tokens))
        found = [(start, end, tokens[number]) for start, end, number in breaks.tolist()]
        assert found == naive.find_specials(data, tokens), (data, tokens)


def test_the_longest_of_many_special_tokens_that_begin_alike_is_found():
    source = random.Random(17)
    for _ in range(300):
        tokens = list(
            {bytes(source.choices(b"<|ab\xff\x00", k=source.randrange(1, 9))) for _ in range(source.randrange(1, 60))}
        )
        data = b"".join(source.choices([*tokens, b"<", b"|", b"a", b"\xff", b"\x00", b"b "], k=60))
        breaks = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), specials(*tokens))
        found = [(start, end, tokens[number]) for start, end, number in breaks.tolist()]
        assert found == naive.find_specials(data, tokens), (data, tokens)


def test_more_special_tokens_than_there_is_room_for_at_first_are_all_found():
    data = b"a<>" * 50_000
    breaks = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), specials(b"<>"))
    assert breaks[:, 0].tolist() == list(range(1, len(data), 3))


@pytest.mark.parametrize("make", [str, open, lambda path: path])
def test_boundaries_are_those_of_a_file_of_bytes(tmp_path, make):
    path = tmp_path / "text.txt"
    path.write_text("the cat")
    file = make(path)
    with pytest.raises(TypeError, match=r'file must be a file of bytes, as of open\(path, "rb"\), not'):
        find_chunk_boundaries(file, 2, SPECIAL)


@pytest.mark.parametrize("n", [2.5, "2", True, None])
def test_the_number_of_chunks_is_an_integer(n):
    with pytest.raises(TypeError, match="desired_num_chunks must be an integer, not"):
        find_chunk_boundaries(io.BytesIO(b"the cat"), n, SPECIAL)


@pytest.mark.parametrize("workers", [1, 2])
def test_small_parts_that_are_joined_at_once_have_no_files(small, tmp_path, monkeypatch, sizes, workers):
    made = []
    monkeypatch.setattr(part_encoder, "OutputFile", lambda path, *_: made.append(path))
    sizes(for_workers=1)
    for i in range(5):
        (tmp_path / f"{i}.jsonl").write_text(f'{{"text": "the cat {i}"}}\n' * (3 * i))  # the first has none
    small.encode_file(tmp_path / "*.jsonl", tmp_path / "ids.bin", workers=workers)
    assert not made
    found = [small.decode(ids) for ids in nbbpe.TokenFile(tmp_path / "ids.bin", small).documents()]
    assert found == [f"the cat {i}" for i in range(5) for _ in range(3 * i)]
