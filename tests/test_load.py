"""nbbpe.load: every format is recognised, and what is none is an error that says what was looked for."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import texts
from vocabularies import BYTE_RANKS, BYTES, rank_lines

import nbbpe
from nbbpe.cli.formats import FORMATS, find_format, read_tokenizer
from nbbpe.formats import known_names
from nbbpe.formats.recognise import recognised
from nbbpe.formats.shared.json_text import parse_json
from nbbpe.model.byte_alphabet import byte_characters


@pytest.fixture(scope="module")
def tokenizer(stories) -> nbbpe.Tokenizer:
    return nbbpe.train(stories, 500, [texts.SPECIAL])


def test_a_json_file_from_ids_to_tokens_is_told_apart(tmp_path):
    (tmp_path / "ids.json").write_text('{"0": "a", "1": "b"}')
    with pytest.raises(ValueError, match=r"maps ids to tokens: give GPT-2's vocab\.json"):
        nbbpe.load(tmp_path / "ids.json")


def test_json_may_be_nested_as_deeply_as_its_reader_says():
    for opening, closing in ("[", "]"), ('{"a":', "}"):  # 100 within the first one
        assert parse_json(opening * 101 + "1" + closing * 101, "a.json")
        with pytest.raises(ValueError, match=r"a\.json: not valid JSON .nested too deeply"):
            parse_json(opening * 102 + "1" + closing * 102, "a.json")


def save_all(tokenizer: nbbpe.Tokenizer, folder: Path) -> dict[str, Any]:
    """The tokenizer in each format, from what it is to where it lies."""
    places: dict[str, Any] = {}
    for name in "own", "hugging", "pair", "both", "release":
        (folder / name).mkdir()
    tokenizer.save(folder / "own")
    places["own folder"] = folder / "own"
    tokenizer.to_hf(folder / "hugging" / "tokenizer.json")
    places["tokenizer.json's folder"] = folder / "hugging"
    places["tokenizer.json"] = folder / "hugging" / "tokenizer.json"
    places["tokenizer.json as text"] = str(folder / "hugging" / "tokenizer.json")
    tokenizer.to_hf(folder / "of any name")
    places["tokenizer.json of any name"] = folder / "of any name"
    tokenizer.to_hf(folder / "tekken_of_hf.json")
    places["tokenizer.json with a name like Mistral's"] = folder / "tekken_of_hf.json"
    pair = folder / "pair" / "vocab.json", folder / "pair" / "merges.txt"
    tokenizer.save_gpt2(*pair)
    places["GPT-2's folder"] = folder / "pair"
    places["GPT-2's vocabulary"], places["GPT-2's merges"] = pair
    openai = folder / "pair" / "encoder.json", folder / "pair" / "vocab.bpe"
    hub = folder / "pair" / "gpt2-vocab.json", folder / "pair" / "gpt2-merges.txt"
    release = folder / "release" / "encoder.json", folder / "release" / "vocab.bpe"
    for copy in openai, hub, release:
        tokenizer.save_gpt2(*copy)
    places["OpenAI's folder"] = folder / "release"
    places["OpenAI's vocabulary"], places["OpenAI's merges"] = openai
    places["a vocabulary with a name before"], places["merges with a name before"] = hub
    places["GPT-2's pair"] = pair
    places["GPT-2's pair as a list"] = list(map(str, pair))
    tokenizer.to_hf(folder / "both" / "tokenizer.json")
    tokenizer.save_gpt2(folder / "both" / "vocab.json", folder / "both" / "merges.txt")
    places["folder of a Hugging Face model"] = folder / "both"
    for name in "nbbpe.json", "vocab.json", "merges.txt":
        places[f"our {name}"] = folder / "own" / name
    return places


def test_every_format_is_recognised(tokenizer, tmp_path):
    for what, place in save_all(tokenizer, tmp_path).items():
        assert nbbpe.load(place) == tokenizer, what


def test_a_path_may_be_a_text_of_numpy(tokenizer, tmp_path):
    """As one of `np.array(paths)`. Of such a folder, os.listdir gives the names as bytes."""
    for what, place in save_all(tokenizer, tmp_path).items():
        if not isinstance(place, (tuple, list)):
            assert nbbpe.load(np.str_(place)) == tokenizer, what


def test_a_tokenizer_is_loaded_already(tokenizer):
    assert nbbpe.load(tokenizer) is tokenizer


def test_a_file_of_our_folder_stands_for_all_of_it(tokenizer, tmp_path, monkeypatch):
    """GPT-2's format is that of two of them, and they say neither pattern nor special tokens."""
    other = nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, ["<x>"], "cl100k", normalizer="NFC")
    other.save(tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    assert nbbpe.load("vocab.json") == nbbpe.load("merges.txt") == other
    assert nbbpe.load(("vocab.json", "merges.txt")).pattern == "gpt2"  # who names both means them


def test_objects_of_other_libraries_are_recognised(tokenizer, tmp_path):
    tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    assert nbbpe.load(tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))) == tokenizer
    pytest.importorskip("tiktoken", reason="needs tiktoken")
    assert nbbpe.load(tokenizer.to_tiktoken()) == tokenizer


