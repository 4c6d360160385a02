"""Translates the split patterns in files between regex engines.

dialects.py            between `regex`, Oniguruma and fancy-regex: only what is certain to match the same
fancy_regex.py         from tiktoken's and Mistral's fancy-regex to `regex`: changes only what is known to differ
"""
