"""Normalizers, as a tokenizer.json has them: lower case, replacing, stripping, normal forms, one step after another.

Each step does what it does in tokenizers (Hugging Face's), and works on a stretch: the text between two special tokens.
Charsmap alone is sentencepiece's, see charsmap.py.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..system.excerpt import shown
from ..system.lazy import imported_on_use, lazy
from .normal_characters import FORMS, Form, changed_to, changing_characters, decomposed
from .normal_check import is_normal
from .normalization import normalized_text
from .steps import Steps, compiled_step, kind_of, string_or_regex
from .unicode_sets import ACCENTS, CONTROL, MARKS, WHITESPACE, characters, members
from .utf8 import to_text
from .windows import SEPARATOR

if TYPE_CHECKING:
    from ..patterns.set_regex import SetRegex

regex: Any = imported_on_use("regex")  # few tokenizers need it

# A step: a function from a text, and whether a stretch begins with it, to the text that it makes of it.
_Step = Callable[[str, bool], str]

# Whether each stretch of text gets a space in front, unless it begins with one; "first": only at the start of a text.
PrefixSpace = bool | Literal["first"]

CHARSMAP = "Charsmap"  # sentencepiece's table, in base64
_KEYS: dict[str, set[str]] = {
    **{form: set() for form in FORMS},
    "Lowercase": set(),
    "Nmt": set(),
    "BertNormalizer": {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
    "StripAccents": set(),
    "Strip": {"strip_left", "strip_right"},
    "Prepend": {"prepend"},
    "Replace": {"pattern", "content"},
    CHARSMAP: {"table", "kept"},
}
KINDS = tuple(kind for kind in _KEYS if kind != CHARSMAP)  # those of tokenizer.json
KEEPING_WHITESPACE = {*FORMS, "Lowercase"}  # steps in which all whitespace certainly stays whitespace
# At the end of a message about a normalizer that cannot be followed or written.
HOW_TO_LEAVE_OUT = (
    'Tokenizer.from_hf(path, normalizer="ignore") and `nbbpe convert --normalizer ignore` leave the normalizer out, for '
    "texts that you normalize yourself"
)


class Normalizer(Steps):
    """The steps that change a text before it is split: any number, or none."""

    @classmethod
    def of(cls, steps: Sequence[Any]) -> Normalizer:
        """As Steps.of; steps without options may be names, too."""
        return super().of([{"type": step} if isinstance(step, str) else step for step in steps])

    @lazy
    def form(self) -> Form | None:
        """The normal form that is its only step; None for other steps, and for none."""
        kinds: list[Any] = self.kinds
        return kinds[0] if len(kinds) == 1 and kinds[0] in FORMS else None

    @property
    def does_more(self) -> bool:
        """Whether it does more than to put text into one normal form."""
        return bool(self.kinds) and self.form is None

    @property
    def spelling(self) -> str | list[str | dict[str, Any]] | None:
        """As `as_normalizer` takes it: the name of a normal form, or the steps, by name if they have no options."""
        return self.form or [step["type"] if len(step) == 1 else step for step in self.steps] or None

    def _function(self, step: Any) -> _Step:
        kind = kind_of(step, "normalizer", _KEYS)
        if kind in FORMS:
            return lambda text, first: normalized_text(text, kind)
        if kind == "Lowercase":
            return lambda text, first: _lowered(text)
        if kind == "StripAccents":
            without_accents = _translating(dict.fromkeys(map(ord, characters(ACCENTS))))
            return lambda text, first: without_accents(text)
        if kind == "Nmt":
            replaced = _translating(_NMT)
            return lambda text, first: replaced(text)
        if kind == "BertNormalizer":
            return _bert(step)
        if kind == CHARSMAP:
            by_table = _by_table(step)
            return lambda text, first: by_table(text)
        if kind == "Strip":
            sides = [step.get(side) for side in ("strip_left", "strip_right")]
            if not all(isinstance(side, bool) for side in sides):
                raise ValueError(f"normalizer Strip needs strip_left and strip_right, true or false, and has {shown(step)}")
            return functools.partial(_stripped, *sides)
        if kind == "Prepend":
            prefix = step.get("prepend")
            if not isinstance(prefix, str) or not prefix:  # to tokenizers, an empty one is an error, or doubles a character
                raise ValueError(f"normalizer Prepend needs a text, and has {shown(prefix)}")
            prefix.encode()
            return lambda text, first: prefix + text if first else text
        return _replacing(step)

    def apply(self, text: str, begun: set[int], steps: Iterable[int] | None = None) -> str:
        """Apply the steps to the next text of a stretch.

        begun : the numbers of the steps that have got text of this stretch before; updated
        steps : the numbers of the steps to take, in order; None for all
        """
        for number in range(len(self._functions)) if steps is None else steps:
            if text:
                text = self._functions[number](text, number not in begun)
                if text:
                    begun.add(number)
        return text

    def apply_to_all(self, text: str, barrier: str, begun: set[int], steps: Iterable[int]) -> str:
        """As `apply`, for several stretches with a barrier between them.

        barrier : a key of `at_once`. If the result has more of them, a step made some, and the result may be wrong
        begun   : as in `apply`: for the first stretch, and after the call for the last one
        """
        begun_before = begun.copy()
        begun.clear()
        for number in steps:
            step = self._functions[number]
            if number in self.at_once[barrier]:
                text = step(text, True)
            else:
                first, *others = text.split(barrier)
                parts = [step(first, number not in begun_before) if first else ""]
                text = barrier.join(parts + [step(each, True) if each else "" for each in others])
            if text and not text.endswith(barrier):
                begun.add(number)
        return text

    @property
    def ends_with_space(self) -> bool:
        """Whether the last step puts a space in front of each stretch."""
        return self.steps[-1:] == [{"type": "Prepend", "prepend": " "}]

    def without_last(self) -> Normalizer:
        """The same without its last step."""
        return Normalizer.of(self.steps[:-1])

    @lazy
    def replaced(self) -> list[bytes | None]:
        """For each step, the string that it replaces, if it does nothing else; else None."""
        texts = [step["pattern"].get("String") if step["type"] == "Replace" else None for step in self.steps]
        return [text.encode() if text else None for text in texts]

    @lazy
    def checks(self) -> list[Callable[[str | bytes], bool]] | None:
        """For each step, a test whether it leaves a text as it is; None if one step has no such test.

        In a str, the tests do not find a replaced text that is spelled by lone surrogates.
        """
        found: list[Callable[[str | bytes], bool]] = []
        for kind, replaced in zip(self.kinds, self.replaced, strict=True):
            if kind in FORMS:
                found.append(functools.partial(is_normal, form=kind))
            elif replaced is not None:
                found.append(functools.partial(_lacks, {str: replaced.decode(), bytes: replaced}))
            else:
                return None
        return found

    @lazy
    def at_once(self) -> dict[str, set[int]]:
        """Characters that may be put between stretches as barriers, the best ones first: for each, the numbers of the steps
        that leave it as it is, and change the text between two of them as they change a stretch."""
        steps = list(zip(self.steps, self._functions, strict=True))
        added = "".join([step.get("content", "") + step.get("prepend", "") for step in self.steps])
        found = {
            barrier: {number for number, (step, function) in enumerate(steps) if _is_apart(step, function, barrier)}
            for barrier in _BARRIERS
            if barrier not in added
        }
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    @lazy
    def steps_that_matter(self) -> list[int]:
        """The numbers of the steps that matter if all whitespace is dropped later: all but those that only replace
        whitespace by whitespace, or strip it. All steps, if another one may turn whitespace into anything else."""
        found = [number for number, step in enumerate(self.steps) if not _changes_whitespace_alone(step)]
        kinds = {self.kinds[number] for number in found}
        return found if kinds <= KEEPING_WHITESPACE else list(range(len(self.kinds)))

    @lazy
    def can_be_cut(self) -> bool:
        """Whether a stretch may be cut before whitespace that follows another character, and its parts normalized alone."""
        keeps_whitespace = True
        for number, step in enumerate(self.steps):
            kind = step["type"]
            if kind == "Replace" and len(step["pattern"].get("String", "")) != 1:
                return False
            if kind == "Strip" and number:  # an earlier step may put whitespace where the cut is
                return False
            if kind == CHARSMAP and regex.search(r"[^\s\0]\s", _sought_by_table(step)):
                return False
            keeps_whitespace = keeps_whitespace and _keeps_whitespace(step)
            # It may compose or sort characters across the cut.
            if kind in (*FORMS, "BertNormalizer") and not keeps_whitespace:
                return False
        return True

    @lazy
    def keeps_whitespace(self) -> bool:
        """Whether whitespace stays whitespace, if the text can be cut: no step removes it, or makes anything else of it."""
        return all(map(_keeps_whitespace, self.steps))

    @lazy
    def keeps_neighbours(self) -> bool:
        """Whether what is beside a token stays whitespace, or a letter, or neither. (In NFC, U+1D15E ends in a mark.)"""
        return all(kind == "Lowercase" for kind in self.kinds)

    def keeps_all(self, tokens: Iterable[str]) -> bool:
        """Whether each token is in the normalized text exactly where it is in the original text."""
        steps = self.steps
        return all(_keeps(step, token) for token in tokens for step in steps)


NO_NORMALIZER = Normalizer.of([])


def as_normalizer(value: object) -> Normalizer:
    """A normalizer as users and files give it: the name of a normal form, a list of steps, or None.

    Raises ValueError for anything else.
    """
    if value is None:
        return NO_NORMALIZER
    if isinstance(value, Normalizer):
        return value
    if isinstance(value, str) and value in FORMS:
        return Normalizer.of([value])
    if isinstance(value, (list, tuple)):
        return Normalizer.of(value)
    raise ValueError(f"normalizer must be {', '.join(FORMS)} or None, and is {shown(value)}")


# What Nmt removes, and what it makes a space.
_NMT = dict.fromkeys([*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]) | dict.fromkeys(
    [9, 0xA, 0xC, 0xD, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD], " "
)
_CHINESE = "3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B81F 2B920-2CEAF 2F800-2FA1F"


# Characters to put between stretches that are normalized at once, if these have none: best is one that keeps them ASCII.
_BARRIERS = ("\0", "~", to_text(SEPARATOR))

_SAME, _GONE = 0, 1  # in place of the code point that a character becomes
_SHORT = 500  # characters, about, for which str.translate takes less time


def _translating(table: Mapping[int, str | None]) -> Callable[[str], str]:
    """A function that removes characters, or makes them spaces, as str.translate does with a table.

    In a text that is not ASCII, str.translate looks up each character in a dict, which takes ten times as long.
    """
    new = np.full(sys.maxunicode + 1, _SAME, dtype=np.uint8)
    new[list(table)] = [_GONE if each is None else ord(each) for each in table.values()]

    def translate(text: str) -> str:
        if len(text) < _SHORT or text.isascii():
            return text.translate(table)
        codes = _codes(text)
        found = new[codes]
        if (found == _SAME).all():
            return text
        return _text_of(np.where(found == _SAME, codes, found)[found != _GONE])

    return translate


def _codes(text: str) -> NDArray[Any]:
    """The code points of a text, uint32, or uint8 if it is ASCII."""
    if text.isascii():
        return np.frombuffer(text.encode(), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")


def _text_of(codes: NDArray[Any]) -> str:
    """The text of such code points."""
    encoding = "ascii" if codes.dtype == np.uint8 else "utf-32-le"
    return codes.tobytes().decode(encoding, errors="surrogatepass")


def _by_table(step: dict[str, Any]) -> Callable[[str], str]:
    """The function of a Charsmap. Raises ValueError for one that is invalid."""
    from .charsmap import replacing  # few tokenizers need it

    table, kept = step.get("table"), step.get("kept", [])
    if not isinstance(table, str) or not isinstance(kept, list) or not all(isinstance(each, str) and each for each in kept):
        raise ValueError(
            f"normalizer {CHARSMAP} needs a table of sentencepiece and texts that are kept, and has {shown(step)}"
        )
    try:
        return replacing(table_of(table), kept)
    except ValueError as error:
        raise ValueError(f"normalizer {CHARSMAP}: {error}") from None


def _sought_by_table(step: dict[str, Any]) -> str:
    """All texts that a Charsmap looks for, with a null character between two."""
    return "\0".join([*table_of(step["table"]), *step.get("kept", [])])


@functools.lru_cache(2)  # to read one takes half a second
def table_of(table: str) -> Mapping[str, str]:
    """The texts of a table of sentencepiece's in base64, and what replaces each. Raises ValueError for an invalid one."""
    import base64

    from .charsmap import parsed_charsmap

    return parsed_charsmap(base64.b64decode(table, validate=True))


