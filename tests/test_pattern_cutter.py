"""text/pattern_cutter.py: windows are cut by kernels as the Cutter cuts their stretches one by one, where that is exact."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import mostly_slow

import nbbpe
from nbbpe.model.byte_alphabet import byte_characters
from nbbpe.patterns.pattern import NAMED
from nbbpe.text import pattern_cutter, preparation
from nbbpe.text.cutting import Cutter
from nbbpe.text.pattern_cutter import PatternCutter
from nbbpe.text.utf8 import padded
from nbbpe.text.windows import CUT

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
WORD_END = {"type": "WordEnd", "suffix": "</w>"}
DIGITS = {"type": "Split", "pattern": {"Regex": r"\p{N}"}, "behavior": "Isolated", "invert": False}
BY_THREE = {"pattern": {"Regex": r"[\s\S]{1,3}"}}
CLIP = r"<\|end\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SIGNS = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False}
WHITESPACE = [*"\t\n\r \x0b\x0c\x85\xa0\u1680\u2003\u2028\u205f\u3000", "  "]
CHARACTERS = [*"abXY019'!?_-<|>\0\x1c", "'s", "'re", "<|end|>"]
CHARACTERS += [*"\u00e9\u00df\u0130\u03a3\u1e9e\u00bd\u6f22\u200d", "\u304b\u3099", "\U0001f600", "e\u0301"]


def keeping(regex: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": True}


EXACT: dict[str, list[dict[str, Any]]] = {
    "CLIP": [keeping(CLIP), WORD_END],
    "Whitespace": [{"type": "Whitespace"}],
    "WhitespaceSplit": [{"type": "WhitespaceSplit"}, WORD_END],
    "BertPreTokenizer": [{"type": "BertPreTokenizer"}, DIGITS],
    "words of at most three": [keeping(r"\S{1,3}"), DIGITS, WORD_END],
    "words that whitespace or the end ends": [keeping(r"\p{L}+(?=\s)|\p{L}+(?![\s\S])|\p{L}|[^\s\p{L}]+")],
    "letters alone": [keeping(r"\p{L}+")],
    "a string": [{**keeping(""), "pattern": {"String": "x"}}],
    "signs before words": [{"type": "WhitespaceSplit"}, SIGNS],
}
# Exact, too, and what is not whitespace is dropped, or whitespace is not.
OTHERS: dict[str, list[dict[str, Any]]] = {
    "a match that depends on the end": [keeping(r"\p{L}+(?![\s\S])|\p{L}")],
    "a match that depends on a space": [keeping(r"\p{L}+(?= )|\p{L}"), DIGITS],
    "whitespace that is kept": [keeping(r"[^ ]+")],
    "words and whitespace": [keeping(r"\p{L}+|\s+")],
    "whitespace alone": [{**keeping(r"\s+"), "behavior": "Isolated"}],
    "empty matches": [{**keeping(r"(?=\p{Lu})|(?<=\d)"), "behavior": "Isolated"}],
    "GPT-2's": [{**keeping(NAMED["gpt2"].regexes[0]), "behavior": "Isolated"}, DIGITS],
    "what ends otherwise before more text": [{**keeping(NAMED["cl100k"].regexes[0]), "behavior": "Isolated"}],
    "what is between whitespace": [{**keeping(r"\s+"), "invert": False}, WORD_END],
    "what is between letters": [{**keeping(r"\p{L}"), "invert": False}, DIGITS],
    "a later step that counts characters": [{**keeping(r"\p{L}"), "invert": False}, {**DIGITS, **BY_THREE}],
    "between strings": [{**keeping(""), "pattern": {"String": "?"}, "invert": False}],
    **{
        f"{behavior}, {name}": [{**keeping(regex), "behavior": behavior, "invert": invert}]
        for behavior in ("Contiguous", "MergedWithPrevious", "MergedWithNext")
        for name, regex, invert in (
            ("whitespace", r"\s", False),
            ("words of at most three, inverted", r"\S{1,3}", True),
            ("letters", r"\w+", False),
        )
    },
    "signs before numbers": [{**keeping(r"\p{N}+"), "behavior": "Isolated"}, DIGITS, SIGNS],
    "between characters": [{"type": "CharDelimiterSplit", "delimiter": " "}],
}
# Exact, and nothing is cut.
UNCUT: dict[str, list[dict[str, Any]]] = {
    "signs": [SIGNS],
    "backslashes": [{**SIGNS, "replacement": "\\"}],
    "signs in place of spaces": [{**SIGNS, "prepend_scheme": "never", "replacement": "_"}],
}
INEXACT: dict[str, list[dict[str, Any]]] = {
    "a match that depends on a newline at the end": [keeping(r"\p{L}+$|\p{L}")],
    "a match with whitespace": [keeping(r"\S+\s?")],
    "what is between empty matches": [{**keeping(r"(?=\p{Lu})|(?<=\d)"), "invert": False}],
    "empty matches alone": [keeping(r"(?=\p{Lu})|(?<=\d)")],
    "empty matches with what is between": [{**keeping(r"\b"), "behavior": "Contiguous"}],
    "a character that is in matches and between them": [keeping(r"'s|\p{L}+")],
    "a string of two characters": [{**keeping(""), "pattern": {"String": "ab"}}],
    "a split of what a Split joins": [{**keeping(r"\s+"), "behavior": "Contiguous"}, DIGITS],
    "the ends of words alone": [WORD_END],
    "Metaspace that splits": [{"type": "Metaspace", "replacement": "_"}],
    "signs after what only `regex` can split": [keeping(r"(\p{L})\1|\p{L}"), SIGNS],
    "signs after another step": [DIGITS, {"type": "Whitespace"}, SIGNS],
    "a later step that drops text": [{"type": "Whitespace"}, keeping(r"\p{L}+")],
    "what only `regex` can split": [keeping(r"(\p{L})\1|\p{L}")],
}


def texts(n: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return [
        "".join(source.choice(WHITESPACE if source.random() < 0.3 else CHARACTERS) for _ in range(source.randrange(40)))
        for _ in range(n)
    ]


@pytest.mark.parametrize("kind", [*EXACT, *OTHERS])
@pytest.mark.parametrize("at_once", [1, 20, 1 << 20])
@pytest.mark.parametrize("prefix_space", [False, True])
def test_windows_are_cut_as_their_stretches(kind, at_once, prefix_space, monkeypatch):
    monkeypatch.setattr(pattern_cutter, "_AT_ONCE", at_once)
    monkeypatch.setattr(pattern_cutter, "_SHORT", at_once)
    cutter = Cutter.of((EXACT | OTHERS)[kind])
    if prefix_space and cutter.sign:
        assert not PatternCutter(cutter, prefix_space).is_exact
        return
    by_kernels = PatternCutter(cutter, prefix_space)
    assert by_kernels.is_exact
    assert by_kernels.drops_whitespace == (kind in EXACT)
    for seed, tokens in enumerate((["\udcff"], ["<|end of text|>", "\udcff", "x", "  "])):
        source = random.Random(seed)
        data, wanted, breaks, rows = b"", b"", [], []
        for stretch in [*texts(60, seed), ""]:
            data += stretch.encode()
            for part in cutter.parts(stretch):
                wanted += b" " * (prefix_space and part[0] != " ") + part.encode() + b"\xff"
                rows.append([len(wanted) - 1, len(wanted), CUT])
            token = source.choice(tokens).encode(errors="surrogateescape")
            breaks.append([len(data), len(data) + len(token), source.randrange(-2, 9)])
            data += token
            wanted += b"\xff"
            rows.append([len(wanted) - 1, len(wanted), breaks[-1][2]])
        for cut_off in 0, len(data) - breaks[-1][0]:  # the last token may be missing
            found = by_kernels.cut(
                data[: len(data) - cut_off], np.array(breaks[: len(breaks) - bool(cut_off)], dtype=np.int64)
            )
            assert found is not None
            n = len(rows) - bool(cut_off)
            assert found[1].tolist() == rows[:n]
            assert found[0] == wanted[: rows[n - 1][1]]


@pytest.mark.parametrize(
    ("kind", "n_most"), [("Whitespace", 40), ("between strings", 80), ("a match that depends on the end", 80)]
)
def test_not_much_more_than_a_stretch_is_cut_at_once(kind, n_most, monkeypatch):
    cut_stretch = PatternCutter._cut_stretch
    lengths: list[int] = []

    def counted(self: PatternCutter, text: Any, start: int, end: int, breaks: Any) -> Any:
        lengths.append(end - start)
        return cut_stretch(self, text, start, end, breaks)

    monkeypatch.setattr(pattern_cutter, "_AT_ONCE", 20)
    monkeypatch.setattr(PatternCutter, "_cut_stretch", counted)
    data = b"the cat sat on the mat. A hat? <|end|>" * 20
    breaks = np.array([[end - 7, end, -1] for end in range(38, len(data) + 1, 38)])
    assert PatternCutter(Cutter.of((EXACT | OTHERS)[kind])).cut(data, breaks) is not None
    assert sum(lengths) == len(data)
    assert max(lengths) <= n_most


def test_code_points_are_those_of_the_characters_at_places():
    characters = [
        chr(code) for first in (0, 0x80, 0x800, 0xE000, 0x10000, 0x3FFFF, 0x10FFFC) for code in range(first, first + 4)
    ]
    characters += [*"\x7f\u07ff\ud7ff\uffff\U0001f600", *(chr(0x10000 + code * 0x1111) for code in range(0xF0))]
    places = np.cumsum([0, *(len(each.encode()) for each in characters)])[:-1]
    text = padded("".join(characters).encode())
    assert "".join(map(chr, pattern_cutter._code_points(text, places).tolist())) == "".join(characters)


@pytest.mark.parametrize("kind", INEXACT)
def test_what_is_not_exact_is_left_to_the_cutter(kind):
    assert not PatternCutter(Cutter.of(INEXACT[kind])).is_exact


def test_invalid_utf_8_and_empty_breaks_are_left_to_the_cutter():
    cutter = PatternCutter(Cutter.of(EXACT["Whitespace"]))
    none = np.empty((0, 3), dtype=np.int64)
    assert cutter.cut(b"a \xc3 b", none) is None
    assert cutter.cut(b"a b", np.array([[1, 1, -1]])) is None
    assert cutter.cut(b"", none)[0] == b""
    assert cutter.cut(b" \n", none)[0] == b""


@pytest.mark.parametrize("kind", UNCUT)
def test_metaspace_writes_signs_in_all_stretches_at_once(kind):
    cutter = Cutter.of(UNCUT[kind])
    data, stretches, breaks, rows = b"", [], [], []
    for number, stretch in enumerate([*texts(60, 1), "", " ", "a\udcc3 b", "  \u2581", "\\1"]):
        token = (b"\xff", b"<|end of text|>")[number % 2]
        data += stretch.encode(errors="surrogateescape")
        breaks.append([len(data), len(data) + len(token), number - 2])
        data += token
        stretches.append("".join(cutter.parts(stretch)).encode(errors="surrogateescape"))
        end = sum(map(len, stretches)) + number
        rows.append([end, end + 1, number - 2])
    found = PatternCutter(cutter).cut(data + b" c", np.array(breaks))
    assert found is not None
    assert found[1].tolist() == rows
    assert found[0] == b"\xff".join([*stretches, "".join(cutter.parts(" c")).encode()])
    assert PatternCutter(cutter).cut(b"a\xff\xff", np.array([[1, 2, 0]])) is None
    assert not PatternCutter(cutter, prefix_space=True).is_exact


NORMALIZERS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "CLIP": [{"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}],
    "spaces": [
        {"type": "Replace", "pattern": {"String": " "}, "content": "\n\n"},
        {"type": "Strip", "strip_left": True, "strip_right": True},
    ],
    "NFKD": [{"type": "NFKD"}],
}


def loaded(folder: Path, steps: list[dict[str, Any]], normalizers: list[dict[str, Any]], tokens: dict[str, bool]) -> Any:
    """A tokenizer of bytes alone; `tokens` says of each added token whether it is looked for in normalized text."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    document = {
        "added_tokens": [
            {"id": 256 + i, "content": token, "normalized": is_normalized, **flags}
            for i, (token, is_normalized) in enumerate(tokens.items())
        ],
        "normalizer": {"type": "Sequence", "normalizers": normalizers} if normalizers else None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                *(step for step in steps if step is not WORD_END),
                {"type": "ByteLevel", "add_prefix_space": False},
            ],
        },
        "model": {"type": "BPE", "vocab": {each: byte for byte, each in byte_characters().items()}, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(document))
    return nbbpe.load(folder / "tokenizer.json")


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize(
    "kind",
    mostly_slow(
        [*EXACT, *OTHERS, *UNCUT],
        ["CLIP", "signs", "BertPreTokenizer", "whitespace that is kept", "what is between whitespace"],
    ),
)
@pytest.mark.parametrize("tokens", [{}, {"<|end|>": False, "xY": True, "\u00e9?": True}, {"a b": True}])
def test_large_windows_are_encoded_as_small_ones(tmp_path, monkeypatch, sizes, kind, normalizer, tokens):
    tokenizer = loaded(tmp_path, (EXACT | OTHERS | UNCUT)[kind], NORMALIZERS[normalizer], tokens)
    is_cut = tokenizer._model.extras.cutter is not None  # or a pattern says all that the steps do
    cut = PatternCutter.cut
    calls: list[int] = []
    monkeypatch.setattr(PatternCutter, "cut", lambda *arguments: calls.append(1) or cut(*arguments))
    samples = texts(200, 5)
    with monkeypatch.context() as patch:
        patch.setattr(preparation.Preparation, "_at_once", lambda *arguments: None)
        wanted = [each.tolist() for each in tokenizer.encode_batch_flat(samples)]
    for least_cut in 1 << 30, 0:
        assert not calls
        sizes(least_cut=least_cut, rows_window=1 << 12)
        assert [each.tolist() for each in tokenizer.encode_batch_flat(samples)] == wanted
    assert bool(calls) == is_cut


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("kind", mostly_slow(EXACT, ["CLIP", "BertPreTokenizer"]))
@pytest.mark.parametrize("tokens", [{}, {"<|end|>": False, "xY": True, "\u00e9?": True}])
def test_a_stream_is_cut_at_whitespace(tmp_path, sizes, kind, normalizer, tokens):
    tokenizer = loaded(tmp_path, EXACT[kind], NORMALIZERS[normalizer], tokens)
    text = "".join(texts(200, 6))
    wanted = tokenizer.encode(text)
    assert not tokenizer._encoder.at_once
    for window, least_cut in (64, 0), (64, 1 << 30), (1000, 500):
        sizes(window=window, least_cut=least_cut)
        assert tokenizer.encode(io.BytesIO(text.encode())) == wanted


