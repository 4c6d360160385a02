"""Train a tokenizer on TinyStories and encode the dataset with it.

    python scripts/train_tinystories.py              # 10,000 tokens with <|endoftext|>, then both splits encoded
    python scripts/train_tinystories.py --sample     # a quick run on 5 MB of generated stories
    python scripts/train_tinystories.py --input FILE

Takes TinyStoriesV2-GPT4 from the data folder, or downloads it there from the Hugging Face hub, or, if the hub cannot be
reached, trains on stories that it generates itself. Ends with a table of times, memory and results.

Exit codes: 0 all well; 1 the ids do not decode to the text; 2 wrong arguments or files; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from command_line import EXIT_FAILED, OneLineParser, UserError, check_text, exit_code, make_folder
from download import DownloadError, download, part_path
from progress_bar import ProgressBar
from run_report import report, train_and_encode
from stage_log import MB, StageLog
from stories import MAX_STORY_BYTES, write_stories

SPECIAL_TOKEN = "<|endoftext|>"
HUB_FOLDER = "datasets/roneneldan/TinyStories/resolve/main"
HUB_FILES = {"train": "TinyStoriesV2-GPT4-train.txt", "valid": "TinyStoriesV2-GPT4-valid.txt"}
VOCAB_SIZE = 10_000
SAMPLE_VOCAB_SIZE = 1_000
GENERATED_MB = 100.0
SAMPLE_MB = 5.0
VALID_SHARE = 0.01  # of the size of the training split, as in TinyStories
SEEDS = {"train": 0, "valid": 1}


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Return the checked arguments; raises UserError."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--input", type=Path, metavar="FILE", help="train on this text instead of TinyStories")
    source.add_argument("--sample", action="store_true", help=f"a quick run: {SAMPLE_MB:g} MB of generated stories")
    source.add_argument("--generate", action="store_true", help="generate stories without asking the hub")
    parser.add_argument("--valid", type=Path, metavar="FILE", help="with --input: a second text to encode")
    parser.add_argument("--vocab-size", type=int, metavar="N", help=f"default {VOCAB_SIZE}, sample {SAMPLE_VOCAB_SIZE}")
    parser.add_argument("--data", type=Path, metavar="DIR", default=Path("data"), help="dataset folder (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("out/tinystories"), help="(%(default)s)")
    parser.add_argument("--size", type=float, metavar="MB", help=f"of generated stories, default {GENERATED_MB:g}")
    parser.add_argument("--workers", type=int, metavar="N", help="processes; default: one for each processor")
    arguments = parser.parse_args(argv)

    if arguments.vocab_size is None:
        arguments.vocab_size = SAMPLE_VOCAB_SIZE if arguments.sample else VOCAB_SIZE
    if arguments.size is None:
        arguments.size = SAMPLE_MB if arguments.sample else GENERATED_MB
    if arguments.vocab_size < 257:
        parser.error(f"--vocab-size must be at least 257 (256 bytes and {SPECIAL_TOKEN}), not {arguments.vocab_size}")
    if not 0 < arguments.size < float("inf"):
        parser.error(f"--size must be a positive number of megabytes, not {arguments.size}")
    if arguments.workers is not None and arguments.workers < 1:
        parser.error(f"--workers must be at least 1, not {arguments.workers}")
    if arguments.valid is not None and arguments.input is None:
        parser.error("--valid goes with --input")
    return arguments


def find_texts(arguments: argparse.Namespace, log: StageLog) -> dict[str, Path]:
    """Return the splits to work on, split name -> text file, "train" first; download or generate them if need be."""
    if arguments.input is not None:
        texts = {"train": arguments.input}
        if arguments.valid is not None:
            texts["valid"] = arguments.valid
        for option, path in zip(("--input", "--valid"), texts.values(), strict=False):
            check_text(option, path)
        return texts
    if arguments.sample:
        return generated_texts(arguments.data, "sample", arguments.size, log)
    if arguments.generate:
        return generated_texts(arguments.data, "generated", arguments.size, log)
    return published_texts(arguments.data, log) or generated_texts(arguments.data, "generated", arguments.size, log)


def published_texts(data: Path, log: StageLog) -> dict[str, Path]:
    """Return the TinyStories files, downloaded if they are not in `data`; none if the training split cannot be had."""
    texts = {split: data / name for split, name in HUB_FILES.items()}
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    for split, path in texts.items():
        if path.exists():
            check_text("dataset", path)
            continue
        try:
            if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "ON", "YES", "TRUE"}:
                raise DownloadError("HF_HUB_OFFLINE is set")
            make_folder("--data", data)
            with log.stage(f"download {split}"):
                download(f"{hub}/{HUB_FOLDER}/{path.name}", path)
        except DownloadError as error:
            kept = f" {part_path(path)} is kept for another try." if part_path(path).exists() else ""
            without = "generating stories instead" if split == "train" else f"going on without the {split} split"
            print(f"cannot get TinyStories from the hub ({error}): {without}.{kept}", file=sys.stderr)
            if split == "train":
                return {}
    return {split: path for split, path in texts.items() if path.exists()}


def generated_texts(data: Path, kind: str, megabytes: float, log: StageLog) -> dict[str, Path]:
    """Return generated splits, made unless they are in `data` in that size."""
    make_folder("--data", data)
    sizes = {"train": int(megabytes * MB), "valid": max(1, int(megabytes * MB * VALID_SHARE))}
    texts = {split: data / f"stories-{kind}-{split}.txt" for split in sizes}
    for split, path in texts.items():
        # The file gets its name when it is whole, so the size only tells whether it is the size wanted now.
        if path.exists() and sizes[split] <= path.stat().st_size < sizes[split] + MAX_STORY_BYTES:
            continue
        with log.stage(f"generate {split}", sizes[split]), ProgressBar(path.name, sizes[split]) as bar:
            write_stories(path, sizes[split], SEEDS[split], bar.update)
    return texts


def main(argv: list[str] | None = None) -> int:
    arguments = parse_arguments(argv)
    if importlib.util.find_spec("nbbpe") is None:
        raise UserError("nbbpe is not installed for this Python: run `pip install -e .` in the repository")
    if arguments.input is not None:
        check_text("--input", arguments.input)
    make_folder("--out", arguments.out)
    log = StageLog()
    texts = find_texts(arguments, log)
    tokenizer, splits = train_and_encode(
        log, texts, arguments.out, arguments.vocab_size, [SPECIAL_TOKEN], arguments.workers
    )
    print(report(log, tokenizer, splits, arguments.out))
    return EXIT_FAILED if any(split.fault for split in splits) else 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
