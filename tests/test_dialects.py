"""Split patterns in other engines' dialects: what is kept matches the same there, and what could differ is an error."""

from __future__ import annotations

import itertools
import random
import string
import unicodedata
from types import SimpleNamespace

import pytest
import regex
import texts
from effort import examples
from hypothesis import event, given, settings
from hypothesis import strategies as st
from vocabularies import BYTE_RANKS

import nbbpe
from nbbpe.formats.ranks.tiktoken import split_regex
from nbbpe.formats.regexes.dialects import translated
from nbbpe.formats.regexes.fancy_regex import of_fancy_regex
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.cutting import Cutter

BEHAVIORS = {"isolated": "Isolated", "merged_with_next": "MergedWithNext", "removed": "Removed"}
CHARACTERS = "".join(texts.REPRESENTATIVES.values()).replace("\udc80", "").replace("\u0378", "")
PATTERNS = [
    r"\w+|\W+",
    r"\w+|[^\w\s]+|\s+",
    r"[\w']+|\d{1,3}+|[.,]",
    r"\p{N}{2}+|\p{Lu}?[\p{Ll}\p{M}]{2,}|\s{,2}+\S",
    r"(?i:'[sdmt]|'ll|'(?:re|ve))|(?>\s+)(?!\S)|[^\s]*?[\r\n/-]|.",
    r"(?<=a)b|(?<!b)a|(x)(?:y|z)*+|[a-f0-9\-]{2,3}?|\.|\^|\u4e2d|\x2f",
    r"(?P<word>\w+)|(?<i>[xyz]?(?i:(?P<letter>a)))|.",
]


def text_of(seed: int, n: int = 400) -> str:
    return "".join(random.Random(seed).choices(CHARACTERS + "abxyz  123'", k=n))


def pieces(pattern: str, text: str) -> list[str]:
    """What the text falls into by `regex`, gaps included."""
    return get_pattern(pattern).split(text)


@pytest.mark.parametrize("pattern", [*PATTERNS, *(named.regex for named in NAMED.values())])
def test_oniguruma_matches_the_same(pattern):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(translated(pattern, "regex", "Oniguruma")), behavior="isolated"
    )
    for seed in range(40):
        text = text_of(seed)
        assert [piece for piece, _ in theirs.pre_tokenize_str(text)] == pieces(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b\w+\b|\B[^\w]|x",
        r"\A\d{1,2}(?=\d{3}+\z)|\G'|a",
        r"^\s*.|\n^[a-c]|x(?=^)",
        r"([ab.'])\1*|((x)y?)\3",
        r"(a|b|)c?]|}x]",
        # Which take no character: the text is cut where they match.
        r"(?=(\d{3})+(?!\d))",
        r"\b",
        r"(?<=[.'])|(?<!\w)(?=[A-Z])",
    ],
)
@pytest.mark.parametrize("behavior", ["isolated", "merged_with_next", "removed"])
def test_oniguruma_s_places_and_references_are_read_as_it_reads_them(pattern, behavior):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior)
    ours = translated(pattern, "Oniguruma", "regex", may_be_empty=True)
    back = translated(ours, "regex", "Oniguruma", may_be_empty=True)
    again = tokenizers.pre_tokenizers.Split(tokenizers.Regex(back), behavior)
    step = {"type": "Split", "pattern": {"Regex": ours}, "behavior": BEHAVIORS[behavior], "invert": False}
    rng = random.Random(1)
    for _ in range(100):
        text = "".join(rng.choices("aab1234.'x]y \nÉ", k=rng.randrange(1, 12)))
        found = [piece for piece, _ in theirs.pre_tokenize_str(text)]
        assert [piece for piece, _ in again.pre_tokenize_str(text)] == found
        assert Cutter.of([step]).parts(text) == found
        if behavior == "isolated":
            assert pieces(ours, text) == found


def test_empty_matches_are_cuts_only_where_nothing_else_is_matched():
    for pattern in r"(?=b)|c*", r"\G(?=b)", r"(?:(?=b)|\d*)":
        with pytest.raises(ValueError, match="can match without taking a character"):
            translated(pattern, "Oniguruma", "regex", may_be_empty=True)
    with pytest.raises(ValueError, match="can match without taking a character"):
        translated(r"(?=b)", "Oniguruma", "regex")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_fancy_regex_matches_the_same(pattern):
    tiktoken = pytest.importorskip("tiktoken")
    pat_str = split_regex(get_pattern(pattern))
    for seed in range(10):
        text = text_of(seed)
        # A vocabulary that has all pretokens makes each of them one id.
        ranks = dict(BYTE_RANKS)
        for piece in pieces(pattern, text):
            ranks.setdefault(piece.encode(), len(ranks))
        theirs = tiktoken.Encoding("test", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
        assert theirs.decode_tokens_bytes(theirs.encode_ordinary(text)) == [p.encode() for p in pieces(pattern, text)]


EVERYTHING = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)]))


