"""Unicode normal forms: text is put into one before it is split, where a tokenizer has a normalizer.

Special tokens are found before, in the text as it is, and the text between two of them is normalized alone, as in
tokenizers (Hugging Face's).
"""

from __future__ import annotations

import codecs
import functools
import re
import unicodedata
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .normal_characters import Form, changing_characters, decomposed, joining_characters
from .normal_check import doubtful_parts
from .utf8 import LONGEST_CHARACTER, to_text
from .windows import Window

_LOOKED_AT = 1 << 8  # bytes at the end of a window in which a cut is first looked for
_LONG_RUN = 1000  # characters; unicodedata takes time quadratic in a run of marks, here 3 ms


def normalized_text(text: str, form: Form) -> str:
    """A text in a normal form; undecodable bytes, as `to_text` gives them, stay unchanged and in their place."""
    if text.isascii():
        return text
    # Nothing is composed with the end of a line, or moved across it, and most lines are soon seen to be normal.
    lines = text.splitlines(keepends=True)
    return "".join(
        [unicodedata.normalize(form, line if len(line) <= _LONG_RUN else _with_sorted_runs(line, form)) for line in lines]
    )


def _with_sorted_runs(line: str, form: Form) -> str:
    """A line whose long runs of marks are sorted by their combining class, as normal forms have them.

    Then they take linear time.
    """
    full = decomposed(form)
    if not any(_is_mark(character, full) for character in line[::_LONG_RUN]):  # of which a long run would have one
        return line
    # No run has a space, and few texts have words so long that they must be searched, which takes 200 ns a character.
    search = functools.partial(_long_runs(full).sub, lambda run: _sorted_marks(run[0], full))
    return " ".join([word if len(word) < _LONG_RUN else search(word) for word in line.split(" ")])


def _is_mark(character: str, full: Form) -> bool:
    """Whether a character is a mark with a combining class, or is decomposed to such marks, as U+0F73 is."""
    return unicodedata.combining(unicodedata.normalize(full, character)[0]) > 0


@functools.cache
def _long_runs(full: Form) -> re.Pattern[str]:
    """Finds long runs of marks."""
    marks = "".join([character for character in changing_characters() if _is_mark(character, full)])
    return re.compile(f"[{marks}]{{{_LONG_RUN},}}")


def _sorted_marks(run: str, full: Form) -> str:
    """The marks of such a run, decomposed one by one and sorted."""
    marks = "".join([unicodedata.normalize(full, each) for each in run])
    return "".join(sorted(marks, key=unicodedata.combining))


def is_kept_between(before: str, after: str, form: Form) -> bool:
    """Whether a normal form keeps the characters beside a place as they are: the last one before it, and the two after it.

    before, after : the text on both sides; three characters of `after` count, of which the first is ASCII. Nothing else in
        the text matters, as none of these characters joins what comes before it
    """
    beside = before[-1:] + after[:3]
    if beside.isascii():
        return True
    joining = joining_characters(form)
    return unicodedata.is_normalized(form, beside[:-1] if len(after) > 2 else beside) and not any(
        character in joining for character in beside
    )


def normalized(text: bytes, breaks: NDArray[np.int64], form: Form) -> tuple[bytes, NDArray[np.int64]]:
    """A text in a normal form except at its breaks, and the breaks: the arguments themselves where it is in that form.

    breaks : int64[n, 3], in order: start, end, id; no others are found in the normalized text
    """
    parts: list[bytes] = []
    ends, longer = [], [0]  # of each stretch that changes: where it ends, and by how much it and those before it are longer
    done = 0
    for start, end in doubtful_parts(text, form):
        for first, last in _between(breaks, start, end):
            stretch = to_text(text[first:last])
            if (new := normalized_text(stretch, form)) != stretch:
                parts += [text[done:first], new.encode(errors="surrogateescape")]
                ends.append(last)
                longer.append(longer[-1] + len(parts[-1]) - (last - first))
                done = last
    if not ends:
        return text, breaks
    moved = breaks.copy()
    moved[:, :2] += np.array(longer)[np.searchsorted(ends, breaks[:, 0], "right"), np.newaxis]
    return b"".join([*parts, text[done:]]), moved


def _between(breaks: NDArray[np.int64], start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches of a part of a text between the breaks in it."""
    first, last = np.searchsorted(breaks[:, 1], start, "right"), np.searchsorted(breaks[:, 0], end)
    for break_start, break_end in breaks[first:last, :2].tolist():
        if start < break_start:
            yield start, break_start
        start = break_end
    if start < end:
        yield start, end


def last_cut(window: Window, form: Form) -> int:
    """The last place of a window up to which it can be normalized alone; its start if there is none."""
    n = _LOOKED_AT
    while True:
        begin = max(window.limit - n, window.start)
        floor = max(begin - LONGEST_CHARACTER, window.start)
        while begin > floor and window.data[begin] & 0xC0 == 0x80:  # so that a character begins there
            begin -= 1
        text, n_bytes = codecs.utf_8_decode(window.data[begin : window.limit].data, "surrogateescape", False)
        kept = text if text[-1:].isascii() else text.rstrip(joining_characters(form))
        if kept or begin == window.start:
            break
        n *= 16
    last = text[max(len(kept) - 1, 0) :]
    cut = begin + n_bytes - len(last.encode(errors="surrogateescape"))
    return max(cut, *window.breaks[-1:, 1].tolist(), window.start)
