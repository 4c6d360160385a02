"""Compiled kernels on disk: found by what they were made from, read from wherever they lie, written where that is allowed.

Numba's own cache takes the first folder that it may write to, and looks nowhere else. So what an image was built with
(`nbbpe warmup`, by root) would not be found by a user who may only read it; without any folder to write to Numba refuses
to compile at all. And it keeps an index beside the files of each kernel, which processes that start at once, or machines
with different processors and one home, write over each other's. Here a file's name says all that the index would.
Whose folders these may be is the matter of trusted_folders.py: what is read from them runs.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import binding
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from .notices import say
from .trusted_folders import Folder, InstalledFolder, PrivateFolder, Untrusted

_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IN_TREE = os.path.join(_KERNELS, "__pycache__")
_DIGEST = 32  # bytes of a digest
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"


_WHAT_TO_SET = "set NUMBA_CACHE_DIR to a folder of your own, by its absolute path, that nobody else can write to"


def folders() -> list[Folder]:
    """Where compiled kernels may lie, in the order in which they are looked for and written.

    NUMBA_CACHE_DIR alone, where it is set and may be written to. Else the folder of the installed package, then the
    user's cache folder.
    """
    return _folders(getattr(config, "CACHE_DIR", ""), getattr(os, "geteuid", int)())


@functools.cache
def _folders(chosen: str, user: int) -> list[Folder]:
    """The folders for a NUMBA_CACHE_DIR; `user` is asked for as another may be trusted by others."""
    ours: list[Folder] = [InstalledFolder(_IN_TREE), PrivateFolder(_users_folder())]
    if not chosen:
        return ours
    folder = PrivateFolder(os.path.join(chosen, "nbbpe"))
    try:
        tempfile.TemporaryFile(dir=folder.make()).close()
    except Untrusted as why:
        say(f"NUMBA_CACHE_DIR is not used, as {why}: {_WHAT_TO_SET}")
        return ours
    except OSError:
        return [folder, *ours]
    return [folder]


def _users_folder() -> str:
    """The user's cache folder; no absolute path where there is none."""
    if os.name == "nt" or sys.platform == "darwin":
        base = AppDirs(appname="nbbpe", appauthor=False).user_cache_dir
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # which the standard says to ignore
            base = os.path.expanduser(os.path.join("~", ".cache"))
        base = os.path.join(base, "nbbpe")
    return os.path.join(base, "kernels")


def kept() -> dict[str, int]:
    """How many kernels each folder has, as the sources are now; folders that have none are left out."""
    found = {}
    for folder in folders():
        with contextlib.suppress(Untrusted, OSError):
            pattern = os.path.join(glob.escape(folder.check()), f"*.{_PYTHON}.{_sources()}.*.nbk")
            names = {os.path.basename(path).partition(f".{_PYTHON}.")[0] for path in glob.glob(pattern)}
            if names:
                found[folder.path] = len(names)
    return found


def read_data(name: str) -> bytes | None:
    """What `keep_data` wrote under a name; None where no folder has it, or it is damaged or of somebody else."""
    for folder in folders():
        with contextlib.suppress(Untrusted, OSError):
            data = folder.read(name)
            digest, content = data[:_DIGEST], data[_DIGEST:]
            if digest == _digest(content):
                return content
    return None


def keep_data(name: str, content: bytes) -> None:
    """Write what kernels work with, and takes long to make, into the first folder that takes it; to none is no error."""
    for folder in folders():
        with contextlib.suppress(Untrusted, OSError):
            folder.write(name, _digest(content) + content)
            return


def _rebuilt(target_context: Any, library_data: Any, described: Any, *parts: Any) -> Any:
    """A kernel from what was kept of it.

    Beside machine code there is LLVM's intermediate code, for compiling others that call the kernel. Numba parses it at
    once, which takes two thirds of the time to load a kernel; here it is parsed when it is needed, in most processes never.
    """
    name, kind, data = library_data
    if kind != "object":
        return CompileResult._rebuild(target_context, library_data, described, *parts)
    machine_code, bitcode = data
    # Only what is known to be defined is looked up in the machine code, and Numba knows it from the intermediate code.
    defined = described.llvm_func_name, described.llvm_cpython_wrapper_name
    target_context.codegen()._engine._defined_symbols.update(defined)
    result = CompileResult._rebuild(target_context, (name, kind, (machine_code, _no_bitcode())), described, *parts)
    library = result.library
    link = library._get_module_for_linking

    def parse_and_link() -> Any:
        library._shared_module = binding.parse_bitcode(bitcode)
        library._get_module_for_linking = link
        return link()

    library._get_module_for_linking = parse_and_link
    return result


