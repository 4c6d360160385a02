"""Split patterns: what may be given for one, what it matches, and that pieces give the regexes' pretokens."""

from __future__ import annotations

import itertools
import pickle
import random

import automata
import naive
import numpy as np
import pytest
import real_patterns
import regex
import texts
from effort import mostly_slow
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe.kernels.pieces.boundaries import mark_cuts, new_classes
from nbbpe.patterns.pattern import ALIASES, NAMED, Pattern
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.utf8 import padded

NAMES = list(NAMED)
MEMBERS = texts.REPRESENTATIVES
# One of each class, and those that regexes name: contractions, \r as well as \n.
CORE = "sxXʰ\u03011'/! \n\r\t"
# By the pattern's name and where they are from.
SPELLINGS = {
    "gpt2, OpenAI's encoder.py": real_patterns.GPT2,
    "gpt2, tiktoken before 0.6": r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "o200k, tiktoken": real_patterns.O200K,
    "llama3, Meta": real_patterns.LLAMA3,
    "llama3, minbpe": real_patterns.REAL["karpathy/minbpe GPT-4, karpathy/rustbpe"],
    "qwen2, Alibaba": real_patterns.QWEN2,
}


def strings(alphabet: str, longest: int) -> list[str]:
    """All strings of up to so many characters."""
    return ["".join(s) for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_of_a_regex_matches_the_same(spelling):
    pattern = get_pattern(SPELLINGS[spelling])
    assert pattern is NAMED[spelling.split(",")[0]]
    ours, theirs = pattern.compiled.findall, regex.compile(SPELLINGS[spelling]).findall
    for text in itertools.chain(strings("sX1'! \n\t", 5), strings(CORE, 3), strings("'slvetrmdS ", 3)):
        assert ours(text) == theirs(text), text
    source = random.Random(3)
    for _ in range(5_000):
        alphabet = source.choice(["".join(MEMBERS.values()), CORE, "'slvetr ", " \n\tx"])
        text = "".join(source.choices(alphabet, k=source.randrange(14)))
        assert ours(text) == theirs(text), text


@pytest.mark.slow
def test_the_starcoder_pattern_matches_what_a_sequence_of_two_regexes_leaves():
    ours, theirs = NAMED["starcoder"], Pattern(None, r"\p{N}", (NAMED["gpt2"].regex,))
    assert get_pattern([r"\p{N}", "gpt2"]) is ours
    for text in itertools.chain(strings("sX1'! \n\t", 5), strings(CORE, 4), strings("'slvetrmdS ", 3)):
        assert ours.split(text) == theirs.split(text), text
    source = random.Random(4)
    for _ in range(5_000):
        text = "".join(source.choices("".join(MEMBERS.values()), k=source.randrange(14)))
        assert ours.split(text) == theirs.split(text), text


def test_llama3_is_not_cl100k_and_where():
    ours, theirs = NAMED["llama3"].compiled.findall, NAMED["cl100k"].compiled.findall
    differing = [text for text in strings("sX1'! \n\t", 5) if ours(text) != theirs(text)]
    # Only at the end of a text, in whitespace that holds a newline and ends in a blank.
    assert len(differing) > 1000
    assert all(regex.search(r"\n[ \t]+\Z", text) for text in differing)
    assert theirs("x\n ") == ["x", "\n "]
    assert ours("x\n ") == ["x", "\n", " "]


def split_by_regex(data: bytes, pattern: Pattern) -> list[bytes]:
    """The pretokens of a text, as `regex` alone finds them."""
    parts = pattern.split(data.decode(errors="surrogateescape"))
    return [part.encode(errors="surrogateescape") for part in parts]


# The kernel's walk: see test_automaton.py, too


def assert_splits(pieces: list[str], pattern: Pattern) -> None:
    automata.assert_splits(pieces, tuple(pattern.regexes))


@pytest.mark.parametrize("name", mostly_slow(NAMES, usual=["gpt2", "o200k"]))
def test_the_walk_gives_the_regexes_matches_of_all_short_strings_of_classes(name):
    assert_splits([*strings(CORE, 4), *strings("sXʰ\u03011'! \n", 5)], NAMED[name])


@pytest.mark.parametrize("name", mostly_slow(NAMES, usual=["gpt2", "o200k"]))
def test_the_walk_knows_contractions_in_either_case(name):
    assert_splits(strings("'sS\u017ftTmMdDlLvVrReExX", 4)[-160_000::7], NAMED[name])
    assert_splits(
        [f"{a}'{b}{c}" for a in ("", "x", " ", "X1") for b in MEMBERS["l"] + "kKKK" for c in "eElLx "], NAMED[name]
    )


@pytest.mark.parametrize("name", mostly_slow(NAMES, usual=["gpt2", "o200k"]))
def test_the_walk_gives_the_regexes_matches_of_long_strings(name):
    source = random.Random(4)
    alphabets = [
        "".join(MEMBERS.values()),
        *MEMBERS.values(),
        "sxXÉ中ʰ",
        "1½٣",
        "!'/😀",
        "s\u0301",
        "中。",
        "'sS\u017ftlLvEre x",
    ]
    alphabets += [" \n\r\t\u3000x", "/\n\r!", "中aA\u0301'"]
    pieces = ["".join(source.choices(source.choice(alphabets), k=source.randrange(1, 40))) for _ in range(10_000)]
    pieces += [letter * n for letters in MEMBERS.values() for letter in letters for n in (1, 2, 3, 4, 5, 6, 7, 500)]
    assert_splits(pieces, NAMED[name])


@given(text=st.one_of(texts.texts(200), texts.data(200).map(lambda data: data.decode(errors="surrogateescape"))))
def test_the_walk_gives_the_regexes_matches_of_any_text(text):
    for pattern in NAMED.values():
        assert_splits([text], pattern)


def test_the_only_letter_of_a_contraction_beyond_ascii_is_the_long_s():
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert set(regex.findall("(?i:[sdmtlver])", everything)) == set("sdmtlverSDMTLVER\u017f")
    assert regex.fullmatch("(?i:s)", "\u017f")


def test_a_pattern_that_splits_again_has_a_first_regex():
    with pytest.raises(ValueError, match="splits again has a first regex"):
        Pattern("x", None, then=("x",))


def test_a_pattern_travels_without_what_was_worked_out():
    for pattern in NAMED["o200k"], get_pattern([r"\p{N}", "gpt2"]), get_pattern(r"\b\w+|(?s:.)"):
        assert pattern.is_compiled == (pattern.not_compiled == "")
        sent = pickle.dumps(pattern)
        assert len(sent) < 2000
        assert pickle.loads(sent) == pattern
        assert pickle.loads(sent).split("ab 12") == pattern.split("ab 12")


# Pieces and whole texts


def pretokens_by_pieces(data: bytes, pattern: Pattern) -> list[bytes]:
    is_cut = np.zeros(len(data), dtype=np.uint8)
    mark_cuts(padded(data), len(data), pattern.tables, new_classes(), is_cut)
    known: dict[bytes, list[bytes]] = {}
    out: list[bytes] = []
    for piece in naive.pieces(data, np.flatnonzero(is_cut).tolist()):
        if piece not in known:
            known[piece] = split_by_regex(piece, pattern)
        out += known[piece]
    return out


@pytest.mark.parametrize("file", texts.FILES)
@pytest.mark.parametrize("name", mostly_slow(NAMES, usual=["gpt2", "o200k"]))
def test_pretokens_by_pieces_are_the_regexes_on_real_text(shared, file, name):
    data = (shared / "text" / f"{file}.txt").read_bytes()
    third = len(data) // 3
    longest = 300_000 if name == "gpt2" else 100_000
    for part in (0, 1, 2):  # some of each third, cut anywhere
        text = data[part * third : part * third + min(third, longest)]
        assert pretokens_by_pieces(text, NAMED[name]) == split_by_regex(text, NAMED[name])


@given(texts.data(max_size=200))
def test_pretokens_by_pieces_are_the_regexes_on_any_bytes(data):
    for pattern in NAMED.values():
        assert pretokens_by_pieces(data, pattern) == split_by_regex(data, pattern)


@pytest.mark.parametrize("name", [name for name in NAMES if len(NAMED[name].regexes) == 1 and name != "bloom"])
def test_the_matches_of_a_named_pattern_leave_no_gap(name):
    again = Pattern(name, NAMED[name].regex)
    assert NAMED[name].takes_all is again.takes_all is True  # stored by the first of them
    for text in ["".join(MEMBERS.values()), texts.SAMPLE]:
        assert "".join(NAMED[name].compiled.findall(text)) == text


@given(texts.texts())
def test_the_pretokens_of_any_pattern_joined_are_the_text(text):
    for pattern in ("gpt2", texts.SPLIT_WITH_GAPS, r"[ab]+", r"(?:(a)|b)\s*", r"\n\K\w+", None):
        parts = get_pattern(pattern).split(text)
        assert "".join(parts) == text
        assert all(parts)


@pytest.mark.parametrize(
    "pattern",
    [r"\w+|\W", r"(?s)(\w)+|(.)", r"(?s)\w+|(?=\s)|.", r"[ab]+", r"\n\K\w+", r"(?s)(?<=a)|..|.$", texts.SPLIT_WITH_GAPS],
    ids=["no gaps", "groups", "empty matches", "gaps", "a later start", "some empty", "gaps and groups"],
)
def test_a_pattern_of_ones_own_splits_at_the_ends_of_its_matches(pattern):
    compiled = get_pattern(pattern)
    for text in [*strings("ab \n", 5), texts.SAMPLE, "\udcff a\udcffb"]:
        parts = [part.encode(errors="surrogateescape") for part in compiled.split(text)]
        assert parts == naive.split(text.encode(errors="surrogateescape"), compiled.compiled)


def test_a_pattern_with_groups_splits_at_its_matches_and_not_at_its_groups():
    assert get_pattern(".").split("a-b") == ["a", "-", "b"]
    assert get_pattern(texts.SPLIT_WITH_GAPS).split("ab, c!.d") == ["ab", ",", " ", "c", "!", ".", "d"]


@given(texts.texts())
def test_several_patterns_split_in_turn(text):
    inner = get_pattern([r"\p{N}+", "gpt2"])
    wanted = [word for part in get_pattern(r"\p{N}+").split(text) for word in get_pattern("gpt2").split(part)]
    assert inner.split(text) == wanted
    assert "".join(get_pattern(["gpt2", "[aeiou]", "o200k"]).split(text)) == text


def test_several_patterns_each_see_one_part_alone():
    assert get_pattern([r"\p{N}+", "gpt2"]).split("a  12 b") == ["a", "  ", "12", " b"]
    assert get_pattern([r"\p{N}", "gpt2"]).split("a  12 b") == ["a", "  ", "1", "2", " b"]
    assert get_pattern("gpt2").split("a  12 b") == ["a", " ", " 12", " b"]
    assert get_pattern(["gpt2", r"\p{N}"]).split("a  12 b") == ["a", " ", " ", "1", "2", " b"]


def test_several_patterns_are_kept_as_they_were_given():
    tokenizer = nbbpe.train(iter(["ab 12 "] * 3), 258, pattern=(r"\p{N}+", "r50k_base"))
    assert tokenizer.pattern == [r"\p{N}+", "gpt2"]
    assert get_pattern(tokenizer.pattern) == tokenizer._model.pattern
    assert tokenizer != nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, pattern=["gpt2", r"\p{N}+"])
    assert get_pattern(["cl100k"]) is NAMED["cl100k"]


