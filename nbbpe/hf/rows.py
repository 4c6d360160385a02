"""From the ids of texts to what a call of transformers returns: cut, with tokens around, types, masks, offsets, padded.

transformers leaves this to tokenizers, which goes token by token; here the same rules are applied to whole rows. Where None
is returned, tokenizers must decide, or say what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice, pairwise
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ..model.post_processor import Template, Templates

Rows = list[list[Any]]
Span = tuple[int, int, int]

SIDES = "left", "right"
_TRUNCATION = "longest_first", "only_first", "only_second"
_NO_TRUNCATION = None, "do_not_truncate"
_LISTS = frozenset([list, tuple])


class Batch(NamedTuple):
    """The texts of a call: one in each row, or the first ones of all rows, then the second ones.

    texts   : or the words of all texts, one after another
    is_pair : whether a row has two texts
    n_words : of each text, if texts are split into words; None if they are whole
    """

    texts: list[str]
    is_pair: bool
    n_words: list[int] | None = None

    @classmethod
    def of(cls, texts: Any, others: Any = None, is_split: bool = False) -> Batch | None:
        """From a batch of texts, of pairs, or from two batches of texts; None if it is none of these.

        is_split : whether each text is a list of words
        """
        if is_split:
            return cls._of_words(texts, others)
        if not isinstance(texts, (list, tuple)) or not texts:
            return None
        if others is None:
            if all(isinstance(text, str) for text in texts):
                return cls(list(texts), False)
            if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in texts):
                return None
            texts, others = zip(*texts, strict=True)
        if not isinstance(others, (list, tuple)) or len(others) != len(texts):
            return None
        both = [*texts, *others]
        return cls(both, True) if all(isinstance(text, str) for text in both) else None

    @classmethod
    def _of_words(cls, texts: Any, others: Any) -> Batch | None:
        if not _are_lists([texts]) or not texts or not _are_lists(texts):
            return None
        if others is None and _are_lists(next(filter(None, texts), "")):  # pairs, which may be lists, too
            if any(len(pair) != 2 for pair in texts):
                return None
            texts, others = zip(*texts, strict=True)
        if others is not None and not (_are_lists([others]) and len(others) == len(texts)):
            return None
        both = [*texts, *(others or ())]
        if not _are_lists(both):
            return None
        words = list(chain.from_iterable(both))
        # As in `_are_lists`.
        if set(map(type, words)) != {str} and not all(isinstance(word, str) for word in words):
            return None
        return cls(words, others is not None, list(map(len, both)))

    def bounds(self, starts: list[int] | NDArray[np.int64]) -> list[int]:
        """Where the ids of each whole text start, and where the last ones end; `starts` are those of each of `texts`."""
        if self.n_words is not None:
            return [int(starts[i]) for i in accumulate(self.n_words, initial=0)]
        return starts if isinstance(starts, list) else starts.tolist()


class Frame:
    """What is put around the texts of a row.

    pieces  : of a template
    types   : the type of each piece, for models that count one for each text
    later   : the type of a first text, and of a second one, in rows after the one that it begins
    n_ids   : how many ids are put around
    n_usual : how many are put around one text unless they are declined
    is_pair : whether a row has two texts
    n_texts : how many texts are in a row, each once; None where tokenizers numbers them otherwise than by 0 and 1
    """

    def __init__(
        self,
        pieces: Template,
        types: list[int],
        later: tuple[int, int],
        is_pair: bool,
        has_ids: bool,
        n_usual: int,
        is_numbered_once: bool,
    ) -> None:
        kept = [i for i, piece in enumerate(pieces) if has_ids or isinstance(piece, str)]
        self.pieces: Template = [pieces[i] for i in kept]
        self.types = [types[i] for i in kept]
        self.later = later
        self.n_ids = sum(len(piece) for piece in self.pieces if isinstance(piece, list))
        self.n_usual = n_usual
        self.is_pair = is_pair
        texts = [piece for piece in self.pieces if isinstance(piece, str)]
        self.n_texts = len(texts) if is_numbered_once and texts in (["A"], ["A", "B"], ["B", "A"]) else None
        self._is_bare = self.pieces == ["A"] and not is_pair

    def put(self, rows: Rows) -> Rows:
        """The rows of texts with the ids that are around them; `rows` are the ids of texts."""
        return rows if self._is_bare else self._around(rows, self.pieces)

    def put_value(self, rows: Rows, value: Any) -> Rows:
        """The same for another column of texts, in which `value` stands for each id around."""
        if self._is_bare:
            return rows
        return self._around(rows, [piece if isinstance(piece, str) else [value] * len(piece) for piece in self.pieces])

    def _around(self, rows: Rows, pieces: Template) -> Rows:
        around = Templates(pieces, pieces).around
        n = len(rows) // 2
        return list(map(around, rows[:n], rows[n:])) if self.is_pair else list(map(around, rows))

    def numbers_of_texts(self, rows: Rows) -> Rows | None:
        """For each id of a row, the number of its text, or None; None if tokenizers must tell."""
        if self.n_texts is None:
            return None
        n_first = len(rows) // (1 + self.is_pair)
        return self.put_value([[int(i >= n_first)] * len(row) for i, row in enumerate(rows)], None)

    def ranges(self, lengths: list[int]) -> list[range] | None:
        """Where the ids of each text of a row are, with the ids around it; None if tokenizers must tell.

        lengths : of the first text, and of a second one
        """
        if self.n_texts is None:
            return None
        if self._is_bare:
            return [range(lengths[0])]
        found = [range(0)] * self.n_texts
        place = 0
        for piece in self.pieces:
            number = 0 if piece == "A" else 1
            end = place + (len(piece) if isinstance(piece, list) else lengths[number])
            if isinstance(piece, str):
                found[number] = range(place, end)
            place = end
        return found

    def combined(self, firsts: list[Span], seconds: list[Span]) -> list[tuple[Span, Span]] | None:
        """The rows of all stretches of a pair, in the order of tokenizers; None if a text is in a row twice."""
        texts = [piece for piece in self.pieces if isinstance(piece, str)]
        if len(set(texts)) < len(texts):
            return None
        if texts == ["B", "A"]:
            return [(first, second) for second, first in _combined(seconds, firsts)]
        return _combined(*(each if text in texts else each[:1] for text, each in (("A", firsts), ("B", seconds))))

    def type_rows(self, rows: Rows, framed: Rows, are_later: list[bool]) -> Rows:
        """The types of the ids of each row, and of those around; `framed` are the rows with these.

        are_later : whether each of `rows` is not the one that its text begins
        """
        if not any(self.types) and not (any(self.later[: 1 + self.is_pair]) and any(are_later)):
            return [[0] * len(row) for row in framed]
        found: Rows = [[] for _ in framed]
        n = len(found)
        for piece, its_type in zip(self.pieces, self.types, strict=True):
            if isinstance(piece, list):
                for row in found:
                    row += [its_type] * len(piece)
            else:
                of_text = slice(n) if piece == "A" else slice(-n, None)
                later = self.later[piece == "B"]
                for row, text, is_later in zip(found, rows[of_text], are_later[of_text], strict=True):
                    row += [later if is_later else its_type] * len(text)
        return found


class Cut(NamedTuple):
    """Which stretches of the ids of all texts are in rows: of the first texts of all these rows, then of the second ones.

    numbers : the number of the text of each
    places  : where each starts and ends in the ids of all texts
    later   : whether each is of a text that an earlier row begins; it overflows there
    """

    numbers: Sequence[int]
    places: list[tuple[int, int]]
    later: list[bool]

    @classmethod
    def of(cls, bounds: list[int], frame: Frame, options: Mapping[str, Any], from_end: bool) -> Cut | None:
        """That of the texts of a Batch.

        bounds   : where the ids of each text start, and where the last ones end
        from_end : whether the end of a text stays
        """
        places = list(pairwise(bounds))
        if options.get("truncation_strategy") in _NO_TRUNCATION:
            return cls(range(len(places)), places, [False] * len(places))
        counts = [end - start for start, end in places]
        kept = _checked_kept(counts, frame, options)
        if kept is None:
            return None
        overflows, stride = options.get("return_overflowing_tokens"), options.get("stride", 0)
        steps = _stretches_from_end if from_end else _stretches
        found: list[list[Span]] = []
        for i, (n, length) in enumerate(zip(counts, kept, strict=True)):
            found.append([(i, *span) for span in islice(steps(n, length, stride), None if overflows else 1)])
        if frame.is_pair and overflows:
            n_rows = len(counts) // 2
            combined = list(map(frame.combined, found[:n_rows], found[n_rows:]))
            if None in combined:
                return None
            pairs = [pair for each in combined for pair in each or ()]
            spans = [first for first, _ in pairs] + [second for _, second in pairs]
        else:
            spans = list(chain.from_iterable(found))
        places = [(bounds[i] + start, bounds[i] + end) for i, start, end in spans]
        later = [end < counts[i] if from_end else start > 0 for i, start, end in spans]
        return cls([i for i, _, _ in spans], places, later)

    def only(self, number: int, is_pair: bool) -> Cut:
        """The stretches of one row."""
        chosen = (number, number + len(self.places) // 2) if is_pair else (number,)
        numbers, places, later = self
        return Cut([numbers[i] for i in chosen], [places[i] for i in chosen], [later[i] for i in chosen])


def _combined(ones: list[Span], others: list[Span]) -> list[tuple[Span, Span]]:
    """Each stretch of one text with each of another, the row of both first ones at first, and those with the first of
    `ones` at last."""
    return [
        (ones[0], others[0]),
        *((one, other) for one in ones[1:] for other in others),
        *((ones[0], other) for other in others[1:]),
    ]


def _checked_kept(counts: list[int], frame: Frame, options: Mapping[str, Any]) -> list[int] | None:
    """As `_kept`, by the options of a call."""
    strategy, most, stride = options["truncation_strategy"], options.get("max_length"), options.get("stride", 0)
    # tokenizers cuts nothing where not even the ids around fit, and refuses a stride that does not fit.
    if strategy not in _TRUNCATION or not (_is_size(most) and _is_size(stride)) or most < frame.n_ids:
        return None
    if stride and stride > most - frame.n_usual:
        return None
    kept = _kept(counts, most - frame.n_ids, frame.is_pair, strategy)
    if kept is None or not (stride or options.get("return_overflowing_tokens")):
        return kept
    # Nor does a stride fit into a text of which less stays. One of which nothing stays overflows as a whole.
    return None if any(length <= stride and length < n for n, length in zip(counts, kept, strict=True)) else kept


def _kept(counts: list[int], room: int, is_pair: bool, strategy: str) -> list[int] | None:
    """How many of the ids of each text stay, where there is room for so many in a row."""
    n = len(counts) // 2 if is_pair else len(counts)
    firsts, seconds = counts[:n], counts[n:] or [0] * n
    for i, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        over = first + second - room
        if over <= 0:
            continue
        if strategy == "longest_first":
            firsts[i], seconds[i] = _shared(first, second, room)
        elif over >= (first if strategy == "only_first" else second):  # nothing would be left of it
            return None
        elif strategy == "only_first":
            firsts[i] -= over
        else:
            seconds[i] -= over
    return firsts + seconds if is_pair else firsts


def _stretches(n: int, room: int, stride: int) -> Iterator[tuple[int, int]]:
    """Where stretches of n ids start and end that fill the room, and share `stride` ids with the one before."""
    start = 0
    while start + room < n:
        yield start, start + room
        start += room - stride
    yield start, n


def _stretches_from_end(n: int, room: int, stride: int) -> Iterator[tuple[int, int]]:
    """The same from the last one on."""
    return ((n - end, n - start) for start, end in _stretches(n, room, stride))


def _shared(first: int, second: int, room: int) -> tuple[int, int]:
    """The lengths of two texts that share room that is too small: the longer one is cut, or each to one half of it."""
    shorter = min(first, second, room // 2)
    longer = room - shorter
    return (longer, shorter) if first > second else (shorter, longer)


class RowPadding(NamedTuple):
    """How rows get one length.

    width : the length
    side  : the end that is filled, "left" or "right"
    pads  : from the name of a column to what fills it
    """

    width: int
    side: str
    pads: Mapping[str, Any]

    @classmethod
    def of(cls, rows: Rows, pads: Mapping[str, Any], options: Mapping[str, Any], usual_side: str) -> RowPadding:
        """That of rows of ids, of which there is one at least."""
        width: int = options["max_length"] if options.get("padding_strategy") == "max_length" else max(map(len, rows))
        multiple = options.get("pad_to_multiple_of") or 1
        return cls(-(-width // multiple) * multiple, _side(options, usual_side), pads)

    def apply(self, name: str, rows: Rows) -> Rows:
        """Rows of a column, filled."""
        fills = [[self.pads[name]] * (self.width - len(row)) for row in rows]
        return [row + fill if self.side == "right" else fill + row for row, fill in zip(rows, fills, strict=True)]


def is_unpadded(options: Mapping[str, Any]) -> bool:
    """Whether rows stay as they are."""
    return options.get("padding_strategy") in (None, "do_not_pad")


def is_padded_plainly(options: Mapping[str, Any], usual_side: Any) -> bool:
    """Whether there is no padding, or one at a known side by whole numbers."""
    if is_unpadded(options):
        return True
    numbers = options.get("max_length"), options.get("pad_to_multiple_of")
    return _side(options, usual_side) in SIDES and all(each is None or _is_size(each) for each in numbers)


def _side(options: Mapping[str, Any], usual_side: Any) -> Any:
    side = options.get("padding_side")
    return usual_side if side is None else side


def _is_size(value: Any) -> TypeGuard[int]:
    """Whether tokenizers takes it for a number of tokens."""
    return isinstance(value, int) and 0 <= value < 1 << 64


def _are_lists(values: Sequence[Any]) -> bool:
    """Whether each value is a list or a tuple, as tokenizers takes for a list."""
    # To look at the types takes a third of the time, and is mostly enough.
    return _LISTS.issuperset(map(type, values)) or all(isinstance(value, (list, tuple)) for value in values)
