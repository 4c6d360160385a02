"""LLVM operations that Numba does not offer: unaligned loads, 64-byte compares, operations on bits, prefetch.

Everything here is portable LLVM IR. A `<64 x i8>` compare becomes one AVX-512 instruction, two AVX2 ones or four NEON ones,
depending on the machine.

Loads take an address, and so do helpers that run once a piece or once a block; kernels get the addresses of their arrays by
`address_of`. That way numbers of any size can be read from any byte, no index is tested for being negative, and a helper
takes one number in place of the seven or more that make an array. (A plain `njit`, see compiler/plain.py, would also count
references for each array.) None of these loads is bounds-checked, not even under `NUMBA_BOUNDSCHECK=1`: the caller promises
that the bytes exist (text buffers have `PADDING` spare bytes for that).
"""

from ..compiler.jit import cgutils, generic_intrinsic, intrinsic, ir, llvm, types
from ..compiler.signature import boolean, int32, int64, uint8, uint16, uint32, uint64

BLOCK = 64  # bytes that one vector operation processes: one bit each in a uint64
LINE = 8  # entries of 64 bits in a cache line
AHEAD = 4096  # bytes from a read to the prefetch: processors do not prefetch into the next page by themselves
UNITS = 32  # code points of a str that one vector operation processes
LANES = 16  # numbers of 32 bits that one vector operation processes
RANK_BITS = 21  # the bits of the rank in an entry of a merge table (see kernels/encoding/merge_table.py)
POSITION_BITS = 8  # the bits of the position in a turn (see kernels/encoding/merge_short.py)
KEY_SHIFT = RANK_BITS + 1  # the lowest bit of the key in an entry; for the bit between rank and key see Merges
NO_RANK = (1 << 30) - 1  # greater than any rank
PADDING = 128  # spare bytes that every text buffer has after its text, so that block loads may run past the end


def _smallest(builder, vector):
    """The smallest unsigned element of a vector."""
    element, count = vector.type.element, vector.type.count
    return llvm.call(builder, f"llvm.vector.reduce.umin.v{count}i{element.width}", element, vector)


@generic_intrinsic
def address_of(typingctx, array):
    """The address of an array's first byte. The array must outlive every use of it."""

    def codegen(context, builder, signature, args):
        struct = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        return builder.ptrtoint(struct.data, llvm.I64)

    return types.int64(array), codegen


def _reader(number):
    """An intrinsic that reads a number of a type."""

    @intrinsic(int64, returns=number)
    def read(builder, address):
        return llvm.load(builder, address, ir.IntType(8 * number.size))

    return read


# The little-endian number at an address, aligned or not.
read_u8, read_u16, read_u32, read_u64 = map(_reader, (uint8, uint16, uint32, uint64))
read_i32, read_i64 = map(_reader, (int32, int64))


def _writer(bits, number=int64):
    """An intrinsic that writes the low bits of a number of a type."""

    @intrinsic(int64, number)
    def write(builder, address, value):
        llvm.store(builder, builder.trunc(value, ir.IntType(bits)), address)

    return write


# Write the low bits of an int64, or for write_u64 of a uint64, to an address, aligned or not.
write_u8, write_u16, write_u32, write_i64 = map(_writer, (8, 16, 32, 64))
write_u64 = _writer(64, uint64)


def _prefetcher(writes):
    """An intrinsic that prefetches memory that is written soon, or only read."""

    @intrinsic(int64)
    def prefetch(builder, address):
        place = llvm.pointer(builder, address, llvm.I8)
        llvm.call(builder, "llvm.prefetch.p0i8", llvm.VOID, place, llvm.I32(writes), llvm.I32(3), llvm.I32(1))

    return prefetch


# Prefetch the cache line at an address, to be written soon; any address is allowed, as nothing is read. The second is for
# memory that is only read, perhaps by several threads: other cores keep the line, too.
prefetch, prefetch_shared = map(_prefetcher, (1, 0))


