"""The texts for the training scripts: from the data folder, from the Hugging Face hub, or made up."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from stories import MAX_STORY_BYTES, write_stories

VALID_SHARE = 0.01  # of the training split, as in TinyStories
SEEDS = {"train": 0, "valid": 1}


class Dataset(NamedTuple):
    """A dataset on the Hugging Face hub.

    name : its usual name
    repository : its repository on the hub
    files : the names of its files by split, "train" first; a file whose name ends in .gz is decompressed
    vocab_size : the size of the vocabulary in the course
    """

    name: str
    repository: str
    files: dict[str, str]
    vocab_size: int


def find_texts(dataset: Dataset, data: Path) -> dict[str, Path]:
    """The splits of a dataset as text files in a folder, downloaded if missing; {} if the hub cannot be reached."""
    texts = {split: data / name.removesuffix(".gz") for split, name in dataset.files.items()}
    try:
        for split, text in texts.items():
            if text.exists():
                continue
            if (compressed := data / dataset.files[split]).exists():
                decompress(compressed, text)
            elif download(dataset.repository, compressed) != text:
                decompress(compressed, text)
                compressed.unlink()
    except (OSError, HTTPException) as error:
        reason = str(error).strip().partition("\n")[0]
        print(f"cannot get {dataset.name} from the hub ({reason:.200}): making up stories instead", file=sys.stderr)
        return {}
    return texts


def download(repository: str, target: Path) -> Path:
    """Download a file of a dataset from the hub; an interrupted download is kept in a .part file and resumed.

    A complete .part file is renamed; one that is longer than the file belongs to another file, and is removed.
    """
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "ON", "YES", "TRUE"}:
        raise OSError("HF_HUB_OFFLINE is set")
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    have = part.stat().st_size if part.exists() else 0
    request = Request(f"{hub}/datasets/{repository}/resolve/main/{target.name}", headers={"Range": f"bytes={have}-"})
    print(f"downloading {request.full_url}", file=sys.stderr)
    try:
        answer = urlopen(request, timeout=30)
    except HTTPError as error:
        if error.code != 416 or not have:  # 416: there is nothing after the part
            raise
        if error.headers["Content-Range"] == f"bytes */{have}":
            os.replace(part, target)
            return target
        part.unlink()
        return download(repository, target)
    with answer as response:
        length = response.headers["Content-Length"]
        if length is None:
            raise OSError(f"{hub} does not say how long {target.name} is, so one that is cut short could not be told")
        continues = response.status == 206  # a server may send the complete file all the same
        n_bytes = int(length) + (have if continues else 0)
        with open(part, "ab" if continues else "wb") as file:
            shutil.copyfileobj(response, file, 1 << 20)
    if part.stat().st_size != n_bytes:
        raise OSError(f"{target.name} was cut short after {part.stat().st_size:,} of {n_bytes:,} bytes; {part} is kept")
    os.replace(part, target)
    return target


def decompress(compressed: Path, text: Path) -> None:
    """Decompress a .gz file, as an atomic write."""
    partial = text.with_name(f"{text.name}.{os.getpid()}.tmp")
    try:
        with gzip.open(compressed) as source, open(partial, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(partial, text)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SystemExit(f"cannot decompress {compressed} ({error}): remove it to have it downloaded again") from error
    finally:
        partial.unlink(missing_ok=True)


def made_up_texts(data: Path, megabytes: float) -> dict[str, Path]:
    """Splits of made-up stories, written unless the folder has them in this size."""
    sizes = {"train": int(megabytes * 1e6), "valid": max(1, int(megabytes * 1e6 * VALID_SHARE))}
    texts = {split: data / f"stories-{megabytes:g}MB-{split}.txt" for split in sizes}
    for split, path in texts.items():
        if not path.exists() or not sizes[split] <= path.stat().st_size < sizes[split] + MAX_STORY_BYTES:
            print(f"making up {sizes[split] / 1e6:,.1f} MB of stories: {path}", file=sys.stderr)
            write_stories(path, sizes[split], SEEDS[split])
    return texts
