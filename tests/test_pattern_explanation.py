"""What is told of a pattern agrees with what its automaton and `regex` do."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import processes
import pytest
import texts
from conftest import ROOT
from effort import examples
from real_patterns import LEFT_TO_REGEX, REAL

import nbbpe
from nbbpe.pattern_explanation import certain_places
from nbbpe.patterns.automaton import START
from nbbpe.patterns.levels import join_levels
from nbbpe.patterns.pattern import ALIASES, NAMED
from nbbpe.patterns.pattern_argument import get_pattern

LETTERS = "ab1² \n\t'sécM中字の가-!\u3000\u0301\r"


def random_texts(n: int, most: int, seed: int = 0) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices(LETTERS, k=chance.randint(1, most))) for _ in range(n)]


@pytest.mark.parametrize("name", NAMED)
def test_a_named_pattern_is_compiled_and_its_text_falls_into_pretokens(name):
    found = nbbpe.explain_pattern(name, texts.SAMPLE)
    pattern = NAMED[name]
    assert (found.name, list(found.regexes), found.is_compiled, found.not_compiled) == (name, pattern.regexes, True, "")
    assert list(found.pretokens) == pattern.split(texts.SAMPLE)
    assert len(found.is_certain) == len(found.pretokens)
    assert any(found.is_certain)
    assert not found.is_certain[0]
    for level, automaton in zip(found.levels, pattern.automata, strict=True):
        assert level.n_states == automaton.n_states
        assert sum(each.n for each in level.classes) == 0x110000
        # Examples belong to their class.
        classes = automaton.classes()
        for each in level.classes:
            for example in each.examples:
                if len(example) == 1:
                    assert classes[ord(example)] == each.number


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*NAMED, *REAL])
def test_a_text_can_be_cut_wherever_a_certain_boundary_is_told(name):
    """The definition, against `regex` itself: both sides split as they do in context."""
    pattern = get_pattern(REAL.get(name, name))
    levels = join_levels(pattern.automata)
    n_cuts = 0
    for text in random_texts(examples(20, 200), 12):
        whole = pattern.split(text)
        for place in certain_places(levels, text).nonzero()[0].tolist():
            assert pattern.split(text[:place]) + pattern.split(text[place:]) == whole, (text, place)
            n_cuts += 1
    assert n_cuts > examples(4, 15) or name in ("lines", "llama.cpp: Gemma 4, Sarvam")


def test_a_pattern_is_told_to_be_the_named_one_that_it_equals():
    original = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert nbbpe.explain_pattern(original).name == "gpt2"
    assert str(nbbpe.explain_pattern(original)) == repr(nbbpe.explain_pattern("gpt2"))
    assert nbbpe.explain_pattern(r"\w+|\W").name is None


def test_the_page_shows_classes_boundaries_and_the_text():
    page = str(nbbpe.explain_pattern(r"[a-z]+| ?\d+", "ab 12!c\n"))
    assert page.splitlines() == [
        "pattern   a custom one",
        r"regex     [a-z]+| ?\d+",
        "compiled  yes",
        "",
        "automaton: 5 states, 4 classes",
        *page.splitlines()[5:9],
        "  certain boundaries, by classes",
        "    after 0 before 2, 3",
        "    after 1 before 3",
        "    after 2 before 0, 1, 3",
        "    after 3 before 0, 1, 2",
        "",
        "text, with | before pretokens and ‖ at certain boundaries",
        r"  ab‖␣12‖!‖c‖\n",
    ]


def test_the_page_of_no_pattern_names_no_custom_one():
    page = str(nbbpe.explain_pattern(None, "a b"))
    assert page.splitlines() == [
        "pattern   none",
        "compiled  yes",
        "",
        "automaton: 3 states, 1 classes",
        r"   0  1,114,112  \t \n \r space !-~ ¡",
        "  no certain boundaries: all of a document is one piece",
        "",
        "text, with | before pretokens and ‖ at certain boundaries",
        "  a␣b",
    ]


def test_the_page_shows_each_automaton_and_boundaries_that_depend_on_what_follows():
    page = str(nbbpe.explain_pattern([r"[0-9]", r"[a-z]+| +(?![^ ])| +"], "a  b1\\é"))
    assert page.splitlines() == [
        "pattern   a custom one",
        "regex     [0-9]",
        "regex     [a-z]+| +(?![^ ])| +",
        "compiled  yes, as 2 automata that split in turn",
        "",
        "automaton 1: [0-9]: 3 states, 2 classes",
        r"   0  1,114,102  \t \n \r space !-/ :-~ ¡",
        "   1         10  0-9",
        "  certain boundaries, by classes",
        "    after 0 before 1",
        "    after 1 before 0, 1",
        "",
        "automaton 2: [a-z]+| +(?![^ ])| +: 5 states, 3 classes",
        r"   0  1,114,085  \t \n \r !-` {-~ ¡",
        "   1          1  space",
        "   2         26  a-z",
        "  certain boundaries, by classes",
        "    after 0 before 1, 2",
        "    after 2 before 0, 1",
        "    after 1 before 1, if 0, 2 follows",
        "",
        "text, with | before pretokens and ‖ at certain boundaries",
        r"  a‖␣‖␣|b‖1‖\é",
    ]
    page = str(nbbpe.explain_pattern(r"[^ab][ab]b+|b[ab]+[^a]|b"))
    assert page.splitlines()[-2:] == ["  certain boundaries, by classes", "    after 0 before 2, if 0, 1 follows"]
    page = str(nbbpe.explain_pattern(r"(?s:.)+"))
    assert page.splitlines()[-1] == "  no certain boundaries: all of a document is one piece"


@pytest.mark.parametrize(
    ("regex", "classes"),
    [
        (r"[a-ceg-h1-3 \t]|x", [r"\n \r !-0 4-` d f i-w y-~ ¡", r"\t space 1-3 a-c e g h x"]),
        ("[~-¢\ue000-\ue003]|x", [r"\t \n \r space !-w y-} £", "x ~ ¡"]),
        ("[¡£¥§©«]|[®°²¶¹»½¿]+", [r"\t \n \r space !-~ ¢ ¨ ¯ ·", "¡ £ ¥ §", "® ² ¹ ½"]),
        (
            r"[\u0eb1\u20dd\u2028\u3000]|[\x00-\x08]+",
            ["(not printable)", r"\t \n \r space !-~ ¡ າ ‰ ℀", "U+0EB1 U+2028 U+20DD U+3000"],
        ),
        (r"[\u0330-\u0370]|[^\u0330-\u0370]+", [r"\t \n \r space !-~ ¡ ͱ", "U+0330"]),
        (r"[\u0331-\u0370]|[^\u0331-\u0370]+", [r"\t \n \r space !-~ ¡ ͱ", "Ͱ"]),
    ],
)
def test_examples_of_a_class_can_be_printed_alone(regex, classes):
    (level,) = nbbpe.explain_pattern(regex).levels
    assert [str(each) for each in level.classes] == classes


def test_a_text_is_shown_in_lines_that_are_filled():
    page = str(nbbpe.explain_pattern("[a-z]+|.", f"{'a' * 79} {'b' * 77} {'c' * 78}{'-' * 800}")).splitlines()
    dashes = f"  {'‖-' * 39}"
    assert page[page.index("text, with | before pretokens and ‖ at certain boundaries") + 1 :] == [
        f"  {'a' * 77}…",
        "  ‖␣",
        f"  ‖{'b' * 77}",
        "  ‖␣",
        f"  ‖{'c' * 76}…",
        *[dashes] * 15,
        "  ... and 215 more pretokens",
    ]


def test_a_text_may_be_bytes_and_is_decoded_as_patterns_split_it():
    data = "the caf\u00e9".encode() + b"\xff 12"
    for text in data, bytearray(data), memoryview(data):
        found = nbbpe.explain_pattern("gpt2", text)
        assert found == nbbpe.explain_pattern("gpt2", data.decode(errors="surrogateescape"))
        assert found.pretokens == ("the", " caf\u00e9", "\udcff", " 12")
        assert r"\xff" in str(found)
    for wrong in 5, ["the"]:
        with pytest.raises(TypeError, match="text must be str or bytes"):
            nbbpe.explain_pattern("gpt2", wrong)


def test_the_page_shows_the_beginning_of_a_long_text():
    found = nbbpe.explain_pattern("gpt2", "the cat " * 2000 + "x" * 99)
    lines = str(found).splitlines()
    assert max(map(len, lines[-20:])) <= 80
    shown = lines[lines.index("text, with | before pretokens and ‖ at certain boundaries") + 1 : -1]
    n_shown = sum(line.count("‖") + line.count("|") for line in shown) + 1
    assert lines[-1] == f"  ... and {len(found.pretokens) - n_shown:,} more pretokens"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [(r"\b\w+|\W", r"\b"), (r"(?<=a)b|[^b]|b", "look-behind"), (r"(ab)\1|.", r"\1")],
)
def test_why_a_pattern_is_not_compiled_is_told(pattern, why):
    found = nbbpe.explain_pattern(pattern, "aab b")
    assert not found.is_compiled
    assert why in found.not_compiled
    assert found.levels == ()
    assert list(found.pretokens) == get_pattern(pattern).split("aab b")
    assert found.is_certain == {r"\b\w+|\W": (False, True, True), r"(?<=a)b|[^b]|b": (False, True, False, True, True)}.get(
        pattern, (False,) * len(found.pretokens)
    )
    assert found.has_pieces == any(found.is_certain)
    lines = str(found).splitlines()
    place = lines.index(f"compiled  {'in part' if found.is_partly_compiled else 'no'}: {found.not_compiled}")
    if pattern is not None:
        in_part = "pieces above 254 bytes, and those in which automata leave something undecided"
        wanted = in_part if found.has_pieces else "all of the text"
        assert lines[place + 1].startswith(f"          `regex` splits {wanted}")
    assert found.is_partly_compiled == found.has_pieces


def test_a_pattern_of_which_no_part_is_compiled_has_pieces_even_so():
    found = nbbpe.explain_pattern([r"\b\w+|\W", r"(ab)\1"])
    assert found.has_pieces
    assert not found.is_partly_compiled
    assert "`regex` splits each distinct piece once\n" in f"{found}\n"


@pytest.mark.parametrize("name", LEFT_TO_REGEX)
def test_some_real_patterns_are_left_to_regex(name):
    assert get_pattern(LEFT_TO_REGEX[name]).not_compiled


def test_a_drawing_shows_every_state_and_every_arrow(tmp_path):
    for name, level in ("gpt2", 0), ("deepseek3", 2), ("kimi-k2", 0):
        nbbpe.explain_pattern(name).to_svg(tmp_path / "a.svg", level)
        root = ElementTree.parse(tmp_path / "a.svg").getroot()
        found = [each.tag.split("}")[1] for each in root.iter()]
        automaton = NAMED[name].automata[level]
        arrows = {(q, r) for q in range(START, automaton.n_states) for r in set(automaton.next_state[q].tolist()) if r}
        accepting = int(automaton.tells[START:, -1].sum())
        assert found.count("circle") == automaton.n_states - 1 + accepting
        assert found.count("path") == len(arrows) + 1  # and the tip
    nbbpe.explain_pattern(r"[acegikm]+|[bdf]b|[\x00-\x08]").to_svg(tmp_path / "a.svg")
    labels = {each.tail for each in ElementTree.parse(tmp_path / "a.svg").getroot().iter() if each.tag.endswith("title")}
    assert labels >= {"a c e…", "b, d f", "class 0"}
    with pytest.raises(ValueError, match="no automaton to draw"):
        nbbpe.explain_pattern(r"\b\w").to_svg(tmp_path / "b.svg")


def test_the_drawing_in_the_docs_is_that_of_today(tmp_path):
    """Made by `nbbpe inspect --pattern gpt2 --draw docs/assets/gpt2-automaton.svg`."""
    nbbpe.explain_pattern("gpt2").to_svg(tmp_path / "a.svg")
    shape = [
        [e.tag for e in ElementTree.parse(p).iter()] for p in (tmp_path / "a.svg", ROOT / "docs/assets/gpt2-automaton.svg")
    ]
    assert shape[0] == shape[1]


def test_on_the_command_line(tmp_path):
    (tmp_path / "t.txt").write_bytes("naïve 12".encode() + b"\xff" + "é".encode() * 2000)
    script = f"from nbbpe.cli import main; main(['inspect', '--pattern', 'gpt2', '--on', {str(tmp_path / 't.txt')!r}"
    page = processes.run(script + "])")
    assert "automaton: 12 states" in page
    assert "  naïve‖␣12‖\\xff\n  ‖éé" in page
    assert len(page.splitlines()[-1]) == 80
    data = json.loads(processes.run(script + ", '--json'])"))
    assert (data["name"], data["compiled"]) == ("gpt2", True)
    assert data["pretokens"][:3] == ["naïve", " 12", r"\xff"]
    assert set(data["pretokens"][3]) == {"é"}
    drawn = tmp_path / "a.svg"
    processes.run(f"from nbbpe.cli import main; main(['inspect', '--pattern', 'gpt2', '--draw', {str(drawn)!r}])")
    assert drawn.read_text(encoding="utf-8").startswith("<svg")


# The named patterns.


@pytest.mark.parametrize("name", [*NAMED, *ALIASES])
def test_a_named_pattern_goes_everywhere_a_pattern_goes(name, tmp_path):
    named = NAMED[ALIASES.get(name, name)]
    tokenizer = nbbpe.train(iter(["Once upon a time, 12345 中文字 naïve\n\n  x/y's"] * 3), 270, pattern=name)
    assert tokenizer.pattern == named.name
    tokenizer.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == tokenizer
    tokenizer.to_hf(tmp_path / "t.json")
    again = nbbpe.load(tmp_path / "t.json")
    assert again == tokenizer
    assert again.pattern == named.name
    kind = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["pre_tokenizer"]["type"]
    assert kind == ("ByteLevel" if named.name == "gpt2" else "Sequence")
    assert get_pattern(named.regexes) is named
    assert tokenizer.decode(tokenizer.encode("a 1234 中文")) == "a 1234 中文"


def test_digits_and_then_gpt2_is_starcoder():
    sequence = [r"\p{N}", NAMED["gpt2"].regex]
    assert get_pattern([r"\p{N}", "gpt2"]) is NAMED["starcoder"]
    first = get_pattern(sequence[0])
    for text in random_texts(20_000, 9):
        split = [inner for part in first.split(text) for inner in NAMED["gpt2"].split(part)]
        assert split == NAMED["starcoder"].split(text)


def test_named_patterns_cost_nothing_to_import():
    script = "import sys, nbbpe.patterns.pattern; print('nbbpe.patterns.automaton' in sys.modules)"
    assert processes.run(script).strip() == "False"
