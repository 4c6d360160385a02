"""Turns the ids of texts into the rows of a result: truncates them, adds special tokens, makes types and masks, pads.

transformers leaves this to tokenizers, which goes token by token; here the same rules are applied to whole rows. Functions
return None if tokenizers must decide, or raise the error.
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
    """The texts of a call.

    texts   : the text of each row; for pairs, first the first texts of all rows, then the second texts. If texts are given
              as lists of words: the words of all texts in that order
    is_pair : whether a row has two texts
    n_words : the number of words of each text; None if texts are not given as words
    """

    texts: list[str]
    is_pair: bool
    n_words: list[int] | None = None

    @classmethod
    def of(cls, texts: Any, others: Any = None, is_split: bool = False) -> Batch | None:
        """Make a Batch from texts, from pairs, or from two lists of texts; None for other types.

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
        # Types first, as in `_are_lists`.
        if set(map(type, words)) != {str} and not all(isinstance(word, str) for word in words):
            return None
        return cls(words, others is not None, list(map(len, both)))

    def bounds(self, starts: list[int] | NDArray[np.int64]) -> list[int]:
        """Where the ids of each whole text start, and the last ones end. `starts` has the same for each of `texts`."""
        if self.n_words is not None:
            return [int(starts[i]) for i in accumulate(self.n_words, initial=0)]
        return starts if isinstance(starts, list) else starts.tolist()


