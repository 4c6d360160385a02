"""The scripts: the story generator, the download, the peak memory, and the main job from its command line.

Nothing here needs a network: the download talks to a server of the test's own on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import importlib
import os
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import numpy as np
import processes
import pytest
import regex
from conftest import ROOT

from benchmarks import peak_memory

SCRIPTS = ROOT / "scripts"
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that imports a script as its neighbours do."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


# Stories


def test_stories_are_the_same_everywhere(script, tmp_path):
    # The digest pins the text across platforms and Python versions. Whoever changes the stories on purpose renews it.
    size = script("stories").write_stories(tmp_path / "stories.txt", 100_000, seed=3)
    data = (tmp_path / "stories.txt").read_bytes()
    assert len(data) == size
    assert hashlib.sha256(data).hexdigest() == "9bdfe4fbf6b41b1cdb6946c652ccbaaab0994c00a7dafd76b1f207e2c44ab97f"


def test_stories_depend_on_the_seed_and_grow_with_the_size(script, tmp_path):
    stories = script("stories")
    for name, n_bytes, seed in (("short", 20_000, 0), ("long", 3_000_000, 0), ("other", 20_000, 1)):
        stories.write_stories(tmp_path / name, n_bytes, seed)
    short, long, other = ((tmp_path / name).read_bytes() for name in ("short", "long", "other"))
    assert long.startswith(short)
    assert short[:1000] != other[:1000]


@pytest.mark.parametrize("n_bytes", [1, 5_000, 1 << 20, 2_500_000])
def test_stories_have_the_size_and_end_whole(script, tmp_path, n_bytes):
    stories = script("stories")
    written = []
    size = stories.write_stories(tmp_path / "stories.txt", n_bytes, progress=written.append)
    data = (tmp_path / "stories.txt").read_bytes()
    assert n_bytes <= size == len(data) == sum(written) < n_bytes + stories.MAX_STORY_BYTES
    assert data.endswith(stories.SEPARATOR.encode())
    assert os.listdir(tmp_path) == ["stories.txt"]


def test_stories_fill_all_their_slots(script, tmp_path):
    stories = script("stories")
    stories.write_stories(tmp_path / "stories.txt", 1_000_000)
    *documents, rest = (tmp_path / "stories.txt").read_bytes().decode().split(stories.SEPARATOR)
    assert rest == ""
    assert len(set(documents)) == len(documents) > 1000
    for document in documents:
        assert document == document.strip()
        assert "  " not in document
        assert not set("{}[]|%<>_") & set(document)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_stories_take_the_place_of_no_pipe_or_device(script, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in "pipe", "link":
        with pytest.raises(FileExistsError, match="not a file"):
            script("stories").write_stories(tmp_path / name, 1000)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]
    assert stat.S_ISFIFO(os.stat(tmp_path / "link").st_mode)


def test_stories_have_a_vocabulary_like_texts_own(script, tmp_path):
    script("stories").write_stories(tmp_path / "stories.txt", 2_000_000)
    text = (tmp_path / "stories.txt").read_text(encoding="utf-8")
    pretokens = regex.findall(GPT2_PATTERN, text)
    counts = Counter(pretokens)
    first_half = len(set(pretokens[: len(pretokens) // 2]))
    assert len(counts) > 5_000
    assert 1.1 < len(counts) / first_half < 1.6  # the tail keeps growing, slowly
    assert sum(count == 1 for count in counts.values()) > len(counts) / 10
    frequencies = sorted(counts.values(), reverse=True)
    assert frequencies[9] > 8 * frequencies[199] > 60 * frequencies[1999]  # Zipf: not far from 1/rank


def test_stories_that_cannot_be_written_leave_nothing(script, tmp_path):
    stories = script("stories")
    with pytest.raises(FileNotFoundError):
        stories.write_stories(tmp_path / "missing" / "stories.txt", 1000)
    with pytest.raises(FileExistsError):
        stories.write_stories(tmp_path, 1000)
    done = run_job("missing/stories.txt", name="stories.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "stories.py: missing/stories.txt: No such file or directory\n")

    def interrupt(n_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stories.write_stories(tmp_path / "stories.txt", 1000, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


# Download

CONTENT = bytes(np.random.default_rng(7).integers(0, 256, 300_000, dtype=np.uint8))


class Server:
    """A web server of files, whose faults can be set."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []  # path and Range header
        self.cut_after: list[int] = []  # of each coming answer: close the connection after so many bytes
        self.ignores_range = False
        self.says_length = True
        self.speaks_http = True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        content = self.files.get(request.path)
        if not self.speaks_http:
            request.wfile.write(b"220 mail.example\r\n")
            return
        if content is None:
            request.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not self.ignores_range else 0
        total = len(content)
        if start >= total:
            request.send_response(416)
            request.send_header("Content-Range", f"bytes */{total}")
            request.end_headers()
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        if self.says_length:
            request.send_header("Content-Length", str(total - start))
        request.end_headers()
        body = content[start:]
        if self.cut_after:
            body = body[: self.cut_after.pop(0)]
        with contextlib.suppress(ConnectionError):
            request.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def download(script, server, monkeypatch):
    """The function that downloads, from the test's own server."""
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    server.files["/datasets/some/texts/resolve/main/file"] = CONTENT
    return functools.partial(script("dataset").download, "some/texts")


