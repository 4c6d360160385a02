"""Writing files: whole or not at all, and never in the place of what is no file."""

from __future__ import annotations

import os
import threading

import pytest

import nbbpe
from nbbpe import cli
from nbbpe.files import is_device, whole_file


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new.txt"
    with whole_file(path) as unfinished:
        with open(unfinished, "w") as file:
            file.write("all")
        assert not path.exists()
    assert path.read_text() == "all"
    assert os.listdir(tmp_path) == ["new.txt"]


def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text("old")

    def write_half() -> None:
        with whole_file(path) as unfinished, open(unfinished, "w") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["old.txt"]


# Run as root, a file would take the place of /dev/null itself: so these only ask, and write into pipes.


def test_what_is_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "pipe", tmp_path / "link")
    (tmp_path / "file").touch()
    for path in "/dev/null", "/dev/stdout", "/dev/fd/1", "/dev/no-such-device", tmp_path / "pipe", tmp_path / "link":
        assert is_device(path), path
    for path in tmp_path, tmp_path / "file", tmp_path / "missing", "/dev/shm/ids.bin":
        assert not is_device(path), path


WRITERS = {
    "ids.bin": lambda tok, path: tok.encode_file(iter(["a"]), path),
    "tokenizer.json": nbbpe.Tokenizer.to_hf,
    "x.tiktoken": nbbpe.Tokenizer.save_tiktoken,
    "vocab.json": lambda tok, path: tok.save_gpt2(path, path.with_name("merges.txt")),
    "merges.txt": lambda tok, path: tok.save_gpt2(path.with_name("vocab.json"), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_takes_the_place_of_a_pipe_or_a_folder(tmp_path, small, name):
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(FileExistsError, match=f"{name}' is a device, a pipe or the like"):
        WRITERS[name](small, path)
    assert os.listdir(tmp_path) == [name]
    assert path.is_fifo()
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match=f"{name}' is a folder; give a file name"):
        WRITERS[name](small, path)
    assert os.listdir(tmp_path) == [name]


def test_decode_writes_into_a_pipe_and_leaves_it_there(tmp_path, small):
    small.save(tmp_path / "tok")
    small.encode_file(iter(["the cat sat"]), tmp_path / "ids.bin")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert cli.main(["decode", str(tmp_path / "ids.bin"), "-t", str(tmp_path / "tok"), "-o", str(pipe)]) == 0
    reader.join(10)
    assert read == [b"the cat sat"]
    assert pipe.is_fifo()
