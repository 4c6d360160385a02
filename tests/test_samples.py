"""kernels/records/samples.py: a sample has the documents that the twin's digests say, whole and in their order."""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest

from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.records.samples import take_sample

END = 2**64 - 1
NO_ROWS = np.empty((0, 3), dtype=np.int64)


def sample_of(documents: list[bytes], seed: int, first: int, last: int, gap: bytes = b"") -> list[bytes]:
    """The documents that the kernel takes; between two stands a gap, and around all of them are bytes of no document."""
    data = np.frombuffer(b"before" + gap.join(documents) + b"\xaa" * PADDING, dtype=np.uint8).copy()
    ends = 6 + np.cumsum([len(each) for each in documents]) + len(gap) * np.arange(len(documents))
    breaks = np.stack([ends, ends + len(gap), np.full(len(ends), 7)], axis=1)[:-1]
    end = int(ends[-1])
    out = np.full(end + len(documents) + PADDING, 0xAA, dtype=np.uint8)
    rows = np.full((len(documents) + 1, 3), -9, dtype=np.int64)
    n, n_bytes = take_sample(data, 6, end, breaks, seed % 2**64, first, last, out, rows, 5)
    assert (out[n_bytes:] == 0xAA).all()
    assert (rows[n:] == -9).all()
    starts = [0, *rows[:n, 1].tolist()]
    assert starts[-1] == n_bytes
    assert rows[:n, 2].tolist() == [5] * n
    assert (rows[:n, 1] - rows[:n, 0] == 1).all()
    assert (out[rows[:n, 0]] == 0xFF).all()
    return [out[start:stop].tobytes() for start, stop in zip(starts, rows[:n, 0].tolist(), strict=False)]


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("gap", [b"", b"\xff", b"<|end|>"])
@pytest.mark.usefixtures("guarded_arrays")
def test_a_sample_is_that_of_the_twin(seed, gap):
    source = random.Random(seed)
    sizes = [*range(40), 63, 64, 65, 127, 128, 129, 1000]
    documents = [bytes(source.choices(range(256), k=n)) for n in sizes] + [b"\0" * n for n in range(1, 20)]
    source.shuffle(documents)
    for first, last in (0, END), (0, END // 2), (END // 3, 2 * (END // 3)), (END, END), (1, 0):
        assert sample_of(documents, seed, first, last, gap) == naive.take_sample(documents, seed, first, last)
    digest = naive.document_digest(documents[0], seed)
    assert sample_of(documents, seed, digest, digest, gap) == documents[:1]


def test_nothing_is_taken_of_nothing():
    data, out, rows = np.zeros(PADDING, dtype=np.uint8), np.zeros(PADDING, dtype=np.uint8), np.zeros((1, 3), dtype=np.int64)
    assert take_sample(data, 0, 0, NO_ROWS, 3, 0, END, out, rows, 5) == (0, 0)


@pytest.mark.parametrize(
    "make", [lambda i: b"%d" % i, lambda i: b"a" * (i % 500) + b"%d" % (i // 500), lambda i: i.to_bytes(8, "little")]
)
def test_the_share_of_a_sample_is_that_of_its_digests(make):
    """Documents that are almost alike are spread evenly, and as if at random for each seed."""
    documents = [make(i) for i in range(20_000)]
    taken = [set(sample_of(documents, seed, 0, END // 10)) for seed in range(3)]
    for each in taken:
        assert 1800 < len(each) < 2200  # ten standard deviations are 424
    assert 120 < len(taken[0] & taken[1]) < 280
    assert 120 < len(taken[1] & taken[2]) < 280
