"""How kernels are declared, compiled, stored and loaded.

Read jit.py first, then obtain.py, which leads to all others.
"""
