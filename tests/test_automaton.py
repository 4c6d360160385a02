"""patterns/ and kernels/pieces/pretokens.py: split regexes as automata. `regex` is the authority, and so are slow twins.

With NBBPE_EXHAUSTIVE=1 in the environment, as CI sets it, all strings of four classes, all code points, 200,000 random
strings for each pattern and 200 kB of each file are compared; else some of these, mostly of the patterns that have a name.
"""

from __future__ import annotations

import functools
import itertools
import random
import string
import warnings
from functools import partial

import naive
import numpy as np
import pytest
import real_patterns
import regex
import texts
import warned
from automata import (
    ALPHABET,
    PATTERNS,
    assert_splits,
    automaton_of,
    characters_of_classes,
    ends_by_kernel,
    for_each_pattern,
    pattern_of,
    random_automata,
    random_strings,
    split_by_kernel,
    tables_of,
    to_bytes,
    to_states,
    to_tree,
)
from boundary_rules import marked, rules_of
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from timing import seconds

import nbbpe
from nbbpe.kernels.machine.intrinsics import BLOCK
from nbbpe.kernels.pieces import pattern_tables
from nbbpe.patterns.automaton import DEAD, Automaton, compile_automaton, split
from nbbpe.patterns.boundaries import certain_pairs, certain_triples
from nbbpe.patterns.code_points import in_any_case, read_off
from nbbpe.patterns.levels import join_levels
from nbbpe.patterns.match_facts import needs_memo
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import (
    Unsupported,
    parse,
)
from nbbpe.patterns.pattern_tables import new_pattern_tables
from nbbpe.patterns.regex_splitter import RegexSplitter


@pytest.fixture(params=mostly_slow(PATTERNS, usual=NAMED))
def regexes(request) -> tuple[str, ...]:
    """Each pattern in turn: those that have a name, and in CI all."""
    return PATTERNS[request.param]


def split_by_automata(text: str, regexes: tuple[str, ...]) -> list[str]:
    """Level by level."""
    parts = [text]
    for each in regexes:
        parts = [inner for part in parts for inner in split(automaton_of(each), part)]
    return parts


def class_strings(regexes: tuple[str, ...], length: int = 4) -> list[str]:
    """All strings of so many classes, one character of each; some of them where they are many."""
    source = random.Random(1)
    samples = characters_of_classes(regexes)
    n = len(samples) ** length
    at_once = n <= examples(5, 12) ** length
    numbers = range(n) if at_once else source.sample(range(n), examples(1000, 20_000))
    strings = []
    for number in numbers:
        text = ""
        for _ in range(length):
            number, which = divmod(number, len(samples))
            text += samples[which][0] if number % 2 else source.choice(samples[which])
        strings.append(text)
    return strings


# Against `regex`


@for_each_pattern
def test_every_real_pattern_is_compiled(regexes):
    pattern = pattern_of(regexes)
    assert pattern.not_compiled == ""
    assert pattern.is_compiled


@pytest.mark.exhaustive
def test_all_short_strings_of_classes_are_split_as_regex_does(regexes):
    strings = class_strings(regexes)
    assert_splits(strings, regexes)
    pattern = pattern_of(regexes)
    for text in strings[:: 1 + len(strings) // examples(100, 4000)]:
        assert split_by_automata(text, regexes) == pattern.split(text), text


@pytest.mark.exhaustive
def test_random_strings_are_split_as_regex_does(regexes):
    strings = random_strings(regexes, examples(500, 30_000))
    assert_splits(strings, regexes)
    pattern = pattern_of(regexes)
    for text in strings[: examples(100, 3000)]:
        assert split_by_automata(text, regexes) == pattern.split(text), text


# All of planes 0 and 1, where most sets have their edges, and a hundredth of the others, of which the edges are tried, too.
EVERYTHING = [*range(0xD800), *range(0xDC80, 0xDD00), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 101)]


@functools.cache
def every_code_point_in(frame: str) -> str:
    return "x\n".join(frame.format(chr(code)) for code in EVERYTHING)


