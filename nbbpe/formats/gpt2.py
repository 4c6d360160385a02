"""GPT-2's vocab.json and merges.txt, where each byte is spelled as a visible character."""

from __future__ import annotations

import functools
import json
import os

from ..alphabet import byte_characters
from ..corpus import Path


@functools.cache
def _character_bytes() -> dict[str, int]:
    return {character: byte for byte, character in byte_characters().items()}


def spell(token: bytes) -> str:
    """A token as GPT-2's files write it."""
    characters = byte_characters()
    return "".join([characters[byte] for byte in token])


def unspell(text: str) -> bytes:
    """The token that GPT-2's files write so. Raises KeyError with the character that stands for no byte."""
    values = _character_bytes()
    return bytes([values[character] for character in text])


def read(vocab_path: Path, merges_path: Path) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Read (vocab, merges). Raises ValueError that names the file, and the line or entry, of what is broken.

    A vocab entry with characters that stand for no byte (a special token added by hand) means its own UTF-8.
    """
    vocab = read_vocab(vocab_path)
    merges = read_merges(merges_path)
    known = set(vocab.values())
    for number, (left, right) in merges:
        for token in (left, right, left + right):
            if token not in known:
                raise ValueError(
                    f"{os.fspath(merges_path)}, line {number}: merges {left!r} and {right!r}, but {token!r} is not in "
                    f"{os.fspath(vocab_path)}"
                )
    return vocab, [merge for _, merge in merges]


def read_vocab(path: Path) -> dict[int, bytes]:
    """Read a vocab.json: an object from spelled tokens to ids."""
    name = os.fspath(path)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"{name}: token {twice!r} comes twice")
        return entries

    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 (byte {error.start})") from None
    if not isinstance(entries, dict):
        raise ValueError(f"{name}: must hold a JSON object from tokens to ids, not {type(entries).__name__}")
    vocab: dict[int, bytes] = {}
    for text, token_id in entries.items():
        if isinstance(token_id, bool) or not isinstance(token_id, int) or token_id < 0:
            raise ValueError(f"{name}: token {text!r} has the id {token_id!r}, which is no integer from 0 up")
        if token_id in vocab:
            raise ValueError(f"{name}: id {token_id} is given to {spell(vocab[token_id])!r} and to {text!r}")
        try:
            vocab[token_id] = unspell(text)
        except KeyError:
            vocab[token_id] = text.encode()
    return vocab


def read_merges(path: Path) -> list[tuple[int, tuple[bytes, bytes]]]:
    """Read a merges.txt: [(line number, (left, right))]. A first line that begins with #version is skipped."""
    name = os.fspath(path)
    merges: list[tuple[int, tuple[bytes, bytes]]] = []
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise ValueError(f"{name}, line {number}: not valid UTF-8: {raw!r}") from None
            if not line or (number == 1 and line.startswith("#version")):
                continue
            sides = line.split(" ")
            if len(sides) != 2 or not all(sides):
                raise ValueError(f"{name}, line {number}: must be two tokens with one blank between, and is {line!r}")
            try:
                merges.append((number, (unspell(sides[0]), unspell(sides[1]))))
            except KeyError as error:
                raise ValueError(
                    f"{name}, line {number}: the character {error.args[0]!r} in {line!r} stands for no byte"
                ) from None
    return merges


def write(vocab_path: Path, merges_path: Path, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]) -> None:
    """Write vocab.json and merges.txt.

    Raises ValueError where two ids have equal tokens, which the format cannot hold.
    """
    write_vocab(vocab_path, vocab)
    write_merges(merges_path, merges)


def write_vocab(path: Path, vocab: dict[int, bytes]) -> None:
    """Write a vocab.json. Raises ValueError where two ids have equal tokens."""
    spelled: dict[str, int] = {}
    for token_id, token in sorted(vocab.items()):
        if spelled.setdefault(spell(token), token_id) != token_id:
            raise ValueError(f"ids {spelled[spell(token)]} and {token_id} are both {token!r}, which vocab.json cannot hold")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(spelled, file, ensure_ascii=False, indent=0)


def write_merges(path: Path, merges: list[tuple[bytes, bytes]]) -> None:
    """Write a merges.txt."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("#version: 0.2\n")
        file.writelines(f"{spell(left)} {spell(right)}\n" for left, right in merges)
