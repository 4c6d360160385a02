"""Split patterns: from the regex to the tables that kernels work with, and `regex` itself where there are none.

Read pattern.py first, then pattern_argument.py, which makes a Pattern of what callers give. named_patterns.py has the
regexes of known models, and known_regexes.py finds the name of a regex; class_pattern.py makes a pattern for vocabularies
that have none.

A regex becomes an automaton by way of pattern_parser.py (a tree, of sets that code_points.py has), places.py,
determiniser.py and automaton.py; checked_automaton.py compares what it does with `regex`, and automaton_drawing.py draws
it. From automata follow certain boundaries (boundaries.py, levels.py, rules.py), seams (runs.py, seams.py), words of ASCII
(ascii_words.py) and what else spares kernels work (match_facts.py). pattern_tables.py writes all of it as tables, and
stored_tables.py keeps these on disk.

Of a regex without an automaton, regex_boundaries.py finds pieces, and partial_automaton.py decides most of them, for which
look_automaton.py finds where long look-aheads match. regex_splitter.py splits the others by `regex`, and joined_pieces.py
many at once. given_regex.py says what any regex may cost.
"""
