"""Converts the pre_tokenizer of a tokenizer.json to an equivalent split pattern, and a pattern to a pre_tokenizer.

Each step that only cuts the text becomes a regex of the pattern. If a step removes text, or cuts it in a way that no regex
expresses, a Cutter (text/cutting.py) does all steps up to the last such one. A step that neither can do is an error that
names it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import regex

from ...patterns.pattern import NAMED, Pattern
from ...patterns.pattern_argument import get_pattern, regex_pattern
from ...system.excerpt import cut, shown
from ...text.cutting import BEHAVIORS, WORD_END, Cutter, punctuation, regex_before
from ...text.cutting import KINDS as CUTS
from ..regexes.dialects import escaped, translated

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}

# The step that is equivalent to use_regex of ByteLevel.
_BY_GPT2 = {"type": "Split", "pattern": {"Regex": NAMED["gpt2"].regexes[0]}, "behavior": "Isolated", "invert": False}

# Arcee's Trinity groups digits by three from the right with three regexes, which first cut windows of 510 digits. As 510 is
# a multiple of 3, one regex does the same, and kernels can split by that one.
_TRINITY = (
    r"\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510}",
    r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
    r"\A\p{Nd}{3}|\G\p{Nd}{3}",
)
_DIGITS_BY_THREE = r"\p{Nd}{1,3}(?=(?:\p{Nd}{3})*(?!\p{Nd}))"

_BESIDE_BYTE_LEVEL = ("Digits", "Punctuation", *CUTS)
_ONE_SET = regex.compile(
    r"(?:\\p\{\^?\w+\}|\\[sSdD]|\[(?:[^\\\[\]^&|~-]|\\.\{?\w*\}?|(?<=\w)-(?=\w))+\]|[^\\\[\](){}.*+?|^$])"
)
_AFTER_BYTES = regex.compile(r"[\[\]0-9+{},-]+")  # regexes of ASCII digits, which match the same in the byte alphabet


def read(steps: Sequence[dict[str, Any]], suffix: str | None = None) -> tuple[Pattern, bool, Cutter | None]:
    """Convert the steps of a pre_tokenizer to (pattern, prefix_space, cutter).

    suffix       : the model's end_of_word_suffix
    pattern      : the split pattern
    prefix_space : whether text between special tokens, or each part that the cutter makes, gets a space in front if it has
        none
    cutter       : does the steps before the pattern, in Python; None if there are none

    Raises ValueError that names a step that cannot be honoured.
    """
    kinds = [step["type"] for step in steps]
    _check_kinds(kinds)
    place = kinds.index("ByteLevel")
    byte_level = steps[place]
    # As in tokenizers, missing options of ByteLevel are true.
    prefix_space = byte_level.get("add_prefix_space", True)
    if not isinstance(prefix_space, bool):
        raise ValueError(f"pre_tokenizer: add_prefix_space must be true or false, and is {shown(prefix_space)}")
    if suffix is not None:
        return get_pattern(None), False, _cutter_of_words(steps, suffix)
    patterns = [_pattern(step) for step in steps[:place]]
    # All steps up to the last one without a pattern belong to the cutter. With prefix_space all steps do, as each of their
    # parts gets a space in front.
    n_cuts = place if prefix_space else next((i + 1 for i in reversed(range(place)) if patterns[i] is None), 0)
    cuts = [_cut_step(step) for step in steps[:n_cuts]]
    splits = [each for each in patterns[n_cuts:] if each is not None]
    if cuts and not prefix_space and cuts[-1]["type"] == "Metaspace" and cuts[-1].get("split", True) is True:
        cuts[-1] = {**cuts[-1], "split": False}
        Cutter.of(cuts)  # raises ValueError for an invalid replacement
        splits.insert(0, get_pattern(regex_before(cuts[-1]["replacement"])))
    cutter = Cutter.of(cuts) if cuts else None
    if byte_level.get("use_regex", True):
        splits.append(get_pattern("gpt2"))
    splits += [_after_bytes(step) for step in steps[place + 1 :]]
    return get_pattern(_shorter([str(each.regex) for each in splits]) or None), prefix_space, cutter


def _check_kinds(kinds: list[str]) -> None:
    """Raise ValueError unless one of the steps is ByteLevel, and the others are known."""
    unknown = next((kind for kind in kinds if kind != "ByteLevel" and kind not in _BESIDE_BYTE_LEVEL), None)
    if unknown is not None:
        why = f"; of these {shown(unknown)} is not known"
    elif "ByteLevel" not in kinds:
        why = (
            ". Without ByteLevel, the vocabulary is one of characters, as sentencepiece's, and nbbpe reads these "
            "with byte_fallback and its 256 tokens only (Llama 2, Gemma): use tokenizers for this file"
        )
    elif kinds.count("ByteLevel") > 1:
        why = ""
    else:
        return
    found, named = cut(" and ".join(kinds), 200) or "null", ", ".join(_BESIDE_BYTE_LEVEL)
    raise ValueError(f"pre_tokenizer is {found}; nbbpe can honour ByteLevel, alone or in a Sequence with {named}{why}")


def _shorter(regexes: list[str]) -> list[str]:
    """Replace the three regexes of Trinity, where they occur, by one that is equivalent."""
    for at in range(len(regexes) - len(_TRINITY) + 1):
        rest = at + len(_TRINITY)
        if regexes[at:rest] == [_from_oniguruma(each) for each in _TRINITY]:
            return [*regexes[:at], _DIGITS_BY_THREE, *regexes[rest:]]
    return regexes


def _cutter_of_words(steps: Sequence[dict[str, Any]], suffix: str) -> Cutter:
    """The cutter for a model with end_of_word_suffix: cuts a text into words, and marks the end of each.

    Raises ValueError unless ByteLevel is the last step, and no spaces are left in words.
    """
    byte_level = steps[-1]
    if byte_level["type"] != "ByteLevel" or byte_level.get("add_prefix_space", True):
        raise ValueError(
            f"model.end_of_word_suffix is {shown(suffix)}, which nbbpe can honour if ByteLevel is the last step of the "
            "pre_tokenizer, and add_prefix_space false"
        )
    own = [_BY_GPT2] if byte_level.get("use_regex", True) else []
    cutter = Cutter.of([*map(_cut_step, steps[:-1]), *own, {"type": WORD_END, "suffix": suffix}])
    cutter.parts(" a  b ")  # raises ValueError if spaces are left
    return cutter


def _pattern(step: dict[str, Any]) -> Pattern | None:
    """The pattern that is equivalent to a step; None if there is none."""
    if step["type"] == "Split":
        return _split(step)
    if step["type"] in CUTS:
        return None
    if step["type"] == "Digits":
        return get_pattern(r"\p{N}" if step.get("individual_digits", False) else r"\p{N}+")
    behavior = _behavior(step)
    return None if behavior == "Removed" else get_pattern(_of_set(punctuation()[1:-1], behavior))


def _cut_step(step: dict[str, Any]) -> dict[str, Any]:
    """A step in the form of a Cutter."""
    kind, pattern = step["type"], step.get("pattern")
    if kind == "Digits":
        text, behavior = r"\p{N}", "Isolated" if step.get("individual_digits", False) else "Contiguous"
    elif kind == "Punctuation":
        text, behavior = punctuation(), step.get("behavior", "Isolated")
    elif kind == "Split" and isinstance(pattern, dict) and isinstance(pattern.get("Regex"), str):
        return {**step, "pattern": {"Regex": _translated(pattern["Regex"])}}
    else:
        return step
    return {"type": "Split", "pattern": {"Regex": text}, "behavior": behavior, "invert": False}


def digits_of_bytes(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps Digits after ByteLevel, as in Falcon, which also cut between bytes of a character: see `without_mixed`."""
    kinds = [step["type"] for step in steps]
    return [step for step in steps[kinds.index("ByteLevel") :] if step["type"] == "Digits"]


