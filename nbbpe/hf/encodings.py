"""The result of a call of transformers, and its rows, which answer questions about tokens, words and characters."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, NamedTuple, NoReturn, TypeGuard

from tokenizers import Encoding
from transformers import BatchEncoding

from ..system.lazy import lazy
from .encoded import Encoded

_MOST = 1 << 32  # in tokenizers, the index of a character, a token or a word is less


def _column(name: str, attribute: str) -> property:
    """A property that returns a column of a row as a new list; `attribute` is its name in an Encoding of tokenizers."""

    def column(self: RowEncoding) -> Any:
        found = self._encoded.of_row(name, self._number)
        return getattr(self.of_tokenizers(), attribute) if found is None else found

    return property(column)


def _changing(name: str) -> Callable[..., None]:
    """A method that changes a row by calling the method of that name of tokenizers' Encoding."""

    @wraps(getattr(Encoding, name))
    def change(self: RowEncoding, *arguments: Any, **options: Any) -> None:
        row = copy.copy(self.of_tokenizers())  # copied, as other copies of this row share it
        getattr(row, name)(*arguments, **options)
        self.__dict__ = {"_encoded": _Unknown(), "_number": 0, "_theirs": _Changed([row]), "_is_split": self._is_split}

    return change


class RowEncoding:
    """A row of a result, with the methods of tokenizers' Encoding, made from what nbbpe encoded.

    What nbbpe does not know (offsets in texts that were changed, some words, overflowing tokens) is asked of tokenizers:
    `theirs` makes the same result with tokenizers. Once a row is changed, everything is asked of tokenizers.
    """

    def __init__(self, encoded: Encoded, number: int, theirs: _Theirs) -> None:
        self._encoded: Encoded | _Unknown = encoded
        self._number = number
        self._theirs: _Theirs | _Changed = theirs
        self._is_split = encoded.batch.n_words is not None

    def of_tokenizers(self) -> Any:
        """The same row as an Encoding of tokenizers."""
        return self._theirs.rows[self._number]

    pad = _changing("pad")
    truncate = _changing("truncate")
    set_sequence_id = _changing("set_sequence_id")

    @staticmethod
    def merge(encodings: Iterable[RowEncoding | Encoding], growing_offsets: bool = True) -> Encoding:
        """Merge rows and Encodings of tokenizers into one Encoding."""
        rows = [each.of_tokenizers() if isinstance(each, RowEncoding) else each for each in encodings]
        return Encoding.merge(rows, growing_offsets)

    ids = _column("input_ids", "ids")
    tokens = _column("tokens", "tokens")
    type_ids = _column("token_type_ids", "type_ids")
    attention_mask = _column("attention_mask", "attention_mask")
    special_tokens_mask = _column("special_tokens_mask", "special_tokens_mask")
    offsets = _column("offset_mapping", "offsets")
    word_ids = _column("word_ids", "word_ids")
    sequence_ids = _column("sequence_ids", "sequence_ids")

    def token_to_sequence(self, token_index: int) -> int | None:
        """The text, 0 or 1, that a token is part of; None for a token of the template."""
        if self._is_token(token_index):
            return self._sequence_ids[token_index]
        return self._ask_tokenizers("token_to_sequence", token_index)

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Where a token starts and ends in its text, in characters; None for a token of the template."""
        if self._is_token(token_index) and self._offsets is not None:
            return None if self._sequence_ids[token_index] is None else self._offsets[token_index]
        return self._ask_tokenizers("token_to_chars", token_index)

    def token_to_word(self, token_index: int) -> int | None:
        """The index of the word that a token is part of; None for a token of the template."""
        # Without `_ranges`, tokens have no text in tokenizers, and then it gives them no word either.
        words = self._word_ids if self._ranges else None
        if words is not None and _is_number(token_index) and token_index < len(words):
            return words[token_index]
        return self._ask_tokenizers("token_to_word", token_index)

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token with the character at a position; None if there is none.

        For a text that was given as words, the position is counted in each word, and the first token of any word counts.
        """
        tokens = self._tokens_of(sequence_index, char_pos)
        if tokens is None or self._offsets is None:
            return self._ask_tokenizers("char_to_token", char_pos, sequence_index)
        if self._is_split:
            return self._firsts_in_words[sequence_index].get(char_pos)
        found = bisect_right(self._ends, char_pos, tokens.start, tokens.stop)
        return found if found < tokens.stop and self._offsets[found][0] <= char_pos else None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word of `char_to_token`; None if there is none."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The first token of a word, and the token after its last one; None if it has no token."""
        tokens = self._tokens_of(sequence_index, word_index)
        if tokens is None or self._word_ids is None:
            return self._ask_tokenizers("word_to_tokens", word_index, sequence_index)
        first = bisect_left(self._word_ids, word_index, tokens.start, tokens.stop)
        end = bisect_right(self._word_ids, word_index, first, tokens.stop)
        return (first, end) if first < end else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Where the characters of a word's tokens start and end; None if it has no token."""
        if self._word_ids is None or self._offsets is None:
            return self._ask_tokenizers("word_to_chars", word_index, sequence_index)
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self._offsets[tokens[0]][0], self._offsets[tokens[1] - 1][1])

    def _ask_tokenizers(self, name: str, *arguments: Any) -> Any:
        return getattr(self.of_tokenizers(), name)(*arguments)

    def _tokens_of(self, sequence_index: int, number: int) -> range | None:
        """The tokens of a text, to search for the character or word with index `number`.

        None if tokenizers must decide, as for a text that is not in the row: then it searches all tokens.
        """
        ranges = self._ranges
        if type(number) is type(sequence_index) is int and 0 <= number < _MOST and 0 <= sequence_index < len(ranges):
            return ranges[sequence_index]
        return None

    def _is_token(self, value: object) -> TypeGuard[int]:
        """Whether a value is the index of a token, and it is known which text the token is part of."""
        numbers = self._sequence_ids
        return numbers is not None and _is_number(value) and value < len(numbers)

    # Computed once for a row.

    @lazy
    def _offsets(self) -> Any:
        return self._encoded.of_row("offset_mapping", self._number)

    @lazy
    def _ends(self) -> list[int]:
        """The end of each token's offsets: searching this list takes a third of the time of searching the offsets."""
        return [end for _, end in self._offsets]

    @lazy
    def _word_ids(self) -> Any:
        return self._encoded.of_row("word_ids", self._number)

    @lazy
    def _sequence_ids(self) -> Any:
        return self._encoded.of_row("sequence_ids", self._number)

    @lazy
    def _ranges(self) -> list[range]:
        """The tokens of each text; empty if tokenizers must decide."""
        return self._encoded.ranges_of_row(self._number) or []

    @lazy
    def _firsts_in_words(self) -> list[dict[int, int]]:
        """For each text given as words, the first token that has a character at each position; each word begins at 0."""
        return [_first_in_words(self._offsets, tokens) for tokens in self._ranges]

    def __len__(self) -> int:
        return len(self.ids)

    def __deepcopy__(self, memo: dict[int, Any]) -> RowEncoding:
        return copy.copy(self)

    def __copy__(self) -> RowEncoding:
        copied = object.__new__(RowEncoding)  # without `__reduce__`, which encodes with tokenizers
        copied.__dict__.update(self.__dict__)
        return copied

    def __reduce__(self) -> Any:
        return copy.copy, (self.of_tokenizers(),)

    def __repr__(self) -> str:
        return repr(self.of_tokenizers())


