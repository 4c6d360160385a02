"""Looking up 64 bytes at once, and packing: of x86 processors with AVX-512 VBMI and VBMI2 only (since Ice Lake and Zen 4).

For kernels to use where HAS_LOOK_UP. Tables are best from the start of a cache line on. Cost: up to a dozen instructions
each. See simd.py for what all processors have, and for loads.
"""

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from .simd import BLOCK, I8, I64, LINE, VECTOR, lanes_of, pointer, splat


def _has_look_up() -> bool:
    """Whether kernels are compiled for a processor that looks 64 bytes up, or packs them, in one instruction."""
    name, features = (getattr(config, setting, None) for setting in ("CPU_NAME", "CPU_FEATURES"))
    if name is None and features is None:  # for this machine's
        return bool(binding.get_host_cpu_features().get("avx512vbmi2", False))
    return "+avx512vbmi2" in (features or "")


HAS_LOOK_UP = _has_look_up()


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


def _common_rules(context, builder, signature, before, after, entering):
    """Where the rules of a byte and those of the byte before it have a bit in common, and the rules of the last byte."""
    hits = builder.and_(_moved(builder, splat(builder, builder.trunc(entering, I8)), before, BLOCK - 1), after)
    cuts = builder.bitcast(builder.icmp_unsigned("!=", hits, ir.Constant(VECTOR, [0] * BLOCK)), I64)
    last = builder.extract_element(before, ir.Constant(ir.IntType(32), BLOCK - 1))
    return context.make_tuple(builder, signature.return_type, (cuts, builder.zext(last, I64)))


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

    def typing(typingctx, to_at, bits, first):
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

    return intrinsic(typing)


write_24_places, write_64_places = _places_writer(24), _places_writer(BLOCK)


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
        after = _look_up_128(builder, builder.add(args[1], ir.Constant(I64, 128)), block)
        return _common_rules(context, builder, signature, before, after, args[2])

    return types.Tuple((types.uint64, types.int64))(types.int64, types.int64, types.int64), codegen


@intrinsic
def class_cuts(typingctx, classes_at, rules_at, entering):
    """As ascii_cuts, of 64 bytes whose classes are given; the rules, uint8[128], are by class, from 64 on those after."""

    def codegen(context, builder, signature, args):
        classes = _load_64(builder, args[0])
        before = _look_up_64(builder, _load_64(builder, args[1]), classes)
        after = _look_up_64(builder, _load_64(builder, builder.add(args[1], ir.Constant(I64, BLOCK))), classes)
        return _common_rules(context, builder, signature, before, after, args[2])

    return types.Tuple((types.uint64, types.int64))(types.int64, types.int64, types.int64), codegen
