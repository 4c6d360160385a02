"""Sources of text: paths, URLs and iterables, as parts that are read in parallel.

Read finding.py first, then inputs.py, which says what every source offers.

where files are   local.py, remote.py, path_patterns.py
what is in them   plain.py, jsonl.py, json_array.py; tables.py, with parquet.py and arrow_files.py
compression       compressed.py; compressible.py, frames.py and line_chunks.py cut compressed files for several workers
in memory         iterable.py; arrow.py and columns.py
records           places.py names them in messages, and tally.py counts those that are skipped
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
