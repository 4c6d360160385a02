"""How long a regex may take for a text: it may come from an attacker, and backtrack without end."""

from __future__ import annotations

# No text that a regex takes in reasonable time comes near it. At the usual 6 to 9 MB/s a character takes about 0.15 µs.
# `regex` counts the processor time of the whole process, in which a hundred threads may be busy; hence the factor of more
# than a hundred.
BASE_SECONDS = 5.0
_SECONDS_PER_CHARACTER = 20e-6


def seconds_for(text: str | bytes) -> float:
    """The limit for a document, or a part of one."""
    return BASE_SECONDS + len(text) * _SECONDS_PER_CHARACTER
