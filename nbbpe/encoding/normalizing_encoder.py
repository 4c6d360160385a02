"""An encoder that puts text into a normal form before it is encoded."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..kernels.pieces.special_tokens import SpecialTokens
from ..text.normal_characters import Form
from ..text.normal_check import is_normal
from ..text.normalization import last_cut, normalized, normalized_text
from ..text.rewriting import RewritingReader, rewritten_window
from ..text.special_search import Sought, between
from ..text.utf8 import Data, to_bytes, to_text
from ..text.windows import Window, Windows
from .encoder import SHORT, Encoder, RewritingEncoder


class NormalizingEncoder(RewritingEncoder):
    """Finds special tokens, puts the text between them into a normal form, and passes it to another encoder."""

    def __init__(self, encoder: Encoder, form: Form) -> None:
        super().__init__(encoder)
        self._form = form
        self._rewrite = partial(normalized, form=form)

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """See Encoder. Most short texts are in the normal form already."""
        if not (type(text) is str or type(text) is bytes) or not (text.isascii() or len(text) <= SHORT):
            return None
        if is_normal(text, self._form):
            return self._encoder.encode_short(text, specials, form)
        data = to_bytes(text)
        tokens = [] if specials is None else Sought.of(specials).found_in(data).tolist()
        stretches: list[tuple[bytes | None, int | None]] = [
            (normalized_text(to_text(stretch), self._form).encode(errors="surrogateescape"), token_id)
            for stretch, token_id in between(data, tokens)
        ]
        return self._encode_stretches(stretches, None, form)  # no token is looked for in normalized text

    def for_text(
        self, text: str | Data, specials: SpecialTokens | None
    ) -> tuple[Encoder, str | Data, SpecialTokens | None]:
        data = text if isinstance(text, str) else to_bytes(text)
        # If all of it is normal, so is the text between special tokens.
        return self._encoder if is_normal(data, self._form) else self, data, specials

    def reading(self, reader: Windows) -> Windows:
        return RewritingReader(reader, partial(last_cut, form=self._form), self._rewrite)

    def window_of(self, document: bytes, specials: SpecialTokens | None) -> Window:
        return rewritten_window(super().window_of(document, specials), self._rewrite)
