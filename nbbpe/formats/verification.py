# ruff: noqa: RUF001  (ambiguous characters are the point of the text)
"""Checks that a tokenizer gives the same ids for a text as the libraries that define its formats.

The tokenizer is written in each library's format, the library reads the file, and both encode the text.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from base64 import b64decode
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ..model.model import Model
from ..system.excerpt import shown
from ..system.paths import Path
from .ranks import tekken, tiktoken
from .ranks.tiktoken_package import tiktoken_package
from .tokenizer_json import writing

# Text that formats and patterns treat differently: whitespace, digits, apostrophes, marks, scripts, invisible characters.
HARD_TEXT = (
    "It's the first day, isn't it? They'LL say \"we've won\": 3,141.59 or 2,718!\n\n\n"
    "  def f(x):\n\t\treturn x  # half   \nNaïve façades — über-große Straßen; ¿qué pasa?  Добрый день 12345\r\n\r\n"
    "你好，世界。これはテストです。안녕 สวัสดี नमस्ते שָׁלוֹם مرحبا 🙂🙃 e\u0301\u0301 ½ Ⅷ ǅ"
    "\u00a0\u3000\u2028x/y//z 'tis 'S ﬁ\x00\x7f    "
)
_SHOWN = 40  # characters of the text around a difference

Encode = Callable[[str], list[int]]


class _Owner(NamedTuple):
    """A library that defines a format.

    package   : the package to import
    file      : the file name that the library expects
    write     : writes a model as that file
    read      : reads it with the library, and returns a function that encodes a text
    plain     : whether the library treats special tokens in a text as plain text
    """

    package: str
    file: str
    write: Callable[[Path, Model], None]
    read: Callable[[Model, Sequence[str]], Encode]
    plain: bool = False


def _read_hf(model: Model, paths: Sequence[str]) -> Encode:
    import tokenizers

    with open(paths[0], "rb") as file:  # the library cannot open a file whose name is not UTF-8
        theirs: Any = tokenizers.Tokenizer.from_buffer(file.read())
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _read_gpt2(model: Model, paths: Sequence[str]) -> Encode:
    """Read the two files with tokenizers. They hold neither pattern nor special tokens, so the model's are set."""
    import tokenizers

    with tempfile.TemporaryDirectory(prefix="nbbpe-verify-") as folder:  # where names are UTF-8, see above
        copies = [shutil.copy(path, folder) for path in paths]
        theirs: Any = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*copies))
    from .tokenizer_json.pretokenizers import write

    theirs.pre_tokenizer = _pre_tokenizer(write(model.pattern))
    theirs.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in model.special])
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _pre_tokenizer(part: dict[str, Any]) -> Any:
    """Make a pre_tokenizer object from JSON. tokenizers can only read it as a part of a whole tokenizer."""
    import json

    import tokenizers

    empty = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps({**empty, "pre_tokenizer": part})).pre_tokenizer


def _read_tiktoken(model: Model, paths: Sequence[str]) -> Encode:
    """Read a file of ranks for tiktoken. It holds neither pattern nor special tokens, so the model's are set.

    tiktoken's own load_tiktoken_bpe is not used: it caches a copy by path, and would read that copy again later, even if
    the path is another file then.
    """
    with open(paths[0], "rb") as file:
        ranks = {b64decode(token): int(rank) for token, rank in map(bytes.split, file)}
    theirs = tiktoken_package().Encoding(
        "verified",
        pat_str=tiktoken.split_regex(model.pattern),
        mergeable_ranks=ranks,
        special_tokens=model.special,
    )
    return lambda text: theirs.encode(text, allowed_special="all")


def _read_tekken(model: Model, paths: Sequence[str]) -> Encode:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    theirs: Any = Tekkenizer.from_file(paths[0])
    return lambda text: theirs.encode(text, bos=False, eos=False)


def _write_tiktoken(path: Path, model: Model) -> None:
    tiktoken.new_encoding("verified", model)  # refuses what the library cannot express though a file of ranks could
    tiktoken.write(path, model)


_OWNERS = {
    "huggingface": _Owner("tokenizers", "tokenizer.json", writing.write, _read_hf),
    "tiktoken": _Owner("tiktoken", "ranks.tiktoken", _write_tiktoken, _read_tiktoken),
    "tekken": _Owner("mistral_common", "tekken.json", tekken.write, _read_tekken, plain=True),
}
_READERS = {**_OWNERS, "gpt2": _OWNERS["huggingface"]._replace(read=_read_gpt2)}


def verify(model: Model, encode: Callable[..., list[int]], text: str | None) -> dict[str, str]:
    """See Tokenizer.verify; `encode` is the method of the tokenizer that has this model."""
    if text is not None and not isinstance(text, str):
        raise TypeError(f"text must be str, as other libraries take no other, not {type(text).__name__}")
    results: dict[str, str] = {}
    for owner in _OWNERS.values():
        if importlib.util.find_spec(owner.package) is None:
            results[owner.package] = "not installed"
            continue
        with tempfile.TemporaryDirectory(prefix="nbbpe-verify-") as folder:
            path = os.path.join(folder, owner.file)
            try:
                owner.write(path, model)
            except ValueError as error:
                results[owner.package] = f"cannot hold it: {error}"
                continue
            n_ids = _compare(model, encode, owner, [path], HARD_TEXT if text is None else text)
        results[owner.package] = f"equal ({n_ids:,} ids)"
    if not any(result.startswith("equal") for result in results.values()):
        found = "; ".join(f"{package}: {result}" for package, result in results.items())
        raise ValueError(f"no library could verify the ids: {found}")
    return results


def check_verifiable(format_name: str) -> None:
    """Raise ImportError if the library that defines a format, and so can verify written files, is missing."""
    owner = _READERS.get(format_name)  # None for nbbpe's own format
    if owner is not None and importlib.util.find_spec(owner.package) is None:
        name = owner.package.replace("_", "-")
        raise ImportError(f"{name} is needed to verify this format, and is not installed: pip install {name}")


def verify_written(model: Model, encode: Callable[..., list[int]], format_name: str, paths: Sequence[str]) -> str:
    """Compare the ids of HARD_TEXT with those of the library that defines the format of the written files.

    Returns a message about what was done. Raises ValueError for the first different id, ImportError without the library.
    """
    if format_name == "nbbpe":
        from .recognise import read_model

        if read_model(paths[0]) != model:
            raise ValueError(f"{paths[0]}: reading it again gives another tokenizer")
        return "read again: the same tokenizer"
    check_verifiable(format_name)
    owner = _READERS[format_name]
    n_ids = _compare(model, encode, owner, paths, HARD_TEXT)
    return f"{owner.package} gives the same {n_ids:,} ids"


def _compare(model: Model, encode: Callable[..., list[int]], owner: _Owner, paths: Sequence[str], text: str) -> int:
    """Compare the ids of a text, and return their number. Raises ValueError that shows the first different id."""
    ours = encode(text, allowed_special=() if owner.plain else "all", disallowed_special=())
    theirs = list(owner.read(model, paths)(text))
    if ours == theirs:
        return len(ours)
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, theirs, strict=False)))
    start = len(b"".join(map(model.vocab.__getitem__, ours[:place])).decode(errors="replace"))
    around = text[max(start - _SHOWN // 2, 0) : start + _SHOWN]
    raise ValueError(
        f"{owner.package} gives different ids from id {place:,} on (character {start:,}, in {shown(around)}): "
        f"{theirs[place : place + 5]}, and nbbpe {ours[place : place + 5]}"
    )
