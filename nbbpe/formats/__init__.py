"""File formats of tokenizers: each is read as a Model, most are written, and none knows a Tokenizer.

Read recognise.py first, which finds the format, then minbpe.py, the shortest, and tekken.py, which also writes.

nbbpe's own folder     folder.py, with folder_entries.py and folder_tables.py; owners.py says which files are its own, and
                       for_transformers.py writes those for other libraries
tokenizer.json         huggingface.py reads it and to_huggingface.py writes it; its parts are in added_tokens.py,
                       pretokenizers.py and model_part.py, and vocabularies of characters in characters.py and
                       character_spelling.py
folders of             from_transformers.py reads what is beside a tokenizer.json, two_files.py folders without one, by
transformers           transformers_classes.py; pretrained.py writes one
GPT-2's two files      gpt2.py; word_ends.py for those with tokens for the ends of words
sentencepiece          sentencepiece.py, by way of characters.py
tiktoken               tiktoken.py; tiktoken_package.py imports the package itself
regexes                dialects.py and fancy_regex.py translate them between engines
shared by several      spelling.py, packed_entries.py, json_text.py, plain_formats.py, known_names.py

verification.py compares the ids with those of the libraries that own the formats.
"""