# The bytes whose characters in GPT-2's alphabet are numbers (²³¹¼½¾).
_NUMERIC = frozenset(b"\xb2\xb3\xb9\xbc\xbd\xbe")
_DIGITS = frozenset(b"0123456789")


def without_mixed(merges: list[tuple[bytes, bytes]], digits: Sequence[dict[str, Any]]) -> list[tuple[bytes, bytes]]:
    """The merges that can be applied if Digits comes after ByteLevel, and so cuts at bytes whose characters are numbers.

    digits : these steps

    Digits separates the sides of the other merges, so omitting them gives the same ids. Raises ValueError if a token has
    both such a byte and a digit: Digits does not cut between them, but the split pattern does.
    """
    single = any(step.get("individual_digits", False) for step in digits)
    kept = []
    for left, right in merges:
        token = set(left + right)
        if token & _NUMERIC and token & _DIGITS:
            raise ValueError(f"model.merges: {shown(left + right)} joins a digit and a byte that Digits treats as one")
        if not token & _NUMERIC or (token <= _NUMERIC and not single):
            kept.append((left, right))
    return kept


def _behavior(step: dict[str, Any]) -> str:
    behavior = step.get("behavior", "Isolated")
    if behavior not in BEHAVIORS:
        raise ValueError(
            f"pre_tokenizer is {step['type']} with behavior {shown(behavior)}, which is none of {', '.join(BEHAVIORS)}"
        )
    return str(behavior)


