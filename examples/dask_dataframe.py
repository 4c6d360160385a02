"""Count and encode a Dask DataFrame: each partition is counted, the counts are added up in a tree, and ids are made.

    python examples/dask_dataframe.py data.parquet --vocab-size 32000 -o ids

data.parquet has a column `text`; the folder `ids` gets it with another column `ids`. Needs `pip install "nbbpe[dask]"`.
"""

from __future__ import annotations

import argparse
from functools import partial

import pyarrow as pa

import nbbpe
from nbbpe.arrow_functions import add_up_counts, count_table, encode_table


def counted(frame, **options):
    """The words of a partition."""
    return count_table(pa.Table.from_pandas(frame), **options)


def encoded(frame, tokenizer):
    """A partition with its ids."""
    return encode_table(pa.Table.from_pandas(frame), tokenizer=tokenizer).to_pandas()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("-o", "--output", required=True, help="folder of parquet files to write")
    options = parser.parse_args()

    import dask
    import dask.dataframe as dd
    import pandas

    frame = dd.read_parquet(options.source, columns=["text"])
    parts = [dask.delayed(counted)(part) for part in frame.to_delayed()]
    while len(parts) > 1:  # a tree: no worker has more than two tables at a time
        parts = [dask.delayed(add_up_counts)(parts[i : i + 2]) for i in range(0, len(parts), 2)]
    (counts,) = dask.compute(parts[0])
    tok = nbbpe.train(counts=counts, vocab_size=options.vocab_size)
    print(f"{counts.num_rows:,} distinct words, {len(tok):,} tokens")
    meta = frame._meta.assign(ids=pandas.Series(dtype=object))
    schema = pa.schema({"text": pa.string(), "ids": pa.list_(pa.from_numpy_dtype(tok.dtype))})
    with_ids = frame.map_partitions(partial(encoded, tokenizer=tok), meta=meta)
    with_ids.to_parquet(options.output, schema=schema, write_index=False)


if __name__ == "__main__":
    main()
