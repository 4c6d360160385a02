"""Kernels of training: counting pieces, linking words, and merging the most frequent pair, repeatedly.

Read count_pieces.py first, then linked_words.py, pair_table.py, bucket_queue.py and merge_loop.py.

Words
count_pieces.py  counts distinct pieces and words
linked_words.py  distinct words as linked symbols
sort_words.py    orders words that exceed the memory limit
word_digest.py   the fingerprint of words and their counts

Merging
merge_loop.py    the loop: take the most frequent pair, merge it everywhere, update the counts
parity_loop.py   the loop for several sources
pair_table.py    pairs, their counts, and where they occur
bucket_queue.py  finds the most frequent pair
token_limits.py  limits on the bytes of a token
spelling.py      the bytes of the tokens that merges make
"""
