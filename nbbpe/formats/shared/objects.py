"""Tokenizers of other libraries as objects, which are known by what they have: no library is imported for it."""

from __future__ import annotations

from typing import Any


def is_encoding(value: object) -> bool:
    """Whether a value is a tiktoken.Encoding, or has what makes one."""
    return all(hasattr(value, name) for name in ("_mergeable_ranks", "_pat_str", "_special_tokens"))


def is_tokenizer(value: object) -> bool:
    """Whether a value is a tokenizers.Tokenizer, or a transformers object that has one."""
    return all(hasattr(backend_of(value), name) for name in ("to_str", "get_vocab"))


def backend_of(value: Any) -> Any:
    """The tokenizers.Tokenizer of a transformers object; another value as it is."""
    return getattr(value, "backend_tokenizer", value)
