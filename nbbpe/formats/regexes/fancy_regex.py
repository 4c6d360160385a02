"""Translates split patterns of tiktoken and Mistral, which use fancy-regex (a Rust regex engine), to `regex`.

Both engines know nearly the same syntax. So a pattern stays unchanged except for parts that are known to mean something
else in `regex`: these are rewritten, or an error if that is not possible. (dialects.py is stricter: it translates only what
is certain to mean the same.)
"""

from __future__ import annotations

import functools

import regex

from ...patterns.pattern_parser import POSIX_CLASS
from ...system.excerpt import shown
from .dialects import translated, with_characters

# What both engines know, but read differently: in one of them \h is a space and in the other a hexadecimal digit, \Z is the
# end or also the place before a last newline, and so on. In a set, && and a bracket are plain characters in `regex`. For $
# after all whitespace see `_Translation.place_only` in dialects.py.
_OTHERWISE = regex.compile(
    r"(?P<escape> \\[hHNKZ<>] ) | (?P<last> \\z ) | \\."
    rf"| \[\^?\]? (?: (?P<posix> {POSIX_CLASS} )"
    r"| (?P<set> && | -- | ~~ | \[ ) | (?P<member> \\[hHN] ) | \\. | [^\]\\] )*+ \]"
    r"| (?<=\\s[+*]?\+) \$ | (?P<end> \$ )",
    regex.VERBOSE | regex.DOTALL,
)
# The members of POSIX classes in Rust's engines. In `regex`, they also have members beyond ASCII.
_POSIX = {
    **{"[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:ascii:]": r"\x00-\x7F", "[:blank:]": r"\t\x20"},
    **{"[:cntrl:]": r"\x00-\x1F\x7F", "[:digit:]": "0-9", "[:graph:]": r"!-\~", "[:lower:]": "a-z"},
    **{"[:print:]": r"\x20-\~", "[:punct:]": r"!-/:-@\[-`{-\~", "[:space:]": r"\t\n\v\f\r\x20"},
    **{"[:upper:]": "A-Z", "[:word:]": "0-9A-Za-z_", "[:xdigit:]": "0-9A-Fa-f"},
}
_BY_LINES = regex.compile(r"\(\?[A-Za-z]*m")


def of_fancy_regex(pattern: str) -> str:
    """Translate a regex of tiktoken or Mistral to `regex`, changing only what is known to mean something else there.

    Raises ValueError for such a part that cannot be translated. Syntax that only fancy-regex knows is left unchanged.

    >>> of_fancy_regex(r"\\w+\\z|[[:alpha:]]")
    '\\\\w+\\\\Z|[A-Za-z]'
    """
    return _with_exact_letters(_respelled(with_characters(pattern, "fancy-regex")))


def _respelled(pattern: str) -> str:
    """Rewrite what `_OTHERWISE` finds. Raises ValueError as `of_fancy_regex` does."""
    parts, done = [], 0
    for match in _OTHERWISE.finditer(pattern):
        if match["set"]:
            return translated(pattern, "fancy-regex", "regex")
        unknown = [each for each in match.captures("posix") if each not in _POSIX]
        if other := match["escape"] or match["member"] or (unknown and unknown[0]):
            raise ValueError(
                f"{shown(other)} in the split pattern {shown(pattern)} means one thing to tiktoken's fancy-regex and "
                "another to `regex`"
            )
        for start, end in match.spans("posix"):
            parts += [pattern[done:start], _POSIX[pattern[start:end]]]
            done = end
        # In `regex`, $ is also the place before a last newline; its older versions do not know \z.
        if match["last"] or (match["end"] and not _BY_LINES.search(pattern)):
            parts += [pattern[done : match.start()], r"\Z"]
            done = match.end()
    return "".join([*parts, pattern[done:]])


