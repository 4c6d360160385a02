"""CLIP's tokenizer in a folder without tokenizer.json, such as those of Stable Diffusion: vocab.json and merges.txt.

How it prepares and splits text is in the code of transformers (`CLIPTokenizer`), here as in its version 5. With the
two files it makes a tokenizer.json, which huggingface.py reads.
"""

from __future__ import annotations

import os
from itertools import count
from typing import Any

from ..model.model import Model
from ..system.paths import Path
from . import gpt2, huggingface
from .from_transformers import read_beside, read_object
from .spelling import spell
from .to_huggingface import TOKEN_FLAGS
from .transformers_names import CONFIG, ROLES

_CLASSES = ("CLIPTokenizer", "CLIPTokenizerFast")
_START, _END = "<|startoftext|>", "<|endoftext|>"
_DEFAULTS = {
    role: {"content": token, **dict.fromkeys(TOKEN_FLAGS, False), "special": True}
    for role, token in (("bos_token", _START), ("eos_token", _END), ("unk_token", _END), ("pad_token", _END))
}
_REGEX = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
_NORMALIZERS = [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}]
_SPLIT = {"type": "Split", "pattern": {"Regex": _REGEX}, "behavior": "Removed", "invert": True}


def is_clip(vocab_path: Path) -> bool:
    """Whether the config beside a vocab.json says that the tokenizer is CLIP's."""
    return read_object(os.path.dirname(os.fspath(vocab_path)), CONFIG).get("tokenizer_class") in _CLASSES


def read_model(vocab_path: Path, merges_path: Path) -> Model:
    """From the two files and those beside them. Raises ValueError that names the file which is broken."""
    from .pretokenizers import BYTE_LEVEL  # which imports `regex`

    name = os.fspath(vocab_path)
    entries = gpt2.read_entries(vocab_path)
    merges = [[spell(left), spell(right)] for left, right in gpt2.read_merges(merges_path, {}).values()]
    beside = read_beside(os.path.dirname(name))
    of_roles = _DEFAULTS | {each.role: each.token for each in beside.named if each.role is not None}
    tokens = {token["content"]: token for _, token in sorted(beside.listed.items())}
    named = {each["content"]: each for each in [of_roles[role] for role in ROLES if role in of_roles]}
    named |= {each.token["content"]: each.token for each in beside.named if each.role is None}
    tokens |= {text: tokens.get(text, token) | {"special": True} for text, token in named.items()}
    following = count(len(entries))
    ids = {text: entries[text] if text in entries else next(following) for text in tokens}
    start, end = (of_roles[role]["content"] for role in ("bos_token", "eos_token"))
    document: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [{**token, "id": ids[text]} for text, token in tokens.items()],
        "normalizer": {"type": "Sequence", "normalizers": _NORMALIZERS},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [_SPLIT, BYTE_LEVEL]},
        "post_processor": {
            "type": "RobertaProcessing",
            "cls": [start, ids[start]],
            "sep": [end, ids[end]],
            "trim_offsets": False,
            "add_prefix_space": False,
        },
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "end_of_word_suffix": "</w>", "vocab": entries, "merges": merges},
    }
    return huggingface.read_document(document, name)
