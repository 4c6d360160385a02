"""Patterns that backtrack without end: each text has a limit of time, and what keeps to it is split as without one."""

from __future__ import annotations

import json
import random

import naive
import processes
import pytest
import regex
import texts
from effort import examples

import nbbpe
from nbbpe import cli
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.patterns.regex_splitter import RegexSplitter

COMPILED = r"(?:a|a)+b|."  # which takes `regex` as long, and an automaton no time
ENDLESS = r"(?:(?>aa?)|a)+b|."  # undecided in each piece that has an a, as there is an atomic group
BY_ITSELF = r"(a|a)+b(?:\1)?|."  # within another regex, its \1 would be another group
SHORT = "a" * 40


@pytest.fixture
def impatient(sizes):
    """A limit that a test can wait for."""
    sizes(splitting=0.1)


@pytest.mark.parametrize("pattern", [ENDLESS, BY_ITSELF, [r"c+", ENDLESS]])
@pytest.mark.parametrize("text", [SHORT, "it is " * 1000 + SHORT + " so" * 1000])
@pytest.mark.usefixtures("impatient")
def test_the_error_names_the_pattern_and_the_text(pattern, text):
    for _ in range(2):
        with pytest.raises(ValueError, match="takes too long") as caught:
            get_pattern(pattern).split(text)
        message = str(caught.value)
        assert repr(pattern if isinstance(pattern, str) else ENDLESS) in message
        assert "aaa" in message
        assert len(message) < 500


@pytest.mark.usefixtures("quiet")
def test_what_is_compiled_takes_no_time():
    tokenizer = nbbpe.train(iter(["ab abc " * 9]), 260, pattern=COMPILED)
    assert get_pattern(COMPILED).is_compiled
    assert tokenizer.encode("a" * 100_000) == [ord("a")] * 100_000


def test_a_check_against_regex_that_takes_too_long_is_given_up(monkeypatch):
    def give_up(self, text):
        raise ValueError("takes too long")

    pattern = r"(?:a|a|a)+c|."
    monkeypatch.setattr(RegexSplitter, "split", give_up)
    assert get_pattern(pattern).is_compiled


@pytest.mark.usefixtures("impatient")
def test_a_long_pattern_is_cut_in_the_error():
    with pytest.raises(ValueError, match=r"pattern .{1,80}\.\.\. takes too long") as caught:
        get_pattern(ENDLESS + "|" + "x" * 10_000).split(SHORT)
    assert len(str(caught.value)) < 600


@pytest.mark.usefixtures("impatient")
@pytest.mark.usefixtures("quiet")
def test_encoding_raises_and_goes_on_with_other_texts():
    tokenizer = nbbpe.train(iter(["ab abc " * 9]), 260, pattern=ENDLESS)
    for encode in tokenizer.encode, tokenizer.encode_array, tokenizer.encode_ordinary, tokenizer.count:
        with pytest.raises(ValueError, match="takes too long"):
            encode(SHORT)
    with pytest.raises(ValueError, match="takes too long"):
        tokenizer.encode_batch(["ab", SHORT])
    assert tokenizer.decode(tokenizer.encode("ab" * 9)) == "ab" * 9


