"""Reads the model of a tokenizer.json: its vocab and merges as bytes, without the added tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.packed_vocab import PackedVocab
from ...model.vocab_checks import check_bytes
from ...system.excerpt import shown
from ..shared.json_text import check_known
from ..shared.named_errors import naming
from ..vocab_json.gpt2 import vocab_of
from ..vocab_json.packed_entries import has_twice, packed_entries
from ..vocab_json.spelling import spell, spells_other_text, token_of, unspell, unspelled
from . import word_ends
from .merges_text import MergesText, ids_of, lines_of

_KNOWN = {
    *("type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"),
}


class Tokens(NamedTuple):
    """The tokens and merges of a model."""

    vocab: PackedVocab  # without added tokens, except for the shared ones
    merges: list[tuple[bytes, bytes]] | NDArray[np.int32]  # as Model.fitting takes them
    shared: set[str]  # the added tokens that are also ordinary tokens


@dataclass(frozen=True)
class ModelPart:
    """A model in the form of the file."""

    entries: Mapping[str, Any]
    merges: MergesText | list[Any]  # without those that tokenizers skips
    numbers: Sequence[int]  # the index of each merge in the file
    suffix: str | None  # end_of_word_suffix
    ignore_merges: bool

    @classmethod
    def of(cls, part: dict[str, Any]) -> ModelPart:
        """Read the part `model`. Raises ValueError for what nbbpe cannot honour, and for invalid types."""
        _check(part)
        suffix = word_ends.suffix_of(part)
        entries, merges = part.get("vocab"), part.get("merges")
        if not isinstance(entries, dict):
            raise ValueError(f"model.vocab must be an object from tokens to ids, not {type(entries).__name__}")
        if not isinstance(merges, (MergesText, list)):
            raise ValueError(f"model.merges must be a list, not {type(merges).__name__}")
        numbers: Sequence[int] = range(len(merges))
        if isinstance(merges, list) and len(numbers := _without_versions(merges)) < len(merges):
            merges = [merges[number] for number in numbers]
        return cls(entries, merges, numbers, suffix, bool(part.get("ignore_merges")))

    def tokens(self, special: Collection[str], digits: Sequence[dict[str, Any]]) -> Tokens:
        """The vocabulary and its merges, as bytes.

        special : the added tokens
        digits  : the steps Digits after ByteLevel, which cut between bytes; merges that they make impossible are omitted
        """
        entries, merges = self.entries, self.merges
        if self.suffix is not None:
            entries, merges = word_ends.with_spaces(entries, lines_of(merges), self.numbers, self.suffix, special)
        ordinary = _without(entries, special)
        packed = None if digits else _packed(ordinary, merges)
        shared: set[str] = set()
        # Few files have shared tokens: so the fast way is tried first as if there were none.
        if (packed is None or min(map(len, special), default=2) == 1) and (shared := _shared(special, entries, merges)):
            ordinary = _without(entries, set(special) - shared)
            packed = None if digits else _packed(ordinary, merges)
        of_text = ordinary if packed else unspelled(ordinary)
        vocab = packed[0] if packed else PackedVocab.of(vocab_of(ordinary, of_text, "model.vocab"))
        _check_bytes(vocab, entries, special)
        _check_spelling(ordinary, of_text, entries, special, self.ignore_merges)
        if packed:
            return Tokens(*packed, shared)
        # Merges that make the ends of words precede those of the file; their numbers are negative.
        numbered = zip([*range(len(self.merges) - len(merges), 0), *self.numbers], lines_of(merges), strict=True)
        found = _merges(numbered, set(vocab.tokens()), of_text, special)
        if digits:
            from .pretokenizers import without_mixed

            found = without_mixed(found, digits)
        return Tokens(vocab, found, shared)


def _check(model: dict[str, Any]) -> None:
    kind = model.get("type", "BPE")
    if kind != "BPE":
        raise ValueError(f"model.type is {shown(kind)}, and nbbpe reads BPE only")
    check_known(model, _KNOWN, "model")
    reasons = {
        "dropout": "which makes encoding random",
        "continuing_subword_prefix": "which byte-level BPE does not have",
    }
    for key, reason in reasons.items():
        if model.get(key):
            raise ValueError(f"model.{key} is {shown(model[key])}, {reason}")
    # unk_token, fuse_unk and byte_fallback have no effect: they are for characters that the vocab lacks.
    if not isinstance(model.get("ignore_merges", False), bool):
        raise ValueError(f"model.ignore_merges must be true or false, and is {shown(model['ignore_merges'])}")


def _without_versions(lines: list[Any]) -> Sequence[int]:
    """The indexes of merges that tokenizers does not skip: in a list of strings, it skips those beginning with #version."""
    if set(map(type, lines)) != {str} or "\n#version" not in "\n".join(["", *lines]):
        return range(len(lines))
    return [number for number, line in enumerate(lines) if not line.startswith("#version")]


