"""Folders as transformers saves tokenizers, so that `AutoTokenizer.from_pretrained(folder)` reads them."""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from .system.atomic_files import whole_file
from .system.excerpt import shown
from .system.paths import Path

_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_NO_LIMIT = int(1e30)  # as transformers writes it


class WritesJson(Protocol):
    """What is written as a tokenizer.json, as a Tokenizer is."""

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens with their ids."""

    def to_hf(self, path: Path) -> None:
        """Write a tokenizer.json."""


def save_pretrained(
    tokenizer: WritesJson, folder: Path, chat_template: str | None, model_max_length: int | None, roles: dict[str, str]
) -> list[str]:
    """See Tokenizer.save_pretrained."""
    unknown = sorted(set(roles) - set(_ROLES))
    if unknown:
        raise TypeError(f"save_pretrained takes {', '.join(_ROLES)}, and not {unknown[0]!r}")
    for role, token in roles.items():
        if token not in tokenizer.special_tokens:
            known = ", ".join(map(repr, tokenizer.special_tokens)) or "none"
            raise ValueError(
                f"{role}={shown(token)} is not a special token of the tokenizer ({known:.300}); "
                f"tok.with_special_tokens([{shown(token)}]) gives a tokenizer that has it"
            )
    if chat_template is not None and not isinstance(chat_template, str):
        raise TypeError(f"chat_template must be a str, a template of Jinja, not {type(chat_template).__name__}")
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": _NO_LIMIT if model_max_length is None else model_max_length,
        **roles,
    }
    if chat_template is not None:
        config["chat_template"] = chat_template
    path = os.fspath(folder)
    os.makedirs(path, exist_ok=True)
    # What the others refer to comes first.
    tokenizer.to_hf(os.path.join(path, "tokenizer.json"))
    written = [os.path.join(path, "tokenizer.json")]
    for name, content in {"tokenizer_config.json": config, "special_tokens_map.json": roles}.items():
        target = os.path.join(path, name)
        with whole_file(target) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as file:
            json.dump(content, file, ensure_ascii=False, indent=2)
            file.write("\n")
        written.append(target)
    return written
