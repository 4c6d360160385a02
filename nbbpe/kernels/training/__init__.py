"""Kernels of training: pieces counted, words linked, the most frequent pair merged again and again.

Read count_pieces.py first, then linked_words.py, pair_table.py, bucket_queue.py and merge_loop.py.
"""
