"""Finds the named pattern that splits every text as given regexes do."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from .named_patterns import REGEXES


def _listed(regexes: str | list[str]) -> tuple[str, ...]:
    return (regexes,) if isinstance(regexes, str) else tuple(regexes)


# The name of each list of regexes that is known to split as a named pattern does.
_KNOWN = {_listed(regexes): name for name, regexes in REGEXES.items()}
# Many files split off each digit, and then split the rest by GPT-2's regex. (Tests compare it with the one regex.)
_KNOWN |= {(r"\p{N}", *_listed(REGEXES["gpt2"])): "starcoder"}
# Regexes that are only known together with others: alone, none splits as a named pattern. (Tests compare them.)
_ONLY_TOGETHER = {each for regexes in _KNOWN for each in regexes if (each,) not in _KNOWN}


def name_as_spelled(*regexes: str) -> str | None:
    """As `name_of`, of regexes that are spelled as known ones are; None for all others."""
    return _KNOWN.get(regexes)


def name_of(*regexes: str) -> str | None:
    """The name of the pattern that splits every text as some regexes in turn do; None if there is none."""
    if (name := name_as_spelled(*regexes)) is not None:
        return name
    if len(regexes) == 1 and regexes[0] in _ONLY_TOGETHER:
        return None
    from .pattern_parser import Unsupported

    try:
        digests = _digests(regexes, checked=True)
    except Unsupported:
        return None
    return names_of_digests().get(digests)


@functools.cache
def names_of_digests(into: str | None = None) -> dict[str, str]:
    """The name of each known list of regexes; keys are the digests of their automata, with spaces between.

    This takes 0.5 s, so it is stored beside the kernels, or in the folder `into` if that is given. Another version of
    `regex`, and so of Unicode, makes it again.
    """
    from .stored_tables import stored_text

    def made() -> str:
        return json.dumps({_digests(regexes, checked=False): name for regexes, name in _KNOWN.items()})

    return json.loads(stored_text("names of digests", made, into))


def _digests(regexes: Sequence[str], checked: bool) -> str:
    from .checked_automaton import automaton_of

    return " ".join(automaton_of(each, checked).digest() for each in regexes)
