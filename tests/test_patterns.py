"""Split patterns: the shipped tables are those that follow from the regexes, and pieces give the regexes' pretokens."""

from __future__ import annotations

import itertools
import random

import naive
import numpy as np
import pytest
import regex
import texts
from hypothesis import given
from numba import njit

import nbbpe
from nbbpe.corpus import padded
from nbbpe.kernels.scan import addresses, mark_cuts, split_piece
from nbbpe.kernels.simd import N_CLASSES, address_of
from nbbpe.patterns import CLASSES, NAMED, Pattern, character_classes, get_pattern

NAMES = list(NAMED)
MEMBERS = texts.REPRESENTATIVES
# One of each class, and those that regexes name: contractions, \r as well as \n.
CORE = "sxXʰ\u03011'/! \n\r\t"
GPT2_ORIGINAL = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def class_letter(character: str) -> str:
    return CLASSES[character_classes()[ord(character)]]


def strings(alphabet: str, longest: int) -> list[str]:
    """All strings of up to so many characters."""
    return ["".join(s) for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n)]


def is_boundary(find, befores: list[str], p: str, c: str, afters: list[str]) -> bool:
    """Whether the regex matches u + p and c + v alone as it does in u + p + c + v, for all u and v."""
    rights = [(c + v, find(c + v)) for v in afters]
    for u in befores:
        left = u + p
        left_matches = find(left)
        for right, right_matches in rights:
            if find(left + right) != left_matches + right_matches:
                return False
    return True


