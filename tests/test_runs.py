"""patterns/runs.py: what it derives of all texts is what a walk over many texts comes to."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from effort import examples
from hard_regexes import CASES, random_regex
from timing import seconds

from nbbpe.kernels.pieces.pattern_tables import ASKS, MATCH_ENDS
from nbbpe.patterns.automaton import DEAD, START
from nbbpe.patterns.partial_automaton import PartialAutomaton, compile_partly
from nbbpe.patterns.pattern_parser import Unsupported, parse
from nbbpe.patterns.places import can_be_empty
from nbbpe.patterns.runs import Runs

# Patterns of few classes, which ask nothing of what is ahead, and leave a character whatever follows it.
SILENT = [
    r"あ+|.",
    r"(?<!あ)あ+|.",
    r"\b\w+\b|\W",
    r"(?m)^#+|\w+|[#\n]",
    r"^あb?|(?s:.)",
    r"(?:ああ)+b|あ",
    r"1?あ\Z|1|あ",
    r"1?あ+\b|1|\W",
    r"[^b]+|b",
    r"[^b](?:[^b]|b)|[^b]\Z|b",
]
# Patterns that ask.
ASKING = [
    r"1(?=ああb)あ|.",
    r"あ(?=あb)あb|.",
    r"(?=ああb)あ{2}b|1?あ+|b",
    r"\w(?=\w+1)(?!\w*2)|\w(?=ab)|[\w ]",
    r"a(?!b+c)|bb|[bc]",
    r"[^b](?=..b).?|[^b]|b",
]

NAMES = "begun", "after", "left", "fails"


class Walk:
    """What the runs over all texts of some characters, up to a length, come to; see Runs."""

    def __init__(self, automaton: PartialAutomaton, characters: str, length: int) -> None:
        self._next_state, self._tells = automaton.next_state.tolist(), automaton.tells.tolist()
        n_states, n_classes = automaton.next_state.shape
        self.begun = np.zeros((n_classes + 1, n_classes), dtype=bool)
        self.after = np.zeros((n_classes, n_states), dtype=bool)
        self.left = np.zeros(n_classes, dtype=bool)
        self.fails = np.zeros(n_states, dtype=bool)
        for n in range(length + 1):
            for text in map("".join, product(characters, repeat=n)):
                self._looks = [look.places(text) for look in automaton.looks]
                self._split([*automaton.classes_of(text).tolist(), -1])

    def _split(self, classes: list[int]) -> None:
        for state in range(len(self.fails)):
            if self._tells[state][-1] < ASKS and self._match_end(classes, 0, state)[0] is None:
                self.fails[state] = True
        start = 0
        while start < len(classes) - 1:
            before = classes[start - 1] if start else -1
            end, states = self._match_end(classes, start, self._next_state[DEAD][before] if start else START)
            self.begun[before, classes[start]] = True
            self.left[classes[start]] |= end is None
            for position, state in enumerate(states, start):
                self.after[classes[position], state] = True
            start = start + 1 if end is None else end

    def _match_end(self, classes: list[int], start: int, state: int) -> tuple[int | None, list[int]]:
        """Where the last match of a run ends, and the live states in which it is after each character."""
        end, states = None, []
        for position, following in enumerate(classes[start:], start):
            while state != DEAD and self._tells[state][following] == ASKS:
                asking = self._next_state[state][following]
                is_so = self._looks[self._tells[asking][-1] - ASKS][position]
                state = self._next_state[asking][0 if is_so else -1]
            if state == DEAD:
                break
            if self._tells[state][following] == MATCH_ENDS:
                end = position
            if following == -1:
                break
            state = self._next_state[state][following]
            if state != DEAD:
                states.append(state)
        return end, states


def characters_of(*automata: PartialAutomaton) -> str:
    """A character of each class."""
    edges = {int(each.edges[each.class_of_edge == c][0]) for each in automata for c in set(each.class_of_edge.tolist())}
    return "".join(map(chr, sorted(edges)))


def assert_unchanged(automaton: PartialAutomaton) -> None:
    """The runs of an automaton are looked at while texts are split by it."""
    before = automaton.next_state.copy(), automaton.tells.copy()
    Runs(automaton)
    assert np.array_equal(automaton.next_state, before[0])
    assert np.array_equal(automaton.tells, before[1])


@pytest.mark.parametrize("pattern", SILENT)
def test_runs_come_to_what_a_walk_comes_to(pattern):
    automaton = compile_partly(parse(pattern))
    assert not automaton.looks
    assert_unchanged(automaton)
    runs, walk = Runs(automaton), Walk(automaton, characters_of(automaton), 5)
    for name in NAMES:
        assert np.array_equal(getattr(runs, name), getattr(walk, name)), name
    classes = np.arange(len(runs.left))
    for some in [classes, *classes[:, None], classes[1:]]:
        begun = {int(runs.next_state[0, runs.starts[a], c]) for a, c in np.argwhere(walk.begun) if c in some}
        assert set(np.flatnonzero(runs.begun_by(some)).tolist()) == begun - {DEAD}
        for states in walk.after:
            after = {int(runs.next_state[0, state, c]) for state in np.flatnonzero(states) for c in some}
            assert set(np.flatnonzero(runs.states_after(states, some)).tolist()) == after - {DEAD}


@pytest.mark.parametrize("pattern", ASKING)
def test_runs_that_ask_go_on_by_each_answer(pattern):
    automaton = compile_partly(parse(pattern))
    runs = Runs(automaton)
    is_asking = automaton.tells[:, -1] >= ASKS
    assert is_asking.any()
    for state, c in np.ndindex(runs.asks.shape):
        found = set(zip(runs.matches[:, state, c].tolist(), runs.next_state[:, state, c].tolist(), strict=True))
        if state == DEAD or is_asking[state]:
            assert found == {(False, DEAD)}
            assert not runs.asks[state, c]
        else:
            assert found == ways(automaton, state, c)
            assert runs.asks[state, c] == (automaton.tells[state, c] == ASKS)


def ways(automaton: PartialAutomaton, state: int, c: int) -> set[tuple[bool, int]]:
    """Whether a match ends before a character in a state, and the state after it, for any answer to what is asked."""
    if state == DEAD:
        return {(False, DEAD)}
    tells, following = automaton.tells[state, c], int(automaton.next_state[state, c])
    if tells != ASKS:
        return {(bool(tells == MATCH_ENDS), following)}
    yes, *_, no = automaton.next_state[following].tolist()
    return ways(automaton, yes, c) | ways(automaton, no, c)


@pytest.mark.parametrize("pattern", [r"(?>ab|a)c|(?>x)|.", r"\w+(?:'\w+)*+|\W"])
def test_what_is_undecided_has_no_runs(pattern):
    with pytest.raises(Unsupported, match="what is undecided"):
        Runs(compile_partly(parse(pattern)))


def test_runs_go_on_in_sixteen_ways_at_most():
    several = [rf"(?:(?=\w+{i})\w)?" for i in range(5)]
    assert len(Runs(compile_partly(parse(r"\w" + "".join(several[:4]) + "|."))).next_state) == 16
    with pytest.raises(Unsupported, match="too many look-aheads at one place"):
        Runs(compile_partly(parse(r"\w" + "".join(several) + "|.")))


def test_long_runs_over_many_classes_take_no_longer_than_they_must():
    """Such as those of [a-z]{1,1000}, if many classes have some of the letters."""
    n_states, n_classes = 1900, 60
    classes = np.arange(n_classes)
    following = np.append(np.arange(1, n_states), DEAD).astype(np.uint16)  # from the start through all states
    tells = np.zeros((n_states, n_classes + 1), dtype=np.uint8)
    tells[-1] = MATCH_ENDS
    automaton = PartialAutomaton(classes, classes, np.repeat(following[:, None], n_classes, axis=1), tells)
    assert Runs(automaton).after[:, START + 1 :].all()
    assert seconds(lambda: Runs(automaton), rounds=2) < 1  # 0.03 s, and 4 s if no state is followed once only


@pytest.mark.exhaustive
def test_runs_come_to_all_that_walks_come_to():
    patterns = [*ASKING, "ab?c|bc", "a(?:bc|c)?b|[ac]", *CASES]
    rng = random.Random(5)
    patterns += [random_regex(rng, 3) for _ in range(examples(150, 5000))]
    n_walks = n_asking = 0
    for pattern in patterns:
        try:
            tree = parse(pattern)
            if can_be_empty(tree):
                continue
            automaton = compile_partly(tree)
            runs = Runs(automaton)
        except Unsupported:
            continue
        characters = characters_of(automaton, *automaton.looks)
        walk = Walk(automaton, characters, 3 if len(characters) > 5 else 4)
        for name in NAMES:
            assert not (getattr(walk, name) & ~getattr(runs, name)).any(), (pattern, name)
        n_walks += 1
        n_asking += bool(automaton.looks)
    assert n_walks >= 50
    assert n_asking >= 5
