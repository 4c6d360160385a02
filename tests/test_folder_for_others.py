"""The folder that `save` writes is one for tokenizers and transformers, too: with equal ids, and never with stale files."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import texts
from texts import HARD
from vocabularies import BYTE_RANKS, BYTES, ranks_of

import nbbpe
from nbbpe.formats.nbbpe_folder import for_transformers

END = texts.SPECIAL
FOR_OTHERS = {"tokenizer.json", "tokenizer_config.json"}
TEXTS = [*HARD, texts.SAMPLE, f"a{END}b <|user|>", "naïve café ﬁ 1234"]


def trained(pattern: Any = "gpt2", words: str = texts.SAMPLE) -> nbbpe.Tokenizer:
    return nbbpe.train(documents=[words], vocab_size=300, special_tokens=[END, "<|user|>"], pattern=pattern)


def with_normalizer() -> nbbpe.Tokenizer:
    tokenizer = trained("cl100k")
    return nbbpe.Tokenizer(
        tokenizer.vocab, tokenizer.merges, tokenizer.special_tokens, pattern="cl100k", normalizer=["NFC", "Lowercase"]
    )


def by_rank() -> nbbpe.Tokenizer:
    """One without a list of merges of its own: tokenizer.json has another list, which gives the same ids."""
    ranks = [*BYTES.values(), b"abcd", b"bc", b"abc"]
    return nbbpe.load(ListOfRanks(ranks_of(ranks)))


class ListOfRanks:
    """Like a tiktoken.Encoding, as far as `load` looks at it."""

    name = "ranks"
    _pat_str = r"\w+|\W"

    def __init__(self, ranks: dict[bytes, int]) -> None:
        self._mergeable_ranks = ranks
        self._special_tokens = {END: 300}


KINDS = {
    "gpt2": trained,
    "several patterns": lambda: trained([r"\p{N}{1,3}", "gpt2"]),
    "no pattern": lambda: trained(None),
    "a normalizer": with_normalizer,
    "by rank": by_rank,
}


def two_of_one_id() -> nbbpe.Tokenizer:
    """A tokenizer that no tokenizer.json can hold."""
    encoding = ListOfRanks(BYTE_RANKS)
    encoding._special_tokens = {END: 256, "<|user|>": 256}
    return nbbpe.load(encoding)


def with_space(tmp_path: Path) -> nbbpe.Tokenizer:
    """A tokenizer that puts a space in front of texts, which only a tokenizer.json can say."""
    trained().to_hf(tmp_path / "x.json")
    document = json.loads((tmp_path / "x.json").read_text())
    document["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    (tmp_path / "x.json").write_text(json.dumps(document))
    return nbbpe.load(tmp_path / "x.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tok"


def config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizers_reads_the_folder(folder, kind):
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
    tokenizer = KINDS[kind]()
    tokenizer.save(folder)
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in TEXTS:
        assert theirs.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)
    assert nbbpe.load(folder) == tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_transformers_reads_the_folder(folder, kind):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    tokenizer = KINDS[kind]()
    tokenizer.save(folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        assert theirs.encode(text, add_special_tokens=False) == tokenizer.encode(text)
        assert theirs.decode(tokenizer.encode(text)) == tokenizer.decode(tokenizer.encode(text))
    assert len(theirs) == len(tokenizer)
    assert {*tokenizer.special_tokens} == {*theirs.get_added_vocab()}


def test_the_config_says_whether_a_space_goes_in_front(folder, tmp_path):
    """Where it does not, transformers 4 takes the space away, and does what an older config says."""
    tokenizer = with_space(tmp_path)
    for write in tokenizer.save, tokenizer.save_pretrained:
        write(folder)
        assert config(folder)["add_prefix_space"] is True
        assert nbbpe.load(folder) == tokenizer
    tokenizer.save(folder)
    trained().save(folder)
    assert "add_prefix_space" not in config(folder)
    pytest.importorskip("transformers", reason="needs transformers")
    from nbbpe import hf

    made = hf.NbbpeTokenizerFast.from_tokenizer(tokenizer)
    assert made.encode("the") == tokenizer.encode("the") == tokenizer.encode(" the")
    made.save_pretrained(tmp_path / "fast")
    assert config(tmp_path / "fast")["add_prefix_space"] is True
    assert nbbpe.load(tmp_path / "fast") == tokenizer


def test_transformers_takes_nothing_of_older_files(folder):
    """special_tokens_map.json and added_tokens.json, as transformers 4 wrote them: their tokens would get new ids."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    folder.mkdir()
    (folder / "special_tokens_map.json").write_text('{"eos_token": "<x>", "additional_special_tokens": ["<y>"]}')
    (folder / "added_tokens.json").write_text('{"<x>": 302, "<y>": 303}')
    tokenizer = trained()
    tokenizer.save(folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert len(theirs) == len(tokenizer)
    assert theirs.encode("a<x><y>") == tokenizer.encode("a<x><y>")


def test_what_is_saved_is_what_to_hf_writes(folder, tmp_path):
    """Without tokenizers and transformers, too."""
    tokenizer = trained()
    tokenizer.save(folder)
    tokenizer.to_hf(tmp_path / "one.json")
    assert (folder / "tokenizer.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    assert nbbpe.Tokenizer.from_hf(folder / "tokenizer.json") == tokenizer
    added = config(folder)["added_tokens_decoder"]
    assert {token["content"]: int(token_id) for token_id, token in added.items()} == tokenizer.special_tokens


def test_what_no_tokenizer_json_can_hold_is_saved_without_one(folder):
    tokenizer = two_of_one_id()
    for _ in range(2):
        tokenizer.save(folder)
        assert not FOR_OTHERS & set(os.listdir(folder))
        assert nbbpe.load(folder) == tokenizer
        about = json.loads((folder / "nbbpe.json").read_text())
        assert "both have the id 256, which tokenizer.json cannot hold" in about["tokenizer_json"]["left_out"]


def test_stale_files_go(folder):
    trained().save(folder)
    assert set(os.listdir(folder)) > FOR_OTHERS
    two_of_one_id().save(folder)
    assert not FOR_OTHERS & set(os.listdir(folder))
    again = trained("cl100k")
    again.save(folder)
    assert nbbpe.Tokenizer.from_hf(folder / "tokenizer.json") == again


def test_what_a_user_put_into_the_config_stays_if_it_fits(folder):
    trained().save(folder)
    own = {
        "chat_template": "{{ messages }}",
        "padding_side": "left",
        "eos_token": END,
        "pad_token": {"content": "<|user|>", "lstrip": False},
        "bos_token": "<|gone|>",
        "mask_token": ["?"],
        "unk_token": None,
        "add_bos_token": False,
        "user_token": "<|user|>",
        "image_token": "<|gone|>",
        "model_specific_special_tokens": {"user_token": "<|user|>", "image_token": "<|gone|>"},  # of transformers 5
        "extra_special_tokens": ["<|user|>", "<|gone|>"],
        "additional_special_tokens": {"user_token": "<|user|>", "gone_token": {"content": "<|gone|>"}},
        "tokenizer_class": "TokenizersBackend",
        "auto_map": {"AutoTokenizer": ["own_code.Slow", None]},
        "fast_tokenizer_files": ["tokenizer.4.0.0.json", "tokenizer.json"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config(folder) | own))
    other = trained("cl100k")
    other.save(folder)
    found = config(folder)
    for key in "chat_template", "padding_side", "eos_token", "pad_token", "unk_token", "add_bos_token", "user_token":
        assert found[key] == own[key]
    assert found["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert found["extra_special_tokens"] == ["<|user|>"]
    assert found["additional_special_tokens"] == {"user_token": "<|user|>"}
    assert found["model_specific_special_tokens"] == {"user_token": "<|user|>"}
    assert not {"bos_token", "mask_token", "image_token", "auto_map", "fast_tokenizer_files"} & set(found)
    assert nbbpe.load(folder) == other


@pytest.mark.parametrize("content", ["", "[]", "{", '"x"', '{"extra_special_tokens": 3}'])
def test_a_config_that_is_none_is_replaced(folder, content):
    trained().save(folder)
    (folder / "tokenizer_config.json").write_text(content)
    trained().save(folder)
    assert config(folder)["tokenizer_class"] == "PreTrainedTokenizerFast"


@pytest.mark.parametrize("name", sorted(FOR_OTHERS))
def test_files_of_others_are_not_replaced(folder, name):
    """Neither in a folder without a tokenizer of nbbpe's, nor beside one that was saved without a tokenizer.json."""
    folder.mkdir()
    (folder / name).write_text("{}")
    with pytest.raises(FileExistsError, match=f"has a {name} and no nbbpe.json, so nbbpe must not replace it"):
        trained().save(folder)
    (folder / name).unlink()
    two_of_one_id().save(folder)
    (folder / name).write_text("{}")
    with pytest.raises(FileExistsError, match=f"has a {name} that its nbbpe.json does not mention"):
        trained().save(folder)
    assert (folder / name).read_text() == "{}"
    assert nbbpe.load(folder) == two_of_one_id()


def test_folders_that_save_pretrained_made_are_gone_after_an_error(small, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"tokenizer\.json"):
        small.save_pretrained(tmp_path / "new" / "model")
    assert os.listdir(tmp_path) == []
    (tmp_path / "there").mkdir()
    with pytest.raises(OSError, match=r"tokenizer\.json"):
        small.save_pretrained(tmp_path / "there")
    assert os.listdir(tmp_path) == ["there"]


def test_no_folder_stays_of_several_of_which_one_cannot_be_made(small, tmp_path):
    with pytest.raises(OSError, match="name too long"):
        small.save_pretrained(tmp_path / "new" / "model" / ("x" * 300))
    assert os.listdir(tmp_path) == []


def test_the_folder_of_a_symlink_is_made_where_it_is_missing(small, tmp_path):
    os.symlink("on/disk", tmp_path / "link")
    small.save_pretrained(tmp_path / "link" / "model")
    assert nbbpe.load(tmp_path / "on" / "disk" / "model") == small
    os.symlink("circle", tmp_path / "circle")
    with pytest.raises(OSError, match="circle"):
        small.save_pretrained(tmp_path / "circle")


def test_save_and_save_pretrained_share_a_folder(folder):
    """In any order, and with other tokenizers: both libraries read the one that came last."""
    first, second = trained(), trained("cl100k")
    first.save_pretrained(folder, eos_token=END, chat_template="{{ messages }}")
    first.save(folder)
    assert config(folder)["eos_token"] == END
    assert config(folder)["chat_template"] == "{{ messages }}"
    second.save_pretrained(folder, pad_token="<|user|>")
    assert config(folder)["pad_token"] == "<|user|>"
    assert "eos_token" not in config(folder)
    for tokenizer in second, first:
        tokenizer.save(folder)
        assert nbbpe.load(folder) == nbbpe.Tokenizer.from_hf(folder / "tokenizer.json") == tokenizer


def test_another_tokenizer_json_is_noticed(folder, monkeypatch):
    tokenizer = trained()
    tokenizer.save(folder)
    path = folder / "tokenizer.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    # As transformers writes it again: another size, and the same tokenizer.
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    assert nbbpe.load(folder) == tokenizer
    document["added_tokens"].append({**document["added_tokens"][0], "content": "<|new|>", "id": 300})
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not the one that was saved with nbbpe\.json"):
        nbbpe.load(folder)
    assert nbbpe.load(path).special_tokens["<|new|>"] == 300
    assert nbbpe.load(folder, check=False) == tokenizer
    path.write_text("no JSON")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not the one"):
        nbbpe.load(folder)
    path.unlink()
    assert nbbpe.load(folder) == tokenizer
    tokenizer.save(folder)  # as the folder is nbbpe's
    assert nbbpe.Tokenizer.from_hf(path) == tokenizer


def test_loading_does_not_read_what_is_for_others(folder, monkeypatch):
    tokenizer = trained()
    tokenizer.save(folder)
    for name in FOR_OTHERS:
        path = folder / name
        path.write_bytes(b"x" * path.stat().st_size)
    assert nbbpe.load(folder) == tokenizer


def test_the_class_for_transformers_reads_the_folder(folder):
    pytest.importorskip("transformers", reason="needs transformers")
    from nbbpe.hf import NbbpeTokenizerFast

    tokenizer = trained()
    tokenizer.save(folder)
    for text in TEXTS:
        assert NbbpeTokenizerFast.from_pretrained(folder).encode(text) == tokenizer.encode(text)
    for name in for_transformers.NAMES:
        (folder / name).unlink()
    assert NbbpeTokenizerFast.from_pretrained(folder).encode(texts.SAMPLE) == tokenizer.encode(texts.SAMPLE)
