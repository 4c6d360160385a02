"""What patterns and texts may do at the worst, and boundaries at every place of a block and at a million places."""

from __future__ import annotations

import itertools
import json
import random
import time

import naive
import processes
import pytest
import real_patterns
import regex
import texts
from automata import (
    ALPHABET,
    LEAVES,
    PATTERNS,
    characters_of_classes,
    ends_by_kernel,
    for_named_patterns,
    larger,
    pattern_of,
    random_strings,
    to_bytes,
    to_tree,
)
from boundary_rules import marked
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from limits import takes_seconds_below
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.machine.intrinsics import BLOCK
from nbbpe.patterns import automaton, determiniser, partial_automaton
from nbbpe.patterns.automaton import compile_automaton, split
from nbbpe.patterns.given_regex import check_repeats
from nbbpe.patterns.named_patterns import REGEXES
from nbbpe.patterns.partial_automaton import compile_partly
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.pattern_parser import Unsupported, parse
from nbbpe.patterns.quick_regex import quick_length

BACKTRACKS = r"(?:a|aa)+c|."  # about fib(n) ways over n letters a


# Repeats that `regex` writes out


@pytest.mark.parametrize(
    "pattern",
    [
        "a{100001}",
        "a{ 100001}",
        "a{60000}b{60000}",
        "(?:a){100001}",
        "(?:a{400}){300}",
        "(?:a){0}(?:b{400}){300}",
        "(?:a{400})(?#comment){300}",
        "(?x)(?:a{400}) {300}",
        "(?V1x)(?:a{400}) {300}",
        f"a{{{'9' * 5000}}}",
    ],
)
def test_a_regex_that_repeats_too_often_is_refused_before_it_is_compiled(pattern):
    with pytest.raises(ValueError, match="repeats something more than 100,000 times"):
        check_repeats(pattern)


@pytest.mark.parametrize("pattern", ["a{100000}", "(?:a{400}){250}", "(?:a){100000}b{1}", "a{1}" * 100_001, "a{60000} {1}"])
def test_a_regex_that_repeats_less_often_is_not(pattern):
    check_repeats(pattern)


# Boundaries


@pytest.mark.exhaustive
@for_named_patterns
def test_a_text_is_split_alike_wherever_blocks_begin(regexes):
    """Every place of a text comes to lie before and after the edge of a block, and nothing changes."""
    pattern = pattern_of(regexes)
    source = random.Random(13)
    strings = source.sample(random_strings(regexes, 400), examples(2, 20))
    for text in [*strings, "It's 12\udcff  \n\n中a字\u0301X1"]:
        data = to_bytes(text)
        for shift in range(BLOCK + 3):
            framed = b"x" * shift + b"\n!\n" + data
            wanted = pattern.split(framed.decode(errors="surrogateescape"))
            ends = list(itertools.accumulate(len(to_bytes(part)) for part in wanted))
            assert ends_by_kernel(naive.pieces(framed, marked(framed, pattern)), pattern.tables) == ends, (text, shift)


@pytest.mark.exhaustive
def test_boundaries_hold_at_millions_of_places():
    """Text of random classes, pieces alone and whole: over all patterns, at 200,000 boundaries (in CI at two million)."""
    n_cuts = 0
    for regexes in PATTERNS.values():
        pattern = pattern_of(regexes)
        source = random.Random(14)
        samples = characters_of_classes(regexes)
        for _ in range(examples(1, 2)):
            text = "".join(source.choice(source.choice(samples)) for _ in range(examples(9_000, 40_000)))
            data = to_bytes(text)
            cuts = marked(data, pattern)
            n_cuts += len(cuts)
            ends = list(itertools.accumulate(len(to_bytes(part)) for part in pattern.split(text)))
            assert ends_by_kernel([data], pattern.tables) == ends
            assert ends_by_kernel(naive.pieces(data, cuts), pattern.tables) == ends
    assert n_cuts > examples(180_000, 1_600_000)


# Random regexes


SLOW_TO_EXPLODE = pytest.param(r"(?:a?){900}b|.", marks=pytest.mark.slow)


