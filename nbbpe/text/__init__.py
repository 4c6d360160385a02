"""Text: as bytes, in windows, cut into chunks, and prepared before a pattern splits it.

Read utf8.py and windows.py first.

Text as bytes
utf8.py                text as UTF-8 and back, with bytes that are invalid UTF-8
byte_source.py         sources of bytes: open files, and objects that are read like one
windows.py             text as windows of bytes, with the special tokens in them found
text_windows.py        a text in memory as windows
text_rows.py           many texts in memory as windows
chunks.py              files cut into chunks, at special tokens or certain boundaries
special_search.py      special tokens found in text
text_splitter.py       the pretokens of whole texts
item_checks.py         arguments that give many texts, checked

Text that a tokenizer changes or cuts before a pattern splits it
preparation.py         all such changes, in order
rewriting.py           windows of the result
normalization.py       Unicode normal forms
normal_characters.py   what normal forms do to single characters
normal_check.py        whether a text is in a normal form
steps.py               the steps that a tokenizer.json may have
normalizer.py          the steps that change a text
charsmap.py            the table by which sentencepiece normalizes text
cutting.py             the steps that cut a text
pattern_cutter.py      cutting by kernels, where a regex is the first step
ruled_tokens.py        special tokens that are found by rules
byte_fallback.py       characters that a vocabulary of characters lacks
lacking_byte.py        the error for a byte that a vocabulary lacks

Characters
unicode_sets.py        sets of characters as other engines define them
character_properties.py the properties of characters that rules for tokens use
scripts.py             the script that a word is written in
"""