@pytest.mark.usefixtures("impatient")
def test_training_raises_in_this_process_and_in_others(tmp_path, sizes):
    with pytest.raises(ValueError, match="takes too long"):
        nbbpe.train(documents=[SHORT], vocab_size=260, pattern=ENDLESS)
    sizes(for_workers=1)
    for name in "ab":
        (tmp_path / name).write_text("ab " * 100 + SHORT)
    with pytest.raises(ValueError, match="takes too long"):
        nbbpe.train([tmp_path / "a", tmp_path / "b"], 260, pattern=ENDLESS, workers=2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.usefixtures("quiet")
def test_a_pattern_of_a_tokenizer_json_and_the_command_line(tmp_path, capfd):
    nbbpe.train(iter(["ab abc " * 9]), 260, pattern=r"\w+|\W").to_hf(tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = ENDLESS
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="takes too long"):
        nbbpe.load(tmp_path / "tokenizer.json").encode(SHORT)
    (tmp_path / "text").write_text(SHORT)
    capfd.readouterr()
    assert cli.main(["count", str(tmp_path / "text"), "-t", str(tmp_path / "tokenizer.json")]) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert "takes too long" in line


def test_ctrl_c_ends_a_match():
    script = """
import sys, nbbpe
tokenizer = nbbpe.train(iter(["ab"]), 257, pattern=sys.argv[1])
print("ready", flush=True)
tokenizer.encode("a" * 60)
"""
    ended = processes.interrupt(script, ENDLESS)
    processes.assert_ended_well(ended)


def test_the_limit_grows_with_the_text(sizes):
    sizes(splitting=0)
    text = texts.SAMPLE * (300_000 // len(texts.SAMPLE))
    assert len(get_pattern(r"\w+|\W").split(text)) > 10_000


# What runs of matches must not change

ATOMS = ["a", "b", r"\n", r"\w", r"\s", r"\S", ".", "[ab]", "[^a]", r"\p{L}", r"\p{N}", "'", "é", r"\X", r"\R"]
ATOMS += [r"\b", r"\B", "^", "$", r"\Z", "(?=a)", "(?!b)", "(?<=a)", r"(?<!\s)"]
GROUPS = ["(?:%s)", "(%s)", "(?>%s)", "(?i:%s)", "(?=%s)", "(?!%s)", "(?<=%s)", "(?s:%s)"]
TIMES = ["", "", "", "", "", "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++", "{1,3}", "{2}", "{0,2}?", "{,2}+"]


def random_pattern(rng: random.Random, depth: int = 2) -> str:
    def sequence() -> str:
        return "".join(random_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3)))

    if depth == 0 or rng.random() < 0.3:
        return rng.choice(ATOMS) + rng.choice(TIMES)
    inside = "|".join(sequence() for _ in range(rng.randint(1, 3)))
    return rng.choice(GROUPS) % inside + rng.choice(TIMES)


def assert_split_as_one_by_one(pattern: str, compiled: regex.Pattern, text: str) -> None:
    parts = [part.encode(errors="surrogateescape") for part in RegexSplitter(pattern).split(text)]
    assert parts == naive.split(text.encode(errors="surrogateescape"), compiled), (pattern, text)


@pytest.mark.exhaustive
def test_runs_of_matches_are_the_matches_one_by_one():
    rng = random.Random(22)
    n_in_runs = 0
    for _ in range(n := examples(200, 600)):
        alternatives = (random_pattern(rng) + random_pattern(rng, 1) for _ in range(rng.randint(1, 4)))
        pattern = rng.choice(["", "", "", "(?i)", "(?s)", "(?m)", "(?x)"]) + "|".join(alternatives)
        try:
            compiled = regex.compile(pattern)
        except regex.error:
            continue
        n_in_runs += RegexSplitter(pattern)._runs is not None
        for _ in range(5):
            text = "".join(rng.choices("aabB  \n'é1", k=rng.randint(0, 12)))
            assert_split_as_one_by_one(pattern, compiled, text)
    assert n_in_runs > n / 2


@pytest.mark.parametrize(
    ("pattern", "in_runs"),
    [
        (r"\w+|\W", True),
        (r"\w+", True),
        (r"(\w)+|(.)", True),
        (r"x", True),
        (r"(?=\s)|\w+", True),
        (r"(?P<m>\w)+", True),
        (r"(?P<nbbpe_match>\w)+", False),
        (r"\p{L}+|\P{L}|\x62{2}|\N{COMMA}", True),
        (r"a\{b}|.", False),
        (r"(\w)\1|.", False),
        (r"(?P<w>\w)(?P=w)|.", False),
        (r"(?P<w>\w)(?&w)|.", False),
        (r"(\w)?(?(1)b|c)", False),
        (r"\((?:[^()]++|(?R))*+\)|.", False),
        (r"\G\w|b", False),
        (r"a\Kb|.", False),
        (r"(?:the){e<=1}|.", False),
        (r"a(*PRUNE)b|.", False),
        (r"(?x) \w+ | \W  # words", False),
        (r"(?p)a|ab|.", False),
        (r"(?V1)[\w--a]+|.", False),
    ],
)
def test_what_means_another_thing_in_a_run_is_matched_one_by_one(pattern, in_runs):
    compiled = regex.compile(pattern)
    assert (RegexSplitter(pattern)._runs is not None) == in_runs
    for text in ["", "aab the (a(b)c) xx", texts.SAMPLE, "\udcff a\udcffb", "aab\n" * 400, "word " * 600]:
        assert_split_as_one_by_one(pattern, compiled, text)
