"""Files of ids as training reads them: mapped into memory, checked against their tokenizer, cut into batches."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..encoding.id_types import integer_dtype
from ..system.arguments import argument
from ..system.choices import check_bool, check_bool_or_none
from ..system.excerpt import shown
from ..system.integers import check_integer
from ..system.paths import Path, absolute
from .checksum import checksum
from .document_ends import checked_ends
from .opening import check_tokenizer, open_ids
from .sidecar import Described, check_checksum

_IDS_AT_ONCE = 1 << 22  # searched for separators, or checked, in one step
_DOCUMENTS_AT_ONCE = 1 << 12  # whose starts are Python integers at a time, of 40 bytes each

T = TypeVar("T")
Batch = tuple[NDArray[np.int64], NDArray[np.int64]]


class TokenFile:
    """A file of ids, mapped into memory: only the parts that are used are read.

    Parameters
    ----------
    path : a file that `Tokenizer.encode_file` wrote, .npy or raw ids (.bin), with its sidecar; or a file of another program
    tokenizer : the tokenizer that made the ids
    dtype : the type of raw ids without a sidecar, such as nanoGPT's train.bin (np.uint16); little-endian by default
    separator_ids : the ids that end documents; by default those in the sidecar, or without a sidecar the ids of the
        tokenizer's special tokens
    check : False to accept ids of another tokenizer, or without a sidecar
    verify : True to read the complete file and check its ids, as the method `verify` does
    separator_first : True if documents begin with a separator, and do not end with it; by default as the sidecar says

    Attributes
    ----------
    ids : np.memmap, 1-D of `dtype`, read only
    dtype : np.dtype
    path : str, absolute
    fingerprint : str, of the tokenizer that made the ids; None without a sidecar
    vocab_size : int, one more than that tokenizer's highest id; None without a sidecar
    separator_ids : tuple of int, ascending
    separator_first : bool

    `data[i]` is an id, `data[a:b]` a view of some ids, and `np.asarray(data)` a view of all: nothing is copied.

    A TokenFile can be pickled and used in forked and spawned processes. An unpickled one maps the file again, and raises
    ValueError if the file has changed. If the file is replaced, an open TokenFile keeps the old ids. (If a program cuts the
    file itself short, the system ends each process that reads the missing part; `verify` raises.) In a dataset, store the
    TokenFile and not its `ids`: NumPy pickles a memmap with all its bytes.

    Raises FileNotFoundError; TypeError for a dtype that is not an integer type; ValueError if the size of the file does not
    fit the dtype or the sidecar, if the sidecar is broken, missing or of another tokenizer, for a pipe or a device, and as
    `verify` does. The file of an empty text has no ids and no documents.

    >>> import nbbpe
    >>> tok = nbbpe.train("corpus.txt", 260, ["<|endoftext|>"])
    >>> n_ids = tok.encode_file("corpus.txt", "corpus.bin")
    >>> data = nbbpe.TokenFile("corpus.bin", tok)
    >>> len(data) == n_ids, data.ids[:3].tolist()
    (True, [258, 32, 99])
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
        separator_first: bool | None = None,
    ) -> None:
        if tokenizer is not None and not hasattr(tokenizer, "fingerprint"):
            raise TypeError(f"tokenizer must be a Tokenizer (see nbbpe.load) or None, not {shown(tokenizer)}")
        check_bool("check", check)
        check_bool("verify", verify)
        separator_first = check_bool_or_none("separator_first", separator_first)
        self.path = absolute(path)
        raw_dtype = None if dtype is None else integer_dtype(dtype)
        # Files are little-endian on all machines; only a dtype with an explicit foreign byte order is taken literally.
        self._given_dtype = raw_dtype.newbyteorder("<") if raw_dtype is not None and raw_dtype.isnative else raw_dtype
        about = self._open()
        self.vocab_size: int | None = about["vocab_size"] if about else None
        self._n_ends: int = about["document_ends"] if about else 0
        if tokenizer is not None and check:
            check_tokenizer(self.path, about, tokenizer)
        if separator_ids is not None:
            if not isinstance(separator_ids, Iterable):
                raise TypeError(f"separator_ids must be a list of ids, such as [50256], not {shown(separator_ids)}")
            self.separator_ids = tuple(sorted({check_integer("a separator id", token_id, 0) for token_id in separator_ids}))
        elif about:
            self.separator_ids = tuple(about["separator_ids"])
        else:
            self.separator_ids = tuple(sorted(set(tokenizer.special_tokens.values()))) if tokenizer is not None else ()
        if separator_first is None:
            separator_first = bool(about and about["separator_first"])
        self.separator_first: bool = separator_first
        self._starts: NDArray[np.int64] | None = None
        if verify:
            self.verify()

    def _open(self) -> dict[str, Any] | None:
        """Map the file that `path` names now, and its ends; returns the contents of its sidecar."""
        self.ids, self._ends, about = open_ids(self.path, self._given_dtype)
        self.dtype, self._n_ids = self.ids.dtype, len(self.ids)
        self.fingerprint: str | None = about["fingerprint"] if about else None
        self._checksum: str | None = about["checksum"] if about else None
        return about

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("ids", "_ends")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()
        if self._starts is not None:
            self._starts.flags.writeable = False  # NumPy does not pickle this flag
        if any(getattr(self, name) != state[name] for name in ("dtype", "_n_ids", "fingerprint", "_checksum")):
            raise ValueError(f"{self.path} has changed since this TokenFile was opened: open it again")

    def __len__(self) -> int:
        return self._n_ids

    @overload
    def __getitem__(self, place: int | np.integer) -> int: ...

    @overload
    def __getitem__(self, place: slice | Sequence[int] | NDArray[Any]) -> NDArray[Any]: ...

    def __getitem__(self, place: Any) -> Any:
        """The id at a position, as int; the ids of a slice, as a view; the ids at an array of positions, as an array."""
        try:
            found = np.asarray(self.ids)[place]
        except OverflowError:  # raised by NumPy for an integer of more than 64 bits
            raise IndexError(f"index {place} is out of bounds for {len(self):,} ids") from None
        return found if isinstance(found, np.ndarray) else int(found)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All ids, for `np.asarray(data)`: without a copy, unless another dtype or a copy is asked for."""
        # Without this method, NumPy would call __getitem__ for each id. (Before NumPy 2, `copy` could not be None.)
        return np.asarray(self.ids, dtype) if copy is None else np.array(self.ids, dtype, copy=copy)

    def __repr__(self) -> str:
        return f"TokenFile({self.path!r}, {self._n_ids:,} ids of {self.dtype}, fingerprint={self.fingerprint!r})"

    def verify(self) -> None:
        """Read all ids and compare their checksum with the sidecar's. Raises ValueError if it differs or is missing.

        >>> data.verify()
        """
        mapped = self.ids.base  # None if there are no ids
        n_bytes = self.ids.nbytes + self.ids.offset if self._n_ids else 0
        if isinstance(mapped, mmap.mmap) and mapped.size() < n_bytes:  # reading beyond the end would kill this process
            raise ValueError(
                f"{self.path} was truncated since it was opened, from {n_bytes:,} bytes to {mapped.size():,}: encode the "
                "text again"
            )
        ids = np.asarray(self.ids)
        parts = (ids[first : first + _IDS_AT_ONCE] for first in range(0, self._n_ids, _IDS_AT_ONCE))
        check_checksum(self.path, self._checksum, map(checksum, parts))

    # Documents

    @property
    def document_starts(self) -> NDArray[np.int64]:
        """Where each document starts, int64[n_documents], ascending from 0; found in one pass over the file, on first use.

        A document ends after its separator (with `separator_first`: before the separator of the next one), at the end of
        its record or of its file of text, or at the end of the ids. An empty document that was encoded without a separator
        starts where the next one does. Raises ValueError if nothing says where documents end.
        """
        if self._starts is None:
            if self._n_ids and not self.separator_ids and not self._n_ends:
                raise ValueError(
                    f"{self.path}: no ids are known that end documents (no special token was recognised in the text, or "
                    f"the file has no sidecar): encode the text again with {argument('separator', ...)}, or pass "
                    "separator_ids to TokenFile, for GPT-2 separator_ids=[50256]"
                )
            ends = checked_ends(self.path, self._ends, self._n_ends, self._n_ids)
            of_separators = self._separator_ends()
            if self.separator_first:
                of_separators -= 1
                of_separators = of_separators[of_separators > 0]
            # A place that is both, as when a record ends with a separator, is one end.
            ends = np.sort(np.concatenate([ends, np.setdiff1d(of_separators, ends, assume_unique=True)]))
            starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])
            self._starts = starts[:-1] if starts[-1] == self._n_ids else starts
            self._starts.flags.writeable = False
        return self._starts

    def _separator_ends(self) -> NDArray[np.int64]:
        """The number of ids up to and including each separator, ascending."""
        separators = np.array([i for i in self.separator_ids if i <= np.iinfo(self.dtype).max], dtype=self.dtype)
        ends = [np.empty(0, dtype=np.int64)]
        for first in range(0, self._n_ids if len(separators) else 0, _IDS_AT_ONCE):
            ids = np.asarray(self.ids[first : first + _IDS_AT_ONCE])
            # Most files have one separator, and == is ten times as fast as np.isin.
            found = ids == separators[0] if len(separators) == 1 else np.isin(ids, separators)
            ends.append(np.flatnonzero(found) + (first + 1))
        return np.concatenate(ends)

    def documents(self) -> Iterator[NDArray[Any]]:
        """The ids of each document, with its separator, as read-only 1-D views of the file, in order.

        >>> tok.decode(next(data.documents()))
        'the cat sat on the mat<|endoftext|>'
        """
        starts = self.document_starts
        ids = np.asarray(self.ids)  # a slice of a memmap costs five times as much

        def documents() -> Iterator[NDArray[Any]]:
            for first in range(0, len(starts), _DOCUMENTS_AT_ONCE):
                places = starts[first : first + _DOCUMENTS_AT_ONCE + 1].tolist()
                if first + _DOCUMENTS_AT_ONCE >= len(starts):
                    places.append(self._n_ids)
                for start, end in itertools.pairwise(places):
                    yield ids[start:end]

        return documents()

    # Batches

    def windows(
        self, block_size: int, rng: np.random.Generator | int | Sequence[int] | None = None, *, batch_size: int = 1
    ) -> Iterator[Batch]:
        """Yield random batches forever: `x, y = next(batches)` does what nanoGPT's get_batch does.

        Parameters
        ----------
        block_size : ids in a window
        rng : a NumPy generator, which advances with each batch; or a seed; None for a random one. Give each worker its own,
            such as np.random.default_rng([1337, worker_id]), or all draw the same windows
        batch_size : windows in a batch

        Yields (x, y), two new arrays int64[batch_size, block_size]; y is x shifted by one id. Windows start anywhere, with
        equal probability, and may span documents. Raises ValueError at once for a file shorter than block_size + 1.

        >>> x, y = next(data.windows(block_size=8, rng=1337, batch_size=4))
        >>> x.shape, y.shape, (x[:, 1:] == y[:, :-1]).all().item()
        ((4, 8), (4, 8), True)
        """
        block_size = self._check_block(block_size)
        batch_size = check_integer("batch_size", batch_size, 1)
        generator = _seeded(np.random.default_rng, rng, "rng", "a NumPy generator, or a seed: ")

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
        """Yield the batches of one process in one pass over the file; no two processes get the same block.

        The file is cut into blocks of `block_size` ids; for y, each block also needs the id that follows it. Up to
        `block_size` ids at the end of the file are skipped if they are too few for a block.

        Parameters
        ----------
        block_size : ids in a block
        batch_size : blocks in a batch of one process
        rank, world_size : the number of this process, from 0, and how many there are. With several DataLoader workers on
            each rank: rank * num_workers + worker_id, and world_size * num_workers
        seed : shuffles the blocks, in the same way in every process; give each epoch its own, such as seed=[1337, epoch].
            None for the order of the file
        drop_last : True for the same number of full batches in every process: up to batch_size * world_size - 1 blocks at
            the end of the order are skipped. False for every block exactly once: then the last batch of a process may be
            smaller, and one process may have one batch more than another
        start : how many batches of this process to skip, without reading them, to resume a stopped job. A job that stopped
            at the end of the epoch gets no batch; a `start` past the end, such as a number of steps over several epochs,
            raises ValueError

        Yields (x, y) as `windows` does. Raises ValueError at once if the file is too short for a block, or with drop_last
        for a batch in each process.

        >>> blocks = [x for x, y in data.epoch(block_size=8, batch_size=4, seed=[1337, 0])]
        >>> len(blocks), blocks[0].shape
        (9, (4, 8))
        """
        block_size = self._check_block(block_size)
        batch_size = check_integer("batch_size", batch_size, 1)
        world_size = check_integer("world_size", world_size, 1)
        rank = check_integer("rank", rank, 0)
        check_bool("drop_last", drop_last)
        start = check_integer("start", start, 0)
        if rank >= world_size:
            raise ValueError(f"rank must be below world_size={world_size}, and is {rank}")
        n_blocks = (self._n_ids - 1) // block_size
        if drop_last:
            n_used = n_blocks - n_blocks % (batch_size * world_size)
            if not n_used:
                raise ValueError(
                    f"{self.path} has {n_blocks:,} block{'' if n_blocks == 1 else 's'} of {block_size} ids, too few for a "
                    f"batch of {batch_size} in each of {world_size} processes: use smaller ones, or drop_last=False"
                )
        else:
            n_used = n_blocks
        n_batches = -(-n_used // (world_size * batch_size))  # without drop_last, the most that a process has
        if start > n_batches:
            raise ValueError(
                f"start={start:,} is past the end of the epoch, which has {n_batches:,} batches for each process: after so "
                f"many batches, epoch {start // n_batches:,} (from 0) goes on at start={start % n_batches:,}"
            )
        if seed is None:
            # Limited to n_used, beyond which they change nothing, as they may be too large for NumPy's integers.
            mine = np.arange(min(rank, n_used), n_used, min(world_size, n_used))
        else:
            # Later versions of NumPy may shuffle differently, but the raw numbers of a generator never change: so
            # processes with different versions agree.
            raw = _seeded(np.random.PCG64, seed, "seed").random_raw(n_blocks)
            mine = np.argsort(raw, kind="stable")[rank:n_used:world_size].copy()
        return (
            self._batch(mine[first : first + batch_size] * block_size, block_size)
            for first in range(start * batch_size, len(mine), batch_size)
        )

    def _batch(self, starts: NDArray[np.int64], block_size: int) -> Batch:
        ids = np.asarray(self.ids)[starts[:, None] + np.arange(block_size + 1)]
        return ids[:, :-1].astype(np.int64), ids[:, 1:].astype(np.int64)

    def _check_block(self, block_size: int) -> int:
        """Return `block_size` as an int. Raises TypeError or ValueError if it is not a positive integer or too large."""
        size = check_integer("block_size", block_size, 1)
        if self._n_ids < size + 1:
            raise ValueError(
                f"{self.path} holds {self._n_ids:,} ids, and block_size={size} needs at least {size + 1:,}: a block and "
                "the id after it"
            )
        return size


def _seeded(make: Callable[[Any], T], seed: Any, name: str, kind: str = "") -> T:
    """Return `make(seed)`. For an invalid seed, raises TypeError or ValueError that names the argument."""
    try:
        return make(seed)
    except (TypeError, ValueError) as error:
        message = f"{name} must be {kind}an integer from 0 on, a list of these, or None, not {shown(seed)}"
        raise type(error)(message) from None
