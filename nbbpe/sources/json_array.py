"""Reads .json files: an array of records, or JSON lines, which often have this name."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..system.wrong_argument import WrongArgument
from ..text.byte_source import BlockStream
from ..text.utf8 import to_bytes
from ..text.windows import DocumentReader, Windows
from .compression.compressed import open_stream
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
_LONGEST_WORD = 16  # characters; -Infinity, and an escape in a string, have fewer


@dataclass(frozen=True, eq=False)
class JsonFilePart(Part):
    """All records of a file, in an array or in lines; see Part."""

    file: File
    compression: str
    field: str

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        with open_stream(self.file, self.compression, tally) as stream:
            has_lines, n_before, blocks = _recognise(_blocks(stream), self.file.name)
            if has_lines:
                lines = JsonPart(self.file, self.compression, WHOLE, self.field)
                yield Records(lines, BlockStream(blocks), specials, separator, tally, n_before)
            else:
                yield DocumentReader(self._documents(blocks, tally), specials, separator)

    def _documents(self, blocks: Iterator[bytes], tally: Tally) -> Iterator[bytes]:
        """Yield the text of each record of an array, as UTF-8."""
        for number, record in enumerate(_records(blocks, self.file.name)):
            try:
                text = text_of(record, self.field)
            except ValueError as error:
                tally.malformed(Record(self.file.name, number), str(error), isinstance(error, WrongArgument) and not number)
            else:
                yield to_bytes(text)


def _blocks(stream: Stream) -> Iterator[bytes]:
    """Yield the bytes of a stream in blocks."""
    buffer = memoryview(bytearray(_BLOCK))
    while n := stream.readinto(buffer):
        yield bytes(buffer[:n])


def _recognise(blocks: Iterator[bytes], name: str) -> tuple[bool, int, Iterator[bytes]]:
    """Return (whether the file is JSON lines, not an array; empty lines before the first record; the blocks from there on).

    Whitespace before the first record, which may be gigabytes, is dropped, as a pipe can be read only once. Raises
    ValueError that names the file if it has another format.
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
    # An object on several lines is neither; reading it as an array raises the error.
    return start.startswith(b"{") and start[1:2] != b"\n", n_lines, itertools.chain([start], blocks)


def _records(blocks: Iterator[bytes], name: str) -> Iterator[object]:
    """Yield the items of an array, of which only a part is in memory. Raises ValueError for invalid JSON."""
    text = _JsonText(blocks, name)
    begin = text.next_sign()
    if not begin:
        raise ValueError(f"{name!r} is empty: it must be a JSON array of records, such as [], or JSON lines")
    if begin != "[":
        raise ValueError(f"{name!r} must be a JSON array of records, or JSON lines")
    text.skip()
    sign = text.next_sign()
    while sign != "]":
        yield text.item()
        sign = text.next_sign()
        if sign == ",":
            text.skip()
        elif sign and sign != "]":
            raise ValueError(f"{name!r}, record {text.n_items - 1:,} (from 0): after it must be a comma or the end")
    text.skip()
    if text.next_sign():
        raise ValueError(f"{name!r}: more follows after the end of the array: write one array, or JSON lines")


class _JsonText:
    """The text of a JSON file, of which about one item and one block are in memory at a time.

    n_items : the number of items read so far
    """

    def __init__(self, blocks: Iterator[bytes], name: str) -> None:
        self._blocks = blocks
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._parse = json.JSONDecoder(parse_int=float).raw_decode
        self._text, self._place = "", 0
        self._is_whole = False  # whether the file has been read to its end
        self.n_items = 0

    def next_sign(self) -> str:
        """The next character that is not whitespace; "" at the end."""
        while True:
            text, place = self._text, self._place
            while place < len(text):
                if (sign := text[place]) not in _SPACE:
                    self._place = place
                    return sign
                place += 1
            self._place = place
            if self._is_whole:
                return ""
            self._read()

    def skip(self) -> None:
        """Skip the next character."""
        self._place += 1

    def item(self) -> object:
        """Read the next item of an array. Raises ValueError for invalid JSON, and at the end of the text."""
        if not self.next_sign():
            raise ValueError(f"{self._name!r}: the array has no end")
        while True:
            try:
                item, end = self._parse(self._text, self._place)
            except json.JSONDecodeError as error:
                if self._is_whole or not _may_be_incomplete(error, self._text):
                    raise self._error(f"this is not JSON: {error.msg.removesuffix(' starting at')}") from None
            except RecursionError:
                raise self._error("this is JSON that is nested too deeply") from None
            else:
                # A number may be incomplete: of 1e-5, perhaps only 1 is in memory.
                if self._is_whole or not isinstance(item, float) or end + _LONGEST_WORD <= len(self._text):
                    self._place = end
                    self.n_items += 1
                    return item
            self._read()

    def _error(self, problem: str) -> ValueError:
        return ValueError(f"{self._name!r}, record {self.n_items:,} (from 0): {problem}")

    def _read(self) -> None:
        """Read more text: as much as is not parsed yet, so that a long item is not parsed again after each block."""
        self._text = self._text[self._place :]
        self._place = 0
        size = max(_BLOCK, len(self._text))
        more = [self._text]
        while size > 0 and not self._is_whole:
            block = next(self._blocks, b"")
            self._is_whole = not block
            size -= len(block)
            try:
                more.append(self._decoder.decode(block, final=self._is_whole))
            except UnicodeDecodeError as error:
                where = f"{self._name!r}: near record {self.n_items:,} (from 0)"
                raise ValueError(f"{where} is invalid UTF-8 ({error.reason})") from None
        self._text = "".join(more)


def _may_be_incomplete(error: json.JSONDecodeError, text: str) -> bool:
    """Whether the error may only mean that more text is needed: it is in the last word, or in a string without an end."""
    return error.pos + _LONGEST_WORD > len(text) or error.msg.startswith("Unterminated string")


class JsonArray(JsonLines):
    """A .json file, with an array of records or JSON lines; see Input."""

    in_python = True

    def _whole(self) -> Part:
        """All records as one part."""
        return JsonFilePart(self.file, self.compression, self._field)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. An array is one part, as only reading it from the beginning tells where records begin."""
        return [self._whole()]
