"""The file behind a name: symlinks are followed, except those that another user may have planted."""

from __future__ import annotations

import errno
import os
import stat

from .paths import Path, absolute, checked_name

_MAX_LINKS = 40  # in one path, as on Linux; more are a circle


def is_device(path: Path) -> bool:
    """Whether a path is a device, a pipe or a socket, which is written to and must never be replaced."""
    name = absolute(path)
    # A name in /dev may be a symlink to a file, as /dev/stdout is after `> file`, and must not be replaced either.
    if os.path.dirname(os.path.normpath(name)) in ("/dev", "/dev/fd"):
        return True
    try:
        mode = os.stat(name).st_mode  # one call: the file may be replaced between two
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def target_of(path: Path) -> str:
    """Return the absolute path that writing to `path` would write to. It need not exist; symlinks in it are followed.

    The returned path has no symlink in it, so that the file that was checked is the one that is written. Raises
    PermissionError for a link that another user may have made (see `_check_trusted`), OSError for a circle of links, and
    the errors of `absolute`.
    """
    shown = checked_name(path)
    if not hasattr(os, "geteuid"):  # Windows, where only administrators make symlinks
        name = os.path.abspath(absolute(shown))
        return os.path.realpath(name) if os.path.islink(name) else name
    done = os.sep
    left = _parts(absolute(shown))
    n_links = 0
    while left:
        part = left.pop()
        name = os.path.dirname(done) if part == ".." else os.path.join(done, part)
        if part == ".." or not os.path.islink(name):
            done = name
            continue
        n_links += 1
        if n_links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), shown)
        _check_trusted(name, is_file=not left, shown=shown)
        target = os.readlink(name)
        done = os.sep if os.path.isabs(target) else done
        left += _parts(target)
    return done


def _parts(path: str) -> list[str]:
    """The components of a path, the last one first."""
    return [part for part in reversed(path.split(os.sep)) if part not in ("", ".")]


def _check_trusted(link: str, is_file: bool, shown: str) -> None:
    """Raise PermissionError for a symlink that another user may have made, to have one of our files overwritten.

    A link to the file itself must be owned by us or root, and so must its folder; if every user can write to the folder, it
    must also be sticky, and the link ours. A link to a folder on the way is not trusted if every user can write to its
    folder and it belongs neither to us nor to that folder's owner, as with Linux's `protected_symlinks`.
    """
    me = os.geteuid()
    owner = os.lstat(link).st_uid
    folder = os.stat(os.path.dirname(link))
    for_all, sticky = bool(folder.st_mode & stat.S_IWOTH), bool(folder.st_mode & stat.S_ISVTX)
    if is_file:
        trusted = {owner, folder.st_uid} <= {me, 0} and (not for_all or (sticky and owner == me))
    else:
        trusted = not for_all or owner in (me, folder.st_uid)
    if not trusted:
        whose = "a folder that every user can write to" if for_all else f"a folder of {_user(folder.st_uid)}"
        raise PermissionError(
            f"{shown!r} is not written: {link!r} is a symlink of {_user(owner)} in {whose}, so another user may decide "
            f"where it points to (now {os.readlink(link)!r}); give the path of the file itself, or another name"
        )


def _user(uid: int) -> str:
    """The name of a user, or the number of one without a name."""
    try:
        import pwd

        return f"the user {pwd.getpwuid(uid).pw_name!r}"
    except (ImportError, KeyError):
        return f"the user {uid}"
