"""What the functions of this folder take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..sources.tables.arrow_data import ArrowData
from ..system.excerpt import shown
from ..system.paths import Path
from ..text.utf8 import Text
from ..tokenizer import Tokenizer

TextSource = Path | Sequence[Path] | Iterator[Text] | ArrowData  # what `nbbpe.train` takes


def check_tokenizer(argument: str, tokenizer: object) -> None:
    """Raise TypeError for what is no Tokenizer, such as the folder of one, which the command takes."""
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"{argument} must be a Tokenizer (see nbbpe.load), not {shown(tokenizer)}")
