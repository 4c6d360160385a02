"""sources/tables/arrow_blocks.py: the record batches of Arrow files, as pyarrow finds them."""

from __future__ import annotations

import io
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.sources.tables.arrow_blocks import find_blocks

arrow = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')


def written(batches: list, **options) -> bytes:
    data = io.BytesIO()
    with arrow.ipc.new_file(data, batches[0].schema, options=arrow.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return data.getvalue()


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([None, "lz4", "zstd"]),
    st.sampled_from([{}, {"use_legacy_format": True, "metadata_version": arrow.ipc.MetadataVersion.V4}]),
)
def test_the_rows_and_bytes_of_each_record_batch_are_found(sizes, n_columns, is_dictionary, compression, version):
    if version:
        compression = None
    batches = []
    for n in sizes:
        column = arrow.array([f"text {i}" for i in range(n)], arrow.string())
        columns = [column.dictionary_encode() if is_dictionary else column] * n_columns
        batches.append(arrow.record_batch(columns, [f"{i}" for i in range(n_columns)]))
    batches = [batch for batch in batches if not is_dictionary or batch.num_rows == sizes[0]]  # one dictionary a file
    data = written(batches, compression=compression, **version)
    blocks = find_blocks(io.BytesIO(data), len(data))
    assert [block.n_rows for block in blocks] == [batch.num_rows for batch in batches]
    messages = arrow.ipc.MessageReader.open_stream(io.BytesIO(data[8:]))
    n_bytes = [message.serialize().size for message in messages if message.type == "record batch"]
    assert len(n_bytes) == len(blocks)
    for block, size in zip(blocks, n_bytes, strict=True):
        assert abs(block.n_bytes - size) <= 64  # for padding


def test_rows_are_found_beside_thousands_of_columns():
    batch = arrow.record_batch([["a", "b"]] * 5000, [str(i) for i in range(5000)])
    data = written([batch] * 2)
    assert [block.n_rows for block in find_blocks(io.BytesIO(data), len(data))] == [2, 2]


def test_a_file_without_record_batches_has_none():
    data = written([arrow.record_batch([["a"]], ["text"])])
    empty = io.BytesIO()
    arrow.ipc.new_file(empty, arrow.schema({"text": arrow.string()})).close()
    assert find_blocks(empty, len(empty.getvalue())) == []
    assert len(find_blocks(io.BytesIO(data), len(data))) == 1


def test_headers_that_lead_nowhere_are_an_error():
    data = written([arrow.record_batch([["a"]], ["text"])])
    for at in range(8, len(data) - 6):
        for byte in 0x7F, 0xFF:
            broken = bytearray(data)
            broken[at] = byte
            with suppress(OSError):  # of no other kind, and what is found is no nonsense
                assert all(block.n_rows >= 0 for block in find_blocks(io.BytesIO(broken), len(broken)))
    with pytest.raises(OSError, match="its footer does not lead"):
        find_blocks(io.BytesIO(b""), 0)


class Bounded(io.BytesIO):
    """A file of which nobody may read all."""

    def read(self, n: int = -1) -> bytes:
        assert n >= 0
        return super().read(n)


def test_negative_places_and_lengths_are_told_and_do_not_read_the_file_to_its_end():
    data = bytearray(written([arrow.record_batch([["a"]], ["text"])]))
    (block,) = find_blocks(io.BytesIO(data), len(data))
    n_footer = struct.unpack("<i", data[-10:-6])[0]
    footer = len(data) - 10 - n_footer
    (place,) = (
        place
        for place in range(footer, len(data) - 34, 8)
        if sum(struct.unpack_from("<i4xq", data, place + 8)) == block.n_bytes and data[place] < footer
    )
    for kind, at, said in ("<q", place, r"\d+ bytes at byte -1"), ("<i", place + 8, r"-1 bytes at byte \d+"):
        broken = bytearray(data)
        struct.pack_into(kind, broken, at, -1)
        with pytest.raises(OSError, match=rf"its footer does not lead to its record batches \({said}\)"):
            find_blocks(Bounded(broken), len(broken))
    struct.pack_into("<i", data, len(data) - 10, -1)
    with pytest.raises(OSError, match="its footer does not lead"):
        find_blocks(Bounded(data), len(data))
