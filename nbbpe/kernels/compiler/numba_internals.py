"""Compile kernels to object code that needs no Numba. This module has all uses of private names of Numba in nbbpe.

They are tested with the oldest and the newest Numba that pyproject.toml allows. If one is missing or behaves differently,
kernels are compiled by a plain `njit` instead, see plain.py.

    `_numba_type_`                    of an object that compiled code names: its type for Numba
    option `_nrt`                     no references are counted: kernels allocate nothing, and their callers own the arrays
    njit's `pipeline_class`           to have each function in a library of ours
    Compiler, JITCodeLibrary          from which these are derived; of the library `finalize`, `_finalize_final_module` and
                                      what it calls, `_final_module`, `_finalized`, `_ensure_finalized`,
                                      `_linking_libraries`, `_get_module_for_linking`, `get_pointer_to_function`, `codegen`
    PassManager, and passes           those that kernels need; `_runPass`, without Numba's checks of each pass
    the names in `_shortcuts`         their results are cached, or calls of them omitted, while we compile
    ExternalFunction                  a function in other object code
    Dispatcher                        `add_overload`, `overloads`; of an overload `library`, `fndesc`, `target_context`,
                                      `signature`
    cpu_target.typing_context         `refresh`, `resolve_value_type`: an intrinsic's type
    target_context                    `codegen`, `call_conv`, `make_array`, `make_helper`, `make_tuple`
    codegen                           `_tm`, the target machine, `_tm_features`, and `_create_empty_module`
    config                            `_env_reloader.old_environ`: the settings of the environment and of .numba_config.yaml
    global_compiler_lock              Numba compiles in one thread at a time
"""

from __future__ import annotations

import contextlib
import functools
import os
import types as python_types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import base, cgutils, config, entrypoints, errors, event, lowering, typeinfer
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.types.functions import BaseFunction, ExternalFunction
from numba.core.typing.context import BaseContext
from numba.core.untyped_passes import FixupArgs, GenericRewrites, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.extending import intrinsic

from .kernel_files import changes_code
from .numba_types import numba_type
from .plain import jit_enabled
from .signature import Scalar
from .target import DECISIVE, LEVELS, UnknownProcessor, present

# Settings that change the compiled code: the name in numba.config, the name in the environment, and the default.
_USUAL = (
    ("BOUNDSCHECK", "NUMBA_BOUNDSCHECK", None),
    ("DEBUGINFO_DEFAULT", "NUMBA_DEBUGINFO", 0),
    ("LOOP_VECTORIZE", "NUMBA_LOOP_VECTORIZE", 1),
    ("OPT", "NUMBA_OPT", 3),
)

njit: Any = numba.njit  # its type annotations lack some of its options


class _LinkedOnly(JITCodeLibrary):
    """The intermediate code of one function, which the kernels that need it link in.

    Numba would link everything that a function calls into it, optimize it, make machine code of it, and then do all of this
    again for each caller. But of a hundred small functions, only the code of the kernel that calls them ever runs: they are
    kept apart until a kernel gathers them.
    """

    def finalize(self) -> None:
        """Do nothing: the kernel links and optimizes all of its parts together."""
        self._finalized = True

    def _get_module_for_linking(self) -> binding.ModuleRef:
        """This function with everything that it calls, for a kernel, or for a function of the user's."""
        self._ensure_finalized()
        # `preserve`: LLVM would otherwise drop functions to which nothing refers yet.
        gathered = binding.parse_assembly(str(self._codegen._create_empty_module(self.name)))
        for module in _modules(self, set()):
            gathered.link_in(module, preserve=True)
        for function in gathered.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"  # as with Numba: dropped if all calls are inlined
        return gathered

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no machine code was made for this function alone."""
        return 0

    @property
    def codegen(self) -> _LinkedOnly:
        """This object, for its `set_env`; that of Numba's would look up the environment in machine code."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only wrappers for Python read a function's environment."""


class _NeverInlined(_LinkedOnly):
    """The code of a part that LLVM must not inline; Numba has no option for this attribute."""

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


class _WholeKernel(JITCodeLibrary):
    """A kernel's code with everything that it calls, optimized together; only some functions are visible from outside."""

    visible: Collection[str] = ()

    def _finalize_final_module(self) -> None:
        # Only after inlining: LLVM inlines an internal function that is called once, however large it is.
        for each in (*self._final_module.functions, *self._final_module.global_variables):
            if not each.is_declaration and each.name not in self.visible:
                each.linkage = "internal"
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


def _modules(library: Any, seen: set[Any]) -> Iterator[binding.ModuleRef]:
    """The code of a library and of the libraries that it needs, without those already seen."""
    if not isinstance(library, _LinkedOnly):
        # A function of Numba's, with all that it needs: each time, as LLVM takes only parts that are referred to so far.
        yield library._get_module_for_linking()
    elif library not in seen:
        seen.add(library)
        yield library._final_module
        for each in library._linking_libraries:
            yield from _modules(each, seen)


