# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""Texts to test with, and Hypothesis strategies for more: few symbols, all scripts, arbitrary bytes."""

from __future__ import annotations

from hypothesis import strategies as st

SPECIAL = "<|endoftext|>"


class Words(str):
    """A text of a derived type."""


class Data(bytes):
    """Bytes of a derived type."""


# Several characters of each class that a pattern may know, and every character that the named patterns name. Kept in a
# dict by the class's letter (see pattern.CLASSES).
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
