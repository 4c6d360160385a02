"""encode_file(resume=True): what was finished is taken up, what is torn is redone, and the files are those of one run."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import json
import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import processes
import pytest
import texts
from effort import mostly_slow

import nbbpe
from nbbpe import cli
from nbbpe.idfiles import division, joined_parts, kept_parts, manifest, writer
from nbbpe.idfiles.checksum import Checksum
from nbbpe.idfiles.document_ends import END_DTYPE, map_ends
from nbbpe.sources import Skipped
from nbbpe.sources.files import sampled_digest
from nbbpe.system.worker_processes import WorkerError
from nbbpe.system.wrong_argument import WrongArgument

SPECIAL = texts.SPECIAL
TEXT = "".join(f"The cat number {i} sat on the mat, didn't it?{SPECIAL if i % 5 == 0 else ' '}" for i in range(400))
RECORDS = [f"The cat number {i}{SPECIAL if i % 7 == 0 else ''} sat" for i in range(600)]


pytestmark = pytest.mark.filterwarnings("ignore:[24] malformed records were skipped")


class Stop(Exception):
    """What ends a run in these tests, as a fault would."""


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """A file of each kind that is cut into parts, with equal bytes and times in each test."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "text.txt").write_text(TEXT)
    lines = [json.dumps({"text": record}) for record in RECORDS]
    lines[20] = lines[500] = "broken"
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    for path in folder.iterdir():
        os.utime(path, ns=(10**18, 10**18))
    return {path.suffix[1:]: path for path in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder, and what is in them."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def encode(tok: nbbpe.Tokenizer, source: object, folder: Path, *, suffix: str = ".bin", workers: int = 1, **options) -> int:
    folder.mkdir(exist_ok=True)
    return tok.encode_file(source, folder / f"ids{suffix}", workers, **{"on_error": "skip", "resume": True, **options})


def stop_after(n_parts: int) -> Callable[[str, int, int | None], None]:
    """A callable for progress that ends a run when so many parts are noted."""
    noted = 0
    real = manifest.Manifest.add

    def add(self, number, finished):
        nonlocal noted
        real(self, number, finished)
        noted += 1
        if noted == n_parts:
            raise Stop

    return add


@pytest.fixture
def stopped(monkeypatch):
    """A function that runs `encode` and ends it when so many parts are noted."""

    def run(n_parts: int, *args, **options) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(manifest.Manifest, "add", stop_after(n_parts))
            with pytest.raises(Stop):
                encode(*args, **options)

    return run


@pytest.fixture
def encoded_parts(monkeypatch) -> list[tuple[int, int | None]]:
    """The spans that this process encodes."""
    spans = []
    real = nbbpe.Tokenizer.encode_part

    def encode_part(self, part, *args):
        spans.append(part.span())
        return real(self, part, *args)

    monkeypatch.setattr(nbbpe.Tokenizer, "encode_part", encode_part)
    return spans


@pytest.fixture(autouse=True)
def small_parts(sizes):
    sizes(chunk=1500, window=400, for_workers=100)


@pytest.mark.parametrize("suffix", mostly_slow([".bin", ".npy"], usual=[".bin"]))
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ["txt", "jsonl"])
def test_a_run_that_was_stopped_anywhere_ends_in_the_files_of_one_run(
    small, sources, tmp_path, stopped, kind, workers, suffix
):
    one = tmp_path / "one"
    n_ids = encode(small, sources[kind], one, suffix=suffix, workers=2, resume=False)
    for n in 1, 3, 7:
        folder = tmp_path / f"after {n}"
        folder.mkdir()
        stopped(n, small, sources[kind], folder, suffix=suffix, workers=workers)
        assert os.listdir(folder) == [f"ids{suffix}.resume"]
        stopped(1, small, sources[kind], folder, suffix=suffix, workers=3 - workers)
        assert encode(small, sources[kind], folder, suffix=suffix, workers=workers) == n_ids
        assert contents(folder) == contents(one)
        assert sorted(os.listdir(folder)) == sorted(contents(one))
    assert (f"ids{suffix}.ends" in contents(one)) == (kind == "jsonl")


