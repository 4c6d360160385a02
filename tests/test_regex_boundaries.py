"""Certain boundaries of regexes that have no automaton: sound, and as good as those of an automaton where there is one."""

from __future__ import annotations

import itertools
import random
from itertools import pairwise

import naive
import numpy as np
import pytest
import regex
from automata import PATTERNS, automaton_of
from effort import examples
from hard_regexes import AFTER_LETTER, CASES, random_regex
from limits import takes_seconds_below
from real_patterns import LEFT_TO_REGEX, WITHOUT_PIECES

import nbbpe
from nbbpe.counting import counters
from nbbpe.encoding import regex_encoder
from nbbpe.patterns import automaton, checked_automaton
from nbbpe.patterns.boundaries import certain_pairs
from nbbpe.patterns.checked_automaton import level_of
from nbbpe.patterns.partial_automaton import compile_partly, split_if_decided
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported, parse
from nbbpe.patterns.regex_boundaries import regex_boundaries
from nbbpe.patterns.regex_splitter import RegexSplitter

# Of these: no space is in a match; or all depends on whether it begins the text.
ONE_PIECE = [r"^a|a|b", r"(?:ab|a)?+a|b", r"(?>a+)a|b", r"(?>^|x)b?c|(?s:.)"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", CASES)
def test_boundaries_are_where_they_are_certain_and_nowhere_else(pattern):
    boundaries = regex_boundaries(parse(pattern))
    certain, uncertain = CASES[pattern]
    for pair in certain + uncertain:
        before, after = boundaries.classes_of(pair).tolist()
        assert boundaries.pairs[before, after] == (pair in certain), pair
    rng = random.Random(pattern)
    for _ in range(examples(300, 20_000)):
        assert_cut_alike("".join(rng.choices("aab \nx1c'", k=rng.randrange(1, 9))), pattern, boundaries)


def assert_cut_alike(text: str, pattern: str, boundaries) -> None:
    """At each boundary, both sides split alone as they do in the text, and so do all pieces."""
    split = naive_split(pattern)
    classes = boundaries.classes_of(text)
    cuts = (1 + np.flatnonzero(boundaries.pairs[classes[:-1], classes[1:]])).tolist()
    whole = split(text)
    for cut in cuts:
        assert split(text[:cut]) + split(text[cut:]) == whole, (pattern, text, cut)
    pieces = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
    assert [part for piece in pieces for part in split(piece)] == whole, (pattern, text)


def naive_split(pattern: str):
    compiled = regex.compile(pattern)
    return lambda text: naive.split(text.encode(), compiled) if text else []


@pytest.mark.parametrize("regexes", [each for each in PATTERNS.values() if len(each) == 1], ids=lambda each: each[0][:20])
def test_no_boundary_is_claimed_that_an_automaton_does_not_prove(regexes):
    """Those of an automaton are all that there are."""
    boundaries, automaton = regex_boundaries(parse(regexes[0])), automaton_of(regexes[0])
    edges = np.union1d(boundaries.edges, automaton.edges)
    exact = certain_pairs(automaton)
    pairs = np.unique(np.stack([boundaries.classes_at(edges), automaton.classes_at(edges)]), axis=1).T.tolist()
    for (ours, theirs), (our_next, their_next) in itertools.product(pairs, repeat=2):
        assert exact[theirs, their_next] >= boundaries.pairs[ours, our_next]
    # Most are found, too.
    assert boundaries.pairs.any() == exact.any()


@pytest.mark.exhaustive
def test_random_regexes_split_pieces_as_they_split_the_text():
    rng = random.Random(1)
    n_cut = 0
    while n_cut < examples(3000, 300_000):
        pattern = "|".join([random_regex(rng, 3) for _ in range(3)]) + rng.choice(["", "|.", "|(?s:.)", r"|\w+|\s"])
        try:
            boundaries = regex_boundaries(parse(pattern))
        except (Unsupported, regex.error):
            continue
        for _ in range(10 * bool(boundaries.pairs.any())):
            text = "".join(rng.choices("aab1 \n.A", k=rng.randrange(2, 9)))
            classes = boundaries.classes_of(text)
            n_cut += int(boundaries.pairs[classes[:-1], classes[1:]].sum())
            assert_cut_alike(text, pattern, boundaries)


def test_boundaries_of_a_long_list_are_found_in_time():
    """With some thousand classes and places."""
    letters = [chr(0x5000 + i) for i in range(2400)]
    pattern = r"\b(?:" + "|".join(letters * 2) + r")+\b|\w+|\W"
    with takes_seconds_below(6):  # mostly 1; with a table of all classes for each place, 15
        boundaries = regex_boundaries(parse(pattern))
    before, after = boundaries.classes_of("\u5000 ").tolist()
    assert boundaries.pairs[before, after]
    assert boundaries.pairs[after, before]


@pytest.mark.parametrize("pattern", ["a*?(?<=x)", r"a*(?=b)|c", r"(?<=\s(?=a)a)b|.", r"(?<!a*)b|.", r"(ab)\1|."])
def test_of_some_regexes_nothing_is_certain(pattern):
    with pytest.raises(Unsupported):
        regex_boundaries(parse(pattern))
    assert not level_of(pattern).pairs.any()


@pytest.mark.parametrize(
    ("pattern", "certain", "uncertain"),
    [
        (r"(?<=ab)c|\w+|\W", ["a ", " a", "b "], ["ab", "bc"]),
        (r"(?<!\r\n)-|[^-]|-", ["ab", "a-", "\r-"], ["\r\n", "\n-"]),
        (r"(?<=a(?:\d,?)+)b|(?s:.)", ["ba", "-1", ",a"], ["a1", "11", "1,", ",1", ",b", "1b"]),
        (r"(?<=ab|c)d|(?s:.)", ["a-", "-a", "da"], ["ab", "bd", "cd"]),
    ],
)
def test_no_boundary_is_within_what_a_look_behind_looks_for(pattern, certain, uncertain):
    boundaries = regex_boundaries(parse(pattern))
    for texts, is_certain in (certain, True), (uncertain, False):
        for text in texts:
            before, after = boundaries.classes_of(text).tolist()
            assert boundaries.pairs[before, after] == is_certain, text


@pytest.mark.exhaustive
def test_random_look_behinds_are_split_as_by_regex():
    rng = random.Random(3)
    members = ["a", "b", r"\d", r"\w", r"\s", "[ab1]", r"\n", ".", "[^a]", " "]

    def sequence() -> str:
        repeats = ["", "", "", "?", "+", "*", "{2}", "{1,2}"]
        return "".join(rng.choice(members) + rng.choice(repeats) for _ in range(rng.randint(1, 3)))

    def look_behind() -> str:
        part = "|".join(sequence() for _ in range(rng.randint(1, 2)))
        part = rng.choice([part, f"(?:{part}){rng.choice(['+', '{2}'])}a"])
        return rng.choice(["", f"(?<={part})", f"(?<!{part})"])

    n_cuts = n_decided = 0
    while n_cuts < examples(3000, 40_000):
        options = [look_behind() + sequence() + look_behind() + rng.choice(["", "(?=ab)"]) for _ in range(2)]
        pattern = "|".join(options) + rng.choice(["", r"|\w|\W", r"|\w+|\s+|[^\w\s]"])
        try:
            tree = parse(pattern)
            boundaries, automaton = regex_boundaries(tree), compile_partly(tree)
        except Unsupported:
            continue
        splitter = RegexSplitter(pattern)
        for _ in range(20):
            text = "".join(rng.choices("aab1 \n.\u00e9", k=rng.randrange(1, 10)))
            wanted = splitter.split(text)
            found = split_if_decided(automaton, text)
            assert found in (None, wanted), (pattern, text)
            classes = boundaries.classes_of(text)
            cuts = 1 + np.flatnonzero(boundaries.pairs[classes[:-1], classes[1:]])
            pieces = [text[start:end] for start, end in pairwise([0, *cuts.tolist(), len(text)])]
            assert wanted == [part for piece in pieces for part in splitter.split(piece)], (pattern, text)
            n_cuts, n_decided = n_cuts + len(cuts), n_decided + (found is not None)
    assert n_decided > 500


def test_a_regex_that_regex_takes_otherwise_has_no_boundaries():
    # Not the one of test_automaton.py: a warning comes once in a process.
    with pytest.warns(UserWarning, match="is left to `regex`"):
        assert not level_of(r"[^bqz]|(?i:xy)").pairs.any()


def test_a_regex_is_compiled_once(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        checked_automaton, "compile_automaton", lambda tree: compiled.append(tree) or automaton.compile_automaton(tree)
    )
    assert get_pattern(r"\b[a-y]+|\W|z").tables is not None
    assert len(compiled) == 1


def test_boundaries_that_regex_does_not_keep_are_not_used(monkeypatch):
    split = RegexSplitter.split
    pattern = r"\b\w+\b|[^\w]"
    monkeypatch.setattr(RegexSplitter, "split", lambda self, text: split(self, text) if len(text) < 4 else [text])
    assert not level_of(pattern).pairs.any()


def test_pieces_are_found_where_words_can_be_cut_from_spaces():
    lists = [r"\b\w+\b|\W", r"(?=(\d{3})+(?!\d))"], [r"\w+|\W", r"(ab)\1"], LEFT_TO_REGEX["llama.cpp, quoted: Tiny Aya"]
    for pattern in (*CASES, r"(?>\w+)|\s", *lists):
        words = get_pattern(pattern)
        assert (words.tables is not None) == (pattern not in ONE_PIECE), pattern
    for pattern in WITHOUT_PIECES, r"(?m)^.\w*|(?>\s)", [r"(ab)\1|.", r"\b\w+\b|\W"]:
        found = get_pattern(pattern)
        assert found.tables is None
        assert not found.is_compiled
    for pattern in LEFT_TO_REGEX["llama.cpp: SuperBPE"], r"(?m)^.+|(?>\n)":  # whose pretokens are long as well
        assert get_pattern(pattern).is_partly_compiled


WORDS = r"\b\p{Lu}\w*\b|" + AFTER_LETTER


@pytest.mark.parametrize(
    "pattern",
    [WORDS, [WORDS, r"(?=(\d{3})+(?!\d))"], LEFT_TO_REGEX["llama.cpp, quoted: Tiny Aya"]],
    ids=["one", "two", "Aya"],
)
def test_ids_and_merges_are_those_of_regex_over_all_of_the_text(pattern, tmp_path, monkeypatch):
    rng = random.Random(5)
    parts = ["the cat's", " It's", "\n\n", "  ", "Mat", " 1234567", "é", " 日本", ".", " I'll", "'s"]
    documents = ["".join(rng.choices(parts, k=rng.randrange(60))) for _ in range(40)]
    text = "<|end|>".join(documents).encode() + b"\xff'\x80s"
    (tmp_path / "a.txt").write_bytes(text * 3)
    options = {"vocab_size": 320, "special_tokens": ["<|end|>"], "pattern": pattern}
    by_pieces = nbbpe.train(tmp_path / "a.txt", **options)
    ids = by_pieces.encode(text)
    n_ids = by_pieces.encode_file(tmp_path / "a.txt", tmp_path / "a.bin")

    def never(*arguments: object) -> None:
        raise AssertionError("no piece is cached")

    with monkeypatch.context() as patch:
        patch.setattr(regex_encoder.RegexEncoder, "encode_text", never)
        patch.setattr(counters.RegexCounter, "count", never)
        assert nbbpe.train(tmp_path / "a.txt", **options) == by_pieces
        assert by_pieces.encode(text) == ids
    monkeypatch.setattr(type(get_pattern(pattern)), "tables", None)
    by_text = nbbpe.train(tmp_path / "a.txt", **options)
    assert by_text == by_pieces
    assert by_text.encode(text) == ids
    assert by_text.count(text) == by_pieces.count(text) == len(ids)
    assert by_text.encode_batch(documents) == by_pieces.encode_batch(documents)
    assert by_text.encode_file(tmp_path / "a.txt", tmp_path / "b.bin") == n_ids
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
