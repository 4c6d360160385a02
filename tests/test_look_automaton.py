"""Where look-aheads match, as `regex` finds it."""

from __future__ import annotations

import random

import pytest
import regex
from effort import examples

from nbbpe.patterns.look_automaton import NEVER, compile_look
from nbbpe.patterns.pattern_parser import Unsupported, parse

LOOKS = [
    r"(?:\d{3})*\b",
    r"(?:\d{3})+(?!\d)",
    r"a*b|1+$",
    r"a?(?!b+1)[ab]\n",
    r"(?:ab)*?(?=b(?!a|1b))b",
    r"\ba+\B.|(?<=1)a*\Z",
    r"(?<!a)b{2,3}|^1|a{0,2}\b1",
    r"a++b|(?s:.)*1\n$",
]


def assert_found(look: str, texts: list[str]) -> None:
    automaton, ahead = compile_look(parse(f"(?:{look})|x"), 5.0), regex.compile(f"(?={look}|x)")
    for text in texts:
        found = [ahead.match(text, place) is not None for place in range(len(text) + 1)]
        assert automaton.places(text) == found, (look, text)


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_ahead_matches_where_regex_says(look):
    rng = random.Random(1)
    assert_found(look, ["".join(rng.choices("aab1 \né", k=rng.randrange(9))) for _ in range(300)])


@pytest.mark.exhaustive
def test_random_look_aheads_match_where_regex_says():
    rng = random.Random(2)
    atoms = ["a", "b", r"\d", "[ab]", "[^a]", r"\n", "$", r"\Z", r"\b", r"\B", "^", "(?<=a)", "(?<!1)", "a++", "a*?"]
    for _ in range(examples(300, 5000)):
        look = ""
        for _ in range(rng.randint(1, 6)):
            atom = rng.choice(atoms)
            atom = rng.choice([atom, f"(?={atom}a|{atom}b*1)", f"(?!{atom}{rng.choice(atoms)})", f"(?:{atom}|b1)"])
            look += atom + (rng.choice(["", "*", "+?", "{2}", "{0,2}"]) if atom in ("a", "b", r"\d", "[ab]") else "")
        try:
            parse(f"(?:{look})|x")
        except Unsupported:
            continue
        assert_found(look, ["".join(rng.choices("aab1\n", k=rng.randrange(9))) for _ in range(20)])


def test_what_is_undecided_or_too_large_has_no_automaton():
    for look, why in (r"(?>a|ab)c", "undecided"), (r"c[ab]{12}a", "more than 2,000 states|takes too long"):
        with pytest.raises(Unsupported, match=why):
            compile_look(parse(look), 5.0)
    assert NEVER.places("ab") == [False] * 3
