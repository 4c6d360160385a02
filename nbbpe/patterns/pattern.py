"""Split patterns: regexes that define pretokens, named or custom.

A regex of the syntax that patterns/pattern_parser.py reads becomes an automaton, from which everything that kernels need is
derived: where the certain boundaries of a text are, and how a piece is split into pretokens. By any other regex, `regex`
splits: each distinct piece that a partial automaton does not decide, where certain boundaries can be derived, or else all
of the text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.lazy import imported_on_use, lazy
from .given_regex import check_repeats, seconds_for
from .named_patterns import ALIASES as ALIASES  # messages and docs say that it is here
from .named_patterns import REGEXES

if TYPE_CHECKING:
    from ..kernels.pieces.pattern_tables import PatternTables
    from .automaton import Automaton
    from .levels import Level
    from .regex_splitter import RegexSplitter

# The modules that parse regexes, and `regex` itself, are imported where they are used: most processes find the tables on
# disk.
regex: Any = imported_on_use("regex")

SPLIT_WITH = "auto", "compiled", "regex"
_ANY_TEXT = r"(?s:.+)"

_PLAIN_WORDS = "The cat, a dog.\n"
_PARTS_AT_ONCE = 1 << 14  # in a list of parts that several patterns have made
_LONG_PART = 1 << 16  # characters of a part that is split again in lists of its own
# A word (also "gpt-4" or "qwen2.5") is far more likely a misspelt name than a regex.
_LIKE_A_NAME = re.compile(r"[\w.-]*\w[\w.-]*")
_LONG_NAME = 40  # characters: no misspelt name has as many
_ALL_NAMES = "`nbbpe inspect --help` lists the names (in Python, nbbpe.patterns.pattern.NAMED and ALIASES have them)"
# A group that calls itself before it has matched anything goes on until `regex` has 600 MB; where it needs some characters,
# that is not seen before a text is split. A call in time looks at some thousands of steps, and needs a handful.
_CALL_SECONDS = 0.005


@dataclass(frozen=True)
class Pattern:
    """A split pattern.

    name  : the name, or None for a custom pattern
    regex : the regex in the syntax of the `regex` package; None for no pattern: a document is one pretoken
    then  : regexes that split again, one after another: each splits every part from the one before, separately
    """

    name: str | None
    regex: str | None
    then: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.then and self.regex is None:
            raise ValueError("a pattern that splits again has a first regex")

    @property
    def spelling(self) -> str | list[str] | None:
        """The argument of `get_pattern` for this pattern: a name, a regex, a list of these, or None for no pattern."""
        if self.name is None and self.then:
            return [_name_of(each) or each for each in self.regexes]
        return self.name or self.regex

    @property
    def regexes(self) -> list[str]:
        """All regexes, in the order in which they split; none for no pattern."""
        return [] if self.regex is None else [self.regex, *self.then]

    @property
    def applied(self) -> list[str]:
        """The regexes that are applied: `regexes`, or for no pattern one that takes all of a document."""
        return self.regexes or [_ANY_TEXT]

    @property
    def is_ours(self) -> bool:
        """Whether it is one that nbbpe has, or no pattern; else it is custom, and there may be any number of those."""
        return self.name is not None or self.regex is None

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process or a copy: the definition, without anything that was computed."""
        return {name: self.__dict__[name] for name in ("name", "regex", "then")}

    @lazy
    def _splitters(self) -> list[RegexSplitter]:
        from .regex_splitter import RegexSplitter

        return [RegexSplitter(each) for each in self.applied]

    @property
    def compiled(self) -> Any:
        """The compiled regex, a regex.Pattern; of several the first."""
        return self._splitters[0].compiled

    def split(self, text: str) -> list[str]:
        """The pretokens of a document, in order, as `regex` finds them; concatenated, they are the document.

        The text that a custom pattern leaves between two matches is a pretoken too, so that nothing is lost. Raises
        ValueError where a regex takes too long.
        """
        return [pretoken for pretokens in self.stream(text) for pretoken in pretokens]

    def stream(self, text: str) -> Iterator[list[str]]:
        """As `split`, in lists of some ten thousand pretokens, so that a long document takes little more than its own
        memory."""
        return _stream(self._splitters, text)

    @property
    def is_compiled(self) -> bool:
        """Whether kernels split by it; else `regex` does, for the reason in `not_compiled`."""
        return not self.not_compiled

    @property
    def not_compiled(self) -> str:
        """Why `regex` must split by this pattern; empty where kernels do."""
        return self._tables[1]

    @lazy
    def is_partly_compiled(self) -> bool:
        """Whether `regex` splits only the pieces in which something is undecided (see partial_automaton.py)."""
        from .pattern_tables import have_partial_automata

        return self.tables is not None and have_partial_automata(self.tables)

    @lazy
    def rarely_needs_regex(self) -> bool:
        """Of a pattern that is not compiled whole, whether automata decide plain words: then `regex` splits few pieces."""
        from .partial_automaton import split_if_decided
        from .pattern_tables import partial_automata

        return self.is_partly_compiled and all(
            split_if_decided(automaton, _PLAIN_WORDS) is not None for automaton in partial_automata(self.levels)
        )

    @lazy
    def takes_all(self) -> bool:
        """Whether every character of every text is known to be in a match, so that there is no text between matches."""
        from .boundaries import can_be_left

        return self.is_compiled and not can_be_left(self.automata[-1]).any()

    @property
    def tables(self) -> PatternTables | None:
        """Its tables for kernels, uint64[*] (see kernels/pieces/pattern_tables.py): of a pattern that is not compiled those
        that find pieces, or None if `regex` splits all of the text."""
        return self._tables[0]

    @lazy
    def _tables(self) -> tuple[PatternTables | None, str]:
        """The tables, and why it is not compiled, or ""."""
        from .stored_tables import store_pattern_tables, stored_pattern_tables

        if self.is_ours and (stored := stored_pattern_tables(self.applied)) is not None:
            return stored, ""
        from .pattern_parser import Unsupported
        from .pattern_tables import new_pattern_tables

        try:
            tables = new_pattern_tables(self.automata, _caseless())
        except Unsupported as error:
            return self._boundary_tables(), str(error)
        if self.is_ours:
            store_pattern_tables(self.applied, tables)
        return tables, ""

    def _boundary_tables(self) -> PatternTables | None:
        """The tables by which pieces are found for `regex`, if there are any."""
        from .pattern_parser import Unsupported
        from .pattern_tables import boundary_tables

        try:
            return boundary_tables(self._known_levels(), _caseless())
        except Unsupported:
            return None

    @property
    def levels(self) -> Sequence[Level]:
        """The automaton of each regex, or the certain boundaries of one that has none."""
        return self.automata if self.is_compiled else self._known_levels()

    def _known_levels(self) -> Sequence[Level]:
        """What is known of each regex where not all have an automaton."""
        from .checked_automaton import level_of

        return [level_of(each) for each in self.applied]

    @lazy
    def automata(self) -> list[Automaton]:
        """The automata of all regexes. Raises Unsupported."""
        from .checked_automaton import automaton_of

        return [automaton_of(each, checked=not self.is_ours) for each in self.applied]


