"""How each library encodes a file with a known vocabulary: one class a library or way to use it, all with the same face.

Nothing here imports NumPy before a library does, whose time to import that is a part of.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.corpora import TRIAL
from benchmarks.digests import ids_digest
from benchmarks.training_work import SEPARATOR, documents

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

IDS_AT_ONCE = 1 << 22


class Vocabulary(NamedTuple):
    """A vocabulary that libraries can load: its rank file, the name of its split pattern, the id of its separator."""

    ranks: str
    pattern: str
    separator_id: int


VOCABULARIES = {
    "gpt2": Vocabulary("r50k_base.tiktoken", "gpt2", 50256),
    "cl100k": Vocabulary("cl100k_base.tiktoken", "cl100k", 100257),
    "o200k": Vocabulary("o200k_base.tiktoken", "o200k", 199999),
}
# GPT-2's tokens with other split patterns, which make other words of a text.
PATTERNS = {
    "deepseek3": "deepseek3",
    "tekken": "tekken",
    "kimi-k2": "kimi-k2",
    "words": r"\w+|\W",
    "letters and digits": r"[A-Za-z]+| ?\d{1,3}|\s+|[^\s\w]+",
}
VOCABULARIES |= {name: Vocabulary("r50k_base.tiktoken", pattern, 50256) for name, pattern in PATTERNS.items()}


N_SHORT, SHORT_CHARACTERS = 2_000 if TRIAL else 100_000, 200  # documents of a batch, and how long they are


def plain_text(path: str) -> str:
    """A text without separators, which not every call of every library knows."""
    return Path(path).read_text(encoding="utf-8").replace(SEPARATOR, "\n")


def short_documents(path: str) -> list[str]:
    """A text in pieces of equal length, without separators."""
    text = plain_text(path)
    return [text[SHORT_CHARACTERS * i : SHORT_CHARACTERS * (i + 1)] for i in range(N_SHORT)]


class Encoding(ABC):
    """A library that encodes. Making the object imports the library, and nothing else."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        self.folder = folder
        self.vocabulary = VOCABULARIES[vocabulary]

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

    def held_bytes(self, prepared: Any, result: Any) -> int:
        """What the input and the ids take where they are in memory, and nobody could do with less."""
        return 0

    def facts(self, result: Any) -> dict[str, Any]:
        """What is compared between libraries."""
        return ids_digest(self.ids(result), self.vocabulary.separator_id)


class Nbbpe(Encoding):
    """From text file to finished file of ids, in threads."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        super().__init__(folder, vocabulary)
        import nbbpe

        self.module = nbbpe

    def load_vocabulary(self, vocabs: Path) -> None:
        ranks, pattern, separator_id = self.vocabulary
        if pattern == "gpt2":
            self.tokenizer = self.module.Tokenizer.from_files(
                vocabs / "gpt2_vocab.json", vocabs / "gpt2_merges.txt", special_tokens=[SEPARATOR]
            )
        else:
            self.tokenizer = self.module.Tokenizer.from_tiktoken(vocabs / ranks, pattern, {SEPARATOR: separator_id})

    def prepare(self, path: str) -> Any:
        return path

    def encode(self, prepared: Any) -> Any:
        ids_path = os.path.join(self.folder, "ids.bin")
        self.tokenizer.encode_file(prepared, ids_path)
        return ids_path

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        import numpy as np

        ids = np.memmap(result, dtype=self.tokenizer.dtype.newbyteorder("<"), mode="r")
        for start in range(0, len(ids), IDS_AT_ONCE):
            yield ids[start : start + IDS_AT_ONCE]


class NbbpeTwoWorkers(Nbbpe):
    """The same in two threads."""

    def encode(self, prepared: Any) -> Any:
        ids_path = os.path.join(self.folder, "ids.bin")
        self.tokenizer.encode_file(prepared, ids_path, workers=2)
        return ids_path


class NbbpeOneWorker(Nbbpe):
    """The same in one thread."""

    def encode(self, prepared: Any) -> Any:
        ids_path = os.path.join(self.folder, "ids.bin")
        self.tokenizer.encode_file(prepared, ids_path, workers=1)
        return ids_path


class Alone(Nbbpe):
    """No library, but what reading a file takes at the least. It has no ids."""

    def facts(self, result: Any) -> dict[str, Any]:
        return {}


class ZlibAlone(Alone):
    """Python's zlib, which inflates."""

    def encode(self, prepared: Any) -> Any:
        import zlib

        inflater = zlib.decompressobj(31)
        with open(prepared, "rb") as file:
            while block := file.read(1 << 16):
                inflater.decompress(block)


