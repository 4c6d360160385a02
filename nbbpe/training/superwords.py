"""Superwords: tokens of several words, learned in a second stage of training (SuperBPE, Liu et al. 2025)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..kernels.training.linked_words import MOST_CELLS
from ..patterns.given_regex import check_repeats, n_groups, naming_regex
from ..patterns.pattern import Pattern
from ..patterns.pattern_argument import get_pattern
from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.integers import check_positive
from ..system.lazy import imported_on_use
from ..system.wrong_argument import WrongArgument

regex: Any = imported_on_use("regex")

_PHRASE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+"  # of GPT-2's pattern: contractions, and letters with a space before them

_FLAGS = re.compile(r"\(\?([is]+)\)")
_REFERS = re.compile(r"\\[1-9]")  # matches back-references by number, and some other escapes


@dataclass(frozen=True, kw_only=True)
class Superwords:
    """A second stage of training, in which tokens may cross whitespace, for a pattern of one regex.

    Parameters
    ----------
    after
        The number of tokens after which this stage begins (including the 256 bytes, without special tokens).
    max_words
        The most words in a token (runs of characters that are not whitespace), unless `TokenRules(max_words=...)` is lower.
    phrase
        A regex for the pretokens that may be joined with their neighbours; by default words and contractions, as in GPT-2's
        pattern.
    window
        Merges are learned from runs of at most so many phrases. With a larger window, more of the pairs of adjacent words
        are seen (a run of n is cut n / window times), and more memory is needed, as fewer of the longer runs occur twice.

    The tokenizer's pattern is then `(?:phrase)+|pattern`: whole phrases are encoded, by all merges in the order in which
    they were learned. `Tokenizer.extend` learns from whole phrases, too: `TokenRules(max_words=...)` limits its words.

    Raises
    ------
    TypeError, ValueError : an invalid argument

    >>> import nbbpe
    >>> text = "this is the end of the end, and the end is here"
    >>> nbbpe.train(documents=[text], vocab_size=266, superwords=nbbpe.Superwords(after=264)).merges[-2:]
    [(b' the', b' end'), (b'th', b'is')]
    """

    after: int
    max_words: int = 4
    phrase: str = _PHRASE
    window: int = 8

    def __post_init__(self) -> None:
        for name in "after", "max_words", "window":
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.after < 256:
            raise ValueError(f"after={self.after} is too small: the 256 bytes are tokens, too")
        if self.window < 2:
            raise ValueError("window must be at least 2: one word is never a superword")
        if not isinstance(self.phrase, str) or not self.phrase:
            raise TypeError(f"phrase must be a regex, not {shown(self.phrase)}")
        check_repeats(self.phrase)
        with naming_regex(f"phrase {shown(self.phrase)}"):
            regex.compile(self.phrase)  # alone: within a pattern, a bracket of what follows could close one of the phrase


def check_superwords(superwords: object, n_tokens: int, pattern: Pattern) -> None:
    """Raise TypeError or ValueError unless `superwords` is None, or a Superwords that fits `n_tokens` and the pattern."""
    if superwords is None:
        return
    if not isinstance(superwords, Superwords):
        raise TypeError(f"superwords must be a Superwords, not {shown(superwords)}")
    if superwords.after > n_tokens:
        raise WrongArgument(
            f"superwords begin after {superwords.after:,} tokens, and {argument('vocab_size')} asks for "
            f"{n_tokens:,} of these"
        )
    if pattern.regex is None or pattern.then:
        raise WrongArgument("superwords need a pattern of one regex")
    phrases(pattern, superwords)
    if not pattern.is_compiled or _REFERS.search(pattern.regex):
        own, joined = n_groups(pattern.regex), n_groups(f"(?:{superwords.phrase})|{pattern.regex}")
        if own and joined > own:
            raise WrongArgument(
                f"the phrase {superwords.phrase!r} has numbered groups, so a back-reference of the pattern would refer "
                "to another group: write them as (?:...)"
            )


def phrases(pattern: Pattern, superwords: Superwords, window: int | None = None) -> Pattern:
    """The pattern with phrases as pretokens; with `window`, a pretoken has at most so many phrases."""
    assert pattern.regex is not None
    # No text that can be trained on has more phrases in a row, and `regex` cannot count further.
    repeated = "+" if window is None or window >= MOST_CELLS - 1 else f"{{1,{window}}}"
    return get_pattern(f"(?:{_scoped(superwords.phrase)}){repeated}|{_scoped(pattern.regex)}")


def _scoped(text: str) -> str:
    """A regex as part of another: leading flags, such as (?i), become a group's, as others could not be compiled there."""
    found = _FLAGS.match(text)
    return f"(?{found[1]}:{text[found.end() :]})" if found else text
