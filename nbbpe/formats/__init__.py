"""File formats of tokenizers. Each is read as a Model, and most can be written; none imports Tokenizer.

Read recognise.py first, which finds the format, then minbpe.py, the shortest, and ranks/tekken.py, which also writes.

recognise.py             finds the format of a path or an object, and reads it
known_names.py           finds the files of names such as cl100k_base or org/model, with the library that provides them
verification.py          compares ids with those of the libraries that define the formats
sentencepiece.py         sentencepiece's .model, read through tokenizer_json/characters.py
equal_scores.py          pieces of such a .model that have the same score
sentencepiece_folder.py  a folder of transformers with such a .model
minbpe.py                minbpe's .model

The folders; each imports only those below it:

transformers_folder/     folders of transformers: a tokenizer.json, or two files, and the files beside them
nbbpe_folder/            the folder that Tokenizer.save writes
tokenizer_json/          Hugging Face's tokenizer.json
vocab_json/              GPT-2's vocab.json and merges.txt; tokenizer.json spells tokens in the same way
ranks/                   tiktoken's encodings and files, and Mistral's tekken.json
regexes/                 translates split patterns between regex engines
shared/                  what several formats need, such as reading JSON
"""