def _lacks(sought: Mapping[type, Any], text: str | bytes) -> bool:
    return sought[type(text)] not in text


def _bert(step: dict[str, Any]) -> _Step:
    """The step BertNormalizer."""
    names = "clean_text", "handle_chinese_chars", "lowercase"
    clean, chinese, lower = (step.get(name, True) for name in names)
    strips = step.get("strip_accents")
    if not all(isinstance(value, bool) for value in (clean, chinese, lower, strips or False)):
        raise ValueError(f"normalizer BertNormalizer needs true or false for each option, and has {shown(step)}")
    strips = lower if strips is None else strips
    cleaned = {ord(each): " " for each in WHITESPACE} | {ord(each): None for each in characters(CONTROL)}
    space_ideographs = _spacing(_CHINESE)
    clean_all = _translating(cleaned)
    without_marks = _translating(dict.fromkeys(map(ord, characters(MARKS))))

    def normalize(text: str, first: bool) -> str:
        if clean:
            text = clean_all(text)
        if chinese and not text.isascii():
            text = space_ideographs(text)
        if strips and not text.isascii():
            text = without_marks(normalized_text(text, "NFD"))
        return _lowered(text) if lower else text

    return normalize


def _spacing(ranges: str) -> Callable[[str], str]:
    """A function that puts a space before and behind each character of a set."""
    is_member = np.zeros(sys.maxunicode + 1, dtype=np.bool_)
    is_member[list(map(ord, characters(ranges)))] = True
    around = regex.compile(f"([{members(ranges)}])")

    def space(text: str) -> str:
        if len(text) < _SHORT:
            return around.sub(r" \1 ", text)
        codes = _codes(text)
        is_spaced = is_member[codes]
        if not is_spaced.any():
            return text
        n_characters = np.where(is_spaced, 3, 1)
        ends = np.cumsum(n_characters)[is_spaced]
        spaced = np.repeat(codes, n_characters)
        spaced[ends - 1] = spaced[ends - 3] = ord(" ")
        return _text_of(spaced)

    return space


