"""Hugging Face's tokenizer.json both ways: ids equal those of the real libraries, and what cannot be honoured is named."""

from __future__ import annotations

import copy
import json
import pickle
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import texts
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES

import nbbpe
from nbbpe.formats.tokenizer_json import writing
from nbbpe.formats.vocab_json.spelling import spell
from nbbpe.model.model import Model
from nbbpe.patterns.pattern import NAMED

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")

SLICE = 30_000
VOCABS = ["gpt2", "cl100k_base", "o200k_base"]
LLAMA3 = NAMED["llama3"].regex
QWEN2 = NAMED["qwen2"].regex
BOS, END = "<|begin_of_text|>", "<|end_of_text|>"
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ\u30a0-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
]


def theirs_of(path: Path) -> Any:
    return tokenizers.Tokenizer.from_file(str(path))


def assert_same(ours: nbbpe.Tokenizer, theirs: Any, strings: list[str]) -> None:
    """Ids are equal, of tokenizers' without what its post-processor adds."""
    for string, encoding in zip(strings, theirs.encode_batch(strings, add_special_tokens=False), strict=True):
        assert ours.encode(string) == encoding.ids, string


# Written by us


@pytest.fixture(scope="module", params=mostly_slow(VOCABS, usual=["gpt2"]))
def famous(request, shared) -> nbbpe.Tokenizer:
    if request.param == "gpt2":
        return request.getfixturevalue("gpt2")
    return nbbpe.Tokenizer.from_tiktoken(shared / "vocabs" / f"{request.param}.tiktoken")


def test_famous_vocabularies_give_the_same_ids_there_and_back(famous, shared, tmp_path):
    famous.to_hf(tmp_path / "tokenizer.json")
    theirs = theirs_of(tmp_path / "tokenizer.json")
    assert_same(famous, theirs, [*texts.real_texts(shared, SLICE), texts.SAMPLE, texts.SPECIAL * 2 + "x"])
    again = nbbpe.Tokenizer.from_hf(tmp_path / "tokenizer.json")
    assert again == famous
    for token, token_id in famous.special_tokens.items():
        assert theirs.token_to_id(token) == token_id
    ids = famous.encode(texts.SAMPLE + texts.SPECIAL)
    assert theirs.decode(ids, skip_special_tokens=False) == texts.SAMPLE + texts.SPECIAL


@pytest.mark.parametrize(
    "pattern", [*NAMED, None, r"\w+|[^\w\s]+", r"[a-zé']+|\d{1,3}+", [r"\p{N}+", "gpt2"], DEEPSEEK, ["cl100k", "[aeiou]"]]
)
def test_a_tokenizer_trained_here_gives_the_same_ids(stories, tmp_path, pattern):
    tokenizer = nbbpe.train(stories, 700, [texts.SPECIAL, "<|é a|>", "<|"], pattern=pattern)
    tokenizer.to_hf(tmp_path / "t.json")
    theirs = theirs_of(tmp_path / "t.json")
    text = stories.read_text(encoding="utf-8")[:30_000]
    strings = ["", " ", "\n\n", texts.SAMPLE, text, f"<|<|é a|><|é{texts.SPECIAL}", "12345 's 'S", "e\u0301" * 9]
    assert_same(tokenizer, theirs, strings)
    again = nbbpe.Tokenizer.from_hf(tmp_path / "t.json")
    assert_same(again, theirs, strings)
    if pattern is None or isinstance(pattern, list) or pattern in NAMED:
        assert again == tokenizer
    again.to_hf(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "t.json").read_bytes()


@given(strings=st.lists(texts.texts(60), min_size=10, max_size=10))
def test_any_text_has_the_same_ids(cl100k, strings):
    ours, theirs = cl100k
    assert_same(ours, theirs, strings)


@pytest.fixture(scope="module")
def cl100k(shared, tmp_path_factory) -> tuple[nbbpe.Tokenizer, Any]:
    ours = nbbpe.Tokenizer.from_tiktoken(shared / "vocabs" / "cl100k_base.tiktoken")
    path = tmp_path_factory.mktemp("hf") / "tokenizer.json"
    ours.to_hf(path)
    return ours, theirs_of(path)


def test_ids_with_gaps_stay_what_they_are(small, tmp_path):
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(small, {"<a>": 1000, "<b>": 500}))
    tokenizer.to_hf(tmp_path / "t.json")
    assert theirs_of(tmp_path / "t.json").encode("<a>x<b>").ids == tokenizer.encode("<a>x<b>") == [1000, 120, 500]
    assert nbbpe.Tokenizer.from_hf(tmp_path / "t.json").special_tokens == tokenizer.special_tokens


def encoding_of(tokenizer: nbbpe.Tokenizer, special: dict[str, int], pattern: str = "gpt2") -> Any:
    """What from_tiktoken takes of an Encoding."""
    ranks = {token: i for i, token in tokenizer.vocab.items() if i not in tokenizer.special_tokens.values()}

    class Encoding:
        name = "test"
        _mergeable_ranks = ranks
        _pat_str = NAMED[pattern].regex
        _special_tokens = special

    return Encoding()


