"""Decode ids to bytes and text: by a compiled loop, or by one look-up for each id if loading the loop would not pay off."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..model.packed_vocab import without_far_ids
from ..system.excerpt import shown
from ..system.lazy import lazy

# Integers of any type but bool, those of NumPy and torch too.
Ids = Iterable[SupportsIndex] | NDArray[Any]

# How many ids are looked up one by one (40 ns each; 5 ns in the compiled loop) before the loop is loaded: if kernels are in
# use already, so that loading takes milliseconds, and if the kernel loader must be imported first.
_MANY = 1 << 14
_VERY_MANY = 1 << 20
# Ids that are decoded together: their bytes stay in the core's cache, and Ctrl-C is handled between. With eight times as
# many, decoding an array took twice as long.
_AT_ONCE = 1 << 15
_FEW = 1 << 7  # ids of an array: converting so few to a list is faster than asking NumPy for their address
_ROOM, _KEPT_ROOM = 1 << 14, 1 << 20  # bytes of room: at first, and at most between two calls


def check_in_order(ids: object) -> None:
    """Raise TypeError, with advice, for bytes and for containers whose items are not all ids, or are in no order."""
    if isinstance(ids, (bytes, bytearray)) or (isinstance(ids, memoryview) and ids.itemsize == 1):
        advice = ": np.frombuffer(data, dtype) gives the ids of raw bytes, and nbbpe.TokenFile(path) those of a file"
    elif isinstance(ids, Mapping):
        advice = ", whose keys would be decoded: give one of its values"
    elif isinstance(ids, (set, frozenset)):
        advice = ", which has no order"
    elif type(ids).__name__ == "MaskedArray":  # by name, as numpy.ma is rarely imported
        advice = ", whose masked ids would be decoded, too: give its compressed() to leave them out, or its data"
    else:
        return
    raise TypeError(f"ids must be a list or an array of integers, not {type(ids).__name__}{advice}")


def check_errors(errors: object) -> None:
    """Raise TypeError unless `errors` is a str; for None, a Decoder would return bytes."""
    if not isinstance(errors, str):
        advice = "decode_bytes gives bytes" if errors is None else "skip_special_tokens is given by its name"
        raise TypeError(f'errors must be a str as in bytes.decode, such as "strict", not {shown(errors)}; {advice}')


def as_array(ids: Any) -> NDArray[Any]:
    """Convert an array of another library to NumPy; one in the memory of a GPU is copied from there."""
    try:
        return np.asarray(ids)
    except TypeError:
        if not hasattr(ids, "tolist"):
            raise
    return np.asarray(ids.tolist())


class _Out:
    """A buffer for decoded bytes, with the kernel's state; used by one thread at a time."""

    def __init__(self, n_bytes: int, pool: NDArray[np.uint8], places: NDArray[np.int64]) -> None:
        from ..kernels.encoding.decode_ids import compiled_decode_ids, new_state
        from ..kernels.machine.intrinsics import PADDING

        self.decode_ids = compiled_decode_ids()
        out = np.empty(n_bytes + PADDING, dtype=np.uint8)
        self.n_bytes = n_bytes
        self.data = out.data
        self._state = new_state(pool, places, out)
        self.state_at = self._state.ctypes.data


