"""Vocabularies: of the bytes alone, of merges and of ranks, in a tokenizer.json; rules for tokens; textbook BPE's ids."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

import naive
import regex
from hypothesis import strategies as st

import nbbpe
from nbbpe.patterns.pattern_argument import get_pattern

BYTES = {i: bytes([i]) for i in range(256)}
# By the name of a file, what writes it, and for some a second one beside it.
WRITERS = {
    "tokenizer.json": nbbpe.Tokenizer.to_hf,
    "x.tiktoken": nbbpe.Tokenizer.save_tiktoken,
    "vocab.json": lambda tok, path: tok.save_gpt2(path, path.with_name("merges.txt")),
    "merges.txt": lambda tok, path: tok.save_gpt2(path.with_name("vocab.json"), path),
}
# What TokenRules may ask of tokens, besides a regex.
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "whole_characters": st.booleans(),
        "one_script": st.booleans(),
        "max_letters": st.integers(1, 4),
        "max_numbers": st.integers(1, 3),
        "max_words": st.integers(1, 3),
    },
)


def ranks_of(tokens: Iterable[bytes]) -> dict[bytes, int]:
    """The rank of each token, in their order."""
    return {token: rank for rank, token in enumerate(tokens)}


BYTE_RANKS = ranks_of(BYTES.values())


def rank_lines(ranks: Mapping[bytes, int]) -> bytes:
    """What a file of ranks holds, as tiktoken writes it; an empty token as Whisper's file has it."""
    return b"".join(b"%s %d\n" % (base64.b64encode(token) or b"=", rank) for token, rank in ranks.items())


def vocab_of(merges: list[tuple[bytes, bytes]]) -> dict[int, bytes]:
    """The bytes, and what each merge makes."""
    return BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}


def fresh(tokenizer: nbbpe.Tokenizer) -> nbbpe.Tokenizer:
    """The same tokenizer, which has not seen any text."""
    return nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, tokenizer.special_tokens)


def saved_as_ranks(tokens: list[bytes], tmp_path, special=()) -> nbbpe.Tokenizer:
    """A tokenizer that merges by rank, of the bytes and some tokens."""
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(rank_lines(ranks_of([*BYTES.values(), *tokens])))
    return nbbpe.Tokenizer.from_tiktoken(path, "gpt2", special)


def tokenizer_json(tmp_path, lacking=(), normalizer=None, add_prefix_space=False) -> nbbpe.Tokenizer:
    """A tokenizer of single bytes, but for some that it lacks."""
    alphabet = [chr(code) for code in naive.HF_VISIBLE] + [chr(256 + i) for i in range(256 - len(naive.HF_VISIBLE))]
    kept = [letter for letter, byte in zip(alphabet, naive.HF_BYTES, strict=True) if byte not in lacking]
    step = {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "use_regex": True, "trim_offsets": True}
    described = {
        "normalizer": normalizer,
        "pre_tokenizer": step,
        "decoder": step,
        "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(kept)}, "merges": []},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    return nbbpe.load(tmp_path / "tokenizer.json")


def through_hf(tokenizer: nbbpe.Tokenizer, folder, added_token: str | None = None, **model: Any) -> nbbpe.Tokenizer:
    """The tokenizer as a tokenizer.json gives it with these settings of its model, and with one of its ordinary tokens as
    an added token, too."""
    tokenizer.to_hf(folder / "changed.json")
    about = json.loads((folder / "changed.json").read_text(encoding="utf-8"))
    about["model"] |= model
    if added_token is not None:
        flags = dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), False)
        about["added_tokens"] = [{"id": about["model"]["vocab"][added_token], "content": added_token, **flags}]
    (folder / "changed.json").write_text(json.dumps(about), encoding="utf-8")
    return nbbpe.load(folder / "changed.json")


def textbook_ids(tokenizer: nbbpe.Tokenizer, data: bytes, specials: list[str] | None = None) -> list[int]:
    """What textbook BPE makes of a text; with the special tokens given, else all of the tokenizer's."""
    pattern = tokenizer.pattern
    special = {token: i for token, i in tokenizer.special_tokens.items() if specials is None or token in specials}
    ids = {token: i for i, token in reversed(tokenizer.vocab.items()) if i not in tokenizer.special_tokens.values()}
    compiled = None if pattern is None else list(map(regex.compile, get_pattern(pattern).regexes))
    return naive.encode(data, tokenizer.merges, ids, compiled, {token.encode(): i for token, i in special.items()})
