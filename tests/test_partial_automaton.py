"""What partial automata decide of patterns that have no automaton, and what they leave to `regex`."""

from __future__ import annotations

import random
import string
from collections import Counter
from contextlib import suppress
from functools import partial
from itertools import pairwise, product

import naive
import numpy as np
import pytest
import regex
from effort import examples
from hard_regexes import CASES, random_regex
from limits import takes_memory_below, takes_seconds_below
from real_patterns import LEFT_TO_REGEX, O200K, WITHOUT_PIECES
from vocabularies import BYTES

import nbbpe
from nbbpe.counting import word_table
from nbbpe.counting.word_counts import words_from_texts
from nbbpe.counting.word_table import _split_partly
from nbbpe.kernels.pieces.marked_pretokens import MARK_BYTES, MOST_MARKED
from nbbpe.kernels.pieces.pattern_tables import MOST_LEVELS, N_LEVELS
from nbbpe.kernels.pieces.split_words import split_decided
from nbbpe.patterns import checked_automaton, determiniser, look_automaton
from nbbpe.patterns.automaton import compile_automaton, split
from nbbpe.patterns.checked_automaton import level_of
from nbbpe.patterns.partial_automaton import as_partial, compile_partly, split_if_decided
from nbbpe.patterns.pattern import Pattern
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported, parse
from nbbpe.patterns.places import can_be_empty
from nbbpe.patterns.regex_splitter import RegexSplitter
from nbbpe.text.text_splitter import TextSplitter
from nbbpe.text.utf8 import padded

TINY_AYA = LEFT_TO_REGEX["llama.cpp, quoted: Tiny Aya"]
# Of each pattern texts that are decided, and others.
EXAMPLES = {
    r"(?<=\w)'s|\w+|\s+|[^\w\s]": (["it's", "'s", " 's it", "a's's"], []),
    r"\b\w+\b|\W": (["two words", ""], []),
    r"(?m)^#+|\w+|[#\n]": (["##", "#\n##a\n#", "a##"], []),
    r"\d{1,3}(?=(?:\d{3})*\b)|\D": (["two words", "1", "a1 2", "12345 1234", "12345a", "a123456"], []),
    r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+| ": (["The Cat", "X", "HTTP", "a Word inHTTPServer"], []),
    r"a(?!b+c)|b(?!)|[bc]": (["aa", "ab", "abbc", "abb", "bb"], []),
    # Two look-aheads at one place, and one within another, which the next character decides or not.
    r"\w(?=\w+1)(?!\w*2)|\w(?=ab)|[\w ]": (["ab1", "ab12", "aab", "aab1 ab"], []),
    r"\w(?=\w(?!b)c)|\w(?=\w(?=\w+1)a)| ": (["aac", "abc a", "aab1", "aba1", "aaab"], []),
    # A look-ahead at the end of another one is a part of it, and of several at one character the text may end, too.
    r"\w(?=\w(?=\w+1))|\w(?!(?!(?:ab)+c))|[ \w]": (["aab1", "abcd", "aababc", "a aba"], []),
    r"\d{1,3}(?=(?:\d{3})*(?:\D|$))|\D": (["1234", "12345 1", "12\n", "1234\n\n", "123a12"], []),
    r"\d{1,3}(?=(?:\d{3})*(?:[a-z]|$))|\D|\d": (["123a", "12345bb", "1234", "12\n", "1234\n\n"], []),
    # Where the text ends, nothing is asked.
    r"a(?:(?=c|(?>\d?)\Z)|!+x)|.|\n": (["a!x", "ac a!!x", "ab"], ["a", "ba", "a1"]),
    r"(?s:.(?=..)|.)": (["a", ""], ["abc"]),  # there is one class, and none for another answer
    r"(?!--)-\w+|[^-]+|-": (["a", "two words", "-a", "x-y", "--", "a--b-c"], []),
    r"(?>ab|a)c|(?>x)|.": (["b", "cx"], ["ab", "ca"]),
    r"\w+(?:'\w+)*+|\W": (["two words", "a "], ["it's", "a'"]),
    r"(?:a?b?){2,}c|(?:x|y)?+z|\w| ": (["z", "d d"], ["a", "xz", "cy"]),
    r"a+$|.|\n": (["a", "ab\n", "\n"], ["a\n", "baa\nb"]),
    r"(?<=b)a+\Z|\w|\n": (["ba", "ba\n", "\nab"], []),
    # A look-behind at several characters is undecided after the last of them alone.
    r"(?<=ab)c|\w|\W": (["ab", "cac", "ab-c"], ["abc", "bc"]),
    r"(?<!\d\d)a|\w|\W": (["a", "1-a", "baa"], ["1a", "11a"]),
}


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_what_is_decided(pattern):
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    decided, undecided = EXAMPLES[pattern]
    assert [split_if_decided(automaton, text) for text in decided] == list(map(splitter.split, decided))
    assert [split_if_decided(automaton, text) for text in undecided] == [None] * len(undecided)
    # All this needs an automaton of the usual kind for nothing.
    with pytest.raises(Unsupported):
        compile_automaton(parse(pattern))


