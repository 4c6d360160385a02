"""The automaton that finds special tokens, against the slow twins."""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest
from effort import examples
from vocabularies import BYTES

from nbbpe.kernels.pieces import special_tokens
from nbbpe.kernels.pieces.special_tokens import (
    BYTE,
    FALLBACK,
    FIRST,
    NO_ROOM,
    TOKEN,
    beginning_node,
    find_specials,
    new_special_tokens,
)
from nbbpe.model.special_tokens import find_overlap
from nbbpe.text import special_search, text_windows, utf8

pytestmark = pytest.mark.usefixtures("guarded_arrays")


def some_tokens(source: random.Random, letters: bytes) -> list[bytes]:
    """Few tokens, sometimes many, and sometimes one that is longer than what is searched at once."""
    n = source.choice([source.randrange(12)] * 9 + [60])
    tokens = {bytes(source.choices(letters, k=source.randrange(1, 9))) for _ in range(n)}
    return list(tokens | ({bytes(source.choices(letters, k=65))} if source.random() < 0.1 else set()))


def spelled_nodes(specials: special_tokens.SpecialTokens) -> list[bytes]:
    """The ending that each node stands for."""
    spelled = [b""]
    for node in range(len(specials.nodes) - 1):
        assert specials.nodes[node, FIRST] == len(spelled)
        for child in range(len(spelled), specials.nodes[node + 1, FIRST]):
            spelled.append(bytes([specials.nodes[child, BYTE]]) + spelled[node])
    return spelled


def random_cases(n: int) -> list[tuple[list[bytes], random.Random]]:
    source = random.Random(22)
    alphabets = b"ab", b"a<|>", bytes(range(256)), b"\x00\x7f\x80\xff"
    return [(some_tokens(source, source.choice(alphabets)), source) for _ in range(n)]


def text_of(tokens: list[bytes], source: random.Random) -> bytes:
    parts = [*tokens, *[token[:-1] for token in tokens], *[token[1:] for token in tokens], b"a", b"|", bytes(70)]
    return b"".join(source.choices(parts, k=source.randrange(40)))


@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
def test_nodes_are_the_endings_of_tokens(sizes, at_once):
    sizes(nodes=at_once)
    for tokens, _ in random_cases(300):
        specials = new_special_tokens(tokens, list(range(len(tokens))))
        spelled = spelled_nodes(specials)
        wanted = naive.endings(tokens) or {b"": (b"", None)}
        assert sorted(spelled) == sorted(wanted)
        assert [len(ending) for ending in spelled] == sorted(map(len, wanted))
        for row, ending in zip(specials.nodes[:-1].tolist(), spelled, strict=True):
            token = None if row[TOKEN] < 0 else tokens[specials.tokens[row[TOKEN], 1]]
            assert (spelled[row[FALLBACK]], token) == wanted[ending], (tokens, ending)
        assert specials.longest == max(map(len, tokens), default=0)


@pytest.mark.exhaustive
def test_tokens_are_found_as_the_twins_find_them():
    for tokens, source in random_cases(examples(400, 2000)):
        data = b"-" * source.choice([0, 1, 50, 60, 63, 64]) + text_of(tokens, source)
        text = utf8.padded(data)
        specials = new_special_tokens(tokens, list(range(len(tokens))))
        found = special_search.find_breaks(text, 0, len(data), len(data), specials).tolist()
        assert [(start, end, tokens[i]) for start, end, i in found] == naive.find_specials(data, tokens), (data, tokens)
        for overlapping, wanted in (True, naive.overlapping_specials), (False, naive.find_specials):
            breaks = np.empty((len(data), 3), dtype=np.int64)
            n, position = find_specials(text.ctypes.data, 0, len(data), len(data), specials, breaks, overlapping)
            assert [(start, end) for start, end, _ in breaks[:n].tolist()] == [row[:2] for row in wanted(data, tokens)]
            assert position == len(data)


