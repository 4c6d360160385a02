"""Several runs on one output at once: the last to publish wins whole, and a reader finds the ids of one of them."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

import nbbpe
from nbbpe.idfiles import opening, publishing, writer

# Of equal lengths in ids, so that no size tells one from the other; and of others.
DOCUMENTS = [["the cat", "cat"], ["cat", "the cat"], ["a b c"], ["the cat sat on the mat"] * 40]
N_RUNS = 40


def ids_of(tokenizer: nbbpe.Tokenizer) -> list[list[list[int]]]:
    return [[tokenizer.encode(text) for text in documents] for documents in DOCUMENTS]


def publish_often(tokenizer: nbbpe.Tokenizer, path: Path, number: int, n_runs: int) -> None:
    for n in range(n_runs):
        tokenizer.encode_file(iter(DOCUMENTS[(number + n) % len(DOCUMENTS)]), path, 1)


def publish_noting(errors: list[BaseException], tokenizer: nbbpe.Tokenizer, path: Path, number: int) -> None:
    """As `publish_often`; what is raised is added to the errors."""
    try:
        publish_often(tokenizer, path, number, N_RUNS)
    except BaseException as error:
        errors.append(error)


def read_once(tokenizer: nbbpe.Tokenizer, path: Path, wanted: list[list[list[int]]]) -> None:
    """Open the output, and look at all that it says about itself."""
    file = nbbpe.TokenFile(path, tokenizer, verify=True)
    time.sleep(0.0005)  # it stays what it was
    assert [ids.tolist() for ids in file.documents()] in wanted
    file.verify()


@pytest.mark.parametrize("kind", ["threads", "processes"])
@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_nobody_dies_and_each_file_is_of_one_run(small, tmp_path, sizes, kind, suffix):
    sizes(patience=600)  # who waits too long goes on without the lock
    path = tmp_path / f"ids{suffix}"
    wanted = ids_of(small)
    small.encode_file(iter(DOCUMENTS[0]), path)
    errors: list[BaseException] = []

    if kind == "threads":
        runs = [threading.Thread(target=publish_noting, args=(errors, small, path, number)) for number in range(3)]
    else:
        context = multiprocessing.get_context("fork")
        runs = [context.Process(target=publish_often, args=(small, path, number, N_RUNS)) for number in range(3)]
    for run in runs:
        run.start()
    n_read = 0
    while any(run.is_alive() for run in runs):
        read_once(small, path, wanted)
        n_read += 1
    for run in runs:
        run.join()
    assert errors == []
    assert all(run.exitcode == 0 for run in runs if kind == "processes")
    assert n_read > 10
    read_once(small, path, wanted)
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.ends", f"{path.name}.json"]


def test_two_runs_at_each_others_steps_take_turns(small, tmp_path, monkeypatch, sizes):
    """While one publishes, another one comes to the same place, and a reader, too: both wait until it is done."""
    sizes(patience=600)  # as above
    path = tmp_path / "ids.bin"
    small.encode_file(iter(DOCUMENTS[0]), path)
    wanted = ids_of(small)
    others: list[threading.Thread] = []
    errors: list[BaseException] = []
    real = publishing.put

    def attempt(work, *args) -> None:
        try:
            work(*args)
        except BaseException as error:
            errors.append(error)

    def put(whole, name) -> None:
        if not others:
            others.append(threading.Thread(target=attempt, args=(publish_often, small, path, 2, 1)))
            others.append(threading.Thread(target=attempt, args=(read_once, small, path, wanted)))
            for other in others:
                other.start()
            time.sleep(0.2)
            assert all(other.is_alive() for other in others)
            assert not path.exists()
        real(whole, name)

    monkeypatch.setattr(publishing, "put", put)
    small.encode_file(iter(DOCUMENTS[1]), path)
    for other in others:
        other.join()
    assert errors == []
    assert [ids.tolist() for ids in nbbpe.TokenFile(path, small).documents()] == wanted[2]


def test_a_file_is_opened_once(small, tmp_path, monkeypatch):
    """Replaced between two looks at it, the ids that are mapped are those that were measured."""
    path = tmp_path / "ids.bin"
    small.encode_file(iter(DOCUMENTS[0]), path)
    real = opening.find_sidecar
    replaced = []

    def find_sidecar(name):
        found = real(name)
        if not replaced:
            replaced.append(name)
            small.encode_file(iter(DOCUMENTS[1]), path)
        return found

    monkeypatch.setattr(opening, "find_sidecar", find_sidecar)
    file = nbbpe.TokenFile(path, small, verify=True)
    assert replaced
    assert [ids.tolist() for ids in file.documents()] == ids_of(small)[1]


def test_a_lock_that_somebody_holds_for_long_stops_nobody(small, tmp_path, sizes):
    sizes(patience=0.1)
    path = tmp_path / "ids.bin"
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        small.encode_file(iter(DOCUMENTS[0]), path)
        assert len(nbbpe.TokenFile(path, small)) > 0
        os.remove(path)
        with pytest.raises(FileNotFoundError, match=r"ids\.bin"):
            nbbpe.TokenFile(path, small)
    finally:
        os.close(folder)


def test_without_locks_nobody_dies_either(small, tmp_path, monkeypatch):
    """Where a disk has none, what two runs leave may be of both; then it is noticed, and the next run mends it."""

    def no_locks(*args):
        raise OSError(95, "not supported")

    monkeypatch.setattr(publishing.fcntl, "flock", no_locks)
    path = tmp_path / "ids.bin"
    errors: list[BaseException] = []

    runs = [threading.Thread(target=publish_noting, args=(errors, small, path, number)) for number in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert errors == []
    writer.encode_file(small, iter(DOCUMENTS[3]), path)
    read_once(small, path, ids_of(small))
