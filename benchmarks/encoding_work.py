"""How each library encodes a file with a known vocabulary: a class for each library or way to use it, with one interface.

Two ways that differ only in a number or in their input are one class with different settings, see LIBRARIES.

Nothing here imports NumPy before a library does: it is a part of the time to import the library.
"""

from __future__ import annotations

import base64
import importlib
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.corpora import TRIAL
from benchmarks.digests import ids_digest
from benchmarks.training_work import SEPARATOR, documents

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

IDS_AT_ONCE = 1 << 22
AVX2 = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}  # kernels for a processor without AVX-512


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
# GPT-2's tokens with other split patterns.
PATTERNS = {
    "deepseek3": "deepseek3",
    "tekken": "tekken",
    "kimi-k2": "kimi-k2",
    "words": r"\w+|\W",
    "letters and digits": r"[A-Za-z]+| ?\d{1,3}|\s+|[^\s\w]+",
}
# One that has no automaton, so that `regex` splits each new piece.
BY_REGEX = {"look-behind": r"(?<=\p{L})'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"}
VOCABULARIES |= {name: Vocabulary("r50k_base.tiktoken", pattern, 50256) for name, pattern in (PATTERNS | BY_REGEX).items()}


N_SHORT, SHORT_CHARACTERS = 2_000 if TRIAL else 100_000, 200  # documents of a batch, and their length


def plain_text(path: str) -> str:
    """A text without separators, as not every function of every library recognises them."""
    return Path(path).read_text(encoding="utf-8").replace(SEPARATOR, "\n")


def plain_bytes(path: str) -> bytes:
    """The same as bytes."""
    return plain_text(path).encode()


def short_documents(path: str) -> list[str]:
    """Documents of equal length from a text, without separators."""
    text = plain_text(path)
    return [text[SHORT_CHARACTERS * i : SHORT_CHARACTERS * (i + 1)] for i in range(N_SHORT)]


class Encoding(ABC):
    """A library that encodes. Making the object imports the library, and nothing else.

    Settings replace attributes of the class.
    """

    library: str  # the module to import
    environment: Mapping[str, str] = {}  # variables to set before that

    def __init__(self, folder: str, vocabulary: str = "gpt2", **settings: Any) -> None:
        for name, setting in settings.items():
            getattr(self, name)  # a misspelled one is an error
            setattr(self, name, setting)
        self.folder = folder
        self.vocabulary = VOCABULARIES[vocabulary]
        os.environ.update(self.environment)
        self.module: Any = importlib.import_module(self.library)

    def look_up_regexes(self) -> None:  # noqa: B027 (nothing to do in most)
        """Take the regexes of the split pattern from nbbpe, for a library that must be told them; not timed."""

    @abstractmethod
    def load_vocabulary(self, vocabs: Path) -> None:
        """Make the tokenizer; timed, but not as a part of the work."""

    def prepare(self, path: str) -> Any:
        """The argument of `encode`; not timed. Here the path."""
        return path

    @abstractmethod
    def encode(self, prepared: Any) -> Any:
        """The work that is timed."""

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        """The ids in the result of `encode`, in parts. Here it is a list with the ids of each document."""
        return result

    def held_bytes(self, prepared: Any, result: Any) -> int:
        """The bytes of input and ids that must be in memory."""
        return 0

    def facts(self, result: Any) -> dict[str, Any]:
        """The facts that are compared between libraries."""
        return ids_digest(self.ids(result), self.vocabulary.separator_id)


class Nbbpe(Encoding):
    """From text file to finished file of ids, in threads."""

    library = "nbbpe"
    workers: int | None = None

    def load_vocabulary(self, vocabs: Path) -> None:
        ranks, pattern, separator_id = self.vocabulary
        if pattern == "gpt2":
            self.tokenizer = self.module.Tokenizer.from_files(
                vocabs / "gpt2_vocab.json", vocabs / "gpt2_merges.txt", special_tokens=[SEPARATOR]
            )
        else:
            self.tokenizer = self.module.Tokenizer.from_tiktoken(vocabs / ranks, pattern, {SEPARATOR: separator_id})

    def encode(self, prepared: Any) -> Any:
        ids_path = os.path.join(self.folder, "ids.bin")
        self.tokenizer.encode_file(prepared, ids_path, workers=self.workers)
        return ids_path

    def ids(self, result: Any) -> Iterator[ArrayLike]:
        import numpy as np

        ids = np.memmap(result, dtype=self.tokenizer.dtype.newbyteorder("<"), mode="r")
        for start in range(0, len(ids), IDS_AT_ONCE):
            yield ids[start : start + IDS_AT_ONCE]


class Alone(Nbbpe):
    """No tokenizer, only the least work to read a file. It has no ids."""

    def facts(self, result: Any) -> dict[str, Any]:
        return {}


