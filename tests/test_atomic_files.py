"""Writing files: whole or not at all, and never in the place of anything that is not a file."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import vocabularies

import nbbpe
from nbbpe import cli
from nbbpe.idfiles import publishing
from nbbpe.system import user_warnings
from nbbpe.system.atomic_files import whole_file
from nbbpe.system.links import is_device

OTHER_DISK = Path("/dev/shm")


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


def test_an_error_of_an_unfinished_file_names_the_one_that_was_asked_for(tmp_path, small, monkeypatch):
    path = tmp_path / "new.txt"
    with pytest.raises(FileNotFoundError) as caught, whole_file(path) as unfinished:
        os.listdir(unfinished)
    assert caught.value.filename == str(path)
    missing = str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError) as caught, whole_file(path):
        os.listdir(missing)
    assert caught.value.filename == missing

    def full(path: str, *rest: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    for name, save in (
        ("vocab.json", small.save),
        ("0.json", lambda path: small.encode_file(documents=[], output_path=path)),
    ):
        output = str(tmp_path / "ids.bin")
        module = (
            "nbbpe.formats.vocab_json.gpt2.write_vocab"
            if name == "vocab.json"
            else "nbbpe.idfiles.publishing.write_sidecar"
        )
        monkeypatch.setattr(module, full)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
            save(output)
        assert caught.value.filename == output
    assert os.listdir(tmp_path) == []


def outputs_of(tokenizer: nbbpe.Tokenizer, folder: Path, n: int) -> dict[str, Callable[[], object]]:
    """What writes a file, or a folder, with a name of `n` bytes."""

    def path(ending: str = "") -> Path:
        return folder / ("x" * (n - len(ending)) + ending)

    def encode_file(resume: bool) -> object:
        return tokenizer.encode_file([__file__], path(".bin"), resume=resume)

    return {
        "encode_file": lambda: encode_file(False),
        "resume": lambda: encode_file(True),
        "save": lambda: tokenizer.save(path()),
        "to_hf": lambda: tokenizer.to_hf(path(".json")),
        "save_tiktoken": lambda: tokenizer.save_tiktoken(path(".tiktoken")),
        "save_gpt2": lambda: tokenizer.save_gpt2(path("v.json"), path("m.txt")),
    }


@pytest.mark.parametrize(
    ("name", "longest"),
    [("encode_file", 250), ("resume", 248), ("save", 255), ("to_hf", 255), ("save_tiktoken", 255), ("save_gpt2", 255)],
)
def test_a_name_that_is_too_long_is_refused_before_any_work(tmp_path, small, monkeypatch, name, longest):
    """A temporary name beside the output may be longer than that of the output, which counts."""
    outputs_of(small, tmp_path, longest)[name]()
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()

    def refuse(*_: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("nbbpe.formats.vocab_json.gpt2.write_vocab", refuse)
    monkeypatch.setattr("nbbpe.idfiles.writer._encode_parts", refuse)
    for n in longest + 1, 256, 300:
        beside = {249: r" \(with the \.resume of what", 251: r" \(with the \.ends of what"}.get(n, ":")
        with pytest.raises(OSError, match=rf"File name too long{beside}") as caught:
            outputs_of(small, tmp_path, n)[name]()
        assert os.path.dirname(caught.value.filename) == str(tmp_path)
        assert len(os.path.basename(caught.value.filename)) == n
    assert os.listdir(tmp_path) == []


def test_the_command_refuses_a_name_that_is_too_long_before_it_trains(tmp_path, monkeypatch, capsys):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr("nbbpe.cli.training_commands.train_tokenizer", refuse)
    target = str(tmp_path / ("x" * 256))
    assert cli.main(["train", __file__, "--vocab-size", "300", "-o", target]) == 1
    assert capsys.readouterr().err == f"nbbpe: error: {target}: {os.strerror(errno.ENAMETOOLONG)}\n"


def test_of_a_path_that_is_too_long_for_what_is_temporary_only_the_output_is_named(tmp_path, small):
    folder = str(tmp_path)
    while len(folder) < 3_800:
        folder = os.path.join(folder, "x" * 200)
    folder = os.path.join(folder, "y" * (4_040 - len(folder)))
    for parent in reversed([folder, *Path(folder).parents]):
        if not os.path.isdir(parent):
            os.mkdir(parent)
    output = os.path.join(folder, "ids.bin")
    Path(output).touch()
    for write in small.to_hf, small.save_tiktoken:
        with pytest.raises(OSError, match=r"File name too long") as caught:
            write(output)
        assert caught.value.filename in (output, folder)
    assert os.listdir(folder) == ["ids.bin"]


def test_ids_are_mapped_under_a_name_that_leaves_no_room_for_that_of_a_sidecar(tmp_path):
    path = tmp_path / ("x" * 251 + ".bin")
    path.write_bytes(bytes([1, 0, 2, 0]))
    assert nbbpe.TokenFile(path, dtype="uint16")[:].tolist() == [1, 2]
    with pytest.raises(ValueError, match="has no sidecar"):
        nbbpe.TokenFile(path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux lists them")
def test_no_file_stays_open(tmp_path):
    n_open = len(os.listdir("/proc/self/fd"))
    with whole_file(tmp_path / "new.txt") as unfinished:
        Path(unfinished).touch()
    assert len(os.listdir("/proc/self/fd")) == n_open


def test_a_file_is_written_to_a_folder_that_may_not_be_read(nobodys_folder):
    folder, as_nobody = nobodys_folder
    box = folder / "box"
    box.mkdir()
    box.chmod(0o733)
    with as_nobody(), whole_file(box / "new.txt") as unfinished:
        Path(unfinished).write_text("all")
    assert os.listdir(box) == ["new.txt"]


def test_the_name_of_a_folder_that_is_missing_is_none_of_a_file(tmp_path):
    name = f"{tmp_path}/missing/"
    with pytest.raises(IsADirectoryError, match="missing/' is a folder; give a file name"), whole_file(name):
        pass


# Run as root, a file would take the place of /dev/null itself: so these only ask, and write into pipes.


@pytest.mark.parametrize("resume", [False, True])
def test_ctrl_c_while_a_folder_is_removed_leaves_nothing_of_it(tmp_path, small, monkeypatch, resume):
    small.encode_file(documents=["old"], output_path=tmp_path / "ids.bin")
    (tmp_path / "text.txt").write_text("the cat")
    wanted = sorted(os.listdir(tmp_path))
    wanted.remove("ids.bin.ends")  # of documents, which a text has not
    remove, where = os.remove, ".resume/0" if resume else ".partial/old"

    def interrupted(path: str) -> None:
        remove(path)
        if path.endswith(where):
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "remove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", resume=resume)
    assert sorted(os.listdir(tmp_path)) == wanted
    assert nbbpe.TokenFile(tmp_path / "ids.bin", small)[:].tolist() == small.encode("the cat")


def test_what_is_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "pipe", tmp_path / "link")
    (tmp_path / "file").touch()
    for path in "/dev/null", "/dev/stdout", "/dev/fd/1", "/dev/no-such-device", tmp_path / "pipe", tmp_path / "link":
        assert is_device(path), path
    for path in tmp_path, tmp_path / "file", tmp_path / "missing", "/dev/shm/ids.bin":
        assert not is_device(path), path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_two_dots_after_a_symlink_lead_out_of_the_folder_that_it_points_to(tmp_path, small, monkeypatch):
    """As for the system, and not out of the folder that the symlink is in."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    os.symlink(tmp_path / "a" / "b", "link")
    small.encode_file(documents=["the cat"], output_path="ids.bin")
    n_ids = small.encode_file(documents=["the cat sat"], output_path="link/../ids.bin")
    assert len(nbbpe.TokenFile("link/../ids.bin", small)) == len(nbbpe.TokenFile(tmp_path / "a" / "ids.bin")) == n_ids
    assert len(nbbpe.TokenFile("./ids.bin")) == small.count("the cat")
    assert nbbpe.TokenFile("./ids.bin").path == str(tmp_path / "here" / "ids.bin")
    os.mkfifo(tmp_path / "a" / "pipe.bin")
    assert is_device("link/../pipe.bin")
    with pytest.raises(FileExistsError, match="is a device, a pipe or the like"):
        small.encode_file(documents=["the cat"], output_path="link/../pipe.bin")
    assert stat.S_ISFIFO(os.stat("../a/pipe.bin").st_mode)
    Path("../a/text.txt").write_text("the cat sat")
    Path("text.txt").write_text("the mat")
    with ThreadPoolExecutor(1) as executor:
        assert small.encode_file("link/../text.txt", "found.bin", executor=executor) == n_ids
    Path("new").write_text("")
    small.save("saved")
    assert cli.main(["convert", "saved", "link/../new/tokenizer.json"]) == 0
    assert nbbpe.load("../a/new/tokenizer.json") == small


