"""Recognises the format of a tokenizer (a folder, a file, two files, or an object of another library), and reads it."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ..model.model import Model
from ..system.git_lfs import IS_LFS_POINTER, LFS_POINTER
from ..system.paths import Path, check_tokenizer_file, is_url, not_meant
from .known_names import encoding_of_model, found_by_name
from .shared.objects import is_encoding, is_tokenizer
from .shared.owners import ABOUT, OWN_NAMES, find_owner

Kind = Literal["nbbpe", "huggingface", "tiktoken", "tekken", "gpt2", "minbpe", "sentencepiece"]

_KNOWN_PATHS = (
    "a folder that Tokenizer.save wrote (nbbpe.json), Hugging Face's tokenizer.json, a .tiktoken file, Mistral's "
    "tekken.json, GPT-2's vocab.json with merges.txt beside it, a folder with one of these, minbpe's or sentencepiece's "
    ".model, the name of an encoding of tiktoken's (cl100k_base) or of a model (org/model)"
)
_KNOWN = (
    f"{_KNOWN_PATHS}; vocab.json and merges.txt as a pair of paths, or an object of tokenizers, transformers or tiktoken"
)
# The ends of the names of GPT-2's two files: the usual names, and OpenAI's.
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]+=* \d+\r?\n")
_MINBPE = b"minbpe v"  # the beginning of minbpe's first line
_SENTENCEPIECE = re.compile(rb"\n.\n.<", re.DOTALL)  # the beginning of a sentencepiece model: a piece such as <unk>
# Files that users often give by mistake: their beginnings, and what to say about them.
_OTHERS = (
    (
        re.compile(rb"\d+ b?['\"].*['\"] \d+\r?\n"),
        "is a vocabulary of RWKV, whose tokenizer takes the longest token that fits and merges nothing, so it is not BPE",
    ),
    (re.compile(rb"\{.*\}\r?\n\s*\{"), "holds JSON lines, as a file of texts does"),
    (re.compile(rb"GGUF"), "is a model in GGUF: give the tokenizer.json of the model that it was made from"),
    (re.compile(rb"\x80[\x02-\x05]"), "is a pickle, which can run any code: if you trust it, give nbbpe.load the object"),
)

# The modules that read the formats. Each is imported when it is needed, as most processes read one format.
_READERS: dict[Kind, str] = {
    "nbbpe": "nbbpe_folder.folder",
    "huggingface": "tokenizer_json.reading",
    "tiktoken": "ranks.tiktoken",
    "tekken": "ranks.tekken",
    "gpt2": "vocab_json.gpt2",
    "minbpe": "minbpe",
    "sentencepiece": "sentencepiece",
}
# The modules that also read the other files of transformers in the same folder.
_READERS_OF_FOLDERS: dict[Kind, str] = {
    "huggingface": "transformers_folder.with_json",
    "gpt2": "transformers_folder.two_files",
    "sentencepiece": "sentencepiece_folder",
}


class Recognised(NamedTuple):
    """A format, and the arguments of its reader.

    beside : whether other files of transformers in the same folder count, too, because the user gave the folder
    """

    kind: Kind
    sources: tuple[Any, ...]
    beside: bool = False


def read_model(source: object, check: bool = True) -> Model:
    """See nbbpe.load."""
    found = recognised(source)
    readers = _READERS | _READERS_OF_FOLDERS if found.beside else _READERS
    read: Callable[..., Model] = importlib.import_module(f"{__package__}.{readers[found.kind]}").read_model
    return read(*found.sources, check) if found.kind == "nbbpe" else read(*found.sources)


def recognised(source: object) -> Recognised:
    """Find out the format of a tokenizer.

    Raises FileNotFoundError for a missing path or a folder without a known file, ValueError for an unknown file, and
    TypeError for an unknown object. The messages list what nbbpe knows.
    """
    if is_encoding(source):
        return Recognised("tiktoken", (source,))
    if is_tokenizer(source):
        return Recognised("huggingface", (source,))
    if (
        isinstance(source, (tuple, list))
        and len(source) == 2
        and all(isinstance(path, (str, os.PathLike)) for path in source)
    ):
        return Recognised("gpt2", tuple(source))
    if not isinstance(source, (str, os.PathLike)):
        first = source[0] if isinstance(source, (tuple, list)) and source else source
        is_vocab = isinstance(first, dict)
        hint = " (nbbpe.Tokenizer(vocab, merges, special_tokens) makes one from its parts)" if is_vocab else ""
        raise TypeError(f"{type(source).__name__} is not a tokenizer that nbbpe knows{hint}; it knows {_KNOWN}")
    if os.path.isdir(source):
        return _in_folder(source)
    if not os.path.exists(source):
        known = found_by_name(source) if isinstance(source, str) else None
        if known is not None:
            return recognised(known)._replace(beside=not is_encoding(known))
        name = os.fspath(source)
        if is_url(name):
            raise FileNotFoundError(
                f"{name!r} is a URL, and a tokenizer is read from files on this machine: download it first (of a model on "
                "Hugging Face's hub, give the name, such as 'org/model')"
            )
        # The name of an OpenAI model is only a hint: tiktoken knows models by prefixes, which a missing folder may have.
        encoding = encoding_of_model(source) if isinstance(source, str) else None
        hint = f" (if you mean the model, give the name of its encoding, {encoding!r})" if encoding else not_meant(name)
        raise FileNotFoundError(f"{name!r} is missing{hint}; a tokenizer is {_KNOWN_PATHS}")
    return _file(source)


def _like_tekken(name: str) -> bool:
    """Whether a file name is like Mistral's, such as tekken.json or tekken_240911.json."""
    return name.startswith("tekken") and name.endswith(".json")