@pytest.mark.exhaustive
def test_every_code_point_is_split_as_regex_does(regexes):
    # The edges of all sets, and some of what lies between.
    edges = {edge + i for each in regexes for edge in automaton_of(each).edges.tolist() for i in (-1, 0)}
    edges -= {-1, 0x110000, *range(0xD800, 0xDC80), *range(0xDD00, 0xE000)}  # which are in no text
    some = sorted({*EVERYTHING[:0x300], *EVERYTHING[::997], *edges})
    frames = "a{}b", " {}", "{0}{0}", "'{}1", "\n{}\n "
    text = "x\n".join(frames[i % len(frames)].format(chr(code)) for i, code in enumerate(some))
    assert split_by_automata(text, regexes) == pattern_of(regexes).split(text)
    assert_splits([text], regexes)
    for frame in examples((), frames):
        if frame == frames[0]:
            assert_splits([every_code_point_in(frame)], regexes)
        else:
            assert_splits(["x\n".join(frame.format(chr(code)) for code in some)], regexes)


@pytest.mark.exhaustive
@pytest.mark.parametrize("file", texts.FILES)
def test_real_text_is_split_as_regex_does(shared, file, regexes):
    path = shared / "text" / f"{file}.txt"
    if not path.exists():
        pytest.skip(f"needs {path.name} among the shared texts")
    with path.open("rb") as source:
        data = source.read(examples(200_000 if regexes == PATTERNS["gpt2"] else 5_000, 200_000))
    text = data.decode(errors="surrogateescape")
    pattern = pattern_of(regexes)
    wanted = pattern.split(text)
    assert split_by_kernel(text, pattern.tables) == wanted
    # And by pieces, as encoding and training do.
    pieces = naive.pieces(data, marked(data, pattern))
    assert ends_by_kernel(pieces, pattern.tables) == list(itertools.accumulate(len(to_bytes(each)) for each in wanted))


@given(texts.data(200))
def test_any_bytes_are_split_as_regex_does(data):
    text = data.decode(errors="surrogateescape")
    for name in *NAMED, *(name for name in PATTERNS if "clip" in name or "Falcon" in name):
        pattern = pattern_of(PATTERNS[name])
        assert split_by_kernel(text, pattern.tables) == pattern.split(text)
        pieces = naive.pieces(data, marked(data, pattern))
        parts = [part for piece in pieces for part in pattern.split(piece.decode(errors="surrogateescape"))]
        assert list(map(to_bytes, parts)) == list(map(to_bytes, pattern.split(text)))


# Random regexes


@pytest.mark.exhaustive
def test_random_regexes_split_as_regex_and_their_trees_do():
    source = random.Random(3)
    n_walked = 0
    for pattern, automaton in random_automata(4, examples(200, 7000)):
        compiled, tree = regex.compile(pattern), to_tree(parse(pattern))
        strings = ["".join(source.choices(ALPHABET, k=source.randrange(10))) for _ in range(25)]
        wanted = []
        for text in strings:
            parts = [part.decode() for part in naive.split(text.encode(), compiled)]
            wanted.append(parts)
            assert split(automaton, text) == parts, (pattern, text)
            classes = automaton.classes_of(text).tolist()
            by_states = naive.split_by_states([to_states(automaton)], classes)
            assert list(map(len, by_states)) == list(map(len, parts)), (pattern, text)
        for text, parts in zip(strings[:5], wanted, strict=False):
            assert naive.split_by_tree(tree, text) == parts, (pattern, text)
        try:
            tables = new_pattern_tables([automaton], ())
        except Unsupported:
            continue
        n_walked += 1
        ends = list(itertools.accumulate(len(part.encode()) for parts in wanted for part in parts))
        assert ends_by_kernel([text.encode() for text in strings], tables) == ends, pattern
    assert n_walked > examples(90, 300)


def test_a_pattern_that_regex_takes_otherwise_than_its_meaning_is_left_to_regex():
    pattern = r"[^bq]|(?i:xy)"
    if regex.match(pattern, "B") is not None:
        pytest.skip("this version of regex has the fault no more")
    assert split(automaton_of(pattern), "B") == ["B"]
    with pytest.warns(UserWarning, match=r"left to `regex`, which splits"):
        found = get_pattern(pattern)
    assert not found.is_compiled
    assert found.not_compiled.startswith("a difference from `regex`, on ")
    for text in "B", "aB", "xyXYq":
        assert "".join(found.split(text)) == text


