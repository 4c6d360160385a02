"""Hugging Face's tokenizer.json: a chain of parts, each of which is honoured exactly, or rejected.

reading.py             reads the file, or an object of tokenizers
writing.py             writes the file
added_tokens.py        the part added_tokens: special tokens with their flags
pretokenizers.py       the part pre_tokenizer: converts it to a split pattern, and back
model_part.py          the part model: vocab and merges as bytes
merges_text.py         the merges, read from the bytes of the file
word_ends.py           vocabularies with separate tokens for the ends of words, as CLIP's
characters.py          vocabularies of characters, as Llama 2's
character_spelling.py  the spelling of such vocabularies
"""
