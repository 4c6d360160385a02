"""encode_file: the ids of a file are those of its text, however it is cut; nothing is left half-done."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import sys
import threading
import time
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from real_patterns import WITHOUT_PIECES
from records import filled_pipe
from vocabularies import BYTES

import nbbpe
from nbbpe.idfiles import block_writer, division, part_encoder, writer
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import find_inputs
from nbbpe.system import scratch

PATTERNS = {"gpt2": "gpt2", "user": texts.SPLIT_WITH_GAPS, "none": None}
DATA = (texts.SAMPLE + texts.SPECIAL + "the cat" + texts.SPECIAL * 2 + " a\n").encode() + b"caf\xc3 \xff'\xe2\x82"


def read(path: Path, dtype: np.dtype) -> np.ndarray:
    """The ids of a .bin or .npy file, as another program would read them."""
    return np.load(path) if path.suffix == ".npy" else np.fromfile(path, dtype=dtype.newbyteorder("<"))


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module", params=PATTERNS.values(), ids=PATTERNS)
def tokenizer(request) -> nbbpe.Tokenizer:
    """A tokenizer with a special token, for each kind of pattern."""
    return nbbpe.train(iter([texts.SAMPLE, "the cat sat on the mat " * 3]), 380, [texts.SPECIAL], pattern=request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of text, alone in its folder."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "text.txt").write_bytes(DATA)
    return tmp_path / "in" / "text.txt"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty folder."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


# The ids


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_a_file_of_ids_holds_what_encode_array_gives(tokenizer, source, out, suffix):
    path = out / f"ids{suffix}"
    n_ids = tokenizer.encode_file(source, path)
    wanted = tokenizer.encode_array(DATA)
    assert n_ids == len(wanted)
    ids = read(path, tokenizer.dtype)
    assert ids.dtype == wanted.dtype
    assert np.array_equal(ids, wanted)
    assert tokenizer.decode_bytes(ids) == DATA
    assert left_in(out) == [path.name, f"{path.name}.json"]
    assert left_in(source.parent) == ["text.txt"]


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_windows_and_chunks_change_nothing(tokenizer, source, out, cut_everywhere, workers, suffix):
    data = DATA * 4 + texts.SPECIAL.encode() + b"x" * 300
    source.write_bytes(data)
    wanted = tokenizer.encode_array(data)
    for n in 40, 250, 2000:
        cut_everywhere(n)
        path = out / f"{n}{suffix}"
        assert tokenizer.encode_file(str(source), str(path), workers=workers) == len(wanted)
        assert np.array_equal(read(path, tokenizer.dtype), wanted), n
    assert len(left_in(out)) == 2 * 3


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("allowed", [(), {"the cat"}, {texts.SPECIAL}, "all"])
def test_only_allowed_special_tokens_become_their_ids_and_are_cut_at(
    tokenizer, source, out, cut_everywhere, workers, allowed
):
    tokenizer = tokenizer.with_special_tokens(["the cat"])
    data = b"".join(part + b" the cat" for part in (DATA, b"x" + texts.SPECIAL.encode() + b"y" * 70)) * 3
    source.write_bytes(data)
    wanted = tokenizer.encode_array(data, allowed_special=allowed)
    for n in 40, 250:
        cut_everywhere(n)
        path = out / f"{n}.bin"
        assert tokenizer.encode_file(source, path, workers=workers, allowed_special=allowed) == len(wanted)
        assert np.array_equal(read(path, tokenizer.dtype), wanted), n
    separators = tokenizer.special_tokens if allowed == "all" else allowed
    about = json.loads(Path(f"{path}.json").read_text())
    assert about["separator_ids"] == sorted(tokenizer.special_tokens[token] for token in separators)


def test_special_tokens_in_records_can_be_plain_text(small, out):
    records = [f"the{texts.SPECIAL} cat", "sat", texts.SPECIAL]
    end = small.special_tokens[texts.SPECIAL]
    small.encode_file(iter(records), out / "ids.bin", separator=texts.SPECIAL)
    wanted = [token_id for record in records for token_id in [*small.encode_ordinary(record), end]]
    assert read(out / "ids.bin", small.dtype).tolist() == wanted
    documents = [small.decode(ids) for ids in nbbpe.TokenFile(out / "ids.bin", small).documents()]
    assert [document.removesuffix(texts.SPECIAL) for document in documents[:2]] == records[:2]
    with pytest.raises(TypeError, match='allowed_special must be "all" or a set of special tokens'):
        small.encode_file(iter(records), out / "more.bin", allowed_special=texts.SPECIAL)
    assert left_in(out) == ["ids.bin", "ids.bin.json"]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("suffix", "size"), [(".bin", 401), (".npy", 70_000)])
def test_separators_in_front_are_those_after_with_the_last_one_moved(
    small, tmp_path, out, cut_everywhere, workers, suffix, size
):
    tok = small.with_special_tokens({"<far>": size - 1})
    texts_of = {"a.txt": f"the cat{texts.SPECIAL}sat{texts.SPECIAL}", "b.txt": "", "none.jsonl": "\n"}
    texts_of["c.jsonl"] = "".join(json.dumps({"text": text}) + "\n" for text in ["the", "", f"a{texts.SPECIAL}", "mat"])
    for name, text in texts_of.items():
        (tmp_path / name).write_text(text)
    ids, front = out / f"ids{suffix}", out / f"front{suffix}"
    for names in (
        ["c.jsonl"],
        ["a.txt", "b.txt", "none.jsonl", "c.jsonl"],
        ["c.jsonl", "none.jsonl"],
        ["b.txt"],
        ["none.jsonl"],
    ):
        inputs = [tmp_path / name for name in names]
        for n in 2, 1000:
            cut_everywhere(n)
            n_ids = tok.encode_file(inputs, ids, separator=texts.SPECIAL)
            found = tok.encode_file(inputs, front, workers, separator=texts.SPECIAL, separator_first=True)
            assert found == n_ids
            assert np.array_equal(read(front, tok.dtype), np.roll(read(ids, tok.dtype), 1))
            before = nbbpe.TokenFile(front, tok, verify=True)  # one without ids has a checksum, too
            if n_ids:
                after = nbbpe.TokenFile(ids, tok, verify=True)
                assert (after.separator_first, before.separator_first) == (False, True)
                documents = [document[:-1].tolist() for document in after.documents()]
                assert [document[1:].tolist() for document in before.documents()] == documents
        assert left_in(out) == sorted(path.name + more for path in (ids, front) for more in ("", ".json"))  # and no ends


def test_each_of_two_files_is_a_document_and_one_is_all_of_them(small, tmp_path, out):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, text in zip(paths, ["the cat", " sat on"], strict=True):
        path.write_text(text)
    small.encode_file(paths, out / "ids.bin")
    found = nbbpe.TokenFile(out / "ids.bin", small)
    assert [small.decode(ids) for ids in found.documents()] == ["the cat", " sat on"]
    small.encode_file(paths[:1], out / "ids.bin")
    assert left_in(out) == ["ids.bin", "ids.bin.json"]


def test_a_separator_in_front_is_one_that_was_given(small, source, out):
    with pytest.raises(ValueError, match="separator_first=True needs separator="):
        small.encode_file(source, out / "ids.bin", separator_first=True)
    with pytest.raises(TypeError, match=r"separator_first must be True or False, not '<\|endoftext\|>'"):
        small.encode_file(source, out / "ids.bin", separator=texts.SPECIAL, separator_first=texts.SPECIAL)
    assert left_in(out) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_without_special_tokens_is_cut_at_certain_boundaries(tokenizer, source, out, cut_everywhere, workers):
    data = DATA.replace(texts.SPECIAL.encode(), b" ") * 5
    source.write_bytes(data)
    cut_everywhere(100)
    tokenizer.encode_file(source, out / "ids.bin", workers=workers)
    assert np.array_equal(read(out / "ids.bin", tokenizer.dtype), tokenizer.encode_array(data))


@pytest.mark.parametrize("workers", [2, 1000])
def test_many_workers_get_no_tiny_parts(small, tmp_path, workers):
    path = tmp_path / "text.txt"
    path.write_bytes(b"the cat " * (9 << 17))
    parts = division.divide(small, find_inputs(path, None, "raise", "input_path"), None, workers).parts()
    assert 8 <= len(parts) <= 40


@pytest.mark.parametrize(("n_bytes", "workers"), [(90, 1), (110, 2)])
def test_threads_share_no_files_that_are_small(small, tmp_path, monkeypatch, n_bytes, workers):
    monkeypatch.setattr(division, "MIN_BYTES_FOR_WORKERS", 256 * 100)
    path = tmp_path / "text.txt"
    path.write_bytes(b"a" * n_bytes)
    inputs = find_inputs([path] * 300, None, "raise", "input_path")
    assert division.divide(small, inputs, None, 2).n_workers == workers
    assert division.divide(small._splitting_with("regex"), inputs, None, 2).n_workers == 2


@given(data=texts.data(200), n=st.integers(1, 120))
def test_any_bytes_cut_anywhere_give_their_ids(sizes, small, tmp_path, data, n):
    path = tmp_path / "text"
    path.write_bytes(data)
    sizes(window=n)
    assert small.encode_file(path, tmp_path / "ids.bin") == len(small.encode(data))
    assert np.array_equal(read(tmp_path / "ids.bin", small.dtype), small.encode_array(data))


@pytest.mark.parametrize("specials", [["<|end|>", "X<|end|>"], ["=="], ["aba", "bab"], ["<|end|><|end|>", "<|end|>"]])
def test_special_tokens_in_and_across_each_other_are_the_same_for_any_cut(small, source, out, cut_everywhere, specials):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, specials)
    data = ("abX<|end|>cd=====ababab<|end|><|end|><|end|> X" * 15).encode()
    source.write_bytes(data)
    wanted = tokenizer.encode_array(data)
    ids = {token: i for i, token in small.vocab.items()}
    special_ids = {token.encode(): i for token, i in tokenizer.special_tokens.items()}
    assert wanted.tolist() == naive.encode(data, small.merges, ids, NAMED["gpt2"].compiled, special_ids)
    for n in 7, 30, 101:
        cut_everywhere(n)
        tokenizer.encode_file(source, out / "ids.bin", workers=2)
        assert np.array_equal(read(out / "ids.bin", tokenizer.dtype), wanted)


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_empty_file_gives_an_empty_array(tokenizer, source, out, cut_everywhere, workers, suffix):
    cut_everywhere(10)
    for data, n in (b"", 0), (texts.SPECIAL.encode(), 1):
        source.write_bytes(data)
        path = out / f"ids{suffix}"
        assert tokenizer.encode_file(source, path, workers=workers) == n
        ids = read(path, tokenizer.dtype)
        assert ids.shape == (n,)
        assert ids.dtype == tokenizer.dtype


def test_a_large_vocabulary_is_written_as_uint32(source, out, cut_everywhere):
    vocab = BYTES | {i: b"<%d>" % i for i in range(256, 65536)} | {65536: b"th"}
    tokenizer = nbbpe.Tokenizer(vocab, [(b"t", b"h")])
    for path in out / "ids.bin", out / "ids.npy":
        n_ids = tokenizer.encode_file(source, path)
        ids = read(path, np.dtype("<u4"))
        assert ids.dtype == np.uint32
        assert len(ids) == n_ids
        assert ids.max() == 65536
        assert tokenizer.decode_bytes(ids) == DATA
    assert (out / "ids.bin").stat().st_size == 4 * n_ids


def test_an_npy_file_can_be_mapped(tokenizer, source, out):
    tokenizer.encode_file(source, out / "ids.npy")
    mapped = np.load(out / "ids.npy", mmap_mode="r")
    assert np.array_equal(mapped, tokenizer.encode_array(DATA))
    assert mapped.offset % 64 == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_real_text_gives_the_ids_of_its_text(gpt2, stories, out, cut_everywhere, workers):
    cut_everywhere(30_000)
    gpt2.encode_file(stories, out / "ids.npy", workers=workers)
    assert np.array_equal(np.load(out / "ids.npy"), gpt2.encode_array(stories.read_bytes()))


# Names and kinds of files


NAMES = [
    "a b.txt",
    "ünïcödé 中 🙂.txt",
    "-rf.txt",
    "new\nline.txt",
    "'quoted\".txt",
    "no suffix",
    ".hidden",
    "a.b.c",
    "%s{}",
]


@pytest.mark.parametrize("name", NAMES)
def test_strange_names_are_names(small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(DATA)
    wanted = small.encode_array(DATA)
    small.encode_file(name, f"{name}.bin")
    assert np.array_equal(read(Path(f"{name}.bin"), small.dtype), wanted)
    small.encode_file(tmp_path / name, tmp_path / f"{name}.npy")
    assert np.array_equal(np.load(tmp_path / f"{name}.npy"), wanted)
    assert nbbpe.train(Path(name), 300).vocab_size == 300


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no file here has a content and the size 0")
def test_a_file_that_says_its_size_is_0_is_read_to_its_end(tokenizer, tmp_path):
    content = Path("/proc/version").read_bytes()
    tokenizer.encode_file("/proc/version", tmp_path / "ids.bin")
    assert np.array_equal(read(tmp_path / "ids.bin", tokenizer.dtype), tokenizer.encode_array(content))
    assert nbbpe.train("/proc/version", 257).merges == nbbpe.train(iter([content]), 257).merges


@pytest.mark.parametrize("workers", [1, 2])
def test_a_pipe_can_be_encoded(tokenizer, tmp_path, out, cut_everywhere, workers):
    cut_everywhere(64)
    data = DATA * 30
    with filled_pipe(tmp_path / "pipe", data) as pipe:
        tokenizer.encode_file(pipe, out / "ids.bin", workers=workers)
    assert np.array_equal(read(out / "ids.bin", tokenizer.dtype), tokenizer.encode_array(data))


def test_an_existing_output_is_replaced(small, source, out):
    (out / "ids.bin").write_bytes(b"old" * 10_000)
    small.encode_file(source, out / "ids.bin")
    assert np.array_equal(read(out / "ids.bin", small.dtype), small.encode_array(DATA))


def test_the_output_may_be_read_by_whom_the_umask_allows(small, source, out):
    old = os.umask(0o022)
    try:
        small.encode_file(source, out / "ids.bin")
    finally:
        os.umask(old)
    assert stat.S_IMODE((out / "ids.bin").stat().st_mode) == 0o644


def test_progress_is_told_in_bytes_up_to_the_size(small, source, out, cut_everywhere):
    source.write_bytes(DATA * 10)
    for workers in 1, 2:
        told = []
        cut_everywhere(500)
        small.encode_file(source, out / "ids.bin", workers, lambda *args, told=told: told.append(args))
        assert told[-1] == ("encode", len(DATA) * 10, len(DATA) * 10)
        assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_moves_while_a_file_is_encoded(small, source, out, cut_everywhere, workers):
    source.write_bytes(DATA * 20)
    told = []
    cut_everywhere(1000)
    small.encode_file(source, out / "ids.bin", workers, lambda *args: told.append(args))
    assert len(told) >= 3


# What is refused, and what is left after it


@pytest.fixture
def assert_refused(small, source, out):
    """A function that checks that encode_file raises, leaves no new file, and does not touch an older output."""

    def check(error, message, input_path=None, output_path=None, tokenizer=small, **options):
        old = out / "old.bin"
        old.write_bytes(b"precious")
        with pytest.raises(error, match=message):
            tokenizer.encode_file(input_path or source, output_path or old, **options)
        assert old.read_bytes() == b"precious"
        assert left_in(out) == ["old.bin"]
        assert source.read_bytes() == DATA

    return check


def test_a_missing_input_is_named(assert_refused, source):
    assert_refused(FileNotFoundError, "nothing", input_path=source.parent / "nothing")
    assert_refused(IsADirectoryError, "is a folder", input_path=source.parent)


@pytest.mark.filterwarnings("ignore:.* is not a text file by its name")
def test_an_output_that_cannot_be_is_told(assert_refused, source, out):
    assert_refused(FileNotFoundError, "does not exist; make it first", output_path=out / "no" / "such" / "ids.bin")
    assert_refused(NotADirectoryError, "is not a folder", output_path=out / "old.bin" / "ids.bin")
    same = {"input_path": out / "old.bin", "output_path": out / ".." / "out" / "old.bin"}
    assert_refused(ValueError, "both input and output", **same)
    for name in "ids.txt", "ids", "ids.BIN", "ids.npz", "bin", "":
        assert_refused(ValueError, r"must be a name that ends in \.bin .* or \.npy", output_path=f"{out}/{name}")


def test_an_output_that_is_a_folder_is_told_and_kept(small, source, out):
    (out / "ids.bin").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; give a file name"):
        small.encode_file(source, out / "ids.bin")
    assert left_in(out) == ["ids.bin"]
    assert left_in(out / "ids.bin") == []


@pytest.mark.filterwarnings("ignore:.* is not a text file by its name", "ignore:.* contains NUL bytes")
def test_the_input_cannot_be_the_output_by_any_name(small, tmp_path):
    path = tmp_path / "text.bin"
    path.write_bytes(DATA)
    os.link(path, tmp_path / "hard.bin")
    os.symlink(path, tmp_path / "soft.bin")
    for name in "text.bin", "hard.bin", "soft.bin":
        with pytest.raises(ValueError, match="both input and output"):
            small.encode_file(path, tmp_path / name)
    assert path.read_bytes() == DATA
    small.encode_file(documents=["the", "cat"], output_path=tmp_path / "ids.bin")
    with pytest.raises(ValueError, match="both input and output"):
        small.encode_file(tmp_path / "ids.bin.ends", tmp_path / "ids.bin")


def test_bad_workers_are_told(assert_refused):
    assert_refused(ValueError, "at least 1", workers=0)
    assert_refused(TypeError, "positive integer", workers=1.5)


def test_bad_arguments_are_told_before_work(assert_refused, source):
    told = {"progress": lambda *_: pytest.fail("work was begun")}
    assert_refused(FileNotFoundError, "nothing", input_path=[source, "nothing"], **told)
    assert_refused(FileNotFoundError, "no such", output_path="no such/ids.bin", **told)
    assert_refused(ValueError, "ends in", output_path="ids.txt", **told)


def test_a_set_has_no_order_and_an_output_has_a_name(small, source, out):
    for name in "input_path", "documents":
        with pytest.raises(TypeError, match=rf"^{name} must be a list of .*, not set, which has no order"):
            small.encode_file(output_path=out / "ids.bin", **{name: {str(source)}})
    with pytest.raises(TypeError, match=r"^output_path is missing: a \.bin or \.npy file to write"):
        small.encode_file(source)
    assert left_in(out) == []


def test_what_may_not_be_read_or_written_is_an_error(small, nobodys_folder):
    folder, as_nobody = nobodys_folder
    (folder / "text.txt").write_bytes(DATA)
    (folder / "out").mkdir(0o555)
    with as_nobody(), pytest.raises(PermissionError, match=r"cannot write to the folder.*out"):
        small.encode_file(folder / "text.txt", folder / "out" / "ids.bin")
    assert left_in(folder / "out") == []
    (folder / "text.txt").chmod(0)
    with as_nobody(), pytest.raises(PermissionError, match="text"):
        small.encode_file(folder / "text.txt", folder / "ids.bin")
    assert left_in(folder) == ["out", "text.txt"]


# How many writes succeed; the first one of a small file is made when the file is closed.
@pytest.mark.parametrize(("workers", "n_written"), [(1, 1), (2, 1), (1, 0)])
def test_a_disk_that_is_full_is_an_error_that_names_the_output(
    assert_refused, out, monkeypatch, cut_everywhere, workers, n_written
):
    if n_written:
        cut_everywhere(100)
    left = n_written
    original = io.BufferedWriter.write

    class Full(io.BufferedWriter):
        def write(self, data):
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return original(self, data)

    def open_full(path, mode, **options):
        # Parts are written by workers; which of them are joined before the disk is full depends on who is faster.
        return Full(io.FileIO(path, mode)) if mode == "wb" else open(path, mode, **options)

    monkeypatch.setattr(block_writer, "open", open_full, raising=False)
    assert_refused(OSError, r"No space left on device: .*old\.bin", workers=workers)


@pytest.mark.skipif(sys.platform != "linux", reason="files are concatenated within the kernel on Linux only")
@pytest.mark.parametrize("n_bytes", [0, 7])
def test_a_file_system_that_cannot_copy_in_the_kernel_gets_the_ids(
    small, source, out, monkeypatch, cut_everywhere, n_bytes
):
    cut_everywhere(100)
    original = os.sendfile
    n_calls = 0

    def sendfile(to: int, of: int, offset: int | None, n: int) -> int:
        """Copies a few bytes, and then fails, as in ecryptfs."""
        nonlocal n_calls
        n_calls += 1
        if n_bytes and n_calls % 2:
            return original(to, of, offset, n_bytes)
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "sendfile", sendfile)
    small.encode_file(source, out / "ids.npy", resume=True)
    assert n_calls > 1
    assert read(out / "ids.npy", small.dtype).tolist() == small.encode(DATA)


FULL = """
import resource, signal, sys, nbbpe
from nbbpe.idfiles import division
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
division.MIN_BYTES_FOR_WORKERS = 0
division._CHUNK_BYTES = 500_000
tokenizer = nbbpe.load(sys.argv[1])
tokenizer.encode("warm up: the cache is written before files may not grow")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    tokenizer.encode_file(sys.argv[2], sys.argv[3], workers=int(sys.argv[4]))
except OSError as error:
    print(type(error).__name__, error.errno, error.filename)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_write_that_the_system_refuses_leaves_nothing(small, source, out, tmp_path, workers):
    small.save(tmp_path / "tokenizer")
    source.write_bytes(DATA * 3000)
    (out / "ids.bin").write_bytes(b"precious")
    told = processes.run(FULL, tmp_path / "tokenizer", source, out / "ids.bin", workers)
    assert told.split(maxsplit=2) == ["OSError", str(errno.EFBIG), f"{out / 'ids.bin'}\n"]
    assert (out / "ids.bin").read_bytes() == b"precious"
    assert left_in(out) == ["ids.bin"]


