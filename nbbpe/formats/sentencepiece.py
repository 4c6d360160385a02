"""Reads sentencepiece's .model, if it is BPE with byte_fallback, as Llama 2's tokenizer.model.

The file is a protocol buffers message: a list of fields, each with a number (see sentencepiece_model.proto). Each piece (a
token) has a text, a score and a kind. Of all pairs that make a piece, the pair whose piece has the best score merges first.
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.compiler.collector import paused_collector
from ..model.extras import Extras
from ..model.model import Model
from ..model.packed_vocab import PackedVocab
from ..system.excerpt import shown
from ..system.paths import Path
from ..text.byte_fallback import SIGN
from ..text.normalizer import CHARSMAP, Normalizer, table_of
from .equal_scores import pairs_of_equal_scores
from .shared.named_errors import naming
from .tokenizer_json.character_spelling import BYTE_TOKENS, MAKES_SPACES
from .tokenizer_json.characters import merges_by_tokens, model_of, packed_characters

# The numbers of fields: of the model, of a piece, of the trainer_spec, and of the normalizer_spec.
_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
_TEXT, _SCORE, _KIND = 1, 2, 3
_MODEL_TYPE, _SUFFIX, _FALLBACK = 3, 24, 35
_CHARSMAP, _PREFIX, _STRIPS, _SIGNS = 2, 3, 4, 5
_BPE = 2
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_TYPES = {1: "Unigram", 3: "words", 4: "characters"}


class _Piece(NamedTuple):
    text: str
    score: float
    kind: int


@paused_collector()
def read_model(path: Path) -> Model:
    """Read a .model of sentencepiece: ids are the same as those of its `encode`.

    Pieces such as <s>, which sentencepiece does not find in a text, are special tokens. Raises OSError, or ValueError that
    names the file and what nbbpe cannot honour.
    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    with naming(name):
        try:
            pieces, trainer, normalizer = _parts_of(data)
        except (LookupError, TypeError, AttributeError, struct.error, UnicodeDecodeError):  # also for fields of other types
            raise ValueError("is not a model of sentencepiece, or was truncated") from None
        _check(trainer, normalizer)
        return _model(pieces, _steps_of(normalizer, [piece.text for piece in pieces if piece.kind == _USER_DEFINED]))


def _parts_of(data: bytes) -> tuple[list[_Piece], dict[int, Any], dict[int, Any]]:
    """Parse a model: (pieces, fields of the trainer_spec, fields of the normalizer_spec)."""
    pieces: list[_Piece] = []
    specs: dict[int, dict[int, Any]] = {_TRAINER: {}, _NORMALIZER: {}}
    for number, value in _fields(data):
        if number == _PIECE:
            fields = dict(_fields(value))
            score = struct.unpack("<f", fields.get(_SCORE, b"\0\0\0\0"))[0]
            pieces.append(_Piece(fields[_TEXT].decode(), score, fields.get(_KIND, _NORMAL)))
        elif number in specs:
            specs[number] = dict(_fields(value))
    return pieces, specs[_TRAINER], specs[_NORMALIZER]


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: (number, int or bytes). Raises IndexError if the message is truncated."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _number(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _number(data, at)
        else:
            length = {1: 8, 5: 4}[kind] if kind in (1, 5) else len(data)
        if at + length > len(data):
            raise IndexError
        yield key >> 3, data[at : at + length]
        at += length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint, with seven bits in each byte: (value, where it ends)."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _check(trainer: dict[int, Any], normalizer: dict[int, Any]) -> None:
    """Raise ValueError for a model that encodes in a way that nbbpe does not support."""
    kind = trainer.get(_MODEL_TYPE, 1)
    if kind != _BPE:
        raise ValueError(f"is a model of {_TYPES.get(kind, 'an unknown kind')}, and nbbpe reads BPE only")
    if not trainer.get(_FALLBACK, 0):
        raise ValueError("has no byte_fallback, so that some text becomes <unk>, which nbbpe cannot honour")
    options = {
        "keeps spaces as they are (escape_whitespaces)": not normalizer.get(_SIGNS, 1),
        "puts spaces after words (treat_whitespace_as_suffix)": trainer.get(_SUFFIX, 0),
    }
    found = ", and ".join(option for option, is_set in options.items() if is_set)
    if found:
        raise ValueError(f"{found}, which nbbpe cannot honour")