def test_rank_files_are_recognised(shared, tmp_path, gpt2):
    ranks = (shared / "vocabs" / "r50k_base.tiktoken").read_bytes()
    for name in "r50k_base.tiktoken", "tokenizer.model", "tiktoken.model":
        folder = tmp_path / name.replace(".", " ")
        folder.mkdir()
        (folder / name).write_bytes(ranks)
        assert nbbpe.load(folder / name) == gpt2
        assert nbbpe.load(folder) == gpt2
    (tmp_path / "mine.tiktoken").write_bytes(ranks.replace(b"IQ== 0\n", b""))
    with pytest.raises(ValueError, match=r"mine\.tiktoken: vocab lacks 1 of the 256 single bytes"):
        nbbpe.load(tmp_path / "mine.tiktoken")


def test_a_file_of_ranks_with_any_name_may_have_newlines_of_windows(tmp_path):
    (tmp_path / "ranks").write_bytes(rank_lines(BYTE_RANKS).replace(b"\n", b"\r\n"))
    assert recognised(tmp_path / "ranks").kind == "tiktoken"
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "ranks", pattern="gpt2").vocab == BYTES


@pytest.mark.usefixtures("no_default")
def test_the_default_tokenizer_can_be_of_any_format(tokenizer, tmp_path, monkeypatch):
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    monkeypatch.setenv("NBBPE_TOKENIZER", str(tmp_path))
    assert nbbpe.encode_array("the cat").tolist() == tokenizer.encode("the cat")


def test_gpt2s_files_have_their_special_token_only_where_it_is_one(tmp_path):
    vocab = BYTES | {256: texts.SPECIAL.encode()}
    nbbpe.Tokenizer(vocab, []).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert nbbpe.load(tmp_path).special_tokens == {texts.SPECIAL: 256}
    left, right = texts.SPECIAL[:1].encode(), texts.SPECIAL[1:].encode()
    del vocab[256]
    nbbpe.Tokenizer(vocab, []).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert nbbpe.load(tmp_path).special_tokens == {}
    made = vocab | {256: right, 257: left + right}
    nbbpe.Tokenizer(made, [(left, right)]).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert nbbpe.load(tmp_path).special_tokens == {}


FILES = r"nbbpe\.json.*tokenizer\.json.*\.tiktoken file.*vocab\.json with merges\.txt"
LOOKED_FOR = rf"{FILES}.*a pair of paths.*an object of tokenizers, transformers or tiktoken"


@pytest.mark.parametrize("thing", [None, 5, b"path", {}, (), ("a", "b", "c"), ("a", 5), object(), print, str])
def test_what_is_no_tokenizer_is_an_error_that_says_what_is(thing):
    hint = r" \(nbbpe\.Tokenizer\(vocab, merges, special_tokens\) makes one from its parts\)" if thing == {} else ""
    with pytest.raises(TypeError, match=rf"is not a tokenizer that nbbpe knows{hint}; .*{LOOKED_FOR}"):
        nbbpe.load(thing)


def test_the_parts_of_a_tokenizer_are_an_error_that_says_what_makes_one():
    """As students pickle them together."""
    for parts in ({}, []), [{97: b"a"}, [], ["<s>"]]:
        with pytest.raises(
            TypeError, match=r"that nbbpe knows \(nbbpe\.Tokenizer\(vocab, merges, special_tokens\) makes one"
        ):
            nbbpe.load(parts)


