"""Opens files of ids: mapped into memory, with what belongs to them, and checked to fit together."""

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

_MOST_HEADER = 1 << 16  # bytes of a .npy file before its ids: NumPy reads a header of 10,000 at most

# The ids of a file, the ends of its documents and its sidecar, if it has these.
Opened = tuple["np.memmap[Any, np.dtype[Any]]", NDArray[np.int64] | None, dict[str, Any] | None]


def open_ids(path: str, dtype: np.dtype[Any] | None) -> Opened:
    """Map a file of ids, with its sidecar and its ends.

    Raises OSError, or ValueError that names what does not fit; no value of the sidecar is used before it is checked.
    """
    with suppress(FileNotFoundError, ValueError):
        return _open_at_once(path, dtype)
    # Another process may be replacing the files at this moment.
    with publishing(os.path.realpath(path), shared=True):
        return _open_at_once(path, dtype)


def _open_at_once(path: str, dtype: np.dtype[Any] | None) -> Opened:
    """See open_ids. While the files are replaced, one may be missing or not fit the others."""
    check_mappable(path)
    with open(path, "rb") as file:
        beside, about = find_sidecar(path)
        found, offset, n_ids = _measure(file, path, dtype, about)
        if about:
            check_described(beside, about, n_ids, found)
        ends = map_ends(beside) if about and about["document_ends"] else None
        # The other files change only while the file of ids does not exist. If that is still the same, so is all that was
        # read.
        if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            raise ValueError(f"{path} was replaced while it was opened: open it again")
        return map_ids(file, found, offset, n_ids), ends, about


def map_ids(file: BinaryIO, dtype: np.dtype[Any], offset: int, n_ids: int) -> np.memmap[Any, np.dtype[Any]]:
    """The ids in an open file, mapped into memory, read only.

    offset : of the first one, in bytes
    """
    if n_ids:
        return np.memmap(file, dtype=dtype, mode="r", offset=offset, shape=(n_ids,))
    none = np.empty(0, dtype=dtype).view(np.memmap)  # as no system maps a file of no bytes
    none.flags.writeable = False
    return none


def _measure(
    file: BinaryIO, path: str, dtype: np.dtype[Any] | None, about: dict[str, Any] | None
) -> tuple[np.dtype[Any], int, int]:
    """The content of an open file of ids: (dtype, offset of the first id in bytes, number of ids). Raises as `open_ids`."""
    size = os.fstat(file.fileno()).st_size
    if is_lfs_pointer(file, size):
        raise ValueError(f"{path} {IS_LFS_POINTER}")
    file.seek(0)
    found, offset, said = read_npy_header(file, path) if path.endswith(".npy") else (None, 0, None)
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
    if said is not None and said != n_ids:
        raise ValueError(f"{path} holds {n_ids:,} ids, and its header says {said:,}: it was truncated or added to")
    return found, offset, n_ids


def read_npy_header(file: Any, path: str) -> tuple[np.dtype[Any], int, int]:
    """(dtype, offset of the first id in bytes, number of ids) of a .npy file. Raises ValueError if it holds no ids."""
    # No more than a header has: NumPy asks a file for as many bytes as the header says, 4 GB or less, and gets that memory.
    start = io.BytesIO(file.read(_MOST_HEADER))
    try:
        version = np.lib.format.read_magic(start)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(start)
    except Exception as error:  # NumPy parses the header as Python, and passes on whatever that raises
        raise ValueError(f"{path} is not a NumPy array file ({cut(str(error), 200)})") from None
    if len(shape) != 1 or dtype.kind not in "iu":
        raise ValueError(
            f"{path} must hold a 1-D array of integers, and holds one of {cut(str(dtype))} with the shape {shown(shape)}"
        )
    return dtype, start.tell(), shape[0]


def check_tokenizer(path: str, about: dict[str, Any] | None, tokenizer: Described) -> None:
    """Raise ValueError unless the sidecar of a file says that this tokenizer made its ids."""
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
            f"{path} was encoded with regex {about['versions'].get('regex')}, which classes some characters differently "
            f"(letter, digit or other) from the version that this tokenizer was made with (digests "
            f"{theirs} and {ours}): encode the text again, or pass check=False"
        )
