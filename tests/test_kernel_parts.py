"""Parts of kernels: what only compiled code calls."""

from __future__ import annotations

import pytest
from numba import njit

from nbbpe.kernels.compiler.jit import called, inlined, part
from nbbpe.kernels.compiler.plain import is_plain

as_objects = pytest.mark.skipif(is_plain(), reason="kernels are compiled by a plain njit, which inlines as it likes")


def double(x):
    """Twice a number."""
    return 2 * x


def refuse(x):
    """The square of a number that is not negative."""
    if x < 0:
        raise ValueError("a negative number")
    return x * x


@pytest.mark.parametrize("decorator", [part, inlined, called])
def test_a_part_is_called_from_compiled_code_and_not_from_python(decorator):
    helper = decorator(double)

    @njit
    def caller(x):
        return helper(x) + 1

    refused = r"test_kernel_parts\.double is a part of kernels: call it from compiled code"
    with pytest.raises(TypeError, match=refused):
        helper(1)
    assert caller(20) == 41
    assert caller(0.25) == 1.5
    with pytest.raises(TypeError, match=refused):  # also where there is compiled code of it by now
        helper(20)


def test_parts_call_parts_and_their_errors_reach_python():
    inner = part(refuse)

    @part
    def outer(x):
        return inner(x) + inner(x + 1)

    @njit
    def caller(x):
        return outer(x)

    assert caller(3) == 25
    with pytest.raises(ValueError, match="a negative number"):
        caller(-1)


@as_objects
@pytest.mark.parametrize(("decorator", "n_calls"), [(called, 1), (inlined, 0)])
def test_a_part_is_inlined_or_called_as_it_says(decorator, n_calls):
    helper = decorator(double)

    @inlined  # which what it calls for the first time would else be, too
    def between(x):
        return helper(x)

    @njit
    def caller(x):
        return between(x)

    assert caller(4) == 8
    (code,) = caller.inspect_llvm().values()
    (compiled,) = helper.dispatcher().overloads.values()
    assert code.count(f"call i32 @{compiled.fndesc.llvm_func_name}(") == n_calls


@as_objects
def test_no_machine_code_is_made_of_a_part():
    helper = part(double)

    @njit
    def caller(x):
        return helper(x)

    assert caller(4) == 8
    (compiled,) = helper.dispatcher().overloads.values()
    name = compiled.fndesc.llvm_func_name
    assert name in compiled.library.get_llvm_str()
    assert compiled.library.get_pointer_to_function(name) == 0
    engine = caller.overloads[caller.signatures[0]].library._codegen._engine
    assert not engine.is_symbol_defined(compiled.fndesc.llvm_cpython_wrapper_name)
