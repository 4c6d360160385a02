"""Reads a folder of transformers with a tokenizer.json; files beside it may add tokens, or change flags of its tokens."""

from __future__ import annotations

import os

from ...kernels.compiler.collector import paused_collector
from ...model.model import Model
from ...system.excerpt import first_few
from ...system.paths import Path
from ..tokenizer_json.merges_text import read_file
from ..tokenizer_json.reading import Normalizer, read_document
from .tokens_beside import tokens_beside


@paused_collector()
def read_model(path: Path, normalizer: Normalizer = "apply") -> Model:
    """Read the tokenizer.json and the files beside it.

    Raises ValueError that names the file that is broken, or that versions of transformers read differently.
    """
    name = os.fspath(path)
    document = read_file(path)
    model = read_document(document, name, normalizer)
    own = document.get("added_tokens") or []
    beside = {token["content"]: token for token in tokens_beside(os.path.dirname(name), document)}
    if not beside:
        return model
    names = first_few(list(beside))
    tokens = [token | beside.pop(token["content"], {}) for token in own]
    entries = document["model"]["vocab"]
    following = max([len(entries), *(token["id"] + 1 for token in own)])
    for content, token in beside.items():
        token_id = entries.get(content, following)
        following = max(following, token_id + 1)
        tokens.append({**token, "id": token_id})
    where = f"{name}: with the tokens that files beside it add or change ({names})"
    return read_document({**document, "added_tokens": tokens}, where, normalizer)