def _in_folder(path: Path) -> Recognised:
    """The format in a folder. Formats that hold more come first: a folder may have others for older programs."""
    folder = os.fspath(path)
    names = sorted(map(os.fsdecode, os.listdir(folder)))  # for a NumPy str, os.listdir returns bytes
    if ABOUT in names:
        return Recognised("nbbpe", (folder,))
    if "tokenizer.json" in names:
        return Recognised("huggingface", (os.path.join(folder, "tokenizer.json"),), beside=True)
    tekken_names = [name for name in names if _like_tekken(name)]
    if len(tekken_names) == 1:
        return Recognised("tekken", (os.path.join(folder, tekken_names[0]),))
    ranks = [name for name in names if name.endswith(".tiktoken")]
    if len(ranks) == 1:
        return Recognised("tiktoken", (os.path.join(folder, ranks[0]),))
    for pair in _PAIRS:
        if set(pair) <= set(names):
            return Recognised("gpt2", tuple(os.path.join(folder, name) for name in pair), beside=True)
    for name in "tokenizer.model", "tiktoken.model":  # ranks, as Llama 3's, or of sentencepiece
        if name in names:
            return _file(os.path.join(folder, name))._replace(beside=True)
    several, several_tekken = (f" (but {len(each)}: name the file)" if each else "" for each in (ranks, tekken_names))
    raise FileNotFoundError(
        f"{folder!r} has no nbbpe.json (so no tokenizer was saved there by Tokenizer.save), no tokenizer.json, not one "
        f"tekken.json{several_tekken}, not one .tiktoken file{several}, and no vocab.json with merges.txt"
    )


def _file(path: Path) -> Recognised:
    """The format of a file, by its name or its first bytes."""
    name = os.fspath(path)
    check_tokenizer_file(path)
    with open(path, "rb") as file:
        start = file.read(1 << 12)
    if start.startswith(LFS_POINTER):
        raise ValueError(f"{name}: {IS_LFS_POINTER}")
    if name.endswith(".tiktoken") or _RANK_LINE.match(start):
        return Recognised("tiktoken", (name,))
    if start.startswith(_MINBPE):
        return Recognised("minbpe", (name,))
    if _SENTENCEPIECE.match(start):
        return Recognised("sentencepiece", (name,))
    # The vocab.json and merges.txt of nbbpe's folder do not hold everything, so the whole folder is read.
    if find_owner(name, (ABOUT, *OWN_NAMES)):
        return Recognised("nbbpe", (os.path.dirname(name),))
    for vocab, merges in _PAIRS:
        if name.endswith((vocab, merges)):
            # A prefix ("gpt2-vocab.json") is in both names.
            stem = name.removesuffix(vocab).removesuffix(merges)
            if os.path.exists(stem + vocab) and os.path.exists(stem + merges):
                # A user who gives one of the two means the folder; one who gives both means only these files.
                return Recognised("gpt2", (stem + vocab, stem + merges), beside=True)
            missing = stem + (merges if name.endswith(vocab) else vocab)
            raise FileNotFoundError(
                f"{name!r} is one of GPT-2's two files, and {missing!r} is not there; give both to nbbpe.load as a pair"
            )
    if b'"default_num_special_tokens"' in start or (_like_tekken(os.path.basename(name)) and b'"model"' not in start):
        return Recognised("tekken", (name,))
    mistake = next((message for begin, message in _OTHERS if begin.match(start)), None)
    if mistake is None and (name.endswith(".json") or start.lstrip().startswith(b"{")):
        return Recognised("huggingface", (name,))
    raise ValueError(f"{name!r} {mistake or 'is neither JSON nor a file of ranks'}; a tokenizer is {_KNOWN_PATHS}")
