"""What a user gave as a source, as inputs: by its type, and files by the endings of their names."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from ..system.paths import Path
from .arrow import ArrowColumn, is_arrow
from .compressed import PACKINGS
from .inputs import File, Input
from .iterable import Documents
from .jsonl import JsonLines
from .local import exists, find_local, matching_files
from .parquet import ParquetTable
from .plain import PlainText
from .remote import find_remote, is_url
from .tally import ON_ERROR

_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
# Their bytes are never meant to be the text, which they would be if they were taken for plain files.
_NOT_READ = (".7z", ".br", ".bz2", ".lz4", ".lzma", ".rar", ".snappy", ".tar", ".tgz", ".xz", ".zip")

# One line that ends in a suffix, or has a slash and no space.
_LOOKS_LIKE_PATH = re.compile(r"[^\n]{1,1024}\.[A-Za-z0-9]{1,8}|[^\s]{0,1024}/[^\s]{0,1024}")


def find_inputs(source: object, field: str, on_error: str, argument: str = "source") -> list[Input]:
    """The inputs that a source stands for, each checked as far as that is cheap.

    Parameters
    ----------
    source : a path, a pattern of paths, a URL, a list or tuple of these, or an iterable of documents
    field : the field of a JSON record, or the column of a parquet file, that holds the text
    on_error : "raise" or "skip", for records without a text
    argument : what the user knows the source as

    Raises TypeError or ValueError for an invalid source, OSError for one that cannot be read, ImportError if a package is
    missing.
    """
    if not isinstance(field, str):
        raise TypeError(f"field must be the name of a field or a column, not {field!r}")
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be one of {', '.join(map(repr, ON_ERROR))}, not {on_error!r}")
    if is_arrow(source):
        return [ArrowColumn(source, field)]
    paths = _paths(source, argument)
    if paths is None:
        return [Documents(source)]  # type: ignore[arg-type]
    inputs = [_input(file, field) for path in paths for file in _files(path)]
    for each in inputs:
        each.check(on_error)
    return inputs


def _input(file: File, field: str) -> Input:
    """A file as the kind of input that its name says it is."""
    # What follows a question mark in a URL is not part of the name.
    name = urlsplit(file.name).path if file.path is None and file.name.lower().startswith("http") else file.name
    stem, suffix = os.path.splitext(os.path.basename(name).lower())
    packing = suffix if suffix in PACKINGS else ""
    if packing:
        suffix = os.path.splitext(stem)[1]
    if suffix in _NOT_READ or (packing and suffix in _PARQUET):
        raise ValueError(
            f"{file.name!r} is compressed in a way that nbbpe does not read: decompress it first (plain text and JSON "
            f"lines may be {', '.join(PACKINGS)}, parquet files not at all)"
        )
    if suffix in _PARQUET:
        return ParquetTable(file, field)
    if suffix in _JSON_LINES:
        return JsonLines(file, packing, field)
    return PlainText(file, packing)


def _files(path: Path) -> Sequence[File]:
    """The files that a path, a pattern or a URL names."""
    if isinstance(path, str) and is_url(path):
        return find_remote(path)
    if exists(path):
        return [find_local(path)]
    found = matching_files(path)
    if found is None:
        return [find_local(path)]
    if not found:
        raise FileNotFoundError(f"no file matches the pattern {os.fspath(path)!r}")
    return found


def _paths(source: object, argument: str) -> list[Path] | None:
    """The paths, patterns and URLs that a source names, or None where it is an iterable of documents."""
    if isinstance(source, (str, os.PathLike)):
        return [_without_bytes(source)]
    kinds = "a path, a list of paths, or an iterable of documents"
    if isinstance(source, (bytes, bytearray, memoryview, mmap.mmap)):
        raise TypeError(f"{argument} must be {kinds}; put one document in a list")
    if not isinstance(source, Iterable):
        raise TypeError(f"{argument} must be {kinds}, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)):
        return None
    files = [_names_files(item) for item in source]
    for item, is_file in zip(source, files, strict=True):
        if not is_file and (any(files) or (isinstance(item, str) and _LOOKS_LIKE_PATH.fullmatch(item))):
            raise FileNotFoundError(
                f"{item!r} in the list is not a file; all items of a list are paths, or all are documents "
                "(documents that look like paths can be given as iter(documents))"
            )
    return list(map(_without_bytes, source)) if any(files) else None


def _without_bytes(path: Path) -> Path:
    """A path as given, or as str where it is one of bytes, as os.scandir(b".") has them."""
    return os.fsdecode(path) if isinstance(os.fspath(path), bytes) else path


def _names_files(item: object) -> bool:
    """Whether an item of a list is a path or the like, rather than a document."""
    if isinstance(item, os.PathLike):
        return True
    if not isinstance(item, str):
        return False
    # A document such as "*" is not meant as a pattern, though it matches files.
    looks_like_path = _LOOKS_LIKE_PATH.fullmatch(item)
    return exists(item) or bool(looks_like_path and (is_url(item) or matching_files(item)))
