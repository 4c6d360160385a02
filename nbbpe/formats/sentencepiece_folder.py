"""Reads a folder of transformers with sentencepiece's tokenizer.model and no tokenizer.json."""

from __future__ import annotations

import os

from ..model.model import Model
from ..system.excerpt import shown
from ..system.paths import Path
from ..text.byte_fallback import SIGN
from . import sentencepiece
from .shared.transformers_names import CONFIG
from .transformers_folder.tokens_beside import read_beside, read_object


def read_model(path: Path) -> Model:
    """Read the tokenizer.model. Raises ValueError if files beside it name a token that it lacks or has with another id."""
    model = sentencepiece.read_model(path)
    folder = os.path.dirname(os.fspath(path))
    beside = read_beside(folder, read_object(folder, CONFIG))
    ids: dict[str, int | None] = dict.fromkeys([*(each.token["content"] for each in beside.named), *beside.dropped])
    ids |= {token["content"]: token_id for token_id, token in beside.listed.items()}
    for text, token_id in ids.items():
        known = model.special.get(text, model.special.get(text.replace(SIGN, " ")))
        if text and (known is None or token_id not in (None, known)):
            raise ValueError(
                f"{folder or os.curdir}: other files there name the token {shown(text)}, which {os.path.basename(path)} "
                "lacks or has with another id. Save it as a tokenizer.json (in transformers, "
                "AutoTokenizer.from_pretrained(folder).save_pretrained(other)), or give the path of the file alone, and "
                "add the tokens by Tokenizer.with_special_tokens"
            )
    return model
