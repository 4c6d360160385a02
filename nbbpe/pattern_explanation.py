"""Explain a split pattern to people: its automata, their character classes, and its certain boundaries."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .patterns.automaton import Automaton
from .patterns.automaton_drawing import draw_automaton
from .patterns.boundaries import certain_pairs, certain_triples
from .patterns.determiniser import UNDECODABLE
from .patterns.pattern_argument import PatternLike, get_pattern
from .system.atomic_files import whole_file, write_text
from .system.stretches import starts_of
from .text.utf8 import Text, to_bytes, to_text

if TYPE_CHECKING:
    from .patterns.levels import Levels

_N_EXAMPLES = 4  # characters of a class that are shown besides its ASCII
_WIDTH, _MOST_LINES = 78, 20  # characters in a line of the marked text, and lines
_UNDECODABLE = frozenset(map(chr, range(UNDECODABLE[0], UNDECODABLE[1] + 1)))
_NAMES = {" ": "space", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


@dataclass(frozen=True)
class CharacterClass:
    """Characters that an automaton treats alike.

    number   : its number in `Level.pairs` and `Level.triples`
    n        : how many code points it has
    examples : some printable ones: its ASCII, as characters and ranges, then a few others
    """

    number: int
    n: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.examples) or "(not printable)"


@dataclass(frozen=True)
class Level:
    """One regex of a pattern, as an automaton.

    regex    : the regex
    n_states : states of the minimal automaton, including the dead state
    classes  : its classes of characters, by number
    pairs    : (a, b) if a certain boundary lies between any characters of classes a and b
    triples  : (a, b, c) if a certain boundary lies between a and b when c follows; without those with (a, b) in `pairs`
    """

    regex: str
    n_states: int
    classes: tuple[CharacterClass, ...]
    pairs: frozenset[tuple[int, int]]
    triples: frozenset[tuple[int, int, int]]


@dataclass(frozen=True)
class Explanation:
    """The result of `explain_pattern`; print it to read it.

    name         : the name of the named pattern that is equal to it, or None
    regexes      : the regexes that split in turn; empty for no pattern
    is_compiled  : whether automata alone split by it; if not, `has_pieces` and `is_partly_compiled` say what `regex` splits
    not_compiled : why it is not compiled, or ""
    has_pieces   : whether certain boundaries are used, and each distinct piece is split once; else `regex` splits all text
    is_partly_compiled : whether `regex` splits only long pieces, and those in which automata leave something undecided
    levels       : each regex as an automaton, or one for no pattern; empty if it is not compiled
    text         : the text to split, or None; in bytes, each byte of invalid UTF-8 is a character (surrogateescape)
    pretokens    : the pretokens of the text, in order
    is_certain   : whether each pretoken begins at a certain boundary (of all levels together); False for the first
    """

    name: str | None
    regexes: tuple[str, ...]
    not_compiled: str
    has_pieces: bool
    is_partly_compiled: bool
    levels: tuple[Level, ...]
    text: str | None
    pretokens: tuple[str, ...]
    is_certain: tuple[bool, ...]
    _automata: tuple[Automaton, ...]

    @property
    def is_compiled(self) -> bool:
        return not self.not_compiled

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def to_svg(self, path: str | os.PathLike[str], level: int = 0) -> None:
        """Draw the automaton of one regex as an SVG file.

        Raises ValueError if the pattern is not compiled, IndexError if it has no such level.
        """
        if not self.levels:
            raise ValueError(f"the pattern has no automaton to draw: {self.not_compiled}")
        labels = [_short(each) for each in self.levels[level].classes]
        drawn = draw_automaton(self._automata[level], labels, [str(each) for each in self.levels[level].classes])
        with whole_file(path) as whole:
            write_text(whole, drawn)


def explain_pattern(pattern: PatternLike, text: Text | None = None) -> Explanation:
    """Explain a split pattern: whether it is compiled, its automata, and its certain boundaries.

    pattern : as in `train`: a name, a regex, a list of these that split in turn, or None
    text    : a text to split with the pattern, str or bytes, or None

    Returns an Explanation, which prints as a page. Raises ValueError for an invalid pattern.

    >>> import nbbpe
    >>> found = nbbpe.explain_pattern(r"[a-z]+|\\d{1,3}|.", "call 12345")
    >>> found.pretokens
    ('call', ' ', '123', '45')
    >>> found.is_compiled, found.levels[0].n_states
    (True, 6)
    >>> nbbpe.explain_pattern(r"\\bx").not_compiled
    '\\\\b'
    """
    found = get_pattern(pattern)
    if text is not None and not isinstance(text, str):
        text = to_text(to_bytes(text))
    from .patterns.levels import join_levels

    automata = tuple(found.automata) if found.is_compiled else ()
    has_pieces = found.tables is not None
    pretokens = tuple(found.split(text)) if text else ()
    is_certain: tuple[bool, ...] = (False,) * len(pretokens)
    if has_pieces and text:
        cuts = certain_places(join_levels(found.levels), text)
        starts = starts_of(list(map(len, pretokens)))[:-1]
        is_certain = tuple(cuts[starts].tolist())
    return Explanation(
        name=found.name,
        regexes=tuple(found.regexes),
        not_compiled=found.not_compiled,
        has_pieces=has_pieces,
        is_partly_compiled=found.is_partly_compiled,
        levels=tuple(_level(regex, each) for regex, each in zip(found.applied, automata, strict=False)),
        text=text,
        pretokens=pretokens,
        is_certain=is_certain,
        _automata=automata,
    )


def certain_places(levels: Levels, text: str) -> NDArray[np.bool_]:
    """Whether there is a certain boundary before each character of a text, bool[n]: every one that can be proved.

    The kernels find most of these, as their tables have room for a few rules only.
    """
    classes = levels.classes_of(text)
    found = np.zeros(len(classes), dtype=bool)
    found[1:] = levels.pairs[classes[:-1], classes[1:]]
    found[1:-1] |= levels.triples[classes[:-2], classes[1:-1], classes[2:]]
    return found


def _level(regex: str, automaton: Automaton) -> Level:
    pairs = certain_pairs(automaton)
    triples = certain_triples(automaton) & ~pairs[:, :, None]
    return Level(
        regex,
        automaton.n_states,
        tuple(_character_class(automaton, number) for number in range(automaton.n_classes)),
        frozenset((before, after) for before, after in np.argwhere(pairs).tolist()),
        frozenset((before, after, following) for before, after, following in np.argwhere(triples).tolist()),
    )


def _character_class(automaton: Automaton, number: int) -> CharacterClass:
    """A class of an automaton, with examples of its characters."""
    ranges = [(first, end) for first, end, of_class in automaton.ranges() if of_class == number]
    examples: list[str] = []
    for first, end in ranges:
        printable = [
            chr(point) for point in range(first, min(end, 128)) if chr(point).isprintable() or chr(point) in _NAMES
        ]
        examples += _runs(printable)
    # One example from each of a few ranges, spread over all ranges.
    others = [_example(max(first, 128), end) for first, end in ranges if end > 128]
    others = [each for each in others if each]
    step = max(1, len(others) // _N_EXAMPLES)
    examples += others[::step][:_N_EXAMPLES]
    return CharacterClass(number, sum(end - first for first, end in ranges), tuple(examples))


def _runs(characters: list[str]) -> list[str]:
    """Ascending characters as strings; three or more consecutive ones become a range, such as "a-z"."""
    runs: list[list[str]] = []
    for each in characters:
        if runs and ord(each) == ord(runs[-1][-1]) + 1 and each not in _NAMES and runs[-1][0] not in _NAMES:
            runs[-1].append(each)
        else:
            runs.append([each])
    return [part for run in runs for part in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else [_NAMES.get(c, c) for c in run])]


def _example(first: int, end: int) -> str:
    """A printable character near the beginning of a range; else the code point of a mark or a space, or ""."""
    for point in range(first, min(end, first + 64)):
        character = chr(point)
        if character.isprintable() and unicodedata.category(character)[0] != "M":
            return character
    return f"U+{first:04X}" if unicodedata.category(chr(first))[0] in "MZ" else ""


def _short(character_class: CharacterClass) -> str:
    """The label of a class in a drawing."""
    first, more = character_class.examples[:3], character_class.examples[3:]
    return " ".join(first) + "…" * bool(more) if first else f"class {character_class.number}"


def _lines(found: Explanation) -> list[str]:
    """The lines of an Explanation's page."""
    lines = [f"pattern   {found.name or ('a custom one' if found.regexes else 'none')}"]
    lines += [f"regex     {each}" for each in found.regexes]
    if found.not_compiled:
        lines.append(f"compiled  {'in part' if found.is_partly_compiled else 'no'}: {found.not_compiled}")
        if found.regexes:
            split_text = "each distinct piece once" if found.has_pieces else "all of the text"
            if found.is_partly_compiled:
                split_text = "pieces above 254 bytes, and those in which automata leave something undecided, each once"
            lines.append(f"          `regex` splits {split_text}")
    else:
        n_regexes = len(found.regexes)
        lines.append("compiled  yes" + (f", as {n_regexes} automata that split in turn" if n_regexes > 1 else ""))
    for number, level in enumerate(found.levels, 1):
        which = f" {number}: {level.regex:.60}" if len(found.levels) > 1 else ""
        lines += ["", f"automaton{which}: {level.n_states} states, {len(level.classes)} classes"]
        lines += [f"  {each.number:>2}  {each.n:>9,}  {each}" for each in level.classes]
        lines += _boundary_lines(level)
    if found.text is not None:
        lines += ["", "text, with | before pretokens and ‖ at certain boundaries"]
        lines += [f"  {line}" for line in _marked(found)]
    return lines


