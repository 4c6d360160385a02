"""The benchmarks themselves: what they time, how they compare, and how their scripts are called."""

from __future__ import annotations

import base64

import processes
import pytest

LOADING = """
import sys
from pathlib import Path
from benchmarks import encoding_work

encoding = encoding_work.LIBRARIES[sys.argv[1]](".", "cl100k")
encoding.look_up_regexes()
before = set(sys.modules)
encoding.load_vocabulary(Path(sys.argv[2]))
print([name for name in sys.modules if name.startswith("nbbpe") and name not in before])
"""


def test_the_time_in_which_tiktoken_loads_its_vocabulary_has_no_import_of_nbbpe(tmp_path):
    pytest.importorskip("tiktoken")
    ranks = "".join(f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (tmp_path / "cl100k_base.tiktoken").write_text(ranks)
    assert processes.run(LOADING, "tiktoken", tmp_path) == "[]\n"
