"""The result of a call of transformers, and what it tells of each row."""

from __future__ import annotations

import copy
import functools
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeGuard

from transformers import BatchEncoding

from ..system.lazy import lazy
from .encoded import Encoded

# The columns that a row is asked for, by the names of an Encoding of tokenizers.
_COLUMNS = {
    "ids": "input_ids",
    "type_ids": "token_type_ids",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
    "offsets": "offset_mapping",
    "word_ids": "word_ids",
    "sequence_ids": "sequence_ids",
}


class RowEncoding:
    """A row of a result, as the Encoding of tokenizers, made of what nbbpe encoded.

    What is not known of it (offsets in texts that were changed, some words, what overflows) is asked of tokenizers, by
    `theirs`, which gives all rows of its result.
    """

    def __init__(self, encoded: Encoded, number: int, theirs: _Theirs) -> None:
        self._encoded = encoded
        self._number = number
        self._theirs = theirs

    def of_tokenizers(self) -> Any:
        """The same row by tokenizers."""
        return self._theirs.rows[self._number]

    @property
    def tokens(self) -> list[str]:
        found = self._encoded.applied.spelled(self.ids)
        if found is None:
            found = self.of_tokenizers().tokens
        return found

    def token_to_sequence(self, token_index: int) -> int | None:
        """The number of the text that has a token; None for a token around."""
        numbers = self._sequence_ids if self._is_token(token_index) else None
        found: int | None = self._asked("token_to_sequence", token_index) if numbers is None else numbers[token_index]
        return found

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Where a token is in its text; None for a token around."""
        is_known = self._is_token(token_index) and self._sequence_ids is not None and self._offsets is not None
        if not is_known:
            found: tuple[int, int] | None = self._asked("token_to_chars", token_index)
            return found
        return None if self._sequence_ids[token_index] is None else self._offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """The number of the word that has a token; None for a token around."""
        # tokenizers tells no word of a token that has no number of a text.
        is_known = self._is_token(token_index) and self._sequence_ids is not None and self._word_ids is not None
        found: int | None = self._word_ids[token_index] if is_known else self._asked("token_to_word", token_index)
        return found

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token that has a character, or with words, a character with this number; None if none has it."""
        tokens = self._tokens_of(sequence_index) if _is_number(char_pos) else None
        if tokens is None or self._offsets is None:
            asked: int | None = self._asked("char_to_token", char_pos, sequence_index)
            return asked
        if self._encoded.batch.n_words is not None:
            return self._firsts_in_words[sequence_index].get(char_pos)
        offsets = self._offsets
        found = bisect_right(offsets, char_pos, tokens.start, tokens.stop, key=itemgetter(1))
        return found if found < tokens.stop and offsets[found][0] <= char_pos else None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first word that has a character with this number; None if none has it."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The first token of a word, and the token after its last one; None if it has no token."""
        tokens = self._tokens_of(sequence_index) if _is_number(word_index) else None
        if tokens is None or self._word_ids is None:
            found: tuple[int, int] | None = self._asked("word_to_tokens", word_index, sequence_index)
            return found
        words = self._word_ids
        first, end = (find(words, word_index, tokens.start, tokens.stop) for find in (bisect_left, bisect_right))
        return (first, end) if first < end else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Where the characters of the tokens of a word are; None if it has no token."""
        if self._word_ids is None or self._offsets is None:
            found: tuple[int, int] | None = self._asked("word_to_chars", word_index, sequence_index)
            return found
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self._offsets[tokens[0]][0], self._offsets[tokens[1] - 1][1])

    def _asked(self, name: str, *arguments: Any) -> Any:
        return getattr(self.of_tokenizers(), name)(*arguments)

    def _tokens_of(self, sequence_index: int) -> range | None:
        """The tokens of a text; None if tokenizers must tell: for a text that is not in the row it looks at all tokens."""
        return self._ranges[sequence_index] if _is_number(sequence_index) and sequence_index < len(self._ranges) else None

    def _is_token(self, value: object) -> bool:
        return _is_number(value) and value < len(self)

    # What is looked at again and again.

    @lazy
    def _offsets(self) -> Any:
        return self._encoded.of_row("offset_mapping", self._number)

    @lazy
    def _word_ids(self) -> Any:
        return self._encoded.of_row("word_ids", self._number)

    @lazy
    def _sequence_ids(self) -> Any:
        return self._encoded.of_row("sequence_ids", self._number)

    @lazy
    def _ranges(self) -> list[range]:
        """The tokens of each text, without padding, which may have the number of a text."""
        numbers = self._sequence_ids
        if numbers is None:
            return []
        if self._encoded.padding is not None:
            numbers = [number if mask else None for number, mask in zip(numbers, self.attention_mask, strict=True)]
        counts = [numbers.count(i) for i in range(self._encoded.frame.n_texts or 0)]
        firsts = [numbers.index(i) if n else 0 for i, n in enumerate(counts)]
        return [range(first, first + n) for first, n in zip(firsts, counts, strict=True)]

    @lazy
    def _firsts_in_words(self) -> list[dict[int, int]]:
        """Of each text, the first token that has a character with each number; each word begins at 0."""
        return [{number: i for i in reversed(tokens) for number in range(*self._offsets[i])} for tokens in self._ranges]

    @lazy
    def _size(self) -> int:
        return len(self.ids)

    def __len__(self) -> int:
        return self._size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which NumPy and others look for
            raise AttributeError(name)
        found = self._encoded.of_row(_COLUMNS[name], self._number) if name in _COLUMNS else None
        return getattr(self.of_tokenizers(), name) if found is None else found

    def __deepcopy__(self, memo: dict[int, Any]) -> RowEncoding:
        return self  # nobody changes it

    def __reduce__(self) -> Any:
        return copy.copy, (self.of_tokenizers(),)

    def __repr__(self) -> str:
        return repr(self.of_tokenizers())


class _Theirs:
    """A result that is made again, with tokenizers alone."""

    def __init__(self, with_tokenizers: Callable[[], Any]) -> None:
        self._with_tokenizers = with_tokenizers

    @lazy
    def rows(self) -> Any:
        return self._with_tokenizers().encodings


def rows_told(encoded: Encoded, with_tokenizers: Callable[[], Any]) -> list[RowEncoding]:
    """The rows of a result; `with_tokenizers` makes it again with tokenizers alone."""
    theirs = _Theirs(with_tokenizers)
    return [RowEncoding(encoded, number, theirs) for number in range(encoded.n_rows)]


def _is_number(value: object) -> TypeGuard[int]:
    """Whether tokenizers takes a value for the number of a character, a token or a word."""
    return type(value) is int and 0 <= value < 1 << 32


class NbbpeEncoding(BatchEncoding):  # type: ignore[misc]
    """The result of a call.

    What more can be asked for (`encodings`: tokens, words, offsets) is worked out then. Where tokenizers must tell it, that
    is with the tokenizer as it is then. A pickled result goes without, unless its `encodings` were asked for before.

    It can be made as a BatchEncoding is, as `type(batch)(data)` makes one, too, in trainers.
    """

    _n_sequences: int | None
    _asked: Callable[[], Any] | None = None  # gives the list of `encodings`
    _is_unpickled = False

    @classmethod
    def of(cls, data: dict[str, Any], n_texts: int | None, encodings: Callable[[], Any] | None, tensor_type: Any) -> Any:
        """That of a call; `encodings` gives a list of them."""
        made = cls.__new__(cls)  # without `__init__`, which copies the columns in a tenth of a short call
        made.data, made._n_sequences, made._asked = data, n_texts, encodings
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
        return self._asked is not None or self.__dict__.get("_found") is not None

    @property
    def _encodings(self) -> Any:
        if self._asked is not None:
            self._found, self._asked = self._asked(), None
        return self.__dict__.get("_found")

    @_encodings.setter
    def _encodings(self, encodings: Any) -> None:
        self._found = encodings

    def __deepcopy__(self, memo: dict[int, Any]) -> NbbpeEncoding:
        copied: NbbpeEncoding = self.of(copy.deepcopy(self.data, memo), self._n_sequences, self._asked, None)
        copied._found = copy.deepcopy(self.__dict__.get("_found"), memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self.__dict__.get("_found"), "n_sequences": self._n_sequences}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._asked, self._n_sequences, self._is_unpickled = None, state["n_sequences"], True
        super().__setstate__(state)


def _told(name: str) -> Callable[..., Any]:
    """A method of BatchEncoding, which for a result without `encodings` would say that the tokenizer is a slow one."""
    method: Callable[..., Any] = getattr(BatchEncoding, name)

    @functools.wraps(method)
    def told(self: NbbpeEncoding, *arguments: Any, **options: Any) -> Any:
        if self._is_unpickled and self._encodings is None:
            raise ValueError(
                f"{name}() is not available: a result is pickled as its columns alone. Call it before, or ask for the "
                "result's `encodings` before, which then are pickled, too"
            )
        return method(self, *arguments, **options)

    return told


for _name in (
    *("tokens", "sequence_ids", "word_ids", "token_to_sequence", "token_to_word", "token_to_chars"),
    *("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"),
):
    setattr(NbbpeEncoding, _name, _told(_name))
