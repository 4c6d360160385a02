"""The automaton of a regex, or its certain boundaries; those of a custom regex are compared with `regex` before use."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..system.user_warnings import warn_user
from .automaton import Automaton, compile_automaton, split
from .determiniser import Symbols
from .levels import Level
from .partial_automaton import compile_partly, split_if_decided
from .pattern_parser import Node, Unsupported, parse, sets_of
from .regex_boundaries import RegexBoundaries, no_boundaries, regex_boundaries
from .regex_splitter import RegexSplitter

_N_CHECKED = 600  # random strings on which the automaton of a custom pattern is checked
_CHECK_SECONDS = 2.0  # for these checks: mostly they take 0.02 s, but `regex` may backtrack for long on each string


def automaton_of(pattern: str, checked: bool) -> Automaton:
    """The automaton of a regex; if `checked`, compared with `regex` on random strings. Raises Unsupported."""
    found = _automaton_or_why_not(pattern, checked)
    if isinstance(found, Unsupported):
        raise Unsupported(str(found))
    return found


class _Difference(Unsupported):
    """`regex` does not split by a regex as its documentation says."""


@functools.cache
def _automaton_or_why_not(pattern: str, checked: bool, /) -> Automaton | Unsupported:  # by position: one cache entry each
    """See `automaton_of`. The reason why there is none is cached, too, as it may take seconds to find."""
    try:
        tree = parse(pattern)
        automaton = compile_automaton(tree)
    except Unsupported as error:
        return error
    if checked and (found := _difference(pattern, tree, automaton)) is not None:
        text, ours, theirs = found
        warn_user(
            f"the pattern {pattern:.200} is left to `regex`, which splits {text!r} into {theirs!r:.200} where its "
            f"documented meaning is {ours!r:.200}",
        )
        return _Difference(f"a difference from `regex`, on {text!r}")
    return automaton


def level_of(pattern: str) -> Level:
    """The automaton of a custom regex, or else its certain boundaries, if any are known; compared with `regex`."""
    found = _automaton_or_why_not(pattern, True)
    if isinstance(found, Automaton):
        return found
    return no_boundaries() if isinstance(found, _Difference) else _checked_boundaries(pattern)


@functools.cache
def _checked_boundaries(pattern: str) -> RegexBoundaries:
    """See `level_of`."""
    try:
        tree = parse(pattern)
        boundaries = regex_boundaries(tree)
    except Unsupported:
        return no_boundaries()
    automaton = None
    with suppress(Unsupported):
        automaton = compile_partly(tree)
    splitter = RegexSplitter(pattern)
    for text in _random_texts(tree):
        classes = boundaries.classes_of(text)
        cuts = 1 + np.flatnonzero(boundaries.pairs[classes[:-1], classes[1:]])
        pieces = [text[start:end] for start, end in pairwise([0, *cuts.tolist(), len(text)])]
        try:
            found = splitter.split(text)
            if found != [part for piece in pieces for part in splitter.split(piece)]:
                return no_boundaries()
        except ValueError:  # `regex` takes too long for this text, which does not make the boundaries wrong
            break
        if automaton is not None and split_if_decided(automaton, text) not in (None, found):
            automaton = None
    return replace(boundaries, automaton=automaton)


def _difference(pattern: str, tree: Node, automaton: Automaton) -> tuple[str, list[str], list[str]] | None:
    """A random string that the automaton and `regex` split differently, with both results; None if there is none."""
    splitter = RegexSplitter(pattern)
    for text in _random_texts(tree):
        ours = split(automaton, text)
        try:
            theirs = splitter.split(text)
        except ValueError:  # `regex` takes too long for this text, which does not make the automaton wrong
            return None
        if ours != theirs:
            return text, ours, theirs
    return None


def _random_texts(tree: Node) -> Iterator[str]:
    """Random short texts, each of characters of a few classes: as many as there is time for, always the same for a regex.

    The classes are those of the regex's sets, even if its automaton does not distinguish them: `regex` may do so, which the
    texts then show.
    """
    classes = Symbols.of(list(dict.fromkeys(sets_of(tree))))
    chance = random.Random(0)
    found: list[list[str]] = [[] for _ in range(classes.n_classes)]
    for first, end, of_class in classes.ranges():
        if len(found[of_class]) < 8:
            found[of_class] += [chr(first), chr(end - 1)]
    # Letters in the other case, too: where case is ignored, `regex` may err.
    characters = dict.fromkeys("".join(map("".join, found)))
    characters |= dict.fromkeys(swapped for each in [*characters] if len(swapped := each.swapcase()) == 1)
    samples: list[list[str]] = [[] for _ in range(classes.n_classes)]
    for each, of_class in zip(characters, classes.classes_of("".join(characters)).tolist(), strict=True):
        samples[of_class].append(each)
    deadline = time.thread_time() + _CHECK_SECONDS
    for _ in range(_N_CHECKED):
        if time.thread_time() > deadline:
            return
        chosen = chance.sample(samples, min(len(samples), 4))
        yield "".join(chance.choice(chance.choice(chosen)) for _ in range(chance.randint(1, 10)))