class ZlibAlone(Alone):
    """Decompression by Python's zlib."""

    def encode(self, prepared: Any) -> Any:
        import zlib

        inflater = zlib.decompressobj(31)
        with open(prepared, "rb") as file:
            while block := file.read(1 << 16):
                inflater.decompress(block)


class GzipAlone(Alone):
    """Decompression by the program gzip."""

    def encode(self, prepared: Any) -> Any:
        subprocess.run(["gzip", "-dc", prepared], stdout=subprocess.DEVNULL, check=True)


class ZstdAlone(Alone):
    """Decompression of all frames of a file by the library zstandard."""

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
    """From bytes or a str in memory to an array, in one thread."""

    num_threads: int | None = 1

    def prepare(self, path: str) -> Any:
        return Path(path).read_bytes()

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_array(prepared, num_threads=self.num_threads)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return [result]

    def held_bytes(self, prepared: Any, result: Any) -> int:
        return sys.getsizeof(prepared) + result.nbytes


class NbbpeRegex(NbbpeArray):
    """The same, with each new piece split by `regex`."""

    def load_vocabulary(self, vocabs: Path) -> None:
        super().load_vocabulary(vocabs)
        self.tokenizer = self.tokenizer._splitting_with("regex")


class NbbpeBatch(NbbpeArray):
    """From a list of many short documents, str, to one array, in threads."""

    num_threads = None
    prepare = staticmethod(short_documents)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch_flat(prepared, num_threads=self.num_threads)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return [result[0]]

    def held_bytes(self, prepared: Any, result: Any) -> int:
        return sum(map(sys.getsizeof, prepared)) + sys.getsizeof(prepared) + sum(array.nbytes for array in result)


class NbbpeArrow(NbbpeBatch):
    """The same documents, from an Arrow array to an Arrow array of lists."""

    def prepare(self, path: str) -> Any:
        import numpy as np
        import pyarrow

        # Not pyarrow.array(list): its growing buffers leave 70 MB of memory that is neither input nor our work.
        documents = [document.encode() for document in super().prepare(path)]
        offsets = np.cumsum([0, *map(len, documents)], dtype=np.int32)
        return pyarrow.StringArray.from_buffers(
            len(documents), pyarrow.py_buffer(offsets), pyarrow.py_buffer(b"".join(documents))
        )

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_arrow(prepared)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return [result.values.to_numpy()]

    def held_bytes(self, prepared: Any, result: Any) -> int:
        return prepared.nbytes + result.nbytes


class NbbpeOpenFile(NbbpeArray):
    """From a file to an array, in one thread: opening and reading the file is timed, too."""

    prepare = Encoding.prepare

    def encode(self, prepared: Any) -> Any:
        with open(prepared, "rb") as file:
            return self.tokenizer.encode_array(file)

    def held_bytes(self, prepared: Any, result: Any) -> int:
        return result.nbytes


class Told(Encoding):
    """A library that must be told the regexes of the split pattern."""

    def look_up_regexes(self) -> None:
        from nbbpe.patterns.pattern_argument import get_pattern

        self.regexes = get_pattern(self.vocabulary.pattern).regexes


class Tiktoken(Told):
    """From documents in memory, without separators, to lists of ids, in one thread for each processor."""

    library = "tiktoken"
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def load_vocabulary(self, vocabs: Path) -> None:
        file, pattern, separator_id = self.vocabulary
        (regex,) = self.regexes
        lines = (line.split() for line in (vocabs / file).read_bytes().splitlines())
        self.tokenizer = self.module.Encoding(
            pattern,
            pat_str=regex,
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
            special_tokens={SEPARATOR: separator_id},
        )

    def prepare(self, path: str) -> Any:
        return list(documents(path))

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_ordinary_batch(prepared, num_threads=self.n_threads)


class TiktokenSpecial(Tiktoken):
    """The same, but documents keep their separators, which are recognised."""

    def prepare(self, path: str) -> Any:
        return [document + SEPARATOR for document in documents(path)]

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch(prepared, num_threads=self.n_threads, allowed_special={SEPARATOR})


class TiktokenOneThread(Tiktoken):
    """`encode_ordinary`, document after document."""

    def encode(self, prepared: Any) -> Any:
        return [self.tokenizer.encode_ordinary(document) for document in prepared]


class TiktokenStr(Tiktoken):
    """From a str in memory, without separators, to a list: `encode_ordinary`."""

    prepare = staticmethod(plain_text)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_ordinary(prepared)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return [result]


class Gigatoken(Encoding):
    """From a file to an awkward array of rows in memory, in threads; gigatoken itself splits documents at the separator."""

    library = "gigatoken"
    parallel = True

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

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        import awkward

        return [awkward.to_numpy(awkward.flatten(result))]


