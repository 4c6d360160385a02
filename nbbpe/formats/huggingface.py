"""Hugging Face's tokenizer.json, as far as it describes a byte-level BPE tokenizer.

Such a file is a chain of parts: normalizer, pre_tokenizer, model, post_processor, decoder. A part that changes which ids a
text has, in a way that nbbpe has not, is an error that names it. What a post_processor adds (a token at the start of a
text, say) is kept, and added on request only; truncation and padding are ignored. So the ids are those of tokenizers'
`encode(text, add_special_tokens=False)`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiler.collector import paused_collector
from ..model.extras import FLAGS, Extras, Flags
from ..model.model import Model
from ..model.packed_vocab import PackedVocab
from ..model.post_processor import read_templates
from ..model.special_tokens import MAX_ID, tokens_for_placing
from ..model.vocab_checks import check_bytes
from ..system.choices import check_one_of
from ..system.excerpt import first_few, naming, shown
from ..system.paths import Path
from ..system.user_warnings import warn_user
from ..text.normalizer import HOW_TO_LEAVE_OUT, KINDS, Chain, as_normalizer
from ..text.normalizer import Normalizer as TextNormalizer
from ..text.steps import steps_of
from . import word_ends
from .gpt2 import vocab_of
from .json_text import parse_json, read_json
from .packed_entries import has_twice, packed_entries, packed_pairs
from .spelling import spell, token_of, unspell, unspelled
from .to_huggingface import TOKEN_FLAGS, may_be_pretoken

_PARTS = {
    *("version", "truncation", "padding", "added_tokens", "normalizer"),
    *("pre_tokenizer", "post_processor", "decoder", "model"),
}
_MODEL = {
    *("type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"),
}
Normalizer = Literal["apply", "ignore"]


@paused_collector()
def read_model(path_or_tokenizer: Path | Any, normalizer: Normalizer = "apply", beside: bool = False) -> Model:
    """See Tokenizer.from_hf.

    beside : whether a file has the tokens, too, that transformers finds in the files beside it
    """
    if is_tokenizer(path_or_tokenizer):
        name = "the tokenizer"
        document = parse_json(_backend(path_or_tokenizer).to_str(), name)
    else:
        document = read_json(path_or_tokenizer)
        name = os.fspath(path_or_tokenizer)
        if beside:
            return read_document(document, name, normalizer, os.path.dirname(name))
    return read_document(document, name, normalizer)


def read_text(text: str, name: str) -> Model:
    """The model of a tokenizer.json from its text; `name` is what errors call it."""
    return read_document(parse_json(text, name), name)


def read_document(document: Any, name: str, normalizer: Normalizer = "apply", folder: str | None = None) -> Model:
    """The model of a tokenizer.json as an object, and of what stands beside it in a folder if one is given.

    name : what errors call it
    """
    check_one_of("normalizer", normalizer, ("apply", "ignore"))
    with naming(name):
        if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
            raise ValueError(f'must be a JSON object with a "model", as tokenizers writes it, and {_what_it_is(document)}')
        model = _model(document, normalizer)
    return model if folder is None else _with_beside(model, document, name, normalizer, folder)


def _what_it_is(document: Any) -> str:
    """What a document is that is no tokenizer.json, for the error; some others are often taken for one."""
    if not isinstance(document, dict):
        return f"is {shown(document)}"
    if not document:
        return "has no entries"
    found = f"has {first_few(list(document))}"
    if all(type(token_id) is int for token_id in document.values()):
        return f"{found}; this is a vocabulary as GPT-2's, which needs its merges.txt: give both"
    if all(key.isdecimal() for key in document):
        return (
            f"{found}; this maps ids to tokens: give GPT-2's vocab.json, which maps tokens to ids, and merges.txt "
            "(Tokenizer.save_gpt2 writes both)"
        )
    if document.get("class_name") == "Tokenizer":
        return f"{found}; this is a tokenizer of Keras, which numbers words, and nbbpe reads BPE on bytes only"
    return found


def _with_beside(model: Model, document: dict[str, Any], name: str, normalizer: Normalizer, folder: str) -> Model:
    """The model of a document, with the tokens that a folder has beside it."""
    from .from_transformers import tokens_beside

    own = document.get("added_tokens") or []
    beside = {token["content"]: token for token in tokens_beside(folder, document)}
    if not beside:
        return model
    names = list(beside)
    tokens = [token | beside.pop(token["content"], {}) for token in own]
    entries = document["model"]["vocab"]
    following = max([len(entries), *(token["id"] + 1 for token in own)])
    for content, token in beside.items():
        token_id = entries.get(content, following)
        following = max(following, token_id + 1)
        tokens.append({**token, "id": token_id})
    with naming(name), naming(f"with the tokens that files beside it add or change ({first_few(names)})"):
        return _model({**document, "added_tokens": tokens}, normalizer)


def is_tokenizer(value: object) -> bool:
    """Whether a value is a tokenizers.Tokenizer, or a transformers object that has one."""
    return all(hasattr(_backend(value), name) for name in ("to_str", "get_vocab"))


def _backend(value: Any) -> Any:
    return getattr(value, "backend_tokenizer", value)


def _model(document: dict[str, Any], normalizer: Normalizer) -> Model:
    from . import pretokenizers

    _check_known(document, _PARTS, "the file")
    if document.get("version", "1.0") != "1.0":
        raise ValueError(f'version must be "1.0", and is {shown(document["version"])}')
    model = document["model"]
    _check_model(model)
    form = _normalizer(document.get("normalizer")) if normalizer == "apply" else None
    steps = steps_of(document.get("pre_tokenizer"), "pre_tokenizer")
    suffix = word_ends.suffix_of(model)
    pattern, prefix_space, cutter = pretokenizers.read(steps, suffix)
    _check_after(document)
    entries = model.get("vocab")
    if not isinstance(entries, dict):
        raise ValueError(f"model.vocab must be an object from tokens to ids, not {type(entries).__name__}")
    lines = model.get("merges")
    if not isinstance(lines, list):
        raise ValueError(f"model.merges must be a list, not {type(lines).__name__}")
    lines = _without_versions(lines)
    special, flags = _special(document.get("added_tokens") or [], entries)
    extras = Extras(flags, prefix_space, document.get("post_processor"), cutter)
    _check_normalized(extras, form)
    if suffix is not None:
        entries, lines = word_ends.with_spaces(entries, lines, suffix, special)
    whole = bool(model.get("ignore_merges"))
    merges: list[tuple[bytes, bytes]] | NDArray[np.int32]
    tokens: Mapping[str, Any]
    digits = pretokenizers.digits_of_bytes(steps)
    ordinary = _without(entries, special)
    packed = None if digits else _packed(ordinary, lines)
    # Few files have any: so first as if there were none.
    if (packed is None or min(map(len, special), default=2) == 1) and (shared := _shared(special, entries, lines)):
        extras = extras.sharing(shared)
        ordinary = _without(entries, special.keys() - shared)
        packed = None if digits else _packed(ordinary, lines)
    if packed is not None:
        (vocab, merges), tokens = packed, ordinary
    else:
        tokens = unspelled(ordinary)
        vocab = PackedVocab.of(vocab_of(ordinary, tokens, "model.vocab"))
    try:
        with naming("model"):
            check_bytes(vocab)
    except ValueError as error:
        of_bytes = [shown(token) for token in special if token in entries and len(token) == 1]
        if not of_bytes:
            raise
        raise ValueError(f"{error}; a byte's token cannot be an added token too, as {', '.join(of_bytes)} is") from None
    _check_spelling(ordinary, tokens, entries, special, whole)
    near = tokens_for_placing(special, vocab)
    of_ordinary = set(extras.shared)
    own = {token: token_id for token, token_id in special.items() if token not in of_ordinary}
    for token, token_id in own.items():
        if token_id in near:
            raise ValueError(
                f"added token {shown(token)} has the id {token_id}, as {shown(near[token_id])} of model.vocab has"
            )
    if packed is None:
        # With merges that make the ends of words before those of the file.
        merges = _merges(lines, len(model["merges"]) - len(lines), set(vocab.tokens()), tokens, special)
        if digits:
            merges = pretokenizers.without_mixed(merges, digits)
    found = Model.fitting(vocab, merges, special, pattern, form, extras)
    if whole:
        for token in own:
            if token in entries and may_be_pretoken(found, token):
                raise ValueError(
                    f"added token {shown(token)} of model.vocab may be a pretoken of ordinary text, which tokenizers "
                    "would take for it with ignore_merges, and nbbpe would not"
                )
        from ..model.rank_vocab import with_whole_tokens

        # In most files merging gives each token from its bytes, so nothing needs to be looked up.
        found.whole = len(with_whole_tokens(found.packed_ordinary, found.merge_table()).whole) > 0
        if found.whole and digits:
            raise ValueError(
                "pre_tokenizer has Digits after ByteLevel, which cuts some characters in two, and with model.ignore_merges "
                "nbbpe would take these for the tokens that they are"
            )
    return found


def _without_versions(lines: list[Any]) -> list[Any]:
    """Merges without those that tokenizers skips: in a list of strings, what begins as the first line of a merges.txt."""
    if set(map(type, lines)) != {str} or "\n#version" not in "\n".join(["", *lines]):
        return lines
    return [line for line in lines if not line.startswith("#version")]


def _without(entries: Mapping[str, Any], special: Collection[str]) -> dict[str, Any]:
    """The entries of model.vocab that are not these added tokens."""
    ordinary = dict(entries)
    for token in special:
        ordinary.pop(token, None)
    return ordinary


def _shared(special: Collection[str], entries: Mapping[str, Any], lines: list[Any]) -> set[str]:
    """The added tokens that merges need as ordinary tokens, or that are bytes: as where words are added of which some are
    tokens already. Only those that are spelled as their own bytes: of others, the added token has other bytes."""
    some = {token for token in special if token in entries and spell(token.encode()) == token}
    shared = {token for token in some if len(token) == 1}
    if len(shared) < len(some):
        for line in lines:
            sides = line.split(" ") if isinstance(line, str) else line
            if isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, str) for side in sides):
                shared.update(some.intersection([*sides, "".join(sides)]))
    return shared


def _check_known(part: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(part) - known)
    if unknown:
        raise ValueError(f"{where} has {shown(unknown[0])}, which nbbpe does not know, so it cannot honour it")


def _normalizer(part: Any) -> TextNormalizer | None:
    """What a normalizer does to text."""
    steps = steps_of(part, "normalizer")
    chain = [dict(step) for step in steps]
    for step in chain:
        if step["type"] not in KINDS:
            raise ValueError(
                f"normalizer is {shown(step['type'])}, and nbbpe can honour {', '.join(KINDS)}, alone or in a "
                f"Sequence. {HOW_TO_LEAVE_OUT}"
            )
        pattern = step.get("pattern")
        if isinstance(pattern, dict) and isinstance(pattern.get("Regex"), str):
            from .dialects import translated

            with naming("normalizer"):
                step["pattern"] = {"Regex": translated(pattern["Regex"], "Oniguruma", "regex")}
    return as_normalizer(chain)


# Parts that must be absent, or have no effect


def _check_model(model: dict[str, Any]) -> None:
    kind = model.get("type", "BPE")
    if kind != "BPE":
        raise ValueError(f"model.type is {shown(kind)}, and nbbpe reads BPE only")
    _check_known(model, _MODEL, "model")
    whys = {
        "dropout": "which makes encoding random",
        "continuing_subword_prefix": "which byte-level BPE has not",
    }
    for key, why in whys.items():
        if model.get(key):
            raise ValueError(f"model.{key} is {shown(model[key])}, {why}")
    # unk_token, fuse_unk and byte_fallback are about characters that the vocab lacks: in byte-level BPE there are none.
    if not isinstance(model.get("ignore_merges", False), bool):
        raise ValueError(f"model.ignore_merges must be true or false, and is {shown(model['ignore_merges'])}")


def _check_after(document: dict[str, Any]) -> None:
    read_templates(document.get("post_processor"))
    # Without a decoder nothing is said of decoding.
    for step in steps_of(document.get("decoder"), "decoder"):
        if step["type"] not in ("ByteLevel", "Fuse"):
            raise ValueError(f"decoder is {shown(step['type'])}; only ByteLevel turns tokens into the bytes they stand for")


# Tokens


def _special(added: Any, entries: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Flags]]:
    """The added tokens with the ids that tokenizers gives them, and the flags of those that have any."""
    if not isinstance(added, list):
        raise ValueError(f"added_tokens must be a list, not {type(added).__name__}")
    special: dict[str, int] = {}
    found: dict[str, Flags] = {}
    following = len(entries)  # the id of the next token that model.vocab does not have
    for number, token in enumerate(added):
        where = f"added_tokens[{number}]"
        content = token.get("content") if isinstance(token, dict) else None
        if not isinstance(content, str) or not content:
            raise ValueError(f"{where} must be an object with a content, and is {shown(token)}")
        if not content.isascii():
            with naming(where):
                content.encode()
        if content in special:
            raise ValueError(f"{where} is {shown(content)}, which comes twice")
        # tokenizers does not look at the id that stands there.
        token_id = entries.get(content, following)
        if type(token_id) is not int or type(token.get("id")) is not int or token["id"] != token_id:
            raise ValueError(
                f"{where}, {shown(content)}, has the id {shown(token.get('id'))}, but tokenizers would give it "
                f"{shown(token_id)} (what model.vocab says, else the next that is free)"
            )
        if not 0 <= token_id <= MAX_ID:
            raise ValueError(f"{where}, {shown(content)}, has the id {token_id}; ids must be from 0 to {MAX_ID:,}")
        special[content] = token_id
        following = max(following, token_id + 1)
        flags = {flag for flag in TOKEN_FLAGS if token.get(flag)} | (set() if token.get("special", True) else {"plain"})
        if flags:
            found[content] = tuple(flag for flag in FLAGS if flag in flags)
    return special, found


def _check_normalized(extras: Extras, form: TextNormalizer | None) -> None:
    """Refuse an added token of which the normalizer leaves nothing: tokenizers would find it between any two characters.

    Warn of two that are the same in normalized text.
    """
    if form is None:
        return
    chain = form if isinstance(form, Chain) else Chain.of([form])
    known: dict[str, str] = {}
    for token, flags in extras.flags.items():
        if "normalized" not in flags:
            continue
        normalized = chain.apply(token, set())
        if not normalized:
            raise ValueError(
                f"added token {shown(token)} is to be found in normalized text, and the normalizer leaves nothing of it"
            )
        first = known.setdefault(normalized, token)
        if first != token:
            warn_user(
                f"added tokens {shown(first)} and {shown(token)} are both {shown(normalized)} in normalized text, where "
                "tokenizers finds either of them, by chance, and nbbpe the first"
            )


def _packed(entries: Mapping[str, Any], lines: list[Any]) -> tuple[PackedVocab, NDArray[np.int32]] | None:
    """Vocabulary and merges as arrays; None where they have anything unusual, or a merge comes twice."""
    vocab = packed_entries(entries) if entries else None
    merges = None if vocab is None else packed_pairs(lines, entries)
    return None if vocab is None or merges is None or has_twice(merges) else (vocab, merges)


def _check_spelling(
    ordinary: Mapping[str, int],
    tokens: Mapping[str, Any],
    entries: Mapping[str, Any],
    special: Mapping[str, int],
    whole: bool,
) -> None:
    """Refuse tokens of which it matters that tokenizers compares them as they are spelled, and nbbpe as bytes."""
    # Those that spell bytes are distinct; each of the others means its own UTF-8, which one of them may spell, and also an
    # added token, for which merges would take it.
    for text in [text for text in ordinary if text not in tokens] if len(tokens) < len(ordinary) else []:
        token = text.encode()
        if spell(token) in entries:
            raise ValueError(f"model.vocab: {shown(text)} and {shown(spell(token))} both stand for {shown(token)}")
        if whole:
            raise ValueError(
                f"model.vocab: {shown(text)} has characters that stand for no byte, so that with ignore_merges it "
                "is found in no text, and nbbpe would find it"
            )
    for text in special if whole else ():
        if token_of(text) != text.encode():
            raise ValueError(
                f"added token {shown(text)} is spelled like {shown(token_of(text))}, for which tokenizers would "
                "take it with ignore_merges"
            )


def _merges(
    lines: list[Any], first_number: int, known: set[bytes], tokens: Mapping[str, bytes], special: dict[str, int]
) -> list[tuple[bytes, bytes]]:
    numbers: dict[tuple[bytes, bytes], int] = {}
    for number, line in enumerate(lines, first_number):
        where = f"model.merges[{number}]"
        sides = line.split(" ") if isinstance(line, str) else line
        if not isinstance(sides, list) or len(sides) != 2 or not all(isinstance(side, str) and side for side in sides):
            raise ValueError(f"{where} must be two tokens, and is {shown(line)}")
        try:
            left, right = (tokens.get(side) or unspell(side) for side in sides)
        except KeyError as error:
            raise ValueError(f"{where}: the character {shown(error.args[0])} in {shown(line)} stands for no byte") from None
        for token in (left, right, left + right):
            if token not in known:
                what = "is an added token" if spell(token) in special else "is not in model.vocab"
                raise ValueError(f"{where} merges {shown(left)} and {shown(right)}, but {shown(token)} {what}")
        first = numbers.setdefault((left, right), number)
        if first != number:
            raise ValueError(f"{where} merges {shown(left)} and {shown(right)}, as model.merges[{first}] does")
    return list(numbers)
