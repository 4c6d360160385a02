"""Tables of kernels/pieces/piece_table.py for tests: filled, searched, and held against the keys that went in."""

from __future__ import annotations

import numpy as np
from numba import njit

from nbbpe.kernels.machine.intrinsics import address_of
from nbbpe.kernels.pieces import piece_table
from nbbpe.kernels.pieces.growing_table import SlotRoom, grown
from nbbpe.kernels.pieces.piece_table import N_ENTRIES, SLOT_WORDS, PieceTable
from nbbpe.text.utf8 import padded


@njit
def find_slot(table, text, length):
    """The slot of the key at the start of `text`, or -1."""
    table_at, key_at = piece_table.table_addresses(table), address_of(text)
    low, high = piece_table.key_of(key_at, length, table_at.state)
    slot = piece_table.find(table_at, key_at, length, low, high)
    return -1 if piece_table.is_free(table_at, slot) else slot


@njit
def insert_key(table, text, start, length):
    """Put a new key in; returns its slot, or -1 where there is no room."""
    table_at, key_at = piece_table.table_addresses(table), address_of(text) + start
    low, high = piece_table.key_of(key_at, length, table_at.state)
    slot = piece_table.find(table_at, key_at, length, low, high)
    return slot if piece_table.insert(table_at, slot, key_at, length, low, high) else -1


@njit
def copy_out(table, slot, out, position):
    table_at = piece_table.table_addresses(table)
    return piece_table.copy_key(table_at, slot, address_of(out) + position), piece_table.key_length(table_at, slot)


def find(table: PieceTable, key: bytes) -> int:
    return find_slot(table, padded(key), len(key))


def insert(table: PieceTable, key: bytes) -> tuple[PieceTable, int]:
    """Add a key and grow the table as often as it takes."""
    text = padded(b"<" + key)  # not at the start of an array, where all is aligned
    while (slot := insert_key(table, text, 1, len(key))) < 0:
        table, _ = grown(table, SlotRoom(table.slots), len(key))
    return table, slot


def key_in(table: PieceTable, slot: int) -> bytes:
    """The key of a slot, copied to where 16 bytes after it may be used too."""
    out = np.full(5 + 1000, 7, dtype=np.uint8)
    copied, length = copy_out(table, slot, out, 5)
    assert copied == length
    end = 5 + length
    assert (out[:5] == 7).all()
    assert not out[end : end + 4].any()  # zeros, which complete no broken character
    assert (out[end + 16 :] == 7).all()
    return out[5:end].tobytes()


def filled(keys: list[bytes], capacity: int = 4, pool: int = 0) -> PieceTable:
    """A table of keys, each with its number as its value."""
    table = piece_table.new_table(capacity, pool)
    for number, key in enumerate(keys):
        assert find(table, key) == -1
        table, slot = insert(table, key)
        assert table.slots[slot + 2 : slot + 4].tolist() == [0, 0]
        table.slots[slot + 2] = number
        table.slots[slot + 3] = len(keys)
    return table


def assert_holds(table: PieceTable, keys: list[bytes]) -> None:
    """Every key is found with its value and its bytes, and there are no others."""
    assert table.state[N_ENTRIES] == len(keys)
    for number, key in enumerate(keys):
        slot = find(table, key)
        assert slot >= 0, key
        assert table.slots[slot + 2 : slot + 4].tolist() == [number, len(keys)]
        assert key_in(table, slot) == key
    used = table.slots.reshape(-1, SLOT_WORDS)[:, 1] != 0
    assert used.sum() == len(keys)
