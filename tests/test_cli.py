"""The command `nbbpe`: what it writes, what it says when something is wrong, and how it behaves in pipes."""

from __future__ import annotations

import bz2
import contextlib
import dataclasses
import errno
import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import processes
import pytest
import texts
from click.shell_completion import BashComplete
from effort import mostly_slow
from interrupts import interrupted
from vocabularies import BYTE_RANKS, rank_lines

import nbbpe
import nbbpe.evaluation
from nbbpe import cli, early_interrupt, inspection
from nbbpe.cli import commands, inspection_commands, tables
from nbbpe.cli.signals import ending_signals
from nbbpe.cli.streams import as_path
from nbbpe.cli.training_options import read_mixture
from nbbpe.idfiles import manifest
from nbbpe.idfiles.checksum import checksum
from nbbpe.patterns.pattern import ALIASES, NAMED
from nbbpe.system.excerpt import shown_token

COMMANDS = [
    *("train", "extend", "count-words", "encode", "decode", "count", "inspect", "compare", "report", "convert", "warmup"),
]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd, monkeypatch):
    """Run the command in this process."""
    monkeypatch.delenv("NBBPE_TOKENIZER", raising=False)

    def run(*arguments: object) -> Done:
        capfd.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return Done(code, *capfd.readouterr())

    return run


def shell(script: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which `nbbpe` is the command."""
    function = f'nbbpe() {{ "{sys.executable}" -m nbbpe "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", function + script],
        env=processes.environment(**environment),
        cwd=cwd,
        capture_output=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small) -> Path:
    """A folder with a tokenizer, another one, and a text."""
    nbbpe.warmup()  # compiling says so on stderr, where these tests expect nothing
    folder = tmp_path_factory.mktemp("cli")
    small.save(folder / "tok")
    nbbpe.train(iter([texts.SAMPLE[::-1]]), 300).save(folder / "other")
    (folder / "text.txt").write_bytes(TEXT)
    (folder / "empty.txt").write_bytes(b"")
    return folder


TEXT = (texts.SAMPLE * 3 + texts.SPECIAL).encode() + b"the cat \xff\xfe"


@pytest.fixture(autouse=True)
def _in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


def assert_one_line_error(done: Done, code: int, *parts: str) -> None:
    assert done.code == code, done
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert re.match(r"nbbpe( [\w-]+)?: error: ", line)
    for part in parts:
        assert part in line


# Each command


def test_train_saves_what_the_library_trains(run, tmp_path):
    options = ["--vocab-size", 310, "--special", texts.SPECIAL, "--special", "<pad>", "--tie-break", "ids"]
    options += ["--min-frequency", 2, "--max-token-length", 5, "--pattern", r"\w+|\W+", "--workers", 1]
    done = run("train", "text.txt", "text.txt", *options, "-o", tmp_path / "new")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{tmp_path / 'new'}: 310 tokens (256 bytes, 52 merges, 2 special), trained in ")
    paths = [Path("text.txt")] * 2
    wanted = {"tie_break": "ids", "min_frequency": 2, "max_token_length": 5, "pattern": r"\w+|\W+"}
    assert nbbpe.load(tmp_path / "new") == nbbpe.train(paths, 310, [texts.SPECIAL, "<pad>"], **wanted)


def test_patterns_given_one_after_another_split_in_turn(run, tmp_path):
    options = ["--vocab-size", 300, "--pattern", r"\p{N}+", "--pattern", "gpt2", "-o", tmp_path / "new"]
    assert run("train", "text.txt", *options).code == 0
    assert nbbpe.load(tmp_path / "new") == nbbpe.train(Path("text.txt"), 300, pattern=[r"\p{N}+", "gpt2"])
    assert r"\p{N}+, then gpt2" in run("inspect", tmp_path / "new").out
    assert run("inspect", tmp_path / "new", "--json").code == 0
    assert_one_line_error(run("train", "text.txt", *options, "--pattern", "none"), 2, "--pattern none does not split")


def test_train_without_a_pattern_and_with_too_few_pairs_warns_in_one_line(run, tmp_path):
    (tmp_path / "short").write_text("abab")
    done = run("train", tmp_path / "short", "--vocab-size", 300, "--pattern", "none", "-o", tmp_path / "new", "--json")
    assert done.code == 0
    assert done.err.startswith("nbbpe: warning: the text has pairs for only 2 of the 44 merges")
    assert len(done.err.splitlines()) == 1
    figures = json.loads(done.out)
    assert (figures["n_tokens"], figures["n_merges"]) == (258, 2)
    assert nbbpe.load(tmp_path / "new").pattern is None
    limits = ["--min-frequency", 10**6, "--max-token-length", 5]
    done = run("train", "text.txt", "--vocab-size", 300, *limits, "-o", tmp_path / "new")
    assert "--vocab-size 300 asks for, with --min-frequency 1000000 and --max-token-length 5, so" in done.err


def test_words_are_counted_once_and_trained_from(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    options = ["--special", texts.SPECIAL, "--pattern", "cl100k", "--workers", 1, "--memory-limit", "1GB"]
    for name, ending in ("a", "parquet"), ("b", "arrow"):
        done = run("count-words", "text.txt", *options, "-o", tmp_path / f"{name}.{ending}")
        assert (done.code, done.err) == (0, "")
        assert re.match(rf".*{name}\.{ending}: \d+ distinct words, counted in", done.out)
    figures = json.loads(run("count-words", "text.txt", *options, "-o", tmp_path / "c.arrow", "--json").out)
    assert figures["n_words"] == nbbpe.count_words("text.txt", pattern="cl100k", special_tokens=[texts.SPECIAL]).num_rows
    given = ["--counts", tmp_path / "a.parquet", "--counts", tmp_path / "b.arrow", "--weight", "1/3", "--weight", 1.5]
    done = run("train", *given, "--vocab-size", 310, "--min-word-count", 2, "-o", tmp_path / "new")
    assert (done.code, done.err) == (0, "")
    assert "310 tokens (256 bytes, 53 merges, 1 special)" in done.out
    paths = [Path("text.txt")] * 2
    wanted = nbbpe.train(paths, 310, [texts.SPECIAL], pattern="cl100k", weights=[2, 9], min_word_count=12)
    assert nbbpe.load(tmp_path / "new").merges == wanted.merges
    assert run("train", "text.txt", "--vocab-size", 300, "--min-word-count", "auto", "-o", tmp_path / "auto").code == 0
    training = nbbpe.load(tmp_path / "auto").provenance["training"]
    assert training == nbbpe.train(Path("text.txt"), 300, min_word_count="auto").provenance["training"]
    # As after `--counts *.parquet` without quotes.
    run("train", *given[:2], *given[3:], "--vocab-size", 310, "--min-word-count", 2, "-o", tmp_path / "unquoted")
    assert nbbpe.load(tmp_path / "unquoted").merges == wanted.merges
    assert_one_line_error(
        run("train", *given[:2], "--vocab-size", 310, "--pattern", "gpt2", "-o", tmp_path / "x"), 2, "cl100k", "gpt2"
    )
    parquet.write_table(parquet.read_table(given[1]).replace_schema_metadata(None), tmp_path / "lost.parquet")
    done = run("train", "--counts", tmp_path / "lost.parquet", "--vocab-size", 310, "-o", tmp_path / "x")
    assert_one_line_error(done, 2, "say it with --pattern, and --special if there were any")


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_encode_and_decode_files(run, tmp_path, small, suffix):
    ids_path = tmp_path / f"ids{suffix}"
    done = run("encode", "text.txt", "-o", ids_path, "-t", "tok")
    n_tokens = small.count(TEXT)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{ids_path}: {n_tokens:,} tokens as uint16, in ")
    ids = np.load(ids_path) if suffix == ".npy" else np.fromfile(ids_path, dtype="<u2")
    assert ids.tolist() == small.encode(TEXT)
    figures = json.loads(run("encode", "text.txt", "-o", ids_path, "-t", "tok", "--json", "--workers", 2).out)
    assert (figures["n_tokens"], figures["dtype"]) == (n_tokens, "uint16")
    assert run("decode", ids_path, "-o", tmp_path / "back", "-t", "tok") == (0, "", "")
    assert (tmp_path / "back").read_bytes() == TEXT
    # The JSON beside the ids says whose they are.
    assert_one_line_error(
        run("decode", ids_path, "-t", "other"), 2, f"ids{suffix}", "another tokenizer", "give the other one with -t"
    )


def test_encode_to_stdout_has_a_line_for_each_line(run, small):
    done = run("encode", "text.txt", "-o", "-", "-t", "tok")
    assert (done.code, done.err) == (0, "")
    assert list(map(int, done.out.split())) == small.encode(TEXT)
    lines = TEXT.splitlines(keepends=True)
    first = [[int(word) for word in line.split()] for line in done.out.splitlines()[:2]]
    assert small.decode_bytes(first[0]) + small.decode_bytes(first[1]) == b"".join(lines[:2])
    assert done.out.endswith("\n")
    assert not re.search(r" \n|  |^ ", done.out)
    assert run("encode", "empty.txt", "-t", "tok") == (0, "", "")


def test_decode_does_not_replace_the_ids_that_it_reads(run, tmp_path, small, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small.save("tok")
    small.encode_file(documents=["the cat"], output_path="ids.bin")
    os.link("ids.bin", "other.bin")
    before = Path("ids.bin").read_bytes()
    for target in "ids.bin", "./ids.bin", tmp_path / "other.bin":
        done = run("decode", "ids.bin", "-o", target, "-t", "tok")
        assert done.code == 2
        assert done.err == "nbbpe: error: 'ids.bin' cannot be both input and output\n"
        assert Path("ids.bin").read_bytes() == before
    for target in "ids.bin.json", "ids.bin.ends":
        before = Path(target).read_bytes()
        done = run("decode", "ids.bin", "-o", target, "-t", "tok")
        assert (done.code, done.err) == (2, f"nbbpe: error: '{target}' cannot be both input and output\n")
        assert Path(target).read_bytes() == before
    assert run("decode", "ids.bin", "-o", "/dev/stdout", "-t", "tok").code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_decode_of_an_array_in_a_pipe_says_to_give_a_file(run, tmp_path, small):
    small.save(tmp_path / "tok")
    os.mkfifo(tmp_path / "ids.npy")
    done = run("decode", tmp_path / "ids.npy", "-t", tmp_path / "tok")
    assert done.code == 1
    assert "ids.npy' is a pipe or a device, and ids are mapped from a file" in done.err


def test_decode_of_text_and_of_nothing(run, tmp_path):
    (tmp_path / "ids").write_text("104 101\n\n  108\t108 111")
    assert run("decode", tmp_path / "ids", "-t", "tok") == (0, "hello", "")
    (tmp_path / "empty.npy").write_bytes(npy_of(np.empty(0, dtype=np.uint16)))
    for name in "empty.txt", "empty.bin", "empty.npy":
        if not name.endswith(".npy"):
            (tmp_path / name).write_bytes(b"")
        assert run("decode", tmp_path / name, "-t", "tok") == (0, "", "")


def test_decode_takes_a_pattern_for_files_that_name_none(run, tmp_path, small):
    small.save_tiktoken(tmp_path / "mine.tiktoken")
    (tmp_path / "ids").write_text("104 101")
    decoded = "decode", tmp_path / "ids", "-t", tmp_path / "mine.tiktoken"
    assert_one_line_error(run(*decoded), 2, "belongs to it: --pattern")
    assert run(*decoded, "--pattern", "gpt2") == (0, "he", "")
    # The ids of another pattern are told apart by their sidecar.
    small.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    pair = "-t", tmp_path, "--pattern", "cl100k"
    assert run("encode", "text.txt", "-o", tmp_path / "x.bin", *pair).code == 0
    assert run("decode", tmp_path / "x.bin", "-o", tmp_path / "text", *pair).code == 0
    assert (tmp_path / "text").read_bytes() == TEXT


def npy_of(values) -> bytes:
    """A .npy file's bytes."""
    buffer = io.BytesIO()
    np.save(buffer, np.array(values))
    return buffer.getvalue()


NPY = npy_of(np.array([97, 98, 99], dtype=np.uint16))


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("ids", b"1 2\n3 four 5", ["line 2", "'four'"]),
        ("ids", b"1 -2", ["id -2 at index 1"]),
        ("ids", b"1 2\n1_0 5", ["line 2", "'1_0'"]),
        ("ids", b"9" * 30, ["line 1", "'999"]),
        ("ids", b"\xff", ["line 1", r"\\xff"]),
        ("ids", "1 2".encode("utf-16"), ["ids: begins like UTF-16: convert it to UTF-8 first"]),
        ("ids", b"1 2\n3 400", ["id 400 at index 3", "400 tokens"]),
        ("ids.bin", b"\x01\x00\x02", ["not a multiple of 2", "uint16"]),
        ("ids.bin", b"\x01\x00\xff\xff", ["id 65535 at index 1"]),
        ("ids.npy", b"no array", ["ids.npy is not a NumPy array file"]),
        ("ids.npy", b"", ["ids.npy is not a NumPy array file"]),
        ("ids.npy", NPY[:20], ["ids.npy is not a NumPy array file"]),
        ("ids.npy", NPY[:-1], ["ids.npy holds 2.5 ids, and its header says 3"]),
        ("ids.npy", npy_of([1.0]), ["ids.npy must hold a 1-D array of integers"]),
        ("ids.npy", npy_of([{}]), ["ids.npy must hold a 1-D array of integers"]),
    ],
)
def test_decode_says_what_is_no_id(run, tmp_path, name, content, parts):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "out").write_bytes(b"precious")
    done = run("decode", tmp_path / name, "-o", tmp_path / "out", "-t", "tok")
    assert_one_line_error(done, 1, *parts)
    assert (tmp_path / "out").read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "out"])


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_decode_refuses_ids_that_are_not_those_of_their_json(run, tmp_path, suffix):
    ids = tmp_path / f"ids{suffix}"
    assert run("encode", "text.txt", "-o", ids, "-t", "tok").code == 0
    about = json.loads(ids.with_name(f"{ids.name}.json").read_text())
    if suffix == ".bin":
        ids.write_bytes(ids.read_bytes()[:-2])
    else:
        np.save(ids, np.load(ids)[:-1])
    said = f"ids{suffix} holds {about['n_ids'] - 1:,} ids of uint16, and ids{suffix}.json says {about['n_ids']:,}"
    assert_one_line_error(run("decode", ids, "-t", "tok"), 1, said)


