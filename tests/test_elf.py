"""Object code is placed in memory without LLVM, as LLVM would place it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import processes
import pytest
from compiled import IS_PLACED_HERE

from nbbpe.kernels.compiler import elf, loader, obtain, plain, symbols, target
from nbbpe.kernels.compiler.jit import Kernel
from nbbpe.kernels.compiler.signature import int64, uint8, uint64

pytestmark = [
    pytest.mark.skipif(not IS_PLACED_HERE, reason="not Linux on x86-64: LLVM places the code"),
    pytest.mark.skipif(plain.is_plain(), reason="a plain njit compiles, and Numba places the code"),
]
TABLE = np.arange(100, dtype=np.int64) ** 2  # a constant of the kernel


def look_up(text, scale):
    total = 0
    for i in range(len(text)):
        total += TABLE[text[i]] * scale
        text[i] = 0
    return total


def scaled(number, by):
    return number * by - 1


SCALED = Kernel(scaled, (uint64, int64), returns=int64)


def total_of_scaled(numbers, by):
    total = 0
    for each in numbers:
        total += SCALED(each, by)
    return total


KERNEL = Kernel(look_up, (uint8[:], int64))
CALLER = Kernel(total_of_scaled, (uint8[:], int64))
ENTRY = obtain.entry_of(KERNEL)
# Prints the machine code of kernels of these names as digests. `takes` and `orders` both call min, of which the first is to
# be inlined; so do `inlines` and `calls` with `mixed`, which LLVM would not inline by itself.
COMPILE = """
import hashlib, sys
from nbbpe.kernels.compiler import elf, obtain
from nbbpe.kernels.compiler.jit import Kernel, inlined, part
from nbbpe.kernels.compiler.signature import uint8
from nbbpe.kernels.records.strings import take_strings
from nbbpe.kernels.training.sort_words import order_equal_prefixes

@part
def mixed(text, first, last):
    total = 0
    for i in range(first, last):
        if text[i] > 100:
            total += text[i] * 31
        elif text[i] > 50:
            total -= i
        else:
            total ^= text[i] << 3
    for step in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        while total > 1000 * step:
            total = total // step - text[first]
    return total

@inlined
def all_mixed(text):
    return mixed(text, 0, 9) + mixed(text, 1, 8) + mixed(text, 2, 7) + mixed(text, len(text), 5)

def inlines(text):
    return all_mixed(text)

def calls(text):
    return mixed(text, 0, 9) + mixed(text, 1, 8) + mixed(text, 2, 7) + mixed(text, len(text), 5)

kernels = {
    "takes": take_strings,
    "orders": order_equal_prefixes,
    "inlines": Kernel(inlines, (uint8[:],)),
    "calls": Kernel(calls, (uint8[:],)),
}
for name in sys.argv[1:]:
    content = obtain.compiled(kernels[name])
    code = [content[each.at : each.at + each.size] for each in elf._sections(content) if each.flags & 4]
    print(name, sum(map(len, code)), hashlib.sha256(b"".join(code)).hexdigest())
