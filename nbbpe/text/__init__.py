"""Text and patterns: how a split regex becomes an automaton, and where a text can be cut before it is split.

Read pattern_parser.py first, then automaton.py, boundaries.py and pattern_tables.py.
"""
