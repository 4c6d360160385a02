"""Vocabularies of ranks: tokens in the order in which they are merged, without a list of merges.

tiktoken.py            tiktoken's encodings and its rank files
tekken.py              Mistral's tekken.json
tiktoken_package.py    imports the package tiktoken, even if nbbpe.tiktoken replaces it
"""
