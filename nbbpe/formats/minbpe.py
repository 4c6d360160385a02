"""Reads minbpe's .model, a text file: a version, the split pattern, the special tokens, and the merges as pairs of ids.

minbpe v1
'(?i:[sdmt]|ll|ve|re)|...           the regex, in the syntax of the `regex` package; empty for none (BasicTokenizer)
1                                   the number of special tokens, which follow, one on each line with its id
<|endoftext|> 512
101 32                              the merges; the first one makes id 256
"""

from __future__ import annotations

import os

from ..model.model import Model
from ..model.vocab_checks import Merge
from ..patterns.given_regex import n_groups
from ..patterns.pattern import Pattern
from ..patterns.pattern_argument import regex_pattern
from ..system.excerpt import shown
from ..system.paths import Path
from .shared.named_errors import naming

_MOST_BYTES = 1 << 28  # of all tokens together: forty lines could define a token of a terabyte


def read_model(path: Path) -> Model:
    """Read a .model of minbpe: ids are the same as minbpe's, with all special tokens allowed.

    Raises OSError, or ValueError that names the file, and the line that is broken or that nbbpe cannot honour.
    """
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not valid UTF-8 (byte {error.start})") from None
    with naming(name):
        if lines[0].strip() != "minbpe v1":
            raise ValueError(f"is {shown(lines[0])}, and nbbpe reads 'minbpe v1'")
        n_special = _numbers(lines, 2, 1)[0]
        special = _special_tokens(lines, n_special)
        vocab = {byte: bytes([byte]) for byte in range(256)}
        merges: list[Merge] = []
        n_bytes = 0
        for number in range(3 + n_special, len(lines)):
            left, right = _numbers(lines, number, 2)
            if not (left in vocab and right in vocab):
                raise ValueError(f"line {number + 1}: {shown(lines[number])} are not two ids of earlier tokens")
            n_bytes += len(vocab[left]) + len(vocab[right])
            if n_bytes > _MOST_BYTES:
                raise ValueError(f"line {number + 1}: the tokens up to here have more than {_MOST_BYTES:,} bytes")
            vocab[256 + len(merges)] = vocab[left] + vocab[right]
            merges.append((vocab[left], vocab[right]))
        if len(set(vocab.values())) < len(vocab):
            raise ValueError("two of its tokens have equal bytes, so that merges by bytes cannot tell them apart")
        return Model.checked(vocab, merges, special, _pattern(lines[1]))


def _pattern(regex: str) -> Pattern | None:
    if not regex:
        return None
    pattern = regex_pattern(regex)
    if n_groups(regex):
        raise ValueError(f"line 2: the pattern {shown(regex)} has groups, and minbpe takes their text for that of a match")
    if not pattern.takes_all:
        raise ValueError(f"line 2: the pattern {shown(regex)} does not match all text, and minbpe drops the rest")
    return pattern


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 10


def _numbers(lines: list[str], number: int, n: int) -> list[int]:
    """The `n` numbers in line `number`, counted from 0."""
    words = lines[number].split() if number < len(lines) else []
    if len(words) != n or not all(map(_is_number, words)):
        raise ValueError(f"line {number + 1} must have {n} numbers, and is {shown(' '.join(words))}")
    return list(map(int, words))


def _special_tokens(lines: list[str], n: int) -> dict[str, int]:
    special: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for number in range(3, 3 + n):
        words = lines[number].split() if number < len(lines) else []
        if len(words) != 2 or not _is_number(words[1]):
            raise ValueError(f"line {number + 1} must have a special token and its id, and is {shown(' '.join(words))}")
        if words[0] in special:
            raise ValueError(f"line {number + 1}: special token {shown(words[0])} comes twice")
        special[words[0]] = int(words[1])
        numbers[words[0]] = number
    # Of two tokens that match, minbpe takes the first in the file, nbbpe the longest. In sorted order, `starts` holds the
    # tokens that are prefixes of the current one, the last of them the earliest in the file.
    starts: list[str] = []
    for token in sorted(special):
        while starts and not token.startswith(starts[-1]):
            starts.pop()
        if starts and numbers[starts[-1]] < numbers[token]:
            raise ValueError(
                f"line {numbers[token] + 1}: minbpe never finds {shown(token)}, as {shown(starts[-1])} comes before it"
            )
        starts.append(token)
    return special