@pytest.mark.parametrize("pattern", [r"[^a]|[^\n]", r"\b ?\d|[^a]|[^\n]"])
def test_a_pattern_is_compared_on_characters_of_all_its_sets(pattern):
    """Also where all characters match alike, but not by `regex`, which leaves a newline out."""
    if regex.findall(pattern, "\n\n"):
        pytest.skip("this version of regex has the fault no more")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert get_pattern(pattern).tables is None
    assert len(warned.here(seen)) == (r"\b" not in pattern)


def test_a_letter_matches_what_it_matches_for_regex_where_case_is_ignored():
    every = "".join(map(chr, range(0x3000)))
    for letter in string.ascii_letters:
        edges = iter(in_any_case(letter))
        found = [each for first, end in zip(edges, edges, strict=True) for each in map(chr, range(first, end))]
        assert found == regex.findall(f"(?i:{letter})", every)
    assert split(automaton_of("(?i:'I)|x"), "'\u0131x") == ["'\u0131", "x"]


def test_the_classes_of_an_automaton_are_those_of_its_sets():
    for pattern in r"[a-c]|\d+|é", r"\p{Lu}\p{Ll}*|\s", "(?i:s)|xx":
        automaton = automaton_of(pattern)
        classes = automaton.classes()
        assert classes.shape == (0x110000,)
        for text in texts.SAMPLE, "\udcff\x00\U0010ffff":
            assert automaton.classes_of(text).tolist() == [classes[ord(character)] for character in text]
    letters = {classes[ord(character)] for character in "sS\u017f"}
    assert len(letters) == 1
    assert letters != {classes[ord("x")]}


# Certain boundaries


@pytest.mark.exhaustive
def test_text_that_is_cut_at_certain_boundaries_is_split_as_whole_text():
    source = random.Random(5)
    n_pairs = n_triples = 0
    for pattern, automaton in random_automata(6, examples(120, 3000)):
        pairs, triples = certain_pairs(automaton), certain_triples(automaton)
        for _ in range(25):
            text = "".join(source.choices(ALPHABET, k=source.randrange(2, 10)))
            classes, whole = automaton.classes_of(text).tolist(), split(automaton, text)
            for i in range(1, len(text)):
                is_pair = pairs[classes[i - 1], classes[i]]
                is_triple = i + 1 < len(text) and triples[classes[i - 1], classes[i], classes[i + 1]]
                n_pairs += bool(is_pair)
                n_triples += bool(is_triple)
                if is_pair or is_triple:
                    assert split(automaton, text[:i]) + split(automaton, text[i:]) == whole, (pattern, text, i)
    assert min(n_pairs, n_triples) > examples(400, 1000)


SMALL = [
    "a+|b",
    "ab|a|b",
    "a+b|a|b",
    r"\s+(?!\S)|\s|\S+",
    "a|(?=b)b+",
    "aab|.",
    "a{1,3}|[^a]+",
    "a+?b|.",
    "ab?(?!a)|.",
    r"a++\Z|a|b+",
]


@pytest.mark.parametrize("pattern", SMALL)
def test_certain_boundaries_are_those_that_no_text_denies(pattern):
    automaton = automaton_of(pattern)
    characters = [chr(automaton.edges[np.flatnonzero(automaton.class_of_edge == c)[0]]) for c in range(automaton.n_classes)]
    denied = np.zeros((automaton.n_classes,) * 2, dtype=bool)
    denied_before = np.zeros((automaton.n_classes,) * 3, dtype=bool)
    for length in range(2, 6 if automaton.n_classes < 6 else 5):
        for classes in itertools.product(range(automaton.n_classes), repeat=length):
            text = "".join(characters[c] for c in classes)
            whole = split(automaton, text)
            for i in range(1, length):
                if split(automaton, text[:i]) + split(automaton, text[i:]) != whole:
                    denied[classes[i - 1 : i + 1]] = True
                    if i + 1 < length:
                        denied_before[classes[i - 1 : i + 2]] = True
    assert np.array_equal(certain_pairs(automaton), ~denied)
    assert not (certain_triples(automaton) & denied_before).any()


