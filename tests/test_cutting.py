"""Pretokenizers and normalizers whose sets of characters are those of tokenizers: each code point is compared."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe.text import cutting, normalizer
from nbbpe.text.cutting import Cutter
from nbbpe.text.normalizer import Normalizer

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
pre, norm = tokenizers.pre_tokenizers, tokenizers.normalizers

# Code points that were assigned when Python's tables were made, and when those of tokenizers were: later ones may differ.
ASSIGNED = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
ASSIGNED = list(norm.Replace(tokenizers.Regex(r"\p{Cn}"), "").normalize_str("".join(ASSIGNED)))
AT_ONCE = 2_000

CUTS: dict[str, tuple[dict[str, Any], Any]] = {
    "Whitespace": ({"type": "Whitespace"}, pre.Whitespace()),
    "WhitespaceSplit": ({"type": "WhitespaceSplit"}, pre.WhitespaceSplit()),
    "BertPreTokenizer": ({"type": "BertPreTokenizer"}, pre.BertPreTokenizer()),
    "Punctuation": (
        {
            "type": "Split",
            "pattern": {"Regex": cutting.punctuation()},
            "behavior": "Isolated",
            "invert": False,
        },
        pre.Punctuation(),
    ),
}


def blocks() -> Iterator[str]:
    """All characters, or all but many of the large scripts, each between letters and alone."""
    some_of_all = [*ASSIGNED[:0x3000], *ASSIGNED[0x3000 :: examples(29, 1)]]
    for first in range(0, len(some_of_all), AT_ONCE):
        some = some_of_all[first : first + AT_ONCE]
        yield "".join(f"a{each}b {each} " for each in some)


def pieces(theirs: Any, text: str) -> list[str]:
    return [piece for piece, _ in theirs.pre_tokenize_str(text)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", CUTS)
def test_every_character_is_cut_as_by_tokenizers(kind):
    step, theirs = CUTS[kind]
    cutter = Cutter.of([step])
    for text in blocks():
        assert cutter.parts(text) == pieces(theirs, text)


NORMALIZERS = {
    "Nmt": ({"type": "Nmt"}, norm.Nmt()),
    "StripAccents": ({"type": "StripAccents"}, norm.StripAccents()),
    **{
        f"BertNormalizer {clean} {chinese} {strip} {lower}": (
            {
                "type": "BertNormalizer",
                "clean_text": clean,
                "handle_chinese_chars": chinese,
                "strip_accents": strip,
                "lowercase": lower,
            },
            norm.BertNormalizer(clean, chinese, strip, lower),
        )
        for clean, chinese, strip, lower in [
            (True, True, None, True),
            (True, False, False, False),
            (False, True, None, False),
            (False, False, True, False),
        ]
    },
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", mostly_slow(NORMALIZERS, ["Nmt", "BertNormalizer True True None True"]))
def test_every_character_is_normalized_as_by_tokenizers(kind):
    step, theirs = NORMALIZERS[kind]
    chain = Normalizer.of([step])
    for block in blocks():
        text = "".join(filter(is_known_to_both, block))
        assert len(block) - len(text) < 200
        assert chain.apply(text, set()) == theirs.normalize_str(text)


@pytest.mark.parametrize("kind", ["Nmt", "StripAccents", "BertNormalizer"])
def test_a_long_text_is_normalized_as_its_parts(kind):
    chain = Normalizer.of([NORMALIZERS[kind][0] if kind in NORMALIZERS else {"type": kind}])
    part = "a\u0301\udcff\t\u200b \x07\U0010fffdb\u3000\r\n\u0e31c\ufffd"
    part += "\u6f22" if kind == "BertNormalizer" else ""
    assert 2 < len(chain.apply(part, set())) < len(part)
    assert chain.apply(part * 100, set()) == chain.apply(part, set()) * 100


def is_known_to_both(character: str) -> bool:
    """Whether Python's Unicode and that of tokenizers, which may be older, have the same decomposition and lower case."""
    decomposed = norm.NFD().normalize_str(character) == unicodedata.normalize("NFD", character)
    return decomposed and norm.Lowercase().normalize_str(character) == character.lower()


