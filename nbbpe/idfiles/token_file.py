"""Files of ids as training reads them: mapped into memory, checked against their tokenizer, cut into batches."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..system.excerpt import cut, shown
from ..system.paths import Path
from .checksum import checksum, concatenated
from .document_ends import checked_ends, map_ends
from .publishing import publishing
from .sidecar import Described, check_checksum, check_described, read_sidecar, sidecar_path

_IDS_AT_ONCE = 1 << 22  # looked through for separators, or checked, in one step

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]


class TokenFile:
    """A file of ids, mapped into memory: no more of it is read than is used.

        data = nbbpe.TokenFile("train.bin", tokenizer)
        batches = data.windows(1024, rng=1337, batch_size=12)
        x, y = next(batches)  # as from nanoGPT's get_batch; torch.from_numpy takes them as they are

    Parameters
    ----------
    path : what `Tokenizer.encode_file` wrote, .npy or raw ids (.bin), with its JSON beside it; or another's file of ids
    tokenizer : the tokenizer that the ids must be of
    dtype : of raw ids without a JSON, as nanoGPT's train.bin is (np.uint16); little-endian unless it says otherwise
    separator_ids : the ids by which documents end; by default those that the JSON names, or without one the tokenizer's
        special tokens
    check : False to take a file whose ids are of another tokenizer, or that has no JSON to tell
    verify : True to read the whole file and check its ids, see `verify`

    Attributes
    ----------
    ids : np.memmap, 1-D of `dtype`, read only
    dtype : np.dtype
    path : str, absolute
    fingerprint : str, of the tokenizer that made the ids; None without a JSON
    vocab_size : int, one more than that tokenizer's highest id; None without a JSON
    separator_ids : tuple of int, ascending

    It can be pickled and used in forked and spawned processes; each maps the file anew, and raises ValueError where it is
    no longer the same. While it is open, it stays what it was, whatever takes the file's place.

    Raises FileNotFoundError; TypeError for a dtype that is none of integers; ValueError for a file without ids, of a size
    that does not fit dtype or JSON, with a broken or a missing JSON, of another tokenizer, or as `verify` does.
    """

    ids: np.memmap[Any, np.dtype[Any]]

    def __init__(
        self,
        path: Path,
        tokenizer: Described | None = None,
        *,
        dtype: DTypeLike | None = None,
        separator_ids: Collection[int] | None = None,
        check: bool = True,
        verify: bool = False,
    ) -> None:
        if tokenizer is not None and not hasattr(tokenizer, "fingerprint"):
            raise TypeError(f"tokenizer must be a Tokenizer (see nbbpe.load) or None, not {tokenizer!r:.100}")
        self.path = os.path.abspath(os.fspath(path))
        self._given_dtype = None if dtype is None else _id_dtype(dtype)
        about = self._open()
        self.vocab_size: int | None = about["vocab_size"] if about else None
        self._n_ends: int = about["document_ends"] if about else 0
        if tokenizer is not None and check:
            _check_tokenizer(self.path, about, tokenizer)
        if separator_ids is not None:
            self.separator_ids = tuple(sorted({_whole("a separator id", token_id, 0) for token_id in separator_ids}))
        elif about:
            self.separator_ids = tuple(about["separator_ids"])
        else:
            self.separator_ids = tuple(sorted(set(tokenizer.special_tokens.values()))) if tokenizer is not None else ()
        self._starts: NDArray[np.int64] | None = None
        if verify:
            self.verify()

    def _open(self) -> dict[str, Any] | None:
        """Map the files that have the names now; returns the JSON."""
        self.ids, self._ends, about = _open(self.path, self._given_dtype)
        self.dtype, self._n_ids = self.ids.dtype, len(self.ids)
        self.fingerprint: str | None = about["fingerprint"] if about else None
        self._checksum: str | None = about["checksum"] if about else None
        return about

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("ids", "_ends")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()
        if any(getattr(self, name) != state[name] for name in ("dtype", "_n_ids", "fingerprint", "_checksum")):
            raise ValueError(f"{self.path} is no longer the file that it was when this TokenFile was opened: open it anew")

    def __len__(self) -> int:
        return self._n_ids

    def __getitem__(self, place: int | slice | NDArray[Any]) -> Any:
        """The id at a place, an int; of a slice or an array of places, the ids, a view or an array of `dtype`."""
        found = np.asarray(self.ids)[place]
        return found if isinstance(found, np.ndarray) else int(found)

    def __repr__(self) -> str:
        return f"TokenFile({self.path!r}, {self._n_ids:,} ids of {self.dtype}, fingerprint={self.fingerprint!r})"

    def verify(self) -> None:
        """Read all ids and compare their checksum with the JSON's. Raises ValueError where they differ, or it has none."""
        ids = np.asarray(self.ids)
        parts = (ids[first : first + _IDS_AT_ONCE] for first in range(0, self._n_ids, _IDS_AT_ONCE))
        check_checksum(self.path, self._checksum, concatenated(map(checksum, parts)))

    # Documents

    @property
    def document_starts(self) -> NDArray[np.int64]:
        """Where each document starts, int64[n_documents], ascending from 0; found in one pass over the file, once.

        A document ends after its separator, with the record that it is, or with the file. A record of an empty text,
        encoded without a separator, starts where the next one does. Raises ValueError where no ends are known.
        """
        if self._starts is None:
            if not self.separator_ids and not self._n_ends:
                raise ValueError(
                    f"{self.path}: no separators are known, by which documents end (the tokenizer has no special tokens, "
                    "or the file has no JSON): pass separator_ids to TokenFile, for GPT-2 separator_ids=[50256]"
                )
            ends = checked_ends(self.path, self._ends, self._n_ends, self._n_ids)
            # A separator may be the last id of a record.
            ends = np.sort(np.concatenate([ends, np.setdiff1d(self._separator_ends(), ends, assume_unique=True)]))
            starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])
            self._starts = starts[:-1] if starts[-1] == self._n_ids else starts
            self._starts.flags.writeable = False
        return self._starts

    def _separator_ends(self) -> NDArray[np.int64]:
        """The number of ids up to each separator, with it, ascending."""
        separators = np.array([i for i in self.separator_ids if i <= np.iinfo(self.dtype).max], dtype=self.dtype)
        ends = [np.empty(0, dtype=np.int64)]
        for first in range(0, self._n_ids if len(separators) else 0, _IDS_AT_ONCE):
            ids = np.asarray(self.ids[first : first + _IDS_AT_ONCE])
            # Comparing is ten times as fast as looking up, and most files have one separator.
            found = ids == separators[0] if len(separators) == 1 else np.isin(ids, separators)
            ends.append(np.flatnonzero(found) + (first + 1))
        return np.concatenate(ends)

    def documents(self) -> Iterator[NDArray[Any]]:
        """The ids of each document in order, its separator last, as read-only 1-D views of the file."""
        starts = self.document_starts
        ids = np.asarray(self.ids)  # a slice of a memmap costs five times as much
        return (ids[start:end] for start, end in zip(starts.tolist(), [*starts[1:].tolist(), self._n_ids], strict=True))

    # Batches

    def windows(
        self, block_size: int, rng: np.random.Generator | int | None = None, *, batch_size: int = 1
    ) -> Iterator[Batch]:
        """Random batches without end: nanoGPT's get_batch is `x, y = next(batches)`.

        Parameters
        ----------
        block_size : ids in a window
        rng : a NumPy generator, which moves on with each batch; or a seed; None for another start each time. Give each of
            several workers its own, as np.random.default_rng([1337, worker_id]): the same would draw the same windows
        batch_size : windows in a batch

        Yields (x, y), both int64[batch_size, block_size] and the caller's own; y is x moved on by one id. Windows start
        anywhere, with equal chance, and reach across documents. Raises ValueError at once for a file shorter than
        block_size + 1.
        """
        block_size = self._check_block(block_size)
        batch_size = _whole("batch_size", batch_size, 1)
        generator = np.random.default_rng(rng)

        def batches() -> Iterator[Batch]:
            while True:
                yield self._batch(generator.integers(self._n_ids - block_size, size=batch_size), block_size)

        return batches()

    def epoch(
        self,
        block_size: int,
        batch_size: int,
        *,
        rank: int = 0,
        world_size: int = 1,
        seed: int | Sequence[int] | None = None,
        drop_last: bool = True,
        start: int = 0,
    ) -> Iterator[Batch]:
        """The share of one of several processes in one pass over the file, in which no two get the same block.

        The file is cut into blocks of `block_size` ids, each followed by the id that its last one is to predict. Up to
        `block_size` ids at the end, too few for a block, are left out.

        Parameters
        ----------
        block_size : ids in a block
        batch_size : blocks in a batch of one process
        rank, world_size : which of how many processes this is; a DataLoader with several workers on each of several ranks
            makes that rank * num_workers + worker_id of world_size * num_workers
        seed : shuffles the blocks, in the same way in every process; give each epoch another, as seed=[1337, epoch]. None
            for the order of the file
        drop_last : True for the same number of full batches in every process, for which up to batch_size * world_size - 1
            blocks at the end of the order are left out; False for every block exactly once, where a process may have a
            smaller last batch, and one batch more than another
        start : how many batches of this process to pass over, so that a job goes on where it stopped; nothing is read of
            them

        Yields (x, y) as `windows` does. Raises ValueError at once for a file too short for a block, or for a batch where
        the last is dropped.
        """
        block_size = self._check_block(block_size)
        batch_size = _whole("batch_size", batch_size, 1)
        world_size = _whole("world_size", world_size, 1)
        rank = _whole("rank", rank, 0)
        start = _whole("start", start, 0)
        if rank >= world_size:
            raise ValueError(f"rank must be below world_size={world_size}, and is {rank}")
        n_blocks = (self._n_ids - 1) // block_size
        if drop_last:
            n_used = n_blocks - n_blocks % (batch_size * world_size)
            if not n_used:
                raise ValueError(
                    f"{self.path} has {n_blocks:,} blocks of {block_size} ids, too few for a batch of {batch_size} in each "
                    f"of {world_size} processes: use smaller ones, or drop_last=False"
                )
        else:
            n_used = n_blocks
        if seed is None:
            mine = np.arange(rank, n_used, world_size)
        else:
            # NumPy may change how it shuffles, but never these raw numbers: processes agree whatever version each has.
            mine = np.argsort(np.random.PCG64(seed).random_raw(n_blocks), kind="stable")[rank:n_used:world_size].copy()
        return (
            self._batch(mine[first : first + batch_size] * block_size, block_size)
            for first in range(start * batch_size, len(mine), batch_size)
        )

    def _batch(self, starts: NDArray[np.int64], block_size: int) -> Batch:
        ids = np.asarray(self.ids)[starts[:, None] + np.arange(block_size + 1)]
        return ids[:, :-1].astype(np.int64), ids[:, 1:].astype(np.int64)

    def _check_block(self, block_size: int) -> int:
        """`block_size` as an int. Raises TypeError or ValueError for what is none, or is too large for the file."""
        size = _whole("block_size", block_size, 1)
        if self._n_ids < size + 1:
            raise ValueError(
                f"{self.path} holds {self._n_ids:,} ids, and block_size={size} needs at least {size + 1:,}: a block and "
                "the id after it"
            )
        return size