def test_an_error_in_the_progress_callable_leaves_nothing(assert_refused, cut_everywhere):
    def fail(stage, done, total):
        raise LookupError("stop it")

    cut_everywhere(300)
    for workers in 1, 2:
        assert_refused(LookupError, "stop it", workers=workers, progress=fail)


def test_a_file_that_shrinks_while_it_is_read_is_an_error(small, source, out, sizes):
    def shrink(stage, done, total):
        os.truncate(source, 20 * len(DATA) - 5)

    source.write_bytes(DATA * 20)
    sizes(window=1000, out=4096, report=1)
    with pytest.raises(OSError, match=r"text\.txt' changed while it was read: it has .* bytes, and had"):
        small.encode_file(source, out / "ids.bin", progress=shrink)
    assert left_in(out) == []


STOP = """
import sys, nbbpe
from nbbpe.idfiles import division
division.MIN_BYTES_FOR_WORKERS = 0
division._CHUNK_BYTES = int(sys.argv[5])
tokenizer = nbbpe.load(sys.argv[1])
tokenizer.encode("warm up")
say = lambda *done: print("now", flush=True)
if sys.argv[4] == "1":
    say()  # and not again before the end
tokenizer.encode_file(sys.argv[2], sys.argv[3], int(sys.argv[4]), say)
"""


