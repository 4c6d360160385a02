"""What every encoder does: text in its several shapes to arrays of ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..text.byte_source import Source
from ..text.utf8 import Data
from ..text.windows import Reader, Window, Windows, join

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens


class Encoder(ABC):
    """Encodes by one tokenizer. Safe to use from several threads.

    An encoder says how a window is encoded, and how all windows of a reader are. The rest follows from these, and is
    overridden where there is a faster way.

    at_once   : whether a document must be in one window, as `regex` needs it
    in_python : whether much of the work is done in Python, so that threads would wait for each other
    """

    at_once: bool
    in_python: bool

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    @abstractmethod
    def encode_text(self, text: str | Data, specials: SpecialTokens | None) -> NDArray[Any]:
        """The ids of a text, as an array of its own; of its special tokens those in `specials` are recognised.

        A str is of no derived type.
        """

    @abstractmethod
    def encode_window(self, window: Window, marks: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """The ids of a window after which no text follows, its breaks included.

        marks : int64[n_breaks], filled with the number of ids before each break without id
        """

    @abstractmethod
    def encode_all(self, reader: Windows) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The ids of all that a reader reads, part by part, each with how many of them come before its breaks without id.

        A part is the caller's until the next one is asked for.
        """

    def encode_short(self, text: object, specials: SpecialTokens | None, form: type) -> Any:
        """The ids of a short str or bytes; None for every other object, which is for `encode_text`, or an error.

        form : what is wanted: np.ndarray (an array of its own), list, or int (how many there are)
        """
        return None

    def count(self, text: str | Data, specials: SpecialTokens | None) -> int:
        """The number of ids of a text; arguments as of `encode_text`."""
        return len(self.encode_text(text, specials))

    def allowing(self, specials: SpecialTokens) -> tuple[Encoder, SpecialTokens]:
        """The encoder for readers that look for a choice of special tokens, and those of them that they look for."""
        return self, specials

    def encode_source(self, source: Source, n_bytes: int | None, specials: SpecialTokens) -> NDArray[Any]:
        """The ids of the next `n_bytes` of a source, or of all it has, as an array of its own. Its errors pass."""
        encoder, sought = self.allowing(specials)
        parts = [ids.copy() for ids, _ in encoder.encode_all(Reader(source, n_bytes, sought, self.at_once))]
        return np.concatenate([np.empty(0, dtype=self.dtype), *parts])

    def count_source(self, source: Source, specials: SpecialTokens) -> int:
        """The number of ids of all that a source has."""
        encoder, sought = self.allowing(specials)
        return sum(len(ids) for ids, _ in encoder.encode_all(Reader(source, None, sought, self.at_once)))

    def encode_documents(self, documents: list[bytes], specials: SpecialTokens) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids of all documents, and int64[n + 1], where those of each start."""
        window = self.window_of(documents, specials)
        marks = np.empty(len(window.breaks), dtype=np.int64)
        ids = self.encode_window(window, marks)
        between = marks[window.breaks[:, 2] < 0]
        return ids, np.concatenate([[0], between, [len(ids)]])

    def window_of(self, documents: list[bytes], specials: SpecialTokens) -> Window:
        """One window of all documents, as they are to be encoded."""
        return join(documents, specials)