@pytest.mark.parametrize("letter", sorted(set(string.ascii_letters) - set("iI")))
def test_a_letter_without_its_case_is_the_same_to_all(letter):
    tokenizers = pytest.importorskip("tokenizers")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(f"(?i:{letter})"), behavior="isolated")
    found = {piece for piece, _ in split.pre_tokenize_str(EVERYTHING) if len(piece) == 1}
    assert found == set(regex.findall(f"(?i:{letter})", EVERYTHING))


@pytest.mark.parametrize("pattern", [r"\s+$", r"\n$| $|x", r"(?:1|b$)+", r"[!-~]+|[^ -~]", r"[{-~1]+$|[~x]"])
def test_oniguruma_s_end_of_a_line_and_ranges_up_to_a_tilde_are_read_as_it_reads_them(pattern):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated")
    ours = translated(pattern, "Oniguruma", "regex")
    for seed in range(40):
        text = "".join(random.Random(seed).choices("\n\n\r 1b|}~x\u2028é", k=random.Random(seed).randrange(60)))
        assert [piece for piece, _ in theirs.pre_tokenize_str(text)] == pieces(ours, text)


NUMBERED = [
    r"\x{61}+",
    r"[\x{61}-\x{0007A}\x{2d}]",
    r"\x{1F600}{2}",
    r"[^\x{1F600}\x{e9}]+",
    r"\x{a}|\x{00000061}",
    r"x\\x|a",
]


@pytest.mark.parametrize("pattern", NUMBERED)
def test_characters_by_their_numbers_in_braces_are_read_as_other_engines_read_them(pattern):
    tokenizers = pytest.importorskip("tokenizers")
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated")
    # To fancy-regex, u and U mean the same as x. Here all that is between matches is dropped, so let there be none.
    letter = random.Random(pattern).choice("xuU")
    everything = pattern.replace("x{", letter + "{") + r"|[\s\S]"
    for seed in range(20):
        text = "".join(random.Random(seed).choices("aabz-\n\U0001f600\U0001f600éx\\{61}", k=40))
        ours = pieces(translated(pattern, "Oniguruma", "regex"), text)
        assert [piece for piece, _ in theirs.pre_tokenize_str(text)] == ours
        ranks = dict(BYTE_RANKS)
        for piece in pieces(of_fancy_regex(everything), text):
            ranks.setdefault(piece.encode(), len(ranks))
        encoding = tiktoken.Encoding("test", pat_str=everything, mergeable_ranks=ranks, special_tokens={})
        assert nbbpe.load(encoding).encode(text) == encoding.encode(text)


@pytest.mark.parametrize("pattern", [r"\x{d800}", r"\x{110000}", r"\x{}", r"\x{61 62}", r"\x{000000061}"])
def test_numbers_in_braces_that_are_no_character_are_refused(pattern):
    for source in "Oniguruma", "fancy-regex":
        with pytest.raises(ValueError, match="is not known to mean the same"):
            translated(pattern, source, "regex")


