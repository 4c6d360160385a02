"""Encoding within the user's own code that Numba compiles, without a return to Python for each text.

See `encode_into` for how it is used. This module needs no Numba; the code that calls `encode_into` does.
"""

from __future__ import annotations

from .kernels.encoding import encode_into as _kernel
from .kernels.encoding.encode_into import State, Tables
from .kernels.machine import secret
from .model.model import Model
from .system.integers import check_positive

__all__ = ["State", "Tables", "encode_into", "new_state"]

encode_into = _kernel.encode_into
_LONGEST = 1 << 20  # bytes


def new_state(tables: Tables, longest: int = _LONGEST) -> State:
    """Make the state that `encode_into` changes, for documents of up to `longest` bytes. Each thread needs its own.

    tables  : of `Tokenizer.njit_tables`
    longest : bytes; memory takes about 25 bytes for each byte of the longest document, or 85 if merges do not ascend (in
        some files of other programs, a merge has a lower rank than the merge that makes one of its sides)

    Raises TypeError or ValueError for a `longest` that is not a positive integer.

    >>> import nbbpe.njit
    >>> tok = nbbpe.train(documents=["the cat sat on the mat, the cat"], vocab_size=264)
    >>> state = nbbpe.njit.new_state(tok.njit_tables(), longest=10_000)
    """
    return _kernel.new_state(tables, check_positive("longest", longest))


def tables_of(model: Model) -> Tables:
    """See Tokenizer.njit_tables."""
    if model.rewrites_text:
        raise ValueError(
            "njit_tables is for tokenizers that encode text as it is, and this one changes it first: it has a normalizer, "
            "rules of special tokens, a space in front, or drops text"
        )
    pattern = model.pattern
    if pattern.tables is None or not pattern.is_compiled:
        raise ValueError(f"njit_tables needs a pattern that is compiled, and this one is not: {pattern.not_compiled}")
    # Users may print, pickle and send the tables, so they do not hold the secret of this process.
    with secret.another():
        return Tables(pattern.tables, model.merge_table())