def test_transformers_gives_the_same_ids(small, gpt2, stories, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    for tokenizer in small, gpt2:
        tokenizer.to_hf(tmp_path / "tokenizer.json")
        theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
        text = stories.read_text(encoding="utf-8")[:20_000] + texts.SAMPLE
        assert theirs(text)["input_ids"] == tokenizer.encode(text)
        assert theirs.decode(tokenizer.encode(text)) == text
        assert nbbpe.load(theirs) == tokenizer


UNWRITABLE = {
    "spelled like a token": (
        lambda: with_special({"Ġthe": 900}),
        r"special token 'Ġthe' \(id 900\) is spelled like .*b' the'",
    ),
    "the same id": (lambda: with_special({"<a>": 900, "<b>": 900}), r"'<a>' and '<b>' both have the id 900"),
    "looked up whole": (lambda: whole_with_special("Ġx"), r"special token 'Ġx' is spelled like b' x'"),
    "a pattern of other meaning": (lambda: with_pattern(r"(?i:\bx)|\w+|\W+"), r"'\\\\b' \(character 4"),
}


def with_special(special: dict[str, int]) -> nbbpe.Tokenizer:
    trained = nbbpe.train(iter(["the the the the " * 9]), 259)
    return nbbpe.Tokenizer.from_tiktoken(encoding_of(trained, special))


def whole_with_special(special: str) -> nbbpe.Tokenizer:
    good = document()
    good["model"]["ignore_merges"] = True
    good["model"]["vocab"]["xyz"] = 257
    return nbbpe.Tokenizer.from_hf(tokenizers.Tokenizer.from_str(json.dumps(good))).with_special_tokens([special])


def with_pattern(pattern: str) -> nbbpe.Tokenizer:
    return nbbpe.train(iter(["the cat " * 9]), 260, pattern=pattern)


@pytest.mark.parametrize(("make", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_the_format_cannot_hold_is_an_error_before_anything_is_written(tmp_path, make, message):
    tokenizer = make()
    with pytest.raises(ValueError, match=message):
        tokenizer.to_hf(tmp_path / "t.json")
    assert not list(tmp_path.iterdir())


# Written by tokenizers


def bpe_of(tokenizer: nbbpe.Tokenizer, merges: list[tuple[bytes, bytes]] | None = None, **options: Any) -> Any:
    """A tokenizers.Tokenizer of a tokenizer's vocab and merges, without anything else."""
    vocab = {spell(t): i for i, t in tokenizer.vocab.items() if i not in tokenizer.special_tokens.values()}
    pairs = [(spell(left), spell(right)) for left, right in (tokenizer.merges if merges is None else merges)]
    return tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=pairs, **options))


def byte_level(pattern: str | None, behavior: str = "isolated", invert: bool = False) -> Any:
    ours = tokenizers.pre_tokenizers
    if pattern is None:
        return ours.ByteLevel(add_prefix_space=False)
    split = ours.Split(tokenizers.Regex(pattern), behavior=behavior, invert=invert)
    return ours.Sequence([split, ours.ByteLevel(add_prefix_space=False, use_regex=False)])


def all_pairs(vocab: dict[int, bytes]) -> list[tuple[bytes, bytes]]:
    """Every pair of tokens that joins to a token, as transformers converts files of ranks."""
    known = {token: i for i, token in vocab.items()}
    pairs = [
        (i, known[token[:at]], known[token[at:]], token[:at], token[at:])
        for i, token in vocab.items()
        for at in range(1, len(token))
        if token[:at] in known and token[at:] in known
    ]
    return [(left, right) for *_, left, right in sorted(pairs)]


@pytest.fixture(scope="module")
def trained(stories) -> nbbpe.Tokenizer:
    return nbbpe.train(stories, 1200)


@pytest.fixture(scope="module")
def styles(trained) -> dict[str, Any]:
    """Tokenizers as the well-known models have them."""
    gpt2 = bpe_of(trained, continuing_subword_prefix="", end_of_word_suffix="")
    gpt2.pre_tokenizer = byte_level(None)
    gpt2.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    gpt2.add_special_tokens([tokenizers.AddedToken(texts.SPECIAL, normalized=True)])

    ordinary = dict(trained.vocab)
    # A token that no merges give, which is found all the same.
    ordinary[len(ordinary)] = b" impossible"
    llama3 = bpe_of(nbbpe.Tokenizer(ordinary, []), all_pairs(trained.vocab), ignore_merges=True)
    llama3.pre_tokenizer = byte_level(LLAMA3)
    llama3.add_special_tokens([BOS, END])
    llama3.post_processor = tokenizers.processors.Sequence(
        [
            tokenizers.processors.ByteLevel(trim_offsets=True),
            tokenizers.processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, llama3.token_to_id(BOS))]),
        ]
    )

    qwen2 = bpe_of(trained, unk_token="<unk>", fuse_unk=False)
    qwen2.normalizer = tokenizers.normalizers.NFC()
    qwen2.pre_tokenizer = byte_level(QWEN2)
    qwen2.add_special_tokens([texts.SPECIAL, "<|im_start|>"])
    qwen2.add_tokens([tokenizers.AddedToken("<tool_call>", normalized=False, special=False)])

    gpt4 = bpe_of(trained)
    gpt4.pre_tokenizer = byte_level(LLAMA3, "removed", True)

    possessive = bpe_of(trained)
    possessive.pre_tokenizer = byte_level(r"\p{N}{1,3}+|\p{L}+|\s+")

    neox = bpe_of(trained)
    neox.pre_tokenizer = byte_level(None)
    neox.add_tokens([tokenizers.AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    neox.add_special_tokens([texts.SPECIAL])

    pre = tokenizers.pre_tokenizers
    starcoder = bpe_of(trained)
    starcoder.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])

    deepseek = bpe_of(trained)
    deepseek.pre_tokenizer = pre.Sequence(
        [
            *(pre.Split(tokenizers.Regex(each), "isolated") for each in DEEPSEEK),
            pre.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )

    strange = bpe_of(trained)
    strange.pre_tokenizer = pre.Sequence(
        [pre.Split(" a", "isolated"), pre.Digits(), pre.Split("^$", "isolated"), pre.ByteLevel(add_prefix_space=False)]
    )

    found = {
        "gpt2": gpt2,
        "llama3": llama3,
        "qwen2": qwen2,
        "gpt4": gpt4,
        "possessive": possessive,
        "neox": neox,
        "starcoder": starcoder,
        "deepseek": deepseek,
        "strange": strange,
    }
    for tokenizer in found.values():
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return found


@pytest.mark.parametrize(
    "style", ["gpt2", "llama3", "qwen2", "gpt4", "possessive", "neox", "starcoder", "deepseek", "strange"]
)
def test_files_of_well_known_models_are_read_with_the_same_ids(styles, style, stories, tmp_path):
    theirs = styles[style]
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = nbbpe.Tokenizer.from_hf(tmp_path / "tokenizer.json")
    strings = [
        stories.read_text(encoding="utf-8")[:30_000],
        texts.SAMPLE,
        f"{BOS}<|im_start|>x<tool_call>impossible impossible{END} impossible\n    a          b  c",
        "1234567 12 's'S",
        "am 3. Mai 1871  42\n 7x ²½ ٣٤ 漢字かな交じり文123、あ a^$b ^$12 a a",
        "",
    ]
    assert_same(ours, theirs, strings)
    for string in strings:
        normal = string if ours.normalizer is None else unicodedata.normalize(ours.normalizer, string)
        assert ours.decode(ours.encode(string)) == normal
    assert nbbpe.Tokenizer.from_hf(theirs) == ours
    assert ours.normalizer == ("NFC" if style == "qwen2" else None)
    # And once more through our own folder, a pickle and our own tokenizer.json.
    ours.save(tmp_path / "folder")
    ours.to_hf(tmp_path / "again.json")
    for again in nbbpe.load(tmp_path / "folder"), pickle.loads(pickle.dumps(ours)), nbbpe.load(tmp_path / "again.json"):
        assert_same(again, theirs, strings)
        assert again.special_tokens == ours.special_tokens
    assert nbbpe.load(tmp_path / "folder") == ours


@pytest.mark.parametrize("word", ["the", "gpt2", "o200k"])
@pytest.mark.parametrize("kind", [str, tokenizers.Regex])
def test_a_word_to_split_by_is_a_regex_and_no_name(small, tmp_path, kind, word):
    theirs = bpe_of(small)
    pre = tokenizers.pre_tokenizers
    split = pre.Split(kind(word), "isolated")
    theirs.pre_tokenizer = pre.Sequence([split, pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    theirs.save(str(tmp_path / "tokenizer.json"))
    strings = ["the theory of the gpt2 and o200k, otherthegpt2the", "the", "", word * 3, f" {word} "]
    assert_same(nbbpe.load(tmp_path / "tokenizer.json"), theirs, strings)


# Of SuperBPE's models, of Cohere's Tiny Aya, and of Arcee's Trinity: all group digits from the right.
DIGITS_BY_THREE = {
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "tiny-aya": [r"\d{1,3}(?=(?:\d{3})*\b)", LLAMA3],
    "trinity": [
        r"\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510}",
        r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
        r"\A\p{Nd}{3}|\G\p{Nd}{3}",
        LLAMA3,
    ],
}


@pytest.mark.parametrize("model", DIGITS_BY_THREE)
def test_digits_are_grouped_from_the_right_as_in_tokenizers(small, tmp_path, model):
    theirs = bpe_of(small)
    pre = tokenizers.pre_tokenizers
    splits = [pre.Split(tokenizers.Regex(each), "isolated") for each in DIGITS_BY_THREE[model]]
    theirs.pre_tokenizer = pre.Sequence([*splits, pre.ByteLevel(add_prefix_space=False, use_regex=False)])
    theirs.save(str(tmp_path / "tokenizer.json"))
    strings = ["the 1234567 cats, 12 of 1234th\n", "1234\n", "\u0661\u0662\u0663\u0664", "x" + "7" * 1024, "1 23 456", ""]
    ours = nbbpe.load(tmp_path / "tokenizer.json")
    assert_same(ours, theirs, strings)
    if model == "trinity":
        assert ours.pattern == [r"\p{Nd}{1,3}(?=(?:\p{Nd}{3})*(?!\p{Nd}))", "llama3"]
        assert_same(ours, theirs, [f"{'1' * n} and {'2' * (n + 509)}x{'3' * n}" for n in range(1, 9)])
    ours.to_hf(tmp_path / "again.json")
    assert_same(ours, theirs_of(tmp_path / "again.json"), strings)


@pytest.mark.parametrize("behavior", ["isolated", "merged_with_next"])
def test_a_newline_to_split_by_is_spelled_alike_there_and_back(small, tmp_path, behavior):
    small.to_hf(tmp_path / "a.json")
    theirs = theirs_of(tmp_path / "a.json")
    pre = tokenizers.pre_tokenizers
    theirs.pre_tokenizer = pre.Sequence([pre.Split("\n", behavior), pre.ByteLevel(add_prefix_space=False)])
    ours = nbbpe.Tokenizer.from_hf(theirs)
    ours.to_hf(tmp_path / "b.json")
    again = nbbpe.load(tmp_path / "b.json")
    assert again == ours
    assert again.fingerprint == ours.fingerprint


def test_patterns_are_recognised(styles):
    read = {name: nbbpe.Tokenizer.from_hf(theirs) for name, theirs in styles.items()}
    assert {name: read[name].pattern for name in read if name != "possessive"} == {
        "gpt2": "gpt2",
        "llama3": "llama3",
        "qwen2": "qwen2",
        "gpt4": "llama3",
        "neox": "gpt2",
        "starcoder": "starcoder",
        "deepseek": "deepseek3",
        "strange": [r"(?:\ a)", r"\p{N}+", r"(?:\^\$)", "gpt2"],
    }


def test_a_token_that_merges_do_not_give_cannot_be_said_by_gpt2s_files(styles, tmp_path):
    ours = nbbpe.Tokenizer.from_hf(styles["llama3"])
    assert ours.encode(" impossible") == [1200]
    with pytest.raises(ValueError, match=r"merges\.txt cannot express"):
        ours.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="cannot hold which tokens"):
        ours.save_tiktoken(tmp_path / "x.tiktoken")  # in which a pretoken that is a token is that token, too
    ranks = nbbpe.Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", ours.pattern, ours.special_tokens)
    text = texts.SAMPLE + " impossible impossibles"
    assert ranks.encode(text) == ours.encode(text)


def test_truncation_and_padding_are_left_out(styles):
    theirs = copy.deepcopy(styles["gpt2"])
    theirs.enable_truncation(3)
    theirs.enable_padding(length=5)
    assert nbbpe.Tokenizer.from_hf(theirs) == nbbpe.Tokenizer.from_hf(styles["gpt2"])


# What cannot be honoured, or is broken

SPLIT = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\P{L}+"}, "behavior": "Isolated", "invert": False}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TOKEN = {
    "id": 257,
    "content": "<s>",
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


def document() -> dict[str, Any]:
    """A good tokenizer.json of 257 tokens."""
    parts = Model(BYTES | {256: b"ab"}, [(b"a", b"b")], {}, NAMED["gpt2"], False)
    return json.loads(writing.content(parts))


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


OFFSETS = {"trim_offsets": True, "add_prefix_space": False}


def changed(key: str, value: Any) -> Callable[[], Any]:
    """The good file with one thing changed; a key may be of the model."""

    def make() -> Any:
        found = document()
        where = found["model"] if key.startswith("model.") else found
        where[key.removeprefix("model.")] = value
        return found

    return make


def vocab_with(**entries: Any) -> Callable[[], Any]:
    return changed("model.vocab", document()["model"]["vocab"] | entries)


def added(*tokens: dict[str, Any]) -> Callable[[], Any]:
    return changed("added_tokens", [TOKEN | token for token in tokens])


def spaced() -> dict[str, Any]:
    """A model that merges `ab` and the space before it."""
    model = document()["model"]
    return model | {"vocab": model["vocab"] | {"Ġab": 257}, "merges": [*model["merges"], "Ġ ab"]}


def odd_vocab() -> dict[str, int]:
    return document()["model"]["vocab"] | {"a 中": 257}


def raw_space() -> dict[str, int]:
    return document()["model"]["vocab"] | {" ": 257}


REFUSED = {
    "Precompiled": (
        changed("normalizer", {"type": "Precompiled"}),
        r"normalizer is 'Precompiled', .* normalizer=\"ignore\"",
    ),
    "a sequence of normalizers": (
        changed("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Precompiled"}]}),
        "normalizer is 'Precompiled', and nbbpe can honour NFC",
    ),
    "a normalizer with more to it": (
        changed("normalizer", {"type": "NFC", "x": 1}),
        "normalizer NFC has 'x', which nbbpe does not know",
    ),
    "Strip without sides": (changed("normalizer", {"type": "Strip"}), "normalizer Strip needs strip_left and strip_right"),
    "Prepend without text": (changed("normalizer", {"type": "Prepend"}), "normalizer Prepend needs a text"),
    # tokenizers then doubles the first character, or panics.
    "an empty Prepend": (changed("normalizer", {"type": "Prepend", "prepend": ""}), "normalizer Prepend needs a text"),
    "Replace without content": (
        changed("normalizer", {"type": "Replace", "pattern": {"String": "a"}}),
        "normalizer Replace needs a pattern and a content",
    ),
    "Replace of nothing": (
        changed("normalizer", {"type": "Replace", "pattern": {"String": ""}, "content": "a"}),
        "normalizer Replace needs the pattern of a String or a Regex",
    ),
    "a normalizer without type": (changed("normalizer", {}), 'normalizer must be null or an object with a "type"'),
    "WordPiece": (changed("model.type", "WordPiece"), "model.type is 'WordPiece'"),
    "dropout": (changed("model.dropout", 0.1), "model.dropout is 0.1, which makes encoding random"),
    "a prefix": (changed("model.continuing_subword_prefix", "##"), "model.continuing_subword_prefix is '##'"),
    "a suffix": (changed("model.end_of_word_suffix", "</w>"), r"the words of this tokenizer end in .</w>."),
    "a new key of the model": (changed("model.magic", 1), "model has 'magic', which nbbpe does not know"),
    "a new key": (changed("magic", 1), "the file has 'magic'"),
    "a new version": (changed("version", "2.0"), "version must be \"1.0\", and is '2.0'"),
    "ignore_merges as text": (changed("model.ignore_merges", "no"), "ignore_merges must be true or false"),
    "no pre_tokenizer": (changed("pre_tokenizer", None), "pre_tokenizer is null"),
    "Whitespace": (changed("pre_tokenizer", {"type": "Whitespace"}), "pre_tokenizer is Whitespace"),
    "Metaspace": (changed("pre_tokenizer", {"type": "Metaspace"}), "pre_tokenizer is Metaspace"),
    "Split alone": (changed("pre_tokenizer", sequence(SPLIT)), "pre_tokenizer is Split;"),
    "ByteLevel twice": (changed("pre_tokenizer", sequence(LEVEL, LEVEL)), "pre_tokenizer is ByteLevel and ByteLevel"),
    "a sequence without steps": (changed("pre_tokenizer", {"type": "Sequence"}), "'pretokenizers' must be a list"),
    "a prefix space as text": (changed("pre_tokenizer", LEVEL | {"add_prefix_space": "no"}), "must be true or false"),
    "a template of nothing": (
        changed("post_processor", {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}], "pair": []}),
        "is neither a text nor a known special token",
    ),
    "a template with a text twice": (
        changed("post_processor", {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 2}),
        "post_processor: the template of one text must have it once",
    ),
    "Bert with an id below 0": (
        changed("post_processor", {"type": "BertProcessing", "cls": ["a", -1], "sep": ["a", 1]}),
        r"post_processor: cls must be a token and its id, and is \['a', -1\]",
    ),
    "an id around a text that is too large": (
        changed(
            "post_processor",
            {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "a", "type_id": 0}}],
                "special_tokens": {"a": {"id": "a", "ids": [2**31], "tokens": ["a"]}},
            },
        ),
        r"post_processor: .* has the ids \[2147483648\]; ids are from 0 to 2,147,483,646",
    ),
    "Roberta without its options": (
        changed("post_processor", {"type": "RobertaProcessing", "cls": ["a", 97], "sep": ["b", 98], "trim_offsets": True}),
        "is 'RobertaProcessing', and for its keys .'cls', 'sep', 'trim_offsets'. tokenizers takes it for BertProcessing",
    ),
    "Bert with options of Roberta": (
        changed("post_processor", {"type": "BertProcessing", "cls": ["a", 97], "sep": ["b", 98], **OFFSETS}),
        "is 'BertProcessing', and for its keys .* tokenizers takes it for RobertaProcessing",
    ),
    "ByteLevel with ends": (
        changed("post_processor", {"type": "ByteLevel", "cls": ["a", 97], "sep": ["b", 98], **OFFSETS}),
        "is 'ByteLevel', and for its keys .* tokenizers takes it for RobertaProcessing",
    ),
    "ByteLevel with templates": (
        changed("post_processor", {"type": "ByteLevel", "single": [], "pair": [], "special_tokens": {}}),
        "is 'ByteLevel', and for its keys .* tokenizers takes it for TemplateProcessing",
    ),
    "a sequence with ends": (
        changed(
            "post_processor",
            {"type": "Sequence", "processors": [{"type": "ByteLevel"}], "cls": ["a", 97], "sep": ["b", 98]},
        ),
        "is 'Sequence', and for its keys .* tokenizers takes it for BertProcessing",
    ),
    "a sequence of a sequence with templates": (
        changed(
            "post_processor",
            {
                "type": "Sequence",
                "processors": [
                    {"type": "Sequence", "processors": [], "single": [], "pair": [], "special_tokens": {}},
                ],
            },
        ),
        "is 'Sequence', and for its keys .* tokenizers takes it for TemplateProcessing",
    ),
    "Roberta without ids": (changed("post_processor", {"type": "RobertaProcessing"}), "cls must be a token and its id"),
    "Split by a number": (
        changed("pre_tokenizer", sequence(SPLIT | {"pattern": {"String": 1}}, LEVEL)),
        "Split by {'String': 1}, and nbbpe splits by a regex or a string only",
    ),
    "Split by nothing": (
        changed("pre_tokenizer", sequence(SPLIT | {"pattern": {"String": ""}}, LEVEL)),
        "matches the empty string",
    ),
    "a regex of a normalizer of another meaning": (
        changed("normalizer", {"type": "Replace", "pattern": {"Regex": r"\h"}, "content": "x"}),
        r"normalizer: '\\\\h' \(character 0",
    ),
    "Split of no known behavior": (
        changed("pre_tokenizer", sequence(SPLIT | {"behavior": "removed"}, LEVEL)),
        "behavior 'removed', which is none of Isolated, Removed",
    ),
    "a regex of another meaning": (
        changed("pre_tokenizer", sequence(SPLIT | {"pattern": {"Regex": r"\h|\W"}}, LEVEL)),
        r"splits by a regex that nbbpe cannot honour: '\\\\h.* \(character 0",
    ),
    "a broken regex": (
        changed("pre_tokenizer", sequence(SPLIT | {"pattern": {"Regex": "(a"}}, LEVEL)),
        "splits by a regex that nbbpe cannot honour",
    ),
    "a strange post_processor": (changed("post_processor", {"type": "Magic"}), "post_processor is 'Magic'"),
    "a decoder of another kind": (changed("decoder", {"type": "Metaspace"}), "decoder is 'Metaspace'"),
    "an added token twice": (added({}, {}), r"added_tokens\[1\] is '<s>', which comes twice"),
    "an added token without content": (added({"content": ""}), r"added_tokens\[0\] must be an object with a content"),
    "an added token that is text": (
        changed("added_tokens", ["<s>"]),
        r"added_tokens\[0\] must be an object with a content",
    ),
    "added tokens as an object": (changed("added_tokens", {"<s>": 257}), "added_tokens must be a list"),
    "an id that tokenizers would not give": (added({"id": 300}), r"has the id 300, but tokenizers would give it 257"),
    "an id as text": (added({"id": "257"}), r"has the id '257', but"),
    "an id with a fraction": (added({"id": 257.0}), r"has the id 257\.0, but"),
    "an added token that is spelled like one that a merge needs": (
        lambda: {**added({"content": "Ġab", "id": 257})(), "model": spaced()},
        r"merges\[1\] .* b' ab' is an added token",
    ),
    "an added token that is spelled like a byte": (
        added({"content": "Ġ", "id": 32}),
        "vocab lacks 1 of the 256 single bytes.*b' '.* as 'Ġ' is",
    ),
    "a token in two spellings": (
        vocab_with(**{"é 中": 257, spell("é 中".encode()): 258}),
        "'é 中' and '.*' both stand for",
    ),
    "a token in two spellings, of which an added token has one": (
        lambda: {
            **added({"content": "Ġab", "id": 257})(),
            "model": spaced() | {"vocab": spaced()["vocab"] | {" ab": 258}},
        },
        "' ab' and 'Ġab' both stand for b' ab'",
    ),
    "a byte in two spellings, of which an added token has one": (
        lambda: {**added({"content": "Ġ", "id": 32})(), "model": document()["model"] | {"vocab": raw_space()}},
        "' ' and 'Ġ' both stand for b' '",
    ),
    "a token that is not spelled, looked up whole": (
        lambda: {**document(), "model": document()["model"] | {"ignore_merges": True} | {"vocab": odd_vocab()}},
        "'a 中' has characters that stand for no byte",
    ),
    "an added token spelled like another, looked up whole": (
        lambda: {**added({"content": "Ġx"})(), "model": document()["model"] | {"ignore_merges": True}},
        "added token 'Ġx' is spelled like b' x'",
    ),
    "an added word that is not found in all text, looked up whole": (
        lambda: {
            **added({"content": "the", "single_word": True})(),
            "model": document()["model"] | {"ignore_merges": True, "vocab": vocab_with(the=257)()["model"]["vocab"]},
        },
        "added token 'the' of model.vocab may be a pretoken",
    ),
    "Digits of bytes, looked up whole": (
        lambda: {
            **changed("pre_tokenizer", sequence(LEVEL, {"type": "Digits", "individual_digits": False}))(),
            "model": document()["model"] | {"ignore_merges": True, "vocab": vocab_with(**{"Â½": 257})()["model"]["vocab"]},
        },
        "pre_tokenizer has Digits after ByteLevel, .* model.ignore_merges",
    ),
    "an added token of which nothing is left": (
        lambda: {**added({"content": "\u0301", "normalized": True})(), "normalizer": {"type": "StripAccents"}},
        "added token '\u0301' is to be found in normalized text, and the normalizer leaves nothing of it",
    ),
    "vocab as a list": (changed("model.vocab", ["a"]), "model.vocab must be an object from tokens to ids, not list"),
    "a byte missing": (
        changed("model.vocab", {k: v for k, v in document()["model"]["vocab"].items() if k != "x"}),
        r"model: vocab lacks 1 of the 256 single bytes.*b'x'",
    ),
    "an id twice": (vocab_with(abc=256), r"model.vocab: id 256 is given to 'ab' and to 'abc'"),
    "an id that is none": (vocab_with(abc="1"), r"model.vocab: token 'abc' has the id '1'"),
    "an id too large": (vocab_with(abc=2**31), r"model.vocab: token 'abc' has the id 2147483648"),
    "merges as an object": (changed("model.merges", {}), "model.merges must be a list, not dict"),
    "a merge of three": (
        changed("model.merges", ["a b", "a b c"]),
        r"model.merges\[1\] must be two tokens, and is 'a b c'",
    ),
    "a merge of one": (changed("model.merges", [["a"]]), r"model.merges\[0\] must be two tokens"),
    "a merge of numbers": (changed("model.merges", [[1, 2]]), r"model.merges\[0\] must be two tokens"),
    "a merge of an unknown side": (
        changed("model.merges", [["ab", "ab"]]),
        r"merges\[0\] .* b'abab' is not in model.vocab",
    ),
    "a merge of no byte": (changed("model.merges", ["a 中"]), r"model.merges\[0\]: the character '中'"),
    "a merge twice": (
        changed("model.merges", ["a b", ["a", "b"]]),
        r"merges\[1\] merges b'a' and b'b', as model.merges\[0\]",
    ),
    "a merge twice, all spelled alike": (
        changed("model.merges", ["a b", "a b"]),
        r"merges\[1\] merges b'a' and b'b', as model.merges\[0\]",
    ),
    "a Unigram model, whose normalizer is not known": (
        lambda: {"normalizer": {"type": "Precompiled"}, "model": {"type": "Unigram", "vocab": [["<unk>", 0.0]]}},
        "model.type is 'Unigram', and nbbpe reads BPE only",
    ),
    "BPE on characters, without tokens for bytes": (
        changed("pre_tokenizer", None),
        r"pre_tokenizer is null; .*one of characters, .* byte_fallback .*: use tokenizers for this file",
    ),
    "the same that splits as Gemma's": (
        changed("pre_tokenizer", {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}),
        "pre_tokenizer is Split; .*one of characters",
    ),
    "no model": (lambda: {"version": "1.0"}, "must be a JSON object with a \"model\", .*, and has 'version'$"),
    "nothing": (lambda: {}, 'must be a JSON object with a "model", .*, and has no entries$'),
    "a list": (lambda: [], r'must be a JSON object with a "model", .*, and is \[\]$'),
    "Keras": (
        lambda: {"class_name": "Tokenizer", "config": {"num_words": None}},
        "has 'class_name', 'config'; this is a tokenizer of Keras",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_honoured_is_named(tmp_path, make, message):
    path = tmp_path / "the tokenizer.json"
    path.write_text(json.dumps(make()), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"the tokenizer\.json: .*{message}"):
        nbbpe.Tokenizer.from_hf(path)


def test_a_regex_that_cannot_be_honoured_is_told_once(tmp_path):
    for behavior in "Isolated", "Removed":  # a pattern, and a step of a cutter
        split = {"type": "Split", "pattern": {"Regex": "(?i)a"}, "behavior": behavior, "invert": False}
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(changed("pre_tokenizer", sequence(split, LEVEL))()), encoding="utf-8")
        with pytest.raises(ValueError, match=r"tokenizer\.json: pre_tokenizer splits by a regex") as caught:
            nbbpe.load(path)
        assert str(caught.value).count("cannot honour") == 1


