"""Training directly, from a file of counts, and with Dask, in turns; prints times, and ratios to the first way.

    python benchmarks/ways_to_count.py --rounds 9

The text is eight copies of the shared English books (318 MB), or that of `--text`. Each way has two worker processes; those
of Dask are started before. In each round, wall time and the processor time of all processes are measured; other work on the
machine falsifies the wall time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import nbbpe  # noqa: E402
from benchmarks.corpora import books_en_big  # noqa: E402


def processor_time() -> float:
    """Processor seconds of this process and of its children, ended or not."""
    import psutil

    me = psutil.Process()
    living = sum(sum(child.cpu_times()[:2]) for child in me.children(recursive=True))
    return sum(me.cpu_times()[:4]) + living


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        text = options.text or books_en_big().path
        learned = compare(text, Path(folder) / "counts.parquet", options.vocab_size, options.rounds, client)
        assert learned == 1, "the ways have learned different merges"


def compare(text: Path, counts: Path, vocab_size: int, n_rounds: int, client: object) -> int:
    """Print a table of medians and minima over all rounds; returns how many different tokenizers were learned."""

    def through_counts() -> nbbpe.Tokenizer:
        nbbpe.count_words(text, workers=2, progress=False, output=counts)
        return nbbpe.train(counts=counts, vocab_size=vocab_size, progress=False)

    ways: dict[str, Callable[[], nbbpe.Tokenizer]] = {
        "directly": lambda: nbbpe.train(text, vocab_size, workers=2, progress=False),
        "from a file of counts": through_counts,
        "with Dask": lambda: nbbpe.train(text, vocab_size, executor=client.get_executor(), progress=False),
    }
    merges = set()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(n_rounds + 1):
        for name, way in ways.items():
            before, began = processor_time(), time.perf_counter()
            merges.add(tuple(way().merges))
            if number:  # kernels are loaded in the first round
                times[name].append((time.perf_counter() - began, processor_time() - before))
    base = times["directly"]
    print(
        "| way | wall | ratio, median and least | processors | ratio, median and least |\n| --- | --- | --- | --- | --- |"
    )
    for name, taken in times.items():
        cells = [name]
        for i in 0, 1:
            own, theirs = [each[i] for each in taken], [each[i] for each in base]
            median = statistics.median(own)
            cells += [f"{median:.2f} s", f"{median / statistics.median(theirs):.2f}, {min(own) / min(theirs):.2f}"]
        print("|", " | ".join(cells), "|")
    return len(merges)


if __name__ == "__main__":
    main()