def _steps_of(normalizer: dict[int, Any], symbols: list[str]) -> list[dict[str, Any]]:
    """The steps of a Normalizer that does what sentencepiece's does. Raises ValueError for what nbbpe cannot honour.

    symbols : user-defined symbols, which the table of a normalizer does not change
    """
    prefix = [{"type": "Prepend", "prepend": " "}] if normalizer.get(_PREFIX, 1) else []
    strips = normalizer.get(_STRIPS, 1)
    table = base64.b64encode(normalizer.get(_CHARSMAP, b"")).decode()
    by_table: list[dict[str, Any]] = [{"type": CHARSMAP, "table": table, "kept": symbols}] if table else []
    # The two errors below can only come from a table that a user has defined, not from sentencepiece's own.
    by_text = table_of(table) if table else {}
    if prefix and not strips and any(text.startswith(" ") for text in by_text):
        raise ValueError(
            "replaces spaces (normalization_rule_tsv), and puts one in front of each text (add_dummy_prefix), which nbbpe "
            "cannot honour together"
        )
    if strips and any("  " in new for new in by_text.values()):
        raise ValueError(
            "replaces text by several spaces (normalization_rule_tsv), and removes extra ones (remove_extra_whitespaces), "
            "which nbbpe cannot honour together"
        )
    if not strips:
        # With a table, the space is put in front first: it stays even if the table removes all of a text.
        return [*prefix, *by_table, MAKES_SPACES] if table else [MAKES_SPACES, *prefix]
    # Several spaces become one, and spaces at both ends are removed; at the end, also ▁.
    stripped = [_replaced(" +", " "), _replaced(rf"\A +|[ {SIGN}]+\Z", "")]
    return [*by_table, *stripped, MAKES_SPACES, *prefix]


def _replaced(regex: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": content}


def _model(pieces: list[_Piece], steps: list[dict[str, Any]]) -> Model:
    entries = {piece.text: token_id for token_id, piece in enumerate(pieces)}
    if len(entries) < len(pieces) or not all(map(entries.__contains__, BYTE_TOKENS)):
        raise ValueError("has two pieces with the same text, or lacks the piece of a byte")
    if any(piece.kind == _UNUSED for piece in pieces):
        raise ValueError("has unused pieces, which nbbpe cannot honour")
    added = {piece.text: token_id for token_id, piece in enumerate(pieces) if piece.kind == _USER_DEFINED}
    special = {piece.text: i for i, piece in enumerate(pieces) if piece.kind in (_UNKNOWN, _CONTROL)}
    fallback = tuple(map(entries.__getitem__, BYTE_TOKENS))
    if SIGN not in entries or any(" " in text for text in entries):
        raise ValueError(f"has no piece {SIGN} for a space, or has a piece with a space")
    vocab = packed_characters(entries, special.keys() | added.keys())
    added = {text.replace(SIGN, " "): token_id for text, token_id in added.items()}
    joined = [i for i, piece in enumerate(pieces) if piece.kind == _NORMAL and len(piece.text) > 1]
    if lacking := set("".join([pieces[i].text for i in joined])) - entries.keys():  # sentencepiece would merge these, too
        raise ValueError(
            f"has pieces of several characters with {shown(min(lacking))}, which is not a piece by itself: nbbpe cannot "
            "honour that"
        )
    joined.sort(key=lambda i: -pieces[i].score)
    known = entries.keys() - special.keys() - set(BYTE_TOKENS)
    merges = _merges([pieces[i] for i in joined], known, entries, vocab, fallback)
    # If normalization only makes spaces, it does not change these tokens: so "literal" is not needed, which other formats
    # cannot express.
    of_added = ("normalized", "plain") if steps == [MAKES_SPACES] else ("normalized", "literal", "plain")
    extras = Extras(dict.fromkeys(added, of_added), byte_fallback=fallback)
    return model_of(vocab, merges, {**special, **added}, Normalizer.of(steps), extras)


def _merges(
    joined: list[_Piece], known: set[str], entries: Mapping[str, int], vocab: PackedVocab, fallback: tuple[int, ...]
) -> NDArray[np.int32]:
    """The ids of left, right and result of each merge, int32[n, 3].

    joined : the pieces that merges make, the best score first
    known  : the pieces that may be a side of a merge
    """
    of_equal = pairs_of_equal_scores([(piece.text, piece.score) for piece in joined])
    alone = [piece for piece in joined if piece.score not in of_equal]
    ids = np.array([entries[piece.text] for piece in alone], dtype=np.int32)
    rows = merges_by_tokens(ids, vocab, fallback) if alone else None
    by_score = {score: _rows(pairs, entries) for score, pairs in of_equal.items()}
    if rows is not None:
        by_score.update((piece.score, [row]) for piece, row in zip(alone, rows.tolist(), strict=True))
    else:
        for text, score, _ in alone:
            splits = [(text[:at], text[at:]) for at in range(1, len(text))]
            by_score[score] = _rows([pair for pair in splits if known.issuperset(pair)], entries)
    in_order = chain.from_iterable(by_score[score] for score in sorted(by_score, reverse=True))
    return np.array(list(in_order), dtype=np.int32).reshape(-1, 3)


def _rows(pairs: Iterable[tuple[str, str]], entries: Mapping[str, int]) -> list[list[int]]:
    return [[entries[left], entries[right], entries[left + right]] for left, right in pairs]
