"""A file of ids with its sidecar and its ends of documents, published together under a lock.

No system can rename several files at once. So while the other files change, there is no file under the output's name: a
reader at that moment finds no file, and a run that is killed then leaves none, but never ids with the sidecar of others.
(If the ids were replaced last, the older ids would have a wrong sidecar until then; if first, the new ids would.) That
moment takes a few renames, and `TokenFile` waits for it to pass. A process that has the older ids mapped keeps them.
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

_PATIENCE = 10.0  # seconds to wait for another process, which publishes in milliseconds; after that, go on without the lock


def publish(whole: str, ids_path: Path, about: dict[str, Any]) -> None:
    """Give a finished file of ids (`whole`, in a scratch folder) its name, with the sidecar `about`.

    The ends of documents are those beside `whole`, where `about` says that there are any. Of several runs on one output,
    the last to come here wins whole. After an error the older files are back; after Ctrl-C, either all are older or all are
    new; after a kill there are the older files, the new ones, or no ids under that name. Raises what `check_replaceable`
    does.
    """
    write_sidecar(whole, about)
    target = target_of(ids_path)
    for name_of in os.fspath, sidecar_path, ends_path:
        with suppress(OSError):
            shutil.copymode(name_of(target), name_of(whole))  # as `put` would do, if the older files were still there
        # Syncing a large file takes seconds, so it is done before the lock is taken and the older ids are moved away.
        sync(name_of(whole))
    aside = os.path.dirname(whole)
    # All files are next to the file that a symlink points to, so that there is one sidecar for all names of that file.
    # Ctrl-C is answered when all have their names: a second one would end the undoing, and the older files would be lost.
    with publishing(target), handlers_later(), ExitStack() as undo:
        check_replaceable(target)
        # The ids first; they are restored last.
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
    """Lock a folder for publishing, so that no other process publishes there; `shared` for reading.

    Where the system or the disk has no such locks, or somebody holds one for long, nothing is promised.
    """
    if sys.platform == "win32":
        yield
        return
    folder = None
    # Not an ExitStack: Ctrl-C in its own code would leave the folder locked while this process lives.
    try:
        with suppress(OSError):
            # The folder is locked and not a file: files in it are replaced, and a lock file would be left behind.
            folder = os.open(os.path.dirname(os.path.abspath(os.fspath(ids_path))), os.O_RDONLY)
            _wait_for_lock(folder, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        if folder is not None:
            try:
                # Unlocked and not just closed: a process forked meanwhile has the folder open, too.
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
    """Move the file of a name out of the way; `undo` gets a step that gives the name back, or frees it if it was free."""
    was_there = os.path.lexists(path)
    undo.callback(_put_back, aside, path, was_there)
    with suppress(FileNotFoundError):
        os.replace(path, aside)


def _put_back(aside: str, path: str, was_there: bool) -> None:
    """Undo `_put_aside`, whether it was done or not."""
    if os.path.lexists(aside):
        os.replace(aside, path)
    elif not was_there:
        with suppress(FileNotFoundError):
            os.remove(path)