@pytest.mark.parametrize("change", [lambda size: size // 2, lambda size: size + 2], ids=["shorter", "longer"])
@pytest.mark.parametrize("name", ["ids.bin", "ids.npy", "ids.txt"])
def test_decode_of_ids_that_change_while_they_are_read_is_an_error(run, tmp_path, monkeypatch, small, name, change):
    """Before, .npy ended by SIGBUS, and others gave a part of the text as if it were all."""
    ids = small.encode_array(TEXT * 400)
    if name == "ids.npy":
        np.save(tmp_path / name, ids)
    else:
        (tmp_path / name).write_bytes(ids.tobytes() if name == "ids.bin" else b" ".join(b"%d" % i for i in ids.tolist()))
    monkeypatch.setattr("nbbpe.cli.streams._BLOCK", 1 << 12)
    feed = nbbpe.StreamDecoder.feed

    def decode_and_change(*arguments):
        os.truncate(tmp_path / name, change(os.path.getsize(tmp_path / name)))
        monkeypatch.setattr(nbbpe.StreamDecoder, "feed", feed)
        return feed(*arguments)

    monkeypatch.setattr(nbbpe.StreamDecoder, "feed", decode_and_change)
    done = run("decode", tmp_path / name, "-o", tmp_path / "out", "-t", "tok")
    assert_one_line_error(done, 1, f"{str(tmp_path / name)!r} changed while it was read")
    assert os.listdir(tmp_path) == [name]


def test_special_tokens_in_a_text_can_be_plain_text(run, tmp_path, small):
    (tmp_path / "a.txt").write_text(f"the cat{texts.SPECIAL}sat")
    wanted = small.encode_ordinary(f"the cat{texts.SPECIAL}sat")
    options = ["-t", "tok", "--no-special"]
    assert list(map(int, run("encode", tmp_path / "a.txt", *options).out.split())) == wanted
    assert run("encode", tmp_path / "a.txt", "-o", tmp_path / "a.bin", *options).code == 0
    assert np.fromfile(tmp_path / "a.bin", dtype="<u2").tolist() == wanted
    assert json.loads(run("count", tmp_path / "a.txt", *options, "--json").out)[0]["n_tokens"] == len(wanted)


def test_special_tokens_in_a_record_are_plain_text_unless_allowed(run, tmp_path, small):
    text = f"the cat{texts.SPECIAL}sat"
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}))
    options = [tmp_path / "a.jsonl", "-t", "tok"]
    for more, wanted in ([], small.encode_ordinary(text)), (["--allow-special"], small.encode(text)):
        assert list(map(int, run("encode", *options, *more).out.split())) == wanted
        assert run("encode", *options, *more, "-o", tmp_path / "a.bin").code == 0
        assert np.fromfile(tmp_path / "a.bin", dtype="<u2").tolist() == wanted
        assert json.loads(run("count", *options, *more, "--json").out)[0]["n_tokens"] == len(wanted)
    assert "in records only with --allow-special" in " ".join(run("encode", "--help").out.split())


def test_records_and_several_inputs(run, tmp_path, small):
    records = [{"body": "the cat"}, {"body": "sat\n"}, {"other": "x"}, {"body": "aaa"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "b.jsonl").write_text(json.dumps({"body": "ababab"}))
    source, options = str(tmp_path / "*.jsonl"), ["--field", "body", "-t", "tok"]
    assert_one_line_error(run("count", source, *options), 1, "a.jsonl", "line 3", "(pass --on-error skip")
    options += ["--on-error", "skip"]
    documents = ["the cat", "sat\n", "aaa", "ababab"]
    separator = small.special_tokens[texts.SPECIAL]
    wanted = [token_id for document in documents for token_id in [*small.encode(document), separator]]
    done = run("encode", source, "-o", tmp_path / "ids.bin", *options, "--separator", texts.SPECIAL)
    assert done.code == 0
    assert done.err.startswith("nbbpe: warning: 1 malformed record was skipped")
    assert np.fromfile(tmp_path / "ids.bin", dtype="<u2").tolist() == wanted
    done = run("encode", tmp_path / "a.jsonl", tmp_path / "b.jsonl", *options, "--separator", texts.SPECIAL)
    assert (done.code, list(map(int, done.out.split()))) == (0, wanted)
    in_front = [separator, *wanted[:-1]]
    done = run("encode", source, *options, "--separator", texts.SPECIAL, "--separator-first")
    assert (done.code, list(map(int, done.out.split()))) == (0, in_front)
    run("encode", source, "-o", tmp_path / "ids.bin", *options, "--separator", texts.SPECIAL, "--separator-first")
    assert np.fromfile(tmp_path / "ids.bin", dtype="<u2").tolist() == in_front
    assert_one_line_error(run("encode", source, *options, "--separator-first"), 2, "--separator-first needs --separator")
    assert_one_line_error(run("encode", source, *options, "--separator", "<none>"), 2, "<none>")
    assert_one_line_error(run("encode", source, *options, "--separator", "=="), 2, "separator '==' is not a special token")
    n_bytes = sum(map(len, documents))
    done = run("count", source, *options, "--json")
    assert json.loads(done.out) == [{"input": source, "n_tokens": len(wanted) - 4, "n_bytes": n_bytes}]
    done = run("compare", "tok", "other", "--on", source, *options[:2], *options[4:], "--json")
    assert json.loads(done.out)["a"]["n_bytes"] == n_bytes
    assert len(done.err.splitlines()) == 1
    done = run("train", source, "--vocab-size", 260, "-o", tmp_path / "new", *options[:2], *options[4:])
    assert done.code == 0
    assert nbbpe.load(tmp_path / "new") == nbbpe.train(documents=documents, vocab_size=260)


def test_count(run, small):
    n_tokens = small.count(TEXT)
    done = run("count", "text.txt", "empty.txt", "-t", "tok")
    rows = [line.split() for line in done.out.splitlines()]
    assert rows[1] == [f"{n_tokens:,}", f"{len(TEXT):,}", f"{len(TEXT) / n_tokens:.3f}", "text.txt"]
    assert rows[2] == ["0", "0", "-", "empty.txt"]
    assert rows[3][0] == f"{n_tokens:,}"
    assert len({len(line.rpartition(" ")[0]) for line in done.out.splitlines()[:2]}) == 1
    figures = json.loads(run("count", "text.txt", "-t", "tok", "--json").out)
    assert figures == [{"input": "text.txt", "n_tokens": n_tokens, "n_bytes": len(TEXT)}]


def test_a_field_may_be_that_of_some_texts_whose_tokens_are_counted(run, tmp_path, small):
    (tmp_path / "a.jsonl").write_text('{"body": "the cat"}\n')
    for names in ([tmp_path / "a.jsonl", "text.txt"], ["text.txt", tmp_path / "a.jsonl"]):
        done = run("count", *names, "--field", "body", "-t", "tok", "--json")
        assert {row["n_bytes"] for row in json.loads(done.out)} == {7, len(TEXT)}
    assert_one_line_error(run("count", *["text.txt"] * 2, "--field", "body", "-t", "tok"), 2, "'text.txt' is plain text")


def test_inspect(run, small):
    done = run("inspect", "tok", "--on", "text.txt")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    figures = inspection.text_figures(small, Path("text.txt"))
    for part in ("tokens          400", "gpt2", "uint16", "<|endoftext|> (399)", "longest tokens", "most frequent tokens"):
        assert part in done.out
    assert f"bytes per token  {figures.bytes_per_token:.3f}" in done.out
    assert f"{figures.n_used:,} of 399" in done.out
    assert f"unused tokens: {len(figures.unused):,}" in done.out
    data = json.loads(run("inspect", "tok", "--on", "text.txt", "--json").out)
    assert data["vocabulary"]["n_tokens"] == 400
    assert data["text"]["n_tokens"] == figures.n_tokens
    assert data["text"]["n_unused"] == len(figures.unused) == figures.n_vocab - figures.n_used > 10
    for options, n in (["--unused", 4], 4), (["--unused", 1000], len(figures.unused)):
        unused = json.loads(run("inspect", "tok", "--on", "text.txt", "--json", *options).out)["text"]["unused"]
        assert len(unused) == n
        ids = [token.token_id for token in figures.unused]  # those of single bytes come last
        assert [each["id"] for each in unused] == sorted(ids, key=lambda i: (i < 256, i))[:n]
        assert all(bytes.fromhex(each["hex"]) == small.id_to_token(each["id"]) for each in unused)
    assert len(data["text"]["unused"]) == 10
    assert data["text"]["most_frequent"][0]["hex"] == figures.most_frequent[0][0].token.hex()
    assert "text" not in json.loads(run("inspect", "tok", "--json").out)


def test_inspect_shows_special_tokens_of_any_characters_in_one_line(run, tmp_path):
    odd = nbbpe.train(iter(["ab"]), 261, ["a\nb", "\x1b[31m", " c ", "d,e", "é"], pattern="\\w\n|\x1b")
    odd.save(tmp_path / "odd")
    lines = run("inspect", tmp_path / "odd").out.splitlines()
    assert r"special tokens  5: a\nb (256), \x1b[31m (257), ' c ' (258), 'd,e' (259)" in lines[3]
    assert all(map(str.isprintable, lines))


@pytest.mark.parametrize(("longest", "frequent", "unused"), [(2, 12, 3), (0, 0, 0), (1, 3, 14)])
def test_inspect_shows_as_many_tokens_as_it_is_asked_for(run, longest, frequent, unused):
    numbers = ["--longest", longest, "--frequent", frequent, "--unused", unused]
    out = run("inspect", "tok", "--on", "text.txt", *numbers).out
    for heading, n in (r"longest tokens", longest), (r"most frequent tokens", frequent), (r"unused tokens: .*", unused):
        found = re.search(rf"^{heading}\n((?:  .*\n)*)", out, re.MULTILINE)
        n_rows = len(found[1].splitlines()) - 1 if found and found[1] else 0
        assert n_rows == n, (heading, out)
    assert "the first learned being" in out or not unused


def test_inspect_ignores_no_option(run, tmp_path, small):
    path = tmp_path / "ids.bin"
    small.encode_file(iter([TEXT]), path)
    of_text = ["--frequent", "10"], ["--unused", "1"], ["--field", "x"], ["--on-error", "raise"]
    for option in of_text:
        assert_one_line_error(run("inspect", "tok", *option), 2, f"{option[0]} needs --on")
    for option in *of_text, ["--longest", "3"], ["--pattern", "gpt2"]:
        assert_one_line_error(run("inspect", path, *option), 2, f"{option[0]} is for tokenizers", "is a file of ids")
    for option in *of_text[:2], ["--longest", "3"]:
        assert_one_line_error(run("inspect", "--pattern", "gpt2", *option), 2, f"{option[0]} is for tokenizers")
    assert_one_line_error(run("inspect", "--pattern", "gpt2", "--field", "x"), 2, "--field needs --on")
    assert run("inspect", "tok", "--longest", "3").code == 0
    assert run("inspect", "tok", "--on", "text.txt", *of_text[0], *of_text[1]).code == 0


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_inspect_shows_what_a_file_of_ids_holds_and_checks_it_on_wish(run, tmp_path, small, suffix):
    path = tmp_path / f"ids{suffix}"
    small.encode_file(iter([TEXT]), path, allowed_special="all")
    n_ids = small.count(TEXT)
    out = run("inspect", path).out
    assert all(part in out for part in (f"{n_ids:,}", "uint16", f"{small.fingerprint}, 400 tokens"))
    assert "checksum" not in out
    assert "checksum" in run("inspect", path, "--verify").out
    figures = json.loads(run("inspect", path, "--verify", "--json").out)
    wanted = {"n_ids": n_ids, "dtype": "uint16", "fingerprint": small.fingerprint, "vocab_size": 400, "verified": True}
    assert figures == {"ids": str(path), **wanted}
    damaged = bytearray(path.read_bytes())
    damaged[-2] ^= 1
    path.write_bytes(damaged)
    assert run("inspect", path).code == 0
    done = run("inspect", path, "--verify")
    assert (done.code, done.out) == (1, "")
    assert "does not hold the ids that were written" in done.err
    assert run("inspect", path, "--on", "text.txt").code == 2
    assert run("inspect", "tok", "--verify").code == 2
    assert_one_line_error(run("inspect", path, "--dtype", "uint32"), 2, "ids of uint16, and --dtype says uint32")


@pytest.mark.parametrize("change", [lambda size: size // 2, lambda size: size + 2], ids=["shorter", "longer"])
@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_ids_that_change_while_they_are_verified_are_an_error(run, tmp_path, monkeypatch, small, suffix, change):
    """Before, what was cut short ended the process by SIGBUS."""
    path = tmp_path / f"ids{suffix}"
    small.encode_file(iter([TEXT * 400]), path)
    monkeypatch.setattr(inspection_commands, "_IDS_AT_ONCE", 1 << 12)

    def checksum_and_change(ids):
        os.truncate(path, change(os.path.getsize(path)))
        monkeypatch.setattr(inspection_commands, "checksum", checksum)
        return checksum(ids)

    monkeypatch.setattr(inspection_commands, "checksum", checksum_and_change)
    assert_one_line_error(run("inspect", path, "--verify"), 1, f"{str(path)!r} changed while it was read")


def test_inspect_takes_the_type_of_ids_without_a_sidecar(run, tmp_path):
    np.arange(5, dtype="<u4").tofile(tmp_path / "train.bin")
    told = "says what its bytes are: encode the text with nbbpe, or give their type (--dtype uint16 for a train.bin of"
    assert_one_line_error(run("inspect", tmp_path / "train.bin"), 2, "train.bin", told)
    assert json.loads(run("inspect", tmp_path / "train.bin", "--dtype", "uint32", "--json").out)["n_ids"] == 5
    assert_one_line_error(run("inspect", "tok", "--dtype", "uint16"), 2, "--dtype is for files of ids")


def test_inspect_takes_the_tokenizer_of_the_environment(run, monkeypatch):
    monkeypatch.setenv("NBBPE_TOKENIZER", "tok")
    assert run("inspect").out.startswith("tok\n")
    assert run("count", "empty.txt").code == 0
    monkeypatch.setenv("NBBPE_TOKENIZER", "nowhere")
    for arguments in ["inspect"], ["count", "empty.txt"]:
        assert_one_line_error(run(*arguments), 2, "'nowhere'", "environment variable NBBPE_TOKENIZER", "is missing")
    assert run("inspect", "tok").code == run("count", "empty.txt", "-t", "tok").code == 0
    assert run("inspect", "--pattern", "gpt2").code == 0


def test_the_environment_may_name_what_nbbpe_load_takes_by_name(run, monkeypatch):
    monkeypatch.setattr("nbbpe.formats.recognise.found_by_name", {"cl100k_base": "tok"}.get)
    monkeypatch.setenv("NBBPE_TOKENIZER", "cl100k_base")
    for arguments in ["inspect"], ["count", "empty.txt"], ["decode", "empty.txt"]:
        assert (run(*arguments).code, run(*arguments).err) == (0, "")


def test_a_pattern_is_shown_on_any_source_of_text(run, tmp_path):
    inspect = "inspect", "--pattern", "gpt2", "--json", "--on"
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT))
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(TEXT))
    (tmp_path / "b.jsonl").write_text('{"body": "the cat"}\n{"body": " sat"}\n')
    for name in "a.txt.gz", "a.txt.bz2":
        assert run(*inspect, tmp_path / name).out == run(*inspect, "text.txt").out
    assert json.loads(run(*inspect, tmp_path / "b.jsonl", "--field", "body").out)["pretokens"] == ["the", " cat", " sat"]
    assert_one_line_error(run(*inspect, tmp_path / "b.jsonl"), 2, "line 1", "no field 'text'")


