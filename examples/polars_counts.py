"""Count and encode with Polars: each slice of a frame is counted, Polars adds up the counts, and the ids are a column.

    python examples/polars_counts.py data.parquet --vocab-size 32000 -o ids.parquet

data.parquet has a column `text`. Needs `pip install polars`.
"""

from __future__ import annotations

import argparse

import nbbpe
from nbbpe.arrow_functions import count_table, encode_table

ROWS = 50_000  # counted at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("-o", "--output", required=True, help="parquet file with the column `ids` to write")
    options = parser.parse_args()

    import polars as pl

    texts = pl.read_parquet(options.source, columns=["text"])
    counted = pl.concat([pl.from_arrow(count_table(part)) for part in texts.iter_slices(ROWS)])
    counts = counted.group_by("word").agg(pl.col("count").sum())
    tok = nbbpe.train(counts=counts, vocab_size=options.vocab_size, pattern="gpt2")
    print(f"{len(counts):,} distinct words, {len(tok):,} tokens")
    pl.from_arrow(encode_table(texts, tokenizer=tok)).write_parquet(options.output)


if __name__ == "__main__":
    main()
