"""Compiled loops over NumPy arrays, a module for each data structure. They use no files, `regex` or Python objects.

Texts and ids are read where Python keeps them. Read compiler/jit.py first, which says how kernels are declared, then
encoding/ and training/. Each folder imports only those below:

encoding/  text to ids, and ids to text
training/  counting words, and merging the most frequent pair
records/   the texts of records, put into windows
pieces/    boundaries, pieces and pretokens
machine/   vector operations, memory, arguments without copies
compiler/  declares, compiles, stores and loads kernels
"""

import ctypes

_get, _main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
_get.restype = _main.restype = ctypes.c_void_p
if _get() != _main():  # LLVM's binding would wait for a lock forever
    raise RuntimeError("nbbpe's kernels run in the main interpreter only, not in subinterpreters: use processes")
