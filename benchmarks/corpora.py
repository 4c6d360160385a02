"""The texts that benchmarks use; generated texts are made once, in a cache folder."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import os
import random
import re
import string
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import SkipTest

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
VOCABS = SHARED / "vocabs"
SEPARATOR = b"<|endoftext|>"
SEED = 0
COPIES = 4
BIG_COPIES = 8
VARIED_COUNT = 2  # words that occur at most this often are varied from copy to copy
HOSTILE_BYTES = 1_000_000
RECORD_CHARACTERS, RECORD_COPIES = 4000, 3
FRAME_BYTES = 8 << 20  # of text in a frame, as pzstd makes them

# NBBPE_TRIAL=1 tries the benchmarks themselves, on a twentieth of the input; the figures mean nothing and are not kept.
TRIAL = os.environ.get("NBBPE_TRIAL") == "1"
SCALE = 0.05 if TRIAL else 1.0
STORIES_BYTES = int(2.2e9 * (0.002 if TRIAL else 1))
WEB_BYTES = int(13e9 * (0.002 if TRIAL else 1))
WEB_LETTERS = 500  # one of so many small letters is another one in each copy


class MissingData(SkipTest):
    """A benchmark is skipped as this machine lacks data that it needs; the message says which."""


class Corpus(NamedTuple):
    """A text file with `<|endoftext|>` after each document."""

    title: str
    path: Path

    def __str__(self) -> str:
        return f"{self.title} ({self.path.stat().st_size / 1e6:,.1f} MB)"


def cache_folder() -> Path:
    """The folder for generated inputs, kept from run to run: NBBPE_BENCH_CACHE, or one in the system's temporary folder."""
    folder = os.environ.get("NBBPE_BENCH_CACHE") or os.path.join(tempfile.gettempdir(), "nbbpe-benchmarks")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


def shared_text(name: str) -> Corpus:
    """One of the shared texts; in a trial, its beginning."""
    path = text_folder() / name
    return Corpus(name, head(path, int(SCALE * path.stat().st_size)) if TRIAL else path)


def books_en_big() -> Corpus:
    """Copies of the English books, one after another: a large text, most of whose pieces have occurred before."""
    source = shared_text("books_en.txt").path
    path = made(f"books_en-x{BIG_COPIES}.txt", lambda target: target.write_bytes(source.read_bytes() * BIG_COPIES))
    return Corpus(f"{BIG_COPIES} copies of books_en.txt", path)


