"""A disk that is full, a quota, a folder without rights, no memory in a worker: an error that says so, and nothing left."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest
import texts

import nbbpe

LINES = [f"The cat number {i} sat on the mat, and {i * i} more of them did not." for i in range(4000)]

# Runs the command with small parts, and what stands in a line before it.
COMMAND = """
import os, resource, signal, sys
sys.path.insert(0, {faults!r})
import victim
from nbbpe.cli import main
from nbbpe.counting import counters, parallel_counting, word_table
from nbbpe.idfiles import division, part_encoder
victim.cut_small()
division._CHUNK_BYTES = parallel_counting._CHUNK_BYTES = 40_000
{before}
sys.exit(main(sys.argv[1:]))
"""
# Of all processes: no file may grow beyond, as with a quota.
QUOTA = """
import nbbpe
nbbpe.load(sys.argv[sys.argv.index("-t") + 1]).encode("warm up: kernels are compiled before files may not grow")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
"""
# Counted words go to sorted runs in a folder.
LITTLE_ROOM_FOR_WORDS = """
import tempfile
from nbbpe.counting import gathering
gathering._TABLE_SHARE = victim.RUN_BYTES / (gathering._OWN_BYTES // 4)
gathering._TABLE_BYTES_OF_TEXT = 1 << 20
word_table._FIRST_SLOTS = 64
tempfile.tempdir = {folder!r}
"""
# In workers only: less memory than a part asks for, and enough for an error.
NO_MEMORY = """
def little(real, main=os.getpid()):
    def run(self, task):
        if os.getpid() != main:
            size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20),) * 2)
            bytearray(1 << 30)
        yield from real(self, task)
    return run
part_encoder.PartEncoder.run = little(part_encoder.PartEncoder.run)
counters.Counter.run = little(counters.Counter.run)
"""


class Ended:
    """How the command ended."""

    def __init__(self, folder: Path, before: str, *arguments: str) -> None:
        script = COMMAND.format(faults=str(Path(__file__).parent), before=before)
        done = processes.ended("-c", script, *arguments, cwd=folder, PYTHONWARNINGS="ignore")
        # In a new checkout, this may be the first process that needs some kernel.
        said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("nbbpe: compiling kernels")]
        self.code, self.stderr = done.returncode, "".join(said)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """A folder with sources and a tokenizer, which anybody may read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "text.txt").write_text(texts.SPECIAL.join(LINES))
    (folder / "records.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES))
    nbbpe.train(folder / "text.txt", 300, [texts.SPECIAL]).save(folder / "tok")
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 200 kB, where this process may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder], capture_output=True, check=False
    ).returncode:
        pytest.skip("this process may not mount a disk; a quota stands for it")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def encode(inputs: Path, output: Path, *options: str, source: str = "text.txt") -> list[str]:
    return ["encode", str(inputs / source), "-o", str(output), "-t", str(inputs / "tok"), "--workers", "2", *options]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--split-with", "regex")], ids=["threads", "processes"])
def test_a_full_disk_is_named_and_the_older_output_stays(inputs, small_disk, options):
    nbbpe.load(inputs / "tok").encode_file(documents=["older"], output_path=small_disk / "ids.bin")
    older = contents(small_disk)
    ended = Ended(small_disk, "", *encode(inputs, small_disk / "ids.bin", *options))
    assert ended.code == 1
    assert ended.stderr == f"nbbpe: error: {small_disk}/ids.bin: {os.strerror(errno.ENOSPC)}\n"
    assert contents(small_disk) == older
    assert os.listdir(small_disk) == list(older) or sorted(os.listdir(small_disk)) == sorted(older)


@pytest.mark.parametrize("source", [pytest.param("text.txt", marks=pytest.mark.slow), "records.jsonl"])
def test_a_run_that_filled_the_disk_is_resumed_when_there_is_room(inputs, small_disk, tmp_path, source):
    output = small_disk / "ids.bin"
    ended = Ended(small_disk, "", *encode(inputs, output, "--resume", source=source))
    kept = f"finished parts are kept in {output}.resume, and the same command continues from there"
    assert (ended.code, ended.stderr) == (1, f"nbbpe: error: {output}: {os.strerror(errno.ENOSPC)}; {kept}\n")
    assert os.listdir(small_disk) == ["ids.bin.resume"]
    n_kept = len((small_disk / "ids.bin.resume" / "manifest.jsonl").read_text().splitlines()) - 1
    assert n_kept >= 2
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    ended = Ended(small_disk, "", *encode(inputs, output, "--resume", source=source))
    assert (ended.code, ended.stderr) == (0, "")
    (tmp_path / "one").mkdir()
    nbbpe.load(inputs / "tok").encode_file(inputs / source, tmp_path / "one" / "ids.bin")
    assert contents(small_disk) == contents(tmp_path / "one")
    assert sorted(os.listdir(small_disk)) == sorted(contents(small_disk))


