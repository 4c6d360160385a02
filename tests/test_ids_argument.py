"""Lists of ids as kernels take them: every number as it is, or the whole list refused; nothing leaks."""

import sys
import tracemalloc
from enum import IntEnum

import compiled
import naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.compiler.signature import int64
from nbbpe.kernels.machine.ids_argument import IDS_ARGUMENT, NO_LIST
from nbbpe.kernels.machine.intrinsics import read_i64

pytestmark = pytest.mark.usefixtures("guarded_arrays")


class Numbers(list):
    pass


class Number(int):
    pass


class Kind(IntEnum):
    ONE = 1


@compiled.compile_now(IDS_ARGUMENT, int64[:])
def _read(ids, out):
    for i in range(min(ids.n, out.shape[0])):
        out[i] = read_i64(ids.at + 8 * i)
    return ids.n


def taken(ids):
    """The numbers that a kernel gets of a list, None where it gets none."""
    room = np.full(2000, -7, dtype=np.int64)
    n = _read(ids, room)
    return None if n == NO_LIST else room[:n].tolist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 300), max_size=90))
@example([])
@example([2**63 - 1, -(2**63), -1, 0])
@example(list(range(2000)))
def test_numbers_cross_as_they_are(ids):
    assert taken(ids) == naive.plain_ids(ids) == ids


REFUSED = [True, 1.0, "1", None, 2**63, -(2**63) - 1, 2**200, np.int64(1), np.uint8(1), Number(1), Kind.ONE, [1], b"1"]


@pytest.mark.parametrize("bad", REFUSED, ids=repr)
@pytest.mark.parametrize("place", [0, 1, 99])
def test_a_list_with_anything_else_is_refused_whole(bad, place):
    ids = list(range(100))
    ids[place] = bad
    assert taken(ids) is None
    assert naive.plain_ids(ids) is None


@pytest.mark.parametrize(
    "ids", [None, (1, 2), {1: 2}, range(3), np.arange(3), iter([1]), "12", b"12", 5, Numbers([1]), list]
)
def test_what_is_no_list_is_refused(ids):
    assert taken(ids) is None
    assert naive.plain_ids(ids) is None


@pytest.mark.parametrize(
    "ids", [[], [1], [70_000] * 1000, [1, 2, None], [2**70, 1], None, (1,)], ids=lambda ids: repr(ids)[:20]
)
def test_neither_memory_nor_references_leak(ids):
    def take():
        for _ in range(200):
            taken(ids)

    items = ids or []
    take()
    tracemalloc.start()
    try:
        take()
        counts, n_bytes = [sys.getrefcount(item) for item in (ids, *items)], tracemalloc.get_traced_memory()[0]
        take()
        assert tracemalloc.get_traced_memory()[0] - n_bytes < 10_000  # one list of 1,000 numbers has 8,000
        after = [sys.getrefcount(item) for item in (ids, *items)]
        assert all(abs(now - before) < 50 for now, before in zip(after, counts, strict=True))
    finally:
        tracemalloc.stop()


def test_a_long_text_is_decoded_whole_and_its_room_let_go():
    vocab = BYTES | {256: b"x" * 300_000, 257: b""}
    tokenizer = nbbpe.Tokenizer({i: token for i, token in vocab.items() if token}, [])
    decoder = tokenizer._decoder
    for ids in ([97] * 200, [256, 97] * 2, [97] * 20_000, [256, 98] * 9, [97], []):
        expected = naive.decode(ids, vocab)
        assert tokenizer.decode_bytes(ids) == tokenizer.decode_bytes(np.array(ids, dtype=np.int32)) == expected
        assert tokenizer.decode(ids) == expected.decode()
        assert sum(out.n_bytes for out in decoder._idle) <= 1 << 20
