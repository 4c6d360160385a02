"""How kernels are declared, compiled, stored and loaded.

Read jit.py first, then obtain.py, which leads to all others.

Declared
jit.py               kernels and their parts: plain Python functions, which need Numba only to be compiled
signature.py         the types of arguments

Obtained
obtain.py            reads a kernel from disk and loads it, or else compiles it
beside.py            a second process that compiles other kernels meanwhile
one_compiler.py      lets only one process at a time compile a kernel
plain.py             the fallback: a plain `njit`
notices.py           prints notices to the user

Compiled
numba_internals.py   kernels to object code; all uses of private names of Numba
numba_types.py       Numba's types for the types of arguments
entry.py             the function that Python calls
emitter.py           code that reads Python's objects
layouts.py           where the parts of these objects are
llvm.py              types and operations of LLVM's code
target.py            which processor kernels are compiled for

Stored and loaded
kernel_files.py      the names of files: a digest of the sources, the machine, the versions
store.py             files for later processes, each with a digest
trusted_folders.py   which folders code may be loaded from
loader.py            object code as a function
elf.py               the same without LLVM, on Linux
symbols.py           the names that object code may refer to

For all modules
collector.py         a pause of Python's garbage collector
imported_on_use.py   imports modules on first use
"""
