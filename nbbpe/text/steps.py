"""Read the steps of a tokenizer.json, which may be a stranger's; with the base class of those that change or cut text."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from ..patterns.given_regex import check_repeats, naming_regex, seconds_for
from ..system.excerpt import shown
from ..system.lazy import imported_on_use, lazy

regex: Any = imported_on_use("regex")  # few tokenizers need it

_SECONDS = 1.0  # for a search in an empty text, which takes microseconds
# From a part of a tokenizer.json to the key of the steps in a Sequence.
_IN_SEQUENCE = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}

Self = TypeVar("Self", bound="Steps")


@dataclass(frozen=True)
class Steps(ABC):
    """Steps that change or cut a text one after another.

    spelled : the steps as JSON, a list of objects as in tokenizer.json, but with regexes in the syntax of `regex`; a str,
        so that steps can be compared
    """

    spelled: str

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process, which computes the rest again."""
        return {"spelled": self.spelled}

    @classmethod
    def of(cls: type[Self], steps: Sequence[Any]) -> Self:
        """From steps as objects. Raises ValueError that names a step that is unknown, or cannot be applied exactly."""
        found = cls(json.dumps(list(steps), ensure_ascii=False, sort_keys=True))
        try:
            found.spelled.encode()
        except UnicodeEncodeError as error:
            place = error.object[max(error.start - 40, 0) : error.end]
            raise ValueError(f"a step holds a lone surrogate, which has no UTF-8, after {shown(place)}") from None
        _ = found._functions  # raises ValueError for an invalid step
        return found

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps as new objects, which a caller may change."""
        return json.loads(self.spelled)

    @lazy
    def kinds(self) -> list[str]:
        """The types of the steps, in order."""
        return [step["type"] for step in self.steps]

    @lazy
    def _functions(self) -> list[Any]:
        return [self._function(step) for step in self.steps]

    @abstractmethod
    def _function(self, step: Any) -> Any:
        """The function of a step. Raises ValueError for one that is unknown, or cannot be applied exactly."""


def steps_of(part: object, name: str) -> list[Any]:
    """The steps of a part of a tokenizer.json: none for null, and all those of a Sequence, which may be nested.

    name : of the part, a key of `_IN_SEQUENCE`

    Raises ValueError that names the part if it is invalid.

    >>> steps_of({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}, "normalizer")
    [{'type': 'NFC'}, {'type': 'Lowercase'}]
    """
    if part is None:
        return []
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise ValueError(f'{name} must be null or an object with a "type", and is {shown(part)}')
    if part["type"] != "Sequence":
        return [part]
    inner = _IN_SEQUENCE[name]
    if not isinstance(part.get(inner), list):
        raise ValueError(f"{name} is a Sequence, whose {shown(inner)} must be a list")
    return [step for each in part[inner] for step in steps_of(each, name)]


def kind_of(step: Any, part: str, keys: Mapping[str, set[str]]) -> str:
    """The type of a step. Raises ValueError if it is not in `keys`, or if the step has more than the keys there.

    part : the part of tokenizer.json, for errors
    """
    kind = step.get("type") if isinstance(step, dict) else None
    if not isinstance(kind, str) or kind not in keys:
        raise ValueError(f"{part} {shown(kind if kind is not None else step)} is none of {', '.join(keys)}")
    unknown = sorted(set(step) - keys[kind] - {"type"})
    if unknown:
        raise ValueError(f"{part} {kind} has {shown(unknown[0])}, which nbbpe does not know")
    return kind


def string_or_regex(pattern: dict[Any, Any], step: str) -> tuple[str, str]:
    """The only entry of a pattern: "String" or "Regex", and the text. Raises ValueError that names the step for another."""
    ((kind, text),) = pattern.items()
    if kind not in ("String", "Regex") or not isinstance(text, str) or not text:
        raise ValueError(f"{step} needs the pattern of a String or a Regex, and has {shown(pattern)}")
    return kind, text


@dataclass(frozen=True)
class StepRegex:
    """The regex of a step. A search that takes too long raises ValueError that names the step.

    compiled : one of `regex`, or of `re`, which has no limit of time
    n_quick  : characters of the longest text for which it needs no limit of time
    """

    compiled: Any
    step: str
    n_quick: int

    def as_group(self) -> StepRegex:
        """The same regex as a group, for `split`."""
        grouped = f"({self.compiled.pattern})"
        compile_regex = re.compile if isinstance(self.compiled, re.Pattern) else regex.compile
        return replace(self, compiled=compile_regex(grouped))

    def findall(self, text: str) -> list[str]:
        """The matches, if the regex has no group."""
        return self._within_limit(self.compiled.findall, text)

    def split(self, text: str) -> list[str]:
        """The texts between matches; with the matches themselves, if the whole regex is a group (see `as_group`)."""
        return self._within_limit(self.compiled.split, text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the matches start and end."""

        def search(text: str, **limit: float) -> list[tuple[int, int]]:
            return [match.span() for match in self.compiled.finditer(text, **limit)]

        return self._within_limit(search, text)

    def replaced(self, text: str, template: str) -> str:
        """The text with each match replaced, see `regex.sub`."""
        return self._within_limit(partial(self.compiled.sub, template), text)

    def _within_limit(self, search: Callable[..., Any], text: str) -> Any:
        """The result of a search in a text; a long text has a limit of time."""
        if len(text) <= self.n_quick:
            return search(text)
        try:
            return search(text, timeout=seconds_for(text))
        except TimeoutError:
            raise ValueError(
                f"{self.step} has the regex {shown(self.compiled.pattern)}, which takes too long: it tries more and more "
                f"ways to match (backtracking), and was given up in a text of {len(text):,} characters"
            ) from None


def compiled_step(text: str, step: str) -> StepRegex:
    """The regex of a step, compiled. Raises ValueError that names the step if it is invalid, or matches ""."""
    from ..patterns.quick_regex import quick_length  # which imports `regex`

    check_repeats(text)
    with naming_regex(f"{step} has {shown(text)}, which"):
        compiled = regex.compile(text)
        matches_nothing = compiled.search("", timeout=_SECONDS)
    if matches_nothing:
        raise ValueError(f"{step} has the regex {shown(text)}, which matches without taking a character")
    return StepRegex(compiled, step, quick_length(text))