class _Passes(PassManager):
    """Runs passes without the checks that Numba makes after each of them, for authors of passes."""

    def _runPass(self, _: int, numba_pass: Any, state: Any) -> None:
        numba_pass.analysis = self._analysis
        for run in numba_pass.run_initialization, numba_pass.run_pass, numba_pass.run_finalizer:
            run(state)


class _PartCompiler(Compiler):
    """Numba's compiler with our library class for its code, and with only the passes that kernels need, which have no
    closures, exceptions, `with`, parallel loops or expressions of whole arrays."""

    library_class = _LinkedOnly
    passes = (
        *(TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites, ReconstructSSA, NopythonTypeInference),
        *(PreLowerStripPhis, IRLegalization, NativeLowering, NoPythonBackend),
    )

    def define_pipelines(self) -> list[PassManager]:
        """The passes, in order."""
        manager = _Passes("part")
        for each in self.passes:
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]

    def __init__(self, typing_context: Any, target_context: Any, _: None, *rest: Any) -> None:
        library = self.library_class(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, library, *rest)


class _NeverInlinedCompiler(_PartCompiler):
    library_class = _NeverInlined


def dispatcher_of(function: Callable[..., Any], inlines: bool | None) -> Any:
    """Numba's object for a function that compiled code calls; no machine code is made for it alone.

    inlines : see jit.Part
    """
    compiler = _NeverInlinedCompiler if inlines is False else _PartCompiler
    # Always given, as a function would otherwise inherit it from its first caller: see _compile_builtins.
    forceinline = bool(inlines)
    # `error_model="numpy"` omits the checks for division by zero, which no kernel does.
    with global_compiler_lock, jit_enabled():
        dispatcher: Any = njit(
            _nrt=False, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True,
            pipeline_class=compiler, forceinline=forceinline,
        )(function)  # fmt: skip

    def add_overload(compiled: Any) -> None:
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    dispatcher.add_overload = add_overload  # as in Numba, but without an address that its dispatcher could call
    return dispatcher


def type_of_intrinsic(function: Callable[..., Any]) -> Any:
    """Numba's type of an intrinsic, given by the function that emits it."""
    made = intrinsic(function)
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(made)


def type_of_direct(name: str, returns: Scalar, types: tuple[Scalar, ...]) -> Any:
    """Numba's type of a function of this name in object code."""
    return ExternalFunction(name, numba_type(returns)(*map(numba_type, types)))


_signatures: dict[Any, Any] = {}


def _shortcuts() -> list[tuple[Any, str, Any]]:
    """Replacements for parts of Numba and llvmlite while a kernel is compiled: (object, name of an attribute, new value).

    Each of the replaced functions runs thousands of times for one kernel, and gives the same result each time, or a text
    for Numba's error messages (which a plain `njit` writes if a kernel cannot be compiled). Together they took a sixth of
    the time.
    """
    functions: Any = BaseFunction
    find_signature = functions.get_call_type
    find_type = BaseContext.resolve_value_type
    find_size: Any = ir.Type.get_abi_size
    of_function = functools.cache(find_type)
    sizes: dict[str, int] = {}

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        # Kernels add and compare the same few types, and each time Numba would try all ways to do so.
        key = id(self), tuple(args)
        if kws:
            return find_signature(self, context, args, kws)
        if key not in _signatures:
            _signatures[key] = find_signature(self, context, args, kws), self  # kept alive, so that its id stays unique
        return _signatures[key][0]

    def resolve_value_type(self: Any, value: Any) -> Any:
        # Numba first takes an operator for a constant, and handles an error each time.
        return (of_function if isinstance(value, python_types.BuiltinFunctionType) else find_type)(self, value)

    def get_abi_size(self: Any, *arguments: Any) -> int:
        # llvmlite lets LLVM parse a module to find the size of a type.
        text = str(self)
        if text not in sizes or "%" in text:  # such a text names a type that a module defines
            sizes[text] = find_size(self, *arguments)
        return sizes[text]

    def list_variables(self: Any, value: Any) -> list[Any]:
        # As in Numba, with the same result in the same order, but by the types of values instead of a call for each.
        found: list[Any] = []
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,):
            kind = type(each)
            if kind is numba_ir.Var:
                found.append(each)
            elif issubclass(kind, (numba_ir.Inst, list, tuple, dict)):
                found += each.list_vars() if issubclass(kind, numba_ir.Inst) else list_variables(self, each)
        return found

    return [
        (numba_ir.Inst, "_rec_list_vars", list_variables),
        (functions, "get_call_type", get_call_type),
        (BaseContext, "resolve_value_type", resolve_value_type),
        (ir.Type, "get_abi_size", get_abi_size),
        (base, "_has_loc", functools.cache(base._has_loc)),  # inspects the signature of an emitting function for each call
        (entrypoints, "init_all", _do_nothing),  # imports other libraries that extend Numba; 0.2 s for one of them
        (event, "start_event", _do_nothing),  # each call of LLVM is an event, to measure how long it takes
        (event, "end_event", _do_nothing),
        (errors, "termcolor", _Plain),  # colours messages, most of which Numba drops as it tries several ways
        (typeinfer, "new_error_context", _in_no_context),  # adds its place to an error
        (lowering, "new_error_context", _in_no_context),
    ]


