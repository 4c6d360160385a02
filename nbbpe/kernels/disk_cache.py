"""Compiled kernels on disk: found by what they were made from, read from wherever they lie, written where that is allowed.

Numba's own cache takes the first folder that it may write to, and looks nowhere else. So what an image was built with
(`nbbpe warmup`, by root) would not be found by a user who may only read it; without any folder to write to Numba refuses
to compile at all. And it keeps an index beside the files of each kernel, which processes that start at once, or machines
with different processors and one home, write over each other's. Here a file's name says all that the index would.
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
import uuid
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

_HERE = os.path.dirname(os.path.abspath(__file__))
_IN_TREE = os.path.join(_HERE, "__pycache__")
_DIGEST = 32  # bytes of a digest
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"


def folders() -> list[str]:
    """Where compiled kernels may lie, in the order in which they are looked for and written.

    NUMBA_CACHE_DIR alone, where it is set and may be written to. Else the folder of the installed package, then the
    user's cache folder.
    """
    return _folders(getattr(config, "CACHE_DIR", ""))


@functools.cache
def _folders(chosen: str) -> list[str]:
    users = os.path.join(AppDirs(appname="nbbpe", appauthor=False).user_cache_dir, "kernels")
    if not chosen:
        return [_IN_TREE, users]
    chosen = os.path.join(chosen, "nbbpe")
    try:
        os.makedirs(chosen, exist_ok=True)
        tempfile.TemporaryFile(dir=chosen).close()
    except OSError:
        return [chosen, _IN_TREE, users]
    return [chosen]


def kept() -> dict[str, int]:
    """How many kernels each folder has, as the sources are now; folders that have none are left out."""
    found = {}
    for folder in folders():
        pattern = os.path.join(glob.escape(folder), f"*.{_PYTHON}.{_sources()}.*.nbk")
        names = {os.path.basename(path).partition(f".{_PYTHON}.")[0] for path in glob.glob(pattern)}
        if names:
            found[folder] = len(names)
    return found


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
            # Not there, not ours to read, or damaged by a crash: it is compiled again, and written anew.
            with contextlib.suppress(OSError):
                with open(os.path.join(folder, name), "rb") as file:
                    digest, content = file.read(_DIGEST), file.read()
                if digest == _digest(content):
                    self._folder = folder
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
        for folder in folders():
            try:
                _write(folder, name, _digest(content) + content)
            except OSError:
                continue
            self._folder = folder
            if folder == _IN_TREE:
                self._remove_outdated()
            return
        _say_that_nothing_is_kept()

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
    """A digest of all that kernels are made from: the files of this folder, and Numba.

    Any change makes all of them anew, as helpers of one file are compiled into kernels of another. Contents, not times:
    those do not survive an image.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for name in sorted(os.listdir(_HERE)):
        if name.endswith(".py"):
            with open(os.path.join(_HERE, name), "rb") as file:
                digest.update(name.encode() + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()[:16]


def _digest(content: bytes) -> bytes:
    """What stands before a kernel on disk: machine code that is not what was written must not run."""
    return hashlib.sha256(content).digest()


def _write(folder: str, name: str, content: bytes) -> None:
    """Write a file that appears under its name only when it is whole."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    partial = f"{path}.{uuid.uuid4().hex[:16]}"
    try:
        with open(partial, "wb") as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(partial)
        raise


@functools.cache
def _say_that_nothing_is_kept() -> None:
    print(
        f"nbbpe: compiled kernels cannot be kept, as none of these folders can be written to: {', '.join(folders())}. Each "
        "process will compile them again; set NUMBA_CACHE_DIR to a folder that can",
        file=sys.stderr,
        flush=True,
    )