def test_what_starts_before_a_place_is_found_up_to_the_end_of_the_text():
    for tokens, source in random_cases(500):
        data = text_of(tokens, source)
        start, stop, end = sorted(source.randrange(len(data) + 1) for _ in range(3))
        specials = new_special_tokens(tokens, list(range(len(tokens))))
        found = special_search.find_breaks(utf8.padded(data), start, end, stop, specials)
        wanted = naive.find_specials(data[start:end], tokens)
        assert list(map(tuple, found[:, :2].tolist())) == [(start + a, start + b) for a, b, _ in wanted if start + a < stop]


def test_a_search_goes_on_behind_a_token_that_ends_after_the_place():
    for tokens, source in random_cases(300):
        data = text_of(tokens, source)
        text, specials = utf8.padded(data), new_special_tokens(tokens)
        breaks = np.empty((len(data), 3), dtype=np.int64)
        found, position = [], 0
        for stop in *sorted(source.choices(range(len(data) + 1), k=5)), len(data):
            n, position = find_specials(text.ctypes.data, position, len(data), max(stop, position), specials, breaks, False)
            assert position >= stop
            found += [(start, end) for start, end, _ in breaks[:n].tolist()]
        assert found == [row[:2] for row in naive.find_specials(data, tokens)], (data, tokens)


def test_tokens_may_end_with_any_byte():
    tokens = list(BYTES.values())
    data = bytes(range(256)) * 2
    for some in tokens, tokens[::2], tokens[1:], tokens[:255]:
        found = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), new_special_tokens(some))
        assert [data[start:end] for start, end, _ in found.tolist()] == some * 2


def test_where_there_is_no_room_nothing_is_found_and_nothing_is_lost(monkeypatch):
    specials = new_special_tokens([b"a", b"aab"], [1, 2])
    text = utf8.padded(b"a" * 200)
    breaks = np.empty((199, 3), dtype=np.int64)
    assert find_specials(text.ctypes.data, 0, 200, 200, specials, breaks, False) == (NO_ROOM, 0)
    assert find_specials(text.ctypes.data, 0, 200, 199, specials, breaks, False) == (199, 199)
    data = (b"a" * 50_000 + b"b" * 300_000) * 3
    found = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), specials)
    assert len(found) == 3 * (50_000 - 2 + 1)
    assert found[49_998].tolist() == [49_998, 50_001, 2]


def test_the_beginning_of_a_text_is_an_ending():
    for tokens, source in random_cases(500):
        data = text_of(tokens, source)
        specials = new_special_tokens(tokens, list(range(len(tokens))))
        text = utf8.padded(data)
        node = beginning_node(text.ctypes.data, len(data), specials)
        assert spelled_nodes(specials)[node] == naive.beginning(data, tokens)


def test_tokens_that_can_overlap_are_found():
    source = random.Random(5)
    n_found = 0
    for _ in range(3000):
        words = list({"".join(source.choices("abcdé<", k=source.randrange(1, 6))) for _ in range(source.randrange(8))})
        first, later = words[::2], words[1::2]
        if source.random() < 0.05:
            later += first[-1:]
        found = find_overlap(first, later)
        assert (found is not None) == naive.find_overlap(first, later), (first, later)
        if found is not None:
            assert found[0] in first
            assert found[1] in later
            assert naive.find_overlap([found[0]], [found[1]]), (first, later, found)
            n_found += 1
    assert 100 < n_found < 2900


def test_the_first_of_some_tokens_is_found_in_any_text(sizes):
    sizes(text_window=300, window=64)
    for tokens, source in random_cases(300):
        data = b"-" * source.choice([0, 500, 5000]) + text_of(tokens, source)
        wanted = naive.find_specials(data, tokens)
        for text in data, memoryview(bytearray(data)):
            found = text_windows.first_special(text, new_special_tokens(tokens, [0] * len(tokens)))
            assert found == (wanted[0][2] if wanted else None)


def test_special_tokens_that_are_too_long_together_are_an_error(sizes):
    sizes(most_special=9)
    with pytest.raises(ValueError, match="special tokens have 10 bytes together; at most 9 are possible"):
        new_special_tokens([b"a" * 4, b"b" * 6], [0, 1])