def test_no_pattern_keeps_a_document_whole_line_ends_and_all():
    assert get_pattern(None).split("a b\n\nc\r\n") == ["a b\n\nc\r\n"]
    assert get_pattern(None).split("") == []


# What can be asked for


def test_a_named_pattern_is_found_by_its_names_and_by_its_regex():
    for alias, name in ALIASES.items():
        assert get_pattern(alias) is NAMED[name]
    assert get_pattern("cl100k_base").name == get_pattern("gpt-4").name == "cl100k"
    assert get_pattern("qwen3").name == "qwen2"
    for name, pattern in NAMED.items():
        assert get_pattern(name) is pattern
        spelled = pattern.regexes if pattern.then else pattern.regex
        assert get_pattern(spelled) is pattern
        assert get_pattern(pattern) is pattern
        assert nbbpe.train(iter(["a"]), 256, pattern=spelled).pattern == name


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        ("[a-", ValueError, r"neither a name nor a valid regex: .*; `nbbpe inspect --help` lists the names"),
        ("(", ValueError, "nor a valid regex"),
        (r"\p{Nonsense}", ValueError, "nor a valid regex"),
        ("", ValueError, "matches the empty string"),
        (r"\w*", ValueError, "matches the empty string"),
        (r"a|", ValueError, "matches the empty string"),
        (r"(?r)\w+|\W+", ValueError, "searches backwards"),
        ("(?R)", ValueError, r"pattern '\(\?R\)' calls itself without end"),
        ("(?P<x>(?&x))", ValueError, "calls itself without end"),
        ("GPT2", ValueError, r"unknown pattern 'GPT2'; did you mean gpt2"),
        ("gpt4", ValueError, r"unknown pattern 'gpt4'; did you mean gpt-4 or gpt-4o or gpt2\? `nbbpe inspect --help`"),
        ("gpt-9", ValueError, "unknown pattern 'gpt-9'"),
        ("x" * 99, ValueError, "unknown pattern 'x+.*; `nbbpe inspect --help` lists"),
        ("qwen2.9", ValueError, r"unknown pattern 'qwen2\.9'"),
        ([], ValueError, "an empty list"),
        (["gpt2", None], TypeError, r"pattern\[1\] must be a name or a regex as a string, not NoneType"),
        (["gpt2", "["], ValueError, "nor a valid regex"),
        (["gpt4", "gpt2"], ValueError, "unknown pattern 'gpt4'"),
        (b"gpt2", TypeError, "not bytes"),
        (17, TypeError, "not int"),
        (regex.compile("a"), TypeError, "not Pattern"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_an_error_that_says_why(pattern, error, message):
    with pytest.raises(error, match=message):
        get_pattern(pattern)
    with pytest.raises(error, match=message):
        nbbpe.train(iter(["text"]), 300, pattern=pattern)


@pytest.mark.parametrize("pattern", [r"\b", r"(?=a)", r"a|(?<=b)"])
def test_a_pattern_that_matches_the_empty_string_inside_of_a_text_loses_nothing(pattern):
    assert "".join(get_pattern(pattern).split("ab cab")) == "ab cab"


def test_the_regex_of_a_pattern_is_compiled_once():
    pattern = Pattern(None, r"\S+|\s+")
    compiled = pattern.compiled
    regex.purge()  # `regex` itself keeps some hundred, and would give the same one again
    assert pattern.compiled is compiled
