"""What is done with a trained vocabulary: it is extended or cut down, its tokens are counted, and reported on.

Read `extension.py` first: it goes on merging where a vocabulary ends. `reduction.py` makes smaller ones;
`frequencies.py` counts how often tokens are used; `report.py` writes the page, `report_figures.py` works out what it says,
and `charts.py` draws it.
"""
