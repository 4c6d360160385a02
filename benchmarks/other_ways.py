"""The cost of other ways to encode: with dropout, in the user's compiled code, and in transformers.

    python benchmarks/other_ways.py GPT2_VOCAB_JSON GPT2_MERGES_TXT TEXT...

Each way takes turns with `encode_array`, and with another library that has the same way, on a megabyte of each text.
Printed are rates by the median processor time of all threads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numba
import numpy as np

import nbbpe
import nbbpe.njit

SHARE = 0.1
SIZE = 1_000_000  # characters of a text
DOCUMENT = 2000  # characters
ROUNDS = 7


@numba.njit
def encode_all(tables: Any, state: Any, text: Any, out: Any) -> Any:
    """One document, in compiled code."""
    return nbbpe.njit.encode_into(tables, state, text, 0, len(text), out)


def medians(tasks: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median processor time of each task, in seconds; tasks take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(ROUNDS + 1):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            if number:  # the first one compiles and loads
                seconds[name].append(time.process_time() - began)
    return {name: statistics.median(each) for name, each in seconds.items()}


def with_dropout(tokenizer: nbbpe.Tokenizer) -> Any:
    """A tokenizers.Tokenizer with dropout, or None."""
    try:
        import tokenizers
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        tokenizer.to_hf(path)
        document = json.loads(path.read_text(encoding="utf-8"))
        document["model"]["dropout"] = SHARE
        path.write_text(json.dumps(document), encoding="utf-8")
        return tokenizers.Tokenizer.from_file(str(path))


def in_transformers(tokenizer: nbbpe.Tokenizer) -> dict[str, Any]:
    """Our class and theirs, or nothing."""
    try:
        import transformers

        from nbbpe.hf import NbbpeTokenizerFast
    except ImportError:
        return {}
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        token = next(iter(tokenizer.special_tokens))
        tokenizer.save_pretrained(folder, eos_token=token, pad_token=token)
        classes = {"nbbpe.hf": NbbpeTokenizerFast, "transformers": transformers.PreTrainedTokenizerFast}
        return {name: made.from_pretrained(folder) for name, made in classes.items()}


def tasks_of(tokenizer: nbbpe.Tokenizer, text: str) -> dict[str, Callable[[], object]]:
    """Each way to encode a text, by name."""
    documents = [text[start : start + DOCUMENT] for start in range(0, len(text), DOCUMENT)]
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    out = np.empty(len(data), dtype=np.int64)
    tables = tokenizer.njit_tables()
    state = nbbpe.njit.new_state(tables, len(data))
    fresh = [nbbpe.Tokenizer._of(tokenizer._model) for _ in range(ROUNDS + 1)]
    for each in fresh:
        each.encode("tables are made and kernels loaded")
    padded = {"padding": True, "truncation": True, "max_length": 256, "return_tensors": "np"}
    tasks: dict[str, Callable[[], object]] = {
        "encode_array, new text": lambda: fresh.pop().encode_array(text),
        "encode_array, later": lambda: tokenizer.encode_array(text),
        "njit": lambda: encode_all(tables, state, data, out),
        "dropout": lambda: tokenizer.encode_batch_flat(documents, dropout=SHARE, seed=1, num_threads=1),
    }
    theirs = with_dropout(tokenizer)
    if theirs is not None:
        tasks["tokenizers, dropout"] = lambda: theirs.encode_batch_fast(documents)
    for name, each in in_transformers(tokenizer).items():
        tasks[name] = lambda each=each: each(documents)
        tasks[f"{name}, padded arrays"] = lambda each=each: each(documents, **padded)
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocab")
    parser.add_argument("merges")
    parser.add_argument("texts", type=Path, nargs="+")
    options = parser.parse_args()
    tokenizer = nbbpe.Tokenizer.from_files(options.vocab, options.merges, ["<|endoftext|>"])
    for path in options.texts:
        text = path.read_text(encoding="utf-8")[:SIZE]
        for name, seconds in medians(tasks_of(tokenizer, text)).items():
            print(f"{path.name:24} {name:28} {len(text.encode()) / seconds / 1e6:8.1f} MB/s")


if __name__ == "__main__":
    main()
