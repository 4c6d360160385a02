"""Kernels of encoding: pieces looked up in the cache, new ones merged by rank; and ids to bytes.

Read encode_text.py first, then pending_pieces.py, merge_table.py and merge_short.py.
"""