def test_a_full_temporary_folder_of_an_executors_worker_is_named(inputs, small_disk, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    with ThreadPoolExecutor(1) as pool, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        nbbpe.load(inputs / "tok").encode_file(inputs / "text.txt", tmp_path / "ids.bin", executor=pool)
    assert caught.value.filename == str(small_disk)
    assert os.listdir(small_disk) == []
    assert sorted(os.listdir(tmp_path)) == ["disk"]


@pytest.mark.slow
def test_a_tokenizer_that_finds_no_room_leaves_nothing(inputs, small_disk):
    (small_disk / "ballast").write_bytes(bytes(190_000))
    ended = Ended(small_disk, "", "train", str(inputs / "text.txt"), "--vocab-size", "2000", "-o", str(small_disk / "tok"))
    assert ended.code == 1
    assert ended.stderr.startswith(f"nbbpe: error: {small_disk}/tok")
    assert ended.stderr.endswith(f"{os.strerror(errno.ENOSPC)}\n")
    assert os.listdir(small_disk) == ["ballast"]


@pytest.mark.parametrize("what", ["save", "encode", "documents", "resume", "executor", "count"])
def test_a_disk_without_room_for_another_file_is_named_by_the_output(inputs, small_disk, what):
    """Whichever temporary file finds no room, the error does not name it."""
    tokenizer = nbbpe.load(inputs / "tok")
    source, output = inputs / "text.txt", small_disk / "out.bin"

    def on_executor() -> object:
        with ThreadPoolExecutor(1) as pool:
            return tokenizer.encode_file(source, output, executor=pool)

    def count() -> object:
        pytest.importorskip("pyarrow")
        return nbbpe.count_words(documents=LINES, output=small_disk / "out.arrow")

    write = {
        "save": lambda: tokenizer.save(small_disk / "out"),
        "encode": lambda: tokenizer.encode_file(source, output),
        "documents": lambda: tokenizer.encode_file(documents=LINES[:9], output_path=output),
        "resume": lambda: tokenizer.encode_file(source, output, resume=True),
        "executor": on_executor,
        "count": count,
    }[what]
    subprocess.run(["mount", "-o", "remount,size=2m", small_disk], check=True)
    errors = []
    for n_files in range(20):
        subprocess.run(["mount", "-o", f"remount,nr_inodes={2 + n_files}", small_disk], check=True)
        try:
            write()
        except OSError as error:
            errors.append(error)
        else:
            break
        kept = os.listdir(small_disk)
        assert kept == [] or (what == "resume" and kept == ["out.bin.resume"])
    assert 2 <= len(errors) < 19
    assert {error.errno for error in errors} == {errno.ENOSPC}
    named = {str(small_disk / name) for name in ("", "out", "out.bin", "out.arrow", "out.bin.resume")}
    assert {error.filename for error in errors} <= named


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_full_temporary_folder_is_named_while_words_are_counted(inputs, small_disk, tmp_path, workers):
    """With little memory, counts go there as sorted runs."""
    pytest.importorskip("pyarrow")
    before = LITTLE_ROOM_FOR_WORDS.format(folder=str(small_disk))
    (small_disk / "ballast").write_bytes(bytes(100_000))
    output = tmp_path / "counts.parquet"
    limited = ["--memory-limit", "64MB", "--workers", workers]
    for command in ["count-words", "-o", str(output)], ["train", "--vocab-size", "300", "-o", str(tmp_path / "tok")]:
        ended = Ended(tmp_path, before, *command, str(inputs / "text.txt"), *limited)
        assert ended.code == 1
        assert ended.stderr.startswith(f"nbbpe: error: {small_disk}: {os.strerror(errno.ENOSPC)} (while counted words were")
        assert len(ended.stderr.splitlines()) == 1
        assert os.listdir(small_disk) == ["ballast"]
        assert {path.name for path in tmp_path.iterdir()} == {"disk"}


@pytest.mark.parametrize("source", ["text.txt", pytest.param("records.jsonl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("resume", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_quota_is_named(inputs, tmp_path, resume, source):
    output = tmp_path / "ids.bin"
    ended = Ended(tmp_path, QUOTA, *encode(inputs, output, *["--resume"][: int(resume)], source=source))
    kept = f"; finished parts are kept in {output}.resume, and the same command continues from there"
    has_kept = "ids.bin.resume" in os.listdir(tmp_path)
    said = f"nbbpe: error: {output}: {os.strerror(errno.EFBIG)}{kept if has_kept else ''}\n"
    assert (ended.code, ended.stderr) == (1, said)
    assert set(os.listdir(tmp_path)) <= ({"ids.bin.resume"} if resume else set())
    if resume:
        ended = Ended(tmp_path, "", *encode(inputs, output, "--resume", source=source))
        assert (ended.code, ended.stderr) == (0, "")
        assert "ids.bin.resume" not in os.listdir(tmp_path)
        nbbpe.TokenFile(output, nbbpe.load(inputs / "tok"), verify=True)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="limits the address space to what /proc says")
@pytest.mark.parametrize(
    "command",
    [
        ["train", "text.txt", "--vocab-size", "300", "-o", "tok"],
        ["encode", "text.txt", "-o", "ids.bin", "--split-with", "regex"],
        ["encode", "text.txt", "-o", "ids.bin", "--resume"],
    ],
    ids=["train", "encode", "resume"],
)
def test_no_memory_in_a_worker_is_an_error_and_leaves_nothing(inputs, tmp_path, command):
    name, source, *rest = command
    tokenizer = [] if name == "train" else ["-t", str(inputs / "tok")]
    ended = Ended(tmp_path, NO_MEMORY, name, str(inputs / source), *rest, *tokenizer, "--workers", "2")
    assert ended.code == 1
    assert ended.stderr == "nbbpe: error: a worker process ran out of memory; use fewer workers\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("what", ["encode", "resume", "train"])
def test_a_folder_without_rights_is_named(inputs, nobodys_folder, what):
    folder, as_nobody = nobodys_folder
    box, source = folder / "box", folder / "text.txt"
    box.mkdir()
    source.write_text(" ".join(LINES))
    box.chmod(0o555)
    tokenizer = nbbpe.load(inputs / "tok")
    tokenizer.encode("warm up")
    runs = {
        "train": lambda: nbbpe.train(source, 300).save(box / "tok"),
        "encode": lambda: tokenizer.encode_file(source, box / "ids.bin"),
        "resume": lambda: tokenizer.encode_file(source, box / "ids.bin", resume=True),
    }
    with as_nobody(), pytest.raises(PermissionError, match=f"cannot write to the folder: .*: '{box}") as error:
        runs[what]()
    assert error.value.errno == errno.EACCES
    assert os.listdir(box) == []


@pytest.mark.slow
def test_of_two_that_resume_one_is_told(inputs, tmp_path):
    """The second one waits for a while, and here it then finds the work done, or is told that it is not."""
    output = tmp_path / "ids.bin"
    hold = "import fcntl\nos.mkdir(sys.argv[4] + '.resume', 0o700)\n"
    hold += (
        "held = os.open(sys.argv[4] + '.resume/.nbbpe-kept', os.O_RDWR | os.O_CREAT)\nfcntl.flock(held, fcntl.LOCK_EX)\n"
    )
    hold += "import nbbpe.system.kept_folder as kept\nkept._PATIENCE = 0.2"
    ended = Ended(tmp_path, hold, *encode(inputs, output, "--resume"))
    assert ended.code == 1
    assert ended.stderr == (
        f"nbbpe: error: '{output}.resume' is in use by another run on the same output: wait until it has ended\n"
    )
    script = COMMAND.format(faults=str(Path(__file__).parent), before="")
    commands = [
        subprocess.Popen(
            [sys.executable, "-c", script, *encode(inputs, output, "--resume")],
            env=processes.environment(PYTHONWARNINGS="ignore"),
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [command.wait(60) for command in commands] == [0, 0]
    nbbpe.TokenFile(output, nbbpe.load(inputs / "tok"), verify=True)
    assert sorted(os.listdir(tmp_path)) == ["ids.bin", "ids.bin.json"]