def _of_tokenizers(name: str) -> property:
    return property(lambda self: getattr(self.of_tokenizers(), name))


# All other attributes of an Encoding. With `__getattr__` instead, reading any attribute of a row would take five times as
# long.
for _name in dir(Encoding):
    if not (_name.startswith("_") or hasattr(RowEncoding, _name)):
        setattr(RowEncoding, _name, _of_tokenizers(_name))


class _Theirs:
    """Makes the same result with tokenizers alone, when it is first needed."""

    def __init__(self, with_tokenizers: Callable[[], Any]) -> None:
        self._with_tokenizers = with_tokenizers

    @lazy
    def rows(self) -> Any:
        return self._with_tokenizers().encodings


class _Changed(NamedTuple):
    """Takes the place of `_Theirs` in a row that was changed."""

    rows: list[Any]


class _Unknown:
    """Takes the place of an Encoded in a row that was changed: nothing of it is known to nbbpe."""

    def of_row(self, name: str, number: int) -> None:
        return None

    def ranges_of_row(self, number: int) -> None:
        return None


def row_encodings(encoded: Encoded, with_tokenizers: Callable[[], Any]) -> list[RowEncoding]:
    """The rows of a result; `with_tokenizers` makes the same result with tokenizers alone."""
    theirs = _Theirs(with_tokenizers)
    return [RowEncoding(encoded, number, theirs) for number in range(encoded.n_rows)]


