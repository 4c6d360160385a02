"""What is fuzzed: each reader of nbbpe, the kept seeds that are mutated for it, and how it is called.

A seed is a folder `seeds/READER/NAME` with the files of one valid input, or of one that was a fault once.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import frames
import mutations
import numpy as np

import nbbpe
from nbbpe.idfiles import kept_parts
from nbbpe.idfiles.manifest import NAME, EncodingJob
from nbbpe.sources import Tally, find_inputs
from nbbpe.sources.compression import compressed
from nbbpe.text.chunks import CutRules
from nbbpe.text.windows import NO_ID

compressed._MOST_XZ_MEMORY = 16 << 20  # what a header asks for counts as allocated, though no text may come to fill it
SEEDS = Path(__file__).parent / "seeds"
_DTYPE = np.dtype(np.uint16)
_LINES = [
    {"text": "the cat\n\u00e9 \\ sat"},
    {"id": [1, {"a": None}], "text": "on <|s|> the mat"},
    {"text": ""},
    {"text": "\ud83d\ude00"},
]


class Reader(NamedTuple):
    """How one kind of input is read from a folder, and how a valid one is made there."""

    read: Callable[[Path], None]
    write: Callable[[Path], None]


def _read_text(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        tokenizer = mutations.trained()
        for on_error in "skip", "raise":
            for each in find_inputs(folder / name, None, on_error):
                for part in each.cut(200, CutRules(tokenizer._model.pattern, [b"<|s|>"])):
                    for _ in tokenizer.encode_part(part, NO_ID, Tally(on_error)):
                        pass

    return read


def _write_text(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        lines = [json.dumps(line) for line in _LINES * 5]
        text = "[" + ",\n".join(lines) + "]" if ".json." in f"{name}." else "\n".join(lines) + "\n"
        data = text.encode()
        if name.endswith(".gz"):
            import gzip

            data = gzip.compress(data, mtime=0)
            if name.startswith("frames"):
                data = frames.in_frames(text.encode(), list(range(0, len(text), 100)), ".gz")
        if name.endswith((".bz2", ".xz", ".lzma")):
            import bz2
            import lzma

            of_xz = lzma.FORMAT_XZ if name.endswith(".xz") else lzma.FORMAT_ALONE
            # With a wrong byte, a block of bzip2 may become fifty times as long as the longest text that it is made for.
            data = bz2.compress(data, 1) if name.endswith(".bz2") else lzma.compress(data, of_xz, preset=0)
        if name.endswith(".zst"):
            data = frames.zstd(data)
            if name.startswith("frames"):
                data = frames.in_frames(text.encode(), list(range(0, len(text), 100)), ".zst")
        (folder / name).write_bytes(data)

    return write


def _write_arrow(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import pyarrow as arrow

        column = arrow.array([line["text"].encode("utf-8", "surrogatepass") for line in _LINES * 5], arrow.binary())
        columns = {"text": column.dictionary_encode() if name == "t.ipc" else column, "n": [1] * len(column)}
        table = arrow.table(columns)
        new = arrow.ipc.new_stream if name == "t.ipc" else arrow.ipc.new_file
        with new(folder / name, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)

    return write


def _job(folder: Path) -> EncodingJob:
    return EncodingJob("0123", {}, {"separator": None}, [{"path": "a.txt", "bytes": 9, "mtime_ns": 1, "digest": "ff"}])


_SPANS = [(0, start, start + 10) for start in range(0, 60, 10)]


def _read_parts(folder: Path) -> None:
    """Take up the finished parts, and encode what is missing, which is read as it was written."""
    with kept_parts.kept_parts(folder / "ids.bin", _job(folder)) as kept:
        kept.plan(10, _SPANS, 0, _DTYPE)
        assert 0 <= kept.n_joined <= len(_SPANS)
        n_ids = sum(kept.finished[number].n_ids for number in range(kept.n_joined))
        assert os.path.getsize(Path(kept.folder) / "0") == n_ids * _DTYPE.itemsize


def _write_parts(folder: Path) -> None:
    from nbbpe.idfiles.checksum import checksum
    from nbbpe.idfiles.document_ends import END_DTYPE, MAGIC
    from nbbpe.idfiles.manifest import Finished
    from nbbpe.sources import Line, Skipped

    with kept_parts.kept_parts(folder / "ids.bin", _job(folder)) as kept:
        kept.plan(10, _SPANS, 0, _DTYPE)
        inside = Path(kept.folder)
        n_ids = 0
        (inside / "0.ends").write_bytes(MAGIC)
        for number in 0, 1, 3, 5:
            ids, ends = np.arange(20 + number, dtype=_DTYPE), np.array([4, 20], dtype=END_DTYPE)
            with open(inside / ("0" if number < 2 else str(number + 1)), "ab") as file:
                file.write(ids.tobytes())
            with open(inside / ("0.ends" if number < 2 else f"{number + 1}.ends"), "ab") as file:
                file.write((ends + (n_ids if number < 2 else 0)).tobytes())
            n_ids += len(ids)
            skipped = Skipped(1, [(Line("a.txt", 3, "a.txt", 10), "bad")] if number else [])
            kept.add(number, Finished(10, len(ids), checksum(ids), len(ends), checksum(ends), skipped))


def _write_tekken(folder: Path) -> None:
    made = mutations.trained()
    specials = set(made.special_tokens.values())
    vocab = {token_id: token for token_id, token in made.vocab.items() if token_id not in specials}
    nbbpe.Tokenizer(vocab, made.merges, [], "gpt2").save_tekken(folder / "tekken.json")


def _read_counts(folder: Path) -> None:
    """The words of a table. (What its metadata say is not read: compiling a regex takes more room than is allowed here.)"""
    from nbbpe.counting.count_sources import open_counts, words_in

    for path in sorted(folder.glob("counts.*")):
        for table in open_counts(path):
            for words in words_in(table):
                assert (words.counts > 0).all()
                assert (np.diff(words.starts) > 0).all()


def _write_counts(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        documents = ["the cat sat on the mat", "\u00e9 12 the hat", b"\xff\xfe"]
        nbbpe.count_words(documents=documents, special_tokens=["<|s|>"], output=folder / name)

    return write


_OF_PYTHON = ("bz2", "xz", "lzma")

READERS = {
    **{
        name.replace(", ", "-").replace(" ", "-"): Reader(form.read, form.write) for name, form in mutations.FORMATS.items()
    },
    "tekken": Reader(mutations.read_tokenizer, _write_tekken),
    "json-lines": Reader(_read_text("t.jsonl"), _write_text("t.jsonl")),
    "json-lines-gz": Reader(_read_text("t.jsonl.gz"), _write_text("t.jsonl.gz")),
    "json-lines-frames-gz": Reader(_read_text("frames.jsonl.gz"), _write_text("frames.jsonl.gz")),
    "json-lines-frames-zst": Reader(_read_text("frames.jsonl.zst"), _write_text("frames.jsonl.zst")),
    "json-lines-zst": Reader(_read_text("t.jsonl.zst"), _write_text("t.jsonl.zst")),
    **{f"json-lines-{form}": Reader(_read_text(f"t.jsonl.{form}"), _write_text(f"t.jsonl.{form}")) for form in _OF_PYTHON},
    "arrow-file": Reader(_read_text("t.arrow"), _write_arrow("t.arrow")),
    "arrow-stream": Reader(_read_text("t.ipc"), _write_arrow("t.ipc")),
    "json-array": Reader(_read_text("t.json"), _write_text("t.json")),
    "counts-parquet": Reader(_read_counts, _write_counts("counts.parquet")),
    "counts-arrow": Reader(_read_counts, _write_counts("counts.arrow")),
    "kept-parts": Reader(_read_parts, _write_parts),
}


def make_seeds() -> None:
    """Write the valid input of each reader that has none."""
    for name, reader in READERS.items():
        folder = SEEDS / name / "valid"
        if not folder.exists():
            folder.mkdir(parents=True)
            reader.write(folder)
            for path in folder.glob("*.json"):
                # So that any version of `regex` reads them.
                found = re.sub(r'("character_classes": )"[0-9a-f]+"', r"\1null", path.read_text())
                path.write_text(found)
            reader.read(folder)


def files_of(folder: Path) -> list[str]:
    """The names of the files of an input that are mutated, below its folder."""
    names = (str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file())
    return [name for name in names if not name.endswith(".nbbpe-kept")]


def mutate(name: str, number: int, seed: int, into: Path) -> str:
    """Write the mutation of this number into a folder; returns which file of which seed it was."""
    source = random.Random(f"{seed} {name} {number}")
    seeds = sorted(path for path in (SEEDS / name).iterdir() if path.is_dir())
    chosen = source.choice(seeds)
    shutil.copytree(chosen, into)
    target = source.choice(files_of(chosen))
    data = (into / target).read_bytes()
    if target.endswith(NAME) or target.endswith(".jsonl"):
        data = mutated_lines_of_json(data, source)
    elif target.endswith(".json") and source.random() < 0.2:
        data = shifted_numbers(data, source)
    else:
        data = mutations.mutated(target, data, source)
    (into / target).write_bytes(data)
    return f"{chosen.name}/{target}"


def shifted_numbers(data: bytes, source: random.Random) -> bytes:
    """Some numbers of a JSON file larger by the same amount, as sizes are that agree with each other."""
    document = json.loads(data)
    amount = source.choice([1, 255, 2**16, 2**20, 2**28, 2**31 - 2, 2**40, 2**62])
    numbers = [place for place in mutations.nodes(document, []) if type(place[0][place[1]]) is int]
    by_container = {}
    for container, key in numbers:
        by_container.setdefault(id(container), []).append((container, key))
    together = [places for places in by_container.values() if len(places) > 1] or list(by_container.values())
    if together:
        places = source.choice(together[:1] if source.random() < 0.5 else together)
        for container, key in source.sample(places, min(len(places), 2)):
            container[key] += amount
    return json.dumps(document).encode()


def mutated_lines_of_json(data: bytes, source: random.Random) -> bytes:
    """One line changed as JSON is, or any bytes."""
    if source.random() < 0.5:
        return mutations.mutated_bytes(data, source)
    lines = data.split(b"\n")
    place = source.randrange(len(lines))
    try:
        lines[place] = mutations.mutated_json(lines[place], source)
    except (ValueError, TypeError, KeyError):
        return mutations.mutated_lines(data, source)
    return b"\n".join(lines)
