"""Memory that ends where a page begins that may not be touched: a kernel that reads or writes beyond it ends the process.

Kernels of encoding take addresses, so that NUMBA_BOUNDSCHECK sees nothing of what they do. Here every array that NumPy
makes lies between two pages without access while the fixture `guarded_arrays` is used: NumPy takes its memory from
functions that it is given (NEP 49). What lies beside an array in its own pages is checked when the array is let go.

Tests make millions of small arrays, and the kernel of the system takes longer to map a page between two others than most of
them live. So a page that was let go is filled, waits behind others, and is checked before it is given again: who wrote
to an array that was let go is seen. With NBBPE_EXHAUSTIVE=1 pages are unmapped at once: who only reads it ends, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import sys
from collections.abc import Iterator
from typing import Any

from effort import EXHAUSTIVE
from numba import cfunc, njit
from numba import types as nb

from nbbpe.kernels.machine.intrinsics import read_i64, read_u8, write_i64, write_u8

try:
    from numpy._core import _multiarray_umath
except ImportError:  # NumPy 1
    from numpy.core import _multiarray_umath

AVAILABLE = sys.platform == "linux" and sys.maxsize > 2**32
PAGE = mmap.PAGESIZE
_NONE, _READ_WRITE = 0, 3  # access to pages
_PRIVATE_ANONYMOUS = 0x22
_ALIGNED = 16  # bytes, as malloc does
_HEADER = 32  # bytes before an array: its size, and MARK three times
_MARK = 0x5A5AC3C3A55A3CC3
_FILL = 0xAB
_FILLED = int.from_bytes([_FILL] * 8, "little", signed=True)
_N_KEPT = 0 if EXHAUSTIVE else 256  # pages that were let go, and wait to be given again
_SET_HANDLER = 304  # the place of PyDataMem_SetHandler in NumPy's table of functions


if AVAILABLE:
    _libc = ctypes.CDLL(None)
    _map, _unmap, _protect = _libc.mmap, _libc.munmap, _libc.mprotect
    _map.restype = ctypes.c_ssize_t
    _map.argtypes = [ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t]
    _unmap.argtypes = [ctypes.c_ssize_t, ctypes.c_ssize_t]
    _protect.argtypes = [ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_int]


def new_pages(size: int) -> int:
    """The address of so many bytes, of whole pages, with a page before them and one behind that may not be touched."""
    start = _map(0, size + 2 * PAGE, _NONE, _PRIVATE_ANONYMOUS, -1, 0)
    assert start != -1, "no memory"
    assert _protect(start + PAGE, size, _READ_WRITE) == 0, "the pages cannot be made accessible"
    return start + PAGE


@contextlib.contextmanager
def at_page_end(n_bytes: int) -> Iterator[int]:
    """The address of so many bytes that end where a page begins that may not be read; so is the page before the first."""
    size = -(-n_bytes // PAGE) * PAGE
    at = new_pages(size)
    yield at + size - n_bytes
    _unmap(at - PAGE, size + 2 * PAGE)


def placed(text: Any) -> Any:
    """An object equal to a str of ASCII or to bytes, whose last byte (Python's closing zero) is among the last 8 of a page.

    It is a copy of the object's memory, which stays until the process ends, as anybody may hold it: its count of references
    never comes down to zero.
    """
    assert isinstance(text, bytes) or text.isascii(), "only bytes, and a str of ASCII, lie in one piece"
    n_bytes = sys.getsizeof(text)
    size = -(-n_bytes // PAGE) * PAGE
    at = new_pages(size) + (size - n_bytes) // 8 * 8
    ctypes.memmove(at, id(text), n_bytes)
    ctypes.c_uint32.from_address(at).value = 1 << 29
    return ctypes.cast(at, ctypes.py_object).value


# The functions that NumPy is given. They are compiled, as arrays that outlive Python's modules are let go by them. NumPy
# calls them with the lock of Python held, so that no two change what they keep at once.

# What they keep, from the address `state`: how many arrays were found wrong, and a ring of the pages that were let go.
_N_WRONG, _N_FREE, _FIRST_FREE, _RING = 0, 8, 16, 24


@njit
def _count_wrong(state):
    write_i64(state + _N_WRONG, read_i64(state + _N_WRONG) + 1)


@njit
def _put(state, start):
    """Keep a page; there is room for it."""
    n_free = read_i64(state + _N_FREE)
    write_i64(state + _RING + 8 * ((read_i64(state + _FIRST_FREE) + n_free) % max(_N_KEPT, 1)), start)
    write_i64(state + _N_FREE, n_free + 1)


@njit
def _take(state):
    """The page that has waited longest."""
    first = read_i64(state + _FIRST_FREE)
    write_i64(state + _FIRST_FREE, (first + 1) % max(_N_KEPT, 1))
    write_i64(state + _N_FREE, read_i64(state + _N_FREE) - 1)
    return read_i64(state + _RING + 8 * first)


@njit
def _pages_of(n_bytes):
    """How many bytes the pages take that an array lies in, without those beside them."""
    return (_HEADER + n_bytes + _ALIGNED - 1 + PAGE - 1) // PAGE * PAGE


@njit
def _allocate(state, n_bytes, fill):
    """[page without access] [unused] [header] [array] [0 to 15 bytes of _FILL] [page without access]"""
    size = _pages_of(n_bytes)
    is_kept = size == PAGE and read_i64(state + _N_FREE) > _N_KEPT // 2
    if is_kept:
        start = _take(state)
        is_whole = True
        for i in range(0, PAGE, 8):
            is_whole &= read_i64(start + PAGE + i) == _FILLED
        if not is_whole:
            _count_wrong(state)
    else:
        start = _map(0, size + 2 * PAGE, _NONE, _PRIVATE_ANONYMOUS, -1, 0)
        if start == -1:
            return 0
        _protect(start + PAGE, size, _READ_WRITE)
    end = start + PAGE + size
    at = (end - n_bytes) // _ALIGNED * _ALIGNED
    write_i64(at - _HEADER, n_bytes)
    for i in range(1, _HEADER // 8):
        write_i64(at - 8 * i, _MARK)
    if is_kept and not fill:
        for within in range(at, at + n_bytes):
            write_u8(within, 0)
    for beside in range(at if fill and n_bytes <= PAGE else at + n_bytes, end):
        write_u8(beside, _FILL)
    return at


@njit
def _free(state, at):
    n_bytes = read_i64(at - _HEADER)
    is_whole = True
    for i in range(1, _HEADER // 8):
        is_whole &= read_i64(at - 8 * i) == _MARK
    if not is_whole:  # then the size may be wrong, too
        _count_wrong(state)
        return
    end = at + n_bytes + (-n_bytes) % _ALIGNED
    for beside in range(at + n_bytes, end):
        is_whole &= read_u8(beside) == _FILL
    if not is_whole:
        _count_wrong(state)
    size = _pages_of(n_bytes)
    start = end - size - PAGE
    if size == PAGE and read_i64(state + _N_FREE) < _N_KEPT:
        for i in range(0, PAGE, 8):
            write_i64(start + PAGE + i, _FILLED)
        _put(state, start)
    else:
        _unmap(start, size + 2 * PAGE)


def _malloc(state, n_bytes):
    return _allocate(state, n_bytes, True)


def _calloc(state, n, n_bytes):
    return _allocate(state, n * n_bytes, False)


def _realloc(state, at, n_bytes):
    new = _allocate(state, n_bytes, True)
    if new and at:
        for i in range(min(n_bytes, read_i64(at - _HEADER))):
            write_u8(new + i, read_u8(at + i))
        _free(state, at)
    return new


def _release(state, at, n_bytes):
    if at:
        _free(state, at)


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("state", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]


class GuardedMemory:
    """Memory for NumPy's arrays, of which none can be left unseen."""

    def __init__(self) -> None:
        self._state = (ctypes.c_int64 * (_RING // 8 + _N_KEPT))()
        word = nb.intp
        self._functions = [  # kept, as arrays hold only their addresses
            cfunc(word(word, word))(_malloc),
            cfunc(word(word, word, word))(_calloc),
            cfunc(word(word, word, word))(_realloc),
            cfunc(nb.void(word, word, word))(_release),
        ]
        self._handler = _Handler(
            b"guard_pages", 1, ctypes.addressof(self._state), *(each.address for each in self._functions)
        )
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._name = b"mem_handler"
        self._capsule = new_capsule(ctypes.addressof(self._handler), self._name, None)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = ctypes.cast(pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
        self._set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Have NumPy take its memory here, in this thread. Raises AssertionError where bytes beside an array changed."""
        n_before = self._state[0]
        before = self._set_handler(self._capsule)
        try:
            yield
        finally:
            self._set_handler(before)
        n_wrong, self._state[0] = self._state[0] - n_before, n_before  # what is told is told once
        assert n_wrong == 0, f"bytes beside {n_wrong} arrays of NumPy were written to"


@functools.cache
def guarded_memory() -> GuardedMemory:
    """The one of this process; it is never let go, as arrays may not be either."""
    return GuardedMemory()
