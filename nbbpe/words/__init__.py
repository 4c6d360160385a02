"""The words that training learns from: text that is counted, a mixture of sources, or tables of counts.

Read corpus.py and supply.py first, then finding.py.

corpus.py              the arguments of `nbbpe.train` that name a corpus
finding.py             chooses how the words of a corpus are supplied
supply.py              the interface of all supplies of words
counted_text.py        counts text
counted_tables.py      adds up tables of counts
count_words.py         `nbbpe.count_words`, which makes such tables
mixture.py             weights, limits and samples of sources
mixed_text.py          counts the sources of a mixture
parity.py              equal compression of the sources of a mixture
source_words.py        counts the words of a source as a tokenizer prepares and splits it
words_in_memory.py     skips rare words if memory is short
forecast.py            estimates the time and memory of a run
weights.py             weights as integers over a common denominator
counting_options.py    the arguments of `nbbpe.train` about counting
"""
