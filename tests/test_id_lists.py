"""Ids become lists of int as NumPy makes them, but equal ids are one object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise

import numpy as np
import pytest

from nbbpe.encoding import id_lists
from nbbpe.encoding.id_lists import list_of, lists_of


@pytest.fixture(autouse=True)
def none_kept(monkeypatch):
    """No ints from other tests, and few ids at a time."""
    monkeypatch.setattr(id_lists, "_kept", id_lists._kept[:0])
    monkeypatch.setattr(id_lists, "_n_listed", 0)
    monkeypatch.setattr(id_lists, "_AT_ONCE", 256)


def starts_of(sizes: list[int]) -> np.ndarray:
    return np.cumsum([0, *sizes], dtype=np.int64)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 512, 513, 767, 768, 769, 2000])
def test_a_list_is_that_of_numpy(n: int, dtype: type):
    ids = np.random.default_rng(n).integers(0, 1000, n).astype(dtype)
    for _ in range(2):
        found = list_of(ids)
        assert found == ids.tolist()
        assert set(map(type, found)) <= {int}


SIZES = [[], [0], [0, 0], [5], [0, 5, 0], [300], [256], [255, 1, 256, 2], [0, 700, 0, 1], [3] * 300, [1, 600, 1]]


@pytest.mark.parametrize("sizes", SIZES)
def test_lists_are_those_of_numpy(sizes: list[int]):
    starts = starts_of(sizes)
    ids = np.random.default_rng(1).integers(0, 700, starts[-1]).astype(np.uint16)
    expected = [ids[start:end].tolist() for start, end in pairwise(starts)]
    assert lists_of(ids, starts) == expected


def test_random_lists_are_those_of_numpy():
    rng = np.random.default_rng(2)
    for _ in range(100):
        sizes = rng.integers(0, rng.choice([2, 20, 400]), rng.integers(0, 50)).tolist()
        starts = starts_of(sizes)
        ids = rng.integers(0, rng.choice([5, 1000, 100_000]), starts[-1]).astype(np.uint32)
        found = lists_of(ids, starts)
        assert list(map(len, found)) == sizes
        assert list(chain.from_iterable(found)) == ids.tolist()


def test_equal_ids_of_all_lists_are_one_object():
    ids = np.arange(1000).astype(np.uint32)
    first, second, (third,) = list_of(ids), list_of(ids), lists_of(ids, starts_of([1000]))
    assert all(a is b is c for a, b, c in zip(first, second, third, strict=True))


def test_ints_are_made_when_as_many_ids_were_listed():
    ids = np.full(600, 1400, dtype=np.uint32)
    for kept in 0, 0, 1401, 1401:
        assert list_of(ids) == [1400] * 600
        assert lists_of(ids[:0], starts_of([0])) == [[]]
        assert len(id_lists._kept) == kept
    assert lists_of(ids, starts_of([200, 400])) == [[1400] * 200, [1400] * 400]


def test_ints_are_not_made_for_ids_that_are_very_large(monkeypatch):
    monkeypatch.setattr(id_lists, "_MOST", 600)
    for largest, kept in (600, 0), (599, 600):
        ids = np.full(1000, largest, dtype=np.uint32)
        assert list_of(ids) == [largest] * 1000
        assert len(id_lists._kept) == kept


def test_more_ints_follow_those_that_were_made():
    few = list_of(np.arange(600))
    more = list_of(np.arange(800))
    assert more == list(range(800))
    assert all(a is b for a, b in zip(few, more[:600], strict=True))


def test_threads_may_make_them_at_once():
    arrays = [np.arange(n) for n in range(513, 3000, 50)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(list_of, arrays)) == [array.tolist() for array in arrays]
