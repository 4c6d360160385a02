"""The few LLVM operations that Numba does not offer: unaligned loads, 64-byte compares, bit tricks, prefetch.

Everything here is portable LLVM IR. A `<64 x i8>` compare becomes one AVX-512 instruction, two AVX2 ones or four NEON
ones, as the machine has it.

Loads take an address. Numba counts references for every array that a helper function takes, with atomic operations that
cost more than the rest of a look-up; helpers that run once a piece or once a block therefore take addresses, and the
kernels around them, which own the arrays, take those with `address_of` (190 against 540 MB/s in counting). None of these
loads is bounds-checked, not even under `NUMBA_BOUNDSCHECK=1`: the caller promises that the bytes exist (text buffers
carry `PADDING` spare bytes for that).
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK = 64  # bytes that one vector operation looks at: one bit each in a uint64
N_CLASSES = 11  # classes of characters (see kernels/scan.py)
RULES = 8  # rules that a cut table can have: lanes of one vector
PADDING = 128  # spare bytes that every text buffer has after its text, so that block loads may run past the end

_I8 = ir.IntType(8)
_I64 = ir.IntType(64)
_I128 = ir.IntType(128)
_VECTOR = ir.VectorType(_I8, BLOCK)


def _splat(builder, byte):
    """A vector of 64 copies of an i8."""
    single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), zeros)


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
def read_u64(typingctx, address):
    """The little-endian uint64 at an address, aligned or not."""
    return _reader(_I64, types.uint64)


@intrinsic
def write_u64(typingctx, address, value):
    """Write a uint64 to an address, aligned or not."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], _pointer(builder, args[0], _I64), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.uint64), codegen


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
def trailing_zeros(typingctx, value):
    """The number of zero bits below the lowest set bit of a uint64; 64 for zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen
