"""Kernels of encoding, which look pieces up in the cache and merge new ones by rank; and of decoding.

Read encode_text.py first, then pending_pieces.py, merge_table.py and merge_short.py.

From text to ids
encode_text.py       scan, look-up, and for new pieces merging and caching, in one pass
encode_state.py      the addresses of everything that encoding uses, and why it stops
piece_cache.py       the cache of pieces and their ids
encode_new_piece.py  splits, merges and caches one new piece
pending_pieces.py    new pieces that are merged together later
split_ahead.py       text that `regex` has split in advance
encode_pretokens.py  pretokens that `regex` has found
encode_into.py       encoding for users' compiled code

Merging
merge_table.py       which symbol a pair becomes, and at which rank
rank_tables.py       the same for a vocabulary without a list of merges
token_table.py       tokens looked up by their bytes
merge_pretoken.py    one pretoken, short or long
merge_short.py       short ones, several at a time
merge_long.py        a long one, by a heap of ranks
merge_dropout.py     with BPE dropout

Ids
decode_ids.py        ids to bytes
count_ids.py         how often each id occurs
checksum.py          the checksum of the ids in a file
"""