class Frame:
    """A template: adds special tokens around the texts of a row.

    pieces  : of the template: "A" and "B" for the texts, and lists of ids
    types   : the token type of each piece
    later   : the token types of a first and a second text in overflowing rows, those that do not begin the text
    n_ids   : the number of ids that are added
    n_usual : the number that is added to one text if add_special_tokens is True
    is_pair : whether a row has two texts
    n_texts : the number of texts in a row, each once; None if tokenizers does not number them 0 and 1
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
        """Add the template's ids around the ids of texts."""
        return rows if self._is_bare else self._around(rows, self.pieces)

    def put_value(self, rows: Rows, value: Any) -> Rows:
        """Do the same to another column of texts, with `value` in place of each id of the template."""
        if self._is_bare:
            return rows
        return self._around(rows, [piece if isinstance(piece, str) else [value] * len(piece) for piece in self.pieces])

    def _around(self, rows: Rows, pieces: Template) -> Rows:
        around = Templates(pieces, pieces).around
        n = len(rows) // 2
        return list(map(around, rows[:n], rows[n:])) if self.is_pair else list(map(around, rows))

    def numbers_of_texts(self, rows: Rows) -> Rows | None:
        """The text (0 or 1) of each id in each row, None for an id of the template; None if tokenizers must decide."""
        if self.n_texts is None:
            return None
        n_first = len(rows) // (1 + self.is_pair)
        return self.put_value([[int(i >= n_first)] * len(row) for i, row in enumerate(rows)], None)

    def ranges(self, lengths: list[int]) -> list[range] | None:
        """The positions in a row of the ids of each text; None if tokenizers must decide.

        lengths : the number of ids of each text
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
        """Combine the spans of both texts of a pair to rows, in the order of tokenizers; None if a row has a text twice."""
        texts = [piece for piece in self.pieces if isinstance(piece, str)]
        if len(set(texts)) < len(texts):
            return None
        if texts == ["B", "A"]:
            return [(first, second) for second, first in _combined(seconds, firsts)]
        return _combined(*(each if text in texts else each[:1] for text, each in (("A", firsts), ("B", seconds))))

    def type_rows(self, rows: Rows, framed: Rows, are_later: list[bool]) -> Rows:
        """The token type of each id in `framed`, the rows with the template's ids.

        are_later : whether each of `rows`, the ids of texts, is an overflowing span, one that does not begin its text
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
    """The spans of ids that truncation leaves: those of the first text of each row, then those of the second texts.

    numbers : the number of the text of each span
    places  : where each span starts and ends in the ids of all texts
    later   : whether each span overflows, that is, an earlier row begins its text
    """

    numbers: Sequence[int]
    places: list[tuple[int, int]]
    later: list[bool]

    @classmethod
    def of(cls, bounds: list[int], frame: Frame, options: Mapping[str, Any], from_end: bool) -> Cut | None:
        """Truncate the texts of a Batch by the options of a call.

        bounds   : where the ids of each text start, and where the last ones end
        from_end : whether the end of a text is kept, not its beginning
        """
        places = list(pairwise(bounds))
        if options.get("truncation_strategy") in _NO_TRUNCATION:
            return cls(range(len(places)), places, [False] * len(places))
        counts = [end - start for start, end in places]
        kept = _checked_kept(counts, frame, options)
        if kept is None:
            return None
        overflows, stride = options.get("return_overflowing_tokens"), options.get("stride", 0)
        steps = _spans_from_end if from_end else _spans
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
        """The spans of one row."""
        chosen = (number, number + len(self.places) // 2) if is_pair else (number,)
        numbers, places, later = self
        return Cut([numbers[i] for i in chosen], [places[i] for i in chosen], [later[i] for i in chosen])


def _combined(ones: list[Span], others: list[Span]) -> list[tuple[Span, Span]]:
    """Pair each span of one text with each of another, in the order of tokenizers: both first spans come first; other
    pairs with the first of `ones` come last."""
    return [
        (ones[0], others[0]),
        *((one, other) for one in ones[1:] for other in others),
        *((ones[0], other) for other in others[1:]),
    ]


def _checked_kept(counts: list[int], frame: Frame, options: Mapping[str, Any]) -> list[int] | None:
    """The result of `_kept` for the options of a call."""
    strategy, most, stride = options["truncation_strategy"], options.get("max_length"), options.get("stride", 0)
    # tokenizers truncates nothing if not even the template's ids fit, and rejects a stride that does not fit.
    if strategy not in _TRUNCATION or not (_is_size(most) and _is_size(stride)) or most < frame.n_ids:
        return None
    if stride and stride > most - frame.n_usual:
        return None
    kept = _kept(counts, most - frame.n_ids, frame.is_pair, strategy)
    if kept is None or not (stride or options.get("return_overflowing_tokens")):
        return kept
    # tokenizers also rejects a stride that is not below the kept length of a truncated text. A text that loses all its ids
    # overflows as a whole.
    return None if any(length <= stride and length < n for n, length in zip(counts, kept, strict=True)) else kept


def _kept(counts: list[int], room: int, is_pair: bool, strategy: str) -> list[int] | None:
    """How many ids of each text are kept, if a row has room for `room` ids of texts; None if a text would lose all."""
    n = len(counts) // 2 if is_pair else len(counts)
    firsts, seconds = counts[:n], counts[n:] or [0] * n
    for i, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        over = first + second - room
        if over <= 0:
            continue
        if strategy == "longest_first":
            firsts[i], seconds[i] = _shared(first, second, room)
        elif over >= (first if strategy == "only_first" else second):
            return None
        elif strategy == "only_first":
            firsts[i] -= over
        else:
            seconds[i] -= over
    return firsts + seconds if is_pair else firsts


def _spans(n: int, room: int, stride: int) -> Iterator[tuple[int, int]]:
    """Cut n ids into spans (start, end) of at most `room` ids; each shares `stride` ids with the one before."""
    start = 0
    while start + room < n:
        yield start, start + room
        start += room - stride
    yield start, n


def _spans_from_end(n: int, room: int, stride: int) -> Iterator[tuple[int, int]]:
    """Cut n ids as `_spans` does, but from the end."""
    return ((n - end, n - start) for start, end in _spans(n, room, stride))


def _shared(first: int, second: int, room: int) -> tuple[int, int]:
    """Shorten two texts to `room` ids together: only the longer one, or if that is not enough, each to half of the room."""
    shorter = min(first, second, room // 2)
    longer = room - shorter
    return (longer, shorter) if first > second else (shorter, longer)


class RowPadding(NamedTuple):
    """Pads rows to one length.

    width : the length
    side  : the padded side, "left" or "right"
    pads  : the padding value of each column, by its name
    """

    width: int
    side: str
    pads: Mapping[str, Any]

    @classmethod
    def of(cls, rows: Rows, pads: Mapping[str, Any], options: Mapping[str, Any], usual_side: str) -> RowPadding:
        """The padding that the options of a call ask for, for rows of ids (at least one)."""
        width: int = options["max_length"] if options.get("padding_strategy") == "max_length" else max(map(len, rows))
        multiple = options.get("pad_to_multiple_of") or 1
        return cls(-(-width // multiple) * multiple, _side(options, usual_side), pads)

    def apply(self, name: str, rows: Rows) -> Rows:
        """Pad the rows of a column."""
        fills = [[self.pads[name]] * (self.width - len(row)) for row in rows]
        return [row + fill if self.side == "right" else fill + row for row, fill in zip(rows, fills, strict=True)]


def is_unpadded(options: Mapping[str, Any]) -> bool:
    """Whether the options ask for no padding."""
    return options.get("padding_strategy") in (None, "do_not_pad")


def is_padded_plainly(options: Mapping[str, Any], usual_side: Any) -> bool:
    """Whether the options ask for no padding, or for padding with valid values (else tokenizers must decide)."""
    if is_unpadded(options):
        return True
    numbers = options.get("max_length"), options.get("pad_to_multiple_of")
    return _side(options, usual_side) in SIDES and all(each is None or _is_size(each) for each in numbers)


def _side(options: Mapping[str, Any], usual_side: Any) -> Any:
    side = options.get("padding_side")
    return usual_side if side is None else side


def _is_size(value: Any) -> TypeGuard[int]:
    """Whether tokenizers accepts a value as a number of tokens."""
    return isinstance(value, int) and 0 <= value < 1 << 64


def _are_lists(values: Sequence[Any]) -> bool:
    """Whether each value is a list or a tuple, which tokenizers accepts as a list."""
    # Comparing exact types takes a third of the time, and is usually enough.
    return _LISTS.issuperset(map(type, values)) or all(isinstance(value, (list, tuple)) for value in values)