def derived_table(compiled: regex.Pattern[str]) -> tuple[str, ...]:
    """The cut table by exhaustion: deep contexts of core characters, and shallow ones of all representatives."""
    find = compiled.findall
    contexts = sorted(strings(CORE, 2), key=len)
    near = [*strings(CORE, 1), "'s", "ll", "x'", " '", "\n "]
    rows = []
    for before in CLASSES:
        row = ""
        for after in CLASSES:
            pairs = list(itertools.product(MEMBERS[before], MEMBERS[after]))
            core = [(p, c) for p, c in pairs if p in CORE and c in CORE]
            if all(is_boundary(find, near, p, c, near) for p, c in pairs) and all(
                is_boundary(find, contexts, p, c, contexts) for p, c in core
            ):
                row += after
        rows.append(row)
    return tuple(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_cut_table_is_the_one_derived_from_the_regex(name):
    assert set(CORE) <= set("".join(MEMBERS.values()))
    derived = derived_table(NAMED[name].compiled)
    shipped = tuple("".join(letter for letter in CLASSES if letter in row) for row in NAMED[name].cuts)
    assert derived == shipped


@pytest.mark.parametrize("name", NAMES)
def test_the_cut_table_holds_in_long_random_contexts(name):
    pattern = NAMED[name]
    find = pattern.compiled.findall
    source = random.Random(2)
    everything = "".join(MEMBERS.values())
    tried = 0
    for _ in range(40_000):
        alphabet = source.choice([everything, CORE, "'s \n", "\n\r x", " !\n/", "1x'd"])
        text = "".join(source.choices(alphabet, k=source.randrange(2, 14)))
        place = source.randrange(1, len(text))
        if class_letter(text[place]) in pattern.cuts[CLASSES.index(class_letter(text[place - 1]))]:
            tried += 1
            assert find(text) == find(text[:place]) + find(text[place:]), text
    assert tried > 5_000


def test_gpt2_matches_what_the_original_regex_matches():
    source = random.Random(3)
    original = regex.compile(GPT2_ORIGINAL)
    for _ in range(20_000):
        alphabet = source.choice(["".join(MEMBERS.values()), CORE, "'slvetr ", " \n\tx"])
        text = "".join(source.choices(alphabet, k=source.randrange(14)))
        assert NAMED["gpt2"].compiled.findall(text) == original.findall(text)


# Shapes that need no regex


@njit
def split_all(text, starts, ends, shapes, scanner, masks, answers):
    """split_piece of many pieces."""
    tables = addresses(scanner, masks)
    for i in range(starts.shape[0]):
        n, first, second = split_piece(address_of(text) + starts[i], ends[i] - starts[i], shapes, tables)
        answers[i, 0] = n
        answers[i, 1] = first
        answers[i, 2] = second


def answered(pieces: list[str], pattern: Pattern) -> list[list[bytes] | None]:
    """The split of each piece as split_piece tells it; None where it leaves the piece to regex."""
    encoded = [piece.encode(errors="surrogateescape") for piece in pieces]
    # A byte 0xff after each piece: the next one's bytes must not complete a broken character.
    text = padded(b"".join(piece + b"\xff" for piece in encoded))
    ends = np.cumsum([len(piece) + 1 for piece in encoded], dtype=np.int64) - 1
    starts = ends - [len(piece) for piece in encoded]
    answers = np.empty((len(pieces), 3), dtype=np.int64)
    split_all(text, starts, ends, pattern.shapes(), pattern.scanner(), np.empty(N_CLASSES, dtype=np.uint64), answers)
    out: list[list[bytes] | None] = []
    for piece, (n, *inner) in zip(encoded, answers.tolist(), strict=True):
        edges = [0, *inner[: n - 1], len(piece)]
        out.append([piece[start:end] for start, end in itertools.pairwise(edges)] if n else None)
    return out


def assert_splits(pieces: list[str], pattern: Pattern) -> int:
    """Check every answer against the regex; returns how many pieces were answered."""
    n_answered = 0
    for piece, parts in zip(pieces, answered(pieces, pattern), strict=True):
        if parts is not None:
            n_answered += 1
            found = [match.encode(errors="surrogateescape") for match in pattern.compiled.findall(piece)]
            assert parts == found, piece
    return n_answered


@pytest.mark.parametrize("name", NAMES)
def test_what_split_piece_answers_is_what_the_regex_finds(name):
    pieces = strings(CORE, 4)[1:] + ["".join(s) for s in itertools.product("sX1'! \n", repeat=5)]
    assert assert_splits(pieces, NAMED[name]) > (100 if NAMED[name].singles else -1)


@pytest.mark.parametrize("name", NAMES)
def test_what_split_piece_answers_of_long_pieces_is_what_the_regex_finds(name):
    source = random.Random(4)
    lead = [" ", "  ", "\n", "\n\n ", "\t", "\u3000", "\xa0", "", "", " \r\n", "!", "'"]
    runs = ["".join(MEMBERS[letter]) for letter in CLASSES] + ["sxXÉ中ʰ", "1½٣", "!'/😀", "s\u0301", "中。"]
    pieces = [
        source.choice(lead) + "".join(source.choices(source.choice(runs), k=source.randrange(1, 20))) for _ in range(20_000)
    ]
    assert_splits(pieces, NAMED[name])


def test_most_common_shapes_of_gpt2_need_no_regex():
    pieces = [" the", "the", "The", " 1984", "42", "...", " (", " '", "\n\n", "  ", " 中文字", "\n the", "\n\nThe", "   x"]
    assert None not in answered(pieces, NAMED["gpt2"])


# Pieces and whole texts


def pretokens_by_pieces(data: bytes, pattern: Pattern) -> list[bytes]:
    is_cut = np.zeros(len(data), dtype=np.uint8)
    mark_cuts(padded(data), len(data), pattern.scanner(), np.empty(N_CLASSES, dtype=np.uint64), is_cut)
    known: dict[bytes, list[bytes]] = {}
    out: list[bytes] = []
    for piece in naive.pieces(data, np.flatnonzero(is_cut).tolist()):
        if piece not in known:
            known[piece] = naive.split(piece, pattern.compiled)
        out += known[piece]
    return out


FILES = ["bible_multilingual", "books_en", "cjk", "code_rails", "novels_de", "scripts_extra", "tinystories_sample"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", NAMES)
def test_pretokens_by_pieces_are_the_regexes_on_real_text(shared, file, name):
    data = (shared / "text" / f"{file}.txt").read_bytes()
    third = len(data) // 3
    for part in (0, 1, 2):  # up to 1.1 MB of each third, cut anywhere
        text = data[part * third : part * third + min(third, 1_100_000)]
        assert pretokens_by_pieces(text, NAMED[name]) == naive.split(text, NAMED[name].compiled)


@given(texts.data(max_size=200))
def test_pretokens_by_pieces_are_the_regexes_on_any_bytes(data):
    for pattern in NAMED.values():
        assert pretokens_by_pieces(data, pattern) == naive.split(data, pattern.compiled)


@pytest.mark.parametrize("name", NAMES)
def test_the_matches_of_a_named_pattern_leave_no_gap(name):
    for text in ["".join(MEMBERS.values()), texts.SAMPLE]:
        assert "".join(NAMED[name].compiled.findall(text)) == text


@given(texts.texts())
def test_the_pretokens_of_any_pattern_joined_are_the_text(text):
    for pattern in ("gpt2", texts.SPLIT_WITH_GAPS, r"[ab]+", r"(?:(a)|b)\s*", r"\n\K\w+", None):
        parts = get_pattern(pattern).split(text)
        assert "".join(parts) == text
        assert all(parts)


def test_a_pattern_with_groups_splits_at_its_matches_and_not_at_its_groups():
    assert get_pattern(texts.SPLIT_WITH_GAPS).split("ab, c!.d") == ["ab", ",", " ", "c", "!", ".", "d"]


def test_no_pattern_keeps_a_document_whole_line_ends_and_all():
    assert get_pattern(None).split("a b\n\nc\r\n") == ["a b\n\nc\r\n"]
    assert get_pattern(None).split("") == []


# What can be asked for


def test_a_named_pattern_is_found_by_its_name_and_by_its_regex():
    for name, pattern in NAMED.items():
        assert get_pattern(name) is pattern
        assert get_pattern(pattern.regex) is pattern
        assert get_pattern(pattern) is pattern
        assert nbbpe.train(iter(["a"]), 256, pattern=pattern.regex).pattern == name


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        ("[a-", ValueError, "neither a name .* nor a valid regex"),
        ("(", ValueError, "nor a valid regex"),
        (r"\p{Nonsense}", ValueError, "nor a valid regex"),
        ("", ValueError, "matches the empty string"),
        (r"\w*", ValueError, "matches the empty string"),
        (r"a|", ValueError, "matches the empty string"),
        ("gpt4", ValueError, "unknown pattern 'gpt4'.*gpt2"),
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
    pattern = get_pattern(r"\S+|\s+")
    assert pattern.compiled is pattern.compiled
