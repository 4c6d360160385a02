"""How each library encodes a file with the GPT-2 vocabulary: one class a library, all with the same face."""

from __future__ import annotations

import base64
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.digests import ids_digest
from benchmarks.training_work import SEPARATOR, documents

SEPARATOR_ID = 50256
IDS_AT_ONCE = 1 << 22


class Encoding(ABC):
    """A library that encodes. Making the object imports the library, and nothing else."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @abstractmethod
    def load_vocabulary(self, vocabs: Path) -> None:
        """Make the tokenizer; not timed."""

    @abstractmethod
    def prepare(self, path: str) -> Any:
        """What `encode` gets; not timed."""

    @abstractmethod
    def encode(self, prepared: Any) -> Any:
        """The work that is timed."""

    @abstractmethod
    def ids(self, result: Any) -> Iterable[ArrayLike]:
        """The ids of what `encode` returned, in parts."""

    def facts(self, result: Any) -> dict[str, Any]:
        """What is compared between libraries."""
        return ids_digest(self.ids(result), SEPARATOR_ID)


class Nbbpe(Encoding):
    """From text file to finished file of ids, in processes."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import nbbpe

        self.module = nbbpe

    def load_vocabulary(self, vocabs: Path) -> None:
        self.tokenizer = self.module.Tokenizer.from_files(
            vocabs / "gpt2_vocab.json", vocabs / "gpt2_merges.txt", special_tokens=[SEPARATOR]
        )

    def prepare(self, path: str) -> Any:
        return path

    def encode(self, prepared: Any) -> Any:
        ids_path = os.path.join(self.folder, "ids.bin")
        self.tokenizer.encode_file(prepared, ids_path)
        return ids_path

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        ids = np.memmap(result, dtype="<u2", mode="r")
        for start in range(0, len(ids), IDS_AT_ONCE):
            yield ids[start : start + IDS_AT_ONCE]


class NbbpeArray(Nbbpe):
    """From a str in memory to an array, in one thread."""

    def prepare(self, path: str) -> Any:
        return Path(path).read_bytes().decode()

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_array(prepared)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result


class Tiktoken(Encoding):
    """From documents in memory, without separators, to lists of ids, in one thread for each processor."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import tiktoken

        self.module = tiktoken
        self.n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def load_vocabulary(self, vocabs: Path) -> None:
        from tiktoken_ext.openai_public import r50k_pat_str

        lines = (line.split() for line in (vocabs / "r50k_base.tiktoken").read_bytes().splitlines())
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        self.tokenizer = self.module.Encoding(
            "gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={SEPARATOR: SEPARATOR_ID}
        )

    def prepare(self, path: str) -> Any:
        return list(documents(path))

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_ordinary_batch(prepared, num_threads=self.n_threads)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return result


class TiktokenSpecial(Tiktoken):
    """The same, with each document's separator left in and recognised."""

    def prepare(self, path: str) -> Any:
        return [document + SEPARATOR for document in documents(path)]

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch(prepared, num_threads=self.n_threads, allowed_special={SEPARATOR})


class TiktokenOneThread(Tiktoken):
    """`encode_ordinary`, document after document."""

    def encode(self, prepared: Any) -> Any:
        return [self.tokenizer.encode_ordinary(document) for document in prepared]


class Gigatoken(Encoding):
    """From a file to an awkward array of rows in memory, in threads; it splits documents at the separator by itself."""

    parallel = True

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        import gigatoken

        self.module = gigatoken

    def load_vocabulary(self, vocabs: Path) -> None:
        self.tokenizer = self.module.Tokenizer.from_tiktoken(vocabs / "r50k_base.tiktoken")

    def prepare(self, path: str) -> Any:
        return self.module.TextFileSource([path], separator=SEPARATOR)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_files(prepared, parallel=self.parallel)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        import awkward

        yield awkward.to_numpy(awkward.flatten(result))


class GigatokenOneThread(Gigatoken):
    parallel = False


LIBRARIES: dict[str, type[Encoding]] = {
    "nbbpe": Nbbpe,
    "tiktoken": Tiktoken,
    "tiktoken-special": TiktokenSpecial,
    "gigatoken": Gigatoken,
    "nbbpe-one-thread": NbbpeArray,
    "tiktoken-one-thread": TiktokenOneThread,
    "gigatoken-one-thread": GigatokenOneThread,
}


def first_use(encoding: Encoding) -> None:
    """A first tiny encoding, so that what a library loads late is loaded and its threads have started."""
    path = os.path.join(encoding.folder, "tiny.txt")
    with open(path, "w") as file:
        file.write(f"hello world{SEPARATOR}" * 2)
    encoding.encode(encoding.prepare(path))
