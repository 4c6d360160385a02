"""nbbpe.train and train_bpe: what goes in, what comes out, what is refused, and how it stops."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import re
import warnings
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
import texts
import warned
from hypothesis import given
from hypothesis import strategies as st
from records import filled_pipe

import nbbpe
from nbbpe.counting import parallel_counting
from nbbpe.idfiles import division
from nbbpe.patterns.pattern import NAMED
from nbbpe.text import utf8
from nbbpe.training.learning_options import TIE_BREAKS

GPT2 = NAMED["gpt2"].compiled
CORPUS = [texts.SAMPLE, "the cat sat on the mat. the cat's mat", "bnanana aaaaa ababab", ""]


def expected_merges(
    documents, n_tokens, tie_break="bytes", min_frequency=1, max_token_length=None, pattern=GPT2, specials=()
):
    words = naive.count_words([utf8.to_bytes(d) for d in documents], pattern, [token.encode() for token in specials])
    return naive.train(words, n_tokens, tie_break, min_frequency, max_token_length)[0]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of documents with special tokens between them."""
    path = tmp_path / "corpus.txt"
    path.write_text(texts.SPECIAL.join(CORPUS), encoding="utf-8", newline="")
    return path


# What comes out


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_merges_are_the_textbooks(tie_break):
    tokenizer = nbbpe.train(iter(CORPUS), 400, tie_break=tie_break)
    assert tokenizer.merges == expected_merges(CORPUS, 400, tie_break)


@pytest.mark.usefixtures("quiet")
@given(st.lists(st.one_of(st.text("ab ", max_size=30), texts.texts(40)), min_size=1, max_size=4), st.integers(1, 3))
def test_merges_of_any_documents_are_the_textbooks(documents, min_frequency):
    if not any(documents):
        documents = ["x"]
    for tie_break in TIE_BREAKS:
        tokenizer = nbbpe.train(iter(documents), 290, tie_break=tie_break, min_frequency=min_frequency)
        assert tokenizer.merges == expected_merges(documents, 290, tie_break, min_frequency)


def test_no_token_is_longer_than_the_limit_but_a_special_one():
    tokenizer = nbbpe.train(iter(CORPUS), 340, [texts.SPECIAL], max_token_length=3)
    assert tokenizer.merges == expected_merges(CORPUS, 339, max_token_length=3)
    assert max(len(left + right) for left, right in tokenizer.merges) == 3
    assert tokenizer.decode(tokenizer.encode(texts.SAMPLE)) == texts.SAMPLE


@pytest.mark.parametrize("pattern", [texts.SPLIT_WITH_GAPS, r"\S+|\s+", None])
def test_a_pattern_of_ones_own_or_none_is_followed(pattern):
    compiled = None if pattern is None else nbbpe.patterns.pattern_argument.get_pattern(pattern).compiled
    tokenizer = nbbpe.train(iter(CORPUS), 380, pattern=pattern)
    assert tokenizer.merges == expected_merges(CORPUS, 380, pattern=compiled)
    assert tokenizer.pattern == pattern


def test_a_file_gives_what_its_documents_give(file):
    special = [texts.SPECIAL]
    from_file = nbbpe.train(file, 400, special)
    assert from_file == nbbpe.train(str(file), 400, special) == nbbpe.train([file], 400, special)
    assert from_file == nbbpe.train(iter(CORPUS), 400, special)
    assert from_file.merges == expected_merges(CORPUS, 399)


def test_ids_are_bytes_then_merges_then_special_tokens():
    specials = [texts.SPECIAL, "<|pad|>"]
    tokenizer = nbbpe.train(iter(CORPUS), 300, specials)
    assert tokenizer.vocab_size == len(tokenizer) == 300
    assert list(tokenizer.vocab) == list(range(300))
    assert [tokenizer.vocab[i] for i in range(256)] == [bytes([i]) for i in range(256)]
    assert [tokenizer.vocab[i] for i in range(256, 298)] == [left + right for left, right in tokenizer.merges]
    assert tokenizer.special_tokens == {texts.SPECIAL: 298, "<|pad|>": 299}
    assert [tokenizer.vocab[i] for i in (298, 299)] == [token.encode() for token in specials]


