"""The files that transformers saves beside a tokenizer.json: a folder gives the ids of transformers, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import texts
from timing import seconds

import nbbpe
from nbbpe.conversion import read_tokenizer

END = texts.SPECIAL
TEXT = f"the <a> <b>  <mask> {END}  x[PAD]y"


def described(content: str, **flags: bool) -> dict[str, Any]:
    """A token as an added_tokens_decoder has it."""
    names = "lstrip", "rstrip", "normalized", "single_word"
    return {"content": content, **dict.fromkeys(names, False), "special": True, **flags}


LISTED = {"270": described("<b>"), "266": described("<a>", special=False), "265": described(END, lstrip=True)}
PLAIN = described(END, special=False)
PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
FOLDERS = {
    "nothing": {},
    "a role": {"tokenizer_config.json": {"pad_token": "[PAD]"}},
    "roles in their order": {"tokenizer_config.json": {"pad_token": "[PAD]", "bos_token": "<b>"}},
    "padding": {"tokenizer.json": {"padding": PADDING}, "tokenizer_config.json": {"eos_token": "<a>"}},
    "padding where a role has no token": {
        "tokenizer.json": {"padding": PADDING},
        "tokenizer_config.json": {"eos_token": "<a>", "pad_token": None},
    },
    "padding by a plain token": {
        "tokenizer.json": {"padding": {**PADDING, "pad_token": END}, "added_tokens": [{"id": 265, **PLAIN}]}
    },
    "others": {"tokenizer_config.json": {"additional_special_tokens": ["<b>", "<a>"], "eos_token": END}},
    "others with names": {"tokenizer_config.json": {"extra_special_tokens": {"image_token": "<b>"}, "eos_token": "<a>"}},
    "others with and without names": {
        "tokenizer_config.json": {"extra_special_tokens": {"image_token": END}, "additional_special_tokens": ["<a>"]}
    },
    "a name of a plain token": {
        "tokenizer.json": {"added_tokens": [{"id": 265, **PLAIN}]},
        "tokenizer_config.json": {"extra_special_tokens": {"image_token": END}},
    },
    "others in older files, too": {
        "tokenizer_config.json": {"additional_special_tokens": ["<a>", "<b>"]},
        "special_tokens_map.json": {"additional_special_tokens": ["<b>"]},
    },
    "listed by id": {"tokenizer_config.json": {"added_tokens_decoder": LISTED, "pad_token": "[PAD]"}},
    "older tokens": {"added_tokens.json": {"<a>": 267, "<b>": 266}},
    "older roles": {
        "tokenizer_config.json": {"mask_token": "<b>"},
        "special_tokens_map.json": {"mask_token": described("<mask>", lstrip=True), "pad_token": "[PAD]"},
        "added_tokens.json": {"[PAD]": 266},
    },
    "older files that do not count": {
        "tokenizer_config.json": {"added_tokens_decoder": {}},
        "special_tokens_map.json": {"pad_token": "[PAD]"},
        "added_tokens.json": {"<a>": 266},
    },
    "special only in the tokenizer.json": {"tokenizer_config.json": {"added_tokens_decoder": {"265": PLAIN}}},
    "a role of a listed token": {
        "tokenizer.json": {"added_tokens": [{"id": 265, **PLAIN}, {"id": 266, **described("<b>", special=False)}]},
        "tokenizer_config.json": {"added_tokens_decoder": {"265": PLAIN}, "eos_token": END, "pad_token": "<b>"},
    },
    "an empty token": {"tokenizer_config.json": {"pad_token": "", "eos_token": "<a>"}},
    "what changes no ids": {
        "tokenizer_config.json": {
            "add_bos_token": True,
            "bos_token": END,
            "model_max_length": 5,
            "fast_tokenizer_files": ["tokenizer.json"],
        }
    },
}


@pytest.fixture(scope="module")
def small() -> nbbpe.Tokenizer:
    made = nbbpe.train(documents=["the cat sat on the mat <a> <b> x <mask> y"] * 3, vocab_size=266, special_tokens=[END])
    assert made.special_tokens == {END: 265}
    return made


def write(folder: Path, small: nbbpe.Tokenizer, files: dict[str, Any]) -> None:
    small.to_hf(folder / "tokenizer.json")
    starts = {
        "tokenizer.json": json.loads((folder / "tokenizer.json").read_text()),
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
    }
    for name, content in {"tokenizer_config.json": {}, **files}.items():
        content = starts[name] | content if name in starts else content
        (folder / name).write_text(json.dumps(content))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_has_the_tokens_that_transformers_adds(small, tmp_path, name):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    write(tmp_path, small, FOLDERS[name])
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    tokenizer = nbbpe.load(tmp_path)
    assert tokenizer.special_tokens == theirs.get_added_vocab()
    assert tokenizer.encode(TEXT, add_special_tokens=True) == theirs(TEXT)["input_ids"]
    for text in tokenizer.special_tokens:
        one = tokenizer.encode(f"x{text}y")
        assert tokenizer.decode(one, skip_special_tokens=True) == theirs.decode(one, skip_special_tokens=True)
    assert nbbpe.load(theirs).encode(TEXT) == tokenizer.encode(TEXT)
    if "tokenizer.json" not in FOLDERS[name]:
        assert nbbpe.load(tmp_path / "tokenizer.json") == small  # who names the file means it alone
    assert read_tokenizer(tmp_path, normalizer="ignore") == tokenizer


def test_a_role_gets_the_next_id(small, tmp_path):
    write(tmp_path, small, FOLDERS["a role"])
    assert nbbpe.load(tmp_path).special_tokens == {END: 265, "[PAD]": 266}
    assert nbbpe.load(tmp_path).encode("x[PAD]") == [120, 266]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer_config.json": {"image_token": "<a>"}}, "_config.json: image_token is '<a>', which is no token elsewh"),
        ({"tokenizer_config.json": {"add_prefix_space": True}}, "_config.json: add_prefix_space is True, and in tokenizer"),
        (
            {"tokenizer_config.json": {"fast_tokenizer_files": ["tokenizer.4.0.json"]}},
            "_config.json: fast_tokenizer_files is ",
        ),
        ({"tokenizer_config.json": {"pad_token": "the"}}, r"\('the'\): model.merges\[\d\] .* b'the' is an added token"),
        ({"tokenizer_config.json": {"pad_token": "!"}}, r"files beside it add or change \('!'\): model: .* as '!' is"),
        ({"tokenizer_config.json": {"pad_token": 5}}, "_config.json: a token must be a string, or an object with a conte"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"a": END}}}, "_config.json: added_tokens_decoder must be an"),
        ({"tokenizer_config.json": {"added_tokens_decoder": []}}, "_config.json: added_tokens_decoder must be an object"),
        ({"special_tokens_map.json": {"pad_token": {}}}, "special_tokens_map.json: a token must be a string, or an objec"),
        ({"special_tokens_map.json": []}, r"special_tokens_map.json: must be an object, and is \[\]"),
        ({"added_tokens.json": {"<a>": "266"}}, "added_tokens.json: the id of '<a>' must be an integer, and is '266'"),
    ],
)
def test_what_transformers_alone_can_follow_is_refused_by_name(small, tmp_path, files, message):
    write(tmp_path, small, files)
    with pytest.raises(ValueError, match=message):
        nbbpe.load(tmp_path)
    assert nbbpe.load(tmp_path / "tokenizer.json") == small


def test_a_broken_config_is_named(small, tmp_path):
    write(tmp_path, small, {})
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": ')
    with pytest.raises(ValueError, match=r"tokenizer_config\.json, line 1: not valid JSON"):
        nbbpe.load(tmp_path)


def test_many_tokens_do_not_take_long(small, tmp_path):
    tokens = {str(300 + number): described(f"<{number}>") for number in range(10_000)}
    names = {f"{token_id}_token": "<0>" for token_id in tokens}
    write(tmp_path, small, {"tokenizer_config.json": {"added_tokens_decoder": tokens, **names}})
    assert seconds(lambda: nbbpe.load(tmp_path), rounds=1) < 1  # 2 s if the tokens are gone through for each name
