"""The files that transformers saves beside a tokenizer.json: a folder gives the ids of transformers, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import texts
from timing import seconds

import nbbpe
from nbbpe.cli.formats import read_tokenizer

END = texts.SPECIAL
TEXT = f"the <a> <b>  <mask> {END}  x[PAD]y <c> <z>"


def described(content: str, **flags: bool) -> dict[str, Any]:
    """A token as an added_tokens_decoder has it."""
    names = "lstrip", "rstrip", "normalized", "single_word"
    return {"content": content, **dict.fromkeys(names, False), "special": True, **flags}


LISTED = {"270": described("<b>"), "268": described("<a>", special=False), "265": described(END, lstrip=True)}
LSTRIP = {"__type": "AddedToken", **described("<a>", lstrip=True)}
PLAIN = described(END, special=False)
PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
ALONE = {END: 265, "<c>": 267}  # of the tokenizer.json
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
    "others that are said not to be special": {
        "tokenizer_config.json": {
            "additional_special_tokens": [{"__type": "AddedToken", **described("<b>", special=False)}, "<a>"]
        }
    },
    "others that are not said to be special": {
        "tokenizer_config.json": {
            "extra_special_tokens": ["<a>", {"__type": "AddedToken", "content": "<b>", "normalized": False}]
        }
    },
    "others that are not said to be special, in an older file": {
        "special_tokens_map.json": {"extra_special_tokens": [{"content": "<b>", "normalized": False}]}
    },
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
    "others in older files, of which the lists are empty or known": {
        "tokenizer_config.json": {"additional_special_tokens": [], "bos_token": "<b>"},
        "special_tokens_map.json": {"additional_special_tokens": [END], "pad_token": "[PAD]"},
    },
    "listed by id": {"tokenizer_config.json": {"added_tokens_decoder": LISTED, "pad_token": "[PAD]"}},
    "older tokens": {"added_tokens.json": {"<a>": 269, "<b>": 268}},
    "older roles": {
        "tokenizer_config.json": {"mask_token": "<b>"},
        "special_tokens_map.json": {"mask_token": described("<mask>", lstrip=True), "pad_token": "[PAD]"},
        "added_tokens.json": {"[PAD]": 268},
    },
    "older files that do not count": {
        "tokenizer_config.json": {"added_tokens_decoder": {}},
        "special_tokens_map.json": {"pad_token": "[PAD]"},
        "added_tokens.json": {"<a>": 268},
    },
    "special only in the tokenizer.json": {"tokenizer_config.json": {"added_tokens_decoder": {"265": PLAIN}}},
    "a role of a listed token": {
        "tokenizer.json": {"added_tokens": [{"id": 265, **PLAIN}, {"id": 267, **described("<b>", special=False)}]},
        "tokenizer_config.json": {"added_tokens_decoder": {"265": PLAIN}, "eos_token": END, "pad_token": "<b>"},
    },
    "an empty token": {"tokenizer_config.json": {"pad_token": "", "eos_token": "<a>"}},
    "roles of listed tokens, and of one that is not": {
        "tokenizer_config.json": {
            "added_tokens_decoder": {
                "268": {"content": "<a>"},
                "269": described("<b>", special=False, rstrip=True),
            },
            **{"additional_special_tokens": ["<a>"], "bos_token": "<b>", "pad_token": "<c>"},
        },
    },
    "an older role of a token of the vocabulary": {"tokenizer_config.json": {"eos_token": "<c>"}},
    "a role that is said not to be special": {
        "tokenizer_config.json": {"pad_token": {"__type": "AddedToken", "content": "[PAD]", "special": False}},
    },
    "older tokens that are named": {
        "tokenizer_config.json": {"additional_special_tokens": ["<a>"]},
        "added_tokens.json": {"<a>": 268, "<b>": 269},
    },
    "an id that another token has": {"added_tokens.json": {"<a>": 265}},
    "two lists": {"tokenizer_config.json": {"additional_special_tokens": ["<a>"], "extra_special_tokens": ["<b>"]}},
    "a list that is empty": {"tokenizer_config.json": {"additional_special_tokens": ["<a>"], "extra_special_tokens": []}},
    "other names of tokens": {
        "tokenizer_config.json": {"image_token": END, "video_token": "<a>", "extra_special_tokens": ["<a>"]},
    },
    "roles that agree, and roles of tokens that are known": {
        "tokenizer_config.json": {"bos_token": LSTRIP, "eos_token": {**LSTRIP, "special": False}, "pad_token": END},
        "special_tokens_map.json": {"cls_token": described(END, lstrip=True), "sep_token": "<b>", "unk_token": "<b>"},
    },
    "other names of plain tokens": {
        "tokenizer_config.json": {"image_token": "<c>", "model_specific_special_tokens": {"boi": "<a>"}},
        "added_tokens.json": {"<a>": 268},
    },
    "names of their own for plain tokens": {
        "tokenizer_config.json": {"model_specific_special_tokens": {"boi": "<a>"}},
        "added_tokens.json": {"<a>": 268},
    },
    "another name of a plain token in an older file": {"special_tokens_map.json": {"image_token": "<c>"}},
    "what is in a list, too, and has a name of its own": {
        "tokenizer_config.json": {"additional_special_tokens": ["<b>", "<a>"], "extra_special_tokens": {"boi": "<b>"}}
    },
    "flags that agree with those elsewhere": {
        "tokenizer_config.json": {
            "additional_special_tokens": [{"__type": "AddedToken", **described(END)}, LSTRIP],
            "added_tokens_decoder": {"265": described(END), "268": described("<a>", lstrip=True)},
        }
    },
    "other flags of a role of a token of the tokenizer.json": {
        "tokenizer_config.json": {"pad_token": {"__type": "AddedToken", **described(END, lstrip=True)}}
    },
    "tokens that do not say all": {
        "tokenizer_config.json": {
            "added_tokens_decoder": {
                **{str(268 + number): {"content": text} for number, text in enumerate(("<a>", "<b>", "<d>", "<e>"))},
                "272": described("<f>", special=False),
            },
            "pad_token": "<a>",
            "image_token": "<b>",
            "mask_token": "<h>",
            "extra_special_tokens": ["<d>", *({"__type": "AddedToken", "content": text} for text in ("<g>", "<h>"))],
        }
    },
    "a role that merges make": {"tokenizer_config.json": {"pad_token": "the"}},
    "a role that is a byte": {"tokenizer_config.json": {"pad_token": "!"}},
    "a role that model.vocab has": {"tokenizer_config.json": {"bos_token": "<z>", "pad_token": "[PAD]"}},
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
def document(tmp_path_factory) -> dict[str, Any]:
    """A tokenizer.json with an added token that is not special, and one in model.vocab that is no added token."""
    made = nbbpe.train(documents=["the cat sat on the mat <a> <b> x <mask> y"] * 3, vocab_size=266, special_tokens=[END])
    assert made.special_tokens == {END: 265}
    path = tmp_path_factory.mktemp("small") / "tokenizer.json"
    made.to_hf(path)
    document = json.loads(path.read_text())
    document["model"]["vocab"]["<z>"] = 266
    document["added_tokens"].append({"id": 267, **described("<c>", special=False, lstrip=True)})
    return document


def write(folder: Path, document: dict[str, Any], files: dict[str, Any]) -> None:
    starts = {"tokenizer.json": document, "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"}}
    for name, content in {"tokenizer.json": {}, "tokenizer_config.json": {}, **files}.items():
        content = starts[name] | content if name in starts else content
        (folder / name).write_text(json.dumps(content))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_has_the_tokens_that_transformers_adds(document, tmp_path, name):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    write(tmp_path, document, FOLDERS[name])
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    tokenizer = nbbpe.load(tmp_path)
    assert tokenizer.special_tokens == theirs.get_added_vocab()
    tokenizer.to_hf(tmp_path / "written.json")
    both = [(tmp_path / "written.json").read_text(encoding="utf-8"), theirs.backend_tokenizer.to_str()]
    # What was special once is skipped by decoding, though their file then says that it is not.
    ours_added, their_added = ([{**token, "special": None} for token in json.loads(text)["added_tokens"]] for text in both)
    assert ours_added == their_added
    assert tokenizer.encode(TEXT, add_special_tokens=True) == theirs(TEXT)["input_ids"]
    for text in tokenizer.special_tokens:
        one = tokenizer.encode(f"x{text}y")
        assert tokenizer.decode(one, skip_special_tokens=True) == theirs.decode(one, skip_special_tokens=True)
    assert nbbpe.load(theirs).encode(TEXT) == tokenizer.encode(TEXT)
    if "tokenizer.json" not in FOLDERS[name]:
        assert nbbpe.load(tmp_path / "tokenizer.json").special_tokens == ALONE  # who names the file means it alone
    assert read_tokenizer(tmp_path, normalizer="ignore") == tokenizer


@pytest.mark.parametrize("kind", ["GPT2Tokenizer", "Qwen2TokenizerFast", "GPTNeoXTokenizer"])
def test_the_tokenizer_json_counts_whatever_the_class(tmp_path, kind):
    """AutoTokenizer of transformers 5 takes the pattern and the normalizer of these classes instead."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    made = nbbpe.train(documents=[texts.SAMPLE], vocab_size=300, special_tokens=[END], pattern="o200k")
    made.to_hf(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(str(tmp_path))
    assert nbbpe.load(tmp_path) == made
    assert made.encode(texts.SAMPLE) == theirs(texts.SAMPLE)["input_ids"]


@pytest.mark.parametrize("is_special", [False, True])
def test_a_token_that_is_not_special_is_found_in_any_form(document, tmp_path, is_special):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    token = "<e\u0301>"
    files = {"tokenizer_config.json": {"pad_token": token}} if is_special else {"added_tokens.json": {token: 268}}
    write(tmp_path, document | {"normalizer": {"type": "NFC"}}, files)
    ids = nbbpe.load(tmp_path).encode(f"{token} <\u00e9>")
    assert ids == transformers.AutoTokenizer.from_pretrained(str(tmp_path))(f"{token} <\u00e9>")["input_ids"]
    assert ids.count(268) == 2 - is_special


def test_a_role_gets_the_next_id(document, tmp_path):
    write(tmp_path, document, FOLDERS["a role"])
    assert nbbpe.load(tmp_path).special_tokens == ALONE | {"[PAD]": 268}
    assert nbbpe.load(tmp_path).encode("x[PAD]") == [120, 268]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"tokenizer_config.json": {"image_token": "<a>"}},
            "_config.json: image_token is '<a>', which is not a token elsewhere",
        ),
        (
            {"tokenizer_config.json": {"image_token": {"__type": "AddedToken", **described("<a>")}}},
            "_config.json: image_token is '<a>', which is not a token elsewhere",
        ),
        (
            {"tokenizer_config.json": {"model_specific_special_tokens": {"boi": "<a>"}}},
            "_config.json: boi is '<a>', which is not a token elsewhere",
        ),
        (
            {"special_tokens_map.json": {"image_token": "<a>"}},
            "_map.json: image_token is '<a>', which is not a token elsewhere",
        ),
        (
            {"tokenizer_config.json": {"bos_token": "<a>"}, "special_tokens_map.json": {"eos_token": LSTRIP}},
            "tokenizer_config.json or special_tokens_map.json names '<a>' with lstrip, unlike another place in the folder",
        ),
        (
            {"tokenizer_config.json": {"added_tokens_decoder": {}, "pad_token": LSTRIP, "extra_special_tokens": ["<a>"]}},
            "tokenizer_config.json or special_tokens_map.json names '<a>' without lstrip, unlike another place in the f",
        ),
        # Of these, transformers 4 takes the flags of what is named.
        *[
            (files, f"special_tokens_map.json names '{text}' with(out)? {flag}, unlike another place")
            for files, text, flag in [
                ({"tokenizer_config.json": {"additional_special_tokens": [described("<c>")]}}, "<c>", "lstrip"),
                ({"tokenizer_config.json": {"extra_special_tokens": {"boi": described(END, rstrip=True)}}}, END, "rstrip"),
                ({"special_tokens_map.json": {"pad_token": LSTRIP}, "added_tokens.json": {"<a>": 268}}, "<a>", "lstrip"),
                (
                    {"tokenizer_config.json": {"added_tokens_decoder": {}, "pad_token": described(END, lstrip=True)}},
                    END,
                    "lstrip",
                ),
            ]
        ],
        # Of these, it gives other ids than transformers 5.
        (
            {"tokenizer_config.json": {"additional_special_tokens": ["<b>"], "extra_special_tokens": {"boi": "<a>"}}},
            "has a list of special tokens, and '<a>' with a name of its own; versions of transformers then",
        ),
        (
            {"tokenizer_config.json": {"additional_special_tokens": ["<b>", "<a>"], "image_token": "<a>"}},
            "has a list of special tokens, and '<a>' with a name of its own; versions of transformers then",
        ),
        (
            {"tokenizer_config.json": {"pad_token": "<a>", "image_token": LSTRIP}},
            "special_tokens_map.json names '<a>' with lstrip, unlike another place in the folder",
        ),
        (
            {
                "tokenizer_config.json": {"additional_special_tokens": ["<b>"]},
                "special_tokens_map.json": {"additional_special_tokens": ["<b>", END, "<a>"]},
            },
            "_map.json: '<a>' is in a list there, but not in the list in tokenizer_config.json; versions",
        ),
        ({"tokenizer_config.json": {"add_prefix_space": True}}, "_config.json: add_prefix_space is True, and in tokenizer"),
        (
            {"tokenizer_config.json": {"fast_tokenizer_files": ["tokenizer.4.0.json"]}},
            "_config.json: fast_tokenizer_files is ",
        ),
        (
            {
                "tokenizer_config.json": {"extra_special_tokens": []},
                "special_tokens_map.json": {"additional_special_tokens": [END, "<a>"]},
            },
            "_map.json: '<a>' is not in tokenizer.json, and extra_special_tokens is empty in tokenizer_config.json; ",
        ),
        (
            {
                "added_tokens.json": {"<a>": 268},
                "tokenizer_config.json": {"additional_special_tokens": None},
                "special_tokens_map.json": {"additional_special_tokens": ["<a>"]},
            },
            "_map.json: '<a>' is not in tokenizer.json, and additional_special_tokens is empty in",
        ),
        ({"tokenizer_config.json": {"pad_token": "Ġ<"}}, r"\('Ġ<'\): model.merges\[\d\] .* b' <' is an added token"),
        ({"tokenizer_config.json": {"pad_token": "Ġ"}}, r"files beside it add or change \('Ġ'\): model: .* as 'Ġ' is"),
        ({"tokenizer_config.json": {"pad_token": 5}}, "_config.json: a token must be a string, or an object with a conte"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"a": END}}}, "_config.json: added_tokens_decoder must be an"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"\u0663": END}}}, "_config.json: added_tokens_decoder must"),
        ({"tokenizer_config.json": {"added_tokens_decoder": {"9" * 20: END}}}, "_config.json: added_tokens_decoder must"),
        ({"tokenizer_config.json": {"added_tokens_decoder": []}}, "_config.json: added_tokens_decoder must be an object"),
        ({"special_tokens_map.json": {"pad_token": {}}}, "special_tokens_map.json: a token must be a string, or an objec"),
        ({"special_tokens_map.json": []}, r"special_tokens_map.json: must be an object, and is \[\]"),
        ({"added_tokens.json": {"<a>": "268"}}, "added_tokens.json: the id of '<a>' must be an integer, and is '268'"),
        ({"added_tokens.json": {"<a>": True}}, "added_tokens.json: the id of '<a>' must be an integer, and is True"),
    ],
)
def test_what_transformers_alone_can_follow_is_refused_by_name(document, tmp_path, files, message):
    write(tmp_path, document, files)
    with pytest.raises(ValueError, match=message):
        nbbpe.load(tmp_path)
    assert nbbpe.load(tmp_path / "tokenizer.json").special_tokens == ALONE


