"""Reads and writes tiktoken's encodings and rank files. Each line of a file is a token in base64, a space, and its rank."""

from __future__ import annotations

import hashlib
import os
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...kernels.compiler.collector import paused_collector
from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID, SpecialTokens, check_distinct_ids, place_beside_ranks
from ...model.vocab_checks import check_bytes, check_vocab
from ...patterns.pattern import Pattern
from ...patterns.pattern_argument import PatternLike, get_pattern, regex_pattern
from ...system.arguments import argument
from ...system.atomic_files import whole_file
from ...system.excerpt import shown
from ...system.git_lfs import IS_LFS_POINTER, LFS_POINTER
from ...system.paths import Path, check_tokenizer_file, not_meant
from ...system.wrong_argument import WrongArgument
from ..shared.named_errors import naming
from ..shared.objects import is_encoding
from ..shared.plain_formats import check_plain
from .tiktoken_package import tiktoken_package

_ALL = r"(?s:.+)"  # the regex that means no splitting in tiktoken
_EMPTY = b"="  # the spelling of an empty token
_SMALL = 1 << 16  # bytes; smaller files are read line by line, in 3 ms: loading or compiling a kernel would take longer
_END, _PROMPT_END = "<|endoftext|>", "<|endofprompt|>"


class Known(NamedTuple):
    """What a rank file does not say about an encoding: its split pattern and its special tokens."""

    pattern: PatternLike
    special_tokens: dict[str, int]


ENCODINGS = {
    "r50k_base": Known("gpt2", {_END: 50256}),
    "p50k_base": Known("gpt2", {_END: 50256}),
    "cl100k_base": Known(
        "cl100k",
        {
            _END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            _PROMPT_END: 100276,
        },
    ),
    "o200k_base": Known("o200k", {_END: 199999, _PROMPT_END: 200018}),
    # Whisper's. The ids of its other special tokens depend on the number of languages that a model knows.
    "multilingual": Known("gpt2", {_END: 50257, "<|startoftranscript|>": 50258}),
}
# With the files of other models, which tiktoken has not. Of their special tokens those that all versions of a model have.
_KNOWN = {
    **ENCODINGS,
    "llama3": Known(
        "llama3",
        {
            "<|begin_of_text|>": 128000,
            "<|end_of_text|>": 128001,
            "<|start_header_id|>": 128006,
            "<|end_header_id|>": 128007,
            "<|eot_id|>": 128009,
        },
    ),
    "llama4": Known(
        "o200k",
        {
            "<|begin_of_text|>": 200000,
            "<|end_of_text|>": 200001,
            "<|fim_prefix|>": 200002,
            "<|fim_middle|>": 200003,
            "<|fim_suffix|>": 200004,
            "<|header_start|>": 200005,
            "<|header_end|>": 200006,
            "<|eom|>": 200007,
            "<|eot|>": 200008,
        },
    ),
    "qwen": Known("qwen2", {_END: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}),
}
_SHA256 = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": "r50k_base",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": "p50k_base",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": "cl100k_base",
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": "multilingual",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": "o200k_base",
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": "llama3",
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed": "llama4",
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": "qwen",
}