# About ten seconds of work: with a pattern of one's own as every document goes to regex, in threads as parts are small.
@pytest.mark.parametrize(
    ("pattern", "workers", "part_bytes"),
    # `regex` splits all of the text, which takes its time.
    [(WITHOUT_PIECES, 1, 2_000_000), (WITHOUT_PIECES, 2, 2_000_000), ("gpt2", 2, 10_000)],
)
def test_ctrl_c_stops_at_once_and_leaves_nothing(small, source, out, tmp_path, pattern, workers, part_bytes):
    slow = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern)
    slow.save(tmp_path / "tokenizer")
    source.write_bytes((texts.SAMPLE * 500 + texts.SPECIAL).encode() * 260)
    (out / "ids.npy").write_bytes(b"precious")
    ended = processes.interrupt(STOP, tmp_path / "tokenizer", source, out / "ids.npy", workers, part_bytes)
    processes.assert_ended_well(ended)
    assert (out / "ids.npy").read_bytes() == b"precious"
    assert left_in(out) == ["ids.npy"]


@given(st.integers(0, 10**12))
def test_the_header_of_an_npy_file_is_of_one_length_and_says_the_number(n_ids):
    for dtype in np.dtype(np.uint16), np.dtype(np.uint32):
        header = writer._npy_header(dtype, n_ids)
        assert len(header) % 64 == 0
        assert len(header) == writer._NPY_HEADER
        stream = io.BytesIO(header)
        assert np.lib.format.read_magic(stream) == (1, 0)
        assert np.lib.format.read_array_header_1_0(stream) == ((n_ids,), False, dtype)