def test_a_broken_config_is_named(document, tmp_path):
    write(tmp_path, document, {})
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": ')
    with pytest.raises(ValueError, match=r"tokenizer_config\.json, line 1: not valid JSON"):
        nbbpe.load(tmp_path)
    (tmp_path / "added_tokens.json").symlink_to("missing")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"added_tokens\.json"):
        nbbpe.load(tmp_path)


def test_many_tokens_do_not_take_long(document, tmp_path):
    tokens = {str(300 + number): described(f"<{number}>") for number in range(10_000)}
    names = {f"{token_id}_token": "<0>" for token_id in tokens}
    write(tmp_path, document, {"tokenizer_config.json": {"added_tokens_decoder": tokens, **names}})
    assert seconds(lambda: nbbpe.load(tmp_path), rounds=2) < 1  # 2 s if the tokens are gone through for each name


def test_a_tokenizer_without_special_tokens_gets_the_first_one(tmp_path):
    made = nbbpe.train(documents=["the cat sat on the mat"], vocab_size=258, pattern="cl100k")
    made.to_hf(tmp_path / "tokenizer.json")
    # The space is said of ByteLevel alone; here it is one of several.
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "[PAD]", "add_prefix_space": true}')
    loaded = nbbpe.load(tmp_path)
    assert loaded.special_tokens == {"[PAD]": 258}
    assert loaded.encode("at[PAD]") == [256, 258]
