"""The script that a word is written in, by its first letter, as Unicode has it."""

from __future__ import annotations

import functools

import regex

_NAMED = """
    Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil
    Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Khmer Mongolian
    Hiragana Katakana Bopomofo Han Canadian_Aboriginal Coptic
""".split()  # noqa: SIM905  (a literal list takes a line for each)
WITHOUT_LETTERS = ("digits", "whitespace", "punctuation and symbols")
OTHER = "other letters"


@functools.cache
def script_of_letter(letter: str) -> str:
    """The name of a letter's script; OTHER for those that are not known here, and for letters that several share."""
    return next((name.replace("_", " ") for name in _NAMED if regex.match(rf"\p{{Script={name}}}", letter)), OTHER)


def script_of(word: str) -> str:
    """The script of the first letter of a word; one of WITHOUT_LETTERS where it has none.

    >>> script_of(" été"), script_of("дом"), script_of("42"), script_of(" ")
    ('Latin', 'Cyrillic', 'digits', 'whitespace')
    """
    for character in word:
        if character.isalpha():
            return script_of_letter(character)
    if any(map(str.isdigit, word)):
        return WITHOUT_LETTERS[0]
    return WITHOUT_LETTERS[1] if word.isspace() else WITHOUT_LETTERS[2]