class GzipAlone(Alone):
    """The program gzip."""

    def encode(self, prepared: Any) -> Any:
        subprocess.run(["gzip", "-dc", prepared], stdout=subprocess.DEVNULL, check=True)


class ZstdAlone(Alone):
    """The library zstandard, all frames of a file."""

    def encode(self, prepared: Any) -> Any:
        import zstandard

        buffer = bytearray(1 << 18)
        with open(prepared, "rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            while stream.readinto(buffer):
                pass


class PyarrowAlone(Alone):
    """pyarrow, which decodes the column of texts, row group by row group, in one thread."""

    def encode(self, prepared: Any) -> Any:
        import pyarrow.parquet

        file = pyarrow.parquet.ParquetFile(prepared)
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=["text"], use_threads=False)


class NbbpeArray(Nbbpe):
    """From bytes in memory to an array, in one thread."""

    def prepare(self, path: str) -> Any:
        return Path(path).read_bytes()

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_array(prepared, num_threads=1)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result

    def held_bytes(self, prepared: Any, result: Any) -> int:
        of_ids: int = result.nbytes
        return sys.getsizeof(prepared) + of_ids


class NbbpeRegex(NbbpeArray):
    """The same, with each new piece split by `regex`."""

    def load_vocabulary(self, vocabs: Path) -> None:
        super().load_vocabulary(vocabs)
        self.tokenizer = self.tokenizer._splitting_with("regex")


class NbbpeTwoThreads(NbbpeArray):
    """The same in two threads."""

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_array(prepared, num_threads=2)


class NbbpeStr(NbbpeArray):
    """From a str in memory, without separators, to an array, in one thread."""

    def prepare(self, path: str) -> Any:
        return plain_text(path)


class NbbpeStrBytes(NbbpeArray):
    """From the same as bytes."""

    def prepare(self, path: str) -> Any:
        return plain_text(path).encode()


