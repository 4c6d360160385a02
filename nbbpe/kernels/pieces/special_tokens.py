"""Finding special tokens in a text, in time linear in the text for any tokens.

The longest token that begins at each place is found by reading the text from right to left. All that matters of the text
from a place on is the longest suffix of a token that begins there. These suffixes are the nodes of an automaton
(that of Aho and Corasick, for the reversed tokens). Which tokens are recognised is then decided from left to right.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined, kernel, part
from ..compiler.signature import boolean, int32, int64, reads, structure, uint8
from ..machine.intrinsics import (
    AHEAD,
    BLOCK,
    address_of,
    leading_zeros,
    mask_between,
    prefetch_shared,
    read_i32,
    read_i64,
    read_u8,
    write_i64,
)
from .breaks import BREAK_BYTES

NO_TOKEN = -1
NO_ROOM = -1  # returned instead of a number of tokens if there is not enough room for them
FIRST, BYTE, FALLBACK, TOKEN = range(4)  # columns of nodes
_NODE_BYTES = 16
_MOST_RANGES = 16  # of last bytes that are searched with vectors; with more, the text is read byte by byte
_MOST_BYTES = (1 << 31) - 3  # of all tokens together, as nodes have numbers of 32 bits
_NODES_AT_ONCE = 1 << 20  # made between two checks for Ctrl-C
_ONE = np.uint64(1)


@structure(int32[:, :], int32[:], int64[:, :], uint8[:, :], int64)
class SpecialTokens(NamedTuple):
    """Special tokens as an automaton that reads a text from right to left.

    Each node is a distinct suffix of tokens, whole tokens included. Nodes are in the order of their lengths; node 0 is the
    empty suffix. The children of a node have one more byte in front; they are adjacent, in the order of that byte.

    nodes      : int32[n + 1, 4]  for each node: FIRST, its first child, up to the FIRST of the next node; BYTE, its first
                                  byte; FALLBACK, the longest shorter node that it begins with; TOKEN, the number of the
                                  longest token that it begins with, or NO_TOKEN. The last row only has a FIRST
    root       : int32[256]       the node of each byte, 0 if no token ends with it
    tokens     : int64[k, 2]      length and id of each token
    last_bytes : uint8[m, 2]      the bytes that tokens end with, or more, as ranges: first byte, and how many
    longest    : int              bytes of the longest token, 0 if there is none
    """

    nodes: NDArray[np.int32]
    root: NDArray[np.int32]
    tokens: NDArray[np.int64]
    last_bytes: NDArray[np.uint8]
    longest: int


class SpecialAddresses(NamedTuple):
    """SpecialTokens in the form that compiled code takes: addresses of the arrays, the number of ranges of last bytes, the
    length of the longest token."""

    nodes: int
    root: int
    tokens: int
    last_bytes: int
    n_ranges: int
    longest: int


def new_special_tokens(tokens: list[bytes], ids: list[int] | None = None) -> SpecialTokens:
    """Make the automaton of special tokens (distinct, none empty); `ids` are those reported for them, by default 0.

    Cost: for each byte of a token 20 to 200 ns, and at most 24 bytes of memory, of which 16 remain. Raises ValueError for
    more than 2 GB of tokens.
    """
    if not tokens:
        return _NONE
    ids = ids or [0] * len(tokens)
    backwards = [token[::-1] for token in tokens]
    order = sorted(range(len(tokens)), key=backwards.__getitem__)
    lengths = [len(tokens[i]) for i in order]
    n_bytes = sum(lengths)
    if n_bytes > _MOST_BYTES:
        raise ValueError(f"special tokens have {n_bytes:,} bytes together; at most {_MOST_BYTES:,} are possible")
    text = np.frombuffer(b"".join(backwards[i] for i in order), dtype=np.uint8)
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    nodes = np.empty((n_bytes + 2, 4), dtype=np.int32)
    spans = np.empty((n_bytes + 1, 2), dtype=np.int32)
    progress = np.zeros(4, dtype=np.int64)
    while not add_nodes(text, starts, nodes, spans, progress, _NODES_AT_ONCE):
        pass
    n_nodes = int(progress[1])
    last_bytes = nodes[1 : nodes[1, FIRST], BYTE]
    root = np.zeros(256, dtype=np.int32)
    root[last_bytes] = np.arange(1, 1 + len(last_bytes))
    return SpecialTokens(
        nodes=nodes[: n_nodes + 1].copy(),
        root=root,
        tokens=np.array([lengths, [ids[i] for i in order]], dtype=np.int64).T.copy(),
        last_bytes=_ranges(last_bytes),
        longest=max(lengths),
    )


_NONE = SpecialTokens(
    nodes=np.array([[1, 0, 0, NO_TOKEN], [1, 0, 0, NO_TOKEN]], dtype=np.int32),
    root=np.zeros(256, dtype=np.int32),
    tokens=np.empty((0, 2), dtype=np.int64),
    last_bytes=np.empty((0, 2), dtype=np.uint8),
    longest=0,
)


def _ranges(values: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Ascending bytes as ranges; two ranges of all bytes if there would be too many."""
    gaps = np.flatnonzero(np.diff(values) > 1)
    firsts = values[np.concatenate([[0], gaps + 1])]
    lasts = values[np.concatenate([gaps, [len(values) - 1]])]
    spans = lasts - firsts + 1
    if len(firsts) > _MOST_RANGES or spans.max() > 255:
        return np.array([[0, 128], [128, 128]], dtype=np.uint8)
    return np.stack([firsts, spans], axis=1).astype(np.uint8)


