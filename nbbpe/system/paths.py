"""Paths of files: their types, the size of the file, whether it can be read."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

from .excerpt import shown
from .wrong_argument import WrongArgument

Path = str | os.PathLike[str]
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://\S.*", re.DOTALL)

_LOOKED_AT = 1000  # folders, and files of each, to say how those that are meant are named

# How names begin that the system takes as they are, where the user meant another one; and what to do.
_NOT_MEANT = {
    r"~[^/]*/|~$": "`~` is not expanded in names of files: write the home folder out, as os.path.expanduser does",
    r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]": "if this is a URL, give it as a str: pathlib makes one slash of two",
}


def is_url(name: str) -> bool:
    """Whether a name is a URL, of whatever kind. (A drive's letter and a colon are none.)"""
    return _URL.fullmatch(name) is not None


def checked_name(path: object) -> str:
    """A path as a str. Raises TypeError for what is not a path (to Python a number is one, of an open file), and
    FileNotFoundError for a name that no file can have: an empty one, one with a NUL or with half of a character.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"a path must be a str or an os.PathLike, not {shown(path)}")
    name = os.fsdecode(path)
    try:
        is_name = name != "" and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise FileNotFoundError(f"{name!r} is not the name of a file or folder")
    return name


def absolute(path: Path) -> str:
    """A path from the root on; symlinks, and `..` after them, stay as they are.

    (os.path.abspath takes `link/..` for the folder of the link, where the system takes it for that of what it points to.)
    Raises what `checked_name` does (an empty name would be the working folder), FileNotFoundError for a name that starts
    from a working folder which has been removed, WrongArgument for a URL, which would be a folder such as `s3:`, and
    FileNotFoundError for what begins with `~` if there is no folder of that name, which would else be made: to remove it,
    many would write `rm -r ~`, which removes the home folder.
    """
    name = checked_name(path)
    if is_url(name):
        raise WrongArgument(
            f"{name!r} is a URL, and only texts and counts are read from URLs: give a path, and copy the files"
        )
    if (hint := not_meant(name)) and not os.path.lexists(name.split("/")[0]):
        raise FileNotFoundError(f"{name!r} begins with a folder that is missing{hint}")
    try:
        # A whole path needs no working folder.
        if os.path.isabs(name):
            return name
        return os.path.join(os.getcwd(), *(part for part in name.split(os.sep) if part != "."))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{name!r} starts from the working folder, which has been removed: change to another, or give the whole path"
        ) from None


def is_too_long(path: Path) -> bool:
    """Whether no file can have this name, because it, or the whole path, has too many bytes for the system or the disk."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def check_name_beside(path: Path, beside: str) -> None:
    """Raise OSError, which names a path, if the name of a file that belongs to it is too long. It ends in an own ending."""
    if is_too_long(beside):
        reason = os.strerror(errno.ENAMETOOLONG)
        if not is_too_long(path):
            reason += f" (with the {os.path.splitext(beside)[1]} of what is written beside it)"
        raise OSError(errno.ENAMETOOLONG, reason, os.fspath(path))


def not_meant(path: Path) -> str:
    """What an error adds of a path where nothing is, in brackets: that another one was meant; else nothing."""
    name = os.fsdecode(path)
    return next((f" ({why})" for begin, why in _NOT_MEANT.items() if re.match(begin, name)), "")


def check_readable(path: Path) -> None:
    """Raise the OSError that reading a file would raise, before long work."""
    mode = _mode_of(path)
    if stat.S_ISDIR(mode):
        files = _pattern_in(path)
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder; give the text files in it, such as {files!r}")
    if stat.S_ISREG(mode):
        open(path, "rb").close()


def _mode_of(path: Path) -> int:
    """The mode of a file, as os.stat has it. A FileNotFoundError says where another name was meant."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError as error:
        if hint := not_meant(path):
            raise FileNotFoundError(error.errno, f"{error.strerror}{hint}", os.fsdecode(path)) from None
        raise


def _pattern_in(folder: Path) -> str:
    """A pattern of the files in a folder, or below it, that hold most of its bytes; `*.txt` where none has an ending.

    Their number would not tell: files that describe the data may be more than those that hold it.
    """
    n_bytes: Counter[str] = Counter()
    top = os.fsdecode(folder)
    for place, folders, names in islice(os.walk(top), _LOOKED_AT):
        folders[:] = [name for name in folders if not name.startswith(".")]  # of which patterns match nothing
        depth = "*" if place == top else os.path.join("**", "*")
        for name in names[:_LOOKED_AT]:
            if (ending := os.path.splitext(name)[1]) and not name.startswith("."):
                with suppress(OSError):
                    n_bytes[depth + ending] += os.stat(os.path.join(place, name)).st_size
    return os.path.join(top, max(n_bytes, key=n_bytes.__getitem__, default="*.txt"))


def check_mappable(path: Path) -> None:
    """Raise ValueError for a pipe, a device or the like, which cannot be mapped, and FileNotFoundError for nothing."""
    _check_no_pipe(path, "ids are mapped from a file: write them to one")


def check_tokenizer_file(path: Path) -> None:
    """Raise ValueError for a pipe, a device or the like, as some files are read twice; FileNotFoundError for nothing, and
    IsADirectoryError for a folder."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder, and a file is read here; nbbpe.load takes folders")
    _check_no_pipe(path, "a tokenizer is read from files: write it to one")


def _check_no_pipe(path: Path, why: str) -> None:
    """Raise ValueError for a pipe, a device or the like: to open a named pipe would wait for a writer without end."""
    mode = _mode_of(path)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError(f"{os.fspath(path)!r} is a pipe or a device, and {why}")


def file_size(path: Path | int) -> int | None:
    """The size of a regular file in bytes, by its path or its open descriptor; None for a pipe or the like."""
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def check_not_read(inputs: Iterable[Path | None], *outputs: Path) -> None:
    """Raise WrongArgument if one of the files that are read is one of those that are written, which would replace it.

    inputs : None for what has no path
    """
    written = {file_of(checked_name(output)) for output in outputs} - {None}
    for path in inputs if written else ():
        if path is not None and file_of(path) in written:
            raise WrongArgument(f"{os.fspath(path)!r} cannot be both input and output")


def file_of(path: Path) -> tuple[int, int] | None:
    """What tells a file from others, whatever its names are; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