def books_en_varied() -> Corpus:
    """Copies of the English books that differ as other books would: documents shuffled, rare words spelled differently.

    Plain copies have no new words, but 40 MB of other books have tens of thousands. So each copy has a different letter in
    the middle of every word that occurs at most twice in the whole text.
    """
    source = shared_text("books_en.txt").path

    def write(target: Path) -> None:
        text = source.read_bytes()
        found = [match.span() for match in re.finditer(rb"[A-Za-z]{3,}", text)]
        counts = Counter(text[start:end] for start, end in found)
        middles = [(start + end) // 2 for start, end in found if counts[text[start:end]] <= VARIED_COUNT]
        between = [text[start:end] for start, end in itertools.pairwise([0, *middles, len(text)])]
        copies = [string.ascii_lowercase[i : i + 1].encode().join(between) for i in range(BIG_COPIES)]
        documents = [document for copy in copies for document in copy.split(SEPARATOR)[:-1]]
        random.Random(SEED).shuffle(documents)
        _write_documents(target, documents)

    return Corpus(f"{BIG_COPIES} varied copies of books_en.txt", made(f"books_en-varied-x{BIG_COPIES}.txt", write))


def beginning(name: str, n_bytes: int) -> Corpus:
    """The first bytes of one of TEXTS, for libraries that would take too long with all of it."""
    whole = TEXTS[name]()
    if whole.path.stat().st_size <= n_bytes:
        return whole
    return Corpus(f"the first {n_bytes / 1e6:g} MB of {whole.title}", head(whole.path, n_bytes))


def hostile(name: str) -> Path:
    """One of HOSTILE: a megabyte for which some tokenizers take very long."""
    return made(f"hostile-{name}.txt", lambda target: target.write_bytes(HOSTILE[name]()))


def _random_word() -> bytes:
    return bytes(random.Random(SEED).choices(string.ascii_lowercase.encode(), k=HOSTILE_BYTES))


def all_four() -> Corpus:
    """All texts four times, their documents shuffled."""
    paths = sorted(text_folder().glob("*.txt"))
    n_bytes = sum(path.stat().st_size for path in paths)

    def write(target: Path) -> None:
        documents = [document for path in paths for document in path.read_bytes().split(SEPARATOR)[:-1]] * COPIES
        random.Random(SEED).shuffle(documents)
        if TRIAL:
            del documents[int(SCALE * len(documents)) :]
        _write_documents(target, documents)

    title = f"{COPIES} copies of all texts, shuffled by document"
    return Corpus(title, made(f"all{COPIES}-{n_bytes}-seed{SEED}.txt", write))


def small() -> Corpus:
    """The first 100 kB of the English books."""
    return Corpus("the first 100 kB of books_en.txt", head(text_folder() / "books_en.txt", 100_000))


def stories() -> Corpus:
    """As many bytes of generated stories as TinyStories has."""
    sys.path.insert(1, str(ROOT / "scripts"))
    from stories import write_stories

    name = f"stories-{STORIES_BYTES}-seed{SEED}.txt"
    return Corpus("generated stories", made(name, lambda target: write_stories(target, STORIES_BYTES, SEED)))


def web_texts() -> Corpus:
    """As many bytes as OpenWebText has: `all_four` again and again, with new words in each copy, of random letters."""
    source = all_four().path

    def write(target: Path) -> None:
        import numpy as np

        text = np.fromfile(source, dtype=np.uint8)
        small_letters = np.flatnonzero((text >= ord("a")) & (text <= ord("z")))
        random_numbers = np.random.default_rng(SEED)
        n_changed = len(small_letters) // WEB_LETTERS
        with open(target, "wb") as file:
            while file.tell() < WEB_BYTES:
                copy = text.copy()
                places = small_letters[random_numbers.integers(len(small_letters), size=n_changed)]
                copy[places] = random_numbers.integers(ord("a"), ord("z") + 1, n_changed, dtype=np.uint8)
                file.write(copy)

    return Corpus("texts with random letters", made(f"web-{WEB_BYTES}-{source.stem}.txt", write))


def records(ending: str) -> Corpus:
    """Three copies of the English books in records of 4,000 characters, as a file of one of RECORDS, or as plain text."""
    text = shared_text("books_en.txt").path.read_text(encoding="utf-8", errors="replace").replace(SEPARATOR.decode(), "\n")
    texts = [text[start : start + RECORD_CHARACTERS] for start in range(0, len(text), RECORD_CHARACTERS)] * RECORD_COPIES
    path = made(f"records-{len(texts)}.{ending}", lambda target: RECORDS[ending](target, texts))
    return Corpus(f"{len(texts):,} records as .{ending}", path)


def tiny(folder: str, like: str) -> str:
    """A tiny file in a folder, of the same kind as `like`: another library may be needed to read it.

    Another process writes it: pyarrow imports pandas to make a table, 30 MB that are not needed to read one.
    """
    ending = os.path.basename(like).partition(".")[2]
    ending = ending if ending in RECORDS else "txt"
    path = os.path.join(folder, f"tiny.{ending}")
    write = "import sys, pathlib\nfrom benchmarks.corpora import RECORDS\n"
    write += "RECORDS[sys.argv[1]](pathlib.Path(sys.argv[2]), ['hello world, hello there'] * 2)"
    subprocess.run([sys.executable, "-c", write, ending, path], cwd=ROOT, check=True)
    return path


def _write_documents(target: Path, documents: Iterable[bytes]) -> None:
    with open(target, "wb") as file:
        file.writelines(document + SEPARATOR for document in documents)


def _json_lines(texts: list[str], ensure_ascii: bool) -> bytes:
    lines = [json.dumps({"id": i, "text": text}, ensure_ascii=ensure_ascii) for i, text in enumerate(texts)]
    return "".join(f"{line}\n" for line in lines).encode()


def _write_zstd(target: Path, texts: list[str], frame_bytes: int = sys.maxsize) -> None:
    import zstandard

    lines = _json_lines(texts, False)
    target.write_bytes(b"".join(zstandard.compress(lines[i : i + frame_bytes]) for i in range(0, len(lines), frame_bytes)))


def _write_parquet(target: Path, texts: list[str]) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"id": range(len(texts)), "text": texts})
    pyarrow.parquet.write_table(table, target, compression="zstd", row_group_size=2000)


