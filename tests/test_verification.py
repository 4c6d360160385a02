"""Ids proved against the libraries that own the formats, and what is put around a text."""

from __future__ import annotations

import os
import socket
import sys
import warnings
from unittest import mock

import pytest
import texts
import warned

import nbbpe
from nbbpe import cli
from nbbpe.cli.formats import find_format
from nbbpe.formats import known_names, verification

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
pytest.importorskip("tiktoken", reason="needs tiktoken")


def test_a_tokenizer_is_verified_by_what_is_installed(small, gpt2):
    for tokenizer in small, gpt2:
        results = tokenizer.verify(texts.SAMPLE + texts.SPECIAL)
        assert results["tokenizers"] == results["tiktoken"] == f"equal ({tokenizer.count(texts.SAMPLE) + 1:,} ids)"
        assert results["mistral_common"] == "not installed" or "special tokens first" in results["mistral_common"]
        tokenizer.verify()


def test_a_file_that_is_written_again_is_what_tiktoken_verifies(small, tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "kept"))
    path = tmp_path / "x.tiktoken"
    for tokenizer in small, nbbpe.train(documents=["another text"], vocab_size=260):
        tokenizer.save_tiktoken(path)
        verification.verify_written(tokenizer._model, tokenizer.encode, "tiktoken", [str(path)])
        tokenizer.verify()
    assert not (tmp_path / "kept").exists()


def test_files_are_verified_whose_names_are_not_utf8(small, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for name in "t.json", "t.tiktoken", "gpt2/vocab.json":
        chosen = find_format(os.path.join(folder, name), None)
        written = chosen.write(small, os.path.join(folder, name)) or [os.path.join(folder, name)]
        assert "gives the same" in verification.verify_written(small._model, small.encode, chosen.name, written)


def test_convert_writes_nothing_that_it_cannot_verify(small, tmp_path, monkeypatch, capsys):
    small.save(tmp_path / "t")
    missing = verification._READERS["huggingface"]._replace(package="no_such_library")
    monkeypatch.setitem(verification._READERS, "huggingface", missing)
    (tmp_path / "a.json").write_text("older")
    arguments = "convert", tmp_path / "t", tmp_path / "a.json", "--to", "huggingface", "--verify"
    assert cli.main([*map(str, arguments)]) == 1
    assert "no-such-library is needed to verify this format, and is not installed" in capsys.readouterr().err
    assert (tmp_path / "a.json").read_text() == "older"


def test_a_difference_is_shown(small, monkeypatch):
    owner = verification._OWNERS["huggingface"]
    wrong = owner._replace(read=lambda model, paths: lambda text: small.encode(text)[:3] + [0] * 9)
    monkeypatch.setitem(verification._OWNERS, "huggingface", wrong)
    with pytest.raises(ValueError, match=r"tokenizers gives different ids from id 3 on \(character 3, in 'xyz a"):
        small.verify("xyz a text")
    text = "0123456789" * 9
    wrong = owner._replace(read=lambda model, paths: lambda text: small.encode(text)[:50])
    monkeypatch.setitem(verification._OWNERS, "huggingface", wrong)
    with pytest.raises(ValueError, match=rf"from id 50 on \(character 50, in {text[30:90]!r}\): \[\], and nbbpe \["):
        small.verify(text)


def test_a_folder_of_another_tokenizer_is_told(small, gpt2, tmp_path):
    gpt2.save(tmp_path / "t")
    path = str(tmp_path / "t")
    with pytest.raises(ValueError, match=r"t: reading it again gives another tokenizer"):
        verification.verify_written(small._model, small.encode, "nbbpe", [path])


def test_what_no_library_can_hold_is_no_proof():
    tokenizer = nbbpe.train(iter(["the cat " * 9]), 260, ["<a>", "<a>b"], pattern=r"(?i:\bx)|\w+|\W+")
    with pytest.raises(ValueError, match="no library could verify the ids: tokenizers: cannot hold it"):
        tokenizer.verify("x")
    with pytest.raises(TypeError, match="text must be str"):
        tokenizer.verify(b"x")  # type: ignore[arg-type]


def with_processor(small: nbbpe.Tokenizer, processor, tmp_path) -> tuple[nbbpe.Tokenizer, object]:
    small.to_hf(tmp_path / "t.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    theirs.post_processor = processor
    theirs.save(str(tmp_path / "t.json"))
    return nbbpe.load(tmp_path / "t.json"), theirs


post = tokenizers.processors
PROCESSORS = {
    "Roberta": post.RobertaProcessing((texts.SPECIAL, 399), ("a", 97)),
    "Bert": post.BertProcessing((texts.SPECIAL, 399), ("a", 97)),
    "Llama 3": post.Sequence(
        [
            post.ByteLevel(trim_offsets=True),
            post.TemplateProcessing(
                single=f"{texts.SPECIAL} $A",
                pair=f"{texts.SPECIAL} $A a $B:1",
                special_tokens=[(texts.SPECIAL, 399), ("a", 97)],
            ),
        ]
    ),
    "ByteLevel": post.ByteLevel(),
    "the second text first": post.TemplateProcessing(single="$A a", pair="$B a $A", special_tokens=[("a", 97)]),
}


@pytest.mark.parametrize("processor", PROCESSORS.values(), ids=PROCESSORS)
def test_what_is_put_around_a_text_is_that_of_tokenizers(small, processor, tmp_path):
    ours, theirs = with_processor(small, processor, tmp_path)
    for text in "", "hello", "x" * 5000, f"a{texts.SPECIAL}b":
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, add_special_tokens=True) == theirs.encode(text).ids
        assert ours.encode_pair(text, "b c") == theirs.encode(text, "b c").ids
        expected = theirs.encode(text, "b", add_special_tokens=False).ids
        assert ours.encode_pair(text, "b", add_special_tokens=False) == expected
    ours.to_hf(tmp_path / "again.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")).encode("hello").ids == theirs.encode("hello").ids
    ours.save(tmp_path / "folder")
    assert nbbpe.load(tmp_path / "folder").encode("x", add_special_tokens=True) == theirs.encode("x").ids
    assert ours.fingerprint == small.fingerprint  # ids of text are the same


