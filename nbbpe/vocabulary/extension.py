"""Adds tokens to an existing vocabulary: training continues where its merges end, and no id changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counting.word_counts import WordCounts, words_from_dict
from ..encoding.pretoken_ids import ids_of_each, pretoken_ids, unmerged_ids, without_whole
from ..model.model import Model
from ..model.packed_vocab import PackedVocab
from ..model.special_tokens import MAX_ID
from ..model.vocab_checks import check_n_tokens
from ..patterns.pattern_argument import splits_by_regex
from ..system.arguments import argument
from ..system.excerpt import first_few, shown
from ..system.integers import check_integer
from ..system.progress import Progress
from ..system.stopping import Stopping, stopping_on_signals
from ..system.user_warnings import warn_user
from ..system.wrong_argument import WrongArgument
from ..text.utf8 import each_to_bytes, to_text
from ..training.learning_options import TIE_BREAKS, LearningOptions
from ..training.merges import learn_merges
from ..training.start import Start
from ..words.corpus import Corpus
from ..words.counting_options import CountingOptions
from ..words.finding import find_supply
from ..words.parity import Parity
from ..words.supply import Stage
from ..words.words_in_memory import record_of
from .character_words import stage_of_characters

if TYPE_CHECKING:
    from ..kernels.encoding.merge_table import Merges

_MOST_CHECKED = 5000  # words that are encoded with the new vocabulary, to check that training gave them the same ids
_LONGEST_CHECKED = 200  # bytes of such a word
_STARTS = ("start", "earlier_starts")  # keys of "training" in a provenance
IdMerge = tuple[int, int, int]  # the ids of left, right and result


def check_size(model: Model, vocab_size: object) -> int:
    """The number of ids that a vocabulary is extended to, as an int. Raises TypeError or ValueError for an invalid one."""
    if vocab_size is None:
        raise TypeError(f"{argument('vocab_size')} is missing: the number of all ids, the existing ones included")
    size = check_integer("vocab_size", vocab_size)
    if size < model.size:
        raise ValueError(
            f"{argument('vocab_size', size)} is below the {model.size:,} of the tokenizer, and extending only adds ids; "
            "Tokenizer.truncate and prune, in Python, make it smaller"
        )
    if size > MAX_ID + 1:
        raise ValueError(f"{argument('vocab_size', size)} is too large: ids must be from 0 to {MAX_ID:,}")
    check_n_tokens(len(model.ordinary) + size - model.size, size)
    return size


def extend(
    model: Model, corpus: Corpus, counting: CountingOptions, learning: LearningOptions, vocab_size: int | None
) -> Model:
    """See Tokenizer.extend."""
    are_seeds_all = bool(learning.rules.seeds) and corpus.is_nothing
    size = MAX_ID + 1 if are_seeds_all and vocab_size is None else check_size(model, vocab_size)
    splits_by_regex(model.pattern, counting.split_with)
    after = None if corpus.parity is None else corpus.parity.after
    if after is not None and after > len(model.ordinary):
        raise ValueError(
            "after is for training from the bytes, and a vocabulary that is extended has its first tokens already: leave "
            "after out"
        )
    supply = find_supply(corpus, counting, model.pattern, list(model.special), model)
    seeded = with_seeds(model, learning.rules.seeds, size, learning.tie_break)  # raises before words are counted
    if are_seeds_all:
        return extend_by_words(model, Stage(words_from_dict({}), seeded.size), learning)
    counted = supply.count(size)
    stage = supply.stages(counted, size)[-1]  # stages before it make the first tokens, which are there already
    with (
        Progress(counting.progress, "learn merges", size - model.size, "") as bar,
        stopping_on_signals(learning.keeps_on_interrupt) as stopping,
    ):
        learning = learning._replace(denominator=supply.denominator)
        larger = extend_by_words(model, stage, learning, bar.reach, stopping, counted.words)
    return larger.with_training({**record_of(counted.left_out), **supply.record(counted, larger)})


def cut_short(model: Model) -> dict[str, Any] | None:
    """The record of the training from the bytes that made this vocabulary, if it was interrupted and never completed; else
    None."""
    training = _training_of(model.provenance)
    for start in _starts_of(training):
        if not training.get("interrupted"):
            return None
        training = _training_of(start)
    return training if training.get("interrupted") else None


def check_can_go_on(model: Model, training: Mapping[str, Any], parity: Parity | None) -> None:
    """Raise ValueError if a training that was interrupted (see `cut_short`) cannot continue to the vocabulary that it would
    have made without the interruption."""
    special = sorted(model.special.values())
    # Only the provenance shows if tokens were dropped and the others numbered again.
    if special != list(range(len(model.ordinary), model.size)) or "reduced_from" in model.provenance:
        raise ValueError(
            "the training of start was interrupted, and its ids were changed since: special tokens do not have the last "
            "ids, there are ids without a token, or tokens were dropped, so training cannot continue as it would have. "
            "Continue from the tokenizer as it was, and change its ids after training; or add tokens with Tokenizer.extend"
        )
    if "superwords" in training:
        cause = "the training of start, with superwords, was interrupted"
    elif parity is not None and parity.window is not None:
        cause = "window depends on the last merges, and start does not record which sources these were for"
    elif parity is not None and parity.after is not None and len(model.ordinary) < parity.after:
        n = len(model.ordinary)
        cause = f"start has {n:,} tokens, fewer than after={parity.after:,}, before which parity does not apply"
    else:
        return
    raise ValueError(
        f"{cause}, so training cannot continue as it would have: train from the bytes again, or use Tokenizer.extend"
    )


def _training_of(provenance: Any) -> dict[str, Any]:
    """The entry "training" of a provenance; empty if there is none, or an invalid one in a file."""
    training = provenance.get("training") if isinstance(provenance, dict) else None
    return training if isinstance(training, dict) else {}


def _starts_of(training: Mapping[str, Any]) -> list[Any]:
    """The vocabularies that this training, and those before it, continued from: the latest first."""
    earlier = training.get("earlier_starts")
    return [training["start"], *(earlier if isinstance(earlier, list) else [])] if "start" in training else []


def with_special_tokens_last(model: Model) -> Model:
    """The model with the ids that uninterrupted training gives: special tokens after all others, in their order."""
    special = sorted(model.special, key=model.special.__getitem__)
    ordinary = [token for _, token in sorted(model.ordinary.items())]
    vocab = PackedVocab.of_list([*ordinary, *(token.encode() for token in special)])
    ids = {token: len(ordinary) + i for i, token in enumerate(special)}
    return model.with_tokens(vocab, model.merges, ids)


def extend_by_words(
    model: Model,
    stage: Stage,
    learning: LearningOptions,
    report: Callable[[int], None] | None = None,
    stopping: Stopping | None = None,
    words: WordCounts | None = None,
) -> Model:
    """The model with more merges, learned from words with counts, as `extend` learns them from a source.

    report : called several times a second with the number of tokens learned so far
    words  : the words that the provenance describes, if the stage also has words that only measure compression
    """
    stopping, vocab_size = stopping or Stopping(), stage.n_tokens
    seeded = with_seeds(model, learning.rules.seeds, vocab_size, learning.tie_break)
    if model.extras.byte_fallback:
        stage = stage_of_characters(seeded, stage)
    started = start_from(seeded, stage.words)
    new, merges = _learned(seeded, started, stage, learning, report, stopping)
    result = f"{seeded.size + len(new):,} ids"
    n_wanted = vocab_size - seeded.size
    is_interrupted = learning.warn_if_fewer(stopping, len(new), n_wanted, "new tokens", vocab_size, result)
    training = learning.record(vocab_size, words or stage.words, is_interrupted)
    larger = _with_merges(seeded, new, merges, training, model)
    table = larger.merge_table()
    _warn_of_unreachable(table, new)
    _check_sample(table, stage.words, started, merges)
    return larger


def with_seeds(model: Model, seeds: Sequence[str | bytes], vocab_size: int, tie_break: str) -> Model:
    """The model with merges that make each seed a token, learned from the seeds that are not tokens yet, each counted once.

    Raises ValueError for a seed that the pattern splits, and if `vocab_size` has no room for all new tokens.
    """
    all_seeds = [bytes(seed) for seed in each_to_bytes(seeds, "seed")]
    if not all_seeds:
        return model
    for seed in all_seeds:
        pretokens = model.pattern.split(to_text(seed))
        if pretokens != [to_text(seed)]:
            parts = ", ".join(map(repr, pretokens))
            raise WrongArgument(f"{shown(seed)} cannot be a token, as the pattern splits it: {parts}")
    known = set(model.ordinary.values())
    missing = [seed for seed in all_seeds if seed not in known]
    if not missing:
        return model
    stage = Stage(words_from_dict(dict.fromkeys(missing, 1)), model.size + sum(map(len, missing)))
    if model.extras.byte_fallback:
        starts = stage_of_characters(model, stage).words.starts
        if len(starts) > len(missing) + 1:
            lacking = missing[int(np.flatnonzero(starts[: len(missing) + 1] != stage.words.starts)[0]) - 1]
            raise WrongArgument(f"{shown(lacking)} cannot be a token: it has a character that the vocabulary lacks")
    new, merges = _learned(model, start_from(model, stage.words), stage, LearningOptions(tie_break))
    if len(new) > vocab_size - model.size:
        raise WrongArgument(
            f"the seeds and the tokens that they are made from are {len(new):,} new tokens, and {argument('vocab_size')} "
            f"leaves room for {max(vocab_size - model.size, 0):,}"
        )
    return _with_merges(model, new, merges, {}, model)


def _learned(
    model: Model,
    started: _Started,
    stage: Stage,
    learning: LearningOptions,
    report: Callable[[int], None] | None = None,
    stopping: Stopping | None = None,
) -> tuple[dict[int, bytes], list[IdMerge]]:
    """The new tokens of a stage by id, and the merges that make them. (For seeds, ids may exceed the vocabulary's size.)"""
    start = started.start
    n_start = len(start.tokens)

    def report_new(n_symbols: int) -> None:
        if report is not None:
            report(n_symbols - n_start)

    n_wanted = stage.n_tokens - model.size
    learned = learn_merges(stage.words, n_start + n_wanted, learning, report_new, start, stopping, stage.groups).tolist()
    tokens, ids = list(start.tokens), list(started.ids)
    known = {token: token_id for token, token_id in zip(tokens, ids, strict=True) if token in start.unmade}
    new: dict[int, bytes] = {}
    for left, right in learned:
        token = tokens[left] + tokens[right]
        tokens.append(token)
        ids.append(known.get(token, model.size + len(new)))
        if token not in known:
            new[ids[-1]] = token
    return new, [(ids[left], ids[right], ids[n_start + i]) for i, (left, right) in enumerate(learned)]


class _Started(NamedTuple):
    """A model as the start of further training.

    start   : as `learn_merges` takes it
    ids     : the id of each symbol of `start`
    encoded : the ids of all words, one for each of their symbols
    """

    start: Start
    ids: list[int]
    encoded: NDArray[np.int64]


def start_from(model: Model, words: WordCounts) -> _Started:
    """The start of training that continues from a model, with words that the model has encoded.

    Raises ValueError for a word that the model cannot encode.
    """
    _check_bytes(model, words)
    ordinary = model.ordinary
    first_ids = {ordinary[token_id]: token_id for token_id in sorted(ordinary, reverse=True) if ordinary[token_id]}
    longer = sorted(token_id for token, token_id in first_ids.items() if len(token) > 1)
    # A byte that the vocabulary lacks has no id (-1); no word has it.
    ids = model.byte_ids.tolist() + longer
    tokens = [bytes([byte]) for byte in range(256)] + [ordinary[token_id] for token_id in longer]
    merges = model.merge_table()
    encoded, ends = pretoken_ids(words.text, words.starts, merges)
    symbol_of = np.full(len(model.packed.ids), -1, dtype=np.int32)
    with_id = np.flatnonzero(np.array(ids) >= 0)
    symbol_of[model.packed.numbers_of(np.array(ids)[with_id])] = with_id
    symbols = symbol_of[model.packed.numbers_of(encoded)]
    assert symbols.min(initial=0) >= 0  # kernels use them as indices
    order = np.empty(len(ids), dtype=np.int32)
    order[np.argsort(ids)] = np.arange(len(ids))
    _, token_ends = ids_of_each(tokens, without_whole(merges))
    unmade = frozenset(tokens[number] for number in np.flatnonzero(np.diff(token_ends) != 1).tolist())
    return _Started(Start(tokens, order, symbols, ends, unmade), ids, encoded.astype(np.int64))


def _check_bytes(model: Model, words: WordCounts) -> None:
    """Raise ValueError for a word with a byte that the model has no token for. Only counts and seeds can have such words:
    text is prepared so that it has none."""
    if not model.lacking:
        return
    text = words.text[: words.starts[-1]]
    places = np.flatnonzero(np.isin(text, np.frombuffer(model.lacking, dtype=np.uint8)))
    if len(places):
        place = int(places[0])
        word = int(np.searchsorted(words.starts, place, side="right")) - 1
        raise ValueError(
            f"{shown(text[words.starts[word] : words.starts[word + 1]].tobytes())} cannot be encoded, as the tokenizer has "
            f"no token for the byte {text[place]:#04x}: give words, or seeds, that are valid UTF-8"
        )


def _with_merges(
    model: Model, new: dict[int, bytes], merges: list[IdMerge], training: dict[str, Any], first: Model
) -> Model:
    """The model with new tokens and the merges that make them (if tokens merge by rank, their ids are the ranks).

    first : the model that the provenance names as the one that was extended
    """
    listed = None
    if model.merge_ids is not None:
        listed = np.concatenate([model.merge_ids.reshape(-1, 3), np.array(merges, dtype=np.int32).reshape(-1, 3)])
    before = first.provenance
    start: dict[str, Any] = {"fingerprint": first.fingerprint, "vocab_size": first.size}
    former = _training_of(before)
    if former:
        start["training"] = {name: value for name, value in former.items() if name not in _STARTS}
    # A flat list: if each start had its own start in it, a file of a vocabulary that was extended often would be nested too
    # deeply.
    earlier = _starts_of(former)
    origin = {**before, "training": {**training, "start": start, **({"earlier_starts": earlier} if earlier else {})}}
    return model.with_tokens({**model.vocab, **new}, listed, model.special, origin)


def _warn_of_unreachable(table: Merges, new: dict[int, bytes]) -> None:
    """Warn of new tokens whose own bytes do not encode to them, as older merges make other tokens of these bytes."""
    lost = unmerged_ids(new, table).tolist()
    if lost:
        examples = first_few(lost, show=lambda token_id: f"{shown(new[token_id])} (id {token_id})")
        warn_user(
            f"{len(lost):,} of the {len(new):,} new tokens cannot be reached, as older merges make other tokens of their "
            f"bytes: {examples}"
        )


def _check_sample(table: Merges, words: WordCounts, started: _Started, merges: list[IdMerge]) -> None:
    """Warn if words get other ids than in training, where the new merges were applied to the ids of the old tokenizer.

    This also shows if a word changes that has none of the new tokens.
    """
    short = np.flatnonzero(np.diff(words.starts) <= _LONGEST_CHECKED)
    chosen = short[:: max(-(-len(short) // _MOST_CHECKED), 1)].tolist()
    texts = [words.text[words.starts[word] : words.starts[word + 1]].tobytes() for word in chosen]
    ids, ends = ids_of_each(texts, table)
    ranks = {(left, right): rank for rank, (left, right, _) in reversed(list(enumerate(merges)))}
    before = started.start.symbol_starts
    differing = []
    for number, word in enumerate(chosen):
        trained = started.encoded[before[word] : before[word + 1]].tolist()
        if ids[ends[number] : ends[number + 1]].tolist() != _merged(trained, merges, ranks):
            differing.append(texts[number])
    if differing:
        warn_user(
            f"{len(differing):,} of {len(chosen):,} words of the source get other ids than training gave them, because "
            f"this vocabulary has tokens that its merges do not make: {first_few(differing)}"
        )


def _merged(ids: list[int], merges: list[IdMerge], ranks: dict[tuple[int, int], int]) -> list[int]:
    """Ids with merges applied: always the pair with the lowest rank, and of equal pairs the leftmost.

    ranks : the rank of each pair, an index into `merges`
    """
    none = len(merges)
    waiting = [ranks.get(pair, none) for pair in itertools.pairwise(ids)]  # the rank of each pair
    while (rank := min(waiting, default=none)) < none:
        at = waiting.index(rank)
        ids[at : at + 2] = [merges[rank][2]]
        del waiting[at]
        for place in range(max(at - 1, 0), min(at + 1, len(waiting))):
            waiting[place] = ranks.get((ids[place], ids[place + 1]), none)
    return ids


def tie_break_of(model: Model) -> str:
    """The tie rule by which a model was trained, if its provenance says so; else the default."""
    rule = _training_of(model.provenance).get("tie_break")
    return rule if rule in TIE_BREAKS else "bytes"
