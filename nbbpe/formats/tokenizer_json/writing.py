"""Writes Hugging Face's tokenizer.json; reading.py reads it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from ...model.model import Model
from ...model.special_tokens import check_distinct_ids
from ...system.atomic_files import whole_file, write_text
from ...system.excerpt import shown
from ...system.links import target_of
from ...system.paths import Path
from ...text.normalizer import CHARSMAP
from ..shared.json_text import read_json
from ..shared.owners import belongs_to_folder, find_owner
from ..shared.transformers_names import JSON
from ..vocab_json.gpt2 import spelled_vocab
from ..vocab_json.packed_entries import has_twice
from ..vocab_json.spelling import spell, spelled_lines, spells_other_text, token_of
from .added_tokens import added_token, may_be_pretoken
from .character_spelling import spelled_entries, spelled_merges, spelled_parts
from .word_ends import with_suffix


def write(path: Path, model: Model) -> None:
    """Write a tokenizer.json.

    Before anything is written, raises ValueError for what the format cannot hold, and FileExistsError if the file belongs
    to a folder in which Tokenizer.save wrote another tokenizer.
    """
    text = content(model)
    if (owner := find_owner(target_of(path), [JSON])) and not _is_about(owner, model):
        raise belongs_to_folder(path)
    with whole_file(path) as unfinished:
        write_text(unfinished, text)


def _is_about(path: str, model: Model) -> bool:
    """Whether a nbbpe.json belongs to this model."""
    with suppress(OSError, ValueError):
        about = read_json(path)
        return isinstance(about, dict) and about.get("fingerprint") == model.fingerprint
    return False


def content(model: Model) -> str:
    """The text of a model's tokenizer.json. Raises ValueError for what the format cannot hold."""
    fallback, suffix = model.extras.byte_fallback, model.extras.suffix
    if fallback:
        entries = spelled_entries(model.packed_ordinary, fallback)
        merges, whole = spelled_merges(model, entries), False
    else:
        entries = spelled_vocab(model.packed_ordinary)
        merges, whole = _merges(model)
    if suffix is not None:
        entries, merges = with_suffix(entries, merges, suffix)
    literal = next((token for token, flags in model.extras.flags.items() if "literal" in flags), None)
    if literal is not None:
        raise ValueError(
            f"special token {shown(literal)} is searched in normalized text without being normalized itself, which "
            "tokenizer.json cannot express"
        )
    _enter_special(entries, model, whole)
    parts = spelled_parts(model) if fallback else _parts_of_bytes(model)
    added = sorted(model.special.items(), key=lambda item: item[1])
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token_id, **added_token(token, model.extras.flags.get(token, ()))} for token, token_id in added
        ],
        **parts,
        "normalizer": _normalizer(parts["normalizer"]),
        "post_processor": model.extras.post_processor,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": suffix,
            "fuse_unk": False,
            "byte_fallback": bool(fallback),
            "ignore_merges": whole,
            "vocab": dict(sorted(entries.items(), key=lambda item: item[1])),
        },
    }
    # `merges` is JSON already, and is inserted at the end of the last part, the model.
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        place = text[max(error.start - 40, 0) : error.end]
        raise ValueError(f"tokenizer.json cannot hold a lone surrogate, which is here after {shown(place)}") from None
    return f'{text[:-2]}, "merges": {merges}}}}}\n'


def _parts_of_bytes(model: Model) -> dict[str, Any]:
    """Like `spelled_parts`, for a vocabulary of bytes."""
    from . import pretokenizers  # imported here, as it imports `regex`

    extras = model.extras
    return {
        "normalizer": model.normalizer.steps,
        "pre_tokenizer": pretokenizers.write(model.pattern, bool(extras.prefix_space), extras.cutter),
        "decoder": {**pretokenizers.BYTE_LEVEL, "use_regex": True},
    }


def _enter_special(entries: dict[str, int], model: Model, whole: bool) -> None:
    """Add the special tokens to the vocab, unless pretokens of ordinary text would then get the id of one.

    Raises ValueError for special tokens that tokenizers would not find, or would confuse with other tokens.
    """
    for token in model.special if whole else ():
        if spells_other_text(token):
            raise ValueError(
                f"special token {shown(token)} is spelled like {shown(token_of(token))}, so that tokenizers would confuse "
                "them, as this tokenizer looks up pretokens"
            )
    # tokenizers gives an added token its id in the vocab, or if it is not there, the next id.
    alone = set(model.special).difference(model.extras.shared)
    mistaken = next((token for token in model.special if whole and token in alone and may_be_pretoken(model, token)), None)
    following = range(len(entries), len(entries) + len(model.special))
    if mistaken is not None and sorted(model.special.values()) != list(following):
        raise ValueError(
            f"special token {shown(mistaken)} may be a pretoken of ordinary text, to which tokenizers would give its id, "
            "as this tokenizer looks up pretokens"
        )
    enter = entries.setdefault if mistaken is None else entries.get
    # In a vocabulary of characters, a special token of one character would also become the token of that character.
    characters = [token for token in alone if model.extras.byte_fallback and len(token) == 1]
    check_distinct_ids(model.special, ", which tokenizer.json cannot hold")
    for token, token_id in model.special.items():
        if token in characters:
            continue
        if enter(token, token_id) != token_id:
            raise ValueError(
                f"special token {shown(token)} (id {token_id}) is spelled like token {shown(token_of(token))} (id "
                f"{entries[token]}), so tokenizer.json cannot tell them apart"
            )
    for token_id, token in enumerate(sorted(characters, key=model.special.__getitem__), start=len(entries)):
        if model.special[token] != token_id:
            raise ValueError(
                f"special token {shown(token)} is a character, and has the id {model.special[token]}: in a tokenizer.json "
                f"it would also be the token of that character, or have the id {token_id}"
            )


def _merges(model: Model) -> tuple[str, bool]:
    """Return (merges as JSON, ignore_merges: whether a pretoken that is a token is not merged).

    If a merge occurs twice, nbbpe uses the first, and tokenizers the last: so only the first is written.
    """
    sides = model.sides()
    if sides is not None and model.merge_ids is not None and not has_twice(model.merge_ids):
        lines = spelled_lines(*sides)[:-1]
        for plain, escaped in ("\\", r"\\"), ('"', r"\""), (" ", '", "'), ("\n", '"], ["'):
            lines = lines.replace(plain, escaped)
        return f'[["{lines}"]]' if lines else "[]", model.whole
    merges, whole = model.merges_with_whole()
    pairs = [[spell(left), spell(right)] for left, right in dict.fromkeys(merges)]
    return json.dumps(pairs, ensure_ascii=False), whole


def _normalizer(steps: list[dict[str, Any]]) -> dict[str, Any] | None:
    for step in steps:
        if step["type"] == CHARSMAP:
            raise ValueError("this tokenizer normalizes text by sentencepiece's table, which tokenizer.json cannot express")
        if step["type"] == "Replace" and "Regex" in step["pattern"]:
            from ..regexes.dialects import translated

            step["pattern"] = {"Regex": translated(step["pattern"]["Regex"], "regex", "Oniguruma")}
    if len(steps) > 1:
        return {"type": "Sequence", "normalizers": steps}
    return steps[0] if steps else None
