"""Vocabularies in which a byte at the end of a word is another token than in the middle, as CLIP's: `o</w>` beside `o`.

In nbbpe such a word ends in a space, and merges of each byte with a space come first. So the ids are the same with ordinary
merges only, and decoding gives a space after each word. Words have no other space, as the pre_tokenizer removes spaces.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...model.byte_alphabet import byte_characters
from ...system.excerpt import shown

_SPACE = byte_characters()[0x20]


def suffix_of(model: Mapping[str, Any]) -> str | None:
    """The end_of_word_suffix of a model, or None. Raises ValueError for one that nbbpe cannot honour."""
    suffix = model.get("end_of_word_suffix")
    if not suffix:
        return None
    if not isinstance(suffix, str):
        raise ValueError(f"model.end_of_word_suffix must be a string, and is {shown(suffix)}")
    if model.get("ignore_merges"):
        raise ValueError(
            f"model.end_of_word_suffix is {shown(suffix)}, and ignore_merges is true, with which tokenizers looks up words "
            "without their ends"
        )
    return suffix


def with_spaces(
    entries: Mapping[str, Any], lines: list[Any], numbers: Sequence[int], suffix: str, added: Collection[str]
) -> tuple[dict[str, Any], list[Any]]:
    """Replace the suffix by a space in the entries of a model.vocab and in its merges; add merges of bytes with a space.

    numbers : the indexes of merges, for errors
    added   : the entries that are added tokens, which are not changed
    """
    if _SPACE not in entries:
        raise ValueError(f"model.vocab has no {shown(_SPACE)}, the token of a space, which nbbpe puts after each word")
    characters = set(byte_characters().values())
    of_bytes = [text for text in entries if text in characters]
    for text in of_bytes:
        end = text + suffix
        if end not in entries:
            raise ValueError(f"model.vocab has {shown(text)}, and not {shown(end)} for the end of a word")
        if end in added:
            raise ValueError(
                f"added token {shown(end)} is also the token of {shown(text)} at the end of a word, and nbbpe cannot "
                "honour both"
            )
    texts = _respelled(list(entries), suffix)
    for number, text in enumerate(entries) if any(text.endswith(suffix) for text in added) else ():
        if text in added:
            texts[number] = text
    spelled = dict(zip(texts, entries.values(), strict=True))
    if len(spelled) < len(entries):
        twin, other = next((old, new) for old, new in zip(entries, texts, strict=True) if old != new and new in entries)
        raise ValueError(f"model.vocab: {shown(twin)} and {shown(other)} would both stand for the end of a word")
    return spelled, [[text, _SPACE] for text in of_bytes] + _respelled_merges(lines, numbers, suffix)


def _respelled_merges(lines: list[Any], numbers: Sequence[int], suffix: str) -> list[list[str]]:
    """Replace the suffix by a space in merges. Raises ValueError for a merge that nbbpe cannot honour."""
    pairs = [line.split(" ") if isinstance(line, str) else line for line in lines]
    for number, sides, line in zip(numbers, pairs, lines, strict=True):
        if not (isinstance(sides, list) and len(sides) == 2 and isinstance(sides[0], str) and isinstance(sides[1], str)):
            raise ValueError(f"model.merges[{number}] must be two tokens, and is {shown(line)}")
    lefts, rights = [left for left, _ in pairs], [right for _, right in pairs]
    new_lefts, new_rights = _respelled(lefts, suffix), _respelled(rights, suffix)
    if _SPACE in "".join(lefts + rights) or new_lefts != lefts:
        for number, (left, right), new_left, line in zip(numbers, pairs, new_lefts, lines, strict=True):
            if _SPACE in left + right or new_left != left:
                raise ValueError(f"model.merges[{number}] goes on after the end of a word: {shown(line)}")
    return list(map(list, zip(lefts, new_rights, strict=True)))


def _respelled(texts: list[str], suffix: str) -> list[str]:
    """Replace the suffix of texts by a space, except in a text that is only the suffix.

    All texts are joined first: a call for each would take five times as long.
    """
    found = "".join([f"{text}\n" for text in texts]).replace(f"{suffix}\n", f"{_SPACE}\n").split("\n")[:-1]
    if suffix in texts or len(found) != len(texts):
        return [text.removesuffix(suffix) + _SPACE if text.endswith(suffix) and text != suffix else text for text in texts]
    return found


def with_suffix(entries: Mapping[str, int], merges: str, suffix: str) -> tuple[dict[str, int], str]:
    """Undo `with_spaces`. The merges are JSON, here and in the result.

    Raises ValueError for a byte without a token for the end of a word, where tokenizers would drop it, and for a merge that
    continues after the end of a word, as a seed token or a counted word with a space inside can make.
    """
    for text in entries:
        if len(text) == 1 and text + _SPACE not in entries:
            raise ValueError(
                f"this tokenizer has the byte {shown(text)}, and not {shown(text + suffix)} for the end of a word, which "
                "tokenizer.json cannot hold"
            )

    def respelled(text: str) -> str:
        return text.removesuffix(_SPACE) + suffix if text.endswith(_SPACE) and text != _SPACE else text

    pairs = []
    for left, right in json.loads(merges):
        if right == _SPACE and len(left) == 1:  # makes the end of a byte
            continue
        if right == _SPACE or _SPACE in left + right[:-1]:
            raise ValueError(
                f"this tokenizer has a merge of {shown(left)} and {shown(right)}, which goes on after the end of a word: "
                "tokenizer.json cannot hold it"
            )
        pairs.append([left, respelled(right)])
    return {respelled(text): token_id for text, token_id in entries.items()}, json.dumps(pairs, ensure_ascii=False)
