"""What nbbpe makes of a tokenizer of tokenizers, until a part of that is replaced, set or added."""

from __future__ import annotations

from typing import Any, NamedTuple

from tokenizers import Tokenizer as Backend

from .applied import Applied


class Made(NamedTuple):
    """What was made of a tokenizer of tokenizers.

    applied : what applies it; None if nbbpe cannot honour it exactly
    refusal : why not
    next_id : the id that the next token gets which is added to it
    tokens  : of it then, see `_tokens`
    parts   : of it then, see `_parts`
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
        """Whether this is what would be made now."""
        return self.parts == _parts(backend) and self.decodes_the_same(backend)

    def decodes_the_same(self, backend: Backend) -> bool:
        """Whether ids stand for the same text as then."""
        return self.tokens == _tokens(backend, self.next_id)


# All that users and transformers replace, set or add: reading it takes two microseconds, and a fifth of that for what
# decoding needs.


def _tokens(backend: Backend, next_id: int) -> list[Any]:
    """What decides the text of an id. The number of all tokens would take tokenizers 0.22 four milliseconds."""
    form = _written(backend.normalizer)
    return [backend, backend.get_vocab_size(with_added_tokens=False), backend.id_to_token(next_id), form]


def _parts(backend: Backend) -> list[Any]:
    """What else decides the ids of a text."""
    model = backend.model
    options = getattr(model, "dropout", None), getattr(model, "ignore_merges", None)
    return [*options, _written(backend.pre_tokenizer), _written(backend.post_processor)]


def _written(part: Any) -> bytes | None:
    return None if part is None else part.__getstate__()
