"""Kernels of encoding: pieces looked up in the cache, new ones merged by rank; and ids to bytes.

Read encode_text.py first, then pending_pieces.py, merge_table.py and merge_short.py.

From text to ids
encode_text.py       scan, look-up, and for new pieces merging and caching, in one pass
encode_state.py      the addresses of all that this uses, and the reasons why it stops
piece_cache.py       the ids of each piece so far
encode_new_piece.py  one new piece: split, merged and cached
pending_pieces.py    new pieces that are merged together later
split_ahead.py       text that `regex` has split ahead
encode_pretokens.py  pretokens that `regex` has found
encode_into.py       encoding that users call from their compiled code

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