def test_a_format_that_cannot_hold_what_is_put_around_a_text_says_so(small, tmp_path, capsys):
    around, _ = with_processor(small, PROCESSORS["Llama 3"], tmp_path)
    only_bytes, _ = with_processor(small, PROCESSORS["ByteLevel"], tmp_path)
    for tokenizer, is_told in (around, True), (only_bytes, False), (small, False):
        for call in (
            lambda each: each.save_tiktoken(tmp_path / "a.tiktoken"),
            lambda each: each.to_tiktoken(),
            lambda each: each.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt"),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(tokenizer)
            told = [str(each.message) for each in warned.here(caught)]
            assert len(told) == is_told
            said = f"cannot hold which tokens encode(text, add_special_tokens=True) puts around a text ('{texts.SPECIAL}'"
            assert all(said in message for message in told)
    around.save(tmp_path / "folder")
    assert cli.main(["convert", str(tmp_path / "folder"), str(tmp_path / "b.tiktoken")]) == 0
    assert "a file of ranks cannot hold which tokens" in capsys.readouterr().err


def test_a_tekken_json_says_that_it_cannot_hold_what_is_put_around_a_text(tmp_path):
    vocab = {0: b"<s>"} | {i + 1: bytes([i]) for i in range(256)} | {257: b"th", 258: b"the"}
    start = nbbpe.Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e")], ["<s>"])
    processor = post.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    around, _ = with_processor(start, processor, tmp_path)
    with pytest.warns(UserWarning, match=r"tekken\.json cannot hold which tokens .* \('<s>'\): who reads it must add them"):
        around.save_tekken(tmp_path / "tekken.json")


def test_names_of_encodings_are_found_by_tiktoken(gpt2, monkeypatch, tmp_path):
    import tiktoken

    asked = []

    def get_encoding(name):
        asked.append(name)
        return gpt2.to_tiktoken(name)

    monkeypatch.setattr(tiktoken, "get_encoding", get_encoding)
    assert nbbpe.load("cl100k_base").encode("hello") == gpt2.encode("hello")
    assert asked == ["cl100k_base"]
    monkeypatch.chdir(tmp_path)
    small_path = tmp_path / "cl100k_base"
    nbbpe.train(iter(["ab ab"]), 257).save(small_path)
    assert len(nbbpe.load("cl100k_base")) == 257  # a path always wins
    assert asked == ["cl100k_base"]


def test_names_of_models_are_found_by_huggingface_hub(small, monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    small.to_hf(tmp_path / "tokenizer.json")

    requests = []

    def download(name, file, revision=None, local_files_only=False):
        if name == "org/none" or (name == "org/ranks" and file != "tokenizer.model"):
            raise EntryNotFoundError("404")
        if name == "org/ranks":
            return str(tmp_path / file)
        if name in ("org/offline", "org/cached"):
            if not local_files_only:
                requests.append(file)
            if file == "tekken.json" and name == "org/cached":
                return str(tmp_path / "tokenizer.json")
            raise LocalEntryNotFoundError("no connection")
        if not (tmp_path / file).exists():
            raise EntryNotFoundError("404")
        assert (name, file) in (("org/model", "tokenizer.json"), ("org/model", "tokenizer_config.json"))
        return str(tmp_path / file)

    def metadata(url):
        if "org/offline" in url or "org/cached" in url:
            try:
                raise socket.gaierror(-2, "Name or service not known")
            except OSError as error:
                raise RuntimeError("no connection") from error

    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setattr(hub, "get_hf_file_metadata", metadata)
    assert nbbpe.load("org/model") == small
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "<pad>"}')  # which transformers adds
    assert nbbpe.load("org/model") == small.with_special_tokens(["<pad>"])
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"'org/none' has none of tokenizer.json, tekken.json, vocab.json with"):
        nbbpe.load("org/none")
    with pytest.raises(FileNotFoundError, match=r"could not fetch .* \(Name or service not known\)\. Give the path"):
        nbbpe.load("org/offline")
    assert not requests  # each takes half a minute
    assert nbbpe.load("org/cached") == small
    small.save_tiktoken(tmp_path / "tokenizer.model")
    with pytest.raises(ValueError, match=r"tokenizer\.model: neither name nor content is that of a known encoding"):
        nbbpe.load("org/ranks")
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    with pytest.raises(ValueError, match=r"tokenizer\.model: is a model of Unigram, and nbbpe reads BPE only"):
        nbbpe.load("org/ranks")


