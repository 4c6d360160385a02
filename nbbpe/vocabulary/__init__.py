"""A vocabulary as a whole: it is learned from words, extended or cut down, its tokens are counted, and reported on.

Read `from_bytes.py` first: it learns one. `extension.py` goes on merging where a vocabulary ends, and `reduction.py` makes
smaller ones; `frequencies.py` counts how often tokens are used; `report.py` writes the page, `report_figures.py` works out
what it says (`report_data.py`), and `charts.py` draws it.
"""
