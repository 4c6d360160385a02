"""Computes the figures of a report: how well a vocabulary compresses several texts, and which of its tokens are useful.

All figures follow from the distinct words of each text and their counts; each word is encoded once.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counting.counters import WordRules
from ..counting.gathering import Gathering, Limit
from ..counting.word_counts import WordCounts
from ..counting.word_table import add_up
from ..encoding.pretoken_ids import pretoken_ids
from ..model.extras import NO_EXTRAS
from ..model.model import Model
from ..sources import Input, warn_of_skipped
from ..system.excerpt import first_few
from ..text.lacking_byte import LackingByte
from ..text.scripts import WITHOUT_LETTERS, script_of
from ..text.utf8 import is_utf8, to_text
from ..training.learning_options import LearningOptions
from ..words.source_words import gather_source
from ..words.supply import Stage
from .extension import extend_by_words
from .frequencies import check_gaps, merge_counts, unreachable
from .reduction import first_made, truncate
from .report_data import ReportFigures, Row, TokenFigures, TokenUse

if TYPE_CHECKING:
    from ..kernels.encoding.merge_table import Merges

_MOST_POINTS, _POINTS_BY_TRUNCATION = 80, 12  # of a curve
_MOST_SCRIPTS = 14
_COLUMNS_AT_ONCE = 64  # for counting merges: each column takes four arrays of the vocabulary's size
_OTHERS = "other scripts"


class _Counted(NamedTuple):
    """A text: its words, the bytes, characters, tokens and script (a number) of each, and the ids of all words."""

    words: WordCounts
    n_bytes: NDArray[np.int64]
    n_characters: NDArray[np.int64]
    n_tokens: NDArray[np.int64]
    ids: NDArray[np.int64]
    scripts: NDArray[np.int64]


class _Columns(NamedTuple):
    """The columns of figures: one for each text, one for each large script and one for all others, and one for all texts.

    names       : of all columns
    texts       : the words of each text
    of_script   : int64[n_scripts]  the column of each script, by its number
    has_letters : bool[n_scripts]   whether a word of the script has a letter
    """

    names: list[str]
    texts: list[_Counted]
    of_script: NDArray[np.int64]
    has_letters: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: Mapping[str, _Counted], scripts: list[str]) -> _Columns:
        """The columns for texts by name and for scripts (their names by number), the smallest of which share a column."""
        sizes = np.zeros(len(scripts), dtype=np.int64)
        for each in texts.values():
            np.add.at(sizes, each.scripts, each.n_bytes * each.words.counts)
        order = sorted(range(len(scripts)), key=lambda number: (-sizes[number], scripts[number]))
        shown = order if len(order) <= _MOST_SCRIPTS else order[: _MOST_SCRIPTS - 1]
        of_script = np.full(len(scripts), len(texts) + len(shown), dtype=np.int64)
        of_script[shown] = len(texts) + np.arange(len(shown))
        names = [*texts, *(scripts[number] for number in shown), *[_OTHERS] * (len(shown) < len(scripts)), "all texts"]
        return cls(names, list(texts.values()), of_script, np.array([name not in WITHOUT_LETTERS for name in scripts]))

    def add_up(self, n_ids: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each column has each id, int64[n_columns, n_ids], and the first five numbers of its Row,
        int64[n_columns, 5]."""
        counts = np.zeros((len(self.names), n_ids), dtype=np.int64)
        sums = np.zeros((len(self.names), 5), dtype=np.int64)
        for column, each in enumerate(self.texts):
            times = each.words.counts
            places = self.of_script[each.scripts]
            of_ids = np.repeat(times, each.n_tokens)
            np.add.at(counts, (np.repeat(places, each.n_tokens), each.ids), of_ids)
            np.add.at(counts[column], each.ids, of_ids)
            has_letter = self.has_letters[each.scripts]
            figures = (each.n_bytes, each.n_characters, each.n_tokens, has_letter, each.n_tokens * has_letter)
            of_words = np.stack([figure * times for figure in figures], axis=1)
            sums[column] = of_words.sum(axis=0)
            np.add.at(sums, places, of_words)
        counts[-1] = counts[: len(self.texts)].sum(axis=0)
        sums[-1] = sums[: len(self.texts)].sum(axis=0)
        return counts, sums

    def n_tokens(self, model: Model) -> list[int]:
        """The tokens that each column takes with another vocabulary."""
        table = model.merge_table()
        n_tokens = np.zeros(len(self.names), dtype=np.int64)
        for column, each in enumerate(self.texts):
            _, ends = pretoken_ids(each.words.text, each.words.starts, table)
            of_words = np.diff(ends) * each.words.counts
            n_tokens[column] = of_words.sum()
            np.add.at(n_tokens, self.of_script[each.scripts], of_words)
        n_tokens[-1] = n_tokens[: len(self.texts)].sum()
        return n_tokens.tolist()


