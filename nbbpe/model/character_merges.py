"""The merges of bytes to characters, for a vocabulary whose own merges begin with characters (formats/characters.py)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .packed_vocab import PackedVocab


def first_bytes(vocab: PackedVocab, fallback: tuple[int, ...]) -> NDArray[np.int32]:
    """The id of each byte in a text, int32[256]: of the character that it is, or else of the byte.

    fallback : the ids of the tokens of bytes
    """
    ids = np.array(fallback, dtype=np.int32)
    single = np.flatnonzero((vocab.lengths == 1) & ~np.isin(vocab.ids, ids))
    ids[vocab.text[vocab.starts[single]]] = vocab.ids[single]
    return ids


def characters_of(vocab: PackedVocab) -> dict[int, bytes]:
    """The tokens that are one character of two bytes or more, by id."""
    first = np.append(vocab.text, 0)[vocab.starts[:-1]]
    length = np.select([first < 0xC0, first < 0xE0, first < 0xF0], [1, 2, 3], 4)
    return vocab.at(np.flatnonzero((vocab.lengths > 1) & (vocab.lengths == length))).as_dict()


def merges_of_characters(vocab: PackedVocab, fallback: tuple[int, ...]) -> tuple[NDArray[np.int32], int]:
    """The merges that join the bytes of each character from left to right, int32[n, 3]: ids of left, right and result.

    What the first two or three bytes of a character become is no token, and never left over, as text/byte_fallback.py cuts
    all other characters. It gets an id above all others; returned with the merges is the lowest id of this kind.
    """
    own = first_bytes(vocab, fallback).tolist()
    size = int(vocab.ids[-1]) + 1
    parts: dict[bytes, int] = {}
    merges: list[tuple[int, int, int]] = []
    for token_id, character in characters_of(vocab).items():
        left = own[character[0]]
        for end in range(2, len(character)):
            part = character[:end]
            if part not in parts:
                parts[part] = size + len(parts)
                merges.append((left, own[character[end - 1]], parts[part]))
            left = parts[part]
        merges.append((left, own[character[-1]], token_id))
    return np.array(merges, dtype=np.int32).reshape(-1, 3), size