def test_a_possessive_count_is_spelled_as_each_engine_takes_it():
    assert translated(r"\p{N}{1,3}+|a", "regex", "Oniguruma") == r"(?>\p{N}{1,3})|a"
    assert translated(r"\p{N}{1,3}+|a", "Oniguruma", "regex") == r"(?:\p{N}{1,3})+|a"
    assert translated(r"\p{N}{1,3}+|a", "regex", "fancy-regex") == r"\p{N}{1,3}+|a"
    assert translated(r"(?:ab|c){2}+x++", "regex", "Oniguruma") == r"(?>(?:ab|c){2})x++"
    assert translated(r"((a){2}+b){3}+", "regex", "Oniguruma") == r"(?>((?>(a){2})b){3})"


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"a$", r"'\$' \(character 1"),
        (r"\\s++$", r"'\$'"),
        (r"(?i:a\b)", r"\\b"),
        (r"a\z", r"\\z"),
        (r"\X", r"\\X"),
        (r"\h", r"\\h"),
        (r"(a)\2(b)", r"\\2"),
        (r"(a)\11", r"\\11"),
        (r"(?P<n>a)(b)\1", r"\\1"),
        (r"(a)(?i:\1)", r"\\1"),
        (r"(?P<n>a)(?P=n)", r"\(\?P=n\)"),
        (r"(?m:.)", r"\(\?m:"),
        (r"(?i)a", r"\(\?i\)"),
        (r"(?i:is)", "'i'"),
        (r"(?i:[xI])", "'I'"),
        (r"(?i:[s-t])", "'s-t'"),
        (r"(?i:a|rasSe)", "'sS'"),
        (r"(?i:é)", "'é'"),
        (r"(?i:\p{Lu})", r"\\p"),
        (r"[a[b]]", r"\[b"),
        (r"[[:alpha:]]", r"\[:alpha"),
        (r"[a&&b]", "&&b"),
        (r"[^\W\d]", r"\\W"),
        (r"[a-f-z]", "'-'"),
        (r"[]a]", r"'\]a"),
        (r"[ab", r"'\['"),
        (r"[", r"'\['"),
        (r"a{2}?", r"\{2\}\?"),
        (r"a{b", r"\{b"),
        (r"a++*", r"'\*'"),
        (r"*a", r"'\*'"),
        (r"a)", r"'\)'"),
        (r"a|+", r"'\+'"),
        (r"(?=a)+a", r"'\+'"),
        (r"a(?:(?<!b)){2}c|a(?<!b)*c", r"'\*'"),
        ("\\", r"\\"),
        (r"\p{Script=Han}", r"\\p"),
        (r"\x{41}", r"\\x"),
        (r"\xe9", r"\\xe9"),
        (r"(?<=a)| ", "can match without taking a character"),
        (r"a|(?:b|(c{0,2}|d))+", "can match without taking a character"),
        (r"a|(?=b)(?!c)", "can match without taking a character"),
        (r"(a", "not closed"),
    ],
)
@pytest.mark.parametrize("target", ["Oniguruma", "fancy-regex"])
def test_what_could_mean_something_else_is_an_error_that_shows_it(pattern, part, target):
    if target == "fancy-regex" and pattern == r"(?i:a\b)":
        assert translated(pattern, "regex", target) == pattern
        return
    with pytest.raises(ValueError, match=part):
        translated(pattern, "regex", target)


@pytest.mark.parametrize("other", ["Oniguruma", "fancy-regex"])
def test_the_end_of_a_text_has_another_letter_in_regex(other):
    assert translated(r"a\Z|b", "regex", other) == r"a\z|b"
    assert translated(r"a\z|b", other, "regex") == r"a\Z|b"
    with pytest.raises(ValueError, match=r"\\Z"):
        translated(r"a\Z|b", other, "regex")


def test_oniguruma_has_a_word_character_of_its_own():
    for pattern in r"(?i:\w)", r"(?i:a[^\w])":
        with pytest.raises(ValueError, match=r"'\\\\w' .* where case is ignored has different meanings"):
            translated(pattern, "Oniguruma", "regex")
    # \u00b2 is a word there, and digits that are not of ASCII are no hexadecimal ones.
    for pattern in r"a\p{Word}+", r"a|[\p{^WORD}b]", r"\P{word}", r"\p{XDigit}a", r"[^\p{x_digit}]":
        for engines in ("Oniguruma", "regex"), ("regex", "Oniguruma"):
            with pytest.raises(ValueError, match="is not known to mean the same"):
                translated(pattern, *engines)


@pytest.mark.parametrize("pattern", [r"\w", r"\W", r"[\w]", r"[^\w\s]", r"[\w²-]|\s", r"(?=\w)."])
def test_a_word_character_of_oniguruma_is_spelled_out(pattern):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="removed", invert=True)
    known = "".join(each for each in EVERYTHING if unicodedata.ucd_3_2_0.category(each) != "Cn")  # to every version
    found = {each for each, _ in theirs.pre_tokenize_str(known)}
    assert found == set(regex.findall(translated(pattern, "Oniguruma", "regex"), known))
    assert translated(translated(pattern, "Oniguruma", "regex"), "regex", "Oniguruma")


PARTS = [*"abs 1\n'.|()()", r"\s", r"\S", r"\d", r"\w", r"\W", r"\p{L}", r"\P{Lu}", "[ab]", r"[^a\s]", "[a-f1]", r"[\w-]"]
PARTS += ["(?:", "(?i:", "(?=", "(?!", "(?<=a)", "(?<!b)", "(?>", "+", "*", "?", "+?", "++", "?+", "{2}", "{1,2}", "{2}+"]
PARTS += ["{1,2}+", "{,2}", r"\s++$", "$", "^", r"\b", r"\B", r"\A", r"\G", r"\Z", "(", r"\1", r"\2", "-", "]", "}"]


