"""Pieces that text follows, for patterns with `$`: patterns/automaton.py, kernels/pieces/pretokens.py, and encoding."""

from __future__ import annotations

import io
import itertools
import random

import naive
import numpy as np
import pytest
import regex
from automata import ALPHABET, automaton_of, random_part, tables_of, to_bytes, to_states
from effort import examples
from numba import njit
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.machine.intrinsics import address_of
from nbbpe.kernels.pieces.pattern_tables import OF_PIECES, number_of
from nbbpe.kernels.pieces.pretokens import ends_otherwise
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.automaton import Automaton, split
from nbbpe.patterns.boundaries import certain_pairs, certain_triples
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported
from nbbpe.text.chunks import CutTables, PositionedBytes, find_cuts
from nbbpe.text.utf8 import padded

PATTERNS = [
    NAMED["cl100k"].regex,
    r"\s+$|\s*\n|\s",
    r"\s+\Z|\s*[\r\n]|\s+(?!\S)|\s|a+\Z|a",
    r"a+\Z|a|\s+(?!\S)|\s",
    r"ab*\Z|ab(?=b)|.",
]
SEPARATOR = "<|endoftext|>"


def cuts_of_pieces(automaton: Automaton, text: str) -> list[int]:
    """Where a text is cut into pieces."""
    pairs, triples = certain_pairs(automaton), certain_triples(automaton)
    classes = automaton.classes_of(text).tolist()
    return [
        i
        for i in range(1, len(text))
        if pairs[classes[i - 1], classes[i]] or (i + 1 < len(text) and triples[classes[i - 1], classes[i], classes[i + 1]])
    ]


def split_in_pieces(automaton: Automaton, text: str, cuts: list[int]) -> list[str]:
    """The parts of a text that is cut at some places; only the last piece is split as a text."""
    *pieces, last = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
    return [part for piece in pieces for part in split(automaton.in_pieces, piece)] + split(automaton, last)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_is_split_as_its_pieces_of_which_the_last_ends_it(pattern):
    source = random.Random(11)
    automaton = automaton_of(pattern)
    n_cuts = n_more = 0
    for _ in range(examples(500, 5000)):
        letters = source.choice([ALPHABET, "  \n\na", "aabc", "a \n\r1."])
        text = "".join(source.choices(letters, k=source.randrange(1, 12)))
        cuts = cuts_of_pieces(automaton.in_pieces, text)
        n_cuts += len(cuts)
        n_more += len(set(cuts) - set(cuts_of_pieces(automaton, text)))
        whole = split(automaton, text)
        assert split_in_pieces(automaton, text, cuts) == whole, text
        for cut in cuts:
            assert split_in_pieces(automaton, text, [cut]) == whole, (text, cut)
    assert n_cuts > 100
    assert n_more > 10  # else the second automaton is of no use


@pytest.mark.exhaustive
def test_texts_are_split_as_their_pieces_by_random_regexes():
    source = random.Random(12)
    n_patterns = n_cuts = 0
    while n_patterns < examples(60, 2000):
        parts = [random_part(source, 2) for _ in range(source.randint(2, 4))]
        pattern = "|".join([rf"(?:{parts[0]})+\Z", *parts[1:]])
        try:
            automaton = automaton_of(pattern)
        except (Unsupported, regex.error):
            continue
        if automaton.in_pieces is None:
            continue
        n_patterns += 1
        for _ in range(25):
            text = "".join(source.choices(ALPHABET, k=source.randrange(2, 10)))
            for cut in cuts_of_pieces(automaton.in_pieces, text):
                n_cuts += 1
                assert split_in_pieces(automaton, text, [cut]) == split(automaton, text), (pattern, text, cut)
    assert n_cuts > 10 * n_patterns


@pytest.mark.parametrize("name", NAMED)
def test_only_patterns_in_which_the_end_matters_have_other_tables_for_pieces(name):
    has_others = any(automaton.in_pieces is not None for automaton in NAMED[name].automata)
    assert has_others == (name == "cl100k")
    assert (NAMED[name].tables.view(np.int64)[OF_PIECES] > 0) == has_others


@njit
def kernel_ends_otherwise(text, starts, pattern, found):
    """Of each of some pieces, whether `ends_otherwise` says that it may be split otherwise at the end of a text."""
    pattern_at = address_of(pattern)
    pattern_at += number_of(pattern_at, OF_PIECES)
    for i in range(found.shape[0]):
        found[i] = ends_otherwise(address_of(text) + starts[i], address_of(text) + starts[i + 1], pattern_at)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_kernel_knows_which_pieces_are_split_otherwise_at_the_end_of_a_text(pattern):
    source = random.Random(14)
    automaton = automaton_of(pattern)
    of_pieces = automaton.in_pieces
    pieces = ["".join(source.choices("aabc\n\n é.", k=source.randrange(1, 9))) for _ in range(examples(500, 5000))]
    pieces += ["\n" * 70, " " * 64, "a" * 64, "\udcff\n \n", "\n \udcff"]
    starts = np.cumsum([0, *(len(to_bytes(piece)) for piece in pieces)])
    found = np.zeros(len(pieces), dtype=bool)
    kernel_ends_otherwise(padded(to_bytes("".join(pieces))), starts, tables_of(pattern), found)
    for piece, of_kernel in zip(pieces, found.tolist(), strict=True):
        states = [(to_states(each), each.classes_of(piece).tolist()) for each in (automaton, of_pieces)]
        differs = naive.ends_otherwise(*states)
        # Of a long piece the kernel says that it may be.
        assert of_kernel == differs or (of_kernel and len(piece) > 64), piece
    assert 0 < found.sum() < len(pieces)


