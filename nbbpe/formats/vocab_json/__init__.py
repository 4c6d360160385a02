"""GPT-2's vocab.json and merges.txt, where each byte is spelled as a visible character.

gpt2.py                reads and writes the two files
spelling.py            tokens spelled so, as in tokenizer.json, too
packed_entries.py      entries and merges read as arrays, the fast way for files without anything unusual
"""
