"""Options of training: rules for tokens, superwords, and mixtures (described in a JSON file)."""

from __future__ import annotations

import functools
import glob
import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import click

from ..formats.shared.json_text import read_json
from ..system.excerpt import shown
from ..training.superwords import Superwords
from ..training.token_rules import TokenRules
from ..words.mixture import Mixture
from ..words.parity import Parity
from .options import as_usage, exact_weight, several

_rules = several(
    click.option(
        "--seed-token",
        "seeds",
        multiple=True,
        metavar="TEXT",
        help="A text that must be a token, whatever other options forbid; may be repeated.",
    ),
    click.option(
        "--forbid", "forbidden", multiple=True, metavar="REGEX", help="No token contains a match; may be repeated."
    ),
    click.option("--max-letters", type=click.IntRange(1), metavar="N", help="No token gets more letters than this."),
    click.option("--max-numbers", type=click.IntRange(1), metavar="N", help="No token gets more digits than this."),
    click.option("--max-words", type=click.IntRange(1), metavar="N", help="No token gets more words than this."),
    click.option(
        "--whole-characters", is_flag=True, help="No token has a part of a character together with something else."
    ),
    click.option("--one-script", is_flag=True, help="No token has letters of two scripts."),
    click.option("--no-space-duplicates", is_flag=True, help="Only one of `word` and ` word` becomes a token."),
)


min_frequency_option = click.option(
    "--min-frequency",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Pairs that occur less often are not merged.",
)


def rules_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a command with the options of TokenRules. It gets the TokenRules as `rules`; None if no option is given."""

    @functools.wraps(function)
    def with_rules(**options: Any) -> Any:
        rule_options = {field.name: value for field in fields(TokenRules) if (value := options.pop(field.name))}
        with as_usage():
            rules = TokenRules(**rule_options) if rule_options else None
        return function(**options, rules=rules)

    return _rules(with_rules)


def word_count(value: str) -> int | str:
    """Parse the value of --min-word-count: an integer from 1 on, or "auto"."""
    if value == "auto":
        return value
    try:
        return click.IntRange(1)(value)
    except click.BadParameter:
        raise click.BadParameter(f"{value!r} is neither a number from 1 on nor `auto`") from None


superwords_option = click.option(
    "--superwords",
    "superwords_after",
    type=click.IntRange(256),
    metavar="N",
    help="After N tokens, 256 bytes included, tokens may cross whitespace (SuperBPE), with at most 4 words or --max-words.",
)


def superwords_of(after: int | None, rules: TokenRules | None) -> Superwords | None:
    """The Superwords that --superwords asks for, with --max-words from the rules."""
    if after is None:
        return None
    max_words = None if rules is None else rules.max_words
    return Superwords(after=after) if max_words is None else Superwords(after=after, max_words=max_words)


mixture_option = click.option(
    "--mixture",
    metavar="FILE",
    help="Instead of texts, a mixture of sources with weights or shares, limits, a held-out share and parity: a JSON file "
    "with the arguments of nbbpe.Mixture. Paths in it start from its folder.",
)


def read_mixture(path: str) -> Mixture:
    """Read a mixture from a JSON file. Raises OSError, or ValueError that names the file."""
    described = read_json(path, may_be_pipe=True)
    try:
        if not isinstance(described, dict):
            raise ValueError("it must be an object, with `sources` and other arguments of nbbpe.Mixture")
        _check_names(described, Mixture, "the mixture")
        if "sources" not in described:
            raise ValueError("`sources` is missing: an object of paths by name")
        folder = os.path.dirname(path)
        described["sources"] = _paths_by_name(described["sources"], folder, "sources")
        weights = described.get("weights")
        if isinstance(weights, dict):
            described["weights"] = {name: _weight(weight, name) for name, weight in weights.items()}
        parity = described.get("parity")
        if isinstance(parity, dict):
            _check_names(parity, Parity, "parity")
            if parity.get("parallel") is not None:
                parity["parallel"] = _paths_by_name(parity["parallel"], folder, "parallel")
            described["parity"] = Parity(**parity)
        return Mixture(**described)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _check_names(described: Mapping[str, Any], cls: Any, where: str) -> None:
    """Raise ValueError if an object in the file has an entry that is not a field of the dataclass `cls`."""
    known = [field.name for field in fields(cls)]
    for name in described:
        if name not in known:
            raise ValueError(f"{where} has {shown(name)}, which is not one of {', '.join(known)}")


def _paths_by_name(sources: Any, folder: str, entry: str) -> dict[str, Any]:
    """The value of an entry of the mixture file, with paths relative to the file's folder."""
    if not isinstance(sources, dict):
        raise ValueError(f"`{entry}` must be an object of paths by name")

    def path_of(source: Any, name: str) -> str | pathlib.Path:
        if not isinstance(source, str) or not source:
            raise ValueError(f"{name!r} in `{entry}` must be a path, a pattern of paths, a URL or a list of these")
        path = pathlib.Path(folder, source)
        if "://" in source:
            return source
        # Only wildcards in `source` count, so those in the folder's name are escaped.
        return pathlib.Path(glob.escape(folder), source) if glob.has_magic(source) and not os.path.exists(path) else path

    return {
        name: [path_of(each, name) for each in source] if source and isinstance(source, list) else path_of(source, name)
        for name, source in sources.items()
    }


def _weight(weight: Any, name: str) -> Any:
    """Convert a weight that is written as a string, such as "1/3"; Mixture checks the others."""
    try:
        return exact_weight(weight) if isinstance(weight, str) else weight
    except ValueError as error:
        raise ValueError(f"weights[{name!r}]: {error}") from None
