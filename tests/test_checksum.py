"""Checksums of ids: the kernel's and its twin's, and that of the whole from those of its parts."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.idfiles.checksum import Checksum, checksum, checksum_of_parts, moved_to_front
from nbbpe.kernels.encoding.checksum import BASE


@pytest.mark.parametrize("dtype", ["<u2", "<u4"])
@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 10), max_size=3))
def test_parts_have_the_checksum_of_the_whole(dtype, data, cuts):
    ids = np.frombuffer(data[: len(data) // 4 * 4], dtype=dtype)  # which may not be written to
    parts = np.split(ids, sorted(min(cut, len(ids)) for cut in cuts))
    assert checksum_of_parts(map(checksum, parts)) == checksum(ids)
    assert checksum(ids) == (naive.checksum(ids.tobytes()), len(ids) * ids.itemsize // 2)


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 1023, 1024, 1025, 5000])
def test_many_numbers_have_the_checksum_of_its_twin(n):
    for ids in np.random.default_rng(n).integers(1 << 16, size=n, dtype=np.uint16), np.full(n, 0xFFFF, dtype=np.uint16):
        assert checksum(ids) == (naive.checksum(ids.tobytes()), n)
        assert checksum(ids[: n // 3]) == (naive.checksum(ids[: n // 3].tobytes()), n // 3)
        assert checksum_of_parts(map(checksum, (ids[: n // 3], ids[n // 3 :]))) == checksum(ids)
        assert moved_to_front(checksum(ids), checksum(ids[n // 3 :])) == checksum(np.roll(ids, n - n // 3))


def test_every_change_of_one_id_and_every_exchange_of_two_is_seen():
    ids = np.random.default_rng(0).permutation(3000).astype(np.uint16)
    whole = checksum(ids)
    for i in range(0, len(ids), 7):
        for bit in range(16):
            ids[i] ^= 1 << bit
            assert checksum(ids) != whole
            ids[i] ^= 1 << bit
    for i in range(11):
        other = ids.copy()
        other[[i, i + 2**i]] = ids[[i + 2**i, i]]
        assert checksum(other) != whole
    assert checksum(np.concatenate([ids[512:1024], ids[:512], ids[1024:]])) != whole
    assert checksum(ids) == whole


def test_it_is_written_as_sixteen_digits():
    assert str(Checksum()) == str(checksum(np.zeros(0, dtype=np.uint16))) == "0" * 16
    assert str(checksum(np.array([1, 0], dtype=np.uint16))) == f"{BASE:016x}"
