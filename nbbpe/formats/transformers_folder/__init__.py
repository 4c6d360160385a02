"""Folders of transformers, in which several files decide of the tokens.

with_json.py           reads a folder with a tokenizer.json
tokens_beside.py       the tokens that files beside a tokenizer.json, or beside vocab.json, add or change
two_files.py           reads a folder with vocab.json and merges.txt, and no tokenizer.json
classes.py             what the classes of transformers do to texts, which two_files.py needs
whisper_languages.py   the languages that Whisper's class knows
pretrained.py          writes such a folder (Tokenizer.save_pretrained)
"""
