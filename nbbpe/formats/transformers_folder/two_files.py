"""Reads a folder of transformers with vocab.json and merges.txt, but no tokenizer.json.

The rest of the tokenizer is in the code of its class, see classes.py. From that, the two files and the files beside them, a
tokenizer.json is made in memory, which tokenizer_json/reading.py reads.
"""

from __future__ import annotations

import os
from collections import ChainMap
from itertools import count
from typing import Any

from ...model.extras import RULES
from ...model.model import Model
from ...system.excerpt import shown
from ...system.paths import Path
from ..shared.named_errors import naming
from ..shared.transformers_names import CONFIG, MODEL_CONFIG
from ..tokenizer_json import reading
from ..tokenizer_json.added_tokens import TOKEN_FLAGS
from ..vocab_json import gpt2
from .classes import CLASS_OF_MODEL, CLASSES, SPACE, Class, Entries, Tokens
from .tokens_beside import Beside, read_beside, read_object

_FLAGS = (*TOKEN_FLAGS, "special")
_OF_ANY_KIND = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that need a tokenizer.json


def read_model(vocab_path: Path, merges_path: Path) -> Model:
    """Read the two files and the files beside them.

    Raises ValueError that names the broken file, or says that nbbpe does not know the class.
    """
    folder = os.path.dirname(os.fspath(vocab_path))
    config = read_object(folder, CONFIG)
    file, name = _class_of(folder, config)
    if name is None:
        model = gpt2.read_model(vocab_path, merges_path)
        _check_alone(folder, read_beside(folder, config), model)
        return model
    known = CLASSES.get(name.removesuffix("Fast")) if isinstance(name, str) else None
    if known is None:
        lacking = ", which needs a tokenizer.json, and there is none" if name in _OF_ANY_KIND else ""
        raise _not_all(folder, f"{file} says that it is a {shown(name)}{lacking}")
    model = _read_by_class(vocab_path, merges_path, known, read_beside(folder, {**known.config, **config}))
    gpt2.warn_of_missing_merges(model, merges_path)
    return model


def _class_of(folder: str, config: Entries) -> tuple[str, Any]:
    """Return (file, class): the class of a folder's tokenizer, None if it is not known, and the file that names it."""
    if config.get("tokenizer_class") is not None:
        return CONFIG, config["tokenizer_class"]
    about = read_object(folder, MODEL_CONFIG)
    model = about.get("model_type")
    found = CLASS_OF_MODEL.get(model) if isinstance(model, str) else None
    return MODEL_CONFIG, about.get("tokenizer_class") or found or (model and f"tokenizer of {model}")


def _check_alone(folder: str, beside: Beside, model: Model) -> None:
    """Raise ValueError if no class is named, but files beside the two show that they are not the whole tokenizer.

    The two files alone would be read with GPT-2's pattern and special token, and could give other ids than the tokenizer.
    """
    tokens = [*beside.listed.values(), *(each.token for each in [*beside.named, *(each for _, each in beside.otherwise)])]
    texts = [*(token["content"] for token in tokens), *beside.dropped]
    others = [text for text in texts if text and text not in model.special]
    # Without a normalizer, `normalized` changes nothing.
    rules = [(flag, token["content"]) for token in tokens for flag in RULES if token[flag]]
    if beside.config.get(SPACE):
        reason = f"{CONFIG} says that it puts a space in front of a text"
    elif beside.config.get("add_bos_token") or beside.config.get("add_eos_token"):
        reason = f"{CONFIG} says that it adds a token to a text, with add_special_tokens=True"
    elif others:
        reason = f"other files there say that it has the special token {shown(others[0])}"
    elif rules:
        reason = f"other files there give its special token {shown(rules[0][1])} the flag {rules[0][0]}"
    else:
        return
    raise _not_all(folder, f"{reason}, and none names its class (tokenizer_class in {CONFIG})")


def _not_all(folder: str, reason: str) -> ValueError:
    return ValueError(
        f"{folder or os.curdir}: vocab.json and merges.txt are not all of this tokenizer: {reason}. Save it as a "
        "tokenizer.json (in transformers, AutoTokenizer.from_pretrained(folder).save_pretrained(other)), or give its "
        "split pattern and special tokens, with Tokenizer.from_files or options of `nbbpe convert`"
    )


def _read_by_class(vocab_path: Path, merges_path: Path, known: Class, beside: Beside) -> Model:
    """Read the model of a known class, through a tokenizer.json. `beside` includes the tokens of the class."""
    from ..tokenizer_json.pretokenizers import BYTE_LEVEL  # imported here, as it imports `regex`

    folder = os.path.dirname(os.fspath(vocab_path))
    entries = gpt2.read_entries(vocab_path)
    merges = list(gpt2.read_merge_lines(merges_path).values())
    added = _added_tokens(folder, known, beside)
    following = count(len(entries))
    ids = {text: entries[text] if text in entries else next(following) for text in added}
    roles = {each.role: each.token["content"] for each in beside.named if each.role and each.token["content"] in added}
    tokens = Tokens(ChainMap(ids, entries), roles)
    with naming(folder or os.curdir):
        around = known.around(beside.config, tokens)
    byte_level = BYTE_LEVEL | {"add_prefix_space": bool(beside.config.get(SPACE)), "use_regex": known.by_gpt2}
    steps = [byte_level] if known.split is None else [known.split, byte_level]
    document: Entries = {
        "version": "1.0",
        "added_tokens": [{**token, "id": ids[text]} for text, token in added.items()],
        "normalizer": known.normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "post_processor": around,
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "end_of_word_suffix": known.suffix, "vocab": entries, "merges": merges},
    }
    try:
        return reading.read_document(document, os.fspath(vocab_path))
    except ValueError:
        gpt2.read(vocab_path, merges_path)  # if one of the two files is broken, this error names its line
        raise


def _added_tokens(folder: str, known: Class, beside: Beside) -> dict[str, Entries]:
    """The added tokens by their texts, in the order in which transformers gives ids to those that vocab.json lacks."""
    added = {token["content"]: token for _, token in sorted(beside.listed.items())}
    # If a token is named several times with different flags, the last of the different ones counts, each taken where it
    # occurs first.
    namings = [(each.token["content"], each.has_flags, *(each.token[flag] for flag in _FLAGS)) for each in beside.named]
    for text, flags in {text: flags for text, _, *flags in dict.fromkeys(namings)}.items():
        added.setdefault(text, {"content": text, **dict(zip(_FLAGS, flags, strict=True))})
    for role, token, _ in [*beside.named, *(each for _, each in beside.otherwise)]:
        text = token["content"]
        if text not in added:
            reason = f"{role} is {shown(text)}, and versions of transformers differ in whether that is a token"
            raise _not_all(folder, reason)
        if not known.keeps_flags:
            added[text] = {"content": text, **dict.fromkeys(TOKEN_FLAGS, False), "special": True}
        elif role is not None:  # a token of a list may be declared as not special
            added[text] = added[text] | {"special": True}
    return {text: token for text, token in added.items() if text}  # an empty token, as in Whisper, is never found
