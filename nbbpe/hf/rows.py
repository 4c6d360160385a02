"""From the ids of texts to what a call of transformers returns: cut, with tokens around, types, masks, offsets, padded.

transformers leaves this to tokenizers, which goes token by token; here the same rules are applied to whole rows. Where None
is returned, tokenizers must decide, or say what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..model.surround import Surround, Template

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
        if self.pieces == ["A"]:
            return rows
        pieces = [piece if value is None or isinstance(piece, str) else [value] * len(piece) for piece in self.pieces]
        around = Surround(pieces, pieces).around
        n = len(rows) // 2
        return list(map(around, rows[:n], rows[n:])) if self.is_pair else list(map(around, rows))

    def type_rows(self, rows: Rows) -> Rows:
        """The types of the ids of each row, and of those around."""
        framed = self.put(rows)
        if not any(self.types):
            return [[0] * len(row) for row in framed]
        found: Rows = [[] for _ in framed]
        firsts, seconds = rows[: len(found)], rows[-len(found) :]
        for piece, its_type in zip(self.pieces, self.types, strict=True):
            texts = firsts if piece == "A" else seconds if piece == "B" else [piece] * len(found)
            for row, text in zip(found, texts, strict=True):
                row += [its_type] * len(text)
        return found


def _value(strategy: Any) -> Any:
    """The name of a strategy of transformers, which has enumerations of them."""
    return getattr(strategy, "value", strategy)


class Cut(NamedTuple):
    """How much of each text stays: its length (None for all of each), and from which end."""

    lengths: list[int] | None
    from_end: bool

    @classmethod
    def of(cls, rows: Rows, frame: Frame, options: Mapping[str, Any], from_end: bool) -> Cut | None:
        """That of the texts of a Batch, by their ids."""
        strategy, most = _value(options.get("truncation_strategy")), options.get("max_length")
        if strategy in (None, "do_not_truncate"):
            return cls(None, from_end)
        # tokenizers refuses a stride that does not fit, and what leaves no room for text.
        if strategy not in _TRUNCATION or not isinstance(most, int) or most <= frame.n_ids or options.get("stride"):
            return None
        room = most - frame.n_ids
        counts = list(map(len, rows))
        n = len(counts) // 2 if frame.is_pair else len(counts)
        firsts, seconds = counts[:n], counts[n:] or [0] * n
        kept = []
        for first, second in zip(firsts, seconds, strict=True):
            over = first + second - room
            if over <= 0:
                kept.append((first, second))
            elif strategy == "longest_first":
                kept.append(_shared(first, second, room))
            elif over >= (first if strategy == "only_first" else second):  # nothing would be left of it
                return None
            else:
                kept.append((first - over, second) if strategy == "only_first" else (first, second - over))
        lengths = [first for first, _ in kept] + [second for _, second in kept]
        return cls(lengths[: len(rows)], from_end)

    def apply(self, rows: Rows) -> Rows:
        """The rows of texts, cut."""
        if self.lengths is None:
            return rows
        return [
            row if len(row) == length else row[len(row) - length :] if self.from_end else row[:length]
            for row, length in zip(rows, self.lengths, strict=True)
        ]


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
    width: int = options["max_length"] if _value(options.get("padding_strategy")) == "max_length" else max(lengths)
    multiple = options.get("pad_to_multiple_of") or 1
    width = -(-width // multiple) * multiple
    of_columns = {}
    for name, column in columns.items():
        fills = [[pads[name]] * (width - length) for length in lengths]
        of_columns[name] = [row + fill if side == "right" else fill + row for row, fill in zip(column, fills, strict=True)]
    return of_columns


def is_unpadded(options: Mapping[str, Any]) -> bool:
    """Whether rows stay as they are."""
    return _value(options.get("padding_strategy")) in (None, "do_not_pad")


def is_padded_plainly(options: Mapping[str, Any]) -> bool:
    """Whether padding is by whole numbers, or there is none."""
    numbers = options.get("max_length"), options.get("pad_to_multiple_of")
    return is_unpadded(options) or all(each is None or (isinstance(each, int) and each >= 0) for each in numbers)
