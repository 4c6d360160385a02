"""Count and encode with Spark: `mapInArrow` counts the words of each partition, Spark adds them up, and ids are a column.

    python examples/spark_counts.py data.parquet --vocab-size 32000 -o ids

data.parquet has a column `text`; the folder `ids` gets it with another column `ids`. Needs
`pip install "pyspark[sql]"` and Java.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

import nbbpe
from nbbpe.arrow_functions import count_batches, encode_batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--pattern", default="gpt2")
    parser.add_argument("-o", "--output", required=True, help="folder of parquet files to write")
    options = parser.parse_args()

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # otherwise Spark's workers use the first python3 in PATH
    import pyarrow as pa
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").appName("nbbpe").config("spark.ui.enabled", "false").getOrCreate()
    texts = spark.read.parquet(options.source).select("text")
    counted = texts.mapInArrow(partial(count_batches, pattern=options.pattern), "word binary, count long")
    counts = counted.groupBy("word").sum("count").withColumnRenamed("sum(count)", "count").toArrow()
    tok = nbbpe.train(counts=counts, vocab_size=options.vocab_size, pattern=options.pattern)
    print(f"{counts.num_rows:,} distinct words, {len(tok):,} tokens")
    encode = partial(encode_batches, tokenizer=tok, id_type=pa.int32())  # Spark has no unsigned integers
    texts.mapInArrow(encode, "text string, ids array<int>").write.mode("overwrite").parquet(options.output)
    spark.stop()


if __name__ == "__main__":
    main()
