"""Reads the entries of a vocab.json, and merges, as arrays: without a bytes object for each token.

If anything is unusual, the functions return None. Then gpt2.py or tokenizer_json/model_part.py reads them one by one, and
raises the error if there is one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.byte_alphabet import byte_characters
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID
from ...model.token_table import found_merges, table_of
from ...system.stretches import starts_of
from ...text.utf8 import padded

_SPACES = methodcaller("count", " ")
# Sides of merges that are looked up in a dict, in some milliseconds, before kernels for it are loaded or compiled.
_FEW_SIDES = 1 << 13
_SPACE, _NEWLINE = ord(" "), ord("\n")


@functools.cache
def _bytes_of_characters() -> NDArray[np.int16]:
    """The byte for each code point, or -1; the last entry, -1, stands for all higher code points."""
    table = np.full(max(map(ord, byte_characters().values())) + 2, -1, dtype=np.int16)
    for byte, character in byte_characters().items():
        table[ord(character)] = byte
    return table


def packed_entries(entries: Mapping[str, Any]) -> PackedVocab | None:
    """Make a vocabulary from {spelled token: id}; None if a token is empty or does not spell bytes, or an id is invalid."""
    if set(map(type, entries.values())) != {int}:
        return None
    lengths = np.fromiter(map(len, entries), dtype=np.int64, count=len(entries))
    # A character beyond U+FFFF becomes two surrogates, which are not in the table.
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
    """The ids of left, right and result of merges, int32[n, 3]; None if a line is not two entries that make another entry.

    lines : "left right" for each merge, separated by newlines
    """
    data = np.frombuffer(lines.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    places = np.flatnonzero((data == _SPACE) | (data == _NEWLINE))
    separators = data[places]
    if len(separators) % 2 == 0 or (separators[::2] != _SPACE).any() or (separators[1::2] != _NEWLINE).any():
        return None
    return _between(data, places, entries)


def packed_pairs(pairs: Sequence[Any], entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """Like `packed_merges`, from a list of strings "left right" or of lists [left, right]; None for other types.

    Unlike a line, such a string may hold newlines, as in vocabularies of characters.
    """
    kinds = set(map(type, pairs))
    if kinds == {str} and set(map(_SPACES, pairs)) == {1}:
        data = np.frombuffer(" ".join(pairs).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        return _between(data, np.flatnonzero(data == _SPACE), entries)
    if kinds == {list} and set(map(len, pairs)) == {2}:
        sides = list(chain.from_iterable(pairs))
        return ids_of_sides(*_in_bytes(sides), entries) if set(map(type, sides)) == {str} else None
    return None


def ids_of_sides(
    text: NDArray[np.uint8], starts: NDArray[np.int64], entries: Mapping[str, int]
) -> NDArray[np.int32] | None:
    """The ids of left, right and result of merges, int32[n, 3]; None if one of them is no entry.

    text   : uint8[*]           the sides, left, right, left, ..., one after another
    starts : int64[2 * n + 1]   where each starts in text
    """
    if set(map(type, entries.values())) != {int}:
        return None
    try:
        ids = np.fromiter(entries.values(), dtype=np.int32, count=len(entries))
    except OverflowError:
        return None
    if len(starts) <= _FEW_SIDES:
        return _looked_up(text.tobytes(), starts.tolist(), entries)
    tokens, starts_of_tokens = _in_bytes(list(entries))
    table = table_of(padded(tokens.data), starts_of_tokens, ids, np.diff(starts_of_tokens) > 0)
    return found_merges(table, padded(text.data), starts)


def _looked_up(data: bytes, starts: list[int], entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """As `ids_of_sides`, without kernels."""
    ids = {token.encode("utf-8", "surrogatepass"): token_id for token, token_id in entries.items() if token}
    places = zip(starts[:-2:2], starts[1::2], starts[2::2], strict=True)
    found = [(ids.get(data[a:b]), ids.get(data[b:c]), ids.get(data[a:c])) for a, b, c in places]
    return None if any(None in each for each in found) else np.array(found, dtype=np.int32).reshape(-1, 3)


def has_twice(merges: NDArray[np.int32]) -> bool:
    """Whether `merges`, int32[n, 3], has two merges of the same pair."""
    pairs = np.sort(merges[:, 0].astype(np.int64) << 32 | merges[:, 1])
    return bool((np.diff(pairs) == 0).any())


def _between(data: NDArray[np.uint8], places: NDArray[np.int64], entries: Mapping[str, int]) -> NDArray[np.int32] | None:
    """The ids of merges whose sides stand between separators.

    places : where the separators are, one byte each
    """
    starts = np.concatenate([[0], places - np.arange(len(places)), [len(data) - len(places)]])
    return ids_of_sides(np.delete(data, places), starts, entries)


def _in_bytes(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as UTF-8, one after another, and where each starts; a lone surrogate takes three bytes."""
    together = "".join(texts)
    data = np.frombuffer(together.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    starts = starts_of(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    return data, starts if together.isascii() else np.append(np.flatnonzero((data & 0xC0) != 0x80), len(data))[starts]
