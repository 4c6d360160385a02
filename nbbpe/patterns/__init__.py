"""Split patterns: from the regex to the tables that kernels work with, and `regex` itself where there are none.

Read pattern.py first. Then, in the order in which they are used: pattern_parser.py, places.py, determiniser.py,
automaton.py, boundaries.py, levels.py, seams.py and pattern_tables.py. Of patterns without an automaton:
partial_automaton.py, regex_boundaries.py and runs.py. checked_automaton.py compares what automata do with `regex`.
"""
