"""nbbpe's own folder, which Tokenizer.save writes: vocab.json, merges.txt and nbbpe.json, and copies for others.

folder.py              reads and writes the folder, so that a save that was cut short is recognised
entries.py             the entries of nbbpe.json that are checked one by one
table_file.py          nbbpe.tables, a copy of a large vocabulary that loads faster
for_transformers.py    the tokenizer.json and tokenizer_config.json for other libraries
"""
