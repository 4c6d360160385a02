"""Checks the argument `pattern` (a name, a regex, a list of these, or None), and makes a Pattern of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.lazy import imported_on_use
from .given_regex import check_repeats, seconds_for
from .known_regexes import name_as_spelled, name_of
from .named_patterns import ALIASES
from .pattern import NAMED, Pattern

regex: Any = imported_on_use("regex")

# The values that callers may give as a pattern.
PatternLike = str | Sequence[str] | Pattern | None
SPLIT_WITH = "auto", "compiled", "regex"

# A word (also "gpt-4" or "qwen2.5") is far more likely a misspelt name than a regex.
_LIKE_A_NAME = re.compile(r"[\w.-]*\w[\w.-]*")
_LONG_NAME = 40  # characters: no misspelt name has as many
_ALL_NAMES = "`nbbpe inspect --help` lists the names (in Python, nbbpe.patterns.pattern.NAMED and ALIASES have them)"
# A group that calls itself before it has matched anything goes on until `regex` has 600 MB. (If it first needs some
# characters, this shows only when a text is split.) In this time, `regex` takes thousands of steps; a valid call takes few.
_CALL_SECONDS = 0.005


def get_pattern(pattern: PatternLike) -> Pattern:
    """The Pattern of a name (a key of NAMED or ALIASES), of a regex, or of None (a document is one pretoken).

    A regex that matches as a named pattern does in every text is that pattern. A list or tuple of names and regexes splits
    by each in turn.

    Raises ValueError for a regex that does not compile, matches the empty string, or tries to do so in too many ways, and
    TypeError for anything else.
    """
    if isinstance(pattern, Pattern):
        return pattern
    if pattern is None:
        return Pattern(name=None, regex=None)
    if isinstance(pattern, list | tuple):
        return _in_turn(pattern)
    if not isinstance(pattern, str):
        raise TypeError(
            f"pattern must be a name, a regex as a string, a list of these, or None, not {type(pattern).__name__}"
        )
    name = ALIASES.get(pattern, pattern)
    if name in NAMED:
        return NAMED[name]
    _check_regex(pattern)
    if _LIKE_A_NAME.fullmatch(pattern):
        from difflib import get_close_matches

        near = get_close_matches(pattern.lower(), [*NAMED, *ALIASES]) if len(pattern) < _LONG_NAME else []
        suggestion = f"; did you mean {' or '.join(near)}?" if near else ";"
        raise ValueError(f"unknown pattern {shown(pattern)}{suggestion} {_ALL_NAMES}")
    return _pattern_of(pattern)


def _check_regex(pattern: str) -> None:
    """Raise ValueError for a regex that is invalid, takes too long, or cannot say where pretokens end."""
    check_repeats(pattern)
    from .regex_splitter import CALLS

    calls = CALLS.search(pattern) is not None
    try:
        compiled = regex.compile(pattern)
        matches_nothing = compiled.search("", timeout=_CALL_SECONDS if calls else seconds_for("")) is not None
    except regex.error as error:
        raise ValueError(f"pattern {shown(pattern)} is neither a name nor a valid regex: {error}; {_ALL_NAMES}") from None
    except TimeoutError:
        if calls:
            raise ValueError(f"pattern {shown(pattern)} calls itself without end") from None
        raise ValueError(
            f"pattern {shown(pattern)} takes too long: it tries more and more ways to match the empty string "
            "(backtracking), and was given up. A repeated part should not match the empty string: write (?:a|b){0,9} in "
            "place of (?:a?|b?){9}"
        ) from None
    except Exception as error:  # RecursionError of nested groups, and any other error
        raise ValueError(f"pattern {shown(pattern)} is too complex for `regex` ({type(error).__name__})") from None
    if matches_nothing:
        raise ValueError(
            f"pattern {shown(pattern)} matches the empty string, so it cannot say where pretokens end; use + instead of *"
        )
    if compiled.flags & regex.REVERSE:
        raise ValueError(f"pattern {shown(pattern)} searches backwards, (?r), and pretokens must be found forwards")


def regex_pattern(text: str) -> Pattern:
    """As `get_pattern`, for a text that is a regex even if it reads like a name, as in the files of other libraries."""
    return get_pattern(f"(?:{text})" if _LIKE_A_NAME.fullmatch(text) else text)


def splits_by_regex(pattern: Pattern, split_with: str | None) -> bool:
    """Whether `split_with` asks for `regex` even if a pattern can be compiled; None is "auto".

    Raises TypeError or ValueError for another value, and for "compiled" if the pattern cannot be.
    """
    if not (split_with is None or isinstance(split_with, str)):
        raise TypeError(f"{argument('split_with')} must be a string or None, not {shown(split_with)}")
    if split_with is not None and split_with not in SPLIT_WITH:
        raise ValueError(f"{argument('split_with')} must be one of {', '.join(SPLIT_WITH)}, not {shown(split_with)}")
    if split_with == "compiled" and not pattern.is_compiled:
        raise ValueError(
            f"{argument('split_with', 'compiled')}: the pattern {shown(str(pattern.spelling))} cannot be compiled: "
            f"{pattern.not_compiled}"
        )
    return split_with == "regex"


def _in_turn(patterns: Sequence[str]) -> Pattern:
    """The Pattern that splits by each of several in turn, as Hugging Face's sequences of Splits do."""
    for number, each in enumerate(patterns):
        if not isinstance(each, str):
            raise TypeError(f"pattern[{number}] must be a name or a regex as a string, not {type(each).__name__}")
    if not patterns:
        raise ValueError("pattern is an empty list; give None to make each document one pretoken")
    if (name := name_as_spelled(*patterns)) is not None:  # without an automaton of each
        return NAMED[name]
    first, *others = [get_pattern(each) for each in patterns]
    if not others:
        return first
    parts = [part for each in (first, *others) for part in each.regexes]
    return _pattern_of(*parts)


def _pattern_of(*regexes: str) -> Pattern:
    """The named pattern that splits as these regexes in turn do, or else a custom one."""
    same = name_of(*regexes)
    return NAMED[same] if same else Pattern(name=None, regex=regexes[0], then=regexes[1:])