@pytest.mark.parametrize(
    "pattern",
    [r"\b", "(?=b)", r"(?<=\d)", r"(?<!\w)(?=[a-z])", r"(?=(\d{3})+(?!\d))", r"(?=ab)|(?!\w)|\Z", "(?!b)(?!1)"],
)
def test_a_regex_that_takes_no_character_cuts_where_it_matches(pattern):
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    rng = random.Random(1)
    for _ in range(200):
        text = "".join(rng.choices("ab1 1\n", k=rng.randrange(1, 12)))
        assert split_if_decided(automaton, text) == splitter.split(text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", CASES)
def test_what_is_decided_is_split_as_by_regex(pattern):
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    rng = random.Random(1)
    n_decided = 0
    for _ in range(examples(200, 5000)):
        text = "".join(rng.choices("abcx1' \n.é", k=rng.randrange(1, 9)))
        found = split_if_decided(automaton, text)
        assert found in (None, splitter.split(text)), text
        n_decided += found is not None
    assert n_decided > 10


@pytest.mark.exhaustive
def test_random_regexes_are_split_as_by_regex():
    rng = random.Random(2)
    n_decided = n_exact = 0
    while n_decided < examples(3000, 60_000):
        pattern = "|".join([random_regex(rng, 3) for _ in range(3)]) + rng.choice(["", "|.", "|(?s:.)", r"|\w+|\s"])
        try:
            tree = parse(pattern)
            automaton = compile_partly(tree)
        except (Unsupported, regex.error):
            continue
        if can_be_empty(tree):
            continue
        exact = None
        with suppress(Unsupported):
            exact = compile_automaton(tree)
        splitter = RegexSplitter(pattern)
        for _ in range(10):
            text = "".join(rng.choices("aab1 \n.A", k=rng.randrange(1, 9)))
            found = split_if_decided(automaton, text)
            if found is not None or exact is not None:
                wanted = splitter.split(text)
                assert found in (None, wanted), (pattern, text)
                assert exact is None or split(exact, text) == wanted, (pattern, text)
            n_decided += found is not None
            n_exact += exact is not None
    assert n_exact > n_decided / 10


@pytest.mark.parametrize("pattern", [r"\w+\b|\W", r"\w(?<=a)b?|\w|\W", r"(?:\b|x)\W|\w+|\W", r"(?s:.)(?<!a)|a"])
def test_look_behind_that_no_start_depends_on_has_an_automaton(pattern):
    found, splitter = get_pattern(pattern), RegexSplitter(pattern)
    if pattern.startswith(r"(?:\b"):
        assert found.not_compiled == r"\b"
        return
    assert found.is_compiled
    rng = random.Random(1)
    for _ in range(200):
        text = "".join(rng.choices("abx1 .", k=rng.randrange(1, 9)))
        assert split(found.automata[0], text) == splitter.split(text)


def test_a_start_after_a_character_is_no_dead_state():
    """Also where a state of the automaton has the same moves: here after one character."""
    pattern = r"(?s:..)*x"
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    for text in "aax", "aaax", "aabbxaax", "xx", "axax":
        assert split_if_decided(automaton, text) == splitter.split(text)


@pytest.mark.parametrize(("either", "char"), [("(?:(?=aa)|(?=ab))", "a"), (r"(?:\b|\B)", "aa"), ("(?:(?>aa)|(?>ab))", "b")])
def test_many_undecided_forks_cost_no_more_than_their_places(either, char):
    with takes_seconds_below(2):  # mostly 0.01; if each place asks those after it anew, 4 or more
        tree = parse(either * 18 + char + r"|\w|\W")
        automaton = compile_partly(tree)
        with pytest.raises(Unsupported):
            compile_automaton(tree)
    assert split_if_decided(automaton, "x1") == ["x", "1"]


def test_what_is_undecided_but_leads_nowhere_else_makes_no_difference():
    """A run that comes to a place in doubt, and to the same place before without, goes on alike."""
    pattern = r"(?:|(?=\w\w)|\b|(?>))a+|\W|\w"
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    for text in "aab", "b aa.", "ba":
        assert split_if_decided(automaton, text) == splitter.split(text)


@pytest.mark.parametrize(("n", "is_partly"), [(8, True), (9, False), (256, False)])
def test_more_than_eight_look_aheads_are_left_to_regex(n, is_partly):
    words = ["".join(each) for each in product("ab", repeat=8)][:n]
    pattern = "|".join(f"{word}(?=x{word})" for word in words) + r"|\w|\W"
    found = get_pattern(pattern)
    assert found.is_partly_compiled == is_partly
    assert found.tables is not None
    assert found.split("aaaaaaaaxaaaaaaaa") == ["a" * 8, "x", *"a" * 8]


def slow_steps(monkeypatch, seconds):
    """A list with an item for each step of compiling, which seems to take that long."""
    steps: list[int] = []
    step, state = determiniser._Determiniser._step, look_automaton._Reader._state
    monkeypatch.setattr(determiniser._Determiniser, "_step", lambda *args: steps.append(1) or step(*args))
    monkeypatch.setattr(look_automaton._Reader, "_state", lambda *args: steps.append(1) or state(*args))
    monkeypatch.setattr(determiniser.time, "thread_time", lambda: len(steps) * seconds)
    return steps


def test_look_aheads_that_begin_with_different_characters_are_not_combined():
    """What was asked before one character is not known before another: eight look-aheads have no 256 states."""
    suffixes = "able", "ed", "ful", "ing", "less", "ness", "s", "tion"
    pattern = "|".join(rf"\w+(?={suffix}\b)" for suffix in suffixes) + r"|\w+|\W"
    automaton, splitter = compile_partly(parse(pattern)), RegexSplitter(pattern)
    assert automaton.n_states < 200
    for text in "nations", "readable words", "needed", "careless carelessness", "a sing inging ing":
        assert split_if_decided(automaton, text) == splitter.split(text)


def test_compiling_ends_in_time_within_a_state(monkeypatch):
    steps = slow_steps(monkeypatch, 0.01)  # one for each character takes long
    tree = parse("|".join(map(chr, range(0x4E00, 0x5000))) + r"|\b\w+")
    with pytest.raises(Unsupported, match="takes too long to compile"):
        compile_partly(tree)
    assert len(steps) < 110


@pytest.mark.parametrize("pattern", [r"^|.", r"(?<=a)|.", r"\b|."])
def test_what_matches_the_empty_text_is_not_compiled(pattern):
    with pytest.raises(Unsupported, match="what matches the empty text"):
        compile_partly(parse(pattern))


def test_a_run_ends_where_no_match_can_follow():
    never = r"\ba(?=b)[bc](?<=c)d"  # looks at two characters before that is clear
    assert compile_partly(parse(f"{never}|.")).n_states == compile_partly(parse(".")).n_states


def test_compiling_with_look_aheads_ends_in_time(monkeypatch):
    steps = slow_steps(monkeypatch, 0.001)
    # Of these none takes long alone.
    automaton = compile_partly(parse("|".join(f"{letter}(?=x{{60}}{letter})" for letter in "abcdefgh")))
    assert len(steps) < 1020
    assert split_if_decided(automaton, "ax ha") == ["ax ha"]
    assert split_if_decided(automaton, "hx") is None  # the last one was not compiled


PATTERNS = {
    "look-behind": r"(?<=\p{L})'s| ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+|.",
    "words": r"\b\w+\b|\W",
    "gaps": r"\b[a-z]+\b|\s|\d(?=\d*a)",
    "Aya": TINY_AYA,
    "list": [r"\b\d+\b", r"\s+(?!\S)|\s|\p{L}+(?<=[a-z])|\n", r"(?<![ab])[ab]|(?>1|12)3"],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_the_kernel_decides_as_the_automata_do(pattern):
    pattern = get_pattern(pattern)
    automata = [as_partial(level) if hasattr(level, "tells_text_end") else level.automaton for level in pattern.levels]
    rng = random.Random(1)
    parts = ["a", "b", "'s", " ", "  ", "1", "123", "\n", ".", "é", "日本", "\udcff", "🙂", "aa", "B", "x" * 80]
    texts = ["".join(rng.choices(parts, k=rng.randrange(1, 9))) for _ in range(examples(2000, 20_000))]
    texts += ["a" * MOST_MARKED, "a" * (MOST_MARKED + 1), "é" * (MOST_MARKED // 2), "1" * 254, "1" * 255]
    pieces = words_from_texts({text: 1 + i for i, text in enumerate(dict.fromkeys(texts))})
    tables = pattern.tables
    assert tables.view(np.int64)[N_LEVELS] == len(automata)
    n, n_bytes = len(pieces.counts), int(pieces.starts[-1])
    starts, counts, numbers = (np.full(size, -9, dtype=np.int64) for size in (n_bytes + 1, n_bytes, n))
    marks = np.full(MARK_BYTES * max(map(len, (text.encode(errors="surrogateescape") for text in texts))) + 1, 7, np.uint8)
    n_words, n_undecided = split_decided(*pieces, tables, marks[:-1], starts, counts, numbers)

    def texts_at(starts):
        return [pieces.text[start:end].tobytes().decode(errors="surrogateescape") for start, end in pairwise(starts)]

    listed = texts_at(pieces.starts)
    splits = [partial(split_if_decided, automaton) for automaton in automata]
    words, undecided = naive.split_decided(listed, pieces.counts.tolist(), splits)
    found = texts_at(starts[: n_words + 1])
    assert list(zip(found, counts[:n_words].tolist(), strict=True)) == words
    assert numbers[:n_undecided].tolist() == undecided
    assert (starts[n_words + 1 :] == -9).all()
    assert marks[-1] == 7
    # And what is decided is split as by `regex`.
    left = set(undecided)
    parts = [part for i, piece in enumerate(listed) for part in ([piece] if i in left else pattern.split(piece))]
    assert found == parts
    assert n - n_undecided > n / 4
    assert bool(undecided) == (pattern.spelling == PATTERNS["list"])


@pytest.mark.parametrize("split_bytes", [1, 5, 9, 1 << 20])
def test_pieces_are_split_some_at_a_time(sizes, split_bytes):
    sizes(split=split_bytes)
    pattern = get_pattern(r"(?:\d+,?)++|\p{L}+(?<=[a-z])|.")
    texts = {"ab": 3, "12": 1, "cat": 2, "dog.": 7, "1234": 5, "x" * 12: 1, "a" * 300: 4, "12.": 2, "b" * 8: 1, "?": 1}
    found: Counter[str] = Counter()
    pieces = words_from_texts(texts)
    parts = list(_split_partly(pieces, pattern, by_regex=False))
    sizes_of_parts = [int(part.starts[-1] - part.starts[0]) for part in parts if part.text is pieces.text]
    assert sum(sizes_of_parts) == pieces.starts[-1]
    assert all(size <= split_bytes or size in map(len, texts) for size in sizes_of_parts)  # one piece at least
    assert len(sizes_of_parts) == {1: 10, 5: 9, 9: 6, 1 << 20: 1}[split_bytes]
    for words in parts:
        for (start, end), n in zip(pairwise(words.starts), words.counts.tolist(), strict=True):
            found[words.text[start:end].tobytes().decode()] += n
    assert +found == sum((Counter(pattern.split(text) * n) for text, n in texts.items()), Counter())


NUMBERS = r"(?:\d+,?)++|\p{L}+|\s|[^\s\p{L}\d]"


@pytest.mark.parametrize("pattern", [PATTERNS["words"], TINY_AYA, NUMBERS], ids=["words", "Aya", "undecided numbers"])
def test_regex_sees_only_what_is_undecided(monkeypatch, tmp_path, pattern):
    text = "It's the cat, 1234567 mats; and the cat's mat.\n" * 30
    expected = nbbpe.train(iter([text]), 300, pattern=pattern, split_with="regex")
    ids = expected.encode(text)
    seen = []
    stream = Pattern.stream
    monkeypatch.setattr(Pattern, "stream", lambda self, text: seen.append(text) or stream(self, text))
    found = nbbpe.train(iter([text]), 300, pattern=pattern)
    assert nbbpe.train(iter([text]), 300, pattern=pattern, memory_limit="64MB") == found == expected
    assert not any("cat" in each for each in seen)
    assert found.encode(text) == found.encode_array(text.encode()).tolist() == ids
    (tmp_path / "a.txt").write_text(text)
    assert found.encode_file(tmp_path / "a.txt", tmp_path / "a.bin") == len(ids)
    assert bool(seen) == (pattern is NUMBERS)
    nbbpe.train(iter([text]), 300, pattern=pattern, split_with="regex")
    assert any("cat" in each for each in seen)
    seen.clear()
    found._splitting_with("regex").encode(text)
    assert any("It" in each for each in seen)


def test_pieces_that_are_decided_take_no_memory_in_lists():
    n, pattern = 100_000, get_pattern(TINY_AYA)
    pieces = words_from_texts(dict.fromkeys(map(str, range(n)), 3))
    numbers = np.array([7])
    word_table._split_by_regex(pieces, numbers, pattern)  # imports, and makes tables
    with takes_memory_below(20 * n):  # with a list of all places, 40
        (words,) = word_table._split_by_regex(pieces, numbers, pattern)
    assert words.text.tobytes()[:1] == b"7"
    assert words.counts.tolist() == [3]


@pytest.mark.parametrize("n", [MOST_MARKED - 1, MOST_MARKED, MOST_MARKED + 1, 3000, 5000])
def test_a_long_piece_is_split_as_by_regex(n):
    pattern = r"\b\w+\b|\W"
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"aa"}, [(b"a", b"a")], [], pattern)
    by_regex = tokenizer._splitting_with("regex")
    for text in "a" * n, "é" * (n // 2) + "a", "a" * n + " " + "a" * (n - 1), "b" + "aa " * n:
        assert tokenizer.encode(text) == by_regex.encode(text)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_piece_whose_walks_run_far_again_and_again_is_left_to_regex(levels):
    """Or the time would grow with the square of its length."""
    pattern = get_pattern([r"(?:a(?=a*b))+c|\W"] * levels)
    n = [1, 10, MOST_MARKED - 1, 20_000]
    pieces = words_from_texts({"a" * each + "b": 1 for each in n})
    marks = np.empty(MARK_BYTES * 20_001, dtype=np.uint8)
    starts, counts, undecided = (np.empty(int(pieces.starts[-1]) + 1, dtype=np.int64) for _ in range(3))
    assert split_decided(*pieces, pattern.tables, marks, starts, counts, undecided)[1] == 1
    assert undecided[0] == n.index(20_000)
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"aa"}, [(b"a", b"a")], [], pattern)
    text = "ab " + "a" * 253 + "b c"
    assert tokenizer.encode(text) == tokenizer._splitting_with("regex").encode(text)


@pytest.mark.parametrize(
    "pattern", [[r"\d{1,3}(?=(?:\d{3})*\b)", "gpt2"], [r"\p{N}+", r"(?=(\d{3})+(?!\d))"]], ids=["Aya", "SuperBPE"]
)
def test_long_numbers_are_grouped_from_the_right_in_time(pattern):
    """Place by place, their look-ahead would run over all digits: 300,000 take an hour."""
    found = get_pattern(pattern)
    tokenizer = nbbpe.Tokenizer(BYTES, [], [], found)
    text = "x " + "1" * 300_001 + " 12345"
    with takes_seconds_below(5):  # mostly 0.1
        assert tokenizer.encode(text) == list(text.encode())
        starts = np.concatenate([each[1:] for each in TextSplitter(found).starts(padded(text.encode()), 0, len(text))])
    assert starts.tolist()[-2:] == [len(text) - 3, len(text)]
    assert np.isin(np.arange(3, 300_004, 3), starts).all()


def test_an_automaton_that_regex_does_not_keep_is_not_used(monkeypatch):
    pattern = r"\b\w+\b|[^\w-]|-"
    monkeypatch.setattr(checked_automaton, "split_if_decided", lambda automaton, text: [*text])
    assert level_of(pattern).pairs.any()
    assert level_of(pattern).automaton is None
    assert get_pattern(pattern).tables.view(np.int64)[N_LEVELS] == 0


def test_where_automata_are_too_large_regex_splits_all_pieces():
    many_states = r"\b[ab]{1,600}[cd]{1,600}[ef]{1,600}[gh]{1,600}|\w|\W"
    for pattern in many_states, [many_states, O200K], [r"\b\w+\b|\W", r"(ab)\1"]:
        found = get_pattern(pattern)
        assert found.tables.view(np.int64)[N_LEVELS] == 0
        tokenizer = nbbpe.train(iter(["the aceg cat aa ah"] * 3), 262, pattern=pattern)
        assert tokenizer == nbbpe.train(iter(["the aceg cat aa ah"] * 3), 262, pattern=pattern, split_with="regex")
        assert tokenizer.encode("aa ah") == tokenizer._splitting_with("regex").encode("aa ah")


def test_as_many_automata_split_in_turn_as_there_is_room_for():
    most = [r"\b\w+\b|\W"] * MOST_LEVELS
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    # Together they have too many classes, but few as regards boundaries.
    classes = [rf"\b{string.ascii_letters[:40]}|\w+|\W", rf"\b{letters}|\w+|\W"]
    for pattern, n_levels in (most, MOST_LEVELS), ([*most, most[0]], 0), (classes, 0), (classes[:1], 1), (classes[1:], 1):
        found = get_pattern(pattern)
        assert found.tables.view(np.int64)[N_LEVELS] == n_levels
        tokenizer = nbbpe.Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")], [], found)
        assert tokenizer.encode("ab a b") == [256, *b" a b"]


def test_text_before_a_match_is_a_pretoken_of_its_own():
    """Also where the match ends the piece."""
    pattern = r"(?<=\d)a|\s|b"
    assert get_pattern(pattern).is_partly_compiled > get_pattern("gpt2").is_partly_compiled
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"1a"}, [(b"1", b"a")], [], pattern)
    for text in "b1a", "1a", "11a 1a":
        assert tokenizer.encode(text) == tokenizer._splitting_with("regex").encode(text) == [*text.encode()]


