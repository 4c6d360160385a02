"""GPT-2's vocab.json and merges.txt, where each byte is spelled as a visible character.

gpt2.py                reads and writes the two files
spelling.py            converts tokens to and from this spelling, which tokenizer.json has, too
packed_entries.py      reads entries and merges as arrays: the fast way, for files without anything unusual
"""
