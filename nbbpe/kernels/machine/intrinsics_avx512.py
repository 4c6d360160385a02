"""Looking up 64 bytes at once, and packing: of x86 processors with AVX-512 VBMI and VBMI2 only (since Ice Lake and Zen 4).

For kernels to use where HAS_LOOK_UP. Tables are best from the start of a cache line on. Cost: up to a dozen instructions
each. See intrinsics.py for what all processors have, and for loads.
"""

from llvmlite import ir

from ..compiler.jit import cgutils, intrinsic, types
from ..compiler.target import present
from .intrinsics import BLOCK, I8, I64, LINE, VECTOR, lanes_of, pointer, splat

# Whether kernels are compiled for a processor that looks 64 bytes up, or packs them, in one instruction.
HAS_LOOK_UP = present().has("avx512vbmi2")


def _load_64(builder, address):
    return builder.load(pointer(builder, address, VECTOR), align=1)


def _look_up_64(builder, table, indices):
    """table[index & 63] for 64 indices."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 2)
    look_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.permvar.qi.512")
    return builder.call(look_up, [table, indices])


def _look_up_128(builder, table_at, indices):
    """table[index & 127] for 64 indices, of a table at an address."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    look_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpermi2var.qi.512")
    low, high = (_load_64(builder, builder.add(table_at, ir.Constant(I64, n))) for n in (0, BLOCK))
    return builder.call(look_up, [low, indices, high])


def _blend(builder, address, chosen, vector):
    """Store a vector's bytes whose bit is set in a uint64; others are left."""
    bits = builder.bitcast(chosen, ir.VectorType(ir.IntType(1), BLOCK))
    builder.store(builder.select(bits, vector, _load_64(builder, address)), pointer(builder, address, VECTOR), align=1)


def _moved(builder, vector, other, first):
    """Of the 128 bytes of two vectors, the 64 from number `first` on."""
    kind = ir.VectorType(ir.IntType(32), BLOCK)
    return builder.shuffle_vector(vector, other, ir.Constant(kind, list(range(first, first + BLOCK))))


def _cuts_by_rules(context, builder, signature, look_up, entering):
    """See ascii_cuts; `look_up` gives the rules of each byte for one of the five parts that they have."""
    i32 = ir.IntType(32)
    of_part = [look_up(part) for part in range(5)]
    zero = ir.Constant(VECTOR, [0] * BLOCK)
    carried = [builder.trunc(builder.lshr(entering, I64(8 * i)), I8) for i in range(2)]
    before = _moved(builder, splat(builder, carried[0]), of_part[0], BLOCK - 1)
    pairs = builder.icmp_unsigned("!=", builder.and_(before, of_part[1]), zero)
    first = _moved(builder, splat(builder, carried[1]), of_part[2], BLOCK - 1)
    # What stands after the block is not known: no rule of three sees a boundary before its last byte.
    third = _moved(builder, of_part[4], zero, 1)
    triples = builder.icmp_unsigned("!=", builder.and_(builder.and_(first, of_part[3]), third), zero)
    last = [builder.zext(builder.extract_element(of_part[part], i32(BLOCK - 1)), I64) for part in (0, 2)]
    leaving = builder.or_(last[0], builder.shl(last[1], I64(8)))
    found = builder.bitcast(pairs, I64), builder.bitcast(triples, I64), leaving
    return context.make_tuple(builder, signature.return_type, found)


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
        builder.store(found, pointer(builder, args[2], VECTOR), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def blend_64(typingctx, out_at, chosen, byte):
    """out[i] = byte where bit i of `chosen`, uint64, is set; out_at is the address of uint8[64]."""

    def codegen(context, builder, signature, args):
        _blend(builder, args[0], args[1], splat(builder, builder.trunc(args[2], I8)))
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


def _places_writer(n_places):
    """What writes as int64 the places of the first `n_places` set bits of a uint64, each added to `first`.

    Where there are less, anything follows. Cost: some five instructions, and three for each LINE places.
    """

    def write_places(typingctx, to_at, bits, first):
        def codegen(context, builder, signature, args):
            chosen = ir.VectorType(ir.IntType(1), BLOCK)
            kind = ir.FunctionType(VECTOR, [VECTOR, VECTOR, chosen])
            compress = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.mask.compress.v64i8")
            numbers = ir.Constant(VECTOR, list(range(BLOCK)))
            packed = builder.call(compress, [numbers, numbers, builder.bitcast(args[1], chosen)])
            lanes = ir.VectorType(I64, LINE)
            firsts = lanes_of(builder, args[2], lanes)
            for i in range(0, n_places, LINE):
                part = ir.Constant(ir.VectorType(ir.IntType(32), LINE), list(range(i, i + LINE)))
                places = builder.add(builder.zext(builder.shuffle_vector(packed, packed, part), lanes), firsts)
                builder.store(places, pointer(builder, builder.add(args[0], ir.Constant(I64, 8 * i)), lanes), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64, types.int64), codegen

    return intrinsic(write_places)


write_24_places, write_64_places = _places_writer(24), _places_writer(BLOCK)


def _cuts():
    return types.Tuple((types.uint64, types.uint64, types.int64))(*[types.int64] * 3)


@intrinsic
def ascii_cuts(typingctx, block_at, rules_at, entering):
    """Where the rules of a pattern see a boundary in 64 bytes that are all ASCII.

    rules_at : address of uint8[5, 128]   see pattern_tables.ASCII_RULES
    entering : int64                      the rules that the byte before the block takes part in, as part 0 and, << 8, 2

    Returns (cuts, more cuts, entering): bit i, uint64, says that a rule for two, or for three, sees a boundary before byte
    i; the last is for the next block.
    """

    def codegen(context, builder, signature, args):
        block = _load_64(builder, args[0])

        def look_up(part):
            return _look_up_128(builder, builder.add(args[1], I64(128 * part)), block)

        return _cuts_by_rules(context, builder, signature, look_up, args[2])

    return _cuts(), codegen


@intrinsic
def class_cuts(typingctx, classes_at, rules_at, entering):
    """As ascii_cuts, of 64 bytes whose classes are given; the rules, uint8[5, 64], are by class."""

    def codegen(context, builder, signature, args):
        classes = _load_64(builder, args[0])

        def look_up(part):
            return _look_up_64(builder, _load_64(builder, builder.add(args[1], I64(BLOCK * part))), classes)

        return _cuts_by_rules(context, builder, signature, look_up, args[2])

    return _cuts(), codegen
