"""Recognises objects of other libraries that are tokenizers, by their attributes, without importing the libraries."""

from __future__ import annotations

from typing import Any


def is_encoding(value: object) -> bool:
    """Whether a value is a tiktoken.Encoding, or has the attributes that nbbpe reads from one."""
    return all(hasattr(value, name) for name in ("_mergeable_ranks", "_pat_str", "_special_tokens"))


def is_tokenizer(value: object) -> bool:
    """Whether a value is a tokenizers.Tokenizer, or a transformers object that has one."""
    return all(hasattr(backend_of(value), name) for name in ("to_str", "get_vocab"))


def backend_of(value: Any) -> Any:
    """The tokenizers.Tokenizer of a transformers object; any other value unchanged."""
    return getattr(value, "backend_tokenizer", value)
