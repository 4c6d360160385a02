"""Train from files of counts that DuckDB adds up; SQL may also filter and weight them.

    python examples/duckdb_counts.py 'counts/*.parquet' --vocab-size 32000 --min-count 2 -o tokenizer

Needs `pip install duckdb`.
"""

from __future__ import annotations

import argparse

import nbbpe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", help="a pattern of parquet files that `nbbpe count-words` has written")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--min-count", type=int, default=1, help="words that occur less often are skipped")
    parser.add_argument("--pattern", default="gpt2", help="the pattern of the counts: SQL drops a table's metadata")
    parser.add_argument("--special", action="append", default=[])
    parser.add_argument("-o", "--output", required=True, help="folder to save the tokenizer in")
    options = parser.parse_args()

    import duckdb

    # A stream of record batches: both DuckDB and nbbpe spill to disk if the counts do not fit in memory.
    tok = nbbpe.train(
        counts=duckdb.sql(
            "SELECT word, CAST(SUM(count) AS BIGINT) AS count FROM read_parquet($1) GROUP BY word HAVING SUM(count) >= $2",
            params=[options.counts, options.min_count],
        ),
        vocab_size=options.vocab_size,
        pattern=options.pattern,
        special_tokens=options.special,
    )
    tok.save(options.output)
    print(f"{options.output}: {len(tok):,} tokens")


if __name__ == "__main__":
    main()
