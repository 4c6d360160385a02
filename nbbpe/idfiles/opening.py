"""Opens a file of ids with its sidecar and its document ends, and checks that they fit together."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..system.arguments import argument
from ..system.excerpt import cut, shown
from ..system.git_lfs import IS_LFS_POINTER, is_lfs_pointer
from ..system.paths import check_mappable
from ..system.wrong_argument import WrongArgument
from .document_ends import map_ends
from .publishing import publishing
from .sidecar import Described, check_described, find_sidecar, sidecar_path

_MOST_HEADER = 1 << 16  # bytes of a .npy file before its ids; NumPy reads headers of up to 10,000

# The mapped ids, the ends of documents, and the contents of the sidecar. The last two are None if there are none.
Opened = tuple["np.memmap[Any, np.dtype[Any]]", NDArray[np.int64] | None, dict[str, Any] | None]


def open_ids(path: str, dtype: np.dtype[Any] | None) -> Opened:
    """Map a file of ids and its document ends into memory, and read its sidecar.

    Raises OSError, or ValueError that names what does not fit. Each value of the sidecar is checked before it is used.
    """
    with suppress(FileNotFoundError, ValueError):
        return _open_unlocked(path, dtype)
    # Another process may be replacing the files: wait until it has finished, and try again.
    with publishing(os.path.realpath(path), shared=True):
        return _open_unlocked(path, dtype)


def _open_unlocked(path: str, dtype: np.dtype[Any] | None) -> Opened:
    """Do the work of `open_ids` once. It may fail while another process replaces the files."""
    check_mappable(path)
    with open(path, "rb") as file:
        beside, about = find_sidecar(path)
        found, offset, n_ids = _measure(file, path, dtype, about)
        if about:
            check_described(beside, about, n_ids, found)
        ends = map_ends(beside) if about and about["document_ends"] else None
        # The sidecar and the ends are replaced only while no file of ids has the name (see publishing.py). So if the name
        # still belongs to the file opened here, all three belong together.
        if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            raise ValueError(f"{path} was replaced while it was opened: open it again")
        return map_ids(file, found, offset, n_ids), ends, about


def map_ids(file: BinaryIO, dtype: np.dtype[Any], offset: int, n_ids: int) -> np.memmap[Any, np.dtype[Any]]:
    """Map the ids in an open file into memory, read only.

    offset : the position of the first id, in bytes
    """
    if n_ids:
        return np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=(n_ids,))
    empty = np.empty(0, dtype=dtype).view(np.memmap)  # no system maps zero bytes
    empty.flags.writeable = False
    return empty


def _measure(
    file: BinaryIO, path: str, dtype: np.dtype[Any] | None, about: dict[str, Any] | None
) -> tuple[np.dtype[Any], int, int]:
    """Return (dtype, offset of the first id in bytes, number of ids) of an open file of ids. Raises as `open_ids` does."""
    size = os.fstat(file.fileno()).st_size
    if is_lfs_pointer(file, size):
        raise ValueError(f"{path} {IS_LFS_POINTER}")
    file.seek(0)
    found, offset, n_in_header = read_npy_header(file, path) if path.endswith(".npy") else (None, 0, None)
    if found is None:
        found = np.dtype(about["dtype"]).newbyteorder("<") if about else dtype
    if found is None:
        raise WrongArgument(
            f"{path} has no sidecar {os.path.basename(sidecar_path(path))} that says what its bytes are: encode the text "
            f"with nbbpe, or give their type ({argument('dtype', 'uint16')} for a train.bin of nanoGPT)"
        )
    if dtype is not None and dtype != found:
        raise WrongArgument(f"{path} holds ids of {found}, and {argument('dtype')} says {dtype}")
    n_ids, rest = divmod(size - offset, found.itemsize)
    if rest:
        raise ValueError(
            f"{path} has {size - offset:,} bytes of ids, which is not a multiple of the {found.itemsize} bytes of a "
            f"{found}: it was truncated, or holds something else"
        )
    if n_in_header is not None and n_in_header != n_ids:
        raise ValueError(f"{path} holds {n_ids:,} ids, and its header says {n_in_header:,}: it was truncated or added to")
    return found, offset, n_ids


def read_npy_header(file: Any, path: str) -> tuple[np.dtype[Any], int, int]:
    """Return (dtype, offset of the first id in bytes, number of ids) of a .npy file.

    Raises ValueError for a file that is not a 1-D array of integers.
    """
    # NumPy gets only the first bytes: a damaged header may state a length of up to 4 GB, and NumPy would allocate that.
    start = io.BytesIO(file.read(_MOST_HEADER))
    try:
        version = np.lib.format.read_magic(start)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(start)
    except Exception as error:  # NumPy evaluates the header as a Python literal, which may raise anything
        raise ValueError(f"{path} is not a NumPy array file ({cut(str(error), 200)})") from None
    if len(shape) != 1 or dtype.kind not in "iu":
        raise ValueError(
            f"{path} must hold a 1-D array of integers, and holds one of {cut(str(dtype))} with the shape {shown(shape)}"
        )
    return dtype, start.tell(), shape[0]


def check_tokenizer(path: str, about: dict[str, Any] | None, tokenizer: Described) -> None:
    """Raise ValueError unless the sidecar `about` says that `tokenizer` made the ids."""
    if about is None:
        raise ValueError(
            f"{path} has no sidecar {os.path.basename(sidecar_path(path))} that says which tokenizer made its ids: encode "
            "the text with Tokenizer.encode_file, or pass check=False if you know that it was this one"
        )
    if about["fingerprint"] != tokenizer.fingerprint:
        raise ValueError(
            f"{path} holds ids of another tokenizer, with fingerprint {about['fingerprint']} and {about['vocab_size']:,} "
            f"tokens; this one has {tokenizer.fingerprint} and {tokenizer.vocab_size:,}: load the one that encoded the "
            "file, encode the text again, or pass check=False"
        )
    theirs, ours = about.get("character_classes"), tokenizer.provenance.get("character_classes")
    if theirs is not None and ours is not None and theirs != ours:
        raise ValueError(
            f"{path} was encoded with regex {about['versions'].get('regex')}, which classifies some characters (as letter, "
            "digit or other) differently from the version that this tokenizer was made with (digests "
            f"{theirs} and {ours}): encode the text again, or pass check=False"
        )