@paused_collector()
def read_model(
    path_or_encoding: Path | Any,
    pattern: PatternLike = None,
    special_tokens: SpecialTokens | None = None,
) -> Model:
    """See Tokenizer.from_tiktoken."""
    known: Known | None
    is_file = not is_encoding(path_or_encoding)
    if not is_file:
        name = f"the encoding {getattr(path_or_encoding, 'name', '')!r}"
        with naming(name):
            vocab, known = _of_encoding(path_or_encoding)
    elif isinstance(path_or_encoding, (str, os.PathLike)):
        name = os.fspath(path_or_encoding)
        if not os.path.exists(name):
            encoding = name if name in ENCODINGS else "cl100k_base"
            raise FileNotFoundError(
                f"{name!r} is not a file{not_meant(name)}; give the path of a .tiktoken file, or an encoding, as "
                f"tiktoken.get_encoding({encoding!r}) is one"
            )
        vocab, known = read(name)
        if known is None and pattern is None:
            raise WrongArgument(
                f"{name}: neither name nor content is that of a known encoding ({', '.join(_KNOWN)}), so say "
                f"which split pattern belongs to it: {argument('pattern', ...)} (in Python, of Tokenizer.from_tiktoken)"
            )
    else:
        raise TypeError(f"give a path or a tiktoken.Encoding, not {type(path_or_encoding).__name__}")
    split = get_pattern(known.pattern if pattern is None and known is not None else pattern)
    from ...model.rank_vocab import recovered_merges

    with naming(name):
        if special_tokens is None:  # two special tokens of an encoding may have the same id, those of a user not
            special = place_beside_ranks(known.special_tokens if known else {}, vocab)
        else:
            special = place_beside_ranks(special_tokens, vocab)
            check_distinct_ids(special)
        merges, first_irregular = recovered_merges(vocab)
    if first_irregular is not None and is_file:
        read(name, any_lines=True)  # raises an error if a token has two ranks
    return Model(vocab, merges if first_irregular is None else None, special, split)


def read(path: Path, any_lines: bool = False) -> tuple[PackedVocab, Known | None]:
    """Read a rank file: (tokens, what is known about the encoding, which is identified by its content or its name).

    any_lines : False to read a large file with a kernel if its lines have the usual form. The kernel does not notice a
        token with two ranks, but `recovered_merges` does, as no two tokens make it at its second rank

    Raises OSError, or ValueError that names the file, and the line, of what is broken.
    """
    name = os.fspath(path)
    check_tokenizer_file(path)
    with open(path, "rb") as file:
        data = file.read()
    vocab = None if any_lines else _plain_lines(data)
    if vocab is None:
        vocab = PackedVocab.of(_any_lines(data, name))
        with naming(name):
            check_bytes(vocab)
    stem = os.path.basename(name).split(".")[0]
    return vocab, _KNOWN.get(_SHA256.get(hashlib.sha256(data).hexdigest(), stem))


