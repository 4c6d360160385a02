"""File formats of tokenizers, one module a format: each reads a Model, most write one, and none knows a Tokenizer.

Read recognise.py first, which finds the format, then minbpe.py, the shortest, and tekken.py, which also writes.
"""
