"""The entries of a vocab.json, and its merges, as arrays: without a bytes object for each token.

If anything is unusual, the functions return None. Then gpt2.py or tokenizer_json/model_part.py reads entry by entry, and
finds any error.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from operator import add, itemgetter, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.byte_alphabet import byte_characters
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID
from ...system.stretches import starts_of

_SPACES = methodcaller("count", " ")
_SPACE, _NEWLINE = ord(" "), ord("\n")


@functools.cache
def _bytes_of_characters() -> NDArray[np.int16]:
    """The byte that each character stands for, by its code point, or -1; the last entry is for all code points after it."""
    table = np.full(max(map(ord, byte_characters().values())) + 2, -1, dtype=np.int16)
    for byte, character in byte_characters().items():
        table[ord(character)] = byte
    return table


def packed_entries(entries: Mapping[str, Any]) -> PackedVocab | None:
    """The vocabulary of entries from spelled tokens to ids; None where one is empty, spells no bytes, or has an invalid
    id."""
    if set(map(type, entries.values())) != {int}:
        return None
    lengths = np.fromiter(map(len, entries), dtype=np.int64, count=len(entries))
    # A character beyond U+FFFF becomes two that are none of the table.
    characters = np.frombuffer("".join(entries).encode("utf-16-le", "surrogatepass"), dtype="<u2")
    table = _bytes_of_characters()
    text = table[np.minimum(characters, len(table) - 1)]
    if not lengths.all() or text.min(initial=0) < 0:
        return None
    try:
        ids = np.fromiter(entries.values(), dtype=np.int64, count=len(entries))
    except OverflowError:
        return None
    starts = starts_of(lengths)
    order = np.argsort(ids, kind="stable") if (np.diff(ids) <= 0).any() else None
    in_order = ids if order is None else ids[order]
    if in_order[0] < 0 or in_order[-1] > MAX_ID or (np.diff(in_order) == 0).any():
        return None
    vocab = PackedVocab(text.astype(np.uint8), starts, ids.astype(np.int32))
    return vocab if order is None else vocab.at(order)


def packed_merges(lines: str, entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """The ids of left, right and result of merges, int32[n, 3]; None where a line is not two entries whose sum is one.

    lines : each "left right", with a newline between two
    """
    data = np.frombuffer(lines.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    separators = data[(data == _SPACE) | (data == _NEWLINE)]
    if len(separators) % 2 == 0 or (separators[::2] != _SPACE).any() or (separators[1::2] != _NEWLINE).any():
        return None
    sides = lines.replace("\n", " ").split(" ")
    return _ids_of(sides[::2], sides[1::2], entries)


def packed_pairs(pairs: Sequence[Any], entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """As `packed_merges`, of a list of strings "left right", or of lists of two; None for any other.

    Other than a line, such a string may hold newlines, as in vocabularies of characters.
    """
    kinds = set(map(type, pairs))
    if kinds == {str} and set(map(_SPACES, pairs)) == {1}:
        sides = " ".join(pairs).split(" ")
        return _ids_of(sides[::2], sides[1::2], entries)
    if kinds == {list} and set(map(len, pairs)) == {2}:
        return _ids_of(list(map(itemgetter(0), pairs)), list(map(itemgetter(1), pairs)), entries)
    return None


def has_twice(merges: NDArray[np.int32]) -> bool:
    """Whether the ids of merges, int32[n, 3], have two merges of one pair."""
    pairs = np.sort(merges[:, 0].astype(np.int64) << 32 | merges[:, 1])
    return bool((np.diff(pairs) == 0).any())


def _in_order(tokens: list[str], entries: Mapping[str, int]) -> list[int] | None:
    """The ids of tokens, if their entries follow one another in the same order, as the results of merges do in GPT-2's
    files; else None. That takes a third of the time of looking up each."""
    names = list(entries)
    try:
        start = names.index(tokens[0])
    except (IndexError, ValueError):
        return None
    end = start + len(tokens)
    return list(entries.values())[start:end] if names[start:end] == tokens else None


def _ids_of(lefts: list[Any], rights: list[Any], entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    id_of = entries.__getitem__
    try:
        results = list(map(add, lefts, rights))
        columns = [
            list(map(id_of, lefts)),
            list(map(id_of, rights)),
            _in_order(results, entries) or list(map(id_of, results)),
        ]
    except (KeyError, TypeError):
        return None
    return np.ascontiguousarray(np.array(columns, dtype=np.int32).T)
