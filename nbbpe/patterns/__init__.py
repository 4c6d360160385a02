"""Split patterns: compiles their regexes to tables for kernels, or splits by `regex` itself if that cannot be done.

Read pattern.py first, then pattern_argument.py.

The pattern
pattern.py             a split pattern, named or custom
pattern_argument.py    checks the argument `pattern`, and makes a pattern of it
named_patterns.py      the regexes of known models
known_regexes.py       the name of a regex that splits as a named pattern does
class_pattern.py       a pattern for vocabularies that have none
given_regex.py         limits of the time and memory that a regex may take

From a regex to its automaton
pattern_parser.py      the regex as a tree
code_points.py         the sets of characters in it
places.py              the tree as places, as in Thompson's construction
determiniser.py        states, which are lists of places
automaton.py           the automaton, minimal
checked_automaton.py   compares it with `regex` before use
partial_automaton.py   an automaton of what can be decided, for a regex that has none
look_automaton.py      where a long look-ahead matches
automaton_drawing.py   an automaton as SVG

What follows from automata
boundaries.py          certain boundaries
levels.py              certain boundaries of several regexes that split in turn
regex_boundaries.py    certain boundaries of a regex without an automaton
rules.py               boundaries as rules for kernels
runs.py, seams.py      where a long word may be cut before it is merged
ascii_words.py         words of ASCII that match as a whole
match_facts.py         other facts that save kernels work
pattern_tables.py      all of this as tables
stored_tables.py       these tables on disk
character_classes.py   the classes of characters of the installed `regex`, for a provenance

Matching by `regex`
regex_splitter.py      splits text within a limit of time
joined_pieces.py       splits many pieces in few calls
quick_regex.py         regexes that need no such limit
set_regex.py           regexes of one set of characters
"""
