"""The measurements behind every claim about speed and memory: `pytest --benchmark-only` (see conftest.py and race.py)."""
