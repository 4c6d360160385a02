"""Reads and writes the sidecar of a file of ids: a small JSON file (`ids.bin.json`) that says which tokenizer made them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from ..formats.shared.json_text import check_entries, check_format, read_json
from ..model.model import Model
from ..model.provenance import describe_pattern
from ..system.beside_ids import IDS_FORMAT, SIDECAR
from ..system.links import target_of
from ..system.paths import Path, check_name_beside, is_too_long
from .checksum import Checksum, checksum_of_parts
from .document_ends import ends_path, is_file_or_nothing, is_ours

_VERSION = 1
_LONGEST = 64  # characters of digests and versions
DTYPES = ("uint16", "uint32")


class Described(Protocol):
    """The properties of a Tokenizer that the sidecar records."""

    @property
    def _model(self) -> Model: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the ids."""

    @property
    def fingerprint(self) -> str:
        """A digest, see Tokenizer.fingerprint."""

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens with their ids."""

    @property
    def provenance(self) -> dict[str, Any]:
        """How the tokenizer was made, see Tokenizer.provenance."""


def sidecar_path(ids_path: Path) -> str:
    """The path of the sidecar of a file of ids."""
    return os.fspath(ids_path) + SIDECAR


def describe_ids(
    tokenizer: Described,
    n_ids: int,
    checksum: Checksum,
    sources: Sequence[tuple[Path, int | None, int | None]],
    separators: Sequence[str],
    separator_first: bool,
    n_ends: int,
) -> dict[str, Any]:
    """The contents of the sidecar for a file of ids that a tokenizer has made.

    checksum   : of the ids
    sources    : for each source its path (only the last component is stored), its size in bytes and its modification time
                 in nanoseconds since 1970 (None for a pipe or the like)
    separators : the special tokens with which documents end, or with `separator_first` begin
    n_ends     : how many documents end without a separator, see document_ends.py
    """
    special = tokenizer.special_tokens
    made_here = describe_pattern(tokenizer._model.pattern)
    return {
        "format": IDS_FORMAT,
        "version": _VERSION,
        "dtype": tokenizer.dtype.name,
        "byte_order": "little",
        "n_ids": n_ids,
        "checksum": str(checksum),
        "fingerprint": tokenizer.fingerprint,
        "vocab_size": tokenizer.vocab_size,
        "separator_ids": sorted({special[token] for token in separators}),
        "separator_first": separator_first,
        "document_ends": n_ends,
        "sources": [
            {"name": os.path.basename(os.fspath(path)), "bytes": size, "mtime_ns": mtime_ns}
            for path, size, mtime_ns in sources
        ],
        "character_classes": made_here["character_classes"],
        "versions": made_here["versions"],
        "tokenizer": tokenizer.provenance,
    }


def check_replaceable(ids_path: Path) -> None:
    """Raise an error if a file of ids cannot be written because of what already has one of the names that it needs.

    IsADirectoryError if the output is a folder; FileExistsError if the sidecar or the file of ends is not nbbpe's;
    PermissionError if a name is a symlink that another user may have made, see `target_of`.
    """
    if os.path.isdir(ids_path):
        raise IsADirectoryError(f"{os.fspath(ids_path)!r} is a folder; give a file name to write")
    for path in ends_path(ids_path), sidecar_path(ids_path):
        target_of(path)
        check_name_beside(ids_path, path)
    path = ends_path(ids_path)
    try:
        if not is_ours(path):
            raise ValueError
        path = sidecar_path(ids_path)
        read_sidecar(ids_path)
    except ValueError:
        raise FileExistsError(
            f"{path!r} was not written by nbbpe, and has the name of a file that belongs to {os.fspath(ids_path)!r}: move "
            "it away, or give another output"
        ) from None


def write_sidecar(ids_path: Path, about: dict[str, Any]) -> None:
    """Write the sidecar of a file of ids; `about` is from `describe_ids`."""
    with open(sidecar_path(ids_path), "w", encoding="ascii", newline="\n") as file:
        json.dump(about, file, indent=2)
        file.write("\n")


def read_sidecar(ids_path: Path) -> dict[str, Any] | None:
    """Read the sidecar of a file of ids; None if there is none. Raises ValueError that names what is broken."""
    path = sidecar_path(ids_path)
    if is_too_long(path):
        return None
    if not is_file_or_nothing(path):  # opening a pipe would wait for a writer forever
        raise ValueError(f"{path}: must be a file that nbbpe wrote, and is a folder, a pipe or a device")
    about: dict[str, Any]
    try:
        about = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    check_format(about, path, IDS_FORMAT, _VERSION)
    about.setdefault("document_ends", 0)  # older sidecars lack these three
    about.setdefault("separator_first", False)
    about.setdefault("checksum", None)
    separators, versions, classes = (about.get(name) for name in ("separator_ids", "versions", "character_classes"))
    rules = (
        ("dtype", about.get("dtype") in DTYPES, " or ".join(DTYPES)),
        ("n_ids", _is_count(about.get("n_ids")), "an integer from 0 up"),
        ("checksum", about["checksum"] is None or _is_checksum(about["checksum"]), "16 hexadecimal digits"),
        ("vocab_size", _is_count(about.get("vocab_size")), "an integer from 0 up"),
        ("fingerprint", _is_short(about.get("fingerprint")), f"a string of up to {_LONGEST} characters"),
        ("separator_ids", isinstance(separators, list) and all(map(_is_count, separators)), "a list of ids"),
        ("separator_first", isinstance(about["separator_first"], bool), "true or false"),
        ("document_ends", _is_count(about["document_ends"]), "an integer from 0 up"),
        ("versions", isinstance(versions, dict) and all(map(_is_short, versions.values())), "an object of short strings"),
        ("character_classes", classes is None or _is_short(classes), f"null or a string of up to {_LONGEST} characters"),
    )
    check_entries(about, path, rules)
    return about


def find_sidecar(ids_path: Path) -> tuple[str, dict[str, Any] | None]:
    """Return (path, sidecar): the path next to which the sidecar and the ends are, and the result of `read_sidecar`.

    The path is `ids_path`, or for a symlink the file that it points to, as nbbpe writes the other files there (see
    `publish`). If that file has no sidecar, it is the symlink again: some download caches store files under other names,
    and put symlinks with the right names together in one folder.
    """
    path = os.fspath(ids_path)
    if os.path.islink(path):
        target = os.path.realpath(path)
        with suppress(ValueError):  # another program's JSON file has that name
            if (about := read_sidecar(target)) is not None:
                return target, about
    return path, read_sidecar(path)


def check_described(ids_path: Path, about: dict[str, Any], n_ids: int, dtype: np.dtype[Any]) -> None:
    """Raise ValueError unless the number of ids in a file and their dtype are as its sidecar `about` says."""
    if about["n_ids"] != n_ids or np.dtype(about["dtype"]) != dtype.newbyteorder("="):
        raise ValueError(
            f"{os.fspath(ids_path)} holds {n_ids:,} ids of {dtype}, and {os.path.basename(sidecar_path(ids_path))} says "
            f"{about['n_ids']:,} of {about['dtype']}: one was changed without the other; encode the text again"
        )


def check_checksum(ids_path: Path, expected: str | None, parts: Iterable[Checksum]) -> None:
    """Raise ValueError unless the ids of a file have the checksum that its sidecar gives.

    expected : the checksum in the sidecar; None if it has none
    parts    : the checksums of the parts of the ids, in order; computed only if there is a checksum to compare with
    """
    path, name = os.fspath(ids_path), os.path.basename(sidecar_path(ids_path))
    if expected is None:
        raise ValueError(
            f"{path} has no checksum to check its ids by: {name} is missing, or of an older nbbpe; encode the text again"
        )
    found = checksum_of_parts(parts)
    if expected != str(found):
        raise ValueError(
            f"{path} does not hold the ids that were written: their checksum is {found}, and {name} says {expected}: the "
            "file was damaged or changed; encode the text again"
        )


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _is_checksum(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
