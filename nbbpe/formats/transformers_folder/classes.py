"""Tokenizer classes of transformers whose folders may have vocab.json and merges.txt, and no tokenizer.json.

What such a class does to texts is in no file, only in the code of transformers. Here it is written as parts of a
tokenizer.json, as in transformers 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...system.excerpt import shown
from ..shared.transformers_names import CONFIG

Entries = dict[str, Any]  # a part of a tokenizer.json
_Piece = tuple[str | None, int]  # of a template: a special token, or None for the text; and its token type


class Tokens(NamedTuple):
    """The ids of a tokenizer's tokens by their texts, and the texts of special tokens by their roles."""

    ids: Mapping[str, int]
    roles: Mapping[str, str]

    def of_role(self, role: str) -> str:
        """The special token of a role. Raises ValueError if the files say that there is none."""
        if role not in self.roles:
            raise ValueError(f"{CONFIG} says that it has no {role}, which its class adds to a text")
        return self.roles[role]


class Class(NamedTuple):
    """What the code of a class defines.

    config      : default entries of the tokenizer_config.json, such as the special tokens of roles
    around      : makes the post_processor, from the tokenizer_config.json and the special tokens; raises ValueError for an
        invalid config
    split       : the step of the pre_tokenizer before ByteLevel
    by_gpt2     : whether ByteLevel splits by GPT-2's pattern
    normalizer  : as in a tokenizer.json
    suffix      : the end_of_word_suffix
    keeps_flags : whether special tokens keep the flags that the folder gives them
    """

    config: Mapping[str, Any]
    around: Callable[[Entries, Tokens], Entries | None]
    split: Entries | None = None
    by_gpt2: bool = True
    normalizer: Entries | None = None
    suffix: str | None = None
    keeps_flags: bool = True


def _around_as_configured(config: Entries, tokens: Tokens) -> Entries | None:
    first, last = ([tokens.roles[role]] if config.get(f"add_{role}") and role in tokens.roles else [] for role in _OUTER)
    texts = [*first, None, *last]
    single, second = ([(text, type_id) for text in texts] for type_id in (0, 1))
    return _template(tokens, single, [*single, *second]) if len(texts) > 1 else None


def _around_as_deberta(config: Entries, tokens: Tokens) -> Entries:
    first, last = ((tokens.of_role(role), 0) for role in ("cls_token", "sep_token"))
    single: list[_Piece] = [first, (None, 0), last]
    return _template(tokens, single, [*single, last, (None, 0), last])


def _around_as_whisper(config: Entries, tokens: Tokens) -> Entries:
    from .whisper_languages import CODES

    language, task = (config.get(name) for name in ("language", "task"))
    if not isinstance(language, str | None) or task not in (None, "transcribe", "translate"):
        raise ValueError(
            f"{CONFIG} has the language {shown(language)} and the task {shown(task)}, and Whisper does not know one of them"
        )
    named = None if language is None else CODES.get(language.lower(), language.lower())
    without = None if config.get("predict_timestamps") else "notimestamps"
    texts = [f"<|{name}|>" for name in ("startoftranscript", named, task, without) if name is not None]
    missing = next((text for text in texts if text not in tokens.ids), None)
    if missing is not None:
        raise ValueError(f"has no token {shown(missing)}, which its class adds to a text")
    first: list[_Piece] = [(text, 0) for text in texts]
    end = tokens.of_role("eos_token")
    return _template(tokens, [*first, (None, 0), (end, 0)], [*first, (None, 0), (None, 1), (end, 1)])


def _around_as_roberta(config: Entries, tokens: Tokens) -> Entries:
    return _roberta(tokens, "cls_token", "sep_token", bool(config.get("trim_offsets", True)), bool(config.get(SPACE)))


def _around_as_layout(config: Entries, tokens: Tokens) -> Entries:
    return _roberta(tokens, "cls_token", "sep_token", True, bool(config.get(SPACE)))


def _around_as_clip(config: Entries, tokens: Tokens) -> Entries:
    return _roberta(tokens, "bos_token", "eos_token", False, False)


def _roberta(tokens: Tokens, first: str, last: str, trims: bool, has_space: bool) -> Entries:
    ends = {name: [text := tokens.of_role(role), tokens.ids[text]] for name, role in (("cls", first), ("sep", last))}
    return {"type": "RobertaProcessing", **ends, "trim_offsets": trims, "add_prefix_space": has_space}