@pytest.mark.parametrize("kind", ["a match with whitespace", "a match that depends on a space", "whitespace that is kept"])
def test_a_stream_is_not_cut_where_whitespace_matters(tmp_path, sizes, kind):
    tokenizer = loaded(tmp_path, (OTHERS | INEXACT)[kind], [], {})
    text = "".join(texts(100, 7))
    wanted = tokenizer.encode(text)
    assert tokenizer._encoder.at_once
    sizes(window=64, least_cut=0)
    assert tokenizer.encode(io.BytesIO(text.encode())) == wanted


def test_a_token_with_whitespace_is_found_in_a_stream(tmp_path, sizes):
    tokenizer = loaded(tmp_path, EXACT["CLIP"], NORMALIZERS["CLIP"], {"a b": True})
    text = "x a b  a  b A B " * 20
    assert tokenizer._encoder.at_once
    wanted = tokenizer.encode(text)
    assert wanted.count(256) == 60
    sizes(window=64, least_cut=0)
    assert tokenizer.encode(io.BytesIO(text.encode())) == wanted


def test_the_regex_is_compiled_once_that_pays(tmp_path, monkeypatch):
    tokenizer = loaded(tmp_path, EXACT["Whitespace"], [], {})
    cut = PatternCutter.cut
    sizes: list[int] = []
    monkeypatch.setattr(PatternCutter, "cut", lambda self, data, breaks: sizes.append(len(data)) or cut(self, data, breaks))
    monkeypatch.setattr(preparation, "_PAYS", 30_000)
    text = "the cat. " * 1000
    wanted = tokenizer.encode("the cat.") * 1000
    for n_cut in 0, 0, 0, 1, 2:
        assert tokenizer.encode(text) == wanted
        assert sizes == [len(text)] * n_cut
    tokenizer.encode(text[:900])
    assert len(sizes) == 2
