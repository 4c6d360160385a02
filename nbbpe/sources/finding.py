"""Converts a user's source to inputs: by its type, and for files by the endings of their names."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

from ..system.arguments import argument
from ..system.excerpt import first_few, shown
from ..system.paths import Path, checked_name, is_url, not_meant
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument
from ..text.item_checks import check_collected, check_texts, gives_names, of_a_split
from .compression.compressed import COMPRESSIONS
from .files.local import find_local
from .files.path_patterns import find_matches, is_pattern
from .files.remote import find_remote, local_path
from .inputs import File, Input
from .iterable import LONGEST_NAME, Documents
from .json_array import JsonArray
from .jsonl import JsonLines
from .other_formats import refuse_pointer, warn_of_other_formats
from .plain import PlainText
from .tables.arrow import ArrowColumn, is_arrow
from .tables.arrow_files import ARROW, ArrowFile
from .tables.parquet import PARQUET, ParquetTable
from .tally import check_on_error

_JSON_LINES = (".jsonl", ".ndjson")
_JSON = ".json"
# Files of these formats are rejected: read as plain text, their bytes would make no sense.
_NOT_READ = (".7z", ".br", ".lz4", ".rar", ".snappy", ".tar", ".tbz2", ".tgz", ".txz", ".zip")

_TABLES: dict[str, Callable[[File, str], Input]] = {
    **dict.fromkeys(PARQUET, ParquetTable),
    **dict.fromkeys(ARROW, ArrowFile),
}
_FIELD = "text"  # the default field of records


def find_inputs(
    source: object, field: str | None, on_error: str, argument: str = "source", documents: object = None
) -> list[Input]:
    """Find the inputs of a source, and check each as far as that is cheap.

    Parameters
    ----------
    source : a path, a pattern of paths, a URL, a list or tuple of these, an iterator of documents, or Arrow data
    field : the field of a JSON record, or the column of a table, that holds the text; None for "text"
    on_error : "raise" or "skip", for records without a text
    argument : the name of the argument, for errors
    documents : instead of a source, any iterable of documents, also a list

    Raises TypeError or ValueError for an invalid source, OSError for one that cannot be read, ImportError if a package is
    missing.
    """
    return _flat(_checked(_found(source, field, on_error, argument, documents), field))


def find_by_item(source: object, field: str | None, on_error: str, documents: object) -> list[list[Input]]:
    """Like `find_inputs`, but one list of inputs for each item of a source. A source that is not a list is one item."""
    return _checked(_found(source, field, on_error, "source", documents), field)


def find_inputs_of_each(sources: Iterable[tuple[str, object]], field: str | None, on_error: str) -> list[list[Input]]:
    """Like `find_inputs`, but one list of inputs for each source.

    sources : the name of the argument and the source, for each. At least one must have the field; not all need it
    """
    found = [_flat(_found(source, field, on_error, argument, None)) for argument, source in sources]
    return _checked(found, field)


def _flat(found: list[list[Input]]) -> list[Input]:
    return [each for inputs in found for each in inputs]


def _found(source: object, field: str | None, on_error: str, argument: str, documents: object) -> list[list[Input]]:
    """Do the work of `find_by_item`, except for `_checked`."""
    if field is not None and not isinstance(field, str):
        raise TypeError(f"field must be the name of a field or a column, not {shown(field)}")
    check_on_error(on_error)
    named = _FIELD if field is None else field  # "" is a valid name
    found: list[list[Input]]
    if documents is not None:
        if source is not None:
            raise TypeError(f"give {argument} or documents, not both")
        check_collected(documents, "documents")
        if type(documents).__module__.startswith("pyarrow."):  # iterable, but its items are not str
            raise TypeError(f"documents is Arrow data ({type(documents).__name__}): give it as the {argument}")
        check_texts(documents, "documents", in_order=False)
        found = [[Documents(documents, "documents")]]  # type: ignore[arg-type]
    elif is_arrow(source):
        found = [[ArrowColumn(source, named)]]
    elif (paths := _paths(source, argument)) is None:
        found = [[Documents(source, argument)]]  # type: ignore[arg-type]
    else:
        found = [[_input(file, named) for file in find_files(path)] for path in paths]
    for each in _flat(found):  # before `_checked`, which would call a folder or a missing file plain text
        if each.file is not None and not (isinstance(each, PlainText) and not each.compression):
            refuse_pointer(each.file)
        each.check(on_error)
    return found


def _checked(found: list[list[Input]], field: str | None) -> list[list[Input]]:
    """Return the inputs. Raises what `_check_field` does, and warns of plain text that may have another format."""
    inputs = _flat(found)
    _check_field(field, inputs)
    for each in inputs:
        if isinstance(each, PlainText):
            warn_of_other_formats(each, name_of(each.file))
    return found


def _check_field(field: str | None, inputs: Sequence[Input]) -> None:
    """Raise ValueError if a field is given, but no input has fields: all are plain text, documents or bare columns."""
    if field is None or not inputs or any(map(_has_fields, inputs)):
        return
    first, option = inputs[0], argument("field", field)
    if isinstance(first, PlainText):
        raise WrongArgument(
            f"{option} names a field of records, and {first.file.name!r} is plain text: records are in files, or "
            f"named pipes, whose names end in {', '.join((*_JSON_LINES, _JSON, *_TABLES))}"
        )
    if isinstance(first, ArrowColumn):
        raise WrongArgument(f"{option} names a column of a table, and the Arrow data is a column: leave it out")
    raise WrongArgument(f"{option} names a field of records, and documents are texts themselves: leave it out")


def _has_fields(each: Input) -> bool:
    """Whether the text of an input is found by the name of a field."""
    return each.is_of_table if isinstance(each, ArrowColumn) else not isinstance(each, (PlainText, Documents))


def _input(file: File, field: str) -> Input:
    """Make the input for a file, by the ending of its name."""
    name = os.path.basename(name_of(file)).lower()
    suffix = _ending(name)
    compression = suffix if suffix in COMPRESSIONS else ""
    suffix = _ending(name.removesuffix(compression))
    if suffix in _NOT_READ or (compression and suffix in _TABLES):
        raise ValueError(
            f"{file.name!r} is an archive, or compressed in a way that nbbpe does not read: give the files in it (plain "
            f"text and JSON lines may be {', '.join(COMPRESSIONS)}, files of tables not at all)"
        )
    if suffix in _TABLES:
        return _TABLES[suffix](file, field)
    if suffix == _JSON:
        return JsonArray(file, compression, field)
    if suffix in _JSON_LINES:
        return JsonLines(file, compression, field)
    return PlainText(file, compression)


def _ending(name: str) -> str:
    """The part of a name from its last dot on; for `.jsonl` all of it, where os.path.splitext would return ""."""
    return name[max(name.rfind("."), 0) :]


def name_of(file: File) -> str:
    """The name of a file whose ending says what it holds; for a URL, its path, without the query."""
    return urlsplit(file.name).path if file.path is None and file.name.lower().startswith("http") else file.name


def find_files(path: Path) -> Sequence[File]:
    """The files that a path, a pattern or a URL names."""
    if isinstance(path, str) and is_url(path):
        local = local_path(path)
        if local is None:
            return find_remote(path)
        path = local
    name = checked_name(path)
    if os.path.exists(path) or not is_pattern(name):
        return [find_local(path)]
    files, closed = find_matches(name)
    if closed:
        warn_user(
            f"files that {name!r} matches may be missing, as folders cannot be searched ({first_few(closed, show=repr)}): "
            "get permission to read them, or exclude them from the pattern"
        )
    if not files:
        raise FileNotFoundError(f"no file matches the pattern {name!r}{not_meant(path)}")
    return list(map(find_local, files))


def _paths(source: object, argument: str) -> list[Path] | None:
    """The paths, patterns and URLs in a source; None if it is an iterator of documents. Raises for other sources."""
    if isinstance(source, (str, os.PathLike)):
        _check_no_text(source, f"{argument} is")
        return [os.fsdecode(source)]
    kinds = "a path, a list of paths, or an iterator of documents; documents=[...] takes a list of documents"
    if isinstance(source, (bytes, bytearray, memoryview, mmap.mmap)):
        raise TypeError(f"{argument} must be {kinds}, not one text")
    check_collected(source, argument)
    if is_mixture(source):
        raise TypeError(
            f"{argument} is a {type(source).__name__}, and only training takes its weights and samples: give its sources "
            "themselves, such as list(mixture.sources.values()) if each is a path"
        )
    if not isinstance(source, Iterable):
        raise TypeError(f"{argument} must be {kinds}, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)):
        _check_not_open(source, argument)
        if gives_names(source):
            way_out = of_a_split(source, argument) or (
                f"give one of its columns, or list({argument}.values()) if it has files by name (of sources with weights, "
                "nbbpe.Mixture)"
            )
            raise TypeError(f"{argument} is {type(source).__name__}, whose names would be the documents: {way_out}")
        return None
    if not source:
        raise ValueError(f"{argument} is an empty list: name at least one file")
    for number, item in enumerate(source):
        if not isinstance(item, (str, os.PathLike)):
            _check_not_open(item, f"item {number:,} of {argument}")
            is_table = is_arrow(item) or hasattr(item, "collect_schema")  # the method of a lazy frame of polars
            way_out = "give a table or a column by itself" if is_table else "give documents as documents=[...]"
            raise TypeError(f"item {number:,} of {argument} is {type(item).__name__}, and must be a path: {way_out}")
        _check_no_text(item, f"item {number:,} of {argument} is")
    return list(map(os.fsdecode, source))


def is_mixture(source: object) -> bool:
    """Whether a source looks like a Mixture. (That class is in a higher layer, and cannot be imported here.)"""
    return hasattr(source, "sources") and hasattr(source, "held_out")


def _check_not_open(source: object, argument: str) -> None:
    """Raise TypeError for an open file: it is an iterator of lines, but users who pass one usually mean its text."""
    if hasattr(source, "read") and hasattr(source, "readline"):
        name = getattr(source, "name", None)
        called = f", {shown(name)}," if isinstance(name, (str, bytes, os.PathLike)) else ""
        raise TypeError(
            f"{argument} is an open file{called} whose lines would become separate documents: give its path, or "
            "documents=[file.read()] for a text, or (line for line in file) if each line is a document"
        )


def _check_no_text(path: Path, what: str) -> None:
    """Raise FileNotFoundError with an excerpt if a path looks like a text, or contains a NUL."""
    if "\0" not in os.fsdecode(path):
        if not isinstance(path, str) or is_url(path) or os.path.exists(path):
            return
        is_no_name = len(path) > LONGEST_NAME or "\n" in path
        if not is_no_name and (is_pattern(path) or not _is_text(path)):
            return  # it looks like a path; opening it raises the error
    raise FileNotFoundError(
        f"{what} {shown(os.fsdecode(path))}, which is not a file: give the path of a file, or texts themselves as "
        "documents=[...]"
    )


def _is_text(path: str) -> bool:
    """Whether a str that is not an existing path looks like a text: it has spaces, or neither a dot nor a slash."""
    return " " in path or not any(mark in path for mark in (".", "/", os.sep))
