"""The result of a call of transformers, and what it tells of each row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from transformers import BatchEncoding

Offsets = list[tuple[int, int]]


class RowEncoding:
    """A row of a result, as the Encoding of tokenizers.

    What nbbpe does not know of it (words, unless texts are split into them; what overflows) is asked of tokenizers, by
    `theirs`, which gives the row of its result.

    ids, type_ids, attention_mask, special_tokens_mask : list of int
    tokens   : list of str
    word_ids : list of int, of None for a token around; only where a text is split into words
    sequence_ids : the same for the number of the text; not where tokenizers numbers them otherwise
    offsets  : list of (start, end), in characters
    """

    def __init__(
        self,
        known: dict[str, list[Any]],
        spell: Callable[[list[int]], list[str] | None],
        find_offsets: Callable[[], Offsets | None],
        theirs: Callable[[], Any],
    ) -> None:
        self.__dict__.update(known)
        self.spell = spell  # gives the tokens of ids, or None if tokenizers must
        self.find_offsets = find_offsets  # gives None if tokenizers must find them
        self.of_tokenizers = theirs

    @property
    def tokens(self) -> list[str]:
        found = self.spell(self.ids)
        if found is None:
            found = self.of_tokenizers().tokens
        return found

    @property
    def offsets(self) -> Offsets:
        found = self.find_offsets()
        if found is None:
            found = self.of_tokenizers().offsets
        return found

    def __len__(self) -> int:
        return len(self.ids)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which copies and pickles look for
            raise AttributeError(name)
        return getattr(self.of_tokenizers(), name)

    def __deepcopy__(self, memo: dict[int, Any]) -> RowEncoding:
        return self  # nobody changes it

    def __reduce__(self) -> Any:
        return copy.copy, (self.of_tokenizers(),)

    def __repr__(self) -> str:
        return repr(self.of_tokenizers())


class TextEncoding(RowEncoding):
    """A row of one text."""

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token that has a character; None if none has it."""
        offsets = self.find_offsets() if sequence_index == 0 and _is_number(char_pos) else None
        if offsets is None:
            found: int | None = self.of_tokenizers().char_to_token(char_pos, sequence_index)
            return found
        return next((i for i, (start, end) in enumerate(offsets) if start <= char_pos < end), None)


class SplitTextEncoding(TextEncoding):
    """A row of one text that is split into words."""

    def token_to_word(self, token_index: int) -> int | None:
        """The number of the word that has a token; None for a token around."""
        is_known = _is_number(token_index) and token_index < len(self)
        found: int | None = self.word_ids[token_index] if is_known else self.of_tokenizers().token_to_word(token_index)
        return found

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first word that has a character with this number; None if none has it."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The first token of a word, and the token after its last one; None if it has no token."""
        if sequence_index != 0 or not _is_number(word_index):
            found: tuple[int, int] | None = self.of_tokenizers().word_to_tokens(word_index, sequence_index)
            return found
        places = [i for i, number in enumerate(self.word_ids) if number == word_index]
        return (places[0], places[-1] + 1) if places else None


def _is_number(value: object) -> bool:
    """Whether tokenizers takes a value for the number of a character, a token or a word."""
    return type(value) is int and 0 <= value < 1 << 32


class NbbpeEncoding(BatchEncoding):  # type: ignore[misc]
    """The result of a call.

    What more can be asked for (`encodings`: tokens, words, offsets) is worked out then, with the tokenizer as it is then. A
    pickled result goes without.

    encodings : gives a list of them
    """

    def __init__(
        self, data: dict[str, Any], n_texts: int, encodings: Callable[[], Any] | None = None, tensor_type: Any = None
    ) -> None:
        self._asked = encodings
        super().__init__(data, tensor_type=tensor_type, n_sequences=n_texts)

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
        copied = NbbpeEncoding(copy.deepcopy(self.data, memo), self._n_sequences, self._asked)
        copied._found = copy.deepcopy(self.__dict__.get("_found"), memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self.__dict__.get("_found"), "n_sequences": self._n_sequences}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._asked, self._n_sequences = None, state["n_sequences"]
        super().__setstate__(state)
