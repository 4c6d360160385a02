"""Text to distinct words with counts, in memory or in sorted runs on disk, and tables of counts.

Read word_counts.py first, then word_table.py and counters.py; gathering.py adds up what several counters found.
"""
