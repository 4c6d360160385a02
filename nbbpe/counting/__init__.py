"""Counts the distinct words of text, in memory or in sorted runs on disk, and reads and writes tables of counts.

Read word_counts.py first, then word_table.py and counters.py.

word_counts.py         distinct words with counts, as arrays
word_table.py          a growing hash table of words
counters.py            counters, which count the words of text window after window
parallel_counting.py   counts files with counters in one or many processes
executor_counting.py   counts files on the user's executor
gathering.py           adds up the words of several counters, within a limit of memory
sorted_runs.py         words sorted by their bytes, in memory and in files
count_tables.py        words with counts as Arrow tables, and back
count_sources.py       opens the tables of counts that a user names
count_description.py   the metadata of such a table: how the text was split
"""
