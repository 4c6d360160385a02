"""Digests of the results of libraries, by which results of different processes are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def bytes_digest(strings: Iterable[bytes]) -> str:
    """A digest of byte strings in order, with their lengths, so that their boundaries matter too."""
    digest = hashlib.blake2b(digest_size=16)
    for string in strings:
        digest.update(len(string).to_bytes(4, "little") + string)
    return digest.hexdigest()


def merges_digest(merges: Iterable[tuple[bytes, bytes]]) -> str:
    """A digest of pairs of byte strings in order."""
    return bytes_digest(side for pair in merges for side in pair)


def ids_digest(parts: Iterable[ArrayLike], separator_id: int) -> dict[str, int | str]:
    """Facts about ids that come in parts: how many there are, and a digest of them in order.

    Separators are counted but are not in the digest, so that a library that was given documents can be compared with one
    that was given the whole text.
    """
    import numpy as np  # not before the library is imported: NumPy is a part of that time

    digest = hashlib.blake2b(digest_size=16)
    n_ids = n_separators = 0
    for part in parts:
        ids = np.asarray(part, dtype="<u4")
        kept = ids[ids != separator_id]
        digest.update(kept.tobytes())
        n_ids += len(kept)
        n_separators += len(ids) - len(kept)
    return {"n_ids": n_ids, "n_separators": n_separators, "digest": digest.hexdigest()}
