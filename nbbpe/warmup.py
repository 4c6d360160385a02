"""Compiles all kernels and named patterns ahead of time: for images, for machines that start together, and for wheels."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .system.excerpt import shown
from .system.links import target_of


class Warmup(NamedTuple):
    """The result of `warmup`.

    n_compiled : how many kernels were compiled now; the others were on disk
    folders : where compiled kernels are stored, and how many in each; empty if they cannot be stored
    seconds : how long it took
    n_lost : how many kernels could not be stored now, so that each process compiles them again; stderr says why
    """

    n_compiled: int
    folders: dict[str, int]
    seconds: float
    n_lost: int = 0


def warmup(into: str | os.PathLike[str] | None = None, cpu: str | Iterable[str] = ()) -> Warmup:
    """Compile every kernel that is not on disk yet and store it, so that no later process has to.

    into : a folder to write them to, for use elsewhere with any version of Numba and llvmlite, or without them. By default
           NUMBA_CACHE_DIR if that is set, else the folder of the installed package, else the user's cache folder. Kernels
           in the package can be read by all of its users; the other two folders are the user's own. A folder that others
           can write to is not used, because kernels are code that runs
    cpu  : processors to compile for, one or several, instead of this machine's: "generic", or on an x86 machine
           "x86-64", "x86-64-v2", "x86-64-v3" or "x86-64-v4"; each with more features if needed, as in
           "x86-64-v4+avx512vbmi+avx512vbmi2". A process uses the kernels for exactly its processor, or else those that
           use most of its features

    A process looks for kernels in the folder `nbbpe` of its NUMBA_CACHE_DIR, and in `nbbpe/kernels/objects` of the
    installed package. Python, NumPy and system must be the same where they are used. Takes about 20 seconds for each
    processor, or one second if all kernels are on disk already. Raises ValueError for a processor that is unknown, OSError
    for a folder `into` that cannot be written to, or that others can write to, RuntimeError for `cpu` in a program that
    embeds Python, and where a plain `njit` compiles the kernels, which makes none for others.

    >>> import nbbpe
    >>> warm = nbbpe.warmup()
    >>> nbbpe.warmup().n_compiled
    0
    """
    from .kernels.compiler import kernel_files, plain, target
    from .kernels.compiler.trusted_folders import PrivateFolder

    began = time.perf_counter()
    wanted = list(cpu) if isinstance(cpu, Iterable) and not isinstance(cpu, str) else [cpu]
    if not all(isinstance(label, str) for label in wanted):
        raise TypeError(f"cpu must be the name of a processor, or a list of them, not {shown(cpu)}")
    folder = None if into is None else target_of(into)
    if folder is not None:
        _check_writable(folder)
    labels = [target.label_of(target.parse_wanted(label)) for label in wanted]
    if labels:
        done = [_in_another_process(folder, label) for label in labels]
        n_compiled, n_lost = (sum(numbers) for numbers in zip(*done, strict=True))
    else:
        n_compiled, n_lost = compile_all(folder)
    store_tables(folder)
    found = plain.count_stored() if plain.is_plain() else kernel_files.count_stored()
    if folder is not None:
        found = {path: n for path, n in [(folder, kernel_files.count_stored_in(PrivateFolder(folder)))] if n}
    return Warmup(n_compiled, found, time.perf_counter() - began, n_lost)


def _check_writable(folder: str) -> None:
    """Raise OSError if kernels cannot be stored in a folder."""
    import tempfile

    from .kernels.compiler.trusted_folders import PrivateFolder, Untrusted

    try:
        tempfile.TemporaryFile(dir=PrivateFolder(folder).make()).close()
    except Untrusted as why:
        raise PermissionError(f"kernels cannot be stored in {folder!r}: {why}") from None
    except OSError as error:
        raise type(error)(f"kernels cannot be stored in {folder!r} ({error.strerror})") from error


def compile_all(into: str | None) -> tuple[int, int]:
    """Compile and store all missing kernels for the processor of this process; returns (n_compiled, n_lost), see Warmup."""
    import pkgutil

    from . import kernels
    from .kernels.compiler import jit, kernel_files, obtain, plain
    from .kernels.compiler.beside import compile_beside

    for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        if not module.name.startswith(f"{kernels.__name__}.compiler"):
            importlib.import_module(module.name)
    obtain.notice = "compiling kernels, 5 to 30 seconds ..."  # the usual notice advises to run warmup
    missing = [] if plain.is_plain() else [each for each in jit.KERNELS if kernel_files.read(each.name) is None]
    if into is None and missing:
        compile_beside(missing[::-1])  # from the last one backwards: the two processes meet in the middle
    stored = [obtain.obtain_object(kernel, into) for kernel in jit.KERNELS]
    n_compiled = sum(
        was_compiled or kernel in missing for kernel, (_, was_compiled) in zip(jit.KERNELS, stored, strict=True)
    )
    return n_compiled, sum(folder is None for folder, _ in stored)


def store_tables(into: str | None) -> None:
    """Store the tables of all named patterns and of no pattern, and the digests by which a custom regex is recognised as
    one of the named ones: in the folder `into`, or with None where kernels are stored."""
    from .patterns.character_classes import classes_digest
    from .patterns.known_regexes import names_of_digests
    from .patterns.pattern import NAMED
    from .patterns.pattern_argument import get_pattern
    from .patterns.stored_tables import store_pattern_tables

    classes_digest(into)
    names_of_digests(into)
    for pattern in [*NAMED.values(), get_pattern(None)]:
        tables = pattern.tables  # stores them where kernels are, if they are missing there
        if into is not None and tables is not None:
            store_pattern_tables(pattern.applied, tables, into)


def _in_another_process(into: str | None, label: str) -> tuple[int, int]:
    """Run `compile_all` for another processor in a new process, as Numba reads the processor when it is imported."""
    import subprocess

    from .kernels.compiler.beside import is_python, options_for_bytecode

    if not is_python():
        raise RuntimeError(
            f"kernels for other processors are compiled by another Python process, and {sys.executable!r} (sys.executable) "
            "is not a Python that can be started: use python -m nbbpe warmup"
        )
    processor, plus, features = label.partition("+")
    settings = {
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": (plus + features).replace("+", ",+").lstrip(","),
    }
    # Use the module search path of this process, without the current folder, which may be a stranger's. Python ignores
    # entries that are not str.
    path = [str(Path(__file__).parents[1]), *(entry for entry in sys.path if isinstance(entry, str))]
    call = f"from nbbpe.warmup import compile_for_another; compile_for_another({into!r})"
    script = f"import sys; sys.path[:] = {path!r}; {call}"
    done = subprocess.run(
        [sys.executable, *options_for_bytecode(), "-c", script],
        env={**os.environ, **settings}, stdout=subprocess.PIPE, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        why = done.stdout.strip() or f"the process that compiles them ended with exit code {done.returncode}"
        raise RuntimeError(f"kernels for the processor {label!r} could not be compiled: {why}")
    n_compiled, n_lost = map(int, done.stdout.split())
    return n_compiled, n_lost


def compile_for_another(into: str | None) -> None:
    """Print what `compile_all` returns, or why it failed, and exit with 0 or 1: the code of the other process."""
    try:
        message, code = " ".join(map(str, compile_all(into))), 0
    except Exception as error:
        message, code = str(error) or type(error).__name__, 1
    sys.stdout.buffer.write(message.encode(errors="backslashreplace"))
    sys.stdout.flush()
    sys.exit(code)
