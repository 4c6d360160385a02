"""The files that transformers saves next to vocab.json and merges.txt, with the settings that these two cannot hold."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping

from ..model.extras import RULES
from ..system.excerpt import shown
from ..system.paths import Path
from .from_transformers import read_beside, read_object
from .transformers_names import CONFIG, MODEL_CONFIG

_CLASSES = ("GPT2Tokenizer", "GPT2TokenizerFast")
# The models whose tokenizer is GPT-2's to transformers, where no file says which class it has.
_MODELS = ("gpt2", "gpt_neo", "gptj", "gpt_bigcode", "starcoder2", "codegen", "opt", "phi")
_END = "<|endoftext|>"
_ROLES_OF_END = ("bos_token", "eos_token", "unk_token")  # where a config does not say otherwise


def check_plain_gpt2(vocab_path: Path, special: Container[str]) -> None:
    """Raise ValueError if the files beside a vocab.json say that its tokenizer is not GPT-2's, or has more tokens.

    special : the special tokens that were found in the two files

    The two files alone would be read with GPT-2's pattern and its special token, and give other ids than their owner's. A
    file beside them that is broken is an error, too.
    """
    folder = os.path.dirname(os.fspath(vocab_path))
    beside = read_beside(folder)
    config = beside.config
    file, kind = _kind(folder, config)
    tokens = [*beside.listed.values(), *(each.token for each in beside.named)]
    named_otherwise = [each.token["content"] for _, each in beside.otherwise]
    texts = [*(token["content"] for token in tokens), *named_otherwise, *beside.dropped]
    others = [text for text in texts if text and text not in special]
    # Without a normalizer, the flag `normalized` changes nothing.
    rules = [(flag, token["content"]) for token in tokens for flag in RULES if token[flag]]
    if kind is not None and kind not in _CLASSES:
        what = f"{file} says that it is a {shown(kind)}"
    elif config.get("add_prefix_space"):
        what = f"{CONFIG} says that it puts a space in front of a text"
    elif config.get("add_bos_token") or config.get("add_eos_token"):
        what = f"{CONFIG} says that it puts a token around a text, with add_special_tokens=True"
    elif others:
        what = f"other files there say that it has the special token {shown(others[0])}"
    elif kind is not None and _END not in special and _END in [config.get(role, _END) for role in _ROLES_OF_END]:
        what = f"{file} says that it is a {kind}, which has the special token {shown(_END)}, and vocab.json lacks it"
    elif rules:
        what = f"other files there say {rules[0][0]} of the special token {shown(rules[0][1])}"
    else:
        return
    raise ValueError(
        f"{folder or os.curdir}: vocab.json and merges.txt are not all of this tokenizer: {what}. Save it as a "
        "tokenizer.json (in transformers, AutoTokenizer.from_pretrained(folder).save_pretrained(other)), or say what its "
        "split pattern and special tokens are, with Tokenizer.from_files"
    )


def _kind(folder: str, config: Mapping[str, object]) -> tuple[str, object]:
    """The class of the tokenizer, or that of the model's tokenizer, None if nothing says it; and the file that says it."""
    if config.get("tokenizer_class") is not None:
        return CONFIG, config["tokenizer_class"]
    about = read_object(folder, MODEL_CONFIG)
    model = about.get("model_type")
    found = _CLASSES[0] if model in _MODELS else model and f"tokenizer of {model}"
    return MODEL_CONFIG, about.get("tokenizer_class") or found
