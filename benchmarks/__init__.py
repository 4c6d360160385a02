"""The measurements behind every claim about speed and memory: `pytest --benchmark-only`.

Read conftest.py first, then race.py. A benchmark, test_*.py, races entrants: race.py calls measure.py in a fresh process
for each run, with arguments of entrants.py, and that does the work of encoding_work.py, training_work.py, short_work.py or
transformers_work.py.
results.py stores what was measured and claimed, and report.py writes it as text, with the rows of headlines.py and the
plots of figures.py.
"""
