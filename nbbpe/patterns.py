"""Split patterns: a regex that says what a pretoken is, and for the named ones a table of certain boundaries.

A *certain boundary* is a place in a text that no match of the regex can straddle, whatever stands around it, and on each
side of which the regex matches the same alone as in context. Whether a place is one can be told from the classes of the
two characters next to it. The tables below say for which classes; each is derived from its regex by exhaustion, by
`tests/test_patterns.py`, which also checks that the table here is the one derived.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .kernels.scan import Scanner

# The letters that stand for the classes in the tables below, in the order of kernels/scan.py: lower-case letter,
# upper-case (or title-case) letter, caseless letter, mark, digit or other number, apostrophe, slash, other, space,
# newline (\r and \n), blank (other white space).
CLASSES = "lucmd'/osnb"


@dataclass(frozen=True)
class Pattern:
    """A split pattern.

    name    : the name, or None for a pattern of the user's own
    regex   : the regex in the syntax of the `regex` package; None for no pattern: a document is one pretoken
    cuts    : for each class of the character before a place, in the order of CLASSES, the classes after it that make
              the place a certain boundary; None where no table is known, so that documents go to `regex` whole
    singles : (lead, run) for each shape of a piece that is always exactly one pretoken: one character of a class in
              `lead`, or none, and then one or more characters of classes in `run`
    """

    name: str | None
    regex: str | None
    cuts: tuple[str, ...] | None = None
    singles: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def compiled(self) -> Any:
        """The compiled regex, a regex.Pattern."""
        return regex.compile(self.regex or r"(?s:.+)")

    def split(self, text: str) -> list[str]:
        """The pretokens of a document, in order; joined, they are the document.

        What a pattern of the user's own leaves between two matches is a pretoken too, so that nothing is lost.
        """
        if self.cuts is not None:
            return self.compiled.findall(text)
        parts = []
        done = 0
        for match in self.compiled.finditer(text):
            start, end = match.span()
            if start > done:
                parts.append(text[done:start])
            if end > start:
                parts.append(text[start:end])
            done = end
        if done < len(text):
            parts.append(text[done:])
        return parts

    def scanner(self) -> Scanner:
        """What the kernels need to find this pattern's certain boundaries; only for a pattern with a table."""
        from .kernels.scan import Scanner
        from .kernels.simd import RULES

        assert self.cuts is not None
        before = np.zeros((len(CLASSES), RULES), dtype=np.uint64)
        after = np.zeros((len(CLASSES), RULES), dtype=np.uint64)
        # Classes with the same row share a rule.
        for rule, row in enumerate(sorted(set(self.cuts) - {""})):
            for number, name in enumerate(CLASSES):
                before[number, rule] = -(self.cuts[number] == row) & (2**64 - 1)
                after[number, rule] = -(name in row) & (2**64 - 1)
        page_of, pages = _class_pages()
        return Scanner(before.reshape(-1), after.reshape(-1), page_of, pages)

    def shapes(self) -> NDArray[np.int64]:
        """`singles` as pairs of class sets, int64[n, 2]: bit c stands for class c."""
        sets = [[sum(1 << CLASSES.index(name) for name in names) for names in single] for single in self.singles]
        return np.array(sets, dtype=np.int64).reshape(-1, 2)


@functools.cache
def character_classes() -> NDArray[np.uint8]:
    """The class of every code point, uint8[0x110000], as the installed `regex` sees them. Takes some 40 ms, once."""
    classes = np.full(0x110000, CLASSES.index("o"), dtype=np.uint8)
    # All code points as one string, lone surrogates included, where a match's span is a range of code points.
    everything = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    properties = (r"\p{Ll}", "l"), (r"\p{Lu}", "u"), (r"\p{Lt}", "u"), (r"\p{Lm}", "c"), (r"\p{Lo}", "c")
    for members, name in (*properties, (r"\p{M}", "m"), (r"\p{N}", "d"), (r"\s", "b")):
        for match in regex.finditer(members + "++", everything):
            classes[match.start() : match.end()] = CLASSES.index(name)
    for character, name in ("'", "'"), ("/", "/"), (" ", "s"), ("\r", "n"), ("\n", "n"):
        classes[ord(character)] = CLASSES.index(name)
    return classes


@functools.cache
def _class_pages() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """`character_classes` in pages of 256 code points: the page of each range, and the distinct pages (some 140)."""
    classes = character_classes().tobytes()
    numbers: dict[bytes, int] = {}
    page_of = [numbers.setdefault(classes[i : i + 256], len(numbers)) for i in range(0, len(classes), 256)]
    return np.array(page_of, dtype=np.uint16), np.frombuffer(b"".join(numbers), dtype=np.uint8).copy()


_LETTERS = "md'/osnb"  # what may follow a letter across a boundary, in GPT-2's pattern

NAMED = {
    "gpt2": Pattern(
        name="gpt2",
        # As tiktoken writes it for r50k_base: the same matches as GPT-2's original, and faster.
        regex=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
        cuts=(
            _LETTERS,
            _LETTERS,
            _LETTERS,
            "lucdsnb",
            "lucm'/osnb",
            "ucdsnb",
            "lucdsnb",
            "lucdsnb",
            "",
            "",
            "",
        ),
        singles=(("s", "luc"), ("s", "d"), ("s", "m'/o"), ("", "snb")),
    ),
}


def get_pattern(pattern: str | Pattern | None) -> Pattern:
    """The Pattern of a name (a key of NAMED), of a regex of the user's own, or of None (a document is one pretoken).

    Raises ValueError for a regex that does not compile or that matches the empty string, TypeError for other things.
    """
    if isinstance(pattern, Pattern):
        return pattern
    if pattern is None:
        return Pattern(name=None, regex=None)
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a name, a regex as a string, or None, not {type(pattern).__name__}")
    if pattern in NAMED:
        return NAMED[pattern]
    for named in NAMED.values():
        if pattern == named.regex:
            return named
    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        names = ", ".join(NAMED)
        raise ValueError(f"pattern {pattern!r} is neither a name ({names}) nor a valid regex: {error}") from None
    if compiled.search("") is not None:
        raise ValueError(
            f"pattern {pattern!r} matches the empty string, so it cannot say where pretokens end; use + instead of *"
        )
    if pattern.isidentifier():
        # A plain word is far more likely a misspelt name than a regex.
        raise ValueError(f"unknown pattern {pattern!r}; the named ones are {', '.join(NAMED)}")
    return Pattern(name=None, regex=pattern)
