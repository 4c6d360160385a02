"""nbbpe's own folder: vocab.json and merges.txt as GPT-2 writes them, and nbbpe.json with all that those cannot say.

A vocabulary of ranks without a list of merges has no merges.txt, and nbbpe.json says so.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from ..corpus import Path
from ..files import name_in_errors, scratch_folder
from ..patterns import Pattern, get_pattern
from . import gpt2

_ABOUT = "nbbpe.json"
_VOCAB = "vocab.json"
_MERGES = "merges.txt"
_VERSION = 1


def write(
    path: Path,
    vocab: dict[int, bytes],
    merges: list[tuple[bytes, bytes]] | None,
    special: dict[str, int],
    pattern: Pattern,
    whole: bool,
    origin: dict[str, Any],
) -> None:
    """Write a tokenizer to a folder, which is made if need be. Files of an older one are replaced when all are whole.

    merges : None for a vocabulary of ranks (see nbbpe/ranks.py): then there is no merges.txt
    whole  : whether a pretoken that is a token is that token, whatever the merges say
    origin : entries of nbbpe.json that nothing is made from: fingerprint and provenance
    """
    folder = os.fspath(path)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder!r} is a file; give a folder to save the tokenizer in")
    about = {
        "format": "nbbpe",
        "version": _VERSION,
        "pattern": pattern.name or pattern.regex,
        "special_tokens": special,
        **origin,
    }
    names = [_VOCAB, _MERGES, _ABOUT]
    if merges is None:
        about["merging"] = "ranks"
        names.remove(_MERGES)
    elif whole:
        about["merging"] = "whole"
    ordinary = {token_id: token for token_id, token in vocab.items() if token_id not in set(special.values())}
    with name_in_errors(folder), scratch_folder(os.path.abspath(folder)) as scratch:
        gpt2.write_vocab(os.path.join(scratch, _VOCAB), ordinary)
        if merges is not None:
            gpt2.write_merges(os.path.join(scratch, _MERGES), merges)
        with open(os.path.join(scratch, _ABOUT), "w", encoding="utf-8", newline="\n") as file:
            json.dump(about, file, ensure_ascii=False, indent=2)
            file.write("\n")
        os.makedirs(folder, exist_ok=True)
        for name in names:
            os.replace(os.path.join(scratch, name), os.path.join(folder, name))
        if merges is None:
            with suppress(FileNotFoundError):
                os.remove(os.path.join(folder, _MERGES))


def read(
    path: Path,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]] | None, dict[str, int], Pattern, bool, dict[str, Any]]:
    """Read (vocab, merges, special tokens, pattern, whole, origin) as `write` takes them; an older nbbpe wrote less origin.

    Raises FileNotFoundError, or ValueError that names what is broken.
    """
    folder = os.fspath(path)
    about_path = os.path.join(folder, _ABOUT)
    if not os.path.exists(about_path):
        what = "has no nbbpe.json, so it is no folder that Tokenizer.save wrote" if os.path.exists(folder) else "is missing"
        raise FileNotFoundError(f"{folder!r} {what}")
    with open(about_path, encoding="utf-8") as file:
        try:
            about = json.load(file)
        except ValueError as error:
            raise ValueError(f"{about_path}: not valid JSON ({error})") from None
    if not isinstance(about, dict) or about.get("format") != "nbbpe":
        raise ValueError(f'{about_path}: must be an object with "format": "nbbpe"')
    if about.get("version") != _VERSION:
        raise ValueError(f"{about_path}: has version {about.get('version')!r}, and this nbbpe reads {_VERSION}")
    special = about.get("special_tokens")
    if not isinstance(special, dict) or not all(
        token and type(token_id) is int and 0 <= token_id <= gpt2.MAX_ID for token, token_id in special.items()
    ):
        raise ValueError(
            f"{about_path}: special_tokens must be an object from tokens, none of them empty, to ids from 0 to "
            f"{gpt2.MAX_ID:,}, and is {special!r}"
        )
    if "pattern" not in about:
        raise ValueError(f"{about_path}: has no pattern")
    try:
        pattern = get_pattern(about["pattern"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{about_path}: {error}") from None
    vocab_path = os.path.join(folder, _VOCAB)
    merges: list[tuple[bytes, bytes]] | None = None
    whole = about.get("merging") == "whole"
    if "merging" not in about or whole:
        vocab, merges = gpt2.read(vocab_path, os.path.join(folder, _MERGES))
    elif about["merging"] == "ranks":
        vocab = gpt2.read_vocab(vocab_path)
    else:
        raise ValueError(f"{about_path}: has merging {about['merging']!r}, and this nbbpe knows only 'ranks' and 'whole'")
    ordinary = set(vocab)
    for token, token_id in special.items():
        if token_id in ordinary:
            raise ValueError(f"{about_path}: special token {token!r} has id {token_id}, as {vocab[token_id]!r} has")
        vocab.setdefault(token_id, token.encode())  # two may have one id, as in an encoding of tiktoken's
    return vocab, merges, special, pattern, whole, _read_origin(about, about_path)


def _read_origin(about: dict[str, Any], about_path: str) -> dict[str, Any]:
    """The fingerprint and the provenance in the content of a nbbpe.json. Raises ValueError for what cannot be one."""
    origin: dict[str, Any] = {name: about[name] for name in ("fingerprint", "provenance") if name in about}
    if not isinstance(origin.get("fingerprint", ""), str):
        raise ValueError(f"{about_path}: fingerprint must be a string, and is {origin['fingerprint']!r}")
    provenance = origin.get("provenance", {})
    if not isinstance(provenance, dict) or not isinstance(provenance.get("versions", {}), dict):
        raise ValueError(f"{about_path}: provenance must be an object with versions as an object, and is {provenance!r}")
    return origin
