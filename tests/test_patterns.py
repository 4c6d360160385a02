"""Split patterns: the shipped tables are those that follow from the regexes, and pieces give the regexes' pretokens."""

from __future__ import annotations

import dataclasses
import itertools
import random

import naive
import numpy as np
import pytest
import regex
import texts
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import nbbpe
from nbbpe.corpus import padded
from nbbpe.kernels.scan import addresses, mark_cuts
from nbbpe.kernels.simd import N_CLASSES, address_of
from nbbpe.kernels.split import WHOLE_WORDS, pretoken_end, starts_as_whole_word
from nbbpe.patterns import ALIASES, CLASSES, NAMED, SEQUENCES, SPELLINGS, Grammar, Pattern, character_classes, get_pattern

NAMES = list(NAMED)
MEMBERS = texts.REPRESENTATIVES
# One of each class, and those that regexes name: contractions, \r as well as \n.
CORE = "sxXʰ\u03011'/! \n\r\t"
# One of each class, for what is done with all strings of several.
ONE_EACH = "sXʰ\u03011'/! \n\t"
# Patterns of a structure of their own; the others are cl100k with another number in one place.
DEEP = {"gpt2", "starcoder", "cl100k", "o200k"}


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


def derived_table(compiled: regex.Pattern[str], deep: bool) -> tuple[str, ...]:
    """The cut table by exhaustion: deep contexts of core characters, and shallow ones of all representatives."""
    find = compiled.findall
    one = sorted(strings(ONE_EACH, 1), key=len)
    two = sorted(strings(ONE_EACH, 2), key=len)
    around = [(two, two)] if deep else [(one, two), (two, one)]
    near = [*strings(CORE, 1), "'s", "ll", "x'", " '", "\n "]
    rows = []
    for before in CLASSES:
        row = ""
        for after in CLASSES:
            pairs = list(itertools.product(MEMBERS[before], MEMBERS[after]))
            core = [(p, c) for p, c in pairs if p in CORE and c in CORE]
            if all(is_boundary(find, near, p, c, near) for p, c in pairs) and all(
                is_boundary(find, befores, p, c, afters) for p, c in core for befores, afters in around
            ):
                row += after
        rows.append(row)
    return tuple(rows)


@pytest.mark.parametrize("name", NAMES)
def test_the_cut_table_is_the_one_derived_from_the_regex(name):
    assert set(CORE) <= set("".join(MEMBERS.values()))
    derived = derived_table(NAMED[name].compiled, name in DEEP)
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
        alphabet = source.choice([everything, CORE, "'s \n", "\n\r x", " !\n/", "1x'd", "x'rRvVlLeE"])
        text = "".join(source.choices(alphabet, k=source.randrange(2, 14)))
        place = source.randrange(1, len(text))
        if class_letter(text[place]) in pattern.cuts[CLASSES.index(class_letter(text[place - 1]))]:
            tried += 1
            assert find(text) == find(text[:place]) + find(text[place:]), text
    assert tried > 5_000


@pytest.mark.parametrize("spelling", [spelling for spelling, name in SPELLINGS.items() if spelling != NAMED[name].regex])
def test_another_spelling_of_a_regex_matches_the_same(spelling):
    ours, theirs = NAMED[SPELLINGS[spelling]].compiled.findall, regex.compile(spelling).findall
    for text in itertools.chain(strings("sX1'! \n\t", 5), strings(CORE, 3), strings("'slvetrmdS ", 3)):
        assert ours(text) == theirs(text), text
    source = random.Random(3)
    for _ in range(5_000):
        alphabet = source.choice(["".join(MEMBERS.values()), CORE, "'slvetr ", " \n\tx"])
        text = "".join(source.choices(alphabet, k=source.randrange(14)))
        assert ours(text) == theirs(text), text


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_named_pattern_matches_what_a_sequence_of_regexes_leaves(sequence):
    ours = NAMED[SEQUENCES[sequence]]
    theirs = Pattern(None, sequence[0], then=sequence[1:])
    for text in itertools.chain(strings("sX1'! \n\t", 5), strings(CORE, 4), strings("'slvetrmdS ", 3)):
        assert ours.split(text) == theirs.split(text), text
    source = random.Random(4)
    for _ in range(5_000):
        text = "".join(source.choices("".join(MEMBERS.values()), k=source.randrange(14)))
        assert ours.split(text) == theirs.split(text), text
    assert get_pattern(sequence) is get_pattern(list(sequence)) is ours


