"""The model of a tokenizer.json: its vocab and merges as bytes, without the added tokens."""

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
from ..vocab_json.spelling import spell, token_of, unspell, unspelled
from . import word_ends
from .merges_text import MergesText, ids_of, lines_of

_KNOWN = {
    *("type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"),
}


class Tokens(NamedTuple):
    """What a model and its added tokens come to."""

    vocab: PackedVocab  # without added tokens, except for the shared ones
    merges: list[tuple[bytes, bytes]] | NDArray[np.int32]  # as Model.fitting takes them
    shared: set[str]  # the added tokens that are ordinary tokens, too


@dataclass(frozen=True)
class ModelPart:
    """A model as the file has it."""

    entries: Mapping[str, Any]
    merges: MergesText | list[Any]  # without those that tokenizers skips
    numbers: Sequence[int]  # their places in the file
    suffix: str | None  # end_of_word_suffix
    ignore_merges: bool

    @classmethod
    def of(cls, part: dict[str, Any]) -> ModelPart:
        """Raises ValueError for what nbbpe cannot honour, and for a vocab or merges of another type."""
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
        """The vocabulary and its merges.

        special : the added tokens
        digits  : the steps of the pre_tokenizer that see bytes as digits; merges that they rule out are omitted
        """
        entries, merges = self.entries, self.merges
        if self.suffix is not None:
            entries, merges = word_ends.with_spaces(entries, lines_of(merges), self.numbers, self.suffix, special)
        ordinary = _without(entries, special)
        packed = None if digits else _packed(ordinary, merges)
        shared: set[str] = set()
        # Few files have any: so first as if there were none.
        if (packed is None or min(map(len, special), default=2) == 1) and (shared := _shared(special, entries, merges)):
            ordinary = _without(entries, set(special) - shared)
            packed = None if digits else _packed(ordinary, merges)
        of_text = ordinary if packed else unspelled(ordinary)
        vocab = packed[0] if packed else PackedVocab.of(vocab_of(ordinary, of_text, "model.vocab"))
        _check_bytes(vocab, entries, special)
        _check_spelling(ordinary, of_text, entries, special, self.ignore_merges)
        if packed:
            return Tokens(*packed, shared)
        # Before those of the file stand the merges that make the ends of words.
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
    whys = {
        "dropout": "which makes encoding random",
        "continuing_subword_prefix": "which byte-level BPE has not",
    }
    for key, why in whys.items():
        if model.get(key):
            raise ValueError(f"model.{key} is {shown(model[key])}, {why}")
    # unk_token, fuse_unk and byte_fallback are about characters that the vocab lacks: in byte-level BPE there are none.
    if not isinstance(model.get("ignore_merges", False), bool):
        raise ValueError(f"model.ignore_merges must be true or false, and is {shown(model['ignore_merges'])}")


def _without_versions(lines: list[Any]) -> Sequence[int]:
    """The places of merges that tokenizers does not skip, as in a list of strings what begins like a merges.txt."""
    if set(map(type, lines)) != {str} or "\n#version" not in "\n".join(["", *lines]):
        return range(len(lines))
    return [number for number, line in enumerate(lines) if not line.startswith("#version")]


def _without(entries: Mapping[str, Any], special: Collection[str]) -> dict[str, Any]:
    """The entries of model.vocab that are not these added tokens."""
    ordinary = dict(entries)
    for token in special:
        ordinary.pop(token, None)
    return ordinary


def _shared(special: Collection[str], entries: Mapping[str, Any], merges: MergesText | list[Any]) -> set[str]:
    """The added tokens that merges need as ordinary tokens, or that are bytes: as where words are added of which some are
    tokens already. Only those that are spelled as their own bytes: of others, the added token has other bytes."""
    some = {token for token in special if token in entries and spell(token.encode()) == token}
    shared = {token for token in some if len(token) == 1}
    if len(shared) < len(some):
        for line in lines_of(merges):
            sides = line.split(" ") if isinstance(line, str) else line
            if isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, str) for side in sides):
                shared.update(some.intersection([*sides, "".join(sides)]))
    return shared


def _packed(entries: Mapping[str, Any], lines: MergesText | list[Any]) -> tuple[PackedVocab, NDArray[np.int32]] | None:
    """Vocabulary and merges as arrays; None where they have anything unusual, or a merge comes twice."""
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
    """Refuse tokens of which it matters that tokenizers compares them as they are spelled, and nbbpe as bytes."""
    # Those that spell bytes are distinct; each of the others means its own UTF-8, which one of them may spell, and also an
    # added token, for which merges would take it.
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
        if token_of(text) != text.encode():
            raise ValueError(
                f"added token {shown(text)} is spelled like {shown(token_of(text))}, for which tokenizers would "
                "take it with ignore_merges"
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