def _caseless() -> tuple[int, ...]:
    """Letters without case, a set of code points."""
    from .code_points import read_off

    return read_off(r"[\p{Lo}\p{Lm}]")


def _stream(splitters: list[RegexSplitter], text: str) -> Iterator[list[str]]:
    """The parts of a text, split by each splitter in turn, in lists; each distinct part is split once for a list."""
    first, *then = splitters
    for parts in first.stream(text):
        if not then:
            yield parts
            continue
        known: dict[str, list[str]] = {}
        gathered: list[str] = []
        for part in parts:
            if len(part) > _LONG_PART:
                yield gathered
                gathered = []
                yield from _stream(then, part)
                continue
            if part not in known:
                known[part] = [inner for inners in _stream(then, part) for inner in inners]
            gathered += known[part]
            if len(gathered) >= _PARTS_AT_ONCE:
                yield gathered
                gathered = []
        yield gathered


def _named(name: str, regexes: str | list[str]) -> Pattern:
    first, *then = [regexes] if isinstance(regexes, str) else regexes
    return Pattern(name, first, tuple(then))


NAMED = {name: _named(name, regexes) for name, regexes in REGEXES.items()}

# The name of each list of regexes that is known to split as a named pattern does.
_KNOWN = {tuple(pattern.regexes): name for name, pattern in NAMED.items()}
# Many files split off each digit, and then split the rest by GPT-2's regex. (Tests compare it with the one regex.)
_KNOWN |= {(r"\p{N}", *NAMED["gpt2"].regexes): "starcoder"}


