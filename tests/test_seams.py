"""patterns/seams.py: between which letters a word may be cut, by patterns of all kinds."""

from __future__ import annotations

import random
from itertools import pairwise

import naive
import pytest
import regex
from effort import examples
from hard_regexes import CASES, random_regex
from vocabularies import textbook_ids, vocab_of

import nbbpe
from nbbpe.kernels.pieces.pattern_tables import SEAM_LETTERS
from nbbpe.patterns.automaton import compile_automaton
from nbbpe.patterns.code_points import from_ranges
from nbbpe.patterns.levels import Levels, join_levels
from nbbpe.patterns.partial_automaton import as_partial, compile_partly
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported, parse
from nbbpe.patterns.places import can_be_empty
from nbbpe.patterns.regex_boundaries import regex_boundaries
from nbbpe.patterns.regex_splitter import RegexSplitter
from nbbpe.patterns.seams import seam_classes

LETTERS = "あい"

# Patterns by which words are cut between these letters; and others by which cutting the text would change how its parts are
# split, with the text and the place.
CUT = [
    r"あ+|.",
    r"(?<!あ)あ+|.",
    r"\b\w+\b|\W",
    r"(?<=\w)'s|\w+|\W",
    r"\d{1,3}(?=(?:\d{3})*\b)|\D",
    r"\w+(?=\.\w)|\w+|\W",
    r"あb?c|あ\b|[^1]",
]
NOT_CUT = {
    r"^あb?|(?s:.)": ("ああb", 1),  # the second part begins otherwise
    r"(?:ああ)+b|あ": ("ああb", 1),  # the match goes on to another state,
    r"1?あ\Z|1|あ": ("1ああ", 2),  # or ends otherwise
    r"1?あ+\b|1|\W": ("1ああ1", 2),  # letters can be left
    r"1(?=ああb)あ|.": ("1ああb", 2),  # what was asked before depends on the letter
    r"1(?=あ.)あ|.": ("1ああ", 2),  # or what goes on after it
    r"1(?=1*あ\b)1|.": ("11ああ", 3),  # or what only the end of the text fulfils
    r"\wb(?=あ\w(?!1.))|.": ("1bああ", 3),  # or what is undecided itself
    r"あ(?=あb)あb|.": ("ああb", 1),  # something is asked before it
    r"(?=ああb)あ{2}b|1?あ+|b": ("1あああb", 2),  # where the part begins
}


def seams_of(patterns: list[str], letters: str) -> tuple[Levels, tuple[set[int], set[int], set[int]]]:
    """The classes of seams between some letters, and the levels of the classes. Raises Unsupported."""
    levels, automata = [], []
    for pattern in patterns:
        tree = parse(pattern)
        if can_be_empty(tree):
            raise Unsupported("what can be empty")
        try:
            automaton = compile_automaton(tree)
            levels.append(automaton)
            automata.append(as_partial(automaton))
        except Unsupported:
            automata.append(compile_partly(tree))
            levels.append(regex_boundaries(tree))
    members = from_ranges((ord(letter), ord(letter)) for letter in letters)
    looks = [look for automaton in automata for look in automaton.looks]
    joined = join_levels(levels, [members], [*automata, *looks])
    return joined, seam_classes(joined, automata, members)


def seams(text: str, levels: Levels, letters: set[int], harm: set[int], keep: set[int]) -> list[int]:
    """The places in a text where words may be cut if no merge joins them."""
    data = text.encode()
    found = naive.seams(data, [], lambda character: int(levels.classes_of(character)[0]), letters, harm, keep)
    return [len(data[:offset].decode()) for offset in found]


def split(splitters: list[RegexSplitter], text: str) -> list[str]:
    """The parts that some regexes make in turn."""
    parts = [text]
    for splitter in splitters:
        parts = [inner for part in parts for inner in splitter.split(part)]
    return parts


def cut(text: str, places: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])]


def places_after(parts: list[str]) -> set[int]:
    """Where parts end, but for the last one."""
    return {len("".join(parts[:i])) for i in range(1, len(parts))}


@pytest.mark.parametrize("pattern", CUT)
def test_words_are_cut(pattern):
    _, (letters, _, _) = seams_of([pattern], LETTERS)
    assert letters


@pytest.mark.parametrize("pattern", NOT_CUT)
def test_words_are_not_cut_where_that_changes_something(pattern):
    text, place = NOT_CUT[pattern]
    splitters = [RegexSplitter(pattern)]
    cut_whole = cut(text, sorted(places_after(split(splitters, text)) | {place}))
    assert [inner for part in cut(text, [place]) for inner in split(splitters, part)] != cut_whole
    levels, sets = seams_of([pattern], "あ")
    assert place not in seams(text, levels, *sets)


def test_harm_comes_after_a_class_of_characters_not_after_all():
    levels, (letters, harm, _) = seams_of([r"b(?:ああ)+|\w|(?<=あ)'|'"], LETTERS)
    assert letters
    assert harm == {int(levels.classes_of("b")[0])}


@pytest.mark.exhaustive
def test_parts_between_seams_are_split_as_by_regex():
    rng = random.Random(1)
    n_cut = n_partial = 0
    while n_cut < examples(500, 2_500):
        patterns = []
        for _ in range(rng.choice([1, 1, 2])):
            alternatives = [random_regex(rng, rng.choice([1, 2, 3])) for _ in range(rng.choice([1, 2, 3]))]
            made = "|".join(alternatives) + rng.choice(["", "|.", "|(?s:.)", r"|\w+|\s", r"|\w+"])
            patterns.append((made if rng.random() < 0.85 else rng.choice([*CASES])).replace("a", "あ"))
        try:
            levels, sets = seams_of(patterns, rng.choice(["あ", LETTERS, "あ1", "あい1b"]))
        except (Unsupported, regex.error):
            continue
        if not sets[0]:
            continue
        splitters = [RegexSplitter(pattern) for pattern in patterns]
        n_partial += len(levels.automata) < len(patterns)
        for _ in range(5):
            text = "".join(rng.choices("あいb1 \n.A" + "あい" * rng.choice([1, 6]), k=rng.randrange(2, 11)))
            places = [place for place in seams(text, levels, *sets) if rng.random() < 0.5]
            wanted = cut(text, sorted(places_after(split(splitters, text)) | {*places}))
            assert [inner for part in cut(text, places) for inner in split(splitters, part)] == wanted, (patterns, text)
            n_cut += len(places) > 0
    assert n_partial > n_cut / 20


@pytest.mark.parametrize("pattern", [r"\b\w+\b|\W", r"(?<=\w)'s|\w+|\W", r"(?<=中)b|[^\W\d]+|\d{1,2}(?=(?:\d\d)*\b)|\W|\d"])
def test_words_are_cut_by_partial_automata(pattern):
    source = random.Random(3)
    merges = [(b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad"), (b"\xe6", b"\x96"), (b"\xe6\x96", b"\x87")]
    merges += [("中".encode(), "文".encode()), ("中文".encode(), b"'"), (b"\xe4\xb8", b"\x89")]
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, [], pattern)
    assert get_pattern(pattern).is_partly_compiled
    assert get_pattern(pattern).tables[SEAM_LETTERS] != 0
    for _ in range(300):
        text = "".join(source.choices("中文中文中文三あ'sb1 .\n\u0301", k=source.choice([5, 20, 200])))
        assert tokenizer.encode(text) == textbook_ids(tokenizer, text.encode()), text
