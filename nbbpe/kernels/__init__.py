"""Compiled loops over NumPy arrays, a module for each data structure. They know no files or `regex`, and make no objects.

Texts and ids are read where Python keeps them (machine/). Read compiler/jit.py first, which says how kernels are declared,
then the folders encoding/ and training/.
"""

import ctypes

_get, _main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
_get.restype = _main.restype = ctypes.c_void_p
if _get() != _main():  # there, LLVM's binding would wait for a lock forever
    raise RuntimeError("nbbpe's kernels run in the main interpreter only, not in subinterpreters: use processes")
