"""Where training gets its words from: text that is counted, a mixture of sources, or tables of counts.

Read `supply.py` first, then `finding.py`, which finds the source for the arguments of `train` and `extend`.
`counted_text.py` counts text, which `counting.py` makes tables of; `counted.py` adds such tables up; `mixture.py` weighs,
limits and samples sources, which are the words of `mixed_text.py`; `parity.py` keeps them apart; `source_words.py` counts
what a tokenizer makes of a source.
"""
