"""A vocabulary as a whole: it is learned from words, extended or cut down, its tokens are counted, and reported on.

Read from_bytes.py first.

from_bytes.py       learns a vocabulary
extension.py        goes on merging where one ends
character_words.py  the words for that, where it is one of characters
reduction.py        makes smaller ones
frequencies.py      counts how often tokens are used
report.py           writes the page of a report
report_figures.py   works out what it says
report_data.py      what it says, as data
charts.py           draws it
"""
