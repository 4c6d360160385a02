"""Compiled loops over NumPy arrays, one module a data structure. None knows files or `regex`, or makes Python objects.

Texts and ids are read where Python keeps them (machine/). Read compiler/jit.py first, which says how kernels are declared,
then the folders encoding/ and training/.
"""

import ctypes

_get, _main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
_get.restype = _main.restype = ctypes.c_void_p
if _get() != _main():  # where LLVM's binding would wait for a lock for good
    raise RuntimeError("nbbpe's kernels run in the main interpreter only, not in subinterpreters: use processes")
