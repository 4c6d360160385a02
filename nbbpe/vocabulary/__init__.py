"""Whole vocabularies: learns, extends and reduces them, counts how often their tokens are used, and reports on them.

Read from_bytes.py first.

from_bytes.py       learns a vocabulary from the bytes
extension.py        adds tokens to a vocabulary
character_words.py  prepares words for extending a vocabulary of characters
reduction.py        makes a vocabulary smaller
frequencies.py      counts how often tokens are used
report.py           writes a report on a vocabulary as an HTML page
report_figures.py   computes the figures of a report
report_data.py      these figures, as data
charts.py           draws charts of them
"""
