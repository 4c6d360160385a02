"""Pretokenizers that no split pattern can express, such as those that drop whitespace: they cut a text in Python.

A Cutter has the steps of a tokenizer.json up to the last one of this kind. What is left of a text is split by the pattern,
each part by itself.
"""

from __future__ import annotations

import functools
import re
import string
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..system.excerpt import shown
from ..system.lazy import imported_on_use, lazy
from .steps import StepRegex, Steps, compiled_step, kind_of, string_or_regex
from .unicode_sets import PUNCTUATION, WHITESPACE, WORD, members

regex: Any = imported_on_use("regex")  # few tokenizers need it

# A step: a function from a part to the parts that it makes of it, in order; some may be empty.
_Step = Callable[[str], list[str]]

_ASCII_PUNCTUATION = "".join(f"\\{sign}" for sign in string.punctuation)
BEHAVIORS = ("Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext")
# Steps that drop all whitespace, so that a text may be cut before any.
_DROPPING = ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")
_HAS_FLAGS = re.compile(r"\(\?[A-Za-z]")  # at the beginning of a regex, flags apply to all of it
_LONGEST_WORD, _MOST_WORDS = 64, 1 << 16  # characters and entries of the cache of what steps make of words
_OF_PYTHON = "\x1c\x1d\x1e\x1f"  # whitespace in Python, but not in Rust
_KEYS: dict[str, set[str]] = {
    **{kind: set() for kind in _DROPPING},
    "CharDelimiterSplit": {"delimiter"},
    "Metaspace": {"replacement", "prepend_scheme", "split"},
    "Split": {"pattern", "behavior", "invert"},
}
KINDS = tuple(_KEYS)
WORD_END = "WordEnd"  # nbbpe's own last step, which puts a space behind each part; see formats/tokenizer_json/word_ends.py


@functools.cache
def punctuation() -> str:
    """The set, as a regex, of the step Punctuation."""
    return f"[{_ASCII_PUNCTUATION}{members(PUNCTUATION)}]"


@functools.cache
def _matches_of(kind: str) -> str:
    """The regex of a step that drops whitespace; the step keeps its matches."""
    if kind == "WhitespaceSplit":
        return f"[^{WHITESPACE}]+"
    if kind == "Whitespace":
        return f"[{WORD}]+|[^{WORD}{WHITESPACE}]+"
    sign = punctuation()
    return f"[^{WHITESPACE}{sign[1:-1]}]+|{sign}"


MATCHES, BETWEEN, BOTH = "matches", "between", "both"
JOINED = ("Contiguous", "MergedWithPrevious", "MergedWithNext")  # both, some of them joined, as the behavior says


def _kept(step: dict[str, Any]) -> str | None:
    """What a step keeps, see `Cutter.keeps`; None for one that does something else."""
    if step["type"] in _DROPPING:
        return MATCHES
    if step["type"] == "CharDelimiterSplit":
        return BETWEEN
    if step["type"] != "Split":
        return None
    if step["behavior"] == "Removed":
        return MATCHES if step.get("invert", False) else BETWEEN
    return BOTH if step["behavior"] == "Isolated" else str(step["behavior"])


def _regex_of(step: dict[str, Any]) -> str | None:
    """The regex of a step that keeps its matches, or what is between them; None for one that does something else."""
    if _kept(step) is None:
        return None
    if step["type"] in _DROPPING:
        return _matches_of(step["type"])
    if step["type"] == "CharDelimiterSplit":
        return str(regex.escape(step["delimiter"]))
    kind, text = string_or_regex(step["pattern"], "pre_tokenizer Split")
    return text if kind == "Regex" else str(regex.escape(text))


