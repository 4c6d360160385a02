"""Look up 64 bytes at once, in the best form for the processor; and compress vectors, which only AVX-512 can.

FORM is one of four. "avx512" needs VBMI and VBMI2 (since Ice Lake and Zen 4): one instruction looks up 64 bytes in a table
of 64 or 128 bytes. "avx2" has an instruction for tables of 16 bytes; a larger table is looked up row by row, all bytes of a
vector in each row, and a byte that belongs to another row finds 0. "neon" does the same with up to 64 bytes of a table at
once. "portable" looks up one byte after another. Tables should start at a cache line. See intrinsics.py for loads, and for
operations that all processors have.
"""

from ..compiler.jit import cgutils, intrinsic, ir, llvm
from ..compiler.signature import int64, uint64
from ..compiler.target import present
from .intrinsics import BLOCK, LINE

ROW = 16  # entries that "avx2" looks up at once


def _form() -> str:
    """The form for the processor that kernels are compiled for."""
    target = present()
    if target.triple.partition("-")[0] in ("aarch64", "arm64"):
        return "neon"
    if target.has("avx512vbmi2"):
        return "avx512"
    return "avx2" if target.has("avx2") else "portable"


FORM = _form()
HAS_PACKING = FORM == "avx512"


def _load(builder, address, first, n):
    """The `n` bytes at `address + first`."""
    return llvm.load(builder, builder.add(address, llvm.I64(first)), ir.VectorType(llvm.I8, n))


def _load_64(builder, address):
    return _load(builder, address, 0, BLOCK)


def _part(builder, vector, first, n):
    """The `n` bytes from byte `first` on of a vector, as a shorter vector."""
    return llvm.shuffled(builder, vector, vector, range(first, first + n))


def _together(builder, parts):
    """Concatenate vectors, 2**k of the same length."""
    while len(parts) > 1:
        order = range(2 * parts[0].type.count)
        parts = [llvm.shuffled(builder, *parts[i : i + 2], order) for i in range(0, len(parts), 2)]
    return parts[0]


def _call(builder, name, *arguments):
    """Call an LLVM intrinsic for vectors, whose result has the type of the last argument."""
    return llvm.call(builder, name, arguments[-1].type, *arguments)


def _look_up_in_one(builder, table_at, n, indices):
    """See look_up, with "avx512"."""
    if n <= BLOCK:
        # This may read past a short table, but those bytes are not looked up.
        return _call(builder, "llvm.x86.avx512.permvar.qi.512", _load_64(builder, table_at), indices)
    low, high = (_load(builder, table_at, first, BLOCK) for first in (0, BLOCK))
    return _call(builder, "llvm.x86.avx512.vpermi2var.qi.512", low, indices, high)


def _look_up_by_rows(builder, table_at, n, indices):
    """See look_up, with "avx2"."""
    halves = [_part(builder, indices, first, 2 * ROW) for first in (0, 2 * ROW)]
    vector = halves[0].type
    found = [vector(0)] * 2
    for first in range(0, n, ROW):
        row = _load(builder, table_at, first, ROW)
        row = llvm.shuffled(builder, row, row, [*range(ROW)] * 2)
        for i, numbers in enumerate(halves):
            if n > ROW:
                # An index of this row becomes less than ROW, and any other gets its top bit set, which finds 0.
                numbers = builder.xor(numbers, vector(first))
                numbers = _call(builder, "llvm.uadd.sat.v32i8", numbers, vector(0x80 - ROW))
            found[i] = builder.or_(found[i], _call(builder, "llvm.x86.avx2.pshuf.b", row, numbers))
    return _together(builder, found)


