"""Files of tokenizers and ids, how they are changed at random, and what is wrong with how a changed file is read."""

from __future__ import annotations

import base64
import functools
import json
import os
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nbbpe

resource = pytest.importorskip("resource", reason="limits its address space")

ROOM = 1 << 30  # bytes of address space that reading a few kB may take, what the libraries map included
LONGEST = 600  # characters of a message, without the path
TEXT = "the cat sat on the mat, isn't it? " * 3 + "<|s|>é中" + "aab" * 20


class Format(NamedTuple):
    """A format: its files, how they are made in a folder, and how they are read."""

    names: tuple[str, ...]
    write: Callable[[Path], None]
    read: Callable[[Path], None]


@functools.cache
def trained() -> nbbpe.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nbbpe.train(iter([TEXT]), 290, ["<|s|>", "<|pad|>"])


def read_tokenizer(path: Path) -> None:
    """Read a tokenizer; one that is taken for good must work."""
    tokenizer = nbbpe.load(path)
    changes = tokenizer._model.rewrites_text
    kept = changes or tokenizer.decode_bytes(tokenizer.encode(TEXT)) == TEXT.encode()
    assert kept, "a tokenizer that was read loses text"
    tokenizer.fingerprint  # noqa: B018
    tokenizer.provenance  # noqa: B018


def write_gpt2(folder: Path) -> None:
    trained().save_gpt2(folder / "vocab.json", folder / "merges.txt")


def write_own(folder: Path) -> None:
    trained().save(folder)


def write_hf(folder: Path) -> None:
    trained().to_hf(folder / "tokenizer.json")


def write_own_pattern(folder: Path) -> None:
    made = trained()
    split = [r"\p{N}{1,3}", r"'(?i:[sdmt]|ll)| ?[^\s\d]+|\s+(?!\S)|\s"]
    nbbpe.Tokenizer(made.vocab, made.merges, made.special_tokens, split, normalizer="NFC").to_hf(folder / "tokenizer.json")


def write_ranks(folder: Path) -> None:
    made = trained()
    tokens = [token for token_id, token in made.vocab.items() if token_id < 288]
    tokens += [b"xyz", b"a cat", b"xyz a cat"]  # not all of them are made of two
    lines = [b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)]
    (folder / "r50k_base.tiktoken").write_bytes(b"".join(lines))


def write_ids(suffix: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "t.jsonl").write_text("".join(json.dumps({"text": TEXT[i:]}) + "\n" for i in range(9)))
        trained().encode_file(folder / "t.jsonl", folder / f"ids{suffix}")
        (folder / "t.jsonl").unlink()

    return write


def read_ids(suffix: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        data = nbbpe.TokenFile(folder / f"ids{suffix}", dtype=np.uint16 if suffix == ".bin" else None)
        data.document_starts  # noqa: B018
        sum(map(len, data.documents()))
        nbbpe.TokenFile(folder / f"ids{suffix}", trained())

    return read


def ids_files(suffix: str) -> tuple[str, ...]:
    return f"ids{suffix}", f"ids{suffix}.json", f"ids{suffix}.ends"


FORMATS = {
    "gpt2": Format(("vocab.json", "merges.txt"), write_gpt2, read_tokenizer),
    "nbbpe": Format(("nbbpe.json",) * 3 + ("vocab.json", "merges.txt"), write_own, read_tokenizer),
    "huggingface": Format(("tokenizer.json",), write_hf, read_tokenizer),
    "huggingface, other pattern": Format(("tokenizer.json",), write_own_pattern, read_tokenizer),
    "tiktoken": Format(("r50k_base.tiktoken",), write_ranks, read_tokenizer),
    "ids.bin": Format(ids_files(".bin"), write_ids(".bin"), read_ids(".bin")),
    "ids.npy": Format(ids_files(".npy"), write_ids(".npy"), read_ids(".npy")),
}
NESTED: Any = json.loads("[" * 150 + "]" * 150)
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 5, 255, 300, 2**16, 2**31 - 2, 2**31 - 1, 2**32, 2**63, 10**100, 10**4200),
    *(
        1.5,
        1e308,
        float("inf"),
        float("nan"),
        "",
        " ",
        "x",
        "Ġ",
        "ab",
        "é",
        "中",
        "\ud800",
        "a\udc80",
        "x" * 10_000,
        "1" * 50,
    ),
    *(
        "(",
        "(" * 3000,
        "(?R)",
        "(a)" * 2000,
        "a{1000000000}",
        "(?:(?:a{999}){999}){999}",
        r"\p{L}",
        "[a",
        "gpt2",
        "(?r)a",
        ".",
    ),
    *("NFC", "ByteLevel", "Split", "Sequence", "BPE", "ranks", "whole", "uint16", "uint32", "<|s|>", "<|pad|>"),
    *([], {}, [[]], [1], ["a", "b"], {"a": 1}, {"type": "Sequence"}, {"type": "ByteLevel"}, {"type": "x" * 5000}),
    *({"Regex": "(?:a{5000}){5000}"}, {"Regex": "(" * 2000}, {"String": "a"}, NESTED, {"a": NESTED}, ["x" * 5000] * 3),
    *([{"a": 1}] * 1000, {str(i): i for i in range(3000)}, [["a", "b"]] * 100),
]
SNIPPETS = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n", b" ", b"\t", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":"),
    *(b"(", b")", b"'", b"1", b"-1", b"9" * 30, b"9" * 5000, b"1e999", b"NaN", b"null", b'"a":', b"\\ud800", b"\\udc80"),
    *(b"[" * 3000, b'{"a":' * 3000, b"(" * 3000, b"x" * 20_000, b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"True", b"'<i8'"),
    *(b"=", b"==", b"YWI= 7\n", b"a b\n", b"#version", b"L", b"j", b"0x", b"lambda:", b"\n\n  x", b"{**{}}", b"`"),
]


