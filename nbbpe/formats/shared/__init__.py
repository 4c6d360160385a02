"""What several formats need.

json_text.py           JSON files: errors name the file and the place
named_errors.py        errors that name the file
objects.py             tokenizers of other libraries as objects
owners.py              which files belong to a folder that Tokenizer.save wrote
plain_formats.py       refuses a tokenizer that a format without normalizers and rules cannot hold
transformers_names.py  what transformers calls its files, and the special tokens in them
"""
