"""How the number of distinct words grows with the text, and what that means for 10 TB on 100 machines.

`python -m benchmarks.word_growth` counts the words of growing parts of the shared texts, fits Heaps' law (distinct words =
k * bytes^b) to the smaller parts, checks how well it predicts the larger ones, and extrapolates to 10 TB, with the rates
and the memory that it measures on this machine. It prints Markdown, as in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nbbpe
from benchmarks.corpora import text_folder
from benchmarks.peak_memory import PeakMemory
from benchmarks.synthetic_words import make_words
from nbbpe.counting.counters import WordRules
from nbbpe.counting.parallel_counting import count_files
from nbbpe.counting.word_counts import WordCounts
from nbbpe.counting.word_table import WordTable
from nbbpe.kernels.training.linked_words import MOST_CELLS
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import Documents
from nbbpe.training.merges import learn_merges

TEXTS = {
    "English books": ["books_en.txt"],
    "German novels": ["novels_de.txt"],
    "program code": ["code_rails.txt"],
    "all texts, mixed": [
        *("books_en.txt", "novels_de.txt", "code_rails.txt", "cjk.txt", "bible_multilingual.txt", "scripts_extra.txt")
    ],
}
SMALLEST = 1 << 18  # bytes of the first point
BLOCK = 1 << 16  # bytes of a text that are taken at a time if texts are mixed
N_SHARDS = 16
MACHINES, CORES = 100, 32
TB = 10**12
TOTAL = 10 * TB
READING = 1e9  # bytes a second that a machine reads or sends; assumed, not measured
ROW = 8 + 8  # bytes of a count, and of the offset of its word, in a table of counts
N_WORDS = (250_000, 1_000_000)  # numbers of words for which memory and time of the merge loop are measured
VOCAB_SIZE = 32_000


class Point(NamedTuple):
    """The size of a text, its distinct words, their bytes, and how many of them occur once."""

    n_bytes: int
    n_words: int
    n_word_bytes: int
    n_once: int


class Law(NamedTuple):
    """Distinct words = factor * bytes ** exponent."""

    factor: float
    exponent: float

    def __call__(self, n_bytes: float) -> float:
        return self.factor * n_bytes**self.exponent


def count(data: bytes) -> WordCounts:
    """The words of a text under GPT-2's pattern."""
    return count_files([Documents([data])], WordRules(get_pattern("gpt2")), 1, lambda n: None)


def read(names: list[str]) -> bytes:
    """A mixture of texts, block by block in turn, so that each part of the result has blocks of all texts."""
    texts = [(text_folder() / name).read_bytes() for name in names]
    largest = max(map(len, texts))
    blocks = [
        (place / len(text) * largest, text[place : place + BLOCK]) for text in texts for place in range(0, len(text), BLOCK)
    ]
    return b"".join(block for _, block in sorted(blocks, key=lambda pair: pair[0]))