def test_download_whole(download, tmp_path):
    assert download(tmp_path / "new folder" / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path / "new folder") == ["file"]


@pytest.mark.parametrize("ignores_range", [False, True])
def test_download_goes_on_with_a_part(download, server, tmp_path, ignores_range):
    server.ignores_range = ignores_range
    server.cut_after = [120_000]
    with pytest.raises(OSError, match=r"file was cut short after 120,000 of 300,000 bytes; .*file\.part is kept"):
        download(tmp_path / "file")
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:120_000]
    assert download(tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]
    assert [wanted for _, wanted in server.requests] == ["bytes=0-", "bytes=120000-"]


@pytest.mark.parametrize("n_more", [0, 5])
def test_download_takes_a_complete_part_and_removes_one_that_is_too_long(download, server, tmp_path, n_more):
    """As a run leaves it that was killed just before it gave the file its name."""
    (tmp_path / "file.part").write_bytes(CONTENT + bytes(n_more))
    assert download(tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]
    assert [wanted for _, wanted in server.requests] == [f"bytes={300_000 + n_more}-", "bytes=0-"][: 1 + bool(n_more)]


def test_download_says_why_it_failed(download, server, tmp_path):
    with pytest.raises(OSError, match="404"):
        download(tmp_path / "missing")
    server.close()
    with pytest.raises(OSError, match="refused"):
        download(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_download_of_a_file_of_unknown_length_keeps_what_there_is(download, server, tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT[:1000])
    server.says_length = False
    server.ignores_range = True
    with pytest.raises(OSError, match="does not say how long file is"):
        download(tmp_path / "file")
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:1000]


def test_what_is_no_hub_is_told_in_one_line(script, server, tmp_path, monkeypatch, capsys):
    server.speaks_http = False
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    dataset = script("dataset").Dataset("Texts", "some/texts", {"train": "file"}, 300)
    assert script("dataset").find_texts(dataset, tmp_path) == {}
    assert "cannot get Texts from the hub (220 mail.example): making up stories instead" in capsys.readouterr().err


# Peak memory

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")


# In a process of its own: what a look at this one takes grows with what other tests left in memory, and the watcher
# rests ten times as long, so that it would miss a short peak.
PEAK_OF = """
import subprocess, sys, time
from benchmarks.peak_memory import PeakMemory

with PeakMemory(interval=0.01) as before:
    pass
with PeakMemory(interval=0.01) as memory:
    exec(sys.argv[1])
print(memory.method)
print(memory.peak_bytes - before.peak_bytes)
"""