def _look_up_by_neon(builder, table_at, n, indices):
    """See look_up, with "neon": in up to four rows at once; an index that is in none of them finds 0."""
    n_rows = min(n // ROW, 4)
    found = []
    for first in range(0, BLOCK, ROW):
        numbers = _part(builder, indices, first, ROW)
        of_all = numbers.type(0)
        for start in range(0, n, n_rows * ROW):
            rows = [_load(builder, table_at, start + ROW * i, ROW) for i in range(n_rows)]
            inside = builder.xor(numbers, numbers.type(start))
            of_all = builder.or_(of_all, _call(builder, f"llvm.aarch64.neon.tbl{n_rows}.v16i8", *rows, inside))
        found.append(of_all)
    return _together(builder, found)


def _look_up_one_by_one(builder, table_at, n, indices):
    """See look_up, with "portable"."""
    numbers, results = (cgutils.alloca_once(builder, llvm.VECTOR) for _ in range(2))
    builder.store(indices, numbers)
    numbers_at, results_at = (builder.ptrtoint(place, llvm.I64) for place in (numbers, results))
    with cgutils.for_range(builder, llvm.I64(BLOCK)) as loop:
        number = llvm.load(builder, builder.add(numbers_at, loop.index), llvm.I8)
        place = builder.add(table_at, builder.zext(builder.and_(number, llvm.I8(n - 1)), llvm.I64))
        llvm.store(builder, llvm.load(builder, place, llvm.I8), builder.add(results_at, loop.index))
    return builder.load(results)


def look_up(builder, table_at, n, indices):
    """table[index] for 64 indices, of a table of n bytes, a power of two, at an address. Undefined for an index >= n."""
    forms = {"avx512": _look_up_in_one, "avx2": _look_up_by_rows, "neon": _look_up_by_neon}
    return forms.get(FORM, _look_up_one_by_one)(builder, table_at, n, indices)


def _blend(builder, address, chosen, vector):
    """Store those bytes of a vector whose bit is set in a uint64; other bytes in memory stay as they are."""
    bits = builder.bitcast(chosen, llvm.CHOSEN)
    llvm.store(builder, builder.select(bits, vector, _load_64(builder, address)), address)


def _moved(builder, vector, other, first):
    """The 64 bytes from byte `first` on of two vectors, one after the other."""
    return llvm.shuffled(builder, vector, other, range(first, first + BLOCK))


def _not_zero(builder, vector):
    """Bit i of the result says whether byte i of a vector is not 0."""
    return builder.bitcast(builder.icmp_unsigned("!=", vector, llvm.VECTOR(0)), llvm.I64)


def _cuts_by_rules(builder, look_up_rules, pair_rules, entering):
    """See ascii_cuts; look_up_rules(part) returns that part of the rules for each byte."""
    first, second, third = (look_up_rules(part) for part in range(3))
    both = builder.and_(_following(builder, first, entering), second)
    pairs = _not_zero(builder, builder.and_(both, llvm.copies(builder, pair_rules, llvm.VECTOR)))
    # The bytes after the block are not known, so no rule for three finds a boundary before the last byte.
    triples = _not_zero(builder, builder.and_(both, _moved(builder, third, llvm.VECTOR(0), 1)))
    return pairs, triples, _last(builder, first)


def _more_cuts_by_rules(builder, look_up_rules, entering):
    """See ascii_more_cuts."""
    before, after = look_up_rules(3), look_up_rules(4)
    cuts = _not_zero(builder, builder.and_(_following(builder, before, entering), after))
    return cuts, _last(builder, before)


def _following(builder, vector, entering):
    """A vector moved up by one byte; the lowest byte of the number `entering` becomes its first byte."""
    return _moved(builder, llvm.copies(builder, entering, llvm.VECTOR), vector, BLOCK - 1)


def _last(builder, vector):
    return builder.zext(builder.extract_element(vector, llvm.I32(BLOCK - 1)), llvm.I64)


@intrinsic(int64, int64, uint64, int64)
def look_up_64(builder, table_at, address, chosen, out_at):
    """out[i] = table[byte at `address + i` & 63] for 64 bytes i, where bit i of `chosen` is set; others are left.

    table_at, out_at : addresses of uint8[64];  chosen : uint64
    """
    indices = _load_64(builder, address)
    if FORM != "avx512":  # this form ignores the upper bits
        indices = builder.and_(indices, llvm.VECTOR(BLOCK - 1))
    _blend(builder, out_at, chosen, look_up(builder, table_at, BLOCK, indices))


@intrinsic(int64, int64, int64)
def look_up_128(builder, table_at, address, out_at):
    """out[i] = table[byte at `address + i`] for 64 bytes i, for each byte less than 128; undefined for others.

    table_at, out_at : addresses of uint8[128] and [64]
    """
    llvm.store(builder, look_up(builder, table_at, 2 * BLOCK, _load_64(builder, address)), out_at)


@intrinsic(int64, uint64, int64)
def blend_64(builder, out_at, chosen, byte):
    """out[i] = byte where bit i of `chosen`, uint64, is set; out_at is the address of uint8[64]."""
    _blend(builder, out_at, chosen, llvm.copies(builder, byte, llvm.VECTOR))


@intrinsic(int64, uint64, uint64)
def spread_64(builder, out_at, one_before, two_before):
    """out[i] = out[i + 1] where bit i of `one_before` is set, out[i + 2] where bit i of `two_before`; both uint64.

    out_at is the address of uint8[64], which is read as a whole before it is written. The last bits must not be set.
    """
    old = _load_64(builder, out_at)
    for chosen, n in (one_before, 1), (two_before, 2):
        _blend(builder, out_at, chosen, _moved(builder, old, old, n))


def compressed(builder, vector, chosen):
    """The bytes of a vector, 32 or 64, whose bit is set in a vector of i1, without gaps; undefined bytes follow. Only with
    HAS_PACKING."""
    name = f"llvm.x86.avx512.mask.compress.v{vector.type.count}i8"
    return llvm.call(builder, name, vector.type, vector, vector, chosen)


def _places_writer(n_places):
    """An intrinsic that writes the places of the first `n_places` set bits of a uint64 as int64, each added to `first`.

    If there are fewer, undefined values follow. Only with HAS_PACKING. Cost: about five instructions, and three for LINE
    places.
    """

    @intrinsic(int64, uint64, int64)
    def write_places(builder, to_at, bits, first):
        packed = compressed(builder, llvm.VECTOR(list(range(BLOCK))), builder.bitcast(bits, llvm.CHOSEN))
        lanes = ir.VectorType(llvm.I64, LINE)
        firsts = llvm.copies(builder, first, lanes)
        for i in range(0, n_places, LINE):
            places = builder.add(builder.zext(_part(builder, packed, i, LINE), lanes), firsts)
            llvm.store(builder, places, builder.add(to_at, llvm.I64(8 * i)))

    return write_places


write_24_places, write_64_places = _places_writer(24), _places_writer(BLOCK)


def _ascii_rules(builder, block_at, rules_at, kinds_at):
    """Return a function of a part of the rules that looks up this part for each byte of a block, all ASCII."""
    block = _load_64(builder, block_at)
    if FORM in ("avx512", "portable"):
        return lambda part: look_up(builder, builder.add(rules_at, llvm.I64(2 * BLOCK * part)), 2 * BLOCK, block)
    kinds = look_up(builder, kinds_at, 2 * BLOCK, block)
    return lambda part: look_up(builder, builder.add(kinds_at, llvm.I64(2 * BLOCK + ROW * part)), ROW, kinds)


def _class_rules(builder, classes_at, rules_at):
    """Return a function of a part of the rules that looks up this part for each byte of a block, by its class."""
    classes = _load_64(builder, classes_at)
    return lambda part: look_up(builder, builder.add(rules_at, llvm.I64(BLOCK * part)), BLOCK, classes)


@intrinsic(int64, int64, int64, int64, int64, returns=(uint64, uint64, int64))
def ascii_cuts(builder, block_at, rules_at, kinds_at, pair_rules, entering):
    """Where the rules of a pattern find a boundary in 64 bytes that are all ASCII.

    rules_at   : address of uint8[5, 128]    see pattern_tables.ASCII_RULES
    kinds_at   : address of uint8[128], and then uint8[5, ROW]    the same in another form: the kind of each byte, and the
                 rules of each kind
    pair_rules : int64                       the bits of the rules for two bytes, in the first parts
    entering   : int64                       the first part of the rules for the byte before the block

    Returns (cuts, more cuts, entering): bit i, uint64, says that a rule for two bytes, or for three, finds a boundary
    before byte i; `entering` is for the next block.
    """
    return _cuts_by_rules(builder, _ascii_rules(builder, block_at, rules_at, kinds_at), pair_rules, entering)


@intrinsic(int64, int64, int64, int64, returns=(uint64, int64))
def ascii_more_cuts(builder, block_at, rules_at, kinds_at, entering):
    """As ascii_cuts, by the rules for two that are in the last parts; returns (cuts, entering)."""
    return _more_cuts_by_rules(builder, _ascii_rules(builder, block_at, rules_at, kinds_at), entering)


@intrinsic(int64, int64, int64, int64, returns=(uint64, uint64, int64))
def class_cuts(builder, classes_at, rules_at, pair_rules, entering):
    """As ascii_cuts, for 64 bytes whose classes are given; the rules, uint8[5, 64], are by class."""
    return _cuts_by_rules(builder, _class_rules(builder, classes_at, rules_at), pair_rules, entering)


@intrinsic(int64, int64, int64, returns=(uint64, int64))
def class_more_cuts(builder, classes_at, rules_at, entering):
    """As ascii_more_cuts, for 64 bytes whose classes are given."""
    return _more_cuts_by_rules(builder, _class_rules(builder, classes_at, rules_at), entering)
