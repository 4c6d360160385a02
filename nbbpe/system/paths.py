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

_LOOKED_AT = 1000  # folders, and files of each, that `_pattern_in` looks at

# How names begin that the system takes literally where the user meant something else; and what to do.
_NOT_MEANT = {
    r"~[^/]*/|~$": "`~` is not expanded in names of files: write the home folder out, as os.path.expanduser does",
    r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]": "if this is a URL, give it as a str: pathlib makes one slash of two",
}


def is_url(name: str) -> bool:
    """Whether a name is a URL, of any scheme. (One letter and a colon is a drive.)"""
    return _URL.fullmatch(name) is not None


def checked_name(path: object) -> str:
    """Return a path as a str. Raises TypeError for other types (also int, which `open` takes for an open file), and
    FileNotFoundError for a name that no file can have: empty, with a NUL, or with half a surrogate pair.
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
    """Return a path as an absolute path; symlinks and `..` in it stay as they are.

    (os.path.abspath reduces `link/..` to the folder of the link; for the system it is the parent of the link's target.)
    Raises the errors of `checked_name`, WrongArgument for a URL, which would become a folder such as `s3:`, and
    FileNotFoundError if the working folder is needed and has been removed, or if the path begins as in `_NOT_MEANT` and its
    first folder does not exist. (Many would remove a folder `~` by `rm -r ~`, which removes the home folder.)
    """
    name = checked_name(path)
    if is_url(name):
        raise WrongArgument(
            f"{name!r} is a URL, and only texts and counts are read from URLs: copy the files, and give a path"
        )
    if (hint := not_meant(name)) and not os.path.lexists(name.split("/")[0]):
        raise FileNotFoundError(f"{name!r} begins with a folder that is missing{hint}")
    try:
        # An absolute path needs no working folder.
        if os.path.isabs(name):
            return name
        return os.path.join(os.getcwd(), *(part for part in name.split(os.sep) if part != "."))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{name!r} starts from the working folder, which has been removed: change to another, or give an absolute path"
        ) from None


def is_too_long(path: Path) -> bool:
    """Whether no file can have this name, because it, or the whole path, has too many bytes for the system or the disk."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def check_name_beside(path: Path, beside: str) -> None:
    """Raise OSError, naming `path`, if the name of the file `beside` it, which is `path` with an ending, is too long."""
    if is_too_long(beside):
        reason = os.strerror(errno.ENAMETOOLONG)
        if not is_too_long(path):
            reason += f" (with the {os.path.splitext(beside)[1]} of what is written beside it)"
        raise OSError(errno.ENAMETOOLONG, reason, os.fspath(path))


def not_meant(path: Path) -> str:
    """A hint in brackets for an error about a missing path, if the user probably meant something else; otherwise ""."""
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
    """The mode of a file, as os.stat returns it. A FileNotFoundError contains the hint of `not_meant`."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError as error:
        if hint := not_meant(path):
            raise FileNotFoundError(error.errno, f"{error.strerror}{hint}", os.fsdecode(path)) from None
        raise


def _pattern_in(folder: Path) -> str:
    """The pattern, such as `folder/*.txt`, of the files that hold most bytes in or below a folder; `*.txt` if none match.

    Bytes decide, not the number of files: those that describe the data may be more than those that hold it.
    """
    n_bytes: Counter[str] = Counter()
    top = os.fsdecode(folder)
    for place, folders, names in islice(os.walk(top), _LOOKED_AT):
        folders[:] = [name for name in folders if not name.startswith(".")]  # patterns match nothing in these
        depth = "*" if place == top else os.path.join("**", "*")
        for name in names[:_LOOKED_AT]:
            if (ending := os.path.splitext(name)[1]) and not name.startswith("."):
                with suppress(OSError):
                    n_bytes[depth + ending] += os.stat(os.path.join(place, name)).st_size
    return os.path.join(top, max(n_bytes, key=n_bytes.__getitem__, default="*.txt"))


def check_mappable(path: Path) -> None:
    """Raise ValueError for a pipe, a device or the like, which cannot be mapped, FileNotFoundError for a missing file."""
    _check_no_pipe(path, "ids are mapped from a file: write them to one")


def check_tokenizer_file(path: Path) -> None:
    """Raise ValueError for a pipe, a device or the like, as some files are read twice, FileNotFoundError for a missing
    file, and IsADirectoryError for a folder."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder, and a file is read here; nbbpe.load takes folders")
    _check_no_pipe(path, "a tokenizer is read from files: write it to one")


def _check_no_pipe(path: Path, why: str) -> None:
    """Raise ValueError for a pipe, a device or the like: to open a named pipe would wait for ever for a writer."""
    mode = _mode_of(path)
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError(f"{os.fspath(path)!r} is a pipe or a device, and {why}")


def file_size(path: Path | int) -> int | None:
    """The size of a regular file in bytes, by its path or its open descriptor; None for a pipe or the like."""
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def check_not_read(inputs: Iterable[Path | None], *outputs: Path) -> None:
    """Raise WrongArgument if an input file is also an output file, which would replace it.

    inputs : the paths of the input files, None for an input without a path
    """
    written = {file_of(checked_name(output)) for output in outputs} - {None}
    for path in inputs if written else ():
        if path is not None and file_of(path) in written:
            raise WrongArgument(f"{os.fspath(path)!r} cannot be both input and output")


def file_of(path: Path) -> tuple[int, int] | None:
    """The device and the inode of a file, which are the same for all its names; None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