def _first_in_words(offsets: list[tuple[int, int]], tokens: range) -> dict[int, int]:
    """Map each character position to the first token that has it. Fast, as most tokens have no new position."""
    found: dict[int, int] = {}
    n = 0  # all positions below it are found
    for i in tokens:
        start, end = offsets[i]
        if end > n:
            for number in range(max(start, n), end):
                found.setdefault(number, i)
            while n in found:
                n += 1
    return found


def _is_number(value: object) -> TypeGuard[int]:
    """Whether tokenizers accepts a value as the index of a character, a token or a word."""
    return type(value) is int and 0 <= value < _MOST


class NbbpeEncoding(BatchEncoding):  # type: ignore[misc]
    """The result of a call.

    Its `encodings` (tokens, words, offsets) are computed on first use; if by tokenizers, with the tokenizer as it is at
    that time. They are pickled with the result only if they were used before.

    The constructor is that of BatchEncoding, as trainers call `type(batch)(data)`.
    """

    _n_sequences: int | None
    _make_encodings: Callable[[], Any] | None = None  # returns the list of `encodings`

    @classmethod
    def of(cls, data: dict[str, Any], n_texts: int | None, encodings: Callable[[], Any] | None, tensor_type: Any) -> Any:
        """Make the result of a call; `encodings` returns the list of its encodings."""
        made = cls.__new__(cls)  # without `__init__`, which copies the columns: a tenth of a short call
        made.data, made._n_sequences, made._make_encodings = data, n_texts, encodings
        if tensor_type is not None:
            made.convert_to_tensors(tensor_type)
        return made

    @property
    def n_sequences(self) -> int | None:
        """How many texts each row has, as tokenizers counts them."""
        if self._n_sequences is None and self._encodings is not None:
            self._n_sequences = self._encodings[0].n_sequences
        return self._n_sequences

    @property
    def is_fast(self) -> bool:
        """Whether tokens and offsets can be asked for."""
        return self._make_encodings is not None or self.__dict__.get("_encodings") is not None

    @lazy
    def _encodings(self) -> Any:
        return None if self._make_encodings is None else self._make_encodings()

    def __deepcopy__(self, memo: dict[int, Any]) -> NbbpeEncoding:
        copied: NbbpeEncoding = self.of(copy.deepcopy(self.data, memo), self._n_sequences, self._make_encodings, None)
        if "_encodings" in self.__dict__:
            copied._encodings = copy.deepcopy(self._encodings, memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self.__dict__.get("_encodings"), "n_sequences": self._n_sequences}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._n_sequences = state["n_sequences"]
        super().__setstate__(state)
        if self._encodings is None:
            # BatchEncoding's methods would say that the tokenizer is a slow one. They are replaced in this object only, so
            # that those of other objects need no check.
            self.__dict__.update((name, partial(_refuse, name)) for name in _NEED_ENCODINGS)


_NEED_ENCODINGS = (
    *("tokens", "sequence_ids", "word_ids", "token_to_sequence", "token_to_word", "token_to_chars"),
    *("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"),
)


def _refuse(name: str, *_: Any, **__: Any) -> NoReturn:
    raise ValueError(
        f"{name}() is not available, as only the columns of this result were pickled: call it before pickling, or read the "
        "result's `encodings` before, which then are pickled, too"
    )