@pytest.mark.exhaustive
def test_the_rules_of_a_pattern_mark_boundaries_that_change_nothing(regexes):
    pattern = pattern_of(regexes)
    source = random.Random(7)
    n_cuts = 0
    for text in random_strings(regexes, examples(50, 150)):
        data = to_bytes("x" * source.choice([0, 0, 50, 62, 63]) + text + source.choice(["", " " * BLOCK, "é" * BLOCK]))
        cuts = marked(data, pattern)
        n_cuts += len(cuts)
        parts = [
            part for piece in naive.pieces(data, cuts) for part in pattern.split(piece.decode(errors="surrogateescape"))
        ]
        assert parts == pattern.split(data.decode(errors="surrogateescape")), data
        for cut in cuts[:3]:  # each is one by itself
            sides = data[:cut].decode(errors="surrogateescape"), data[cut:].decode(errors="surrogateescape")
            assert [part for side in sides for part in pattern.split(side)] == pattern.split("".join(sides)), (data, cut)
    assert n_cuts > examples(30, 100)


@pytest.mark.parametrize("name", NAMED)
def test_the_rules_of_a_named_pattern_say_all_that_its_pairs_do_and_its_triples_in_ascii(name):
    pattern = NAMED[name]
    levels = join_levels([automaton_of(each) for each in pattern.regexes], [read_off(r"[\p{Lo}\p{Lm}]")])
    pairs, triples = map(np.array, rules_of(pattern))
    assert np.array_equal(pairs, levels.pairs)
    assert (triples <= levels.triples).all()
    missing = levels.triples & ~(pairs[:, :, None] | triples)
    of_ascii = np.ix_(*[np.unique(levels.classes()[:128])] * 3)
    assert not missing[of_ascii].any()
    assert missing.any() == (name in ("o200k", "kimi-k2"))  # for which there is no room
    more_rules = int(pattern.tables.view(np.int64)[pattern_tables.MORE_RULES])  # which take time
    assert more_rules == (pattern_tables.OUTSIDE_ASCII if name in ("kimi-k2", "deepseek3") else 0)


# Equal automata

LLAMA3_BY_ANOTHER_HAND = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
ALIKE = {
    "GPT-2's": (real_patterns.GPT2, NAMED["gpt2"].regex),
    "GPT-2's in brackets": (
        r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        NAMED["gpt2"].regex,
    ),
    "Llama 3's, contractions first": (LLAMA3_BY_ANOTHER_HAND, NAMED["llama3"].regex),
    "minbpe's and rustbpe's GPT-4": (LLAMA3_BY_ANOTHER_HAND.replace(r"\s*[\r\n]+", r"\s*[\r\n]"), None),
    "a set of one": ("[a]|[b-b]", "a|b"),
    "a choice, a set": ("(?:a|b|c)+", "[a-c]+"),
    "what is preferred anyway": ("ab?|a", "ab?"),
    "lazy and then greedy": ("a+?(?!a)", "a+"),
    "possessive": ("a++b|.", "a+b|."),
    "atomic": ("(?>a)b", "ab"),
    "written out": ("a{2,3}", "aaa?"),
    "from nothing on": ("ba{,2}", "ba{0,2}"),
    "ignored case": ("(?i:ab)", "[aA][bB]"),
    "flags in front": ("(?i)ab", "(?i:ab)"),
    "named and plain groups": ("(a)(?P<x>b)", "ab"),
    "escapes": (r"\x61\u0062\U00000063\t", "abc\t"),
    "negated": (r"[^\S]", r"\s"),
    "comments": (r"a(?#one)(?#two)+|(?#\)|(x)bc(?#){2}|(?#)d", "a+|bcc|d"),
    "version 1": (r"(?V1)[\w--\d]", r"(?V1)[\w&&\D]"),
}


@pytest.mark.parametrize("one_way", ALIKE)
def test_spellings_of_what_matches_alike_are_equal(one_way):
    first, second = ALIKE[one_way]
    second = second or real_patterns.REAL["karpathy/minbpe GPT-4, karpathy/rustbpe"]
    assert automaton_of(first) == automaton_of(second)
    assert hash(automaton_of(first)) == hash(automaton_of(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *((NAMED[one].regex, NAMED[other].regex) for one, other in itertools.combinations(NAMED, 2)),
        ("a+", "a*?a"),
        ("a|ab", "ab|a"),
        ("a+?", "a+"),
        ("(?!b)[ab]|.", "[ab]b|."),
        ("ab", "ac"),
        ("a(?!b)", "a(?!c)"),
        ("a$", "a"),
    ],
)
def test_what_matches_otherwise_somewhere_is_not_equal(first, second):
    try:
        differ = automaton_of(first) != automaton_of(second)
    except Unsupported:
        assert "$" in first
        return
    assert differ


