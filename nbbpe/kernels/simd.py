"""The few LLVM operations that Numba does not offer: unaligned loads, 64-byte compares, bit tricks, prefetch.

Everything here is portable LLVM IR, but for those that say so. A `<64 x i8>` compare becomes one AVX-512
instruction, two AVX2 ones or four NEON ones, as the machine has it.

Loads take an address. Numba counts references for every array that a helper function takes, with atomic operations that
cost more than the rest of a look-up; helpers that run once a piece or once a block therefore take addresses, and the
kernels around them, which own the arrays, take those with `address_of` (190 against 540 MB/s in counting). None of these
loads is bounds-checked, not even under `NUMBA_BOUNDSCHECK=1`: the caller promises that the bytes exist (text buffers
carry `PADDING` spare bytes for that).
"""

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

BLOCK = 64  # bytes that one vector operation looks at: one bit each in a uint64
N_CLASSES = 11  # classes of characters (see kernels/scan.py)
RULES = 8  # rules that a cut table can have: lanes of one vector
LINE = 8  # entries of 64 bits in a cache line
LANES = 16  # ranks that one vector operation looks at
RANK_BITS = 22  # of an entry of a merge table (see kernels/merge_table.py) that are its rank; the others are its key
NO_RANK = 0xFFFFFFFF  # greater than any rank
PADDING = 128  # spare bytes that every text buffer has after its text, so that block loads may run past the end

_I8 = ir.IntType(8)
_I64 = ir.IntType(64)
_I128 = ir.IntType(128)
_VECTOR = ir.VectorType(_I8, BLOCK)


def _splat(builder, byte):
    """A vector of 64 copies of an i8."""
    return _lanes(builder, byte, _VECTOR)


def _lanes(builder, value, vector):
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


def _pointer(builder, address, kind):
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def address_of(typingctx, array):
    """The address of an array's first byte. The array must outlive every use of it."""

    def codegen(context, builder, signature, args):
        struct = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        return builder.ptrtoint(struct.data, _I64)

    return types.int64(array), codegen


def _reader(kind, result):
    def codegen(context, builder, signature, args):
        return builder.load(_pointer(builder, args[0], kind), align=1)

    return result(types.int64), codegen


@intrinsic
def read_u8(typingctx, address):
    """The byte at an address."""
    return _reader(_I8, types.uint8)


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
    return _reader(_I64, types.int64)


@intrinsic
def read_u64(typingctx, address):
    """The little-endian uint64 at an address, aligned or not."""
    return _reader(_I64, types.uint64)


def _writer(bits, value):
    def codegen(context, builder, signature, args):
        kind = ir.IntType(bits)
        narrow = builder.trunc(args[1], kind) if bits < 64 else args[1]
        builder.store(narrow, _pointer(builder, args[0], kind), align=1)
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


@intrinsic
def prefetch(typingctx, address):
    """Ask for the cache line at an address, to be written soon; nothing is read, and any address is allowed."""

    def codegen(context, builder, signature, args):
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [_pointer(builder, args[0], _I8), i32(1), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@intrinsic
def mask_between(typingctx, address, low, span):
    """Bit i of the result says whether the byte at `address + i` is at least `low` and less than `low + span`."""

    def codegen(context, builder, signature, args):
        block = builder.load(_pointer(builder, args[0], _VECTOR), align=1)
        low, span = (_splat(builder, builder.trunc(value, _I8)) for value in args[1:])
        return builder.bitcast(builder.icmp_unsigned("<", builder.sub(block, low), span), _I64)

    return types.uint64(types.int64, types.int64, types.int64), codegen


def _has_look_up() -> bool:
    """Whether kernels are compiled for a processor that looks 64 bytes up in one instruction."""
    name, features = (getattr(config, setting, None) for setting in ("CPU_NAME", "CPU_FEATURES"))
    if name is None and features is None:  # for this machine's
        return bool(binding.get_host_cpu_features().get("avx512vbmi", False))
    return "+avx512vbmi" in (features or "")


HAS_LOOK_UP = _has_look_up()


def _load_64(builder, address):
    return builder.load(_pointer(builder, address, _VECTOR), align=1)


def _look_up_64(builder, table, indices):
    """table[index & 63] for 64 indices."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 2)
    look_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.permvar.qi.512")
    return builder.call(look_up, [table, indices])


def _look_up_128(builder, table_at, indices):
    """table[index & 127] for 64 indices, of a table at an address."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    look_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpermi2var.qi.512")
    low, high = (_load_64(builder, builder.add(table_at, ir.Constant(_I64, n))) for n in (0, BLOCK))
    return builder.call(look_up, [low, indices, high])