class GigatokenWritten(Gigatoken):
    """The same, with the ids written to a file as uint16, which is timed, too."""

    def encode(self, prepared: Any) -> Any:
        rows = super().encode(prepared)
        path = os.path.join(self.folder, "ids.bin")
        (flat,) = super().ids(rows)
        flat.astype("<u2").tofile(path)
        return path

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        import numpy as np

        return [np.memmap(result, dtype="<u2", mode="r")]


class GigatokenStr(Gigatoken):
    """From a str or bytes in memory, without separators, to an array: `encode`."""

    prepare = staticmethod(plain_text)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode(prepared)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return [result]


class GigatokenBatch(Gigatoken):
    """From a list of many short documents, str, to an awkward array of rows, in threads."""

    prepare = staticmethod(short_documents)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch(prepared, parallel=self.parallel)


class TokenizersOneThread(Told):
    """Hugging Face, by its fastest way (without offsets): document after document in memory, to lists of ids."""

    library = "tokenizers"
    environment: Mapping[str, str] = {"TOKENIZERS_PARALLELISM": "false"}

    def load_vocabulary(self, vocabs: Path) -> None:
        model = self.module.models.BPE.from_file(str(vocabs / "gpt2_vocab.json"), str(vocabs / "gpt2_merges.txt"))
        self.tokenizer = self.module.Tokenizer(model)
        splits = self.module.pre_tokenizers
        byte_level = splits.ByteLevel(add_prefix_space=False)
        if self.vocabulary.pattern != "gpt2":
            parts = [splits.Split(self.module.Regex(each), "isolated") for each in self.regexes]
            byte_level = splits.Sequence([*parts, splits.ByteLevel(add_prefix_space=False, use_regex=False)])
        self.tokenizer.pre_tokenizer = byte_level

    def prepare(self, path: str) -> Any:
        return list(documents(path))

    def encode(self, prepared: Any) -> Any:
        return [self.tokenizer.encode_batch_fast([document])[0].ids for document in prepared]


class TokenizersBatch(TokenizersOneThread):
    """Many short documents in one call, in threads, without offsets."""

    environment: Mapping[str, str] = {"TOKENIZERS_PARALLELISM": "true"}
    prepare = staticmethod(short_documents)

    def encode(self, prepared: Any) -> Any:
        return self.tokenizer.encode_batch_fast(prepared)

    def ids(self, result: Any) -> Iterable[ArrayLike]:
        return (encoding.ids for encoding in result)


LIBRARIES: dict[str, Callable[..., Encoding]] = {
    "nbbpe": Nbbpe,
    "tiktoken": Tiktoken,
    "tiktoken-special": TiktokenSpecial,
    "gigatoken": Gigatoken,
    "gigatoken-written": GigatokenWritten,
    "nbbpe-two-workers": partial(Nbbpe, workers=2),
    "nbbpe-one-worker": partial(Nbbpe, workers=1),
    "nbbpe-zlib": ZlibAlone,
    "nbbpe-gzip": GzipAlone,
    "nbbpe-zstandard": ZstdAlone,
    "nbbpe-pyarrow": PyarrowAlone,
    "nbbpe-one-thread": NbbpeArray,
    "nbbpe-two-threads": partial(NbbpeArray, num_threads=2),
    "nbbpe-str": partial(NbbpeArray, prepare=plain_text),
    "nbbpe-str-bytes": partial(NbbpeArray, prepare=plain_bytes),
    "nbbpe-avx2": partial(NbbpeArray, prepare=plain_bytes, environment=AVX2),
    "nbbpe-batch": NbbpeBatch,
    "nbbpe-batch-one-thread": partial(NbbpeBatch, num_threads=1),
    "nbbpe-arrow": NbbpeArrow,
    "gigatoken-str": GigatokenStr,
    "gigatoken-bytes": partial(GigatokenStr, prepare=plain_bytes),
    "gigatoken-batch": GigatokenBatch,
    "gigatoken-batch-one-thread": partial(GigatokenBatch, parallel=False),
    "tiktoken-str": TiktokenStr,
    "tiktoken-batch": partial(Tiktoken, prepare=short_documents),
    "tokenizers-batch": TokenizersBatch,
    "nbbpe-regex-one-thread": NbbpeRegex,
    "nbbpe-one-thread-file": NbbpeOpenFile,
    "tiktoken-one-thread": TiktokenOneThread,
    "gigatoken-one-thread": partial(Gigatoken, parallel=False),
    "tokenizers-one-thread": TokenizersOneThread,
}


def first_use(encoding: Encoding, tiny: str) -> None:
    """A first encoding, of a tiny file, so that everything is loaded and threads have started."""
    encoding.encode(encoding.prepare(tiny))
    # The timed work makes new files: to replace one, the file system waits for its disk, about 10 ms for any library.
    for output in Path(encoding.folder).glob("ids.bin*"):
        output.unlink()