def report_figures(
    model: Model, texts: Mapping[str, Sequence[Input]], n_workers: int, report: Callable[[int], None], on_error: str
) -> ReportFigures:
    """The figures of a model on texts; `report` is called with the bytes read.

    Raises ValueError where all texts are empty, or where ids leave gaps much larger than the vocabulary.
    """
    n_ids = check_gaps(model)
    labels: dict[str, int] = {}
    table = model.merge_table()
    counted = {}
    rules = WordRules(model.pattern, [token.encode() for token in model.special], on_error)
    for name, inputs in texts.items():
        gathering = Gathering(Limit())
        try:
            gather_source(gathering, inputs, rules, n_workers, report, model)
        except LackingByte as error:
            raise LackingByte(f"the text {name!r}: {error}") from None
        warn_of_skipped(gathering.skipped)
        counted[name] = _count(gathering.finish().in_memory(), table, labels)
    if not any(len(each.words.counts) for each in counted.values()):
        names = first_few(list(texts), show=repr)
        raise ValueError(f"no text to report on: the sources ({names}) are empty, or hold nothing but special tokens")
    columns = _Columns.of(counted, list(labels))
    counts, sums = columns.add_up(n_ids)
    by_merges = _tokens_by_merges(model, counts, sums[:, 0])
    sizes, n_tokens, applied = by_merges or (*_tokens_by_truncation(model, columns), None)
    curves = [[_per(row[0], n) for n in column] for row, column in zip(sums, n_tokens.T.tolist(), strict=True)]
    n_doubled, doubled = _doubled(model, columns)
    rows = [
        Row(name, *sums[column].tolist(), curves[column], _per(sums[column, 0], doubled[column]))  # type: ignore[call-arg]
        for column, name in enumerate(columns.names)
    ]
    return ReportFigures(
        texts=rows[: len(counted)],
        scripts=rows[len(counted) : -1],
        total=rows[-1],
        vocab_sizes=sizes,
        doubled_vocab_size=n_doubled,
        tokens=_tokens(model, counts[-1], applied),
    )


def _count(words: WordCounts, table: Merges, labels: dict[str, int]) -> _Counted:
    """Encode words, and find their scripts, whose numbers are in `labels`; a new script gets the next number there."""
    ids, ends = pretoken_ids(words.text, words.starts, table)
    n = len(words.counts)
    data, places = words.text[: words.starts[-1]].tobytes(), words.starts.tolist()
    n_characters, scripts = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for number, (start, end) in enumerate(itertools.pairwise(places)):
        word = to_text(data[start:end])
        n_characters[number] = len(word)  # each byte of invalid UTF-8 is one, as elsewhere
        scripts[number] = labels.setdefault(script_of(word), len(labels))
    return _Counted(words, np.diff(words.starts), n_characters, np.diff(ends), ids.astype(np.int64), scripts)