@kernel(reads(uint8[:]), reads(int64[:]), int32[:, :], int32[:, :], int64[:], int64)
def add_nodes(text, starts, nodes, spans, progress, n_at_once):
    """Make the nodes of special tokens, shorter ones first.

    text, starts : uint8[*] and int64[k + 1]    the reversed tokens, sorted, and the start of each
    nodes        : int32[>= n + 1, 4], filled   see SpecialTokens; with room for two more than the text has bytes
    spans        : int32[>= n, 2], scratch      for each node the first token that ends with it, and the one after the last
    progress     : int64[4], modified           how many nodes are done, and how many exist; the length of the next node to
                                                do, and the first longer node; zeros at first

    Does up to `n_at_once` nodes; returns whether all are done. Cost: linear in the bytes of the text.
    """
    # Not `a, b, c, d = progress`: that could raise an error, whose message has the path of this file compiled in.
    node, n_nodes, length, longer = progress[0], progress[1], progress[2], progress[3]
    nodes_at = address_of(nodes)
    if n_nodes == 0:
        nodes[0, BYTE] = nodes[0, FALLBACK] = 0
        spans[0, 0] = 0
        spans[0, 1] = len(starts) - 1
        n_nodes = longer = 1
    until = node + n_at_once
    while node < min(n_nodes, until):
        if node == longer:
            length += 1
            longer = n_nodes
        token, end = spans[node, 0], spans[node, 1]
        if node == 0:
            nodes[node, TOKEN] = NO_TOKEN
        elif starts[token + 1] - starts[token] == length:
            nodes[node, TOKEN] = token
            token += 1
        else:
            nodes[node, TOKEN] = nodes[nodes[node, FALLBACK], TOKEN]
        nodes[node, FIRST] = n_nodes
        while token < end:
            byte = text[starts[token] + length]
            after = token + 1
            while after < end and text[starts[after] + length] == byte:
                after += 1
            nodes[n_nodes, BYTE] = byte
            fallback = 0
            shorter = node
            while fallback == 0 and shorter != 0:
                shorter = nodes[shorter, FALLBACK]
                fallback = child_of(nodes_at, shorter, byte)
            nodes[n_nodes, FALLBACK] = fallback
            spans[n_nodes, 0] = token
            spans[n_nodes, 1] = after
            n_nodes += 1
            token = after
        node += 1
    nodes[n_nodes, FIRST] = n_nodes
    progress[0] = node
    progress[1] = n_nodes
    progress[2] = length
    progress[3] = longer
    return node == n_nodes


@inlined
def column_of(nodes_at, node, column):
    """The number in a column of a node."""
    return np.int64(read_i32(nodes_at + _NODE_BYTES * node + 4 * column))


@inlined
def child_of(nodes_at, node, byte):
    """The child of a node with this byte in front, or 0."""
    low, high = column_of(nodes_at, node, FIRST), column_of(nodes_at, node + 1, FIRST)
    while high - low > 1:
        middle = (low + high) >> 1
        if column_of(nodes_at, middle, BYTE) <= byte:
            low = middle
        else:
            high = middle
    return low if low < high and column_of(nodes_at, low, BYTE) == byte else 0


@inlined
def node_before(specials, node, byte):
    """The node of a text with one more byte in front, from the node of the text; `specials` are SpecialAddresses."""
    while node != 0:
        child = child_of(specials.nodes, node, byte)
        if child != 0:
            return child
        node = column_of(specials.nodes, node, FALLBACK)
    return np.int64(read_i32(specials.root + 4 * np.int64(byte)))


