"""Writes the files for other libraries: tokenizer.json for tokenizers, and tokenizer_config.json for transformers.

nbbpe itself reads neither, so a tokenizer that they cannot hold is saved without them, and nbbpe.json says why. Otherwise
its entry gives the size of the tokenizer.json that nbbpe wrote. If another program later saves another tokenizer in this
folder, it replaces these files only, which `check` detects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...model.model import Model
from ...system.atomic_files import write_text
from ..shared.json_text import parse_json, read_json
from ..shared.transformers_names import CONFIG, JSON, LISTS, ROLES
from ..tokenizer_json.added_tokens import added_token
from ..tokenizer_json.writing import content

NAMES = (JSON, CONFIG)
_CLASSES = ("PreTrainedTokenizerFast", "NbbpeTokenizerFast")
_OTHER_READERS = ("auto_map", "fast_tokenizer_files")  # a class with code in the folder; other files for some versions
_NO_LIMIT = int(1e30)  # as transformers writes it


def content_of(model: Model) -> tuple[str, dict[str, Any]]:
    """Return (tokenizer.json of a model, its entry in nbbpe.json). The first is "" if the format cannot hold the model."""
    try:
        text = content(model)
    except ValueError as error:
        return "", {"left_out": str(error)}
    return text, {"bytes": len(text.encode())}


def is_listed(entry: object) -> bool:
    """Whether the entry of a nbbpe.json says that nbbpe wrote a tokenizer.json."""
    return isinstance(entry, dict) and "left_out" not in entry


def is_same(folder: str, text: str) -> bool:
    """Whether the tokenizer.json of a folder has exactly this text."""
    with suppress(OSError), open(os.path.join(folder, JSON), "rb") as file:
        return bool(text) and file.read() == text.encode()
    return False


def write(new: str, folder: str, text: str, model: Model) -> list[str]:
    """Write the files to the scratch folder `new`, with fitting entries of a config in `folder`. Returns their names."""
    if not text:
        return []
    write_text(os.path.join(new, JSON), text)
    config = {
        **new_config(model),
        **_fitting(os.path.join(folder, CONFIG), model),
        "added_tokens_decoder": saved_tokens(model),
    }
    write_json(os.path.join(new, CONFIG), config)
    return list(NAMES)


def saved_tokens(model: Model) -> dict[str, Any]:
    """The entry added_tokens_decoder of a tokenizer_config.json, the special tokens by id.

    With it, transformers reads no special_tokens_map.json and added_tokens.json, which may be older.
    """
    flags = model.extras.flags
    return {str(token_id): added_token(token, flags.get(token, ())) for token, token_id in model.special.items()}


def new_config(model: Model) -> dict[str, Any]:
    """The content of a minimal tokenizer_config.json."""
    config = {"tokenizer_class": _CLASSES[0], "clean_up_tokenization_spaces": False, "model_max_length": _NO_LIMIT}
    # Without this entry, transformers 4 switches the space off.
    return config | ({"add_prefix_space": True} if model.extras.prefix_space else {})


def _fitting(path: str, model: Model) -> dict[str, Any]:
    """The entries of an older tokenizer_config.json, such as a chat template, that fit a model.

    Tokens that the model lacks are omitted, as transformers would add them with new ids. Entries that would make it read
    another file, use another class, or put a space in front of texts are omitted, too.
    """
    try:
        old = read_json(path)
    except (OSError, ValueError):
        return {}

    def is_known(token: object) -> bool:
        text = token.get("content") if isinstance(token, dict) else token
        return isinstance(text, str) and text in model.special

    kept = dict(old) if isinstance(old, dict) else {}
    if kept.get("tokenizer_class") not in _CLASSES:
        kept.pop("tokenizer_class", None)
    for name in (*_OTHER_READERS, "add_prefix_space"):
        kept.pop(name, None)
    for key, value in [*kept.items()]:
        names_token = value is not None if key in ROLES else key.endswith("_token") and isinstance(value, (str, dict))
        if names_token and not is_known(value):
            del kept[key]
    for name in (*LISTS, "model_specific_special_tokens"):
        tokens = kept.pop(name, None)
        if isinstance(tokens, list):
            kept[name] = [token for token in tokens if is_known(token)]
        elif isinstance(tokens, dict):
            kept[name] = {key: token for key, token in tokens.items() if is_known(token)}
    return kept


def write_json(path: str, document: Mapping[str, Any]) -> None:
    """Write a small JSON file, indented. Lone surrogates, which a provenance may have, are written as JSON escapes."""
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        json.dump(document, file, ensure_ascii=False, indent=2)
        file.write("\n")


def check(folder: str, entry: object, model: Model) -> None:
    """Raise ValueError if another program has replaced the tokenizer.json beside a model by one with other ids.

    entry : the entry of nbbpe.json about the file. If the file has the size that it gives, the file is not read, so that
        loading stays fast
    """
    path = os.path.join(folder, JSON)
    try:
        n_bytes = os.path.getsize(path)
    except OSError:  # somebody removed it; nbbpe does not need it
        return
    if not isinstance(entry, dict) or entry.get("bytes") in (None, n_bytes):
        return
    from ..tokenizer_json import reading

    with suppress(ValueError):
        written = reading.read_document(parse_json(content(model), path), path)
        if reading.read_model(path) == written:
            return
    raise ValueError(
        f"{folder}: tokenizer.json is not the one that was saved with nbbpe.json, and gives other ids (transformers may "
        f"have replaced it): nbbpe.load({path!r}) reads it, and check=False reads nbbpe's own files"
    )
