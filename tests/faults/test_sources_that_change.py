"""Sources that change between planning and the last read: one error that names the file, never a mixture of both."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import frames
import pytest
import texts
from records import filled_pipe, needs

import nbbpe
from nbbpe.counting import parallel_counting
from nbbpe.idfiles import writer
from nbbpe.sources.files.local import LocalFile
from nbbpe.sources.optional_packages import ZSTD

OLD = ["the cat sat on the mat " * 40, "ababab aaa"] * 5
NEW = ["THE DOG RAN IN THE PAR " * 40, "cdcdcd ccc"] * 5
NAMES = ["a.txt", "a.txt.gz", "a.txt.zst", "a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow"]
SMALL_PARTS = 200


def content(name: str, documents: list[str]) -> bytes:
    """Documents in the format that a name asks for; of two lists with documents of equal lengths, of equal length."""
    if name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')
        parquet = pytest.importorskip("pyarrow.parquet")
        sink = arrow.BufferOutputStream()
        parquet.write_table(
            arrow.table({"text": documents}), sink, row_group_size=2, compression="none", use_dictionary=False
        )
        return sink.getvalue().to_pybytes()
    if name.endswith(".arrow"):
        arrow = pytest.importorskip("pyarrow", reason='needs pyarrow: pip install "nbbpe[data]"')
        sink = arrow.BufferOutputStream()
        table = arrow.table({"text": documents})
        with arrow.ipc.new_file(sink, table.schema) as file:
            file.write_table(table, max_chunksize=2)
        return sink.getvalue().to_pybytes()
    if ".jsonl" in name:
        data = "".join(json.dumps({"text": text}) + "\n" for text in documents).encode()
    else:
        data = texts.SPECIAL.join(documents).encode()
    if name.endswith(".gz"):
        return stored_gzip(data)
    if name.endswith(".zst"):
        needs(ZSTD)
        return frames.zstd(data, compression_level=1)
    return data


def stored_gzip(data: bytes) -> bytes:
    """A gzip file that is as long as any other with so many bytes in it."""
    return gzip.compress(data, compresslevel=0, mtime=0)


def replace(path: Path, keep_time: bool = False) -> None:
    """Put a file of the same size in the place of a file."""
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(content(path.name, NEW)[: before.st_size].ljust(before.st_size, b"\n"))
    if keep_time:
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)


def write_in_place(path: Path, keep_time: bool = False) -> None:
    before = path.stat()
    with open(path, "r+b") as file:
        file.write(content(path.name, NEW)[: before.st_size])
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"\n")


def put_a_pipe(path: Path) -> None:
    other = path.with_name("pipe")
    os.mkfifo(other)
    os.replace(other, path)  # at once, as another thread may open it meanwhile


CHANGES = {
    "replaced": replace,
    "replaced by one of the same time": lambda path: replace(path, keep_time=True),
    "written to": write_in_place,
    "written to and the time set back": lambda path: write_in_place(path, keep_time=True),
    "cut short": truncate,
    "added to": append,
    "now a pipe": put_a_pipe,
}


@pytest.fixture
def source(tmp_path) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        (tmp_path / "in").mkdir(exist_ok=True)
        path = tmp_path / "in" / name
        path.write_bytes(content(name, OLD))
        os.utime(path, ns=(10**18, 10**18))  # long ago, as of most files
        return path

    return write


@pytest.fixture(autouse=True)
def many_parts(cut_everywhere, sizes) -> None:
    cut_everywhere(SMALL_PARTS)
    sizes(report=1)


def encode(small, path, folder, workers) -> None:
    small.encode_file(path, folder / "ids.bin", workers)


def train(small, path, folder, workers) -> None:
    nbbpe.train(path, 300, [texts.SPECIAL], workers=workers)


WORK = {"encode_file": (encode, writer), "train": (train, parallel_counting)}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_source_that_changes_after_planning_is_an_error(small, source, tmp_path, monkeypatch, work, workers, name):
    run, module = WORK[work]
    (tmp_path / "out").mkdir()
    for change in CHANGES.values():
        path = source(name)

        def run_jobs(*args, change=change, path=path, real=module.run_jobs, **options):
            change(path)  # all is planned, and nothing is read
            return real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(module, "run_jobs", run_jobs)
            with pytest.raises(OSError, match=rf"{name}' changed while it was read: (it|another file) .*"):
                run(small, path, tmp_path / "out", workers)
        assert os.listdir(tmp_path / "out") == []
        path.unlink()


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.jsonl.gz", "a.parquet", "a.arrow"])
def test_a_source_that_changes_while_it_is_read_is_an_error(small, source, tmp_path, monkeypatch, work, workers, name):
    """While its first part is open, in whichever thread or process that is."""
    run, module = WORK[work]
    (tmp_path / "out").mkdir()
    for how, change in CHANGES.items():
        path, last = source(name), source(f"last.{name}")
        once = tmp_path / how

        def run_jobs(*args, last=last, once=once, change=change, real=module.run_jobs, **options):
            with monkeypatch.context() as patch:
                patch.setattr(LocalFile, "open", changing(LocalFile.open, last, once, change))
                yield from real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(module, "run_jobs", run_jobs)
            with pytest.raises(OSError, match=rf"last\.{name}' changed while it was read"):
                run(small, [path, last], tmp_path / "out", workers)
        assert once.exists()
        assert os.listdir(tmp_path / "out") == []
        last.unlink()


def changing(real, last: Path, once: Path, change: Callable[[Path], None]):
    """A way to open files that changes one of them as soon as it is open, the first time."""

    @contextlib.contextmanager
    def opened(self):
        with real(self) as file:
            if Path(self.path) == last:
                with contextlib.suppress(FileExistsError):
                    once.touch(exist_ok=False)
                    change(last)
            yield file

    return opened


def test_a_file_that_is_added_to_is_an_error_that_tells_both_sizes(small, source, tmp_path):
    path, log = source("a.txt"), source("log.txt")
    size = log.stat().st_size

    def progress(stage, done, total):
        if log.stat().st_size == size:
            append(log)

    with pytest.raises(
        OSError, match=r"log\.txt' .* it has 4,768 bytes, and had 4,767 when reading was planned; wait until"
    ):
        small.encode_file([path, log], tmp_path / "ids.bin", 1, progress=progress)


def test_a_source_that_its_server_has_lost_is_named(small, source, tmp_path, monkeypatch):
    path = source("a.txt")
    about = path.stat()

    def losing(real):
        """As of NFS, where an open file was removed by another machine."""

        def call(place, *rest, **options):
            found = real(place, *rest, **options)
            if isinstance(place, int) and os.path.samestat(found, about):
                raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
            return found

        return call

    monkeypatch.setattr(os, "stat", losing(os.stat))
    monkeypatch.setattr(os, "fstat", losing(os.fstat))
    with pytest.raises(OSError, match=r"a\.txt") as raised:
        small.encode_file(path, tmp_path / "ids.bin")
    assert (raised.value.errno, raised.value.filename) == (errno.ESTALE, str(path))


def test_a_part_that_was_changed_while_it_was_open_is_an_error(small, source, tmp_path, sizes, monkeypatch):
    """One part, of which nothing is opened again."""
    sizes(chunk=1 << 20, window=1 << 20)
    real = nbbpe.Tokenizer.encode_part
    for change in CHANGES.values():
        path = source("a.txt")

        def encode_part(self, *args, change=change, path=path):
            for number, result in enumerate(real(self, *args)):
                if number == 0:
                    change(path)
                yield result

        monkeypatch.setattr(nbbpe.Tokenizer, "encode_part", encode_part)
        with pytest.raises(OSError, match=r"a\.txt' changed while it was read"):
            small.encode_file(path, tmp_path / "ids.bin", 1)
        assert os.listdir(tmp_path) == ["in"]
        path.unlink()


def test_a_source_may_change_before_and_after(small, source, tmp_path):
    path = source("a.txt")
    replace(path)
    write_in_place(path)
    for _ in range(2):
        small.encode_file(path, tmp_path / "ids.bin", 2)
        assert small.decode(nbbpe.TokenFile(tmp_path / "ids.bin").ids) == path.read_text()
        append(path)


def test_the_json_says_what_was_read(small, source, tmp_path):
    path = source("a.txt")
    found = path.stat()
    small.encode_file(path, tmp_path / "ids.bin", 2)
    append(path)
    about = json.loads((tmp_path / "ids.bin.json").read_text())
    assert about["sources"] == [{"name": "a.txt", "bytes": found.st_size, "mtime_ns": 10**18}]
    assert found.st_mtime_ns == 10**18


def made_up_files() -> Iterator[str]:
    for path in "/proc/self/status", "/proc/uptime", "/proc/self/mountinfo":
        if os.path.exists(path):
            yield path


@pytest.mark.skipif(not list(made_up_files()), reason="needs /proc")
def test_what_the_system_makes_up_as_it_is_read_and_pipes_are_read_as_before(small, tmp_path):
    for path in made_up_files():
        assert small.encode_file([path, path], tmp_path / "ids.bin", 2) > 0
        nbbpe.train([path], 260)
    with filled_pipe(tmp_path / "pipe", b"the cat ", b"sat") as pipe:
        small.encode_file(pipe, tmp_path / "ids.bin")
    assert small.decode(nbbpe.TokenFile(tmp_path / "ids.bin").ids) == "the cat sat"
    (source,) = json.loads((tmp_path / "ids.bin.json").read_text())["sources"]
    assert (source["bytes"], source["mtime_ns"]) == (None, None)