def peak_of(code):
    """How `code` raises the peak memory of a process that does nothing else, in bytes, and how that was measured."""
    method, peak = processes.run(PEAK_OF, code).splitlines()
    return method, int(peak)


@needs_proc
def test_peak_memory_sees_what_was_given_back():
    method, peak = peak_of("block = bytearray(b'x') * 80_000_000; time.sleep(1); del block; time.sleep(0.1)")
    assert method.startswith(("PSS", "RSS"))
    assert 70e6 < peak < 120e6


@needs_proc
def test_peak_memory_counts_children():
    method, peak = peak_of(r"""
child = "block = bytearray(b'x') * 80_000_000; print('ready', flush=True); input()"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
children = [subprocess.Popen([sys.executable, "-c", child], **pipes) for _ in range(2)]
for child in children:
    child.stdout.readline()
time.sleep(1)
for child in children:
    child.communicate(b"\n")
""")
    assert method.startswith(("PSS", "RSS"))
    assert 150e6 < peak < 260e6


@needs_proc
def test_peak_memory_after_an_error_leaves_no_process():
    with pytest.raises(ZeroDivisionError), peak_memory.PeakMemory() as memory:
        raise ZeroDivisionError
    assert memory.peak_bytes > 0
    assert memory._watcher.poll() == 0


@needs_proc
def test_peak_memory_when_its_process_is_killed():
    with peak_memory.PeakMemory() as memory:
        memory._watcher.kill()
        memory._watcher.wait()
    assert memory.method == peak_memory.LARGEST


def test_peak_memory_without_proc(monkeypatch):
    monkeypatch.setattr(peak_memory.os.path, "exists", lambda path: False)
    with peak_memory.PeakMemory() as memory:
        pass
    assert memory.method in (peak_memory.LARGEST, peak_memory.NOT_MEASURED)
    assert memory.peak_bytes is None or memory.peak_bytes > 1e6


# The main job