def test_plots_are_drawn(run, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib (the extra plot)")
    starts = {".png": b"\x89PNG", ".svg": b"<?xml"}
    for suffix, start in starts.items():
        done = run("inspect", "tok", "--on", "text.txt", "--plot", tmp_path / f"plot{suffix}")
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / f"plot{suffix}").read_bytes().startswith(start)
    ranks = BYTE_RANKS | {b"th": 256, b"cat": 257}
    (tmp_path / "a.tiktoken").write_bytes(rank_lines(ranks))  # of which no list of merges makes all
    by_rank = ["inspect", tmp_path / "a.tiktoken", "--pattern", "gpt2", "--on", "text.txt"]
    for arguments in ["inspect", "other"], by_rank:
        assert run(*arguments, "--plot", tmp_path / "more.png").code == 0
    assert run("inspect", "tok", "--on", "empty.txt", "--plot", tmp_path / "empty.svg").code == 0
    assert "the text is empty" in (tmp_path / "empty.svg").read_text()  # in a comment: letters are drawn as curves
    assert sorted(os.listdir(tmp_path)) == ["a.tiktoken", "empty.svg", "more.png", "plot.png", "plot.svg"]
    (tmp_path / "folder.png").mkdir()
    done = run("inspect", "nowhere", "--plot", tmp_path / "folder.png")  # told before anything is read
    assert_one_line_error(done, 2, "--plot", "folder.png' is a folder; give a file name to write")


def test_a_drawing_does_not_replace_the_text_that_it_is_about(run, tmp_path):
    pytest.importorskip("matplotlib", reason="needs matplotlib (the extra plot)")
    for name in "text.svg", "more.svg":
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "link.svg").symlink_to("text.svg")
    for on in "text.svg", "*.svg", "link.svg":
        for arguments in ["tok", "--plot"], ["--pattern", "gpt2", "--draw"]:
            done = run("inspect", "--on", tmp_path / on, *arguments, tmp_path / "text.svg")
            assert_one_line_error(done, 2, ".svg' cannot be both input and output")
            assert (tmp_path / "text.svg").read_bytes() == TEXT


def test_plots_need_matplotlib_and_a_name_that_says_what(run, monkeypatch):
    assert_one_line_error(run("inspect", "tok", "--plot", "figures.gif"), 2, ".png")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert_one_line_error(run("inspect", "tok", "--plot", "figures.png"), 1, 'pip install "nbbpe[plot]"')


def test_compare(run, small):
    done = run("compare", "tok", "other", "--on", "text.txt")
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    found = inspection.compare(small, nbbpe.load("other"), Path("text.txt"))
    assert f"{found.a.n_tokens:,}" in done.out
    assert f"share {found.n_shared:,} tokens" in done.out
    assert f"in {found.n_differing:,} stretches" in done.out
    assert tables.verdict(found) in done.out
    first, second = nbbpe.evaluation.evaluate({"tok": small, "other": nbbpe.load("other")}, "text.txt")
    for title, name in ("characters per token", "characters_per_token"), ("tokens per word", "tokens_per_word"):
        assert re.search(rf"^{title} +{getattr(first, name):.3f} +{getattr(second, name):.3f}$", done.out, re.MULTILINE)
    data = json.loads(run("compare", "tok", "other", "--on", "text.txt", "--json", "--examples", 3).out)
    assert (data["a"]["n_tokens"], data["b"]["n_tokens"]) == (found.a.n_tokens, found.b.n_tokens)
    assert data["a"]["n_unused"] == len(found.a.unused)
    assert "unused" not in data["a"]  # thousands, for each tokenizer
    assert len(data["splits"]) == 3
    assert bytes.fromhex(data["splits"][0]["hex"]) == found.splits[0].text


def test_the_command_prints_a_table_for_each_text(run, tmp_path):
    (tmp_path / "a.txt").write_text("the cat sat on the mat")
    on = ["--on", "text.txt", "--on", tmp_path / "a.txt"]
    done = run("compare", "tok", "other", "tok", *on)
    assert (done.code, done.err) == (0, "")
    tokenizers = {name: nbbpe.load(name) for name in ("tok", "other")}
    rows = nbbpe.evaluation.evaluate(tokenizers, {"text.txt": ["text.txt"], str(tmp_path / "a.txt"): tmp_path / "a.txt"})
    assert done.out.splitlines() == tables.evaluation_lines(rows)
    of_a = done.out.splitlines()[5:]
    assert of_a[0] == f"on {tmp_path / 'a.txt'}: 22 bytes, 22 characters, 6 words"
    assert of_a[1].split() == ["tokens", "bytes/token", "chars/token", "tokens/word", "parity", "partial", "tokenizer"]
    assert [line.split()[-1] for line in of_a[2:]] == ["tok", "other"]
    assert max(map(len, done.out.splitlines()[1:4])) <= 80
    found = json.loads(run("compare", "tok", "other", *on, "--json").out)
    assert found == {"table": list(map(dataclasses.asdict, rows))}
    pair = json.loads(run("compare", "tok", "other", "--on", "text.txt", "--json").out)
    assert pair["table"] == found["table"][:2]
    assert run("compare", "tok", "--on", "text.txt").out.splitlines() == tables.evaluation_lines(rows[:1])
    done = run("compare", "tok", "other", *on, "--examples", 3)
    assert (done.code, done.out) == (2, "")
    assert "--examples is for two tokenizers on one text" in done.err


def test_compare_where_nothing_differs(run, small):
    done = run("compare", "tok", "tok", "--on", "text.txt")
    n_tokens = inspection.text_figures(small, Path("text.txt")).n_tokens
    *_, says, shared, differing = done.out.splitlines()
    assert says == f"Both need {n_tokens:,} tokens."
    assert shared == f"The vocabularies share {len(small) - len(small.special_tokens):,} tokens."
    assert differing == "0.0 % of the text is split differently, in 0 stretches."
    done = run("compare", "tok", "other", "--on", "empty.txt")
    assert (done.code, done.err) == (0, "")
    assert re.search(r"\n\nBoth need 0 tokens\.\nThe vocabularies share \d+ tokens\.\n$", done.out)


def test_compare_of_two_that_make_different_texts_prints_the_table(run, small, tmp_path):
    nfc = nbbpe.Tokenizer(small.vocab, small.merges, list(small.special_tokens), normalizer="NFC")
    nfc.save(tmp_path / "nfc")
    (tmp_path / "a.txt").write_text("cafe\u0301 x")
    pair = ["tok", tmp_path / "nfc", "--on", tmp_path / "a.txt"]
    rows = nbbpe.evaluation.evaluate(
        {"tok": small, str(tmp_path / "nfc"): nfc}, {str(tmp_path / "a.txt"): tmp_path / "a.txt"}
    )
    done = run("compare", *pair)
    assert (done.code, done.out.splitlines()) == (0, tables.evaluation_lines(rows))
    (warning,) = done.err.splitlines()
    assert "warning: only the figures of each are shown: the two tokenizers make different texts of this one" in warning
    done = run("compare", *pair, "--json", "--examples", 1)
    assert (done.code, json.loads(done.out)) == (0, {"table": list(map(dataclasses.asdict, rows))})


def test_bytes_per_token_of_two_are_those_of_the_table_where_both_normalize(run, small, tmp_path):
    for name, form in ("a", "NFC"), ("b", "NFKC"):
        nbbpe.Tokenizer(small.vocab, small.merges, list(small.special_tokens), normalizer=form).save(tmp_path / name)
    (tmp_path / "a.txt").write_text("cafe\u0301 x")
    pair = ["compare", tmp_path / "a", tmp_path / "b", "--on", tmp_path / "a.txt"]
    done = run(*pair)
    (ratio, _) = (row["bytes_per_token"] for row in json.loads(run(*pair, "--json").out)["table"])
    assert (done.code, done.err) == (0, "")
    assert "a.txt, 8 bytes\n" in done.out
    assert re.search(rf"^bytes per token +{ratio:.3f} +{ratio:.3f}$", done.out, re.MULTILINE)


def test_a_slash_after_the_name_of_a_file_is_an_error(run):
    for command in ["count", "-t", "tok"], ["encode", "-t", "tok"], ["train", "--vocab-size", 300, "-o", "new"]:
        done = run(command[0], "text.txt/", *command[1:])
        assert_one_line_error(done, 2, f"text.txt/: {os.strerror(errno.ENOTDIR)}")


def test_convert_there_and_back(run, tmp_path, small):
    done = run("convert", "tok", tmp_path / "gpt2", "--to", "gpt2")
    assert (done.code, done.err) == (0, "")
    assert sorted(os.listdir(tmp_path / "gpt2")) == ["merges.txt", "vocab.json"]
    assert run("convert", tmp_path / "gpt2", tmp_path / "back", "--special", texts.SPECIAL).code == 0
    assert nbbpe.load(tmp_path / "back") == small
    data = json.loads(run("convert", "tok", tmp_path / "again" / "vocab.json", "--json").out)
    assert data["format"] == "gpt2"
    for name in "merges.txt", "vocab.json":
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "gpt2" / name).read_bytes()


@pytest.mark.parametrize("target", ["x.json", "x.tiktoken", "new/deep/tokenizer.json"])
def test_convert_to_files_that_others_read(run, tmp_path, small, target):
    assert run("convert", "tok", tmp_path / target).code == 0
    options = ["--special", texts.SPECIAL, "--pattern", "gpt2"] if target.endswith("tiktoken") else []
    assert run("convert", tmp_path / target, tmp_path / "back", *options).code == 0
    assert nbbpe.load(tmp_path / "back").encode(texts.SAMPLE) == small.encode(texts.SAMPLE)


@pytest.mark.parametrize("pattern", [r"\w+|\W+", [r"\p{N}+", "gpt2"]])
@pytest.mark.parametrize("target", ["x.tiktoken", "folder/vocab.json"])
def test_convert_says_what_the_files_do_not(run, tmp_path, small, target, pattern):
    specials = [texts.SPECIAL, "<a b>", "<it's>"]
    wanted = nbbpe.Tokenizer(small.vocab, small.merges, specials, pattern)
    wanted.save(tmp_path / "mine")
    done = run("convert", tmp_path / "mine", tmp_path / target)
    told = done.err.partition("to read them as this tokenizer: ")[2]
    assert run("convert", tmp_path / target, tmp_path / "back", *shlex.split(told)).code == 0
    again = nbbpe.load(tmp_path / "back")
    assert (again.pattern, again.special_tokens, again.merges) == (wanted.pattern, wanted.special_tokens, wanted.merges)
    assert again.encode(texts.SAMPLE) == wanted.encode(texts.SAMPLE)
    n_written = len(wanted) - len(specials) if target.endswith("tiktoken") else len(wanted)
    assert done.out.splitlines()[0].endswith(f"{n_written:,} tokens")


def test_convert_says_where_options_do_not_give_special_tokens_their_ids(run, tmp_path, small):
    moved = nbbpe.Tokenizer(small._model.ordinary, small.merges, {texts.SPECIAL: 500})
    moved.save(tmp_path / "mine")
    done = run("convert", tmp_path / "mine", tmp_path / "x.tiktoken")
    assert "with other ids of special tokens (Tokenizer.from_tiktoken(special_tokens={...})" in done.err
    again = nbbpe.Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", "gpt2", {texts.SPECIAL: 500})
    assert again.encode(texts.SAMPLE) == moved.encode(texts.SAMPLE)


@pytest.mark.parametrize("format_name", ["gpt2", "huggingface"])
@pytest.mark.parametrize("target", ["a.txt", "a.txt/new"])
def test_convert_to_a_folder_that_is_a_file_is_told(run, tmp_path, format_name, target):
    (tmp_path / "a.txt").write_text("precious")
    done = run("convert", "tok", tmp_path / target, "--to", format_name)
    assert_one_line_error(done, 2, f"{str(tmp_path / 'a.txt')!r} is not a folder; give one to write")
    assert (tmp_path / "a.txt").read_text() == "precious"


@pytest.mark.parametrize("options", [["--to", "gpt2"], ["--to", "huggingface"]])
def test_convert_does_not_replace_a_part_of_a_saved_tokenizer(run, tmp_path, small, options):
    small.save(tmp_path / "mine")
    done = run("convert", "other", tmp_path / "mine", *options)
    assert_one_line_error(done, 2, "is a part of the tokenizer whose nbbpe.json is beside it")
    assert nbbpe.load(tmp_path / "mine") == small
    assert run("convert", "other", tmp_path / "mine").code == 0  # as a whole
    assert nbbpe.load(tmp_path / "mine") == nbbpe.load("other")


def test_convert_says_where_a_folder_has_another_tokenizer_that_is_read_first(run, tmp_path):
    assert run("convert", "tok", tmp_path / "both", "--to", "huggingface").code == 0
    assert "another" not in run("convert", "tok", tmp_path / "both", "--to", "gpt2").err
    done = run("convert", "other", tmp_path / "both", "--to", "gpt2")
    assert (done.code, len(done.err.splitlines())) == (0, 1)
    assert "also has a tokenizer.json of another tokenizer, which is read if you give the folder" in done.err
    assert run("convert", "other", tmp_path / "both", "--to", "huggingface") == done._replace(
        out=f"{tmp_path / 'both' / 'tokenizer.json'}: huggingface, 300 tokens\n", err=""
    )


def test_convert_names_its_file_where_the_working_folder_is_gone(folder, tmp_path):
    for target in "x.json", "vocab.json", "x.tiktoken":
        script = f"mkdir gone; cd gone; rmdir ../gone; nbbpe convert '{folder}/tok' {target}"
        done = shell(script, tmp_path)
        assert done.stderr.startswith(f"nbbpe: error: {target!r} starts from the working folder, which".encode()), done


@pytest.mark.parametrize(
    "target", ["folder", "folder/", "vocab.json", "t.json", "x.tiktoken", "tekken.json", "--to=gpt2", "--to=huggingface"]
)
def test_convert_makes_missing_folders(run, tmp_path, target):
    nbbpe.Tokenizer({i: bytes([i]) for i in range(256)}, []).save(tmp_path / "tok")
    options, name = ([target], "folder") if target.startswith("--") else ([], target)
    assert run("convert", tmp_path / "tok", f"{tmp_path}/new/deep/{name}", *options).code == 0
    assert name.rstrip("/") in os.listdir(tmp_path / "new/deep")


def test_convert_makes_no_folders_that_no_path_can_name(run, tmp_path):
    done = run("convert", "tok", tmp_path / ("a/" * 3000) / "t.json")
    assert_one_line_error(done, 1, f"a: {os.strerror(errno.ENAMETOOLONG)}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [["new/deep", "--to", "huggingface"], ["new/deep/tekken.json"]])
def test_convert_leaves_no_folder_after_an_error(run, tmp_path, small, options):
    small.with_special_tokens(["Ġ"]).save(tmp_path / "tok")  # as the blank is spelled
    done = run("convert", tmp_path / "tok", tmp_path / options[0], *options[1:])
    assert_one_line_error(done, 1, "special token")
    assert os.listdir(tmp_path) == ["tok"]


def test_convert_knows_no_pattern_and_one_of_gpt2s_files(run, tmp_path, small, quiet):
    bare = nbbpe.train(iter([texts.SAMPLE]), 300, pattern=None)
    bare.save(tmp_path / "bare")
    assert run("convert", tmp_path / "bare", tmp_path / "x.tiktoken").code == 0
    assert_one_line_error(run("convert", tmp_path / "x.tiktoken", tmp_path / "new"), 2, "belongs to it: --pattern")
    assert run("convert", tmp_path / "x.tiktoken", tmp_path / "new", "--pattern", "none").code == 0
    assert nbbpe.load(tmp_path / "new").fingerprint == bare.fingerprint
    small.save_gpt2(tmp_path / "mine-vocab.json", tmp_path / "mine-merges.txt")
    assert run("inspect", tmp_path / "mine-merges.txt").code == 0
    assert run("convert", tmp_path / "mine-vocab.json", tmp_path / "again", "--pattern", "cl100k").code == 0
    again = nbbpe.load(tmp_path / "again")
    assert (again.pattern, again.special_tokens) == ("cl100k", small.special_tokens)


def test_convert_reads_a_tokenizer_with_a_normalizer_if_told_to(run, tmp_path, small):
    small.to_hf(tmp_path / "t.json")
    document = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    document["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    (tmp_path / "t.json").write_text(json.dumps(document))
    assert_one_line_error(run("count", "text.txt", "-t", tmp_path / "t.json"), 1, "`nbbpe convert --normalizer ignore`")
    assert run("convert", tmp_path / "t.json", tmp_path / "new", "--normalizer", "ignore").code == 0
    assert nbbpe.load(tmp_path / "new") == small
    assert_one_line_error(run("convert", "tok", tmp_path / "x", "--normalizer", "ignore"), 2, "has no normalizer to ignore")


def test_a_normalizer_is_kept_and_shown(run, tmp_path, small):
    nfc = nbbpe.Tokenizer(small.vocab, small.merges, small.special_tokens, normalizer="NFC")
    nfc.to_hf(tmp_path / "t.json")
    assert run("convert", tmp_path / "t.json", tmp_path / "new").code == 0
    assert nbbpe.load(tmp_path / "new") == nfc
    text = "e\u0301" * 3 + f"{texts.SPECIAL}\u0301"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    found = shell("nbbpe encode - -o - -t new < a.txt", tmp_path).stdout
    assert found.split() == [b"%d" % token_id for token_id in nfc.encode(text)]
    assert run("encode", tmp_path / "a.txt", "-t", tmp_path / "new").out.split() == found.decode().split()
    assert "normalizer" in run("inspect", tmp_path / "new").out
    refused = run("convert", tmp_path / "new", tmp_path / "gpt2", "--to", "gpt2")
    assert_one_line_error(refused, 1, "`nbbpe convert --to huggingface`", "`nbbpe convert --normalizer ignore`")
    assert run("convert", tmp_path / "t.json", tmp_path / "gpt2", "--to", "gpt2", "--normalizer", "ignore").code == 0


def test_convert_from_tiktoken(run, tmp_path, shared):
    source = shared / "vocabs" / "r50k_base.tiktoken"
    assert run("convert", source, tmp_path / "new").code == 0
    assert nbbpe.load(tmp_path / "new") == nbbpe.Tokenizer.from_tiktoken(source)
    assert run("count", "text.txt", "-t", source).code == 0


def test_extend_saves_a_larger_tokenizer(run, folder):
    command = ["extend", "tok", "text.txt", "--vocab-size", "405", "-o", "larger"]
    figures = json.loads(run(*command, "--json").out)
    start, larger = nbbpe.load(folder / "tok"), nbbpe.load(folder / "larger")
    assert (figures["n_tokens"], figures["n_new"]) == (len(larger), len(larger) - len(start))
    assert larger == start.extend(folder / "text.txt", 405)
    assert re.fullmatch(r"larger: \d+ tokens, \d+ of them new, trained in .* s\n", run(*command).out)
    refused = run(*command[:4], "300", *command[5:])
    assert_one_line_error(refused, 2, "--vocab-size 300 is below the 400", "Tokenizer.truncate and prune, in Python")


def test_extend_by_seeds_needs_no_text(run, folder):
    command = ["extend", "tok", "--seed-token", " photosynthesis", "--seed-token", "zzz", "-o", "larger"]
    start = nbbpe.load(folder / "tok")
    rules = nbbpe.TokenRules(seeds=[" photosynthesis", "zzz"])
    expected = start.extend(documents=[], rules=rules)
    assert json.loads(run(*command, "--json").out)["n_new"] == len(expected) - len(start) > 0
    assert nbbpe.load(folder / "larger") == expected
    for option in ["--workers", "2"], ["--min-frequency", "1"], ["--on-error", "skip"], ["--split-with", "regex"]:
        assert_one_line_error(run(*command, *option), 2, f"{option[0]} is for texts, and with --seed-token alone")
    without_texts = "give either the texts to learn from or --mixture (or only --seed-token)"
    assert_one_line_error(run(*command, "--vocab-size", 500), 2, without_texts)
    assert_one_line_error(run("extend", "tok", "-o", "larger"), 2, without_texts)
    assert_one_line_error(run("extend", "tok", "text.txt", "-o", "larger"), 2, "--vocab-size is missing")


def test_warmup_says_where_kernels_are(run):
    data = json.loads(run("warmup", "--json").out)
    assert data["n_compiled"] == 0 or data["folders"]
    assert sum(data["folders"].values()) > 10


# Manners


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_parse(run, command):
    group = commands.nbbpe
    for option in "-h", "--help":
        done = run(command, option)
        assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    examples = done.out.partition("Examples:\n")[2].splitlines()
    assert examples
    for example in examples:
        used = re.search(rf"nbbpe {command}((?: '[^']*'| [^|<>' ]+)*)", example)
        assert used, example
        words = [word.strip("'") for word in used[1].split()]
        if command in ("encode", "decode", "count") and "-t" not in words:
            words += ["-t", "tok"]  # which examples leave to the environment
        context = group.get_command(group.make_context("nbbpe", [command]), command).make_context(command, words)
        assert context.params is not None


def test_a_shell_can_complete_commands_and_options(run, monkeypatch):
    monkeypatch.setenv("_NBBPE_COMPLETE", "bash_complete")
    for words, place, wanted in ("nbbpe enc", "1", "encode"), ("nbbpe encode --wo", "2", "--workers"):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", place)
        assert run() == (0, f"plain,{wanted}\n", "")


def test_help_breaks_no_name_of_a_pattern(run):
    listed = run("inspect", "--help").out.partition("Patterns:\n")[2].partition("\n\n")[0]
    assert listed.replace(",", "").split() == [*NAMED, *ALIASES]


def test_help_names_all_commands(run):
    done = run("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", done.out, re.MULTILINE)
    assert run("--version").out == f"nbbpe {nbbpe.__version__}\n"
    assert "Usage" in "".join(run()[1:])
    assert run().code == 2


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--nope"], ["--nope"]),
        (["nope"], ["nope"]),
        (["encode", "text.txt"], ["no tokenizer is given (with -t)", "NBBPE_TOKENIZER"]),
        (["inspect"], ["no tokenizer is given", "NBBPE_TOKENIZER"]),
        (["encode", "text.txt", "-t", "tok", "-o", "ids.zip"], ["ids.zip", ".npy"]),
        *[
            (["encode", "text.txt", "-t", "tok", "-o", target], [f"-o {target!r} must be a name that ends in .bin or .npy"])
            for target in (".bin", "nowhere/.npy", "ids.txt")
        ],
        (["encode", "text.txt", "-t", "tok", "-o", "-", "--json"], ["--json"]),
        (["encode", "text.txt", "-t", "tok", "--workers", "2"], ["--workers is for files of ids"]),
        (["encode", "text.txt", "-o"], ["nbbpe encode: error: ", "'-o' requires an argument (see nbbpe encode --help)"]),
        (["encode", "text.txt", "--resume=1"], ["nbbpe encode: error: ", "'--resume' does not take a value"]),
        (["encode", "-", "-", "-t", "tok", "-o", "x.bin"], ["once"]),
        (["encode", "text.txt", "-", "-t", "tok", "-o", "x.bin", "--resume"], ["--resume needs files", "read once only"]),
        (["encode", "-t", "tok", "-o", "x.bin", "--resume"], ["--resume needs files", "read once only"]),
        (["encode", "text.txt", "-t", "tok", "--resume"], ["--resume needs a file of ids", ".bin or .npy"]),
        (["encode", "text.txt", "-t", "nowhere"], ["nowhere"]),
        (["encode", "nofile", "-t", "tok"], ["nofile"]),
        (["encode", "nofile", "-t", "tok", "-o", "x.bin"], ["nofile"]),
        (["encode", "tok", "-t", "tok", "-o", "x.bin"], ["'tok' is a folder"]),
        (["count", "", "-t", "tok"], ["'' is not the name of a file"]),
        (["encode", "text.txt", "-t", "tok", "-o", "nowhere/x.bin"], ["nowhere", "make it first"]),
        (["encode", "text.txt", "-t", "tok", "-o", "x.bin", "--workers", "0"], ["--workers"]),
        (["count", "nofile", "-t", "tok"], ["nofile"]),
        (["decode", "nofile", "-t", "tok"], ["nofile"]),
        (["decode", "empty.txt", "-t", "tok", "-o", "tok"], ["'tok' is a folder"]),
        (["train", "nofile", "--vocab-size", "300", "-o", "x"], ["nofile"]),
        (["train", "text.txt", "--vocab-size", "255", "-o", "x"], ["--vocab-size 255"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x.json"], ["-o x.json: give a folder", "nbbpe convert"]),
        (["train", "text.txt", "--vocab-size", "many", "-o", "x"], ["--vocab-size", "many"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "text.txt"], ["text.txt", "folder"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "nowhere/x"], ["nowhere", "make it first"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--pattern", "gtp2"], ["gtp2", "gpt2"]),
        (["train", "text.txt", "--vocab-size", "300", "-o=x"], ["-o '=x' begins with `=`: write -o x or --output=x"]),
        (["encode", "text.txt", "-t=tok"], ["-t '=tok' begins with `=`: write -t tok or --tokenizer=tok"]),
        (["inspect", "--pattern", "none", "--pattern", "gpt2"], ["none does not split, so it cannot be combined"]),
        (["train", "-", "-", "--vocab-size", "300", "-o", "x"], ["once"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--special", ""], ["empty"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--special", "a", "--special", "a"], ["'a'", "twice"]),
        (["train", "--vocab-size", "300", "-o", "x"], ["give one of these: the texts to train on, --mixture, or --counts"]),
        (
            ["train", "text.txt", "--counts", "a.parquet", "--vocab-size", "300", "-o", "x"],
            ["give one of these: the texts to train on, --mixture, or --counts"],
        ),
        (["train", "--counts", "nofile.parquet", "--vocab-size", "300", "-o", "x"], ["nofile.parquet"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--memory-limit", "4"], ["--memory-limit", "'4'"]),
        *[
            (
                ["train", "text.txt", "--vocab-size", "300", "-o", "x", "--min-word-count", given],
                ["--min-word-count", repr(given), "nor `auto`"],
            )
            for given in ("0", "Auto")
        ],
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--weight", "1/0"], ["1/0", "number or a fraction"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--weight", "0"], ["--weight", "'0' is not positive"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "x", "--weight", "1e99999999"], ["is too large or too small"]),
        (["train", "--counts", "text.txt", "--vocab-size", "300", "-o", "x"], ["--counts 'text.txt' must end", ".arrow"]),
        *(
            ([*command, "the cat"], ["the cat: No such file or directory (a text itself comes from stdin"])
            for command in (["count", "-t", "tok"], ["encode", "-t", "tok"], ["inspect", "tok", "--on"])
        ),
        (["count-words", "text.txt", "-o", "x.csv"], ["x.csv", ".parquet"]),
        (["count-words", "text.txt", "-o", "nowhere/x.parquet"], ["nowhere", "make it first"]),
        (["convert", "tok", "x", "--special", ""], ["empty"]),
        (["compare", "tok", "nowhere", "--on", "text.txt"], ["nowhere"]),
        (["compare", "tok", "other"], ["--on"]),
        *(
            ([*command, "--on", "text.txt", "--on", "empty.txt"], ["--on is given 2 times", f"{command[0]} takes one text"])
            for command in (["inspect", "tok"], ["inspect", "--pattern", "gpt2"])
        ),
        (["convert", "tok", "x.what"], ["x.what", "gpt2"]),
        (["convert", "tok", "new/", "--to", "tiktoken"], ["'new/' is a folder"]),
        (["decode", "empty.txt", "-t", "tok", "-o", "new/"], ["'new/' is a folder"]),
        (["convert", "tok", "-"], ["TARGET `-`"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", "-"], ["-o `-`"]),
        (["extend", "tok", "text.txt", "--vocab-size", "900", "-o", "-"], ["-o `-`"]),
        (["extend", "tok", "text.txt", "--vocab-size", "900", "-o", "x.json"], ["-o x.json: give a folder"]),
        (["encode", "text.txt", "-t", "tok", "-o", "x.npy", "--format", "raw"], ["--format is for ids on stdout"]),
        (["encode", "text.txt", "-t", "tok", "-o", "x.bin", "--format", "text"], ["--format is for ids on stdout"]),
        (["report", "tok", "--on", "-", "--on", "stdin", "-o", "r.html"], ["two texts have the name 'stdin'"]),
        (["report", "tok", "--on", "text.txt", "--on", "text.txt", "-o", "r.html"], ["two texts have the name 'text.txt'"]),
        (["compare", "tok", "other", "--on", "text.txt", "--on", "text.txt"], ["two texts have the name 'text.txt'"]),
        (["convert", "tok", "x", "--to", "what"], ["what"]),
        (["convert", "tok", "", "--to", "gpt2"], ["'' is not the name of a file or folder"]),
        (["train", "text.txt", "--vocab-size", "300", "-o", ""], ["'' is not the name of a file or folder"]),
        (["extend", "tok", "text.txt", "--vocab-size", "900", "-o", ""], ["'' is not the name of a file or folder"]),
        (["decode", "empty.txt", "-t", "tok", "-o", ""], ["'' is not the name of a file or folder"]),
        (["decode", "", "-t", "tok"], ["'': No such file"]),
        (["warmup", "--into", ""], ["'' is not the name of a file or folder"]),
        (["count", "-", "text.txt", "-", "-t", "tok"], ["`-` can be given once"]),
        (["inspect", "--pattern", "gpt2", "--draw", "x.png"], ["--draw 'x.png' must end in .svg"]),
        (["inspect", "--pattern", "gpt2", "--draw", ""], ["--draw '' must end in .svg"]),
        (["inspect", "tok", "--draw", "x.svg"], ["--draw needs --pattern"]),
        (["inspect", "tok", "--plot", ""], ["--plot '' must end in .png"]),
        *(
            (["inspect", "--pattern", "gpt2", *option], ["--verify, --dtype and --plot cannot be used with --pattern"])
            for option in (["--verify"], ["--dtype", "uint16"], ["--plot", "x.png"])
        ),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(run, folder, arguments, parts):
    before = sorted(os.listdir(folder))
    assert_one_line_error(run(*arguments), 2, *parts)
    assert sorted(os.listdir(folder)) == before


def test_click_8_1_is_enough(run, monkeypatch):
    """Which has no such exception, and ended with an AttributeError at each wrong command line."""
    import click

    monkeypatch.delattr(click.exceptions, "NoArgsIsHelpError", raising=False)
    assert_one_line_error(run("count", "--bad"), 2, "--bad")


def test_data_that_is_wrong_is_told_in_one_line(run, tmp_path):
    assert_one_line_error(run("train", "empty.txt", "--vocab-size", 300, "-o", tmp_path / "x"), 1, "'empty.txt'")
    assert_one_line_error(run("convert", "tok", tmp_path / "x", "--special", "<s>"), 2, "so they cannot be given")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "nbbpe.json").write_text("{")
    assert_one_line_error(run("inspect", tmp_path / "broken"), 1, "nbbpe.json", "JSON")
    assert os.listdir(tmp_path) == ["broken"]


def test_counts_that_are_too_large_are_an_error_of_the_data(run, tmp_path):
    arguments = ["train", "text.txt", "--vocab-size", 300, "-o", tmp_path / "x", "--weight", "1e20"]
    assert_one_line_error(run(*arguments), 1, "error: the counts of all words, times their weights")
    assert "--debug" not in run(*arguments).err


def test_an_error_of_our_own_is_told_in_one_line_and_debug_shows_where(run, monkeypatch):
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError("by\nnothing")

    monkeypatch.setattr("nbbpe.cli.inspection_commands.read_with_pattern", fail)
    assert_one_line_error(run("inspect", "tok"), 1, "ZeroDivisionError: by nothing", "--debug")
    for arguments in ["inspect", "tok", "--debug"], ["--debug", "inspect", "tok"]:
        done = run(*arguments)
        assert done.code == 1
        assert "Traceback" in done.err
        assert 'raise ZeroDivisionError("by\\nnothing")' in done.err


def test_names_with_odd_characters(run, tmp_path, small):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/we\nird \xff\xc3\xa9 $(x) 'q'.txt")
    with open(name, "wb") as file:
        file.write(TEXT)
    done = run("count", name, "-t", "tok")
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    assert r"we\nird" in done.out
    assert json.loads(run("count", name, "-t", "tok", "--json").out)[0]["input"] == name
    done = run("encode", name, "-o", f"{name}.bin", "-t", "tok")
    assert (done.code, len(done.out.splitlines())) == (0, 1)
    assert np.fromfile(f"{name}.bin", dtype="<u2").tolist() == small.encode(TEXT)
    assert_one_line_error(run("count", f"{name}.gone", "-t", "tok"), 2, r"we\nird \udcffé $(x) 'q'.txt.gone: No such file")
    os.rename(name, os.path.join(tmp_path, "-x"))
    assert shell("cd $D; nbbpe count -t $T -- -x", tmp_path, D=str(tmp_path), T=str(Path("tok").resolve())).returncode == 0


@pytest.mark.parametrize("name", ["two  spaces.jsonl", "memory_limit.jsonl"])
def test_errors_and_warnings_name_files_as_they_are(run, tmp_path, name):
    (tmp_path / name).write_text('{"text": 1}\n')
    done = run("count", tmp_path / name, "-t", "tok")
    assert_one_line_error(done, 1, f"{str(tmp_path / name)!r}, line 1: the field 'text' is a number")
    done = run("count", tmp_path / name, "-t", "tok", "--on-error", "skip")
    assert f"{str(tmp_path / name)!r}, line 1: the field 'text' is a number" in done.err


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" once", "' once'"),
        ("é".encode(), "'é'"),
        (b"\xc3", r"b'\xc3'"),
        (b"\n\n", r"'\n\n'"),
        (b"\x1b[31m", r"'\x1b[31m'"),
        ("\u202e".encode(), r"'\u202e'"),
        (b"a" * 50, "'" + "a" * 38 + "…"),
        ("中".encode() * 20, "'" + "中" * 19 + "…"),  # 40 columns
        ("e\u0301".encode() * 38, "'" + "e\u0301" * 38 + "'"),
    ],
)
def test_tokens_are_shown_readably(token, shown):
    assert shown_token(token) == shown


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_to_compare_on_is_told_by_the_name_of_the_option(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run("compare", "tok", "other", "--on", tmp_path / "pipe")
    assert_one_line_error(done, 2, f"error: --on is read several times, and '{tmp_path / 'pipe'}' is a pipe or the like")


def test_columns_line_up_where_characters_are_wide(run, tmp_path):
    """Two columns of a terminal for a Chinese character, none for an accent by itself."""
    assert tables.table([("中文", "a"), ("e\u0301", "bb"), ("xyz", "c")], left=[0]) == [
        "中文   a",
        "e\u0301     bb",
        "xyz    c",
    ]
    wide = "中文字大小多少上下左右天地人我"
    nbbpe.train(iter([wide * 9]), 300, pattern=None).save(tmp_path / "wide")
    (tmp_path / "a.txt").write_text(wide)
    done = run("compare", tmp_path / "wide", "tok", "--on", tmp_path / "a.txt")
    assert done.code == 0
    head, line = done.out.splitlines()[-2:]
    assert wide[1:9] in line
    wide_before = sum(map(line.partition("…")[0].count, wide))
    assert line.index("'", line.index("…")) + wide_before == head.index("B")
    assert len(line) + wide_before <= 80


# Other processes: pipes, signals, no click


def test_pipes(folder, small):
    done = shell(
        "nbbpe encode - -o - < text.txt | nbbpe decode - | cmp - text.txt && "
        "nbbpe encode - -o - --format raw < text.txt | nbbpe decode - --format raw | cmp - text.txt && "
        "cat text.txt | nbbpe encode - -o piped.bin --json && cat text.txt | nbbpe count && "
        "cat text.txt | nbbpe compare tok other --on - | head -3 && "
        "cat text.txt | nbbpe train - text.txt --vocab-size 300 -o piped; rm -r piped*",
        folder,
        NBBPE_TOKENIZER="tok",
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"stdin" in done.stdout
    assert f'"n_tokens": {small.count(TEXT)}'.encode() in done.stdout


def test_nothing_is_said_where_nobody_reads(folder, tmp_path):
    (tmp_path / "long.txt").write_bytes(TEXT * 2000)
    done = shell(
        "nbbpe encode $D/long.txt -o - | head -c 10 > /dev/null; echo ${PIPESTATUS[@]}; "
        "nbbpe encode $D/long.txt -o - --format raw | true; echo ${PIPESTATUS[@]}; "
        "nbbpe inspect | true; echo ${PIPESTATUS[@]}",
        folder,
        NBBPE_TOKENIZER="tok",
        D=str(tmp_path),
    )
    assert done.stderr == b""
    codes = done.stdout.split(b"\n")
    assert codes[:2] == [b"141 0", b"141 0"]
    assert codes[2] in (b"141 0", b"0 0")


TRAIN = """
import sys, time, nbbpe.cli
from nbbpe.counting import counters
def slow(self, window):
    print("counting", flush=True)
    time.sleep(60)
counters.PieceCounter.count = slow
sys.exit(nbbpe.cli.main(["train", sys.argv[1], "--vocab-size", "300", "-o", sys.argv[2]]))
"""


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM"), (signal.SIGHUP, "ended by SIGHUP")],
)
def test_a_signal_ends_in_one_line_and_leaves_nothing(folder, tmp_path, number, said):
    ended = processes.interrupt(TRAIN, folder / "text.txt", tmp_path / "new", number=number)
    assert ended.returncode == 128 + number
    assert ended.stderr == f"nbbpe: {said}\n"
    assert not ended.orphans
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("number", "first"), [(signal.SIGINT, "\n"), (signal.SIGTERM, "")])
def test_the_line_in_which_a_terminal_shows_ctrl_c_is_ended(monkeypatch, number, first):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(cli, "_run", lambda _: signal.raise_signal(number))
    assert cli.main([]) == 128 + number
    assert sys.stderr.getvalue().startswith(f"{first}nbbpe: ")


# Python runs it before all else; what it presses Ctrl-C at the import of is among the first and the last.
AT_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT"]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    "module",
    mostly_slow(
        ["typing", "numpy", "regex", "nbbpe.trainer", "nbbpe.warmup", "nbbpe.cli", "nbbpe.cli.signals"],
        ["typing", "numpy", "nbbpe.cli"],
    ),
)
@pytest.mark.parametrize("started", ["by its name", "as a module"])
def test_ctrl_c_while_the_command_is_imported_ends_it_in_one_line(tmp_path, module, started):
    (tmp_path / "sitecustomize.py").write_text(AT_IMPORT)
    (tmp_path / "nbbpe").write_text("import sys\nfrom nbbpe.cli import main\nsys.exit(main())\n")
    command = [sys.executable, *(["-m", "nbbpe"] if started == "as a module" else [tmp_path / "nbbpe"]), "--help"]
    environment = processes.environment(AT=module)
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"

    def done(command: list[object]) -> subprocess.CompletedProcess[str]:
        options = {"capture_output": True, "text": True, "timeout": 60, "check": False}
        return subprocess.run(command, env=environment, cwd=processes.PACKAGE, **options)

    assert (found := done(command)).returncode == 130
    assert (found.stdout, found.stderr) == ("", "nbbpe: interrupted\n")
    # A program that imports nbbpe is asked as ever, and one that is to ignore Ctrl-C does.
    program = done([sys.executable, "-c", f"import {module}, nbbpe", "-m", "nbbpe"])
    assert program.stderr.rstrip().endswith("KeyboardInterrupt")
    ignoring = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    assert done([sys.executable, "-c", ignoring, *command]).returncode == 0


@pytest.mark.parametrize(
    ("options", "is_command"),
    [
        *((options, True) for options in (["-m", "nbbpe"], ["-mnbbpe"], ["-Bm", "nbbpe"], ["-X", "utf8", "-Imnbbpe"])),
        *((options, False) for options in (["-m", "app"], ["-m", "nbbpe_app"], ["-mapp"], ["-X", "nbbpe", "-m", "app"])),
    ],
)
def test_a_program_with_the_name_of_the_command_among_its_arguments_is_not_the_command(monkeypatch, options, is_command):
    arguments = ["compare", "nbbpe", "-m", "nbbpe"]
    monkeypatch.setattr(sys, "argv", ["-m", *arguments])
    monkeypatch.setattr(sys, "orig_argv", ["python", *options, *arguments])
    assert early_interrupt._is_the_command() == is_command


class _Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("where", ["a destructor", "code that catches everything"])
def test_ctrl_c_does_not_get_lost(where, monkeypatch):
    def lose_it() -> None:
        if where == "a destructor":
            _Interrupting()
            return
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)

    def run() -> None:
        with ending_signals():
            lose_it()
            time.sleep(10)

    before = signal.getsignal(signal.SIGINT)
    began = time.monotonic()
    shown = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: shown.append(repr(unraisable.exc_value)))
    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        run()
    assert time.monotonic() - began < 5
    assert signal.getsignal(signal.SIGINT) is before
    assert sys.unraisablehook is hook
    assert not shown


def test_ctrl_c_while_signals_get_their_usual_answers_again_leaves_none_behind():
    def work() -> None:
        with ending_signals():
            pass

    for number in signal.SIGINT, signal.SIGTERM:
        usual = signal.signal(number, signal.default_int_handler)
        try:
            hook, answers = sys.unraisablehook, list(map(signal.getsignal, signal.valid_signals()))
            for end in interrupted(work, ["signals.py", "signal.py", "contextlib.py"], number=number):
                assert isinstance(end.error, KeyboardInterrupt), end
                where, end = end.where, None  # its traceback keeps what it went through
                assert list(map(signal.getsignal, signal.valid_signals())) == answers, where
                assert sys.unraisablehook is hook, where
        finally:
            signal.signal(number, usual)
    time.sleep(0.1)  # in which one that was taken for lost would come again


def test_other_dropped_exceptions_are_shown(monkeypatch):
    class Broken:
        def __del__(self):
            raise ValueError("broken")

    shown = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: shown.append(repr(unraisable.exc_value)))
    with ending_signals():
        Broken()
    assert shown == ["ValueError('broken')"]


def test_ctrl_c_comes_once():
    with ending_signals(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    time.sleep(0.1)


def test_signals_that_are_ignored_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_closed_streams_are_told(folder, tmp_path):
    (tmp_path / "ids.txt").write_text("97 98")
    done = shell(
        "nbbpe count text.txt >&-; echo $?; nbbpe count - <&-; echo $?; nbbpe encode - <&-; echo $?; "
        "nbbpe decode - <&-; echo $?; nbbpe decode $D/ids.txt 2>&-; echo; nbbpe decode nope 2>&-; echo $?",
        folder,
        NBBPE_TOKENIZER="tok",
        D=str(tmp_path),
    )
    assert done.stdout == b"1\n1\n1\n1\nab\n2\n"
    first, *others = done.stderr.decode().splitlines()
    assert first.startswith("nbbpe: error: standard output is closed")
    assert others == ["nbbpe: error: `-` is standard input, which is closed"] * 3


EVERY_OUTPUT = {
    "train": "train text.txt --vocab-size 300 -o $D/new",
    "extend": "extend tok text.txt --vocab-size 405 -o $D/larger",
    "count words": "count-words text.txt -o $D/counts.parquet",
    "encode": "encode text.txt",
    "encode stdin": "encode - < text.txt",
    "encode raw": "encode text.txt --format raw",
    "encode to a file": "encode text.txt -o $D/ids.bin",
    "decode": "decode ids.txt",
    "decode what is no id": "decode wrong.txt",
    "count": "count text.txt",
    "count json": "count text.txt --json",
    "inspect": "inspect",
    "compare": "compare tok other --on text.txt",
    "report": "report tok --on text.txt -o $D/r.html",
    "convert": "convert tok $D/gpt2 --to gpt2",
    "warmup": "warmup",
    "help": "--help",
    "help of a command": "count --help",
    "version": "--version",
    "nothing": "",
}


def test_messages_about_stdin_do_not_name_its_copy(folder, tmp_path):
    script = "printf 'aa\\0b' | nbbpe train - --vocab-size 257 -o new; printf a | nbbpe count --field x"
    done = shell(script, tmp_path, NBBPE_TOKENIZER=str(folder / "tok"))
    warning, error = done.stderr.splitlines()
    assert warning.startswith(b"nbbpe: warning: stdin contains NUL bytes")
    assert error.startswith(b"nbbpe: error: --field x names a field of records, and stdin is plain text: ")
    done = shell("printf abc | nbbpe decode --format npy -t tok", folder)
    assert done.stderr.startswith(b"nbbpe: error: stdin is not a NumPy array file")


def test_ids_in_a_numpy_file_come_from_stdin(folder, small, tmp_path):
    np.save(tmp_path / "ids.npy", small.encode_array(TEXT))
    done = shell("nbbpe decode --format npy -t tok < $IDS", folder, IDS=str(tmp_path / "ids.npy"))
    assert (done.returncode, done.stdout, done.stderr) == (0, TEXT, b"")


@pytest.mark.parametrize("block", [1, 2, 7])
def test_ids_as_text_are_read_a_piece_of_a_line_at_a_time(run, small, tmp_path, monkeypatch, block):
    """One line may be the whole file."""
    monkeypatch.setattr("nbbpe.cli.streams._BLOCK", block)
    path = tmp_path / "ids.txt"
    ids = small.encode(TEXT)
    for text in " ".join(map(str, ids)), f" {ids}\n", "".join(f"{i:03}\n\n" for i in ids):
        path.write_text(text)
        assert run("decode", path, "-t", "tok", "-o", tmp_path / "out").code == 0
        assert (tmp_path / "out").read_bytes() == TEXT
    for text, line, wrong in ("97 98\n99 12x4 1", 2, "12x"), ("97\n\n1_0", 3, "1_"), ("9" * 30, 1, "9" * 19):
        path.write_text(text)
        assert_one_line_error(run("decode", path, "-t", "tok", "-o", tmp_path / "out"), 1, f"line {line}: '{wrong}")


def test_a_system_without_a_temporary_folder_is_told_and_not_the_output(run, sizes, monkeypatch):
    sizes(table_of_text=10**12)

    def nowhere():  # as in a container where nothing can be written
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    told = "nbbpe: error: No usable temporary directory found in ['/tmp']: set TMPDIR"
    for source in ["-"], ["text.txt", "--memory-limit", "100MB"]:
        with monkeypatch.context() as patch:  # pytest needs one, too
            patch.setattr("tempfile.gettempdir", nowhere)
            done = run("train", *source, "--vocab-size", 300, "-o", "new")
        assert_one_line_error(done, 2, told)


def test_a_temporary_folder_that_cannot_be_used_is_told_once(folder, tmp_path):
    command = f"cat text.txt | nbbpe train - --vocab-size 300 --memory-limit 1GB -o '{tmp_path}/new'"
    for tmpdir in tmp_path / "missing", folder / "text.txt":
        said = shell(command, folder, TMPDIR=str(tmpdir)).stderr.decode()
        assert said.count(f"nbbpe: warning: TMPDIR is {str(tmpdir)!r}, which is not a folder that can be written to") == 1
    assert "TMPDIR" not in shell(command, folder, TMPDIR=str(tmp_path)).stderr.decode()


def test_where_stdin_cannot_be_copied_to_is_named(run, folder, monkeypatch):
    def blocks() -> Iterator[bytes]:
        yield b"text"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("nbbpe.cli.streams.stdin_blocks", blocks)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    told = f"{folder}: No space left on device (while stdin was copied"
    assert_one_line_error(run("count", "-", "-t", "tok"), 1, told, "TMPDIR names another folder")
    assert not list(folder.glob("nbbpe-*"))


needs_full_device = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")


@pytest.fixture(params=["", pytest.param("1", marks=pytest.mark.slow)], ids=["buffered", "unbuffered"])
def streams(request, folder, small, tmp_path) -> dict[str, str]:
    """The environment of a command in which Python buffers what it writes, or does not, whatever this process has set."""
    (folder / "ids.txt").write_text(" ".join(map(str, small.encode(TEXT))))
    (folder / "wrong.txt").write_text("97 98\n97 x\n")
    # An empty PYTHONUNBUFFERED is as none.
    return {"PYTHONUNBUFFERED": request.param, "NBBPE_TOKENIZER": "tok", "D": str(tmp_path)}


# Each writes in a way of its own; the others write as one of them.
USUAL_OUTPUT = ["train", "encode", "encode raw", "decode", "decode what is no id", "count json", "help", "nothing"]


@needs_full_device
@pytest.mark.parametrize("output", mostly_slow(EVERY_OUTPUT, USUAL_OUTPUT))
def test_a_full_disk_behind_stdout_is_named(folder, streams, output):
    command = EVERY_OUTPUT[output]
    done = shell(f"nbbpe {command} > /dev/full; echo $?", folder, **streams)
    said = b"nbbpe: error: stdout: No space left on device\n"
    if "wrong" in command:  # two things are wrong here, and one is told
        assert done.stderr.count(b"\n") == 1
        said = done.stderr
    assert (done.stdout, done.stderr) == (b"1\n", said)


ERRORS = {"count nope": 2, "count --nope": 2, "decode wrong.txt": 1, "count nope --debug": 2}


@needs_full_device
@pytest.mark.parametrize("command", mostly_slow(ERRORS, usual=["count --nope", "decode wrong.txt"]))
def test_errors_that_cannot_be_told_change_no_exit_code(folder, streams, command):
    # The second's reader has gone, as without the wait it might not have yet.
    script = f"nbbpe {command} 2> /dev/full; echo ' '$?; (sleep 0.2; nbbpe {command}) 2> >(true); echo ' '$?"
    done = shell(script, folder, **streams)
    assert done.stderr == b""
    assert [line.split()[-1] for line in done.stdout.splitlines()] == [str(ERRORS[command]).encode()] * 2


@pytest.mark.parametrize(
    "command",
    mostly_slow(
        ["encode text.txt", "decode ids.txt", "inspect", "warmup", "--help", "count --help"],
        usual=["encode text.txt", "decode ids.txt", "--help"],
    ),
)
def test_nothing_is_said_where_nobody_reads_from_the_start(folder, streams, command):
    done = shell(f"(sleep 0.2; nbbpe {command}; echo $? >&2) | true", folder, **streams)
    assert done.stderr == b"141\n"


@needs_full_device
@pytest.mark.slow
def test_a_notice_that_cannot_be_told_does_not_stop_the_work(folder, tmp_path, small):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONUNBUFFERED": "", "NBBPE_TOKENIZER": "tok"}
    done = shell("nbbpe count text.txt --json 2> /dev/full", folder, **environment)
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["n_tokens"] == small.count(TEXT)


def test_the_command_line_is_light():
    script = "import sys; from nbbpe.cli import main; main(['--help']); print([m in sys.modules for m in sys.argv[1:]])"
    assert processes.run(script, "numba", "matplotlib").splitlines()[-1] == "[False, False]"


# Rules, superwords and mixtures


def test_rules_and_superwords_are_options(run, tmp_path):
    options = ["--vocab-size", 330, "--max-letters", 3, "--max-numbers", 2, "--max-words", 3, "--whole-characters"]
    options += ["--one-script", "--no-space-duplicates", "--forbid", "^x", "--forbid", r"\d\s", "--seed-token", "zebra"]
    wanted = nbbpe.TokenRules(
        max_letters=3,
        max_numbers=2,
        max_words=3,
        whole_characters=True,
        one_script=True,
        no_space_duplicates=True,
        forbidden=["^x", r"\d\s"],
        seeds=["zebra"],
    )
    done = run("train", "text.txt", *options, "-o", tmp_path / "ruled")
    assert done.code == 0
    ruled = nbbpe.load(tmp_path / "ruled")
    assert ruled == nbbpe.train(Path("text.txt"), 330, rules=wanted)
    assert ruled.provenance["training"]["rules"] == wanted.record()
    assert (
        run("train", "text.txt", "--vocab-size", 330, "--superwords", 300, *options[6:8], "-o", tmp_path / "across").code
        == 0
    )
    across = nbbpe.train(Path("text.txt"), 330, superwords=nbbpe.Superwords(after=300, max_words=3))
    assert nbbpe.load(tmp_path / "across").merges == across.merges
    assert run("extend", "tok", "text.txt", "--vocab-size", 400, "--max-letters", 2, "-o", tmp_path / "more").code == 0
    larger = nbbpe.load("tok").extend(Path("text.txt"), 400, rules=nbbpe.TokenRules(max_letters=2))
    assert nbbpe.load(tmp_path / "more") == larger


def test_a_mixture_is_a_file(run, tmp_path):
    (tmp_path / "texts").mkdir()
    for name in "abc":
        (tmp_path / "texts" / f"{name}.txt").write_text(f"{texts.SAMPLE} {name * 9}\n" * 20, encoding="utf-8")
    described = {
        "sources": {"one": "texts/a.txt", "two": ["texts/b.txt", str(tmp_path / "texts" / "c.txt")]},
        "weights": {"one": "1/3", "two": 0.5},
        "max_bytes": {"two": 20_000},
        "held_out": 0.1,
        "seed": 3,
        "parity": {"parallel": {"one": "texts/b.txt", "two": "texts/*.txt"}, "after": 280, "window": 10},
    }
    (tmp_path / "mixture.json").write_text(json.dumps(described))
    folder = tmp_path / "texts"
    wanted = nbbpe.Mixture(
        {"one": folder / "a.txt", "two": [folder / "b.txt", folder / "c.txt"]},
        weights={"one": Fraction(1, 3), "two": Fraction(1, 2)},
        max_bytes={"two": 20_000},
        held_out=0.1,
        seed=3,
        parity=nbbpe.Parity(
            parallel={"one": folder / "b.txt", "two": [folder / f"{name}.txt" for name in "abc"]}, after=280, window=10
        ),
    )
    done = run("train", "--mixture", tmp_path / "mixture.json", "--vocab-size", 300, "-o", tmp_path / "new", "--workers", 1)
    assert (done.code, done.err) == (0, "")
    ours, theirs = nbbpe.load(tmp_path / "new"), nbbpe.train(wanted, 300)
    assert ours == theirs
    assert ours.provenance["training"]["mixture"] == theirs.provenance["training"]["mixture"]
    described["parity"] = True
    (tmp_path / "mixture.json").write_text(json.dumps(described))
    done = run("extend", "tok", "--mixture", tmp_path / "mixture.json", "--vocab-size", 400, "-o", tmp_path / "more")
    assert done.code == 0
    assert len(nbbpe.load(tmp_path / "more")) == 400


def test_urls_in_a_mixture_are_no_paths_from_its_folder(tmp_path):
    sources = {"one": "https://host/a.txt", "two": ["memory://b*.txt", "c.txt"]}
    (tmp_path / "mixture.json").write_text(json.dumps({"sources": sources, "parity": {"parallel": sources}}))
    found = read_mixture(str(tmp_path / "mixture.json"))
    wanted = {"one": "https://host/a.txt", "two": ["memory://b*.txt", tmp_path / "c.txt"]}
    assert found.sources == found.parity.parallel == wanted


def test_a_url_with_a_space_is_not_looked_for_on_this_machine():
    with as_path("memory://bucket/a b.txt") as url:
        assert url == "memory://bucket/a b.txt"


def test_a_mixture_may_come_from_a_pipe(tmp_path):
    (tmp_path / "a.txt").write_text("the cat\n" * 20)
    train = """nbbpe train --mixture <(echo '{"sources": {"one": "'$PWD'/a.txt"}}') --vocab-size 260 -o new"""
    assert shell(train, tmp_path).returncode == 0
    assert len(nbbpe.load(tmp_path / "new")) == 260


def test_a_pattern_in_a_mixture_may_begin_in_a_folder_of_any_name(run, tmp_path):
    folder = tmp_path / "a[1]*"
    folder.mkdir()
    for name in "a1.txt", "a2.txt", "a[2].txt":
        (folder / name).write_text(f"the cat {name}\n" * 20)
    (folder / "mixture.json").write_text(json.dumps({"sources": {"one": "a*.txt", "two": ["a[2].txt"]}}))
    done = run("train", "--mixture", folder / "mixture.json", "--vocab-size", 260, "-o", tmp_path / "new")
    assert (done.code, done.err) == (0, "")
    sources = nbbpe.load(tmp_path / "new").provenance["training"]["mixture"]["sources"]
    assert [sources[name]["bytes"] for name in ("one", "two")] == [20 * (15 + 15 + 17), 20 * 17]


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ("[1]", "it must be an object"),
        ('{"sources": {"a": "text.txt"}', "line 1: not valid JSON (Expecting ',' delimiter"),
        ("the cat", "line 1: not valid JSON (Expecting value"),
        ('{"seed": 1}', "`sources` is missing"),
        ('{"sources": {"a": "text.txt"}, "weights": {"a": "1/0"}}', "weights['a']: '1/0' is not a number or a fraction"),
        ('{"sources": {"a": "text.txt"}, "weights": {"a": "1e99999"}}', "'1e99999' is too large or too small"),
        ('{"sources": {"a": "text.txt"}, "sedd": 1}', "the mixture has 'sedd', which is not one of sources, weights"),
        ('{"sources": ["text.txt"]}', "`sources` must be an object of paths by name"),
        *((f'{{"sources": {{"a": {wrong}}}}}', "'a' in `sources` must be a path") for wrong in ("1", "[]", '[""]')),
        ('{"sources": {"a": "text.txt", "a": "text.txt"}}', "the key 'a' comes twice"),
        ('{"sources": {"a": "text.txt"}, "weights": {"a": "x"}}', "'x'"),
        ('{"sources": {"a": "text.txt"}, "weights": {"b": 1}}', "weights names 'b', which is not a source"),
        ('{"sources": {"a": "text.txt"}, "parity": {"dev": 1}}', "parity has 'dev', which is not one of parallel, after"),
        ('{"sources": {"a": "text.txt"}, "parity": {"parallel": {"b": "text.txt"}}}', "parallel has no text for 'a'"),
        ('\ufeff{"sources": {"a": "text.txt"}}'.encode("utf-16-be"), "begins like UTF-16: convert it to UTF-8 first"),
        ('{"sources": {"a": "text.txt"}, "parity": 3}', "parity must be a Parity, True or False, not 3"),
    ],
)
def test_a_mixture_that_is_wrong_is_a_usage_error(run, tmp_path, described, message):
    (tmp_path / "wrong.json").write_bytes(described if isinstance(described, bytes) else described.encode())
    done = run("train", "--mixture", tmp_path / "wrong.json", "--vocab-size", 300, "-o", tmp_path / "new")
    assert_one_line_error(done, 2, "wrong.json", message)