def test_train_bpe_gives_a_dict_and_a_list_of_plain_bytes(file):
    vocab, merges = nbbpe.train_bpe(file, 300, [texts.SPECIAL])
    tokenizer = nbbpe.train(file, 300, [texts.SPECIAL])
    assert vocab == tokenizer.vocab
    assert merges == tokenizer.merges
    assert type(vocab) is dict
    assert type(merges) is list
    assert {(type(i), type(token)) for i, token in vocab.items()} == {(int, bytes)}
    assert {(type(merge), type(merge[0]), type(merge[1])) for merge in merges} == {(tuple, bytes, bytes)}
    assert vocab[299] == texts.SPECIAL.encode()
    assert nbbpe.train_bpe(input_path=file, vocab_size=300, special_tokens=[texts.SPECIAL]) == (vocab, merges)


def test_the_smallest_vocabularies():
    assert nbbpe.train(iter(CORPUS), 256).merges == []
    assert nbbpe.train(iter(CORPUS), 257, [texts.SPECIAL]).merges == []
    assert len(nbbpe.train(iter(CORPUS), 257).merges) == 1
    assert nbbpe.train(iter(CORPUS), np.int64(260)).vocab_size == 260


@pytest.mark.usefixtures("quiet")
def test_special_tokens_never_lend_a_byte_to_a_merge():
    special = "<|end|>"
    text = f"a{special}b{special}{special} c{special}'s" * 50
    tokenizer = nbbpe.train(iter([text, f"<|en{special}d|>"]), 270, [special])
    assert tokenizer.merges == expected_merges([text, f"<|en{special}d|>"], 269, specials=[special])
    assert not any(left + right in special.encode() and len(left + right) > 4 for left, right in tokenizer.merges)
    assert tokenizer.encode(f"a{special}c") == [97, tokenizer.special_tokens[special], 99]
    without = nbbpe.train(iter([text]), 270)
    assert any(b"end" in left + right for left, right in without.merges)


@pytest.mark.usefixtures("quiet")
def test_special_tokens_are_found_before_the_pattern_splits():
    # As plain text " <" would be part of a pretoken; "xa" and "ax" never stand in one word.
    tokenizer = nbbpe.train(iter(["x<s>a" * 9 + "x <s> a" * 9]), 300, ["<s>"], pattern=None)
    assert tokenizer.merges == expected_merges(["x<s>a" * 9 + "x <s> a" * 9], 299, pattern=None, specials=["<s>"])


@pytest.mark.filterwarnings("ignore:.* begins like UTF-16")
def test_an_undecodable_byte_is_learned_like_any_other(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"\xff\xfe \xff\xfe \xff\xfe caf\xc3")
    assert nbbpe.train(path, 258).merges == [(b"\xff", b"\xfe"), (b" ", b"\xff\xfe")]


def test_documents_may_be_bytes():
    assert nbbpe.train(iter([text.encode() for text in CORPUS]), 350) == nbbpe.train(iter(CORPUS), 350)
    assert nbbpe.train(documents=CORPUS, vocab_size=350) == nbbpe.train(iter(CORPUS), 350)


def test_each_document_is_one_of_its_own():
    assert nbbpe.train(iter(["a", "b"] * 9 + ["cd"]), 257).merges == [(b"c", b"d")]


def test_one_warning_says_how_many_merges_there_are():
    message = "pairs for only 4 of the 743 merges that vocab_size=1000 asks for.* 261 tokens"
    with pytest.warns(UserWarning, match=message) as seen:
        tokenizer = nbbpe.train(iter(["bab cab"]), 1000, ["<s>"])
    (told,) = warned.here(seen)
    assert told.filename == __file__
    assert len(tokenizer) == tokenizer.vocab_size == 256 + len(tokenizer.merges) + 1 == 261


