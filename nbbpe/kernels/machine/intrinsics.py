"""LLVM operations that Numba does not offer: unaligned loads, 64-byte compares, operations on bits, prefetch.

Everything here is portable LLVM IR. A `<64 x i8>` compare becomes one AVX-512
instruction, two AVX2 ones or four NEON ones, as the machine has it.

Loads take an address. Numba counts references for every array that a helper function takes, with atomic operations that
cost more than the rest of a look-up; helpers that run once a piece or once a block therefore take addresses, and the
kernels around them, which own the arrays, take those with `address_of` (190 against 540 MB/s in counting). None of these
loads is bounds-checked, not even under `NUMBA_BOUNDSCHECK=1`: the caller promises that the bytes exist (text buffers
carry `PADDING` spare bytes for that).
"""

from ..compiler.jit import cgutils, intrinsic, ir, llvm, types

BLOCK = 64  # bytes that one vector operation looks at: one bit each in a uint64
LINE = 8  # entries of 64 bits in a cache line
AHEAD = 4096  # bytes between those that are read and those that are prefetched: processors don't look into the next page
UNITS = 32  # code points of a str that one vector operation looks at
LANES = 16  # numbers of 32 bits that one vector operation looks at
RANK_BITS = 21  # the bits of the rank in an entry of a merge table (see kernels/encoding/merge_table.py)
POSITION_BITS = 8  # the bits of the position in a turn (see kernels/encoding/merge_short.py)
KEY_SHIFT = RANK_BITS + 1  # the lowest bit of the key in an entry; for the bit between rank and key see Merges
NO_RANK = (1 << 30) - 1  # greater than any rank
PADDING = 128  # spare bytes that every text buffer has after its text, so that block loads may run past the end


def splat(builder, byte):
    """A vector of 64 copies of an i8."""
    return lanes_of(builder, byte, llvm.VECTOR)


def lanes_of(builder, value, vector):
    """A vector of copies of an integer."""
    undefined = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        single, undefined, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    )


def _smallest(builder, vector):
    """The smallest unsigned element of a vector."""
    element, count = vector.type.element, vector.type.count
    name = f"llvm.vector.reduce.umin.v{count}i{element.width}"
    return builder.call(
        cgutils.get_or_insert_function(builder.module, ir.FunctionType(element, [vector.type]), name), [vector]
    )


def pointer(builder, address, kind):
    """An address as a pointer to a kind of value."""
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def address_of(typingctx, array):
    """The address of an array's first byte. The array must outlive every use of it."""

    def codegen(context, builder, signature, args):
        struct = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        return builder.ptrtoint(struct.data, llvm.I64)

    return types.int64(array), codegen


def _reader(kind, result):
    def codegen(context, builder, signature, args):
        return builder.load(pointer(builder, args[0], kind), align=1)

    return result(types.int64), codegen


@intrinsic
def read_u8(typingctx, address):
    """The byte at an address."""
    return _reader(llvm.I8, types.uint8)


@intrinsic
def read_u16(typingctx, address):
    """The little-endian uint16 at an address, aligned or not."""
    return _reader(ir.IntType(16), types.uint16)


@intrinsic
def read_i32(typingctx, address):
    """The little-endian int32 at an address, aligned or not."""
    return _reader(ir.IntType(32), types.int32)


@intrinsic
def read_u32(typingctx, address):
    """The little-endian uint32 at an address, aligned or not."""
    return _reader(ir.IntType(32), types.uint32)


@intrinsic
def read_i64(typingctx, address):
    """The little-endian int64 at an address, aligned or not."""
    return _reader(llvm.I64, types.int64)


@intrinsic
def read_u64(typingctx, address):
    """The little-endian uint64 at an address, aligned or not."""
    return _reader(llvm.I64, types.uint64)