# The parts of a regex that match letters, and those that determine whether case is ignored.
_LETTERS = regex.compile(
    r"(?P<letters> \\[pP]\{[^}]*\} | \\x[0-9A-Fa-f]{2} | \\u[0-9A-Fa-f]{4} | [iI\u0130\u0131]"
    r"| (?P<set> \[\^?\]? (?: \\. | [^\]\\] )*+ \] ) )"
    r"| \\[gk]<[^>]*> | \(\?P=\w+\) | \\. | \(\? (?P<on> [A-Za-z]* ) (?: - (?P<off> [A-Za-z]+ ) )? (?P<flags> [:)] )"
    r"| (?P<open> \( (?: \?P?<\w+> )? ) | (?P<close> \) )",
    regex.VERBOSE | regex.DOTALL,
)


def _with_exact_letters(pattern: str) -> str:
    """Rewrite a regex so that `regex` matches the same letters as Rust's engines if case is ignored.

    Then in `regex` the Turkish letters U+0130 and U+0131 match an i; in Rust they have no other case. So a part that is
    affected is spelled as the set of its letters in any case. Raises ValueError if that is not certain to be the same.
    """
    spelled: dict[str, str] = {}  # the new spelling of each part
    parts, done = [], 0
    caseless = [False]  # whether case is ignored in each open group
    for match in _LETTERS.finditer(pattern):
        if match["flags"]:
            ignored = "i" in match["on"] or (caseless[-1] and "i" not in (match["off"] or ""))
            if match["flags"] == ")":
                caseless[-1] = ignored
            else:
                caseless.append(ignored)
        elif match["open"]:
            caseless.append(caseless[-1])
        elif match["close"]:
            if len(caseless) > 1:
                caseless.pop()
        elif caseless[-1] and (part := match["letters"]):
            if part not in spelled:
                spelled[part] = _spelled_out(part, pattern)
            parts += [pattern[done : match.start()], spelled[part]]
            done = match.end()
    return "".join([*parts, pattern[done:]])


def _spelled_out(part: str, pattern: str) -> str:
    """Respell a literal, property or set, for which case is ignored, as a set with which `regex` matches as Rust does."""
    is_without = part[:2] == "[^" or (part[0] != "[" and (part[:2] == r"\P") != (part[2:4] == "{^"))
    inner = part
    if part[0] == "[":
        inner = part[1:-1].removeprefix("^")
        inner = "\\" + inner if inner[0] in "]-^" else inner  # these are special once letters precede them
    elif part[:2] in (r"\p", r"\P"):
        inner = r"\p{" + part[3:].removeprefix("^")
    try:
        exact, taken = regex.compile(f"[{inner}]"), regex.compile(f"(?i:{part})")
    except regex.error:  # reported when the whole pattern is compiled
        return part
    found = {letter for letter in "iI\u0130\u0131" if exact.fullmatch(letter)}
    found |= {"i", "I"} if found & {"i", "I"} else set()
    if all((taken.fullmatch(letter) is None) == ((letter in found) == is_without) for letter in "iI\u0130\u0131"):
        return part
    if r"\P" in inner or r"\p{^" in inner:
        raise ValueError(
            f"{shown(part)} in the split pattern {shown(pattern)}, where case is ignored, matches other letters in "
            "tiktoken's fancy-regex than in `regex`"
        )
    # The letters are listed one by one: if case is ignored, `regex` matches all letters with a case by \p{Lt}.
    each = "".join(exact.findall(_letters_with_cases()))
    letters = {*regex.findall(f"(?i:[{each}])", _letters_with_cases())} - {*"iI\u0130\u0131"} | found
    missing = "".join(sorted(letter for letter in letters if not exact.fullmatch(letter)))
    return f"(?-i:[{'^' if is_without else ''}{missing}{inner}])"


@functools.cache
def _letters_with_cases() -> str:
    """All characters that have another case."""
    return "".join(regex.findall(r"\p{Changes_When_Casemapped}", "".join(map(chr, range(0x20000)))))
