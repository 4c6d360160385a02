"""Put text into a Unicode normal form, as a tokenizer with a normalizer does before it splits text.

Special tokens are found first, in the original text, and the text between two of them is normalized alone, as in
tokenizers (Hugging Face's).
"""

from __future__ import annotations

import codecs
import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from .normal_characters import (
    IS_DOUBTFUL,
    JOINS,
    Form,
    changing_characters,
    decomposed,
    joining_characters,
    normal_table,
)
from .normal_check import ascii_parts, doubtful_parts
from .utf8 import LONGEST_CHARACTER, to_text
from .windows import SEPARATOR, Window

_LOOKED_AT = 1 << 8  # bytes at the end of a window in which a cut is first looked for
_SHORT = 4000  # characters of a text that `unicodedata` normalizes in less time than arrays
_PAYS = 1 << 20  # characters that it normalizes in as much time as it takes to make a table
_LONGEST_CLUSTER, _MOST_CLUSTERS = 64, 1 << 14  # characters, and entries of the cache of what becomes of clusters
_LONG_RUN = 1000  # characters; unicodedata takes time quadratic in a run of marks, here 3 ms


def normalized_text(text: str, form: Form) -> str:
    """A text in a normal form; undecodable bytes, as `to_text` gives them, stay unchanged and in their place."""
    global _n_normalized
    if text.isascii():
        return text
    _n_normalized += len(text)
    if _n_normalized < _PAYS or form == decomposed(form):  # a form that composes nothing takes a third of the time
        return _by_lines(text, form)
    return "".join([_by_clusters(part, form) for part in ascii_parts(text)])


_n_normalized = 0  # characters, so far


def _by_lines(text: str, form: Form) -> str:
    """As `normalized_text`, line by line.

    Nothing is composed with the end of a line, or moved across it, and most lines are soon seen to be normal.
    """
    lines = text.splitlines(keepends=True)
    return "".join(
        [unicodedata.normalize(form, line if len(line) <= _LONG_RUN else _with_sorted_runs(line, form)) for line in lines]
    )


def _by_clusters(text: str, form: Form) -> str:
    """As `_by_lines`, in half the time or less: `unicodedata` takes 80 ns a character of each line that it changes.

    A cluster is a character with all that joins it. Only those that may change are normalized, and few are distinct.
    """
    if len(text) < _SHORT:
        return _by_lines(text, form)
    starts, ends = _doubtful_clusters(text, form)
    lengths = ends - starts
    if not len(lengths):
        return text
    if lengths.max() > _LONGEST_CLUSTER or 2 * lengths.sum() > len(text):
        return _by_lines(text, form)
    firsts, lasts = starts.tolist(), ends.tolist()
    clusters = [text[first:last] for first, last in zip(firsts, lasts, strict=True)]
    others = [text[last:first] for last, first in zip([0, *lasts], [*firsts, len(text)], strict=True)]
    made = map(_known(form), clusters)
    return "".join([others[0], *chain.from_iterable(zip(made, others[1:], strict=True))])


@functools.cache
def _known(form: Form) -> Callable[[str], str]:
    """A function that puts text into a normal form, with a cache."""
    return functools.lru_cache(_MOST_CLUSTERS)(functools.partial(unicodedata.normalize, form))


def _doubtful_clusters(text: str, form: Form) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The starts and the ends of the clusters that a form may change; adjacent clusters count as one."""
    facts = normal_table(form)[np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")]
    classes = facts & ~np.uint8(IS_DOUBTFUL | JOINS)
    is_doubtful = facts & IS_DOUBTFUL > 0
    is_doubtful[1:] |= (classes[1:] < classes[:-1]) & (classes[1:] > 0)
    doubtful = np.flatnonzero(is_doubtful)
    joins = np.zeros(len(text) + 2, dtype=np.bool_)
    joins[1:-1] = facts & JOINS
    edges = np.flatnonzero(joins[1:] != joins[:-1])
    # For each run of joining characters: the character before it, and its end; at last 0, for characters before all runs.
    befores, ends_of_runs = np.maximum(edges[::2] - 1, 0), np.append(edges[1::2], 0)
    run = np.searchsorted(befores, doubtful, "right") - 1
    is_in_run = doubtful < ends_of_runs[run]
    starts = np.where(is_in_run, np.append(befores, 0)[run], doubtful)
    ends = np.where(is_in_run, ends_of_runs[run], doubtful + 1)
    is_apart = starts[1:] > ends[:-1]
    return starts[np.append(True, is_apart)[: len(starts)]], ends[np.append(is_apart, True)[: len(ends)]]


def _with_sorted_runs(line: str, form: Form) -> str:
    """A line whose long runs of marks are sorted by their combining class, as normal forms have them.

    Then they take linear time.
    """
    full = decomposed(form)
    if not any(_is_mark(character, full) for character in line[::_LONG_RUN]):  # a long run would have a mark among these
        return line
    # No run has a space, and few texts have words so long that they must be searched, which takes 200 ns a character.
    search = functools.partial(_long_runs(full).sub, lambda run: _sorted_marks(run[0], full))
    return " ".join([word if len(word) < _LONG_RUN else search(word) for word in line.split(" ")])


def _is_mark(character: str, full: Form) -> bool:
    """Whether a character is a mark with a combining class, or is decomposed to such marks, as U+0F73 is."""
    return unicodedata.combining(unicodedata.normalize(full, character)[0]) > 0


@functools.cache
def _long_runs(full: Form) -> re.Pattern[str]:
    """A regex that finds long runs of marks."""
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
    """Normalize a text, except in its breaks; returns it with its moved breaks, or the arguments if it is in the form.

    breaks : int64[n, 3], in order: start, end, id; no others are found in the normalized text
    """
    parts: list[bytes] = []
    ends, longer = [], [0]  # for each stretch that changes: its end, and how much longer the text up to there becomes
    done = 0
    for start, end in doubtful_parts(text, form):
        spans = list(_between(breaks, start, end))
        stretches = [text[first:last] for first, last in spans]
        for (first, last), stretch, new in zip(spans, stretches, _each_normalized(stretches, form), strict=True):
            if new != stretch:
                parts += [text[done:first], new]
                ends.append(last)
                longer.append(longer[-1] + len(new) - (last - first))
                done = last
    if not ends:
        return text, breaks
    moved = breaks.copy()
    moved[:, :2] += np.array(longer)[np.searchsorted(ends, breaks[:, 0], "right"), np.newaxis]
    return b"".join([*parts, text[done:]]), moved


def _each_normalized(stretches: list[bytes], form: Form) -> list[bytes]:
    """Normalize each of some stretches: all at once, with a byte between them to which nothing is joined."""
    joined = SEPARATOR.join(stretches)
    if joined.count(SEPARATOR) == len(stretches) - 1:
        return normalized_text(to_text(joined), form).encode(errors="surrogateescape").split(SEPARATOR)
    return [normalized_text(to_text(each), form).encode(errors="surrogateescape") for each in stretches]


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
        while begin > floor and window.data[begin] & 0xC0 == 0x80:  # until a character begins there
            begin -= 1
        text, n_bytes = codecs.utf_8_decode(window.data[begin : window.limit].data, "surrogateescape", False)
        kept = text if text[-1:].isascii() else text.rstrip(joining_characters(form))
        if kept or begin == window.start:
            break
        n *= 16
    last = text[max(len(kept) - 1, 0) :]
    cut = begin + n_bytes - len(last.encode(errors="surrogateescape"))
    return max(cut, *window.breaks[-1:, 1].tolist(), window.start)