@inlined
def specials_addresses(specials):
    """The SpecialAddresses of SpecialTokens."""
    return SpecialAddresses(
        address_of(specials.nodes),
        address_of(specials.root),
        address_of(specials.tokens),
        address_of(specials.last_bytes),
        specials.last_bytes.shape[0],
        specials.longest,
    )


@part
def stack_specials(text_at, start, end, stop, specials, breaks_at, room):
    """Write the longest special token at each place from `start` to `stop` into the last of the `room` rows of breaks.

    Returns the first of these rows, or NO_ROOM. Cost: a few instructions for 64 bytes, and from each byte that ends a
    token, a step of the automaton for each byte to the left, as long as a suffix of a token may begin there.
    """
    row = room
    node = 0
    position = min(end, stop + specials.longest - 1)  # all bytes from there on are done
    block = start + ((position - start - 1) & -BLOCK)
    while block >= start:
        prefetch_shared(text_at + block - AHEAD)
        candidates = np.uint64(0)
        for i in range(specials.n_ranges):
            range_at = specials.last_bytes + 2 * i
            candidates |= mask_between(text_at + block, np.int64(read_u8(range_at)), np.int64(read_u8(range_at + 1)))
        if position - block < BLOCK:
            candidates &= (_ONE << np.uint64(position - block)) - _ONE
        while position > block:
            if node == 0:
                if candidates == 0:
                    break
                position = block + BLOCK - leading_zeros(candidates)
            position -= 1
            candidates &= (_ONE << np.uint64(position - block)) - _ONE
            node = node_before(specials, node, read_u8(text_at + position))
            token = column_of(specials.nodes, node, TOKEN)
            if token >= 0 and position < stop:
                if row == 0:
                    return NO_ROOM
                row -= 1
                # Not by breaks.write_break: with both reads before the first write, encode_pieces was compiled differently,
                # and took 1.04 times as long for a message without special tokens.
                write_i64(breaks_at + BREAK_BYTES * row, position)
                write_i64(breaks_at + BREAK_BYTES * row + 8, position + read_i64(specials.tokens + 16 * token))
                write_i64(breaks_at + BREAK_BYTES * row + 16, read_i64(specials.tokens + 16 * token + 8))
        position = block
        block -= BLOCK
    return row


@part
def list_specials(text_at, start, end, stop, specials, breaks_at, room, overlapping):
    """As find_specials, with SpecialAddresses, and the address of breaks with `room` rows."""
    if specials.n_ranges == 0:
        return 0, stop
    row = stack_specials(text_at, start, end, stop, specials, breaks_at, room)
    if row < 0:
        return NO_ROOM, start
    found = 0
    done = start  # nothing before this position can start a special token any more
    while row < room:
        position = read_i64(breaks_at + BREAK_BYTES * row)
        if position >= done:
            token_end = read_i64(breaks_at + BREAK_BYTES * row + 8)
            # Not by write_break, as above: encode_pieces is compiled differently with it.
            write_i64(breaks_at + BREAK_BYTES * found, position)
            write_i64(breaks_at + BREAK_BYTES * found + 8, token_end)
            write_i64(breaks_at + BREAK_BYTES * found + 16, read_i64(breaks_at + BREAK_BYTES * row + 16))
            found += 1
            done = position + 1 if overlapping else token_end
        row += 1
    return found, max(done, stop)


@kernel(int64, int64, int64, int64, SpecialTokens, int64[:, :], boolean)
def find_specials(text_at, start, end, stop, specials, breaks, overlapping):
    """List the special tokens that start before `stop`, from left to right, the longest if several start at one place.

    text_at     : address of a text with PADDING bytes after `end`
    breaks      : int64[n, 3], filled    start, end and id of each
    overlapping : whether tokens that begin inside an earlier one are listed, too

    Returns (number listed, position to continue from, which is `stop` or beyond); or (NO_ROOM, start) if `breaks` may be
    too short, which it never is with a row for each byte from `start` to `stop`. Cost: linear in the bytes up to `stop`
    and the longest token; a few instructions for 64 bytes, and more from each byte on that ends a token.
    """
    return list_specials(
        text_at, start, end, stop, specials_addresses(specials), address_of(breaks), breaks.shape[0], overlapping
    )


@kernel(int64, int64, SpecialTokens)
def beginning_node(text_at, n_bytes, specials):
    """The node of the longest suffix of a special token that a text begins with; 0 for none.

    text_at  : address of the text, of `n_bytes` bytes
    specials : SpecialTokens, read

    Cost: linear in the bytes; all of them are read.
    """
    addresses = specials_addresses(specials)
    node = 0
    for position in range(n_bytes - 1, -1, -1):
        node = node_before(addresses, node, read_u8(text_at + position))
    return node