def run_job(
    *arguments: str, cwd: Path, name: str = "train_tinystories.py", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in `cwd` as a user would, away from the network unless `environment` says otherwise."""
    return processes.ended(SCRIPTS / name, *arguments, cwd=cwd, **{"HF_HUB_OFFLINE": "1", **environment})


def check_result(
    done: subprocess.CompletedProcess[str],
    cwd: Path,
    texts: dict[str, Path],
    vocab_size: int,
    dataset: str = "tinystories",
) -> None:
    """Check what a run wrote against the texts, by way of the saved tokenizer."""
    import nbbpe

    assert done.returncode == 0, done.stderr
    assert "<- most time" in done.stdout
    out = cwd / "out" / dataset
    tokenizer = nbbpe.load(out / "tokenizer")
    assert tokenizer.vocab_size == vocab_size
    written = [f"{name}{suffix}" for name in texts for suffix in (".bin", ".bin.json")]
    assert sorted(path.name for path in out.iterdir()) == sorted(["tokenizer", *written])
    for name, text in texts.items():
        ids = np.fromfile(out / f"{name}.bin", dtype=np.dtype(tokenizer.dtype).newbyteorder("<"))
        assert tokenizer.decode_bytes(ids.tolist()) == text.read_bytes()
        assert f"{name}.bin: {len(ids):,} ids of {text.stat().st_size:,} bytes" in done.stdout


def test_main_sample(tmp_path):
    done = run_job("--sample", cwd=tmp_path)
    texts = {split: tmp_path / "data" / f"stories-5MB-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 1000)
    assert texts["train"].stat().st_size >= 5_000_000
    again = run_job("--sample", cwd=tmp_path)
    assert "making up" in done.stderr
    assert "making up" not in again.stderr


def test_main_input(tmp_path, script):
    script("stories").write_stories(tmp_path / "my text.txt", 300_000)
    done = run_job("--input", "my text.txt", "--vocab-size", "500", "--workers", "2", cwd=tmp_path)
    check_result(done, tmp_path, {"train": tmp_path / "my text.txt"}, 500)
    assert "longest token ' " in done.stdout  # a learned one, which is shorter than the special token
    assert not (tmp_path / "data").exists()


def test_main_downloads_once(tmp_path, server, script):
    stories = script("stories")
    names = {split: f"TinyStoriesV2-GPT4-{split}.txt" for split in ("train", "valid")}
    for split, n_bytes in (("train", 400_000), ("valid", 20_000)):
        stories.write_stories(tmp_path / split, n_bytes)
        server.files[f"/datasets/roneneldan/TinyStories/resolve/main/{names[split]}"] = (tmp_path / split).read_bytes()
    texts = {split: tmp_path / "data" / name for split, name in names.items()}
    for _ in range(2):
        done = run_job("--vocab-size", "500", cwd=tmp_path, HF_HUB_OFFLINE="0", HF_ENDPOINT=server.url)
        check_result(done, tmp_path, texts, 500)
        assert texts["train"].read_bytes() == (tmp_path / "train").read_bytes()
    assert len(server.requests) == 2


def test_main_goes_on_without_the_hub(tmp_path, server):
    server.files["/datasets/roneneldan/TinyStories/resolve/main/TinyStoriesV2-GPT4-train.txt"] = CONTENT
    server.cut_after = [1000]
    arguments = ["--vocab-size", "500", "--size", "0.3"]
    done = run_job(*arguments, cwd=tmp_path, HF_HUB_OFFLINE="0", HF_ENDPOINT=server.url)
    texts = {split: tmp_path / "data" / f"stories-0.3MB-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 500)
    assert "cannot get TinyStories from the hub" in done.stderr
    assert "is kept): making up stories instead" in done.stderr
    assert (tmp_path / "data" / "TinyStoriesV2-GPT4-train.txt.part").stat().st_size == 1000


def test_main_names_an_input_that_is_missing(tmp_path):
    done = run_job("--input", "missing.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("error: --input missing.txt is not a file\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "t.jsonl"], "--input t.jsonl is no plain text, whose bytes are compared with the decoded ids"),
        (["--input", "t.txt.gz"], "--input t.txt.gz is no plain text, whose bytes are compared with the decoded ids"),
        (["--input", "t.txt", "--sample"], "argument --sample: not allowed with argument --input"),
        (["--sample", "--generate"], "argument --generate: not allowed with argument --sample"),
        (["--input", "empty.txt"], "--input empty.txt is empty"),
        (["--sample", "--out", "t.txt"], "--out t.txt is not a folder"),
        (["--sample", "--data", "t.txt"], "--data t.txt is not a folder"),
        (["--sample", "--out", "t.txt/out"], "--out t.txt/out cannot be made: Not a directory"),
        (["--sample", "--data", "t.txt/data"], "--data t.txt/data cannot be made: Not a directory"),
        (["--sample", "--workers", "0"], "argument --workers: 0 is less than 1"),
        (["--sample", "--size", "nan"], "argument --size: nan is not a positive number of megabytes"),
        (["--sample", "--size", "0"], "argument --size: 0 is not a positive number of megabytes"),
        (["--sample", "--vocab-size", "0"], "argument --vocab-size: 0 is less than 257"),
    ],
)
def test_main_refuses_what_it_would_take_for_something_else(tmp_path, arguments, message):
    for name in "t.txt", "t.txt.gz", "t.jsonl":
        (tmp_path / name).write_bytes(gzip.compress(b"a text") if name.endswith(".gz") else b'{"text": "a text"}\n')
    (tmp_path / "empty.txt").touch()
    done = run_job(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: {message}\n")
    assert not (tmp_path / "data").exists()


def test_main_makes_up_as_much_as_it_is_asked_for(tmp_path):
    assert run_job("--sample", "--size", "0.1", "--vocab-size", "300", cwd=tmp_path).returncode == 0
    assert 100_000 <= (tmp_path / "data" / "stories-0.1MB-train.txt").stat().st_size < 120_000


def test_the_check_finds_ids_of_another_text(script, tmp_path):
    import nbbpe

    tokenizer = nbbpe.train(iter(["the cat sat on the mat"]), 260)
    (tmp_path / "text.txt").write_text("the cat sat")
    tokenizer.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin")
    check = script("train_tinystories").check
    check(tokenizer, tmp_path / "ids.bin", tmp_path / "text.txt")
    for other in "the mat sat", "the cat", "the cat sat on":
        (tmp_path / "text.txt").write_text(other)
        with pytest.raises(SystemExit):
            check(tokenizer, tmp_path / "ids.bin", tmp_path / "text.txt")


# OpenWebText

OWT_FOLDER = "/datasets/stanford-cs336/owt-sample/resolve/main"
OWT = "train_openwebtext.py"


@pytest.fixture
def owt_texts(tmp_path, script) -> dict[str, Path]:
    """Where the script has its texts, by split; the texts themselves lie packed in another folder."""
    (tmp_path / "packed").mkdir()
    for split, n_bytes in (("train", 400_000), ("valid", 20_000)):
        script("stories").write_stories(tmp_path / "story", n_bytes)
        (tmp_path / "packed" / f"owt_{split}.txt.gz").write_bytes(gzip.compress((tmp_path / "story").read_bytes()))
    return {split: tmp_path / "data" / f"owt_{split}.txt" for split in ("train", "valid")}


@pytest.mark.slow  # the other script's download
def test_openwebtext_is_downloaded_and_unpacked_once(tmp_path, server, owt_texts):
    for path in (tmp_path / "packed").iterdir():
        server.files[f"{OWT_FOLDER}/{path.name}"] = path.read_bytes()
    for _ in range(2):
        done = run_job("--vocab-size", "500", cwd=tmp_path, name=OWT, HF_HUB_OFFLINE="0", HF_ENDPOINT=server.url)
        check_result(done, tmp_path, owt_texts, 500, "openwebtext")
    assert len(server.requests) == 2
    assert sorted(os.listdir(tmp_path / "data")) == ["owt_train.txt", "owt_valid.txt"]


def test_openwebtext_is_taken_from_the_data_folder_packed_or_not(tmp_path, owt_texts):
    (tmp_path / "packed").rename(tmp_path / "data")
    check_result(run_job("--vocab-size", "500", cwd=tmp_path, name=OWT), tmp_path, owt_texts, 500, "openwebtext")
    packed = [path.with_name(f"{path.name}.gz") for path in owt_texts.values()]
    assert all(path.exists() for path in packed), "what was not downloaded here is the user's"
    for path in packed:
        path.unlink()
    check_result(run_job("--vocab-size", "300", cwd=tmp_path, name=OWT), tmp_path, owt_texts, 300, "openwebtext")


def test_a_packed_text_that_is_broken_is_told_in_one_line(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    whole = gzip.compress(CONTENT)
    for broken in whole[:-5000], b"no gzip at all", whole[:500] + bytes(len(whole)):
        (data / "owt_train.txt.gz").write_bytes(broken)
        done = run_job(cwd=tmp_path, name=OWT)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith("cannot decompress data/owt_train.txt.gz")
        assert os.listdir(data) == ["owt_train.txt.gz"]


@pytest.mark.slow
def test_openwebtext_without_the_hub_generates_stories(tmp_path):
    done = run_job("--vocab-size", "400", "--size", "0.3", cwd=tmp_path, name=OWT)
    texts = {split: tmp_path / "data" / f"stories-0.3MB-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 400, "openwebtext")
    assert [line for line in done.stderr.splitlines() if "cannot get" in line] == [
        "cannot get OpenWebText from the hub (HF_HUB_OFFLINE is set): making up stories instead"
    ]
