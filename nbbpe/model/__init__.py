"""The model of a tokenizer: vocabulary, merges, special tokens and split pattern, checked to fit together.

Read model.py first, then packed_vocab.py and special_tokens.py. rank_vocab.py and rank_pairs.py are about vocabularies that
merge by rank, extras.py and post_processor.py about what only a tokenizer.json has. provenance.py says where a tokenizer
comes from.
"""
