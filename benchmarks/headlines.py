"""The claims that are made in public: rows of the report's first table, in order, and the few of them that the README
shows.

Benchmarks put their claims under these names. If several claims share a row (one for each text, say), the one with the
smallest lead over its goal is shown.
"""

from __future__ import annotations

ROWS = {
    "first": "encode English, one thread, first pass",
    "warm": "the same, later passes",
    "first, others": "German, many scripts, code; first pass",
    "warm, others": "the same, later passes",
    "first, CJK": "Chinese, Japanese, Korean; first pass",
    "warm, CJK": "the same, later passes",
    "tiktoken": "English, German, many scripts, code; first pass",
    "tiktoken, warm": "the same, later passes",
    "tiktoken, CJK": "Chinese, Japanese, Korean; first pass",
    "tiktoken, CJK, warm": "the same, later passes",
    "cl100k and o200k": "English with other vocabularies, first pass",
    "cl100k and o200k, warm": "the same, later passes",
    "cl100k and o200k, CJK": "Chinese, Japanese, Korean with other vocabularies, first pass",
    "cl100k and o200k, CJK, warm": "the same, later passes",
    "str": "a `str` in memory, one thread, first pass",
    "str, warm": "the same, later passes",
    "batch, short": "100,000 documents of 200 characters in one call, all cores",
    "batch, short, tiktoken": "the same, compared with `encode_ordinary_batch`",
    "file": "`encode_file`, text file to finished file of ids, all cores",
    "file, tiktoken": "the same, compared with encoding in memory",
    "records": "`encode_file` from JSON lines, all cores",
    "records, zstd": "the same, compressed with zstd",
    "records, parquet": "from parquet (zstd)",
    "hello": '`encode_array("hello world")`, tiktoken `encode`',
    "hello, ordinary": '`encode_ordinary("hello world")`, both',
    "message": "a message of 2,000 characters",
    "chat": "200 characters with 2 special tokens",
    "batch": "100 short lines in one call",
    "decode": "decode the ids of 2,000 characters, a list",
    "transformers": "a batch of 500 texts in transformers, compared with its own class",
    "transformers, padded": "the same, cut to 256 ids, padded, as arrays",
    "transformers, pairs": "250 pairs of texts",
    "transformers, rows": "500 texts in rows of 128 ids",
    "transformers, words": "500 texts split into words, with the word of each id",
    "transformers, whole": "500 texts, with the word of each id",
    "transformers, offsets": "500 texts with offsets",
    "transformers, decode": "500 texts decoded",
    "transformers, tokenize": "the tokens of a text of 2,000 characters",
    "transformers, short": "a text of 20 characters",
    "hostile": "a megabyte of one character",
    "hostile, one word": "a megabyte of random letters, one word",
    "first ids": "import to first ids, kernels cached",
    "empty cache": "empty kernel cache to first ids or first training",
    "train, gigatoken": "train 32,000 tokens",
    "train, rustbpe": "the same",
    "train, tokenizers": "the same",
    "train, memory": "the same, peak memory",
    "web": "train 32,000 tokens on 13 GB",
    "web, memory": "the same, peak memory",
    "stories": "train 10,000 tokens on 2.2 GB",
    "stories, memory": "the same, memory in all processes",
}

# The README's table: rows in the words of a reader who wants to know what to expect.
README = {
    "first": "English to ids, one thread",
    "first, others": "German, code or a mix of scripts to ids, one thread",
    "tiktoken": "any of these, compared with tiktoken",
    "str": "a `str` in memory to ids, one thread, four kinds of text",
    "batch, short": "a list of 100,000 short documents to ids, all cores",
    "file": "`encode_file`: a text file to a file of ids, all cores",
    "records": "`encode_file` from JSON lines, all cores",
    "records, parquet": "`encode_file` from parquet (zstd), all cores",
    "message": "a chat message of 2,000 characters to ids",
    "transformers": "a batch of 500 texts in transformers (`NbbpeTokenizerFast`), compared with its own class",
    "train, gigatoken": "train 32,000 tokens on 40 to 320 MB of text, all cores",
    "train, tokenizers": "the same on 40 MB, compared with Hugging Face's `tokenizers`",
    "first ids": "`import nbbpe`, load GPT-2's vocabulary, first ids",
}