RECORDS: dict[str, Callable[[Path, list[str]], object]] = {
    "txt": lambda target, texts: _write_documents(target, map(str.encode, texts)),
    "jsonl": lambda target, texts: target.write_bytes(_json_lines(texts, False)),
    "ascii.jsonl": lambda target, texts: target.write_bytes(_json_lines(texts, True)),
    "jsonl.zst": _write_zstd,
    "frames.jsonl.zst": functools.partial(_write_zstd, frame_bytes=FRAME_BYTES),
    "jsonl.gz": lambda target, texts: target.write_bytes(gzip.compress(_json_lines(texts, False), 6)),
    "parquet": _write_parquet,
}
TEXTS: dict[str, Callable[[], Corpus]] = {
    "books_en_x8": books_en_big,
    **{
        name: functools.partial(shared_text, f"{name}.txt")
        for name in ("books_en", "novels_de", "bible_multilingual", "scripts_extra", "cjk", "code_rails")
    },
}
CORPORA: dict[str, Callable[[], Corpus]] = {"books_en": TEXTS["books_en"], "all4": all_four}
LARGE: dict[str, Callable[[], Corpus]] = {"books_en_varied": books_en_varied, "all4": all_four}  # of 320 MB
HOSTILE: dict[str, Callable[[], bytes]] = {
    "a": lambda: b"a" * HOSTILE_BYTES,
    "caret": lambda: b"^" * HOSTILE_BYTES,
    "spaces": lambda: b" " * HOSTILE_BYTES,
    "one CJK character": lambda: "\u4e2d".encode() * (HOSTILE_BYTES // 3),
    "one word of random letters": _random_word,
}


def words(n_words: int) -> Path:
    """Distinct words with counts, as an .npz file of text, starts and counts."""

    def write(target: Path) -> None:
        import numpy as np

        from benchmarks.synthetic_words import make_words

        text, starts, counts = make_words(n_words, SEED)
        with open(target, "wb") as file:
            np.savez(file, text=text, starts=starts, counts=counts)

    return made(f"words-{n_words}-seed{SEED}.npz", write)


def text_folder() -> Path:
    """The folder of texts. Raises MissingData without it."""
    folder = SHARED / "text"
    if not (folder / "books_en.txt").is_file():
        raise MissingData("there is no folder shared/data/text next to the repository")
    return folder


def vocabs_folder() -> Path:
    """The folder of vocabularies. Raises MissingData without it."""
    if not (VOCABS / "gpt2_merges.txt").is_file():
        raise MissingData("there is no folder shared/data/vocabs next to the repository")
    return VOCABS


def head(path: Path, n_bytes: int) -> Path:
    """The first bytes of a text, up to a space or the end of a line, as a document with a separator at its end."""

    def write(target: Path) -> None:
        with open(path, "rb") as file:
            data = file.read(n_bytes)
        target.write_bytes(data[: max(data.rfind(b" "), data.rfind(b"\n"))] + SEPARATOR)

    return made(f"{path.stem}-{n_bytes}.txt", write)


def made(name: str, write: Callable[[Path], object]) -> Path:
    """The file of this name in the cache folder, written unless it is there."""
    path = cache_folder() / (f"trial-{name}" if TRIAL else name)
    if not path.exists():
        with unfinished(path) as target:
            write(target)
    return path


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A name to write to, which becomes `path` if all goes well."""
    target = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield target
        os.replace(target, path)
    finally:
        target.unlink(missing_ok=True)
