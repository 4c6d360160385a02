"""Pieces of sentencepiece with equal scores, as merges in an order of ranks.

Of two pairs whose pieces have equal scores, sentencepiece merges the one that is further left in the text. Ranks cannot
express that, except for pieces that are runs of one character: those of ▁ have one score in the models of Llama 1 and 2 and
of Mistral.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import groupby, pairwise

from ..system.excerpt import shown

_LONGEST = 64  # characters of a run; sentencepiece makes pieces of at most 16, unless it is told otherwise


def pairs_of_equal_scores(scored: Sequence[tuple[str, float]]) -> dict[float, list[tuple[str, str]]]:
    """The pairs that merge to the pieces of a score, by rank, for each score that several pieces have.

    scored : all pieces that merges make, with their scores, the best first

    Raises ValueError for pieces that are no runs, or that are within others.
    """
    by_score = {score: [text for text, _ in group] for score, group in groupby(scored, key=lambda each: each[1])}
    return {score: _pairs(texts, scored) for score, texts in by_score.items() if len(texts) > 1}


def _pairs(texts: list[str], scored: Sequence[tuple[str, float]]) -> list[tuple[str, str]]:
    """The pairs that merge to pieces of one score."""
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for text in texts:
        lengths[text[0]].add(len(text))
    are_runs = all(text == text[0] * len(text) and len(text) <= _LONGEST for text in texts)
    # Another piece with two of the character might take them from a run that still grows.
    twice = [character * 2 for character in lengths]
    if not are_runs or any(run in text for text in {text for text, _ in scored}.difference(texts) for run in twice):
        raise ValueError(
            f"gives one score to several pieces, such as {shown(texts[0])} and {shown(texts[1])}, and nbbpe cannot tell "
            "which of them is merged first"
        )
    return [
        (character * left, character * right)
        for character, of_character in lengths.items()
        for left, right in order_of_growth(of_character)
    ]


def order_of_growth(lengths: Collection[int]) -> list[tuple[int, int]]:
    """The pairs (left, right) of lengths that merge in a run, in an order of ranks that merges as the leftmost first does.

    lengths : of the pieces, two or more, in characters

    If the leftmost pair is merged first, a run grows from the left: to the right of the part that grows, all are single
    characters. So no more than three pairs can merge: that part with the one to its left, with the character to its right,
    and two characters. The one further left comes first, and so it does in this order. A part that is as long as the
    longest piece does not change, and the rest grows as a run by itself: a run of some times that length has all pairs.

    >>> order_of_growth([2, 3, 6])
    [(3, 3), (2, 1), (1, 1)]
    """
    run = [1] * (4 * max(lengths))
    found = set()
    while place := next((at for at, pair in enumerate(pairwise(run), 1) if sum(pair) in lengths), None):
        left, right = run[place - 1 : place + 1]
        found.add((left, right))
        run[place - 1 : place + 1] = [left + right]
    return sorted(found, key=lambda pair: (pair[1] == 1, pair[0] == 1, pair))
