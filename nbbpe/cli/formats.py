"""The formats that the command writes, and how it reads a tokenizer: with options for what the file does not say."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from ..formats.recognise import recognised
from ..formats.vocab_json import gpt2
from ..loading import load
from ..patterns.pattern_argument import PatternLike
from ..system.atomic_files import made_folder
from ..system.paths import Path
from ..system.wrong_argument import WrongArgument
from ..tokenizer import Tokenizer


class Format(NamedTuple):
    """A format of files.

    name : the name in --to
    about : what is written, in a few words
    file : a wildcard for file names that imply this format if the user gives none; "" for a folder
    write : writes a tokenizer to a path, and returns the paths of the files it wrote; None if it wrote only this path
    has_special : whether special tokens are among the tokens that are written
    says_all : whether the format says which tokens are special, and what the split pattern is
    """

    name: str
    about: str
    file: str
    write: Callable[[Tokenizer, str], Sequence[str] | None]
    has_special: bool = True
    says_all: bool = True

    def n_tokens(self, tokenizer: Tokenizer) -> int:
        """How many tokens of a tokenizer are written."""
        return len(tokenizer) if self.has_special else len(tokenizer._model.ordinary)

    def moves_special(self, tokenizer: Tokenizer) -> bool:
        """Whether special tokens change their ids if they are given without ids, as with --special."""
        following = max(tokenizer._model.ordinary) + 1
        ids = sorted(tokenizer.special_tokens.values())
        return not self.has_special and ids != list(range(following, following + len(ids)))

    def unsaid(self, tokenizer: Tokenizer, written: Sequence[str]) -> list[str]:
        """The options that are needed to read the written files as this tokenizer again."""
        if self.says_all:
            return []
        with suppress(ValueError):  # raised if the files alone do not make a tokenizer
            again = load(written[0])
            if (again.pattern, again.special_tokens) == (tokenizer.pattern, tokenizer.special_tokens):
                return []
        special = sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.__getitem__)
        patterns = tokenizer.pattern if isinstance(tokenizer.pattern, list) else [tokenizer.pattern or "none"]
        return [*(f"--pattern={each}" for each in patterns), *(f"--special={token}" for token in special)]


def _write_gpt2(tokenizer: Tokenizer, path: str) -> Sequence[str]:
    """Write vocab.json and merges.txt. vocab.json has all tokens, but does not say which are special, nor the pattern."""
    folder = os.path.dirname(path) if os.path.basename(path) == "vocab.json" else path
    vocab_path, merges_path = (os.path.join(folder, name) for name in ("vocab.json", "merges.txt"))
    with made_folder(folder):
        tokenizer.save_gpt2(vocab_path, merges_path)
    return [vocab_path, merges_path]


def _write_huggingface(tokenizer: Tokenizer, path: str) -> Sequence[str]:
    target = path if path.endswith(".json") else os.path.join(path, "tokenizer.json")
    with made_folder(os.path.dirname(target)):
        tokenizer.to_hf(target)
    return [target]


# Without --to, the first format whose `file` matches the target's name is used. A .tiktoken file has only ranks: the
# program that reads it must know the special tokens and the pattern.
FORMATS = (
    Format("gpt2", "a folder with GPT-2's vocab.json and merges.txt", "vocab.json", _write_gpt2, says_all=False),
    Format("tekken", "Mistral's tekken.json", "tekken*.json", Tokenizer.save_tekken),
    Format("huggingface", "Hugging Face's tokenizer.json", "*.json", _write_huggingface),
    Format(
        "tiktoken", "tiktoken's ranks, x.tiktoken", "*.tiktoken", Tokenizer.save_tiktoken, has_special=False, says_all=False
    ),
    Format("nbbpe", "nbbpe's own folder, which keeps everything", "", Tokenizer.save),
)


def find_format(target: Path, name: str | None) -> Format:
    """Find a format by its name, or by the path of the target if `name` is None. Raises ValueError if there is none."""
    path = os.fspath(target)
    if not path:
        raise ValueError("'' is not the name of a file or folder to write")
    is_folder = os.path.isdir(path) or not os.path.splitext(path)[1]
    for each in FORMATS:
        matches = fnmatchcase(os.path.basename(path), each.file) if each.file else is_folder
        if each.name == name or (name is None and matches):
            return each
    known = ", ".join(f"{each.name} ({each.about})" for each in FORMATS)
    raise ValueError(f"{path!r} does not say in which format to write; the formats are {known}")


def says_no_pattern(path: Path) -> bool:
    """Whether the format of a tokenizer does not include the split pattern."""
    return recognised(path).kind in ("tiktoken", "gpt2")


def read_tokenizer(
    path: Path,
    special_tokens: Sequence[str] = (),
    pattern: PatternLike = None,
    normalizer: Literal["apply", "ignore"] = "apply",
) -> Tokenizer:
    """Read a tokenizer of any format that `nbbpe.load` reads.

    `special_tokens` and `pattern` are for files that do not hold them, GPT-2's and tiktoken's. A `pattern` of None is the
    format's default; for no splitting give the Pattern of None. `normalizer` is as in `Tokenizer.from_hf`. Raises
    ValueError if one is given for a file that it does not fit, and the errors of the formats.
    """
    name = os.fspath(path)
    found = recognised(path)
    if normalizer == "ignore" and found.kind != "huggingface":
        raise WrongArgument(f"{name!r} is not a tokenizer.json of Hugging Face, so it has no normalizer to ignore")
    if not special_tokens and pattern is None:
        if normalizer == "apply":
            return load(path)
        from ..formats.tokenizer_json import reading
        from ..formats.transformers_folder import with_json

        reader = with_json if found.beside else reading
        return Tokenizer._of(reader.read_model(found.sources[0], normalizer))
    if found.kind == "gpt2":
        vocab_path, merges_path = found.sources
        return Tokenizer._of(gpt2.read_model(vocab_path, merges_path, special_tokens or None, pattern or "gpt2"))
    if found.kind == "tiktoken":
        return Tokenizer.from_tiktoken(found.sources[0], pattern, special_tokens or None)
    raise WrongArgument(f"{name!r} says what its special tokens and its pattern are, so they cannot be given as options")