def _writer(bits, value):
    def codegen(context, builder, signature, args):
        kind = ir.IntType(bits)
        narrow = builder.trunc(args[1], kind) if bits < 64 else args[1]
        builder.store(narrow, pointer(builder, args[0], kind), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, value), codegen


@intrinsic
def write_u8(typingctx, address, value):
    """Write the low 8 bits of an integer to an address."""
    return _writer(8, types.int64)


@intrinsic
def write_u16(typingctx, address, value):
    """Write the low 16 bits of an integer to an address, aligned or not."""
    return _writer(16, types.int64)


@intrinsic
def write_u32(typingctx, address, value):
    """Write the low 32 bits of an integer to an address, aligned or not."""
    return _writer(32, types.int64)


@intrinsic
def write_i64(typingctx, address, value):
    """Write an int64 to an address, aligned or not."""
    return _writer(64, types.int64)


@intrinsic
def write_u64(typingctx, address, value):
    """Write a uint64 to an address, aligned or not."""
    return _writer(64, types.uint64)


def _prefetcher(writes):
    def codegen(context, builder, signature, args):
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [llvm.I8.as_pointer(), i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [pointer(builder, args[0], llvm.I8), i32(writes), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@intrinsic
def prefetch(typingctx, address):
    """Prefetch the cache line at an address, which is written soon; nothing is read, and any address is allowed."""
    return _prefetcher(1)


@intrinsic
def prefetch_shared(typingctx, address):
    """As `prefetch`, for memory that is only read, perhaps by several threads: other cores keep the line, too."""
    return _prefetcher(0)


def _between(n_bytes):
    """An intrinsic that compares this many bytes with a range, see mask_between."""

    def mask(typingctx, address, low, span):
        def codegen(context, builder, signature, args):
            vector = ir.VectorType(llvm.I8, n_bytes)
            block = builder.load(pointer(builder, args[0], vector), align=1)
            low, span = (lanes_of(builder, builder.trunc(value, llvm.I8), vector) for value in args[1:])
            inside = builder.icmp_unsigned("<", builder.sub(block, low), span)
            inside = builder.bitcast(inside, ir.IntType(n_bytes))
            return builder.zext(inside, llvm.I64) if n_bytes < BLOCK else inside

        return types.uint64(types.int64, types.int64, types.int64), codegen

    return intrinsic(mask)


# Of BLOCK bytes, or of 32: bit i of the result, uint64, says whether the byte at `address + i` is at least `low` and less
# than `low + span`.
mask_between, mask_between_32 = _between(BLOCK), _between(32)


@intrinsic
def mask_of_16(typingctx, first, second, low, span):
    """As `mask_between`, of the bytes of two uint64: bits 0 to 15 of the result."""

    def codegen(context, builder, signature, args):
        pair, bytes_ = ir.VectorType(llvm.I64, 2), ir.VectorType(llvm.I8, 16)
        words = ir.Constant(pair, ir.Undefined)
        for i in range(2):
            words = builder.insert_element(words, args[i], ir.Constant(ir.IntType(32), i))
        low, span = (lanes_of(builder, builder.trunc(value, llvm.I8), bytes_) for value in args[2:])
        inside = builder.icmp_unsigned("<", builder.sub(builder.bitcast(words, bytes_), low), span)
        return builder.zext(builder.bitcast(inside, ir.IntType(16)), llvm.I64)

    return types.uint64(types.uint64, types.uint64, types.int64, types.int64), codegen


def _narrower(bits):
    """An intrinsic that writes UNITS code points of this many bits, see narrow_8."""

    def narrow(typingctx, from_at, to_at):
        def codegen(context, builder, signature, args):
            units = ir.VectorType(ir.IntType(bits), UNITS)
            codes = builder.load(pointer(builder, args[0], units), align=1)
            narrow = ir.VectorType(llvm.I8, UNITS)
            data = codes if bits == 8 else builder.trunc(codes, narrow)
            builder.store(data, pointer(builder, args[1], narrow), align=1)
            beyond = builder.icmp_unsigned(">", codes, ir.Constant(units, [0x7F] * UNITS))
            return builder.zext(builder.bitcast(beyond, ir.IntType(UNITS)), llvm.I64)

        return types.uint64(types.int64, types.int64), codegen

    return intrinsic(narrow)


# Write the lowest byte of each of UNITS code points of 8, 16 or 32 bits, unaligned, from one address to another. Bit i of
# the result says whether code point i is not ASCII, so that its byte is wrong.
narrow_8, narrow_16, narrow_32 = map(_narrower, (8, 16, 32))


@intrinsic
def popcount(typingctx, value):
    """The number of set bits of a uint64."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def trailing_zeros(typingctx, value):
    """The number of zero bits below the lowest set bit of a uint64; 64 for zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def leading_zeros(typingctx, value):
    """The number of zero bits above the highest set bit of a uint64; 64 for zero."""

    def codegen(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def write_masked_16(typingctx, to_at, from_at, mask_at):
    """Write the 16 bytes at `from_at` to `to_at`, and-ed with the first 16 bytes at `mask_at` and or-ed with the next."""

    def codegen(context, builder, signature, args):
        pair = ir.VectorType(llvm.I64, 2)
        more_at = builder.add(args[2], ir.Constant(llvm.I64, 16))
        data, mask, more = (builder.load(pointer(builder, at, pair), align=1) for at in (args[1], args[2], more_at))
        data = builder.or_(builder.and_(data, mask), more)
        builder.store(data, pointer(builder, args[0], pair), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def polynomial_step(typingctx, value, factor, coefficient):
    """value * factor + coefficient, modulo 2^61 - 1 but for multiples of it; all uint64.

    The value must be less than 2^63, as the result is, and the factor less than 2^60 (unchecked).
    """

    def codegen(context, builder, signature, args):
        value, factor, coefficient = (builder.zext(each, llvm.I128) for each in args)
        total = builder.add(builder.mul(value, factor), coefficient)
        below = builder.and_(builder.trunc(total, llvm.I64), ir.Constant(llvm.I64, (1 << 61) - 1))
        return builder.add(below, builder.trunc(builder.lshr(total, ir.Constant(llvm.I128, 61)), llvm.I64))

    return types.uint64(*[types.uint64] * 3), codegen


@intrinsic
def write_homes(typingctx, to_at, keys_at, secret, mask, slots_at):
    """Write the addresses of the home slots, of four words each, of LINE keys of two uint64; see piece_table.home_slot.

    to_at : address of int64[LINE];  keys_at : address of uint64[LINE, 2]
    secret : three uint64
    mask, slots_at : the number of words of the slots but for the first slot, and the address of the slots
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(llvm.I64, LINE)

        def shifted(vector, bits):
            return builder.lshr(vector, ir.Constant(lanes, [bits] * LINE))

        halves = [
            builder.load(pointer(builder, builder.add(args[1], ir.Constant(llvm.I64, at)), lanes), align=1)
            for at in (0, 64)
        ]
        order = ir.VectorType(ir.IntType(32), LINE)
        words = [builder.shuffle_vector(*halves, ir.Constant(order, list(range(first, 2 * LINE, 2)))) for first in (0, 1)]
        *numbers, factor = (lanes_of(builder, number, lanes) for number in cgutils.unpack_tuple(builder, args[2]))
        low_half = ir.Constant(lanes, [(1 << 32) - 1] * LINE)
        sums = [builder.add(word, number) for word, number in zip(words, numbers, strict=True)]
        products = [builder.mul(builder.and_(each, low_half), shifted(each, 32)) for each in sums]
        mixed = builder.mul(builder.add(*products), factor)
        mask, slots = (lanes_of(builder, value, lanes) for value in args[3:])
        # As home_slot, times 8 * SLOT.
        mask = builder.shl(mask, ir.Constant(lanes, [3] * LINE))
        homes = builder.and_(shifted(mixed, 27), mask)
        builder.store(builder.add(homes, slots), pointer(builder, args[0], lanes), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.UniTuple(types.uint64, 3), types.int64, types.int64), codegen


@intrinsic
def same_16(typingctx, left_at, right_at):
    """Whether the 16 bytes at two addresses are equal."""

    def codegen(context, builder, signature, args):
        left, right = (builder.load(pointer(builder, at, llvm.I128), align=1) for at in args)
        return builder.icmp_unsigned("==", left, right)

    return types.boolean(types.int64, types.int64), codegen


@intrinsic
def copy_16(typingctx, from_at, to_at):
    """Copy 16 bytes from one address to another."""

    def codegen(context, builder, signature, args):
        pair = ir.VectorType(llvm.I64, 2)
        data = builder.load(pointer(builder, args[0], pair), align=1)
        builder.store(data, pointer(builder, args[1], pair), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def write_16(typingctx, to_at, low, high):
    """Write two uint64 to an address at once: a load of all 16 bytes would wait for two writes."""

    def codegen(context, builder, signature, args):
        pair = ir.VectorType(llvm.I64, 2)
        words = ir.Constant(pair, ir.Undefined)
        for i in range(2):
            words = builder.insert_element(words, args[i + 1], ir.Constant(ir.IntType(32), i))
        builder.store(words, pointer(builder, args[0], pair), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64, types.uint64), codegen


@intrinsic
def copy_32(typingctx, from_at, to_at):
    """Copy 32 bytes from one address to another."""

    def codegen(context, builder, signature, args):
        words = ir.VectorType(llvm.I64, 4)
        data = builder.load(pointer(builder, args[0], words), align=1)
        builder.store(data, pointer(builder, args[1], words), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def copy_64(typingctx, from_at, to_at):
    """Copy BLOCK bytes from one address to another."""

    def codegen(context, builder, signature, args):
        data = builder.load(pointer(builder, args[0], llvm.VECTOR), align=1)
        builder.store(data, pointer(builder, args[1], llvm.VECTOR), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def rank_in_line(typingctx, line_at, key):
    """The rank of the entry with this key in the cache line at an address, which is a line of a merge table; or NO_RANK.

    Cost: one load and about ten vector instructions, without a branch.
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(llvm.I64, LINE)
        line = builder.load(pointer(builder, args[0], lanes), align=64)
        keys = builder.lshr(line, ir.Constant(lanes, [KEY_SHIFT] * LINE))
        same = builder.icmp_unsigned("==", keys, lanes_of(builder, args[1], lanes))
        ranks = builder.and_(line, ir.Constant(lanes, [(1 << RANK_BITS) - 1] * LINE))
        return _smallest(builder, builder.select(same, ranks, ir.Constant(lanes, [NO_RANK] * LINE)))

    return types.int64(types.int64, types.uint64), codegen


@intrinsic
def least(typingctx, numbers_at):
    """The least of LANES numbers, uint32, at a 64-byte aligned address."""

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(ir.IntType(32), LANES)
        numbers = builder.load(pointer(builder, args[0], lanes), align=64)
        return builder.zext(_smallest(builder, numbers), llvm.I64)

    return types.int64(types.int64), codegen


@intrinsic
def least_of_three(typingctx, numbers_at, clear):
    """Bit i of the result says whether number i of LANES is less than those before and after it, and has none of some bits.

    numbers_at : a 64-byte aligned address of uint32; before the first and after the last there is another
    clear      : the bits
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(ir.IntType(32), LANES)
        at = [builder.add(args[0], ir.Constant(llvm.I64, offset)) for offset in (-4, 0, 4)]
        before, numbers, after = (builder.load(pointer(builder, place, lanes), align=4) for place in at)
        least = builder.and_(*(builder.icmp_unsigned("<", numbers, other) for other in (before, after)))
        found = builder.and_(numbers, lanes_of(builder, builder.trunc(args[1], ir.IntType(32)), lanes))
        has_none = builder.icmp_unsigned("==", found, ir.Constant(lanes, [0] * LANES))
        return builder.zext(builder.bitcast(builder.and_(least, has_none), ir.IntType(LANES)), llvm.I64)

    return types.uint64(types.int64, types.int64), codegen


@intrinsic
def write_three(typingctx, numbers_at, lane_1, number_1, lane_2, number_2, lane_3, number_3):
    """Write three of LANES numbers, uint32, at a 64-byte aligned address, in this order; of each the lower 32 bits.

    Loading and storing all of them lets the next `least` have them from the store buffer; after three small stores it would
    wait until those are in the cache.
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(ir.IntType(32), LANES)
        place = pointer(builder, args[0], lanes)
        numbers = builder.load(place, align=64)
        for lane, number in zip(args[1::2], args[2::2], strict=True):
            lane, number = (lanes_of(builder, builder.trunc(value, ir.IntType(32)), lanes) for value in (lane, number))
            here = builder.icmp_unsigned("==", ir.Constant(lanes, list(range(LANES))), lane)
            numbers = builder.select(here, number, numbers)
        builder.store(numbers, place, align=64)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen


@intrinsic
def write_byte_pairs(typingctx, symbols_at, turns_at, bytes_at, before, first, n, pairs_at):
    """Write LANES bytes as uint32, and what a table has of each pair of a byte and the one before it.

    symbols_at : address of uint32[LANES], filled with the bytes
    turns_at   : address of uint32[LANES]; of byte i, with position p = first + i, filled with
                 pairs[byte before << 8 | byte] << POSITION_BITS | p if 0 < p < n, else with all ones
    bytes_at   : address of the bytes, all of which must exist;  before : the byte before them
    pairs_at   : address of uint32[65536]

    The number of pairs makes no difference to the time, while the end of a loop over them would be mispredicted.
    """

    def codegen(context, builder, signature, args):
        i32 = ir.IntType(32)
        lanes, places = ir.VectorType(i32, LANES), ir.VectorType(llvm.I64, LANES)
        symbols_at, turns_at, bytes_at, *numbers, pairs_at = args
        before, first, n = (lanes_of(builder, builder.trunc(number, i32), lanes) for number in numbers)

        def shifted(vector, bits):
            return builder.shl(vector, ir.Constant(vector.type, [bits] * LANES))

        rights = builder.load(pointer(builder, bytes_at, ir.VectorType(llvm.I8, LANES)), align=1)
        rights = builder.zext(rights, lanes)
        builder.store(rights, pointer(builder, symbols_at, lanes), align=4)
        order = ir.Constant(lanes, [0, *range(LANES, 2 * LANES - 1)])
        pairs = builder.or_(shifted(builder.shuffle_vector(before, rights, order), 8), rights)
        entries_at = builder.add(shifted(builder.zext(pairs, places), 2), lanes_of(builder, pairs_at, places))
        pointers = builder.inttoptr(entries_at, ir.VectorType(i32.as_pointer(), LANES))
        all_of_them = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)
        gather = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(lanes, [pointers.type, i32, all_of_them.type, lanes]),
            f"llvm.masked.gather.v{LANES}i32.v{LANES}p0i32",
        )
        entries = builder.call(gather, [pointers, i32(4), all_of_them, ir.Constant(lanes, ir.Undefined)])
        positions = builder.add(first, ir.Constant(lanes, list(range(LANES))))
        turns = builder.or_(shifted(entries, POSITION_BITS), positions)
        # Position 0 less one is more than any n.
        one, all_ones = (ir.Constant(lanes, [number] * LANES) for number in (1, (1 << 32) - 1))
        is_pair = builder.icmp_unsigned("<", builder.sub(positions, one), builder.sub(n, one))
        builder.store(builder.select(is_pair, turns, all_ones), pointer(builder, turns_at, lanes), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen
