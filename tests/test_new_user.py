"""What a new user tries first, as far as it is easily got wrong."""

from __future__ import annotations

import ast
import bz2
import gzip
import inspect
import io
import json
import lzma
import re
import warnings

import numpy as np
import processes
import pytest
import texts

import nbbpe
from nbbpe import cli, inspection
from nbbpe.encoding import tokens
from nbbpe.kernels.compiler import notices
from nbbpe.warmup import Warmup

pytestmark = pytest.mark.filterwarnings("ignore:the text has pairs")


# A string such as "no" counts as true

NO = {
    "add_special_tokens": [
        lambda tok, path, **no: tok.encode("a", **no),
        lambda tok, path, **no: tok.encode_pair("a", "b", **no),
    ],
    "skip_special_tokens": [
        lambda tok, path, **no: tok.decode([97], **no),
        lambda tok, path, **no: tok.decode_bytes([97], **no),
        lambda tok, path, **no: tok.decode_batch([[97]], **no),
        lambda tok, path, **no: tok.stream_decoder(**no),
    ],
    "renumber": [
        lambda tok, path, **no: tok.truncate(300, **no),
        lambda tok, path, **no: tok.prune(path / "missing", 300, **no),
        lambda tok, path, **no: tok.drop([300], **no),
    ],
    "check": [
        lambda tok, path, **no: nbbpe.load(path / "tokenizer", **no),
        lambda tok, path, **no: nbbpe.Tokenizer.load(path / "tokenizer", **no),
        lambda tok, path, **no: nbbpe.TokenFile(path / "a.bin", tok, **no),
    ],
    "verify": [lambda tok, path, **no: nbbpe.TokenFile(path / "a.bin", **no)],
    "separator_first": [
        lambda tok, path, **no: nbbpe.TokenFile(path / "a.bin", **no),
        lambda tok, path, **no: tok.encode_file(documents=["a"], output_path=path / "b.bin", **no),
        lambda tok, path, **no: list(inspection.encoded(tok, documents=["a"], **no)),
    ],
    "drop_last": [lambda tok, path, **no: nbbpe.TokenFile(path / "a.bin").epoch(1, 1, **no)],
    "resume": [lambda tok, path, **no: tok.encode_file(documents=["a"], output_path=path / "b.bin", **no)],
    "version_line": [lambda tok, path, **no: tok.save_gpt2(path / "vocab.json", path / "merges.txt", **no)],
    "color": [lambda tok, path, **no: tok.show("a", **no)],
    "warn": [lambda tok, path, **no: list(inspection.encoded(tok, documents=["a"], **no))],
}


@pytest.mark.parametrize(("name", "call"), [(name, call) for name, calls in NO.items() for call in calls])
@pytest.mark.parametrize("value", ["no", 0])
def test_an_argument_that_is_true_or_false_takes_nothing_else(small, tmp_path, name, call, value):
    small.save(tmp_path / "tokenizer")
    small.encode_file(documents=["the cat"], output_path=tmp_path / "a.bin")
    with pytest.raises(TypeError, match=f"{name} must be True(, False or None| or False), not {value!r}"):
        call(small, tmp_path, **{name: value})


def test_all_arguments_of_a_tokenizer_that_are_true_or_false_are_known_here():
    methods = [getattr(nbbpe.Tokenizer, name, None) for name in dir(nbbpe.Tokenizer) if not name.startswith("_")]
    of_all = [inspect.signature(each).parameters.values() for each in methods if callable(each)]
    assert {each.name for of_one in of_all for each in of_one if isinstance(each.default, bool)} <= NO.keys()


def test_true_and_false_of_numpy_are_those_of_python(small, tmp_path):
    end = small.special_tokens["<|endoftext|>"]
    assert small.decode([97, end], skip_special_tokens=np.False_) == "a<|endoftext|>"
    assert small.decode([97, end], skip_special_tokens=np.True_) == "a"
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    options = {"separator": "<|endoftext|>", "separator_first": np.True_, "resume": np.True_}
    small.encode_file(tmp_path / "a.jsonl", tmp_path / "a.bin", **options)
    data = nbbpe.TokenFile(tmp_path / "a.bin", separator_first=np.True_)
    assert data.separator_first is True
    assert data.ids.tolist() == [end, 97, end, 98]
    assert sum(len(x) for x, _ in data.epoch(1, 2, drop_last=np.False_)) == 3
    assert nbbpe.TokenRules(one_script=np.True_).record() == {"one_script": True}


def test_a_tab_key_offers_public_names_alone():
    modules = {"arrow_functions", "evaluation", "inspection", "njit", "tiktoken"}
    offered = {name for name in dir(nbbpe) if not name.startswith("__")}
    assert offered == modules | set(nbbpe.__all__)
    assert all(hasattr(nbbpe, name) for name in offered)


def test_type_checkers_know_public_names_alone():
    """To them, a module with `__getattr__` has every name, of any type, misspelt ones too."""
    known = set()
    for node in ast.parse(inspect.getsource(nbbpe)).body:
        is_for_them = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body if is_for_them else [node]:
            if isinstance(each, ast.ImportFrom):
                known |= {alias.asname or alias.name for alias in each.names}
            assert getattr(each, "name", "") != "__getattr__"
    assert known >= {name for name in dir(nbbpe) if not name.startswith("__")}


# Paths and documents are told apart by the caller


@pytest.mark.parametrize(
    "documents", [["It cost 7.5"], ["I use node.js", "hello"], ["hello world", "."], ["https://example.org/x y"], ["*"]]
)
def test_documents_are_documents_whatever_they_look_like(documents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = nbbpe.train(iter(documents), 300)
    (tmp_path / "hello").write_text("another text that lies here by chance")
    assert nbbpe.train(documents=documents, vocab_size=300) == expected
    assert nbbpe.train(documents=iter(documents), vocab_size=300) == expected
    assert nbbpe.train(documents=tuple(documents), vocab_size=300) == expected
    expected.encode_file(documents=documents, output_path=tmp_path / "a.bin")
    assert nbbpe.TokenFile(tmp_path / "a.bin").ids.tolist() == [i for each in documents for i in expected.encode(each)]


@pytest.mark.parametrize("texts_", [["hello world", "."], ["hello"], ["I use node.js", "hello"], ["a\nb"]])
def test_a_list_of_texts_in_place_of_paths_says_what_to_do(texts_, small, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"item 0 of source is .*, which is not a file: .*documents=\[\.\.\.\]"):
        nbbpe.train(texts_, 300)
    with pytest.raises(FileNotFoundError, match=r"item 0 of input_path is .*documents=\[\.\.\.\]"):
        small.encode_file(texts_, tmp_path / "a.bin")
    with pytest.raises(TypeError, match=r"item 0 of source is bytes, and must be a path"):
        nbbpe.train([b"abc"], 300)
    assert not list(tmp_path.iterdir())


def test_arguments_that_are_missing_or_both_there_are_named(tmp_path):
    with pytest.raises(TypeError, match="vocab_size is missing"):
        nbbpe.train("a.txt")
    with pytest.raises(TypeError, match=r"source must be a path, a list of paths, .* not NoneType"):
        nbbpe.train(None, 300)
    with pytest.raises(TypeError, match="give source or documents, not both"):
        nbbpe.train("a.txt", 300, documents=["a"])
    with pytest.raises(TypeError, match="documents must be a list of texts"):
        nbbpe.train(documents="a text", vocab_size=300)
    with pytest.raises(TypeError, match="documents must be a list of texts, or any iterable of them, not int"):
        nbbpe.train(documents=3, vocab_size=300)


def test_a_value_of_a_wrong_type_is_not_printed_whole(small):
    many = list(range(100_000))
    for wrong in (
        lambda: small.encode("the cat", dropout=many),
        lambda: small.encode("the cat", allowed_special=10**1000),
        lambda: small.id_to_token(many),
        lambda: nbbpe.TokenRules(seeds={"seed": many}),
        lambda: nbbpe.Mixture({"a": "a.txt"}, parity=many),
        lambda: nbbpe.train(documents=["a"], vocab_size=300, memory_limit=many),
    ):
        with pytest.raises(TypeError, match=r"not .*\.\.\.") as caught:
            wrong()
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["Once upon a time.\n" * 10_000, "word " * 5000, "x" * 5000])
def test_text_in_place_of_a_path_is_not_printed_whole(text):
    with pytest.raises(FileNotFoundError, match=r"which is not a file: .*documents=\[\.\.\.\]") as caught:
        nbbpe.train(text, 300)
    assert len(str(caught.value)) < 400


