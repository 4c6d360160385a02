"""Split patterns of tiktoken and of Mistral, which are read by fancy-regex, a regex engine of Rust's, for `regex`.

Both engines know nearly the same syntax, so a pattern stays as it stands, but for what means something else to `regex`:
that is spelled otherwise, or an error if it cannot be. dialects.py translates only what is certain to mean the same.
"""

from __future__ import annotations

import functools

import regex

from ...patterns.pattern_parser import POSIX_CLASS
from ...system.excerpt import shown
from .dialects import translated, with_characters

# What `regex` and fancy-regex both know and read differently: \h is a space or a hexadecimal digit, \Z is the end or the
# place before a last newline, and so on; && and a bracket in a set are letters to `regex`. For $ after all whitespace see
# `_Translation.take` in dialects.py.
_OTHERWISE = regex.compile(
    r"(?P<escape> \\[hHNKZ<>] ) | (?P<last> \\z ) | \\."
    rf"| \[\^?\]? (?: (?P<posix> {POSIX_CLASS} )"
    r"| (?P<set> && | -- | ~~ | \[ ) | (?P<member> \\[hHN] ) | \\. | [^\]\\] )*+ \]"
    r"| (?<=\\s[+*]?\+) \$ | (?P<end> \$ )",
    regex.VERBOSE | regex.DOTALL,
)
# What POSIX classes have in Rust's engines; those of `regex` have characters beyond ASCII, too.
_POSIX = {
    **{"[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:ascii:]": r"\x00-\x7F", "[:blank:]": r"\t\x20"},
    **{"[:cntrl:]": r"\x00-\x1F\x7F", "[:digit:]": "0-9", "[:graph:]": r"!-\~", "[:lower:]": "a-z"},
    **{"[:print:]": r"\x20-\~", "[:punct:]": r"!-/:-@\[-`{-\~", "[:space:]": r"\t\n\v\f\r\x20"},
    **{"[:upper:]": "A-Z", "[:word:]": "0-9A-Za-z_", "[:xdigit:]": "0-9A-Fa-f"},
}
_BY_LINES = regex.compile(r"\(\?[A-Za-z]*m")


def of_fancy_regex(pattern: str) -> str:
    """A regex of tiktoken's or Mistral's for `regex`: as it stands, but for what is known to mean something else there.

    Raises ValueError for such a part that cannot be translated. What only one of the engines knows is left to `regex`.

    >>> of_fancy_regex(r"\\w+\\z|[[:alpha:]]")
    '\\\\w+\\\\Z|[A-Za-z]'
    """
    return _with_exact_letters(_spelled_anew(with_characters(pattern, "fancy-regex")))


def _spelled_anew(pattern: str) -> str:
    """The same with what is spelled otherwise for `regex`. Raises ValueError as `of_fancy_regex`."""
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
        # To `regex`, $ is also the place before a last newline, and \z is unknown to its older versions.
        if match["last"] or (match["end"] and not _BY_LINES.search(pattern)):
            parts += [pattern[done : match.start()], r"\Z"]
            done = match.end()
    return "".join([*parts, pattern[done:]])


# What matches a letter, and what says whether case is ignored.
_LETTERS = regex.compile(
    r"(?P<letters> \\[pP]\{[^}]*\} | \\x[0-9A-Fa-f]{2} | \\u[0-9A-Fa-f]{4} | [iI\u0130\u0131]"
    r"| (?P<set> \[\^?\]? (?: \\. | [^\]\\] )*+ \] ) )"
    r"| \\[gk]<[^>]*> | \(\?P=\w+\) | \\. | \(\? (?P<on> [A-Za-z]* ) (?: - (?P<off> [A-Za-z]+ ) )? (?P<flags> [:)] )"
    r"| (?P<open> \( (?: \?P?<\w+> )? ) | (?P<close> \) )",
    regex.VERBOSE | regex.DOTALL,
)


def _with_exact_letters(pattern: str) -> str:
    """A regex that matches where case is ignored what it matches to Rust's engines.

    To `regex`, U+0130 and U+0131 (Turkish) are an i then; to Rust they have no other case. So what matches an i there is
    spelled as the set of its letters in any case. Raises ValueError where that is not certain.
    """
    spelled: dict[str, str] = {}  # of a part
    parts, done = [], 0
    caseless = [False]  # in the groups that are open
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
    """A literal, property or set where case is ignored, so that `regex` takes the same letters as Rust's engines."""
    is_without = part[:2] == "[^" or (part[0] != "[" and (part[:2] == r"\P") != (part[2:4] == "{^"))
    inner = part
    if part[0] == "[":
        inner = part[1:-1].removeprefix("^")
        inner = "\\" + inner if inner[0] in "]-^" else inner  # as letters come before it
    elif part[:2] in (r"\p", r"\P"):
        inner = r"\p{" + part[3:].removeprefix("^")
    try:
        exact, taken = regex.compile(f"[{inner}]"), regex.compile(f"(?i:{part})")
    except regex.error:  # which will be told
        return part
    found = {letter for letter in "iI\u0130\u0131" if exact.fullmatch(letter)}
    found |= {"i", "I"} if found & {"i", "I"} else set()
    if all((taken.fullmatch(letter) is None) == ((letter in found) == is_without) for letter in "iI\u0130\u0131"):
        return part
    if r"\P" in inner or r"\p{^" in inner:
        raise ValueError(
            f"{shown(part)} in the split pattern {shown(pattern)}, where case is ignored, has other letters to tiktoken's "
            "fancy-regex than to `regex`"
        )
    # The letters one by one: for a property such as \p{Lt}, `regex` takes all letters that have a case.
    each = "".join(exact.findall(_letters_with_cases()))
    letters = {*regex.findall(f"(?i:[{each}])", _letters_with_cases())} - {*"iI\u0130\u0131"} | found
    missing = "".join(sorted(letter for letter in letters if not exact.fullmatch(letter)))
    return f"(?-i:[{'^' if is_without else ''}{missing}{inner}])"


@functools.cache
def _letters_with_cases() -> str:
    """All characters that have another case."""
    return "".join(regex.findall(r"\p{Changes_When_Casemapped}", "".join(map(chr, range(0x20000)))))
