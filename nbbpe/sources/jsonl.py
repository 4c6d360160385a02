"""Reads files of JSON lines: one record per line, with the text of a document in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..system.arguments import argument
from ..system.excerpt import first_few
from ..system.wrong_argument import WrongArgument
from ..text.utf8 import to_bytes
from ..text.windows import NO_ID, SEPARATOR, Reader, RowWindows, Window, Windows
from .compression.compressed import open_stream
from .compression.compressible import CompressibleFile, FilePart
from .compression.line_chunks import CHUNK_BYTES, LineChunks
from .first_bytes import refuse_other
from .inputs import WHOLE, Extent, File, Part, Stream
from .places import Line
from .tally import Tally, way_out_of_nested

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules

_MOST_ESTIMATE = 2  # chunks are planned for twice the estimated text, as all text after the last planned chunk is in it
_FEW_THREADS = 3  # up to so many threads, it is enough that one at a time decompresses
_SLOW = (".bz2",)  # except for this format: decompressing takes much longer than encoding
_BOM = b"\xef\xbb\xbf"
# Integers are parsed as float: int rejects a number of five thousand digits, which is valid JSON. Values are never used.
_parse = json.JSONDecoder(parse_int=float).decode
_KINDS = {dict: "an object", list: "an array", str: "a string", float: "a number", bool: "a boolean", type(None): "null"}


@dataclass(frozen=True, eq=False)
class JsonPart(FilePart):
    """Lines of a file; see Part."""

    field: str

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        with open_stream(self.file, self.compression, tally, self.extent) as stream:
            yield Records(self, stream, specials, separator, tally)


@dataclass(frozen=True, eq=False)
class JsonChunk(Part):
    """Some of the lines of a compressed file that several threads read; see Part. It cannot be sent to another process."""

    of: JsonPart
    chunks: LineChunks
    number: int

    def span(self) -> tuple[int, int | None]:
        return self.of.span()

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        with self.chunks.chunk(self.number, tally) as (stream, n_before):
            part = replace(self.of, extent=Extent(skip=n_before))
            yield Records(part, stream, specials, separator, tally)


def shared_by_threads(parts: Sequence[Part], n_text: int, n_threads: int) -> Sequence[Part]:
    """The parts of an input, changed if that is better for `n_threads` threads in this process.

    A compressed file of JSON lines with one frame, or for few threads with several, is divided into chunks of lines.

    n_text : about how many bytes of text the input has
    """
    first = parts[0]
    # A remote file stays one part: a message with a line number would read it again, to count the lines before a chunk.
    if not isinstance(first, JsonPart) or not first.compression or first.file.path is None:
        return parts
    n_chunks = _MOST_ESTIMATE * n_text // CHUNK_BYTES + 1
    if not 1 < n_threads <= n_chunks or (len(parts) > 1 and (n_threads > _FEW_THREADS or first.compression in _SLOW)):
        return parts
    whole = replace(first, extent=WHOLE)
    chunks = LineChunks(partial(open_stream, whole.file, whole.compression, reads_ahead=False), n_chunks)
    return [JsonChunk(whole, chunks, number) for number in range(n_chunks)]


class Records(RowWindows):
    """Reads the texts of records, one window of lines at a time; see RowWindows."""

    def __init__(
        self, part: JsonPart, stream: Stream, specials: SpecialTokens, separator: int, tally: Tally, n_before: int = 0
    ) -> None:
        """`n_before` is the number of lines of the part that are not in the stream."""
        super().__init__(specials, separator)
        self._part = part
        self._tally = tally
        self._field = np.frombuffer(to_bytes(part.field), dtype=np.uint8)
        self._reader = Reader(stream, part.extent.n_bytes(part.compression), _no_specials())
        self.n_expected = self._reader.n_expected
        self._lines: Window | None = None
        self._position = 0  # where the next line starts in the window
        self._n_lines = n_before  # lines before it in the part
        self._has_texts = False  # whether a record so far had a text

    def advance(self, taken: int) -> Window | None:
        while True:
            n_bytes, n_records = self._take()
            if n_records:
                return self._window(n_bytes, n_records)
            self._lines = self._reader.advance(self._position)
            if self._lines is None:
                return None
            self._position = self._lines.start
            self._lines.data[self._lines.end] = 0
            self._make_room(len(self._lines.data))  # enough, as no text is longer than its line

    def _take(self) -> tuple[int, int]:
        """Read the next lines of the window into `_out` and `_breaks`; returns (bytes of their texts, records).

        The kernel reads usual lines. It stops at a line that it does not understand, which `_text` then reads.
        """
        from ..kernels.records.json_lines import take_lines

        n_bytes = n_records = 0
        while self._lines is not None:
            data, _, end, limit, _ = self._lines
            n_before = n_records
            self._position, after, n_bytes, n_records = take_lines(
                *(data, self._position, end, limit == end, self._field),
                *(self._out, n_bytes, self._breaks, n_records, self._separator),
            )
            self._n_lines += n_records - n_before
            self._has_texts = self._has_texts or n_records > 0
            if after == self._position:
                break
            text = self._text(data[self._position : after].tobytes())
            self._position = after
            if text is not None:
                end = n_bytes + len(text)
                self._out[n_bytes : end + 1] = np.frombuffer(text + SEPARATOR, dtype=np.uint8)
                self._breaks[n_records] = end, end + 1, self._separator
                n_bytes = end + 1
                n_records += 1
        return n_bytes, n_records

    def _text(self, line: bytes) -> bytes | None:
        """The text of the record in a line, as UTF-8, parsed by `json`; None for an empty line or a skipped record."""
        self._n_lines += 1
        part = self._part
        line = line.removesuffix(b"\n")
        is_first = self._n_lines == 1 and not part.extent.start and not part.extent.skip
        if is_first:
            refuse_other(line, repr(part.file.name))
            line = line.removeprefix(_BOM)
        if not line or line.isspace():
            return None
        try:
            return to_bytes(_text(line, part.field))
        except ValueError as error:
            start, _, skip, _ = part.extent
            line_of_file = Line(part.file.name, self._n_lines, part.file.path, start, skip, part.compression)
            problem = str(error)
            if is_first and line.lstrip().startswith(b"["):
                problem += "; if the file is one array of records, its name must end in .json"
            # If no record so far has had such a field, the argument is probably wrong, and not this record.
            self._tally.malformed(line_of_file, problem, isinstance(error, WrongArgument) and not self._has_texts)
            return None


def _no_specials() -> SpecialTokens:
    from ..kernels.pieces.special_tokens import new_special_tokens

    return new_special_tokens([])


def _text(line: bytes, field: str) -> str:
    """The text of the record in a line. Raises ValueError that says what is wrong with the record."""
    try:
        record = _parse(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} of it, {line[error.start]:#04x}, is invalid UTF-8") from None
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")  # as in "Unterminated string starting at"
        raise ValueError(f"this is not JSON: {problem} at character {error.pos + 1:,}") from None
    except RecursionError:
        raise ValueError("this is JSON that is nested too deeply") from None
    return text_of(record, field)


def text_of(record: object, field: str) -> str:
    """The text of a record. Raises ValueError that says what is wrong, or WrongArgument if it has only other fields."""
    if not isinstance(record, dict):
        raise ValueError(f"the record is {_KINDS[type(record)]}, and must be an object")
    try:
        text = record[field]
    except KeyError:
        if not record:
            raise ValueError(f"the record has no field {field!r}, but none at all") from None
        way_out = f"name the right one with {argument('field', ...)}"
        raise WrongArgument(f"the record has no field {field!r}, but {first_few(list(record))}; {way_out}") from None
    if not isinstance(text, str):
        way_out = way_out_of_nested() if isinstance(text, (dict, list)) else ""
        raise ValueError(f"the field {field!r} is {_KINDS[type(text)]}, and must be a string{way_out}")
    return text


class JsonLines(CompressibleFile):
    """A file of JSON lines, compressed or not; see Input."""

    def __init__(self, file: File, compression: str, field: str) -> None:
        super().__init__(file, compression)
        self._field = field

    def check(self, on_error: str) -> None:
        """See Input. The first record is read, to notice a field that no record has."""
        super().check(on_error)
        if on_error == "raise" and self.size() is not None:
            with self._whole().open(_no_specials(), False, NO_ID, Tally(on_error)) as windows:
                windows.advance(0)

    def _whole(self) -> Part:
        """The complete file as one part."""
        return JsonPart(self.file, self.compression, WHOLE, self._field)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. Cut after newlines."""
        extents = self.cut_after_newlines(part_bytes)
        return [JsonPart(self.file, self.compression, extent, self._field) for extent in extents]
