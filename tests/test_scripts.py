"""The scripts: the story generator, the download, the peak memory, and the main job from its command line.

Nothing here needs a network: the download talks to a server of the test's own on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import processes
import pytest
import regex

REPOSITORY = Path(__file__).resolve().parent.parent
SCRIPTS = REPOSITORY / "scripts"
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
    assert hashlib.sha256(data).hexdigest() == "6d9e4d2366d154c3ad80ad48a6bc30fd66c0dc2f0f1731cea840c10cb65123b3"


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


def test_stories_read_like_text(script, tmp_path):
    stories = script("stories")
    stories.write_stories(tmp_path / "stories.txt", 1_000_000)
    *documents, rest = (tmp_path / "stories.txt").read_bytes().decode().split(stories.SEPARATOR)
    assert rest == ""
    assert len(set(documents)) == len(documents) > 1000
    for document in documents:
        assert document == document.strip()
        assert len(document) < stories.MAX_STORY_BYTES / 4
        for paragraph in document.split("\n\n"):
            assert "\n" not in paragraph
            assert "  " not in paragraph
            assert not set("{}[]|%<>_") & set(paragraph)
            assert not regex.search(r" [.,!?]", paragraph)
            assert regex.match(r'["“]?[\p{Lu}\d]', paragraph), paragraph
            assert regex.search(r'[.!?]["”]?$', paragraph), paragraph
            assert paragraph.count('"') % 2 == 0
    text = " ".join(documents)
    assert not regex.findall(r"\b[Aa] (?:apple|old|icy|elephant|owl|orange|honest|enormous|ancient)\b", text)
    assert not regex.findall(r"\b[Aa]n (?:unicorn|ball|big|useful|dog)\b", text)


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

    def interrupt(n_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stories.write_stories(tmp_path / "stories.txt", 1000, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "word", "expected"),
    [
        ("a", "apple", "an apple"),
        ("a", "unicorn", "a unicorn"),
        ("a", "honest", "an honest"),
        ("a", "Old tree", "an Old tree"),
        ("plural", "box", "boxes"),
        ("plural", "toy", "toys"),
        ("plural", "puppy", "puppies"),
        ("plural", "guinea pig", "guinea pigs"),
        ("plural", "mouse", "mice"),
        ("past", "hop", "hopped"),
        ("past", "play with toys", "played with toys"),
        ("past", "hurry", "hurried"),
        ("past", "bake", "baked"),
        ("past", "gather acorns", "gathered acorns"),
        ("past", "go", "went"),
        ("ing", "run", "running"),
        ("ing", "bake", "baking"),
        ("ing", "climb trees", "climbing trees"),
        ("ing", "flee", "fleeing"),
        ("er", "big", "bigger"),
        ("er", "happy", "happier"),
        ("est", "brave", "bravest"),
        ("est", "quiet", "quietest"),
        ("ly", "happy", "happily"),
        ("ly", "gentle", "gently"),
        ("ly", "quick", "quickly"),
    ],
)
def test_english_forms(script, form, word, expected):
    assert script("english_forms").FORMS[form](word) == expected


# Download

CONTENT = bytes(np.random.default_rng(7).integers(0, 256, 300_000, dtype=np.uint8))


class Server:
    """A web server of files, whose faults can be set."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []  # path and Range header
        self.cut_after: list[int] = []  # of each coming answer: close the connection after so many bytes
        self.ignores_range = False
        self.announced_extra = 0  # bytes announced beyond those there are
        self.says_length = True
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
        if content is None:
            request.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not self.ignores_range else 0
        total = len(content) + self.announced_extra
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
def download(script, monkeypatch):
    """Return the download module, which does not rest between two attempts."""
    module = script("download")
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    return module


def test_download_whole(download, server, tmp_path):
    server.files["/file"] = CONTENT
    assert download.download(f"{server.url}/file", tmp_path / "file") == len(CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]
    assert server.requests == [("/file", None)]


@pytest.mark.parametrize("ignores_range", [False, True])
def test_download_resumes(download, server, tmp_path, ignores_range):
    server.files["/file"] = CONTENT
    server.ignores_range = ignores_range
    (tmp_path / "file.part").write_bytes(CONTENT[:100_001])
    assert download.download(f"{server.url}/file", tmp_path / "file") == len(CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]
    assert server.requests == [("/file", "bytes=100001-")]


