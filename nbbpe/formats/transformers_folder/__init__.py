"""Folders of transformers, in which several files together define the tokens.

with_json.py           reads a folder with a tokenizer.json
tokens_beside.py       reads the tokens that other files, beside tokenizer.json or vocab.json, add or change
two_files.py           reads a folder with vocab.json and merges.txt, and no tokenizer.json
classes.py             what the code of transformers' classes adds to such two files
whisper_languages.py   the languages that Whisper's class knows
pretrained.py          writes such a folder (Tokenizer.save_pretrained)
"""
