"""Make the encoder that a model needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.model import Model
from .encoder import Encoder

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens


def new_encoder(
    model: Model, dtype: np.dtype[Any], max_pieces: int, specials: SpecialTokens, by_regex: bool = False
) -> Encoder:
    """The encoder of a model.

    dtype      : of the ids
    max_pieces : how many pieces a thread caches
    specials   : the special tokens to expect in texts; a call may look for others
    by_regex   : whether `regex` splits pieces, even where the pattern is compiled

    The encoders are imported here, because that takes long and not every process needs them.
    """
    pattern = model.pattern
    if pattern.tables is not None:
        from ..kernels.encoding.encode_text import compile_parts_beside

        compile_parts_beside()
    merges = model.merge_table()
    encoder: Encoder
    if pattern.tables is None:
        from .regex_encoder import RegexEncoder

        encoder = RegexEncoder(merges, pattern, dtype)
    elif by_regex or not pattern.is_compiled:
        from .piece_regex_encoder import PieceRegexEncoder

        encoder = PieceRegexEncoder(merges, pattern, by_regex, dtype, max_pieces, specials)
    else:
        from .compiled_encoder import CompiledEncoder

        encoder = CompiledEncoder(merges, pattern.tables, dtype, max_pieces, specials)
    if model.is_prepared:
        from .prepared_encoder import PreparedEncoder

        return PreparedEncoder(encoder, model)
    form = model.normalizer.form
    if form is None:
        return encoder
    from .normalizing_encoder import NormalizingEncoder

    return NormalizingEncoder(encoder, form)
