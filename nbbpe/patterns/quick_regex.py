"""Finds regexes that cannot take long in a short text, so that a call of one needs no limit of time.

With a limit, `regex` asks for the processor's time, which takes 10 µs a call: longer than it searches a short text.
"""

from __future__ import annotations

from .pattern_parser import (
    NO_LIMIT,
    Characters,
    Choice,
    Concatenation,
    LongLookAhead,
    LongLookBehind,
    Node,
    Repeat,
    Unsupported,
    parse,
)

_SHORT, _MOST_WAYS = 1 << 10, 64


def quick_length(pattern: str) -> int:
    """The number of characters of a text in which `regex` finds all matches in a fraction of a second; 0 if not known.

    A short text is quick if no match has more than one repeat, this repeats single characters, and there are few other ways
    to match: at most, `regex` then tries each of these ways for each place and each length.

    >>> quick_length(r"[a-z]+|[0-9]"), quick_length(r"(?:[a-z]+)*1")
    (1024, 0)
    """
    try:
        n_ways, n_repeats = _ways(parse(pattern))
    except Unsupported:
        return 0
    return _SHORT if n_ways <= _MOST_WAYS and n_repeats <= 1 else 0


def _ways(node: Node) -> tuple[int, int]:
    """How many ways there are to match, whatever the lengths of repeats; and the most repeats in one of them."""
    if isinstance(node, Repeat):
        n_ways, n_repeats = _ways(node.part)
        if node.most == NO_LIMIT or node.most > 1:
            return n_ways, 1 if isinstance(node.part, Characters) else 2
        return n_ways + 1, n_repeats
    if isinstance(node, LongLookAhead | LongLookBehind):
        return _ways(node.part)
    n_ways, n_repeats = 1, 0
    if isinstance(node, Concatenation):
        for each in map(_ways, node.parts):
            n_ways, n_repeats = min(n_ways * each[0], _MOST_WAYS + 1), n_repeats + each[1]
    elif isinstance(node, Choice):
        found = list(map(_ways, node.options))
        n_ways, n_repeats = sum(each[0] for each in found), max((each[1] for each in found), default=0)
    return n_ways, n_repeats