@pytest.fixture(scope="module")
def tokenizer():
    """Of merges that show where whitespace is split: training learns none across the pretokens of GPT-4's pattern."""
    parts = [b"\n", b" ", b"\r", b"x", b"e"]
    merges = [*itertools.product(parts, parts), (b"\n\n", b"\n"), (b"\n ", b"\n "), (b"  ", b"  ")]
    vocab = dict(enumerate([*BYTES.values(), *map(b"".join, merges), SEPARATOR.encode()]))
    return nbbpe.Tokenizer(vocab, merges, [SEPARATOR], "cl100k")


def by_regex(tokenizer) -> nbbpe.Tokenizer:
    return tokenizer._splitting_with("regex")


@pytest.mark.exhaustive
def test_ids_are_those_of_the_whole_text_wherever_it_ends(tokenizer):
    """Ends of texts, of stretches before special tokens, and of windows; short and long, alone, in batches and threads."""
    source = random.Random(15)
    other = by_regex(tokenizer)
    parts = [" ", "  ", "\n", "\r\n", "\t", "x", "return", "!", ".\n", "é", "。", "\u00a0", "\u2028", SEPARATOR]
    texts = ["".join(source.choices(parts, k=source.choice([1, 2, 3, 5, 10, 40]))) for _ in range(examples(600, 6000))]
    texts += ["x" + "\n " * n for n in (31, 32, 33, 130, 3000, 40_000)] + [
        "x" + " " * n for n in (63, 64, 300, 5000, 40_000)
    ]
    texts += [f"{text}{SEPARATOR}{text}" for text in texts[-11:]]
    for text in texts:
        assert tokenizer.encode(text, allowed_special="all") == other.encode(text, allowed_special="all"), text[:99]
        assert tokenizer.encode_ordinary(text) == other.encode_ordinary(text), text[:99]
    wanted = [other.encode(text, allowed_special="all") for text in texts]
    assert tokenizer.encode_batch(texts, allowed_special="all", num_threads=2) == wanted
    whole = "x\n  \n   y".join(texts) * 20
    for text in whole, whole.encode():
        ids = tokenizer.encode_array(text, allowed_special="all", num_threads=2)
        assert np.array_equal(ids, other.encode_array(whole, allowed_special="all", num_threads=1))


@pytest.mark.parametrize("name", ["gpt2", "cl100k"])
def test_a_text_ends_before_a_special_token_wherever_windows_and_parts_end(tokenizer, name, sizes):
    tokenizer = nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, [SEPARATOR], name)
    spaces = b"\n\n", b"  ", b" " * 26
    texts = [b"x" * n + space + SEPARATOR.encode() + b"y" * 99 for n in range(30, 60) for space in spaces]
    wanted = [tokenizer.encode(text) for text in texts]
    sizes(window=64, text_window=64, copied=0)
    assert [tokenizer.encode(text) for text in texts] == wanted
    assert [tokenizer.encode(io.BytesIO(text)) for text in texts] == wanted
    specials = new_special_tokens([SEPARATOR.encode(), b"z" * 24], [0, 1])  # as much text is read around each place
    tables = CutTables(get_pattern(name).tables, specials)
    for text, ids in zip(texts, wanted, strict=True):
        for cut in find_cuts(PositionedBytes(text), len(text), 40, tables, 1):
            assert tokenizer.encode(text[:cut]) + tokenizer.encode(text[cut:]) == ids, (text, cut)


def test_a_cached_piece_is_not_taken_for_the_same_bytes_at_the_end(tokenizer):
    other = by_regex(tokenizer)
    for text in "x\n  y", "x\n ", "x\n  y", "x\n  \n z", "x\n  \n", "x\n  \n z":
        assert tokenizer.encode(text) == other.encode(text)
        assert tokenizer.encode(text + "\n  y") == other.encode(text + "\n  y")


@pytest.mark.parametrize("n", [20, 100, 300, 6000])  # short pieces, and long ones, which another kernel encodes
def test_a_long_piece_is_split_as_what_follows_it_says(tokenizer, n):
    # At the end of a text, all letters are one pretoken.
    fresh = nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, [SEPARATOR], r"x+\Z|x|\s")
    for texts in ["x" * n, "x" * n + " "], ["x" * (n + 1) + " ", "x" * (n + 1)]:
        for text in texts:
            assert fresh.encode(text) == by_regex(fresh).encode(text), texts
