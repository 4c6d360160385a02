"""How each library trains on a file: a class for each library, with one interface."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from benchmarks.digests import bytes_digest, merges_digest

SEPARATOR = "<|endoftext|>"
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
Merge = tuple[bytes, bytes]


def documents(path: str) -> Iterator[str]:
    """The documents of a file, without separators; the file is read in blocks, as a user with little memory would."""
    separator = SEPARATOR.encode()
    rest = b""
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            *whole, rest = (rest + block).split(separator)
            for document in whole:
                yield document.decode()
    if rest:
        yield rest.decode()


class Training(ABC):
    """A library that trains. Making the object imports the library, and nothing else."""

    library: str  # the module to import
    tie_breaks: tuple[str, ...] = ("default",)
    workers: int | None = None  # if the library takes a number of workers; None for its default

    def __init__(self, tie_break: str) -> None:
        self.tie_break = tie_break
        self.module: Any = importlib.import_module(self.library)

    @abstractmethod
    def train(self, path: str, vocab_size: int) -> Any:
        """The work that is timed: from a file to a trained tokenizer, in the form that the library has."""

    @abstractmethod
    def merges(self, result: Any) -> list[Merge] | None:
        """The merges in the result of `train`; None if the library does not return them."""

    def tokens(self, result: Any) -> list[bytes]:
        """The tokens that merges made, in order."""
        merges = self.merges(result)
        assert merges is not None
        return [left + right for left, right in merges]

    def facts(self, result: Any) -> dict[str, Any]:
        """The facts that are compared between libraries."""
        merges = self.merges(result)
        tokens = self.tokens(result)
        return {
            "n_merges": len(tokens),
            "digest": None if merges is None else merges_digest(merges),
            "tokens_digest": bytes_digest(tokens),
        }


class Nbbpe(Training):
    library = "nbbpe"
    tie_breaks = ("bytes", "ids", "huggingface")

    def train(self, path: str, vocab_size: int) -> Any:
        return self.module.train(path, vocab_size, [SEPARATOR], tie_break=self.tie_break, workers=self.workers)

    def merges(self, result: Any) -> list[Merge] | None:
        return result.merges


class Gigatoken(Training):
    """It gets a path, and splits documents at the special token itself."""

    library = "gigatoken"
    tie_breaks = ("huggingface", "raw_token_ids", "assembled_bytes")

    def train(self, path: str, vocab_size: int) -> Any:
        return self.module.train_bpe(path, vocab_size, [SEPARATOR], tie_breaking=self.tie_break)

    def merges(self, result: Any) -> list[Merge] | None:
        return result[1]


class Rustbpe(Training):
    """It has no special tokens, so it gets the documents between them and a vocabulary smaller by one."""

    library = "rustbpe"

    def train(self, path: str, vocab_size: int) -> Any:
        tokenizer = self.module.Tokenizer()
        tokenizer.train_from_iterator(documents(path), vocab_size - 1, pattern=GPT2_PATTERN)
        return tokenizer

    def merges(self, result: Any) -> list[Merge] | None:
        return None

    def tokens(self, result: Any) -> list[bytes]:
        ranks = sorted((rank, bytes(token)) for token, rank in result.get_mergeable_ranks())
        return [token for _, token in ranks[256:]]


class Tokenizers(Training):
    """Hugging Face. It gets documents: given a path, it would read line by line, and cut pretokens at the ends of lines."""

    library = "tokenizers"

    def __init__(self, tie_break: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        super().__init__(tie_break)

    def train(self, path: str, vocab_size: int) -> Any:
        tokenizer = self.module.Tokenizer(self.module.models.BPE())
        tokenizer.pre_tokenizer = self.module.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = self.module.trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[SEPARATOR],
            initial_alphabet=self.module.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        self.feed(tokenizer, path, trainer)
        return tokenizer

    def feed(self, tokenizer: Any, path: str, trainer: Any) -> None:
        """Train on the file."""
        tokenizer.train_from_iterator(documents(path), trainer)

    def merges(self, result: Any) -> list[Merge] | None:
        from nbbpe.model.byte_alphabet import byte_characters

        byte_of = {character: byte for byte, character in byte_characters().items()}
        return [
            (bytes(map(byte_of.__getitem__, left)), bytes(map(byte_of.__getitem__, right)))
            for left, right in json.loads(result.to_str())["model"]["merges"]
        ]


class TokenizersFile(Tokenizers):
    """The same, given a path: faster on long documents, but the result differs, so only the lengths are compared."""

    def feed(self, tokenizer: Any, path: str, trainer: Any) -> None:
        tokenizer.train([path], trainer)

    def facts(self, result: Any) -> dict[str, Any]:
        return super().facts(result) | {"digest": None, "tokens_digest": None}


LIBRARIES: dict[str, type[Training]] = {
    "nbbpe": Nbbpe,
    "gigatoken": Gigatoken,
    "rustbpe": Rustbpe,
    "tokenizers": Tokenizers,
    "tokenizers-file": TokenizersFile,
}


def first_use(training: Training, tiny: str) -> None:
    """A first training, on a tiny file, so that everything is loaded and threads have started."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        training.train(tiny, 260)
