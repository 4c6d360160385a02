"""Every claim about speed and memory is made here: `pytest --benchmark-only` (see conftest.py and race.py)."""
