"""Places object code in memory: ELF for x86-64, as Linux has it, without LLVM.

A kernel's object code refers to everything by absolute addresses of 64 bits (LLVM's large code model), so that placing it
means: copy its sections, write the addresses, and make the code executable. LLVM's library would take 50 ms and 40 MB for
that in each process. Whatever else an object asks for is left to it, see loader.py.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

_HEADER = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_X86_64 = 62
_SYMBOLS, _RELOCATIONS, _EMPTY, _UNWIND = 2, 4, 8, 0x70000001  # types of sections
_WRITE, _ALLOCATE = 1, 2  # flags of sections
_ADDRESS = 1  # R_X86_64_64: the address of a symbol plus a number, in 64 bits
_FUNCTION = 2  # type of a symbol
_PAGE = mmap.PAGESIZE


class NotPlaced(Exception):
    """The object code, or this system, is not of the kind that is placed here."""


class Placed(NamedTuple):
    """Code in memory.

    address : of its entry
    memory  : that holds it, and must outlive its use
    """

    address: int
    memory: Any


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


def place(content: bytes, entry: str, addresses: Mapping[str, int]) -> Placed:
    """Place object code, and find its entry.

    addresses : of the names that it may refer to

    Raises NotPlaced.
    """
    if content[:6] != _HEADER or struct.unpack_from("<H", content, 18)[0] != _X86_64 or not hasattr(mmap, "MAP_ANONYMOUS"):
        raise NotPlaced
    (sections_at,) = struct.unpack_from("<Q", content, 0x28)
    size, n_sections = struct.unpack_from("<2H", content, 0x3A)
    sections = [_Section(*struct.unpack_from("<2I4Q2I2Q", content, sections_at + size * i)) for i in range(n_sections)]
    places, n_read_only, n_bytes = _layout(sections)
    memory = mmap.mmap(-1, max(n_bytes, _PAGE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for number, place_of in places.items():
        section = sections[number]
        if section.kind != _EMPTY:
            memory[place_of : place_of + section.size] = content[section.at : section.at + section.size]
    symbols = _symbols(content, sections, {number: base + place_of for number, place_of in places.items()}, addresses)
    for section in sections:
        if section.kind == _RELOCATIONS and section.info in places:
            _relocate(content, section, memory, places[section.info], symbols)
    found = [address for name, kind, address in symbols if name == entry and kind == _FUNCTION]
    if len(found) != 1 or found[0] is None:
        raise NotPlaced
    _make_executable(base, n_read_only)
    return Placed(found[0], memory)


def _layout(sections: list[_Section]) -> tuple[dict[int, int], int, int]:
    """Where sections go, by their numbers: code and constants first, then, from a new page on, what is written to.

    Returns the offsets, the bytes of the first part, in whole pages, and those of both.
    """
    # No exception is ever thrown through a kernel, so nobody looks for the tables to unwind it.
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


def _symbols(
    content: bytes, sections: list[_Section], bases: dict[int, int], addresses: Mapping[str, int]
) -> list[tuple[str, int, int | None]]:
    """All symbols as (name, type, address); None for the address of one that is nowhere."""
    table = next((each for each in sections if each.kind == _SYMBOLS), None)
    if table is None:
        raise NotPlaced
    names_at = sections[table.link].at
    found: list[tuple[str, int, int | None]] = []
    for at in range(table.at, table.at + table.size, 24):
        name_at, info, _, section, value, _ = struct.unpack_from("<I2BH2Q", content, at)
        name = content[names_at + name_at : content.index(b"\0", names_at + name_at)].decode("ascii")
        in_memory = bases[section] + value if section in bases else None
        found.append((name, info & 0xF, addresses.get(name) if section == 0 else in_memory))
    return found


def _relocate(
    content: bytes, relocations: _Section, memory: mmap.mmap, section_at: int, symbols: list[tuple[str, int, int | None]]
) -> None:
    """Write the addresses that a section at an offset in memory asks for."""
    for at in range(relocations.at, relocations.at + relocations.size, 24):
        offset, kind, symbol, addend = struct.unpack_from("<Q2Iq", content, at)
        address = symbols[symbol][2]
        if kind != _ADDRESS or address is None:
            raise NotPlaced
        struct.pack_into("<Q", memory, section_at + offset, address + addend)


def _make_executable(base: int, n_bytes: int) -> None:
    """Memory can be written to, or executed, and never both. Raises NotPlaced where the system refuses that."""
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes, protect.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    if protect(base, n_bytes, mmap.PROT_READ | mmap.PROT_EXEC):
        raise NotPlaced


def _round_up(n: int, to: int) -> int:
    return -(-n // to) * to
