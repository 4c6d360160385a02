"""Digests of the automata of named patterns: with them a custom regex is recognised as a named pattern without compiling
all of theirs.

Data, made by `python scripts/make_digests.py`; a test proves it current.
"""

REGEX_VERSION = "2026.11.15"
NAMES = {
    "8731ae345472c199": "gpt2",
    "ef0144312ec4dd62": "starcoder",
    "4c7995486823874c": "cl100k",
    "98a5a786c2e1dd3b": "o200k",
    "c98238eca6a229cc": "llama3",
    "1ce810874f887db5": "qwen2",
    "0403fd9842924acf": "qwen3.5",
    "f6c3a5b6510065eb": "nanochat",
    "21675a57e54f87e9": "tekken",
    "89684c1de07fc6cc": "kimi-k2",
    "4deee442490535fe 36ba90b9a98e2290 aa872eda707d7bb9": "deepseek3",
    "a0e8042a5fec0cbc 4f8b0ef199474106 d9b5d9b6fda05e40 17d49da38ded9c2a 33e3862041735b2b": "deepseek-coder",
    "83bcdab99fb2c83d": "bloom",
    "3dca547436b1b08e": "exaone-moe",
    "1184e3d15b6dce04": "seed-coder",
    "33e3862041735b2b 8731ae345472c199": "starcoder",
}
