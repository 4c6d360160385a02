"""Kernels that find pieces and pretokens: certain boundaries, special tokens, and the hash table of pieces.

Read boundaries.py first, then pretokens.py, piece_batch.py and piece_table.py; growing_table.py enlarges a table, and
marked_pretokens.py is for patterns that are compiled in part.
"""
