"""Tokens spelled as visible characters, one for each byte, as GPT-2's files and tokenizer.json have them.

Large vocabularies are spelled at once: a call for each token takes five to ten times as long.
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
    """A token as GPT-2's files write it."""
    characters = byte_characters()
    return "".join([characters[byte] for byte in token])


@functools.cache
def _unspelling() -> dict[int, int]:
    """For str.translate: the byte of each character, as a code point, and for other Latin-1 one that is not a byte."""
    return dict.fromkeys(range(256), 0x100) | {ord(character): byte for byte, character in byte_characters().items()}


def unspell(text: str) -> bytes:
    """The token that GPT-2's files write so. Raises KeyError with the character that stands for no byte."""
    try:
        return text.translate(_unspelling()).encode("latin-1")
    except UnicodeEncodeError as error:
        raise KeyError(text[error.start]) from None


def unspelled(texts: Iterable[str]) -> dict[str, bytes]:
    """The tokens that are spelled so; a text with a character that stands for no byte is skipped.

    What is read once need not be read again: most sides of merges are texts of the vocabulary.
    """
    tokens: dict[str, bytes] = {}
    for text in texts:
        with suppress(KeyError):
            tokens[text] = unspell(text)
    return tokens


def token_of(text: str) -> bytes:
    """The token of an entry of a vocab.json: what it spells, or its own UTF-8 where a character stands for no byte."""
    try:
        return unspell(text)
    except KeyError:
        return text.encode()


@functools.cache
def _code_points() -> NDArray[np.uint32]:
    """uint32[256]: the character of each byte."""
    characters = byte_characters()
    return np.array([ord(characters[byte]) for byte in range(256)], dtype=np.uint32)


def spelled_tokens(lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> list[str]:
    """The spelling of each of some tokens, given by their lengths and their bytes one after another."""
    spelled = _as_text(_code_points()[text])
    ends = np.cumsum(lengths).tolist()
    return [spelled[start:end] for start, end in pairwise([0, *ends])]


def spelled_lines(lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> str:
    """A line for each two of some tokens, given as for `spelled_tokens`: both spelled, and a space between them."""
    characters = np.empty(len(text) + len(lengths), dtype=np.uint32)
    ends = np.cumsum(lengths + 1) - 1  # where each token has its separator
    characters[ends[::2]], characters[ends[1::2]] = ord(" "), ord("\n")
    is_text = np.ones(len(characters), dtype=np.bool_)
    is_text[ends] = False
    characters[is_text] = _code_points()[text]
    return _as_text(characters)


def _as_text(characters: NDArray[np.uint32]) -> str:
    return characters.astype("<u4", copy=False).tobytes().decode("utf-32-le")
