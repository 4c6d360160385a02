"""Folders of transformers with vocab.json and merges.txt, and no tokenizer.json: the ids of its classes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import texts

import nbbpe
from nbbpe.formats.transformers_folder.classes import CLASS_OF_MODEL
from nbbpe.formats.transformers_folder.classes import CLASSES as KNOWN
from nbbpe.model.byte_alphabet import byte_characters

pytestmark = pytest.mark.filterwarnings("ignore:.*has no merge for")  # of special tokens, which few others are beside

MERGES = [("h", "e"), ("l", "l"), ("Ġ", "h"), ("o", "o"), ("he", "ll"), ("Ġ", "w"), ("1", "2"), ("'", "S"), ("(", "hell")]
ORDINARY = [*byte_characters().values(), *map("".join, MERGES)]
SIZE = len(ORDINARY)
END = "<|endoftext|>"
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
DEBERTA = ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"]
WHISPER = [END, *(f"<|{name}|>" for name in ("startoftranscript", "en", "zh", "translate", "transcribe", "notimestamps"))]
# The classes by the special tokens that their vocabularies have.
CLASSES = {
    "GPT2Tokenizer": [END],
    "CodeGenTokenizerFast": [END],
    "RobertaTokenizer": ROBERTA,
    "BartTokenizerFast": ROBERTA,
    "LongformerTokenizer": ROBERTA,
    "LEDTokenizer": ROBERTA,
    "MvpTokenizer": ROBERTA,
    "DebertaTokenizer": DEBERTA,
    "LayoutLMv3Tokenizer": ROBERTA,
    "GPTNeoXTokenizer": [END, "<|padding|>"],
    "Qwen2Tokenizer": [END],
    "WhisperTokenizer": WHISPER,
}
MODELS = {
    "gpt2": [END],
    "opt": [END],
    "roberta": ROBERTA,
    "bart": ROBERTA,
    "deberta": DEBERTA,
    "olmo": [END, "<|padding|>"],
    "qwen3": [END],
    "whisper": WHISPER,
}
TEXTS = ["hello  World", "(hell", " hell <a>x y <b> hell", *(f"a {token} b{token}" for token in [END, *ROBERTA, *DEBERTA])]


def flagged(content: str, **flags: bool) -> dict[str, Any]:
    """A special token as a tokenizer_config.json has it."""
    no = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    return {"__type": "AddedToken", "content": content, **no, "special": True, **flags}


def saved(folder: Path, special: list[str], **files: dict[str, Any]) -> Path:
    """The two files, and others beside them, by their names without .json."""
    vocab = {text: token_id for token_id, text in enumerate([*ORDINARY, *special])}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    lines = [f"{left} {right}\n" for left, right in MERGES]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(lines), encoding="utf-8")
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def check_as_transformers(folder: Path) -> None:
    """The same ids as transformers gives, also around texts and pairs, and the same added tokens."""
    transformers = pytest.importorskip("transformers", reason="needs transformers 5")
    if int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("needs transformers 5")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = nbbpe.load(folder)
    backend = theirs.backend_tokenizer  # which takes a text, also where the class takes words in boxes
    for text in [*TEXTS, *texts.HARD]:
        assert ours.encode(text, add_special_tokens=True) == backend.encode(text).ids, text
        ids = ours.encode(text)
        assert ids == backend.encode(text, add_special_tokens=False).ids, text
        assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
    assert ours.special_tokens == theirs.get_added_vocab()
    document = json.loads(backend.to_str())
    ours.to_hf(folder / "written.json")
    assert json.loads((folder / "written.json").read_text(encoding="utf-8"))["added_tokens"] == document["added_tokens"]
    around = document["post_processor"]
    if around["type"] != "ByteLevel" and (around["type"] != "TemplateProcessing" or around["special_tokens"]):
        assert ours._model.extras.post_processor == around
    else:
        assert ours._model.extras.post_processor is None
    assert ours == nbbpe.load(folder / "vocab.json")


CONFIGS: dict[str, dict[str, Any]] = {
    "nothing else": {"tokenizer_config": {}},
    "a space in front": {"tokenizer_config": {"add_prefix_space": True, "trim_offsets": False}},
    "tokens around a text": {"tokenizer_config": {"add_bos_token": True, "add_eos_token": True, "bos_token": "<b>"}},
    "tokens of roles": {"tokenizer_config": {"pad_token": flagged("<a>", lstrip=True), "eos_token": "<b>"}},
    "tokens by id": {
        "tokenizer_config": {
            "added_tokens_decoder": {
                str(SIZE + 11): flagged("<c>", special=False),
                str(SIZE + 10): flagged("<a>", rstrip=True, special=False),
            },
            "pad_token": "<b>",
            "mask_token": "<a>",
        }
    },
    "tokens of a list, and by id, that do not say all": {
        "tokenizer_config": {
            "added_tokens_decoder": {
                **{str(SIZE + 10 + number): {"content": text} for number, text in enumerate(("<a>", "<b>", "<c>", "<d>"))},
                str(SIZE + 14): flagged("<e>", special=False),
            },
            "pad_token": "<a>",
            "image_token": "<b>",
            "mask_token": "<h>",
            "extra_special_tokens": [
                *("<c>", flagged("<g>", special=False)),
                *({"__type": "AddedToken", "content": text} for text in ("<f>", "<h>")),
            ],
        }
    },
    "no token to put around a text": {
        "tokenizer_config": {"add_bos_token": True, "add_eos_token": False, "bos_token": "<a>"},
        "special_tokens_map": {"bos_token": None},
    },
    "another class in an older place": {"config": {"model_type": "bert", "tokenizer_class": "BertTokenizer"}},
    "other files": {
        "tokenizer_config": {},
        "added_tokens": {"<a>": SIZE + 5, "<b>": SIZE + 6},
        "special_tokens_map": {"mask_token": flagged("<b>", lstrip=True), "additional_special_tokens": ["<c>"]},
    },
    "other flags each time": {
        "tokenizer_config": {
            "bos_token": flagged("<a>", lstrip=True),
            "eos_token": "<a>",
            "unk_token": flagged("<a>", rstrip=True),
            "pad_token": flagged("<a>", lstrip=True),
        }
    },
}


@pytest.mark.parametrize("files", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(("name", "special"), CLASSES.items(), ids=CLASSES)
def test_a_class_gives_the_ids_of_transformers(tmp_path, name, special, files):
    files = {**files, "tokenizer_config": {"tokenizer_class": name, **files.get("tokenizer_config", {})}}
    check_as_transformers(saved(tmp_path, special, **files))


@pytest.mark.parametrize(("model", "special"), MODELS.items(), ids=MODELS)
def test_a_model_has_the_class_that_transformers_knows(tmp_path, model, special):
    check_as_transformers(saved(tmp_path, special, config={"model_type": model}))


def test_models_have_the_classes_that_transformers_gives_them():
    auto = pytest.importorskip("transformers.models.auto.tokenization_auto", reason="needs transformers 5")
    if not all(isinstance(name, str | None) for name in auto.TOKENIZER_MAPPING_NAMES.values()):
        pytest.skip("needs transformers 5")
    for model, name in CLASS_OF_MODEL.items():
        theirs = (auto.TOKENIZER_MAPPING_NAMES.get(model) or name).removesuffix("Fast")
        # Since version 5, it knows no class of gpt_bigcode.
        assert model == "gpt_bigcode" or KNOWN[theirs] == KNOWN[name], model


def test_a_token_without_flags_is_another_than_one_whose_flags_are_all_false(tmp_path):
    roles = {"eos_token": "<a>", "unk_token": flagged("<a>", lstrip=True), "pad_token": flagged("<a>")}
    check_as_transformers(saved(tmp_path, ROBERTA, tokenizer_config={"tokenizer_class": "RobertaTokenizer", **roles}))


def test_the_class_comes_before_the_model(tmp_path):
    check_as_transformers(saved(tmp_path, ROBERTA, config={"model_type": "roberta", "tokenizer_class": "GPT2Tokenizer"}))


def test_a_file_of_merges_whose_end_is_missing_is_warned_of(tmp_path):
    folder = saved(tmp_path, [], config={"model_type": "gpt2"})
    (folder / "merges.txt").write_text("h e\nl l\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"merges\.txt: has no merge for 7 of \d+ tokens"):
        nbbpe.load(folder)


def test_roberta(tmp_path):
    """Without transformers: the tokens around a text and a pair, and what is taken for a special token."""
    tokenizer = nbbpe.load(saved(tmp_path, ROBERTA, config={"model_type": "roberta"}))
    start, pad, end, unknown, mask = range(SIZE, SIZE + 5)
    assert tokenizer.special_tokens == {"<s>": start, "<pad>": pad, "</s>": end, "<unk>": unknown, "<mask>": mask}
    hell = ORDINARY.index("hell")
    assert tokenizer.encode("hell<mask>", add_special_tokens=True) == [start, hell, mask, end]
    tokenizer.save(tmp_path / "saved")
    assert nbbpe.load(tmp_path / "saved") == tokenizer
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    assert nbbpe.load(tmp_path / "tokenizer.json").encode("hell<mask>", add_special_tokens=True) == [start, hell, mask, end]


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"language": None, "task": None}, ["notimestamps"]),
        ({"language": "English", "task": "transcribe"}, ["en", "transcribe", "notimestamps"]),
        ({"language": "mandarin", "predict_timestamps": True}, ["zh"]),
        ({"language": "ZH", "task": "translate"}, ["zh", "translate", "notimestamps"]),
    ],
)
def test_whisper_puts_the_language_and_the_task_in_front(tmp_path, config, names):
    folder = saved(tmp_path, WHISPER, tokenizer_config={"tokenizer_class": "WhisperTokenizer", **config})
    first = [SIZE + WHISPER.index(f"<|{name}|>") for name in ["startoftranscript", *names]]
    assert nbbpe.load(folder).encode("he", add_special_tokens=True) == [*first, ORDINARY.index("he"), SIZE]
    check_as_transformers(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"language": "klingon"}, "has no token '<|klingon|>', which its class adds to a text"),
        ({"language": 5}, "tokenizer_config.json has the language 5 and the task None, and Whisper does not know"),
        ({"task": "sing"}, "tokenizer_config.json has the language None and the task 'sing', and Whisper does not know"),
    ],
)
def test_what_whisper_does_not_know_is_named(tmp_path, config, message):
    folder = saved(tmp_path, WHISPER, tokenizer_config={"tokenizer_class": "WhisperTokenizer", **config})
    with pytest.raises(ValueError, match=f"^{re.escape(str(folder))}: {re.escape(message)}"):
        nbbpe.load(folder)


def test_an_empty_token_is_no_part_of_a_text(tmp_path):
    """Whisper's vocabulary has one."""
    folder = saved(tmp_path, ["", *WHISPER], config={"model_type": "whisper"})
    assert nbbpe.load(folder).decode([SIZE, ORDINARY.index("he")]) == "he"
    check_as_transformers(folder)
    config = {"tokenizer_class": "WhisperTokenizer", "pad_token": "", "unk_token": flagged("", normalized=True)}
    check_as_transformers(saved(tmp_path, ["", *WHISPER], tokenizer_config=config))