def _between(n_bytes):
    """An intrinsic that compares this many bytes with a range, see mask_between."""

    @intrinsic(int64, int64, int64, returns=uint64)
    def mask(builder, address, low, span):
        block = llvm.load(builder, address, ir.VectorType(llvm.I8, n_bytes))
        return _inside(builder, block, low, span)

    return mask


def _inside(builder, block, low, span):
    """Bit i of the result says whether byte i of a vector is at least `low` and less than `low + span`."""
    low, span = (llvm.copies(builder, value, block.type) for value in (low, span))
    inside = builder.icmp_unsigned("<", builder.sub(block, low), span)
    return builder.zext(builder.bitcast(inside, ir.IntType(block.type.count)), llvm.I64)


# Compare BLOCK bytes, or 32, with a range: bit i of the result, uint64, says whether the byte at `address + i` is at least
# `low` and less than `low + span`.
mask_between, mask_between_32 = _between(BLOCK), _between(32)


def _pair(builder, low, high):
    """A vector of two words."""
    words = ir.VectorType(llvm.I64, 2)(ir.Undefined)
    for i, word in enumerate((low, high)):
        words = builder.insert_element(words, word, llvm.I32(i))
    return words


@intrinsic(uint64, uint64, int64, int64, returns=uint64)
def mask_of_16(builder, first, second, low, span):
    """As `mask_between`, for the 16 bytes of two uint64: bits 0 to 15 of the result."""
    block = builder.bitcast(_pair(builder, first, second), ir.VectorType(llvm.I8, 16))
    return _inside(builder, block, low, span)


def _narrower(bits):
    """An intrinsic that writes UNITS code points of this many bits, see narrow_8."""

    @intrinsic(int64, int64, returns=uint64)
    def narrow(builder, from_at, to_at):
        codes = llvm.load(builder, from_at, ir.VectorType(ir.IntType(bits), UNITS))
        llvm.store(builder, builder.trunc(codes, ir.VectorType(llvm.I8, UNITS)), to_at)
        beyond = builder.icmp_unsigned(">", codes, codes.type(0x7F))
        return builder.zext(builder.bitcast(beyond, ir.IntType(UNITS)), llvm.I64)

    return narrow


# Write the lowest byte of each of UNITS code points of 8, 16 or 32 bits, unaligned, from one address to another. Bit i of
# the result says whether code point i is not ASCII, so that its byte is wrong.
narrow_8, narrow_16, narrow_32 = map(_narrower, (8, 16, 32))


@intrinsic(uint64, returns=int64)
def popcount(builder, value):
    """The number of set bits of a uint64."""
    return builder.ctpop(value)


@intrinsic(uint64, returns=int64)
def trailing_zeros(builder, value):
    """The number of zero bits below the lowest set bit of a uint64; 64 for zero."""
    return builder.cttz(value, llvm.I1(0))


@intrinsic(uint64, returns=int64)
def leading_zeros(builder, value):
    """The number of zero bits above the highest set bit of a uint64; 64 for zero."""
    return builder.ctlz(value, llvm.I1(0))


@intrinsic(int64, int64, int64)
def write_masked_16(builder, to_at, from_at, mask_at):
    """Write the 16 bytes at `from_at` to `to_at`, and-ed with 16 bytes at `mask_at` and or-ed with the next 16."""
    pair = ir.VectorType(llvm.I64, 2)
    more_at = builder.add(mask_at, llvm.I64(16))
    data, mask, more = (llvm.load(builder, at, pair) for at in (from_at, mask_at, more_at))
    llvm.store(builder, builder.or_(builder.and_(data, mask), more), to_at)


@intrinsic(uint64, uint64, uint64, returns=uint64)
def polynomial_step(builder, value, factor, coefficient):
    """value * factor + coefficient, modulo 2^61 - 1, not fully reduced; all uint64.

    The value must be less than 2^63, as the result is, and the factor less than 2^60 (unchecked).
    """
    value, factor, coefficient = (builder.zext(each, llvm.I128) for each in (value, factor, coefficient))
    total = builder.add(builder.mul(value, factor), coefficient)
    below = builder.and_(builder.trunc(total, llvm.I64), llvm.I64((1 << 61) - 1))
    return builder.add(below, builder.trunc(builder.lshr(total, llvm.I128(61)), llvm.I64))