def _whole(name: str, value: Any, least: int) -> int:
    """A value as an int. Raises TypeError or ValueError where it is none, or below `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if (number := int(value.__index__())) < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def _id_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """A dtype for ids. Raises TypeError where it is none of integers."""
    found = np.dtype(dtype)
    if found.kind not in "iu":
        raise TypeError(f"dtype must be one of integers, as np.uint16, and is {found}")
    # Files are little-endian, whatever the machine; a dtype that says big-endian on a little-endian machine is meant so.
    return found.newbyteorder("<") if found.isnative else found


class _Opened(NamedTuple):
    """The ids of a file, the ends of its documents where they lie beside it, and its JSON where it has one."""

    ids: np.memmap[Any, np.dtype[Any]]
    ends: NDArray[np.int64] | None
    about: dict[str, Any] | None


def _open(path: str, dtype: np.dtype[Any] | None) -> _Opened:
    """Map a file of ids, with what belongs to it.

    Raises OSError, or ValueError that names what does not fit; before that the JSON is not believed.
    """
    with suppress(FileNotFoundError, ValueError):
        return _open_at_once(path, dtype)
    # It may be that others take their place at this moment.
    with publishing(path, shared=True):
        return _open_at_once(path, dtype)


def _open_at_once(path: str, dtype: np.dtype[Any] | None) -> _Opened:
    """See _open. While others are put in their places, there may be nothing, or what does not fit."""
    with open(path, "rb") as file:
        about = read_sidecar(path)
        found, offset, n_ids = _measure(file, path, dtype, about)
        ends = map_ends(path) if about and about["document_ends"] else None
        # Others change only while there are no ids: as these are still the same, so is all that was read meanwhile.
        if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            raise ValueError(f"{path} was replaced while it was opened; open it again")
        return _Opened(np.memmap(file, dtype=found, mode="r", offset=offset, shape=(n_ids,)), ends, about)


def _measure(
    file: BinaryIO, path: str, dtype: np.dtype[Any] | None, about: dict[str, Any] | None
) -> tuple[np.dtype[Any], int, int]:
    """What an open file of ids is: (dtype, offset of the first id in bytes, number of ids). Raises as _open does."""
    size = os.fstat(file.fileno()).st_size
    found, offset, said = read_npy_header(file, path) if path.endswith(".npy") else (None, 0, None)
    if found is None:
        found = np.dtype(about["dtype"]).newbyteorder("<") if about else dtype
    if found is None:
        raise ValueError(
            f"{path} has no {os.path.basename(sidecar_path(path))} beside it, so nothing says what its bytes are: encode "
            "the text with Tokenizer.encode_file, or pass dtype (np.uint16 for a train.bin of nanoGPT's)"
        )
    if dtype is not None and dtype != found:
        raise ValueError(f"{path} holds ids of {found}, and dtype says {dtype}")
    n_ids, rest = divmod(size - offset, found.itemsize)
    if rest:
        raise ValueError(
            f"{path} has {size - offset:,} bytes of ids, no multiple of the {found.itemsize} of a {found}: it was cut "
            "short, or holds something else"
        )
    if said is not None and said != n_ids:
        raise ValueError(f"{path} holds {n_ids:,} ids, and its header says {said:,}: it was cut short or added to")
    if about:
        check_described(path, about, n_ids, found)
    if not n_ids:
        raise ValueError(f"{path} holds no ids: the text it was made from was empty")
    return found, offset, n_ids


def read_npy_header(file: Any, path: str) -> tuple[np.dtype[Any], int, int]:
    """(dtype, offset of the first id in bytes, number of ids) of a .npy file. Raises ValueError where it holds no ids."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception as error:  # NumPy reads the header as Python, and passes on whatever that raises
        raise ValueError(f"{path} is not a NumPy array file ({cut(str(error), 200)})") from None
    if len(shape) != 1 or dtype.kind not in "iu":
        raise ValueError(
            f"{path} must hold a 1-D array of integers, and holds one of {cut(str(dtype))} with the shape {shown(shape)}"
        )
    return dtype, file.tell(), shape[0]


def _check_tokenizer(path: str, about: dict[str, Any] | None, tokenizer: Described) -> None:
    """Raise ValueError unless a file's JSON says that its ids are of this tokenizer."""
    if about is None:
        raise ValueError(
            f"{path} has no {os.path.basename(sidecar_path(path))} beside it, so nothing says whether its ids are of this "
            "tokenizer: encode the text with Tokenizer.encode_file, or pass check=False if you know that they are"
        )
    if about["fingerprint"] != tokenizer.fingerprint:
        raise ValueError(
            f"{path} holds ids of another tokenizer, with fingerprint {about['fingerprint']} and {about['vocab_size']:,} "
            f"tokens; this one has {tokenizer.fingerprint} and {tokenizer.vocab_size:,}: load the one that encoded the "
            "file, encode the text anew, or pass check=False"
        )
    theirs, ours = about.get("character_classes"), tokenizer.provenance.get("character_classes")
    if theirs is not None and ours is not None and theirs != ours:
        raise ValueError(
            f"{path} was encoded with regex {about['versions'].get('regex')}, which takes some characters for letters, "
            f"digits or the like where the one this tokenizer was made with does not, or the other way round (digests "
            f"{theirs} and {ours}): encode the text anew, or pass check=False"
        )