def growth(data: bytes) -> list[Point]:
    """The distinct words of the first part of a text, of twice that part, and so on up to the whole text."""
    points = []
    for halvings in reversed(range((len(data) // SMALLEST).bit_length())):
        size = len(data) >> halvings
        words = count(data[:size])
        points.append(Point(size, len(words.counts), int(words.starts[-1]), int((words.counts == 1).sum())))
    return points


def fitted(points: list[Point]) -> Law:
    """Heaps' law, fitted by least squares of the logarithms."""
    exponent, log_factor = np.polyfit(np.log([p.n_bytes for p in points]), np.log([p.n_words for p in points]), 1)
    return Law(float(np.exp(log_factor)), float(exponent))


def shard_factor(data: bytes) -> float:
    """How many times as many words the tables of 16 shards have together as the table of the whole text."""
    size = -(-len(data) // N_SHARDS)
    shards = [count(data[start : start + size]) for start in range(0, len(data), size)]
    table = WordTable()
    for shard in shards:
        table.add(shard)
    return sum(len(shard.counts) for shard in shards) / len(table.take().counts)


class Rates(NamedTuple):
    """For one core: bytes counted and encoded in a second, words added to a table in a second."""

    counting: float
    encoding: float
    adding: float
    merge_bytes: float  # of memory for each byte of distinct words, while merges are learned
    merge_seconds: float  # for each byte of distinct words


def best(work, n: int = 5) -> float:
    """The least CPU time of several runs, as this machine may be busy with other work."""
    seconds = []
    for _ in range(n):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def merge_memory(words: WordCounts) -> float:
    """Bytes of memory for each byte of distinct words, while merges are learned from them."""
    with PeakMemory(interval=0.005) as before:
        pass
    with PeakMemory(interval=0.005) as during:  # not tracemalloc, which does not see what large pages hold
        learn_merges(words, VOCAB_SIZE)
    return (during.peak_bytes - before.peak_bytes) / int(words.starts[-1])


def rates(folder: Path) -> Rates:
    """The rates, measured on English books, and on synthetic words for the merge loop."""
    path = text_folder() / "books_en.txt"
    data = path.read_bytes()
    tokenizer = nbbpe.train(path, VOCAB_SIZE, workers=1)
    half = len(data) // 2
    left, right = count(data[:half]), count(data[half:])
    seconds_of_adding = []
    for _ in range(5):
        table = WordTable()
        table.add(left)
        seconds_of_adding.append(best(lambda table=table: table.add(right), 1))
    per_byte, seconds = [], []
    for n_words in N_WORDS:
        words = WordCounts(*make_words(n_words))
        per_byte.append(merge_memory(words))
        seconds.append(best(lambda words=words: learn_merges(words, VOCAB_SIZE), 2) / int(words.starts[-1]))
    return Rates(
        len(data) / best(lambda: count(data)),
        len(data) / best(lambda: tokenizer.encode_file(path, folder / "ids.bin", 1), 3),
        len(right.counts) / min(seconds_of_adding),
        max(per_byte),
        max(seconds),
    )


def show_growth() -> dict[str, tuple[Law, Point]]:
    """Print how words grow in each text, and what its first quarter predicts; returns the laws and the last points."""
    laws = {}
    print("| text | bytes | distinct words | predicted from a quarter | once | k | b | tables of 16 shards | by the law |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, names in TEXTS.items():
        data = read(names)
        points = growth(data)
        law, last = fitted(points), points[-1]
        early = fitted([point for point in points if point.n_bytes <= last.n_bytes // 4])
        laws[title] = law, last
        print(
            f"| {title} | {last.n_bytes / 1e6:.1f} MB | {last.n_words:,} | {early(last.n_bytes) / last.n_words - 1:+.0%} | "
            f"{last.n_once / last.n_words:.0%} | {law.factor:.2f} | {law.exponent:.3f} | {shard_factor(data):.2f} times | "
            f"{N_SHARDS ** (1 - law.exponent):.2f} times |"
        )
    return laws


def show_plan(laws: dict[str, tuple[Law, Point]], rate: Rates) -> None:
    """Print the figures for 10 TB under the law of each text."""
    shard = TOTAL / MACHINES
    rows: dict[str, list[str]] = {}

    def row(title: str, *values: str) -> None:
        rows.setdefault(title, []).extend(values)

    for law, last in laws.values():
        length = last.n_word_bytes / last.n_words
        of_machine, of_all = law(shard), law(TOTAL)
        table, word_bytes = of_machine * (length + ROW), of_all * length
        limit = (MOST_CELLS / (length + 1) / law.factor) ** (1 / law.exponent)
        row("distinct words of one machine", f"{of_machine / 1e6:,.0f} million")
        row("its table of counts", f"{table / 1e9:.1f} GB")
        row("shuffled by all machines", f"{MACHINES * table / 1e9:,.0f} GB")
        row("adding up, each machine a hundredth of the words", f"{of_machine / rate.adding:.1f} s")
        row("distinct words of all", f"{of_all / 1e6:,.0f} million")
        row("the table for the trainer", f"{of_all * (length + ROW) / 1e9:.1f} GB")
        row("their bytes", f"{word_bytes / 1e9:.1f} GB")
        row("the trainer's 2^32 cells, a byte or a word each, are full at", f"{limit / TB:,.1f} TB")
        row("memory of the merge loop", f"{word_bytes * rate.merge_bytes / 1e9:,.0f} GB")
        row("time of the merge loop", f"{word_bytes * rate.merge_seconds / 60:,.1f} min")
    print("\n| | " + " | ".join(laws) + " |\n| --- |" + " --- |" * len(laws))
    for title, values in rows.items():
        print(f"| {title} | " + " | ".join(values) + " |")
    counted, encoded = shard / CORES / rate.counting, shard / CORES / rate.encoding
    print(
        f"\nOf one core, in CPU time: counting {rate.counting / 1e6:.0f} MB/s, encoding {rate.encoding / 1e6:.0f} MB/s, "
        f"adding {rate.adding / 1e6:.0f} million words a second. So {shard / 1e9:.0f} GB take {CORES} cores {counted:.0f} "
        f"s to count and {encoded:.0f} s to encode, and {shard / READING:.0f} s to read at "
        f"{READING / 1e9:.0f} GB/s. The merge loop takes {rate.merge_bytes:.0f} bytes of memory and "
        f"{rate.merge_seconds * 1e9:.0f} ns for each byte of distinct words, for {VOCAB_SIZE:,} tokens."
    )


def main() -> None:
    """Print both tables."""
    argparse.ArgumentParser(prog="python -m benchmarks.word_growth", description=__doc__).parse_args()
    laws = show_growth()
    with tempfile.TemporaryDirectory() as folder:
        show_plan(laws, rates(Path(folder)))


if __name__ == "__main__":
    main()