def _of_set(members: str, behavior: str) -> str:
    """The regex of the parts that a Split by one character of a set makes, if its behavior does not remove text."""
    inside, outside = f"[{members}]", f"[^{members}]"
    return {
        "Isolated": inside,
        "Contiguous": f"{inside}+",
        "MergedWithPrevious": f"{outside}*{inside}|{outside}+",
        "MergedWithNext": f"{inside}{outside}*|{outside}+",
    }[behavior]


def _after_bytes(step: dict[str, Any]) -> Pattern:
    """The pattern of a step after ByteLevel, which sees text in the byte alphabet."""
    if step["type"] == "Digits":
        # For other bytes that Digits treats as numbers see `without_mixed`.
        return get_pattern("[0-9]" if step.get("individual_digits", False) else "[0-9]+")
    pattern = step.get("pattern")
    text = pattern.get("Regex") if isinstance(pattern, dict) else None
    is_split = step["type"] == "Split" and isinstance(text, str) and _AFTER_BYTES.fullmatch(text)
    found = _split(step) if is_split else None
    if found is None:
        raise ValueError(
            f"pre_tokenizer has a {step['type']} after ByteLevel, where bytes are characters, and it would cut the text "
            "elsewhere"
        )
    return found


def _regex_of(text: str) -> Pattern:
    """The pattern for a regex in Oniguruma's dialect."""
    with _naming_regex():
        return _named(text) or regex_pattern(_from_oniguruma(text))


def _translated(text: str) -> str:
    """Translate a regex from Oniguruma to `regex`; for a named pattern, return its own regex."""
    named = _named(text)
    with _naming_regex():
        return _from_oniguruma(text) if named is None else str(named.regex)


def _from_oniguruma(text: str) -> str:
    """Translate the regex of a Split to `regex`. It may only have empty matches, at which a Split cuts, too."""
    return translated(_with_escapes(text), "Oniguruma", "regex", may_be_empty=True)


def _for_oniguruma(text: str) -> str:
    return translated(text, "regex", "Oniguruma", may_be_empty=True)


def _named(text: str) -> Pattern | None:
    """The named pattern with this regex in Oniguruma's dialect; None if there is none."""
    named = _named_spellings()
    return named.get(text) or named.get(_with_escapes(text))