def test_the_file_that_these_change_is_good(tmp_path):
    path = tmp_path / "tokenizer.json"
    fused = changed("decoder", {"type": "Sequence", "decoders": [LEVEL, {"type": "Fuse"}]})()
    for good in document(), changed("model.merges", ["a b"])(), added({})(), added({"normalized": True})(), fused:
        path.write_text(json.dumps(good), encoding="utf-8")
        ours, theirs = nbbpe.Tokenizer.from_hf(path), theirs_of(path)
        assert ours.encode("ab<s>abc") == theirs.encode("ab<s>abc").ids
    translated = changed("normalizer", {"type": "Replace", "pattern": {"Regex": r"a{1,2}+|b\z"}, "content": "x"})()
    path.write_text(json.dumps(translated), encoding="utf-8")
    for text in "aaaa", "ab\nb\n", "b":
        assert nbbpe.Tokenizer.from_hf(path).encode(text) == theirs_of(path).encode(text).ids
    several = added({"id": 258}, {"content": "the", "id": 257}, {"content": "<t>", "id": 259})()
    several["model"]["vocab"]["the"] = 257
    path.write_text(json.dumps(several), encoding="utf-8")
    assert nbbpe.Tokenizer.from_hf(path).encode("the<s>ab<t>") == theirs_of(path).encode("the<s>ab<t>").ids
    again = changed("pre_tokenizer", sequence(sequence(SPLIT), sequence(LEVEL)))()
    path.write_text(json.dumps(again), encoding="utf-8")
    assert nbbpe.Tokenizer.from_hf(path).pattern == r"\p{L}+|\P{L}+"