def _template(tokens: Tokens, single: Sequence[_Piece], pair: Sequence[_Piece]) -> Entries:
    """Make a TemplateProcessing from the templates of one text and of a pair."""

    def spelled(pieces: Sequence[_Piece]) -> list[Entries]:
        names = iter("AB")
        return [
            {"Sequence": {"id": next(names), "type_id": type_id}}
            if text is None
            else {"SpecialToken": {"id": text, "type_id": type_id}}
            for text, type_id in pieces
        ]

    texts = dict.fromkeys(text for text, _ in single if text is not None)
    return {
        "type": "TemplateProcessing",
        "single": spelled(single),
        "pair": spelled(pair),
        "special_tokens": {text: {"id": text, "ids": [tokens.ids[text]], "tokens": [text]} for text in texts},
    }


def _split(regex: str, behavior: str = "Isolated", invert: bool = False) -> Entries:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


SPACE = "add_prefix_space"  # in a config
_OUTER = ("bos_token", "eos_token")
_BERT_ROLES = (*_OUTER, "cls_token", "sep_token", "unk_token", "pad_token", "mask_token")
_END, _CLIP_START = "<|endoftext|>", "<|startoftext|>"
_NFC = {"type": "NFC"}
_CLIP_NORMALIZERS = [_NFC, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}]
_CLIP = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""
_QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_GPT2 = Class(dict.fromkeys((*_OUTER, "unk_token"), _END), _around_as_configured)
_ROBERTA = Class(
    dict(zip(_BERT_ROLES, ("<s>", "</s>", "<s>", "</s>", "<unk>", "<pad>", "<mask>"), strict=True)), _around_as_roberta
)
CLASSES = {
    "GPT2Tokenizer": _GPT2,
    "CodeGenTokenizer": _GPT2,
    **dict.fromkeys(("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"), _ROBERTA),
    "DebertaTokenizer": Class(
        dict(zip(_BERT_ROLES, ("[CLS]", "[SEP]", "[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"), strict=True)),
        _around_as_deberta,
    ),
    "LayoutLMv3Tokenizer": Class({**_ROBERTA.config, SPACE: True}, _around_as_layout),
    "WhisperTokenizer": Class(_GPT2.config, _around_as_whisper),
    "GPTNeoXTokenizer": Class({**_GPT2.config, "pad_token": "<|padding|>"}, _around_as_configured, normalizer=_NFC),
    "Qwen2Tokenizer": Class(
        dict.fromkeys(("eos_token", "unk_token", "pad_token"), _END),
        _around_as_configured,
        _split(_QWEN),
        by_gpt2=False,
        normalizer=_NFC,
        keeps_flags=False,
    ),
    "CLIPTokenizer": Class(
        {"bos_token": _CLIP_START, **dict.fromkeys(("eos_token", "unk_token", "pad_token"), _END)},
        _around_as_clip,
        _split(_CLIP, "Removed", invert=True),
        normalizer={"type": "Sequence", "normalizers": _CLIP_NORMALIZERS},
        suffix="</w>",
    ),
}
# The models for which transformers knows the class of the tokenizer if no file names it.
CLASS_OF_MODEL = {
    model: name
    for name, models in {
        "GPT2Tokenizer": "gpt2 gpt_neo gptj gpt_bigcode starcoder2 codegen opt phi dbrx emu3 jais2 hyperclovax_vision_v2 "
        "blip-2 instructblip instructblipvideo",
        "RobertaTokenizer": "roberta roberta-prelayernorm bart longformer led mvp data2vec-text lilt ibert mega mra clap "
        "bridgetower florence2",
        "DebertaTokenizer": "deberta",
        "LayoutLMv3Tokenizer": "layoutlmv3",
        "WhisperTokenizer": "whisper",
        "GPTNeoXTokenizer": "gpt_neox mamba mamba2 falcon_mamba mpt olmo olmoe rwkv xlstm",
        "Qwen2Tokenizer": "qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_audio qwen2_5_omni qwen3 qwen3_moe qwen3_next "
        "qwen3_vl qwen3_vl_moe qwen3_asr qwen3_omni_moe colqwen2 audioflamingo3 cosmos3_omni dots3_note fun_asr_nano "
        "hunyuan_vl internvl lighton_ocr moss_transcribe_diarize ovis2 qianfan_ocr vibevoice",
        "CLIPTokenizer": "clip clipseg owlvit owlv2 aimv2 groupvit omdet-turbo oneformer sam3 sam3_video xclip",
    }.items()
    for model in models.split()
}
