"""sources/compression/read_ahead.py: another thread reads a stream; bytes and error are the same, and no thread stays."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.sources.compression import read_ahead
from nbbpe.sources.inputs import Stream


class Source:
    """Bytes in steps, and an error in the end where one is given."""

    def __init__(self, steps: list[bytes], error: Exception | None = None) -> None:
        self._steps = list(filter(None, steps))
        self._error = error
        self.n_calls = 0

    def readinto(self, buffer: memoryview, /) -> int:
        self.n_calls += 1
        if not self._steps:
            if self._error is not None:
                raise self._error
            return 0
        n = min(len(buffer), len(self._steps[0]))
        buffer[:n] = self._steps[0][:n]
        self._steps[0] = self._steps[0][n:]
        self._steps = list(filter(None, self._steps))
        return n


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(1, 9), st.integers(1, 30), st.booleans())
def test_the_bytes_and_the_error_are_those_of_the_stream(sizes, steps, block, size, is_broken):
    found = []
    error = OSError("broken") if is_broken else None

    def read_all(stream: Stream) -> None:
        buffer = bytearray(size)
        while n := stream.readinto(memoryview(buffer)):
            found.append(bytes(buffer[:n]))

    sizes(block=block)
    with read_ahead.read_ahead(Source(steps, error)) as stream:
        for _ in range(2):  # what has come to its end stays there
            if error is None:
                read_all(stream)
            else:
                with pytest.raises(OSError, match="broken") as caught:
                    read_all(stream)
                assert caught.value is error
    assert b"".join(found) == b"".join(steps)


@pytest.mark.parametrize("n_read", [0, 1, 5])
def test_the_thread_ends_with_the_context_wherever_it_is(sizes, n_read):
    sizes(block=2)
    source = Source([b"x" * 1000])
    before = threading.active_count()

    def read_some() -> None:
        with read_ahead.read_ahead(source) as stream:
            for _ in range(n_read):
                stream.readinto(memoryview(bytearray(2)))
            raise LookupError

    with pytest.raises(LookupError):
        read_some()
    assert threading.active_count() == before
    assert source.n_calls <= n_read + 5  # no more than there are blocks for


def test_the_thread_may_take_a_block_at_any_moment_of_stopping():
    class Taken(SimpleQueue):
        """What is looked at is taken by another thread at once."""

        def empty(self) -> bool:
            was_empty = super().empty()
            while not super().empty():
                super().get()
            return was_empty

    stream = read_ahead._ReadAhead(Source([]))
    stream._free = Taken()
    stream._free.put(memoryview(b""))
    stopping = threading.Thread(target=stream.stop, daemon=True)
    stopping.start()
    stopping.join(60)
    assert not stopping.is_alive()
