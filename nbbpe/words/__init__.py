"""The words that training learns from: text that is counted, a mixture of sources, or tables of counts.

Read corpus.py and supply.py first, then finding.py.

corpus.py              what training is given, as users name it
finding.py             finds the words of a corpus
supply.py              the interface of all that supplies words
counted_text.py        text that is counted
counted_tables.py      tables of counts that are added up
count_words.py         makes such tables
mixture.py             weights, limits and samples of sources
mixed_text.py          counts the sources of a mixture
parity.py              keeps their words apart
source_words.py        counts the words of a source as a tokenizer prepares and splits it
words_in_memory.py     skips rare words where memory is short
forecast.py            how long it will all take
weights.py             weights as integers over a common denominator
counting_options.py    the arguments of `nbbpe.train` about counting
"""
