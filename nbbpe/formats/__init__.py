"""File formats of tokenizers, one module a format: each reads and writes a Model, and knows no Tokenizer."""