def test_llama3_is_not_cl100k_and_where():
    ours, theirs = NAMED["llama3"].compiled.findall, NAMED["cl100k"].compiled.findall
    differing = [text for text in strings("sX1'! \n\t", 5) if ours(text) != theirs(text)]
    # Only at the end of a text, in white space that holds a newline and ends in a blank.
    assert len(differing) > 1000
    assert all(regex.search(r"\n[ \t]+\Z", text) for text in differing)
    assert theirs("x\n ") == ["x", "\n "]
    assert ours("x\n ") == ["x", "\n", " "]


# The compiled walk


@njit
def walk(text, starts, grammar, scanner, masks, is_end):
    """Mark where the pretokens of pieces that stand side by side end."""
    tables = addresses(scanner, masks)
    text_at = address_of(text)
    for piece in range(starts.shape[0] - 1):
        at = starts[piece]
        while at < starts[piece + 1]:
            after = pretoken_end(text_at + at, text_at + starts[piece + 1], grammar, tables) - text_at
            if not at < after <= starts[piece + 1]:
                raise ValueError("a pretoken ends where it cannot")
            at = after
            is_end[at] = 1


def split_all(pieces: list[str], pattern: Pattern) -> list[int]:
    """Where the pretokens of pieces end in the joined pieces, as the kernel says."""
    encoded = [piece.encode(errors="surrogateescape") for piece in pieces]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    text = padded(b"".join(encoded))
    is_end = np.zeros(len(text), dtype=np.uint8)
    walk(text, starts, pattern.packed_grammar(), pattern.scanner(), np.empty(N_CLASSES, dtype=np.uint64), is_end)
    return np.flatnonzero(is_end).tolist()


def assert_splits(pieces: list[str], pattern: Pattern) -> None:
    """Hold the kernel against the regex, each piece by itself; joined pieces must not see each other."""
    lengths = [
        len(match) if match.isascii() else len(match.encode(errors="surrogateescape"))
        for piece in pieces
        for match in pattern.compiled.findall(piece)
    ]
    if split_all(pieces, pattern) != list(itertools.accumulate(lengths)):
        for piece in pieces:  # say which
            matches = [len(match.encode(errors="surrogateescape")) for match in pattern.compiled.findall(piece)]
            assert split_all([piece], pattern) == list(itertools.accumulate(matches)), repr(piece)
        raise AssertionError("pieces are split differently side by side")


@pytest.mark.parametrize("name", NAMES)
def test_the_walk_gives_the_regexes_matches_of_all_short_strings_of_classes(name):
    assert_splits([*strings(CORE, 4), *strings("sXʰ\u03011'! \n", 5)], NAMED[name])


