"""The cost of shaping a vocabulary, compared with training and encoding.

    python benchmarks/shaping.py TEXT [ROUNDS]

One worker each; processor time and wall time, medians of rounds in which all tasks take turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nbbpe


def quarters(text: str, folder: Path) -> dict[str, Path]:
    """Four sources of about a quarter of a text each."""
    data = Path(text).read_bytes()
    ends = [0, *(data.find(b"\n", len(data) * part // 4) + 1 for part in (1, 2, 3)), len(data)]
    sources = {}
    for number in range(4):
        sources[f"{number}"] = folder / f"{number}.txt"
        sources[f"{number}"].write_bytes(data[ends[number] : ends[number + 1]])
    return sources


def compare(text: str, n_rounds: int, folder: Path) -> None:
    """Print the times of all tasks; files are written to the folder."""
    start = nbbpe.train(text, 32_000, ["<|endoftext|>"], workers=1)
    rules = nbbpe.TokenRules(max_letters=12, max_numbers=3, one_script=True, whole_characters=True)
    forbidden = nbbpe.TokenRules(forbidden=r"^\s+\S\s")
    sources = quarters(text, folder)
    counts = nbbpe.count_words(text, special_tokens=["<|endoftext|>"], workers=1)
    sample = Path(text).read_text(encoding="utf-8", errors="ignore")[:10_000_000]
    texts = [sample[i : i + 2000] for i in range(0, len(sample), 2000)]
    tasks: dict[str, Callable[[], object]] = {
        "train 32,000 tokens": lambda: nbbpe.train(text, 32_000, ["<|endoftext|>"], workers=1),
        "extend by 1,000 tokens": lambda: start.extend(text, start.vocab_size + 1000, workers=1),
        "train 33,000 tokens": lambda: nbbpe.train(text, 33_000, ["<|endoftext|>"], workers=1),
        "truncate to 16,000": lambda: start.truncate(16_000),
        "encode_file": lambda: start.encode_file(text, folder / "ids.bin", workers=1),
        "frequencies": lambda: start.frequencies(text, workers=1),
        "prune to 16,000": lambda: start.prune(text, 16_000, workers=1),
        "train with rules": lambda: nbbpe.train(text, 32_000, workers=1, rules=rules),
        "train with forbidden": lambda: nbbpe.train(text, 32_000, workers=1, rules=forbidden),
        "train superwords": lambda: nbbpe.train(text, 32_000, workers=1, superwords=nbbpe.Superwords(after=16_000)),
        "train a mixture": lambda: nbbpe.train(nbbpe.Mixture(sources), 32_000, workers=1),
        "train for parity": lambda: nbbpe.train(nbbpe.Mixture(sources, parity=True), 32_000, workers=1),
        "count words": lambda: nbbpe.count_words(text, special_tokens=["<|endoftext|>"], workers=1),
        "train from counts": lambda: nbbpe.train(counts=counts, vocab_size=32_000),
        "encode_batch, 10 MB": lambda: start.encode_batch_flat(texts, num_threads=1),
        "with dropout": lambda: start.encode_batch_flat(texts, num_threads=1, dropout=0.1),
        "report": lambda: start.report(folder / "report.html", text, workers=1),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for round_number in range(n_rounds + 1):
        for name, task in tasks.items():
            wall, cpu = time.perf_counter(), time.process_time()
            task()
            if round_number:  # the first one compiles and loads
                seconds[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    size = Path(text).stat().st_size / 1e6
    print(f"{size:.1f} MB, {n_rounds} rounds, seconds of the processor and of the clock")
    for name, measured in seconds.items():
        print(
            f"{name:24} {statistics.median(c for c, _ in measured):8.3f} {statistics.median(w for _, w in measured):8.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(options.text, options.rounds, Path(folder))


if __name__ == "__main__":
    main()