def test_what_does_not_go_together_is_a_usage_error(run, tmp_path):
    (tmp_path / "a.json").write_text('{"sources": {"a": "text.txt"}}')
    mixture = ["--mixture", tmp_path / "a.json", "--vocab-size", 300, "-o", tmp_path / "new"]
    assert_one_line_error(run("train", *mixture, "text.txt"), 2, "give one of these: ")
    assert_one_line_error(run("train", *mixture, "--weight", 2), 2, "a mixture has its own weights")
    assert_one_line_error(run("extend", "tok", "text.txt", *mixture), 2, "give either the texts")
    assert_one_line_error(run("train", "text.txt", "--forbid", "(", *mixture[2:]), 2, "(")
    missing = run("train", "--mixture", tmp_path / "missing.json", *mixture[2:])
    assert_one_line_error(missing, 2, "missing.json: No such file")
    none = run("train", "text.txt", "--min-word-count", 10**6, *mixture[2:])
    assert_one_line_error(none, 2, "--min-word-count 1000000 skips every word")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
@pytest.mark.parametrize(
    ("option", "message"), [({"held_out": 0.1}, "nothing can be held"), ({"max_bytes": 9}, "cannot be")]
)
def test_a_pipe_of_which_a_mixture_wants_a_part_is_a_usage_error(run, tmp_path, option, message):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.json").write_text(json.dumps({"sources": {"a": "pipe"}, **option}))
    done = run("train", "--mixture", tmp_path / "a.json", "--vocab-size", 300, "-o", tmp_path / "new")
    assert_one_line_error(done, 2, message)


