"""Characters to UTF-8 and back, strictly as Python does."""

import numpy as np

from ..compiler.jit import cgutils, inlined, intrinsic, ir, llvm, types
from .intrinsics import BLOCK, LANES, pointer, read_u8, write_u8
from .intrinsics_look_up import HAS_PACKING, compressed


@inlined
def decode_character(text_at):
    """Decode the UTF-8 character at an address, strictly as Python does.

    Returns (code point, length in bytes), or (-1, 1) where no valid character starts. Reads up to 4 bytes.
    """
    first = np.int64(read_u8(text_at))
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return -1, 1
    second = np.int64(read_u8(text_at + 1))
    if second & 0xC0 != 0x80:
        return -1, 1
    if first < 0xE0:
        return ((first & 0x1F) << 6) | (second & 0x3F), 2
    third = np.int64(read_u8(text_at + 2))
    if third & 0xC0 != 0x80:
        return -1, 1
    if first < 0xF0:
        code_point = ((first & 0x0F) << 12) | ((second & 0x3F) << 6) | (third & 0x3F)
        if code_point < 0x800 or 0xD800 <= code_point <= 0xDFFF:
            return -1, 1
        return code_point, 3
    fourth = np.int64(read_u8(text_at + 3))
    code_point = ((first & 0x07) << 18) | ((second & 0x3F) << 12) | ((third & 0x3F) << 6) | (fourth & 0x3F)
    if fourth & 0xC0 != 0x80 or code_point < 0x10000 or code_point > 0x10FFFF:
        return -1, 1
    return code_point, 4


@inlined
def encode_character(code_point, to_at):
    """Write a code point as UTF-8 to an address; returns the number of bytes (of a surrogate three, as surrogatepass)."""
    if code_point < 0x80:
        write_u8(to_at, code_point)
        return 1
    if code_point < 0x800:
        write_u8(to_at, 0xC0 | code_point >> 6)
        n = 2
    elif code_point < 0x10000:
        write_u8(to_at, 0xE0 | code_point >> 12)
        write_u8(to_at + 1, 0x80 | code_point >> 6 & 0x3F)
        n = 3
    else:
        write_u8(to_at, 0xF0 | code_point >> 18)
        write_u8(to_at + 1, 0x80 | code_point >> 12 & 0x3F)
        write_u8(to_at + 2, 0x80 | code_point >> 6 & 0x3F)
        n = 4
    write_u8(to_at + n - 1, 0x80 | code_point & 0x3F)
    return n


def _utf8_writer(bits):
    """An intrinsic that writes the UTF-8 of LANES code points of this many bits, see write_utf8_8."""

    def number(value):
        return ir.Constant(ir.VectorType(ir.IntType(32), LANES), [value - (value >> 31 << 32)] * LANES)

    def six_bits(builder, code, shift, to):
        """The six bits from bit `shift` on of each code point, moved to bit `to`."""
        moved = builder.lshr(code, number(shift - to)) if shift >= to else builder.shl(code, number(to - shift))
        return builder.and_(moved, number(0x3F << to))

    def write_utf8(typingctx, from_at, to_at):
        def codegen(context, builder, signature, args):
            code = builder.load(pointer(builder, args[0], ir.VectorType(ir.IntType(bits), LANES)), align=1)
            code = code if bits == 32 else builder.zext(code, ir.VectorType(ir.IntType(32), LANES))
            # Four bytes a code point, of which shorter forms use the upper ones; the last byte is the highest.
            data = builder.or_(six_bits(builder, code, 0, 24), six_bits(builder, code, 6, 16))
            marks = number(0x80C00000)  # the marker bits of lead and continuation bytes
            if bits > 8:
                data = builder.or_(data, builder.or_(six_bits(builder, code, 12, 8), six_bits(builder, code, 18, 0)))
                for least, longer in (0x800, 0x8080E000), (0x10000, 0x808080F0):
                    marks = builder.select(builder.icmp_unsigned(">=", code, number(least)), number(longer), marks)
            is_single = builder.icmp_unsigned("<", code, number(0x80))
            if bits > 8:
                is_escaped = builder.icmp_unsigned("<", builder.sub(code, number(0xDC80)), number(0x80))
                is_single = builder.or_(is_single, is_escaped)
            marks = builder.select(is_single, number(0), marks)
            data = builder.or_(builder.select(is_single, builder.shl(code, number(24)), data), marks)
            used = builder.or_(marks, number(0xFF000000))
            return (_write_compressed if HAS_PACKING else _write_each)(builder, data, used, args[1])

        return types.int64(types.int64, types.int64), codegen

    return intrinsic(write_utf8)


def _write_compressed(builder, data, used, to_at):
    """Write those bytes of `data` that are not 0 in `used`, in one instruction; returns their number."""
    chosen = builder.icmp_unsigned("!=", builder.bitcast(used, llvm.VECTOR), ir.Constant(llvm.VECTOR, [0] * BLOCK))
    data = compressed(builder, builder.bitcast(data, llvm.VECTOR), chosen)
    builder.store(data, pointer(builder, to_at, llvm.VECTOR), align=1)
    return builder.ctpop(builder.bitcast(chosen, llvm.I64))


def _write_each(builder, data, used, to_at):
    """As _write_compressed, lane by lane."""
    lanes = data.type
    kind = ir.FunctionType(lanes, [lanes, ir.IntType(1)])
    count_zeros = cgutils.get_or_insert_function(builder.module, kind, f"llvm.cttz.v{LANES}i32")
    unused = builder.call(count_zeros, [used, ir.Constant(ir.IntType(1), 0)])
    unused = builder.and_(unused, ir.Constant(lanes, [0x18] * LANES))
    data = builder.lshr(data, unused)
    sizes = builder.sub(ir.Constant(lanes, [4] * LANES), builder.lshr(unused, ir.Constant(lanes, [3] * LANES)))
    end_at = to_at
    for lane in range(LANES):
        index = ir.Constant(ir.IntType(32), lane)
        builder.store(builder.extract_element(data, index), pointer(builder, end_at, lanes.element), align=1)
        end_at = builder.add(end_at, builder.zext(builder.extract_element(sizes, index), llvm.I64))
    return builder.sub(end_at, to_at)


# Write the UTF-8 of LANES code points of 8, 16 or 32 bits, unaligned, from one address to another; returns how many bytes
# it has. Up to BLOCK are written. A surrogate of surrogateescape's becomes the byte that it stands for, any other three
# bytes, as surrogatepass gives. Cost: some thirty instructions; without AVX-512 four more for each.
write_utf8_8, write_utf8_16, write_utf8_32 = map(_utf8_writer, (8, 16, 32))
