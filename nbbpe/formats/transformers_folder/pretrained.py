"""Writes folders that transformers reads, by `AutoTokenizer.from_pretrained(folder)`."""

from __future__ import annotations

import os
from typing import Any

from ...model.model import Model
from ...system.atomic_files import made_folder, whole_file, write_text
from ...system.excerpt import shown
from ...system.integers import check_positive
from ...system.paths import Path, checked_name
from ..nbbpe_folder import folder
from ..nbbpe_folder.for_transformers import new_config, saved_tokens, write_json
from ..shared.owners import ABOUT
from ..shared.transformers_names import CONFIG, JSON, MAP, ROLES
from ..tokenizer_json import writing

_TEMPLATE = "chat_template.jinja"  # written by transformers from 4.50 on, which prefers it to the entry in the config


def save_pretrained(
    model: Model, target: Path, chat_template: str | None, model_max_length: int | None, roles: dict[str, str]
) -> list[str]:
    """See Tokenizer.save_pretrained."""
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise TypeError(f"save_pretrained takes {', '.join(ROLES)}, and not {shown(unknown[0])}")
    for role, token in roles.items():
        if not isinstance(token, str):
            raise TypeError(f"{role} must be a special token as a str, not {shown(token)}")
        if token not in model.special:
            known = ", ".join(map(repr, model.special)) or "none"
            raise ValueError(
                f"{role}={shown(token)} is not a special token of the tokenizer ({known:.300}); "
                f"tok.with_special_tokens([{shown(token)}]) gives a tokenizer that has it"
            )
    if chat_template is not None and not isinstance(chat_template, str):
        raise TypeError(f"chat_template must be a str, a template of Jinja, not {type(chat_template).__name__}")
    config: dict[str, Any] = new_config(model) | roles
    if model_max_length is not None:
        config["model_max_length"] = check_positive("model_max_length", model_max_length)
    if chat_template is not None:
        try:
            chat_template.encode()
        except UnicodeEncodeError:
            raise ValueError(f"chat_template {shown(chat_template)} holds a lone surrogate, which has no UTF-8") from None
        config["chat_template"] = chat_template
    config["added_tokens_decoder"] = saved_tokens(model)
    path = checked_name(target)
    text = writing.content(model)  # made first, as it raises if the format cannot hold the model
    # tokenizer.json is written first, as the other files refer to it.
    with made_folder(path), whole_file(os.path.join(path, JSON)) as unfinished:
        write_text(unfinished, text)
    if os.path.exists(os.path.join(path, ABOUT)):  # else nbbpe.load would go on to read another tokenizer
        folder.write(path, model)
    names = [JSON, CONFIG, MAP]
    for name, content in {CONFIG: config, MAP: roles}.items():
        with whole_file(os.path.join(path, name)) as unfinished:
            write_json(unfinished, content)
    if chat_template is not None and os.path.lexists(os.path.join(path, _TEMPLATE)):  # else the old file would be used
        with whole_file(os.path.join(path, _TEMPLATE)) as unfinished:
            write_text(unfinished, chat_template)
        names.append(_TEMPLATE)
    return [os.path.join(path, name) for name in names]
