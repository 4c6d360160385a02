"""Hugging Face's tokenizer.json: a chain of parts, of which each is followed exactly, or refused.

reading.py             reads the file, or an object of tokenizers
writing.py             writes it
added_tokens.py        the part added_tokens: special tokens with their flags
pretokenizers.py       the part pre_tokenizer, read as a split pattern, and a pattern written as one
model_part.py          the part model: vocab and merges as bytes
merges_text.py         the merges, read from the bytes of the file
word_ends.py           vocabularies with other tokens for the ends of words, as CLIP's
characters.py          vocabularies of characters, as Llama 2's
character_spelling.py  how such vocabularies are spelled
"""
