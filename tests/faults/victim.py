"""A process that trains or encodes, small parts at a time, and kills itself or its parent at a step that it is told.

`python victim.py '{"job": "encode", "stage": "joining", "nth": 3, "whom": "parent", ...}'`, see trials.py.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import nbbpe
from nbbpe.counting import count_tables, counters, gathering, parallel_counting, sorted_runs, word_table
from nbbpe.formats.nbbpe_folder import folder as saved_folder
from nbbpe.idfiles import division, joined_parts, kept_parts, publishing
from nbbpe.system import atomic_files
from nbbpe.training import merges

CHUNK = 6000  # bytes of text in a part
N_WORKERS = 2
RUN_BYTES = 8000  # of a table of counts: more of it goes to a run
JOBS: dict[str, dict[str, Any]] = {  # the options of encode_file, but for the source
    "encode in threads": {},
    "encode in processes": {"split_with": "regex"},
    "encode records": {"field": "body", "split_with": "regex"},
    "resume": {"resume": True},
    "resume records": {"field": "body", "resume": True},
    "train": {},
    "count": {},
}


def cut_small() -> None:
    """Have many parts and batches, and workers for all of them."""
    for module in division, parallel_counting:
        module._CHUNK_BYTES = CHUNK
        module.MIN_BYTES_FOR_WORKERS = 0
    parallel_counting._SHARED_CHUNK_BYTES = parallel_counting.BATCH = CHUNK
    merges.BATCH_BUDGET = 500


def note_parts(log: str) -> None:
    """Write the beginning of each part that any process begins to encode into a file, one a line."""
    real = nbbpe.Tokenizer.encode_part

    def encode_part(self: nbbpe.Tokenizer, part: Any, *args: Any) -> Iterator[Any]:
        with open(log, "ab", buffering=0) as file:
            file.write(b"%d\n" % part.span()[0])
        yield from real(self, part, *args)

    nbbpe.Tokenizer.encode_part = encode_part  # type: ignore[method-assign]


def run(job: str, tokenizer: str, source: str, output: str) -> None:
    """Do a job."""
    if job == "train":
        nbbpe.train(source, 400, ["<|endoftext|>"], workers=N_WORKERS).save(output)
    elif job == "count":
        count_in_runs(source, output)
    else:
        nbbpe.load(tokenizer).encode_file(source, output, N_WORKERS, **JOBS[job])


def count_in_runs(source: str, output: str) -> None:
    """Count words with little memory, so that they go to sorted runs, in a temporary folder beside the output."""
    small: list[tuple[Any, str, Any]] = [
        (gathering, "_TABLE_SHARE", RUN_BYTES / (gathering._OWN_BYTES // 4)),
        (gathering, "_TABLE_BYTES_OF_TEXT", 1 << 20),
        (word_table, "_FIRST_SLOTS", 64),
        (tempfile, "tempdir", os.path.dirname(output)),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in small]
    try:
        for each in small:
            setattr(*each)
        nbbpe.count_words(source, special_tokens=["<|endoftext|>"], workers=N_WORKERS, memory_limit="64MB", output=output)
    finally:
        for each in before:
            setattr(*each)


def steps(plan: dict[str, Any]) -> None:
    """Count the steps of the stage that a plan names, and kill at the `nth`, before it or after it."""
    main, n_seen = os.getpid(), 0
    stage, nth, whom, when = plan["stage"], plan["nth"], plan["whom"], plan["when"]

    def step() -> None:
        nonlocal n_seen
        if whom == "worker" and os.getpid() == main:
            time.sleep(0.01)  # so that workers get something to do
            return
        n_seen += 1
        if n_seen == nth:
            os.kill(main if whom == "parent" else os.getpid(), signal.SIGKILL)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if when == "before":
                step()
            result = real(*args, **options)
            if when == "after":
                step()
            return result

        return call

    def counted_parts(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Iterator[Any]:
            for each in real(*args):
                step()
                yield each

        return call

    places: dict[str, list[tuple[Any, str]]] = {
        "counting": [(counters.PieceCounter, "count")],
        "adding up": [(counters.PieceCounter, "take_over")],
        "spilling": [(sorted_runs, "write_run")],
        "merging runs": [(sorted_runs, "sorted_words")],
        "writing": [(count_tables, "batch_of")],
        "putting": [(atomic_files, "put"), (atomic_files, "sync"), (os, "replace")],
        "merges": [(merges.merge_loop, "merge_batch")],
        "saving": [(saved_folder, "put"), (os, "replace"), (os, "fsync")],
        "noting": [(kept_parts.KeptParts, "add")],
        "joining": [(joined_parts, "_append"), (joined_parts, "append_ends"), (joined_parts.os, "remove")],
        "handing over": [(kept_parts.os, "link")],
        "publishing": [(publishing, "put"), (publishing, "_put_aside"), (publishing, "write_sidecar")],
        "encoding": [],
    }
    for owner, name in places[stage]:
        if name == "merge_batch":
            owner = merges.merge_loop = _Module(owner)
        setattr(owner, name, counted(getattr(owner, name)))
    if stage == "encoding":
        nbbpe.Tokenizer.encode_part = counted_parts(nbbpe.Tokenizer.encode_part)  # type: ignore[method-assign]


class _Module:
    """A module, of which names can be replaced for one of its users."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    cut_small()
    if given["log"]:
        note_parts(given["log"])
    if given["stage"]:
        steps(given)
    print("begins", flush=True)
    run(given["job"], given["tokenizer"], given["source"], given["output"])
