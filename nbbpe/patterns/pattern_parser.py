"""Parses the part of the syntax of `regex` that split patterns use into a tree.

Syntax that a tree cannot express exactly is refused by name (`Unsupported`), and such a pattern is left to `regex` itself.
The tree has sets of code points, one after another, choices, repeats, and assertions about what is before or after a place.
An automaton decides assertions about one character (see determiniser.py); boundaries are derived from all assertions (see
regex_boundaries.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import regex

from .code_points import EVERYTHING, Edges, complement, from_ranges, in_any_case, ranges_of, read_off, union

Mode = Literal["greedy", "lazy", "possessive"]
NO_LIMIT = -1  # as the most of a Repeat
_MOST_COPIES = 1000  # of a part that is repeated a bounded number of times
_MOST_AGAIN = 64  # characters of a group that a reference repeats

_NEWLINE = from_ranges([(10, 10)])
_CONTROL = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7}
_NAME = r"[A-Za-z0-9 &_./-]+"
_PROPERTY = rf"[pP](?:\{{\^?{_NAME}(?:[:=]{_NAME})?\}}|[CLMNPSZ])"
_FLAG = r"(?:V[01]|[a-z])"  # not R or a digit, which are a call of a group
_PERL_CLASSES = "sSdDwW"
POSIX_CLASS = r"\[:\^?\w+:\]"  # in a set, such as [:alpha:]
# A set after its first bracket: a bracket that closes nothing may come first. In version 1, sets may contain sets.
_SET = rf"\^?+\]?+(?:\\(?s:.)|{POSIX_CLASS}|[^\]\\])*+\]"
_SET_OF_SETS = rf"\^?+\]?+(?<rest>(?:\\(?s:.)|{POSIX_CLASS}|\[(?&rest)|[^\[\]\\])*+\])"


class Unsupported(ValueError):
    """A regex contains syntax that is not compiled; the message names it."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    members: Edges


@dataclass(frozen=True)
class Concatenation:
    """One after another; of none, the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """The first that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """As often as `least` to `most` (NO_LIMIT for no limit) times."""

    part: Node
    least: int
    most: int
    mode: Mode


@dataclass(frozen=True)
class LookAhead:
    """Whether the next character is one of `members`; with `or_end`, also the end of the text."""

    members: Edges
    or_end: bool


@dataclass(frozen=True)
class End:
    """The end of the text; with `or_newline`, also before a newline that is the last character."""

    or_newline: bool


@dataclass(frozen=True)
class LookBehind:
    """Whether the character before is one of `members`; with `or_start`, also the start of the text.

    syntax : how it is written, for messages
    """

    members: Edges
    or_start: bool
    syntax: str


@dataclass(frozen=True)
class LongLookAhead:
    """Whether a part matches from here on; or, if negative, whether it does not."""

    part: Node
    negative: bool


@dataclass(frozen=True)
class LongLookBehind:
    """Whether a part matches up to here; or, if negative, whether it does not.

    part   : has only sets, one after another, choices and repeats
    syntax : how it is written, for messages
    """

    part: Node
    negative: bool
    syntax: str


Node = Characters | Concatenation | Choice | Repeat | LookAhead | End | LookBehind | LongLookAhead | LongLookBehind


def sets_of(node: Node) -> Iterator[Edges]:
    """The sets of characters in a tree, perhaps several times."""
    if isinstance(node, Characters | LookAhead | LookBehind):
        yield node.members
    elif isinstance(node, Repeat | LongLookAhead | LongLookBehind):
        yield from sets_of(node.part)
    elif not isinstance(node, End):
        for part in node.parts if isinstance(node, Concatenation) else node.options:
            yield from sets_of(part)


def _is_look(node: Node) -> bool:
    """Whether a node only looks around, somewhere, and takes no character."""
    if isinstance(node, Concatenation | Choice):
        parts = node.parts if isinstance(node, Concatenation) else node.options
        return parts != () and all(map(_is_look, parts))
    return not isinstance(node, Characters | Repeat)


def _between(look: Node) -> Node:
    """A character and those after it at which a look does not succeed."""
    anything = Characters(EVERYTHING)
    return Concatenation((anything, Repeat(Concatenation((_unless(_looked_for(look)), anything)), 0, NO_LIMIT, "greedy")))


@dataclass(frozen=True)
class _Flags:
    """How what follows is read: case ignored, a dot for newlines too, ^ and $ at each line, sets with operations (regex's
    version 1)."""

    ignore_case: bool = False
    dot_all: bool = False
    multi_line: bool = False
    version_1: bool = False


