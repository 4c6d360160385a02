"""Text: as bytes, in windows, cut into chunks; and split patterns, from the regex to the tables that kernels work with.

Read windows.py first. Of patterns: pattern.py, pattern_parser.py, places.py, determiniser.py, automaton.py, boundaries.py,
levels.py and pattern_tables.py; partial_automaton.py and regex_boundaries.py for those without an automaton.
"""