@given(pattern=st.recursive(LEAVES, larger, max_leaves=6), text=st.text(ALPHABET, max_size=12))
def test_any_regex_splits_as_regex_does(pattern, text):
    try:
        automaton = compile_automaton(parse(pattern))
    except (Unsupported, regex.error):
        return
    wanted = [part.decode() for part in naive.split(text.encode(), regex.compile(pattern))]
    assert split(automaton, text) == wanted
    assert naive.split_by_tree(to_tree(parse(pattern)), text) == wanted


# Patterns that take long


def test_a_pattern_that_takes_too_long_to_compile_is_left_to_regex(monkeypatch):
    monkeypatch.setattr(automaton, "_MOST_SECONDS", 0.0)
    with pytest.raises(Unsupported, match="takes too long to compile"):
        compile_automaton(parse("ab|[^a]c?"))


@pytest.mark.parametrize("compiled", [compile_automaton, compile_partly])
def test_what_else_the_machine_does_takes_no_time_from_compiling(monkeypatch, compiled):
    """Else a pattern would be left to regex now and then."""
    step = determiniser._Determiniser._step
    for module in automaton, partial_automaton:
        monkeypatch.setattr(module, "_MOST_SECONDS", 0.1)
    monkeypatch.setattr(determiniser._Determiniser, "_step", lambda *args: time.sleep(0.02) or step(*args))
    began = time.monotonic()
    assert compiled(parse("ab|[^a]c?")).n_states > 2
    assert time.monotonic() - began > 0.1


@pytest.mark.parametrize("pattern", [r"(?s).*a.{10}b|.", r"(?:[ab]{0,30}c){30}|.", r"(?:\w{1,40}-){20}|.", SLOW_TO_EXPLODE])
def test_a_pattern_that_explodes_ends_soon(pattern):
    # About 10 s: the limits of compiling and of the check, and the rest for a machine that does other things meanwhile.
    with takes_seconds_below(60):
        get_pattern(pattern).is_compiled  # noqa: B018