def parse(pattern: str) -> Node:
    """The tree of a regex. If all matches of the regex are empty, and so cut a text, the tree matches the text between two.

    Raises Unsupported for syntax that the tree cannot express, regex.error for syntax that is invalid in `regex`, too.
    """
    tree = _read(pattern)
    return _between(tree) if _is_look(tree) else tree


def only_looks(pattern: str) -> bool:
    r"""Whether all matches of a regex are empty. Errors are those of `parse`.

    >>> only_looks(r"\b"), only_looks(r"\b\w")
    (True, False)
    """
    return _is_look(_read(pattern))


def _read(pattern: str) -> Node:
    """The tree of a regex as it is written. Errors are those of `parse`."""
    regex.compile(pattern)
    parser = _Parser(pattern)
    tree = parser.choice(parser.leading_flags())
    if parser.rest:
        raise Unsupported(f"an unexpected {parser.rest[0]!r}")
    return tree


class _Parser:
    """Reads a regex from left to right; `rest` is what is left."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern
        self._n_groups = 0  # that have a number, so far

    def _take(self, n: int) -> str:
        taken, self.rest = self.rest[:n], self.rest[n:]
        return taken

    def _takes(self, text: str) -> bool:
        """Whether the rest begins with a text, which is then consumed."""
        if not self.rest.startswith(text):
            return False
        self.rest = self.rest[len(text) :]
        return True

    def _takes_match(self, pattern: str) -> Any:
        """A match of a regex at the beginning of the rest, which is then consumed; None if there is none."""
        if found := regex.match(pattern, self.rest):
            self._take(found.end())
        return found

    def leading_flags(self) -> _Flags:
        """The flags at the beginning, as `(?V1i)`; later ones are refused where they occur."""
        flags = _Flags()
        while found := self._takes_match(rf"\(\?({_FLAG}+)\)"):
            flags = _with_flags(flags, found[1])
        return flags

    def choice(self, flags: _Flags) -> Node:
        options = [self._sequence(flags)]
        while self._takes("|"):
            options.append(self._sequence(flags))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self, flags: _Flags) -> Node:
        parts: list[Node] = []
        self._skip_comments()
        while self.rest and self.rest[0] not in "|)":
            part = self._atom(flags)
            self._skip_comments()  # a repeat after comments is of the part before them
            parts.append(self._repeated(part))
            self._skip_comments()
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _skip_comments(self) -> None:
        while self._takes_match(r"\(\?#(?:\\(?s:.)|[^)\\])*+\)"):
            pass

    def _repeated(self, part: Node) -> Node:
        while found := self._takes_match(r"[*+?]|\{(?!,?\})([0-9]*)(?:(,)([0-9]*))?\}"):
            if isinstance(part, LookAhead | End | LookBehind | LongLookAhead | LongLookBehind):
                raise Unsupported(f"a repeated look-around or end ({found[0]!r})")
            least, most = {"*": (0, NO_LIMIT), "+": (1, NO_LIMIT), "?": (0, 1)}.get(found[0], (-1, -1))
            if least < 0:
                least = int(found[1] or 0)
                most = least if not found[2] else int(found[3]) if found[3] else NO_LIMIT
            if max(least, most) > _MOST_COPIES:
                raise Unsupported(f"more than {_MOST_COPIES:,} repeats ({found[0]})")
            mode: Mode = "lazy" if self._takes("?") else "possessive" if self._takes("+") else "greedy"
            part = Repeat(part, least, most, mode)
        if self.rest.startswith("{"):
            raise Unsupported(f"a brace that does not begin a number of repeats ({self.rest[:6]!r}), as of fuzzy matching")
        return part

    def _atom(self, flags: _Flags) -> Node:
        character = self._take(1)
        if character == "(":
            return self._group(flags)
        if character == "[":
            return Characters(self._set(flags))
        if character == ".":
            return Characters(EVERYTHING if flags.dot_all else complement(_NEWLINE))
        if character == "$":
            return LookAhead(_NEWLINE, or_end=True) if flags.multi_line else End(or_newline=True)
        if character == "^":
            return LookBehind(_NEWLINE if flags.multi_line else (), True, "the beginning of the text (^)")
        if character == "\\":
            return self._escape(flags)
        if character in "*+?":
            raise Unsupported(f"a {character!r} that repeats nothing")
        return Characters(_literal(character, flags))

    def _group(self, flags: _Flags) -> Node:
        """The content of parentheses, after the opening one."""
        if self.rest.startswith("*"):
            raise Unsupported(f"a verb (({self.rest[:6]}...)")
        if not self._takes("?"):
            return self._numbered_group(flags)
        if found := self._takes_match("([a-z]*)(?:-([a-z]+))?:"):  # no version, which is for the whole regex
            return self._closed(self.choice(_with_flags(flags, found[1], found[2] or "")))
        if found := self._takes_match("[=!]"):
            return self._look_ahead(flags, negative=found[0] == "!")
        if found := self._takes_match("<[=!]"):
            return self._look_behind(flags, found[0])
        if self._takes(">"):
            return Repeat(self._closed(self.choice(flags)), 1, 1, "possessive")
        if self._takes_match(r"P?<[A-Za-z_]\w*>"):
            self._n_groups += 1
            return self._closed(self.choice(flags))
        known = {"P": "a named reference", "(": "a condition", **dict.fromkeys("R&+-0123456789", "a call of a group")}
        raise Unsupported(f"{known.get(self.rest[:1], 'a group')} ((?{self.rest[:6]}...)")

    def _numbered_group(self, flags: _Flags) -> Node:
        self._n_groups += 1
        number, inner = self._n_groups, self._closed(self.choice(flags))
        if isinstance(inner, Characters) and not flags.ignore_case and self._takes_match(rf"\\{number}(?!\d)"):
            return self._again(inner)
        return inner

    def _again(self, first: Characters) -> Node:
        """A character of a set, then the same one again, as often as the repeat at the beginning of the rest says: a choice
        of these two for each character."""
        members = [
            code for start, end in ranges_of(first.members) for code in range(start, min(end, start + _MOST_AGAIN + 1))
        ]
        if len(members) > _MOST_AGAIN:
            raise Unsupported(f"a reference to a group of more than {_MOST_AGAIN} characters")
        self._skip_comments()
        rest, options = self.rest, []
        for code in members:
            self.rest = rest
            one = Characters(from_ranges([(code, code)]))
            options.append(Concatenation((one, self._repeated(one))))
        return Choice(tuple(options))

    def _closed(self, inner: Node) -> Node:
        if not self._takes(")"):
            raise Unsupported("a group that is not closed")
        return inner

    def _look_ahead(self, flags: _Flags, negative: bool) -> Node:
        part = _looked_for(self._closed(self.choice(flags)))
        if negative:
            return _unless(part)
        return part if isinstance(part, LookAhead | LongLookAhead) else LongLookAhead(part, negative=False)

    def _look_behind(self, flags: _Flags, sign: str) -> Node:
        syntax = f"a look-behind ((?{sign}{self.rest[:4]}...)"
        inner = self._closed(self.choice(flags))
        negative = sign == "<!"
        if not isinstance(inner, Characters):
            if not _only_takes(inner):
                raise Unsupported(syntax)
            return LongLookBehind(inner, negative, syntax)
        return LookBehind(complement(inner.members) if negative else inner.members, negative, syntax)

    def _escape(self, flags: _Flags) -> Node:
        """The syntax after a backslash, outside a set."""
        if self._takes("Z") or self._takes("z"):
            return End(or_newline=False)
        if self._takes("A"):
            return LookBehind((), True, r"\A")
        if self._takes("b"):
            return _word_edge(r"\b")
        if self._takes("B"):
            return _word_edge(r"\B")
        return Characters(self._escaped(flags, in_set=False))

    def _escaped(self, flags: _Flags, in_set: bool) -> Edges:
        letter = self.rest[:1]
        if found := self._takes_match(_PROPERTY):
            return read_off(f"(?i:\\{found[0]})" if flags.ignore_case else f"\\{found[0]}")
        if letter and letter in _PERL_CLASSES:
            return read_off(f"\\{self._take(1)}")
        if found := self._takes_match(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"):
            return _literal(chr(int(found[1] or found[2] or found[3], 16)), flags)
        if letter in _CONTROL:
            self._take(1)
            return _literal(chr(_CONTROL[letter]), flags)
        if in_set and self._takes("b"):
            return _literal("\b", flags)
        if not letter or letter.isalnum():  # also \p without a name of a property, which `regex` reads as p, or refuses
            raise Unsupported(f"\\{letter}")
        return _literal(self._take(1), flags)

    def _set(self, flags: _Flags) -> Edges:
        """The set in brackets, after the opening one."""
        if flags.ignore_case or flags.version_1:
            found = self._takes_match(_SET_OF_SETS if flags.version_1 else _SET)
            if not found:
                raise Unsupported("a set that is not closed")
            return read_off(f"(?V1)[{found[0]}" if flags.version_1 else f"(?i:[{found[0]})")
        negated = self._takes("^")
        parts: list[Edges] = []
        first = True
        while first or not self.rest.startswith("]"):
            first = False
            if not self.rest:
                raise Unsupported("a set that is not closed")
            if found := self._takes_match(POSIX_CLASS):
                parts.append(read_off(f"[{found[0]}]"))
                continue
            low = self._member(flags)
            if self.rest.startswith("-") and self.rest[1:2] not in ("]", "") and len(low) == 2 and low[1] == low[0] + 1:
                self._take(1)
                high = self._member(flags)
                if len(high) != 2 or high[1] != high[0] + 1:
                    raise Unsupported("a range in a set that does not end with a character")
                parts.append(from_ranges([(low[0], high[0])]))
            else:
                parts.append(low)
        self._take(1)
        members = union(parts)
        return complement(members) if negated else members

    def _member(self, flags: _Flags) -> Edges:
        character = self._take(1)
        return self._escaped(flags, in_set=True) if character == "\\" else _literal(character, flags)


def _with_flags(flags: _Flags, on: str, off: str = "") -> _Flags:
    names = {"i": "ignore_case", "s": "dot_all", "m": "multi_line"}
    changed = vars(flags).copy()
    letters = on.replace("V1", "1").replace("V0", "0").replace("u", "")
    for letter, is_on in [*((each, True) for each in letters), *((each, False) for each in off)]:
        if letter in names:
            changed[names[letter]] = is_on
        elif is_on and letter in "01":
            changed["version_1"] = letter == "1"
        else:
            raise Unsupported(f"the flag {letter!r}")
    if changed["version_1"] and changed["ignore_case"]:
        raise Unsupported("ignoring case in version 1, which compares letters such as \u00df and ss")
    return _Flags(**changed)


def _literal(character: str, flags: _Flags) -> Edges:
    if flags.ignore_case:
        return in_any_case(character)
    return from_ranges([(ord(character), ord(character))])


def _word_edge(syntax: str) -> Node:
    """Whether one of the two characters around a place is of a word and the other is not (\\b), or else (\\B)."""
    word = read_off(r"\w")
    other = complement(word)
    before_word, before_other = LookAhead(word, False), LookAhead(other, True)
    after_word, after_other = LookBehind(word, False, syntax), LookBehind(other, True, syntax)
    pairs = [(after_word, before_other), (after_other, before_word)]
    if syntax == r"\B":
        pairs = [(after_word, before_word), (after_other, before_other)]
    return Choice(tuple(map(Concatenation, pairs)))


def _only_takes(node: Node) -> bool:
    """Whether a node has only sets, one after another, choices, and repeats that can give back what they have taken."""
    if isinstance(node, Concatenation | Choice):
        return all(map(_only_takes, node.parts if isinstance(node, Concatenation) else node.options))
    return isinstance(node, Characters) or (
        isinstance(node, Repeat) and node.mode != "possessive" and _only_takes(node.part)
    )


def _looked_for(node: Node) -> Node:
    """The part that a look-ahead looks for, with a look at its last character in place of taking it.

    A look at one character can also be at the end of the text; those in a choice become one.
    """
    if isinstance(node, Characters):
        return LookAhead(node.members, or_end=False)
    if isinstance(node, End) and not node.or_newline:
        return LookAhead((), or_end=True)
    if isinstance(node, LongLookAhead) and not node.negative:
        return node.part
    if isinstance(node, Repeat) and node.least == 1 and isinstance(node.part, Characters):
        return _looked_for(node.part)  # it does not matter whether more follow
    if isinstance(node, Concatenation) and node.parts:
        last = _looked_for(node.parts[-1])
        return Concatenation((*node.parts[:-1], last)) if len(node.parts) > 1 else last
    if isinstance(node, Choice):
        return _any_of(node.options)
    return node


def _unless(part: Node) -> Node:
    """A look-ahead that succeeds where a part does not match."""
    if isinstance(part, LookAhead):
        return LookAhead(complement(part.members), not part.or_end)
    if isinstance(part, LongLookAhead):
        return LongLookAhead(part.part, not part.negative)
    return LongLookAhead(part, negative=True)


def _any_of(options: Iterable[Node]) -> Node:
    """The part that a look-ahead looks for if that is any of some options, whose order does not matter."""
    options = [_looked_for(option) for option in options]
    while nested := next((option for option in options if isinstance(option, Choice)), None):
        options.remove(nested)
        options += nested.options
    looks = [option for option in options if isinstance(option, LookAhead)]
    members = union(look.members for look in looks)
    or_end = any(look.or_end for look in looks)
    others = [option for option in options if not isinstance(option, LookAhead)]
    if union([members, _NEWLINE]) == members:  # so that $ adds the end alone
        or_end |= any(isinstance(option, End) for option in others)
        others = [option for option in others if not isinstance(option, End)]
    either = (*others, LookAhead(members, or_end)) if looks else tuple(others)
    return either[0] if len(either) == 1 else Choice(either)