def _chosen_sizes(model: Model, least: int, n_points: int) -> list[int]:
    """Sizes of smaller vocabularies, evenly spaced on a logarithmic axis, with a half, a quarter and an eighth of it."""
    most = len(model.vocab)
    wanted = {*np.round(np.geomspace(least, most, n_points)).astype(int).tolist(), *(most // part for part in (1, 2, 4, 8))}
    return sorted({min(max(size, least), most) for size in wanted})


def _tokens_by_merges(
    model: Model, counts: NDArray[np.int64], n_bytes: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]] | None:
    """Sizes of the vocabulary, the tokens of each column at each size, and how often the last column applies each merge.

    counts : int64[n_columns, n_ids], how often each column has each token

    None if the counts do not tell how often each merge was applied (see `merge_counts`).
    """
    n_tokens = []
    for first in range(0, len(counts), _COLUMNS_AT_ONCE):
        block = slice(first, first + _COLUMNS_AT_ONCE)
        applied = merge_counts(model, counts[block].T[model.packed.ids])
        if applied is None:
            return None
        n_other = len(model.vocab) - len(applied)
        sizes = _chosen_sizes(model, n_other, _MOST_POINTS)
        of_last = applied[:, -1].copy()
        saved = np.cumsum(applied, axis=0, out=applied)
        last_merges = np.array(sizes[1:], dtype=np.int64) - n_other - 1  # the first size is that without any merge
        n_tokens.append(np.concatenate([n_bytes[block][None], n_bytes[block] - saved[last_merges]]))
    return sizes, np.concatenate(n_tokens, axis=1), of_last


def _tokens_by_truncation(model: Model, columns: _Columns) -> tuple[list[int], NDArray[np.int64]]:
    """Sizes and tokens as in `_tokens_by_merges`, for any vocabulary, at fewer sizes, as each encodes all words again."""
    sizes = _chosen_sizes(model, len(model.vocab) - len(first_made(model)), _POINTS_BY_TRUNCATION)
    # Without special tokens, as no word has one, and those that are ordinary tokens, too, could not be dropped.
    kept = replace(NO_EXTRAS, byte_fallback=model.extras.byte_fallback)
    plain = model.with_tokens(model.packed_ordinary, model.merge_ids, {}, extras=kept)
    smaller = (truncate(plain, plain.size - len(model.vocab) + size, renumber=False)[0] for size in sizes)
    return sizes, np.array([columns.n_tokens(each) for each in smaller])


def _doubled(model: Model, columns: _Columns) -> tuple[int, list[int]]:
    """The size of a vocabulary extended to twice its tokens on all words, and the tokens that each column then has."""
    all_words = add_up([each.words for each in columns.texts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report shows what they say of the new tokens, or it is of no use here
        # min_frequency=2, as a pair that occurs once saves a token in this text and nowhere else.
        stage = Stage(all_words, model.size + len(model.vocab))
        larger = extend_by_words(model, stage, LearningOptions(min_frequency=2))
    return len(larger.vocab), columns.n_tokens(larger)


def _tokens(model: Model, counts: NDArray[np.int64], applied: NDArray[np.int64] | None) -> TokenFigures:
    """The figures about tokens, from how often each token is in all texts, and how often each merge was applied."""
    ordinary = model.ordinary
    made: dict[int, int] = {}
    if applied is not None and model.merge_ids is not None:
        made = dict(zip(model.merge_ids[:, 2].tolist(), applied.tolist(), strict=True))

    def use(token_id: int) -> TokenUse:
        n_made = made.get(token_id, 0) if applied is not None else None
        return TokenUse(token_id, ordinary[token_id], int(counts[token_id]), n_made)

    uses = [use(token_id) for token_id in sorted(ordinary)]
    longer = [each for each in uses if len(each.token) > 1]
    idle = [each for each in longer if not each.n_uses]
    groups, n_by_space, n_by_case = _duplicates(longer)
    partial = [each for each in longer if not is_utf8(each.token)]
    return TokenFigures(
        longest=sorted(longer, key=lambda each: (-len(each.token), each.token_id)),
        partial_utf8=sorted(partial, key=lambda each: (-each.n_uses, each.token_id)),
        intermediate=sorted((each for each in idle if each.n_made), key=lambda each: (-(each.n_made or 0), each.token_id)),
        unseen=[each for each in idle if not each.n_made],
        unreachable=[use(token_id) for token_id in unreachable(model).tolist()],
        near_duplicates=groups,
        n_by_space=n_by_space,
        n_by_case=n_by_case,
        n_ordinary=len(ordinary),
    )


def _per(part: int, whole: int) -> float:
    return int(part) / int(whole) if whole else 0.0


def _duplicates(uses: Sequence[TokenUse]) -> tuple[list[list[TokenUse]], int, int]:
    """Groups of tokens that differ only by case or a space in front; and how many tokens have a twin that differs only by
    the space, and only by case."""
    spelled = {each.token.decode(): each for each in uses if is_utf8(each.token)}
    spelled = {text: each for text, each in spelled.items() if any(map(str.isalpha, text))}
    groups: dict[str, list[TokenUse]] = {}
    by_case: dict[str, int] = {}
    for text, each in spelled.items():
        groups.setdefault(text.removeprefix(" ").casefold(), []).append(each)
        by_case[text.casefold()] = by_case.get(text.casefold(), 0) + 1
    n_by_space = sum((f" {text}" in spelled) or (text.startswith(" ") and text[1:] in spelled) for text in spelled)
    several = [group for group in groups.values() if len(group) > 1]
    several.sort(key=lambda group: (-len(group), -sum(each.n_uses for each in group), group[0].token_id))
    return several, n_by_space, sum(n for n in by_case.values() if n > 1)