def test_download_takes_a_part_that_is_whole(download, server, tmp_path):
    server.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(CONTENT)
    assert download.download(f"{server.url}/file", tmp_path / "file") == len(CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_download_starts_anew_if_the_part_is_too_long(download, server, tmp_path):
    server.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    download.download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_download_carries_on_when_it_is_cut_off(download, server, tmp_path):
    server.files["/file"] = CONTENT
    server.cut_after = [120_000, 50_000]
    download.download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.requests] == [None, "bytes=120000-", "bytes=170000-"]


def test_download_keeps_the_part_when_it_gives_up(download, server, tmp_path):
    server.files["/file"] = CONTENT
    server.cut_after = [120_000, 0]
    with pytest.raises(download.DownloadError) as caught:
        download.download(f"{server.url}/file", tmp_path / "file")
    assert str(caught.value) == f"{server.url}/file: the connection ended after 120,000 of 300,000 bytes"
    assert os.listdir(tmp_path) == ["file.part"]
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:120_000]
    download.download(f"{server.url}/file", tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_download_refuses_another_size(download, server, tmp_path):
    server.files["/file"] = CONTENT
    server.announced_extra = 5
    with pytest.raises(download.DownloadError, match="after 300,000 of 300,005 bytes"):
        download.download(f"{server.url}/file", tmp_path / "file")
    assert not (tmp_path / "file").exists()
    server.announced_extra = 0
    server.says_length = False
    (tmp_path / "file.part").unlink()
    with pytest.raises(download.DownloadError, match="does not say how long"):
        download.download(f"{server.url}/file", tmp_path / "file")


def test_download_says_why_it_failed(download, server, tmp_path):
    with pytest.raises(download.DownloadError, match="the server answered 404"):
        download.download(f"{server.url}/missing", tmp_path / "file")
    server.close()
    with pytest.raises(download.DownloadError, match="refused"):
        download.download(f"{server.url}/file", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_download_to_a_folder_that_is_not_there(download, server, tmp_path):
    server.files["/file"] = CONTENT
    with pytest.raises(FileNotFoundError):
        download.download(f"{server.url}/file", tmp_path / "missing" / "file")


# Peak memory

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")


# In a process of its own: what a look at this one takes grows with what other tests left in memory, and the watcher
# rests ten times as long, so that it would miss a short peak.
PEAK_OF = """
import subprocess, sys, time
from peak_memory import PeakMemory

with PeakMemory(interval=0.01) as before:
    pass
with PeakMemory(interval=0.01) as memory:
    exec(sys.argv[1])
print(memory.method)
print(memory.peak_bytes - before.peak_bytes)
"""


def peak_of(code):
    """How `code` raises the peak memory of a process that does nothing else, in bytes, and how that was measured."""
    method, peak = processes.run(PEAK_OF, code, PYTHONPATH=str(SCRIPTS)).splitlines()
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
def test_peak_memory_after_an_error_leaves_no_process(script):
    peak_memory = script("peak_memory")
    with pytest.raises(ZeroDivisionError), peak_memory.PeakMemory() as memory:
        raise ZeroDivisionError
    assert memory.peak_bytes > 0
    assert memory._watcher.poll() == 0


@needs_proc
def test_peak_memory_when_its_process_is_killed(script):
    peak_memory = script("peak_memory")
    with peak_memory.PeakMemory() as memory:
        memory._watcher.kill()
        memory._watcher.wait()
    assert memory.method == peak_memory.LARGEST


def test_peak_memory_without_proc(script, monkeypatch):
    peak_memory = script("peak_memory")
    monkeypatch.setattr(peak_memory.os.path, "exists", lambda path: False)
    with peak_memory.PeakMemory() as memory:
        pass
    assert memory.method in (peak_memory.LARGEST, peak_memory.NOT_MEASURED)
    assert memory.peak_bytes is None or memory.peak_bytes > 1e6


# Table and check


def test_table_marks_the_slowest_and_shows_parts(script):
    stage_log = script("stage_log")
    log = stage_log.StageLog(memory_method="PSS")
    log.stages.append(stage_log.Stage("short", None, 0.5, 10_000_000))
    log.stages.append(stage_log.Stage("long", 50_000_000, 2.0, 1_234_000_000, {"first": 1.5, "second": 0.5}))
    assert log.table() == [
        "stage     seconds  peak memory  MB/s",
        "short        0.50        10 MB",
        "long         2.00     1,234 MB  25.0  <- most time",
        "  first      1.50",
        "  second     0.50",
        "all          2.50     1,234 MB",
        "(peak memory: PSS)",
    ]


def test_nbbpe_progress_times_each_stage(script):
    progress = script("stage_log").NbbpeProgress()
    for stage in ("count", "merge"):
        for done in (1, 2):
            time.sleep(0.02)
            progress(stage, done, 2)
    progress.close()
    assert list(progress.seconds) == ["count", "merge"]
    assert all(seconds >= 0.039 for seconds in progress.seconds.values())


class ToyTokenizer(SimpleNamespace):
    """Ids 0 to 2 stand for `a`, `bb` and `ccc`."""

    vocab = {0: b"a", 1: b"bb", 2: b"ccc"}  # noqa: RUF012
    dtype = np.uint16

    def decode_bytes(self, ids: list[int]) -> bytes:
        return b"".join(self.vocab[token_id] for token_id in ids)


@pytest.mark.parametrize("n_ids", [0, 1, 7, 20_000, 35_001])
def test_check_of_ids(script, tmp_path, n_ids, monkeypatch):
    check_ids = script("check_ids")
    monkeypatch.setattr(check_ids, "IDS_AT_ONCE", 1000)
    tokenizer = ToyTokenizer()
    ids = np.random.default_rng(1).integers(0, 3, n_ids).astype("<u2")
    text = tokenizer.decode_bytes(ids.tolist())
    ids_path, text_path = tmp_path / "ids.bin", tmp_path / "text"

    def fault(ids: np.ndarray, text: bytes, n_tokens: int) -> str:
        ids.tofile(ids_path)
        text_path.write_bytes(text)
        return check_ids.find_fault(tokenizer, ids_path, text_path, n_tokens)

    assert fault(ids, text, n_ids) == ""
    assert "not" in fault(ids, text, n_ids + 1)
    assert "bytes in all" in fault(ids, text + b"a", n_ids)
    if n_ids:
        wrong = ids.copy()
        wrong[n_ids // 2] = 3
        assert "beyond the vocabulary" in fault(wrong, text, n_ids)
        for place in (0, n_ids // 2, n_ids - 1):
            spoilt = bytearray(text)
            spoilt[sum(len(tokenizer.vocab[i]) for i in ids[:place].tolist())] = ord("z")
            assert "do not decode" in fault(ids, bytes(spoilt), n_ids)


# The main job


def run_job(
    *arguments: str, cwd: Path, name: str = "train_tinystories.py", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in `cwd` as a user would, away from the network unless `environment` says otherwise."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, str(SCRIPTS / name), *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vocab-size", "many"], "--vocab-size"),
        (["--vocab-size", "256"], "--vocab-size must be at least 257"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--size", "0"], "--size must be a positive number"),
        (["--size", "nan"], "--size must be a positive number"),
        (["--nonsense"], "--nonsense"),
        (["--sample", "--input", "text"], "not allowed with"),
        (["--valid", "text"], "--valid goes with --input"),
        (["--input", "missing"], "cannot read --input missing: No such file"),
        (["--input", "."], "cannot read --input .:"),
        (["--input", "empty"], "--input empty is empty"),
        (["--input", "text", "--valid", "missing"], "cannot read --valid missing"),
        (["--input", "text", "--out", "text/below"], "cannot create --out text"),
        (["--sample", "--data", "text/below"], "cannot create --data text"),
    ],
)
def test_main_tells_wrong_arguments_in_one_line(tmp_path, arguments, message):
    (tmp_path / "text").write_text("Hello there.\n")
    (tmp_path / "empty").write_text("")
    done = run_job(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


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
    assert done.stdout.count("decode to the text") == len(texts)
    assert max(map(len, done.stdout.splitlines())) <= 120
    out = cwd / "out" / dataset
    tokenizer = nbbpe.load(out / "tokenizer")
    assert tokenizer.vocab_size == vocab_size
    written = [f"{name}{suffix}" for name in texts for suffix in (".bin", ".bin.json")]
    assert sorted(path.name for path in out.iterdir()) == sorted(["tokenizer", *written])
    for name, text in texts.items():
        ids = np.fromfile(out / f"{name}.bin", dtype=np.dtype(tokenizer.dtype).newbyteorder("<"))
        assert tokenizer.decode_bytes(ids.tolist()) == text.read_bytes()
        assert f"{name}: {len(ids):,} tokens" in done.stdout


def test_main_sample(tmp_path):
    done = run_job("--sample", cwd=tmp_path)
    texts = {split: tmp_path / "data" / f"stories-sample-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 1000)
    assert texts["train"].stat().st_size >= 5_000_000
    again = run_job("--sample", cwd=tmp_path)
    assert "generate" in done.stdout
    assert "generate" not in again.stdout


def test_main_input(tmp_path, script):
    script("stories").write_stories(tmp_path / "my text.txt", 300_000)
    done = run_job("--input", "my text.txt", "--vocab-size", "500", "--workers", "2", cwd=tmp_path)
    check_result(done, tmp_path, {"train": tmp_path / "my text.txt"}, 500)
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
    server.cut_after = [1000, 0]
    arguments = ["--vocab-size", "500", "--size", "0.3"]
    done = run_job(*arguments, cwd=tmp_path, HF_HUB_OFFLINE="0", HF_ENDPOINT=server.url)
    texts = {split: tmp_path / "data" / f"stories-generated-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 500)
    told = [line for line in done.stderr.splitlines() if "hub" in line]
    assert len(told) == 1
    assert "generating stories instead" in told[0]
    assert "is kept" in told[0]
    assert (tmp_path / "data" / "TinyStoriesV2-GPT4-train.txt.part").stat().st_size == 1000


# OpenWebText, and the two compared

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
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("train_openwebtext.py: error: cannot unpack data/owt_train.txt.gz")
        assert os.listdir(data) == ["owt_train.txt.gz"]


def test_openwebtext_without_the_hub_generates_stories(tmp_path):
    done = run_job("--vocab-size", "400", "--size", "0.3", cwd=tmp_path, name=OWT)
    texts = {split: tmp_path / "data" / f"stories-generated-{split}.txt" for split in ("train", "valid")}
    check_result(done, tmp_path, texts, 400, "openwebtext")
    assert [line for line in done.stderr.splitlines() if "cannot get" in line] == [
        "cannot get OpenWebText from the hub (HF_HUB_OFFLINE is set): generating stories instead."
    ]


def test_compare_tokenizers(tmp_path):
    import nbbpe

    # Two merges each, of the letters of its own text only.
    for name, text in (("a", "abc " * 300), ("b", "xyz " * 200)):
        (tmp_path / f"{name}.txt").write_text(text)
        nbbpe.train([text], 258).save(tmp_path / name)
    arguments = ["--a", "a", "--text-a", "a.txt", "--b", "b", "--text-b", "b.txt"]
    done = run_job(*arguments, cwd=tmp_path, name="compare_tokenizers.py")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:3]]
    # Of " abc", its own tokenizer leaves two tokens, the other four.
    assert [row[:4] for row in rows] == [["a.txt", "2.000", "1.000", "A,"], ["b.txt", "1.000", "2.000", "B,"]]
    assert "A suits this text better: 50.0 % fewer tokens." in done.stdout
    assert "B suits this text better: 50.0 % fewer tokens." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "cannot read --text-a data/TinyStoriesV2-GPT4-valid.txt"),
        (
            ["--text-a", "text", "--text-b", "text"],
            "--a out/tinystories/tokenizer is missing; scripts/train_tinystories.py",
        ),
        (["--text-a", "text", "--text-b", "text", "--a", "none"], "--a none is missing"),
        (["--size", "-1"], "--size must be a positive number"),
    ],
)
def test_compare_tokenizers_tells_wrong_arguments_in_one_line(tmp_path, arguments, message):
    (tmp_path / "text").write_text("Hello there.\n")
    done = run_job(*arguments, cwd=tmp_path, name="compare_tokenizers.py")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_beginning_of_a_text_ends_with_a_line(script, tmp_path):
    beginning = script("compare_tokenizers").beginning
    (tmp_path / "text").write_bytes(b"one\ntwo\nthree")
    assert beginning(tmp_path / "text", 13) == b"one\ntwo\nthree"
    assert beginning(tmp_path / "text", 12) == b"one\ntwo\n"
    assert beginning(tmp_path / "text", 8) == b"one\ntwo\n"
    assert beginning(tmp_path / "text", 2) == b"on"