WRITERS = {"ids.bin": lambda tok, path: tok.encode_file(iter(["a"]), path), **vocabularies.WRITERS}


@pytest.mark.parametrize("name", WRITERS)
def test_a_missing_folder_is_named_and_not_made(tmp_path, small, name):
    with pytest.raises(FileNotFoundError, match=r"nowhere'( for '.*')? does not exist; make it first"):
        WRITERS[name](small, tmp_path / "nowhere" / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer.json"])
def test_no_part_of_a_saved_tokenizer_is_replaced_by_one_of_another(tmp_path, small, name):
    small.save(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine" / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    other = nbbpe.Tokenizer(small._model.ordinary, small.merges)
    for path in tmp_path / "mine" / name, tmp_path / "link":
        vocab, merges = (tmp_path / "v.json", path) if name == "merges.txt" else (path, tmp_path / "m.txt")
        with pytest.raises(FileExistsError, match=r"is a part of the tokenizer whose nbbpe\.json is beside it"):
            other.to_hf(path) if name == "tokenizer.json" else other.save_gpt2(vocab, merges)
    assert {path.name: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before
    small.to_hf(tmp_path / "mine" / "tokenizer.json")  # its own
    assert nbbpe.load(tmp_path / "mine") == small
    # A folder of others has no nbbpe.json, and its files are replaced.
    for _ in range(2):
        other.to_hf(tmp_path / "tokenizer.json")
        other.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")


@pytest.fixture
def elsewhere(tmp_path) -> Iterator[Path]:
    """A folder on another disk."""
    if not os.path.isdir(OTHER_DISK) or os.stat(OTHER_DISK).st_dev == os.stat(tmp_path).st_dev:
        pytest.skip(f"{OTHER_DISK} is on the same disk")
    with tempfile.TemporaryDirectory(dir=OTHER_DISK) as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_is_followed_to_where_it_leads(tmp_path, elsewhere, small, name):
    WRITERS[name](small, tmp_path / name)
    expected = (tmp_path / name).read_bytes()
    for target in elsewhere / "there", elsewhere / "not yet there", tmp_path / "near":
        if target.name == "there":
            target.touch()
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to(target)
        WRITERS[name](small, tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert not target.is_symlink()
        assert target.read_bytes() == expected
    names = ["not yet there", "there"]
    beside = [".ends", ".json"] if name == "ids.bin" else []
    assert sorted(os.listdir(elsewhere)) == sorted([*names, *(each + end for each in names for end in beside)])
    assert not [left for left in os.listdir(tmp_path) if left.startswith(".")]


def test_what_belongs_to_ids_behind_a_link_lies_beside_them(tmp_path, elsewhere, small):
    (tmp_path / "ids.bin").symlink_to(elsewhere / "ids.bin")
    for documents in ["the cat", "sat"], ["on", "the", "mat"]:
        small.encode_file(iter(documents), tmp_path / "ids.bin")
        for path in tmp_path / "ids.bin", elsewhere / "ids.bin":
            assert [small.decode(ids) for ids in nbbpe.TokenFile(path, small).documents()] == documents
    assert sorted(os.listdir(elsewhere)) == ["ids.bin", "ids.bin.ends", "ids.bin.json"]
    assert os.listdir(tmp_path) == ["ids.bin"]


def test_ids_of_several_names_are_described_once(tmp_path, elsewhere, small):
    """Whichever name was written last, no sidecar and no ends of the older ids are taken for theirs."""
    other = nbbpe.train(iter(["sat sat"]), 258)
    names = [elsewhere / "real.bin", tmp_path / "a.bin", tmp_path / "b.bin", tmp_path / "chain.bin"]
    for name in names[1:3]:
        name.symlink_to(names[0])
    names[3].symlink_to(names[1])
    for written in names:
        small.encode_file(iter(["on", "t"]), written)
        n_ids = len(nbbpe.TokenFile(written))
        for again in names:
            other.encode_file(iter(["\0", "\0" * (n_ids - 1)]), again)  # as many ids
            for name in names:
                with pytest.raises(ValueError, match="another tokenizer"):
                    nbbpe.TokenFile(name, small)
                assert [len(ids) for ids in nbbpe.TokenFile(name, other, verify=True).documents()] == [1, n_ids - 1]


def test_links_beside_each_other_may_lead_to_files_of_any_name(tmp_path, elsewhere, small):
    small.encode_file(iter(["on", "t"]), tmp_path / "ids.bin")
    for number, name in enumerate(["ids.bin", "ids.bin.json", "ids.bin.ends"]):
        shutil.move(tmp_path / name, elsewhere / f"blob{number}")
        (tmp_path / name).symlink_to(elsewhere / f"blob{number}")
    for _ in range(2):
        assert [small.decode(ids) for ids in nbbpe.TokenFile(tmp_path / "ids.bin", small).documents()] == ["on", "t"]
        (elsewhere / "blob0.json").write_text("mine")  # where that of a link's target would be


def test_a_file_of_another_program_beside_the_target_of_a_link_stays(tmp_path, elsewhere, small):
    (tmp_path / "ids.bin").symlink_to(elsewhere / "real.bin")
    for name in "real.bin.json", "real.bin.ends":
        (elsewhere / name).write_text("mine")
        with pytest.raises(FileExistsError, match="was not written by nbbpe"):
            small.encode_file(iter(["on", "t"]), tmp_path / "ids.bin")
        assert [path.read_text() for path in elsewhere.iterdir()] == ["mine"]
        (elsewhere / name).unlink()


@pytest.mark.parametrize("name", WRITERS)
def test_who_could_not_read_a_file_still_cannot(tmp_path, small, name):
    path = tmp_path / name
    WRITERS[name](small, path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o444 == 0o444 & ~umask()  # as of any new file
    path.chmod(0o640)
    WRITERS[name](small, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def umask() -> int:
    before = os.umask(0o077)
    os.umask(before)
    return before


def test_a_tokenizer_is_saved_in_a_folder_on_another_disk(tmp_path, elsewhere, small):
    (tmp_path / "tok").symlink_to(elsewhere)
    (tmp_path / "new").symlink_to(elsewhere / "new")
    for folder in tmp_path / "tok", tmp_path / "new":
        small.save(folder)
        assert folder.is_symlink()
        assert nbbpe.load(folder) == small
    small.save(tmp_path / "tok")
    own = ["merges.txt", "nbbpe.json", "tokenizer.json", "tokenizer_config.json", "vocab.json"]
    assert sorted(os.listdir(elsewhere)) == sorted(["new", *own])
    assert sorted(os.listdir(tmp_path)) == ["new", "tok"]


def test_a_file_of_a_saved_tokenizer_may_lie_on_another_disk(tmp_path, elsewhere, small, monkeypatch):
    """A rename cannot go from disk to disk: the file is copied there first, and the copy is synced."""
    nbbpe.train(documents=["the cat"], vocab_size=257).save(tmp_path / "tok")
    there, link = elsewhere / "vocab.json", tmp_path / "tok" / "vocab.json"
    shutil.move(link, there)
    link.symlink_to(there)
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.stat(descriptor).st_ino))
    small.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok") == small
    assert link.is_symlink()
    assert os.listdir(elsewhere) == ["vocab.json"]
    assert there.stat().st_ino in synced


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"])
def test_saving_does_not_replace_files_of_others(tmp_path, small, name, capfd):
    (tmp_path / name).write_text("{}")
    (tmp_path / "text").write_text("the cat sat")
    with pytest.raises(FileExistsError, match=rf"has a {name} and no nbbpe.json, so nbbpe must not replace it"):
        small.save(tmp_path)
    assert cli.main(["train", str(tmp_path / "text"), "--vocab-size", "258", "-o", str(tmp_path)]) == 2
    assert f"has a {name} and no nbbpe.json" in capfd.readouterr().err
    assert (tmp_path / name).read_text() == "{}"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "text"])


@pytest.mark.filterwarnings("ignore:.* contains NUL bytes")
def test_what_belongs_to_a_file_of_ids_is_no_input_for_it(tmp_path, small):
    small.encode_file(iter(["the", "cat"]), tmp_path / "ids.bin")
    # A sidecar is not a file of records; its name says so, and that is noticed first.
    for name, message in [("ids.bin.json", " must be a JSON array"), ("ids.bin.ends", " cannot be both input and output")]:
        with pytest.raises(ValueError, match=f"{name}'{message}"):
            small.encode_file(tmp_path / name, tmp_path / "ids.bin")
    assert sorted(os.listdir(tmp_path)) == ["ids.bin", "ids.bin.ends", "ids.bin.json"]


def test_documents_whose_code_changes_the_folder_do_not_move_the_output(tmp_path, small, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def documents():
        yield "the cat"
        os.chdir(tmp_path / "there")
        yield "sat"

    small.encode_file(documents(), "ids.bin")
    assert sorted(os.listdir(tmp_path / "here")) == ["ids.bin", "ids.bin.ends", "ids.bin.json"]
    assert os.listdir(tmp_path / "there") == []


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
    reader.join(60)
    assert read == [b"the cat sat"]
    assert pipe.is_fifo()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use cannot be removed")
def test_a_working_folder_that_is_gone_does_not_matter_to_whole_paths(tmp_path, monkeypatch, small):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    try:
        small.save(tmp_path / "saved")
        text = tmp_path / "text.txt"
        text.write_text("the cat sat")
        n_ids = small.encode_file(text, tmp_path / "ids.bin")
        found = nbbpe.load(tmp_path / "saved"), nbbpe.TokenFile(tmp_path / "ids.bin")
        with pytest.warns(UserWarning, match="the text ended"):
            exec("warn('the text ended')", {"warn": user_warnings.warn_user})  # whose file is "<string>"
    finally:
        os.chdir(tmp_path)
    assert found[0].fingerprint == small.fingerprint
    assert len(found[1]) == n_ids


@pytest.mark.parametrize("name", ["~/new", "~someone/new", "~"])
def test_a_home_folder_is_told_and_no_folder_of_its_name_is_made(tmp_path, monkeypatch, small, name):
    monkeypatch.chdir(tmp_path)
    writes = {
        "save": lambda: small.save(name),
        "save_pretrained": lambda: small.save_pretrained(name),
        "to_hf": lambda: small.to_hf(f"{name}/tokenizer.json"),
        "save_gpt2": lambda: small.save_gpt2(f"{name}/v.json", f"{name}/m.txt"),
        "encode_file": lambda: small.encode_file(documents=["a b"], output_path=f"{name}/ids.bin"),
        "report": lambda: small.report(Path(f"{name}/report.html"), {"a": iter(["a b"])}),
    }
    reads = {
        "load": lambda: nbbpe.load(f"{name}/tokenizer"),
        "Tokenizer.load": lambda: nbbpe.Tokenizer.load(f"{name}/tokenizer"),
        "from_files": lambda: nbbpe.Tokenizer.from_files(f"{name}/vocab.json", f"{name}/merges.txt"),
        "from_hf": lambda: nbbpe.Tokenizer.from_hf(f"{name}/tokenizer.json"),
        "from_tiktoken": lambda: nbbpe.Tokenizer.from_tiktoken(f"{name}/a.tiktoken"),
        "TokenFile": lambda: nbbpe.TokenFile(f"{name}/ids.bin"),
        "train": lambda: nbbpe.train(f"{name}/*.txt", 300),
    }
    for call in [*writes.values(), *reads.values()]:
        with pytest.raises(FileNotFoundError, match="`~` is not expanded in names of files: write the home folder out"):
            call()
    assert os.listdir() == []
    os.mkdir(name.split("/")[0])  # who has such a folder means it
    for call in writes.values():
        call()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder that is in use cannot be removed")
def test_a_working_folder_that_is_gone_is_named_where_a_path_needs_it(tmp_path, monkeypatch, small, capsys):
    small.save(tmp_path / "saved")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    said = "starts from the working folder, which has been removed"
    try:
        for write in (
            lambda: small.encode_file(documents=["a b"], output_path="ids.bin"),
            lambda: small.save("ids.bin"),
            lambda: small.to_hf("ids.bin"),
            lambda: small.save_gpt2("ids.bin", "merges.txt"),
            lambda: small.report("ids.html", on={"text": iter(["a b"])}),
            lambda: nbbpe.TokenFile("ids.bin"),
            lambda: nbbpe.warmup("ids.bin"),
        ):
            with pytest.raises(FileNotFoundError, match=rf"^'ids\.\w+' {said}: "):
                write()
        for target in "a.json", "a.tiktoken", "folder":
            assert cli.main(["convert", str(tmp_path / "saved"), target]) == cli.EXIT_USAGE
            assert f"' {said}" in capsys.readouterr().err
    finally:
        os.chdir(tmp_path)


@pytest.mark.parametrize("name", ["", "a\0b.bin"])
def test_a_name_that_cannot_be_is_told(small, name):
    for use in nbbpe.TokenFile, small.to_hf, small.save, small.save_tiktoken:
        with pytest.raises(FileNotFoundError, match=f"^{re.escape(repr(name))} is not the name of a file or folder"):
            use(name)


def test_what_is_written_takes_a_path_as_bytes(tmp_path, small):
    folder = os.fsencode(tmp_path)
    for name, write in {
        b"saved": small.save,
        b"for_transformers": small.save_pretrained,
        b"tokenizer.json": small.to_hf,
        b"mine.tiktoken": small.save_tiktoken,
        b"ids.bin": lambda path: small.encode_file(documents=["a b"], output_path=path),
        b"counts.parquet": lambda path: nbbpe.count_words(documents=["a b"], output=path),
        b"report.html": lambda path: small.report(path, on={"text": iter(["a b"])}),
    }.items():
        write(os.path.join(folder, name))
        assert os.path.exists(os.path.join(folder, name))
    small.save_gpt2(os.path.join(folder, b"vocab.json"), os.path.join(folder, b"merges.txt"))
    assert nbbpe.Tokenizer.load(os.path.join(folder, b"saved")) == small
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("name", [3, True, 2.5, None, [], "a\0b", "", "\ud800"])
def test_what_is_no_name_of_a_file_is_refused_with_the_value(small, tmp_path, name):
    """To Python a number is an open file, which it would read, and close."""
    vocab, merges, text = (tmp_path / each for each in ("vocab.json", "merges.txt", "text.txt"))
    small.save_gpt2(vocab, merges)
    text.write_text("the cat")
    error = FileNotFoundError if isinstance(name, str) else TypeError
    for call in (
        lambda: nbbpe.Tokenizer.from_files(name, merges),
        lambda: nbbpe.Tokenizer.from_files(vocab, name),
        lambda: small.save(name),
        lambda: small.to_hf(name),
        lambda: small.save_pretrained(name),
        lambda: small.save_gpt2(vocab, name),
        *([] if name is None else [lambda: small.report(name, text)]),  # None is no page
        lambda: nbbpe.TokenFile(name),
        lambda: nbbpe.Tokenizer.from_hf(name),
    ):
        with pytest.raises(error, match=f"{re.escape(repr(name))}( is not the name of a file or folder)?$"):
            call()


@pytest.mark.parametrize("name", ["s3://bucket/ids.bin", "s3://ids.bin", "file:///folder/ids.bin"])
def test_nothing_is_written_to_a_url(small, tmp_path, monkeypatch, capsys, name):
    """To Python it is a path, of a folder that is called `s3:`."""
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("the cat")
    small.save("saved")
    for call in (
        lambda: small.encode_file(text, name),
        lambda: small.save(name),
        lambda: small.to_hf(name),
        lambda: small.save_pretrained(name),
        lambda: small.save_tiktoken(name),
        lambda: small.save_gpt2(name, "merges.txt"),
        lambda: small.report(f"{name}.html", text),
        lambda: nbbpe.count_words(text, output=f"{name}.arrow"),
        lambda: nbbpe.warmup(name),
        lambda: nbbpe.TokenFile(name),
    ):
        with pytest.raises(ValueError, match=rf"^'{name}(\.\w+)?' is a URL, and only texts and counts are read from URLs"):
            call()
    for command in (
        ["convert", "saved", name, "--to", "gpt2"],
        ["train", "text.txt", "--vocab-size", "260", "-o", name],
        ["encode", "text.txt", "-t", "saved", "-o", name],
    ):
        assert cli.main(command) == cli.EXIT_USAGE
        assert f"{name!r} is a URL" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["saved", "text.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="no folder is locked")
@pytest.mark.parametrize("shared", [True, False])
def test_a_folder_is_locked_while_files_of_ids_are_published(tmp_path, monkeypatch, shared):
    import fcntl

    other, opened, really_open = os.open(tmp_path, os.O_RDONLY), [], os.open
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda *given, **named: opened.append(really_open(*given, **named)) or opened[-1])
        with publishing.publishing(tmp_path / "ids.bin", shared):
            forked = os.dup(opened[0])  # as a process has it that is forked meanwhile
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.nullcontext() if shared else pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])
    os.close(other)
    os.close(forked)
