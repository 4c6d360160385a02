"""Split patterns of files, translated between the regex engines that read them.

dialects.py            between `regex`, Oniguruma and fancy-regex, where it is certain that they match the same
fancy_regex.py         from fancy-regex, as tiktoken and Mistral have it: as it stands, but for what is known to differ
"""