@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM")])
def test_the_command_says_what_it_has_kept(small, sources, tmp_path, monkeypatch, capfd, number, said):
    small.save(tmp_path / "tok")
    command = ["encode", sources["txt"], "-o", tmp_path / "ids.bin", "-t", tmp_path / "tok", "--workers", 1, "--resume"]

    def ended_after(n: int) -> str:
        real, noted = manifest.Manifest.add, []

        def add(self, number_of_part, finished):
            if len(noted) == n:
                signal.raise_signal(number)
            noted.append(number_of_part)
            real(self, number_of_part, finished)

        with monkeypatch.context() as patched:
            patched.setattr(manifest.Manifest, "add", add)
            assert cli.main([*map(str, command)]) == 128 + number
        return capfd.readouterr().err.splitlines()[-1]

    assert ended_after(0) == f"nbbpe: {said}"
    kept = f"finished parts are kept in {tmp_path / 'ids.bin.resume'}, and the same command continues from there"
    assert ended_after(2) == f"nbbpe: {said}; {kept}"
    assert ended_after(1) == f"nbbpe: {said}; {kept}"
    assert cli.main([*map(str, command)]) == 0
    assert not (tmp_path / "ids.bin.resume").exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded", "ids.bin"), "ids.bin: Disk quota exceeded"),
        (WorkerError("a worker process ended"), "a worker process ended"),
        (MemoryError("no memory"), "no memory"),
    ],
)
def test_the_command_says_what_it_has_kept_where_room_is_lacking(small, sources, tmp_path, monkeypatch, capfd, error, said):
    small.save(tmp_path / "tok")
    command = ["encode", sources["txt"], "-o", tmp_path / "ids.bin", "-t", tmp_path / "tok", "--workers", 1]
    real, noted = manifest.Manifest.add, []

    def add(self, number_of_part, finished):
        if len(noted) == 2:
            raise error
        noted.append(number_of_part)
        real(self, number_of_part, finished)

    monkeypatch.setattr(manifest.Manifest, "add", add)
    assert cli.main([*map(str, command), "--resume"]) == 1
    kept = f"finished parts are kept in {tmp_path / 'ids.bin.resume'}, and the same command continues from there"
    assert capfd.readouterr().err.splitlines()[-1] == f"nbbpe: error: {said}; {kept}"


def test_malformed_records_of_finished_parts_are_told_of(small, sources, tmp_path, stopped, encoded_parts):
    array = tmp_path / "in" / "array.json"
    array.write_text('[{"text": "the cat"}, {}]')
    stopped(4, small, [array, sources["jsonl"]], tmp_path / "out")
    begun = encoded_parts[:]
    with pytest.warns(UserWarning, match=r"3 malformed .*json', record 1 .*jsonl', line 21: .*', line 501: "):
        encode(small, [array, sources["jsonl"]], tmp_path / "out")
    assert not {*begun} & {*encoded_parts[len(begun) :]}  # a part that has such a record is kept, too


