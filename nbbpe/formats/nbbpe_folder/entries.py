"""Reads and writes single entries of a nbbpe.json: special tokens, the rules to find them, the provenance."""

from __future__ import annotations

from typing import Any

from ...model.extras import FLAGS, Extras
from ...model.model import Model
from ...model.post_processor import read_templates
from ...model.special_tokens import MAX_ID
from ...system.excerpt import shown
from ...text.cutting import Cutter
from ..shared.named_errors import naming


def read_special_tokens(special: object, about_path: str) -> dict[str, int]:
    """Check the entry special_tokens of a nbbpe.json. Raises ValueError that names the file and the invalid value."""
    if not isinstance(special, dict):
        raise ValueError(
            f"{about_path}: special_tokens must be an object from tokens to ids from 0 to {MAX_ID:,}, and is "
            f"{shown(special)}"
        )
    for token, token_id in special.items():
        if not token or type(token_id) is not int or not 0 <= token_id <= MAX_ID:
            raise ValueError(
                f"{about_path}: special_tokens must be an object from tokens, none of them empty, to ids from 0 to "
                f"{MAX_ID:,}, and has {shown(token)}: {shown(token_id)}"
            )
    with naming(about_path):
        for token in special:
            token.encode()
    return special


def spelled_extras(model: Model) -> dict[str, Any]:
    """The entries of a nbbpe.json that most tokenizers do not need."""
    extras = model.extras
    spelled: dict[str, Any] = {}
    if extras.flags:
        spelled["special_token_flags"] = {token: list(flags) for token, flags in extras.flags.items()}
    if extras.prefix_space:
        spelled["prefix_space"] = extras.prefix_space
    if extras.byte_fallback:
        spelled["byte_fallback"] = list(extras.byte_fallback)
    if extras.cutter is not None:
        spelled["pre_tokenizer"] = extras.cutter.steps
    if extras.post_processor is not None:
        spelled["post_processor"] = extras.post_processor
    return spelled


def read_extras(about: dict[str, Any], special: dict[str, int]) -> Extras:
    """Read what `spelled_extras` wrote. Raises ValueError for invalid values."""
    flags = about.get("special_token_flags", {})
    if not isinstance(flags, dict):
        raise ValueError(f"special_token_flags must be an object from tokens to flags, and is {shown(flags)}")
    for token, of_token in flags.items():
        if token not in special or not isinstance(of_token, list) or not all(flag in FLAGS for flag in of_token):
            raise ValueError(
                f"special_token_flags must be an object from special tokens to lists of {', '.join(FLAGS)}, and has "
                f"{shown(token)}: {shown(of_token)}"
            )
    prefix_space = about.get("prefix_space", False)
    if not isinstance(prefix_space, bool) and prefix_space != "first":
        raise ValueError(f'prefix_space must be true, false or "first", and is {shown(prefix_space)}')
    fallback = about.get("byte_fallback", [])
    if fallback != [] and not _is_byte_fallback(fallback):
        raise ValueError(f"byte_fallback must be the ids of 256 tokens, and is {shown(fallback)}")
    steps = about.get("pre_tokenizer")
    if steps is not None and not (isinstance(steps, list) and steps):
        raise ValueError(f"pre_tokenizer must be a list of steps, and is {shown(steps)}")
    post_processor = about.get("post_processor")
    read_templates(post_processor)
    in_order = {token: tuple(flag for flag in FLAGS if flag in of_token) for token, of_token in flags.items()}
    return Extras(in_order, prefix_space, post_processor, Cutter.of(steps) if steps else None, tuple(fallback))


def _is_byte_fallback(ids: Any) -> bool:
    """Whether these are 256 different ids, or -1 for a byte without a token."""
    if not isinstance(ids, list) or len(ids) != 256 or set(map(type, ids)) != {int}:
        return False
    known = [token_id for token_id in ids if token_id != -1]
    return len(set(known)) == len(known)


def read_origin(about: dict[str, Any], about_path: str) -> tuple[str | None, dict[str, Any]]:
    """Read the fingerprint and the provenance from a nbbpe.json. Raises ValueError if one is invalid."""
    fingerprint = about.get("fingerprint")
    if "fingerprint" in about and not isinstance(fingerprint, str):
        raise ValueError(f"{about_path}: fingerprint must be a string, and is {shown(fingerprint)}")
    provenance = about.get("provenance", {})
    if not isinstance(provenance, dict) or not isinstance(provenance.get("versions", {}), dict):
        raise ValueError(
            f"{about_path}: provenance must be an object with versions as an object, and is {shown(provenance)}"
        )
    return fingerprint, provenance
