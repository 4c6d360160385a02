"""The words that training learns from: text that is counted, a mixture of sources, or tables of counts.

Read `corpus.py` and `supply.py` first, then `finding.py`, which finds the words of a corpus. `counted_text.py` counts text;
`count_words.py` makes tables of the counts, and `counted_tables.py` adds up such tables. `mixture.py` describes weights,
limits and samples of sources, `mixed_text.py` counts them, and `parity.py` keeps their words apart. `source_words.py`
counts the words of a source as a tokenizer prepares and splits it. `words_in_memory.py` skips rare words where memory is
short, and `forecast.py` says how long it will all take.
"""
