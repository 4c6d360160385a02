"""Characters to UTF-8 and back, strictly as Python does."""

from itertools import chain

import numpy as np

from ..compiler.jit import cgutils, inlined, intrinsic, ir, llvm
from ..compiler.signature import int64
from .intrinsics import LANES, read_u8, write_u8
from .intrinsics_look_up import FORM, HAS_PACKING, compressed


@inlined
def decode_character(text_at):
    """Decode the UTF-8 character at an address, strictly as Python does.

    Returns (code point, length in bytes), or (-1, 1) if no valid character starts there. Reads up to 4 bytes.
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


_BY_ROWS = FORM == "avx2"  # whether the rows of a table say how to move bytes next to each other
_HAS_SHORT_WAY = _BY_ROWS or HAS_PACKING  # whether there is a shorter way to write code points below 0x800


def _utf8_writer(bits):
    """An intrinsic that writes the UTF-8 of LANES code points of this many bits, see write_utf8_8."""

    def number(value):
        return ir.VectorType(llvm.I32, LANES)(value - (value >> 31 << 32))

    def six_bits(builder, code, shift, to):
        """The six bits from bit `shift` on of each code point, moved to bit `to`."""
        moved = builder.lshr(code, number(shift - to)) if shift >= to else builder.shl(code, number(to - shift))
        return builder.and_(moved, number(0x3F << to))

    def write_any(builder, code, to_at):
        """Write code points of 8, 16 or 32 bits."""
        code = builder.zext(code, ir.VectorType(llvm.I32, LANES))
        # Four bytes for each code point; shorter forms use the upper ones, and the last byte of a character is the highest.
        data = builder.or_(six_bits(builder, code, 0, 24), six_bits(builder, code, 6, 16))
        marks = number(0x80C00000)  # the marker bits of lead and continuation bytes
        is_longer = []
        if bits > 8:
            data = builder.or_(data, builder.or_(six_bits(builder, code, 12, 8), six_bits(builder, code, 18, 0)))
            for least, longer in (0x800, 0x8080E000), (0x10000, 0x808080F0):
                is_longer.append(builder.icmp_unsigned(">=", code, number(least)))
                marks = builder.select(is_longer[-1], number(longer), marks)
        is_single = builder.icmp_unsigned("<", code, number(0x80))
        if bits > 8:
            is_escaped = builder.icmp_unsigned("<", builder.sub(code, number(0xDC80)), number(0x80))
            is_single = builder.or_(is_single, is_escaped)
            is_longer[0] = builder.and_(is_longer[0], builder.not_(is_escaped))
        marks = builder.select(is_single, number(0), marks)
        data = builder.or_(builder.select(is_single, builder.shl(code, number(24)), data), marks)
        if HAS_PACKING:
            used = builder.or_(marks, number(0xFF000000))
            return _write_compressed(builder, *(builder.bitcast(each, llvm.VECTOR) for each in (data, used)), to_at)
        more = builder.zext(builder.not_(is_single), code.type)  # bytes after the first
        for each in is_longer:
            more = builder.add(more, builder.zext(each, code.type))
        return (_write_by_fours if _BY_ROWS else _write_each)(builder, data, more, to_at)

    @intrinsic(int64, int64, returns=int64)
    def write_utf8(builder, from_at, to_at):
        code = llvm.load(builder, from_at, ir.VectorType(ir.IntType(bits), LANES))
        if not _HAS_SHORT_WAY:
            return write_any(builder, code, to_at)
        if bits == 8:
            return _write_doubles(builder, code, to_at)
        is_long = builder.icmp_unsigned(">=", code, code.type(0x800))
        has_long = builder.icmp_unsigned("!=", builder.bitcast(is_long, ir.IntType(LANES)), ir.IntType(LANES)(0))
        with builder.if_else(has_long) as (with_long, without):
            with with_long:
                size = write_any(builder, code, to_at)
                from_long = builder.block
            with without:
                short = builder.trunc(code, ir.VectorType(llvm.I16, LANES))
                short_size = _write_doubles(builder, short, to_at)
                from_short = builder.block
        either = builder.phi(llvm.I64)
        either.add_incoming(size, from_long)
        either.add_incoming(short_size, from_short)
        return either

    return write_utf8


def _write_compressed(builder, data, used, to_at):
    """Write the bytes of `data`, 32 or 64, where `used` is not 0, in one instruction; returns their number."""
    chosen = builder.icmp_unsigned("!=", used, used.type(0))
    llvm.store(builder, compressed(builder, data, chosen), to_at)
    return builder.zext(builder.ctpop(builder.bitcast(chosen, ir.IntType(used.type.count))), llvm.I64)


def _write_doubles(builder, code, to_at):
    """Write the UTF-8 of LANES code points below 0x800, of 8 or 16 bits; returns its length."""
    is_double = builder.icmp_unsigned(">", code, code.type(0x7F))
    words, pairs = ir.VectorType(llvm.I16, LANES), ir.VectorType(llvm.I8, 2 * LANES)
    wide = builder.zext(code, words)
    last = builder.shl(builder.and_(wide, words(0x3F)), words(8))
    double = builder.or_(builder.or_(builder.lshr(wide, words(6)), last), words(0x80C0))
    data = builder.bitcast(builder.select(is_double, double, wide), pairs)
    if HAS_PACKING:
        used = builder.select(is_double, words(0xFFFF), words(0xFF))
        return _write_compressed(builder, data, builder.bitcast(used, pairs), to_at)
    return _write_by_eights(builder, data, is_double, to_at)


def _write_by_eights(builder, data, is_double, to_at):
    """Write the first byte of each of LANES pairs, and the second where `is_double` says so; returns how many.

    For eight pairs, these bits are the number of a row in a table, which says which bytes to write.
    Source of the idea: simdutf (Lemire, Mula).
    """
    bits = builder.zext(builder.bitcast(is_double, ir.IntType(LANES)), llvm.I64)
    rows = [[(i, i + 1) if number >> i // 2 & 1 else (i,) for i in range(0, 16, 2)] for number in range(256)]
    table = _table(builder.module, "nbbpe_latin_rows", [[*chain(*row)] for row in rows])
    end_at = to_at
    for first in range(0, LANES, 8):
        number_of_row = builder.and_(builder.lshr(bits, llvm.I64(first)), llvm.I64(0xFF))
        _write_row(builder, data, 2 * first, builder.gep(table, [llvm.I64(0), number_of_row]), end_at)
        end_at = builder.add(builder.add(end_at, llvm.I64(8)), builder.ctpop(number_of_row))
    return builder.sub(end_at, to_at)


def _write_row(builder, data, first, row, to_at):
    """Write the bytes that a row of a table selects from the 16 bytes from byte `first` on."""
    part = llvm.shuffled(builder, data, data, range(first, first + 16))
    llvm.store(builder, llvm.call(builder, "llvm.x86.ssse3.pshuf.b.128", part.type, part, builder.load(row)), to_at)


def _table(module, name, rows):
    """A constant table with rows of 16 bytes; `rows` has the first bytes of each."""
    if name in module.globals:
        return module.globals[name]
    row = ir.VectorType(llvm.I8, 16)
    padded = [row(each + [0x80] * (16 - len(each))) for each in rows]  # 0x80 finds 0
    return cgutils.global_constant(module, name, ir.ArrayType(row, len(rows))(padded))


def _write_by_fours(builder, data, more, to_at):
    """As _write_by_eights, for code points of up to four bytes, four at a time.

    more : how many bytes each has after its first
    """
    rows = []
    for number in range(256):  # a + 4 b + 16 c + 64 d, where a to d bytes come after the first
        sizes = [(number >> 2 * lane & 3) + 1 for lane in range(4)]
        rows.append([4 * lane + byte for lane in range(4) for byte in range(4 - sizes[lane], 4)])
    table = _table(builder.module, "nbbpe_utf8_rows", rows)
    words = ir.VectorType(llvm.I32, LANES // 4)
    lengths = builder.bitcast(builder.trunc(more, ir.VectorType(llvm.I8, LANES)), words)

    def gathered(factor):
        """For each word, the sum of its four bytes, each multiplied by a byte of the factor, in reverse order."""
        return builder.lshr(builder.mul(lengths, words(factor)), words(24))

    numbers, sizes = gathered(0x01041040), gathered(0x01010101)
    data = builder.bitcast(data, llvm.VECTOR)
    end_at = to_at
    for i in range(words.count):
        number = builder.zext(builder.extract_element(numbers, llvm.I32(i)), llvm.I64)
        _write_row(builder, data, 16 * i, builder.gep(table, [llvm.I64(0), number]), end_at)
        end_at = builder.add(end_at, builder.zext(builder.extract_element(sizes, llvm.I32(i)), llvm.I64))
        end_at = builder.add(end_at, llvm.I64(4))
    return builder.sub(end_at, to_at)


def _write_each(builder, data, more, to_at):
    """As _write_by_fours, lane by lane."""
    lanes = data.type
    data = builder.lshr(data, builder.shl(builder.sub(lanes(3), more), lanes(3)))
    sizes = builder.add(more, lanes(1))
    end_at = to_at
    for lane in range(LANES):
        llvm.store(builder, builder.extract_element(data, llvm.I32(lane)), end_at)
        end_at = builder.add(end_at, builder.zext(builder.extract_element(sizes, llvm.I32(lane)), llvm.I64))
    return builder.sub(end_at, to_at)


# Write the UTF-8 of LANES code points of 8, 16 or 32 bits, unaligned, from one address to another; returns how many bytes
# it has. Up to BLOCK are written. A surrogate from surrogateescape becomes the byte that it stands for, any other three
# bytes, as surrogatepass gives. Cost: about thirty instructions with AVX-512, fifteen if all are below 0x800; with AVX2
# twice as many.
write_utf8_8, write_utf8_16, write_utf8_32 = map(_utf8_writer, (8, 16, 32))
