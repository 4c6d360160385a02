"""Reads and writes what the command gets and gives: text from stdin, ids as text or as raw integers."""

from __future__ import annotations

import errno
import glob
import io
import itertools
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from ..sources.files.local import find_local
from ..system.atomic_files import name_in_errors, whole_file
from ..system.lazy import imported_on_use
from ..system.links import is_device, target_of
from ..system.paths import Path, check_mappable
from ..system.scratch import temporary_folder
from ..system.utf16 import refuse_utf_16
from ..system.wrong_argument import WrongArgument
from ..tokenizer import Tokenizer
from . import COPIES

tempfile: Any = imported_on_use("tempfile")
STDIN = "-"
_BLOCK = 1 << 20  # bytes
_MOST_DIGITS = 18  # every number of so many digits fits an int64
_LIST_SIGNS = bytes.maketrans(b",[]()", b"     ")  # ids may be written as Python prints a list


@contextmanager
def as_path(source: str) -> Iterator[Path]:
    """Give the path of a source. For `-`, copy stdin to a temporary file, which is removed at the end.

    The copy can be read twice and by several processes, and its size is known. The result is a str only for a URL: in a
    list, the library could take another str for a document.
    """
    if not source:
        raise FileNotFoundError("'' is not the name of a file")
    if source != STDIN:
        if " " in source and not os.path.exists(source) and not glob.has_magic(source) and "://" not in source:
            reason = f"{os.strerror(errno.ENOENT)} (a text itself comes from stdin, as in `echo TEXT | nbbpe count -`)"
            raise FileNotFoundError(errno.ENOENT, reason, source)
        if source.endswith(os.sep) and os.path.isfile(source.rstrip(os.sep)):  # a Path has no slash at its end
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), source)
        yield source if "://" in source else pathlib.Path(source)
        return
    with tempfile.TemporaryDirectory(prefix="nbbpe-", dir=temporary_folder()) as folder:
        path = pathlib.Path(folder, "stdin")
        COPIES[repr(os.fspath(path))] = COPIES[os.fspath(path)] = "stdin"  # the quoted form is replaced first
        try:
            with open(path, "wb") as file:
                file.writelines(stdin_blocks())
        except OSError as error:
            if error.errno is None or error.filename is not None:
                raise
            reason = f"{error.strerror} (while stdin was copied to a temporary file; TMPDIR names another folder)"
            raise type(error)(error.errno, reason, os.path.dirname(folder)) from error
        yield path


def stdin_blocks() -> Iterator[bytes]:
    """Yield blocks of stdin as they arrive, until the first Ctrl-D if it is a terminal."""
    stdin = _stdin().fileno()
    while True:
        with name_in_errors("stdin"):
            block = os.read(stdin, _BLOCK)
        if not block:
            return
        yield block


@contextmanager
def output(path: str) -> Iterator[BinaryIO]:
    """Open a file to write bytes to, by an atomic write; `-` is stdout, and a device is written directly."""
    if path == STDIN:
        with name_in_errors("stdout"):
            yield sys.stdout.buffer  # flushed by `main`
        return
    if is_device(path):
        target_of(path)  # raises PermissionError if it is a symlink of another user
        with name_in_errors(path), open(path, "wb") as file:
            yield file
        return
    with whole_file(path) as whole, open(whole, "wb") as file:
        yield file


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise OSError("`-` is standard input, which is closed")
    return sys.stdin.buffer


def write_ids(blocks: Iterable[NDArray[Any]], form: str, tokenizer: Tokenizer) -> None:
    """Write ids to stdout, raw or as text."""
    # The text of each id: its number and a space, or a newline if its token ends a line of the original text.
    texts = {i: f"{i}\n" if token.endswith(b"\n") else f"{i} " for i, token in tokenizer.vocab.items()}
    end = ""
    for ids in blocks:
        if form == "raw":
            _write(ids.astype(ids.dtype.newbyteorder("<"), copy=False).tobytes())
        elif text := "".join(map(texts.__getitem__, ids.tolist())):
            # The last space or newline is held back, and written only if another id follows.
            _write((end + text[:-1]).encode())
            end = text[-1]
    _write(b"\n" if end else b"")


def _write(data: bytes) -> None:
    with name_in_errors("stdout"):
        sys.stdout.buffer.write(data)


