"""The tokens that are put around a text on request: at its start, at its end, between the two texts of a pair.

It is the post_processor of a tokenizer.json, as in tokenizers (Hugging Face's), and is stored unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import first_few, shown
from ..text.steps import steps_of
from .special_tokens import MAX_ID

# A piece of a template: ids, or "A" or "B" for the ids of the first or second text.
Template = list[list[int] | str]


class Templates(NamedTuple):
    """The templates of one text, and of a pair."""

    single: Template
    pair: Template

    def around(self, first: list[int], second: list[int] | None = None) -> list[int]:
        """The ids of a text, or of a pair, with the tokens around it."""
        ids: list[int] = []
        for part in self.single if second is None else self.pair:
            ids += part if isinstance(part, list) else first if part == "A" else second or []
        return ids

    def without_ids(self) -> Templates:
        """The templates without ids: of the texts alone, in the same order."""
        single: Template = [part for part in self.single if isinstance(part, str)]
        pair: Template = [part for part in self.pair if isinstance(part, str)]
        return Templates(single, pair)


PLAIN = Templates(["A"], ["A", "B"])


def read_templates(part: Mapping[str, Any] | None) -> Templates:
    """The templates of a post_processor. Raises ValueError that names a part that is unknown or invalid."""
    steps = steps_of(part, "post_processor")
    _check_keys(part)
    found = [each for each in map(_read, steps) if each is not None]
    if len(found) > 1:
        raise ValueError("post_processor is a Sequence of several that add tokens, and nbbpe can honour one")
    return found[0] if found else PLAIN


TYPES_OF_TEXTS = 0, 1  # the types of the texts of a pair, before the post_processor


class Types(NamedTuple):
    """The type of each piece in Templates (as in token_type_ids), for models that tell texts apart by it.

    later : the types of a first and a second text in a row that does not begin the text, if tokens are put around
    """

    single: list[int]
    pair: list[int]
    later: tuple[int, int] = TYPES_OF_TEXTS


def read_types(part: Mapping[str, Any] | None) -> Types:
    """The types of the pieces of a post_processor that `read_templates` accepts."""
    for step in steps_of(part, "post_processor"):
        if step["type"] == "RobertaProcessing":
            return Types([0, 0, 0], [0, 0, 0, 0, 0], later=(0, 0))
        if step["type"] == "BertProcessing":
            return Types([0, 0, 0], [0, 0, 0, 1, 1])
        if step["type"] == "TemplateProcessing":
            # Of each piece: {"Sequence": {"id": "A", "type_id": 0}}
            single, pair = (
                [int(value.get("type_id", 0)) for piece in step[name] for value in piece.values()]
                for name in ("single", "pair")
            )
            return Types(single, pair)
    return Types([0], [0, 1])


def read_spellings(part: Mapping[str, Any] | None) -> list[tuple[int, str]]:
    """Ids of a post_processor that `read_templates` accepts, each with the token that tokenizers shows for it."""
    found: list[tuple[int, str]] = []
    for step in steps_of(part, "post_processor"):
        if step["type"] in ("RobertaProcessing", "BertProcessing"):
            found += [(token_id, token) for token, token_id in (step["cls"], step["sep"])]
        if step["type"] == "TemplateProcessing":
            for token in step["special_tokens"].values():
                found += zip(token["ids"], token["tokens"], strict=False)
    return found


class Trimming(NamedTuple):
    """How a post_processor trims offsets.

    trims       : whether offsets leave out the spaces that a token begins and ends with
    keeps_first : whether a single space at the start of a text is kept, as one that may have been added
    """

    trims: bool
    keeps_first: bool


def read_trimming(part: Mapping[str, Any] | None) -> Trimming | None:
    """The trimming of a post_processor; None if it trims twice, or after tokens were put around."""
    steps = steps_of(part, "post_processor")
    trims = [step.get("trim_offsets", step["type"] in ("ByteLevel", "RobertaProcessing")) for step in steps]
    if not any(trims):
        return Trimming(False, False)
    place = trims.index(True)
    if any(trims[place + 1 :]) or any(step["type"] != "ByteLevel" for step in steps[:place]):
        return None
    return Trimming(True, bool(steps[place].get("add_prefix_space", True)))


def renumbered(part: Mapping[str, Any] | None, new_ids: NDArray[np.int64]) -> Mapping[str, Any] | None:
    """A post_processor that has been read, with other ids: new_ids[old id], -1 where no token has it any more.

    Raises ValueError if it puts such a token around a text.
    """

    def new(token_id: int) -> int:
        found = int(new_ids[token_id]) if token_id < len(new_ids) else -1
        if found < 0:
            raise ValueError(
                f"the post_processor of this tokenizer puts id {token_id} around texts, and no token of the smaller "
                "vocabulary has it: choose a larger size, or load the tokenizer without a post_processor"
            )
        return found

    if part is None:
        return None
    if isinstance(part.get("processors"), list):
        return {**part, "processors": [renumbered(each, new_ids) for each in part["processors"]]}
    changed = dict(part)
    for name in "cls", "sep":
        if isinstance(part.get(name), list) and len(part[name]) == 2:
            changed[name] = [part[name][0], new(part[name][1])]
    if isinstance(part.get("special_tokens"), Mapping):
        pieces = [*part.get("single", []), *part.get("pair", [])]
        used = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
        changed["special_tokens"] = {
            name: {**token, "ids": list(map(new, token["ids"]))}
            for name, token in part["special_tokens"].items()
            if name in used
        }
    return changed


def respelled(part: Mapping[str, Any] | None, names: Mapping[str, str]) -> Mapping[str, Any] | None:
    """A post_processor that has been read, with other names for some tokens. Their labels in templates stay as they are."""

    def new(token: object) -> object:
        return names.get(token, token) if isinstance(token, str) else token

    if part is None:
        return None
    if isinstance(part.get("processors"), list):
        return {**part, "processors": [respelled(each, names) for each in part["processors"]]}
    changed = dict(part)
    for name in "cls", "sep":
        if isinstance(part.get(name), list) and len(part[name]) == 2:
            changed[name] = [new(part[name][0]), part[name][1]]
    if isinstance(part.get("special_tokens"), Mapping):
        changed["special_tokens"] = {
            label: {**entry, "tokens": list(map(new, entry["tokens"]))} if "tokens" in entry else entry
            for label, entry in part["special_tokens"].items()
        }
    return changed


def _check_keys(part: Mapping[str, Any] | None) -> None:
    """Raise ValueError for a post_processor, or a part of a Sequence, that has the keys of another type.

    tokenizers goes by the keys, whatever type stands there: it takes the first type whose keys are there.
    """
    if part is None:
        return
    kind = taken = part["type"]
    has_options = isinstance(part.get("trim_offsets"), bool) and isinstance(part.get("add_prefix_space"), bool)
    if {"cls", "sep"} <= part.keys():
        taken = "RobertaProcessing" if has_options else "BertProcessing"
    elif {"single", "pair", "special_tokens"} <= part.keys() and not (kind == "ByteLevel" and has_options):
        taken = "TemplateProcessing"
    if taken != kind:
        raise ValueError(
            f"post_processor is {shown(kind)}, and for its keys ({first_few(sorted(part.keys() - {'type'}))}) tokenizers "
            f"takes it for {taken}: a RobertaProcessing and a ByteLevel have trim_offsets and add_prefix_space, true or "
            "false"
        )
    for each in part["processors"] if kind == "Sequence" else ():
        _check_keys(each)


def _read(part: Mapping[str, Any]) -> Templates | None:
    """The templates of one step; None if it adds no tokens."""
    kind = part["type"]
    if kind == "ByteLevel":  # it changes only offsets
        return None
    if kind in ("RobertaProcessing", "BertProcessing"):
        first, last = _id_of(part.get("cls"), "cls"), _id_of(part.get("sep"), "sep")
        between = [last, last] if kind == "RobertaProcessing" else [last]
        return Templates([[first], "A", [last]], [[first], "A", between, "B", [last]])
    if kind != "TemplateProcessing":
        raise ValueError(f"post_processor is {shown(kind)}, which nbbpe does not know")
    tokens = part.get("special_tokens", {})
    if not isinstance(tokens, Mapping):
        raise ValueError(f"post_processor: special_tokens must be an object, and is {shown(tokens)}")
    single = _template(part.get("single"), tokens)
    if [piece for piece in single if isinstance(piece, str)] != ["A"]:
        # tokenizers would apply it without special tokens, too, and leave out the text, or double it.
        raise ValueError(f"post_processor: the template of one text must have it once, and is {shown(part.get('single'))}")
    return Templates(single, _template(part.get("pair", ["A", "B"]), tokens))


def _id_of(value: object, where: str) -> int:
    if isinstance(value, list) and len(value) == 2 and _is_id(value[1]):
        return int(value[1])
    raise ValueError(f"post_processor: {where} must be a token and its id, and is {shown(value)}")


def _is_id(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_ID


def _template(pieces: object, tokens: Mapping[str, Any]) -> Template:
    """Read a template of a TemplateProcessing; `tokens` are its special tokens."""
    if not isinstance(pieces, list):
        raise ValueError(f"post_processor: a template must be a list, and is {shown(pieces)}")
    template: Template = []
    for piece in pieces:
        match piece:
            case {"Sequence": {"id": "A" | "B" as text}, **others} if not others:
                template.append(text)
                continue
            case {"SpecialToken": {"id": str(name)}, **others} if not others:
                token = tokens.get(name)
                ids = token.get("ids") if isinstance(token, dict) else None
            case _:
                ids = None
        if isinstance(ids, list) and not all(map(_is_id, ids)):
            raise ValueError(f"post_processor: {shown(piece)} has the ids {shown(ids)}; ids are from 0 to {MAX_ID:,}")
        if not isinstance(ids, list):
            raise ValueError(f"post_processor: {shown(piece)} of a template is neither a text nor a known special token")
        template.append(ids)
    return template
