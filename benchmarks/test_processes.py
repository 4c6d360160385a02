"""The cost of a whole process, from its start to its exit, with kernels stored: time, and resident memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpora import TRIAL, small, vocabs_folder
from benchmarks.measure import version_of
from benchmarks.race import Entry, Facts, n_rounds, need
from benchmarks.results import Claim, within

ROUNDS = 10
MEMORY_MB = 95
LOAD_SECONDS = 0.1  # of a vocabulary of 100,000 or 200,000 tokens

FIRST_IDS = 'import nbbpe; print(nbbpe.load({folder!r}).encode_array("hello world").tolist())'
TIKTOKEN = """
import tiktoken
from tiktoken.load import load_tiktoken_bpe
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\\p{{L}}+| ?\\p{{N}}+| ?[^\\s\\p{{L}}\\p{{N}}]+|\\s+(?!\\S)|\\s+"
gpt2 = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe({file!r}), special_tokens={{}})
print(gpt2.encode_ordinary("hello world"))
"""
LOADING = """
import time, nbbpe
nbbpe.Tokenizer  # imported, with NumPy, on use
began = time.perf_counter()
tok = nbbpe.load({folder!r})
print(tok.vocab_size, time.perf_counter() - began)
"""


# A small process starts the measured one: Linux counts the memory of the process that forks as that of its child.
LAUNCHER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)
seconds = time.perf_counter() - began
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
facts = {"seconds": seconds, "processor_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024}
print(json.dumps({**facts, "printed": done.stdout.decode()}))
"""


def fresh_process(library: str, command: Sequence[str]) -> Facts:
    """Run a command: `seconds` from its start to its end, the peak of its resident memory, and what it `printed`."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    # Bytecode is kept, as pip does.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    facts = json.loads(subprocess.run(launcher, capture_output=True, check=True, env=kept).stdout)
    return {"library": library, "version": version_of(library), "compiled_kernels": [], **facts}


def in_turns(benchmark: Any, entrants: dict[str, tuple[str, Sequence[str]]]) -> dict[str, Entry]:
    """Entries of entrants (label -> library, command), the first of which is ours; a first round only warms the disk."""
    entries = {label: Entry(label, fresh_process(*entrant)) for label, entrant in entrants.items()}

    def run() -> None:
        for label, entrant in entrants.items():
            entries[label].runs.append(fresh_process(*entrant))

    benchmark.pedantic(run, rounds=n_rounds(ROUNDS))
    return entries


def least(entry: Entry) -> float:
    return min(run["seconds"] for run in entry.runs)


def memory(entry: Entry, limit: float | None = MEMORY_MB) -> Claim:
    peak = max(run["peak_bytes"] for run in entry.runs) / 1e6
    return Claim(f"MB of resident memory, {entry.label}", peak, limit, at_least=False, unit="MB")


def python(script: str, **names: Any) -> list[str]:
    return [sys.executable, "-c", script.format(**names)]


def saved(folder: Path, name: str) -> Path:
    """A folder to which nbbpe has saved a vocabulary of tiktoken; all kernels that loading it needs are stored, too."""
    import nbbpe

    tok = nbbpe.Tokenizer.from_tiktoken(vocabs_folder() / f"{name}_base.tiktoken")
    tok.save(folder / name)
    nbbpe.load(folder / name).encode("hello world")
    return folder / name


def test_first_ids_of_a_process(benchmark, conclude, tmp_path):
    need("tiktoken")
    import nbbpe

    nbbpe.train(documents=["the cat sat on the mat"], vocab_size=260).save(tmp_path / "tiny")
    from_files = "import nbbpe; print(nbbpe.Tokenizer.from_files({vocab!r}, {merges!r}).encode_array({text!r}).tolist())"
    files = {"vocab": str(vocabs_folder() / "gpt2_vocab.json"), "merges": str(vocabs_folder() / "gpt2_merges.txt")}
    r50k = str(saved(tmp_path, "r50k"))
    entrants = {
        "nbbpe, 50,257 tokens in a folder of its own": ("nbbpe", python(FIRST_IDS, folder=r50k)),
        "nbbpe, GPT-2's vocab.json and merges.txt": ("nbbpe", python(from_files, text="hello world", **files)),
        "nbbpe, 260 tokens": ("nbbpe", python(FIRST_IDS, folder=str(tmp_path / "tiny"))),
        "tiktoken, a file of 50,256 ranks": (
            "tiktoken",
            python(TIKTOKEN, file=str(vocabs_folder() / "r50k_base.tiktoken")),
        ),
        "Python with NumPy": ("numpy", python("import numpy")),
    }
    entries = in_turns(benchmark, entrants)
    folder, gpt2, tiny, peer, _ = entries.values()
    assert folder.checked["printed"] == gpt2.checked["printed"] == peer.checked["printed"]
    what = "from the start of a process to first ids and its exit, least of ten"
    claims = [
        within(least(folder), 0.25, f"{what}, {folder.label}"),
        within(least(gpt2), 0.25, f"{what}, {gpt2.label}"),
        within(least(tiny), 0.2, f"{what}, {tiny.label}"),
        *(memory(entry) for entry in (folder, gpt2, tiny)),
    ]
    title = 'a process that loads a vocabulary and encodes "hello world"'
    conclude("processes/first_ids", title, entries.values(), claims, "ids of both larger vocabularies equal")


def test_counting_the_tokens_of_a_small_file(benchmark, conclude, tmp_path):
    r50k = saved(tmp_path, "r50k")
    command = [sys.executable, "-m", "nbbpe", "count", str(small().path), "-t", str(r50k)]
    entries = in_turns(benchmark, {"nbbpe count": ("nbbpe", command)})
    (ours,) = entries.values()
    claims = [within(least(ours), 0.3, "of `nbbpe count`, from start to exit, least of ten"), memory(ours)]
    conclude("processes/count", f"`nbbpe count` of {small()}, 50,257 tokens", [ours], claims)


def test_loading_large_vocabularies(benchmark, conclude, tmp_path):
    names = ["cl100k", "o200k"][: 1 if TRIAL else 2]
    entrants = {f"nbbpe.load, {name}": ("nbbpe", python(LOADING, folder=str(saved(tmp_path, name)))) for name in names}
    entries = in_turns(benchmark, entrants)
    claims = []
    for label, entry in entries.items():
        loading = min(float(run["printed"].split()[1]) for run in entry.runs)
        claims += [
            within(loading, LOAD_SECONDS, f"of {label}, from a folder that nbbpe saved, least of ten"),
            memory(entry, None),
        ]
    conclude("processes/load", "a process that loads a large vocabulary", entries.values(), claims)
