"""Vocabularies with tokens for the ends of words, as CLIP's: the ids of textbook BPE, transformers' folders, and errors."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive
import pytest
import texts

import nbbpe
from nbbpe.encoding.prepared_encoder import PreparedEncoder
from nbbpe.model.byte_alphabet import byte_characters

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
SPLIT = {"type": "WhitespaceSplit"}
MERGES = [
    ("h", "e"),
    ("l", "l"),
    ("o", "o</w>"),
    ("he", "ll"),
    ("ll", "o</w>"),
    ("hell", "o</w>"),
    ("e", "l</w>"),
    ("o", "o"),
]
CHARACTERS = list(byte_characters().values())
VOCAB = [*CHARACTERS, *(f"{each}</w>" for each in CHARACTERS), *map("".join, MERGES), "<|startoftext|>", "<|endoftext|>"]


START, END = VOCAB[-2:]


def flagged(content: str, **flags: bool) -> dict[str, Any]:
    """A special token as a tokenizer_config.json has it."""
    no = dict.fromkeys(("lstrip", "rstrip", "single_word"), False)
    return {"__type": "AddedToken", "content": content, **no, "special": True, **flags}


def added(content: str) -> dict[str, Any]:
    """An added token of a tokenizer.json."""
    return {"id": VOCAB.index(content), **flagged(content, normalized=False)}


def document(**model: Any) -> dict[str, Any]:
    return {
        "version": "1.0",
        "added_tokens": [added(START), added(END)],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, BYTE_LEVEL]},
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "end_of_word_suffix": "</w>",
            "vocab": {text: token_id for token_id, text in enumerate(VOCAB)},
            "merges": list(map(list, MERGES)),
            **model,
        },
    }


@pytest.fixture
def path(tmp_path) -> Path:
    return written(tmp_path, document())


def written(folder: Path, content: Any) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def ids_of(text: str) -> list[int]:
    """Textbook BPE: the last character of a word has the suffix, and each merge in turn joins its pairs."""
    ids: list[int] = []
    for word in text.split():
        symbols = [f"{word[:1]}</w>"] if len(word) == 1 else [*word[:-1], f"{word[-1]}</w>"]
        for left, right in MERGES:
            symbols = list(naive.merge_word(symbols, left, right, left + right))
        ids += map(VOCAB.index, symbols)
    return ids


def test_ids_are_those_of_textbook_bpe(path):
    tokenizer = nbbpe.load(path)
    rng = random.Random(3)
    for _ in range(300):
        text = "".join(rng.choices("helo  \n", k=rng.randrange(30)))
        assert tokenizer.encode(text) == ids_of(text)
        assert tokenizer.encode(text.encode()) == ids_of(text)


def test_a_word_ends_in_a_space_where_ids_are_decoded(path):
    tokenizer = nbbpe.load(path)
    ids = tokenizer.encode("hello  <|endoftext|>hell o")
    assert tokenizer.decode(ids) == "hello <|endoftext|>hell o "
    assert [tokenizer.id_to_token(token_id) for token_id in ids[:2]] == [b"hello ", b"<|endoftext|>"]
    assert tokenizer.token_to_id(b"oo ") == VOCAB.index("oo</w>")
    assert tokenizer.token_to_id(b"oo") == VOCAB.index("oo")


def test_short_texts_are_encoded_as_long_ones(path, monkeypatch):
    tokenizer = nbbpe.load(path)
    samples = [
        "",
        " ",
        "hello",
        "hello hello\n",
        "h\u00e9 o\udcff \udcffl",
        "a" * 100,
        "\udcff",
        "\u65e5 \u672c",
        "he \ud800",
    ]
    ids = [tokenizer.encode(text) for text in samples]
    monkeypatch.setattr(PreparedEncoder, "encode_short", lambda *arguments: None)
    assert ids == [tokenizer.encode(text) for text in samples]
    assert ids == [tokenizer.encode(f"{text} " * 3000)[: len(found)] for text, found in zip(samples, ids, strict=True)]


def test_dropout_leaves_out_merges_and_no_ends_of_words(path):
    tokenizer = nbbpe.load(path)
    symbols = [*map(VOCAB.index, ["h", "e", "l", "l", "o</w>"]), VOCAB.index("o</w>")]
    assert tokenizer.encode("hello o", dropout=1.0) == symbols
    found = {tuple(tokenizer.encode("hello o", dropout=0.5, seed=seed)) for seed in range(99)}
    assert {tuple(symbols), tuple(ids_of("hello o"))} < found
    assert {tokenizer.decode(ids) for ids in found} == {"hello o "}


def test_what_is_written_is_what_was_read(path, tmp_path):
    tokenizer = nbbpe.load(path)
    tokenizer.to_hf(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())["model"]
    wanted = document()["model"]
    assert {key: again[key] for key in wanted} == wanted
    with pytest.raises(ValueError, match="cuts a text by WhitespaceSplit, WordEnd before"):
        tokenizer.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")


def test_a_vocabulary_without_an_end_of_a_byte_is_not_written(path, tmp_path):
    smaller, _ = nbbpe.load(path).drop([VOCAB.index("q</w>")])
    with pytest.raises(ValueError, match="has the byte 'q', and not 'q</w>' for the end of a word"):
        smaller.to_hf(tmp_path / "again.json")
    assert not (tmp_path / "again.json").exists()


@pytest.mark.parametrize("seed", ["a b", " a", "a  ", "ab ab "])
def test_a_merge_behind_the_end_of_a_word_is_not_written(path, tmp_path, seed):
    """No text has it, but a user may ask for the token; tokenizers would not read the file, or give other ids."""
    larger = nbbpe.load(path).extend(documents=[], rules=nbbpe.TokenRules(seeds=[seed]))
    with pytest.raises(ValueError, match=r"goes on after the end of a word: tokenizer\.json cannot hold it"):
        larger.to_hf(tmp_path / "again.json")
    assert not (tmp_path / "again.json").exists()


def test_a_merge_with_an_end_that_came_later_is_not_written(path, tmp_path):
    tokenizer, _ = nbbpe.load(path).drop([VOCAB.index("q</w>")])
    for seed in "heq", "heq ", "q ":
        tokenizer = tokenizer.extend(documents=[], rules=nbbpe.TokenRules(seeds=[seed]))
    with pytest.raises(ValueError, match="has a merge of 'heq' and '\u0120', which goes on after the end of a word"):
        tokenizer.to_hf(tmp_path / "again.json")


def test_bytes_with_an_end_are_not_pruned(path, tmp_path):
    """A tokenizer.json could not be written without one, and a text uses few of them."""
    tokenizer = nbbpe.load(path)
    n_least = len(VOCAB) - len(MERGES)
    smaller, _ = tokenizer.prune(documents=["hello hello"], n=n_least + 2)
    assert [smaller.token_to_id(token) for token in ("ll", "he", "hello ", "oo")] == [513, 512, None, None]
    smaller.to_hf(tmp_path / "again.json")
    assert nbbpe.load(tmp_path / "again.json") == smaller
    assert tokenizer.prune(documents=["hello"], n=n_least)[0].vocab_size == n_least
    with pytest.raises(ValueError, match=f"the smallest size is {n_least}"):
        tokenizer.prune(documents=["hello"], n=n_least - 1)


def without(*tokens: str) -> dict[str, int]:
    return {text: token_id for text, token_id in document()["model"]["vocab"].items() if text not in tokens}


def with_token(token: str) -> dict[str, int]:
    return {**document()["model"]["vocab"], token: len(VOCAB)}


def steps(*parts: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {**document(), "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(parts)}}


REFUSED: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a number": (lambda: document(end_of_word_suffix=1), "end_of_word_suffix must be a string, and is 1"),
    "ignore_merges": (lambda: document(ignore_merges=True), "'</w>', and ignore_merges is true"),
    "no token of a space": (lambda: document(vocab=without("\u0120")), "model.vocab has no '\u0120', the token of a space"),
    "no end for a byte": (lambda: document(vocab=without("q</w>")), "model.vocab has 'q', and not 'q</w>'"),
    "no end for a byte that is an added token": (
        lambda: {**document(vocab=without("q</w>")), "added_tokens": [added("q")]},
        "model.vocab has 'q', and not 'q</w>'",
    ),
    "an added token that is the end of a byte": (
        lambda: {**document(), "added_tokens": [added("q</w>")]},
        "added token 'q</w>' is also the token of 'q' at the end of a word",
    ),
    "a token with a space": (
        lambda: document(vocab=with_token("oo\u0120")),
        "'oo</w>' and 'oo\u0120' would both stand for the end of a word",
    ),
    "a merge of no two": (lambda: document(merges=[["h"]]), r"model.merges\[0\] must be two tokens, and is \['h'\]"),
    "a merge with a number": (
        lambda: document(merges=[["h", 1]]),
        r"model.merges\[0\] must be two tokens, and is \['h', 1\]",
    ),
    "a merge with a number on the left": (lambda: document(merges=[[1, "h"]]), r"model.merges\[0\] must be two tokens"),
    "a merge that is an object": (lambda: document(merges=[{"h": 1, "e": 2}]), r"model.merges\[0\] must be two tokens"),
    "a merge after the end": (
        lambda: document(merges=["h e", "o</w> o"]),
        r"model.merges\[1\] goes on after the end of a word: 'o</w> o'",
    ),
    "a merge after a merge of what only looks like the end": (
        lambda: document(vocab=with_token("</w>"), merges=["</w> h", "o</w> o"]),
        r"model.merges\[1\] goes on after the end of a word: 'o</w> o'",
    ),
    "a merge after a line that is skipped": (
        lambda: document(merges=["#version: 0.2", "h e", "o</w> o"]),
        r"model.merges\[2\] goes on after the end of a word: 'o</w> o'",
    ),
    "a merge with a space": (
        lambda: document(merges=[["\u0120", "h"]]),
        r"model.merges\[0\] goes on after the end of a word: \['\u0120', 'h'\]",
    ),
    "a merge of an unknown token": (
        lambda: document(merges=["h e", "q z"]),
        r"model.merges\[1\] merges b'q' and b'z', but b'qz' is not in model.vocab",
    ),
    "a step after ByteLevel": (steps(SPLIT, BYTE_LEVEL, {"type": "Digits"}), "if ByteLevel is the last step"),
    "a space in front": (steps(SPLIT, {"type": "ByteLevel"}), "and add_prefix_space false"),
    "words with spaces": (steps(BYTE_LEVEL), "its pre_tokenizer leaves a space in ' a  b '"),
    "the step that nbbpe puts there": (
        steps({"type": "WordEnd", "suffix": "</w>"}, BYTE_LEVEL),
        "pre_tokenizer is WordEnd and ByteLevel; .* 'WordEnd' is not known",
    ),
}


@pytest.mark.parametrize("token", ["</w>", "a\n</w>", "\u6f22", "\u6f22</w>"])
def test_a_token_that_no_word_becomes_changes_nothing(tmp_path, token):
    tokenizer = nbbpe.load(written(tmp_path, document(vocab=with_token(token))))
    assert tokenizer.encode("hello hell o") == ids_of("hello hell o")
    assert tokenizer.vocab_size == len(VOCAB) + 1


@pytest.mark.parametrize("token", ["<x></w>", "\u6f22</w>"])
def test_an_added_token_with_the_end_of_a_word_stays_as_it_is(tmp_path, token):
    content = document(vocab=with_token(token))
    content["added_tokens"].append({"id": len(VOCAB), **flagged(token, normalized=False)})
    tokenizer = nbbpe.load(written(tmp_path, content))
    assert tokenizer.encode(f"hello {token}o") == [*ids_of("hello"), len(VOCAB), *ids_of("o")]
    assert tokenizer.token_to_id(token.encode()) == len(VOCAB)


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_honoured_is_named(tmp_path, make, message):
    with pytest.raises(ValueError, match=rf"tokenizer\.json: .*{message}"):
        nbbpe.load(written(tmp_path, make()))


def test_a_space_that_only_some_words_have_is_named(tmp_path):
    split = {"type": "Split", "pattern": {"Regex": r"x x|\s"}, "behavior": "Removed", "invert": False}
    kept = {"type": "Split", "pattern": {"Regex": r"x x|\S+"}, "behavior": "Removed", "invert": True}
    assert nbbpe.load(written(tmp_path, steps(split, BYTE_LEVEL)())).encode("he x x he") == ids_of("he he")
    tokenizer = nbbpe.load(written(tmp_path, steps(kept, BYTE_LEVEL)()))
    with pytest.raises(ValueError, match="leaves a space in 'x x'"):
        tokenizer.encode("he x x he")


# The folders of transformers


def saved(folder: Path, config: dict[str, Any]) -> Path:
    (folder / "vocab.json").write_text(json.dumps(document()["model"]["vocab"]), encoding="utf-8")
    lines = [f"{left} {right}\n" for left, right in MERGES]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(lines), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "CLIPTokenizer", **config}), encoding="utf-8"
    )
    return folder


CONFIGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "Stable Diffusion 1": {
        "bos_token": flagged(START, normalized=True),
        "eos_token": flagged(END, normalized=True),
        "unk_token": flagged(END, normalized=True),
        "pad_token": END,
    },
    "Stable Diffusion 2": {
        "bos_token": flagged(START, normalized=True),
        "eos_token": flagged(END, normalized=True),
        "unk_token": flagged(END, normalized=True),
        "pad_token": "!",
    },
    "by id": {
        "added_tokens_decoder": {
            str(VOCAB.index(START)): flagged(START, normalized=True),
            str(VOCAB.index(END)): flagged(END, normalized=False),
            str(len(VOCAB)): flagged("<cat-toy>", normalized=True, special=False),
        },
        "bos_token": START,
        "eos_token": END,
    },
    "others": {"additional_special_tokens": ["<x>", "<y>"], "sep_token": "<y>"},
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_folder_without_tokenizer_json_gives_the_ids_of_transformers(tmp_path, config):
    transformers = pytest.importorskip("transformers", reason="needs transformers 5")
    if int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("needs transformers 5")
    folder = saved(tmp_path, config)
    theirs = transformers.CLIPTokenizer.from_pretrained(folder)
    ours = nbbpe.load(folder)
    tokens = [START, END, "<|ENDOFTEXT|>", "<|StartOfText|>", "<cat-toy>", "<CAT-toy>", "<x>", "<y>", "!"]
    for text in ["Hello  hell'LL 12 O!!", *texts.HARD, *(f"a {token}b{token} !" for token in tokens)]:
        assert ours.encode(text, add_special_tokens=True) == theirs(text)["input_ids"], text
    assert ours == nbbpe.load(folder / "vocab.json")


def test_a_folder_that_does_not_name_the_class_is_refused(tmp_path):
    folder = saved(tmp_path, {"tokenizer_class": None})
    with pytest.raises(ValueError, match=r"vocab\.json: has each byte also with </w> behind it.* give its tokenizer\.json"):
        nbbpe.load(folder)


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_a_broken_file_is_named(tmp_path, name):
    folder = saved(tmp_path, {})
    (folder / name).write_text("[]" if name == "vocab.json" else "a b c\n", encoding="utf-8")
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        nbbpe.load(folder)


def test_transformers_gets_what_its_own_class_gives(path):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    from nbbpe.hf import NbbpeTokenizerFast

    ours = NbbpeTokenizerFast(tokenizer_file=str(path))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
    batch = ["hello hell o", "lo<|endoftext|>oo"] * 100
    assert ours(batch)["input_ids"] == theirs(batch)["input_ids"]
    rows = theirs(batch)["input_ids"]
    assert ours.batch_decode(rows * 20) == theirs.batch_decode(rows * 20)  # so many that nbbpe would decode them
    assert ours.convert_ids_to_tokens(rows[0]) == theirs.convert_ids_to_tokens(rows[0])
    assert ours.tokenize(batch[1]) == theirs.tokenize(batch[1])
    for text in "hello o", "hello o ", " he  o\n":
        found, expected = (each(text, return_offsets_mapping=True) for each in (ours, theirs))
        assert found["offset_mapping"] == expected["offset_mapping"]
        assert found.encodings[0].offsets == expected.encodings[0].offsets
