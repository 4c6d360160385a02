"""Text to distinct words with counts, in memory or in sorted runs on disk, and tables of counts.

Read word_counts.py first, then word_table.py and counters.py.

word_counts.py         distinct words with counts, as arrays
word_table.py          a growing hash table of words
counters.py            counters of the words of text, window after window
parallel_counting.py   counts files by counters in one or many processes
executor_counting.py   counts on an executor of the user's
gathering.py           adds up what several counters found, within a limit of memory
sorted_runs.py         words in the order of their bytes, in memory and in files
count_tables.py        words with counts as Arrow tables, and back
count_sources.py       where tables of counts come from
count_description.py   the metadata of such a table: how the text was split
"""