class NbbpeAvx2(NbbpeStrBytes):
    """The same, in kernels for a processor without AVX-512."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        os.environ |= {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}  # before nbbpe is imported
        super().__init__(folder, vocabulary)


class NbbpeBatch(NbbpeArray):
    """From a list of many short documents, str, to one array, in threads."""

    def prepare(self, path: str) -> Any:
        return short_documents(path)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch_flat(prepared)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result[0]

    def held_bytes(self, prepared: Any, result: Any) -> int:
        of_ids: int = result[0].nbytes + result[1].nbytes
        return sum(map(sys.getsizeof, prepared)) + sys.getsizeof(prepared) + of_ids


class NbbpeBatchOneThread(NbbpeBatch):
    """The same in one thread."""

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch_flat(prepared, num_threads=1)


class NbbpeArrow(NbbpeBatch):
    """The same documents, from an Arrow array to an Arrow array of lists."""

    def prepare(self, path: str) -> Any:
        import numpy as np
        import pyarrow

        # Not pyarrow.array(list): its growing buffers leave 70 MB behind, which are no part of the input nor of our work.
        documents = [document.encode() for document in super().prepare(path)]
        offsets = np.cumsum([0, *map(len, documents)], dtype=np.int32)
        return pyarrow.StringArray.from_buffers(
            len(documents), pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"".join(documents))
        )

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_arrow(prepared)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result.values.to_numpy()

    def held_bytes(self, prepared: Any, result: Any) -> int:
        n_bytes: int = prepared.nbytes + result.nbytes
        return n_bytes


class NbbpeOpenFile(NbbpeArray):
    """From a file to an array, in one thread: the file is opened and read in the time that counts."""

    def prepare(self, path: str) -> Any:
        return path

    def encode(self, prepared: Any) -> Any:
        with open(prepared, "rb") as file:
            return self.tokenizer.encode_array(file)

    def held_bytes(self, prepared: Any, result: Any) -> int:
        of_ids: int = result.nbytes
        return of_ids


class Tiktoken(Encoding):
    """From documents in memory, without separators, to lists of ids, in one thread for each processor."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        super().__init__(folder, vocabulary)
        import tiktoken

        self.module = tiktoken
        self.n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def load_vocabulary(self, vocabs: Path) -> None:
        from nbbpe.text.pattern import get_pattern

        file, pattern, separator_id = self.vocabulary
        lines = (line.split() for line in (vocabs / file).read_bytes().splitlines())
        self.tokenizer = self.module.Encoding(
            pattern,
            pat_str=get_pattern(pattern).regex,
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
            special_tokens={SEPARATOR: separator_id},
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


class TiktokenBatch(Tiktoken):
    """Many short documents, to lists of ids."""

    def prepare(self, path: str) -> Any:
        return short_documents(path)


class TiktokenOneThread(Tiktoken):
    """`encode_ordinary`, document after document."""

    def encode(self, prepared: Any) -> Any:
        return [self.tokenizer.encode_ordinary(document) for document in prepared]


class TiktokenStr(Tiktoken):
    """From a str in memory, without separators, to a list: `encode_ordinary`."""

    def prepare(self, path: str) -> Any:
        return plain_text(path)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_ordinary(prepared)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result


class Gigatoken(Encoding):
    """From a file to an awkward array of rows in memory, in threads; it splits documents at the separator by itself."""

    parallel = True

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        super().__init__(folder, vocabulary)
        import gigatoken

        self.module = gigatoken

    def load_vocabulary(self, vocabs: Path) -> None:
        self.tokenizer = self.module.Tokenizer.from_tiktoken(vocabs / self.vocabulary.ranks)

    def prepare(self, path: str) -> Any:
        if path.endswith(".parquet"):
            return self.module.ParquetFileSource([path])
        if ".jsonl" in path:
            return self.module.JsonlFileSource([path])
        return self.module.TextFileSource([path], separator=SEPARATOR)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_files(prepared, parallel=self.parallel)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        import awkward

        yield awkward.to_numpy(awkward.flatten(result))


class GigatokenWritten(Gigatoken):
    """The same, and its ids written to a file as uint16, in the time that counts."""

    def encode(self, prepared: Any) -> Any:
        rows = super().encode(prepared)
        path = os.path.join(self.folder, "ids.bin")
        (flat,) = super().ids(rows)
        flat.astype("<u2").tofile(path)
        return path

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        import numpy as np

        yield np.memmap(result, dtype="<u2", mode="r")


class GigatokenOneThread(Gigatoken):
    parallel = False


class GigatokenStr(Gigatoken):
    """From a str in memory, without separators, to an array: `encode`."""

    def prepare(self, path: str) -> Any:
        return plain_text(path)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode(prepared)

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        yield result


class GigatokenBytes(GigatokenStr):
    """The same from bytes."""

    def prepare(self, path: str) -> Any:
        return plain_text(path).encode()


class GigatokenBatch(Gigatoken):
    """From a list of many short documents, str, to an awkward array of rows, in threads."""

    def prepare(self, path: str) -> Any:
        return short_documents(path)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch(prepared, parallel=self.parallel)


class GigatokenBatchOneThread(GigatokenBatch):
    parallel = False


class TokenizersOneThread(Encoding):
    """Hugging Face, by its fastest way (without offsets): document after document in memory, to lists of ids."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        super().__init__(folder, vocabulary)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        import tokenizers

        self.module = tokenizers

    def load_vocabulary(self, vocabs: Path) -> None:
        model = self.module.models.BPE.from_file(str(vocabs / "gpt2_vocab.json"), str(vocabs / "gpt2_merges.txt"))
        self.tokenizer = self.module.Tokenizer(model)
        splits = self.module.pre_tokenizers
        byte_level = splits.ByteLevel(add_prefix_space=False)
        if self.vocabulary.pattern != "gpt2":
            from nbbpe.text.pattern import get_pattern

            regexes = get_pattern(self.vocabulary.pattern).regexes
            parts = [splits.Split(self.module.Regex(each), "isolated") for each in regexes]
            byte_level = splits.Sequence([*parts, splits.ByteLevel(add_prefix_space=False, use_regex=False)])
        self.tokenizer.pre_tokenizer = byte_level

    def prepare(self, path: str) -> Any:
        return list(documents(path))

    def encode(self, prepared: Any) -> Any:
        return [self.tokenizer.encode_batch_fast([document])[0].ids for document in prepared]

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return result


class TokenizersBatch(TokenizersOneThread):
    """Many short documents in one call, in threads, without offsets."""

    def __init__(self, folder: str, vocabulary: str = "gpt2") -> None:
        super().__init__(folder, vocabulary)
        os.environ["TOKENIZERS_PARALLELISM"] = "true"

    def prepare(self, path: str) -> Any:
        return short_documents(path)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch_fast(prepared)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return (encoding.ids for encoding in result)


LIBRARIES: dict[str, type[Encoding]] = {
    "nbbpe": Nbbpe,
    "tiktoken": Tiktoken,
    "tiktoken-special": TiktokenSpecial,
    "gigatoken": Gigatoken,
    "gigatoken-written": GigatokenWritten,
    "nbbpe-two-workers": NbbpeTwoWorkers,
    "nbbpe-one-worker": NbbpeOneWorker,
    "nbbpe-zlib": ZlibAlone,
    "nbbpe-gzip": GzipAlone,
    "nbbpe-zstandard": ZstdAlone,
    "nbbpe-pyarrow": PyarrowAlone,
    "nbbpe-one-thread": NbbpeArray,
    "nbbpe-two-threads": NbbpeTwoThreads,
    "nbbpe-str": NbbpeStr,
    "nbbpe-str-bytes": NbbpeStrBytes,
    "nbbpe-avx2": NbbpeAvx2,
    "nbbpe-batch": NbbpeBatch,
    "nbbpe-batch-one-thread": NbbpeBatchOneThread,
    "nbbpe-arrow": NbbpeArrow,
    "gigatoken-str": GigatokenStr,
    "gigatoken-bytes": GigatokenBytes,
    "gigatoken-batch": GigatokenBatch,
    "gigatoken-batch-one-thread": GigatokenBatchOneThread,
    "tiktoken-str": TiktokenStr,
    "tiktoken-batch": TiktokenBatch,
    "tokenizers-batch": TokenizersBatch,
    "nbbpe-regex-one-thread": NbbpeRegex,
    "nbbpe-one-thread-file": NbbpeOpenFile,
    "tiktoken-one-thread": TiktokenOneThread,
    "gigatoken-one-thread": GigatokenOneThread,
    "tokenizers-one-thread": TokenizersOneThread,
}


def first_use(encoding: Encoding, tiny: str) -> None:
    """A first encoding, of a tiny file, so that what is loaded late is loaded and threads have started."""
    encoding.encode(encoding.prepare(tiny))
    # What is timed makes new files: to replace one, the file system waits for its disk, about 10 ms for any library.
    for output in Path(encoding.folder).glob("ids.bin*"):
        output.unlink()
