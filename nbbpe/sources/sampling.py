"""A sample of the documents of a source, the same for any number of workers and any order of files.

Whether a document is in a sample is decided by a digest of its bytes, keyed by a seed. So of two equal documents both are
in a sample or neither, and none is on both sides of a held-out set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..text.windows import NO_ID, DocumentReader, Windows
from .compressed import open_stream
from .inputs import WHOLE, File, Input, Part, Stream
from .plain import PlainText, TextPart
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules

_N_DIGESTS = 2**64
_LONGEST_LINE = 1 << 20  # bytes; longer ones are several documents


class Sample(NamedTuple):
    """The documents whose digests, as a share of all digests, are at least `low` and less than `high`.

    >>> everything = Sample(seed=0, low=0.0, high=1.0)
    >>> everything.has(b"any text")
    True
    """

    seed: int
    low: float
    high: float

    def has(self, document: bytes) -> bool:
        """Whether a document is in the sample."""
        key = self.seed.to_bytes(8, "little", signed=True)
        digest = int.from_bytes(hashlib.blake2b(document, digest_size=8, key=key).digest(), "little")
        return int(self.low * _N_DIGESTS) <= digest < int(self.high * _N_DIGESTS)


class SampledInput(Input):
    """The documents of an input that are in a sample; see Input.

    In plain text they are what special tokens divide, or lines without special tokens.
    """

    has_records = True
    in_python = True

    def __init__(self, source: Input, sample: Sample) -> None:
        self.file = source.file
        self._source = source
        self._sample = sample

    def n_text(self) -> int:
        """See Input."""
        return self._source.n_text()

    def check(self, on_error: str) -> None:
        """See Input."""
        self._source.check(on_error)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. A file of plain text is one part, as a cut could divide a document."""
        if not isinstance(self._source, PlainText):
            parts = self._source.cut(part_bytes, rules)
            return [SampledPart(part, self._sample) for part in parts]
        file, compression = self._source.file, self._source.compression
        if not rules.special_tokens:
            return [SampledPart(LinesPart(file, compression), self._sample)]
        return [SampledPart(TextPart(file, compression, WHOLE, True), self._sample, tuple(rules.special_tokens))]


@dataclass(frozen=True, eq=False)
class SampledPart(Part):
    """The documents of a part that are in a sample; see Part.

    dividers : the special tokens that divide its text into documents; none where it has documents, whatever they spell.
        Those that are looked for in documents may be others: runs of spaces, for example, divide none
    """

    part: Part
    sample: Sample
    dividers: tuple[bytes, ...] = ()

    def span(self) -> tuple[int, int | None]:
        """See Part."""
        return self.part.span()

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        from ..kernels.pieces.special_tokens import new_special_tokens

        with self.part.open(new_special_tokens(list(self.dividers)), False, NO_ID, tally) as windows:
            yield DocumentReader(filter(self.sample.has, _documents(windows)), specials, separator)


@dataclass(frozen=True, eq=False)
class LinesPart(Part):
    """A file of plain text whose documents are its lines, newlines included; see Part."""

    file: File
    compression: str

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part."""
        with open_stream(self.file, self.compression, tally) as stream:
            yield DocumentReader(_lines(stream), specials, separator)


def _documents(windows: Windows) -> Iterator[bytes]:
    """The documents of windows; empty ones are skipped."""
    taken = 0
    while (window := windows.advance(taken)) is not None:
        window = window.of_whole_documents()
        for document, _ in window.documents():
            if document:
                yield document
        taken = window.end


def _lines(stream: Stream) -> Iterator[bytes]:
    """The lines of a stream with their newlines, and what follows the last one; long ones in several."""
    buffer = bytearray(_LONGEST_LINE)
    left = b""
    while n := stream.readinto(memoryview(buffer)):
        data = left + buffer[:n]
        start = 0
        while True:
            end = data.find(b"\n", start, start + _LONGEST_LINE) + 1
            if not end:
                if len(data) - start <= _LONGEST_LINE:
                    break
                end = start + _LONGEST_LINE
                while data[end] & 0xC0 == 0x80 and end > start + _LONGEST_LINE - 4:  # not within a character
                    end -= 1
            yield data[start:end]
            start = end
        left = data[start:]
    if left:
        yield left
