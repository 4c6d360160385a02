"""The tables of a tokenizer for code that Numba compiles, see nbbpe/njit.py."""

from __future__ import annotations

from ..kernels.encoding.encode_into import Tables
from ..kernels.machine import secret
from ..model.model import Model


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
