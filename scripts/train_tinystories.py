"""Train a tokenizer on TinyStories, encode the dataset with it, and check the ids.

    python scripts/train_tinystories.py              # 10,000 tokens with <|endoftext|>, both splits encoded
    python scripts/train_tinystories.py --sample     # a quick run on 5 MB of made-up stories
    python scripts/train_tinystories.py --input FILE

Takes TinyStoriesV2-GPT4 from the data folder, or downloads it there. If the hub cannot be reached, it makes up stories.
Prints a table with the time of each step at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import nbbpe
from dataset import Dataset, find_texts, made_up_texts
from stories import size_in_megabytes

T = TypeVar("T")

SPECIAL_TOKEN = "<|endoftext|>"
# nbbpe reads them, but not as their bytes
NO_PLAIN_TEXT = {".gz", ".bz2", ".xz", ".lzma", ".zst", ".zstd", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow"}
TINYSTORIES = Dataset(
    name="TinyStories",
    repository="roneneldan/TinyStories",
    files={"train": "TinyStoriesV2-GPT4-train.txt", "valid": "TinyStoriesV2-GPT4-valid.txt"},
    vocab_size=10_000,
)


class Steps:
    """The steps of a job, with the time of each in seconds."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, float, int]] = []

    def timed(self, name: str, n_bytes: int, step: Callable[[], T]) -> T:
        """Run a step that works on `n_bytes` of text, and return its result."""
        print(f"{name} ...", file=sys.stderr, flush=True)
        began = time.perf_counter()
        result = step()
        self._rows.append((name, time.perf_counter() - began, n_bytes))
        return result

    def show(self) -> None:
        """Print the table; the longest step that works on text is marked."""
        longest = max(seconds for _, seconds, n_bytes in self._rows if n_bytes)
        print(f"{'step':20} {'seconds':>9} {'MB/s':>7}")
        for name, seconds, n_bytes in self._rows:
            speed = f"{n_bytes / 1e6 / seconds:7,.0f}" if n_bytes else " " * 7
            print(f"{name:20} {seconds:9,.2f} {speed} {'<- most time' if seconds == longest else ''}".rstrip())


def check(tokenizer: nbbpe.Tokenizer, ids_path: Path, text_path: Path) -> None:
    """Exit unless all ids of a file decode to exactly the text that they were made from."""
    ids = nbbpe.TokenFile(ids_path, tokenizer).ids
    with open(text_path, "rb") as text:
        for first in range(0, len(ids), 1 << 20):
            decoded = tokenizer.decode_bytes(ids[first : first + (1 << 20)])
            if text.read(len(decoded)) != decoded:
                sys.exit(f"{ids_path}: the ids from {first:,} on do not decode to {text_path}")
        if text.read(1):
            sys.exit(f"{ids_path}: the ids end before {text_path} does")


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that is a number, so that one that is too small is told before any work."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


def parse_arguments(dataset: Dataset, description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--input", type=Path, metavar="FILE", help=f"train on this plain text instead of {dataset.name}")
    source.add_argument("--sample", action="store_true", help="train on a few made-up stories")
    source.add_argument("--generate", action="store_true", help="make up stories without trying the hub")
    parser.add_argument("--size", type=size_in_megabytes, metavar="MB", help="of made-up stories (100; with --sample 5)")
    parser.add_argument("--vocab-size", type=at_least(257), metavar="N", help=f"({dataset.vocab_size}; with --sample 1000)")
    parser.add_argument("--workers", type=at_least(1), metavar="N", help="(as many as there are processors)")
    parser.add_argument("--data", type=Path, default=Path("data"), metavar="DIR", help="texts (%(default)s)")
    out = Path("out", dataset.name.lower())
    parser.add_argument("--out", type=Path, default=out, metavar="DIR", help="tokenizer and ids (%(default)s)")
    arguments = parser.parse_args()
    if arguments.input and not arguments.input.is_file():
        parser.error(f"--input {arguments.input} is not a file")
    if arguments.input and arguments.input.suffix.lower() in NO_PLAIN_TEXT:
        parser.error(f"--input {arguments.input} is no plain text, whose bytes are compared with the decoded ids")
    if arguments.input and not arguments.input.stat().st_size:
        parser.error(f"--input {arguments.input} is empty")
    folders = {"--out": arguments.out} if arguments.input else {"--out": arguments.out, "--data": arguments.data}
    for option, folder in folders.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            parser.error(f"{option} {folder} is not a folder")
        except OSError as error:
            parser.error(f"{option} {folder} cannot be made: {error.strerror}")
    if arguments.size is None:
        arguments.size = 5 if arguments.sample else 100
    if arguments.vocab_size is None:
        arguments.vocab_size = 1_000 if arguments.sample else dataset.vocab_size
    return arguments


def main(dataset: Dataset, description: str | None) -> None:
    arguments = parse_arguments(dataset, description)
    if arguments.input:
        texts = {"train": arguments.input}
    else:
        makes_up = arguments.sample or arguments.generate
        published = {} if makes_up else find_texts(dataset, arguments.data)
        texts = published or made_up_texts(arguments.data, arguments.size)
    sizes = {split: text.stat().st_size for split, text in texts.items()}
    steps = Steps()
    steps.timed("load kernels", 0, nbbpe.warmup)  # compiled on the first run on a machine, so not part of the work
    tokenizer = steps.timed(
        "train",
        sizes["train"],
        lambda: nbbpe.train(texts["train"], arguments.vocab_size, [SPECIAL_TOKEN], workers=arguments.workers),
    )
    tokenizer.save(arguments.out / "tokenizer")
    results = []
    for split, text in texts.items():
        ids_path = arguments.out / f"{split}.bin"
        n_ids = steps.timed(
            f"encode {split}",
            sizes[split],
            lambda: tokenizer.encode_file(text, ids_path, arguments.workers),  # noqa: B023
        )
        steps.timed(f"check {split}", sizes[split], lambda: check(tokenizer, ids_path, text))  # noqa: B023
        results.append(
            f"{ids_path}: {n_ids:,} ids of {sizes[split]:,} bytes, {sizes[split] / max(n_ids, 1):.3f} bytes each"
        )
    steps.show()
    special = tokenizer.special_tokens.values()
    longest = max((token for token_id, token in tokenizer.vocab.items() if token_id not in special), key=len)
    print(
        f"{arguments.out / 'tokenizer'}: {tokenizer}, longest token {longest.decode(errors='replace')!r}",
        *results,
        sep="\n",
    )


if __name__ == "__main__":
    main(TINYSTORIES, __doc__)