def _plain_lines(data: bytes) -> PackedVocab | None:
    """Read the tokens of a rank file with a kernel; None if it is small, or a line is unusual or broken."""
    if len(data) < _SMALL:
        return None
    from ...kernels.records.rank_lines import read_rank_lines

    n_lines = data.count(b"\n") + 1
    text = np.empty(3 * (len(data) // 4), dtype=np.uint8)
    starts, ranks = np.empty(n_lines + 1, dtype=np.int64), np.empty(n_lines, dtype=np.int32)
    n_tokens = read_rank_lines(np.frombuffer(data, dtype=np.uint8), text, starts, ranks)
    if n_tokens < 0 or (np.diff(ranks[:n_tokens]) <= 0).any():
        return None
    vocab = PackedVocab(text[: starts[n_tokens]].copy(), starts[: n_tokens + 1].copy(), ranks[:n_tokens].copy())
    has_each_byte_once = (vocab.byte_ids() >= 0).all() and int((vocab.lengths == 1).sum()) == 256
    return vocab if has_each_byte_once else None


def _any_lines(data: bytes, name: str) -> dict[int, bytes]:
    """Read any rank file, line by line: {rank: token}. Raises ValueError that names the file and the line."""
    vocab: dict[int, bytes] = {}
    lines: dict[bytes, int] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            spelled, digits = fields
            token, rank = from_base64(spelled), int(digits)
            if not digits.isdigit():
                raise ValueError("not a rank")
        except ValueError:
            if number == 1 and line.startswith(LFS_POINTER):
                raise ValueError(f"{name}: {IS_LFS_POINTER}") from None
            raise ValueError(
                f"{name}, line {number}: must be a token in base64, one space and its rank, and is {shown(line)}"
            ) from None
        if lines.setdefault(token, number) != number:
            raise ValueError(f"{name}, line {number}: token {shown(token)} has a rank in line {lines[token]} already")
        if vocab.setdefault(rank, token) is not token:
            first = lines[vocab[rank]]
            raise ValueError(
                f"{name}, line {number}: rank {shown(rank)} is that of {shown(vocab[rank])} in line {first} already"
            )
    if vocab and max(vocab) > MAX_ID:
        line_number = lines[vocab[max(vocab)]]
        raise ValueError(
            f"{name}, line {line_number}: rank {shown(max(vocab))} is too large; ranks must be at most {MAX_ID:,}"
        )
    return vocab


def to_base64(token: bytes) -> bytes:
    """Spell a token as rank files do."""
    return b2a_base64(token, newline=False) or _EMPTY


def from_base64(spelled: bytes) -> bytes:
    """The token that is spelled so. It may be empty, as in Whisper's file; then it is never used. Raises ValueError."""
    token = a2b_base64(spelled)
    if to_base64(token) != spelled:  # a2b_base64 ignores characters that are not base64
        raise ValueError("not base64")
    return token


def write(path: Path, model: Model) -> None:
    """Write a rank file in the order of ranks, by an atomic write. Raises ValueError if ranks would give other ids."""
    check_plain(model, "a file of ranks")
    vocab = model.as_ranks()
    with whole_file(path) as unfinished, open(unfinished, "wb") as file:
        file.writelines(b"%s %d\n" % (to_base64(token), rank) for rank, token in sorted(vocab.items()))


def new_encoding(name: str, model: Model) -> Any:
    """Make a tiktoken.Encoding. Raises ImportError without tiktoken, or ValueError for what it cannot express."""
    check_plain(model, "tiktoken")
    vocab = model.as_ranks()
    # If a special token is a prefix of another, tiktoken may find either.
    ordered = sorted(model.special)
    for token, longer in pairwise(ordered):
        if longer.startswith(token):
            raise ValueError(f"special token {longer!r} begins with {token!r}, and tiktoken may find either of them")
    pat_str = split_regex(model.pattern)
    try:
        theirs = tiktoken_package()
    except ImportError as error:
        raise ImportError('tiktoken is not installed: pip install "nbbpe[tiktoken]"') from error
    ranks = {token: rank for rank, token in sorted(vocab.items())}
    return theirs.Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=dict(model.special))


def split_regex(pattern: Pattern) -> str:
    """The regex with which tiktoken splits a text as `pattern` does. Raises ValueError if that is not certain."""
    if pattern.regex is None:
        return _ALL
    if pattern.then:
        raise ValueError(f"the split pattern {pattern.spelling} is {len(pattern.regexes)} regexes, and tiktoken has one")
    if pattern.name and pattern.takes_all:
        return pattern.regex
    from ..regexes.dialects import translated  # imported here, as it imports `regex`

    # tiktoken drops the text between two matches, so this text must match, too.
    matched = translated(pattern.regex, "regex", "fancy-regex")
    if pattern.takes_all:
        return matched
    return rf"{matched}|(?:(?!{matched})(?s:.))+"


def _of_encoding(encoding: Any) -> tuple[PackedVocab, Known]:
    """Read a tiktoken.Encoding: (tokens by rank, pattern and special tokens).

    Raises ValueError if its ranks lack a byte or give one rank to two tokens.
    """
    ranks: Mapping[bytes, int] = encoding._mergeable_ranks
    vocab = {rank: token for token, rank in ranks.items()}
    if len(vocab) < len(ranks):
        twice = next(token for token, rank in ranks.items() if vocab[rank] != token)
        raise ValueError(f"gives rank {ranks[twice]} to {shown(twice)} and to {shown(vocab[ranks[twice]])}")
    check_vocab(vocab, allows_empty=True)
    packed = PackedVocab.of(vocab)
    check_bytes(packed)
    return packed, Known(pattern_of(encoding._pat_str), dict(encoding._special_tokens))


def pattern_of(regex: str) -> Pattern:
    """The pattern of a tiktoken regex. Raises ValueError if it would split differently in `regex`."""
    if regex == _ALL:
        return get_pattern(None)
    from ..regexes.fancy_regex import of_fancy_regex  # imported here, as it imports `regex`

    return regex_pattern(of_fancy_regex(regex))