@pytest.mark.exhaustive
def test_random_regexes_that_are_equal_split_alike_and_others_do_not():
    source = random.Random(8)
    known: dict[Automaton, str] = {}
    n_equal = 0
    for pattern, automaton in random_automata(9, examples(250, 700)):
        other = known.setdefault(automaton, pattern)
        if other != pattern:
            n_equal += 1
            compiled = [regex.compile(each) for each in (pattern, other)]
            for _ in range(20):
                data = "".join(source.choices(ALPHABET, k=8)).encode()
                assert naive.split(data, compiled[0]) == naive.split(data, compiled[1]), (pattern, other)
    assert n_equal > examples(5, 20)
    # And where automata differ, some short text is split in another way.
    small = {
        pattern: automaton_of(pattern) for pattern in ("[ab]", "a|b", "a+|b", "a|b+", "ab|a|b", "ab|.", "a+b?|b", "a+?b?|b")
    }
    strings = ["".join(each) for n in range(6) for each in itertools.product("abc", repeat=n)]
    splits = {pattern: [split(automaton, text) for text in strings] for pattern, automaton in small.items()}
    for one, other in itertools.combinations(small, 2):
        assert (small[one] == small[other]) == (splits[one] == splits[other]), (one, other)


@pytest.mark.parametrize("name", [name for name, pattern in NAMED.items() if not pattern.then])
def test_a_regex_is_a_named_pattern_by_what_it_matches(name):
    pattern = f"(?:{NAMED[name].regex})"
    assert get_pattern(pattern) is NAMED[name]
    assert get_pattern(pattern + "|never reached") is not NAMED[name] or get_pattern(pattern + "|x") is NAMED[name]


@pytest.mark.parametrize(
    "pattern",
    [
        r"[()]|([!.$])\1*|\w+|\s",
        r"([ab])\1{2}|.|\n",
        r"([ab])\1?c|(x)\2+|[^c]|c",
        r"(([ab.])\2*(?#so)x?)+|.|\n",
        r"([ab])\1(?#so)+?b|(?s:.)",
    ],
)
def test_the_same_character_again_is_a_choice_of_each(pattern):
    found, splitter = get_pattern(pattern), RegexSplitter(pattern)
    assert found.is_compiled
    rng = random.Random(1)
    for _ in range(300):
        text = "".join(rng.choices("aabbc..xx!\n(", k=rng.randrange(1, 10)))
        assert split(found.automata[0], text) == splitter.split(text)


# What is refused

