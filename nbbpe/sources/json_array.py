"""Files of JSON, .json: an array of records, or, as many are, JSON lines under this name."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..system.wrong_argument import WrongArgument
from ..text.utf8 import to_bytes
from ..text.windows import DocumentReader, TextStream, Windows
from .compressed import open_stream
from .first_bytes import refuse_other
from .inputs import WHOLE, File, Part, Stream
from .jsonl import JsonLines, JsonPart, Records, text_of
from .places import Record
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules

_BLOCK = 1 << 20
_SPACE = " \t\n\r"
_LONGEST_WORD = 16  # characters, more than -Infinity has, or an escape in a string


@dataclass(frozen=True, eq=False)
class JsonFilePart(Part):
    """All records of a file, of an array or in lines; see Part."""

    file: File
    compression: str
    field: str

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        with open_stream(self.file, self.compression, tally) as stream:
            has_lines, n_before, blocks = _look_into(_blocks(stream), self.file.name)
            if has_lines:
                lines = JsonPart(self.file, self.compression, WHOLE, self.field)
                yield Records(lines, TextStream(blocks), specials, separator, tally, n_before)
            else:
                yield DocumentReader(self._documents(blocks, tally), specials, separator)

    def _documents(self, blocks: Iterator[bytes], tally: Tally) -> Iterator[bytes]:
        """The text of each record of an array, as UTF-8."""
        for number, record in enumerate(_records(blocks, self.file.name)):
            try:
                text = text_of(record, self.field)
            except ValueError as error:
                tally.malformed(Record(self.file.name, number), str(error), isinstance(error, WrongArgument) and not number)
            else:
                yield to_bytes(text)


def _blocks(stream: Stream) -> Iterator[bytes]:
    """The bytes of a stream."""
    buffer = memoryview(bytearray(_BLOCK))
    while n := stream.readinto(buffer):
        yield bytes(buffer[:n])


def _look_into(blocks: Iterator[bytes], name: str) -> tuple[bool, int, Iterator[bytes]]:
    """Whether text begins as JSON lines do, not as an array; how many lines come before; and the blocks from there on.

    A pipe can be read once only, and of space before the first record there may be gigabytes. Raises ValueError that names
    the file for one of another kind.
    """
    start = b""
    for block in blocks:
        start += block
        if len(start) >= len(codecs.BOM_UTF8):
            break
    refuse_other(start, repr(name))
    start = start.removeprefix(codecs.BOM_UTF8)
    n_lines = 0
    while True:
        text = start.lstrip(_SPACE.encode())
        n_lines += start.count(b"\n", 0, len(start) - len(text))
        start = text[:1] + text[1:].lstrip(b" \t\r")
        if len(start) > 1 or not (block := next(blocks, b"")):
            break
        start += block
    # An object over several lines is neither; reading it as an array says so.
    return start.startswith(b"{") and start[1:2] != b"\n", n_lines, itertools.chain([start], blocks)


def _records(blocks: Iterator[bytes], name: str) -> Iterator[object]:
    """The items of an array, which is never held whole. Raises ValueError where it is none, or something follows it."""
    decode = json.JSONDecoder(parse_int=float).raw_decode
    decoder = codecs.getincrementaldecoder("utf-8")()
    text, place, is_whole, number = "", 0, False, 0
    wanted = "["  # then an item or the end, a comma or the end, and at last nothing
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        if place < len(text):
            if wanted == "[":
                if text[place] != "[":
                    raise ValueError(f"{name!r} must be a JSON array of records, or JSON lines")
                place, wanted = place + 1, "first"
                continue
            if wanted == "nothing":
                raise ValueError(f"{name!r}: more follows after the end of the array: write one array, or JSON lines")
            if text[place] == "]" and wanted in ("first", ","):
                place, wanted = place + 1, "nothing"
                continue
            if wanted == ",":
                if text[place] != ",":
                    raise ValueError(f"{name!r}, record {number:,} (from 0): after it must be a comma or the end")
                place, wanted = place + 1, "item"
                continue
            try:
                record, end = decode(text, place)
            except json.JSONDecodeError as error:
                if is_whole or not _may_be_begun(error, text):
                    problem = error.msg.removesuffix(" starting at")
                    raise ValueError(f"{name!r}, record {number:,} (from 0): this is not JSON: {problem}") from None
            except RecursionError:
                raise ValueError(f"{name!r}, record {number:,} (from 0): this is JSON that is nested too deeply") from None
            else:
                # A number may go on: of 1e-5, what was read may be 1 or 1e-.
                if is_whole or not isinstance(record, float) or end + _LONGEST_WORD <= len(text):
                    yield record
                    place, wanted, number = end, ",", number + 1
                    continue
        elif is_whole:
            if wanted == "nothing":
                return
            if wanted == "[":
                raise ValueError(f"{name!r} is empty: it must be a JSON array of records, such as [], or JSON lines")
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


def _may_be_begun(error: json.JSONDecodeError, text: str) -> bool:
    """Whether more text could mend an error: in the last word, or of a string without an end."""
    return error.pos + _LONGEST_WORD > len(text) or error.msg.startswith("Unterminated string")


class JsonArray(JsonLines):
    """A file of an array of records, or of JSON lines; see Input."""

    in_python = True

    def _whole(self) -> Part:
        """All records as one part."""
        return JsonFilePart(self.file, self.compression, self._field)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. An array is one part: where its records begin only reading can tell."""
        return [self._whole()]
