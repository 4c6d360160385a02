"""The model of a tokenizer: vocabulary, merges, special tokens and split pattern, checked to fit together.

Read model.py first.
"""
