"""A thread that fails where it cannot say so, as for lack of memory: nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import texts

from nbbpe.idfiles import part_encoder
from nbbpe.sources.compression import read_ahead
from nbbpe.system import worker_threads
from nbbpe.system.workers import run_jobs

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def no_memory(*_: object, **__: object) -> None:
    raise MemoryError("no room")


def error_of(work: Callable[[], object]) -> BaseException:
    """What some work raises soon; it runs in another thread, as it may wait for ever."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    return raised[0]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Threads that are to end are waited for longer than `error_of` waits."""
    monkeypatch.setattr(worker_threads, "_PATIENCE", 200.0)


class Job:
    def run(self, task: int) -> Iterator[int]:
        no_memory()
        yield task

    def finish(self) -> None:
        pass


def test_of_jobs(monkeypatch):
    monkeypatch.setattr(worker_threads, "out_of_memory", no_memory)
    before = threading.active_count()
    error = error_of(lambda: list(run_jobs(Job, [1, 2, 3], 2, in_threads=True)))
    assert isinstance(error, MemoryError)
    assert threading.active_count() == before


def test_that_reads_ahead(monkeypatch):
    monkeypatch.setattr(read_ahead._ReadAhead, "run", no_memory)

    def read() -> None:
        with read_ahead.read_ahead(None) as stream:
            stream.readinto(memoryview(bytearray(1)))

    assert isinstance(error_of(read), MemoryError)


def test_whose_part_of_a_file_has_not_begun(monkeypatch, small, sizes, tmp_path):
    """Others have encoded parts that come after it, and wait for their turn."""
    sizes(for_workers=0, chunk=3000, held=1, window=1000)
    (tmp_path / "text.txt").write_text(texts.SAMPLE * 20)
    tally, calls = part_encoder.Tally, []

    def fail_at_first(on_error: str) -> object:
        calls.append(on_error)
        if len(calls) == 1:
            until = time.monotonic() + 60
            while len(calls) == 1 and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.3)  # until the others wait
            no_memory()
        return tally(on_error)

    monkeypatch.setattr(part_encoder, "Tally", fail_at_first)
    before = threading.active_count()
    error = error_of(lambda: small.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", workers=3))
    assert "a worker thread ran out of memory (no room)" in str(error)
    assert len(calls) > 1
    assert threading.active_count() == before
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
