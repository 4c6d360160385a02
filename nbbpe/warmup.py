"""Compiling every kernel before it is needed, by a little of each kind of work: for images and clusters."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .idfiles.checksum import checksum
from .model.model import Model
from .model.special_tokens import find_overlap
from .text.chunks import cut_file
from .text.pattern import get_pattern
from .tokenizer import Tokenizer
from .trainer import train
from .training.tie_break import TIE_BREAKS

# Words of all shapes, a long pretoken, and enough distinct words that every table grows.
_TEXT = "It's the cat's mat, isn't it? 12 é 中文 \n\n  x/y 's" * 9 + "a" * 700 + " ".join(map(str, range(20_000)))
_SPECIAL = "<|s|>"
_OWN_PATTERN = r"\w+|\W+"


class Warmup(NamedTuple):
    """What `warmup` did.

    n_compiled : how many kernels were compiled now; the others were on disk
    folders : the folders with compiled kernels, and how many are in each; empty if no folder can be used
    seconds : how long it took
    n_lost : how many of those compiled now could not be stored, so that each process compiles them again; stderr says why
    """

    n_compiled: int
    folders: dict[str, int]
    seconds: float
    n_lost: int = 0


def warmup() -> Warmup:
    """Compile every kernel that is not on disk yet and store it, so that no later process has to.

    Kernels are stored in NUMBA_CACHE_DIR if that is set, else in the folder of the installed package, else in the user's
    cache folder. Those in the package can be read by all of its users; the other two folders are the user's own. A folder
    that others can write to is not used, because kernels are code that runs. Kernels are compiled for the processor of
    this machine; another kind of processor compiles its own. Takes about 30 seconds, or one if nothing is left to do.

    >>> import nbbpe
    >>> warm = nbbpe.warmup()
    >>> nbbpe.warmup().n_compiled
    0
    """
    from .kernels.compiler import disk_cache, jit

    began = time.perf_counter()
    n_before = _n_compiled(jit.KERNELS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the text has pairs")
        for job in JOBS:
            job()
    n_lost = sum(kernel.stats.cache_path is None for kernel in jit.KERNELS if _n_compiled([kernel]))
    n_compiled = _n_compiled(jit.KERNELS) - n_before
    return Warmup(n_compiled, disk_cache.kept(), time.perf_counter() - began, n_lost)


def _n_compiled(kernels: list[Any]) -> int:
    """How many kernels this process has compiled."""
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)


def _train_with(tie_break: str) -> Callable[[], object]:
    return lambda: train(iter([_TEXT + _SPECIAL, _TEXT]), 320, [_SPECIAL], tie_break=tie_break)


def _train_on_files() -> None:
    train([__file__, __file__], 300, [_SPECIAL])


def _train_on_records() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records.jsonl")
        with open(path, "w") as file:
            file.write('{"text": "the cat"}\n')
        train(path, 300)


def _take_strings() -> None:
    from .kernels.machine.intrinsics import PADDING
    from .kernels.records.strings import take_strings

    offsets = np.zeros(2, dtype=np.int64)
    offsets.flags.writeable = False
    take_strings(0, offsets, 0, np.empty(1 + PADDING, dtype=np.uint8), np.empty((1, 3), dtype=np.int64), -1)


def _train_with_own_pattern() -> None:
    train(iter([_TEXT]), 300, [_SPECIAL], pattern=_OWN_PATTERN)


def _cut_a_file() -> None:
    cut_file(__file__, 1000, get_pattern("gpt2"), [])


def _encode_with(pattern: str | None, special_id: int) -> Callable[[], None]:
    def encode() -> None:
        tokenizer = _tokenizer(pattern, special_id)
        for text in _TEXT + _SPECIAL, "the cat", _SPECIAL, "", "é" * 99, "a" * 300:
            tokenizer.encode(text)
            tokenizer.encode_ordinary(text)
            tokenizer.count(text)
            tokenizer.encode_batch_flat([text, text])
            tokenizer.decode(list(tokenizer.encode_iterable([text, text])))
            tokenizer.decode(tokenizer.encode_array(text))

    return encode


def _encode_with_regex(special_id: int) -> Callable[[], object]:
    return lambda: _tokenizer("gpt2", special_id)._splitting_with("regex").encode(_TEXT)


def _encode_long_str() -> None:
    _tokenizer().count("é" * (1 << 14))


def _merge_by_rank(more: list[bytes]) -> Callable[[], None]:
    def encode() -> None:
        from .model.rank_vocab import recovered_merges

        vocab = dict(enumerate([bytes([byte]) for byte in range(256)] + more))
        recovered_merges(vocab)
        for pattern in "cl100k", _OWN_PATTERN:
            Tokenizer._of(Model(vocab, None, {_SPECIAL: 300}, get_pattern(pattern))).encode(_TEXT)

    return encode


def _compare_special_tokens() -> None:
    find_overlap(["<a>"], ["<b>"])


def _tokenizer(pattern: str | None = "gpt2", special_id: int = 300) -> Tokenizer:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b"the", special_id: _SPECIAL.encode()}
    return Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")], [_SPECIAL], pattern)


def _sum_up() -> None:
    checksum(np.zeros(1, dtype=np.uint16))


# If you add a kernel, add a job that uses it; tests/test_architecture.py finds one that is missing.
JOBS: tuple[Callable[[], object], ...] = (
    *map(_train_with, TIE_BREAKS),
    _train_on_files,
    _encode_long_str,
    _train_on_records,
    _take_strings,
    _train_with_own_pattern,
    _cut_a_file,
    _compare_special_tokens,
    _sum_up,
    *(_encode_with(pattern, special_id) for pattern in ("gpt2", _OWN_PATTERN, None) for special_id in (300, 70_000)),
    *map(_encode_with_regex, (300, 70_000)),
    *map(_merge_by_rank, ([], [b"th", b"the"], [b"xyz", b" the cat"])),
)
