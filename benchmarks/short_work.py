"""Calls with short texts: all entrants take turns in one process, many times, with GPT-2's vocabulary.

Such short calls are timed in runs of several, on different texts of the same kind; an entrant's time is the median over its
runs. All texts have been encoded once before, to compare the ids, so pieces are cached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.corpora import TRIAL
from benchmarks.digests import ids_digest
from benchmarks.encoding_work import Nbbpe, Tiktoken
from benchmarks.training_work import SEPARATOR

N_TEXTS = 64
RUN_SECONDS = 0.001  # approximate length of a run of calls
RUNS = 20 if TRIAL else 200
Texts = Sequence[Any]  # str, or lists of str
Calls = dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]  # label -> library, call, result to ids


def _one(text: str) -> Texts:
    return ["hello world"]


def _messages(text: str) -> Texts:
    return [text[start : start + 2000] for start in range(0, 2000 * N_TEXTS, 2000)]


def _batches(text: str) -> Texts:
    lines = [line for line in text.splitlines() if line.strip()]
    return [lines[start : start + 100] for start in range(0, 100 * N_TEXTS, 100)]


def _chats(text: str) -> Texts:
    return [SEPARATOR.join([text[start : start + 20], text[start + 20 : start + 200], ""]) for start in range(N_TEXTS)]


def measure(case: str, path: str, vocabs: Path, folder: str) -> dict[str, dict[str, Any]]:
    """Facts of each entrant by its label; `seconds` is the time of one call. Raises AssertionError if ids differ."""
    texts_of, calls_of = CASES[case]
    ours, theirs = Nbbpe(folder), Tiktoken(folder)
    ours.load_vocabulary(vocabs)
    theirs.look_up_regexes()
    theirs.load_vocabulary(vocabs)
    with open(path, encoding="utf-8") as file:
        texts = texts_of(file.read(400 * 100 * N_TEXTS).replace(SEPARATOR, "\n"))
    n_bytes = _n_bytes(texts)
    calls = calls_of(ours.tokenizer, theirs.tokenizer)
    if case == "decode":
        texts = [ours.tokenizer.encode(text) for text in texts]  # this also loads kernels, as in most processes
    facts = {}
    for label, (library, call, ids_of) in calls.items():
        digest = ids_digest((ids_of(call(text)) for text in texts), ours.vocabulary.separator_id)
        facts[label] = {"library": library, "n_ids": digest["n_ids"]}
        if label != COUNT:
            facts[label]["digest"] = digest["digest"]
    for name in ("n_ids", "digest"):
        assert len({of[name] for of in facts.values() if name in of}) == 1, f"{name} differs: {facts}"
    for label, seconds in take_turns({label: call for label, (_, call, _) in calls.items()}, texts, RUNS).items():
        low, _, high = quantiles(seconds, n=4)
        facts[label] |= {"seconds": median(seconds), "quartiles": [low, high], "n_bytes": n_bytes}
    return facts


COUNT = "nbbpe count"


def _text_calls(ours: Any, theirs: Any) -> Calls:
    return {
        "nbbpe encode_array": ("nbbpe", ours.encode_array, list),
        "nbbpe encode": ("nbbpe", ours.encode, list),
        "nbbpe encode_ordinary": ("nbbpe", ours.encode_ordinary, list),
        COUNT: ("nbbpe", ours.count, lambda n: [0] * n),
        "tiktoken encode": ("tiktoken", theirs.encode, list),
        "tiktoken encode_ordinary": ("tiktoken", theirs.encode_ordinary, list),
    }


def _chat_calls(ours: Any, theirs: Any) -> Calls:
    return {
        "nbbpe encode_array": ("nbbpe", ours.encode_array, list),
        "nbbpe encode": ("nbbpe", ours.encode, list),
        "tiktoken encode": ("tiktoken", lambda text: theirs.encode(text, allowed_special="all"), list),
    }


def _batch_calls(ours: Any, theirs: Any) -> Calls:
    encode_ordinary = theirs.encode_ordinary
    return {
        "nbbpe encode_batch": ("nbbpe", ours.encode_batch, _joined),
        "nbbpe encode_batch_flat": ("nbbpe", ours.encode_batch_flat, lambda flat: _joined(_rows(*flat))),
        "tiktoken encode_ordinary_batch": ("tiktoken", theirs.encode_ordinary_batch, _joined),
        "tiktoken encode_ordinary, one by one": ("tiktoken", lambda batch: [*map(encode_ordinary, batch)], _joined),
    }


def _decode_calls(ours: Any, theirs: Any) -> Calls:
    return {
        "nbbpe decode": ("nbbpe", ours.decode, _bytes_of),
        "tiktoken decode": ("tiktoken", theirs.decode, _bytes_of),
    }


# For each case: a function that makes its texts from a longer one, and one that makes its calls from both tokenizers.
CASES: dict[str, tuple[Callable[[str], Texts], Callable[[Any, Any], Calls]]] = {
    "hello": (_one, _text_calls),
    "message": (_messages, _text_calls),
    "chat": (_chats, _chat_calls),
    "batch": (_batches, _batch_calls),
    "decode": (_messages, _decode_calls),
}


def _bytes_of(text: str) -> list[int]:
    """The bytes of a decoded text, in place of ids in the comparison."""
    return list(text.encode())


def _rows(ids: Any, starts: Any) -> list[Any]:
    return [ids[start:end] for start, end in pairwise(starts.tolist())]


def _joined(rows: Iterable[Iterable[int]]) -> list[int]:
    """All ids, with the length of each row before it, so that the lengths are compared, too."""
    return [number for row in rows for number in (len(row), *row)]


def _n_bytes(texts: Texts) -> float:
    """The mean size of a text, or of the texts of a batch together."""
    return sum(len("".join(text).encode()) for text in texts) / len(texts)


def take_turns(calls: dict[str, Callable[[Any], Any]], texts: Texts, runs: int) -> dict[str, list[float]]:
    """Seconds for one call, so many times for each label."""
    seconds: dict[str, list[float]] = {label: [] for label in calls}
    n_calls = {label: max(1, int(RUN_SECONDS / _run(call, texts, 0, 16))) for label, call in calls.items()}
    for number in range(runs):
        for label, call in calls.items():
            seconds[label].append(_run(call, texts, number, n_calls[label]))
    return seconds


def _run(call: Callable[[Any], Any], texts: Texts, number: int, n_calls: int) -> float:
    """Seconds for one call, averaged over `n_calls` calls on texts in turn."""
    chosen = [texts[(number + i) % len(texts)] for i in range(n_calls)]
    began = time.perf_counter()
    for text in chosen:
        call(text)
    return (time.perf_counter() - began) / n_calls
