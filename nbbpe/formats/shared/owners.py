"""Which files belong to a folder that Tokenizer.save wrote: they are read with it, and no other format replaces them."""

from __future__ import annotations

import os
from collections.abc import Collection

from ...system.paths import Path

ABOUT = "nbbpe.json"
OWN_NAMES = "vocab.json", "merges.txt"  # of files that say less without it than others of these names


def find_owner(path: str, names: Collection[str]) -> str | None:
    """The nbbpe.json beside a file of one of these names, which says what the file is a part of; None if there is none.

    Who writes gives the file that a symlink points to; who reads gives the name that was given.
    """
    folder, name = os.path.split(path)
    about = os.path.join(folder, ABOUT)
    return about if name in names and os.path.isfile(about) else None


def belongs_to_folder(path: Path) -> FileExistsError:
    """The error for such a file: with it replaced, the folder could not be loaded any more."""
    return FileExistsError(
        f"{os.fsdecode(path)!r} is a part of the tokenizer whose {ABOUT} is beside it, which could not be loaded any more: "
        "give another folder, or replace the whole tokenizer (Tokenizer.save, or `nbbpe convert --to nbbpe`)"
    )
