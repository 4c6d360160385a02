"""patterns/ascii_words.py and `word_end` of kernels/pieces/pretokens.py: words that are split without a walk."""

from __future__ import annotations

import itertools
import random
import string

import naive
import numpy as np
import pytest
import regex
from automata import ALPHABET, LEAVES, automaton_of, ends_by_kernel, for_named_patterns, larger, pattern_of, to_bytes
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.kernels.pieces import pattern_tables as layout
from nbbpe.patterns.ascii_words import words_of_last
from nbbpe.patterns.automaton import Automaton, compile_automaton
from nbbpe.patterns.determiniser import MOST_STATES
from nbbpe.patterns.levels import join_levels
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported, parse


def words_and_classes(automaton: Automaton):
    levels = join_levels([automaton])
    return words_of_last(levels), levels


def characters(levels, classes: set[int]) -> str:
    return "".join(each for each in map(chr, range(128)) if levels.classes_of(each)[0] in classes)


def without_words(tables: np.ndarray) -> np.ndarray:
    copy = tables.copy()
    copy.view(np.int64)[layout.WORD_LEAST] = 0
    return copy


def framed_words(n: int) -> list[str]:
    """Words of all lengths and cases, with what may come before and after them."""
    source = random.Random(3)
    around = [*["", " "] * 3, *"'_.\n\t9é中X", "\u0301", "\udcff", ", ", "  ", "'s", "'LL "]
    cases = [str.lower, str.lower, str.upper, str.title, str.swapcase]
    words = ["".join(source.choices(string.ascii_lowercase, k=length)) for length in range(1, 70)]

    def word() -> str:
        return source.choice(cases)(source.choice(words[: source.choice([4, 34, 69])]))

    return [source.choice(around) + word() + source.choice(around) for _ in range(n)]


@pytest.mark.exhaustive
@for_named_patterns
def test_words_are_split_as_regex_and_a_walk_do(regexes):
    pattern = pattern_of(regexes)
    pieces = framed_words(examples(400, 8_000))
    encoded = list(map(to_bytes, pieces))
    lengths = [len(to_bytes(part)) for piece in pieces for part in pattern.split(piece)]
    # Pieces that stand side by side: what follows one of them are often letters, too.
    wanted = list(itertools.accumulate(lengths))
    assert ends_by_kernel(encoded, pattern.tables) == wanted
    assert ends_by_kernel(encoded, without_words(pattern.tables)) == wanted


@pytest.mark.parametrize(
    ("name", "least", "any_case", "leads", "not_leads", "ends", "not_ends"),
    [
        ("gpt2", 1, True, " ", "'_.\n9", " '_.\n9", "aZ"),
        ("cl100k", 1, True, " _.\t", "'\n9", " '_.\n9", "aZ"),
        ("o200k", 2, False, " _.'\t", "\n9", " _.\n9Z", "a'"),
        ("bloom", 1, True, " _'9", ".,", " .,", "aZ_9"),
    ],
)
def test_words_of_named_patterns(name, least, any_case, leads, not_leads, ends, not_ends):
    words, levels = words_and_classes(automaton_of(NAMED[name].regexes[0]))
    assert (words.least, words.any_case) == (least, any_case)
    for members, others, classes in (leads, not_leads, words.leads), (ends, not_ends, words.ends):
        found = characters(levels, classes)
        assert set(members) <= set(found)
        assert not set(others) & set(found)


@pytest.mark.parametrize(
    "pattern", [r"[a-z]{1,3}|.", r"\p{N}+|\p{P}", r"[a-m]+|[^a-m]+", r"\w+?(?=e)|.", r"[A-Z][a-z]+", r"[A-Za-z]+(?=,)|."]
)
def test_where_words_are_not_matched_as_a_whole_there_are_none(pattern):
    assert words_and_classes(automaton_of(pattern))[0] is None


def test_a_pattern_without_words_says_so_in_its_tables():
    numbers = [get_pattern(name).tables.view(np.int64)[layout.WORD_LEAST] for name in ("gpt2", "o200k", "deepseek-coder")]
    assert numbers == [1, 2, 0]


@given(pattern=st.recursive(LEAVES, larger, max_leaves=6), source=st.randoms(use_true_random=False))
def test_words_of_any_regex_are_its_matches(pattern, source):
    for each in pattern, rf"[^\s\w]?[A-Za-z]+|{pattern}", rf" ?(?:[A-Z]?[a-z]+|{pattern})":
        try:
            automaton = compile_automaton(parse(each))
        except (Unsupported, regex.error):
            continue
        words, levels = words_and_classes(automaton)
        if words is not None:
            leads, ends = (["", *characters(levels, classes)] for classes in (words.leads, words.ends))
            for _ in range(20):
                word = naive.random_ascii_word(source, [c for c in leads if not c.isalpha()], words.least, words.any_case)
                end = source.choice(ends)
                rest = source.choice(ALPHABET) if end else ""
                assert regex.compile(each).match(word + end + rest).group() == word


def test_a_text_may_end_before_a_word_has_its_least_length():
    pattern = pattern_of((r"[^\s\w]?[A-Za-z][a-z]+|[^A-Za-z]",))
    assert words_and_classes(pattern.automata[0])[0].least == 2
    pieces = [",a", "bc", "a", "b,", ",", "abc"]
    assert ends_by_kernel([piece.encode() for piece in pieces], pattern.tables) == [1, 2, 4, 5, 6, 7, 8, 11]


def test_states_fit_into_moves():
    assert layout.MOST_LEVELS * MOST_STATES * layout.MOVE_BYTES < 1 << 16
