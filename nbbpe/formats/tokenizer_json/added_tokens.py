"""Reads the added_tokens of a tokenizer.json: tokens that are found in a text before the model sees it, and their flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.extras import FLAGS, Extras, Flags
from ...model.model import Model
from ...model.special_tokens import MAX_ID
from ...system.excerpt import shown
from ...system.user_warnings import warn_user
from ...text.normalizer import Normalizer
from ..shared.named_errors import naming

# Flags that nbbpe's own special tokens do not have; see model/extras.py.
TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def read(added: Any, entries: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Flags]]:
    """Return (ids, flags): the added tokens with the ids that tokenizers gives them, and the flags of those that have any.

    entries : of model.vocab
    """
    if not isinstance(added, list):
        raise ValueError(f"added_tokens must be a list, not {type(added).__name__}")
    special: dict[str, int] = {}
    found: dict[str, Flags] = {}
    following = len(entries)  # the id of the next token that model.vocab does not have
    for number, token in enumerate(added):
        where = f"added_tokens[{number}]"
        content = token.get("content") if isinstance(token, dict) else None
        if not isinstance(content, str) or not content:
            raise ValueError(f"{where} must be an object with a content, and is {shown(token)}")
        if not content.isascii():
            with naming(where):
                content.encode()
        if content in special:
            raise ValueError(f"{where} is {shown(content)}, which comes twice")
        # tokenizers ignores the id in the file.
        token_id = entries.get(content, following)
        if type(token_id) is not int or type(token.get("id")) is not int or token["id"] != token_id:
            raise ValueError(
                f"{where}, {shown(content)}, has the id {shown(token.get('id'))}, but tokenizers would give it "
                f"{shown(token_id)} (its id in model.vocab, else the next free one)"
            )
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"{where}, {shown(content)}, has the id {token_id}; ids must be from 0 to {MAX_ID:,}")
        special[content] = token_id
        following = max(following, token_id + 1)
        flags = {flag for flag in TOKEN_FLAGS if token.get(flag)} | (set() if token.get("special", True) else {"plain"})
        if flags:
            found[content] = tuple(flag for flag in FLAGS if flag in flags)
    return special, found


def added_token(token: str, flags: Flags) -> dict[str, Any]:
    """An added token in the form of tokenizers and transformers."""
    return {"content": token, **{flag: flag in flags for flag in TOKEN_FLAGS}, "special": "plain" not in flags}


def check_normalized(extras: Extras, normalizer: Normalizer) -> None:
    """Raise ValueError if normalization removes all of an added token: tokenizers would find it between any two characters.

    Warn about two that are the same after normalization.
    """
    known: dict[str, str] = {}
    for token, flags in extras.flags.items():
        if "normalized" not in flags:
            continue
        normalized = normalizer.apply(token, set())
        if not normalized:
            raise ValueError(
                f"added token {shown(token)} is to be found in normalized text, and the normalizer leaves nothing of it"
            )
        first = known.setdefault(normalized, token)
        if first != token:
            warn_user(
                f"added tokens {shown(first)} and {shown(token)} are both {shown(normalized)} in normalized text, where "
                "tokenizers finds either of them, by chance, and nbbpe the first"
            )


def may_be_pretoken(model: Model, token: str, is_split: bool = False) -> bool:
    """Whether a special token may also be a pretoken of ordinary text.

    Such a pretoken matters with ignore_merges: if the token is in model.vocab, tokenizers gives the pretoken its id. The
    token must spell its own bytes, be a pretoken of the split pattern, and not be found as a special token everywhere.

    is_split : whether special tokens are split, so that none is found

    If they are not, the token may still be missed: inside a word, if it is single_word, or if only the normalizer or
    Metaspace makes it. Only the pattern is checked, as what a cutter does depends on the text around the token.
    """
    flags, normalizer, cutter = model.extras.flags.get(token, ()), model.normalizer, model.extras.cutter
    is_made = bool(normalizer.kinds) and not ("normalized" in flags and normalizer.apply(token, set()) == token)
    if cutter is not None and "Metaspace" in cutter.kinds:
        is_made = True
    if not (is_split or is_made or "single_word" in flags) or not (
        token.isascii() and token.isprintable() and " " not in token
    ):
        return False
    return model.pattern.split(token) == [token]
