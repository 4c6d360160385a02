"""Reads vocabularies of characters, as sentencepiece makes them: those of Llama 2, Mistral 7B and Gemma.

Their merges begin with characters instead of bytes. A character that the vocabulary lacks becomes the tokens of its bytes,
<0x00> to <0xFF> (`byte_fallback`), and a space is spelled ▁.

nbbpe converts such a vocabulary to one of bytes, with a space for each ▁. The bytes of each character in the vocabulary are
merged first (model/character_merges.py), and other characters are cut into bytes (text/byte_fallback.py). So the ids are
the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.character_merges import first_bytes, merges_of_characters
from ...model.extras import Extras
from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.post_processor import read_templates
from ...model.rank_vocab import recovered_merges
from ...model.special_tokens import MAX_ID
from ...patterns.class_pattern import SPACE, class_joins, class_pattern
from ...patterns.pattern_argument import get_pattern
from ...system.excerpt import shown
from ...system.stretches import starts_of
from ...text.byte_fallback import SIGN
from ...text.normalizer import Normalizer
from ...text.steps import steps_of
from ...text.utf8 import has_surrogates, widths_of
from ..vocab_json.packed_entries import has_twice
from . import added_tokens
from .character_spelling import BYTE_TOKENS, MAKES_SPACES, check_decoder, fallback_of, read_spaces, texts_of
from .merges_text import MergesText, ids_of, lines_of
from .model_part import ModelPart


def is_of_characters(document: Mapping[str, Any]) -> bool:
    """Whether a tokenizer.json has a vocabulary of characters, with a token for each byte."""
    model = document["model"]
    is_of_bytes = any(step["type"] == "ByteLevel" for step in steps_of(document.get("pre_tokenizer"), "pre_tokenizer"))
    return model.get("byte_fallback") is True and not is_of_bytes and fallback_of(model["vocab"]) is not None


def read(document: Mapping[str, Any], part: ModelPart, steps: list[dict[str, Any]], applies_steps: bool) -> Model:
    """Make the model of such a tokenizer.json.

    steps : the steps of its normalizer; without `applies_steps`, only the one that replaces spaces counts
    """
    if part.ignore_merges:
        raise ValueError("model.ignore_merges is true, and nbbpe cannot honour it with byte_fallback")
    if part.suffix is not None:
        raise ValueError("model.end_of_word_suffix is set, and nbbpe cannot honour it with byte_fallback")
    Normalizer.of(steps)  # raises ValueError for an invalid step
    steps, prefix_space, cuts_before_spaces = read_spaces(steps, document.get("pre_tokenizer"))
    check_decoder(document.get("decoder"))
    read_templates(document.get("post_processor"))
    special, flags = added_tokens.read(document.get("added_tokens") or [], part.entries)
    fallback = fallback_of(part.entries)
    assert fallback is not None, "is_of_characters was asked"
    extras = Extras(flags, prefix_space, document.get("post_processor"), byte_fallback=fallback)
    for token, of_token in flags.items():
        if MAKES_SPACES in steps and "normalized" in of_token and not {"lstrip", "rstrip"}.isdisjoint(of_token):
            raise ValueError(
                f"added token {shown(token)} has lstrip or rstrip, and is searched in text where spaces are {SIGN}, which "
                "is not whitespace: nbbpe cannot honour that"
            )
    of_text = Normalizer.of(steps if applies_steps else [step for step in steps if step == MAKES_SPACES])
    added_tokens.check_normalized(extras, of_text)
    merges = packed_merges(part.merges, part.entries)
    check_sign(part.entries, merges)
    of_byte = next((text for text in BYTE_TOKENS if text in special), None)
    if of_byte is not None:
        raise ValueError(f"added token {shown(of_byte)} is also the token of a byte, and nbbpe cannot honour both")
    # Added tokens that merges need, and characters, are also tokens of the model.
    in_merges = set(np.unique(merges).tolist())
    shared = [text for text, i in special.items() if text in part.entries and (i in in_merges or len(text) == 1)]
    vocab = packed_characters(part.entries, special.keys() - shared)
    merges = reachable(merges, vocab, fallback)
    if shared:
        extras = extras.sharing(shared)
    return model_of(vocab, merges, special, of_text, extras, cuts_before_spaces)


def check_sign(entries: Mapping[str, Any], merges: NDArray[np.int32]) -> None:
    """Raise ValueError if the model has no token ▁, or uses a space. (With ▁ for each space, no text has a space.)"""
    if SIGN not in entries:
        raise ValueError(f"model.vocab has no {SIGN}, the token of a space")
    spaced = next((text for text, i in entries.items() if " " in text and (text == " " or (merges == i).any())), None)
    if spaced is not None:
        raise ValueError(f"model.vocab: {shown(spaced)} has a space, where {SIGN} stands for each")


def model_of(
    vocab: PackedVocab,
    merges: NDArray[np.int32],
    special: dict[str, int],
    normalizer: Normalizer,
    extras: Extras,
    cuts_before_spaces: bool = False,
) -> Model:
    """Make the model of a vocabulary of characters, with a split pattern that no token crosses."""
    joins = class_joins(texts_of(vocab, extras.byte_fallback))
    if cuts_before_spaces:
        joins[:, SPACE] = False
    return Model.fitting(vocab, merges, special, get_pattern(class_pattern(joins)), normalizer, extras)


def packed_characters(entries: Mapping[str, Any], special: Collection[str]) -> PackedVocab:
    """Make a vocabulary from entries without added tokens: each token is the bytes that decoding gives.

    Raises ValueError for an invalid entry, and if two tokens (other than those of bytes) stand for the same bytes.
    """
    ordinary = dict(entries)
    for text in special:
        ordinary.pop(text, None)
    _check_ids(ordinary)
    bytes_ = {ordinary.pop(text): bytes([byte]) for byte, text in enumerate(BYTE_TOKENS) if text in ordinary}
    texts = list(ordinary)
    together = "".join(texts)
    if " " in together:
        twin = next((text for text in texts if " " in text and text.replace(" ", SIGN) in ordinary), None)
        if twin is not None:
            both = f"{shown(twin)} and {shown(twin.replace(' ', SIGN))}"
            raise ValueError(f"model.vocab: {both} both stand for {shown(twin.encode())}")
    try:
        together = together.replace(SIGN, " ")
        data = together.encode()
    except UnicodeEncodeError:
        text = next(text for text in texts if not text.isprintable() and has_surrogates(text))
        raise ValueError(f"model.vocab: {shown(text)} holds a lone surrogate, which has no UTF-8") from None
    ends = starts_of(widths_of(together))[starts_of(list(map(len, texts)))]
    in_order = np.argsort(list(ordinary.values()))
    found = PackedVocab(np.frombuffer(data, dtype=np.uint8), ends, np.array(list(ordinary.values()), dtype=np.int32))
    return found.at(in_order).with_tokens(bytes_)


def _check_ids(entries: Mapping[str, Any]) -> None:
    """Raise ValueError for an id that is invalid, or that two entries have."""
    ids = list(entries.values())
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) > MAX_ID or len(set(ids)) < len(ids):
        raise ValueError(f"model.vocab: {_invalid_id(entries)}")


def _invalid_id(entries: Mapping[str, Any]) -> str:
    """A message about the first invalid id of entries."""
    owners: dict[int, str] = {}
    for text, token_id in entries.items():
        if type(token_id) is not int or not 0 <= token_id <= MAX_ID:
            return f"{shown(text)} has the id {shown(token_id)}; ids must be from 0 to {MAX_ID:,}"
        if owners.setdefault(token_id, text) != text:
            return f"id {token_id} is given to {shown(owners[token_id])} and to {shown(text)}"
    raise AssertionError("all ids are valid")


def packed_merges(of_file: MergesText | list[Any], entries: Mapping[str, Any]) -> NDArray[np.int32]:
    """The ids of left, right and result of each merge, int32[n, 3]. Raises ValueError for invalid merges."""
    merges = ids_of(of_file, entries) if len(of_file) else np.empty((0, 3), dtype=np.int32)
    if merges is None:
        _check_ids(entries)
        raise ValueError(f"model.merges: {_invalid(lines_of(of_file), entries)}")
    if has_twice(merges):
        raise ValueError("model.merges has one pair twice")
    strange = np.flatnonzero(np.isin(merges, [entries[text] for text in BYTE_TOKENS if text in entries]).any(axis=1))
    if len(strange):
        line = lines_of(of_file)[strange[0]]
        raise ValueError(f"model.merges[{strange[0]}] is {shown(line)}, which has a token of a byte")
    return merges


def _invalid(lines: Sequence[Any], entries: Mapping[str, Any]) -> str:
    """A message about what is wrong with merges."""
    for number, line in enumerate(lines):
        sides = line.split(" ") if isinstance(line, str) else line
        if not isinstance(sides, list) or len(sides) != 2 or not all(isinstance(side, str) for side in sides):
            return f"number {number} must be two tokens, and is {shown(line)}"
        for token in (*sides, "".join(sides)):
            if token not in entries:
                return f"number {number} is {shown(line)}, and {shown(token)} is not in model.vocab"
    return "they must all be strings, or all lists"


def reachable(merges: NDArray[np.int32], vocab: PackedVocab, fallback: tuple[int, ...]) -> NDArray[np.int32]:
    """Remove merges that are never applied. Returns all merges if it is not known which these are.

    Files list each split of a token into two others, with consecutive ranks. Only one of these can be applied.
    """
    results, firsts = np.unique(merges[:, 2], return_index=True)
    if np.count_nonzero(np.diff(merges[:, 2])) + 1 > len(results) or not len(merges):  # ranks are not consecutive
        return merges
    found = merges_by_tokens(results[np.argsort(firsts)], vocab, fallback)
    return merges if found is None or not np.isin(_pairs(found), _pairs(merges)).all() else found


def merges_by_tokens(results: NDArray[np.int32], vocab: PackedVocab, fallback: tuple[int, ...]) -> NDArray[np.int32] | None:
    """The one merge of each token that can be applied, int32[n, 3], if each pair that makes one of the tokens is a merge.

    results : the ids of the tokens, by rank

    Merging the bytes of a token by lower ranks only gives the two sides of its merge (for the reason see
    kernels/encoding/rank_tables.py). None if it gives another number of tokens than two.
    """
    # The tokens of a vocabulary of ranks, in order: bytes, the beginnings of characters, characters, and the tokens.
    of_characters, made = merges_of_characters(vocab, fallback)
    lengths, text = vocab.gather(vocab.numbers_of(results))
    first = PackedVocab.of_list([*(bytes([byte]) for byte in range(256)), *made])
    starts = starts_of(np.concatenate([first.lengths, lengths]))
    ranked = PackedVocab(np.concatenate([first.text, text]), starts, np.arange(len(starts) - 1, dtype=np.int32))
    found, irregular = recovered_merges(ranked)
    ids = np.concatenate([first_bytes(vocab, fallback), of_characters[:, 2], results])
    return ids[found[len(of_characters) :]].astype(np.int32) if irregular is None else None


def _pairs(merges: NDArray[np.int32]) -> NDArray[np.int64]:
    """The sides of each merge as one number."""
    return merges[:, 0].astype(np.int64) << 32 | merges[:, 1]