class Decoder:
    """Decodes the ids of one tokenizer. Safe to use from several threads."""

    drops_space = False  # whether `decode` drops a space at the beginning

    def __init__(self, vocab: dict[int, bytes]) -> None:
        self._vocab = vocab
        self._idle: list[_Out] = []  # append and pop are atomic; empty until the first use of the compiled loop
        self._n_ids = 0  # ids that were decoded before that

    def decode_part(self, ids: Ids, errors: str | None = None) -> Any:
        """The bytes of ids, which may be some of a text's; or with `errors`, as in bytes.decode, the text as a str.

        Raises ValueError that names an invalid id, TypeError if `ids` is not iterable, or has no ids in an order.
        """
        decoded: Any
        if type(ids) is list:  # the same as below, in less time
            if len(ids) == 1 and type(ids[0]) is int and (token := self._vocab.get(ids[0])) is not None:  # as for a stream
                return token if errors is None else token.decode(errors=errors)
            if self._idle and len(ids) <= _AT_ONCE and (decoded := self._copy(ids, 0, -1, errors)) is not None:
                return decoded
        else:
            check_in_order(ids)
        if hasattr(ids, "__array__"):  # arrays of NumPy and of other libraries (torch, pandas)
            return self._decode_array(as_array(ids), errors)
        try:
            ids = list(ids)
        except TypeError:
            if hasattr(ids, "__iter__"):  # the error is from the iterable itself
                raise
            raise TypeError(f"ids must be a list or an array of integers, not {type(ids).__name__}: {shown(ids)}") from None
        return self._in_blocks(ids, errors)

    def _decode_array(self, ids: NDArray[Any], errors: str | None) -> Any:
        if ids.ndim == 0:
            raise TypeError(f"ids must be a list or an array of integers, not one, {ids}: give [{ids}] to decode it alone")
        if ids.ndim != 1:
            raise ValueError(f"ids must be a 1-D array, not of shape {ids.shape}; decode_batch takes a text in each row")
        if ids.dtype.kind not in "iuO" and len(ids):
            raise ValueError(f"ids must be integers, not an array of {ids.dtype}")
        if ids.dtype.kind == "O" or len(ids) < _FEW:
            return self.decode_part(ids.tolist(), errors)
        return self._in_blocks(ids, errors)

    decode = decode_part  # of all ids of a text

    def _in_blocks(self, ids: list[Any] | NDArray[Any], errors: str | None) -> Any:
        """As `decode_part`, for a list or an array of any length."""
        by_kernel = self._kernel_pays(len(ids))
        if len(ids) <= _AT_ONCE:
            return self._decode_block(ids, errors, by_kernel)
        starts = range(0, len(ids), _AT_ONCE)
        data = b"".join([self._decode_block(ids[i : i + _AT_ONCE], None, by_kernel, i) for i in starts])
        return data if errors is None else data.decode(errors=errors)

    def _decode_block(self, ids: list[Any] | NDArray[Any], errors: str | None, by_kernel: bool, start: int = 0) -> Any:
        """As `decode_part`, for at most _AT_ONCE ids; `start` is the index of the first one, for errors."""
        if by_kernel:
            if isinstance(ids, list):
                decoded = self._copy(ids, 0, -1, errors)
            else:
                wide = np.ascontiguousarray(ids, dtype=np.int64)  # a uint64 that is too large becomes negative: invalid
                decoded = self._copy(None, wide.ctypes.data, len(wide), errors)
            if decoded is not None:
                return decoded
        return self._join(ids if isinstance(ids, list) else ids.tolist(), errors, start)

    def _join(self, ids: list[Any], errors: str | None, start: int) -> Any:
        """As `_decode_block`, by look-ups."""
        if list(map(type, ids)).count(int) < len(ids):  # takes half the time of a set of types
            ids = [self._plain_int(token_id, place) for place, token_id in enumerate(ids, start)]
        try:
            data = b"".join(map(self._vocab.__getitem__, ids))
        except KeyError:
            place = next(place for place, token_id in enumerate(ids) if token_id not in self._vocab)
            raise ValueError(
                f"id {ids[place]!r} at index {start + place} is not in the vocabulary of {len(self._vocab):,} tokens"
            ) from None
        return data if errors is None else data.decode(errors=errors)

    def _copy(self, ids: object, ids_at: int, n: int, errors: str | None) -> Any:
        """As `decode_part`, by the kernel; None if its tables lack an id.

        Takes a list; or None, and an address of `n` int64.
        """
        idle = self._idle
        try:
            out = idle.pop()
        except IndexError:
            out = _Out(_ROOM, *self._pool)
        n_bytes = out.decode_ids(out.state_at, ids, ids_at, n)
        while n_bytes > out.n_bytes:
            out = _Out(n_bytes + n_bytes // 8, *self._pool)  # some more, as the next ids may need it
            n_bytes = out.decode_ids(out.state_at, ids, ids_at, n)
        decoded: Any = None
        if n_bytes >= 0:
            data = out.data[:n_bytes]
            decoded = data.tobytes() if errors is None else str(data, "utf-8", errors)
        if out.n_bytes <= _KEPT_ROOM:
            idle.append(out)
        return decoded

    @lazy
    def _pool(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        from ..kernels.encoding.decode_ids import new_pool

        return new_pool(self._pooled)

    @lazy
    def _pooled(self) -> dict[int, bytes]:
        """The tokens in the tables of the compiled loop; ids that include any other are decoded by look-ups."""
        return without_far_ids(self._vocab)

    def _kernel_pays(self, n_ids: int) -> bool:
        """Whether to use the compiled loop for this many more ids."""
        if self._idle:
            return True
        self._n_ids += n_ids
        are_many = self._n_ids >= (_MANY if "nbbpe.kernels" in sys.modules else _VERY_MANY)
        return are_many and 2 * len(self._pooled) > len(self._vocab)

    def _plain_int(self, token_id: object, place: int) -> int:
        """An id of any integer type as an int."""
        try:
            if not isinstance(token_id, (bool, np.bool_)):
                return operator.index(token_id)  # type: ignore[arg-type]
        except TypeError:
            pass
        rows = "; decode_batch takes a text in each row" if isinstance(token_id, (list, tuple, np.ndarray)) else ""
        raise ValueError(f"ids must be integers, and the one at index {place} is {shown(token_id)}{rows}")


class DecoderWithoutSpace(Decoder):
    """A Decoder for a tokenizer that puts a space in front of each text (see `Model.adds_space`)."""

    drops_space = True

    def decode(self, ids: Ids, errors: str | None = None) -> Any:
        """As `decode_part`, without a space at the beginning."""
        return self.decode_part(ids, errors).removeprefix(b" " if errors is None else " ")