def test_without_a_fault_the_files_are_those_of_a_run_without_it(small, sources, tmp_path):
    encode(small, sources["txt"], tmp_path / "one", resume=False)
    encode(small, sources["txt"], tmp_path / "two", workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(os.listdir(tmp_path / "two")) == ["ids.bin", "ids.bin.json"]


def test_what_is_finished_is_not_encoded_again(small, sources, tmp_path, stopped, encoded_parts):
    encode(small, sources["txt"], tmp_path / "one")
    all_spans = encoded_parts[:]
    assert len(all_spans) > 10
    assert all_spans[0][0] == 0
    assert all(end - start < 2 * 1500 for start, end in all_spans)
    encoded_parts.clear()
    stopped(8, small, sources["txt"], tmp_path / "two")
    assert encoded_parts == all_spans[:8]
    encoded_parts.clear()
    encode(small, sources["txt"], tmp_path / "two")
    assert encoded_parts == all_spans[8:]
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_parts_stay_those_of_the_run_that_began_for_any_number_of_workers(small, sources, tmp_path, stopped):
    sizes_of = [division._kept_part_bytes(n) for n in (1, 2, 3, 4, 16, 1000)]
    assert sizes_of == [1500, 1500, 1000, 750, 187, 187]
    stopped(2, small, sources["txt"], tmp_path / "out", workers=3)
    first = (tmp_path / "out" / "ids.bin.resume" / manifest.NAME).read_text().splitlines()[0]
    assert json.loads(first)["part_bytes"] == 1000
    encode(small, sources["txt"], tmp_path / "out", workers=1)
    encode(small, sources["txt"], tmp_path / "one", resume=False)
    assert contents(tmp_path / "one") == contents(tmp_path / "out")


def test_the_bar_begins_with_what_is_finished(small, sources, tmp_path, stopped):
    stopped(8, small, sources["txt"], tmp_path / "out")
    said = []
    encode(small, sources["txt"], tmp_path / "out", progress=lambda *figures: said.append(figures[1:]))
    size = sources["txt"].stat().st_size
    assert 0.2 * size < said[0][0] < 0.9 * size
    assert said[-1] == (size, size)


# What differs is refused


def refused(match: str, *args, **options) -> None:
    folder = args[2] / "ids.bin.resume"
    before = contents(folder)
    with pytest.raises(ValueError, match=f"cannot resume: {match}.*; undo that .* or delete '.*ids.bin.resume' to encode"):
        encode(*args, **options)
    assert contents(folder) == before


def test_a_source_that_has_changed_is_refused_and_says_how(small, sources, tmp_path, stopped):
    source, out = sources["txt"], tmp_path / "out"
    stopped(4, small, source, out)
    os.utime(source, ns=(10**18, 10**18 + 1))
    refused(r"the source '.*text\.txt' has changed: its time of the last change is 1000000000000000001", small, source, out)
    with open(source, "ab") as file:
        file.write(b"x")
    refused(r"the source '.*text\.txt' has changed: its bytes is [\d]+, and was", small, source, out)
    source.write_text(TEXT.replace("number 0", "number O"))
    os.utime(source, ns=(10**18, 10**18))
    refused(r"the source '.*text\.txt' has changed: its content is", small, source, out)
    source.write_text(TEXT)
    os.utime(source, ns=(10**18, 10**18))
    refused("there are 2 source files, and were 1", small, [source, source], out)
    shutil.copy2(source, tmp_path / "other.txt")
    refused("'.* is where '", small, tmp_path / "other.txt", out)
    refused("'.* is where '", small, sources["jsonl"], out)  # not that this one has changed
    encode(small, source, out)
    assert sorted(os.listdir(out)) == ["ids.bin", "ids.bin.json"]


@pytest.mark.parametrize("suffix", mostly_slow([".bin", ".npy"], usual=[".npy"]))
def test_separators_in_front_are_resumed(small, sources, tmp_path, monkeypatch, stopped, encoded_parts, suffix):
    options = {"separator": SPECIAL, "separator_first": True, "suffix": suffix}
    inputs = [sources["txt"], sources["jsonl"]]

    def stop(*args):
        raise Stop

    n_ids = encode(small, inputs, tmp_path / "one", resume=False, **options)
    for n in 1, 4, 1000:
        folder = tmp_path / f"after {n}"
        folder.mkdir()
        if n < 1000:
            stopped(n, small, inputs, folder, **options)
            with pytest.raises(ValueError, match="separator_first is not given, and was given when"):
                encode(small, inputs, folder, **{**options, "separator_first": False})
        else:  # while the files get their names
            with monkeypatch.context() as patched:
                patched.setattr("nbbpe.idfiles.publishing.put", stop)
                with pytest.raises(Stop):
                    encode(small, inputs, folder, **options)
            encoded_parts.clear()
        assert encode(small, inputs, folder, **options) == n_ids
        assert contents(folder) == contents(tmp_path / "one")
    assert len(encoded_parts) == 1  # its last separator had been moved


def test_another_tokenizer_option_or_version_is_refused(small, sources, tmp_path, stopped):
    source, out = sources["txt"], tmp_path / "out"
    stopped(4, small, source, out)
    refused("the tokenizer is another one", nbbpe.train(iter(["the cat"]), 260, [SPECIAL]), source, out)
    refused(f"separator is '{SPECIAL}', and was not given".replace("|", r"\|"), small, source, out, separator=SPECIAL)
    with pytest.raises(WrongArgument):  # for which the command exits with 2
        encode(small, source, out, separator=SPECIAL)
    refused("on_error is 'raise', and was 'skip'", small, source, out, on_error="raise")
    refused("allowed_special is none, and was not given", small, source, out, allowed_special=())
    chosen = f"allowed_special is '{SPECIAL}', and was not given".replace("|", r"\|")
    refused(chosen, small, source, out, allowed_special=[SPECIAL])
    path = out / "ids.bin.resume" / manifest.NAME
    job, *finished = path.read_text().splitlines(keepends=True)
    about = json.loads(job)
    for name in "nbbpe", "character_classes", "unicode":
        older = {**about, "made_by": {**about["made_by"], name: "1.0"}}
        path.write_text(json.dumps(older) + "\n" + "".join(finished))
        refused(f"{name} is '.+', and was '1.0'", small, source, out)
    stopped(4, small, sources["jsonl"], tmp_path / "of records")
    refused("field is 'body', and was not given", small, sources["jsonl"], tmp_path / "of records", field="body")


def test_the_order_in_which_special_tokens_were_given_is_no_option(small, sources, tmp_path, stopped):
    ids = {"<|a|>": small.vocab_size, "<|b|>": small.vocab_size + 1}
    first, second = (
        nbbpe.Tokenizer(small.vocab, small.merges, {each: ids[each] for each in order}) for order in (ids, [*ids][::-1])
    )
    stopped(4, first, sources["txt"], tmp_path / "out", allowed_special=ids)
    encode(second, sources["txt"], tmp_path / "out", allowed_special=ids)


def test_a_job_of_which_nothing_is_finished_gives_way(small, sources, tmp_path, monkeypatch, stopped):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(kept_parts.KeptFolder, "done", lambda self: None)  # as after a kill
        patched.setattr(writer, "run_jobs", lambda *args, **options: (_ for _ in ()).throw(Stop))
        with pytest.raises(Stop):
            encode(small, sources["txt"], out)
    assert manifest.NAME in os.listdir(out / "ids.bin.resume")
    (out / "ids.bin.resume" / f"{manifest.NAME}.new").write_text("torn")  # as after a kill, too
    stopped(1, small, sources["jsonl"], out)
    encode(small, sources["jsonl"], out)
    encode(small, sources["jsonl"], tmp_path / "one", resume=False)
    assert contents(out) == contents(tmp_path / "one")


@pytest.mark.parametrize("workers", [1, 2])
def test_sources_of_any_kind_are_resumed(small, sources, tmp_path, stopped, workers):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    fsspec = pytest.importorskip("fsspec")
    folder = sources["jsonl"].parent
    with gzip.open(folder / "packed.jsonl.gz", "wb") as file:
        file.write(sources["jsonl"].read_bytes())
    parquet.write_table(arrow.table({"text": RECORDS}), folder / "table.parquet", row_group_size=100)
    (folder / "array.json").write_text(json.dumps([{"text": record} for record in RECORDS]))
    names = ["packed.jsonl.gz", "table.parquet", "array.json", "records.jsonl", "text.txt"]
    inputs = [str(folder / name) for name in names]
    fsspec.filesystem("memory").pipe("/array.json", (folder / "array.json").read_bytes())
    inputs.insert(1, "memory://array.json")
    options = {"separator": SPECIAL}
    encode(small, inputs, tmp_path / "one", resume=False, **options)
    for n in 1, 3, 9, 12:
        out = tmp_path / f"after {n}"
        out.mkdir()
        stopped(n, small, inputs, out, workers=workers, **options)
        with pytest.warns(UserWarning, match="4 malformed records were skipped"):
            encode(small, inputs, out, workers=1, **options)
        assert contents(out) == contents(tmp_path / "one")


@pytest.mark.parametrize("pattern", ["**/*.jsonl", "**"])
def test_what_is_kept_is_no_source_of_a_pattern(small, sources, tmp_path, stopped, pattern):
    folder = tmp_path / "in"
    stopped(4, small, folder / pattern, folder)
    assert (folder / "ids.bin.resume" / "manifest.jsonl").exists()
    encode(small, folder / pattern, folder)
    found = sorted(sources.values()) if pattern == "**" else sources["jsonl"]
    encode(small, found, tmp_path / "one", resume=False)
    assert (folder / "ids.bin").read_bytes() == (tmp_path / "one" / "ids.bin").read_bytes()


def test_a_name_that_moved_with_its_folder_is_the_same_source(small, sources, tmp_path, stopped):
    stopped(4, small, sources["txt"], tmp_path / "out")
    sources["txt"].parent.rename(tmp_path / "moved")
    (tmp_path / "out").rename(tmp_path / "there")
    encode(small, tmp_path / "moved" / "text.txt", tmp_path / "there")
    encode(small, tmp_path / "moved" / "text.txt", tmp_path / "one", resume=False)
    assert contents(tmp_path / "there") == contents(tmp_path / "one")


def test_a_skipped_record_of_a_source_that_moved_is_named_where_it_is_now(small, tmp_path, stopped):
    (tmp_path / "a.jsonl").write_text('{"text": "the cat"}\n' * 1000 + "{\n" + '{"text": "the cat"}\n' * 1000)
    with pytest.warns(UserWarning, match=r"a\.jsonl', line 1,001: ") as wanted:
        encode(small, tmp_path / "a.jsonl", tmp_path / "one", resume=False, on_error="skip")
    stopped(20, small, tmp_path / "a.jsonl", tmp_path / "out", on_error="skip")
    (tmp_path / "there").mkdir()
    (tmp_path / "a.jsonl").rename(tmp_path / "there" / "a.jsonl")
    with pytest.warns(UserWarning, match="line 1,001: ") as seen:
        encode(small, tmp_path / "there" / "a.jsonl", tmp_path / "out", on_error="skip")
    old, new = (repr(str(folder / "a.jsonl")) for folder in (tmp_path, tmp_path / "there"))
    assert str(seen[-1].message) == str(wanted[-1].message).replace(old, new)
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_sources_that_are_read_once_are_refused(small, tmp_path):
    for source in iter(["a"]), None:
        with pytest.raises(ValueError, match=r"resume=True needs files.*documents and Arrow data can be read once only"):
            encode(small, source, tmp_path / "out", documents=None if source else ["a"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"as '.*pipe' is, can be read once only"):
        encode(small, tmp_path / "pipe", tmp_path / "out")
    with pytest.raises(TypeError, match="resume must be True or False, not 'yes'"):
        encode(small, tmp_path / "pipe", tmp_path / "out", resume="yes")
    assert os.listdir(tmp_path / "out") == []


# What is torn or damaged


def flip(path: Path, place: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"xx")


DAMAGES: dict[str, Callable[[Path], None]] = {"flip": flip, "cut": cut, "lengthen": lengthen, "remove": os.remove}


@pytest.fixture
def waiting(monkeypatch, stopped):
    """A function like `stopped`, after which no part is joined."""

    def run(*args, **options) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(joined_parts.JoinedParts, "join", lambda self: None)
            stopped(*args, **options)

    return run


def test_parts_that_are_all_finished_are_only_joined(small, sources, tmp_path, waiting, encoded_parts):
    encode(small, sources["jsonl"], tmp_path / "one")
    waiting(len(encoded_parts), small, sources["jsonl"], tmp_path / "out")
    encoded_parts.clear()
    encode(small, sources["jsonl"], tmp_path / "out")
    assert encoded_parts == []
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


@pytest.fixture
def redone_after(small, sources, tmp_path, encoded_parts):
    """A function that stops a run after eight parts, damages a file, and tells how many of them are encoded again."""

    def redone(stop: Callable[..., None], source: str, name: str, damage: Callable[[Path], None]) -> int:
        encode(small, sources[source], tmp_path / "one")
        n_parts = len(encoded_parts)
        stop(8, small, sources[source], tmp_path / "out")
        encoded_parts.clear()
        damage(tmp_path / "out" / "ids.bin.resume" / name)
        encode(small, sources[source], tmp_path / "out")
        assert contents(tmp_path / "out") == contents(tmp_path / "one")
        return len(encoded_parts) - (n_parts - 8)

    return redone


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["0", "0.ends", "3", "3.ends"])
def test_a_damaged_file_is_redone(stopped, waiting, redone_after, damage, name):
    # What is too long is cut; a file that is gone takes along all that was joined in it, which the eighth part was not yet.
    few = {"0": 0 if damage is lengthen else 1, "3": 1}[name[0]]
    wanted = 7 if damage is os.remove and name[0] == "0" else few
    assert redone_after(waiting if name.startswith("3") else stopped, "jsonl", name, damage) == wanted


def test_a_place_in_the_middle_costs_what_follows_it_in_the_joined_file(stopped, redone_after):
    assert 3 <= redone_after(stopped, "txt", "0", lambda path: flip(path, path.stat().st_size // 2)) <= 5


def test_a_file_of_ends_with_another_beginning_is_not_taken_for_one(stopped, redone_after):
    assert redone_after(stopped, "jsonl", "0.ends", lambda path: flip(path, 0)) == 7


def test_killed_at_any_step_of_joining_at_most_that_part_is_redone(small, sources, tmp_path, monkeypatch, encoded_parts):
    """Each call of the system that changes a file, in turn, is the last one."""
    encode(small, sources["jsonl"], tmp_path / "one")
    all_parts = len(encoded_parts)
    for step in range(0, 40, 3):
        out = tmp_path / f"out {step}"
        encoded_parts.clear()
        left = step
        with monkeypatch.context() as patched:

            def counted(real):
                def call(*args, **options):
                    nonlocal left
                    left -= 1
                    if left < 0:
                        raise Stop
                    return real(*args, **options)

                return call

            for name in "append_ends", "_append":
                patched.setattr(joined_parts, name, counted(getattr(joined_parts, name)))
            patched.setattr(joined_parts.os, "remove", counted(os.remove))
            with pytest.raises(Stop):
                encode(small, sources["jsonl"], out)
        done = len(encoded_parts)
        encode(small, sources["jsonl"], out)
        assert len(encoded_parts) - done == all_parts - done, step  # for the part was noted before it was joined
        assert contents(out) == contents(tmp_path / "one"), step


def test_a_file_is_copied_before_it_is_cut_only_where_it_has_another_name(tmp_path):
    path, other = str(tmp_path / "0"), str(tmp_path / "published")
    kept_parts._set_size(path, 3, is_complete=False)
    assert Path(path).read_bytes() == b"\0\0\0"
    Path(path).write_bytes(b"abc")
    number = os.stat(path).st_ino
    kept_parts._set_size(path, 2, is_complete=False)
    os.link(path, other)
    kept_parts._set_size(path, 2, is_complete=True)
    assert os.stat(path).st_ino == os.stat(other).st_ino == number
    kept_parts._set_size(path, 1, is_complete=False)
    assert (Path(path).read_bytes(), Path(other).read_bytes()) == (b"a", b"ab")
    kept_parts._set_size(path, 1, is_complete=False)
    assert sorted(os.listdir(tmp_path)) == ["0", "published"]


def test_files_of_no_part_that_waits_are_removed(small, sources, tmp_path, monkeypatch, stopped):
    """They take room until the end, and a file that is not ours stays."""
    out = tmp_path / "out"
    stopped(3, small, sources["jsonl"], out)
    folder = out / "ids.bin.resume"
    useless = {"1", "1.ends", "77", "77.ends"}  # of a part that is joined, and of none
    for name in *useless, "notes.ends":
        (folder / name).write_bytes(b"old")
    left: list[str] = []
    keep_undamaged = kept_parts._keep_undamaged

    def list_kept(*arguments):
        n_joined = keep_undamaged(*arguments)
        left.extend(os.listdir(folder))
        return n_joined

    monkeypatch.setattr(kept_parts, "_keep_undamaged", list_kept)
    encode(small, sources["jsonl"], out)
    assert useless.isdisjoint(left)
    assert {"0", "notes.ends"} <= set(left)


def finished_part(n_ids: int, n_ends: int) -> manifest.Finished:
    return manifest.Finished(0, n_ids, Checksum(), n_ends, Checksum(), Skipped(0, []))


def test_parts_are_joined_in_order_and_their_files_removed(tmp_path):
    finished: dict[int, manifest.Finished] = {}
    joined = joined_parts.JoinedParts(str(tmp_path), 1, True, 0, finished)
    for number, ids, ends in (2, b"fgh", [1, 3]), (0, b"abc", [2]), (1, b"de", []):
        (tmp_path / str(number + 1)).write_bytes(ids)
        if ends:
            (tmp_path / f"{number + 1}.ends").write_bytes(np.array(ends, dtype=END_DTYPE).tobytes())
        finished[number] = finished_part(len(ids), len(ends))
        joined.join()
    assert sorted(os.listdir(tmp_path)) == ["0", "0.ends"]
    assert (tmp_path / "0").read_bytes() == b"abcdefgh"
    assert map_ends(tmp_path / "0").tolist() == [2, 6, 8]


def test_a_file_of_ends_that_is_missing_is_an_error(tmp_path):
    """And documents are not joined with the next ones in silence."""
    (tmp_path / "1").write_bytes(b"abc")
    joined = joined_parts.JoinedParts(str(tmp_path), 1, True, 0, {0: finished_part(3, 1)})
    with pytest.raises(FileNotFoundError, match=r"1\.ends"):
        joined.join()


def test_torn_and_strange_lines_of_the_manifest_cost_their_part(small, sources, tmp_path, waiting, encoded_parts):
    encode(small, sources["txt"], tmp_path / "one")
    n_parts = len(encoded_parts)
    for number, change in enumerate(
        [
            lambda lines: [*lines[:-1], lines[-1][:-3]],
            lambda lines: [*lines[:-1], lines[-1][:-1]],
            lambda lines: [*lines[:-1], lines[-1][:20] + "\n"],
            lambda lines: [*lines[:3], "\0" * 50 + "\n", *lines[4:]],
            lambda lines: [*lines[:3], "[" * 100_000 + "\n", *lines[4:]],
            lambda lines: [*lines[:3], lines[3].replace("[", '["', 1).replace(",", '",', 1), *lines[4:]],
            *(
                lambda lines, place=place: [
                    *lines[:3],
                    lines[3].replace("[0, []]", f'[1, [["Line", {place}, "?"]]]'),
                    *lines[4:],
                ]
                for place in (
                    "[5, 1]",
                    '["a", "x"]',
                    '["a", -1]',
                    '["a", 1, 2]',
                    '["a", 1, null, "x"]',
                    '["a", 1, "a", 0, 0, ".7z"]',
                )
            ),
            lambda lines: [*lines[:3], lines[3].replace("[0, []]", '[1, [["Page", ["a", 1], "?"]]]'), *lines[4:]],
            *(
                lambda lines, n=n: [*lines[:3], json.dumps([2, n, *json.loads(lines[3])[2:]]) + "\n", *lines[4:]]
                for n in (None, -1, 2**64)
            ),
            lambda lines: [*lines, "1\n", "[1]\n", "[900, 1, 1, [0, 0], 0, [0, 0], [0, []]]\n", "{}\n", "\n"],
            lambda lines: [*lines, "[0, 1, 1, [0, 0], 0, [0, 0], []]\n"],
        ]
    ):
        out = tmp_path / f"out {number}"
        waiting(8, small, sources["txt"], out)
        path = out / "ids.bin.resume" / manifest.NAME
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
        encoded_parts.clear()
        encode(small, sources["txt"], out)
        assert len(encoded_parts) - (n_parts - 8) == (number < 16), number
        assert contents(out) == contents(tmp_path / "one")


def test_lines_after_a_torn_one_count_when_the_run_is_stopped_again(small, sources, tmp_path, waiting, encoded_parts):
    encode(small, sources["txt"], tmp_path / "one")
    n_parts = len(encoded_parts)
    waiting(8, small, sources["txt"], tmp_path / "out")
    path = tmp_path / "out" / "ids.bin.resume" / manifest.NAME
    path.write_bytes(path.read_bytes()[:-3])
    waiting(2, small, sources["txt"], tmp_path / "out")
    encoded_parts.clear()
    encode(small, sources["txt"], tmp_path / "out")
    assert len(encoded_parts) == n_parts - 9
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_a_manifest_that_cannot_be_read_is_refused_by_name(small, sources, tmp_path, stopped):
    stopped(4, small, sources["txt"], tmp_path / "out")
    path = tmp_path / "out" / "ids.bin.resume" / manifest.NAME
    whole = path.read_bytes()
    about = json.loads(whole.split(b"\n")[0])
    bad = [b"", b"\n", b"[]\n", b"{}\n", b"\xff\n", b"[" * 10**6 + b"\n"]
    bad += [json.dumps({**about, name: None}).encode() + b"\n" for name in about]
    bad += [json.dumps({**about, "part_bytes": size}).encode() + b"\n" for size in (0, "1", -1, True)]
    bad += [json.dumps({**about, "parts": [part]}).encode() for part in (5, [0, 1], [0, 1, "a"])]
    [source] = about["sources"]
    strange = [5, {}, {**source, "path": 1}, {**source, "bytes": "1"}, {**source, "digest": 1}]
    strange.append({name: source[name] for name in ("path", "bytes", "digest")})
    bad += [json.dumps({**about, "sources": [each]}).encode() for each in strange]
    for data in bad:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"manifest\.jsonl.*delete '.*ids\.bin\.resume' to encode from the beginning"):
            encode(small, sources["txt"], tmp_path / "out")
    path.write_bytes(b"{\xff\n")
    with pytest.raises(ValueError, match=r"manifest\.jsonl: not valid UTF-8 \(byte 1\); delete '"):
        encode(small, sources["txt"], tmp_path / "out")
    path.write_bytes(whole.replace(b'"on_error": "skip"', b'"on_error": {"a": 1}'))
    refused("on_error is 'skip', and was {'a': 1} when the run began", small, sources["txt"], tmp_path / "out")
    path.write_bytes(json.dumps({**about, "parts": [[0, 0, 5]]}).encode() + b"\n")
    with pytest.raises(ValueError, match="cut into other parts than when the run began; delete"):
        encode(small, sources["txt"], tmp_path / "out")


# The folder


def test_a_name_that_is_taken_is_refused(small, sources, tmp_path):
    folder = tmp_path / "out" / "ids.bin.resume"
    folder.mkdir(parents=True)
    (folder / "mine").touch()
    with pytest.raises(FileExistsError, match=r"ids\.bin\.resume' was not made by nbbpe for this user: move it away"):
        encode(small, sources["txt"], tmp_path / "out")
    shutil.rmtree(folder)
    folder.touch()
    with pytest.raises(FileExistsError, match="was not made by nbbpe"):
        encode(small, sources["txt"], tmp_path / "out")
    folder.unlink()
    folder.symlink_to(tmp_path / "in")
    with pytest.raises(FileExistsError, match="was not made by nbbpe"):
        encode(small, sources["txt"], tmp_path / "out")
    folder.unlink()
    folder.mkdir()  # as a run leaves it that is killed at once
    encode(small, sources["txt"], tmp_path / "out")
    assert not folder.exists()


def test_two_runs_at_once_are_told(small, sources, tmp_path, sizes, stopped):
    sizes(patience=0.1)
    out, errors = tmp_path / "out", []

    def second(*figures) -> None:
        if not errors:
            with pytest.raises(
                BlockingIOError, match=r"ids\.bin\.resume' is in use by another run on the same output"
            ) as error:
                encode(small, sources["txt"], out)
            errors.append(error)
            small.encode_file(sources["txt"], out / "ids.bin")  # leaves the folder that is in use alone
            assert (out / "ids.bin.resume").exists()

    encode(small, sources["txt"], out, progress=second)
    assert errors
    assert sorted(os.listdir(out)) == ["ids.bin", "ids.bin.json"]


def test_a_pool_that_outlives_a_failed_run_does_not_keep_its_folder(small, sources, tmp_path, sizes, stopped):
    sizes(patience=0.1)
    with ProcessPoolExecutor(1, get_context("fork")) as pool:  # whose process has all files of this one open
        stopped(3, small, sources["jsonl"], tmp_path / "out", executor=pool)
        assert (tmp_path / "out" / "ids.bin.resume").exists()
        encode(small, sources["jsonl"], tmp_path / "out", executor=pool)
        assert sorted(os.listdir(tmp_path / "out")) == ["ids.bin", "ids.bin.ends", "ids.bin.json"]


@pytest.mark.skipif(os.name == "nt", reason="processes are not forked there")
def test_a_pool_that_outlives_a_killed_run_does_not_keep_its_folder(small, sources, tmp_path, sizes, monkeypatch):
    def killed() -> None:
        pool = ProcessPoolExecutor(1, get_context("fork"))  # whose process is forked by the run

        def add(self, number, finished):
            (tmp_path / "left").write_text(str(pool.submit(os.getpid).result()))
            os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(manifest.Manifest, "add", add)
        encode(small, sources["jsonl"], tmp_path / "out", executor=pool)

    sizes(patience=0.1)
    assert processes.exit_code(processes.fork(killed)) == -signal.SIGKILL
    left = int((tmp_path / "left").read_text())
    try:
        encode(small, sources["jsonl"], tmp_path / "out")
        os.kill(left, 0)  # it waits for more tasks, which will never come
    finally:
        os.kill(left, signal.SIGKILL)
    assert {"ids.bin", "ids.bin.ends", "ids.bin.json"} <= set(os.listdir(tmp_path / "out"))
    assert not (tmp_path / "out" / "ids.bin.resume").exists()


def test_a_run_without_it_removes_what_was_kept_when_its_output_is_there(small, sources, tmp_path, stopped):
    stopped(4, small, sources["txt"], tmp_path / "out")
    with pytest.raises(ValueError, match="this is not JSON"):
        encode(small, sources["jsonl"], tmp_path / "out", resume=False, on_error="raise")
    assert os.listdir(tmp_path / "out") == ["ids.bin.resume"]
    encode(small, sources["txt"], tmp_path / "out", resume=False)
    assert sorted(os.listdir(tmp_path / "out")) == ["ids.bin", "ids.bin.json"]


def test_killed_while_it_publishes_nothing_is_encoded_again(small, sources, tmp_path, monkeypatch, encoded_parts):
    encode(small, sources["jsonl"], tmp_path / "one", suffix=".npy")
    for n_put, links in (0, True), (1, True), (2, True), (3, True), (1, False):
        out = tmp_path / f"{n_put} {links}"
        real, done = writer.publish.__globals__["put"], []

        def put(whole, path, real=real, done=done, n_put=n_put):
            if len(done) == n_put:
                raise Stop
            real(whole, path)
            done.append(path)

        def no_links(*args):
            raise OSError(95, "not supported")

        with monkeypatch.context() as patched:
            patched.setattr("nbbpe.idfiles.publishing.put", put)
            if n_put == 3:
                patched.setattr(kept_parts.KeptParts, "done", lambda self: put("", ""))
            if not links:
                patched.setattr(os, "link", no_links)
            with pytest.raises(Stop):
                encode(small, sources["jsonl"], out, suffix=".npy")
        encoded_parts.clear()
        encode(small, sources["jsonl"], out, suffix=".npy")
        assert encoded_parts == []
        assert contents(out) == contents(tmp_path / "one")
        assert len(os.listdir(out)) == 3


@pytest.mark.parametrize("n_lines", [0, 1, 3])
def test_what_is_published_is_not_cut_where_the_manifest_has_lost_lines(
    small, sources, tmp_path, monkeypatch, stopped, n_lines
):
    """After a kill just before the kept files are removed, one of them is the output."""
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(kept_parts, "remove_kept_folder", lambda *args: None)
        patched.setattr(kept_parts.KeptParts, "done", lambda self: None)
        encode(small, sources["jsonl"], out)
    whole = contents(out)
    path = out / "ids.bin.resume" / manifest.NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:n_lines]))
    if not n_lines:
        path.unlink()
    stopped(1, small, sources["jsonl"], out)
    assert contents(out) == whole
    encode(small, sources["jsonl"], out)
    assert contents(out) == whole
    assert len(os.listdir(out)) == 3


