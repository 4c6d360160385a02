"""The automaton of a regex; that of a custom one is compared with `regex` before it is used."""

from __future__ import annotations

import functools
import random
import time

from ..system.user_warnings import warn_user
from .automaton import Automaton, compile_automaton, split
from .pattern_parser import Unsupported, parse
from .regex_splitter import RegexSplitter

_N_CHECKED = 600  # random strings that an automaton of a custom pattern is checked on,
_CHECK_SECONDS = 2.0  # or as many as there is time for: mostly 0.02 s, but `regex` may backtrack for long on each


def automaton_of(pattern: str, checked: bool) -> Automaton:
    """The automaton of a regex; if `checked`, compared with `regex` on random strings. Raises Unsupported."""
    found = _automaton_or_why_not(pattern, checked)
    if isinstance(found, str):
        raise Unsupported(found)
    return found


@functools.cache
def _automaton_or_why_not(pattern: str, checked: bool) -> Automaton | str:
    """See `automaton_of`; the reason why there is none is cached as well, as it may take seconds to find."""
    try:
        automaton = compile_automaton(parse(pattern))
    except Unsupported as error:
        return str(error)
    if checked and (found := _difference(pattern, automaton)) is not None:
        text, ours, theirs = found
        warn_user(
            f"the pattern {pattern:.200} is left to `regex`, which splits {text!r} into {theirs!r:.200} where its "
            f"documented meaning is {ours!r:.200}",
        )
        return f"a difference from `regex`, on {text!r}"
    return automaton


def _difference(pattern: str, automaton: Automaton) -> tuple[str, list[str], list[str]] | None:
    """A random string that an automaton splits otherwise than `regex`, and what both make of it; None for none."""
    chance = random.Random(0)
    splitter = RegexSplitter(pattern)
    found: list[list[str]] = [[] for _ in range(automaton.n_classes)]
    for first, end, of_class in automaton.ranges():
        if len(found[of_class]) < 8:
            found[of_class] += [chr(first), chr(end - 1)]
    # Letters in the other case, too: where case is ignored, `regex` may err.
    characters = dict.fromkeys("".join(map("".join, found)))
    characters |= dict.fromkeys(swapped for each in [*characters] if len(swapped := each.swapcase()) == 1)
    samples: list[list[str]] = [[] for _ in range(automaton.n_classes)]
    for each, of_class in zip(characters, automaton.classes_of("".join(characters)).tolist(), strict=True):
        samples[of_class].append(each)
    deadline = time.monotonic() + _CHECK_SECONDS
    for _ in range(_N_CHECKED):
        if time.monotonic() > deadline:
            return None
        some = chance.sample(samples, min(len(samples), 4))
        text = "".join(chance.choice(chance.choice(some)) for _ in range(chance.randint(1, 10)))
        ours = split(automaton, text)
        try:
            theirs = splitter.split(text)
        except ValueError:  # `regex` would take too long, as texts may make it do
            return None
        if ours != theirs:
            return text, ours, theirs
    return None
