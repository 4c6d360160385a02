"""The provenance and the fingerprint of a tokenizer: digests and versions that show a mismatch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..patterns.character_classes import classes_digest
from ..patterns.pattern import Pattern
from ..system.excerpt import cut
from .packed_vocab import PackedVocab
from .version import __version__

if TYPE_CHECKING:
    from hashlib import _Hash

_PACKAGES = ("numba", "numpy", "regex")
_DIGITS = 16  # hex digits of a digest: 64 bits, enough where nobody makes collisions on purpose


Sides = tuple[NDArray[np.int64], NDArray[np.uint8]]  # the lengths of byte strings, and their bytes one after another


def tokenizer_fingerprint(
    vocab: PackedVocab,
    sides: Sides | None,
    special: Mapping[str, int],
    pattern: Pattern,
    whole: bool = False,
    normalizer: str | None = None,
) -> str:
    """A digest of all that decides which ids a text gets, 16 hex digits.

    sides : left and right of each merge in turn, or None where ranks decide what merges
    whole : whether a pretoken that is a token is that token, whatever the merges say
    normalizer : the name of the normal form that text is put into first, or another description of how it is changed

    It is stored in saved folders and sidecars of files of ids: a change of this function makes those unreadable.
    """
    digest = hashlib.sha256()
    specials = PackedVocab.of({token_id: token.encode() for token, token_id in special.items()})
    # The regexes, not the names: what one version knows by name another may be given as a regex.
    regexes = PackedVocab.of({i: each.encode(errors="surrogatepass") for i, each in enumerate(pattern.regexes)})
    for numbered in vocab, specials:
        digest.update(np.array([len(numbered.ids)], dtype="<i8").data)
        digest.update(numbered.ids.astype("<i8").data)
        _add_tokens(digest, numbered.lengths, numbered.text)
    if sides is None:
        digest.update(b"by ranks")
    else:
        _add_tokens(digest, *sides)
    if whole:
        digest.update(b"whole")
    if normalizer is not None:
        digest.update(normalizer.encode())
    _add_tokens(digest, regexes.lengths, regexes.text)
    return digest.hexdigest()[:_DIGITS]


def _add_tokens(digest: _Hash, lengths: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
    """Add byte strings to a digest, with their lengths, so that no other list of them adds the same bytes."""
    digest.update(np.array([len(lengths)], dtype="<i8").data)
    digest.update(lengths.astype("<i8").data)
    digest.update(np.ascontiguousarray(text).data)


def library_versions() -> dict[str, str]:
    """The versions of nbbpe and of the packages that it depends on, without importing Numba."""
    from ..kernels.compiler.store import version_of

    return {"nbbpe": __version__, **{name: version_of(name) or "unknown" for name in _PACKAGES}}


def describe_pattern(pattern: Pattern) -> dict[str, Any]:
    """The part of a provenance about the pattern and the library versions, in this process.

    `character_classes` is None without a pattern, as then nothing depends on them.
    """
    return {
        "pattern": pattern.spelling,
        "character_classes": None if pattern.regex is None else classes_digest(),
        "versions": library_versions(),
    }


def check_classes(recorded: Mapping[str, Any], pattern: Pattern, name: str) -> None:
    """Raise ValueError if a tokenizer was made with a version of `regex` that classes some characters differently.

    name : of the folder that holds the provenance, for the error
    """
    theirs = recorded.get("character_classes")
    if theirs is None or pattern.regex is None or theirs == classes_digest():
        return
    version = recorded.get("versions", {}).get("regex", "of unknown version")
    raise ValueError(
        f"{name}: was made with regex {cut(str(version))}, which takes some characters for letters, digits or the "
        f"like where the installed regex {library_versions()['regex']} does not, or the other way round (digests of the "
        f"character classes: {cut(str(theirs))} and {classes_digest()}), so that texts with them may get other ids here: "
        "install that version, or accept the classes of this one: nbbpe.load(path, check=False).save(path)"
    )


def taken_as_it_is(recorded: Mapping[str, Any], pattern: Pattern) -> dict[str, Any]:
    """The provenance of a tokenizer that is loaded although `check_classes` would raise: with the classes of this machine.

    Otherwise, it would be refused again after it is saved, and so would files of its ids.
    """
    here = describe_pattern(pattern)
    theirs = recorded.get("character_classes")
    return {**recorded, **(here if theirs not in (None, here["character_classes"]) else {})}
