"""The files that transformers saves next to vocab.json and merges.txt, with the settings that these two cannot hold."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..system.excerpt import shown
from ..system.paths import Path
from .json_text import read_json
from .transformers_names import ADDED, CONFIG, LISTS, MAP, ROLES

_CLASSES = ("GPT2Tokenizer", "GPT2TokenizerFast")


def check_plain_gpt2(vocab_path: Path, special: Container[str]) -> None:
    """Raise ValueError if the files beside a vocab.json say that its tokenizer is not GPT-2's, or has more tokens.

    special : the special tokens that were found in the two files

    The two files alone would be read with GPT-2's pattern and its special token, and give other ids than their owner's.
    """
    folder = os.path.dirname(os.fspath(vocab_path))
    config, added, roles = (_object(os.path.join(folder, name)) for name in (CONFIG, ADDED, MAP))
    kind = config.get("tokenizer_class")
    others = [token for token in (*added, *_named(config), *_named(roles)) if token not in special]
    if isinstance(kind, str) and kind not in _CLASSES:
        what = f"{CONFIG} says that it is a {shown(kind)}"
    elif config.get("add_prefix_space"):
        what = f"{CONFIG} says that it puts a space in front of a text"
    elif config.get("add_bos_token") or config.get("add_eos_token"):
        what = f"{CONFIG} says that it puts a token around a text, with add_special_tokens=True"
    elif others:
        what = f"other files there say that it has the special token {shown(others[0])}"
    else:
        return
    raise ValueError(
        f"{folder or os.curdir}: vocab.json and merges.txt are not all of this tokenizer: {what}. Save it as a "
        "tokenizer.json (in transformers, AutoTokenizer.from_pretrained(folder).save_pretrained(other)), or say what its "
        "split pattern and special tokens are, with Tokenizer.from_files"
    )


def _object(path: str) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = read_json(path)
        return found if isinstance(found, dict) else {}
    return {}


def _named(config: Mapping[str, Any]) -> Iterator[str]:
    """The special tokens that a configuration names."""
    values = [config.get(role) for role in ROLES]
    for name in ("added_tokens_decoder", *LISTS):
        entry = config.get(name)
        values += entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    for value in values:
        token = value.get("content") if isinstance(value, dict) else value
        if isinstance(token, str):
            yield token