def test_a_missing_path_is_an_error_that_says_what_could_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"nothing' is missing; a tokenizer is .*{FILES}"):
        nbbpe.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="nothing"):
        nbbpe.load((tmp_path / "nothing", tmp_path / "nor this"))


def test_a_folder_in_the_place_of_a_file_is_an_error_that_says_what_reads_it(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    read = nbbpe.Tokenizer
    for call in (
        lambda: read.from_hf(tmp_path),
        lambda: read.from_tiktoken(tmp_path, pattern="gpt2"),
        lambda: read.from_files(tmp_path, tmp_path / "merges.txt"),
        lambda: read.from_files(tmp_path / "vocab.json", tmp_path),
    ):
        with pytest.raises(IsADirectoryError, match=r"is a folder, and a file is read here; nbbpe\.load takes folders"):
            call()


def test_a_url_is_an_error_that_says_what_to_do():
    with pytest.raises(
        FileNotFoundError, match=r"^'https://host/tokenizer\.json' is a URL.*: download it first.*'org/model'"
    ):
        nbbpe.load("https://host/tokenizer.json")


@pytest.mark.parametrize("path", ["folder/nothing", ".hidden/nothing", "./nothing", "a/b/nothing"])
def test_a_path_where_nothing_is_is_no_name_of_a_model(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    monkeypatch.setattr(known_names, "_of_hub", lambda name, revision: pytest.fail(f"{name} was looked for on the hub"))
    with pytest.raises(FileNotFoundError, match="nothing' is missing; a tokenizer is "):
        nbbpe.load(path)


def test_a_folder_without_a_tokenizer_is_an_error_that_says_what_was_looked_for(tmp_path):
    wanted = r"no tokenizer\.json, not one tekken\.json, not one \.tiktoken file, and no vocab\.json with merges\.txt"
    (tmp_path / "vocab.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=wanted):
        nbbpe.load(tmp_path)
    for name in "a.tiktoken", "b.tiktoken":
        (tmp_path / name).write_text("")
    for name in "tekken_1.json", "tekken_2.json":
        (tmp_path / name).write_text("{}")
    two = r"\(but 2: name the file\)"
    with pytest.raises(FileNotFoundError, match=rf"not one tekken\.json {two}, not one \.tiktoken file {two}"):
        nbbpe.load(tmp_path)


def test_loading_another_format_as_our_folder_is_an_error_that_says_what_reads_it(tokenizer, tmp_path):
    ranks, other = tmp_path / "x.tiktoken", tmp_path / "other"
    tokenizer.save_tiktoken(ranks)
    other.mkdir()
    tokenizer.to_hf(other / "tokenizer.json")
    for path in ranks, other, other / "tokenizer.json":
        with pytest.raises(FileNotFoundError, match=r"is not a folder that Tokenizer\.save wrote.*nbbpe\.load reads other"):
            nbbpe.Tokenizer.load(path)


@pytest.mark.parametrize("content", [b"", b"hello world\n", b"\xff\xfe\x00", b"low lower\n", b"IQ==\n"])
def test_a_file_of_no_format_is_an_error_that_says_what_could_be(tmp_path, content):
    (tmp_path / "a file.bin").write_bytes(content)
    with pytest.raises(ValueError, match=rf"a file\.bin' is neither JSON nor a file of ranks; .*{FILES}"):
        nbbpe.load(tmp_path / "a file.bin")


@pytest.mark.parametrize(("name", "other"), [("vocab.json", "merges.txt"), ("my-merges.txt", "my-vocab.json")])
def test_one_of_gpt2s_files_without_the_other_is_an_error_that_names_both(tmp_path, name, other):
    (tmp_path / name).write_text("{}")
    with pytest.raises(FileNotFoundError, match=rf"{name}' is one of GPT-2's two files, and .*/{other}' is not there"):
        nbbpe.load(tmp_path / name)


def test_a_vocabulary_under_another_name_is_told_from_a_tokenizer_json(tmp_path):
    (tmp_path / "mine.json").write_text('{"a": 0, "b": 1}')
    with pytest.raises(ValueError, match=r"mine\.json: must be .*a vocabulary like GPT-2's, which needs its merges\.txt"):
        nbbpe.load(tmp_path / "mine.json")


def test_json_of_another_kind_is_an_error_that_names_it(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": []}))
    with pytest.raises(ValueError, match=r'config\.json: must be a JSON object with a "model"'):
        nbbpe.load(tmp_path / "config.json")


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tekken.json", "vocab.json", "cl100k_base.tiktoken", "tokenizer.model", "tiktoken.model"]
)
def test_a_pointer_of_git_lfs_is_an_error_that_says_what_it_is(tmp_path, name):
    """As in a checkout of a model without its large files."""
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n")
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(ValueError, match=rf"{name}: is a pointer of Git LFS .*`git lfs pull`"):
        nbbpe.load(tmp_path)


def test_recognising_reads_little(tmp_path):
    (tmp_path / "big.json").write_bytes(b"{" + b" " * 10_000)
    assert recognised(tmp_path / "big.json").kind == "huggingface"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_an_error_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe' is a pipe or a device, and a tokenizer is read from files"):
        nbbpe.load(tmp_path / "pipe")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("name", ["nbbpe.json", "vocab.json", "merges.txt", "tokenizer.json", "tekken.json", "a.tiktoken"])
def test_a_pipe_among_the_files_of_a_tokenizer_is_not_waited_for(tokenizer, tmp_path, name):
    if name in ("nbbpe.json", "vocab.json", "merges.txt"):
        tokenizer.save(tmp_path)
        os.remove(tmp_path / name)
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name}' is a pipe or a device, and a tokenizer is read from files"):
        nbbpe.load(tmp_path)
    if name in ("vocab.json", "merges.txt"):
        for other in "nbbpe.json", "tokenizer.json", "tokenizer_config.json":
            os.remove(tmp_path / other)
        for source in tmp_path, tmp_path / "vocab.json", tmp_path / "merges.txt":
            with pytest.raises(ValueError, match=f"{name}' is a pipe or a device, and a tokenizer is read from files"):
                nbbpe.load(source)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("name", ["nbbpe.json", "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"])
def test_nothing_is_saved_where_a_folder_or_a_pipe_is_in_the_place_of_a_file(tokenizer, tmp_path, make, name):
    tokenizer.save(tmp_path)
    os.remove(tmp_path / name)
    make(tmp_path / name)
    about = os.path.isfile(tmp_path / "nbbpe.json") and (tmp_path / "nbbpe.json").read_bytes()
    with pytest.raises(FileExistsError, match=f"has a {name} that is a folder, a pipe or a device, and not a file"):
        tokenizer.save(tmp_path)
    assert about == (os.path.isfile(tmp_path / "nbbpe.json") and (tmp_path / "nbbpe.json").read_bytes())


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("tokenizer_config.json", {"tokenizer_class": "LukeTokenizer"}, "it is a 'LukeTokenizer'. Save it"),
        ("tokenizer_config.json", {"tokenizer_class": ["a"]}, r"it is a \['a'\]"),
        (
            "tokenizer_config.json",
            {"tokenizer_class": "PreTrainedTokenizerFast"},
            "a 'PreTrainedTokenizerFast', which needs a tokenizer.json, and there is none. Save it",
        ),
        ("config.json", {"tokenizer_class": "LukeTokenizer"}, "config.json says that it is a 'LukeTokenizer'"),
        ("config.json", {"model_type": ["a"]}, r"a \"tokenizer of \['a'\]\""),
        ("config.json", {"model_type": "luke"}, "config.json says that it is a 'tokenizer of luke'"),
        ("tokenizer_config.json", {"add_prefix_space": True}, "it puts a space in front of a text"),
        ("tokenizer_config.json", {"add_bos_token": True, "add_eos_token": False}, "it adds a token to a text"),
        ("tokenizer_config.json", {"add_eos_token": True}, "it adds a token to a text"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9": {"content": "<a>"}}}, "the special token '<a>'"),
        ("tokenizer_config.json", {"pad_token": "<pad>"}, "the special token '<pad>'"),
        ("added_tokens.json", {"<b>": 500}, "the special token '<b>'"),
        ("special_tokens_map.json", {"additional_special_tokens": ["<c>"]}, "the special token '<c>'"),
        ("tokenizer_config.json", {"extra_special_tokens": ["<d>"]}, "the special token '<d>'"),
        ("tokenizer_config.json", {"extra_special_tokens": {"image_token": "<e>"}}, "the special token '<e>'"),
        ("tokenizer_config.json", {"image_token": "<f>"}, "the special token '<f>'"),
        ("tokenizer_config.json", {"model_specific_special_tokens": {"boi": "<g>"}}, "the special token '<g>'"),
        ("special_tokens_map.json", {"eos_token": {"content": texts.SPECIAL, "lstrip": True}}, "the flag lstrip"),
        (
            "tokenizer_config.json",
            {"added_tokens_decoder": {"9": {"content": texts.SPECIAL, "rstrip": True}}},
            "the flag rstrip",
        ),
    ],
)
def test_gpt2s_files_that_are_not_all_of_a_tokenizer_are_refused(tokenizer, tmp_path, name, content, part):
    """transformers gives other ids with what stands beside them."""
    pair = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer.save_gpt2(*pair)
    (tmp_path / name).write_text(json.dumps(content))
    for path in tmp_path, *pair:
        with pytest.raises(ValueError, match=f"vocab.json and merges.txt are not all of this tokenizer: .*{part}"):
            nbbpe.load(path)
    assert nbbpe.load(pair) == tokenizer  # who names both means them
    assert read_tokenizer(tmp_path, pattern="gpt2", special_tokens=[texts.SPECIAL]) == tokenizer


def test_gpt2s_files_without_the_special_token_that_stands_beside_them_are_refused(tmp_path):
    """transformers gives it an id, and here it would be text."""
    nbbpe.train(documents=["the cat"], vocab_size=258).save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert nbbpe.load(tmp_path).special_tokens == {}
    (tmp_path / "added_tokens.json").write_text(json.dumps({texts.SPECIAL: 258}))
    with pytest.raises(ValueError, match=r"the special token '<\|endoftext\|>'"):
        nbbpe.load(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"])
@pytest.mark.parametrize("content", ["[]", '{"pad_token": ', '\ufeff{"tokenizer_class": "RobertaTokenizer"}'])
def test_a_broken_file_beside_gpt2s_files_is_named(tokenizer, tmp_path, name, content):
    """As transformers, which reads it, gives an error."""
    pair = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tokenizer.save_gpt2(*pair)
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{name}(: must be an object|, line 1: not valid JSON)"):
        nbbpe.load(tmp_path)
    assert nbbpe.load(pair) == tokenizer


def test_gpt2s_files_with_what_transformers_writes_beside_them_are_read(tokenizer, tmp_path):
    tokenizer.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    normalized = {"content": texts.SPECIAL, "normalized": True}
    roles = {"bos_token": texts.SPECIAL, "eos_token": normalized, "pad_token": None}
    config = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "add_bos_token": False, **roles}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(roles))
    (tmp_path / "added_tokens.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"model_type": "my_model"}')  # the class is said nearer
    assert nbbpe.load(tmp_path) == tokenizer
    (tmp_path / "config.json").unlink()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(roles | {"unk_token": ""}))  # which is no token
    assert nbbpe.load(tmp_path) == tokenizer
    roles["additional_special_tokens"] = [texts.SPECIAL, "<a>"]
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(roles))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"additional_special_tokens": [texts.SPECIAL]}))
    with pytest.raises(
        ValueError, match="other files there say that it has the special token '<a>', and none names its cl"
    ):
        nbbpe.load(tmp_path)


