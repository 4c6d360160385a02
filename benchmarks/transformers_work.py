"""Calls of a tokenizer of transformers: NbbpeTokenizerFast and PreTrainedTokenizerFast take turns in one process.

Both read one folder, with GPT-2's vocabulary. Batches are made of different texts; all of them have been encoded once
before, to compare the results.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.corpora import TRIAL
from benchmarks.digests import bytes_digest
from benchmarks.encoding_work import Nbbpe
from benchmarks.short_work import take_turns
from benchmarks.training_work import SEPARATOR

N_BATCHES = 4
N_TEXTS = 50 if TRIAL else 500  # of a batch
N_CHARACTERS = 2000  # of a text
RUNS = 5 if TRIAL else 15
OURS, THEIRS = "NbbpeTokenizerFast", "PreTrainedTokenizerFast"

Batch = list[str]
Call = Callable[[Any, Batch], Any]
CASES: dict[str, Call] = {
    "batch": lambda tokenizer, batch: tokenizer(batch),
    "padded": lambda tokenizer, batch: tokenizer(batch, padding=True, truncation=True, max_length=256, return_tensors="np"),
    "pairs": lambda tokenizer, batch: tokenizer(batch[::2], batch[1::2]),
    "rows": lambda tokenizer, batch: tokenizer(
        batch, truncation=True, max_length=128, return_overflowing_tokens=True, return_length=True
    ),
    "words": lambda tokenizer, batch: _with_words(tokenizer([text.split() for text in batch], is_split_into_words=True)),
    "whole": lambda tokenizer, batch: _with_words(tokenizer(batch)),
    "offsets": lambda tokenizer, batch: tokenizer(batch, return_offsets_mapping=True),
    "decode": lambda tokenizer, rows: tokenizer.batch_decode(rows, skip_special_tokens=True),
    "tokenize": lambda tokenizer, batch: tokenizer.tokenize(batch[0]),
    "short": lambda tokenizer, batch: tokenizer(batch[0][:20]),
}


def measure(case: str, path: str, vocabs: Path, folder: str) -> dict[str, dict[str, Any]]:
    """Facts of each class by its name; `seconds` are those of one call. AssertionError where results differ."""
    ours = Nbbpe(folder)
    ours.load_vocabulary(vocabs)
    saved = str(Path(folder) / "for-transformers")
    ours.tokenizer.save_pretrained(saved, eos_token=SEPARATOR, pad_token=SEPARATOR)
    from transformers import PreTrainedTokenizerFast

    from nbbpe.hf import NbbpeTokenizerFast

    classes = {OURS: ("nbbpe", NbbpeTokenizerFast), THEIRS: ("transformers", PreTrainedTokenizerFast)}
    tokenizers = {label: (library, kind.from_pretrained(saved)) for label, (library, kind) in classes.items()}
    with open(path, encoding="utf-8") as file:
        text = file.read(N_BATCHES * N_TEXTS * N_CHARACTERS).replace(SEPARATOR, "\n")
    starts = range(0, len(text), N_CHARACTERS)
    texts = [text[start : start + N_CHARACTERS] for start in starts]
    batches: list[Any] = [texts[number::N_BATCHES] for number in range(N_BATCHES)]
    if case == "decode":
        batches = [ours.tokenizer.encode_batch(batch) for batch in batches]
        tokenizers[OURS][1]("kernels are in use, as in most processes")
    call = CASES[case]
    facts = {}
    for label, (library, tokenizer) in tokenizers.items():
        facts[label] = {"library": library, "digest": bytes_digest(_spelled(call(tokenizer, batch)) for batch in batches)}
    assert len({of["digest"] for of in facts.values()}) == 1, f"results differ: {facts}"
    calls = {
        label: lambda batch, tokenizer=tokenizer: call(tokenizer, batch) for label, (_, tokenizer) in tokenizers.items()
    }
    for label, seconds in take_turns(calls, batches, RUNS).items():
        low, _, high = quantiles(seconds, n=4)
        facts[label] |= {"seconds": median(seconds), "quartiles": [low, high]}
    return facts


def _with_words(result: Any) -> dict[str, Any]:
    """The columns of a result, and the number of the word of each id: for labels of words, and masks of whole words."""
    return {**result, "word_ids": [result.word_ids(i) for i in range(len(result["input_ids"]))]}


def _spelled(result: Any) -> bytes:
    """A result as JSON, with arrays as lists."""
    return json.dumps(dict(result) if hasattr(result, "keys") else result, default=lambda array: array.tolist()).encode()