def _blend(builder, address, chosen, vector):
    """Store a vector's bytes whose bit is set in a uint64; others are left."""
    bits = builder.bitcast(chosen, ir.VectorType(ir.IntType(1), BLOCK))
    builder.store(builder.select(bits, vector, _load_64(builder, address)), _pointer(builder, address, _VECTOR), align=1)


def _moved(builder, vector, other, first):
    """Of the 128 bytes of two vectors, the 64 from number `first` on."""
    kind = ir.VectorType(ir.IntType(32), BLOCK)
    return builder.shuffle_vector(vector, other, ir.Constant(kind, list(range(first, first + BLOCK))))


def _common_rules(context, builder, signature, before, after, entering):
    """Where the rules of a byte and those of the byte before it have a bit in common, and the rules of the last byte."""
    hits = builder.and_(_moved(builder, _splat(builder, builder.trunc(entering, _I8)), before, BLOCK - 1), after)
    cuts = builder.bitcast(builder.icmp_unsigned("!=", hits, ir.Constant(_VECTOR, [0] * BLOCK)), _I64)
    last = builder.extract_element(before, ir.Constant(ir.IntType(32), BLOCK - 1))
    return context.make_tuple(builder, signature.return_type, (cuts, builder.zext(last, _I64)))


# Those below are of x86 processors with AVX-512 VBMI only (since Ice Lake and Zen 4): for kernels to use where HAS_LOOK_UP.
# Tables are best from the start of a cache line on. Cost: up to a dozen instructions each.


@intrinsic
def look_up_64(typingctx, table_at, address, chosen, out_at):
    """out[i] = table[byte at `address + i` & 63] for 64 bytes i, where bit i of `chosen` is set; others are left.

    table_at, out_at : addresses of uint8[64];  chosen : uint64
    """

    def codegen(context, builder, signature, args):
        found = _look_up_64(builder, _load_64(builder, args[0]), _load_64(builder, args[1]))
        _blend(builder, args[3], args[2], found)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.uint64, types.int64), codegen


@intrinsic
def look_up_128(typingctx, table_at, address, out_at):
    """out[i] = table[byte at `address + i` & 127] for 64 bytes i; table_at, out_at are addresses of uint8[128] and [64]."""

    def codegen(context, builder, signature, args):
        found = _look_up_128(builder, args[0], _load_64(builder, args[1]))
        builder.store(found, _pointer(builder, args[2], _VECTOR), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def blend_64(typingctx, out_at, chosen, byte):
    """out[i] = byte where bit i of `chosen`, uint64, is set; out_at is the address of uint8[64]."""

    def codegen(context, builder, signature, args):
        _blend(builder, args[0], args[1], _splat(builder, builder.trunc(args[2], _I8)))
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64, types.int64), codegen


@intrinsic
def spread_64(typingctx, out_at, one_before, two_before):
    """out[i] = out[i + 1] where bit i of `one_before` is set, out[i + 2] where bit i of `two_before`; both uint64.

    out_at is the address of uint8[64]; all is read before anything is written. The last bits must not be set.
    """

    def codegen(context, builder, signature, args):
        old = _load_64(builder, args[0])
        for chosen, n in (args[1], 1), (args[2], 2):
            _blend(builder, args[0], chosen, _moved(builder, old, old, n))
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64, types.uint64), codegen


@intrinsic
def ascii_cuts(typingctx, block_at, rules_at, entering):
    """Where the rules of a cut table see a boundary in 64 bytes that are all ASCII; result as of rule_cuts.

    rules_at : address of uint8[256]   for each ASCII character bit r says that it may stand before rule r's boundary; and
                                       from 128 on, likewise, after it
    entering : int64                   see rule_cuts
    """

    def codegen(context, builder, signature, args):
        block = _load_64(builder, args[0])
        before = _look_up_128(builder, args[1], block)
        after = _look_up_128(builder, builder.add(args[1], ir.Constant(_I64, 128)), block)
        return _common_rules(context, builder, signature, before, after, args[2])

    return types.Tuple((types.uint64, types.int64))(types.int64, types.int64, types.int64), codegen


