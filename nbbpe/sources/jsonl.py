"""Files of JSON lines: one record a line, with the text of a document in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..text.chunks import find_near
from ..text.utf8 import to_bytes
from ..text.windows import DocumentReader, Windows
from .compressed import PackableFile, Stream, open_stream
from .inputs import File, Part
from .tally import Line, Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.pattern import Pattern

_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"
_MAX_NAMED = 5  # fields of a record that are named where the wanted one is missing
# A number of five thousand digits is valid JSON, but int refuses it; no number's value is ever used here.
_parse = json.JSONDecoder(parse_int=float).decode
_KINDS = {dict: "an object", list: "an array", str: "a string", float: "a number", bool: "a boolean", type(None): "null"}


class JsonPart(NamedTuple):
    """The lines of a file that start at byte `start` and end at byte `end`; up to the file's end where that is None."""

    file: File
    packing: str
    field: str
    start: int
    end: int | None

    @property
    def has_records(self) -> bool:
        """See Part."""
        return True

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        with open_stream(self.file, self.packing, tally, self.start) as stream:
            yield DocumentReader(self.documents(stream, tally), specials, separator)

    def documents(self, stream: Stream, tally: Tally) -> Iterator[bytes]:
        """The text of each record, as UTF-8."""
        lines = _lines(stream, None if self.end is None else self.end - self.start, self.file.name)
        for number, line in enumerate(lines, 1):
            if number == 1 and self.start == 0:
                line = line.removeprefix(_BOM)
            if not line or line.isspace():
                continue
            try:
                text = _text(line, self.field)
            except ValueError as error:
                tally.bad_record(Line(self.file.name, number, self.file.path, self.start), str(error))
            else:
                yield to_bytes(text)


def _lines(stream: Stream, n_bytes: int | None, name: str) -> Iterator[bytes]:
    """The lines of a stream, or of its first `n_bytes`, without the newline after each."""
    begun: list[bytes] = []  # a line that may go on in the next block
    left = n_bytes
    while left != 0 and (block := stream.read(_BLOCK if left is None else min(_BLOCK, left))):
        if left is not None:
            left -= len(block)
        first, *more = block.split(b"\n")
        begun.append(first)
        if more:
            line = b"".join(begun)
            begun = [more.pop()]  # the parts of a long line are not kept beside it
            yield line
            yield from more
    if left:
        raise OSError(f"{name!r} became shorter while it was read")
    yield b"".join(begun)


def _text(line: bytes, field: str) -> str:
    """The text in a line's record. Raises ValueError that says what is bad about it."""
    try:
        record = _parse(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1:,} of it, {line[error.start]:#04x}, is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON: {error.msg} at character {error.pos + 1:,}") from None
    except RecursionError:
        raise ValueError("this is JSON that is nested too deeply") from None
    return text_of(record, field)


def text_of(record: object, field: str) -> str:
    """The text in a record. Raises ValueError that says what is bad about it."""
    if not isinstance(record, dict):
        raise ValueError(f"the record is {_KINDS[type(record)]}, and must be an object")
    try:
        text = record[field]
    except KeyError:
        fields = ", ".join(map(repr, list(record)[:_MAX_NAMED])) + (", ..." if len(record) > _MAX_NAMED else "")
        way_out = "; name the text's with field=" if fields else ""
        raise ValueError(f"the record has no field {field!r}, but {fields or 'none at all'}{way_out}") from None
    if not isinstance(text, str):
        raise ValueError(f"the field {field!r} is {_KINDS[type(text)]}, and must be a string")
    return text


class JsonLines(PackableFile):
    """A file of JSON lines, or a packed one; see Input."""

    has_records = True
    in_python = True

    def __init__(self, file: File, packing: str, field: str) -> None:
        super().__init__(file, packing)
        self._field = field

    def check(self, on_error: str) -> None:
        """See Input. A field that is nowhere is noticed in the first record."""
        super().check(on_error)
        if on_error == "raise" and self.size() is not None:
            tally = Tally(on_error)
            with open_stream(self.file, self.packing, tally) as stream:
                next(JsonPart(self.file, self.packing, self._field, 0, None).documents(stream, tally), None)

    def cut(self, part_bytes: int, pattern: Pattern, special_tokens: Sequence[bytes]) -> Sequence[Part]:
        """See Input. Cut after newlines."""
        size = self.size()
        if not size or self.file.path is None or not self.can_be_cut():
            return [JsonPart(self.file, self.packing, self._field, 0, None)]
        n_parts = max(1, round(size / part_bytes))
        boundaries = {0, size}
        if n_parts > 1:
            with self.file.open() as file:
                boundaries.update(newline + 1 for newline in find_near(file, size, n_parts, b"\n"))
        return [JsonPart(self.file, "", self._field, start, end) for start, end in pairwise(sorted(boundaries))]