def test_lines_of_merges_that_begin_as_the_first_of_a_merges_txt_are_skipped(tmp_path):
    path = tmp_path / "tokenizer.json"
    good = vocab_with(**{"#version": 257, "#versions": 258})()
    good["pre_tokenizer"] = sequence(SPLIT | {"pattern": {"Regex": "[^ ]+"}}, LEVEL | {"use_regex": False})
    good["model"]["vocab"] |= {"#version"[:n]: 257 + n for n in range(2, 8)}
    pairs = [["#version"[:n], "#version"[n]] for n in range(1, 8)] + [["#version", "s"], ["a", "b"]]
    lines = [" ".join(pair) for pair in pairs]
    for merges, n in (["#version: 0.2", *lines], 8), (lines, 8), (pairs, 9):
        good["model"]["merges"] = merges
        path.write_text(json.dumps(good), encoding="utf-8")
        ours = nbbpe.load(path)
        assert_same(ours, theirs_of(path), ["#versions ab", "#version"])
        assert len(ours.merges) == n
    for merges in ["#version: 0.2", "a b", "a z"], ["a b", "# v", "a z", "#version: 0.2"]:
        good["model"]["merges"] = merges
        path.write_text(json.dumps(good), encoding="utf-8")
        with pytest.raises(ValueError, match=r"model\.merges\[2\] merges b'a' and b'z'"):
            nbbpe.load(path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("whole", [False, True])
def test_added_tokens_may_have_the_ids_of_ordinary_ones(small, tmp_path, whole):
    """As where words are added of which some are tokens, or the token for padding is one. They are ordinary tokens, too."""
    rng, path = random.Random(11), tmp_path / "tokenizer.json"
    words = [token.decode() for token in small.vocab.values() if token.isalpha() and token.islower() and len(token) > 1]
    text = texts.SAMPLE.lower() + "".join(words)
    small.to_hf(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["model"]["ignore_merges"] = whole
    for _ in range(examples(30, 250)):
        wanted = rng.sample(words, rng.randrange(1, 4)) + rng.sample(["a", "!", "<new>", "\n"], 2)
        made = tokenizers.Tokenizer.from_str(json.dumps(document))
        made.normalizer = rng.choice([None, tokenizers.normalizers.Lowercase(), tokenizers.normalizers.Replace("th", "t")])
        for word in wanted:
            rules = {rule: rng.random() < 0.2 for rule in ("single_word", "lstrip", "rstrip")}
            token = tokenizers.AddedToken(word, normalized=rng.random() < 0.5, **rules)
            (made.add_special_tokens if rng.random() < 0.3 else made.add_tokens)([token])
        made.save(str(path))
        ours = nbbpe.load(path)
        assert ours.special_tokens == {token.content: i for i, token in made.get_added_tokens_decoder().items()}
        assert ours.merges == small.merges
        ours.save(tmp_path / "folder")
        ours.to_hf(path)
        assert nbbpe.load(tmp_path / "folder") == nbbpe.load(path) == ours == pickle.loads(pickle.dumps(ours))
        starts = [rng.randrange(len(text)) for _ in range(20)]
        strings = [" ".join(rng.sample(wanted, 2)).join([text[start : start + 20], "the"]) for start in starts]
        for theirs in made, theirs_of(path):
            assert_same(ours, theirs, strings)
        for ids in map(ours.encode, strings if made.normalizer is None else ()):  # else tokenizers spells some otherwise
            assert ours.decode(ids, skip_special_tokens=True) == made.decode(ids)
        if made.normalizer is None:
            line = text.replace("\n", "")  # which is always found where it is an added token
            assert ours.encode_ordinary(line) == small.encode_ordinary(line)


def test_two_tokens_that_normalizing_makes_one_are_told(small, tmp_path):
    small.to_hf(tmp_path / "tokenizer.json")
    made = theirs_of(tmp_path / "tokenizer.json")
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.add_tokens(["<A>", "<b>", "<a>", tokenizers.AddedToken("<B>", normalized=False)])
    made.save(str(tmp_path / "tokenizer.json"))
    with pytest.warns(UserWarning, match="'<A>' and '<a>' are both '<a>' in normalized text.*by chance") as caught:
        ours = nbbpe.load(tmp_path / "tokenizer.json")
    assert [warning.filename for warning in caught] == [__file__]
    assert ours.encode("<A><a><B><b>") == [ours.special_tokens[token] for token in ("<A>", "<A>", "<B>", "<b>")]


def test_what_shares_an_id_is_not_dropped_or_renamed(small, tmp_path):
    path = tmp_path / "tokenizer.json"
    small.to_hf(path)
    made = theirs_of(path)
    made.add_tokens(["the", "a"])
    made.save(str(path))
    ours = nbbpe.load(path)
    the = small.token_to_id("the")
    assert (len(ours), ours.vocab_size, ours.id_to_token(the), ours.token_to_id("the")) == (len(small), 400, b"the", the)
    for call in lambda: ours.drop([the]), lambda: ours.truncate(260):
        with pytest.raises(ValueError, match=rf"'the' \(id {the}\) is an added token, too, so it cannot be dropped"):
            call()
    with pytest.raises(ValueError, match=f"'the' shares its id, {the}, with an ordinary token, so it cannot be renamed"):
        ours.rename_special_tokens({"the": "<the>"})
    for call in lambda: ours.save_gpt2(tmp_path / "a", tmp_path / "b"), ours.to_tiktoken:
        with pytest.raises(ValueError, match="has added tokens with ids of ordinary tokens, such as 'a', which"):
            call()
    smaller, _ = ours.prune(documents=["xyz"], n=270)
    larger = ours.extend(documents=["dogs and dogs"], vocab_size=404).with_special_tokens(["<x>"])
    for other in smaller, larger:
        assert other.decode([other.special_tokens["the"], other.special_tokens["a"]]) == "thea"
        assert other.encode("xthea") == [other.token_to_id(each) for each in ("x", "the", "a")]
    ours.save(tmp_path / "folder")
    about = json.loads((tmp_path / "folder" / "nbbpe.json").read_text())
    about["special_tokens"]["the"] = 9999
    (tmp_path / "folder" / "nbbpe.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"'the' shares its id, 9999, with an ordinary token, which .*vocab\.json does"):
        nbbpe.load(tmp_path / "folder")


@pytest.mark.parametrize(("normalizer", "single_word"), [({"type": "Lowercase"}, False), (None, True)])
def test_a_special_token_that_is_a_word_is_not_looked_up_whole_by_others(tmp_path, normalizer, single_word):
    good = {**document(), "normalizer": normalizer}
    good["model"] |= {"ignore_merges": True, "vocab": good["model"]["vocab"] | {"xyz": 257}}
    good["added_tokens"] = [TOKEN | {"id": 258, "content": "the", "single_word": single_word}]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(good), encoding="utf-8")
    ours = nbbpe.Tokenizer.from_hf(path)
    text = "The 1the_ xyz a the"
    assert ours.encode(text) == theirs_of(path).encode(text).ids
    ours.to_hf(path)
    assert ours.encode(text) == theirs_of(path).encode(text).ids
    assert nbbpe.load(path) == ours
    with pytest.raises(ValueError, match="special token 'the' may be a pretoken of ordinary text"):
        ours.with_special_tokens({"<x>": 900}).to_hf(path)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_an_added_word_whose_letters_stand_for_bytes_that_are_no_text_is_looked_up_whole(tmp_path, special, within):
    # In a vocab, the letters of größe stand for bytes. As these are not UTF-8, no pretoken of any text is spelled like it.
    good = document()
    vocab = good["model"]["vocab"] | ({"größe": 257} if within else {})
    good["model"] |= {"ignore_merges": True, "vocab": vocab}
    good["added_tokens"] = [TOKEN | {"id": 257, "content": "größe", "special": special}]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(good), encoding="utf-8")
    ours = nbbpe.Tokenizer.from_hf(path)
    text = "Die größe ab größe. größ ßgrößen ö"
    ids = theirs_of(path).encode(text).ids
    assert ours.encode(text) == ids
    ours.to_hf(path)
    assert theirs_of(path).encode(text).ids == ids
    assert nbbpe.load(path) == ours


@pytest.mark.parametrize(("content", "text"), [("the", "the 1the_"), ("_xa", "xa 1xa")])
def test_a_special_token_is_not_looked_up_whole_beside_what_metaspace_writes(tmp_path, content, text):
    metaspace = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True}
    good = {**document(), "pre_tokenizer": sequence(metaspace, LEVEL | {"use_regex": content == "the"})}
    good["model"] |= {"ignore_merges": True, "vocab": good["model"]["vocab"] | {"xyz": 257}}
    good["added_tokens"] = [TOKEN | {"id": 258, "content": content, "single_word": content == "the"}]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(good), encoding="utf-8")
    ours = nbbpe.Tokenizer.from_hf(path)
    ids = theirs_of(path).encode(text).ids
    assert ours.encode(text) == ids
    ours.to_hf(path)
    assert theirs_of(path).encode(text).ids == ids