@pytest.mark.parametrize("name", NAMES)
def test_the_walk_knows_contractions_in_either_case(name):
    assert_splits(strings("'sS\u017ftTmMdDlLvVrReExX", 4)[-160_000::7], NAMED[name])
    assert_splits(
        [f"{a}'{b}{c}" for a in ("", "x", " ", "X1") for b in MEMBERS["l"] + "kKKK" for c in "eElLx "], NAMED[name]
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_walk_gives_the_regexes_matches_of_every_code_point(name):
    everything = [chr(code) for code in [*range(0xD800), *range(0xDC80, 0xDD00), *range(0xE000, 0x110000)]]
    # Most code points are unassigned or letters of large scripts: a few in a hundred of those beyond the first planes.
    some = everything[:0x20000] + everything[0x20000::37]
    for frame in ("a{}A", "'{}e"):
        assert_splits([frame.format(character) for character in some], NAMED[name])


@pytest.mark.parametrize("name", NAMES)
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


@njit
def are_whole_words(text, starts, grammar, scanner, masks, found):
    tables = addresses(scanner, masks)
    text_at = address_of(text)
    for i in range(starts.shape[0] - 1):
        found[i] = starts_as_whole_word(text_at + starts[i], text_at + starts[i + 1], grammar, tables)


@pytest.mark.parametrize("name", NAMES)
def test_a_piece_that_begins_as_a_whole_word_is_one_pretoken(name):
    pattern = NAMED[name]
    source = random.Random(6)
    strings_ = [*strings(CORE, 4), *("".join(source.choices("'sS Éʰ中́!1\n\u3000", k=30)) for _ in range(2000))]
    strings_ += ["é" * 70, " " + "中" * 300, "\udcff\udcffx", "\udce9x", "\U0001d49cx", "'ve", "'word", " 've", "\r\nx"]
    table = dict(zip(CLASSES, pattern.cuts, strict=True))
    pieces = list(
        dict.fromkeys(
            piece
            for data in (string.encode(errors="surrogateescape") for string in strings_)
            for piece in naive.pieces(data, naive.cuts(data, class_letter, table))
            if piece
        )
    )
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    found = np.empty(len(pieces), dtype=np.bool_)
    masks = np.empty(N_CLASSES, dtype=np.uint64)
    are_whole_words(padded(b"".join(pieces)), starts, pattern.packed_grammar(), pattern.scanner(), masks, found)
    known = [piece for piece, is_known in zip(pieces, found.tolist(), strict=True) if is_known]
    assert all(naive.split(piece, pattern.compiled) == [piece] for piece in known)
    if name == "o200k":  # which cuts words by case
        assert not known
    else:
        assert known == [piece for piece in pieces if naive.starts_as_whole_word(piece, class_letter, pattern.grammar)]
        assert len(known) > 1000


def test_words_are_whole_only_where_each_end_of_letters_is_a_boundary():
    gpt2 = NAMED["gpt2"]
    assert gpt2.packed_grammar() >> WHOLE_WORDS & 1 == 1
    for number, name in enumerate(CLASSES):
        if name in gpt2.grammar.letters:
            cuts = list(gpt2.cuts)
            cuts[number] = cuts[number].replace("m", "")
            assert Pattern("x", "x", tuple(cuts), gpt2.grammar).packed_grammar() >> WHOLE_WORDS & 1 == 0


def test_the_only_letter_of_a_contraction_beyond_ascii_is_the_long_s():
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert set(regex.findall("(?i:[sdmtlver])", everything)) == set("sdmtlverSDMTLVER\u017f")
    assert regex.fullmatch("(?i:s)", "\u017f")


def test_a_pattern_has_both_table_and_grammar_or_neither():
    with pytest.raises(ValueError, match="both a table of cuts and a grammar, or neither"):
        Pattern("x", "x", cuts=NAMED["gpt2"].cuts)
    with pytest.raises(ValueError, match="both a table of cuts and a grammar, or neither"):
        Pattern("x", "x", grammar=Grammar("s", "l", "any case"))
    with pytest.raises(ValueError, match="splits again has a first regex and no table"):
        Pattern("x", None, then=("x",))
    with pytest.raises(ValueError, match="splits again has a first regex and no table"):
        dataclasses.replace(NAMED["gpt2"], then=("x",))


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
    longest = 300_000 if name == "gpt2" else 100_000
    for part in (0, 1, 2):  # some of each third, cut anywhere
        text = data[part * third : part * third + min(third, longest)]
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
    for alias, name in (ALIASES | SPELLINGS).items():
        assert get_pattern(alias) is NAMED[name]
    assert get_pattern("cl100k_base").name == "cl100k"
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
        (r"(?r)\w+|\W+", ValueError, "searches backwards"),
        ("gpt4", ValueError, "unknown pattern 'gpt4'.*gpt2.*o200k.*o200k_base"),
        ("gpt-4", ValueError, "unknown pattern 'gpt-4'"),
        ("qwen2.5", ValueError, r"unknown pattern 'qwen2\.5'"),
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
    pattern = get_pattern(r"\S+|\s+")
    assert pattern.compiled is pattern.compiled
