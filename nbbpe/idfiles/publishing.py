"""Publishes a file of ids, its sidecar and its document ends together: puts them under their names, under a lock.

No system can rename several files at once. So the old ids are moved away first, and the new ids come last: while the other
files change, the output's name does not exist. A reader at that moment finds no file, and a run that is killed then leaves
none, but ids never have the sidecar of other ids. That moment takes a few renames, and `TokenFile` waits until it has
passed. A process that has mapped the old ids keeps them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from ..system.atomic_files import put, sync
from ..system.lazy import imported_on_use
from ..system.links import target_of
from ..system.paths import Path
from ..system.signals_later import handlers_later
from .document_ends import ends_path
from .sidecar import check_replaceable, sidecar_path, write_sidecar

shutil: Any = imported_on_use("shutil")

if sys.platform != "win32":
    import fcntl

_PATIENCE = 10.0  # seconds to wait for the lock, which is usually held for milliseconds; after that, go on without it


def publish(whole: str, ids_path: Path, about: dict[str, Any]) -> None:
    """Move a finished file of ids (`whole`, in a scratch folder) to its name, with the sidecar `about`.

    If `about` says that there are document ends, their file is beside `whole`. If several runs write the same output, all
    files are of the run that publishes last. After an error, the old files are back; after Ctrl-C, all files are old or all
    are new; after a kill, all are old, all are new, or the file of ids is missing. Raises what `check_replaceable` does.
    """
    write_sidecar(whole, about)
    target = target_of(ids_path)
    for name_of in os.fspath, sidecar_path, ends_path:
        with suppress(OSError):
            shutil.copymode(name_of(target), name_of(whole))  # `put` cannot, as the old files are moved away before it
        # Syncing a large file takes seconds, so it is done before the lock is taken and the old ids are moved away.
        sync(name_of(whole))
    aside = os.path.dirname(whole)
    # For a symlink, all files are next to its target, so that there is one sidecar for all names of that file.
    # Ctrl-C is handled after publishing: a second Ctrl-C would stop the undoing of the first, and lose the old files.
    with publishing(target), handlers_later(), ExitStack() as undo:
        check_replaceable(target)
        # The ids are moved away first, and so restored last.
        _put_aside(target, os.path.join(aside, "old"), undo)
        _put_aside(sidecar_path(target), os.path.join(aside, "old.json"), undo)
        _put_aside(ends_path(target), os.path.join(aside, "old.ends"), undo)
        if about["document_ends"]:
            put(ends_path(whole), ends_path(target))
        put(sidecar_path(whole), sidecar_path(target))
        put(whole, target)
        undo.pop_all()


@contextmanager
def publishing(ids_path: Path, shared: bool = False) -> Iterator[None]:
    """Lock the folder of a file of ids, so that only one process publishes there; `shared` for reading.

    Goes on without a lock if the system or the disk has none, or another process holds it for longer than _PATIENCE.
    """
    if sys.platform == "win32":
        yield
        return
    folder = None
    # Not an ExitStack: Ctrl-C in its own code would leave the folder locked while this process lives.
    try:
        with suppress(OSError):
            # The folder is locked: the files in it are replaced, and a separate lock file would be left behind.
            folder = os.open(os.path.dirname(os.path.abspath(os.fspath(ids_path))), os.O_RDONLY)
            _wait_for_lock(folder, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        if folder is not None:
            try:
                # Closing alone would not unlock it: a process forked meanwhile has the folder open, too.
                with suppress(OSError):
                    fcntl.flock(folder, fcntl.LOCK_UN)
            finally:
                os.close(folder)


def _wait_for_lock(descriptor: int, kind: int) -> None:
    """Lock an open file or folder. Raises OSError if that is not possible, or after a long wait."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.001)


def _put_aside(path: str, aside: str, undo: ExitStack) -> None:
    """Move the file at `path`, if any, to `aside`; add a step to `undo` that restores the earlier state of `path`."""
    was_there = os.path.lexists(path)
    undo.callback(_put_back, aside, path, was_there)
    with suppress(FileNotFoundError):
        os.replace(path, aside)


def _put_back(aside: str, path: str, was_there: bool) -> None:
    """Undo `_put_aside`, even if it was interrupted before the file was moved."""
    if os.path.lexists(aside):
        os.replace(aside, path)
    elif not was_there:
        with suppress(FileNotFoundError):
            os.remove(path)
