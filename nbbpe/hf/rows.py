"""From the ids of texts to what a call of transformers returns: cut, with tokens around, types, masks, offsets, padded.

transformers leaves this to tokenizers, which goes token by token; here the same rules are applied to whole rows. Where None
is returned, tokenizers must decide, or say what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

from ..model.post_processor import Template, Templates

Rows = list[list[Any]]

_TRUNCATION = ("longest_first", "only_first", "only_second")


class Batch(NamedTuple):
    """The texts of a call: one in each row, or the first ones of all rows, then the second ones."""

    texts: list[str]
    is_pair: bool

    @classmethod
    def of(cls, texts: Any, others: Any = None) -> Batch | None:
        """From a batch of texts, of pairs, or from two batches of texts; None if it is none of these."""
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


class Frame:
    """What is put around the texts of a row.

    pieces  : of a template
    types   : the type of each piece, for models that count one for each text
    n_ids   : how many ids are put around
    is_pair : whether a row has two texts
    """

    def __init__(self, pieces: Template, types: list[int], is_pair: bool, has_ids: bool) -> None:
        kept = [i for i, piece in enumerate(pieces) if has_ids or isinstance(piece, str)]
        self.pieces: Template = [pieces[i] for i in kept]
        self.types = [types[i] for i in kept]
        self.n_ids = sum(len(piece) for piece in self.pieces if isinstance(piece, list))
        self.is_pair = is_pair

    def put(self, rows: Rows, value: Any = None) -> Rows:
        """The rows of texts, such as their ids, with what is around them; `value` stands for each id, unless it is None."""
        if self.pieces == ["A"] and not self.is_pair:
            return rows
        pieces = [piece if value is None or isinstance(piece, str) else [value] * len(piece) for piece in self.pieces]
        around = Templates(pieces, pieces).around
        n = len(rows) // 2
        return list(map(around, rows[:n], rows[n:])) if self.is_pair else list(map(around, rows))

    def type_rows(self, rows: Rows, framed: Rows) -> Rows:
        """The types of the ids of each row, and of those around; `framed` are the rows with these."""
        if not any(self.types):
            return [[0] * len(row) for row in framed]
        found: Rows = [[] for _ in framed]
        firsts, seconds = rows[: len(found)], rows[-len(found) :]
        for piece, its_type in zip(self.pieces, self.types, strict=True):
            texts = firsts if piece == "A" else seconds if piece == "B" else [piece] * len(found)
            for row, text in zip(found, texts, strict=True):
                row += [its_type] * len(text)
        return found


class Cut(NamedTuple):
    """Which stretches of the ids of texts are the rows of a result.

    spans : the number of a text, and where the stretch starts and ends in its ids; of all first texts, then of all second
        ones. None for all of each text
    """

    spans: list[tuple[int, int, int]] | None

    @classmethod
    def of(cls, rows: Rows, frame: Frame, options: Mapping[str, Any], from_end: bool, n_usual: int) -> Cut | None:
        """That of the texts of a Batch, by their ids.

        from_end : whether the end of a text stays
        n_usual  : how many ids are put around one text unless they are declined
        """
        strategy, most = options.get("truncation_strategy"), options.get("max_length")
        overflows, stride = options.get("return_overflowing_tokens"), options.get("stride", 0)
        if overflows and (frame.is_pair or any(frame.types)):  # tokenizers sets the types of what overflows now and then
            return None
        if strategy in (None, "do_not_truncate"):
            return cls(None)
        # tokenizers refuses what leaves no room for text, and a stride that does not fit.
        if strategy not in _TRUNCATION or not (_is_size(most) and _is_size(stride)) or most <= frame.n_ids:
            return None
        if stride and (frame.is_pair or stride >= most - max(n_usual, frame.n_ids)):
            return None
        room = most - frame.n_ids
        counts = list(map(len, rows))
        if overflows and strategy != "only_second":
            steps = _stretches_from_end if from_end else _stretches
            return cls([(i, *span) for i, n in enumerate(counts) for span in steps(n, room, stride)])
        kept = _kept(counts, room, frame.is_pair, strategy)
        if kept is None:
            return None
        spans = enumerate(zip(counts, kept, strict=True))
        return cls([(i, n - length, n) if from_end else (i, 0, length) for i, (n, length) in spans])

    def apply(self, rows: Rows) -> Rows:
        """The stretches of rows that have an entry for each id of the texts."""
        if self.spans is None:
            return rows
        return [rows[i] if start == 0 and end == len(rows[i]) else rows[i][start:end] for i, start, end in self.spans]


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
    shorter, longer = sorted((first, second))
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)


def padded(columns: dict[str, Rows], pads: Mapping[str, Any], options: Mapping[str, Any], side: str) -> dict[str, Rows]:
    """Columns whose rows have one length; `pads` is from the name of a column to what fills it."""
    lengths = list(map(len, columns["input_ids"]))
    width: int = options["max_length"] if options.get("padding_strategy") == "max_length" else max(lengths)
    multiple = options.get("pad_to_multiple_of") or 1
    width = -(-width // multiple) * multiple
    of_columns = {}
    for name, column in columns.items():
        fills = [[pads[name]] * (width - length) for length in lengths]
        of_columns[name] = [row + fill if side == "right" else fill + row for row, fill in zip(column, fills, strict=True)]
    return of_columns


def is_unpadded(options: Mapping[str, Any]) -> bool:
    """Whether rows stay as they are."""
    return options.get("padding_strategy") in (None, "do_not_pad")


def is_padded_plainly(options: Mapping[str, Any]) -> bool:
    """Whether padding is by whole numbers, or there is none."""
    numbers = options.get("max_length"), options.get("pad_to_multiple_of")
    return is_unpadded(options) or all(each is None or _is_size(each) for each in numbers)


def _is_size(value: Any) -> TypeGuard[int]:
    """Whether tokenizers takes it for a number of tokens."""
    return isinstance(value, int) and 0 <= value < 1 << 64
