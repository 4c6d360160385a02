"""Sources of text: paths, URLs and iterables, as parts that are read in parallel.

Read finding.py first, then inputs.py, which says what every source offers.

finding.py             converts what a user gives to inputs
inputs.py              the interface: File, Input and Part
plain.py               files of plain text
jsonl.py               files of JSON lines
json_array.py          files of JSON: an array of records
iterable.py            documents in memory
tables/                columns of text: Parquet, Arrow files, and Arrow data in memory
compression/           decompresses files, by several workers if they can be cut
files/                 finds and opens files: on this machine, behind a URL, by a pattern of paths
sampling.py            samples the documents of a source
named_texts.py         several texts with names, for reports and comparisons
places.py              the place of a record, for messages
tally.py               counts bytes and malformed records, which are skipped or errors
first_bytes.py         recognises a file that is not text or JSON by its first bytes
other_formats.py       warns of files that are probably not what their names say
optional_packages.py   imports packages that only some sources need
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
