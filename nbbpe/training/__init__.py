"""Words with counts to merges.

Read merges.py first.
"""
