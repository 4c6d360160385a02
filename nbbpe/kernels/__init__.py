"""Compiled loops over NumPy arrays, one module a data structure. Nothing here knows Python objects, files or `regex`."""
