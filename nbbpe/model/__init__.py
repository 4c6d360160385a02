"""The model of a tokenizer: vocabulary, merges, special tokens and split pattern, checked to fit together.

Read model.py first, then packed_vocab.py and special_tokens.py.

model.py               the model
packed_vocab.py        a vocabulary as arrays
special_tokens.py      special tokens and their ids
vocab_checks.py        whether vocabulary and merges are valid and fit together
rank_vocab.py          vocabularies that merge by rank
token_table.py         tokens looked up by their bytes
rank_pairs.py          the pairs that such a vocabulary merges
long_merges.py         merging of pretokens so long that Ctrl-C must be handled meanwhile
character_merges.py    merges of bytes to characters, for vocabularies of characters
byte_alphabet.py       the visible character that stands for each byte
extras.py              what only a tokenizer.json has
post_processor.py      the tokens that it puts around a text
provenance.py          where a tokenizer comes from
version.py             the version of nbbpe
"""
