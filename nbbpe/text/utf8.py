"""Text as UTF-8 bytes and back, preserving bytes that are invalid UTF-8."""

from __future__ import annotations

import codecs
import io
import mmap
import os
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise, repeat
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import shown
from .byte_source import Source

Data = bytes | memoryview
Text = str | Data | bytearray | mmap.mmap | NDArray[np.uint8]
_COPIED = 1 << 16  # bytes of a text in memory up to which a copy is faster than a window in place
_LEAST_BETWEEN = 25  # bytes between two places, on average; with fewer, NumPy inserts in less time
CHECKED_CHARACTERS = 1 << 16  # that are looked at together: so many stay in a core's cache
LONGEST_CHARACTER = 4  # bytes of UTF-8


def _keep_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    """Encode surrogates, which have no UTF-8: an error handler of `codecs`."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]  # at once, as Python looks for the end of the run in each call
    with suppress(UnicodeEncodeError):
        return run.encode(errors="surrogateescape"), error.end
    kinds = ("surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass" for character in run)
    return b"".join(map(str.encode, run, repeat("utf-8"), kinds)), error.end


_KEEP_SURROGATES = "nbbpe.keep_surrogates"
codecs.register_error(_KEEP_SURROGATES, _keep_surrogates)


def to_bytes(text: Text) -> bytes:
    """A text as UTF-8. Surrogates from `surrogateescape` become the undecodable bytes again.

    Other lone surrogates, which have no UTF-8, become the three bytes that `surrogatepass` gives: nothing is lost.
    """
    data = to_data(text)
    return data if isinstance(data, bytes) else data.tobytes()


def widths_of(text: str) -> NDArray[np.int64]:
    """The number of bytes that `to_bytes` makes of each character of a text."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    widths[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1  # a byte of invalid UTF-8
    return widths


def begins_character(text: str) -> NDArray[np.bool_]:
    """For each of the bytes that `to_bytes` makes of a text, whether it is the first of a character."""
    try:
        data = np.frombuffer(text.encode(), dtype=np.uint8)
    except UnicodeEncodeError:  # a byte of invalid UTF-8, which may be any
        widths = widths_of(text)
        begins = np.zeros(widths.sum(), dtype=np.bool_)
        begins[np.cumsum(widths) - widths] = True
        return begins
    return (data & 0xC0) != 0x80


def has_surrogates(text: str) -> bool:
    """Whether a text has lone surrogates; without a copy of all of it, which would take half as long as encoding."""
    if text.isascii():
        return False
    try:
        for start in range(0, len(text), CHECKED_CHARACTERS):
            text[start : start + CHECKED_CHARACTERS].encode()
    except UnicodeEncodeError:
        return True
    return False


def is_utf8(data: bytes) -> bool:
    """Whether bytes are valid UTF-8: of a token, whether it neither begins nor ends inside a character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def each_to_bytes(texts: Iterable[Text], kind: str) -> Iterator[bytes]:
    """Each of some texts as UTF-8. Raises TypeError that names an object that is not a text, as `kind` and its number."""
    for number, text in enumerate(texts):
        yield one_to_bytes(text, kind, number)


def each_readable(texts: Iterable[Text]) -> Iterator[str | bytes]:
    """As `each_to_bytes` of texts, but str and bytes, which nobody can change, are given as they are."""
    for number, text in enumerate(texts):
        yield text if type(text) is str or type(text) is bytes else one_to_bytes(text, "text", number)


def one_to_bytes(text: Text, kind: str, number: int) -> bytes:
    """One of the texts of `each_to_bytes`, with this number."""
    try:
        return to_bytes(text)
    except TypeError as error:
        problem, advice = str(error), ""
        if isinstance(text, (list, tuple)):
            problem = f"text must be str or bytes, not {type(text).__name__}"
            advice = ": give its texts one by one, (text for batch in batches for text in batch)"
        elif isinstance(text, Mapping):
            advice = ": give the text of each, (record['text'] for record in records)"
        raise TypeError(f"{problem}: {kind} {number:,} (from 0) is {shown(text)}{advice}") from None


def to_data(text: Text | Source) -> Data:
    """As `to_bytes`, but a long text that is not `bytes` (such as a mapped file) becomes a view, not a copy.

    Raises TypeError for an open file; for these, see `as_source`.
    """
    if isinstance(text, str):  # first, as most texts are
        return text.encode("utf-8", _KEEP_SURROGATES)
    if type(text) is bytes:  # and not of a derived type, which kernels do not take
        return text
    try:
        view = memoryview(text)  # type: ignore[arg-type]
    except TypeError:
        if hasattr(text, "readinto"):  # callers that take files do not pass them here
            kind = type(text).__name__
            raise TypeError(f"text must be str or bytes here, and not an open file ({kind}): read it first") from None
        of_a_file = ' (of a file, open(path, "rb"))' if isinstance(text, (io.IOBase, os.PathLike)) else ""
        several = "; encode_batch takes a list of texts" if isinstance(text, (list, tuple)) else ""
        raise TypeError(f"text must be str or bytes{of_a_file}, not {type(text).__name__}{several}") from None
    if view.format.lstrip("<>") not in ("B", "c") or view.ndim != 1 or not view.c_contiguous:
        raise TypeError(
            f"text must be str or bytes, not {type(text).__name__} of format {view.format!r} and shape {view.shape}, "
            "which is not a contiguous row of bytes (uint8)"
        )
    if is_copied(len(view)):
        return view.tobytes()
    # The format of a ctypes array, as of multiprocessing, has the byte order, too; such a view cannot be indexed.
    return view if len(view.format) == 1 else memoryview(np.frombuffer(view, dtype=np.uint8))  # type: ignore[arg-type]


class Lent:
    """A context for work on text in memory of another owner: after an error, nothing of nbbpe refers to it.

    Otherwise the frames of the traceback would, and a mapped file could not be closed while the error propagates: `with`
    would raise a BufferError instead.
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
    """Whether a copy of this many bytes of text in memory is faster than a window in place."""
    return n_bytes <= _COPIED


def to_text(data: Data) -> str:
    """Bytes as the text that `regex` is given: each undecodable byte is one character."""
    return str(data, "utf-8", "surrogateescape")


def inserted(data: bytes, places: NDArray[np.int64], byte: bytes) -> bytes:
    """Insert a byte into `data` before each of some places, which ascend."""
    if len(places) * _LEAST_BETWEEN > len(data):
        return np.insert(np.frombuffer(data, dtype=np.uint8), places, byte[0]).tobytes()
    edges = [0, *places.tolist(), len(data)]
    return byte.join([data[start:end] for start, end in pairwise(edges)])


def padded(data: Data) -> NDArray[np.uint8]:
    """A copy of `data` as uint8, with the spare bytes that kernels may read past its end."""
    from ..kernels.machine.intrinsics import PADDING

    text = np.empty(len(data) + PADDING, dtype=np.uint8)
    text[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    text[len(data) :] = 0
    return text
