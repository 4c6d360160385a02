"""What the training scripts do: find a dataset, or make one up, train on it, encode it, and report."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

from command_line import EXIT_FAILED, OneLineParser, UserError, check_text, make_folder
from download import DownloadError, download, part_path
from progress_bar import ProgressBar
from run_report import report, train_and_encode
from stage_log import MB, StageLog
from stories import MAX_STORY_BYTES, write_stories

SPECIAL_TOKEN = "<|endoftext|>"
SAMPLE_VOCAB_SIZE = 1_000
GENERATED_MB = 100.0
SAMPLE_MB = 5.0
VALID_SHARE = 0.01  # of the size of the training split, as in TinyStories
SEEDS = {"train": 0, "valid": 1}


class Dataset(NamedTuple):
    """A dataset on the Hugging Face hub, of texts with SPECIAL_TOKEN between their documents.

    name : what people call it
    hub_folder : where its files lie on the hub
    hub_files : their names by split, "train" first; what ends in .gz is unpacked
    vocab_size : the default
    out : the default folder for results
    """

    name: str
    hub_folder: str
    hub_files: dict[str, str]
    vocab_size: int
    out: Path


def parse_arguments(argv: list[str] | None, dataset: Dataset, description: str | None) -> argparse.Namespace:
    """Return the checked arguments; raises UserError."""
    parser = OneLineParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--input", type=Path, metavar="FILE", help=f"train on this text instead of {dataset.name}")
    source.add_argument("--sample", action="store_true", help=f"a quick run: {SAMPLE_MB:g} MB of generated stories")
    source.add_argument("--generate", action="store_true", help="generate stories without asking the hub")
    parser.add_argument("--valid", type=Path, metavar="FILE", help="with --input: a second text to encode")
    parser.add_argument(
        "--vocab-size", type=int, metavar="N", help=f"default {dataset.vocab_size}, sample {SAMPLE_VOCAB_SIZE}"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", default=Path("data"), help="dataset folder (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="DIR", default=dataset.out, help="(%(default)s)")
    parser.add_argument("--size", type=float, metavar="MB", help=f"of generated stories, default {GENERATED_MB:g}")
    parser.add_argument("--workers", type=int, metavar="N", help="processes; default: one for each processor")
    arguments = parser.parse_args(argv)

    if arguments.vocab_size is None:
        arguments.vocab_size = SAMPLE_VOCAB_SIZE if arguments.sample else dataset.vocab_size
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


def find_texts(arguments: argparse.Namespace, dataset: Dataset, log: StageLog) -> dict[str, Path]:
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
    published = published_texts(arguments.data, dataset, log)
    return published or generated_texts(arguments.data, "generated", arguments.size, log)


def published_texts(data: Path, dataset: Dataset, log: StageLog) -> dict[str, Path]:
    """Return the dataset's files, downloaded if they are not in `data`; none if the training split cannot be had."""
    texts = {split: data / name.removesuffix(".gz") for split, name in dataset.hub_files.items()}
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    for split, path in texts.items():
        if path.exists():
            check_text("dataset", path)
            continue
        fetched = data / dataset.hub_files[split]
        if fetched != path and fetched.exists():
            unpack(fetched, path, split, log)
            continue
        try:
            if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "ON", "YES", "TRUE"}:
                raise DownloadError("HF_HUB_OFFLINE is set")
            make_folder("--data", data)
            with log.stage(f"download {split}"):
                download(f"{hub}/{dataset.hub_folder}/{fetched.name}", fetched)
        except DownloadError as error:
            kept = f" {part_path(fetched)} is kept for another try." if part_path(fetched).exists() else ""
            without = "generating stories instead" if split == "train" else f"going on without the {split} split"
            print(f"cannot get {dataset.name} from the hub ({error}): {without}.{kept}", file=sys.stderr)
            if split == "train":
                return {}
        else:
            if fetched != path:
                unpack(fetched, path, split, log)
                fetched.unlink()
    return {split: path for split, path in texts.items() if path.exists()}


def unpack(packed: Path, path: Path, split: str, log: StageLog) -> None:
    """Unpack a .gz file; the text appears under its name only when it is whole. Raises UserError for a broken one."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with log.stage(f"unpack {split}"), ProgressBar(path.name, packed.stat().st_size) as bar:
            with open(packed, "rb") as file, gzip.open(file) as source, open(partial, "wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
                    bar.update(file.tell() - bar.n)
            os.replace(partial, path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"cannot unpack {packed}: {error}; remove it to have it downloaded again") from error
    finally:
        partial.unlink(missing_ok=True)


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


def run(argv: list[str] | None, dataset: Dataset, description: str | None) -> int:
    """Do the whole job of a training script and return its exit code; raises UserError."""
    arguments = parse_arguments(argv, dataset, description)
    if importlib.util.find_spec("nbbpe") is None:
        raise UserError("nbbpe is not installed for this Python: run `pip install -e .` in the repository")
    if arguments.input is not None:
        check_text("--input", arguments.input)
    make_folder("--out", arguments.out)
    log = StageLog()
    texts = find_texts(arguments, dataset, log)
    tokenizer, splits = train_and_encode(
        log, texts, arguments.out, arguments.vocab_size, [SPECIAL_TOKEN], arguments.workers
    )
    print(report(log, tokenizer, splits, arguments.out))
    return EXIT_FAILED if any(split.fault for split in splits) else 0
