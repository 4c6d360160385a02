"""Make one array of texts of different lengths, by truncating and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..system.choices import check_one_of
from ..system.excerpt import shown
from ..system.integers import check_integer, check_limit
from ..system.stretches import gathered

Side = Literal["left", "right"]


class Padded(NamedTuple):
    """Texts as rows of one array.

    ids  : [n_texts, width]         token ids, filled with the pad id after (or before) shorter texts
    mask : bool[n_texts, width]     True for the tokens of the text, False for padding
    """

    ids: NDArray[Any]
    mask: NDArray[np.bool_]


class Padding(NamedTuple):
    """How texts are truncated and padded.

    max_length : texts with more tokens are truncated to it; None truncates none
    width      : of all rows; None for that of the longest
    padding_side, truncation_side : where texts are padded, and where truncated
    multiple : the width is the next multiple of this
    """

    max_length: int | None
    width: int | None
    padding_side: Side
    truncation_side: Side
    multiple: int


def check_padding(
    max_length: int | None,
    padding: Literal["longest", "max_length"],
    padding_side: Side,
    truncation_side: Side,
    pad_to_multiple_of: int | None,
) -> Padding:
    """Arguments of Tokenizer.encode_padded, checked. Raises TypeError or ValueError."""
    check_one_of("padding", padding, ("longest", "max_length"))
    max_length = check_limit("max_length", max_length)
    if max_length is None and padding == "max_length":
        raise ValueError('padding="max_length" needs a max_length')
    for name, side in ("padding_side", padding_side), ("truncation_side", truncation_side):
        check_one_of(name, side, ("left", "right"))
    width = max_length if padding == "max_length" else None
    multiple = check_limit("pad_to_multiple_of", pad_to_multiple_of) or 1
    return Padding(max_length, width, padding_side, truncation_side, multiple)


def as_rows(ids: NDArray[Any], starts: NDArray[np.int64], padding: Padding, pad_id: int, dtype: np.dtype[Any]) -> Padded:
    """Texts as rows of one array.

    ids, starts : the ids of all texts, and int64[n + 1], where the ids of each begin, and the last ones end
    """
    lengths = np.diff(starts)
    # A max_length may exceed NumPy's integers (transformers' 10^30 means no limit); no text has more than all ids.
    kept = lengths if padding.max_length is None else np.minimum(lengths, min(padding.max_length, len(ids)))
    if len(ids) > kept.sum():
        firsts = starts[:-1] if padding.truncation_side == "right" else starts[1:] - kept
        ids = gathered(ids, firsts, kept)
    width = int(kept.max(initial=0)) if padding.width is None else padding.width
    places = np.arange(-(-width // padding.multiple) * padding.multiple)
    mask = (places if padding.padding_side == "right" else places[::-1]) < kept[:, None]
    rows = np.full(mask.shape, pad_id, dtype=dtype)
    rows[mask] = ids
    return Padded(rows, mask)


def find_pad(model: Model, token_to_id: Callable[[str], int | None], pad_token: str | None, pad_id: int | None) -> int:
    """The id to pad with. Raises TypeError or ValueError if it is not given, or not in the vocabulary."""
    if (pad_token is None) == (pad_id is None):
        raise TypeError(
            "give one of pad_token and pad_id, the token to pad rows with: a special token of the tokenizer "
            f"({', '.join(map(repr, model.special)) or 'it has none'}), or one that with_special_tokens adds"
        )
    if pad_token is not None:
        if not isinstance(pad_token, (str, bytes)):
            raise TypeError(f"pad_token must be a token as a str, not {shown(pad_token)}")
        found = token_to_id(pad_token)
        if found is None:
            raise ValueError(
                f"pad_token {pad_token!r} is not in the vocabulary; tok.with_special_tokens([{pad_token!r}]) gives a "
                "tokenizer that has it"
            )
        return found
    found = check_integer("pad_id", pad_id)
    if found not in model.vocab:
        raise ValueError(f"pad_id {pad_id} is not in the vocabulary of {len(model.vocab):,} tokens")
    return found
