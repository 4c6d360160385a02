"""File formats of tokenizers, one module a format: each reads and writes plain data, and knows no Tokenizer."""
