"""Kernels of training: counting pieces, linking words, and merging the most frequent pair again and again.

Read count_pieces.py first, then linked_words.py, pair_table.py, bucket_queue.py and merge_loop.py; parity_loop.py is the
loop for several sources, sort_words.py orders words that exceed the memory limit, and word_digest.py fingerprints them.
"""
