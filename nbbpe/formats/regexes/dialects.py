"""Translates split patterns between the regex dialects of engines, if it is certain that they match the same.

The dialects are those of `regex` (which nbbpe runs), Oniguruma (which Hugging Face's tokenizers uses) and Rust's
fancy-regex (tiktoken). They look alike, but differ in places: after `{1,3}`, a plus is possessive in two of them and one
more repetition in Oniguruma; `$` is the end of a line, of the text, or the place before a last newline; `\\w` has different
members. So a regex is read here piece by piece. What is the same in all dialects is kept, what is spelled differently is
rewritten, and anything else is an error that shows it. The Unicode versions of engines are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from ...patterns.pattern_parser import POSIX_CLASS
from ...system.excerpt import shown
from ...text.unicode_sets import ONIGURUMA_NUMBERS, ONIGURUMA_WORD, WORD

Dialect = Literal["regex", "Oniguruma", "fancy-regex"]

# Word and XDigit have other members in Oniguruma than in `regex`.
_PROPERTY = r"\\[pP]\{(?!\^?(?i:word|x_*digit)\})\^?[A-Za-z_]+\}"
_PIECE = regex.compile(
    rf"(?P<property> {_PROPERTY} )"
    r"""
    | (?P<word> \\[wW])
    | (?P<border> \\[bB])
    | (?P<start> \\[AG])
    | (?P<line> \^ )
    | (?P<again> \\[1-9](?!\d) )
    | (?P<escape> \\(?: [sSdDtnrfv] | x[0-7][0-9A-Fa-f] | u[0-9A-Fa-f]{4} | [!-/:-@\[-`{-~\ ] ))
    | (?P<named> \(\? P? < [A-Za-z_]\w* > )
    | (?P<open> \( (?: \? (?: [:=!>] | <[=!] | i: ) | (?!\?) ) )
    | (?P<close> \) )
    | (?P<class> \[\^? )
    | (?P<repeat> (?: [*+?] | \{ (?: \d+ (?:,\d*)? | ,\d+ ) \} ) [+?]? )
    | (?P<bar> \| )
    | (?P<dot> \. )
    | (?P<end> \$ )
    | (?P<last> \\[zZ] )
    | (?P<bracket> [\]}] )
    | (?P<literal> [^\\()\[\]{}*+?|.^$] )""",
    regex.VERBOSE | regex.DOTALL,
)
_ONE = r"(?: \\(?: [tnrfv] | x[0-7][0-9A-Fa-f] | u[0-9A-Fa-f]{4} | [!-/:-@\[-`{-~\ ] ) | [^\\\[\]^&|~-] )"
_MEMBER = regex.compile(
    rf"(?P<range> {_ONE}-(?:{_ONE}|~(?!~)) ) | (?P<one> {_ONE} ) | (?P<set> \\[sSdD] | \\w | {_PROPERTY} )"
    r"| (?P<dash> - ) | (?P<sign> (?P<own>[&|~^])(?!\g<own>) )",
    regex.VERBOSE | regex.DOTALL,
)
# A character by its number in braces, which `regex` does not know. Other escapes match, too, so that the second of two
# backslashes is not taken for the start of one.
_NUMBER = {
    "Oniguruma": regex.compile(r"\\(?:x\{(?P<number>[0-9A-Fa-f]{1,8})\}|.)", regex.DOTALL),
    "fancy-regex": regex.compile(r"\\(?:[xuU]\{(?P<number>[0-9A-Fa-f]{1,8})\}|.)", regex.DOTALL),
}
# What to write instead, for an error about a pattern that is saved in another dialect.
_INSTEAD = (
    (r"\$|\\z", r"; \Z is the end of the text"),
    (r"\\[pP]\{\^?\w+[=:]", r"; write the value of a property alone, as in \p{Thai}"),
    (r"\[:", r"; write a property, as in \p{Alphabetic}"),
)
_LESS = regex.compile(r"\[(?P<members>(?:[^\\\[\]&^]|\\.|\\[pP]\{\w+\})+)&&\[\^(?P<without>\\p\{\w+\})\]\]")
_NESTED = regex.compile(rf"(?!{POSIX_CLASS})\[(?P<members> {_ONE}+ )\]", regex.VERBOSE | regex.DOTALL)
_NAMED = regex.compile(r"\(\?P?<[A-Za-z_]")
# If case is ignored, these also match one character (ß, ﬁ) in Oniguruma.
_LIGATURES = {"ss", "ff", "fi", "fl", "st"}


@dataclass
class _Group:
    """An open group.

    start    : the index in `out` where it starts
    caseless : whether case is ignored in it
    looks    : whether it is a look-around
    width    : the least number of characters that the current alternative matches
    shortest : the same for all alternatives before it; None for none
    """

    start: int
    caseless: bool
    looks: bool = False
    width: int = 0
    shortest: int | None = None

    def least(self) -> int:
        """The least number of characters that the group matches."""
        if self.looks:
            return 0
        return self.width if self.shortest is None else min(self.width, self.shortest)


class _Translation:
    """Translates one regex from one dialect to another."""

    def __init__(self, pattern: str, source: Dialect, target: Dialect) -> None:
        self.pattern = pattern
        self.source = source
        self.target = target
        self.place = 0
        self.out: list[str] = []
        self.groups = [_Group(0, False)]
        self.n_open = 0  # numbered groups so far
        self.takes = False  # whether some part matches characters
        self.atom: int | None = None  # the index in `out` of what a quantifier would repeat; None for nothing
        self.atom_width = 0  # the least number of characters that it matches
        self.before = ""  # the literal before this piece, for ligatures

    def refuse(self, what: str, why: str) -> ValueError:
        ways_out = _INSTEAD if self.source == "regex" else ()
        way_out = next((instead for part, instead in ways_out if regex.compile(part).match(self.pattern, self.place)), "")
        return ValueError(
            f"{shown(what)} (character {self.place} of the split pattern {shown(self.pattern)}) {why} in the regexes of "
            f"{self.source} and {self.target}{way_out}"
        )

    def translate(self, may_be_empty: bool = False) -> str:
        """The regex in the target's dialect. Raises ValueError if it is not certain to match the same.

        may_be_empty : whether a regex that only has empty matches is allowed
        """
        while self.place < len(self.pattern):
            match = _PIECE.match(self.pattern, self.place)
            if match is None:
                raise self.refuse(self.pattern[self.place : self.place + 8], "is not known to mean the same")
            self.take(match.lastgroup, match[0])
            self.place = max(self.place, match.end())
        if len(self.groups) > 1:
            raise ValueError(f"the split pattern {shown(self.pattern)} has a group that is not closed")
        if self.groups[0].least() == 0 and (self.takes or not may_be_empty):
            # Engines continue in different ways after an empty match.
            raise ValueError(f"the split pattern {shown(self.pattern)} can match without taking a character")
        return "".join(self.out)

    def take(self, kind: str | None, text: str) -> None:
        """Translate one piece."""
        before, self.before = self.before, ""
        if kind == "repeat":
            self.repeat(text)
        elif kind in ("border", "start", "line", "end", "last"):
            self.out.append(self.place_only(kind, text))
            self.atom = None
        elif kind == "bar":
            self.next_alternative()
        elif kind == "open":
            self.open_group(text)
        elif kind == "named":
            self.open_group("(?:")  # the name is not needed, as references to names are rejected
        elif kind == "close":
            self.close_group()
        else:
            self.characters(kind, text, before)

    def next_alternative(self) -> None:
        """Translate the bar after an alternative."""
        group = self.groups[-1]
        group.shortest = group.least()
        group.width = 0
        self.out.append("|")
        self.atom = None

    def open_group(self, text: str) -> None:
        """Translate the beginning of a group."""
        self.n_open += text == "("
        self.groups.append(_Group(len(self.out), self.groups[-1].caseless or "i" in text, text[-1] in "=!"))
        self.out.append(text)
        self.atom = None

    def close_group(self) -> None:
        """Translate the end of a group."""
        if len(self.groups) == 1:
            raise self.refuse(")", "closes no group")
        group = self.groups.pop()
        self.out.append(")")
        # Look-around matches no characters, and engines do not allow to repeat it.
        self.atom = None if group.looks else group.start
        self.atom_width = group.least()
        self.groups[-1].width += self.atom_width

    def characters(self, kind: str | None, text: str, before: str) -> None:
        """Translate what matches characters: a class, one character, or a reference to a group.

        before : the literal before this piece, "" for none
        """
        caseless = self.groups[-1].caseless
        width = 1
        if kind == "class":
            text = self.character_class(text)
        elif kind == "word":
            text = self.word(text, in_class=False)
        elif kind == "again":
            self.check_reference(text)
            width = 0
        elif kind == "bracket":
            text = f"\\{text}"
        elif kind == "property" and caseless:
            raise self.refuse(text, "where case is ignored has different meanings")
        elif kind in ("literal", "escape") and caseless:
            self.check_caseless(text)
            if before.lower() + text.lower() in _LIGATURES:
                raise self.refuse(before + text, "where case is ignored has different meanings")
            self.before = text
        self.atom = len(self.out)
        self.atom_width = width
        self.out.append(text)
        self.groups[-1].width += width
        self.takes |= not any(group.looks for group in self.groups)

    def repeat(self, text: str) -> None:
        """Translate a quantifier."""
        if self.atom is None:
            raise self.refuse(text, "repeats nothing that could be repeated")
        # `width` already counts the atom once.
        times = int(text[1:].split(",")[0].rstrip("}+?") or 0) if text[0] == "{" else int(text[0] == "+")
        self.groups[-1].width += (times - 1) * self.atom_width
        mode = text[-1] if len(text) > 1 and text[-1] in "+?" else ""
        if text[0] == "{":
            text = text.replace("{,", "{0,")
            if mode == "?" and "," not in text:
                raise self.refuse(text, "has different meanings")
            if mode == "+" and "Oniguruma" in (self.source, self.target) and self.source != self.target:
                # In Oniguruma this plus is one more repetition; in the others it makes the quantifier possessive.
                possessive = self.target == "Oniguruma"
                self.out.insert(self.atom, "(?>" if possessive else "(?:")
                text = text[:-1] + (")" if possessive else ")+")
        self.out.append(text)
        self.atom = None

    def word(self, text: str, in_class: bool) -> str:
        r"""Translate \w or \W."""
        if "Oniguruma" not in (self.source, self.target):
            return text
        # Oniguruma's \w does not match joiners; outside of a class, it also matches ² and ½.
        members = WORD
        if self.source == "Oniguruma":
            if self.groups[-1].caseless:
                raise self.refuse(text, "where case is ignored has different meanings")
            members = ONIGURUMA_WORD if in_class else ONIGURUMA_WORD + ONIGURUMA_NUMBERS
        return members if in_class else f"[{'^' if text[1] == 'W' else ''}{members}]"

    def place_only(self, kind: str, text: str) -> str:
        """Translate what matches a place, and no character."""
        if kind == "end":
            # After \s++, all kinds of ends are the same place. In Oniguruma, $ is the end of a line.
            if self.out[-2:] == [r"\s", "++"]:
                return text
            if not self.source == "Oniguruma" != self.target:
                raise self.refuse(text, "has different meanings")
            return r"(?![^\n])"
        if kind == "last":
            if text != _last(self.source):
                raise self.refuse(text, "has different meanings")
            return _last(self.target)
        if kind == "line":  # in Oniguruma the start of any line, except after a last newline
            return r"(?:\A|(?<=\n)(?!\Z))" if self.source == "Oniguruma" != self.target else r"\A"
        self.takes |= text == r"\G"  # after an empty match, engines try \G at different places
        if kind == "start" or "Oniguruma" not in (self.source, self.target):
            return text
        if self.groups[-1].caseless:
            raise self.refuse(text, "where case is ignored has different meanings")
        word = self.word(r"\w", in_class=False)
        one, other = (f"(?!{word})", f"(?={word})") if text == r"\b" else (f"(?={word})", f"(?!{word})")
        return f"(?:(?<={word}){one}|(?<!{word}){other})"

    def check_reference(self, text: str) -> None:
        r"""Raise ValueError for a reference such as \1 unless an earlier group has this number in all dialects."""
        if int(text[1:]) > self.n_open or _NAMED.search(self.pattern):
            raise self.refuse(text, "has different meanings")
        if self.groups[-1].caseless:
            raise self.refuse(text, "where case is ignored has different meanings")

    def check_caseless(self, text: str) -> None:
        """Raise ValueError for a character whose other cases may differ: i matches Turkish letters in `regex`."""
        if not text.isascii() or text in "iI" or text[:2] in (r"\u", r"\x"):
            raise self.refuse(text, "where case is ignored has different meanings")

    def character_class(self, opening: str) -> str:
        """Translate a class in brackets, and move `place` to its end."""
        less = _LESS.match(self.pattern, self.place)
        if less is not None and self.target == "regex" != self.source and not self.groups[-1].caseless:
            # Kimi's syntax to exclude a property, which `regex` only knows in its version 1 mode.
            inner = self.pattern[less.start("members") : less.end("members")]
            members = _Translation(f"[{inner}]", self.source, self.target).translate()
            self.place = less.end()
            return f"(?:(?!{less['without']}){members})"
        parts = [opening]
        at = self.place + len(opening)
        while not self.pattern.startswith("]", at) or len(parts) == 1:
            nested = _NESTED.match(self.pattern, at)
            if nested is not None and self.target == "regex" != self.source and not self.groups[-1].caseless:
                parts.append(nested["members"])  # a set in a set, as in BLOOM's pattern: its members are added
                at = nested.end()
                continue
            match = _MEMBER.match(self.pattern, at)
            self.place = at
            if match is None:
                found = self.pattern[at : at + 8] or opening
                raise self.refuse(found, "in a class in brackets is not known to mean the same")
            text, kind = match[0], match.lastgroup
            at = match.end()
            if kind == "dash" and len(parts) > 1 and not self.pattern.startswith("]", at):
                raise self.refuse(text, "in the middle of a class in brackets is not known to mean the same")
            if self.groups[-1].caseless and text not in (r"\s", r"\S", r"\d", r"\D", r"\w"):
                if kind in ("range", "set"):
                    raise self.refuse(text, "where case is ignored has different meanings")
                self.check_caseless(text)
            parts.append(self.word(text, in_class=True) if text == r"\w" else text)
        self.place = at + 1
        return "".join(parts) + "]"


def _last(dialect: Dialect) -> str:
    """The escape that only matches the end of the text."""
    return r"\Z" if dialect == "regex" else r"\z"


def translated(pattern: str, source: Dialect, target: Dialect, may_be_empty: bool = False) -> str:
    """Translate a regex so that it matches in the engine `target` what `pattern` matches in `source`.

    may_be_empty : whether a regex that only has empty matches is allowed: a text can be cut at each of them

    Raises ValueError that shows the first part that is not certain to match the same, or a lone surrogate, which regexes of
    other engines cannot hold.
    """
    if target != "regex" and regex.search("[\ud800-\udfff]", pattern):
        raise ValueError(f"the regex {shown(pattern)} holds a lone surrogate, which has no UTF-8")
    if source in _NUMBER:
        pattern = with_characters(pattern, source)
    return _Translation(pattern, source, target).translate(may_be_empty)


def with_characters(pattern: str, source: Dialect) -> str:
    r"""Respell characters such as \x{61} in a form that all dialects know: \u0061, or above U+FFFF the character itself.

    A number that is not a character stays unchanged, and is rejected later.

    >>> with_characters(r"[\x{61}-\x{7a}]\\x{61}", "Oniguruma")
    '[\\u0061-\\u007A]\\\\x{61}'
    """

    def spelled(match: regex.Match[str]) -> str:
        number = -1 if match["number"] is None else int(match["number"], 16)
        if not 0 <= number <= 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            return match[0]
        return f"\\u{number:04X}" if number <= 0xFFFF else chr(number)

    return _NUMBER[source].sub(spelled, pattern)


def escaped(text: str) -> str:
    """A regex that matches exactly this text, in every dialect."""
    return "(?:" + regex.sub(r"[!-/:-@\[-`{-~ ]", r"\\\g<0>", text) + ")"
