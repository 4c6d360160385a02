"""Text file to file of ids: chunks encoded by several processes, joined into one array on disk."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .corpus import Chunk, Path, check_readable, cut_file, file_size
from .files import name_in_errors, scratch_folder
from .parallel import ENDED, check_workers, run_jobs
from .progress import Progress, ProgressOption
from .sidecar import check_replaceable, describe_ids, publish

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

MIN_BYTES_FOR_WORKERS = 8 << 20  # below it, starting processes costs more than it saves
_CHUNK_BYTES = 32 << 20  # what a worker takes at a time
_REPORT_BYTES = 4 << 20  # of text between two words of progress
_NPY_HEADER = 128  # bytes that the header of a 1-D .npy file takes


def encode_file(
    tokenizer: Tokenizer,
    input_path: Path,
    output_path: Path,
    workers: int | None = None,
    progress: ProgressOption = None,
) -> int:
    """Encode a text file into a file of ids.

    Parameters
    ----------
    input_path : UTF-8 text; special tokens in it become their ids. Invalid bytes are kept. A pipe will do
    output_path : ends in .bin (raw little-endian ids of `tokenizer.dtype`) or .npy (a 1-D array); replaced if it exists
    workers, progress : see `nbbpe.train`

    Beside the output appears a small JSON (of `ids.bin`, `ids.bin.json`) that says which tokenizer's ids they are, for
    `nbbpe.TokenFile`. The output appears under its name only when it is whole; temporary files lie in a folder beside it
    and are removed whatever happens. Memory is bounded by a few megabytes for each worker, for a pattern with a table of
    boundaries; with a pattern of your own, by the longest stretch without a special token.

    Returns the number of ids. Raises ValueError for another suffix, OSError for what cannot be read or written,
    FileExistsError where a file that is not nbbpe's lies in the place of the JSON.
    """
    suffix = os.path.splitext(os.fspath(output_path))[1]
    if suffix not in (".bin", ".npy"):
        raise ValueError(f"output_path must end in .bin (raw ids) or .npy, and is {os.fspath(output_path)!r}")
    n_workers = check_workers(workers)
    check_readable([input_path])
    if os.path.isdir(output_path):
        raise IsADirectoryError(f"{os.fspath(output_path)!r} is a folder; give a file name to write")
    if os.path.exists(output_path) and os.path.samefile(input_path, output_path):
        raise ValueError(f"{os.fspath(input_path)!r} cannot be both input and output")
    check_replaceable(output_path)
    with name_in_errors(output_path), scratch_folder(output_path) as folder:
        header = _NPY_HEADER if suffix == ".npy" else 0
        n_ids = _encode_chunks(tokenizer, input_path, folder, n_workers, header, progress)
        whole = os.path.join(folder, "0")
        if header:
            with open(whole, "r+b") as file:
                file.write(_npy_header(tokenizer.dtype, n_ids))
        publish(whole, output_path, describe_ids(tokenizer, n_ids, [(input_path, file_size(input_path))]))
    return n_ids


class ChunkEncoder:
    """Encodes chunks into files of ids in a folder: a Job for worker processes."""

    def __init__(self, tokenizer: Tokenizer, folder: str, header: int) -> None:
        self._tokenizer = tokenizer
        self._folder = folder
        self._header = header

    def run(self, task: tuple[int, Chunk]) -> Iterator[tuple[int, int]]:
        """Encode chunk `number` into the file of that name; yields (bytes read, ids written) now and then."""
        number, chunk = task
        n_read = n_ids = 0
        dtype = self._tokenizer.dtype.newbyteorder("<")
        with open(os.path.join(self._folder, str(number)), "wb") as file:
            if number == 0:
                file.write(bytes(self._header))
            for ids, n_bytes in self._tokenizer.encode_chunk(chunk):
                file.write(ids.astype(dtype, copy=False).data)
                n_read += n_bytes
                n_ids += len(ids)
                if n_read >= _REPORT_BYTES:
                    yield n_read, n_ids
                    n_read = n_ids = 0
        yield n_read, n_ids

    def finish(self) -> None:
        """Nothing is left to say."""


def _encode_chunks(
    tokenizer: Tokenizer, input_path: Path, folder: str, n_workers: int, header: int, progress: ProgressOption
) -> int:
    """Encode a file's chunks and join them in the file "0" of a folder; returns the number of ids."""
    size = file_size(input_path)
    if size is None or size < MIN_BYTES_FOR_WORKERS:
        n_workers = 1
    # One process writes one file; several take turns, in chunks small enough that they end together.
    chunk_bytes = min(_CHUNK_BYTES, (size or 0) // (4 * n_workers) + 1) if n_workers > 1 else (size or 0) + 1
    chunks = cut_file(input_path, chunk_bytes, tokenizer._pattern, [t.encode() for t in tokenizer.special_tokens])
    if n_workers > 1:
        tokenizer.encode("warm up")  # workers inherit kernels and tables instead of making them again
    total = 0
    joined = 1
    written = set()
    with Progress(progress, "encode", size, "B") as bar:
        make_job = partial(ChunkEncoder, tokenizer, folder, header)
        for number, result in run_jobs(make_job, list(enumerate(chunks)), n_workers):
            if number is None:
                continue
            if result is not ENDED:
                bar.advance(result[0])
                total += result[1]
                continue
            written.add(number)
            while 0 in written and joined in written:
                _append(os.path.join(folder, "0"), os.path.join(folder, str(joined)))
                joined += 1
    return total


def _append(whole: str, part: str) -> None:
    """Move the bytes of one file to the end of another; within the kernel, where the system can."""
    with open(whole, "r+b", buffering=0) as out, open(part, "rb", buffering=0) as file:
        out.seek(0, os.SEEK_END)
        if hasattr(os, "sendfile") and sys.platform == "linux":
            while os.sendfile(out.fileno(), file.fileno(), None, 1 << 30):
                pass
        else:
            shutil.copyfileobj(file, out, 1 << 20)
    os.remove(part)


def _npy_header(dtype: np.dtype[Any], n_ids: int) -> bytes:
    """The header of a .npy file of a 1-D array."""
    buffer = io.BytesIO()
    description = {"descr": dtype.newbyteorder("<").str, "fortran_order": False, "shape": (n_ids,)}
    np.lib.format.write_array_header_1_0(buffer, description)
    header = buffer.getvalue()
    if len(header) != _NPY_HEADER:
        raise RuntimeError(f"NumPy wrote a header of {len(header)} bytes where {_NPY_HEADER} were reserved")
    return header
