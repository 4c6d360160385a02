"""nbbpe's own folder, which Tokenizer.save writes: vocab.json, merges.txt and nbbpe.json, and copies for other libraries.

folder.py              reads and writes the folder; reading recognises an interrupted save
entries.py             reads and writes single entries of nbbpe.json
table_file.py          nbbpe.tables, a copy of a large vocabulary that loads faster
for_transformers.py    the tokenizer.json and tokenizer_config.json for other libraries
"""
