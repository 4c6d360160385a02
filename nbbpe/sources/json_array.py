"""Files of JSON, .json: an array of records, or, as many are, JSON lines under this name."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ..text.utf8 import to_bytes
from ..text.windows import DocumentReader, Windows
from .compressed import open_stream
from .inputs import File, Part, Stream
from .jsonl import JsonLines, text_of
from .places import Record
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.pattern import Pattern

_BLOCK = 1 << 20
_SPACE = " \t\n\r"


class ArrayPart(NamedTuple):
    """All records of an array."""

    file: File
    compression: str
    field: str
    has_records: bool = True

    def span(self) -> tuple[int, int | None]:
        """See Part."""
        return 0, None

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        with open_stream(self.file, self.compression, tally) as stream:
            yield DocumentReader(self.documents(stream, tally), specials, separator)

    def documents(self, stream: Stream, tally: Tally) -> Iterator[bytes]:
        """The text of each record, as UTF-8."""
        for number, record in enumerate(_records(stream, self.file.name)):
            try:
                text = text_of(record, self.field)
            except ValueError as error:
                tally.malformed(Record(self.file.name, number), str(error))
            else:
                yield to_bytes(text)


def _blocks(stream: Stream) -> Iterator[bytes]:
    """The bytes of a stream."""
    buffer = memoryview(bytearray(_BLOCK))
    while n := stream.readinto(buffer):
        yield bytes(buffer[:n])


def _records(stream: Stream, name: str) -> Iterator[object]:
    """The items of an array, which is never held whole. Raises ValueError where it is none."""
    decode = json.JSONDecoder(parse_int=float).raw_decode
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    blocks = _blocks(stream)
    text, place, is_whole, number = "", 0, False, 0
    wanted = "["  # then an item or the end, a comma or the end
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        if place < len(text):
            if wanted == "[":
                if text[place] != "[":
                    raise ValueError(f"{name!r} must be a JSON array of records, or JSON lines")
                place, wanted = place + 1, "first"
                continue
            if text[place] == "]" and wanted in ("first", ","):
                break
            if wanted == ",":
                if text[place] != ",":
                    raise ValueError(f"{name!r}, record {number:,} (from 0): after it must be a comma or the end")
                place, wanted = place + 1, "item"
                continue
            try:
                record, end = decode(text, place)
            except json.JSONDecodeError as error:
                if is_whole:
                    raise ValueError(f"{name!r}, record {number:,} (from 0): this is not JSON: {error.msg}") from None
            except RecursionError:
                raise ValueError(f"{name!r}, record {number:,} (from 0): this is JSON that is nested too deeply") from None
            else:
                yield record
                place, wanted, number = end, ",", number + 1
                continue
        elif is_whole:
            raise ValueError(f"{name!r}: the array has no end")
        # At least twice as long as what was not understood, or a long record would be looked through again and again.
        text = text[place:]
        place = 0
        size = max(_BLOCK, len(text))
        more: list[str] = []
        while size > 0 and not is_whole:
            block = next(blocks, b"")
            is_whole = not block
            size -= len(block)
            try:
                more.append(decoder.decode(block, final=is_whole))
            except UnicodeDecodeError as error:
                raise ValueError(f"{name!r}: near record {number:,} (from 0) is invalid UTF-8 ({error.reason})") from None
        text += "".join(more)


class JsonArray(JsonLines):
    """A file of an array of records, or of JSON lines; see Input."""

    in_python = True

    def _whole(self) -> Part:
        """The records as the first character tells them: of an array, or in lines."""
        if self.size() is not None:
            with open_stream(self.file, self.compression, Tally("raise"), reads_ahead=False) as stream:
                start = text = after = b""
                for block in _blocks(stream):
                    start += block
                    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
                    after = text[1:].lstrip(b" \t\r")
                    if after and len(start) > len(codecs.BOM_UTF8):
                        break
            # An object over several lines is neither; reading it as an array says so.
            if text.startswith(b"{") and not after.startswith(b"\n"):
                return super()._whole()
        return ArrayPart(self.file, self.compression, self._field)

    def cut(self, part_bytes: int, pattern: Pattern, special_tokens: Sequence[bytes]) -> Sequence[Part]:
        """See Input. An array is one part: where its records begin only reading can tell."""
        return [self._whole()]