def test_a_revision_stands_after_the_name_of_a_model(small, monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError

    small.to_hf(tmp_path / "tokenizer.json")
    asked = []

    def download(name, file, revision=None, local_files_only=False):
        asked.append((name, revision))
        if revision == "none":
            raise RevisionNotFoundError("404", response=mock.Mock())
        if file != "tokenizer.json" or revision == "empty":
            raise EntryNotFoundError("404")
        return str(tmp_path / file)

    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setattr(hub, "get_hf_file_metadata", asked.append)
    for revision in "v1.0", "refs/pr/1", "0a1b2c3d":
        asked.clear()
        assert nbbpe.load(f"org/model@{revision}") == small
        url, *downloads = asked
        assert hub.hf_hub_url("org/model", "tokenizer.json", revision=revision) == url
        assert {*downloads} == {("org/model", revision)}
        asked.clear()
        assert nbbpe.load("org/model", revision=revision) == small
        assert asked == [url, *downloads]
    with pytest.raises(FileNotFoundError, match=r"^'org/model@none' is not .* could not fetch .*RevisionNotFoundError"):
        nbbpe.load("org/model@none")
    with pytest.raises(FileNotFoundError, match=r"^the model 'org/model@empty' has none of tokenizer\.json"):
        nbbpe.load("org/model@empty")
    (tmp_path / "org").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^'org/model@v1' is missing"):  # in a folder that is here
        nbbpe.load("org/model@v1")


@pytest.mark.parametrize(
    ("name", "revision", "message"),
    [
        ("org/model@v1", "v2", "'org/model@v1' has a revision, 'v1': leave revision='v2' out"),
        ("org/model", 1, "revision must be a commit, branch or tag as a str, or None, not 1"),
        ("cl100k_base", "v1", "revision='v1' is for the name of a model on Hugging Face's hub, .*, not for 'cl100k_base'"),
        ("org/here", "v1", "revision='v1' is for the name of a model .*, not for 'org/here'"),
        (None, "v1", "revision='v1' is for the name of a model .*, not for None"),
    ],
)
def test_a_revision_of_what_has_none_is_refused(monkeypatch, tmp_path, name, revision, message):
    (tmp_path / "org" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=f"^{message}$"):
        nbbpe.load(name, revision=revision)


def test_a_revision_is_found_in_the_cache_of_huggingface_hub(small, monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")

    def no_network(url):
        raise OSError("no network")

    monkeypatch.setattr(hub, "get_hf_file_metadata", no_network)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    first, later = small, small.with_special_tokens(["<later>"])
    for tokenizer, ref, commit in (first, "v1.0", "a" * 40), (later, "main", "b" * 40):
        folder = tmp_path / "models--org--model"
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / ref).write_text(commit)
        (folder / "snapshots" / commit).mkdir(parents=True)
        tokenizer.to_hf(folder / "snapshots" / commit / "tokenizer.json")
    for revision, expected in (None, later), ("main", later), ("v1.0", first), ("a" * 40, first):
        assert nbbpe.load("org/model", revision=revision) == expected
    with pytest.raises(FileNotFoundError, match=r"^'org/model@v2' is not a file here, and huggingface_hub could not fetch"):
        nbbpe.load("org/model", revision="v2")


@pytest.mark.parametrize("files", [["tokenizer.json"], ["vocab.json", "merges.txt"]])
def test_what_transformers_reads_beside_the_files_of_a_model_is_fetched(small, monkeypatch, tmp_path, files):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    small.to_hf(tmp_path / "tokenizer.json")
    small.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    asked, problems = [], {}

    def download(name, file, revision=None, local_files_only=False):
        asked.append((file, local_files_only))
        if file in problems:
            raise problems[file]
        if file not in files:
            raise (LocalEntryNotFoundError if local_files_only else EntryNotFoundError)("404")
        return str(tmp_path / file)

    def no_network(url):
        raise OSError("no network")

    beside = ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"]
    beside += ["config.json"] if "vocab.json" in files else []  # which alone may say whose tokenizer it is
    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setattr(hub, "get_hf_file_metadata", lambda url: None)
    assert nbbpe.load("org/model") == small
    assert asked[-len(beside) :] == [(file, False) for file in beside]
    for file in beside:
        problems = {file: LocalEntryNotFoundError("the connection was lost")}
        with pytest.raises(FileNotFoundError, match=r"could not fetch the model .*connection was lost"):
            nbbpe.load("org/model")
    problems = {}
    monkeypatch.setattr(hub, "get_hf_file_metadata", no_network)
    assert nbbpe.load("org/model") == small
    assert asked[-len(beside) :] == [(file, True) for file in beside]


def test_a_name_without_its_library_says_what_to_install(monkeypatch):
    monkeypatch.setattr(known_names.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(FileNotFoundError, match=r"tiktoken, .* is not installed: pip install"):
        nbbpe.load("gpt2")
    with pytest.raises(FileNotFoundError, match=r"huggingface_hub, .* is not installed: pip"):
        nbbpe.load("org/model")


def test_an_encoding_that_cannot_be_fetched_says_what_else_to_do(monkeypatch):
    import tiktoken

    def offline(name):
        raise OSError("no network, " + "and so on " * 50)

    monkeypatch.setattr(tiktoken, "get_encoding", offline)
    with pytest.raises(FileNotFoundError, match=r"could not fetch .*OSError: no network, .* \.\.\.\)\. .*TIKTOKEN_CACHE"):
        nbbpe.load("o200k_base")
    assert "tiktoken" in sys.modules


def test_the_name_of_a_model_of_openai_is_told_its_encoding(monkeypatch, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"^'gpt-4o' is missing \(if you mean the model, .* encoding, 'o200k_base'\)"
    ):
        nbbpe.load("gpt-4o")
    with pytest.raises(FileNotFoundError, match=r"^'gpt-4-of-mine' is missing .* 'cl100k_base'"):
        nbbpe.load("gpt-4-of-mine")
    for name in "my-gpt-4o", tmp_path / "gpt-4o":
        with pytest.raises(FileNotFoundError, match=r"gpt-4o' is missing; a tokenizer is"):
            nbbpe.load(name)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(FileNotFoundError, match=r"^'gpt-4o' is missing; a tokenizer is"):
        nbbpe.load("gpt-4o")