@intrinsic
def class_cuts(typingctx, classes_at, rules_at, entering):
    """As ascii_cuts, of 64 bytes whose classes are given; the rules, uint8[128], are by class, from 64 on those after."""

    def codegen(context, builder, signature, args):
        classes = _load_64(builder, args[0])
        before = _look_up_64(builder, _load_64(builder, args[1]), classes)
        after = _look_up_64(builder, _load_64(builder, builder.add(args[1], ir.Constant(_I64, BLOCK))), classes)
        return _common_rules(context, builder, signature, before, after, args[2])

    return types.Tuple((types.uint64, types.int64))(types.int64, types.int64, types.int64), codegen


@intrinsic
def mask_letters(typingctx, address):
    """Bit i of the result says whether the byte at `address + i` is an ASCII letter."""

    def codegen(context, builder, signature, args):
        block = builder.load(_pointer(builder, args[0], _VECTOR), align=1)
        folded = builder.or_(block, _splat(builder, ir.Constant(_I8, 0x20)))
        shifted = builder.sub(folded, _splat(builder, ir.Constant(_I8, ord("a"))))
        return builder.bitcast(builder.icmp_unsigned("<", shifted, _splat(builder, ir.Constant(_I8, 26))), _I64)

    return types.uint64(types.int64), codegen


@intrinsic
def rule_cuts(typingctx, masks, before, after, entering):
    """Where the rules of a cut table see a boundary in 64 bytes, all RULES rules at once (see kernels/scan.py).

    masks, before, after are addresses of

    masks    : uint64[n_classes]          bit i of masks[c] says whether byte i is of class c
    before   : uint64[n_classes * RULES]  all ones at [c * RULES + r] where rule r allows class c before its boundary
    after    : uint64[n_classes * RULES]  likewise for the class after it
    entering : int64                      bit r says that the byte before the block may stand before rule r's boundary

    Returns (cuts, entering): bit i of cuts, uint64, says that a boundary stands before byte i; the other is for the
    next block. The number of classes is fixed at 11. Cost: some 40 vector instructions.
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(_I64, RULES)
        bits = ir.VectorType(ir.IntType(1), RULES)
        i32 = ir.IntType(32)
        data = [_pointer(builder, address, _I64) for address in args[:3]]
        undefined = ir.Constant(lanes, ir.Undefined)
        spread = ir.Constant(ir.VectorType(i32, RULES), [0] * RULES)

        def rules_of(pointer, c):
            place = builder.gep(pointer, [ir.Constant(_I64, c * RULES)])
            return builder.load(builder.bitcast(place, lanes.as_pointer()), align=8)

        seen = [ir.Constant(lanes, [0] * RULES)] * 2
        for c in range(N_CLASSES):
            mask = builder.load(builder.gep(data[0], [ir.Constant(_I64, c)]))
            mask = builder.insert_element(undefined, mask, ir.Constant(i32, 0))
            mask = builder.shuffle_vector(mask, undefined, spread)
            seen = [builder.or_(old, builder.and_(mask, rules_of(data[i + 1], c))) for i, old in enumerate(seen)]
        one = ir.Constant(lanes, [1] * RULES)
        carry = builder.zext(builder.bitcast(builder.trunc(args[3], ir.IntType(RULES)), bits), lanes)
        hits = builder.and_(builder.or_(builder.shl(seen[0], one), carry), seen[1])
        reduce_type = ir.FunctionType(_I64, [lanes])
        reduce_or = cgutils.get_or_insert_function(builder.module, reduce_type, f"llvm.vector.reduce.or.v{RULES}i64")
        top = builder.icmp_signed("<", seen[0], ir.Constant(lanes, [0] * RULES))
        leaving = builder.zext(builder.bitcast(top, ir.IntType(RULES)), _I64)
        return context.make_tuple(builder, signature.return_type, (builder.call(reduce_or, [hits]), leaving))

    return types.Tuple((types.uint64, types.int64))(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def multiply_fold(typingctx, left, right):
    """The low half xor the high half of the 128-bit product of two uint64: one multiplication that mixes well."""

    def codegen(context, builder, signature, args):
        product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        high = builder.trunc(builder.lshr(product, ir.Constant(_I128, 64)), _I64)
        return builder.xor(builder.trunc(product, _I64), high)

    return types.uint64(types.uint64, types.uint64), codegen


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
    """Write the 16 bytes at `from_at` to `to_at`, and-ed with the first 16 bytes at `mask_at` and or-ed with the next.

    Returns what was written as two uint64.
    """

    def codegen(context, builder, signature, args):
        pair = ir.VectorType(_I64, 2)
        more_at = builder.add(args[2], ir.Constant(_I64, 16))
        data, mask, more = (builder.load(_pointer(builder, at, pair), align=1) for at in (args[1], args[2], more_at))
        data = builder.or_(builder.and_(data, mask), more)
        builder.store(data, _pointer(builder, args[0], pair), align=1)
        words = [builder.extract_element(data, ir.Constant(ir.IntType(32), i)) for i in range(2)]
        return context.make_tuple(builder, signature.return_type, words)

    return types.Tuple((types.uint64, types.uint64))(types.int64, types.int64, types.int64), codegen


@intrinsic
def same_16(typingctx, left_at, right_at):
    """Whether the 16 bytes at two addresses are equal."""

    def codegen(context, builder, signature, args):
        left, right = (builder.load(_pointer(builder, at, _I128), align=1) for at in args)
        return builder.icmp_unsigned("==", left, right)

    return types.boolean(types.int64, types.int64), codegen


@intrinsic
def copy_16(typingctx, from_at, to_at):
    """Copy 16 bytes from one address to another."""

    def codegen(context, builder, signature, args):
        pair = ir.VectorType(_I64, 2)
        data = builder.load(_pointer(builder, args[0], pair), align=1)
        builder.store(data, _pointer(builder, args[1], pair), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def rank_in_line(typingctx, line_at, key):
    """The rank of the entry with this key in the cache line at an address, which is a line of a merge table; or NO_RANK.

    Cost: one load and some ten vector instructions, without a branch.
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(_I64, LINE)
        line = builder.load(_pointer(builder, args[0], lanes), align=64)
        keys = builder.lshr(line, ir.Constant(lanes, [RANK_BITS] * LINE))
        same = builder.icmp_unsigned("==", keys, _lanes(builder, args[1], lanes))
        ranks = builder.and_(line, ir.Constant(lanes, [(1 << RANK_BITS) - 1] * LINE))
        return _smallest(builder, builder.select(same, ranks, ir.Constant(lanes, [NO_RANK] * LINE)))

    return types.int64(types.int64, types.uint64), codegen


