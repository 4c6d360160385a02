# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Automata of split regexes: those of all patterns and of random regexes, and how the kernel splits by them.

`regex` and the twins in naive.py are what tests compare them with.
"""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pytest
import real_patterns
import regex
from effort import mostly_slow
from hypothesis import strategies as st
from numba import njit

from nbbpe.kernels.machine.intrinsics import address_of
from nbbpe.kernels.pieces.pretokens import begin_piece, new_split_scratch, pretoken_end
from nbbpe.patterns.automaton import Automaton, compile_automaton
from nbbpe.patterns.code_points import read_off
from nbbpe.patterns.levels import join_levels
from nbbpe.patterns.pattern import NAMED, Pattern
from nbbpe.patterns.pattern_parser import (
    NO_LIMIT,
    Characters,
    Choice,
    Concatenation,
    End,
    LongLookAhead,
    LookAhead,
    Repeat,
    Unsupported,
    parse,
)
from nbbpe.patterns.pattern_tables import new_pattern_tables
from nbbpe.text.utf8 import padded

# Each distinct list of regexes once, by the first name that has it.
PATTERNS: dict[str, tuple[str, ...]] = {}
for _name, _given in [
    *((name, pattern.regexes) for name, pattern in NAMED.items()),
    *((name, [each] if isinstance(each, str) else each) for name, each in real_patterns.REAL.items()),
]:
    if tuple(_given) not in PATTERNS.values():
        PATTERNS[_name] = tuple(_given)
for_each_pattern = pytest.mark.parametrize("regexes", PATTERNS.values(), ids=PATTERNS)
# Those that have a name, and in CI all.
for_named_patterns = pytest.mark.parametrize(
    "regexes", mostly_slow(PATTERNS.values(), [tuple(pattern.regexes) for pattern in NAMED.values()]), ids=PATTERNS
)


@functools.cache
def pattern_of(regexes: tuple[str, ...]) -> Pattern:
    """The pattern of exactly these regexes, under no name."""
    return Pattern(None, regexes[0], regexes[1:])


@functools.cache
def automaton_of(pattern: str) -> Automaton:
    return compile_automaton(parse(pattern))


def tables_of(*regexes: str) -> np.ndarray:
    return new_pattern_tables([automaton_of(each) for each in regexes], read_off(r"[\p{Lo}\p{Lm}]"))


@njit
def walk_pieces(text, starts, pattern, scratch, is_end):
    """Mark where the pretokens of pieces that stand side by side end; returns the first that does not go on, or -1."""
    pattern_at, split_at, text_at = address_of(pattern), address_of(scratch), address_of(text)
    for piece in range(starts.shape[0] - 1):
        begin_piece(split_at, pattern_at)
        at, end = text_at + starts[piece], text_at + starts[piece + 1]
        while at < end:
            after = pretoken_end(at, end, pattern_at, split_at)
            if not at < after <= end:
                return piece
            at = after
            is_end[at - text_at] = 1
    return -1


def ends_of_pieces(data: bytes, starts: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Where the pretokens of pieces that start at `starts`, and end with the last of these, end, as the kernel says."""
    text = padded(data)
    is_end = np.zeros(len(text), dtype=np.uint8)
    assert walk_pieces(text, starts, tables, new_split_scratch(tables), is_end) == -1
    return np.flatnonzero(is_end)


def ends_by_kernel(pieces: list[bytes], tables: np.ndarray) -> list[int]:
    """Where the pretokens of pieces end in the joined pieces, as the kernel says."""
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return ends_of_pieces(b"".join(pieces), starts, tables).tolist()


def to_bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def split_by_kernel(text: str, tables: np.ndarray) -> list[str]:
    data = to_bytes(text)
    edges = [0, *ends_by_kernel([data], tables)]
    return [data[start:end].decode(errors="surrogateescape") for start, end in itertools.pairwise(edges)]


def byte_ends(text: str) -> np.ndarray:
    """int64[len(text) + 1]: how many bytes of UTF-8 so many characters are; an undecodable byte is one."""
    codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xDC80) & (codes < 0xDD00)] = 1
    return np.concatenate([[0], np.cumsum(sizes)])


def assert_splits(pieces: list[str], regexes: tuple[str, ...]) -> None:
    """Hold the kernel against `regex`, each piece by itself; pieces that stand side by side must not see each other.

    All are split in one call, and compared as arrays: there can be millions.
    """
    pattern = pattern_of(regexes)
    lengths = [len(pretoken) for pretoken in itertools.chain.from_iterable(map(pattern.split, pieces))]
    text = "".join(pieces)
    ends = byte_ends(text)
    starts = ends[np.cumsum([0, *map(len, pieces)], dtype=np.int64)]
    if not np.array_equal(ends_of_pieces(to_bytes(text), starts, pattern.tables), ends[np.cumsum(lengths, dtype=np.int64)]):
        for piece in pieces:  # say which
            assert split_by_kernel(piece, pattern.tables) == pattern.split(piece), piece
        raise AssertionError("pieces are split otherwise side by side")


@functools.cache
def characters_of_classes(regexes: tuple[str, ...]) -> list[list[str]]:
    """Of each class of all levels together some characters: the first and last of its ranges, and those of ASCII."""
    levels = join_levels([automaton_of(each) for each in regexes])
    found: list[list[str]] = [[] for _ in range(levels.n_classes)]
    ends = [*levels.edges[1:].tolist(), 0x110000]
    for first, end, of_class in zip(levels.edges.tolist(), ends, levels.class_of_edge.tolist(), strict=True):
        for code in dict.fromkeys([first, end - 1]):
            is_text = not 0xD800 <= code < 0xE000 or 0xDC80 <= code < 0xDD00
            if is_text and (len(found[of_class]) < 6 or code < 128):
                found[of_class].append(chr(code))
    return [each for each in found if each]


def random_strings(regexes: tuple[str, ...], n: int) -> list[str]:
    """Strings of a few classes at a time, some long, with letters that patterns name and undecodable bytes."""
    source = np.random.default_rng(2)
    samples = [*characters_of_classes(regexes), list("sSdmtTlLvVeErR'"), list("ſK\udcff\udc80"), list(" \n\r\t")]
    samples += [["'s"], ["'Ll"], ["\n"], [" "], ["1"], ["中"], ["a\u0301"]]
    flat = [each for sample in samples for each in sample]
    n_choices = np.array(list(map(len, samples)))
    first_choice = np.cumsum(n_choices) - n_choices
    # Of each string, the samples that it is of, and how many parts it has; of each part, which sample, and what of it.
    n_samples, of_samples = source.integers(1, 6, n), source.integers(0, len(samples), (n, 5))
    n_parts = np.where(source.random(n) < 0.05, source.integers(1, 60, n), source.integers(1, 12, n))
    string = np.repeat(np.arange(n), n_parts)
    sample = of_samples[string, source.integers(0, n_samples[string])]
    chosen = first_choice[sample] + source.integers(0, n_choices[sample])
    text = "".join(map(flat.__getitem__, chosen.tolist()))
    part_ends = np.concatenate([[0], np.cumsum(np.array(list(map(len, flat)))[chosen])])
    edges = part_ends[np.concatenate([[0], np.cumsum(n_parts)])].tolist()
    return [text[start:end] for start, end in itertools.pairwise(edges)]


SETS = [
    *"abcA1 ",
    "[ab]",
    "[^a]",
    "[^ab]",
    "[b-d]",
    r"\w",
    r"\s",
    r"\S",
    r"\n",
    ".",
    r"\p{Lu}",
    r"[^\s\w]",
    r"\d",
    r"[\r\n]",
]
LOOKS = ["(?!a)", "(?=b)", r"(?!\S)", "(?=[ab])", r"(?!\s|b)", "$", r"\Z", r"(?!\n|\Z)"]
REPEATS = ["?", "??", "*", "+", "*?", "+?", "{2}", "{1,2}", "{0,2}?", "{2,}"]
POSSESSIVE = ["?+", "*+", "++", "{1,2}+", "{2}+", "{2,}+"]
ALPHABET = "aabbcdAB1 \n\r.é"


def random_part(source: random.Random, depth: int) -> str:
    kind = source.random()
    if depth == 0 or kind < 0.35:
        return source.choice(SETS)
    if kind < 0.55:
        return random_part(source, depth - 1) + random_part(source, depth - 1)
    if kind < 0.7:
        return f"(?:{random_part(source, depth - 1)}|{random_part(source, depth - 1)})"
    if kind < 0.85:
        return f"(?:{random_part(source, depth - 1)})" + source.choice(REPEATS)
    if kind < 0.92:
        return source.choice(SETS) + source.choice(POSSESSIVE)
    if kind < 0.96:
        return f"(?i:{random_part(source, depth - 1)})"
    return source.choice(LOOKS)


def random_automata(seed: int, n: int):
    """Random regexes of the syntax that is compiled, with their automata."""
    source = random.Random(seed)
    found = 0
    while found < n:
        pattern = "|".join(random_part(source, source.randint(1, 3)) for _ in range(source.randint(1, 4)))
        # `regex` (2026.11.15) has a fault there: regex.match(r"[^bq]|(?i:xy)", "B") is None.
        if "(?i" in pattern and ("[^" in pattern or r"\S" in pattern):
            continue
        try:
            automaton = compile_automaton(parse(pattern))
        except (Unsupported, regex.error):
            continue
        found += 1
        yield pattern, automaton


def to_tree(node) -> tuple:
    """A tree as tests/naive.py takes it."""
    if isinstance(node, Characters):
        return "set", node.members
    if isinstance(node, Concatenation):
        return "sequence", tuple(map(to_tree, node.parts))
    if isinstance(node, Choice):
        return "choice", tuple(map(to_tree, node.options))
    if isinstance(node, LookAhead):
        return "look", node.members, node.or_end
    if isinstance(node, LongLookAhead):
        return "long look", to_tree(node.part), node.negative
    if isinstance(node, End):
        return "end", node.or_newline
    assert isinstance(node, Repeat)
    return "repeat", to_tree(node.part), node.least, None if node.most == NO_LIMIT else node.most, node.mode


def to_states(automaton: Automaton) -> tuple[list, list]:
    return automaton.next_state.tolist(), automaton.tells.tolist()


LEAVES = st.sampled_from(SETS)


def larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Regexes made of smaller ones."""
    repeated = st.builds("(?:{}){}".format, parts, st.sampled_from(REPEATS))
    possessive = st.builds("{}{}".format, LEAVES, st.sampled_from(POSSESSIVE))
    looking = st.builds("{}{}".format, parts, st.sampled_from(LOOKS))
    return st.one_of(st.builds("{}{}".format, parts, parts), st.builds("(?:{}|{})".format, parts, parts), repeated) | (
        possessive | looking
    )