@pytest.mark.parametrize("about", [{"model_type": "opt"}, {"tokenizer_class": "GPT2TokenizerFast"}, {"n_layer": 2}])
def test_gpt2s_files_of_models_with_its_tokenizer_are_read(tokenizer, tmp_path, about):
    tokenizer.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    (tmp_path / "config.json").write_text(json.dumps(about))
    assert nbbpe.load(tmp_path) == tokenizer


def test_a_vocabulary_with_ends_of_words_is_refused(tmp_path):
    """Where no file says that it is CLIP's."""
    characters = byte_characters().values()
    vocab = {text: number for number, text in enumerate([*characters, *(f"{each}</w>" for each in characters), "th</w>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h</w>\n")
    with pytest.raises(ValueError, match=r"vocab\.json: has each byte also with </w> behind it"):
        nbbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"\n\x0e\n\x05<pad>\x15\0\0\0\0\x18\x03", r"x\.model: is a model of Unigram"),
        (b"\n\x0e\n\x05<pad>\x15\0\0\0\0\x18", r"x\.model: is not a model of sentencepiece, or was truncated"),
        *(
            (pickle.dumps({"a": 1}, protocol), r"x\.model' is a pickle, .* give nbbpe\.load the object")
            for protocol in range(2, 6)
        ),
        (b"1 '\\x00' 1\n2 '\\x01' 1\n", r"x\.model' is a vocabulary of RWKV, .* merges nothing, so it is not BPE; a token"),
        (b"1 b'\\xff' 1\r\n2 '\\x01' 1\r\n", "is a vocabulary of RWKV"),
        (b"GGUF\x03\0\0\0", r"is a model in GGUF: give the tokenizer\.json of the model"),
        (b'{"text": "a"}\n{"text": "b"}\n', r"x\.model' holds JSON lines, as a file of"),
        (b"minbp v1\n", "is neither JSON nor a file of ranks; a tokenizer is"),
        (b"", "is neither JSON nor a file of ranks"),
    ],
)
def test_what_a_file_is_instead_is_said(tmp_path, start, message):
    path = tmp_path / "x.model"
    path.write_bytes(start)
    with pytest.raises(ValueError, match=message):
        nbbpe.load(path)
    path.rename(tmp_path / "tokenizer.model")  # by which it is found in a folder
    with pytest.raises(ValueError, match=message.replace("x", "tokenizer")):
        nbbpe.load(tmp_path)


# Formats to write


@pytest.mark.parametrize(
    ("target", "name", "found"),
    [
        ("new", None, "nbbpe"),
        ("old.v1", None, "nbbpe"),
        ("new.v1/", None, "nbbpe"),
        ("new/vocab.json", None, "gpt2"),
        ("new/a.json", None, "huggingface"),
        ("new/tekken_v3.json", None, "tekken"),
        ("a.tiktoken", None, "tiktoken"),
        ("vocab.json", "huggingface", "huggingface"),
        ("a.json", "tekken", "tekken"),
        ("new", "tiktoken", "tiktoken"),
    ],
)
def test_a_format_follows_from_the_name_of_what_to_write_if_none_is_given(tmp_path, monkeypatch, target, name, found):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.v1").mkdir()
    assert find_format(target, name).name == found
    with pytest.raises(ValueError, match=r"'new\.v1' does not say in which format to write"):
        find_format("new.v1", None)


def test_files_are_written_where_they_are_named(tokenizer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target, name, written in [
        ("a.json", None, ["a.json"]),
        ("vocab.json", None, ["vocab.json", "merges.txt"]),
        ("new", "huggingface", ["new/tokenizer.json"]),
        ("both", "gpt2", ["both/vocab.json", "both/merges.txt"]),
    ]:
        assert find_format(target, name).write(tokenizer, target) == written
        assert all(map(os.path.isfile, written))
        assert nbbpe.load(written[0]) == tokenizer


def test_options_to_read_files_again_give_special_tokens_by_their_ids(tmp_path):
    vocab = {i: bytes([i]) for i in range(256)}
    kinds = {each.name: each for each in FORMATS}
    tok = nbbpe.Tokenizer(vocab, [], {"<b>": 257, "<a>": 256}, pattern=None)
    tok.save_tiktoken(tmp_path / "a.tiktoken")
    assert kinds["tiktoken"].unsaid(tok, [str(tmp_path / "a.tiktoken")]) == [
        "--pattern=none",
        "--special=<a>",
        "--special=<b>",
    ]
    assert not any(each.moves_special(tok) for each in FORMATS)
    far = nbbpe.Tokenizer(vocab, [], {"<a>": 300})
    assert [each.name for each in FORMATS if each.moves_special(far)] == ["tiktoken"]


def test_options_to_read_gpt2s_files_again_are_given_where_others_beside_them_contradict(tmp_path):
    tok = nbbpe.Tokenizer({i: bytes([i]) for i in range(256)}, [], {"<|endoftext|>": 256}, pattern="gpt2")
    gpt2 = find_format(tmp_path, "gpt2")
    written = gpt2.write(tok, str(tmp_path))
    assert gpt2.unsaid(tok, written) == []
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert gpt2.unsaid(tok, written) == ["--pattern=gpt2", "--special=<|endoftext|>"]
    assert read_tokenizer(written[0], ["<|endoftext|>"], "gpt2") == tok