@given(
    st.text(alphabet="ab1 -\n", max_size=30),
    st.sampled_from(["a", "ab", "[ab]+", r"\d", r"a(?=b)", " "]),
    st.sampled_from(["isolated", "removed", "contiguous", "merged_with_previous", "merged_with_next"]),
    st.booleans(),
)
def test_a_split_is_that_of_tokenizers(text, pattern, behavior, invert):
    names = {"merged_with_previous": "MergedWithPrevious", "merged_with_next": "MergedWithNext"}
    spelled = names.get(behavior, behavior.capitalize())
    for kind, theirs in ("Regex", tokenizers.Regex(pattern)), ("String", pattern):
        step = {"type": "Split", "pattern": {kind: pattern}, "behavior": spelled, "invert": invert}
        assert Cutter.of([step]).parts(text) == pieces(pre.Split(theirs, behavior, invert), text)


@given(st.text(alphabet="ab_ \u2581\n", max_size=30))
def test_metaspace_and_delimiters_are_those_of_tokenizers(text):
    for scheme in "always", "never":
        for split in True, False:
            step = {"type": "Metaspace", "replacement": "_", "prepend_scheme": scheme, "split": split}
            assert Cutter.of([step]).parts(text) == pieces(pre.Metaspace("_", scheme, split), text)
    step = {"type": "CharDelimiterSplit", "delimiter": "a"}
    assert Cutter.of([step]).parts(text) == pieces(pre.CharDelimiterSplit("a"), text)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (3, "pre_tokenizer 3 is none of Whitespace"),
        ({"type": "UnicodeScripts"}, "pre_tokenizer 'UnicodeScripts' is none of"),
        ({"type": "Whitespace", "new": 1}, "Whitespace has 'new', which nbbpe does not know"),
        ({"type": "CharDelimiterSplit", "delimiter": "ab"}, "needs one character, and has 'ab'"),
        ({"type": "Metaspace", "replacement": ""}, "Metaspace needs one character"),
        ({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed"}, r"has '\(', which is not a valid regex"),
        ({"type": "Split", "pattern": {"Regex": "x*"}, "behavior": "Removed"}, "matches without taking a character"),
        ({"type": "Split", "pattern": {"Regex": "a{1000000000}"}, "behavior": "Removed"}, "more than 100,000 times"),
        ({"type": "Split", "pattern": {"Regex": "(" * 2000}, "behavior": "Removed"}, r"too complex for `regex`"),
        ({"type": ["Split"]}, r"pre_tokenizer \['Split'\] is none of"),
        ({"type": "Split", "pattern": "x", "behavior": "Removed"}, "Split is not known"),
        ({"type": "Split", "pattern": {"String": ""}, "behavior": "Removed"}, "needs the pattern of a String or a Regex"),
        ({"type": "Split", "pattern": {"String": "x"}, "behavior": "removed"}, "Split is not known"),
    ],
)
def test_steps_that_are_none_are_named(step, message):
    with pytest.raises(ValueError, match=message):
        Cutter.of([step])


def test_bytes_that_are_not_utf8_are_kept(tmp_path):
    trained = nbbpe.train(documents=["the cat sat"], vocab_size=260, special_tokens=["<s>"])
    theirs = tmp_path / "tokenizer.json"
    trained.to_hf(theirs)
    made = tokenizers.Tokenizer.from_file(str(theirs))
    made.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), pre.ByteLevel(add_prefix_space=False)])
    tok = nbbpe.load(made)
    assert tok.decode_bytes(tok.encode(b"the \xff\n\xc3 <s> \xed\xa0\x80x")) == b"the\xff\xc3<s>\xed\xa0\x80x"
    assert tok.encode(" \n") == [] == tok.encode("")
    assert tok.encode_batch(["the cat", " ", "sat"]) == [tok.encode("the cat"), [], tok.encode("sat")]
    for write in (lambda: tok.save_tiktoken(tmp_path / "x"), lambda: tok.save_gpt2(tmp_path / "v", tmp_path / "m")):
        with pytest.raises(ValueError, match=r"cuts a text by WhitespaceSplit before it is split, which .* cannot express"):
            write()


