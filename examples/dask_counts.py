"""Train a tokenizer with Dask: its workers count parts of files, and a lost worker only costs time.

    python examples/dask_counts.py 'data/*.txt' --vocab-size 32000 -o tokenizer

Starts a cluster of two worker processes on this machine, or uses an existing one with --scheduler. Needs
`pip install "nbbpe[dask]"`.
"""

from __future__ import annotations

import argparse

import nbbpe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="+")
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--special", action="append", default=[])
    parser.add_argument("--scheduler", help="address of a Dask scheduler; none starts two workers here")
    parser.add_argument("-o", "--output", required=True, help="folder to save the tokenizer in")
    options = parser.parse_args()

    from distributed import Client, LocalCluster

    cluster = options.scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        tok = nbbpe.train(options.source, options.vocab_size, options.special, executor=client.get_executor())
    if not options.scheduler:
        cluster.close()
    tok.save(options.output)
    print(f"{options.output}: {len(tok):,} tokens")


if __name__ == "__main__":
    main()