@intrinsic(int64, int64, (uint64, uint64, uint64), int64, int64)
def write_homes(builder, to_at, keys_at, secret, mask, slots_at):
    """Write the addresses of the home slots, of four words each, of LINE keys of two uint64; see piece_table.home_slot.

    to_at : address of int64[LINE];  keys_at : address of uint64[LINE, 2]
    secret : three uint64
    mask, slots_at : the number of words of all slots but one, and the address of the slots
    """
    lanes = ir.VectorType(llvm.I64, LINE)
    halves = [llvm.load(builder, builder.add(keys_at, llvm.I64(at)), lanes) for at in (0, 64)]
    words = [llvm.shuffled(builder, *halves, range(first, 2 * LINE, 2)) for first in (0, 1)]
    *numbers, factor = (llvm.copies(builder, number, lanes) for number in cgutils.unpack_tuple(builder, secret))
    sums = [builder.add(word, number) for word, number in zip(words, numbers, strict=True)]
    products = [builder.mul(builder.and_(each, lanes((1 << 32) - 1)), builder.lshr(each, lanes(32))) for each in sums]
    mixed = builder.mul(builder.add(*products), factor)
    mask, slots = (llvm.copies(builder, value, lanes) for value in (mask, slots_at))
    # As home_slot, times 8 * SLOT_WORDS.
    mask = builder.shl(mask, lanes(3))
    homes = builder.and_(builder.lshr(mixed, lanes(27)), mask)
    llvm.store(builder, builder.add(homes, slots), to_at)


@intrinsic(int64, int64, returns=boolean)
def same_16(builder, left_at, right_at):
    """Whether the 16 bytes at two addresses are equal."""
    return builder.icmp_unsigned("==", *(llvm.load(builder, at, llvm.I128) for at in (left_at, right_at)))


