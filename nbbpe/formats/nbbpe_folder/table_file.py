"""The file nbbpe.tables of a saved tokenizer: the content of vocab.json and merges.txt as arrays, which load faster.

It is only a copy. It is used if it was made from exactly these readable files, byte for byte, and holds the tokenizer whose
fingerprint nbbpe.json gives; else it is ignored, and the readable files are read. Nothing in it is executed or unpickled,
and each number in it is checked before it is used. The hash tables of kernels are not in it: each process has a secret key
for them, while the author of a file could choose a key for which he knows colliding pairs. They are built when the first
text is encoded, in 10 ms for 200,000 tokens.

All numbers are little-endian.

    name and version    16 bytes
    digests             3 * 32 bytes: SHA-256 of vocab.json, of merges.txt (of b"" if there is none), of the rest
    counts              int64[3]: tokens, merges, bytes of all tokens
    ids, lengths        int32[tokens] each, by ascending id
    merges              int32[merges, 3]: the ids of left, right and result of each
    text                the tokens, concatenated
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
from numpy.typing import NDArray

from ...model.model import Model
from ...model.packed_vocab import PackedVocab
from ...model.special_tokens import MAX_ID
from ...system.paths import check_tokenizer_file
from ...system.stretches import starts_of

TABLES = "nbbpe.tables"
LEAST = 10_000  # tokens; no tables are made for a smaller vocabulary, which is read in milliseconds without them
_NAME = b"nbbpe tables 1\n\0"
_HEAD = len(_NAME) + 3 * 32
_COUNTS = 3 * 8


def write(folder: str, model: Model, names: list[str]) -> None:
    """Write the file to a folder; `names` are the readable files there: vocab.json, and merges.txt if there is one."""
    vocab = model.packed_ordinary
    merges = np.empty((0, 3), dtype=np.int32) if model.merge_ids is None else model.merge_ids
    counts = np.array([len(vocab.ids), len(merges), len(vocab.text)], dtype="<i8")
    columns = [each.astype("<i4").tobytes() for each in (vocab.ids, vocab.lengths, merges)]
    body = b"".join([counts.tobytes(), *columns, vocab.text.tobytes()])
    parts = [_read(os.path.join(folder, name)) for name in names]
    with open(os.path.join(folder, TABLES), "wb") as file:
        file.write(_head(parts, body) + body)


def _head(parts: list[bytes], body: bytes | memoryview) -> bytes:
    """The beginning of the file: its name, version and digests.

    parts : the contents of the readable files
    body  : the rest of the file
    """
    vocab_json, merges_txt = [*parts, b""][:2]
    return b"".join([_NAME, *(hashlib.sha256(part).digest() for part in (vocab_json, merges_txt, body))])


def read_tables(folder: str, names: list[str]) -> tuple[PackedVocab, NDArray[np.int32]] | None:
    """Read (vocab, merges) from the file in a folder; None if it is missing or was not made from the readable files there.

    names : the names of the readable files. The caller must check the resulting model with `is_proven`
    """
    try:
        parts = [_read(os.path.join(folder, name)) for name in names]
        sizes = [*map(len, parts), 0][:2]
        # The limit is more than readable files of these sizes can need.
        data = _read(os.path.join(folder, TABLES), most=_HEAD + _COUNTS + 9 * sizes[0] + 4 * sizes[1])
    except OSError:
        return None
    body = memoryview(data)[_HEAD:]
    if data[:_HEAD] != _head(parts, body) or len(body) < _COUNTS:
        return None
    n, m, n_bytes = (int(count) for count in np.frombuffer(body, dtype="<i8", count=3))
    if min(n, m, n_bytes) < 0 or n == 0 or len(body) != _COUNTS + 8 * n + 12 * m + n_bytes:
        return None
    numbers = np.frombuffer(body, dtype="<i4", offset=_COUNTS, count=2 * n + 3 * m).astype(np.int32, copy=False)
    ids, lengths, merges = numbers[:n], numbers[n : 2 * n], numbers[2 * n :].reshape(m, 3)
    starts = starts_of(lengths)
    vocab = PackedVocab(np.frombuffer(body, dtype=np.uint8, offset=len(body) - n_bytes), starts, ids)
    are_tokens = ids[0] >= 0 and ids[-1] <= MAX_ID and (np.diff(ids) > 0).all() and lengths.min() >= 0
    if not are_tokens or starts[-1] != n_bytes or not vocab.has(merges.ravel()).all():
        return None
    return vocab, merges


def is_proven(model: Model, fingerprint: str) -> bool:
    """Whether a model made from `read_tables` has the fingerprint, and each merge's sides make its result."""
    if model.merge_ids is not None:
        vocab = model.packed_ordinary
        lengths, text = vocab.gather(vocab.numbers_of(model.merge_ids[:, 2]))
        of_sides, text_of_sides = vocab.gather(vocab.numbers_of(model.merge_ids[:, :2].ravel()))
        if not np.array_equal(of_sides.reshape(-1, 2).sum(axis=1), lengths) or not np.array_equal(text_of_sides, text):
            return False
    return model.fingerprint == fingerprint


def _read(path: str, most: int = -1) -> bytes:
    """Read a file; b"" if it has more than `most` bytes."""
    check_tokenizer_file(path)
    with open(path, "rb") as file:
        return b"" if 0 <= most < os.fstat(file.fileno()).st_size else file.read()
