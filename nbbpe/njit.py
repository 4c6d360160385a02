"""Encode inside the user's own code that Numba compiles, without returning to Python for each text.

See `encode_into` for an example. This module does not need Numba; code that calls `encode_into` does.
"""

from __future__ import annotations

from .kernels.encoding import encode_into as _kernel
from .kernels.encoding.encode_into import State, Tables
from .system.integers import check_positive

__all__ = ["State", "Tables", "encode_into", "new_state"]

encode_into = _kernel.encode_into
_LONGEST = 1 << 20  # bytes


def new_state(tables: Tables, longest: int = _LONGEST) -> State:
    """Make the state that `encode_into` changes, for documents of up to `longest` bytes. Each thread needs its own.

    tables  : what `Tokenizer.njit_tables` returns
    longest : bytes; memory takes about 25 bytes for each byte of the longest document, or 85 if merges do not ascend (in
        some files of other programs, a merge has a lower rank than the merge that makes one of its sides)

    Raises TypeError or ValueError for a `longest` that is not a positive integer.

    >>> import nbbpe.njit
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> state = nbbpe.njit.new_state(tok.njit_tables(), longest=10_000)
    """
    return _kernel.new_state(tables, check_positive("longest", longest))
