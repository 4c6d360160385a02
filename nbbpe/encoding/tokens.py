"""The tokens of a text with their offsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import first_few, shown
from ..system.lazy import imported_on_use, lazy
from ..text.utf8 import begins_character, to_text
from .token_display import COLOURS, visible

html: Any = imported_on_use("html")

_MOST_IN_REPR = 20  # tokens
_MOST_IN_HTML = 5000  # tokens; a notebook with many more is slow to open


class Token(NamedTuple):
    """One token of a text.

    id           : int
    token        : bytes, not empty
    byte_offsets : (start, end) in the UTF-8 of the text
    char_offsets : (start, end) in the text's characters, see Tokens
    """

    id: int
    token: bytes
    byte_offsets: tuple[int, int]
    char_offsets: tuple[int, int]


class Tokens:
    """The tokens of a text, in order; their concatenation is the text's bytes.

    text         : str or bytes, as it was given, or what the tokenizer makes of it: with a normalizer, the normalized text,
                   and without the whitespace that an added token took (lstrip and rstrip in a tokenizer.json)
    ids          : ndarray[n] of the tokenizer's dtype
    tokens       : list of n bytes
    byte_offsets : int64[n, 2]   start and end of each token in the UTF-8 of the text; read-only
    char_offsets : int64[n, 2]   start and end of each token in the text's characters; read-only

    A token can end inside a character. Its `char_offsets` then include every character of which it has a byte, so the
    tokens of one character all have that character's offsets, and neighbours may overlap. Hugging Face's tokenizers count
    in the same way, and the starts are those of tiktoken's `decode_with_offsets`. In bytes, characters are counted as in
    `text.decode(errors="surrogateescape")`: each byte of invalid UTF-8 is a character.

    Iterating gives a Token for each, and tokens[i] gives one. A notebook shows the tokens in colours, with ids and offsets
    on hover.
    """

    def __init__(self, text: str | bytes, ids: NDArray[Any], tokens: list[bytes]) -> None:
        self.text = text
        self.ids = ids
        self.tokens = tokens

    @property
    def byte_offsets(self) -> NDArray[np.int64]:
        """Where each token starts and ends in the UTF-8 of the text, int64[n, 2]; the end is the next one's start."""
        return self._byte_offsets

    @property
    def char_offsets(self) -> NDArray[np.int64]:
        """The first character of which each token has a byte, and the character after the last one; int64[n, 2]."""
        return self._char_offsets

    @lazy
    def _byte_offsets(self) -> NDArray[np.int64]:
        lengths = np.fromiter(map(len, self.tokens), dtype=np.int64, count=len(self.tokens))
        ends = np.cumsum(lengths)
        return _read_only(np.stack([ends - lengths, ends], axis=1))

    @lazy
    def _char_offsets(self) -> NDArray[np.int64]:
        text = to_text(self.text) if isinstance(self.text, bytes) else self.text
        return _read_only(np.stack(in_characters(text, *self.byte_offsets.T), axis=1))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, number: SupportsIndex) -> Token:
        """The Token at an index, which may be negative. (For slices, use `ids`, `tokens` or the offsets.)

        Raises IndexError if there are fewer, TypeError if it is not an integer.
        """
        if not hasattr(number, "__index__"):
            raise TypeError(
                f"the number of a token must be an integer, not {shown(number)}; ids, tokens, offsets have slices"
            )
        try:
            place = range(len(self.tokens))[number]
        except IndexError:
            raise IndexError(f"token {number} does not exist: there are {len(self.tokens):,} tokens") from None
        start, end = self.byte_offsets[place].tolist()
        first, last = self.char_offsets[place].tolist()
        return Token(int(self.ids[place]), self.tokens[place], (start, end), (first, last))

    def __iter__(self) -> Iterator[Token]:
        places = (zip(*offsets.T.tolist(), strict=True) for offsets in (self.byte_offsets, self.char_offsets))
        return itertools.starmap(Token, zip(self.ids.tolist(), self.tokens, *places, strict=True))

    def __repr__(self) -> str:
        some = first_few(self.tokens, _MOST_IN_REPR, lambda token: repr(visible(token)))
        return f"Tokens({len(self):,} of {sum(map(len, self.tokens)):,} bytes: {some})"

    def _repr_html_(self) -> str:
        spans = []
        for (colour, _), token in zip(itertools.cycle(COLOURS), itertools.islice(self, _MOST_IN_HTML)):
            (byte, end_byte), (char, end_char) = token.byte_offsets, token.char_offsets
            title = f"id {token.id}, bytes {byte} to {end_byte}, characters {char} to {end_char}"
            shown = html.escape(visible(token.token))
            spans.append(f'<span title="{title}" style="background: {colour}; color: black">{shown}</span>')
        if len(self) > _MOST_IN_HTML:
            spans.append(f" … and {len(self) - _MOST_IN_HTML:,} more")
        spelled = "".join(spans)
        return f'<div><div style="white-space: pre-wrap; font-family: monospace">{spelled}</div>{len(self):,} tokens</div>'


def _read_only(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make cached offsets read-only: else a user's `offsets += start` would change them for every Token, too."""
    offsets.flags.writeable = False
    return offsets


def in_characters(
    text: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first character of which each token has a byte, and the character after the last one, int64[n] each.

    starts, ends : where each token starts and ends in the bytes that `to_bytes` makes of the text; no token is empty, and
                   each starts where the last one ends
    """
    if text.isascii():
        return starts, ends
    begins = begins_character(text)
    n_begun = np.add.reduceat(begins, starts, dtype=np.int64)  # characters that begin in each token
    n_until = np.cumsum(n_begun)
    return n_until - n_begun - ~begins[starts], n_until