class Cutter(Steps):
    """The steps that cut a text before it is split by a pattern."""

    def _function(self, step: Any) -> _Step:
        kind = kind_of(step, "pre_tokenizer", {**_KEYS, WORD_END: {"suffix"}})
        if kind == WORD_END:
            return _ended(step)
        if kind == "WhitespaceSplit":
            return _words
        if kind == "Whitespace":
            return regex.compile(_matches_of(kind)).findall
        if kind == "BertPreTokenizer":
            return re.compile(_matches_of(kind)).findall  # `re`, as for Punctuation
        if kind == "CharDelimiterSplit":
            delimiter = step.get("delimiter")
            if not isinstance(delimiter, str) or len(delimiter) != 1:
                raise ValueError(f"pre_tokenizer CharDelimiterSplit needs one character, and has {shown(delimiter)}")
            return lambda text: text.split(delimiter)
        return _metaspace(step) if kind == "Metaspace" else _split(step)

    @lazy
    def suffix(self) -> str | None:
        """How the end of a word is spelled in the vocabulary, where words have one."""
        return str(self.steps[-1]["suffix"]) if self.kinds[-1] == WORD_END else None

    @lazy
    def sign(self) -> str | None:
        """What the last step writes in place of each space, if it is a Metaspace that does not split; else None."""
        last = self.steps[-1]
        return str(last["replacement"]) if last["type"] == "Metaspace" and not last.get("split", True) else None

    @lazy
    def prepends_sign(self) -> bool:
        """Whether it writes the sign in front of each part, too, unless that begins with one."""
        return self.sign is not None and self.steps[-1].get("prepend_scheme", "always") == "always"

    @lazy
    def regexes(self) -> tuple[str, ...]:
        """The regex of the first step, which keeps its matches or the text between them (see `keeps`), and those of the
        others, which split and keep all; empty if a step is of another kind. (`suffix` and `sign` describe a last step that
        has no regex.)"""
        steps = self.steps[:-1] if self.sign or self.suffix else self.steps
        found = [_regex_of(step) if number == 0 or _kept(step) == BOTH else None for number, step in enumerate(steps)]
        if None in found or (self.keeps in JOINED and len(found) > 1):
            return ()
        return tuple(each for each in found if each is not None)

    @lazy
    def keeps(self) -> str:
        """What the first step keeps, if there are `regexes`: MATCHES, BETWEEN (the text between them), BOTH, or one of
        JOINED."""
        return _kept(self.steps[0]) or BOTH

    @lazy
    def inverts(self) -> bool:
        """Whether the first step swaps the matches and the text between them."""
        return bool(self.steps[0].get("invert", False))

    @lazy
    def can_be_cut(self) -> bool:
        """Whether a text may be cut before whitespace that follows another character, and its parts cut alone."""
        return self.kinds[0] in _DROPPING

    def parts(self, text: str) -> list[str]:
        """What is left of a text, in parts, none of them empty."""
        first, *later = self._functions
        if not text or not later:
            return [part for part in first(text) if part] if text else []
        by_later, known = self._by_later_steps, self._known
        return [each for part in first(text) if part for each in (known if len(part) <= _LONGEST_WORD else by_later)(part)]

    @lazy
    def _known(self) -> Callable[[str], list[str]]:
        """`_by_later_steps`, with a cache of short parts, as words recur."""
        return functools.lru_cache(_MOST_WORDS)(self._by_later_steps)

    def _by_later_steps(self, part: str) -> list[str]:
        """The parts that the steps after the first make of a part."""
        parts = [part]
        for step in self._functions[1:]:
            parts = [each for one in parts for each in step(one) if each]
        return parts


def _words(text: str) -> list[str]:
    """The parts of a text between whitespace.

    Python's own way takes a fifth of the time, but some control characters are whitespace to it alone.
    """
    if any(map(text.__contains__, _OF_PYTHON)):
        return re.findall(f"[^{WHITESPACE}]+", text)
    return text.split()


def _ended(step: dict[str, Any]) -> _Step:
    """The step WordEnd: a space behind each word, where the vocabulary has a suffix."""
    suffix = step.get("suffix")
    if not isinstance(suffix, str) or not suffix:
        raise ValueError(f"pre_tokenizer {WORD_END} needs a suffix, and has {shown(suffix)}")

    def ended(word: str) -> list[str]:
        if " " in word:
            raise ValueError(
                f"the words of this tokenizer end in {shown(suffix)}, where nbbpe puts a space, and its pre_tokenizer "
                f"leaves a space in {shown(word)}"
            )
        return [word + " "]

    return ended


