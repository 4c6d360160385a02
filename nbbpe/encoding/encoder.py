"""The interface of all encoders, which turn text in several forms into arrays of ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.pieces.special_tokens import SpecialTokens, new_special_tokens
from ..text.byte_source import Source
from ..text.text_windows import text_windows
from ..text.utf8 import Data, to_bytes
from ..text.windows import WINDOW, Reader, Window, Windows, concatenated

if TYPE_CHECKING:
    from ..kernels.pieces.pattern_tables import PatternTables

SHORT = 1 << 12  # bytes of a text; for a shorter one a call costs more than encoding, so it takes a faster path


class Encoder(ABC):
    """Encodes for one tokenizer. Safe to use from several threads.

    A subclass defines how a text, one window and all windows of a reader are encoded. The other methods use these three,
    and are overridden where there is a faster way.

    in_python : whether much of the work runs in Python, so that threads would wait for each other
    cut_by    : the tables of a pattern, at whose certain boundaries a text can be cut for several threads; None if one
        thread must encode all of it
    """

    in_python: bool
    cut_by: PatternTables | None = None

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    @property
    @abstractmethod
    def at_once(self) -> bool:
        """Whether a text must be in one window, of any length, as some kinds of preparation need."""

    @abstractmethod
    def encode_text(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """The ids of a text, as a new array; the special tokens in `specials` are recognised.

        A str must not be of a subclass of str.
        """

    def for_text(
        self, text: str | Data, specials: SpecialTokens | None
    ) -> tuple[Encoder, str | Data, SpecialTokens | None]:
        """The encoder to use for a text, and its arguments: another encoder if this one would only pass the text on."""
        return self, text, specials

    def encode_given(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """As `encode_text`, for arguments that `for_text` returned, whose checks take long and are not repeated."""
        return self.encode_text(text, specials)

    def count_given(self, text: str | Data, specials: SpecialTokens | None) -> int:
        """The number of ids that `encode_given` gives."""
        return len(self.encode_given(text, specials))

    @abstractmethod
    def encode_window(self, window: Window) -> NDArray[Any]:
        """The ids of a window after which no text follows, including those of its breaks."""

    @abstractmethod
    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """Yield the ids of everything that a reader reads, in parts.

        With each part comes how many of its ids are before each break without id. It is valid until the next is requested.
        """

    def encode_to(self, reader: Windows, room: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of everything that a reader reads, and how many there are up to each break without id.

        room : an array that the ids may be written into, from its beginning; longer by SPARE_BYTES than the text in bytes.
            Otherwise the result is a new array
        """
        parts, ends, n_ids = [np.empty(0, dtype=self.dtype)], [np.empty(0, dtype=np.int64)], 0
        for ids, marks in self.encode_all(reader):
            parts.append(ids.copy())
            ends.append(marks + n_ids)
            n_ids += len(ids)
        return np.concatenate(parts), np.concatenate(ends)

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """The ids of a short str or bytes; None for any other object, which `encode_text` encodes or refuses.

        form : the type of the result: np.ndarray (a new array), list, or int (the number of ids)
        """
        return None

    def allowing(self, specials: SpecialTokens) -> tuple[Encoder, SpecialTokens]:
        """The encoder to use if `specials` are recognised, and the special tokens that its readers must look for."""
        return self, specials

    def reading(self, reader: Windows) -> Windows:
        """The windows of a reader as this encoder splits them: rewritten, if it rewrites text first."""
        return reader

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        """The ids of the next `n_bytes` of a source, or of all of it, as a new array. Errors of the source pass through."""
        encoder, sought = self.allowing(specials)
        return encoder.encode_windows(Reader(source, n_bytes, sought, self.at_once))

    def count_source(self, source: Source, specials: SpecialTokens) -> int:
        """The number of ids of all of a source."""
        encoder, sought = self.allowing(specials)
        return encoder.count_windows(Reader(source, None, sought, self.at_once))

    def encode_windows(self, reader: Windows) -> NDArray[Any]:
        """The ids of everything that a reader reads, as a new array."""
        parts = [ids.copy() for ids, _ in self.encode_all(reader)]
        return np.concatenate([np.empty(0, dtype=self.dtype), *parts])

    def count_windows(self, reader: Windows) -> int:
        """The number of ids of everything that a reader reads."""
        return sum(len(ids) for ids, _ in self.encode_all(reader))

    def window_of(self, document: bytes, specials: SpecialTokens | None) -> Window:
        """A document in one window, ready to be encoded."""
        return concatenated([document], specials or new_special_tokens([]))


class RewritingEncoder(Encoder):
    """Rewrites text, as a subclass defines in `for_text`, `reading` and `window_of`, and passes it to another encoder."""

    in_python = True

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.dtype)
        self._encoder = encoder

    @property
    def at_once(self) -> bool:
        return self._encoder.at_once

    def encode_text(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        encoder, data, sought = self.for_text(text, specials)
        return encoder.encode_given(data, sought)

    def _encode_stretches(
        self, stretches: list[tuple[bytes | None, int | None]], specials: SpecialTokens | None, form: type
    ) -> Any:
        """The ids of a short text from its rewritten stretches, see `between` in text/special_search.py; as `encode_short`.

        specials : the special tokens to recognise in the stretches
        """
        if len(stretches) == 1:
            return self._encoder.encode_short(stretches[0][0], specials, form)
        ids: list[int] = []
        for stretch, token_id in stretches:
            found = self._encoder.encode_short(stretch, specials, list)
            if found is None:
                return None
            ids += found if token_id is None else [*found, token_id]
        return ids if form is list else len(ids) if form is int else np.array(ids, dtype=self.dtype)

    def encode_given(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        if len(text) > WINDOW and not self.at_once:  # in windows, without a rewritten copy of all of it
            encoder, sought = self.allowing(specials or new_special_tokens([]))
            return encoder.encode_windows(text_windows(text, sought))
        return self.encode_window(self.window_of(to_bytes(text), specials))

    def count_given(self, text: str | Data, specials: SpecialTokens | None) -> int:
        if len(text) > WINDOW and not self.at_once:
            encoder, sought = self.allowing(specials or new_special_tokens([]))
            return encoder.count_windows(text_windows(text, sought))
        return len(self.encode_given(text, specials))

    def encode_window(self, window: Window) -> NDArray[Any]:
        """See Encoder. The window is rewritten already, as `window_of` gives it."""
        text = window.data[window.start : window.end]
        if len(text) <= SHORT and not len(window.breaks):  # most short texts, in less time
            return self._encoder.encode_text(text.tobytes(), None)
        return self._encoder.encode_window(window)

    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """See Encoder. The reader gives text that is not rewritten yet."""
        return self._encoder.encode_all(self.reading(reader))