"""


@pytest.fixture(scope="module")
def content() -> bytes:
    return obtain.compiled(KERNEL)


def called(content: bytes) -> tuple[int, list[int]]:
    """What a kernel returns, and leaves in its argument."""
    text = np.array([3, 0, 99], dtype=np.uint8)
    entry, _ = loader.load(content, [ENTRY], "look_up", symbols.addresses([]))
    return entry(text, 2), text.tolist()


@pytest.fixture
def leave_to_llvm(monkeypatch) -> Callable[[], None]:
    """Has LLVM place object code, as on other systems."""

    def refuse(*_):
        raise elf.NotPlaced

    return lambda: monkeypatch.setattr(loader, "place", refuse)


def test_it_does_what_it_does_where_llvm_places_it(content, leave_to_llvm):
    here = called(content)
    leave_to_llvm()
    assert called(content) == here == (2 * (9 + 0 + 99 * 99), [0, 0, 0])


def test_every_argument_is_checked_as_ever(content):
    entry, _ = loader.load(content, [ENTRY], "look_up", symbols.addresses([]))
    for wrong in [np.zeros(3, dtype=np.int8)], [np.zeros(3, dtype=np.uint8)], [b"abc", 1]:
        with pytest.raises(TypeError):
            entry(*wrong)


@pytest.mark.parametrize("by_llvm", [False, True])
def test_a_kernel_calls_the_object_code_of_another(by_llvm, leave_to_llvm, monkeypatch, tmp_path):
    if by_llvm:
        leave_to_llvm()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # where no kernel lies yet
    for each in SCALED, CALLER:
        each._obtained = each._entry = None
    numbers = np.array([0, 7, 255], dtype=np.uint8)
    assert CALLER(numbers, -3) == sum(int(each) * -3 - 1 for each in numbers)
    assert SCALED(7, 5) == 34  # Python calls it as any other
    name = obtain.direct_name_of(SCALED)
    assert name in symbols.referred(obtain.compiled(CALLER))
    monkeypatch.delitem(obtain._direct, name)
    with pytest.raises(symbols.UnknownObject, match=name):
        obtain.loaded(CALLER, obtain.compiled(CALLER), None, True)


def test_code_can_be_executed_and_not_written_to(content):
    (address,), _memory = elf.place(content, [ENTRY], symbols.addresses([]))
    with open("/proc/self/maps") as file:
        for line in file:
            start, end = (int(each, 16) for each in line.split()[0].split("-"))
            if start <= address < end:
                assert line.split()[1] == "r-xp"
                return
    pytest.fail("the code is nowhere")


def relocations(content: bytes) -> list[tuple[int, int]]:
    """(where in the object, kind) of all relocations of code."""
    sections = elf._sections(content)
    return [
        (at, struct.unpack_from("<Q2Iq", content, at)[1])
        for section in sections
        if section.kind == 4 and sections[section.info].kind == 1
        for at in range(section.at, section.at + section.size, 24)
    ]


@pytest.mark.parametrize("kind", [2, 4, 9, 42])
def test_another_kind_of_relocation_is_left_to_llvm(content, kind):
    at, own = relocations(content)[0]
    assert own == 1
    changed = content[: at + 8] + struct.pack("<I", kind) + content[at + 12 :]
    with pytest.raises(elf.NotPlaced):
        elf.place(changed, [ENTRY], symbols.addresses([]))


def test_what_is_no_object_for_this_processor_or_lacks_something_is_left_to_llvm(content):
    addresses = symbols.addresses([])
    for other in b"", b"MZ", b"\x7fELF\x02\x01".ljust(100, b"\0"), content[:18] + b"\xb7" + content[19:]:
        with pytest.raises(elf.NotPlaced):
            elf.place(other, [ENTRY], addresses)
    with pytest.raises(elf.NotPlaced):
        elf.place(content, [ENTRY, "no_such_function"], addresses)
    del addresses["PyLong_AsLongLong"]
    with pytest.raises(elf.NotPlaced):
        elf.place(content, [ENTRY], addresses)


def test_a_system_that_makes_no_memory_executable_is_left_to_llvm(content, monkeypatch):
    class Refuses:
        def __init__(self, _):
            self.mprotect = ctypes.CFUNCTYPE(ctypes.c_int)(lambda *_: -1)

    monkeypatch.setattr(elf.ctypes, "CDLL", Refuses)
    with pytest.raises(elf.NotPlaced):
        elf.place(content, [ENTRY], symbols.addresses([]))


def test_the_processor_is_stored_as_llvm_detects_it():
    assert target.host() == target._detected()
    target.host.cache_clear()
    assert target.host() == target._detected()
    assert target._about_processor()


def test_a_system_that_does_not_describe_its_processor_asks_llvm(monkeypatch):
    target.host.cache_clear()
    monkeypatch.setattr(target, "_about_processor", lambda: None)
    assert target.host() == target._detected()
    target.host.cache_clear()


def test_a_kernels_code_does_not_depend_on_what_was_compiled_before():
    def compiled(*names: str) -> list[str]:
        return processes.run(COMPILE, *names).splitlines()

    names = ["takes", "orders", "inlines", "calls"]
    with ThreadPoolExecutor(2) as pool:  # each waits for a process
        forwards, backwards = pool.map(compiled, *zip(names, names[::-1], strict=True))
    assert len(forwards) == 4
    assert forwards == backwards[::-1]
