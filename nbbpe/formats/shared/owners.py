"""Finds out whether a file belongs to a folder that Tokenizer.save wrote. Then it is read with the folder, not alone, and
no other format replaces it."""

from __future__ import annotations

import os
from collections.abc import Collection

from ...system.paths import Path

ABOUT = "nbbpe.json"
OWN_NAMES = "vocab.json", "merges.txt"  # files that do not hold the whole tokenizer without nbbpe.json beside them


def find_owner(path: str, names: Collection[str]) -> str | None:
    """The path of the nbbpe.json beside a file, if the file has one of these names; None if there is none.

    path : for writing, with symlinks resolved; for reading, as the user gave it
    """
    folder, name = os.path.split(path)
    about = os.path.join(folder, ABOUT)
    return about if name in names and os.path.isfile(about) else None


def belongs_to_folder(path: Path) -> FileExistsError:
    """The error for writing to such a file: if it were replaced, the folder could not be loaded any more."""
    return FileExistsError(
        f"{os.fsdecode(path)!r} is a part of the tokenizer whose {ABOUT} is beside it, which could not be loaded any more: "
        "give another folder, or replace the whole tokenizer (Tokenizer.save, or `nbbpe convert --to nbbpe`)"
    )
