"""What several formats need.

json_text.py           JSON files: errors name the file and the place
named_errors.py        makes errors name the file
objects.py             recognises objects of other libraries that are tokenizers
owners.py              finds out whether a file belongs to a folder that Tokenizer.save wrote
plain_formats.py       rejects a tokenizer that a format without normalizers and flags cannot hold
transformers_names.py  the names that transformers gives its files and special tokens
"""
