"""Texts of different lengths as one array, truncated or padded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..model.model import Model
from ..system.integers import check_integer, check_positive
from ..system.stretches import gathered
from ..text.utf8 import Text
from .id_types import check_dtype

Side = Literal["left", "right"]


class Padded(NamedTuple):
    """Texts as rows of one array.

    ids  : [n_texts, width]         token ids, filled with the pad id after (or before) shorter texts
    mask : bool[n_texts, width]     True for the tokens of the text, False for padding
    """

    ids: NDArray[Any]
    mask: NDArray[np.bool_]


def encode_padded(
    model: Model,
    token_to_id: Callable[[str], int | None],
    texts: Iterable[Text],
    max_length: int | None,
    pad_token: str | None,
    pad_id: int | None,
    padding: Literal["longest", "max_length"],
    padding_side: Side,
    truncation_side: Side,
    dtype: DTypeLike,
    encode: Callable[[Iterable[Text]], tuple[NDArray[Any], NDArray[np.int64]]],
) -> Padded:
    """See Tokenizer.encode_padded; `encode` gives the ids of all texts, and where those of each begin and end."""
    max_length = _check_max_length(max_length, padding)
    for name, side in ("padding_side", padding_side), ("truncation_side", truncation_side):
        if side not in ("left", "right"):
            raise ValueError(f'{name} must be "left" or "right", not {side!r}')
    pad = _find_pad(model, token_to_id, pad_token, pad_id)
    wanted = check_dtype(dtype, model.size)
    found, starts = encode(texts)
    lengths = np.diff(starts)
    kept = lengths if max_length is None else np.minimum(lengths, max_length)
    if len(found) > kept.sum():
        firsts = starts[:-1] if truncation_side == "right" else starts[1:] - kept
        found = gathered(found, firsts, kept)
    fixed = max_length if padding == "max_length" else None
    width = int(kept.max(initial=0)) if fixed is None else fixed
    places = np.arange(width)
    mask = (places if padding_side == "right" else places[::-1]) < kept[:, None]
    ids = np.full(mask.shape, pad, dtype=wanted)
    ids[mask] = found
    return Padded(ids, mask)


def _check_max_length(max_length: int | None, padding: str) -> int | None:
    if padding not in ("longest", "max_length"):
        raise ValueError(f'padding must be "longest" or "max_length", not {padding!r}')
    if max_length is None:
        if padding == "max_length":
            raise ValueError('padding="max_length" needs a max_length')
        return None
    return check_positive("max_length", max_length, "a positive integer or None")


def _find_pad(model: Model, token_to_id: Callable[[str], int | None], pad_token: str | None, pad_id: int | None) -> int:
    """The id to pad with. Raises TypeError or ValueError if it is not given, or not in the vocabulary."""
    if (pad_token is None) == (pad_id is None):
        raise TypeError(
            "give one of pad_token and pad_id, the token to pad rows with: a special token of the tokenizer "
            f"({', '.join(map(repr, model.special)) or 'it has none'}), or one that with_special_tokens adds"
        )
    if pad_token is not None:
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
