"""Mutated files for every reader: `python -m tests.fuzz --files 5000`, or `--seconds 30`.

They are read in processes that have little memory and little time. Each file is read, or is one ValueError or OSError that
names it; nothing crashes, and no more is allocated than ten times the input and a constant. A file that is a fault is kept
in the folder `--keep`; one that is worth it goes into the seeds (see readers.py).
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import readers

import nbbpe

BATCH = 100  # files that a process reads
SECONDS = 20  # that one file may take
# Bytes that may be allocated for a file of any size: buffers, and 16 MB for the classes of all code points, of a pattern
# that is not known by name.
ROOM = 24 << 20


def read_batch(name: str, first: int, end: int, seed: int, folder: Path) -> None:
    """What a process does: read the mutations from `first` to `end`, and print what is wrong."""
    reader = readers.READERS[name]
    valid = folder / "valid"
    shutil.copytree(readers.SEEDS / name / "valid", valid)
    warnings.simplefilter("ignore")
    reader.read(valid)  # loads what reading needs
    tracemalloc.start()
    with readers.mutations.little_room():
        for number in range(first, end):
            place = folder / str(number)
            what = readers.mutate(name, number, seed, place)
            size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            # So that a process that dies has said with what.
            print(f"> {number} {what}", flush=True)
            if hasattr(signal, "alarm"):
                signal.alarm(SECONDS)
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            names = tuple(path.split("/")[-1] for path in readers.files_of(place)) or ("ids",)
            wrong = readers.mutations.fault(reader.read, place, (*names, "ids.bin.resume"))
            peak = tracemalloc.get_traced_memory()[1] - before
            if wrong is None and peak > 10 * size + ROOM:
                wrong = f"allocates {peak:,} bytes for {size:,}"
            if wrong is not None:
                print(f"! {wrong!r}", flush=True)
            shutil.rmtree(place)
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    print("done")


def run_batch(name: str, first: int, end: int, seed: int) -> list[tuple[str, str]]:
    """Have a batch read by a process of its own; returns the faults: which mutation, and what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--batch", name, str(first), str(end), folder, "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    faults, current = [], f"{first} valid"
    for line in done.stdout.splitlines():
        if line.startswith("> "):
            current = line[2:]
        elif line.startswith("! "):
            faults.append((f"{name} {current}", line[2:]))
    if done.returncode or not done.stdout.endswith("done\n"):
        how = "took too long" if done.returncode == -getattr(signal, "SIGALRM", 0) else f"ended with {done.returncode}"
        faults.append((f"{name} {current}", f"the process {how}: {done.stderr[-500:]}"))
        # Go on after the one that ended the process.
        if (number := int(current.split()[0]) + 1) < end and current != f"{first} valid":
            faults += run_batch(name, number, end, seed)
    return faults


def main() -> int:
    """Returns 1 if there was any fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=5000, help="how many, of all readers together")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to stop before that")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="*", default=list(readers.READERS))
    parser.add_argument("--keep", type=Path, help="where to keep files that are faults")
    parser.add_argument("--batch", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        name, first, end, folder = options.batch
        read_batch(name, int(first), int(end), options.seed, Path(folder))
        return 0
    readers.make_seeds()
    nbbpe.warmup()  # compiling a kernel takes more time and memory than a reader may
    began = time.monotonic()
    n_files = n_faults = first = 0
    while n_files < options.files and time.monotonic() < began + options.seconds:
        for name in options.readers:
            if n_files >= options.files or time.monotonic() >= began + options.seconds:
                break
            n = min(BATCH, options.files - n_files)
            for what, wrong in run_batch(name, first, first + n, options.seed):
                n_faults += 1
                print(f"{what} (seed {options.seed}): {wrong}", flush=True)
                if options.keep:
                    kept = options.keep / what.split("/")[0].replace(" ", "-")
                    shutil.rmtree(kept, ignore_errors=True)
                    readers.mutate(name, int(what.split()[1]), options.seed, kept)
            n_files += n
        first += BATCH
    seconds = time.monotonic() - began
    print(f"{n_files:,} files of {len(options.readers)} readers, {n_faults} faults; {seconds:.0f} s")
    return int(n_faults > 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