@pytest.mark.parametrize("pattern", [BACKTRACKS, r"\s*\n|\s", r"a*b|a|[^a]"])
@pytest.mark.parametrize("unit", ["a", " ", "ab", "\n "])
def test_where_regex_backtracks_the_automaton_does_not(pattern, unit):
    data = unit * (200_000 // len(unit))
    assert get_pattern(pattern).is_compiled
    with takes_seconds_below(60):
        tokenizer = nbbpe.train(iter([data]), 256, pattern=pattern)
        assert tokenizer.decode(tokenizer.encode(data)) == data


def test_regex_gives_up_where_it_backtracks_without_end(sizes):
    sizes(splitting=0.2)
    with takes_seconds_below(60):
        # A short piece, a long one; one that is split by regex although it is compiled, and one that is not compiled.
        for text, pattern in itertools.product(["a" * 31, "a" * 300], [BACKTRACKS, BACKTRACKS + r"|\bx"]):
            with pytest.raises(ValueError, match=r"takes too long.*given up in a text of"):
                nbbpe.train(iter([text + "b"]), 300, pattern=pattern, split_with="regex")
        tokenizer = nbbpe.Tokenizer(BYTES, [], [], BACKTRACKS)
        with pytest.raises(ValueError, match="takes too long"):
            tokenizer._splitting_with("regex").encode("a" * 300 + "b")
        assert tokenizer.encode("a" * 300 + "b") == [97] * 300 + [98]


@pytest.mark.parametrize("pattern", [r"(?:a?|b?){60}\b", r"(?:(?:a?|b??){8}){8}\b|."])
def test_a_pattern_that_tries_to_match_nothing_in_too_many_ways_is_refused(sizes, pattern):
    """Two to the power of 60 ways, or of 64, before there is any text."""
    sizes(splitting=0.2)
    for argument in pattern, ["gpt2", pattern]:
        refused = pytest.raises(ValueError, match=r"pattern '.*' takes too long: .* ways to match the empty string")
        with takes_seconds_below(30), refused:
            nbbpe.Tokenizer(BYTES, [], [], argument)


@pytest.mark.parametrize("patterns", ["(?R)a", [r"\S+|\s+", "(?P<x>(?&x)?a)|b"]])
def test_a_pattern_that_calls_itself_first_is_an_error_where_a_text_is_split(patterns):
    """Before that it is not seen, as `regex` looks for the a first."""
    with pytest.raises(ValueError, match=r"pattern '.*' calls itself without end, .* in a text of 3 characters: 'aaa'"):
        get_pattern(patterns).split("aaa")


@pytest.mark.parametrize("pattern", [r"\s+", "a?a?a?a?a?b", "a*b|a*c", "(?i)[a-z]{2,}(?![a-z]x)", "a|b", REGEXES["gpt2"]])
def test_a_regex_that_needs_no_limit_takes_little_time(pattern):
    n_characters = quick_length(pattern)
    assert n_characters > 0
    with takes_seconds_below(2):
        for text in "a" * n_characters, " a" * (n_characters // 2), " " * (n_characters - 1) + "a":
            regex.findall(pattern, text)


@pytest.mark.parametrize(
    "pattern",
    ["(?:a+)*c", "(?:a|a)+c", "(?:ab)+", "a*a*c", "(?:a?){7}c", "(?:a|b|c|d)(?:a|b|c|d)(?:a|b|c|d)(?:a|b)", "(?R)a"],
)
def test_a_regex_that_may_try_many_ways_needs_a_limit(pattern):
    assert quick_length(pattern) == 0


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer"])
def test_a_step_of_a_tokenizer_json_that_backtracks_without_end_is_named(sizes, tmp_path, part):
    path = tmp_path / "tokenizer.json"
    nbbpe.train(documents=["the cat"], vocab_size=258).to_hf(path)
    written = json.loads(path.read_text())
    step = {"pattern": {"Regex": BACKTRACKS}}
    if part == "normalizer":
        written[part] = {"type": "Replace", "content": "x", **step}
    else:
        split = {"type": "Split", "behavior": "Removed", "invert": False, **step}
        after = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        written[part] = {"type": "Sequence", "pretokenizers": [split, after]}
    path.write_text(json.dumps(written))
    tokenizer = nbbpe.load(path)
    sizes(splitting=0.2)
    named = pytest.raises(ValueError, match=f"{part} .* has the regex .* takes too long.*given up in a text of 301")
    with takes_seconds_below(4), named:  # the same limit as that of patterns
        tokenizer.encode("a" * 300 + "b")


@pytest.mark.parametrize(
    "work", ["train(iter(['a' * 300 + 'b']), 300, pattern={0!r}, split_with='regex')", "{1}.encode('a' * 300)"]
)
def test_ctrl_c_ends_a_pattern_that_backtracks(work):
    tokenizer = f"Tokenizer({{i: bytes([i]) for i in range(256)}}, [], [], {BACKTRACKS!r})._splitting_with('regex')"
    script = "import nbbpe; from nbbpe.patterns import given_regex; given_regex.BASE_SECONDS = 100.0\n" + (
        "print('begins', flush=True)\nnbbpe." + work.format(BACKTRACKS, tokenizer.replace("{{", "{").replace("}}", "}"))
    )
    ended = processes.interrupt(script)
    assert "KeyboardInterrupt" in ended.stderr
    assert not ended.orphans
    assert ended.seconds < 10


# What nothing else holds of the list of real patterns


def test_there_are_more_than_forty_real_patterns_with_their_sources():
    assert len(real_patterns.REAL) + len(real_patterns.LEFT_TO_REGEX) > 44
    assert all(
        ":" in name or "/" in name or name.startswith(("a ", "white", "lines", "char")) for name in real_patterns.REAL
    )


@given(texts.data(120))
def test_any_bytes_are_split_alike_by_every_pattern(data):
    text = data.decode(errors="surrogateescape")
    for regexes in PATTERNS.values():
        pattern = pattern_of(regexes)
        ends = list(itertools.accumulate(len(to_bytes(part)) for part in pattern.split(text)))
        assert ends_by_kernel(naive.pieces(data, marked(data, pattern)), pattern.tables) == ends