def test_where_pieces_are_not_found_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(checked_automaton, "compile_partly", None)
    assert get_pattern(WITHOUT_PIECES).tables is None


@pytest.mark.parametrize(
    ("pattern", "is_rare"),
    [(PATTERNS["words"], True), (TINY_AYA, True), (NUMBERS, True), (r"(?>[a-z]+|[a-z]+x)|\W|\w", False), (r"\w+|\W", True)],
)
def test_threads_share_a_text_where_regex_is_rarely_needed(pattern, is_rare, sizes, tmp_path):
    sizes(for_threads=1, thread_part=1000, for_workers=1)
    text = "It's the cat, 1,234 mats;\nand 7 dogs. " * 400
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"at"}, [(b"a", b"t")], [], pattern)
    encoder, by_regex = tokenizer._encoder, tokenizer._splitting_with("regex")
    assert encoder.in_python == (encoder.cut_by is None) == (not is_rare)
    assert by_regex._encoder.in_python
    ids = by_regex.encode_array(text)
    assert tokenizer.encode_array(text, num_threads=3).tolist() == ids.tolist()
    assert tokenizer.count(text, num_threads=3) == len(ids)
    assert tokenizer.encode_batch([text] * 9, num_threads=3) == [ids.tolist()] * 9
    (tmp_path / "a.txt").write_text(text)
    assert tokenizer.encode_file(tmp_path / "a.txt", tmp_path / "a.bin", workers=3) == len(ids)
    assert np.fromfile(tmp_path / "a.bin", dtype=np.uint16).tolist() == ids.tolist()