@contextmanager
def _naming_regex() -> Iterator[None]:
    try:
        yield
    except ValueError as problem:
        raise ValueError(f"pre_tokenizer splits by a regex that nbbpe cannot honour: {problem}") from None


def _with_escapes(text: str) -> str:
    """Write newlines in a regex as escapes, as the named patterns do; files have both forms."""
    return regex.sub(r"(?<!\\)[\r\n]", lambda match: {"\r": r"\r", "\n": r"\n"}[match[0]], text)


def _split(part: dict[str, Any]) -> Pattern | None:
    """The pattern that is equivalent to a Split; None if there is none."""
    wanted = part.get("pattern")
    text = wanted.get("Regex") if isinstance(wanted, dict) else None
    if isinstance(wanted, dict) and isinstance(wanted.get("String"), str):
        text = escaped(wanted["String"])
    if not isinstance(text, str):
        raise ValueError(f"pre_tokenizer is a Split by {shown(wanted)}, and nbbpe splits by a regex or a string only")
    behavior, invert = _behavior(part), part.get("invert", False)
    pattern = _regex_of(text)
    if behavior == "Isolated":
        return pattern
    if behavior == "Removed":
        # With invert, text that does not match is removed: nothing, if the pattern matches all text.
        return pattern if invert and pattern.name and pattern.takes_all else None
    single = _set_of(wanted, pattern)
    if single is None or (invert and behavior != "Contiguous"):
        return None
    return get_pattern(_of_set(single, behavior))


def _set_of(wanted: Any, pattern: Pattern) -> str | None:
    """The set, without brackets, if a Split cuts at one character of a set; None for any other Split."""
    if "String" in wanted:
        return _with_escapes(escaped(wanted["String"]))[3:-1] if len(wanted["String"]) == 1 else None
    text = str(pattern.regex)
    if pattern.then or not _ONE_SET.fullmatch(text):
        return None
    return text[1:-1] if text.startswith("[") else text


@functools.cache
def _named_spellings() -> dict[str, Pattern]:
    """The named patterns that have one regex, by that regex in Oniguruma's dialect, as `write` spells it."""
    named = {pattern.regexes[0]: pattern for pattern in NAMED.values() if not pattern.then}
    return {_for_oniguruma(each): pattern for each, pattern in named.items()}


def write(pattern: Pattern, prefix_space: bool = False, cutter: Cutter | None = None) -> dict[str, Any]:
    """Make a pre_tokenizer that cuts as a cutter and a pattern do.

    Raises ValueError if a regex means something else in tokenizers.
    """
    byte_level = {**BYTE_LEVEL, "add_prefix_space": prefix_space}
    cuts = [] if cutter is None else cutter.steps
    use_regex = pattern.name == "gpt2"
    if cuts and cuts[-1]["type"] == WORD_END:
        cuts.pop()
        use_regex = cuts[-1:] == [_BY_GPT2]
        del cuts[len(cuts) - use_regex :]
    for step in cuts:
        if step["type"] == "Split" and "Regex" in step["pattern"]:
            step["pattern"] = {"Regex": _for_oniguruma(step["pattern"]["Regex"])}
    splits: list[dict[str, Any]] = []
    if pattern.regex is not None and pattern.name != "gpt2":
        if prefix_space:
            # ByteLevel, which adds the space, would have to come before the Split; but it also converts text to the byte
            # alphabet, which the regex would then see.
            raise ValueError(
                "this tokenizer puts a space in front of a text and splits it by a custom pattern, which tokenizer.json "
                "cannot express together"
            )
        regexes = [_for_oniguruma(each) for each in pattern.regexes]
        splits = [
            {"type": "Split", "pattern": {"Regex": each}, "behavior": "Isolated", "invert": False} for each in regexes
        ]
    steps = [*cuts, *splits, {**byte_level, "use_regex": use_regex}]
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": steps}
