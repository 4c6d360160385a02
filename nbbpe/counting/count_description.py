"""The description in the metadata of a table of counts: how the text was split."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..model.provenance import describe_pattern
from ..model.special_tokens import check_special_tokens
from ..model.version import __version__
from ..patterns.pattern import Pattern
from ..patterns.pattern_argument import get_pattern
from ..system.arguments import argument
from ..system.excerpt import shown
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument

FORMAT = 1
KEY = b"nbbpe"


class Description(NamedTuple):
    """The description of a table of counts.

    pattern        : splits text into words
    special_tokens : separated the text before it was split
    denominator    : what the counts must be divided by: the common denominator of weights
    regex_version  : the version of `regex`, which defines what the pattern matches
    """

    pattern: Pattern
    special_tokens: list[str]
    denominator: int = 1
    regex_version: str | None = None

    def metadata(self) -> dict[bytes, bytes]:
        """The description as metadata of a schema: JSON, under one key."""
        described = {
            "format": FORMAT,
            "nbbpe": __version__,
            "regex": describe_pattern(self.pattern)["versions"]["regex"],
            "pattern": self.pattern.spelling,
            "regexes": self.pattern.regexes,
            "special_tokens": self.special_tokens,
            "denominator": self.denominator,
        }
        return {KEY: json.dumps(described).encode()}


def read_description(name: str, metadata: Mapping[bytes, bytes] | None) -> Description | None:
    """The description in the metadata of a table; None if there is none. Raises ValueError if nbbpe did not write it."""
    written = (metadata or {}).get(KEY)
    if written is None:
        return None
    try:
        found = json.loads(written)
        version = found["format"]
        if version == FORMAT:
            denominator = found["denominator"]
            if not isinstance(denominator, int) or isinstance(denominator, bool) or denominator < 1:
                raise TypeError(f"denominator {denominator!r}")
            specials = check_special_tokens(found["special_tokens"])
            return Description(get_pattern(found["regexes"] or None), specials, denominator, str(found["regex"]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the metadata of {name!r} under {KEY.decode()!r} are not those of counts "
            f"({type(error).__name__}: {shown(str(error))})"
        ) from None
    raise ValueError(f"{name!r} has counts in format {shown(version)}, and this version of nbbpe reads format {FORMAT}")


def common_description(
    tables: Sequence[tuple[str, Mapping[bytes, bytes] | None]],
    pattern: Pattern | None,
    special_tokens: Sequence[str],
    is_extension: bool,
) -> tuple[Description, list[int]]:
    """The description that all tables have in common, and the denominator of each.

    tables         : the name of each, and the metadata of its schema
    pattern        : the user's argument, None if not given
    special_tokens : the user's argument, empty if not given
    is_extension   : whether a tokenizer is extended: both are then the tokenizer's, and empty special tokens mean none

    Raises ValueError if tables differ from each other or from the user's arguments, or if neither says how text was split.
    """
    found = [read_description(name, metadata) for name, metadata in tables]
    known = [(name, each) for (name, _), each in zip(tables, found, strict=True) if each is not None]
    if pattern is None and (silent := [name for (name, _), each in zip(tables, found, strict=True) if each is None]):
        raise WrongArgument(
            f"{silent[0]!r} does not say how its text was split, as tables of nbbpe.count_words do in their schema's "
            f"metadata (a GROUP BY may lose these): say it with {argument('pattern', ...)}, and "
            f"{argument('special_tokens', ...)} if there were any"
        )
    common = Description(
        _common_pattern(known, pattern, is_extension), _common_special_tokens(known, special_tokens, is_extension)
    )
    versions = {each.regex_version for _, each in known}
    if len(versions) > 1:
        warn_user(
            f"the counts were made with different versions of `regex` ({', '.join(sorted(map(str, versions)))}), which may "
            "class some characters differently"
        )
    return common, [1 if each is None else each.denominator for each in found]


def _common_pattern(known: Sequence[tuple[str, Description]], pattern: Pattern | None, is_extension: bool) -> Pattern:
    """The pattern of all tables with a description, given with their names; see `common_description`."""
    origin = "that of the tokenizer" if is_extension else argument("pattern")
    error: type[ValueError] = WrongArgument
    if pattern is None:
        first, description = known[0]
        pattern, origin, error = description.pattern, f"{first!r}", ValueError
    for name, each in known:
        if each.pattern.regexes != pattern.regexes:
            raise error(
                f"{name!r} was counted with the pattern {shown(each.pattern.spelling)}, and {origin} is "
                f"{shown(pattern.spelling)}: words of different patterns cannot be added up"
            )
    return pattern


def _common_special_tokens(
    known: Sequence[tuple[str, Description]], special_tokens: Sequence[str], is_extension: bool
) -> list[str]:
    """The special tokens of all tables with a description, as `_common_pattern`."""
    specials = list(special_tokens)
    origin = "the tokenizer" if is_extension else argument("special_tokens")
    error: type[ValueError] = WrongArgument
    if not specials and known and not is_extension:
        first, description = known[0]
        specials, origin, error = description.special_tokens, f"{first!r}", ValueError
    for name, each in known:
        if set(each.special_tokens) != set(specials):
            advice = "such words cannot be added up"
            if is_extension:
                advice = "count the text with its own, or give it those first (Tokenizer.with_special_tokens)"
            raise error(
                f"{name!r} was counted with the special tokens {shown(each.special_tokens)}, and {origin} has "
                f"{shown(specials)}: {advice}"
            )
    return specials
