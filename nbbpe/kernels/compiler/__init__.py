"""How kernels are declared, compiled, stored and loaded.

Read jit.py first, then disk_cache.py.
"""
