"""kernels/parts.py: what only compiled code calls."""

from __future__ import annotations

import pytest
from numba import njit

from nbbpe.kernels.jit import inlined, part


def double(x):
    """Twice a number."""
    return 2 * x


def refuse(x):
    """The square of a number that is not negative."""
    if x < 0:
        raise ValueError("a negative number")
    return x * x


@pytest.mark.parametrize("decorator", [part, inlined])
def test_a_part_is_called_from_compiled_code_and_not_from_python(decorator):
    helper = decorator(double)

    @njit
    def called(x):
        return helper(x) + 1

    refused = r"test_parts\.double is a part of kernels: call it from compiled code"
    with pytest.raises(TypeError, match=refused):
        helper(1)
    assert called(20) == 41
    assert called(0.25) == 1.5
    with pytest.raises(TypeError, match=refused):  # also where there is compiled code of it by now
        helper(20)


def test_parts_call_parts_and_their_errors_reach_python():
    inner = part(refuse)

    @part
    def outer(x):
        return inner(x) + inner(x + 1)

    @njit
    def called(x):
        return outer(x)

    assert called(3) == 25
    with pytest.raises(ValueError, match="a negative number"):
        called(-1)


def test_no_machine_code_is_made_of_a_part():
    helper = part(double)

    @njit
    def called(x):
        return helper(x)

    assert called(4) == 8
    (compiled,) = helper.overloads.values()
    name = compiled.fndesc.llvm_func_name
    assert name in compiled.library.get_llvm_str()
    assert compiled.library.get_pointer_to_function(name) == 0
    engine = called.overloads[called.signatures[0]].library._codegen._engine
    assert not engine.is_symbol_defined(compiled.fndesc.llvm_cpython_wrapper_name)
