"""Text of trusted and untrusted segments: special tokens are recognised in trusted segments only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..text.utf8 import Text

Segment = tuple[Text, bool]


def encode_segments(
    segments: Iterable[Segment], encode: Callable[[Any], list[int]], encode_ordinary: Callable[[Any], list[int]]
) -> list[int]:
    """See Tokenizer.encode_segments."""
    ids: list[int] = []
    for number, segment in enumerate(segments):
        if not isinstance(segment, tuple) or len(segment) != 2 or not isinstance(segment[1], bool):
            raise TypeError(
                f"segment {number:,} (from 0) must be a pair (text, whether it is trusted), not {segment!r:.100}"
            )
        text, is_trusted = segment
        ids += encode(text) if is_trusted else encode_ordinary(text)
    return ids