def mutated_bytes(data: bytes, source: random.Random) -> bytes:
    """A few places changed, in a header more often than elsewhere."""
    out = bytearray(data)
    for _ in range(source.choice([1, 1, 1, 2, 5])):
        end = source.choice([len(out), min(len(out), 128)])
        start = source.randrange(end + 1)
        stop = min(len(out), start + source.choice([0, 0, 1, 1, 4, 30, 1000]))
        kind = source.randrange(6)
        if kind == 0 and out:
            out[start % len(out)] = source.randrange(256)
        elif kind == 1:
            out[start:stop] = source.randbytes(source.randrange(8))
        elif kind == 2:
            del out[start : len(out) if source.random() < 0.3 else stop]
        elif kind == 3:
            out[start:start] = out[start:stop] * source.choice([1, 2, 50])
        else:
            out[start:stop] = source.choice(SNIPPETS)
    return bytes(out)


def mutated_lines(data: bytes, source: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(source.choice([1, 2, 4])):
        i, j = source.randrange(len(lines)), source.randrange(len(lines))
        kind = source.randrange(5)
        if kind == 0:
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 1:
            lines.insert(i, lines[j])
        elif kind == 2 and len(lines) > 1:
            del lines[i]
        elif kind == 3:
            lines[i] = b" ".join([*lines[i].split(b" ")[:1], *lines[j].split(b" ")[-1:]])
        else:
            lines[i] = mutated_bytes(lines[i], source)
    return b"\n".join(lines)


def nodes(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found.append((value, key))
        nodes(inner, found)
    return found


def mutated_json(data: bytes, source: random.Random) -> bytes:
    """Some entries have other values, are gone, or have another name."""
    document = json.loads(data)
    for _ in range(source.choice([1, 1, 2, 3])):
        everything = nodes(document, [])
        # The long lists of tokens and merges are not all that there is.
        few = [node for node in everything if len(node[0]) < 50]
        container, key = source.choice(few if few and source.random() < 0.7 else everything or [({}, "")])
        kind = source.randrange(5)
        if key not in container and not isinstance(container, list):
            continue
        if kind == 0:
            del container[key]
        elif kind == 1 and isinstance(container, dict):
            container[str(source.choice(VALUES))[:3000]] = container.pop(key)
        elif kind == 2 and everything:
            other, other_key = source.choice(everything)
            container[key] = json.loads(json.dumps(other[other_key]))
        else:
            container[key] = json.loads(json.dumps(source.choice(VALUES)))
    return json.dumps(document, ensure_ascii=source.random() < 0.9).encode(errors="surrogatepass")


def mutated(name: str, data: bytes, source: random.Random) -> bytes:
    if name.endswith(".json") and source.random() < 0.6:
        return mutated_json(data, source)
    if name.endswith((".txt", ".tiktoken")) and source.random() < 0.6:
        return mutated_lines(data, source)
    return mutated_bytes(data, source)


@contextmanager
def little_room() -> Iterator[None]:
    """Whatever needs very much more memory than small files do is a MemoryError."""
    if not os.path.exists("/proc/self/statm"):
        yield
        return
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def fault(read: Callable[[Path], None], folder: Path, names: tuple[str, ...]) -> str | None:
    """What is wrong with how files are read, or None."""
    try:
        read(folder)
    except (ValueError, OSError) as error:
        if isinstance(error, UnicodeError):
            return "".join(traceback.format_exception(error)[-3:])
        said = str(error).replace(str(folder), "")
        if len(said) > LONGEST:
            return f"too long ({len(said)}): {said[:300]} ... {said[-100:]}"
        if not any(name in str(error) for name in {*names, str(folder)}):
            return f"names no file: {said}\n{''.join(traceback.format_exception(error)[-2:])}"
    except Exception as error:
        return "".join(traceback.format_exception(error)[-3:])[-1500:]
    return None
