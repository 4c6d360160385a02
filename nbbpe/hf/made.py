"""Caches what nbbpe makes from a backend, until a part of the backend is replaced, set or added."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokenizers import Tokenizer as Backend

from .applied import Applied


class Made(NamedTuple):
    """What nbbpe made from a backend, and the state of the backend at that time.

    applied : encodes and decodes as the backend does; None if nbbpe cannot honour it exactly
    refusal : the reason for None
    next_id : the id of the next token that is added to the backend
    tokens  : the result of `_tokens`
    parts   : the result of `_parts`
    """

    applied: Applied | None
    refusal: str
    next_id: int
    tokens: list[Any]
    parts: list[Any]

    @classmethod
    def of(cls, backend: Backend) -> Made:
        next_id = max(
            [backend.get_vocab_size(with_added_tokens=False), *(i + 1 for i in backend.get_added_tokens_decoder())]
        )
        state = next_id, _tokens(backend, next_id), _parts(backend)
        try:
            return cls(Applied(backend), "", *state)
        except ValueError as error:
            return cls(None, str(error), *state)

    def is_current(self, backend: Backend) -> bool:
        """Whether the backend has not changed."""
        return self.parts == _parts(backend) and self.decodes_the_same(backend)

    def decodes_the_same(self, backend: Backend) -> bool:
        """Whether the backend still decodes each id to the same text."""
        return self.tokens == _tokens(backend, self.next_id)


# `_tokens` and `_parts` read what users and transformers replace, set or add. Both take two microseconds, `_tokens` a fifth
# of that.


def _tokens(backend: Backend, next_id: int) -> list[Any]:
    """What determines the text of an id. (get_vocab_size with added tokens would take 4 ms in tokenizers 0.22.)"""
    form = _serialized(backend.normalizer)
    return [backend, backend.get_vocab_size(with_added_tokens=False), backend.id_to_token(next_id), form]


def _parts(backend: Backend) -> list[Any]:
    """What else determines the ids of a text."""
    model = backend.model
    options = getattr(model, "dropout", None), getattr(model, "ignore_merges", None)
    return [*options, _serialized(backend.pre_tokenizer), _serialized(backend.post_processor)]


def _serialized(part: Any) -> bytes | None:
    return None if part is None else part.__getstate__()
