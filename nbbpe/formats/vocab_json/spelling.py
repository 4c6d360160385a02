"""Spells tokens with one visible character for each byte, as GPT-2's files and tokenizer.json do, and reads them.

Large vocabularies are spelled in one step: a call for each token takes five to ten times as long.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...model.byte_alphabet import byte_characters


def spell(token: bytes) -> str:
    """Spell a token as GPT-2's files do."""
    characters = byte_characters()
    return "".join([characters[byte] for byte in token])


@functools.cache
def _unspelling() -> dict[int, int]:
    """For str.translate: maps each character to its byte, and other characters of Latin-1 to 0x100, which is not a byte."""
    return dict.fromkeys(range(256), 0x100) | {ord(character): byte for byte, character in byte_characters().items()}


def unspell(text: str) -> bytes:
    """The token that a text spells. Raises KeyError with the first character that does not stand for a byte."""
    try:
        return text.translate(_unspelling()).encode("latin-1")
    except UnicodeEncodeError as error:
        raise KeyError(text[error.start]) from None


def unspelled(texts: Iterable[str]) -> dict[str, bytes]:
    """The token that each text spells; a text with a character that does not stand for a byte is skipped.

    Later, sides of merges are looked up in the result, as most of them are in the vocabulary.
    """
    tokens: dict[str, bytes] = {}
    for text in texts:
        with suppress(KeyError):
            tokens[text] = unspell(text)
    return tokens


def token_of(text: str) -> bytes:
    """The token of an entry of a vocab.json: what it spells, or if it does not spell bytes, its own UTF-8."""
    try:
        return unspell(text)
    except KeyError:
        return text.encode()


def spells_other_text(text: str) -> bool:
    """Whether an entry of a vocab.json spells the bytes of another text: not `größe`, which spells invalid UTF-8."""
    token = token_of(text)
    try:
        return token.decode() != text
    except UnicodeDecodeError:
        return False


@functools.cache
def _code_points() -> NDArray[np.uint32]:
    """uint32[256]: the character of each byte."""
    characters = byte_characters()
    return np.array([ord(characters[byte]) for byte in range(256)], dtype=np.uint32)


def spelled_tokens(lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> list[str]:
    """Spell tokens, given by their lengths and their concatenated bytes."""
    spelled = _as_text(_code_points()[text])
    ends = np.cumsum(lengths).tolist()
    return [spelled[start:end] for start, end in pairwise([0, *ends])]


def spelled_lines(lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> str:
    """Spell tokens, given as for `spelled_tokens`, two in each line, with a space between them."""
    characters = np.empty(len(text) + len(lengths), dtype=np.uint32)
    ends = np.cumsum(lengths + 1) - 1  # where each token has its separator
    characters[ends[::2]], characters[ends[1::2]] = ord(" "), ord("\n")
    is_text = np.ones(len(characters), dtype=np.bool_)
    is_text[ends] = False
    characters[is_text] = _code_points()[text]
    return _as_text(characters)


def _as_text(characters: NDArray[np.uint32]) -> str:
    return characters.astype("<u4", copy=False).tobytes().decode("utf-32-le")
