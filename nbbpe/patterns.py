"""Split patterns: a regex that says what a pretoken is, and for the named ones a table of certain boundaries.

A *certain boundary* is a place in a text that no match of the regex can straddle, whatever stands around it, and on each
side of which the regex matches the same alone as in context. Whether a place is one can be told from the classes of the
two characters next to it. The tables below say for which classes; each is derived from its regex by exhaustion, by
`tests/test_patterns.py`, which also checks that the table here is the one derived.

What stands between two certain boundaries is split by a *grammar*: the choices in which the regexes of the named patterns
differ, for a compiled walk. Only a pattern of the user's own is matched by `regex` itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import regex
from numpy.typing import NDArray

from .excerpt import shown
from .lazy import lazy
from .regex_splitter import RegexSplitter

if TYPE_CHECKING:
    from .kernels.scan import Scanner

# The letters that stand for the classes in the tables below, in the order of kernels/scan.py: lower-case letter,
# upper-case (or title-case) letter, caseless letter, mark, digit or other number, apostrophe, slash, other, space,
# newline (\r and \n), blank (other white space).
CLASSES = "lucmd'/osnb"


@dataclass(frozen=True)
class Grammar:
    """What a named pattern's regex matches, for kernels/split.py to walk: the choices in which the patterns differ.

    leads        : classes of which one character may stand before letters
    letters      : classes whose runs are words
    contractions : "lower case" or "any case" ('s, 't, 're, 've, 'm, 'll, 'd come before all else), or "suffix" (they end a
                   word, in any case)
    digits       : how many numbers make a pretoken at the most, up to 3; 0 for no limit
    tail         : classes whose run belongs to the symbols before it
    cased        : a word goes from upper-case to lower-case letters and not back
    led_digits   : a space may stand before numbers
    lone_digits  : what stands before a number is split as at the end of a text
    lines        : white space goes up to its last newline
    whole_end    : white space at the end of a text is one pretoken even so
    """

    leads: str
    letters: str
    contractions: str
    digits: int = 0
    tail: str = ""
    cased: bool = False
    led_digits: bool = False
    lone_digits: bool = False
    lines: bool = False
    whole_end: bool = False

    def packed(self) -> int:
        """The grammar as one number."""
        from .kernels import split

        kinds = {"lower case": split.LOWER_CASE, "any case": split.ANY_CASE, "suffix": split.SUFFIX}
        number = self.digits << split.DIGITS | kinds[self.contractions] << split.CONTRACTIONS
        sets = (self.leads, split.LEADS), (self.letters, split.LETTERS), (self.tail, split.TAIL)
        for members, place in sets:
            number |= sum(1 << CLASSES.index(name) for name in members) << place
        flags = (
            (self.cased, split.CASED),
            (self.led_digits, split.LED_DIGITS),
            (self.lone_digits, split.LONE_DIGITS),
            (self.lines, split.LINES),
            (self.whole_end, split.WHOLE_END),
        )
        return number | sum(flag << place for flag, place in flags)


@dataclass(frozen=True)
class Pattern:
    """A split pattern.

    name    : the name, or None for a pattern of the user's own
    regex   : the regex in the syntax of the `regex` package; None for no pattern: a document is one pretoken
    cuts    : for each class of the character before a place, in the order of CLASSES, the classes after it that make
              the place a certain boundary; None where no table is known, so that documents go to `regex` whole
    grammar : how the text between two certain boundaries falls into pretokens; known where `cuts` is
    then    : regexes that split again, one after another, each part alone that the one before has left
    """

    name: str | None
    regex: str | None
    cuts: tuple[str, ...] | None = None
    grammar: Grammar | None = None
    then: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.cuts is None) != (self.grammar is None):
            raise ValueError("a pattern has both a table of cuts and a grammar, or neither")
        if self.then and (self.cuts is not None or self.regex is None):
            raise ValueError("a pattern that splits again has a first regex and no table of cuts")

    @property
    def spelling(self) -> str | list[str] | None:
        """What `get_pattern` makes this pattern of: a name, a regex, a list of these, or None for no pattern."""
        if self.then:
            return [SPELLINGS.get(each, each) for each in self.regexes]
        return self.name or self.regex

    @property
    def regexes(self) -> list[str]:
        """All regexes, in the order in which they split; none for no pattern."""
        return [] if self.regex is None else [self.regex, *self.then]

    @lazy
    def _splitters(self) -> list[RegexSplitter]:
        return [RegexSplitter(each) for each in self.regexes or [r"(?s:.+)"]]

    @property
    def compiled(self) -> Any:
        """The compiled regex, a regex.Pattern; of several the first."""
        return self._splitters[0].compiled

    def split(self, text: str) -> list[str]:
        """The pretokens of a document, in order; joined, they are the document.

        What a pattern of the user's own leaves between two matches is a pretoken too, so that nothing is lost. Raises
        ValueError where a regex takes too long.
        """
        first, *then = self._splitters
        parts = first.split(text)
        for each in then:
            known = {part: each.split(part) for part in set(parts)}
            parts = [inner for part in parts for inner in known[part]]
        return parts

    def scanner(self) -> Scanner:
        """What the kernels need to find this pattern's certain boundaries; only for a pattern with a table."""
        assert self.cuts is not None
        return _scanner(self.cuts)

    def packed_grammar(self) -> int:
        """What the kernels need to split a piece into pretokens (split.py), one number; only for a pattern with a table."""
        from .kernels.split import WHOLE_WORDS

        assert self.grammar is not None
        return self.grammar.packed() | self._has_whole_words() << WHOLE_WORDS

    def _has_whole_words(self) -> bool:
        """Whether a piece that begins as a word is one pretoken: where letters end is a boundary, so that none follow."""
        assert self.grammar is not None
        assert self.cuts is not None
        letters = self.grammar.letters
        others = set(CLASSES) - set(letters)
        return not self.grammar.cased and all(others <= set(self.cuts[CLASSES.index(letter)]) for letter in letters)


