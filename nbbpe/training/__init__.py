"""Training: text to words with counts, words to merges.

Read word_counts.py first, then word_table.py and counters.py, and merges.py last.
"""
