# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Texts to test with, and Hypothesis strategies for more: few symbols, all scripts, arbitrary bytes."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

SPECIAL = "<|endoftext|>"


class Words(str):
    """A text of a derived type."""


class Data(bytes):
    """Bytes of a derived type."""


# What kernels do not take for a text.
NO_TEXT = [
    None,
    3,
    3.5,
    ["a"],
    ("a",),
    bytearray(b"a"),
    memoryview(b"a"),
    np.zeros(3, np.uint8),
    Words("a"),
    Data(b"a"),
    str,
    bytes,
]


# Several characters of each class that a pattern may know, and every character that the named patterns name. Kept in a
# dict by the class's letter (see patterns/character_classes.py).
REPRESENTATIVES = {
    "l": "xsdmtlvreéß\u017f",  # ſ folds to s where case is ignored
    "u": "XSDMTLVREÉǅ",
    "c": "中ʰªあ",
    "m": "\u0301\u0903\u20dd",
    "d": "1٣Ⅷ½",
    "'": "'",
    "/": "/",
    "o": "!’😀\u0378\udc80\x00",  # a curly apostrophe, an unassigned code point, an undecodable byte
    "s": " ",
    "n": "\r\n",
    "b": "\t\x0b\x85\xa0\u2028\u3000",
}

SAMPLE = (
    "It's the first day, isn't it? They'll say \"we've won\", and I'd agree: 3,141.59 or 2,718!\n\n"
    "Naïve façades — über-große Straßen; ¿qué pasa?  Добрый день, мир! 12345\r\n\r\n"
    "你好，世界。これはテストです。안녕하세요 세계\tสวัสดีชาวโลก नमस्ते दुनिया שָׁלוֹם עולם مرحبا بالعالم\n"
    "def f(x):\n    return x / 2  # half   \n\n\n🙂🙃 e\u0301\u0301 ½ Ⅷ ª ʰ ǅ ſ\u00a0\u3000\u2028x/y//z 'tis 'S 'Ve\n"
)

# The shared texts of all kinds, without their suffix.
FILES = ["bible_multilingual", "books_en", "cjk", "code_rails", "novels_de", "scripts_extra", "tinystories_sample"]

# Texts in which added tokens, normalizers, whitespace and cases meet, as families of models treat them differently.
HARD = [
    *("", " ", "  ", "\n", "   \n  \t x", "a", " a", "a ", "<mask>", " <mask> ", "a<mask>b", "x  <mask>  y <mask><mask>"),
    *("<s>", "<s> <s>", "  <s>x", "word<w>word", "word <w> word", "<w>", " <w>.", "<w>_", "é<w>", "<w>\u0301"),
    *("<r>   x", "<r> <mask> <r>\n\n<mask>", "<r>  <s>"),
    *("e\u0301 E\u0301 É ﬁ ＡＢＣ ½ ² ³4 5² 12345678", "ΑΣ ΣΑΣ Σ ΌΣ. İI"),
    *("    def f(x):\n        return x\n\n\n", "a" + " " * 70 + "b", "\u3000\u2028\xa0 <mask>\u3000"),
    *("don't stop—now… “ok”?! $5+3=8 `x`", "Covid", " Covid.", "foo  bar"),
    *("covid COVID Covid covids", "<b≯x", "foo bar", "FOO BAR foo  bar", "x<S>y"),
    *("Ａ<s>Ｂ", "日本語、テスト。한국어", "\x00\x1c\x85"),
]

SPLIT_WITH_GAPS = r"(\w)+|([.,])"  # groups; spaces and the like are left between matches

_CHARACTERS = "".join(REPRESENTATIVES.values())
_SCRIPTS = "abcdßéАбвגדהعربकखगไทย中文字かな한국어ელΩλ\u0301\u0903٣"
_BROKEN = [b"\xff\xfe", b"\x80", b"\xa0", b"\xc2", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\xaf"]
_PHRASES = ["the ", " cat", "'s", "\n\n", "  ", "12", "ab", SPECIAL, "é"]


def texts(max_size: int = 60) -> st.SearchStrategy[str]:
    """Text of all kinds: few symbols, all classes, all scripts, any code point but lone surrogates."""
    characters = _CHARACTERS.replace("\udc80", "")
    return st.one_of(
        st.text("ab ", max_size=max_size),
        st.text(characters, max_size=max_size),
        st.text(_SCRIPTS + "  '\n", max_size=max_size),
        st.text(max_size=max_size),
        st.lists(st.sampled_from(_PHRASES), max_size=max_size // 4).map("".join),
    )


# In Python's memory a str has one, two or four bytes a character, after the greatest of them.
GREATEST = st.sampled_from([0x7F, 0xFF, 0x7FF, 0xFFFF, 0x10FFFF])


def strings(max_size: int | None = None) -> st.SearchStrategy[str]:
    """Every kind of str that Python keeps, lone surrogates among its characters."""
    return GREATEST.flatmap(lambda last: st.text(st.characters(max_codepoint=last), max_size=max_size))


def data(max_size: int = 60) -> st.SearchStrategy[bytes]:
    """Bytes of all kinds: text, and bytes that are no UTF-8."""
    some = st.sampled_from(["a", "é", "中", "😀", " ", "\n", "'s", "x", "1", "\xa0"]).map(str.encode)
    return st.one_of(
        texts(max_size).map(str.encode),
        st.binary(max_size=max_size),
        st.lists(st.one_of(some, st.sampled_from(_BROKEN)), max_size=max_size // 2).map(b"".join),
    )


def word_counts(alphabet: str = "ab", max_words: int = 8, max_size: int = 12) -> st.SearchStrategy[dict[bytes, int]]:
    """Few words of few letters with small counts: full of ties, overlaps and repeats."""
    words = st.text(alphabet, min_size=1, max_size=max_size).map(str.encode)
    return st.dictionaries(words, st.integers(1, 3), max_size=max_words)


def middle_of(shared: Path, name: str, n_bytes: int) -> str:
    """So many bytes from the middle of a shared text, or all of it; without what is left of a character at the ends."""
    data = (shared / "text" / f"{name}.txt").read_bytes()
    start = max((len(data) - n_bytes) // 2, 0)
    return data[start : start + n_bytes].decode(errors="ignore")


def real_texts(shared: Path, n_bytes: int = 5000) -> list[str]:
    """The middle of each of the shared texts."""
    return [middle_of(shared, name, n_bytes) for name in FILES]


def random_texts(seed: int, n: int = 150) -> list[str]:
    """Texts of what matters to families of models, in any order."""
    chance = random.Random(seed)
    pieces = ["<mask>", "<s>", "<w>", "<r>", "covid", "foo bar", " ", "  ", "\n", "\t", "\u3000", "a", "b", "The", "é", "_"]
    pieces += [
        "Σ",
        "İ",
        "１",
        "²",
        "12",
        "345",
        "!",
        "。",
        "中",
        "´",
        "\u0338",
        "<",
        "▁",
        "'s",
        "x",
        "  ",
        "ﬁ",
        "\xa0",
        ".",
    ]
    pieces += ["e\u0301", "5", "Covid", "<b>"]
    return ["".join(chance.choices(pieces, k=chance.randint(1, 14))) for _ in range(n)]
