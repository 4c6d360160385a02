"""Kernels that find pieces and pretokens in a text, the hash table of pieces, and what else is found in a text.

Read boundaries.py first, then pretokens.py, piece_batch.py and piece_table.py.

Pieces
boundaries.py             certain boundaries: places that no match of the split pattern can straddle
character_classes.py      the classes of characters that are not ASCII, for boundaries
plain_words.py            words of ASCII, which most patterns keep whole
unmergeable_boundaries.py seams: places in a word across which no merge joins
piece_batch.py            the next pieces of a text, in batches
piece_table.py            a hash table whose keys are pieces
growing_table.py          enlarges such a table

Pretokens
pattern_tables.py         the tables of a split pattern, in one array
pretokens.py              the pretokens of a piece, by the pattern's automaton
marked_pretokens.py       the same, for patterns that are compiled in part
split_text.py             the pretokens of a text, where their places matter
split_words.py            pieces in CSR form, split into words

What is found in a text
breaks.py                 parts that belong to no piece
special_tokens.py         special tokens
token_whitespace.py       whitespace that special tokens take
inert_characters.py       the first character that a normal form may change
unknown_characters.py     characters that a vocabulary of characters lacks
"""
