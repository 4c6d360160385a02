"""The arguments of kernels: they arrive as they are, others are refused, and no reference is kept or lost."""

from __future__ import annotations

import sys
from typing import NamedTuple

import compiled
import numpy as np
import pytest

from nbbpe.kernels.compiler import plain
from nbbpe.kernels.compiler.jit import kernel
from nbbpe.kernels.compiler.signature import boolean, int64, reads, structure, uint8, uint64


@structure(uint8[:], int64)
class Two(NamedTuple):
    text: np.ndarray
    n: int


@compiled.compile_now(reads(uint8[:]), int64[:, :], boolean, uint64, Two)
def add_up(text, numbers, flag, big, pair):
    total = np.uint64(len(pair.text) + pair.n)
    for i in range(len(text)):
        total += np.uint64(text[i])
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            total += np.uint64(numbers[i, j])
    if flag:
        total += big
    return total, flag, numbers.shape[1]


def arguments(**others):
    usual = {
        "text": np.arange(5, dtype=np.uint8),
        "numbers": np.ones((2, 3), dtype=np.int64),
        "flag": True,
        "big": 2**63,
        "pair": Two(np.zeros(2, dtype=np.uint8), 3),
    }
    return tuple((usual | others).values())


def test_arguments_reach_a_kernel_as_they_are():
    assert add_up(*arguments()) == (21 + 2**63, True, 3)
    assert add_up(*arguments(flag=False)) == (21, False, 3)
    assert add_up(*arguments(big=np.uint64(5), numbers=np.zeros((0, 7), dtype=np.int64))) == (20, True, 7)
    assert add_up(*arguments(text=np.frombuffer(b"\1\2", dtype=np.uint8))) == (14 + 2**63, True, 3)
    mapped = np.arange(5, dtype=np.uint8).view(np.memmap)
    assert add_up(*arguments(text=mapped, pair=Two(mapped, np.int64(-1))))[0] == 20 + 2**63
    assert [type(each) for each in add_up(*arguments())] == [int, bool, int]


def closed():
    array = np.ones((2, 3), dtype=np.int64)
    array.flags.writeable = False
    return array


def unaligned():
    return np.frombuffer(bytearray(49), dtype=np.uint8)[1:].view(np.int64).reshape(2, 3)


WRONG = [
    ({"text": np.zeros(3, dtype=np.int8)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros(3, dtype=bool)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros((3, 1), dtype=np.uint8)}, "takes uint8.:. as argument 1, in C order"),
    ({"text": np.zeros(6, dtype=np.uint8)[::2]}, "in C order"),
    ({"text": b"abc"}, "takes uint8.:. as argument 1, not another object"),
    ({"text": None}, "takes uint8.:. as argument 1, not another object"),
    ({"numbers": np.ones((2, 3), dtype=">i8")}, "in native byte order"),
    ({"numbers": np.ones((2, 3), dtype=np.uint64)}, "takes int64.:, :. as argument 2"),
    ({"numbers": np.ones((2, 3), dtype="m8[s]")}, "takes int64.:, :. as argument 2"),
    ({"numbers": np.ones((2, 3), order="F", dtype=np.int64)}, "in C order"),
    ({"numbers": closed()}, "that can be written to"),
    ({"numbers": unaligned()}, "aligned"),
    ({"big": 1.5}, "cannot be interpreted as an integer"),
    ({"big": "1"}, "cannot be interpreted as an integer"),
    ({"pair": (np.zeros(2, dtype=np.uint8), 3)}, "takes a Two as argument 5"),
    ({"pair": None}, "takes a Two as argument 5"),
    ({"pair": Two(np.frombuffer(b"\1", dtype=np.uint8), 3)}, "takes uint8.:. as text of argument 5"),
]


@pytest.mark.skipif(plain.is_plain(), reason="a plain njit has messages of its own")
@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_other_arguments_are_refused(wrong, message):
    with pytest.raises(TypeError, match=message):
        add_up(*arguments(**wrong))


@pytest.mark.skipif(plain.is_plain(), reason="a plain njit has messages of its own")
def test_numbers_that_do_not_fit_and_other_numbers_of_arguments_are_refused():
    for big in -1, 2**64:
        with pytest.raises(OverflowError):
            add_up(*arguments(big=big))
    with pytest.raises(OverflowError):
        add_up(*arguments(pair=Two(np.zeros(2, dtype=np.uint8), 2**63)))
    for n in 0, 4, 6:
        with pytest.raises(TypeError, match="takes 5 arguments"):
            add_up(*(*arguments(), 1)[:n])
    with pytest.raises(TypeError):
        add_up(*arguments()[:4], pair=None)


@pytest.mark.parametrize("others", [{}, {"text": None}, {"big": -1}, {"pair": None}], ids=repr)
def test_no_references_are_kept_or_lost(others):
    add_up(*arguments())  # where it is compiled first, this takes references of its own
    given = arguments(**others)
    before = [sys.getrefcount(each) for each in (*given, None, True)]
    for _ in range(300):
        try:
            add_up(*given)
        except (TypeError, OverflowError):
            assert others
    after = [sys.getrefcount(each) for each in (*given, None, True)]
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


def test_a_kernel_that_declares_the_type_of_its_result_too_is_an_error_where_it_is_declared():
    def add_one(number):
        return number + 1

    with pytest.raises(TypeError, match=r"^@kernel of add_one declares 2 types for 1 arguments; the type of the result"):
        kernel(int64, int64)(add_one)