@pytest.mark.parametrize("content", ["\u2581", "", " . ", "\n"])
def test_a_stream_is_not_cut_at_spaces_that_are_replaced(content, tmp_path, sizes):
    """The cutter does not see them: what is before such a space and after it is one part."""
    sizes(window=100)
    trained = nbbpe.train(documents=["the cat sat on the mat"], vocab_size=262)
    trained.to_hf(tmp_path / "tokenizer.json")
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    made.normalizer = norm.Replace(" ", content)
    made.pre_tokenizer = pre.Sequence([pre.WhitespaceSplit(), pre.ByteLevel(add_prefix_space=True)])
    tok = nbbpe.load(made)
    text = "the cat sat on the mat " * 50 + "\n the cat"
    ids = made.encode(text, add_special_tokens=False).ids
    assert tok.encode(text) == ids
    assert list(tok.encode_iterable([text])) == ids


def test_what_was_dropped_stays_dropped_in_other_ways_of_encoding(tmp_path):
    trained = nbbpe.train(documents=["the cat sat on the mat"], vocab_size=262, special_tokens=["<s>"])
    trained.to_hf(tmp_path / "tokenizer.json")
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    made.pre_tokenizer = pre.Sequence([pre.Whitespace(), pre.ByteLevel(add_prefix_space=True)])
    tok = nbbpe.load(made)
    text = "the cat, <s> sat\non the mat"
    ids = made.encode(text, add_special_tokens=False).ids
    assert tok.encode(text) == ids
    assert tok.decode(tok.encode(text, dropout=1.0)) == tok.decode(ids) == " the cat ,<s> sat on the mat"
    assert tok.tokenize(text).text == tok.decode(ids)
    assert len(tok.extend(documents=["the cat sat on the mat " * 20], vocab_size=266)) == 266
    assert tok.frequencies(documents=[text], allowed_special="all").sum() == len(ids)
    with pytest.raises(ValueError, match="njit"):
        tok.njit_tables()


@pytest.mark.parametrize("value", [3, [], {}, ["Whitespace"], [{"type": "Metaspace", "replacement": "ab"}]])
def test_invalid_steps_in_a_saved_folder_are_named(tmp_path, value):
    nbbpe.train(documents=["the cat"], vocab_size=257).save(tmp_path)
    about = json.loads((tmp_path / "nbbpe.json").read_text(encoding="utf-8"))
    (tmp_path / "nbbpe.json").write_text(json.dumps(about | {"pre_tokenizer": value}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"nbbpe\.json: pre_tokenizer"):
        nbbpe.load(tmp_path)


@pytest.mark.parametrize(
    "regex", [r"\s+", r"\s", "[b-y\u00e9]++", r"[^a\n]+", "[\U0001f600 ]+", r"\s+?", "(?i)k+", "[ab]{2,}", "a|b"]
)
@pytest.mark.parametrize("content", ["", " ", "\\", "\u2581", "\U0001f600", "xy"])
def test_long_texts_have_matches_replaced_as_short_ones(regex, content, monkeypatch):
    step = {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
    for alphabet in "ab \n\tK", "ab \n\u00e9\u212a", "a \u3000b\U0001f600\udcff\ud800":
        source = random.Random(0)
        for n in 0, 1, 2, 3, 600:
            text = "".join(source.choices(alphabet, k=n))
            monkeypatch.setattr(normalizer, "_SHORT", 1 << 30)
            wanted = Normalizer.of([step]).apply(text, set())
            monkeypatch.setattr(normalizer, "_SHORT", 0)
            assert Normalizer.of([step]).apply(text, set()) == wanted
