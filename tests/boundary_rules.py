"""Certain boundaries: where the kernel marks them, and where the rules in a pattern's tables say that they are."""

from __future__ import annotations

import functools
from collections.abc import Callable

import naive
import numpy as np

from nbbpe.kernels.pieces import pattern_tables
from nbbpe.kernels.pieces.boundaries import mark_cuts, new_classes
from nbbpe.patterns.pattern import Pattern
from nbbpe.text.utf8 import padded


def marked(data: bytes, pattern: Pattern) -> list[int]:
    """The offsets that mark_cuts marks."""
    is_cut = np.zeros(len(data), dtype=np.uint8)
    mark_cuts(padded(data), len(data), pattern.tables, new_classes(), is_cut)
    return np.flatnonzero(is_cut).tolist()


@functools.cache
def rules_of(pattern: Pattern) -> tuple[list, list]:
    """What the rules in a pattern's tables say of two, and of three classes side by side."""
    tables = pattern.tables.view(np.uint8)
    n_classes = int(tables[:256].view(np.int64)[pattern_tables.N_CLASSES])
    of_classes = tables[pattern_tables.CLASS_RULES : pattern_tables.ASCII_KINDS].reshape(-1, 64)[:, :n_classes]
    first, second, third, before, after = of_classes
    pair_rules = int(tables[:256].view(np.int64)[pattern_tables.PAIR_RULES])
    pairs = (first[:, None] & second & pair_rules | before[:, None] & after) != 0
    triples = first[:, None, None] & second[:, None] & third != 0
    return pairs.tolist(), triples.tolist()


@functools.cache
def classer(pattern: Pattern) -> Callable[[str], int]:
    """What gives the class of a character in a pattern's tables; of a lone surrogate that of undecodable bytes."""
    tables = pattern.tables.view(np.uint8)
    numbers = tables[:256].view(np.int64)
    page_of = tables[pattern_tables.PAGE_OF : pattern_tables.FIXED_BYTES].view(np.uint16)
    pages = tables[numbers[pattern_tables.PAGES_AT] :].reshape(-1)

    def class_of(character: str) -> int:
        code = ord(character)
        if 0xD800 <= code < 0xE000:
            return int(numbers[pattern_tables.UNDECODABLE])
        return int(pages[int(page_of[code >> 8]) << 8 | code & 255])

    return functools.cache(class_of)


def cuts_by_pairs(data: bytes, pattern: Pattern) -> list[int]:
    """The offsets where rules for two see a boundary."""
    return naive.cuts(data, classer(pattern), rules_of(pattern)[0])


def cuts_by_triples(data: bytes, pattern: Pattern) -> list[int]:
    """The offsets where rules for three see a boundary in whole blocks."""
    return naive.cuts_of_three(data, classer(pattern), rules_of(pattern)[1])
