"""Encodes text into a file of ids: several workers encode parts of the sources, which are joined into one array on disk."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any
from unicodedata import unidata_version

import numpy as np

from ..encoding.special_choice import Choice, find_separator
from ..model.provenance import describe_pattern
from ..sources import Input, find_inputs, total_size, warn_of_skipped
from ..sources.tables.arrow_data import ArrowData
from ..system.atomic_files import name_in_errors
from ..system.choices import check_bool
from ..system.executors import check_executor
from ..system.links import target_of
from ..system.part_joiner import Joiner
from ..system.paths import Path, absolute, check_not_read, checked_name
from ..system.progress import Progress, ProgressOption
from ..system.scratch import scratch_folder
from ..system.workers import check_workers, run_jobs
from ..text.item_checks import check_ordered
from ..text.utf8 import Text
from .block_writer import OutputFile
from .checksum import Checksum, checksum, checksum_of_parts, moved_to_front
from .division import Division, divide
from .document_ends import count_ends, ends_path
from .executor_encoding import encode_on
from .joined_parts import JoinedParts
from .kept_parts import KeptParts, kept_parts, remove_parts
from .manifest import EncodingJob, Finished, describe_sources
from .part_encoder import EncodesFiles, PartEncoder
from .publishing import publish, publishing
from .sidecar import check_replaceable, describe_ids, sidecar_path

_EXECUTORS_WORKERS = 8  # assumed when sources are divided, as the number of an executor's workers is not known
_NPY_HEADER = 128  # bytes that the header of a 1-D .npy file takes


def encode_file(
    tokenizer: EncodesFiles,
    input_path: Path | Sequence[Path] | Iterator[Text] | ArrowData | None = None,
    output_path: Path | None = None,
    workers: int | None = None,
    progress: ProgressOption = None,
    *,
    separator: str | None = None,
    field: str | None = None,
    on_error: str = "raise",
    allowed_special: Choice | None = None,
    split_with: str | None = None,
    documents: Iterable[Text] | None = None,
    separator_first: bool = False,
    resume: bool = False,
    executor: Any = None,
) -> int:
    """Encode text into a file of ids.

    In plain text, all special tokens become their ids. In records (JSON lines, tables, an iterable of documents) none does
    unless `allowed_special` allows it, because a record that contains one would become two documents.

    Parameters
    ----------
    input_path : a source as in `nbbpe.train`: files of plain text (also a pipe), .jsonl, .parquet, .arrow, compressed
        files, a list of these, a pattern, a URL, an iterator of documents, Arrow data. Each document is encoded
        separately, in order; invalid UTF-8 is kept
    output_path : ends in .bin (raw little-endian ids of `tokenizer.dtype`) or .npy (a 1-D array); replaced if it exists
    workers, progress : see `nbbpe.train`
    separator : one of the tokenizer's special tokens, whose id is written after each document: a record, a row, an item of
        an iterable, or a file of plain text (in which special tokens may separate documents, too). None writes nothing
        between documents; the ends of records, and of files if there are several, are then stored in a separate file
    separator_first : True writes the separator in front of each document, and not after it
    field, on_error : see `nbbpe.train`
    allowed_special : the special tokens that become their ids, "all" or a collection of them; others are plain text. None
        allows all in plain text and none in records
    split_with : see `nbbpe.train`; with "regex", the `regex` package splits each new piece, in processes; the ids are the
        same
    documents : the documents themselves, a list or another ordered iterable, instead of input_path
    resume : True keeps the finished parts in a folder beside the output (`ids.bin.resume`), and goes on from there if an
        earlier run was killed or failed. The sources must be files, and the sources, the tokenizer and the options must be
        the same. A remote file, or a file compressed in one frame, is encoded again completely unless it was finished
    executor : a concurrent.futures.Executor that encodes in place of nbbpe's own workers, see `nbbpe.count_words`. The
        sources must be files. Each task is a part of about 8 MB of text (of a compressed file, one or more frames); it
        returns its ids, and this process writes them

    The output gets a sidecar (`ids.bin.json` for `ids.bin`) that says which tokenizer made the ids. Without a separator,
    records or several files also get a file of document ends (`ids.bin.ends`). `nbbpe.TokenFile` reads both. The output
    appears under its name only when it is complete; temporary files are in a folder beside it and are removed (after a
    kill, by the next run on this output), except with `resume`. Each worker needs memory for three things: about 25
    megabytes; the longest record (if `regex` splits all of the text, the longest stretch of a plain file without a special
    token); and its cache of pieces, up to 150 megabytes for text in many languages, and 400 if nearly all words are long
    and new (less with the `max_pieces` of `Tokenizer`).

    Workers are threads if most of their work is compiled and `resume` is False. They are processes with `resume`, for JSON
    arrays, for a tokenizer that changes text first, as by a normalizer, and if `regex` splits most words.

    Returns the number of ids. Raises ValueError for another suffix, an unknown separator or a malformed record, with
    `resume` also for a source that cannot be read twice, or if a source, the tokenizer or an option differs from the
    earlier run; OSError for a file that cannot be read or written, or that changed while it was read; BlockingIOError if
    another run with `resume` is still at work on the output after 10 s; FileExistsError if another program's file has the
    name of a sidecar, a file of ends or the folder of parts; ImportError if a package is missing.

    >>> tok.encode_file(documents=["the cat", "the"], output_path="two.npy", separator="<|endoftext|>")
    5
    """
    output_path, suffix = _checked_output(output_path)
    resume, separator_first = check_bool("resume", resume), check_bool("separator_first", separator_first)
    n_workers = check_workers(workers)
    if check_executor(executor) is not None:
        n_workers = _EXECUTORS_WORKERS
    tokenizer = tokenizer._splitting_with(split_with)
    separator_id = find_separator(tokenizer.special_tokens, separator, separator_first)
    allowed = tokenizer._allowed_tokens(allowed_special)
    check_ordered(input_path, "input_path", "paths")
    check_ordered(documents, "documents")
    inputs = find_inputs(input_path, field, on_error, "input_path", documents)
    header = _NPY_HEADER if suffix == ".npy" else 0
    # Workers always write separators after documents. With separator_first, the last separator is moved to the front.
    room = tokenizer.dtype.itemsize if separator_first else 0
    with ExitStack() as stack:
        folder = stack.enter_context(_scratch_for(output_path, inputs))
        kept = None
        if resume:
            options = {
                "separator": separator,
                "separator_first": separator_first,
                "field": field,
                "on_error": on_error,
                "allowed_special": None if allowed is None else sorted(allowed),
                "suffix": suffix,
            }
            job = _job(tokenizer, options, inputs)
            kept = stack.enter_context(kept_parts(output_path, job, in_forks=executor is None))
        parts_folder = kept.folder if kept else folder
        # A document ends at the latest with its file. With one file, that is the end of the ids, which needs no entry.
        ends_of_files = separator is None and len(inputs) > 1
        encoder = PartEncoder(
            tokenizer, output_path, header + room, separator_id, on_error, allowed, parts_folder, ends_of_files
        )
        n_ids, checksum_of_all = _encode_parts(encoder, inputs, n_workers, progress, kept, executor)
        whole = kept.hand_over(folder) if kept else os.path.join(folder, "0")
        sources = [(path, each.size(), each.mtime_ns()) for each in inputs if (path := each.path()) is not None]
        separators = _separators(tokenizer, inputs, separator, allowed)
        if separator_first:
            checksum_of_all = moved_to_front(checksum_of_all, checksum(np.array([separator_id], dtype=tokenizer.dtype)))
        n_ends = count_ends(ends_path(whole))
        about = describe_ids(tokenizer, n_ids, checksum_of_all, sources, separators, separator_first, n_ends)
        with name_in_errors(output_path):
            _fill_in_front(whole, header, room, n_ids, tokenizer.dtype)
            publish(whole, output_path, about)
        if kept:
            kept.done()
        else:
            remove_parts(output_path)
    return n_ids


def _checked_output(output_path: Path | None) -> tuple[str, str]:
    """Return the path of the output and its suffix. The path is absolute, as an iterable may change the working folder."""
    if output_path is None:
        raise TypeError("output_path is missing: a .bin or .npy file to write")
    name = checked_name(output_path)
    suffix = os.path.splitext(name)[1]
    if suffix not in (".bin", ".npy"):
        raise ValueError(f"output_path must be a name that ends in .bin (raw ids) or .npy, not {name!r}")
    return absolute(name), suffix


@contextmanager
def _scratch_for(output_path: str, inputs: Sequence[Input]) -> Iterator[str]:
    """Check that the output may be replaced and is not an input, then make a scratch folder for it."""
    target = target_of(output_path)
    with ExitStack() as stack:
        with publishing(target, shared=True):  # so that another run does not replace the files during the checks
            check_replaceable(target)
            check_not_read((each.path() for each in inputs), target, sidecar_path(target), ends_path(target))
            folder = stack.enter_context(scratch_folder(output_path))
        yield folder


def _separators(
    tokenizer: EncodesFiles, inputs: Sequence[Input], separator: str | None, allowed: list[str] | None
) -> list[str]:
    """The special tokens between documents."""
    if separator is not None:
        return [separator]
    if all(each.has_records for each in inputs):
        return []  # special tokens in a record are a part of it
    return list(tokenizer.special_tokens) if allowed is None else allowed


def _job(tokenizer: EncodesFiles, options: dict[str, Any], inputs: Sequence[Input]) -> EncodingJob:
    """Describe what must be the same in a run and the run that resumes it."""
    made_here = describe_pattern(tokenizer._model.pattern)
    made_by = {
        "nbbpe": made_here["versions"]["nbbpe"],
        "character_classes": made_here["character_classes"],
        "unicode": unidata_version,
    }
    return EncodingJob(tokenizer.fingerprint, made_by, options, describe_sources(inputs))


def _encode_parts(
    encoder: PartEncoder,
    inputs: Sequence[Input],
    n_workers: int,
    progress: ProgressOption,
    kept: KeptParts | None,
    executor: Any,
) -> tuple[int, Checksum]:
    """Encode all parts of the inputs, and join them in the file "0" of the encoder's folder.

    Returns the number of ids and their checksum. The file begins with `encoder.header` bytes that are filled in later. The
    ends of documents without a separator are in a file beside it. With `kept`, the folder is that of the resumed run, and
    only unfinished parts are encoded.
    """
    folder, output_path = encoder.folder, encoder.output_path
    division = divide(encoder.tokenizer, inputs, encoder.allowed_special, n_workers, kept, executor)
    parts = division.parts()
    finished = _finished_before(encoder, division, kept) if kept else {}
    first_file = 1 if kept else 0  # the name of the first part's file
    tasks = [(first_file + number, part) for number, part in enumerate(parts) if number not in finished]
    with ExitStack() as opened:
        bar = opened.enter_context(Progress(progress, "encode", total_size(inputs), "B"))
        bar.advance(sum(each.n_read for each in finished.values()))
        joiner = None
        stopping = threading.Event()
        # Workers in this process write to the output file through the joiner, without a file for each part.
        if division.in_threads or (division.n_workers == 1 and not kept and executor is None):
            file = opened.enter_context(OutputFile(os.path.join(folder, "0"), output_path, bytes(encoder.header)))
            joiner = Joiner(file, min(2 * division.n_workers, len(parts)), stopping)
        joined = JoinedParts(folder, first_file, joiner is None, kept.n_joined if kept else 0, finished)
        with name_in_errors(output_path):
            joined.join()
        if executor is None:
            make_job = partial(encoder._replace, joiner=joiner)
            results = run_jobs(make_job, tasks, division.n_workers, division.in_threads, stopping=stopping)
        else:
            results = encode_on(executor, encoder, tasks)
        opened.enter_context(closing(results))
        for task, result in results:
            if isinstance(result, int):
                bar.advance(result)
            elif task is not None and isinstance(result, np.ndarray):
                joined.ends[tasks[task][0] - first_file] = result
            elif task is not None and isinstance(result, Finished):
                number = tasks[task][0] - first_file
                finished[number] = result
                with name_in_errors(output_path):
                    if kept:
                        kept.add(number, result)
                    joined.join()
        if joiner:
            joiner.close()
    in_order = [finished[number] for number in range(len(parts))]
    warn_of_skipped(part.skipped for part in in_order)
    return joined.n_ids, checksum_of_parts(part.checksum for part in in_order)


def _finished_before(encoder: PartEncoder, division: Division, kept: KeptParts) -> dict[int, Finished]:
    """Tell `kept` what all parts are, and return the parts that an earlier run has finished, by number."""
    spans = [(number, *part.span()) for number, of_input in enumerate(division.of_inputs) for part in of_input]
    with name_in_errors(encoder.output_path):
        kept.plan(division.part_bytes, spans, encoder.header, encoder.tokenizer.dtype)
    return dict(kept.finished)


def _fill_in_front(path: str, header: int, room: int, n_ids: int, dtype: np.dtype[Any]) -> None:
    """Fill in the bytes reserved at the beginning of the file: write the header, and move the last id to the front.

    header, room : bytes reserved for the header and for the moved id; 0 for none
    """
    if not header and not room:
        return
    with open(path, "r+b") as file:
        if room:
            file.seek(header + n_ids * room)  # the last id, or without ids the reserved room itself
            last = file.read(room)
            file.seek(header)
            file.write(last)
            file.truncate(header + n_ids * room)
        if header:
            file.seek(0)
            file.write(_npy_header(dtype, n_ids))


def _npy_header(dtype: np.dtype[Any], n_ids: int) -> bytes:
    """The header of a .npy file of a 1-D array."""
    buffer = io.BytesIO()
    description = {"descr": dtype.newbyteorder("<").str, "fortran_order": False, "shape": (n_ids,)}
    np.lib.format.write_array_header_1_0(buffer, description)
    header = buffer.getvalue()
    if len(header) != _NPY_HEADER:
        raise RuntimeError(f"NumPy wrote a header of {len(header)} bytes where {_NPY_HEADER} were reserved")
    return header