@functools.cache
def character_classes() -> NDArray[np.uint8]:
    """The class of every code point, uint8[0x110000], as the installed `regex` sees them. Takes some 15 ms, once."""
    classes = np.full(0x110000, CLASSES.index("o"), dtype=np.uint8)
    # All code points as one string, lone surrogates included.
    everything = np.arange(0x110000, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    properties = (r"\p{Ll}", "l"), (r"\p{Lu}", "u"), (r"\p{Lt}", "u"), (r"\p{Lm}", "c"), (r"\p{Lo}", "c")
    # Most code points are none of these, as nothing is assigned to them: they need to be looked at once only.
    assigned = regex.sub(r"\p{Cn}++", "", everything)
    code_points = np.frombuffer(assigned.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    for members, name in (*properties, (r"\p{M}", "m"), (r"\p{N}", "d"), (r"\s", "b")):
        for match in regex.finditer(members + "++", assigned):
            classes[code_points[match.start() : match.end()]] = CLASSES.index(name)
    for character, name in ("'", "'"), ("/", "/"), (" ", "s"), ("\r", "n"), ("\n", "n"):
        classes[ord(character)] = CLASSES.index(name)
    return classes


@functools.cache
def _scanner(cuts: tuple[str, ...]) -> Scanner:
    """The Scanner of a cut table: one for all that scan by it, as a file is cut at many places."""
    from .kernels.scan import Scanner
    from .kernels.scan_look_up import look_up_tables
    from .kernels.simd import RULES

    before = np.zeros((len(CLASSES), RULES), dtype=np.uint64)
    after = np.zeros((len(CLASSES), RULES), dtype=np.uint64)
    # Classes with the same row share a rule.
    for rule, row in enumerate(sorted(set(cuts) - {""})):
        for number, name in enumerate(CLASSES):
            before[number, rule] = -(cuts[number] == row) & (2**64 - 1)
            after[number, rule] = -(name in row) & (2**64 - 1)
    page_of, pages = _class_pages()
    look_up = look_up_tables(character_classes(), before, after)
    return Scanner(before.reshape(-1), after.reshape(-1), page_of, pages, look_up)


@functools.cache
def _class_pages() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """`character_classes` in pages of 256 code points: the page of each range, and the distinct pages (some 140)."""
    classes = character_classes().tobytes()
    numbers: dict[bytes, int] = {}
    page_of = [numbers.setdefault(classes[i : i + 256], len(numbers)) for i in range(0, len(classes), 256)]
    return np.array(page_of, dtype=np.uint16), np.frombuffer(b"".join(numbers), dtype=np.uint8).copy()


_ANY_LEAD = "m'/osb"  # all but letters, numbers and newlines
_CL100K_CUTS = ("md'/osnb", "md'/osnb", "md'/osnb", "dsb", "lucm'/osnb", "dsb", "dsb", "dsb", "", "lucmd'/o", "")
_CL100K_GRAMMAR = Grammar(
    leads=_ANY_LEAD, letters="luc", contractions="any case", digits=3, tail="n", lines=True, whole_end=True
)

NAMED = {
    str(pattern.name): pattern
    for pattern in (
        Pattern(
            name="gpt2",
            # As tiktoken writes it for r50k_base: the same matches as GPT-2's original, and faster.
            regex=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
            cuts=(
                *(("md'/osnb",) * 3),
                *("lucdsnb", "lucm'/osnb", "ucdsnb", "lucdsnb", "lucdsnb"),
                *("", "", ""),
            ),
            grammar=Grammar(leads="s", letters="luc", contractions="lower case", led_digits=True),
        ),
        Pattern(
            name="starcoder",
            # GPT-2's for what is left when each digit has been taken out (SEQUENCES), as one regex.
            regex=r"""\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?[^\s\p{L}\p{N}]++|\s++$|\s++(?=\p{N})|\s+(?!\S)|\s""",
            cuts=(
                *(("md'/osnb",) * 3),
                *("lucdsnb", "lucmd'/osnb", "ucdsnb", "lucdsnb", "lucdsnb"),
                *("d", "d", "d"),
            ),
            grammar=Grammar(leads="s", letters="luc", contractions="lower case", digits=1, lone_digits=True),
        ),
        Pattern(
            name="cl100k",
            regex=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
            r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
            cuts=_CL100K_CUTS,
            grammar=_CL100K_GRAMMAR,
        ),
        Pattern(
            name="o200k",
            regex=r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
            r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
            r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
            r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
            # A lower-case letter before an upper-case one is no boundary, because of contractions like 'vE.
            cuts=("d/osnb", "d/osnb", "d/osnb", "dsb", "lucm'/osnb", "dsb", "dsb", "dsb", "", "lucmd'o", ""),
            grammar=Grammar(
                # A mark that leads letters makes the same word as one that is the first of them.
                leads=_ANY_LEAD.replace("m", ""),
                letters="lucm",
                contractions="suffix",
                digits=3,
                tail="n/",
                cased=True,
                lines=True,
            ),
        ),
        Pattern(
            name="llama3",
            # What tiktoken's cl100k was at first. It matches the same but for "\n " at the end of a text.
            regex=r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
            r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
            cuts=_CL100K_CUTS,
            grammar=dataclasses.replace(_CL100K_GRAMMAR, whole_end=False),
        ),
        Pattern(
            name="qwen2",
            regex=r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
            r"""\s*[\r\n]+|\s+(?!\S)|\s+""",
            cuts=(*_CL100K_CUTS[:4], "lucmd'/osnb", *_CL100K_CUTS[5:]),
            grammar=dataclasses.replace(_CL100K_GRAMMAR, digits=1, whole_end=False),
        ),
        Pattern(
            name="nanochat",
            regex=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"""
            r"""\s+(?!\S)|\s+""",
            cuts=_CL100K_CUTS,
            grammar=dataclasses.replace(_CL100K_GRAMMAR, digits=2, whole_end=False),
        ),
    )
}

# Names of encodings and models that use a named pattern.
ALIASES = {
    **dict.fromkeys(["r50k", "r50k_base", "p50k", "p50k_base", "p50k_edit"], "gpt2"),
    "cl100k_base": "cl100k",
    **dict.fromkeys(["o200k_base", "o200k_harmony"], "o200k"),
    **dict.fromkeys(["starcoder2", "smollm", "smollm2"], "starcoder"),
}

# Other regexes that match the same as a named pattern's in every text.
SPELLINGS = {
    # GPT-2's original, and as js-tiktoken and Hugging Face write it.
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    # GPT-4's as minbpe and rustbpe write it, which leaves out what cl100k has for the end of a text.
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"""
    r"""\s+(?!\S)|\s+""": "llama3",
    **{pattern.regex: name for name, pattern in NAMED.items()},
}

# Several regexes that, each splitting what those before have left, match the same as a named pattern's.
SEQUENCES: dict[tuple[str | None, ...], str] = {(r"\p{N}", NAMED["gpt2"].regex): "starcoder"}

# A word, as also "gpt-4" or "qwen2.5" is one, is far more likely a misspelt name than a regex.
_LIKE_A_NAME = regex.compile(r"[\w.-]*\w[\w.-]*")


# `regex` writes the least number of repeats out when it compiles, at 270 bytes each: these take 30 MB, and more is no use.
_MOST_WRITTEN_OUT = 100_000
_REPEAT = regex.compile(r"(\))?\{\s*(\d+)")
_IS_VERBOSE = regex.compile(r"\(\?[A-Za-z0-9]*x")


def _n_written_out(pattern: str) -> int:
    """How many repeats `regex` writes out at the most; a group's number multiplies those in it, as any of them may be."""
    in_groups, others = 1, 0
    is_verbose = _IS_VERBOSE.search(pattern) is not None  # so that blanks may stand between a group and its number
    for match in _REPEAT.finditer(pattern):
        # A number of more digits is too large whatever it is, and Python reads no thousands of them.
        number = max(int(match[2][:20]), 1)
        if match[1] or is_verbose:
            in_groups = min(in_groups * number, 1 << 60)
        else:
            others += number if number > 1 else 0
    return in_groups * max(others, 1)


# What callers may give as a pattern.
PatternLike = str | Sequence[str] | Pattern | None


def get_pattern(pattern: PatternLike) -> Pattern:
    """The Pattern of a name (a key of NAMED or ALIASES), of a regex, or of None (a document is one pretoken).

    A regex that is known to match as a named pattern does (a key of SPELLINGS) is that pattern. A list or tuple of names
    and regexes splits by each in turn.

    Raises ValueError for a regex that does not compile or that matches the empty string, TypeError for other things.
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
    name = ALIASES.get(pattern) or SPELLINGS.get(pattern) or pattern
    if name in NAMED:
        return NAMED[name]
    if _n_written_out(pattern) > _MOST_WRITTEN_OUT:
        raise ValueError(
            f"pattern {shown(pattern)} repeats something more than {_MOST_WRITTEN_OUT:,} times, which `regex` would "
            "write out"
        )
    try:
        compiled = regex.compile(pattern)
        matches_nothing = compiled.search("") is not None
    except regex.error as error:
        names = ", ".join(NAMED)
        raise ValueError(f"pattern {shown(pattern)} is neither a name ({names}) nor a valid regex: {error}") from None
    except Exception as error:  # RecursionError of groups within groups, MemoryError of (?R), and what else there may be
        raise ValueError(f"pattern {shown(pattern)} is too much for `regex` ({type(error).__name__})") from None
    if matches_nothing:
        raise ValueError(
            f"pattern {shown(pattern)} matches the empty string, so it cannot say where pretokens end; use + instead of *"
        )
    if compiled.flags & regex.REVERSE:
        raise ValueError(f"pattern {shown(pattern)} searches backwards, (?r), and pretokens follow each other forwards")
    if _LIKE_A_NAME.fullmatch(pattern):
        names, also = ", ".join(NAMED), ", ".join(ALIASES)
        raise ValueError(f"unknown pattern {shown(pattern)}; the named ones are {names} (or by their encodings: {also})")
    return Pattern(name=None, regex=pattern)


def _in_turn(patterns: Sequence[str]) -> Pattern:
    """The Pattern that splits by each of several in turn, as Hugging Face's sequences of Splits do."""
    for number, each in enumerate(patterns):
        if not isinstance(each, str):
            raise TypeError(f"pattern[{number}] must be a name or a regex as a string, not {type(each).__name__}")
    if not patterns:
        raise ValueError("pattern is an empty list; to take each document for one pretoken, give None")
    first, *others = [get_pattern(each) for each in patterns]
    if not others:
        return first
    then = tuple(str(other.regex) for other in others)
    name = SEQUENCES.get((first.regex, *then))
    # Mostly no table is known: a place that no match of one pattern can straddle may be one that matches of the next see.
    return NAMED[name] if name else Pattern(name=None, regex=first.regex, then=then)