def _without(entries: Mapping[str, Any], special: Collection[str]) -> dict[str, Any]:
    """The entries of model.vocab without these added tokens."""
    ordinary = dict(entries)
    for token in special:
        ordinary.pop(token, None)
    return ordinary


def _shared(special: Collection[str], entries: Mapping[str, Any], merges: MergesText | list[Any]) -> set[str]:
    """The added tokens that are also ordinary tokens, because merges need them, or because they are bytes.

    This happens if a user adds words, and some of them are tokens already. It needs a spelling that equals the text: else
    the added token and the ordinary token have different bytes.
    """
    some = {token for token in special if token in entries and spell(token.encode()) == token}
    shared = {token for token in some if len(token) == 1}
    if len(shared) < len(some):
        for line in lines_of(merges):
            sides = line.split(" ") if isinstance(line, str) else line
            if isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, str) for side in sides):
                shared.update(some.intersection([*sides, "".join(sides)]))
    return shared


def _packed(entries: Mapping[str, Any], lines: MergesText | list[Any]) -> tuple[PackedVocab, NDArray[np.int32]] | None:
    """Vocabulary and merges as arrays; None if they have anything unusual, or a merge occurs twice."""
    vocab = packed_entries(entries) if entries else None
    merges = None if vocab is None else ids_of(lines, entries)
    return None if vocab is None or merges is None or has_twice(merges) else (vocab, merges)


def _check_bytes(vocab: PackedVocab, entries: Mapping[str, Any], special: Collection[str]) -> None:
    """Raise ValueError unless the vocabulary has the bytes that it needs."""
    try:
        with naming("model"):
            check_bytes(vocab)
    except ValueError as error:
        of_bytes = [shown(token) for token in special if token in entries and len(token) == 1]
        if not of_bytes:
            raise
        raise ValueError(f"{error}; a byte's token cannot be an added token too, as {', '.join(of_bytes)} is") from None


def _check_spelling(
    ordinary: Mapping[str, Any],
    tokens: Mapping[str, Any],
    entries: Mapping[str, Any],
    special: Collection[str],
    whole: bool,
) -> None:
    """Raise ValueError for tokens that tokenizers, which compares spellings, and nbbpe, which compares bytes, treat
    differently."""
    # Each entry that does not spell bytes means its own UTF-8. Another entry, or an added token, may spell the same bytes.
    for text in [text for text in ordinary if text not in tokens] if len(tokens) < len(ordinary) else []:
        token = text.encode()
        if spell(token) in entries:
            raise ValueError(f"model.vocab: {shown(text)} and {shown(spell(token))} both stand for {shown(token)}")
        if whole:
            raise ValueError(
                f"model.vocab: {shown(text)} has characters that stand for no byte, so that with ignore_merges it "
                "is found in no text, and nbbpe would find it"
            )
    for text in special if whole else ():
        if spells_other_text(text):
            raise ValueError(
                f"added token {shown(text)} is spelled like {shown(token_of(text))}, so that tokenizers would confuse them "
                "because of ignore_merges"
            )


def _merges(
    lines: Iterable[tuple[int, Any]], known: set[bytes], tokens: Mapping[str, bytes], special: Collection[str]
) -> list[tuple[bytes, bytes]]:
    numbers: dict[tuple[bytes, bytes], int] = {}
    for number, line in lines:
        where = f"model.merges[{number}]"
        sides = line.split(" ") if isinstance(line, str) else line
        if not isinstance(sides, list) or len(sides) != 2 or not all(isinstance(side, str) and side for side in sides):
            raise ValueError(f"{where} must be two tokens, and is {shown(line)}")
        try:
            left, right = (tokens.get(side) or unspell(side) for side in sides)
        except KeyError as error:
            raise ValueError(f"{where}: the character {shown(error.args[0])} in {shown(line)} stands for no byte") from None
        for token in (left, right, left + right):
            if token not in known:
                what = "is an added token" if spell(token) in special else "is not in model.vocab"
                raise ValueError(f"{where} merges {shown(left)} and {shown(right)}, but {shown(token)} {what}")
        first = numbers.setdefault((left, right), number)
        if first != number:
            raise ValueError(f"{where} merges {shown(left)} and {shown(right)}, as model.merges[{first}] does")
    return list(numbers)
