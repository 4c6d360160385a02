"""Read object code in ELF, and place it in memory without LLVM if it is for x86-64 on Linux.

A kernel's object code refers to everything by absolute addresses of 64 bits (LLVM's large code model). So placing it means
to copy its sections, write the addresses, and make the code executable. LLVM's library would take 50 ms and 40 MB for that
in each process. An object that needs anything else is left to LLVM, see loader.py.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_HEADER = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_X86_64 = 62
_SYMBOLS, _RELOCATIONS, _EMPTY, _UNWIND = 2, 4, 8, 0x70000001  # types of sections
_WRITE, _ALLOCATE = 1, 2  # flags of sections
_ADDRESS = 1  # R_X86_64_64: the address of a symbol plus a number, in 64 bits
_FUNCTION = 2  # type of a symbol
_PAGE = mmap.PAGESIZE


class NotPlaced(Exception):
    """The object code, or this system, is of a kind that this module does not handle."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    at: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """A name in object code.

    kind    : _FUNCTION, or another number
    section : the number of its section; 0 for a name that the object code refers to and does not define
    offset  : its offset in the section
    """

    name: str
    kind: int
    section: int
    offset: int


def is_elf(content: bytes) -> bool:
    """Whether object code is ELF of the kind that is read here: of 64 bits, little-endian."""
    return content[:6] == _HEADER


def referred(content: bytes) -> set[str]:
    """The names that object code refers to and does not define."""
    return {each.name for each in _symbols(content, _sections(content))[1:] if each.section == 0}  # the first has no name


def defined(content: bytes) -> set[str]:
    """The names of the functions that object code defines."""
    return {each.name for each in _symbols(content, _sections(content)) if each.kind == _FUNCTION and each.section}


def place(content: bytes, functions: Sequence[str], addresses: Mapping[str, int]) -> tuple[list[int], Any]:
    """Place object code, and find functions in it by their names.

    addresses : the addresses of the names that it may refer to

    Returns the addresses of the functions, and the memory that holds them, which must outlive their use. Raises NotPlaced.
    """
    if not is_elf(content) or struct.unpack_from("<H", content, 18)[0] != _X86_64 or not hasattr(mmap, "MAP_ANONYMOUS"):
        raise NotPlaced
    sections = _sections(content)
    places, n_read_only, n_bytes = _layout(sections)
    memory = mmap.mmap(-1, max(n_bytes, _PAGE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for number, place_of in places.items():
        section = sections[number]
        if section.kind != _EMPTY:
            memory[place_of : place_of + section.size] = content[section.at : section.at + section.size]
    symbols = _symbols(content, sections)
    # None for a symbol without an address.
    resolved = [
        addresses.get(each.name)
        if each.section == 0
        else base + places[each.section] + each.offset
        if each.section in places
        else None
        for each in symbols
    ]
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in places:
            _relocate(content, section, memory, places[section.info], resolved)
    found = {each.name: at for each, at in zip(symbols, resolved, strict=True) if each.kind == _FUNCTION and each.section}
    wanted = [address for name in functions if (address := found.get(name)) is not None]
    if len(wanted) != len(functions):
        raise NotPlaced
    _make_executable(base, n_read_only)
    return wanted, memory


def _sections(content: bytes) -> list[_Section]:
    (sections_at,) = struct.unpack_from("<Q", content, 0x28)
    size, n_sections = struct.unpack_from("<2H", content, 0x3A)
    return [_Section(*struct.unpack_from("<2I4Q2I2Q", content, sections_at + size * i)) for i in range(n_sections)]


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int, int]:
    """The places of sections: code and constants first, then, from a new page on, sections that are written to.

    Returns the offset of each section by its number, the bytes of the first part, in whole pages, and the bytes of both.
    """
    # No exception is ever thrown through a kernel, so its unwind tables are not needed.
    needed = [i for i, each in enumerate(sections) if each.flags & _ALLOCATE and each.kind != _UNWIND and each.size]
    places = {}
    end = n_read_only = 0
    for is_written in False, True:
        for i in needed:
            if bool(sections[i].flags & _WRITE) == is_written:
                end = _round_up(end, max(sections[i].alignment, 1))
                places[i] = end
                end += sections[i].size
        end = _round_up(end, _PAGE)
        if not is_written:
            n_read_only = end
    return places, n_read_only, end


def _symbols(content: bytes, sections: list[_Section]) -> list[_Symbol]:
    table = next((each for each in sections if each.kind == _SYMBOLS), None)
    if table is None:
        return []
    names_at = sections[table.link].at
    return [
        _Symbol(string_at(content, names_at + name_at), info & 0xF, section, value)
        for name_at, info, _, section, value, _ in struct.iter_unpack("<I2BH2Q", content[table.at : table.at + table.size])
    ]


def string_at(content: bytes, at: int) -> str:
    """The string at an offset in object code, which ends with a byte 0."""
    return content[at : content.index(b"\0", at)].decode("ascii")


def _relocate(content: bytes, relocations: _Section, memory: mmap.mmap, section_at: int, symbols: list[int | None]) -> None:
    """Write the addresses of symbols where the relocations of a section say, for the section at `section_at` in memory."""
    entries = content[relocations.at : relocations.at + relocations.size]
    for offset, kind, symbol, addend in struct.iter_unpack("<Q2Iq", entries):
        address = symbols[symbol]
        if kind != _ADDRESS or address is None:
            raise NotPlaced
        struct.pack_into("<Q", memory, section_at + offset, address + addend)


def _make_executable(base: int, n_bytes: int) -> None:
    """Make memory executable, and no longer writable. Raises NotPlaced if the system refuses that."""
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes, protect.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    if protect(base, n_bytes, mmap.PROT_READ | mmap.PROT_EXEC):
        raise NotPlaced


def _round_up(n: int, to: int) -> int:
    return -(-n // to) * to
