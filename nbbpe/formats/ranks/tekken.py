"""Reads and writes Mistral's tekken.json: ranks as in tiktoken's files, whose ids follow those of the special tokens."""

from __future__ import annotations

import json
import os
from typing import Any

from ...kernels.compiler.collector import paused_collector
from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID, check_special_tokens
from ...system.atomic_files import whole_file, write_text
from ...system.excerpt import shown
from ...system.paths import Path
from ..shared.json_text import read_json
from ..shared.named_errors import naming
from ..shared.plain_formats import WRITES_JSON, check_plain
from .tiktoken import from_base64, pattern_of, split_regex, to_base64

# The first special tokens of a file that lists none (versions up to v7); the others are <SPECIAL_20> and so on.
_FIRST = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]"),
    *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_MOST_SPECIAL = 1 << 13  # Mistral's have 1,000
_OLD = {"v1", "v2", "v3", "v7"}
_VERSION = "v3"  # in written files, which list their special tokens, so that nothing depends on the version


@paused_collector()
def read_model(path: Path) -> Model:
    """Read a tekken.json: ids are the same as those of mistral-common's Tekkenizer.

    Images, audio and chat templates, which such a file may contain too, are ignored. Raises OSError, or ValueError that
    names the file and the invalid part.
    """
    name = os.fspath(path)
    document = read_json(path)
    with naming(name):
        config = document.get("config") if isinstance(document, dict) else None
        if not isinstance(config, dict) or not isinstance(document.get("vocab"), list):
            raise ValueError('must be an object with a "config" and a list "vocab", as Mistral\'s tekken.json')
        n_special = _number(config, "default_num_special_tokens")
        if n_special > _MOST_SPECIAL:  # each gets a name below, so a large number could need any amount of memory
            raise ValueError(f"config.default_num_special_tokens is {n_special:,}, and at most {_MOST_SPECIAL:,} are read")
        n_tokens = _number(config, "default_vocab_size") - n_special
        entries = document["vocab"]
        if not 256 <= n_tokens <= len(entries):
            raise ValueError(f"default_vocab_size leaves {n_tokens:,} tokens of a vocab of {len(entries):,}")
        special = _special_tokens(document.get("special_tokens"), config.get("version"), n_special)
        pattern = config.get("pattern")
        if not isinstance(pattern, str):
            raise ValueError(f"config.pattern must be a regex, and is {shown(pattern)}")
        split = pattern_of(pattern)
        ranks: dict[bytes, int] = {}
        for rank, entry in enumerate(entries[:n_tokens]):
            token = _token(entry, rank)
            if ranks.setdefault(token, rank) != rank:
                raise ValueError(f"vocab[{rank}] is {shown(token)}, which comes twice")
        vocab = PackedVocab.of({n_special + rank: token for token, rank in ranks.items()})
        from ...model.rank_vocab import recovered_merges

        merges, first_irregular = recovered_merges(vocab)
    return Model(vocab, merges if first_irregular is None else None, special, split)


def _number(config: dict[str, Any], key: str) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 <= value <= MAX_ID // 2:
        raise ValueError(f"config.{key} must be an integer from 0 up, and is {shown(value)}")
    return value


def _token(entry: object, rank: int) -> bytes:
    spelled = entry.get("token_bytes") if isinstance(entry, dict) else None
    try:
        token = from_base64(spelled.encode()) if isinstance(spelled, str) else b""
    except ValueError:
        token = b""
    if not token or not isinstance(entry, dict) or entry.get("rank") != rank:
        raise ValueError(f"vocab[{rank}] must have the rank {rank} and token_bytes in base64, and is {shown(entry)}")
    if rank < 256 and token != bytes([rank]):
        raise ValueError(f"vocab[{rank}] must be the byte {rank}, and is {shown(token)}")
    return token


def _special_tokens(entries: object, version: object, n_special: int) -> dict[str, int]:
    if entries is None:
        if version not in _OLD:
            raise ValueError(f"version {shown(version)} needs special_tokens, and the file has none")
        names = list(_FIRST[:n_special])
    elif isinstance(entries, list) and len(entries) <= n_special:
        names = []
        for rank, entry in enumerate(entries):
            token = entry.get("token_str") if isinstance(entry, dict) else None
            if not isinstance(entry, dict) or not isinstance(token, str) or entry.get("rank") != rank:
                raise ValueError(f"special_tokens[{rank}] must have the rank {rank} and a token_str, and is {shown(entry)}")
            names.append(token)
    else:
        raise ValueError(f"special_tokens must be a list of at most {n_special:,} (default_num_special_tokens)")
    names += [f"<SPECIAL_{number}>" for number in range(len(names), n_special)]
    return {token: token_id for token_id, token in enumerate(check_special_tokens(names))}


def write(path: Path, model: Model) -> None:
    """Write a tekken.json. Raises ValueError for what the format cannot hold, before anything is written."""
    check_plain(model, "tekken.json")
    n_special = len(model.special)
    if sorted(model.special.values()) != list(range(n_special)):
        raise ValueError(
            "tekken.json has the special tokens first, from id 0 on, and here they have other ids: "
            f"{shown(dict(list(model.special.items())[:3]))}. A tokenizer.json ({WRITES_JSON}) can hold any ids"
        )
    tokens = sorted(model.as_ranks().items())
    for rank, (token_id, token) in enumerate(tokens):
        if token_id != n_special + rank or (rank < 256 and token != bytes([rank])) or not token:
            raise ValueError(
                f"tekken.json has the 256 bytes in their order right after the special tokens, then all others without a "
                f"gap, and here id {token_id} is {shown(token)}. A tokenizer.json ({WRITES_JSON}) can hold any ids"
            )
    document = {
        "config": {
            "pattern": split_regex(model.pattern),
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(tokens) + n_special,
            "default_num_special_tokens": n_special,
            "version": _VERSION,
        },
        "vocab": [
            {"rank": rank, "token_bytes": to_base64(token).decode(), "token_str": _text(token)}
            for rank, (_, token) in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": token_id, "token_str": token, "is_control": True}
            for token, token_id in sorted(model.special.items(), key=lambda item: item[1])
        ],
    }
    with whole_file(path) as unfinished:
        write_text(unfinished, json.dumps(document, ensure_ascii=False))  # json.dump is slow: it runs in Python


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