@settings(max_examples=examples(100, 600))
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join))
def test_any_pattern_that_is_translated_matches_the_same(pattern):
    tokenizers = pytest.importorskip("tokenizers")
    try:
        ours = get_pattern(pattern)
        there = translated(pattern, "regex", "Oniguruma")
        back = get_pattern(translated(there, "Oniguruma", "regex"))
    except ValueError:
        return  # no regex, or one that could mean something else
    try:
        theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(there), behavior="isolated")
    except Exception as error:  # tokenizers raises nothing more special
        event(f"{error}"[:40])
        return
    for seed in range(3):
        text = text_of(seed, 60)
        assert [piece for piece, _ in theirs.pre_tokenize_str(text)] == ours.split(text) == back.split(text)


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"\d+$|\D", r"; \Z is the end of the text"),
        (r"\d+\z|\D", r"; \Z is the end of the text"),
        (r"\p{Script=Thai}+|\P{sc=Thai}", r"; write the value of a property alone, as in \p{Thai}"),
        (r"[[:alpha:]]+|[^a]", r"; write a property, as in \p{Alphabetic}"),
        (r"\p{Word}|x", ""),
        (r"(?P<x>a)(?P=x)|.", ""),
    ],
)
def test_what_is_refused_in_a_pattern_to_save_is_told_with_what_to_write(pattern, instead):
    with pytest.raises(ValueError, match="in the regexes of regex and Oniguruma") as error:
        translated(pattern, "regex", "Oniguruma")
    assert str(error.value).endswith(f"Oniguruma{instead}")


KIMI = r"[\p{Han}]+|[\p{Lu}\p{M}&&[^\p{Han}]]*[\p{Ll}&&[^\p{Han}]]+|(?s:.)"


@pytest.mark.parametrize("source", ["Oniguruma", "fancy-regex"])
def test_sets_less_a_property_and_sets_in_sets_are_spelled_anew(source):
    expected = r"[\p{Han}]+|(?:(?!\p{Han})[\p{Lu}\p{M}])*(?:(?!\p{Han})[\p{Ll}])+|(?s:.)".replace("(?s:.)", "x")
    assert translated(KIMI.replace("(?s:.)", "x"), source, "regex") == expected
    assert translated(r" ?[^(\s|[.,!?…])]+", source, "regex") == r" ?[^(\s|.,!?…)]+"
    nested = r"[^a&&[^\p{Han}]]", r"[a&&b]", r"[a[^b]]", r"[a[b-c]]", r"(?i:[a&&[^\p{Han}]])"
    for refused in *nested, r"[[:alpha:]]+", r"[^a[:punct:]]", r"[[:^digit:]]":
        with pytest.raises(ValueError, match=r"not known to mean the same|different meanings"):
            translated(refused, source, "regex")


RANKS = BYTE_RANKS | {b"aa": 256, b"\n\n": 257, b"aa\n": 258, b" a": 259}


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"a+$|[\s\S]", r"a++$|[\s\S]", r"(?:a|$)+a|[\s\S]", r"(?m:a+$)|[\s\S]", r"[$a]+|[\s\S]", r"\$a|a+\s*$|[\s\S]"),
        *(r"\s++$|a+|[\s\S]", r"\s+$|a+|[\s\S]", r"[\]a$]+|[\s\S]", r"[a[\n]]+|[\s\S]", r"[[:alpha:]$]+|[\s\S]"),
    ],
)
def test_patterns_of_tiktoken_are_read_as_it_reads_them(pattern):
    """To `regex`, $ is also the place before a last newline."""
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    theirs = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=RANKS, special_tokens={})
    ours = nbbpe.load(theirs)
    for length in range(6):
        for text in map("".join, itertools.product("a\n $"[: 4 if length < 5 else 2], repeat=length)):
            assert ours.encode(text) == theirs.encode(text), text


POSIX = ["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word"]


@pytest.mark.parametrize("name", [*POSIX, "xdigit"])
def test_posix_classes_of_tiktoken_have_no_character_beyond_ascii(name):
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    characters = [chr(point) for point in [*range(0x100), 0x3BB, 0x660, 0x2003, 0x3042]]
    twice = {(2 * each).encode(): 300 + number for number, each in enumerate(characters)}
    ranks = BYTE_RANKS | twice
    for pattern in rf"[[:{name}:]]{{2}}|[\s\S]", rf"[^é[:{name}:]]{{2}}|[\s\S]":
        theirs = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        ours = nbbpe.load(theirs)
        assert nbbpe.load(ours.to_tiktoken()) == ours
        for each in characters:
            assert ours.encode(2 * each) == theirs.encode(2 * each), (pattern, each)


