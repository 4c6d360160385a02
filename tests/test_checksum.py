"""Checksums: that of the whole from those of its parts is what zlib says of the whole."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe import checksum
from nbbpe.checksum import Checksum, concatenated


def of(data: bytes) -> Checksum:
    return Checksum().after(memoryview(data))


@pytest.mark.parametrize("few", [0, 4, 1 << 16])
@given(parts=st.lists(st.binary(max_size=20)))
def test_parts_have_the_checksum_of_the_whole(few, parts):
    whole = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksum, "_ZEROS", memoryview(bytes(few)))
        assert concatenated(map(of, parts)) == of(whole) == Checksum(zlib.crc32(whole), len(whole))


def test_long_parts_have_the_checksum_of_the_whole():
    data = bytes(range(256)) * 10_000
    parts = [data[:70_000], data[70_000:70_001], b"", data[70_001:]]
    assert concatenated(map(of, parts)) == of(data)


def test_it_goes_on_where_it_was():
    assert of(b"the cat").after(memoryview(b" sat")) == of(b"the cat sat")
    assert concatenated([]) == of(b"") == Checksum(0, 0)
