"""A text in somebody else's memory that another thread changes while it is encoded: later texts get their own ids."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest
from numba import njit
from vocabularies import fresh

from nbbpe.kernels.encoding.encode_new_piece import encode_new_piece
from nbbpe.kernels.encoding.encode_state import state_of
from nbbpe.kernels.encoding.pending_pieces import add_pending, encode_pending
from nbbpe.kernels.pieces.piece_table import N_ENTRIES, find, key_of
from nbbpe.text.utf8 import padded


def two_texts(source: random.Random) -> list[bytes]:
    """Texts of the same pieces but for one letter of each: words of all lengths, pieces of several pretokens, long ones."""
    texts: tuple[list[bytes], list[bytes]] = ([], [])
    for _ in range(40_000):
        length = source.choice([2, 3, 5, 7, 7, 7, 12, 14, 15, 16, 20, 40])
        if source.randrange(500) == 0:
            length = source.choice([253, 254, 300, 600])
        word = bytearray(source.choices(b"abcdehst", k=length))
        tail = bytes(source.choices(b"=>(!)", k=3)) + b"\n" if source.randrange(5) == 0 else b""
        for text, letter in zip(texts, b"ae", strict=True):
            word[source.randrange(length)] = letter
            text.append(b" " + word + tail)
    return [b"".join(text) for text in texts]


def test_a_thread_that_changes_a_text_changes_no_id_of_later_texts(small):
    texts = two_texts(random.Random(1))
    wanted = [fresh(small).encode_array(text) for text in texts]
    for _ in range(4):
        tokenizer = fresh(small)
        shared = bytearray(texts[0])
        n_changes = 0
        done = threading.Event()

        def change(shared: bytearray = shared, done: threading.Event = done) -> None:
            nonlocal n_changes
            view = memoryview(shared)
            while not done.is_set():
                for text in texts:
                    for start in range(0, len(view), 1 << 14):  # so that a change comes soon wherever the other thread is
                        view[start : start + (1 << 14)] = text[start : start + (1 << 14)]
                n_changes += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            while not n_changes:
                time.sleep(0.001)
            for _ in range(3):
                tokenizer.encode_array(shared)  # these ids are anybody's guess
                tokenizer.count(np.frombuffer(shared, dtype=np.uint8))
        finally:
            done.set()
            thread.join()
        for text, ids in zip(texts, wanted, strict=True):
            assert np.array_equal(tokenizer.encode_array(text), ids)


@njit
def look_up(state_at, key_at, length):
    """The slot of a piece, and its key."""
    table_at = state_of(state_at).cache.table
    low, high = key_of(key_at, length, table_at.state)
    return find(table_at, key_at, length, low, high), low, high


def change_while_it_is_encoded(state_at, text, length, other, when, out):
    """Look a piece up, make it pending and encode it, while its text becomes another; returns how many bytes its ids take.

    when : 0, after it was looked up; 1, after it was made pending; 2, after it was looked up, and it is encoded at once
    """
    key_at, out_at = text.ctypes.data, out.ctypes.data
    slot, low, high = look_up(state_at, key_at, length)
    if when != 1:
        text[:length] = other[:length]
    if when == 2:
        return encode_new_piece(state_at, slot, key_at, length, low, high, out_at, 2, 0)
    ids_end = add_pending(state_at, slot, key_at, length, low, high, out_at)
    text[:length] = other[:length]
    return encode_pending(state_at, ids_end, out_at, 0, 2) - out_at


@pytest.mark.slow  # the kernel takes seven seconds to compile; the test above has the same done by a thread
@pytest.mark.parametrize("when", [0, 1, 2])
@pytest.mark.parametrize("length", [2, 7, 14, 15, 16, 17, 63, 64, 65, 200, 254])
def test_a_piece_that_changes_while_it_is_encoded_is_cached_with_no_ids_but_its_own(small, length, when):
    source = random.Random(length)
    for _ in range(5):
        first, second = (b" " + bytes(source.choices(b"abcdehst", k=length - 1)) for _ in range(2))
        tokenizer = fresh(small)
        tokenizer.encode("it has a state")
        state = tokenizer._encoder._idle[0]
        text, out = padded(first), np.zeros(2000, dtype=np.uint16)
        state.work[0] = text.ctypes.data
        n_bytes = change_while_it_is_encoded(state.at, text, length, padded(second), when, out)
        ids = [fresh(small).encode(piece) for piece in (first, second)]
        assert out[: n_bytes // 2].tolist() in ids
        assert state.table.state[N_ENTRIES] > 1
        assert [tokenizer.encode(piece) for piece in (first, second)] == ids