def test_no_warning_where_there_are_pairs_enough():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(nbbpe.train(iter(["ab"]), 257).merges) == 1


# Same result however it is done


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_workers_chunks_and_the_order_of_files_change_nothing(tmp_path, monkeypatch, tie_break, sizes):
    paths = []
    source = random.Random(12)
    for i in range(4):
        paths.append(tmp_path / f"{i}.txt")
        words = [source.choice([*texts.SAMPLE.split(), texts.SPECIAL, "\n\n"]) for _ in range(800)]
        paths[-1].write_text(" ".join(words), encoding="utf-8", newline="")
    wanted = nbbpe.train(paths, 500, [texts.SPECIAL], tie_break=tie_break)
    assert wanted.merges == expected_merges([path.read_bytes() for path in paths], 499, tie_break, specials=[texts.SPECIAL])
    sizes(for_workers=0)
    for n in 500, 5000:
        sizes(window=n, batch=n, counted=n, chunk=n)
        for workers in 1, 2, 3:
            source.shuffle(paths)
            assert nbbpe.train(paths, 500, [texts.SPECIAL], tie_break=tie_break, workers=workers) == wanted


def in_daemon(path, connection):
    """Train and encode in a process that must not have children."""
    parallel_counting.MIN_BYTES_FOR_WORKERS = 0
    division.MIN_BYTES_FOR_WORKERS = 0
    tokenizer = nbbpe.train(path, 300, [texts.SPECIAL], workers=4)
    n = tokenizer.encode_file(path, f"{path}.bin", workers=4)
    connection.send((tokenizer.merges, n, len(multiprocessing.active_children())))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_daemonic_process_trains_and_encodes_without_children(file):
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=in_daemon, args=(file, theirs), daemon=True)
    process.start()
    theirs.close()
    assert ours.poll(120), "no answer from the daemonic process"
    merges, n_ids, n_children = ours.recv()
    process.join()
    tokenizer = nbbpe.train(file, 300, [texts.SPECIAL])
    assert merges == tokenizer.merges
    assert n_ids == len(tokenizer.encode(file.read_bytes()))
    assert n_children == 0


def test_a_pipe_can_be_trained_on(tmp_path, file):
    with filled_pipe(tmp_path / "pipe", file.read_bytes()) as pipe:
        assert nbbpe.train(pipe, 350, [texts.SPECIAL]) == nbbpe.train(file, 350, [texts.SPECIAL])


def test_a_vocab_size_beyond_all_pairs_costs_nothing():
    with pytest.warns(UserWarning, match="2,096,894"):
        tokenizer = nbbpe.train(iter(["low low lower", "abab"]), 2_097_150)
    assert tokenizer.merges == expected_merges(["low low lower", "abab"], 1000)


