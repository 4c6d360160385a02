"""Training: text to words with counts, words to merges.

Read word_counts.py first, then merges.py.
"""
