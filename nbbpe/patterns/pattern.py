"""Split patterns: regexes that define pretokens, named or custom. (pattern_argument.py makes them for callers.)

A regex whose syntax pattern_parser.py can read becomes an automaton, from which everything that kernels need is derived:
where the certain boundaries of a text are, and how a piece is split into pretokens. For any other regex, `regex` splits. If
certain boundaries can be derived, it splits only distinct pieces, and only those that a partial automaton does not decide;
else it splits all of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..system.lazy import lazy
from .known_regexes import name_of
from .named_patterns import ALIASES as ALIASES  # here, as messages and docs name nbbpe.patterns.pattern.ALIASES
from .named_patterns import REGEXES

if TYPE_CHECKING:
    from ..kernels.pieces.pattern_tables import PatternTables
    from .automaton import Automaton
    from .levels import Level
    from .regex_splitter import RegexSplitter

# The modules that parse regexes, and `regex` itself, are imported where they are used: most processes find the tables on
# disk.

_ANY_TEXT = r"(?s:.+)"
_PLAIN_WORDS = "The cat, a dog.\n"
_PARTS_AT_ONCE = 1 << 14  # in a list of the parts that several regexes have made
_LONG_PART = 1 << 16  # characters: a longer part is split again into lists of its own


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
            return [name_of(each) or each for each in self.regexes]
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
        """Whether it is a named pattern or no pattern, not a custom one. There may be any number of custom ones."""
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
        ValueError if a regex takes too long.
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
        """Why `regex` must split by this pattern; empty if kernels do."""
        return self._tables[1]

    @lazy
    def is_partly_compiled(self) -> bool:
        """Whether `regex` splits only the pieces in which something is undecided (see partial_automaton.py)."""
        from .pattern_tables import have_partial_automata

        return self.tables is not None and have_partial_automata(self.tables)

    @lazy
    def rarely_needs_regex(self) -> bool:
        """Whether the pattern is partly compiled and its automata decide plain words, so that `regex` splits few pieces."""
        from .partial_automaton import split_if_decided
        from .pattern_tables import partial_automata

        return self.is_partly_compiled and all(
            split_if_decided(automaton, _PLAIN_WORDS) is not None for automaton in partial_automata(self.levels)
        )

    @lazy
    def takes_all(self) -> bool:
        """Whether every character of every text is known to be in a match, so that there is no text between matches."""
        from .boundaries import can_be_left
        from .stored_tables import stored_text

        def found() -> str:
            return str(not can_be_left(self.automata[-1]).any())

        if not self.is_compiled:
            return False
        # The tables of ours may be stored, and then making the automaton would take longer than all else.
        return (stored_text(f"takes all: {self.applied}", found) if self.is_ours else found()) == "True"

    @property
    def tables(self) -> PatternTables | None:
        """Its tables for kernels, uint64[*] (see kernels/pieces/pattern_tables.py). If the pattern is not compiled, they
        find pieces for `regex`, or are None if `regex` splits all of the text."""
        return self._tables[0]

    @lazy
    def _tables(self) -> tuple[PatternTables | None, str]:
        """The tables, and why the pattern is not compiled ("" if it is)."""
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
        """The tables that find pieces for `regex`, if there are any."""
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
        """The automaton or the certain boundaries of each regex, if not all have an automaton."""
        from .checked_automaton import level_of

        return [level_of(each) for each in self.applied]

    @lazy
    def automata(self) -> list[Automaton]:
        """The automata of all regexes. Raises Unsupported if one has none."""
        from .checked_automaton import automaton_of

        return [automaton_of(each, checked=not self.is_ours) for each in self.applied]


def _caseless() -> tuple[int, ...]:
    """Letters without case, a set of code points."""
    from .code_points import read_off

    return read_off(r"[\p{Lo}\p{Lm}]")


def _stream(splitters: list[RegexSplitter], text: str) -> Iterator[list[str]]:
    """The parts of a text, split by each splitter in turn, in lists; within a list, each distinct part is split once."""
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
