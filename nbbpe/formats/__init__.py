"""File formats of tokenizers, one module a format: each reads and writes a Model, and knows no Tokenizer.

Read recognise.py first, which finds the format, then tekken.py, the shortest.
"""
