"""Records of texts as other programs write them, here and elsewhere, and what is read of them."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import frames
import numpy as np
import pytest
import texts

import nbbpe
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import Tally, find_inputs
from nbbpe.sources.optional_packages import ZSTD
from nbbpe.text.chunks import CutRules

DOCUMENTS = [
    texts.SAMPLE,
    "",
    "the cat",
    " sat",
    f"one{texts.SPECIAL}two{texts.SPECIAL}",
    texts.SPECIAL,
    "",
    'CRLF\r\nline\u2028and\x85others\rend in "quotes" \\ \x00',
    "x" * 700,
    "the cat\n",
] * 3


def needs(module: str) -> None:
    """Skip the test where a package of the extra `data` is not installed."""
    pytest.importorskip(module, reason=f'needs {module}: pip install "nbbpe[data]"')


_OF_PYTHON = {
    ".gz": gzip.compress,
    ".bz2": lambda data: bz2.compress(data, compresslevel=1),  # by blocks of 100 kB
    ".xz": lambda data: lzma.compress(data, preset=0),  # with a small dictionary
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE, preset=0),
}


def compress(data: bytes, compression: str) -> bytes:
    if compression in _OF_PYTHON:
        return _OF_PYTHON[compression](data)
    if compression == ".zst":
        needs(ZSTD)
        return frames.zstd(data)
    return data


def json_lines(documents: list[str], field: str = "text", ensure_ascii: bool = True) -> bytes:
    records = [{"id": i, field: text, "more": {field: None}} for i, text in enumerate(documents)]
    return "".join(json.dumps(record, ensure_ascii=ensure_ascii) + "\n" for record in records).encode()


def encoded(tokenizer: nbbpe.Tokenizer, source, folder: Path, workers: int = 1, **options) -> list[int]:
    """What encode_file writes."""
    n_ids = tokenizer.encode_file(source, folder / "ids.npy", workers, **options)
    ids = np.load(folder / "ids.npy")
    (folder / "ids.npy").unlink()
    (folder / "ids.npy.json").unlink()
    (folder / "ids.npy.ends").unlink(missing_ok=True)
    assert len(ids) == n_ids
    assert ids.dtype == tokenizer.dtype
    return ids.tolist()


@contextlib.contextmanager
def filled_pipe(path: Path, *parts: bytes) -> Iterator[Path]:
    """A named pipe into which somebody writes these bytes. Where nobody reads it, that is an error, and no endless wait."""
    os.mkfifo(path)

    def write() -> None:
        with open(path, "wb", buffering=0) as pipe:
            for part in parts:
                pipe.write(part)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(60)
    assert not writer.is_alive(), f"{path} was not read"


def documents_of(source, field: str = "text", on_error: str = "raise", part_bytes: int = 1 << 30) -> list[bytes]:
    """The documents of a source, part by part, without any of what is done with them."""
    specials = new_special_tokens([], [])
    found = []
    for each in find_inputs(source, field, on_error):
        for part in each.cut(part_bytes, CutRules(NAMED["gpt2"], [])):
            with part.open(specials, False, 1, Tally(on_error)) as reader:
                taken = 0
                while (window := reader.advance(taken)) is not None:
                    *documents, (last, last_id) = window.documents()
                    assert (last, last_id) == (b"", -1)
                    found += [document for document, _ in documents]
                    taken = window.end
    return found


def upload(url: str, data: bytes) -> None:
    import fsspec

    with fsspec.open(url, "wb") as file:
        file.write(data)
