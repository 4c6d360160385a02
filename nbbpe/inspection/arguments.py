"""The arguments that the functions of this folder share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..sources.tables.arrow_data import ArrowData
from ..system.excerpt import shown
from ..system.paths import Path
from ..text.utf8 import Text
from ..tokenizer import Tokenizer

TextSource = Path | Sequence[Path] | Iterator[Text] | ArrowData  # a `source` as in `nbbpe.train`


def check_tokenizer(argument: str, tokenizer: object) -> None:
    """Raise TypeError unless the argument is a Tokenizer. (On the command line, it is the path of one.)"""
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"{argument} must be a Tokenizer (see nbbpe.load), not {shown(tokenizer)}")
