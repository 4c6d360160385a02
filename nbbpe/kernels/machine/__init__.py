"""Access to the machine and to Python objects: vector operations, memory in large pages, arguments without copies.

Read intrinsics.py first.

Operations
intrinsics.py          operations of LLVM that Numba does not offer
intrinsics_look_up.py  look-ups of 64 bytes at once, in the best form for the processor
utf8.py                characters to UTF-8 and back
splitmix.py            random numbers
secret.py              the secret key of hash tables

Memory and arguments
addresses.py           structures of addresses and sizes
large_pages.py         memory for large arrays
text_argument.py       a text, read where Python keeps it
texts_argument.py      many texts
ids_argument.py        a list of ids
"""
