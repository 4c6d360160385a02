"""Reads Hugging Face's tokenizer.json, if it describes a byte-level BPE tokenizer.

Such a file is a chain of parts: normalizer, pre_tokenizer, model, post_processor, decoder. A part that changes the ids of a
text in a way that nbbpe does not support is an error that names it. The post_processor (which may add a token at the start
of a text) is kept, and applied only on request; truncation and padding are ignored. So the ids are the same as those of
`encode(text, add_special_tokens=False)` of tokenizers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from ...kernels.compiler.collector import paused_collector
from ...model.extras import Extras
from ...model.model import Model
from ...model.post_processor import read_templates
from ...model.special_tokens import tokens_for_placing
from ...system.choices import check_one_of
from ...system.excerpt import first_few, shown
from ...system.paths import Path
from ...text.normalizer import HOW_TO_LEAVE_OUT, KINDS
from ...text.normalizer import Normalizer as TextNormalizer
from ...text.steps import steps_of
from ..shared.json_text import check_known, parse_json
from ..shared.named_errors import naming
from ..shared.objects import backend_of, is_tokenizer
from . import added_tokens, characters
from .merges_text import read_file
from .model_part import ModelPart

_PARTS = {
    *("version", "truncation", "padding", "added_tokens", "normalizer"),
    *("pre_tokenizer", "post_processor", "decoder", "model"),
}
Normalizer = Literal["apply", "ignore"]


@paused_collector()
def read_model(path_or_tokenizer: Path | Any, normalizer: Normalizer = "apply") -> Model:
    """See Tokenizer.from_hf."""
    if is_tokenizer(path_or_tokenizer):
        name = "the tokenizer"
        document = parse_json(backend_of(path_or_tokenizer).to_str(), name)
    else:
        document = read_file(path_or_tokenizer)
        name = os.fspath(path_or_tokenizer)
    return read_document(document, name, normalizer)


def read_document(document: Any, name: str, normalizer: Normalizer = "apply") -> Model:
    """Make the model from the content of a tokenizer.json.

    name : its name in errors
    """
    check_one_of("normalizer", normalizer, ("apply", "ignore"))
    with naming(name):
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise ValueError(f'must be a JSON object with a "model", as tokenizers writes it, and {_what_it_is(document)}')
        return _model(document, normalizer)


def _what_it_is(document: Any) -> str:
    """Describe a document that is not a tokenizer.json, for the error; some kinds are given often."""
    if not isinstance(document, dict):
        return f"is {shown(document)}"
    if not document:
        return "has no entries"
    found = f"has {first_few(list(document))}"
    if all(type(token_id) is int for token_id in document.values()):
        return f"{found}; this is a vocabulary like GPT-2's, which needs its merges.txt: give both"
    if all(key.isdecimal() for key in document):
        return (
            f"{found}; this maps ids to tokens: give GPT-2's vocab.json, which maps tokens to ids, and merges.txt "
            "(Tokenizer.save_gpt2 writes both)"
        )
    if document.get("class_name") == "Tokenizer":
        return f"{found}; this is a tokenizer of Keras, which numbers words, and nbbpe reads BPE on bytes only"
    return found


def _model(document: dict[str, Any], normalizer: Normalizer) -> Model:
    from . import pretokenizers

    check_known(document, _PARTS, "the file")
    if document.get("version", "1.0") != "1.0":
        raise ValueError(f'version must be "1.0", and is {shown(document["version"])}')
    part = ModelPart.of(document["model"])
    if characters.is_of_characters(document):
        return characters.read(document, part, _normalizer_steps(document.get("normalizer")), normalizer == "apply")
    of_text = TextNormalizer.of(_normalizer_steps(document.get("normalizer")) if normalizer == "apply" else [])
    steps = steps_of(document.get("pre_tokenizer"), "pre_tokenizer")
    pattern, prefix_space, cutter = pretokenizers.read(steps, part.suffix)
    digits = pretokenizers.digits_of_bytes(steps)
    _check_after(document)
    special, flags = added_tokens.read(document.get("added_tokens") or [], part.entries)
    extras = Extras(flags, prefix_space, document.get("post_processor"), cutter)
    added_tokens.check_normalized(extras, of_text)
    vocab, merges, shared = part.tokens(special, digits)
    if shared:
        extras = extras.sharing(shared)
    own = {token: token_id for token, token_id in special.items() if token not in shared}
    _check_ids(own, tokens_for_placing(special, vocab))
    found = Model.fitting(vocab, merges, special, pattern, of_text, extras)
    if part.ignore_merges:
        _look_up_pretokens(found, [token for token in own if token in part.entries], bool(digits))
    return found


def _check_ids(own: Mapping[str, int], near: Mapping[int, bytes]) -> None:
    """Raise ValueError for an added token with the id of another token.

    near : the other tokens by their ids
    """
    for token, token_id in own.items():
        if token_id in near:
            raise ValueError(
                f"added token {shown(token)} has the id {token_id}, as {shown(near[token_id])} of model.vocab has"
            )


def _look_up_pretokens(found: Model, added: list[str], has_digits: bool) -> None:
    """Set `found.whole`, so that each pretoken is looked up before merging, if that can change an id.

    added : the added tokens that are also in model.vocab
    """
    for token in added:
        if added_tokens.may_be_pretoken(found, token):
            raise ValueError(
                f"added token {shown(token)} of model.vocab may be a pretoken of ordinary text, to which tokenizers would "
                "give its id because of ignore_merges, and nbbpe would not"
            )
    from ...model.rank_vocab import with_whole_tokens

    # In most files, merging the bytes of a token gives the token, so pretokens need not be looked up.
    found.whole = len(with_whole_tokens(found.packed_ordinary, found.merge_table()).whole) > 0
    if found.whole and has_digits:
        raise ValueError(
            "pre_tokenizer has Digits after ByteLevel, which cuts some characters in two, and nbbpe cannot honour that "
            "together with model.ignore_merges"
        )


def _normalizer_steps(part: Any) -> list[dict[str, Any]]:
    """The steps of a normalizer, in the form of TextNormalizer."""
    steps = [dict(step) for step in steps_of(part, "normalizer")]
    for step in steps:
        if step["type"] not in KINDS:
            raise ValueError(
                f"normalizer is {shown(step['type'])}, and nbbpe can honour {', '.join(KINDS)}, alone or in a "
                f"Sequence. {HOW_TO_LEAVE_OUT}"
            )
        pattern = step.get("pattern")
        if isinstance(pattern, dict) and isinstance(pattern.get("Regex"), str):
            from ..regexes.dialects import translated

            with naming("normalizer"):
                step["pattern"] = {"Regex": translated(pattern["Regex"], "Oniguruma", "regex")}
    return steps


def _check_after(document: dict[str, Any]) -> None:
    """Raise ValueError for a post_processor or a decoder that nbbpe cannot honour."""
    read_templates(document.get("post_processor"))
    for step in steps_of(document.get("decoder"), "decoder"):
        if step["type"] not in ("ByteLevel", "Fuse"):
            raise ValueError(f"decoder is {shown(step['type'])}; only ByteLevel turns tokens into the bytes they stand for")