@intrinsic
def lowest_rank(typingctx, ranks_at):
    """The lowest of LANES ranks, uint32, at a 64-byte aligned address, and the lane of the first that is as low."""

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(ir.IntType(32), LANES)
        ranks = builder.load(_pointer(builder, args[0], lanes), align=64)
        lowest = _smallest(builder, ranks)
        same = builder.bitcast(builder.icmp_unsigned("==", ranks, _lanes(builder, lowest, lanes)), ir.IntType(LANES))
        lane = builder.cttz(builder.zext(same, _I64), ir.Constant(ir.IntType(1), 0))
        return context.make_tuple(builder, signature.return_type, (builder.zext(lowest, _I64), lane))

    return types.Tuple((types.int64, types.int64))(types.int64), codegen


@intrinsic
def write_ranks(typingctx, ranks_at, lane_1, rank_1, lane_2, rank_2, lane_3, rank_3):
    """Write three of LANES ranks at a 64-byte aligned address, in this order.

    Loading and storing all of them lets the next `lowest_rank` have them from the store buffer; after three small stores it
    would wait until those are in the cache.
    """

    def codegen(context, builder, signature, args):
        lanes = ir.VectorType(ir.IntType(32), LANES)
        pointer = _pointer(builder, args[0], lanes)
        ranks = builder.load(pointer, align=64)
        for lane, rank in zip(args[1::2], args[2::2], strict=True):
            lane, rank = (_lanes(builder, builder.trunc(value, ir.IntType(32)), lanes) for value in (lane, rank))
            here = builder.icmp_unsigned("==", ir.Constant(lanes, list(range(LANES))), lane)
            ranks = builder.select(here, rank, ranks)
        builder.store(ranks, pointer, align=64)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), codegen