def test_a_path_that_is_missing_is_still_told_as_one():
    with pytest.raises(FileNotFoundError, match=r"no/such\.txt") as caught:
        nbbpe.train("no/such.txt", 300)
    assert "documents" not in str(caught.value)


# Formats that are taken for plain text


def test_a_field_of_plain_text_is_an_error(tmp_path, small):
    (tmp_path / "a.txt").write_text("some text")
    (tmp_path / "a.jsonl").write_text('{"story": "some text"}\n')
    with pytest.raises(ValueError, match=r"field='story' names a field of records, and .*a\.txt' is plain text"):
        nbbpe.train(tmp_path / "a.txt", 300, field="story")
    with pytest.raises(ValueError, match="field='story' names a field"):
        small.encode_file(tmp_path / "a.txt", tmp_path / "a.bin", field="story")
    nbbpe.train([tmp_path / "a.txt", tmp_path / "a.jsonl"], 300, field="story")  # some have one


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"id,text\n1,hello\n", "is a table, whose separators .* give what pyarrow.csv.open_csv opens"),
        ("a.orc", b"ORC hello", "is a table of a format that is not read: write its column"),
        ("a.html", b"<p>hello</p>", "is markup"),
        ("a.pdf", b"%PDF-1.4", "is not a text file by its name"),
        ("a.txt", "hello".encode("utf-16"), r"begins like UTF-16: .*iconv -f UTF-16"),
        ("a.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n", "is a pointer of Git LFS in"),
        ("a.txt", gzip.compress(b"hello", mtime=0), r"begins like a file of gzip: decompress it, or add \.gz to its name"),
        ("a.md", bz2.compress(b"hello"), r"begins like a file of bzip2: .* add \.bz2"),
        ("a", lzma.compress(b"hello"), r"begins like a file of xz: .* add \.xz"),
        ("a.txt", b"\x28\xb5\x2f\xfd hello", r"begins like a file of Zstandard: .* add \.zst"),
        ("a.txt", b"ARROW1\0\0 hello", r"begins like an Arrow file: give it a name that ends in \.arrow"),
        ("a.txt", b"PAR1\x15 hello", r"begins like parquet: give it a name that ends in \.parquet"),
        ("a.txt", b"PK\x03\x04 hello", "begins like a zip archive: extract its files first"),
        ("a.txt", b'{"text": "hello"}\n', r"begins like JSON, .* whose name ends in \.jsonl or \.json"),
        ("a.jl", b'\xef\xbb\xbf[\n {"text": "hello"}\n]\n', "begins like JSON"),
        ("picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "contains NUL bytes"),
    ],
)
def test_other_formats_are_read_with_a_warning(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.warns(UserWarning, match=rf"{name}' .*{message}.*; it is read as plain text, byte for byte"):
        tokenizer = nbbpe.train(tmp_path / name, 300)
    assert tokenizer.decode_bytes(tokenizer.encode(content)) == content
    (tmp_path / "plain.md").write_text('# {"hello"}\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="the text has pairs")
        nbbpe.train(tmp_path / "plain.md", 300)


_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.arrow", "a.txt.gz", "a.jsonl.zst", "a.txt.xz"])
def test_a_pointer_of_git_lfs_is_refused_where_no_plain_text_is_meant(tmp_path, small, name):
    """As in a clone of a data set without its large files."""
    (tmp_path / name).write_text(_POINTER)
    for call in (
        lambda: nbbpe.train(tmp_path / name, 300),
        lambda: small.encode_file(tmp_path / "*", tmp_path / "a.bin", on_error="skip"),
    ):
        with pytest.raises(ValueError, match=rf"{re.escape(name)}' is a pointer of Git LFS .*`git lfs pull` fetches$"):
            call()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.jsonl.gz"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_records_in_utf_16_are_refused_with_the_way_to_convert_them(tmp_path, small, name, encoding, on_error):
    """As PowerShell writes them; all of them would be malformed."""
    content = '\ufeff{"text": "the cat"}\r\n{"text": "a dog"}\r\n'.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    message = rf"{re.escape(name)}' begins like UTF-16: convert it to UTF-8 first \(iconv -f UTF-16 -t UTF-8, .*\)$"
    for call in (
        lambda: nbbpe.train(tmp_path / name, 300, on_error=on_error),
        lambda: small.encode_file(tmp_path / name, tmp_path / "a.bin", on_error=on_error),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_compressed_records_without_an_ending_that_says_so_are_refused(tmp_path, small, name, on_error):
    """All of them would be malformed, and skipped."""
    content = b'{"text": "the cat"}\n{"text": "a dog"}\n'
    for compress, ending in (gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz"):
        (tmp_path / name).write_bytes(compress(content))
        for call in (
            lambda: nbbpe.train(tmp_path / name, 300, on_error=on_error),
            lambda: small.encode_file(tmp_path / name, tmp_path / "a.bin", on_error=on_error),
        ):
            with pytest.raises(ValueError, match=rf"{re.escape(name)}' begins like .* or add \.{ending} to its name$"):
                call()


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_in_the_place_of_json_lines_is_told_as_one(tmp_path, indent):
    path = tmp_path / "a.jsonl"
    hint = r"if the file is one array of records, its name must end in \.json"
    path.write_text(json.dumps([{"text": "the cat"}, {"text": "the hat"}], indent=indent))
    with pytest.raises(ValueError, match=rf"a\.jsonl', line 1: .*; {hint} \(pass on_error='skip'"):
        nbbpe.train(path, 257)
    path.write_text('{"text": "the cat"}\n[]\n')
    with pytest.raises(ValueError, match=r"a\.jsonl', line 2: the record is an array, and must be an object \(pass"):
        nbbpe.train(path, 257)


def test_a_pointer_of_git_lfs_is_no_file_of_ids_or_counts(tmp_path):
    for name, read in (
        ("a.bin", lambda path: nbbpe.TokenFile(path, dtype=np.uint8)),
        ("a.npy", nbbpe.TokenFile),
        ("a.parquet", lambda path: nbbpe.train(counts=path, vocab_size=300)),
    ):
        (tmp_path / name).write_text(_POINTER)
        with pytest.raises(ValueError, match=rf"{name}'? is a pointer of Git LFS"):
            read(tmp_path / name)


def test_a_table_that_is_a_pointer_of_git_lfs_is_told_as_one(tmp_path):
    (tmp_path / "a.csv").write_text(_POINTER)
    with pytest.warns(UserWarning, match=r"a\.csv' is a pointer of Git LFS"):
        nbbpe.train(tmp_path / "a.csv", 257)


RECORDS = [{"text": "hello world"}, {"n": [1, {"a": "]}"}], "text": 'é "quoted" , ['}, {"text": ""}, {"text": "x" * 3000}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_arrays_of_json_are_records(tmp_path, sizes, small, indent, block):
    sizes(block=block)
    records = [each["text"] for each in RECORDS]
    (tmp_path / "a.json").write_text(json.dumps(RECORDS, indent=indent, ensure_ascii=indent is None), encoding="utf-8")
    assert nbbpe.train(tmp_path / "a.json", 300) == nbbpe.train(iter(records), 300)
    small.encode_file(tmp_path / "a.json", tmp_path / "a.bin", separator=texts.SPECIAL)
    expected = [i for each in records for i in [*small.encode_ordinary(each), 399]]
    assert nbbpe.TokenFile(tmp_path / "a.bin").ids.tolist() == expected
    # Many call JSON lines so, too.
    for before in "", "\ufeff", " \n\n", "\ufeff \n":
        (tmp_path / "lines.json").write_text(before + "\n".join(map(json.dumps, RECORDS)), encoding="utf-8")
        assert nbbpe.train(tmp_path / "lines.json", 300) == nbbpe.train(iter(records), 300)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"}, {"text": 3}]', r"a\.json', record 1 \(from 0\): the field 'text' is a number"),
        ('[{"txt": "a"}]', r"record 0 \(from 0\): .* has no field 'text', but 'txt'; name the right one with field="),
        ('[{"text": "a"} {"text": "b"}]', r"record 0 \(from 0\): after it must be a comma or the end"),
        ('[{"text": "a"}, {"text": "b"}: 1]', r"record 1 \(from 0\): after it must be a comma or the end"),
        ('[{"text": "a"}, ', "the array has no end"),
        ('[{"text": "a"}, {"te', r"record 1 \(from 0\): this is not JSON"),
        ('"text"', "must be a JSON array of records, or JSON lines"),
        ('{\n  "data": [{"text": "a"}]\n}', "must be a JSON array of records, or JSON lines"),
        ("[", "the array has no end"),
        ("", r"a\.json' is empty: it must be a JSON array of records, such as \[\], or JSON lines"),
        (" \n", r"a\.json' is empty"),
        ('\ufeff\ufeff[{"text": "a"}]', "must be a JSON array of records, or JSON lines"),
        (' \ufeff[{"text": "a"}]', "must be a JSON array of records, or JSON lines"),
    ],
)
def test_broken_arrays_are_named(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        nbbpe.train(tmp_path / "a.json", 300)


# Files of a course, and boundaries


def test_a_vocab_of_ids_to_tokens_is_told(tmp_path):
    (tmp_path / "vocab.json").write_text(json.dumps({str(i): chr(i) for i in range(300)}))
    (tmp_path / "merges.txt").write_text("a b\n")
    with pytest.raises(ValueError, match=r"vocab\.json: maps ids to tokens \('0': .*\), and GPT-2's vocab\.json maps"):
        nbbpe.load(tmp_path)


# The command


def command(*arguments: str, stdin: str = "", code: int = 0) -> str:
    pytest.importorskip("click", reason="needs click")
    done = processes.ended("-m", "nbbpe", *arguments, stdin=stdin)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def ranks(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "unknown.tiktoken"
    small.save_tiktoken(path)
    return path


def test_the_advice_to_give_a_pattern_can_be_followed(ranks, small, tmp_path):
    (tmp_path / "a.txt").write_text(texts.SAMPLE, encoding="utf-8")
    assert "--pattern" in command("count", tmp_path / "a.txt", "-t", ranks, code=2)
    n_tokens = small.count(texts.SAMPLE)
    assert f"{n_tokens:,}" in command("count", tmp_path / "a.txt", "-t", ranks, "--pattern", "gpt2")
    assert command("encode", tmp_path / "a.txt", "-t", ranks, "--pattern", "gpt2").split() == list(
        map(str, small.encode(texts.SAMPLE))
    )
    assert "gpt2" in command("inspect", ranks, "--pattern", "gpt2")
    small.save(tmp_path / "small")
    command("compare", ranks, tmp_path / "small", "--on", tmp_path / "a.txt", "--pattern", "gpt2")


def test_encode_reads_a_pipe_as_count_does(small, tmp_path):
    small.save(tmp_path / "t")
    assert command("encode", "-t", tmp_path / "t", stdin="the cat").split() == list(map(str, small.encode("the cat")))


@pytest.mark.parametrize("spelled", ["{} {}", "{},{}", "[{}, {}]", "({},\n {})\n"])
def test_decode_reads_ids_however_python_prints_them(small, tmp_path, spelled):
    small.save(tmp_path / "t")
    assert command("decode", "-", "-t", tmp_path / "t", stdin=spelled.format(97, 98)) == "ab"


def test_decode_names_a_wrong_id_as_it_was_given(small, tmp_path):
    small.save(tmp_path / "t")
    assert "id 9999 " in command("decode", "-", "-t", tmp_path / "t", stdin="97 9999", code=1)
    assert "'1,2x' is no id" not in command("decode", "-", "-t", tmp_path / "t", stdin="1 2x", code=1)


def test_convert_verifies_what_it_wrote(small, tmp_path):
    pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
    pytest.importorskip("tiktoken", reason="needs tiktoken")
    small.save(tmp_path / "t")
    for target, proof in {
        "a.json": "tokenizers gives the same",
        "a.tiktoken": "tiktoken gives the same",
        "gpt2/vocab.json": "tokenizers gives the same",
        "folder": "read again: the same tokenizer",
    }.items():
        assert f"verified: {proof}" in command("convert", tmp_path / "t", tmp_path / target, "--verify")


def test_warmup_fails_where_no_folder_takes_the_kernels(monkeypatch, capsys):
    def told(done: Warmup, *arguments: str) -> tuple[int, str]:
        """The exit code of a warmup that has done this, and what it says."""
        monkeypatch.setattr(nbbpe, "warmup", lambda *_: done)
        return cli.main(["warmup", *arguments]), capsys.readouterr().out

    for n_lost in 4, 0:  # those that this process compiled before are not counted
        code, said = told(Warmup(n_lost, {}, 0.1, n_lost))
        assert code == cli.EXIT_FAILED
        assert "each process will compile them again" in said
    code, said = told(Warmup(0, {"folder": 25}, 0.1, 0))
    assert code == 0
    assert "NUMBA_CACHE_DIR" not in said
    for into, way in ("/image/nbbpe", "find them with NUMBA_CACHE_DIR=/image\n"), ("/image", "the folder nbbpe of their"):
        code, said = told(Warmup(0, {"folder": 25}, 0.1, 0), "--into", into)
        assert code == 0
        assert way in said


def test_warmup_does_not_advise_to_run_warmup():
    def said(before: str) -> str:
        """What a process says when it compiles a kernel."""
        script = f"""
import nbbpe
from nbbpe.kernels.compiler import jit, obtain, signature
def add_one(x):
    return x + 1
{before}
obtain.compiled(jit.Kernel(add_one, (signature.int64,)))
"""
        done = processes.ended("-c", script)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "warmup" in said("")
    assert said("nbbpe.warmup()") == "nbbpe: compiling kernels, 5 to 30 seconds ...\n"


def test_a_notice_that_stderr_does_not_take_stops_nothing(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stderr in None, closed, io.BytesIO(), object():
        monkeypatch.setattr("sys.stderr", stderr)
        notices.say("compiling kernels")


def test_a_folder_that_cannot_take_kernels_is_named_before_any_is_compiled(tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (tmp_path / "file").touch()
    for into in open_to_all, tmp_path / "file":
        told = command("warmup", "--into", into, code=1)
        assert told.startswith(f"nbbpe: error: kernels cannot be stored in '{into}'")  # and not that some are compiled
        assert "NUMBA_CACHE_DIR" not in told


# Notebooks


def test_notebooks_show_colours_and_tokens(small):
    class Stream(io.StringIO):
        """What ipykernel puts in the place of standard output."""

    Stream.__module__ = "ipykernel.iostream"
    shown = Stream()
    small.show("the cat", file=shown)
    assert "\x1b[30;48;5;" in shown.getvalue()
    plain = io.StringIO()
    small.show("the cat", file=plain)
    assert "|" in plain.getvalue()
    assert repr(small.tokenize("the cat")).startswith("Tokens(")
    assert "'the'" in repr(tokens.Tokens("the", np.array([1]), [b"the"]))
    assert repr(small.tokenize("x" * 50)).endswith(", ...)")


def test_decode_reads_a_pipe_without_a_hyphen(small, tmp_path):
    small.save(tmp_path / "t")
    for ids in "97 98", "97,98", "[97, 98]":
        done = processes.ended("-m", "nbbpe", "decode", "-t", tmp_path / "t", stdin=ids)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ab", "")


def test_a_folder_is_not_saved_under_the_name_of_a_file_of_another_format(small, tmp_path):
    for name, method in ("tokenizer.json", "to_hf"), ("a.tiktoken", "save_tiktoken"):
        with pytest.raises(ValueError, match=rf"{name}' is the name of a file, .*Tokenizer\.{method} writes one"):
            small.save(tmp_path / name)
        (tmp_path / "corpus.txt").write_text("a text")
        arguments = ["train", str(tmp_path / "corpus.txt"), "--vocab-size", "256", "-o", str(tmp_path / name)]
        assert cli.main(arguments) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]
    (tmp_path / "v2.json").mkdir()  # one that is there is meant
    small.save(tmp_path / "v2.json")
    assert nbbpe.load(tmp_path / "v2.json") == small
