"""Trains from a generated text of many distinct words within a limit of memory, and without one, and compares the two.

    python benchmarks/memory_limit.py --words 50_000_000 --limit 2GB
    python benchmarks/memory_limit.py --words 8_000_000 --limit 500MB --unlimited

The text has each word once, and as many words again that are drawn by Zipf's law: so most words are rare, and each part of
the text has words that no other part has. Each run is a separate process; its peak memory is measured together with that of
its workers (see peak_memory.py).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.corpora import made  # noqa: E402
from benchmarks.peak_memory import PeakMemory  # noqa: E402

LETTERS = 6  # of a word: 26**6 words
STEP = 1_000_003  # a prime: multiples of it visit every word once, not in sorted order
CHUNK = 1 << 20  # words made at a time
SCRAMBLE = 198_491_317  # odd and not a multiple of 13


def spelled(ids: np.ndarray) -> bytes:
    """Words of LETTERS letters, each after a space, by their numbers."""
    letters = np.empty((len(ids), LETTERS + 1), dtype=np.uint8)
    letters[:, 0] = ord(" ")
    rest = ids * SCRAMBLE % 26**LETTERS
    for i in range(1, LETTERS + 1):
        letters[:, i] = ord("a") + rest % 26
        rest //= 26
    return letters.tobytes()


def write_text(target: Path, n_words: int) -> None:
    """Write a text of `n_words` distinct words and twice as many in all."""
    rng = np.random.default_rng(0)
    with open(target, "wb") as file:
        for start in range(0, n_words, CHUNK):
            once = np.arange(start, min(start + CHUNK, n_words), dtype=np.int64)
            # Zipf's law with exponent 1, cut off: the logarithm of a rank is uniform.
            often = np.exp(rng.random(len(once)) * np.log(n_words)).astype(np.int64) % n_words
            ids = np.stack([once * STEP % n_words, often], axis=1).reshape(-1)
            file.write(spelled(ids))


def run(path: Path, vocab_size: int, limit: str | None, min_word_count: int | str | None) -> dict[str, Any]:
    """Train in this process; returns time, memory and a digest of the merges."""
    import hashlib
    import os
    import warnings

    import nbbpe

    warnings.simplefilter("ignore")
    nbbpe.warmup()
    with PeakMemory() as memory:
        began, before = time.perf_counter(), os.times()
        found: dict[str, Any] = {}
        try:
            tok = nbbpe.train(path, vocab_size, memory_limit=limit, min_word_count=min_word_count, progress=False)
        except MemoryError as error:
            found["error"] = str(error)
        else:
            found["merges"] = hashlib.sha256(repr(tok.merges).encode()).hexdigest()[:16]
            found["training"] = tok.provenance["training"]
        seconds, after = time.perf_counter() - began, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return {**found, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "peak_bytes": memory.peak_bytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=50_000_000)
    parser.add_argument("--limit", default="2GB")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--unlimited", action="store_true", help="also train without a limit, and compare")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    path = made(f"distinct-words-{options.words}.txt", lambda target: write_text(target, options.words))
    if options.one is not None:
        print(json.dumps(run(path, options.vocab_size, *json.loads(options.one))))
        return
    print(f"{options.words:,} distinct words, {path.stat().st_size / 1e6:,.0f} MB of text")

    def in_a_process(limit: str | None, min_word_count: int | str | None) -> dict[str, Any]:
        more = [f"--words={options.words}", f"--vocab-size={options.vocab_size}"]
        command = [sys.executable, __file__, *more, "--one", json.dumps([limit, min_word_count])]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        name = f"limit {limit}, min_word_count {min_word_count}"
        print(
            f"{name}: {found['seconds']} s, {found['cpu_seconds']} s of processors, {found['peak_bytes'] / 1e6:,.0f} MB; "
            f"{found.get('error') or found['training']}",
            flush=True,
        )
        return found

    in_a_process(options.limit, None)
    limited = in_a_process(options.limit, "auto")
    if options.unlimited:
        threshold = limited["training"].get("left_out", {}).get("min_word_count")
        whole = in_a_process("1TB", threshold)
        assert whole["merges"] == limited["merges"], "the merges differ"
        print(
            f"equal merges ({whole['merges']}); with the limit {limited['seconds'] / whole['seconds']:.2f} times the time, "
            f"{limited['cpu_seconds'] / whole['cpu_seconds']:.2f} times that of processors"
        )


if __name__ == "__main__":
    main()