def test_a_header_of_another_length_is_an_error_before_it_overwrites_ids(small, source, out, monkeypatch):
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", lambda stream, description: stream.write(b"x" * 192))
    with pytest.raises(RuntimeError, match="NumPy wrote a header of 192 bytes where 128 were reserved"):
        small.encode_file(source, out / "ids.npy")
    assert left_in(out) == []


def test_a_scratch_folder_is_gone_whatever_happens(tmp_path):
    def use(error: type[BaseException] | None) -> None:
        with scratch.scratch_folder(tmp_path / "file") as folder:
            assert Path(folder).parent == tmp_path
            (Path(folder) / "part").write_text("x")
            if error:
                raise error

    use(None)
    assert left_in(tmp_path) == []
    for error in OSError, KeyboardInterrupt, GeneratorExit:
        with pytest.raises(error):
            use(error)
        assert left_in(tmp_path) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_small_parts_that_are_joined_at_once_have_no_files(small, tmp_path, monkeypatch, sizes, workers):
    made = []
    monkeypatch.setattr(part_encoder, "OutputFile", lambda path, *_: made.append(path))
    sizes(for_workers=1)
    for i in range(5):
        (tmp_path / f"{i}.jsonl").write_text(f'{{"text": "the cat {i}"}}\n' * (3 * i))  # the first has none
    small.encode_file(tmp_path / "*.jsonl", tmp_path / "ids.bin", workers=workers)
    assert not made
    found = [small.decode(ids) for ids in nbbpe.TokenFile(tmp_path / "ids.bin", small).documents()]
    assert found == [f"the cat {i}" for i in range(5) for _ in range(3 * i)]


def test_threads_do_not_wait_for_a_part_that_never_begins(small, sizes, processors, tmp_path, monkeypatch):
    sizes(chunk=10, for_workers=0, held=1)
    processors(2)
    run = part_encoder.PartEncoder.run
    waits = threading.Event()
    late: list[threading.Thread] = []

    def run_but_the_first(self, task):
        if task[0] == 0:
            assert waits.wait(60)
            time.sleep(0.05)
            raise LookupError("no part was begun")
        late.append(threading.current_thread())
        waits.set()
        yield from run(self, task)

    monkeypatch.setattr(part_encoder.PartEncoder, "run", run_but_the_first)
    (tmp_path / "text.txt").write_text("the cat sat on the mat " * 20)
    with pytest.raises(LookupError, match="no part was begun"):
        small.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", workers=2)
    (thread,) = late
    thread.join(60)
    assert not thread.is_alive()
