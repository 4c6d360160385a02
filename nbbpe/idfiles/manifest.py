"""Stores the progress of a run that can be resumed, as JSON lines: the first is the job, each other a finished part.

Lines are only ever appended, so a killed run leaves at most the last line incomplete. The part of a line that cannot be
read is encoded again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..formats.shared.json_text import check_entries, check_format, parse_json
from ..sources import Input, Line, Place, Record, Row, Skipped
from ..sources.compression.compressed import COMPRESSIONS
from ..sources.files.sampled_digest import sampled_digest
from ..system.arguments import argument
from ..system.excerpt import first_few, shown
from ..system.wrong_argument import WrongArgument
from .checksum import Checksum

NAME = "manifest.jsonl"
_FORMAT = "nbbpe unfinished ids"
_VERSION = 1
_PLACES: dict[str, Callable[..., Place]] = {kind.__name__: kind for kind in (Line, Row, Record)}
_WORDS = {"bytes": "bytes", "mtime_ns": "time of the last change", "digest": "content"}

# The number of a part's input, where the part begins, and where it ends (None: at the end of the input), see Part.span.
Span = tuple[int, int, "int | None"]


class Finished(NamedTuple):
    """The counts and checksums of a finished part, which a resumed run uses instead of encoding the part again.

    n_read   : bytes read from the source
    checksum : of the ids
    ends     : the checksum of the ends of documents, each counted from the beginning of the part
    """

    n_read: int
    n_ids: int
    checksum: Checksum
    n_ends: int
    ends: Checksum
    skipped: Skipped


class EncodingJob(NamedTuple):
    """What a run must have in common with the run that it resumes. The first line of the manifest stores it.

    tokenizer : the fingerprint
    made_by   : the versions of nbbpe and Unicode, and the digest of the character classes
    options   : the arguments of encode_file that affect the ids
    sources   : the path (only its last component is compared), size, modification time and digest of each input
    """

    tokenizer: str
    made_by: dict[str, Any]
    options: dict[str, Any]
    sources: list[dict[str, Any]]


def describe_sources(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """Describe the sources of a job. Raises ValueError for one that can be read only once, and so not resumed."""
    described = []
    for each in inputs:
        file, size = each.file, each.size()
        if file is None or size is None:
            source = "documents and Arrow data" if file is None else f"pipes and the like, as {file.name!r} is,"
            option = argument("resume", True)
            raise WrongArgument(f"{option} needs files, which can be read again; {source} can be read once only")
        described.append(
            {"path": file.name, "bytes": size, "mtime_ns": each.mtime_ns(), "digest": sampled_digest(file, size)}
        )
    return described


class Manifest(NamedTuple):
    """The manifest of a job: its path, the size and the spans of the job's parts, and the finished parts by number."""

    path: str
    part_bytes: int
    spans: list[Span]
    finished: dict[int, Finished]

    def add(self, number: int, finished: Finished) -> None:
        """Note that a part is finished."""
        self.finished[number] = finished
        # Each line is written by one unbuffered call, so that a killed run leaves at most this line incomplete.
        with open(self.path, "ab", buffering=0) as file:
            places = [(type(place).__name__, place, reason) for place, reason in finished.skipped.first]
            file.write(json.dumps([number, *finished[:5], [finished.skipped.n, places]]).encode() + b"\n")


def new_manifest(path: str, job: EncodingJob, part_bytes: int, spans: list[Span]) -> Manifest:
    """Write the manifest of a job before its first part is finished."""
    about = {"format": _FORMAT, "version": _VERSION, **job._asdict(), "part_bytes": part_bytes, "parts": spans}
    with open(path + ".new", "wb") as file:
        file.write(json.dumps(about).encode() + b"\n")
    os.replace(path + ".new", path)
    return Manifest(path, part_bytes, spans, {})


def read_manifest(path: str, job: EncodingJob) -> Manifest | None:
    """Read the manifest of an earlier run; None if there is none, or if it is of another job without a finished part.

    Raises ValueError that says what differs if it is of another job (WrongArgument if that is an argument), or if its
    first line cannot be read.
    """
    folder = os.path.dirname(path)
    way_out = f"delete {folder!r} to encode from the beginning"
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    first, _, rest = data.partition(b"\n")
    about = _first_line(first, path, way_out)
    n_parts = len(about["parts"])
    # A source may have moved: places of skipped records, which messages look up, need its new path.
    moved = {then["path"]: now["path"] for then, now in zip(about["sources"], job.sources, strict=False)}
    finished = {}
    # The last line is incomplete, or empty: a complete one ends with a newline.
    for line in rest.split(b"\n")[:-1]:
        found = _finished(line, n_parts, moved)
        if found is not None:
            finished[found[0]] = found[1]
    for error, differs in (WrongArgument, _other_argument(about, job)), (ValueError, _other_data(about, job)):
        if differs is not None:
            if not finished:
                return None
            raise error(f"cannot resume: {differs}; undo that to go on with what is finished, or {way_out}")
    if rest and not rest.endswith(b"\n"):
        os.truncate(path, data.rfind(b"\n") + 1)
    return Manifest(path, about["part_bytes"], [tuple(span) for span in about["parts"]], finished)


