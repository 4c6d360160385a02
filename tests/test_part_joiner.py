"""Parts that end in any order stand in theirs; no thread waits for ever; files are written in whole blocks."""

from __future__ import annotations

import io
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_until_done

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.idfiles import block_writer
from nbbpe.idfiles.block_writer import OutputFile
from nbbpe.system.atomic_files import begin_sync
from nbbpe.system.part_joiner import Joiner
from nbbpe.system.workers import Stopped


@pytest.fixture
def held_bytes(sizes):
    """A function that sets how many bytes of a part may wait."""
    return lambda n: sizes(held=n)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_held", [0, 1, 3, 10])
@pytest.mark.parametrize("n_bytes", [1, 20, 1000])
def test_parts_come_to_stand_in_order_whoever_is_faster(held_bytes, n_threads, n_held, n_bytes):
    held_bytes(n_bytes)
    rng = random.Random(n_held)
    parts = [[b"%d.%d " % (i, k) * rng.randrange(10) for k in range(rng.randrange(4))] for i in range(60)]
    parts[0] = [b"slow ", b"at ", b"first "]
    file = io.BytesIO()
    joiner = Joiner(file, n_held)
    numbers = iter(range(len(parts)))

    def work(pause: random.Random) -> None:
        for number in numbers:
            with joiner.part(number) as writer:
                at_first = parts[number][0] if parts[number] and pause.random() < 0.5 else b""
                if at_first:
                    room = writer.room(len(at_first) + 3)
                    room[: len(at_first)] = np.frombuffer(at_first, dtype=np.uint8)
                    writer.wrote(len(at_first))
                for data in parts[number][bool(at_first) :]:
                    time.sleep(0.02 if number == 0 else pause.random() * 0.001)
                    writer.write(memoryview(data))

    with ThreadPoolExecutor(n_threads) as threads:
        for done in [threads.submit(work, random.Random(seed)) for seed in range(n_threads)]:
            done.result()
    assert file.getvalue() == b"".join(data for part in parts for data in part)


def test_a_part_waits_in_memory_until_its_turn():
    file = io.BytesIO()
    joiner = Joiner(file, 2)
    with joiner.part(0) as first:
        with joiner.part(1) as second:
            second.write(memoryview(b"two "))
        with joiner.part(2) as third:
            third.write(memoryview(b"three"))
        first.write(memoryview(b"one "))
        assert file.getvalue() == b"one "
    assert file.getvalue() == b"one two three"


@pytest.mark.parametrize("n_held", [0, 1])
def test_a_part_that_fails_frees_those_that_wait_for_it(held_bytes, n_held):
    held_bytes(2)
    joiner = Joiner(io.BytesIO(), n_held)
    waiting = threading.Event()

    def wait() -> None:
        with joiner.part(1) as writer:
            waiting.set()
            writer.write(memoryview(b"no room"))

    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(wait)
        with pytest.raises(LookupError), joiner.part(0):
            raise LookupError if waiting.wait(60) else TimeoutError
        with pytest.raises(Stopped):
            waits.result(timeout=60)


@pytest.mark.parametrize("call", ["room", "write"])
def test_a_part_that_never_begins_is_not_waited_for(held_bytes, call):
    held_bytes(2)
    stopping = threading.Event()
    joiner = Joiner(io.BytesIO(), 0, stopping)

    def wait() -> None:
        with joiner.part(1) as writer:
            writer.room(1) if call == "room" else writer.write(memoryview(b"no room"))

    with ThreadPoolExecutor(1) as threads:
        waits = threads.submit(wait)
        assert not wait_until_done([waits], timeout=0.05).done
        stopping.set()
        try:
            with pytest.raises(Stopped):
                waits.result(timeout=60)
        finally:
            with joiner.part(0):  # a thread that waits all the same ends
                pass


def test_the_part_that_has_its_turn_gets_room_when_all_buffers_wait_for_it():
    file = io.BytesIO()
    joiner = Joiner(file, 1)
    with joiner.part(0) as first:
        with joiner.part(1) as second:
            second.room(3)[:3] = ord("b")
            second.wrote(2)
        first.room(3)[:3] = ord("a")
        first.wrote(1)
    with joiner.part(2) as third:  # in one of the two buffers
        third.room(40)[:40] = ord("c")
        third.wrote(40)
    assert file.getvalue() == b"abb" + b"c" * 40


def test_buffers_are_left_to_the_next_unless_they_take_much_memory(held_bytes):
    rooms = []  # which keeps all memory alive, so that no new buffer is where a former one was

    def addresses(n_bytes: int) -> set[int]:
        """Where the two buffers of a Joiner are, in which so many bytes have waited for a part before them."""
        joiner = Joiner(io.BytesIO(), 2)
        with joiner.part(0):
            for number in 1, 2:
                with joiner.part(number) as writer:
                    rooms.append(writer.room(n_bytes))
                    writer.wrote(n_bytes)
        joiner.close()
        return {room.ctypes.data for room in rooms[-2:]}

    used = addresses(1000)
    assert addresses(5 << 20) == used
    assert not addresses(1000) & used
    held_bytes(10)
    addresses(10)
    held_bytes(1000)
    addresses(1000)
    assert all(len(room) == 1000 for room in rooms[-2:])


@given(st.lists(st.binary(max_size=30)), st.integers(1, 20))
def test_files_are_written_in_whole_blocks_but_for_the_last(sizes, data, block):
    written: list[bytes] = []

    class Blocks(OutputFile):
        def _put(self, block):
            written.append(bytes(block))

    sizes(joined=block)
    with Blocks(os.devnull, "output", b"".join(data[:1])) as file:
        for part in data[1:]:
            file.write(part)
    assert b"".join(written) == b"".join(data)
    assert all(len(part) == block for part in written[:-1])
    assert len(written[-1]) < block


def test_a_file_is_the_same_whether_the_disk_is_told_of_it_in_advance(sizes, tmp_path, monkeypatch):
    sizes(joined=4096)
    told: list[tuple[int, int]] = []
    begin = block_writer.begin_sync
    monkeypatch.setattr(block_writer, "begin_sync", lambda file, start, n: told.append((start, n)) or begin(file, start, n))
    data = random.Random(3).randbytes(11 * 4096 + 5)
    with OutputFile(tmp_path / "file", "output") as file:
        file.write(data)
    assert (tmp_path / "file").read_bytes() == data
    assert told == [(0, 4 * 4096), (4 * 4096, 4 * 4096), (8 * 4096, 4 * 4096)]
    begin_sync(io.BytesIO(), 0, 1)  # which has no descriptor
