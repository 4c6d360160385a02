"""The result of a call of transformers, and what it tells of each row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from transformers import BatchEncoding


class RowEncoding:
    """A row of a result, as the Encoding of tokenizers.

    What nbbpe does not know of it (words, sequences, what overflows) is asked of tokenizers, by `theirs`, which gives
    the row of its result.

    ids, type_ids, attention_mask, special_tokens_mask : list of int
    offsets : list of (start, end), in characters
    """

    def __init__(
        self, row: dict[str, list[Any]], tokens: list[str] | None, is_pair: bool, theirs: Callable[[], Any]
    ) -> None:
        self.ids = row["input_ids"]
        self.type_ids = row["token_type_ids"]
        self.attention_mask = row["attention_mask"]
        self.special_tokens_mask = row["special_tokens_mask"]
        self.offsets = row["offset_mapping"]
        if tokens is not None:
            self.tokens = tokens
        self.of_tokenizers = theirs
        self._is_pair = is_pair

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token that has a character; None if none has it."""
        if self._is_pair or sequence_index != 0 or type(char_pos) is not int or char_pos < 0:
            found: int | None = self.of_tokenizers().char_to_token(char_pos, sequence_index)
            return found
        return next((i for i, (start, end) in enumerate(self.offsets) if start <= char_pos < end), None)

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
