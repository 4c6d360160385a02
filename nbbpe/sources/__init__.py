"""Sources of text: paths, URLs and iterables, as parts that are read in parallel.

Read finding.py first, then inputs.py, which says what every source offers.
"""

from .finding import find_inputs, find_inputs_of_each
from .inputs import Input, Part, check_read_again, total_size
from .iterable import Documents
from .jsonl import shared_by_threads
from .places import Line, Place, Record, Row
from .tally import Skipped, Tally, check_on_error, warn_of_skipped

__all__ = [
    "Documents",
    "Input",
    "Line",
    "Part",
    "Place",
    "Record",
    "Row",
    "Skipped",
    "Tally",
    "check_on_error",
    "check_read_again",
    "find_inputs",
    "find_inputs_of_each",
    "shared_by_threads",
    "total_size",
    "warn_of_skipped",
]
