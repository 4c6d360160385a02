"""A folder of transformers with vocab.json and merges.txt, and no tokenizer.json: its class says what else counts.

How a class prepares and splits text, and its special tokens, are in the code of transformers, here as in its version 5.
With the two files and those beside them they make a tokenizer.json, which huggingface.py reads. A plain GPT-2 is read as
its two files alone are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from ..model.extras import RULES
from ..model.model import Model
from ..system.excerpt import naming, shown
from ..system.paths import Path
from . import gpt2, huggingface
from .from_transformers import Beside, read_beside, read_object
from .spelling import spell
from .to_huggingface import TOKEN_FLAGS
from .transformers_names import CONFIG, MODEL_CONFIG

_END, _CLIP_START = "<|endoftext|>", "<|startoftext|>"
_CLIP = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
_QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

Entries = dict[str, Any]  # a part of a tokenizer.json


class _Tokens(NamedTuple):
    """The special tokens of a tokenizer: their ids by text, and the texts of the roles."""

    ids: Mapping[str, int]
    roles: Mapping[str, str]

    def of_role(self, role: str) -> str:
        """The text of a role. Raises ValueError if the files say that there is none."""
        if role not in self.roles:
            raise ValueError(f"{CONFIG} says that it has no {role}, which its class puts around a text")
        return self.roles[role]


class _Class(NamedTuple):
    """What the code of a class says of its tokenizers.

    tokens      : the special tokens of roles for which a folder names none
    around      : gives the post_processor, from the tokenizer_config.json and the special tokens
    split       : the step of the pre_tokenizer before ByteLevel
    by_gpt2     : whether ByteLevel splits by GPT-2's pattern
    normalizer  : as in a tokenizer.json
    suffix      : the end_of_word_suffix
    keeps_flags : whether special tokens have the flags that a folder gives them
    """

    tokens: Mapping[str, str]
    around: Callable[[Entries, _Tokens], Entries | None]
    split: Entries | None = None
    normalizer: Entries | None = None
    suffix: str | None = None
    by_gpt2: bool = True
    keeps_flags: bool = True


def _around_as_configured(config: Entries, tokens: _Tokens) -> Entries | None:
    first, last = ([role] if config.get(f"add_{role}") and role in tokens.roles else [] for role in _OUTER)
    return _template(tokens, [*first, "A", *last], [*first, "B", *last], 1) if first or last else None


def _around_as_deberta(config: Entries, tokens: _Tokens) -> Entries:
    return _template(tokens, ["cls_token", "A", "sep_token"], ["sep_token", "B", "sep_token"], 0)


def _around_as_roberta(config: Entries, tokens: _Tokens) -> Entries:
    return _roberta(tokens, "cls_token", "sep_token", bool(config.get("trim_offsets", True)), bool(config.get(_SPACE)))


def _around_as_clip(config: Entries, tokens: _Tokens) -> Entries:
    return _roberta(tokens, "bos_token", "eos_token", False, False)


def _roberta(tokens: _Tokens, first: str, last: str, trims: bool, has_space: bool) -> Entries:
    ends = {name: [text := tokens.of_role(role), tokens.ids[text]] for name, role in (("cls", first), ("sep", last))}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": trims, "add_prefix_space": has_space}


def _template(tokens: _Tokens, single: Sequence[str], second: Sequence[str], type_id: int) -> Entries:
    """A TemplateProcessing.

    single, second : the roles around a text, A, and around the second of a pair, B, which has `type_id`
    """

    def pieces(names: Sequence[str], type_id: int) -> list[Entries]:
        return [
            {"Sequence": {"id": name, "type_id": type_id}}
            if name in ("A", "B")
            else {"SpecialToken": {"id": tokens.of_role(name), "type_id": type_id}}
            for name in names
        ]

    texts = {tokens.of_role(name) for name in (*single, *second) if name not in ("A", "B")}
    return {
        "type": "TemplateProcessing",
        "single": pieces(single, 0),
        "pair": [*pieces(single, 0), *pieces(second, type_id)],
        "special_tokens": {text: {"id": text, "ids": [tokens.ids[text]], "tokens": [text]} for text in sorted(texts)},
    }


def _split(regex: str, behavior: str = "Isolated", invert: bool = False) -> Entries:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


_SPACE = "add_prefix_space"
_OUTER = ("bos_token", "eos_token")
_BERT_ROLES = (*_OUTER, "cls_token", "sep_token", "unk_token", "pad_token", "mask_token")
_NFC = {"type": "NFC"}
_CLIP_NORMALIZERS = [_NFC, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}]

_GPT2_CLASS = _Class(dict.fromkeys((*_OUTER, "unk_token"), _END), _around_as_configured)
_ROBERTA_CLASS = _Class(
    dict(zip(_BERT_ROLES, ("<s>", "</s>", "<s>", "</s>", "<unk>", "<pad>", "<mask>"), strict=True)), _around_as_roberta
)
_CLASSES = {
    "GPT2Tokenizer": _GPT2_CLASS,
    "CodeGenTokenizer": _GPT2_CLASS,
    **dict.fromkeys(
        ("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"), _ROBERTA_CLASS
    ),
    "DebertaTokenizer": _Class(
        dict(zip(_BERT_ROLES, ("[CLS]", "[SEP]", "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"), strict=True)),
        _around_as_deberta,
    ),
    "Qwen2Tokenizer": _Class(
        dict.fromkeys(("eos_token", "unk_token", "pad_token"), _END),
        _around_as_configured,
        _split(_QWEN),
        _NFC,
        by_gpt2=False,
        keeps_flags=False,
    ),
    "CLIPTokenizer": _Class(
        {"bos_token": _CLIP_START, **dict.fromkeys(("eos_token", "unk_token", "pad_token"), _END)},
        _around_as_clip,
        _split(_CLIP, "Removed", invert=True),
        {"type": "Sequence", "normalizers": _CLIP_NORMALIZERS},
        suffix="</w>",
    ),
}
# The models of which transformers knows the class of the tokenizer where no file says it.
_CLASS_OF_MODEL = {
    model: name
    for name, models in {
        "GPT2Tokenizer": "gpt2 gpt_neo gptj gpt_bigcode starcoder2 codegen opt phi",
        "RobertaTokenizer": "roberta roberta-prelayernorm bart longformer led mvp data2vec-text lilt ibert",
        "DebertaTokenizer": "deberta",
        "Qwen2Tokenizer": "qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_audio qwen3 qwen3_moe qwen3_next qwen3_vl",
        "CLIPTokenizer": "clip clipseg owlvit owlv2",
    }.items()
    for model in models.split()
}


def read_model(vocab_path: Path, merges_path: Path) -> Model:
    """From the two files and those beside them.

    Raises ValueError that names the file which is broken, or says that the class is not known here.
    """
    folder = os.path.dirname(os.fspath(vocab_path))
    file, name = _class_of(folder)
    if name is None:
        model = gpt2.read_model(vocab_path, merges_path)
        _check_alone(folder, read_beside(folder, {}), model)
        return model
    known = _CLASSES.get(name.removesuffix("Fast")) if isinstance(name, str) else None
    if known is None:
        raise _not_all(folder, f"{file} says that it is a {shown(name)}")
    beside = read_beside(folder, known.tokens)
    if known is _GPT2_CLASS and _is_plain(beside):
        model = gpt2.read_model(vocab_path, merges_path)
        if _END in model.special:
            return model
    return _read_by_class(vocab_path, merges_path, known, beside)


def _class_of(folder: str) -> tuple[str, Any]:
    """The class of a folder's tokenizer, or that of the model's tokenizer; and the file that says it, None if none does."""
    config = read_object(folder, CONFIG)
    if config.get("tokenizer_class") is not None:
        return CONFIG, config["tokenizer_class"]
    about = read_object(folder, MODEL_CONFIG)
    model = about.get("model_type")
    found = _CLASS_OF_MODEL.get(model) if isinstance(model, str) else None
    return MODEL_CONFIG, about.get("tokenizer_class") or found or (model and f"tokenizer of {model}")


def _is_plain(beside: Beside) -> bool:
    """Whether the files beside the two say no more of a GPT-2 than that it has its special token."""
    tokens = [*beside.listed.values(), *(each.token for each in beside.named)]
    return (
        {token["content"] for token in tokens} == {_END}
        and not _rules(beside)
        and not any(beside.config.get(name) for name in (_SPACE, "add_bos_token", "add_eos_token"))
        and all(each.token["content"] == _END for _, each in beside.otherwise)
    )


def _rules(beside: Beside) -> list[str]:
    """The flags of tokens that change ids. Without a normalizer, `normalized` changes nothing."""
    tokens = [*beside.listed.values(), *(each.token for each in beside.named)]
    return [f"{flag} of the special token {shown(token['content'])}" for token in tokens for flag in RULES if token[flag]]


def _check_alone(folder: str, beside: Beside, model: Model) -> None:
    """Raise ValueError if the files beside the two say more of a tokenizer of which no class is named.

    The two files alone would be read with GPT-2's pattern and its special token, and give other ids than their owner's.
    """
    tokens = [*beside.listed.values(), *(each.token for each in [*beside.named, *(each for _, each in beside.otherwise)])]
    others = [text for text in [*(token["content"] for token in tokens), *beside.dropped] if text not in model.special]
    rules = _rules(beside)
    if beside.config.get(_SPACE):
        what = f"{CONFIG} says that it puts a space in front of a text"
    elif beside.config.get("add_bos_token") or beside.config.get("add_eos_token"):
        what = f"{CONFIG} says that it puts a token around a text, with add_special_tokens=True"
    elif any(others):
        what = f"other files there say that it has the special token {shown(next(filter(None, others)))}"
    elif rules:
        what = f"other files there say {rules[0]}"
    else:
        return
    raise _not_all(folder, f"{what}, and none names its class (tokenizer_class in {CONFIG})")


def _not_all(folder: str, what: str) -> ValueError:
    return ValueError(
        f"{folder or os.curdir}: vocab.json and merges.txt are not all of this tokenizer: {what}. Save it as a "
        "tokenizer.json (in transformers, AutoTokenizer.from_pretrained(folder).save_pretrained(other)), or say what its "
        "split pattern and special tokens are, with Tokenizer.from_files"
    )


def _read_by_class(vocab_path: Path, merges_path: Path, known: _Class, beside: Beside) -> Model:
    """The model of a class, through a tokenizer.json. `beside` has the tokens of the class, too."""
    from .pretokenizers import BYTE_LEVEL  # which imports `regex`

    folder = os.path.dirname(os.fspath(vocab_path))
    entries = gpt2.read_entries(vocab_path)
    merges = [[spell(left), spell(right)] for left, right in gpt2.read_merges(merges_path, {}).values()]
    added = _added_tokens(folder, known, beside)
    following = count(len(entries))
    ids = {text: entries[text] if text in entries else next(following) for text in added}
    tokens = _Tokens(ids, {each.role: each.token["content"] for each in beside.named if each.role is not None})
    with naming(folder or os.curdir):
        around = known.around(beside.config, tokens)
    byte_level = BYTE_LEVEL | {"add_prefix_space": bool(beside.config.get(_SPACE)), "use_regex": known.by_gpt2}
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
    return huggingface.read_document(document, os.fspath(vocab_path))


def _added_tokens(folder: str, known: _Class, beside: Beside) -> dict[str, Entries]:
    """The added tokens by their texts, in the order in which transformers gives ids to those that vocab.json lacks."""
    added = {token["content"]: token for _, token in sorted(beside.listed.items())}
    # Of a token that is named several times with other flags, or none, those count that come last for the first time.
    namings = [
        (each.token["content"], each.has_flags, *(each.token[flag] for flag in TOKEN_FLAGS)) for each in beside.named
    ]
    for text, flags in {text: flags for text, _, *flags in dict.fromkeys(namings)}.items():
        token = added.get(text) or {"content": text, **dict(zip(TOKEN_FLAGS, flags, strict=True))}
        added[text] = token | ({} if known.keeps_flags else dict.fromkeys(TOKEN_FLAGS, False)) | {"special": True}
    for _, (role, token, _) in beside.otherwise:
        if token["content"] not in added:
            what = f"{role} is {shown(token['content'])}, and versions of transformers differ in whether that is a token"
            raise _not_all(folder, what)
    return added