def _replacing(step: dict[str, Any]) -> _Step:
    """The step Replace."""
    pattern, content = step.get("pattern"), step.get("content")
    if not isinstance(content, str) or not isinstance(pattern, dict) or len(pattern) != 1:
        raise ValueError(f"normalizer Replace needs a pattern and a content, and has {shown(step)}")
    content.encode()
    kind, sought = string_or_regex(pattern, "normalizer Replace")
    if kind == "String":
        return lambda text, first: text.replace(sought, content)
    compiled = compiled_step(sought, "normalizer Replace")
    template = content.replace("\\", r"\\")

    @functools.cache
    def by_set() -> Callable[[str], str] | None:
        found = _set_regex(sought) if len(content) < 2 else None
        return None if found is None else _replacing_set(found, content)

    def replaced(text: str, first: bool) -> str:
        if len(text) >= _SHORT and (in_arrays := by_set()) is not None:
            return in_arrays(text)
        return compiled.replaced(text, template)

    return replaced


@functools.cache
def _set_regex(text: str) -> SetRegex | None:
    """See `set_regex`."""
    from ..patterns.set_regex import set_regex  # which imports `regex`

    return set_regex(text)


def _replacing_set(found: SetRegex, content: str) -> Callable[[str], str]:
    """A function that replaces what a regex of one set matches by one character, or removes it.

    Where there are many matches, `regex` takes thirty times as long.
    """
    is_member = found.is_member()

    def replace(text: str) -> str:
        codes = _codes(text)
        if not content.isascii():
            codes = codes.astype("<u4", copy=False)
        matches = is_member[codes]
        is_kept = ~matches
        if content:
            if found.is_run:  # only the first character of each becomes the content
                matches[1:] &= is_kept[:-1]
            is_kept |= matches
            codes = np.where(matches, codes.dtype.type(ord(content)), codes)
        return _text_of(codes[is_kept])

    return replace


def _lowered(text: str) -> str:
    """Lower-case each character by itself: of a whole word, Python would make the last sigma a final one."""
    return "\u03c3".join(part.lower() for part in text.split("\u03a3"))


def _stripped(left: bool, right: bool, text: str, first: bool) -> str:
    if left and first:
        text = text.lstrip(WHITESPACE)
    return text.rstrip(WHITESPACE) if right else text


def _is_apart(step: dict[str, Any], function: _Step, barrier: str) -> bool:
    """See `Normalizer.at_once`."""
    kind = step["type"]
    if kind == "Replace":
        ((pattern, sought),) = step["pattern"].items()
        if pattern == "String":
            return barrier not in sought
        found = _set_regex(sought)  # any other regex may look across a barrier
        return found is not None and not found.is_member()[ord(barrier)]
    if kind == CHARSMAP:
        return barrier == "\0" or barrier not in _sought_by_table(step)
    # The other kinds work on single characters, or are normal forms, which join nothing to a barrier.
    return kind not in ("Strip", "Prepend") and function(barrier, True) == barrier


def _keeps_whitespace(step: dict[str, Any]) -> bool:
    if step["type"] != "Replace" or step["pattern"].get("String", " ") not in WHITESPACE:
        return True
    content: str = step["content"]
    return content != "" and not content.strip(WHITESPACE)


def _changes_whitespace_alone(step: dict[str, Any]) -> bool:
    if step["type"] == "Strip":
        return True
    if step["type"] != "Replace" or not step["content"] or step["content"].strip(WHITESPACE):
        return False
    (sought,) = step["pattern"].values()
    return sought in (r"\s", r"\s+") if "Regex" in step["pattern"] else not sought.strip(WHITESPACE)


def _keeps(step: dict[str, Any], token: str) -> bool:
    kind = step["type"]
    if kind in FORMS:
        return not set(token) & _changing(kind)
    # Whitespace alone, and steps that neither add nor remove any: for example GPT-NeoX's runs of spaces in lower case.
    # Accents may stand between two spaces.
    if kind == "Lowercase" or (kind == "StripAccents" and len(token) == 1):
        return token.isspace() and token.isascii()
    return False


@functools.cache
def _changing(form: Form) -> frozenset[str]:
    """The characters that a normal form changes, makes, or composes with the text after them."""
    pairs = zip(changing_characters(), changed_to(decomposed(form)), strict=True)
    return frozenset("".join([each + new for each, new in pairs if each != new or unicodedata.combining(each)]))
