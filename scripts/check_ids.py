"""Check a file of token ids against the text it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import nbbpe

STRETCH = 10_000  # ids that are decoded and compared at each of the places the check looks at
IDS_AT_ONCE = 1 << 20  # whose lengths are summed in one step


def token_lengths(vocab: Mapping[int, bytes]) -> NDArray[np.int64]:
    """Return the length in bytes of each token, by id; 0 for an id that no token has."""
    lengths = np.zeros(max(vocab) + 1, dtype=np.int64)
    for token_id, token in vocab.items():
        lengths[token_id] = len(token)
    return lengths


def byte_offsets(
    ids_path: Path, dtype: np.dtype[np.unsignedinteger], lengths: NDArray[np.int64], positions: Sequence[int]
) -> list[int]:
    """Return at which byte of the text each of `positions` (ascending) lies: the lengths of all tokens before it.

    Reads the ids in blocks: mapped pages would count as memory of this process. Raises IndexError for an id beyond the
    vocabulary.
    """
    offsets = []
    offset = done = 0
    for position in positions:
        while done < position:
            ids = read_ids(ids_path, dtype, done, min(IDS_AT_ONCE, position - done))
            offset += int(lengths[ids].sum())
            done += len(ids)
        offsets.append(offset)
    return offsets


def read_ids(ids_path: Path, dtype: np.dtype[np.unsignedinteger], first: int, count: int) -> NDArray[np.unsignedinteger]:
    """Return up to `count` ids of a file from number `first` on."""
    return np.fromfile(ids_path, dtype=dtype, count=count, offset=first * dtype.itemsize)


def find_fault(tokenizer: nbbpe.Tokenizer, ids_path: Path, text_path: Path, n_tokens: int) -> str:
    """Return what is wrong with a file of raw ids, or an empty string.

    It must hold `n_tokens` ids, the lengths of their tokens must add up to the size of the text, and a stretch at the
    start, in the middle and at the end must decode to the very bytes that stand at its place. Raises OSError if a file
    cannot be read.
    """
    dtype = np.dtype(tokenizer.dtype).newbyteorder("<")
    n_ids, rest = divmod(ids_path.stat().st_size, dtype.itemsize)
    if rest or n_ids != n_tokens:
        return f"{ids_path} holds {n_ids:,} ids and {rest} bytes, not {n_tokens:,} ids"
    firsts = sorted({0, max(0, n_ids // 2 - STRETCH // 2), max(0, n_ids - STRETCH)})
    try:
        *offsets, n_bytes = byte_offsets(ids_path, dtype, token_lengths(tokenizer.vocab), [*firsts, n_ids])
    except IndexError:
        return f"{ids_path} holds an id beyond the vocabulary"
    text_size = text_path.stat().st_size
    if n_bytes != text_size:
        return f"the tokens of {ids_path} have {n_bytes:,} bytes in all, the text has {text_size:,}"
    with open(text_path, "rb") as file:
        for first, offset in zip(firsts, offsets, strict=True):
            decoded = tokenizer.decode_bytes(read_ids(ids_path, dtype, first, STRETCH).tolist())
            file.seek(offset)
            if file.read(len(decoded)) != decoded:
                return f"the ids from {first:,} in {ids_path} do not decode to the text from byte {offset:,}"
    return ""