def test_a_token_of_the_older_list_that_has_a_name_is_special(tmp_path):
    config = {"tokenizer_class": "RobertaTokenizer", "image_token": "<x>"}
    listed = {"<x>": SIZE + len(ROBERTA), "<y>": SIZE + len(ROBERTA) + 1}
    check_as_transformers(saved(tmp_path, ROBERTA, tokenizer_config=config, added_tokens=listed))


def test_opt_puts_a_token_in_front(tmp_path):
    roles = dict.fromkeys(("bos_token", "eos_token", "unk_token"), flagged("</s>", normalized=True))
    config = {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "pad_token": flagged("<pad>"), **roles}
    tokenizer = nbbpe.load(saved(tmp_path, ["<s>", "<pad>", "</s>", "<unk>"], tokenizer_config=config))
    assert tokenizer.encode("hell", add_special_tokens=True) == [SIZE + 2, ORDINARY.index("hell")]
    assert tokenizer.special_tokens == {"</s>": SIZE + 2, "<pad>": SIZE + 1}


def test_gpt2s_special_token_gets_the_next_id_where_the_vocabulary_lacks_it(tmp_path):
    """Unless the config says that all of its roles have other tokens, or none."""
    config = {"tokenizer_class": "GPT2Tokenizer", "bos_token": None, "eos_token": None}
    assert nbbpe.load(saved(tmp_path, [], tokenizer_config=config)).special_tokens == {END: SIZE}
    assert nbbpe.load(saved(tmp_path, [], tokenizer_config=config | {"unk_token": None})).special_tokens == {}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sep_token": ""}, "tokenizer_config.json says that it has no sep_token, which its class adds to a text"),
        ({"cls_token": None}, "tokenizer_config.json says that it has no cls_token, which its class adds to a text"),
        ({"image_token": "<i>"}, "image_token is '<i>', and versions of transformers differ in whether that is a token"),
        ({"pad_token": 5}, "tokenizer_config.json: a token must be a string"),
    ],
)
def test_what_a_class_cannot_be_with_is_named(tmp_path, config, message):
    folder = saved(tmp_path, ROBERTA, tokenizer_config={"tokenizer_class": "RobertaTokenizer", **config})
    with pytest.raises(ValueError, match=re.escape(message)):
        nbbpe.load(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.json", "[1]", "vocab.json: must hold a JSON object"),
        ("vocab.json", '{"h": "a"}', "vocab.json: token 'h' has the id 'a', which is not an integer"),
        (
            "merges.txt",
            "h e\na b c\n",
            "merges.txt, line 2: must be two tokens with one space between them, and is 'a b c'",
        ),
        ("merges.txt", "h e\n\n h\n", "merges.txt, line 3: must be two tokens"),
        ("merges.txt", "h \u4e00\n", "merges.txt, line 1: the character"),
        ("merges.txt", "h h\n", "merges.txt, line 1: merges b'h' and b'h', but b'hh' is not in "),
        ("tokenizer_config.json", "[1]", "tokenizer_config.json: must be an object"),
        ("config.json", "[1]", "config.json: must be an object"),
    ],
)
def test_a_broken_file_is_named(tmp_path, name, content, message):
    folder = saved(tmp_path, ROBERTA, config={"model_type": "roberta"})
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        nbbpe.load(folder)


@pytest.mark.parametrize("config", [{"tokenizer_class": "LukeTokenizer"}, {"model_type": "roberta", "sep_token": None}])
def test_the_working_folder_is_named(tmp_path, monkeypatch, config):
    saved(tmp_path, ROBERTA, config=config, tokenizer_config=config)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^\.: "):
        nbbpe.load("vocab.json")