def test_what_is_published_does_not_grow_where_its_separator_was_moved_to_the_front(small, sources, tmp_path, monkeypatch):
    """After a kill as above, the last part is encoded again: here it is one id, as the room that was in front."""
    empty, out = tmp_path / "in" / "empty.jsonl", tmp_path / "out"
    empty.write_text('{"text": ""}\n')
    inputs, options = [sources["jsonl"], empty], {"separator": SPECIAL, "separator_first": True}

    def stop(*args):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(kept_parts.KeptParts, "done", stop)
        with pytest.raises(Stop):
            encode(small, inputs, out, **options)
    whole = contents(out)
    with monkeypatch.context() as patched:
        patched.setattr(kept_parts.KeptParts, "hand_over", stop)
        with pytest.raises(Stop):
            encode(small, inputs, out, **options)
    assert contents(out) == whole
    encode(small, inputs, out, **options)
    assert contents(out) == whole
    assert len(os.listdir(out)) == 2


def test_a_run_that_finished_nothing_keeps_nothing(small, sources, tmp_path):
    (tmp_path / "in" / "bad.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match="line 1"):
        encode(small, tmp_path / "in" / "bad.jsonl", tmp_path / "out", on_error="raise")
    assert os.listdir(tmp_path / "out") == []


def test_a_run_that_is_stopped_before_it_has_parts_keeps_nothing(small, sources, tmp_path, monkeypatch):
    def stop(*_):
        raise Stop

    monkeypatch.setattr(writer, "divide", stop)
    with pytest.raises(Stop):
        encode(small, sources["txt"], tmp_path / "out")
    assert os.listdir(tmp_path / "out") == []


# The digest


class Bytes:
    """A File in memory."""

    name = "bytes"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def open(self):
        return io.BytesIO(self.data)

    def naming_errors(self):
        return contextlib.nullcontext()


def test_the_digest_is_of_all_bytes_of_a_small_file_and_of_both_ends_of_a_large_one():
    def of(data: bytes) -> str:
        return sampled_digest.sampled_digest(Bytes(data), len(data))

    for size in 0, 1, 8192, 8193, 65_536:
        data = bytes(size)
        digests = {of(data), *(of(data[:i] + b"x" + data[i + 1 :]) for i in range(0, size, 509))}
        assert len(digests) == 1 + len(range(0, size, 509))
    data = bytes(1 << 20)
    assert len({of(data), of(b"x" + data[1:]), of(data[:-1] + b"x"), of(data[:-1]), of(data[:-1])}) == 4
