"""Spells a vocabulary of characters as tokenizer.json does: spaces as ▁, and the tokens of bytes as <0x00> to <0xFF>."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...patterns.class_pattern import SPACE, class_joins, joins_of
from ...system.excerpt import shown
from ...text.byte_fallback import SIGN
from ...text.normalizer import PrefixSpace
from ...text.steps import steps_of

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]

_SPELLS_SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": SIGN}
MAKES_SPACES = {"type": "Replace", "pattern": {"String": SIGN}, "content": " "}
# Gemma's files have this step, which has no effect, as no spaces are left.
_NO_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
_SCHEMES: dict[str, PrefixSpace] = {"always": True, "first": "first", "never": False}


def fallback_of(entries: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The ids of the tokens <0x00> to <0xFF>; None if one is missing.

    That of an ASCII character is not needed if the character itself is a token, as the tab is in Gemma 1 and 2: then -1.
    """
    ids = tuple(
        entries.get(text, -1 if byte < 0x80 and chr(byte) in entries else None) for byte, text in enumerate(BYTE_TOKENS)
    )
    return None if None in ids else ids


def read_spaces(steps: list[dict[str, Any]], pre_tokenizer: Any) -> tuple[list[dict[str, Any]], PrefixSpace, bool]:
    """Read what is done to a text before it is split: (steps of the normalizer, prefix_space, cuts_before_spaces).

    steps : the steps of the normalizer in the file, which replaces each space by ▁; in the result, nbbpe replaces each ▁ by
        a space, which is equivalent
    """
    cuts = steps_of(pre_tokenizer, "pre_tokenizer")
    place = steps.index(_SPELLS_SPACES) if _SPELLS_SPACES in steps else None
    if place is not None:
        others = [step["type"] for step in steps[place + 1 :] if step["type"] != "Prepend"]
        if others:
            raise ValueError(f"normalizer has {shown(others[0])} after each space is replaced by {SIGN}")
    prefix_space: PrefixSpace = False
    cuts_before_spaces = False
    if [step["type"] for step in cuts] == ["Metaspace"]:
        prefix_space, cuts_before_spaces = _metaspace(cuts[0])
        if place is None:  # Metaspace alone replaces spaces, after all steps of the normalizer
            return steps, prefix_space, cuts_before_spaces
    elif cuts and not (cuts == [_NO_SPLIT] and place is not None):
        found = " and ".join(step["type"] for step in cuts)
        raise ValueError(f"pre_tokenizer is {found}; with a vocabulary of characters, nbbpe can honour Metaspace alone")
    if place is None:
        raise ValueError(f"nothing replaces a space by {SIGN}, and nbbpe can honour no other vocabulary of characters")
    before, after = steps[:place], steps[place + 1 :]
    if before[-1:] == [{"type": "Prepend", "prepend": SIGN}]:
        after.append(before.pop())
    after = [{**step, "prepend": step["prepend"].replace(SIGN, " ")} for step in after]
    return [*before, MAKES_SPACES, *after], prefix_space, cuts_before_spaces


def _metaspace(step: Mapping[str, Any]) -> tuple[PrefixSpace, bool]:
    """Read a Metaspace: (prefix_space, whether it cuts before each space)."""
    default = "always" if step.get("add_prefix_space", True) else "never"
    scheme, splits = step.get("prepend_scheme", default), step.get("split", True)
    is_known = isinstance(scheme, str) and scheme in _SCHEMES and isinstance(splits, bool)
    if step.get("replacement") != SIGN or not is_known:
        raise ValueError(f"pre_tokenizer Metaspace is not known with a vocabulary of characters: {shown(step)}")
    return _SCHEMES[scheme], splits


def check_decoder(decoder: Any) -> None:
    """Raise ValueError unless a decoder converts tokens to the text that they stand for."""
    for step in steps_of(decoder, "decoder"):
        strips = step["type"] == "Strip" and step.get("content") == " "
        if not strips and step["type"] not in ("ByteFallback", "Fuse", "Metaspace") and step != MAKES_SPACES:
            raise ValueError(f"decoder is {shown(step['type'])}, which turns tokens into other text")


