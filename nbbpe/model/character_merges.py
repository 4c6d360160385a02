"""The merges of bytes to characters, for a vocabulary whose own merges begin with characters.

formats/tokenizer_json/characters.py reads such vocabularies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .packed_vocab import PackedVocab


def first_bytes(vocab: PackedVocab, fallback: tuple[int, ...]) -> NDArray[np.int32]:
    """The id that merging starts with for each byte, int32[256]: that of its character if it is one, else of the byte.

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


def merges_of_characters(vocab: PackedVocab, fallback: tuple[int, ...]) -> tuple[NDArray[np.int32], list[bytes]]:
    """The merges that join the bytes of each character from left to right, and the bytes that each makes.

    The first two or three bytes of a character are not a token, and get an id above all others. No text gets this id, as
    characters that are not tokens are cut (text/byte_fallback.py).

    Returns the ids of left, right and result of each, int32[n, 3], and n bytes objects.
    """
    own = first_bytes(vocab, fallback).tolist()
    known = {character: token_id for token_id, character in characters_of(vocab).items()}
    next_id = int(vocab.ids[-1]) + 1
    made: dict[bytes, tuple[int, int, int]] = {}
    for character in known:
        left = own[character[0]]
        for end in range(2, len(character) + 1):
            part = character[:end]
            if part not in made:
                token_id = known.get(part, next_id)
                next_id += token_id == next_id
                made[part] = left, own[character[end - 1]], token_id
            left = made[part][2]
    return np.array(list(made.values()), dtype=np.int32).reshape(-1, 3), list(made)