REFUSED = {
    r"(?<=a)b|.": "a look-behind",
    r"(?<!a)b|.": "a look-behind",
    r"\bx|.": r"\\b",
    r"\Bx|.": r"\\B",
    r"^a|.": "the beginning of the text",
    r"\Aa|.": r"\\A",
    r"(ab)\1|.": r"\\1",
    r"([ab])\1\1|.": r"\\1",
    r"([ab])+\1|.": r"\\1",
    r"(?i:([ab])\1)|.": r"\\1",
    r"(\w)\1|.": "a reference to a group of more than 64 characters",
    r"(?P<x>a)(?P=x)|.": "a named reference",
    r"a(?!bc)|.": "a look-ahead at more than one character",
    r"a(?=b*c)|.": "a look-ahead at more than one character",
    r"a(?:(?R))?b|.": "a group",
    r"(?1)(abcde)|.": "a call of a group",
    r"(a)(?:b(?1))?|.": "a call of a group",
    r"(a)(?(1)b|c)|.": "a condition",
    r"(?:abc){e<=1}|.": "fuzzy matching",
    r"a(*SKIP)|.": "a verb",
    r"(?>ab|a)c|.": "a possessive repeat of more than one set, or an atomic group",
    r"(?:ab)++|.": "a possessive repeat of more than one set, or an atomic group",
    r"(?x) a | .": "the flag 'x'",
    r"(?a)\w|.": "the flag 'a'",
    r"(?V1i)\w|.": "ignoring case in version 1",
    r"(?s)(?:ab)$|.": r"\$ where a newline that ends the text matters",
    r"(?s).*a.{10}b|.": "an automaton of more than 2,000 states",
    r"(?:a{1000}){9}|.": "more than 5,000 places",
    r"a{1001}|.": "more than 1,000 repeats",
    "a{\u0663}|.": "a brace that does not begin a number of repeats",
    r"[a||b]c|(?V1:d)|.": "a group",  # all of it is read by version 1
    r"\Ka|.": r"\\K",
    r"\X|.": r"\\X",
    r"\p{N++| ?[^\s\p{L}]|.": r"\\p",
    r"\px|.": r"\\p",
    r"(?<=ab)c|.": "a look-behind",
    r"(?:a|(?:b?)*)c|.": "a repeat of something that can be empty",
    r"(?:-?|abcdef.{3,9}?){,2}K|.": "a repeat of something that can be empty",
    r"(?=a)|.": "what matches the empty text",
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_not_compiled_is_refused_by_name_and_left_to_regex(pattern):
    why = REFUSED[pattern]
    with pytest.raises(Unsupported, match=why):
        compile_automaton(parse(pattern))
    found = get_pattern(pattern)
    assert not found.is_compiled
    assert regex.search(why, found.not_compiled)
    for text in ["abc aab\n", "abcabcx", "a" * 30 + "b"]:
        assert list(map(to_bytes, found.split(text))) == naive.split(text.encode(), found.compiled)


@pytest.mark.usefixtures("quiet")
def test_a_pattern_that_is_not_compiled_trains_and_encodes():
    pattern = r"\b\w+\b|(?s:.)"
    tokenizer = nbbpe.train(iter(["the cat the mat "] * 5), 262, pattern=pattern)
    assert tokenizer.pattern == pattern
    assert tokenizer.encode("the cat") == [
        token for part in regex.findall(pattern, "the cat") for token in tokenizer.encode(part)
    ]
    assert tokenizer.decode(tokenizer.encode("the cat  mat")) == "the cat  mat"


def test_a_sequence_is_left_to_regex_where_one_of_its_regexes_is():
    found = get_pattern([r"\p{N}", r"\b\w+|(?s:.)"])
    assert not found.is_compiled
    assert found.not_compiled == r"\b"
    assert found.split("a1b cd") == ["a", "1", "b", " ", "cd"]
    with pytest.raises(Unsupported, match="more than 6 regexes in turn"):
        tables_of(*["a|b"] * 7)
    assert not get_pattern(["a|b"] * 7).is_compiled
    assert get_pattern(["a|b"] * 6).is_compiled


# Walks that fail

FAILING = [r"\s*\n|\s", r"a*b|a|[^a]", r" *x| ", r"[ab]*c|[ab]", r"a+b|a|b+c|b|.", "xa*by*z|."]


@pytest.mark.parametrize("pattern", FAILING)
def test_walks_that_fail_are_noted_and_change_nothing(pattern):
    assert needs_memo(automaton_of(pattern))
    tables, compiled = tables_of(pattern), regex.compile(pattern)
    source = random.Random(9)
    strings = ["".join(each) for n in range(7) for each in itertools.product("ab \n", repeat=n)]
    strings += ["".join(source.choices("aabc x\n ", k=source.randrange(1, 60))) for _ in range(2000)]
    wanted = [end for text in strings for end in map(len, naive.split(text.encode(), compiled))]
    assert ends_by_kernel([text.encode() for text in strings], tables) == list(itertools.accumulate(wanted))


@pytest.mark.parametrize("pattern", ["a+|b", "ab*c|[abc]", "xa*b|x|a+|b", "(?:ba)+(?!c)", "b|[ab][ab]+[ab]?(?=a)"])
def test_walks_that_do_not_fail_over_the_same_text_again_are_not_noted(pattern):
    assert not needs_memo(automaton_of(pattern))


@pytest.mark.parametrize(
    ("pattern", "unit"), [(r"\s*\n|\s", " "), ("a*b|a|[^a]", "a"), ("[ab]*c|[ab]", "ab"), (r"\s*\n|\s", "\u3000")]
)
def test_walks_that_fail_take_linear_time(pattern, unit):
    tables = tables_of(pattern)

    def took(n: int) -> float:
        data = unit.encode() * (n // len(unit.encode()))
        assert len(ends_by_kernel([data], tables)) == len(data.decode())
        return seconds(lambda: ends_by_kernel([data], tables))

    # Ten times as long: a hundred times where each walk goes to the end.
    assert took(1_000_000) < 40 * max(took(100_000), 1e-3)


@pytest.mark.parametrize("pattern", ["(?:ab)*c|a|b", "(?:a|b.)*c|."])
def test_walks_that_could_fail_around_several_states_are_refused(pattern):
    with pytest.raises(Unsupported, match="searched for again and again without success"):
        tables_of(pattern)
    found = get_pattern(pattern)
    assert not found.is_compiled
    assert found.split("ababab") == regex.findall(pattern, "ababab")


def test_whether_walks_fail_again_is_soon_found_of_an_automaton_of_many_states():
    """Such as that of a{1,1000}b."""
    n_states = 1950
    following = np.append(np.arange(1, n_states), DEAD).astype(np.uint16)  # from the start through all states
    tells = np.zeros((n_states, 2), dtype=bool)
    tells[-1] = True
    automaton = Automaton(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8), following[:, None], tells)
    assert not needs_memo(automaton)
    assert seconds(lambda: needs_memo(automaton)) < 0.7  # 0.03 s, and 2 s by products of matrices


@pytest.mark.parametrize("name", NAMED)
def test_no_pattern_takes_long_over_what_repeats(name):
    tables = NAMED[name].tables
    for unit in " ", "\n", "\r\n", "a", "A", "1", "'", "/", "!", "\u3000", " \n", "中", "\u0301", "'l", "aA", "a'":
        few, many = (seconds(partial(ends_by_kernel, [(unit * n).encode()], tables)) for n in (30_000, 300_000))
        assert many < 50 * max(few, 2e-3), unit


# Several in turn

SEQUENCES = [
    (r"\p{N}", real_patterns.GPT2),
    (r"\p{N}{1,3}", r"[一-龥]+", NAMED["cl100k"].regex),
    ("gpt2", "[aeiou]", "o200k"),
    (r"a|b", r"\w+", r"\s*\n|\s", "."),
    (r"\s*\n|\s", r"a*b|a"),
    # A digit that follows a letter ends what the second one may match before it, and not what the first one does.
    (r"[!'](?=\p{L})", r"[!']\p{L}(?!\p{N})|[!']+|\p{L}+|\p{N}|\s"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_several_in_turn_are_each_level_by_itself(sequence):
    pattern = get_pattern(list(sequence))
    assert pattern.is_compiled
    source = random.Random(10)
    strings = ["".join(source.choices("aabe1 \n\t'sS中é!", k=source.randrange(1, 120))) for _ in range(examples(300, 1000))]
    for text in strings:
        parts = [text.encode()]
        for each in pattern.regexes:
            parts = [inner for part in parts for inner in naive.split(part, regex.compile(each))]
        assert list(map(to_bytes, pattern.split(text))) == parts
        assert list(map(to_bytes, split_by_automata(text, tuple(pattern.regexes)))) == parts
        assert list(map(to_bytes, split_by_kernel(text, pattern.tables))) == parts
        edges = [0, *marked(text.encode(), pattern), len(text.encode())]
        cut = [text.encode()[start:end].decode() for start, end in itertools.pairwise(edges)]
        assert [to_bytes(part) for piece in cut for part in pattern.split(piece)] == parts


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_ids_of_several_in_turn_are_those_of_their_pretokens(small, sequence):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], list(sequence))
    alone = functools.cache(nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], None).encode)
    source = random.Random(11)
    for _ in range(200):
        text = "".join(source.choices(["ab", "the ", "1", "23", " ", "\n", "'s", "中文", "é", "cat", "!"], k=40))
        wanted = [token for part in get_pattern(list(sequence)).split(text) for token in alone(part)]
        assert tokenizer.encode(text) == wanted
        assert tokenizer.count(text) == len(wanted)


@given(st.text("ab1 \n'", max_size=30))
def test_words_counted_by_several_in_turn_are_their_pretokens(text):
    pattern = get_pattern([r"\p{N}", "gpt2"])
    assert split_by_kernel(text, pattern.tables) == pattern.split(text)
