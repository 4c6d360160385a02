"""Text as UTF-8 bytes and back, with bytes that are not UTF-8 kept; what objects may be given as text."""

from __future__ import annotations

import codecs
import io
import mmap
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from .byte_source import Source

Data = bytes | memoryview
Text = str | Data | bytearray | mmap.mmap | NDArray[np.uint8]
_COPIED = 1 << 16  # bytes of a text in memory up to which it is sooner copied than made a window of where it is
LONGEST_CHARACTER = 4  # bytes of UTF-8


def _keep_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    """Encode the surrogates that UTF-8 cannot (an error handler of `codecs`)."""
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    errors = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return character.encode(errors=errors), error.start + 1


_KEEP_SURROGATES = "nbbpe.keep_surrogates"
codecs.register_error(_KEEP_SURROGATES, _keep_surrogates)


def to_bytes(text: Text) -> bytes:
    """A text as UTF-8. What `surrogateescape` made of undecodable bytes becomes those bytes again.

    Other lone surrogates, which have no UTF-8, become the three bytes that `surrogatepass` gives: nothing is lost.
    """
    data = to_data(text)
    return data if isinstance(data, bytes) else data.tobytes()


def check_texts(texts: object) -> None:
    """Raise TypeError for one text where many are wanted: its letters, or bytes, would be taken for texts."""
    try:
        is_one = isinstance(texts, str) or memoryview(texts).format in ("B", "b", "c")  # type: ignore[arg-type]
    except TypeError:
        return
    if is_one:
        raise TypeError(f"texts must be a list of texts, or any iterable of them, not one {type(texts).__name__}")


def each_to_bytes(texts: Iterable[Text], what: str) -> Iterator[bytes]:
    """Each of some texts as UTF-8. A TypeError for one that is no text says which; `what` is what they are called."""
    for number, text in enumerate(texts):
        try:
            data = to_bytes(text)
        except TypeError as error:
            raise TypeError(f"{error}: {what} {number:,} (from 0) is {text!r:.100}") from None
        yield data


def to_data(text: Text | Source) -> Data:
    """As `to_bytes`, but of much text that is in no `bytes` (a mapped file, say) a view, without a copy.

    What is no text, but read from, is for `as_source`; here it is a TypeError.
    """
    if isinstance(text, str):  # first, as it mostly is
        return text.encode("utf-8", _KEEP_SURROGATES)
    if type(text) is bytes:  # and nothing derived, which a kernel would not know
        return text
    try:
        view = memoryview(text)  # type: ignore[arg-type]
    except TypeError:
        of_a_file = ' (of a file, open(path, "rb"))' if isinstance(text, (io.IOBase, os.PathLike)) else ""
        raise TypeError(f"text must be str or bytes{of_a_file}, not {type(text).__name__}") from None
    if view.format not in ("B", "c") or view.ndim != 1 or not view.c_contiguous:
        raise TypeError(
            f"text must be str or bytes, not {type(text).__name__} of format {view.format!r} and shape {view.shape}, "
            "which is no row of bytes (uint8) without gaps"
        )
    return view.tobytes() if is_copied(len(view)) else view


class Lent:
    """For as long as a text is worked with that is somebody else's memory: after an error nothing of ours holds it.

    Else the frames that an error has passed would, and a map of a file could not be closed while the error is on its way:
    `with` would raise a BufferError of its own instead.
    """

    def __init__(self, data: str | Data) -> None:
        self._data = data

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and isinstance(self._data, memoryview):
            traceback.clear_frames(trace)
            with suppress(BufferError):
                self._data.release()


def is_copied(n_bytes: int) -> bool:
    """Whether so many bytes of text in memory are sooner copied than made a window of where they are."""
    return n_bytes <= _COPIED


def to_text(data: bytes) -> str:
    """Bytes as the text that `regex` is asked about: an undecodable byte is a character of its own."""
    return data.decode(errors="surrogateescape")


def padded(data: Data) -> NDArray[np.uint8]:
    """A copy of `data` as uint8, with the spare bytes that kernels may read past its end."""
    from ..kernels.machine.intrinsics import PADDING

    text = np.empty(len(data) + PADDING, dtype=np.uint8)
    text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    text[len(data) :] = 0
    return text