def _first_line(line: bytes, path: str, way_out: str) -> dict[str, Any]:
    """Read the job from the first line, and check the types of its entries. Raises ValueError that names the file."""
    about: dict[str, Any]
    try:
        about = parse_json(line.decode(), path)
        check_format(about, path, _FORMAT, _VERSION)
        sources, parts = about.get("sources"), about.get("parts")
        rules = (
            ("tokenizer", isinstance(about.get("tokenizer"), str), "a string"),
            ("made_by", isinstance(about.get("made_by"), dict), "an object"),
            ("options", isinstance(about.get("options"), dict), "an object"),
            ("sources", isinstance(sources, list) and all(map(_is_source, sources)), "a list of sources"),
            ("part_bytes", _is_count(about.get("part_bytes")) and about["part_bytes"], "a positive integer"),
            ("parts", isinstance(parts, list) and all(map(_is_span, parts)), "a list of source, first and end"),
        )
        check_entries(about, path, rules)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not valid UTF-8 (byte {error.start}); {way_out}") from None
    except ValueError as error:
        raise ValueError(f"{error}; {way_out}") from None
    return about


def _other_argument(about: dict[str, Any], job: EncodingJob) -> str | None:
    """A message about the first argument that has changed since the run began; None if none has."""
    if about["tokenizer"] != job.tokenizer:
        was = shown(about["tokenizer"])
        return f"the tokenizer is another one (fingerprint {job.tokenizer}, and {was} when the run began)"
    for name, now in job.options.items():
        if (began := about["options"].get(name)) != now:
            return f"{argument(name)} is {_shown_option(now)}, and was {_shown_option(began)} when the run began"
    if len(about["sources"]) != len(job.sources):
        return f"there are {len(job.sources):,} source files, and were {len(about['sources']):,} when the run began"
    for then, now in zip(about["sources"], job.sources, strict=True):
        if os.path.basename(then["path"]) != os.path.basename(now["path"]):
            return f"{shown(now['path'])} is where {shown(then['path'])} was in the list of sources"
    return None


def _other_data(about: dict[str, Any], job: EncodingJob) -> str | None:
    """A message about the first change in the sources, or in the versions that read them; None if nothing has changed."""
    for name, now in job.made_by.items():
        if (began := about["made_by"].get(name)) != now:
            return f"{name} is {shown(now)}, and was {shown(began)} when the run began"
    for then, now in zip(about["sources"], job.sources, strict=False):
        for name, words in _WORDS.items():
            if then[name] != now[name]:
                return f"the source {now['path']!r} has changed: its {words} is {now[name]}, and was {shown(then[name])}"
    return None


def _shown_option(value: Any) -> str:
    """The value of an option, in words that fit the library and the command."""
    if isinstance(value, list):
        return first_few(value) or "none"
    if value is None or value is False:
        return "not given"
    return "given" if value is True else shown(value)


def _finished(line: bytes, n_parts: int, moved: dict[str, str]) -> tuple[int, Finished] | None:
    """Read the line of a finished part: (its number, its counts and checksums); None if the line is invalid.

    moved : {path of a source when the run began: its path now}
    """
    try:
        number, n_read, n_ids, checksum, n_ends, ends, skipped = json.loads(line)
        counts = [number, n_read, n_ids, n_ends, skipped[0], *checksum, *ends]
        if not all(map(_is_count, counts)) or number >= n_parts:
            return None
        n_skipped, first = skipped
        places = [(_now_at(_place(kind, *fields), moved), str(reason)) for kind, fields, reason in first]
        return number, Finished(n_read, n_ids, Checksum(*checksum), n_ends, Checksum(*ends), Skipped(n_skipped, places))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _place(kind: str, *fields: Any) -> Place:
    """Make a place from its fields. Raises ValueError, TypeError or KeyError if they are invalid."""
    place = _PLACES[kind](*fields)
    name, number, path, start, skip, compression = Line(*place)  # Row and Record have the first fields of Line
    are_texts = isinstance(name, str) and (path is None or isinstance(path, str)) and compression in ("", *COMPRESSIONS)
    if not are_texts or not all(map(_is_count, (number, start, skip))):
        raise ValueError
    return place


def _now_at(place: Place, moved: dict[str, str]) -> Place:
    """A place with the present path of its source."""
    if isinstance(place, Line) and isinstance(place.path, str):
        place = place._replace(path=moved.get(place.path, place.path))
    return place._replace(name=moved.get(place.name, place.name))


def _is_source(value: object) -> bool:
    if not isinstance(value, dict) or not {"path", *_WORDS} <= set(value):
        return False
    return isinstance(value["path"], str) and _is_count(value["bytes"]) and isinstance(value["digest"], str)


def _is_span(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(_is_count(each) or each is None for each in value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**64