def _copier(n_bytes):
    """An intrinsic that copies this many bytes, see copy_16."""

    @intrinsic(int64, int64)
    def copy(builder, from_at, to_at):
        llvm.store(builder, llvm.load(builder, from_at, ir.VectorType(llvm.I64, n_bytes // 8)), to_at)

    return copy


# Copy 16, 32 or BLOCK bytes from one address to another.
copy_16, copy_32, copy_64 = map(_copier, (16, 32, BLOCK))


@intrinsic(int64, uint64, uint64)
def write_16(builder, to_at, low, high):
    """Write two uint64 to an address at once: a load of all 16 bytes would wait for two writes."""
    llvm.store(builder, _pair(builder, low, high), to_at)


@intrinsic(int64, uint64, returns=int64)
def rank_in_line(builder, line_at, key):
    """The rank of the entry with this key in the cache line at an address, which is a line of a merge table; or NO_RANK.

    Cost: one load and about ten vector instructions, without a branch.
    """
    lanes = ir.VectorType(llvm.I64, LINE)
    line = llvm.load(builder, line_at, lanes, align=64)
    same = builder.icmp_unsigned("==", builder.lshr(line, lanes(KEY_SHIFT)), llvm.copies(builder, key, lanes))
    ranks = builder.and_(line, lanes((1 << RANK_BITS) - 1))
    return _smallest(builder, builder.select(same, ranks, lanes(NO_RANK)))


@intrinsic(int64, returns=int64)
def least(builder, numbers_at):
    """The least of LANES numbers, uint32, at a 64-byte aligned address."""
    numbers = llvm.load(builder, numbers_at, ir.VectorType(llvm.I32, LANES), align=64)
    return builder.zext(_smallest(builder, numbers), llvm.I64)


@intrinsic(int64, int64, returns=uint64)
def least_of_three(builder, numbers_at, clear):
    """Bit i of the result says whether number i of LANES is less than both its neighbours, and has no bit of `clear` set.

    numbers_at : a 64-byte aligned address of uint32; there is one more number before the first and after the last
    clear      : int64, of which the lower 32 bits count
    """
    lanes = ir.VectorType(llvm.I32, LANES)
    places = [builder.add(numbers_at, llvm.I64(offset)) for offset in (-4, 0, 4)]
    before, numbers, after = (llvm.load(builder, at, lanes, align=4) for at in places)
    least = builder.and_(*(builder.icmp_unsigned("<", numbers, other) for other in (before, after)))
    found = builder.and_(numbers, llvm.copies(builder, clear, lanes))
    has_none = builder.icmp_unsigned("==", found, lanes(0))
    return builder.zext(builder.bitcast(builder.and_(least, has_none), ir.IntType(LANES)), llvm.I64)


@intrinsic(int64, int64, int64, int64, int64, int64, int64)
def write_three(builder, numbers_at, lane_1, number_1, lane_2, number_2, lane_3, number_3):
    """Write three of LANES numbers, uint32, at a 64-byte aligned address, in this order; only the lower 32 bits of each.

    Loading and storing the whole vector lets the next `least` read it from the store buffer; after three small stores, it
    would wait until these are in the cache.
    """
    lanes = ir.VectorType(llvm.I32, LANES)
    numbers = llvm.load(builder, numbers_at, lanes, align=64)
    for lane, number in (lane_1, number_1), (lane_2, number_2), (lane_3, number_3):
        lane, number = (llvm.copies(builder, value, lanes) for value in (lane, number))
        here = builder.icmp_unsigned("==", lanes(list(range(LANES))), lane)
        numbers = builder.select(here, number, numbers)
    llvm.store(builder, numbers, numbers_at, align=64)


@intrinsic(int64, int64, int64, int64, int64, int64, int64)
def write_byte_pairs(builder, symbols_at, turns_at, bytes_at, before, first, n, pairs_at):
    """Write LANES bytes as uint32, and the table entry of each pair of a byte and the byte before it.

    symbols_at : address of uint32[LANES], filled with the bytes
    turns_at   : address of uint32[LANES], filled: for byte i, at position p = first + i,
                 pairs[byte before << 8 | byte] << POSITION_BITS | p if 0 < p < n, else all ones
    bytes_at   : address of the bytes, all of which must exist;  before : the byte before them
    pairs_at   : address of uint32[65536]

    The time does not depend on the number of pairs: the end of a loop over them would be mispredicted.
    """
    lanes, places = ir.VectorType(llvm.I32, LANES), ir.VectorType(llvm.I64, LANES)
    before, first, n = (llvm.copies(builder, number, lanes) for number in (before, first, n))
    rights = builder.zext(llvm.load(builder, bytes_at, ir.VectorType(llvm.I8, LANES)), lanes)
    llvm.store(builder, rights, symbols_at, align=4)
    lefts = llvm.shuffled(builder, before, rights, [0, *range(LANES, 2 * LANES - 1)])
    pairs = builder.zext(builder.or_(builder.shl(lefts, lanes(8)), rights), places)
    entries_at = builder.add(builder.shl(pairs, places(2)), llvm.copies(builder, pairs_at, places))
    pointers = builder.inttoptr(entries_at, ir.VectorType(llvm.I32.as_pointer(), LANES))
    all_of_them = ir.VectorType(llvm.I1, LANES)(1)
    gather = f"llvm.masked.gather.v{LANES}i32.v{LANES}p0i32"
    entries = llvm.call(builder, gather, lanes, pointers, llvm.I32(4), all_of_them, lanes(ir.Undefined))
    positions = builder.add(first, lanes(list(range(LANES))))
    turns = builder.or_(builder.shl(entries, lanes(POSITION_BITS)), positions)
    # Unsigned, position 0 less one is more than any n.
    is_pair = builder.icmp_unsigned("<", builder.sub(positions, lanes(1)), builder.sub(n, lanes(1)))
    llvm.store(builder, builder.select(is_pair, turns, lanes((1 << 32) - 1)), turns_at, align=4)