def read_ids(source: str, form: str | None, tokenizer: Tokenizer) -> Iterator[NDArray[Any]]:
    """Yield the ids of a file or of stdin, block by block: raw (.bin), .npy, or text.

    Raises ValueError that names the line if it has something that is not an id, ValueError if the last raw id is
    incomplete, and OSError for a file that changed while it was read.
    """
    from ..idfiles.sidecar import check_described, find_sidecar, sidecar_path

    beside, about = (source, None) if source == STDIN else find_sidecar(source)
    if about is not None and about["fingerprint"] != tokenizer.fingerprint:
        raise WrongArgument(
            f"{source}: {sidecar_path(beside)} says that these are the ids of another tokenizer, with fingerprint "
            f"{about['fingerprint']}, and this one has {tokenizer.fingerprint}: give the other one with -t"
        )
    suffix = os.path.splitext(source)[1]
    if form is None:
        form = {".bin": "raw", ".npy": "npy"}.get(suffix, "text")
    if form == "npy" or (form == "raw" and suffix == ".npy"):
        with as_path(source) as path:
            check_mappable(path)  # excludes pipes, which have no size to compare with the header
            with unchanged(path) as file:
                dtype, n_ids = _npy_ids(file, os.fspath(path))
                if about:
                    check_described(beside, about, n_ids, dtype)
                while block := file.read(_BLOCK * dtype.itemsize):
                    yield np.frombuffer(block, dtype, count=len(block) // dtype.itemsize)
        return
    read = _raw if form == "raw" else _numbers
    if source == STDIN:
        yield from read(_stdin(), "stdin", tokenizer)
        return
    with unchanged(source) as file:
        if about and form == "raw":
            n_ids, rest = divmod(os.fstat(file.fileno()).st_size, tokenizer.dtype.itemsize)
            check_described(beside, about, n_ids + bool(rest), tokenizer.dtype)
        yield from read(file, source, tokenizer)


@contextmanager
def unchanged(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read. Raises OSError if the file changes while it is open.

    The file is not mapped into memory: if a mapped file is truncated, SIGBUS ends the process and leaves partial output.
    """
    with find_local(path).open() as file:
        yield io.BufferedReader(cast(io.RawIOBase, file))


def _npy_ids(file: BinaryIO, path: str) -> tuple[np.dtype[Any], int]:
    """Read the header of a .npy file: (dtype, number of ids). Raises ValueError that names the file if it is invalid."""
    from ..idfiles.opening import read_npy_header

    dtype, offset, n_ids = read_npy_header(file, path)
    n_there = (os.fstat(file.fileno()).st_size - offset) / dtype.itemsize
    if n_there != n_ids:
        raise ValueError(f"{path} holds {n_there:,.10g} ids, and its header says {n_ids:,}: it was truncated or added to")
    file.seek(offset)
    return dtype, n_ids


def _raw(file: BinaryIO, name: str, tokenizer: Tokenizer) -> Iterator[NDArray[Any]]:
    dtype = tokenizer.dtype.newbyteorder("<")
    rest = b""
    while block := file.read(_BLOCK):
        block = rest + block
        n_ids = len(block) // dtype.itemsize
        yield np.frombuffer(block, dtype=dtype, count=n_ids)
        rest = block[n_ids * dtype.itemsize :]
    if rest:
        raise ValueError(
            f"{name}: its size is not a multiple of {dtype.itemsize}, the bytes of a {dtype.name}, the type of this "
            "tokenizer's ids: it was truncated, or holds something else"
        )


def _numbers(file: BinaryIO, name: str, tokenizer: Tokenizer) -> Iterator[NDArray[Any]]:
    number, rest = 1, b""  # the line number; the end of the last block, if the block may end inside a number
    for piece in itertools.chain(iter(lambda: file.readline(_BLOCK), b""), [b"\n"]):
        line = (rest + piece).translate(_LIST_SIGNS)
        words = line.split()
        rest = b"" if line[-1:].isspace() else words[-1]
        try:
            if b"_" in line or len(rest) > _MOST_DIGITS:  # int() allows _ between digits
                raise ValueError
            ids = np.array(list(map(int, words[: len(words) - bool(rest)])), dtype=np.int64)
        except (ValueError, OverflowError):
            refuse_utf_16(words[0], f"{name}:")
            wrong = next(word for word in words if not word.isdigit() or len(word) > _MOST_DIGITS)
            shown = wrong[:40].decode(errors="backslashreplace")
            raise ValueError(
                f"{name}, line {number}: {shown!r} is not an id (ids are numbers separated by spaces or commas; for raw "
                "ids use --format raw)"
            ) from None
        yield ids
        number += piece.endswith(b"\n")
