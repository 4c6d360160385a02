"""File formats of tokenizers: each is read as a Model, most are written, and none knows a Tokenizer.

Read recognise.py first, which finds the format, then minbpe.py, the shortest, and ranks/tekken.py, which also writes.

recognise.py             finds the format of a path or an object, and reads it
known_names.py           well-known names, such as cl100k_base or org/model: the files are those of another library's cache
verification.py          compares the ids with those of the libraries that own the formats
sentencepiece.py         sentencepiece's .model, by way of tokenizer_json/characters.py
equal_scores.py          pieces of such a .model that have one score
sentencepiece_folder.py  a folder of transformers with such a .model
minbpe.py                minbpe's .model

The folders, from the top; each imports only those below:

transformers_folder/     folders of transformers: a tokenizer.json, or two files, with what is beside them
nbbpe_folder/            what Tokenizer.save writes
tokenizer_json/          Hugging Face's tokenizer.json
vocab_json/              GPT-2's vocab.json and merges.txt, whose spelling of tokens tokenizer.json has, too
ranks/                   tiktoken's encodings and files, and Mistral's tekken.json
regexes/                 split patterns, translated between regex engines
shared/                  what several formats need: JSON, owners of files, names, one error
"""