def regex_before(sign: str) -> str:
    """The regex by which Metaspace splits: before each of its signs."""
    escaped = regex.escape(sign)
    return f"{escaped}[^{escaped}]*|[^{escaped}]+"


def _metaspace(step: dict[str, Any]) -> _Step:
    """The step Metaspace: a sign for each space, and perhaps a cut before each sign."""
    sign, scheme, splits = step.get("replacement"), step.get("prepend_scheme", "always"), step.get("split", True)
    if not isinstance(sign, str) or len(sign) != 1 or not isinstance(splits, bool):
        raise ValueError(f"pre_tokenizer Metaspace needs one character and split as true or false, and has {shown(step)}")
    if scheme not in ("always", "never"):
        raise ValueError(
            f"pre_tokenizer Metaspace has prepend_scheme {shown(scheme)}, and nbbpe can honour 'always' and 'never'"
        )
    before_sign = regex.compile(regex_before(sign))

    def replaced(text: str) -> list[str]:
        text = text.replace(" ", sign)
        if scheme == "always" and not text.startswith(sign):
            text = sign + text
        return before_sign.findall(text) if splits else [text]

    return replaced


def _split(step: dict[str, Any]) -> _Step:
    """The step Split: a cut at the matches of a string or a regex."""
    pattern, behavior, invert = step.get("pattern"), step.get("behavior"), step.get("invert", False)
    if not isinstance(pattern, dict) or len(pattern) != 1 or not isinstance(invert, bool) or behavior not in BEHAVIORS:
        raise ValueError(f"pre_tokenizer Split is not known: {shown(step)}")
    kind, text = string_or_regex(pattern, "pre_tokenizer Split")
    if kind == "String" and text and behavior == "Removed" and not invert:
        return lambda part: part.split(text)  # takes a tenth of the time
    if kind == "Regex" and text == punctuation():
        # For so large a set, `re` takes an eighth of the time of `regex`; and one set needs no limit of time.
        compiled = StepRegex(re.compile(text), "pre_tokenizer Split", sys.maxsize)
    else:
        compiled = compiled_step(regex.escape(text) if kind == "String" else text, "pre_tokenizer Split")
    # If the regex has no groups, `regex` makes the list itself, in half the time.
    if compiled.compiled.groups == 0 and behavior == "Removed":
        return compiled.findall if invert else compiled.split
    if compiled.compiled.groups == 0 and behavior == "Isolated" and not _HAS_FLAGS.search(compiled.compiled.pattern):
        return compiled.as_group().split
    return lambda part: [part[start:end] for start, end in _spans(_matches(compiled, part, invert), behavior)]


def _matches(compiled: StepRegex, part: str, invert: bool) -> Iterator[tuple[int, int, bool]]:
    """The matches of a regex and the text between them, in order: start, end, whether it counts as a match."""
    done = 0
    for start, end in compiled.spans(part):
        if start > done:
            yield done, start, invert
        yield start, end, not invert
        done = end
    if done < len(part):
        yield done, len(part), invert


def _spans(matches: Iterable[tuple[int, int, bool]], behavior: str) -> list[tuple[int, int]]:
    """The spans that a Split makes of matches and what is between them, as in tokenizers."""
    if behavior == "Removed":
        return [(start, end) for start, end, is_match in matches if not is_match]
    spans: list[tuple[int, int]] = []
    was_match = False
    ordered = list(matches)
    backwards = behavior == "MergedWithNext"
    for start, end, is_match in reversed(ordered) if backwards else ordered:
        joins = is_match == was_match if behavior == "Contiguous" else is_match and not was_match
        if spans and joins and behavior != "Isolated":
            spans[-1] = (start, spans[-1][1]) if backwards else (spans[-1][0], end)
        else:
            spans.append((start, end))
        was_match = is_match
    return spans[::-1] if backwards else spans