def _boundary_lines(level: Level) -> list[str]:
    """List the certain boundaries; classes after which they lie before the same classes share a line."""
    if not level.pairs and not level.triples:
        return ["  no certain boundaries: all of a document is one piece"]
    after: dict[int, frozenset[int]] = {
        each.number: frozenset(b for a, b in level.pairs if a == each.number) for each in level.classes
    }
    rows = [([a for a in after if after[a] == members], members) for members in dict.fromkeys(after.values()) if members]
    lines = ["  certain boundaries, by classes"]
    lines += [f"    after {_listed(before)} before {_listed(members)}" for before, members in rows]
    thirds: dict[tuple[int, int], list[int]] = {}
    for a, b, c in sorted(level.triples):
        thirds.setdefault((a, b), []).append(c)
    lines += [f"    after {a} before {b}, if {_listed(members)} follows" for (a, b), members in thirds.items()]
    return lines


def _listed(numbers: list[int] | frozenset[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _marked(found: Explanation) -> list[str]:
    """The text in lines, with marks before pretokens; a long text is cut, and the number of further pretokens given."""
    lines, line = [], ""
    for number, (is_certain, pretoken) in enumerate(zip(found.is_certain, found.pretokens, strict=True)):
        part = ("‖" if is_certain else "|" if number else "") + _visible(pretoken)
        if len(line) + len(part) > _WIDTH and line:
            lines.append(line)
            line = ""
        if len(lines) == _MOST_LINES:
            return [*lines, f"... and {len(found.pretokens) - number:,} more pretokens"]
        line += part if len(part) <= _WIDTH else f"{part[: _WIDTH - 1]}…"
    return [*lines, line]


def _visible(text: str) -> str:
    """A text that any terminal can show: spaces and unprintable characters become symbols or escapes."""
    return "".join(
        "␣" if c == " " else c if c.isprintable() else f"\\x{ord(c) & 255:02x}" if c in _UNDECODABLE else repr(c)[1:-1]
        for c in text
    )