def spelled_parts(model: Model) -> dict[str, Any]:
    """The normalizer (as steps), pre_tokenizer and decoder of a model. Raises ValueError if a tokenizer.json cannot express
    the model's split pattern."""
    steps, prefix_space = model.normalizer.steps, model.extras.prefix_space
    cuts_before_spaces = _cuts_before_spaces(model)
    pre_tokenizer = None
    if MAKES_SPACES not in steps or prefix_space or cuts_before_spaces:
        scheme = next(scheme for scheme, each in _SCHEMES.items() if each == prefix_space)
        splits = {"prepend_scheme": scheme, "split": cuts_before_spaces}
        pre_tokenizer = {"type": "Metaspace", "replacement": SIGN, **splits}
    begins = bool(prefix_space)
    if MAKES_SPACES in steps:
        place = steps.index(MAKES_SPACES)
        after = [{**step, "prepend": step["prepend"].replace(" ", SIGN)} for step in steps[place + 1 :]]
        begins = begins or bool(after)
        steps = [*steps[:place], _SPELLS_SPACES, *after]
    decoders = [MAKES_SPACES, {"type": "ByteFallback"}, {"type": "Fuse"}]
    if begins:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "normalizer": steps,
        "pre_tokenizer": pre_tokenizer,
        "decoder": {"type": "Sequence", "decoders": decoders},
    }


def _cuts_before_spaces(model: Model) -> bool:
    """Whether a model's pattern cuts before each space, even inside tokens. Raises ValueError for other cuts in tokens."""
    needed = class_joins(texts_of(model.packed_ordinary, model.extras.byte_fallback))
    found = joins_of(model.pattern.regexes)
    if found is not None:
        before_spaces = (needed & ~found)[:, SPACE]
        if not (np.delete(needed & ~found, SPACE, axis=1)).any() and (not before_spaces.any() or not found[:, SPACE].any()):
            return bool(before_spaces.any())
    raise ValueError(
        f"this tokenizer has a vocabulary of characters, and its pattern, {shown(model.pattern.spelling)}, may cut "
        "within tokens, which tokenizer.json cannot express"
    )


def texts_of(vocab: PackedVocab, fallback: tuple[int, ...]) -> list[str]:
    """The tokens of a vocabulary of characters as str, without the tokens of bytes."""
    is_byte = np.isin(vocab.ids, fallback)
    return [token.decode() for token in vocab.at(np.flatnonzero(~is_byte)).tokens()]


def spelled_entries(vocab: PackedVocab, fallback: tuple[int, ...]) -> dict[str, int]:
    """Spell a vocabulary of characters as a tokenizer.json does, in the order of ids."""
    bytes_ = dict(zip(fallback, BYTE_TOKENS, strict=True))
    return {bytes_.get(i) or token.decode().replace(" ", SIGN): i for i, token in vocab.as_dict().items()}


def spelled_merges(model: Model, entries: Mapping[str, int]) -> str:
    """The merges as JSON."""
    assert model.merge_ids is not None
    texts = dict(zip(entries.values(), entries, strict=True))
    pairs = [[texts[left], texts[right]] for left, right, _ in model.merge_ids.tolist()]
    return json.dumps(pairs, ensure_ascii=False)


def with_spelled_bytes(vocab: PackedVocab, fallback: tuple[int, ...]) -> PackedVocab:
    """Replace the tokens of bytes by the texts <0x00> to <0xFF>, so that no two tokens of the vocabulary are equal."""
    spelled = {token_id: text.encode() for token_id, text in zip(fallback, BYTE_TOKENS, strict=True) if token_id >= 0}
    return PackedVocab.of(vocab.as_dict() | spelled)


def with_bytes(vocab: PackedVocab, fallback: tuple[int, ...]) -> PackedVocab:
    """Undo `with_spelled_bytes`. Raises ValueError if the vocabulary is not one that it made."""
    tokens = vocab.as_dict()
    for byte, (token_id, text) in enumerate(zip(fallback, BYTE_TOKENS, strict=True)):
        if token_id < 0:
            continue
        if tokens.get(token_id) != text.encode():
            raise ValueError(
                f"byte_fallback has the id {token_id}, which must be {text}, and is {shown(tokens.get(token_id))}"
            )
        tokens[token_id] = bytes([byte])
    return PackedVocab.of(tokens)
