"""Count and encode with Ray Data: `map_batches` counts the words of each block, Ray adds them up, and ids are a column.

    python examples/ray_counts.py data.parquet --vocab-size 32000 -o ids

data.parquet has a column `text`; the folder `ids` gets it with another column `ids`. Needs `pip install "ray[data]"`.
"""

from __future__ import annotations

import argparse
from functools import partial

import nbbpe
from nbbpe.arrow_functions import add_up_counts, count_table, encode_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("-o", "--output", required=True, help="folder of parquet files to write")
    options = parser.parse_args()

    import ray

    texts = ray.data.read_parquet(options.source, columns=["text"])
    counted = texts.map_batches(count_table, batch_format="pyarrow", batch_size=None)
    counts = add_up_counts(ray.get(counted.to_arrow_refs()))
    tok = nbbpe.train(counts=counts, vocab_size=options.vocab_size, pattern="gpt2")
    print(f"{counts.num_rows:,} distinct words, {len(tok):,} tokens")
    encode = partial(encode_table, tokenizer=tok)
    texts.map_batches(encode, batch_format="pyarrow", batch_size=None).write_parquet(options.output)


if __name__ == "__main__":
    main()
