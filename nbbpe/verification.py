# ruff: noqa: RUF001  (ambiguous characters are the point of the text)
"""Checks that a tokenizer gives the same ids for a text as the libraries that define its formats.

The tokenizer is written as each library's file, the library reads it, and both encode the text.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from .formats.tiktoken import split_regex
from .model.model import Model
from .system.excerpt import shown

# Text that formats and patterns treat differently: whitespace, digits, apostrophes, marks, scripts, invisible characters.
HARD_TEXT = (
    "It's the first day, isn't it? They'LL say \"we've won\": 3,141.59 or 2,718!\n\n\n"
    "  def f(x):\n\t\treturn x  # half   \nNaïve façades — über-große Straßen; ¿qué pasa?  Добрый день 12345\r\n\r\n"
    "你好，世界。これはテストです。안녕 สวัสดี नमस्ते שָׁלוֹם مرحبا 🙂🙃 e\u0301\u0301 ½ Ⅷ ǅ"
    "\u00a0\u3000\u2028x/y//z 'tis 'S ﬁ\x00\x7f    "
)
_SHOWN = 40  # characters of the text around a difference

Encode = Callable[[str], list[int]]


class Verified(Protocol):
    """What verification needs of a Tokenizer."""

    _model: Model

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens with their ids."""

    def encode(self, text: str, /) -> list[int]:
        """The ids of a text, special tokens recognised."""

    def encode_ordinary(self, text: str, /) -> list[int]:
        """The ids of a text, none recognised."""

    def decode(self, ids: list[int], /) -> str:
        """The text of ids."""

    def to_hf(self, path: str, /) -> None:
        """Write a tokenizer.json."""

    def save_tiktoken(self, path: str, /) -> None:
        """Write a file of ranks."""

    def save_tekken(self, path: str, /) -> None:
        """Write a tekken.json."""

    def to_tiktoken(self) -> Any:
        """An encoding of tiktoken's."""


class _Owner(NamedTuple):
    """A library that defines a format.

    package   : what is imported
    file      : the file name that the library expects
    write     : writes a tokenizer as that file
    read      : reads it with the library, and returns what encodes a text
    plain     : whether the library recognises no special tokens in a text
    """

    package: str
    file: str
    write: Callable[[Verified, str], None]
    read: Callable[[Verified, Sequence[str]], Encode]
    plain: bool = False


def _read_hf(tokenizer: Verified, paths: Sequence[str]) -> Encode:
    import tokenizers

    theirs: Any = tokenizers.Tokenizer.from_file(paths[0])
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _read_gpt2(tokenizer: Verified, paths: Sequence[str]) -> Encode:
    """The two files say neither the pattern nor the special tokens: these are given as they are here."""
    import tokenizers

    theirs: Any = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*paths))
    from .formats.pretokenizers import write

    theirs.pre_tokenizer = _pre_tokenizer(write(tokenizer._model.pattern))
    theirs.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in tokenizer.special_tokens])
    return lambda text: theirs.encode(text, add_special_tokens=False).ids


def _pre_tokenizer(part: dict[str, Any]) -> Any:
    """A pre_tokenizer of tokenizers', from its JSON: it can be read only as a part of a tokenizer."""
    import json

    import tokenizers

    empty = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps({**empty, "pre_tokenizer": part})).pre_tokenizer


def _read_tiktoken(tokenizer: Verified, paths: Sequence[str]) -> Encode:
    """A file of ranks says neither the pattern nor the special tokens: these are given as they are here."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    theirs = tiktoken.Encoding(
        "verified",
        pat_str=split_regex(tokenizer._model.pattern),
        mergeable_ranks=load_tiktoken_bpe(paths[0]),
        special_tokens=tokenizer.special_tokens,
    )
    return lambda text: theirs.encode(text, allowed_special="all")


def _read_tekken(tokenizer: Verified, paths: Sequence[str]) -> Encode:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    theirs: Any = Tekkenizer.from_file(paths[0])
    return lambda text: theirs.encode(text, bos=False, eos=False)


def _write_tiktoken(tokenizer: Verified, path: str) -> None:
    tokenizer.to_tiktoken()  # it refuses tokenizers that the library cannot express though a file of ranks could
    tokenizer.save_tiktoken(path)


_OWNERS = {
    "huggingface": _Owner("tokenizers", "tokenizer.json", lambda tokenizer, path: tokenizer.to_hf(path), _read_hf),
    "tiktoken": _Owner("tiktoken", "ranks.tiktoken", _write_tiktoken, _read_tiktoken),
    "tekken": _Owner(
        "mistral_common", "tekken.json", lambda tokenizer, path: tokenizer.save_tekken(path), _read_tekken, plain=True
    ),
}
_READERS = {**_OWNERS, "gpt2": _OWNERS["huggingface"]._replace(read=_read_gpt2)}


def verify(tokenizer: Verified, text: str | None = None) -> dict[str, str]:
    """See Tokenizer.verify."""
    text = _text(text)
    results: dict[str, str] = {}
    for owner in _OWNERS.values():
        if importlib.util.find_spec(owner.package) is None:
            results[owner.package] = "not installed"
            continue
        with tempfile.TemporaryDirectory(prefix="nbbpe-verify-") as folder:
            path = os.path.join(folder, owner.file)
            try:
                owner.write(tokenizer, path)
            except ValueError as error:
                results[owner.package] = f"cannot hold it: {error}"
                continue
            n_ids = _compare(tokenizer, owner, owner.read(tokenizer, [path]), text)
        results[owner.package] = f"equal ({n_ids:,} ids)"
    if not any(result.startswith("equal") for result in results.values()):
        found = "; ".join(f"{package}: {result}" for package, result in results.items())
        raise ValueError(f"no library could verify the ids: {found}")
    return results


def verify_written(tokenizer: Verified, format_name: str, paths: Sequence[str], text: str | None = None) -> str:
    """Compare the ids of a text with those of the library that defines the format of the written files.

    Returns what was done. Raises ValueError at the first id that differs, ImportError where that library is missing.
    """
    text = _text(text)
    if format_name == "nbbpe":
        from .formats.recognise import read_model

        if read_model(paths[0]) != tokenizer._model:
            raise ValueError(f"{paths[0]}: is another tokenizer when it is read again")
        return "read again: the same tokenizer"
    owner = _READERS[format_name]
    if importlib.util.find_spec(owner.package) is None:
        name = owner.package.replace("_", "-")
        raise ImportError(f"{name} is needed to verify this format, and is not installed: pip install {name}")
    n_ids = _compare(tokenizer, owner, owner.read(tokenizer, paths), text)
    return f"{owner.package} gives the same {n_ids:,} ids"


def _text(text: str | None) -> str:
    if text is None:
        return HARD_TEXT
    if not isinstance(text, str):
        raise TypeError(f"text must be str, as other libraries take no other, not {type(text).__name__}")
    return text


def _compare(tokenizer: Verified, owner: _Owner, encode: Encode, text: str) -> int:
    """How many ids a text has. Raises ValueError that shows the first place where a library's ids differ."""
    ours = tokenizer.encode_ordinary(text) if owner.plain else tokenizer.encode(text)
    theirs = list(encode(text))
    if ours == theirs:
        return len(ours)
    place = next(
        (at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), min(len(ours), len(theirs))
    )
    start = len(tokenizer.decode(ours[:place]))
    around = text[max(start - _SHOWN // 2, 0) : start + _SHOWN]
    raise ValueError(
        f"{owner.package} gives different ids from id {place:,} on (character {start:,}, in {shown(around)}): "
        f"{theirs[place : place + 5]}, and nbbpe {ours[place : place + 5]}"
    )
