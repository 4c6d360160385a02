"""kernels/machine/addresses.py: NamedTuples of numbers, written to an array and read from it in compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import nbbpe
from nbbpe.kernels.encoding.encode_state import EncodeState, Work
from nbbpe.kernels.machine.addresses import n_numbers, numbers_of, offset_of, read_fields
from nbbpe.kernels.machine.intrinsics import address_of, read_i64

KINDS = [Work, EncodeState]


def counted(kind: type, first: int) -> tuple:
    """A NamedTuple of a class whose numbers, those of inner ones included, go up by 1 from `first`; by recursion."""
    fields = []
    for field in kind.__annotations__.values():
        inner = first if field is int else counted(field, first)
        fields.append(inner)
        first += 1 if field is int else len(list(numbers_of(inner)))
    return kind(*fields)


@njit
def read_work(numbers):
    return read_fields(Work, address_of(numbers))


@njit
def read_state(numbers):
    return read_fields(EncodeState, address_of(numbers))


@njit
def read_some(numbers):
    state = read_fields(EncodeState, address_of(numbers))
    return state.merges.secret, state.cache.table.pool, state.specials.longest, state.work


@pytest.mark.parametrize(("kind", "read"), [(Work, read_work), (EncodeState, read_state)])
def test_what_was_written_is_read_field_by_field(kind, read):
    wanted = counted(kind, -5)
    numbers = np.array([*numbers_of(wanted)], dtype=np.int64)
    assert len(numbers) == n_numbers(kind)
    found = read(numbers)
    assert found == wanted
    assert type(found) is kind


def test_fields_of_inner_tuples_have_their_names():
    wanted = counted(EncodeState, 100)
    numbers = np.array([*numbers_of(wanted)], dtype=np.int64)
    merges, table = wanted.merges, wanted.cache.table
    assert read_some(numbers) == (merges.secret, table.pool, wanted.specials.longest, wanted.work)


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_stands_where_its_offset_says(kind):
    wanted = counted(kind, 7)
    numbers = np.array([*numbers_of(wanted)], dtype=np.int64)
    for name, field in zip(kind._fields, wanted, strict=True):
        first = field if isinstance(field, int) else next(numbers_of(field))
        assert numbers[offset_of(kind, name) // 8] == first, name
    with pytest.raises(AttributeError, match=f"{kind.__name__} has no field nothing"):
        offset_of(kind, "nothing")


def test_a_part_of_memory_is_read_at_any_address():
    numbers = np.arange(40, dtype=np.int64)

    @njit
    def read(numbers, first):
        at = address_of(numbers) + 8 * first
        return read_fields(Work, at), read_i64(at)

    for first in 0, 3, 20:
        work, number = read(numbers, first)
        assert list(work) == [*range(first, first + len(Work._fields))]
        assert number == first


def test_the_array_of_a_state_has_the_addresses_of_its_arrays():
    tokenizer = nbbpe.train(iter(["the cat sat on the mat"]), 260, ["<|end|>"])
    tokenizer.encode("the cat<|end|>")
    state = tokenizer._encoder._idle[0]
    found = read_state(state._array)
    assert found.out == state.out.ctypes.data
    assert found.cache.table.slots == state.table.slots.ctypes.data
    assert found.cache.ids_pool_size == len(state.ids_pool)
    assert found.specials.longest == len("<|end|>")
    assert found.work == state.work.ctypes.data