@pytest.mark.parametrize("sign", ["_", "]", "^", "-", "\u2581"])
def test_metaspace_splits_by_a_pattern(tmp_path, sign):
    metaspace = {"type": "Metaspace", "replacement": sign, "prepend_scheme": "always", "split": True}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**document(), "pre_tokenizer": sequence(metaspace, LEVEL)}), encoding="utf-8")
    ours = nbbpe.Tokenizer.from_hf(path)
    assert ours.pattern is not None
    text = f"a b  c{sign}d{sign}{sign} \n e"
    assert ours.encode(text) == theirs_of(path).encode(text).ids
    ours.to_hf(path)
    assert ours.encode(text) == theirs_of(path).encode(text).ids
    assert nbbpe.load(path) == ours


@pytest.mark.parametrize("content", ["", "{", '{"model": {"vocab": {"a": 0', "[" * 100_000, '{"a": 1, "a": 2}', "\ufeff{}"])
def test_a_broken_file_is_named(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizer\.json(, line 1)?: (not valid JSON|the key 'a' comes twice)"):
        nbbpe.Tokenizer.from_hf(path)


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(ValueError, match=r"tokenizer\.json: not valid UTF-8"):
        nbbpe.Tokenizer.from_hf(tmp_path / "tokenizer.json")


def test_a_wrong_option_is_an_error(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(document()), encoding="utf-8")
    with pytest.raises(ValueError, match="normalizer must be one of 'apply', 'ignore', not"):
        nbbpe.Tokenizer.from_hf(tmp_path / "t.json", normalizer="nfc")
