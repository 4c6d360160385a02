"""Rejects a model that does more to a text than a plain format, one of a vocabulary and merges only, can express."""

from __future__ import annotations

from ...model.model import Model
from ...system.excerpt import shown
from ...text.normalizer import HOW_TO_LEAVE_OUT

# How to write a tokenizer.json, for messages about formats that hold less.
WRITES_JSON = "Tokenizer.to_hf, or `nbbpe convert --to huggingface`"


def check_plain(model: Model, format_name: str) -> None:
    """Raise ValueError if a model does more to a text than find special tokens and split it.

    The error names everything that the format cannot express, not only the first.
    """
    extras, normalizer = model.extras, model.normalizer
    parts = []
    if normalizer.does_more:
        parts.append(f"normalizes text ({shown(normalizer.spelling)})")
    elif normalizer.form is not None:
        parts.append(f"converts text to the normal form {normalizer.form}")
    if extras.cutter is not None:
        parts.append(f"cuts a text by {', '.join(extras.cutter.kinds)} before it is split")
    if extras.prefix_space:
        parts.append("puts a space in front of a text")
    if extras.byte_fallback:
        parts.append("has a vocabulary of characters")
    if extras.shared:
        parts.append(f"has added tokens with ids of ordinary tokens, such as {shown(extras.shared[0])}")
    if extras.text_tokens:
        parts.append(f"finds added tokens such as {shown(extras.text_tokens[0])} in ordinary text")
    elif model.later or extras.ruled:
        token = next(iter(model.later or extras.ruled))
        parts.append(f"finds special token {shown(token)} by rules ({', '.join(extras.flags[token])})")
    if not parts:
        return
    ignore = f". {HOW_TO_LEAVE_OUT}" if len(parts) == 1 and normalizer.kinds else ""
    raise ValueError(
        f"this tokenizer {', and '.join(parts)}, which {format_name} cannot express. A tokenizer.json "
        f"({WRITES_JSON}) can{ignore}"
    )