@functools.cache
def _no_bitcode() -> bytes:
    """The intermediate code of nothing."""
    return bytes(binding.parse_assembly("").as_bitcode())


class KernelCache(NullCache):
    """What one kernel has on disk (in the place of Numba's FunctionCache)."""

    _has_said = False  # that nothing is kept; of all kernels

    def __init__(self, function: Callable[..., Any]) -> None:
        module = function.__module__.rpartition(".")[2]
        self._base = f"{module}.{function.__name__}.{_PYTHON}"
        self._folder: str | None = None

    @property
    def cache_path(self) -> str | None:
        """The folder that the kernel was read from or written to; None where neither has happened."""
        return self._folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these types and this processor, or None where no folder has it."""
        # Numba's own cache refreshes the context here: imports all that it, and packages that extend it, know to compile,
        # some 0.3 s and 30 MB. What is compiled needs the runtime alone, and the compiler refreshes by itself.
        rtsys.initialize(target_context)
        name = self._file_name(sig, target_context.codegen())
        for folder in folders():
            # Not there, not ours to read, perhaps of somebody else, or damaged by a crash: it is compiled and written anew.
            with contextlib.suppress(Untrusted, OSError):
                data = folder.read(name)
                digest, content = data[:_DIGEST], data[_DIGEST:]
                if digest == _digest(content):
                    self._folder = folder.path
                    return _rebuilt(target_context, *pickle.loads(content))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled kernel into the first folder that takes it; where none does, say so once and go on."""
        if any(not lifted.can_cache for lifted in data.lifted) or data.library.has_dynamic_globals:
            raise RuntimeError(
                f"kernel {self._base} uses what cannot be kept on disk (an address, or a large global array)"
            )
        name = self._file_name(sig, data.codegen)
        content = dumps(data._reduce())
        reasons = []
        for folder in folders():
            try:
                folder.write(name, _digest(content) + content)
            except Untrusted as error:
                reasons.append(str(error))
            except OSError as error:
                reasons.append(f"{folder.path} cannot be written to ({error.strerror})")
            else:
                self._folder = folder.path
                if folder.path == _IN_TREE:
                    self._remove_outdated()
                return
        if not KernelCache._has_said:
            KernelCache._has_said = True
            why = "; ".join(reasons)
            say(f"compiled kernels cannot be kept: {why}. Each process will compile them again; {_WHAT_TO_SET}")

    def _file_name(self, sig: Any, codegen: Any) -> str:
        made_for = repr((sig, codegen.magic_tuple(), os.environ.get("NUMBA_BOUNDSCHECK"))).encode()
        return f"{self._base}.{_sources()}.{hashlib.sha256(made_for).hexdigest()[:16]}.nbk"

    def _remove_outdated(self) -> None:
        """Remove what earlier sources were compiled to. Only where those sources lay: other folders serve several."""
        for path in glob.glob(os.path.join(glob.escape(_IN_TREE), f"{self._base}.*.nbk")):
            if not os.path.basename(path).startswith(f"{self._base}.{_sources()}."):
                with contextlib.suppress(OSError):
                    os.remove(path)


@functools.cache
def _sources() -> str:
    """A digest of all that kernels are made from: the modules of kernels, and Numba.

    Any change makes all of them anew, as helpers of one file are compiled into kernels of another. Contents, not times:
    those do not survive an image.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(glob.glob(os.path.join(glob.escape(_KERNELS), "**", "*.py"), recursive=True)):
        with open(path, "rb") as file:
            name = os.path.relpath(path, _KERNELS).replace(os.sep, "/")
            digest.update(name.encode() + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def _digest(content: bytes) -> bytes:
    """What stands before a kernel on disk: machine code that is not what was written must not run."""
    return hashlib.sha256(content).digest()