@functools.cache
def names_of_digests(into: str | None = None) -> dict[str, str]:
    """The name of each known list of regexes, by the digests of their automata with a space between.

    It is stored beside the kernels, in the folder `into` if that is given, as it takes 0.5 s; another version of `regex`,
    and so of Unicode, makes it again.
    """
    from .stored_tables import stored_text

    def made() -> str:
        return json.dumps({_digests(regexes, checked=False): name for regexes, name in _KNOWN.items()})

    names: dict[str, str] = json.loads(stored_text("names of digests", made, into))
    return names


def _digests(regexes: Sequence[str], checked: bool) -> str:
    from .checked_automaton import automaton_of

    return " ".join(automaton_of(each, checked).digest() for each in regexes)


def _name_of(*regexes: str) -> str | None:
    """The name of the pattern that splits every text as some regexes in turn do; None if there is none."""
    if (name := _KNOWN.get(regexes)) is not None:
        return name
    from .pattern_parser import Unsupported

    try:
        digests = _digests(regexes, checked=True)
    except Unsupported:
        return None
    return names_of_digests().get(digests)


# The values that callers may give as a pattern.
PatternLike = str | Sequence[str] | Pattern | None


def get_pattern(pattern: PatternLike) -> Pattern:
    """The Pattern of a name (a key of NAMED or ALIASES), of a regex, or of None (a document is one pretoken).

    A regex that matches as a named pattern does in every text is that pattern. A list or tuple of names and regexes splits
    by each in turn.

    Raises ValueError for a regex that does not compile, that matches the empty string, or that tries to in too many ways,
    TypeError for other things.
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
        meant = f"; did you mean {' or '.join(near)}?" if near else ";"
        raise ValueError(f"unknown pattern {shown(pattern)}{meant} {_ALL_NAMES}")
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
            "(backtracking), and was given up. Let no part that is repeated match nothing, as in (?:a|b){0,9} in place of "
            "(?:a?|b?){9}"
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
    """As `get_pattern`, for a text that is a regex even where it reads like a name, as in the files of other libraries."""
    return get_pattern(f"(?:{text})" if _LIKE_A_NAME.fullmatch(text) else text)


def splits_by_regex(pattern: Pattern, split_with: str | None) -> bool:
    """Whether `regex` splits the pieces of a pattern that can be compiled, as `split_with` says; None is "auto".

    Raises TypeError or ValueError for another value, and for "compiled" where the pattern cannot be.
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
    first, *others = [get_pattern(each) for each in patterns]
    if not others:
        return first
    parts = [part for each in (first, *others) for part in each.regexes]
    return _pattern_of(*parts)


def _pattern_of(*regexes: str) -> Pattern:
    """The named pattern that splits as some regexes in turn do, or else a custom one."""
    same = _name_of(*regexes)
    return NAMED[same] if same else Pattern(name=None, regex=regexes[0], then=regexes[1:])
