"""The figures of a report on a vocabulary, as data. (`report_figures.py` computes them; it imports all of training.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    """The figures of a vocabulary on the words of one text, of one script, or of all texts.

    name : of the text or the script
    n_bytes, n_characters, n_tokens : of the words; special tokens are skipped
    n_words, n_tokens_of_words : pretokens that have a letter, and their tokens
    bytes_per_token_by_size : bytes per token with the first merges only, at each of ReportFigures.vocab_sizes; 0 without
        tokens
    bytes_per_token_doubled : bytes per token with twice the vocabulary, its new tokens learned from all these texts; 0
        without tokens
    """

    name: str
    n_bytes: int
    n_characters: int
    n_tokens: int
    n_words: int
    n_tokens_of_words: int
    bytes_per_token_by_size: Sequence[float]
    bytes_per_token_doubled: float

    @property
    def bytes_per_token(self) -> float | None:
        """The compression rate; None without tokens."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None

    @property
    def characters_per_token(self) -> float | None:
        """None without tokens."""
        return self.n_characters / self.n_tokens if self.n_tokens else None

    @property
    def tokens_per_word(self) -> float | None:
        """Fertility, where a word is a pretoken that has a letter; None without such words."""
        return self.n_tokens_of_words / self.n_words if self.n_words else None


class TokenUse(NamedTuple):
    """A token of a report.

    n_uses : how often it is in all texts
    n_made : how often merging makes it in them, also on the way to longer tokens; None if that is not known
    """

    token_id: int
    token: bytes
    n_uses: int
    n_made: int | None


@dataclass(frozen=True, repr=False)
class TokenFigures:
    """The tokens of several bytes that a reader should look at, without special tokens.

    longest         : all of them, the longest first
    partial_utf8    : tokens that begin or end inside a character, the most frequent first
    intermediate    : tokens that are in no text, but are made on the way to longer ones, those most often made first; empty
        if `knows_made` is False
    unseen          : tokens that are in no text and are not made there either, by id; all that are in no text if
        `knows_made` is False
    unreachable     : tokens that merging never gives
    near_duplicates : groups of tokens that differ by case, or by a space in front
    n_by_space, n_by_case : how many tokens have a twin that differs by a space in front, by case
    n_ordinary      : all tokens without special ones, those of one byte included
    """

    longest: list[TokenUse]
    partial_utf8: list[TokenUse]
    intermediate: list[TokenUse]
    unseen: list[TokenUse]
    unreachable: list[TokenUse]
    near_duplicates: list[list[TokenUse]]
    n_by_space: int
    n_by_case: int
    n_ordinary: int

    @property
    def knows_made(self) -> bool:
        """Whether n_made is known: not if a merge makes no new token, or if pretokens that are tokens are not merged."""
        return not any(each.n_made is None for each in self.longest)

    def __repr__(self) -> str:  # the lists have up to as many entries as the vocabulary
        numbers = {name: value if isinstance(value, int) else len(value) for name, value in vars(self).items()}
        return f"TokenFigures({', '.join(f'{name}: {n:,}' for name, n in numbers.items())})"


@dataclass(frozen=True, repr=False)
class ReportFigures:
    """The figures of a report.

    texts, scripts : a Row for each; scripts over all texts, the largest first
    total : the Row of all texts
    vocab_sizes : the sizes (tokens, special ones included) of `bytes_per_token_by_size`
    doubled_vocab_size : twice the number of tokens, or fewer if the texts do not have pairs for so many
    tokens : see TokenFigures
    """

    texts: list[Row]
    scripts: list[Row]
    total: Row
    vocab_sizes: list[int]
    doubled_vocab_size: int
    tokens: TokenFigures

    def __repr__(self) -> str:
        total = self.total
        return f"ReportFigures(texts: {len(self.texts):,}, bytes: {total.n_bytes:,}, tokens: {total.n_tokens:,})"
