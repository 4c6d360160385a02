"""Samples the documents of a source; the sample is the same for any number of workers and any order of files.

A digest of a document's bytes, keyed by a seed, decides whether it is in a sample. So if two documents are equal, both are
in a sample or neither, and no text is both in a held-out set and outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..text.windows import NO_ID, Reader, RowWindows, Window, Windows
from .compression.compressed import open_stream
from .compression.compressible import FilePart
from .inputs import WHOLE, Input, Part
from .plain import PlainText, TextPart
from .tally import Tally

if TYPE_CHECKING:
    from ..kernels.pieces.special_tokens import SpecialTokens
    from ..text.chunks import CutRules

_N_DIGESTS = 2**64
_LONGEST_LINE = 1 << 20  # bytes; longer ones are several documents
_NEWLINE = ord("\n")


class Sample(NamedTuple):
    """The documents whose digests, scaled to 0 to 1, are at least `low` and less than `high`."""

    seed: int
    low: float
    high: float

    def digests(self) -> tuple[int, int]:
        """The first and the last digest in the sample; the first is greater if there is none."""
        first, end = int(self.low * _N_DIGESTS), int(self.high * _N_DIGESTS)
        return (first, end - 1) if first < end else (1, 0)


class SampledInput(Input):
    """The documents of an input that are in a sample; see Input.

    In plain text, special tokens divide documents; without special tokens, each line is one.
    """

    def __init__(self, source: Input, sample: Sample) -> None:
        self.file = source.file
        self.in_python = source.in_python
        self._source = source
        self._sample = sample

    def n_text(self) -> int:
        return self._source.n_text()

    def check(self, on_error: str) -> None:
        self._source.check(on_error)

    def cut(self, part_bytes: int, rules: CutRules) -> Sequence[Part]:
        """See Input. A file of plain text with special tokens is one part, as cutting it could divide a document."""
        source, dividers = self._source, rules.special_tokens
        if not isinstance(source, PlainText):
            return [SampledPart(part, self._sample) for part in source.cut(part_bytes, rules)]
        if dividers:
            return [SampledPart(TextPart(source.file, source.compression, WHOLE, True), self._sample, dividers)]
        extents = source.cut_after_newlines(part_bytes)
        return [SampledPart(LinesPart(source.file, source.compression, extent), self._sample) for extent in extents]


@dataclass(frozen=True, eq=False)
class SampledPart(Part):
    """The documents of a part that are in a sample; see Part.

    dividers : the special tokens that divide the text into documents; none if the part has records. (They may be fewer than
        those found in documents: runs of spaces, for example, do not divide documents)
    """

    part: Part
    sample: Sample
    dividers: Sequence[bytes] = ()

    def span(self) -> tuple[int, int | None]:
        return self.part.span()

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        from ..kernels.pieces.special_tokens import new_special_tokens

        with self.part.open(new_special_tokens(list(self.dividers)), False, NO_ID, tally) as windows:
            yield _SampledWindows(windows, self.sample, specials, separator)


class _SampledWindows(RowWindows):
    """The documents of windows that are in a sample; see RowWindows."""

    def __init__(self, windows: Windows, sample: Sample, specials: SpecialTokens, separator: int) -> None:
        super().__init__(specials, separator, 0)
        self._windows = windows
        self._seed = sample.seed % 2**64
        self._digests = sample.digests()
        self._taken = 0

    def advance(self, taken: int) -> Window | None:
        from ..kernels.records.samples import take_sample

        while (window := self._windows.advance(self._taken)) is not None:
            data, start, end, _, breaks = window.of_whole_documents()
            self._taken = end
            self._make_room(end - start + len(breaks) + 1, len(breaks) + 1)
            n_taken, n_bytes = take_sample(
                data, start, end, breaks, self._seed, *self._digests, self._out, self._breaks, self._separator
            )
            if n_taken:
                return self._window(n_bytes, n_taken)
        return None


@dataclass(frozen=True, eq=False)
class LinesPart(FilePart):
    """Lines of a file of plain text. Each, with its newline, is a document; see Part."""

    @contextmanager
    def open(self, specials: SpecialTokens, at_once: bool, separator: int, tally: Tally) -> Iterator[Windows]:
        """See Part. An empty break ends each line; special tokens are not searched."""
        with open_stream(self.file, self.compression, tally, self.extent) as stream:
            yield _LineWindows(Reader(stream, self.extent.n_bytes(self.compression), specials, at_once))


class _LineWindows(Windows):
    """Windows of plain text with an empty break after each line; long lines are cut."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def advance(self, taken: int) -> Window | None:
        window = self._reader.advance(taken)
        if window is None:
            return None
        ends = np.flatnonzero(window.data[window.start : window.end] == _NEWLINE) + window.start + 1
        ends = _with_cuts(window, ends)
        return window._replace(breaks=np.stack([ends, ends, np.full(len(ends), NO_ID)], axis=1))


def _with_cuts(window: Window, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add to the ends of lines the places where too long lines are cut; these are not inside a character."""
    bounds = np.concatenate([[window.start], ends, [window.end]])
    cuts = []
    for line in np.flatnonzero(np.diff(bounds) > _LONGEST_LINE).tolist():
        start, end = bounds[line : line + 2].tolist()
        while end - start > _LONGEST_LINE:
            start += _LONGEST_LINE
            most = 3
            while most and window.data[start] & 0xC0 == 0x80:
                start, most = start - 1, most - 1
            cuts.append(start)
    return np.sort(np.concatenate([ends, np.array(cuts, dtype=np.int64)]))