SAME_LETTERS = [r"s", r"k", r"[a-h]", r"[a-z\u0130\u0131]", r"\p{L}", r"[^\s\p{L}\p{N}]", r"\w", "."]
# To `regex`, an i is also U+0130 where case is ignored, and an I U+0131.
OTHER_LETTERS = [
    *(r"i", r"I", r"[a-z]", r"[^a-z]", r"[^i]", r"[A-Z]", "[\u0131]", "\u0131", r"\u0131", r"\x69"),
    *(r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\P{Lu}", r"[\p{Lu}\p{M}]"),
]


def test_names_of_groups_are_no_letters_where_case_is_ignored():
    spelled = of_fancy_regex(r"(?i)(?P<id>a)(?<i>b)\k<id>(?P=i)")
    assert spelled == r"(?i)(?P<id>a)(?<i>b)\k<id>(?P=i)"


def test_a_property_that_is_negated_twice_is_not_negated_where_case_is_ignored():
    assert of_fancy_regex(r"(?i)\P{^Lt}") == of_fancy_regex(r"(?i)\p{Lt}")


def test_what_matches_an_i_is_spelled_out_only_where_case_is_ignored():
    assert of_fancy_regex("(?i:i(?-i:i)i)") == "(?i:(?-i:[Ii])(?-i:i)(?-i:[Ii]))"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [("(?i)[^^i]", "a\u0130\u0131\U00010400\U00010428"), ("(?i)[\U00010400i]", "iI\U00010400\U00010428")],
)
def test_a_set_with_an_i_has_the_letters_that_it_had(pattern, matches):
    spelled = regex.compile(of_fancy_regex(pattern))
    assert "".join(filter(spelled.fullmatch, "a^iI\u0130\u0131\U00010400\U00010428")) == matches


@pytest.mark.parametrize(
    ("pattern", "spelled"),
    [
        ("(?i)[-i]", r"(?i)(?-i:[I\-i])"),
        ("(?i)[]i]", r"(?i)(?-i:[I\]i])"),
        ("(?i:a(i))i", "(?i:a((?-i:[Ii])))i"),
        ("(?i)a))i", "(?i)a))(?-i:[Ii])"),  # which `regex` refuses
    ],
)
def test_letters_that_are_spelled_out_keep_what_is_around_them(pattern, spelled):
    assert of_fancy_regex(pattern) == spelled


@pytest.mark.parametrize("letters", [*SAME_LETTERS, r"[\P{N}]", r"[\P{N}i]", r"\p{Nonsense}"])
def test_letters_that_need_not_be_spelled_out_stay_as_they_are(letters):
    assert of_fancy_regex(f"(?i){letters}") == f"(?i){letters}"


@pytest.mark.parametrize("pattern", ["(?i:s.s)", "[-a]"])
def test_what_means_the_same_stays_as_it_is(pattern):
    assert translated(pattern, "Oniguruma", "regex") == translated(pattern, "regex", "fancy-regex") == pattern


@pytest.mark.parametrize("letters", SAME_LETTERS + OTHER_LETTERS)
@pytest.mark.parametrize(
    "around", ["(?i){}{{2}}", "(?i:x|{}{{2}})", "(?i:(?-i:x)|{}{{2}})", "(?i:x)|{}{{2}}", "(?-i){}{{2}}"]
)
def test_letters_of_tiktoken_in_any_case_are_the_same(letters, around):
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    characters = "iIsS\u017fkK\u212aaAzZ\u0130\u0131\u01c5\u01c4\u00e9\u00c9.1"
    ranks = BYTE_RANKS | {(2 * each).encode(): 300 + number for number, each in enumerate(characters)}
    pattern = around.format(letters) + r"|[\s\S]"
    theirs = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ours = nbbpe.load(theirs)
    for each in characters:
        assert ours.encode(2 * each) == theirs.encode(2 * each), each


@pytest.mark.parametrize(
    "pattern",
    [
        r"[[:^alpha:]]|b",
        r"[a[b][:alpha:]]|b",
        r"a+\Z|b",
        r"\h+|b",
        r"[\h]+|b",
        r"a\Kb",
        r"\<a|b",
        r"a\N|b",
        r"[a&&b]|b",
        r"[a~~b]|b",
        r"(?i)[\P{Lu}]|b",
        r"(?i)[a\p{^Lu}]|b",
    ],
)
def test_patterns_of_tiktoken_that_mean_something_else_are_refused(pattern):
    theirs = SimpleNamespace(name="test", _mergeable_ranks=RANKS, _pat_str=pattern, _special_tokens={})
    with pytest.raises(ValueError, match="the encoding 'test': "):
        nbbpe.load(theirs)