def test_what_differs_from_the_run_that_is_resumed_is_told_by_its_option(run, tmp_path, sizes, monkeypatch):
    def add(self: manifest.Manifest, *finished: object) -> None:
        real(self, *finished)
        raise OSError("the end")

    real = manifest.Manifest.add
    sizes(chunk=1500, window=400, for_workers=100)
    encode = ["encode", "text.txt", "-t", "tok", "-o", tmp_path / "x.bin", "--workers", 1, "--resume"]
    with monkeypatch.context() as patched:
        patched.setattr(manifest.Manifest, "add", add)
        assert_one_line_error(run(*encode), 1, "the end")
    for option, told in (
        (["--no-special"], "--allow-special/--no-special is none, and was not given"),
        (["--allow-special"], "--allow-special/--no-special is '<|endoftext|>', and was not given"),
        (["--separator", texts.SPECIAL], f"--separator is '{texts.SPECIAL}', and was not given"),
        (["--on-error", "skip"], "--on-error is 'skip', and was 'raise'"),
    ):
        assert_one_line_error(run(*encode, *option), 2, f"cannot resume: {told} when the run began; undo that")
    was = os.stat("text.txt")
    os.utime("text.txt", (0, 0))
    assert_one_line_error(run(*encode), 1, "cannot resume: the source 'text.txt' has changed: its time of the last change")
    os.utime("text.txt", ns=(was.st_atime_ns, was.st_mtime_ns))
    assert run(*encode).code == 0


@pytest.mark.parametrize("output", ["-", "x.bin"])
def test_a_field_of_stdin_is_a_usage_error(folder, tmp_path, output):
    script = f"nbbpe encode - -o {output} --field body -t '{folder}/tok' <<< '{{}}'; echo $?"
    done = shell(script, tmp_path)
    assert (done.stdout, b"--field body names a field of records" in done.stderr) == (b"2\n", True), done
    assert not list(tmp_path.iterdir())


OF_TEXT = "train text.txt --vocab-size"
REPORT, EXTEND = "report tok --on text.txt -o r.html", "extend tok text.txt --vocab-size 400 -o new"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        *[
            (f"{each} --pattern gpt2", "so they cannot be given")
            for each in ("encode text.txt -t tok", "count text.txt -t tok", "inspect tok", REPORT, EXTEND)
        ],
        *[
            (f"{each} --field x", "--field x names a field of records, and 'text.txt' is plain text")
            for each in ("encode text.txt -o a.bin -t tok", "count text.txt -t tok", f"{OF_TEXT} 300 -o new")
        ],
        (f"{OF_TEXT} 300 -o new --weight 1 --weight 2", "--weight must have one number for each item of INPUTS: 1, not 2"),
        (rf"{OF_TEXT} 300 -o new --split-with compiled --pattern '\b.'", "error: --split-with compiled: the pattern"),
        ("count-words text.txt -o x.bin", "error: -o /"),
        (f"{OF_TEXT} 10000000000 -o new", "too large"),
        (f"{OF_TEXT} 300 -o new --superwords 400", "superwords begin after 400 tokens, and --vocab-size asks"),
        (f"{OF_TEXT} 300 -o new --superwords 280 --pattern none", "superwords need a pattern"),
        (f"{OF_TEXT} 257 -o new --seed-token abcdef", "and --vocab-size leaves"),
        (f"{OF_TEXT} 300 -o new --seed-token 'ab cdef'", "the pattern splits it"),
        ("train --counts c.arrow --vocab-size 300 -o new --special x", "and --special has ['x']"),
        ("train --counts c.arrow --vocab-size 300 -o new --pattern cl100k", "and --pattern is 'cl100k'"),
        ("train --counts c.arrow --vocab-size 300 -o new --superwords 280", "--superwords is for texts"),
        ("train --counts c.arrow --vocab-size 300 -o new --field x", "--field is for texts"),
        ("train --counts c.arrow --vocab-size 300 -o new --split-with regex", "--split-with regex is for texts"),
        ("train --counts c.arrow --vocab-size 300 -o new --on-error skip", "--on-error skip is for texts"),
        ("train --counts tok --vocab-size 300 -o new", "'tok' is not a file of counts by its name"),
        ("encode /dev/null -t tok -o a.bin --resume", "--resume needs files"),
        ("warmup --cpu nonsense", "the processor 'nonsense'"),
        ("compare tok other --on text.txt --pattern gpt2", "--pattern is for files that do not name a pattern"),
        ("count text.txt -t own.tiktoken", "which split pattern belongs to it: --pattern"),
        ("convert own.tiktoken new", "which split pattern belongs to it: --pattern"),
        ("inspect own.bin", "has no sidecar own.bin.json that says what its bytes are: encode the text"),
    ],
)
def test_options_that_do_not_fit_their_files_are_usage_errors(run, tmp_path, command, message):
    source = Path("text.txt").read_bytes()
    if "c.arrow" in command:
        pytest.importorskip("pyarrow")
        assert run("count-words", "text.txt", "-o", tmp_path / "c.arrow").code == 0
    (tmp_path / "own.tiktoken").write_bytes(rank_lines(BYTE_RANKS))
    (tmp_path / "own.bin").write_bytes(bytes(8))
    names = "c.arrow", "new", "a.bin", "x.bin", "r.html", "own.tiktoken", "own.bin"
    arguments = [tmp_path / each if each in names else each for each in shlex.split(command)]
    assert_one_line_error(run(*arguments), 2, message)
    assert {path.name for path in tmp_path.iterdir()} <= {"c.arrow", "own.tiktoken", "own.bin"}
    assert Path("text.txt").read_bytes() == source


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "lines.json", "a.parquet", "a.arrow"])
def test_a_field_that_no_record_has_is_a_usage_error(run, tmp_path, name):
    """In whatever format the records are: the field is to be changed, and not the data."""
    path = tmp_path / name
    records = [{"body": "the cat"}, {"body": "a hat"}]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    if name.endswith((".parquet", ".arrow")):
        table = pytest.importorskip("pyarrow").table({"body": [record["body"] for record in records]})
        if name.endswith(".parquet"):
            pytest.importorskip("pyarrow.parquet").write_table(table, path)
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, path)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(json.dumps(records) if name == "a.json" else "\n" + lines)
    for field in ["--field", "nope"], []:
        for command in (
            ["train", path, "--vocab-size", "257", "-o", tmp_path / "new"],
            ["encode", path, "-o", tmp_path / "new.bin", "-t", "tok", "--workers", "2"],
            ["encode", path, "-o", tmp_path / "new.bin", "-t", "tok", "--resume"],
            ["count", path, "-t", "tok"],
            ["inspect", "tok", "--on", path],
            ["report", "tok", "--on", path, "-o", tmp_path / "r.html"],
        ):
            missing = field[-1] if field else "text"
            assert_one_line_error(
                run(*command, *field), 2, path.name, f"'{missing}'", "'body'", "ame the right one with --field"
            )
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_record_without_a_field_that_others_have_is_an_error_in_the_data(run, tmp_path, name):
    path = tmp_path / name
    for records in [{"text": "the cat"}, {"body": "a hat"}], [{}, {"text": "the cat"}], [{"text": 3}]:
        path.write_text(json.dumps(records) if name == "a.json" else "".join(json.dumps(each) + "\n" for each in records))
        assert_one_line_error(run("count", path, "-t", "tok"), 1, name, "pass --on-error skip")


@pytest.mark.skipif(os.name == "nt", reason="needs a terminal of POSIX")
@pytest.mark.parametrize("command", ["count", "encode", "encode --separator <|endoftext|>", "inspect tok --on -", "decode"])
def test_a_terminal_ends_its_text_with_one_ctrl_d(folder, command):
    terminal, stdin = os.openpty()
    try:
        arguments = [*command.split(), *([] if "inspect" in command else ["-t", "tok"])]
        with subprocess.Popen(
            [sys.executable, "-m", "nbbpe", *arguments],
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            env=processes.environment(),
        ) as process:
            os.write(terminal, b"97 98\n\x04")
            try:
                assert process.wait(60) == 0
            finally:
                process.kill()
    finally:
        os.close(terminal)
        os.close(stdin)


def test_a_folder_that_may_not_be_written_to_is_named_alike_by_all_commands(run, small, nobodys_folder):
    folder, as_nobody = nobodys_folder
    small.save(folder / "tok")
    for path in folder / "tok", *(folder / "tok").iterdir():
        path.chmod(0o755)
    (folder / "locked").mkdir()
    for command in (
        ["convert", folder / "tok", folder / "locked/g", "--to", "gpt2"],
        [*("inspect", "--pattern", "gpt2", "--draw", folder / "locked/a.svg")],
    ):
        with as_nobody():
            done = run(*command)
        assert_one_line_error(done, 1, f"{folder / 'locked'}: cannot write to the folder: Permission denied")


@pytest.mark.parametrize("command", ["count", "encode"])
def test_commands_that_encode_import_nothing_that_trains(folder, command):
    names = ["nbbpe.training", "nbbpe.vocabulary", "nbbpe.words"]
    script = f"import sys; from nbbpe.cli import main; main(sys.argv[1:]); print([m in sys.modules for m in {names}])"
    arguments = command, str(folder / "text.txt"), "-t", str(folder / "tok")
    assert processes.run(script, *arguments).splitlines()[-1] == "[False, False, False]"


@pytest.mark.parametrize(
    ("words", "begun", "completed"),
    [
        ([], "co", ["count-words", "count", "compare", "convert"]),
        (["train"], "--tie", ["--tie-break"]),
        (["train", "--tie-break"], "", ["bytes", "ids", "huggingface"]),
        (["train", "--pattern"], "llama", ["llama3", "llama4"]),
        (["inspect", "--pattern"], "none-such", []),
        *[(words, "cor", "file") for words in (["train"], ["encode", "-t"], ["decode"], ["report", "--on"])],
        (["train", "a.txt", "-o"], "", "file"),
    ],
)
def test_a_shell_can_complete_what_was_begun(words, begun, completed):
    completion = BashComplete(commands.nbbpe, {}, "nbbpe", "_NBBPE_COMPLETE")
    found = completion.get_completions(words, begun)
    if completed == "file":  # whose names the shell knows
        assert [item.type for item in found] == ["file"]
    else:
        assert [item.value for item in found] == completed
