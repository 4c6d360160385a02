"""Object code of kernels on disk, in files that are named by a digest of the sources.

A file's name says from which sources and for which machine its content was made, so that different processors that share a
home folder, and several versions, never overwrite each other's files. store.py reads and writes them.

Kernels made for other machines, for a wheel or for a kind of processors, are used with any version of Numba, or without it.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import os
import sys

from . import store
from .layouts import layouts
from .notices import say
from .store import KERNELS, StoredFile, version_of
from .target import UnknownProcessor, label_of, parse, present, runs_here
from .trusted_folders import Folder, PrivateFolder, Untrusted

_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
_FORMAT = 1  # of entries and files
# Settings of Numba that do not change the compiled code: folders, threads, and messages.
_OF_RUNS = {
    *("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_THREADING_LAYER_PRIORITY"),
    *("NUMBA_COLOR_SCHEME", "NUMBA_WARNINGS", "NUMBA_DISABLE_PERFORMANCE_WARNINGS", "NUMBA_SHOW_HELP"),
    *("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "NUMBA_FULL_TRACEBACKS", "NUMBA_DEVELOPER_MODE"),
    *("NUMBA_CAPTURED_ERRORS", "NUMBA_DEBUG_CACHE"),
}
_IN_TARGET = {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}


def count_stored() -> dict[str, int]:
    """How many kernels of the present sources each folder has; without folders that have none."""
    counts = {folder.path: count_stored_in(folder) for folder in store.searched()}
    return {path: n for path, n in counts.items() if n}


def count_stored_in(folder: Folder) -> int:
    """How many kernels of the present sources a folder has."""
    with contextlib.suppress(Untrusted, OSError):
        pattern = os.path.join(glob.escape(folder.check()), f"*.{_PYTHON}.{sources()}.*.nbk")
        return len({os.path.basename(path).partition(f".{_PYTHON}.")[0] for path in glob.glob(pattern)})
    return 0


def read(kernel: str) -> StoredFile | None:
    """The object code of a kernel for this process and its processor, or None if no folder has it."""
    return store.find([_own_name(kernel), _others_name(kernel)]) or _read_for_kind(kernel)


def write(kernel: str, content: bytes, into: str | None = None) -> str | None:
    """Write object code to the first writable folder, and return that folder; if there is none, warn once and return None.

    into : the only folder to write to, for kernels for other machines
    """
    if _are_replaced():
        _say_that_sources_are_replaced()
        return None
    reasons = []
    name = name_of(kernel, into)
    for folder in [PrivateFolder(os.path.abspath(into))] if into else store.folders():
        try:
            store.write_into(folder, name, content)
        except Untrusted as error:
            reasons.append(str(error))
        except OSError as error:
            reasons.append(f"{folder.path} cannot be written to ({error.strerror})")
        else:
            if folder.path == store.IN_TREE:
                _remove_outdated(kernel)
            return folder.path
    _say_that_none_is_kept("; ".join(reasons))
    return None


def name_of(kernel: str, into: str | None = None) -> str:
    """The name of the file that `write` writes, which depends on the sources and the processor."""
    return _others_name(kernel) if into or label_of(present()) else _own_name(kernel)


@functools.cache
def _say_that_none_is_kept(why: str) -> None:
    say(f"compiled kernels cannot be stored: {why}. Each process will compile them again; {store.WHAT_TO_SET}")


def _read_for_kind(kernel: str) -> StoredFile | None:
    """Object code for a kind of processors to which this one belongs; of several, that which uses most of its features."""
    beginning = f"{kernel}.{_PYTHON}.{sources()}.for-"
    usable = set()
    for folder in store.searched():
        with store.skipping_unusable():
            for path in glob.glob(os.path.join(glob.escape(folder.check()), f"{beginning}*.nbk")):
                label = os.path.basename(path)[len(beginning) :].rpartition(".")[0].rpartition(".")[0]
                with contextlib.suppress(UnknownProcessor):
                    if runs_here(parse(label)):
                        usable.add(label)
    if label_of(present()):  # the user has named a processor to compile for
        usable &= {label_of(present())}
    # A higher level has a greater name, and more features make a name longer.
    for label in sorted(usable, key=lambda each: (each.partition("+")[0], len(each)), reverse=True):
        found = store.find([_others_name(kernel, label)])
        if found:
            return found
    return None


def changes_code(variable: str) -> bool:
    """Whether a variable of the environment is a setting of Numba that may change the code of kernels."""
    return variable.startswith("NUMBA_") and not variable.startswith("NUMBA_CUDA_") and variable not in _OF_RUNS


def _own_name(kernel: str) -> str:
    """The name of the file of a kernel that this process compiles for itself."""
    made_with = (version_of("numba"), version_of("llvmlite"))
    return f"{kernel}.{_PYTHON}.{sources()}.{_key((made_with, present()))}.nbk"


def _others_name(kernel: str, label: str | None = None) -> str:
    """The name of the file of a kernel for other machines, which may have another Numba; for the label see target.py."""
    label = label_of(present()) if label is None else label
    target = parse(label) if label else present()
    return f"{kernel}.{_PYTHON}.{sources()}.for-{label or 'one'}.{_key(target)}.nbk"


def _key(more: tuple[object, ...]) -> str:
    settings = sorted((name, value) for name, value in os.environ.items() if changes_code(name) and name not in _IN_TARGET)
    made_for = (_FORMAT, sys.implementation.cache_tag, tuple(layouts()), settings, more)
    return hashlib.sha256(repr(made_for).encode()).hexdigest()[:16]


def _remove_outdated(kernel: str) -> None:
    """Remove the kernels of earlier sources, only in the folder of the sources: other folders may be shared by several
    installations."""
    for path in glob.glob(os.path.join(glob.escape(store.IN_TREE), f"{kernel}.{_PYTHON}.*.nbk")):
        if not os.path.basename(path).startswith(f"{kernel}.{_PYTHON}.{sources()}."):
            with contextlib.suppress(OSError):
                os.remove(path)


@functools.cache
def sources() -> str:
    """A digest of the sources of kernels: of all modules of nbbpe/kernels.

    After any change, all kernels are compiled again, as parts of one file are compiled into kernels of another. The digest
    covers contents, not times, which do not survive in an image. It is made when this module is imported, which every
    module with a kernel does first.
    """
    return _digest_of_sources()


def _are_replaced() -> bool:
    """Whether the sources were replaced since this process began: it compiles the former ones, or a mixture."""
    try:
        return _digest_of_sources() != sources()
    except OSError:
        return True


@functools.cache
def _say_that_sources_are_replaced() -> None:
    say(f"{os.path.dirname(KERNELS)} was replaced while this process ran, so kernels that it compiles are not stored")


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for path in store.modules_in(KERNELS, deep=True):
        with open(path, "rb") as file:
            name = os.path.relpath(path, KERNELS).replace(os.sep, "/")
            digest.update(name.encode() + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


sources()