class _Plain:
    """A colour scheme without colours: each of its methods takes a text and returns it."""

    def __getattr__(self, name: str) -> Any:
        return str


def _do_nothing(*_: Any, **__: Any) -> None: ...


def _in_no_context(*_: Any, **__: Any) -> contextlib.nullcontext[None]:
    return contextlib.nullcontext()


@contextlib.contextmanager
def _with_shortcuts() -> Iterator[None]:
    """Make Numba use our shortcuts during this context."""
    with contextlib.ExitStack() as undo:
        for where, name, value in _shortcuts():
            undo.callback(setattr, where, name, getattr(where, name))
            setattr(where, name, value)
        yield


def compile_to_object(
    dispatcher: Any, types: tuple[Any, ...], functions: Sequence[str], emit: Callable[..., None]
) -> bytes:
    """Compile a kernel to object code: functions of these names that are called from outside, and all that they need.

    emit : called as emit(module, context, compiled, functions) to emit these functions, see entry.py
    """
    kinds = tuple(numba_type(each) for each in types)
    with global_compiler_lock, _with_shortcuts(), jit_enabled():
        _compile_builtins()
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        codegen = compiled.target_context.codegen()
        _check_features(codegen._tm_features)
        whole = _WholeKernel(codegen, functions[0])
        whole.visible = functions
        module = whole.create_ir_module(functions[0])
        emit(module, compiled.target_context, compiled, functions)
        whole.add_ir_module(module)
        whole.add_linking_library(compiled.library)
        whole.finalize()
        return bytes(codegen._tm.emit_object(whole._final_module))


@functools.cache
def _compile_builtins() -> None:
    """Compile Numba's `min` and `max` for all types that kernels use, always first, and always to be inlined.

    Otherwise the first function in this process that calls them would decide whether they are inlined, so that a kernel's
    machine code depended on what was compiled before. A quarter of the kernels did, and some of these encoded 5 % slower.
    """
    dispatcher_of(_call_builtins, True).compile((numba.int64, numba.uint64, numba.uint32))


def _call_builtins(i64: Any, u64: Any, u32: Any) -> Any:
    return min(i64, i64), max(i64, i64), min(i64, i64, i64), min(u64, u64), max(u64, u64), min(u32, u32)


def _check_features(features: str) -> None:
    """Raise UnknownProcessor if Numba compiles without a feature that intrinsics use: LLVM would end the process."""
    own = present()
    given = {*features.replace("+", "").split(","), *LEVELS.get(own.processor, ())}
    missing = [each for each in DECISIVE if own.has(each) and each not in given]
    if missing:
        raise UnknownProcessor(
            f"Numba is set to compile without {', '.join(missing)}, by .numba_config.yaml or numba.config: set "
            "NUMBA_CPU_NAME, NUMBA_CPU_FEATURES or NUMBA_ENABLE_AVX in the environment, before nbbpe is imported"
        )


def settings_of_its_own() -> list[str]:
    """The settings of Numba (and "features") that differ from the environment, whose settings name stored kernels. They
    come from .numba_config.yaml, or from a program that has set numba.config."""
    given: dict[str, Any] = getattr(getattr(config, "_env_reloader", None), "old_environ", {})  # includes those of the file
    found = {name for name, value in given.items() if os.environ.get(name) != value and changes_code(name)}
    for name, variable, usual in _USUAL:
        # Profiling has debug information by default.
        set_by = {variable, "NUMBA_ENABLE_PROFILING"} if name == "DEBUGINFO_DEFAULT" else {variable}
        if set_by.isdisjoint(os.environ) and getattr(config, name, usual) != usual:
            found.add(variable)
    if _split(cpu_target.target_context.codegen()._tm_features) != _split(present().features):
        found.add("features")
    return sorted(found)


def _split(features: str) -> set[str]:
    return {each for each in features.split(",") if each}


def declare_compiled(module: ir.Module, context: Any, compiled: Any) -> ir.Function:
    """A compiled function, declared in a module that calls it."""
    kind = context.call_conv.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes)
    return cgutils.get_or_insert_function(module, kind, compiled.fndesc.llvm_func_name)