@pytest.mark.parametrize("name", [b"corpus.txt", b"caf\xe9.txt"])
def test_a_path_that_holds_bytes_is_a_path(small, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    try:
        Path(os.fsdecode(name)).write_text(texts.SAMPLE)
    except OSError:
        pytest.skip("the file system refuses such a name")
    found = list(os.scandir(b"."))
    assert nbbpe.train(found, 300).merges == nbbpe.train(found[0], 300).merges == expected_merges([texts.SAMPLE], 300)
    assert small.encode_file(found, "ids.bin") == len(small.encode(texts.SAMPLE))


# Progress


def test_a_progress_callable_is_told_stages_what_is_done_and_of_how_much(file):
    told = []
    nbbpe.train(file, 300, progress=lambda stage, done, total: told.append((stage, done, total)))
    size = file.stat().st_size
    assert [stage for stage, _, _ in told] == sorted((stage for stage, _, _ in told), key=[t[0] for t in told].index)
    assert {stage for stage, _, _ in told} == {"count words", "learn merges"}
    assert [t for t in told if t[0] == "count words"][-1] == ("count words", size, size)
    assert [t for t in told if t[0] == "learn merges"][-1] == ("learn merges", 300, 300)
    told.clear()
    nbbpe.train(iter(CORPUS), 300, progress=lambda stage, done, total: told.append((stage, done, total)))
    assert told[0][0] == "count words"
    n_bytes = sum(len(utf8.to_bytes(document)) for document in CORPUS)
    assert [t for t in told if t[0] == "count words"][-1] == ("count words", n_bytes, None)


class Logger:
    """A stream that sends to a log what is written to it, as programs put in the place of stderr."""

    def write(self, text: str) -> int:
        return len(text)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("progress", [None, True])
@pytest.mark.parametrize("stderr", ["none", "closed", "detached", "only written to", "of bytes"])
def test_no_bar_is_shown_where_there_is_no_terminal(file, monkeypatch, stderr, progress):
    stream = io.TextIOWrapper(io.BytesIO())
    if stderr == "closed":
        stream.close()
    elif stderr == "detached":
        stream.detach()
    streams = {"none": None, "only written to": Logger(), "of bytes": io.BytesIO()}
    monkeypatch.setattr("sys.stderr", streams.get(stderr, stream))
    assert len(nbbpe.train(file, 260, progress=progress)) == 260


def test_nothing_is_written_to_a_stderr_that_is_no_terminal(file, monkeypatch):
    class Lines(Logger):
        def write(self, text: str) -> int:
            raise AssertionError(f"a line for {text!r}")

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stderr", Lines())
    assert len(nbbpe.train(file, 260)) == 260


def test_a_progress_that_is_no_option_is_an_error(file):
    for progress in "yes", 1, []:
        with pytest.raises(TypeError, match="progress must be True, False, None or a callable, not"):
            nbbpe.train(file, 300, progress=progress)


def test_an_error_in_a_progress_callable_reaches_the_user(file):
    def fail(stage, done, total):
        raise LookupError("stop it")

    with pytest.raises(LookupError, match="stop it"):
        nbbpe.train(file, 300, progress=fail)


def test_a_bar_is_shown_only_where_asked_or_on_a_terminal(file, capfd):
    nbbpe.train(file, 260)
    nbbpe.train(file, 260, progress=False)
    assert "count words" not in capfd.readouterr().err
    nbbpe.train(file, 260, progress=True)
    shown = capfd.readouterr()
    assert "count words" in shown.err
    assert "learn merges" in shown.err
    assert shown.out == ""


# What is refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"vocab_size": 255}, ValueError, "vocab_size=255 is too small.*need 256"),
        ({"vocab_size": 257, "special_tokens": ["a", "b"]}, ValueError, "2 special tokens need 258"),
        ({"vocab_size": 0}, ValueError, "too small"),
        ({"vocab_size": -5}, ValueError, "too small"),
        ({"vocab_size": 2**31}, ValueError, "too large"),
        ({"vocab_size": 2_097_152, "special_tokens": ["a"]}, ValueError, "can have 2,097,150 tokens"),
        ({"vocab_size": 300.0}, TypeError, "vocab_size must be an integer, not 300.0"),
        ({"vocab_size": "300"}, TypeError, "vocab_size must be an integer, not '300'"),
        ({"vocab_size": None}, TypeError, "vocab_size is missing"),
        ({"vocab_size": True}, TypeError, "vocab_size must be an integer"),
        ({"special_tokens": "<|end|>"}, TypeError, "must be a list of str, not one str"),
        ({"special_tokens": 5}, TypeError, "special_tokens must be a list of str, not one int"),
        ({"special_tokens": b"<|end|>"}, TypeError, "must be a list of str, not one bytes"),
        ({"special_tokens": [b"<|end|>"]}, TypeError, "special token 0 must be str, not bytes"),
        ({"special_tokens": ["a", 3]}, TypeError, "special token 1 must be str, not int: 3"),
        ({"special_tokens": ["a", ""]}, ValueError, "special token 1 is the empty string"),
        ({"special_tokens": ["a", "b", "a"]}, ValueError, "special token 'a' is given twice"),
        ({"special_tokens": ["\ud800"]}, ValueError, "lone surrogate"),
        ({"tie_break": "random"}, ValueError, "tie_break must be one of 'bytes', 'ids', 'huggingface', not 'random'"),
        ({"tie_break": None}, ValueError, "tie_break must be one of"),
        (
            {"tie_break": np.array(["bytes", "ids"])},
            ValueError,
            r"tie_break must be one of .* not array\(\['bytes', 'ids'\]",
        ),
        ({"on_error": np.array(["skip", "raise"])}, ValueError, r"on_error must be one of .* not array"),
        ({"on_interrupt": np.array(["keep", "raise"])}, ValueError, r"on_interrupt must be one of .* not array"),
        ({"min_word_count": np.array(["auto", "2"])}, TypeError, r"min_word_count must be a positive integer.* not array"),
        ({"max_token_length": "8"}, TypeError, "max_token_length must be a positive integer, not '8'"),
        ({"min_frequency": 0}, ValueError, "min_frequency must be at least 1, not 0"),
        ({"min_frequency": 1.5}, TypeError, "min_frequency must be a positive integer, not 1.5"),
        ({"min_frequency": True}, TypeError, "min_frequency must be a positive integer"),
        ({"max_token_length": 0}, ValueError, "max_token_length must be at least 1, not 0"),
        ({"max_token_length": 3.0}, TypeError, "max_token_length must be a positive integer, not 3.0"),
        ({"max_token_length": True}, TypeError, "max_token_length must be a positive integer"),
        ({"workers": 0}, ValueError, "workers must be at least 1, not 0"),
        ({"workers": "2"}, TypeError, "workers must be a positive integer or None, not '2'"),
        ({"workers": True}, TypeError, "workers must be a positive integer or None"),
        ({"source": b"text"}, TypeError, "not one text"),
        ({"source": 5}, TypeError, "not int"),
        ({"source": None}, TypeError, "not NoneType"),
        ({"source": iter(["text", 7])}, TypeError, "text must be str or bytes, not int"),
        ({"source": iter([None])}, TypeError, "text must be str or bytes, not NoneType"),
        ({"source": "no/such/file.txt"}, FileNotFoundError, "no/such/file.txt"),
        ({"source": Path("no/such/file.txt")}, FileNotFoundError, "no/such/file.txt"),
        ({"source": ["no-such-file.txt"]}, FileNotFoundError, "no-such-file.txt"),
        ({"source": [Path("missing")]}, FileNotFoundError, "missing"),
        ({"source": [__file__, "no such file"]}, FileNotFoundError, "'no such file', which is not a file"),
        ({"source": Path(__file__).parent}, IsADirectoryError, "is a folder"),
        ({"source": [__file__, Path(__file__).parent]}, IsADirectoryError, "is a folder"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_an_error_that_says_why(arguments, error, message):
    with pytest.raises(error, match=message):
        nbbpe.train(**{"source": iter(["some text"]), "vocab_size": 300, **arguments})


@pytest.mark.parametrize("source", [iter([""]), iter([]), iter(["", b""]), iter(["<|end|>", "<|end|><|end|>"])])
def test_a_source_without_text_is_an_error(source):
    with pytest.raises(ValueError, match="there is no text"):
        nbbpe.train(source, 300, ["<|end|>"])


def test_a_list_of_no_paths_is_an_error():
    with pytest.raises(ValueError, match="source is an empty list: name at least one file"):
        nbbpe.train([], 300)


def test_an_empty_file_is_an_error(tmp_path):
    path = tmp_path / "empty.txt"
    for content in "", "<|end|>", "<|end|><|end|>":
        path.write_text(content)
        with pytest.raises(ValueError, match=re.escape(f"there is no text: the source ({str(path)!r}) is empty, or")):
            nbbpe.train(path, 300, ["<|end|>"])
    with pytest.raises(ValueError, match=re.escape(f"({', '.join([repr(str(path))] * 5)}, ...) is empty")):
        nbbpe.train([path] * 6, 300, ["<|end|>"])


@pytest.mark.parametrize("bad", [["a.txt"], 7, None, b"a.txt", iter(["a"])])
def test_train_bpe_takes_a_path_only(bad):
    with pytest.raises(TypeError, match="input_path must be a path"):
        nbbpe.train_bpe(bad, 300, [])


def test_bad_arguments_are_told_before_any_text_is_read():
    def documents():
        pytest.fail("the source was read")
        yield ""

    for bad in {"vocab_size": 1}, {"tie_break": "x"}, {"min_frequency": 0}, {"workers": 0}, {"pattern": "("}:
        with pytest.raises(ValueError, match=r".+"):
            nbbpe.train(documents(), **{"vocab_size": 300, **bad})


def test_a_missing_file_is_told_before_the_others_are_read(tmp_path, file):
    with pytest.raises(FileNotFoundError):
        nbbpe.train([file, tmp_path / "missing"], 300, progress=lambda *_: pytest.fail("files were read"))


def test_a_file_that_may_not_be_read_is_an_error(nobodys_folder):
    folder, as_nobody = nobodys_folder
    (folder / "secret.txt").write_text("the cat")
    (folder / "secret.txt").chmod(0)
    with as_nobody(), pytest.raises(PermissionError, match=r"secret\.txt"):
        nbbpe.train(folder / "secret.txt", 300)


def test_an_error_of_the_iterable_reaches_the_user():
    class OddError(Exception):
        pass

    def documents():
        yield "some text"
        raise OddError("half-way")

    with pytest.raises(OddError, match="half-way"):
        nbbpe.train(documents(), 300)


def test_an_iterable_is_read_once_and_lazily(sizes):
    sizes(batch=1000)
    n_read = 0
    most_waiting = 0
    counted = 0

    def documents():
        nonlocal n_read, most_waiting
        for _ in range(500):
            n_read += 100
            most_waiting = max(most_waiting, n_read - counted)
            yield "word " * 20

    def progress(stage, done, total):
        nonlocal counted
        if stage == "count words":
            counted = done

    nbbpe.train(documents(), 258, progress=progress)
    assert n_read == counted == 50_000
    assert most_waiting < 2000  # never much more than a batch in memory


def test_documents_that_look_like_paths_can_be_given_as_an_iterator():
    assert nbbpe.train(iter(["no/aa.txt"] * 3 + ["aa"]), 257).merges == [(b"a", b"a")]


# Ctrl-C

COUNT = """
import sys, nbbpe
from nbbpe.counting import parallel_counting
parallel_counting.MIN_BYTES_FOR_WORKERS = 0
def told(stage, done, total):
    print(stage, flush=True)
    sys.stdout = open("/dev/null", "w")
nbbpe.train([sys.argv[1]] * 500, 1000, workers=int(sys.argv[2]), progress=told)
"""

MERGE = """
import random, sys, nbbpe
source = random.Random(1)
def told(stage, done, total):
    if stage == "learn merges" and done > 300:
        print(stage, flush=True)
        sys.stdout = open("/dev/null", "w")
nbbpe.train(iter([source.randbytes(40) for _ in range(100_000)]), 2_000_000, pattern=None, progress=told)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_stops_counting_at_once_with_one_traceback_and_no_process_left(tmp_path, workers):
    path = tmp_path / "text"
    path.write_bytes(texts.SAMPLE.encode() * 30_000)  # 15 MB, read again and again
    processes.assert_ended_well(processes.interrupt(COUNT, path, workers))


def test_ctrl_c_stops_merging_at_once_with_one_traceback():
    processes.assert_ended_well(processes.interrupt(MERGE))


def test_integers_of_other_libraries_are_integers(quiet, tmp_path):
    numbers = {"min_frequency": 2, "max_token_length": 4, "workers": 1}
    plain = nbbpe.train(iter([texts.SAMPLE]), 300, **numbers)
    numpy = nbbpe.train(iter([texts.SAMPLE]), np.int64(300), **{name: np.uint8(number) for name, number in numbers.items()})
    assert numpy == plain
    assert numpy.provenance == plain.provenance
    numpy.save(tmp_path / "tok")
