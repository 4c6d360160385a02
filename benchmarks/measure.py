"""One measurement in one fresh process; prints one JSON line.

    python benchmarks/measure.py train --library nbbpe --input FILE --vocab-size 32000
    python benchmarks/measure.py encode --library tiktoken --input FILE --vocabs FOLDER
    python benchmarks/measure.py merges --input WORDS.npz --words 250000 --merges 32000
    python benchmarks/measure.py start --input FILE --vocab-size 4000
    python benchmarks/measure.py import --module numba
    python benchmarks/measure.py short --input FILE --vocabs FOLDER --case hello
    python benchmarks/measure.py transformers --input FILE --vocabs FOLDER --case batch

`import_seconds` is the import of the library, `load_seconds` a first tiny use of it (nbbpe loads compiled kernels from
their cache on disk; libraries in Rust start their threads), and `seconds` the work itself after that; `processor_seconds`
is the processor time of all processes for the work. Only `start` has no tiny use, so its seconds are those of the first
calls of a process. With `--passes n` the work is done n times: the first pass is `seconds`, the median of the others
`warm_seconds`. NumPy is not imported before the library, so `import_seconds` includes it. `short` and `transformers`
measure several entrants in one process.

`compiled_kernels` names the kernels that this process itself had to compile: none if the cache was warm. With `--memory`,
the peak of this process and its children is watched during the work, which slows the work down a little.
"""

from __future__ import annotations

import argparse
import importlib
import json
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(1, str(Path(__file__).parents[1]))

from benchmarks import corpora, encoding_work, short_work, training_work, transformers_work
from benchmarks.peak_memory import PeakMemory

BY_TURNS: dict[str, Any] = {"short": short_work, "transformers": transformers_work}

Facts = dict[str, Any]
Watch = AbstractContextManager[Any]
WATCH_INTERVAL = 0.01  # seconds between two looks at the memory: some of the work takes a few tenths of a second


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train")
    train.add_argument("--library", choices=training_work.LIBRARIES, required=True)
    train.add_argument("--vocab-size", type=int, required=True)
    train.add_argument("--tie-break")
    train.add_argument("--workers", type=int, help="of nbbpe; others take as many threads as there are processors")
    encode = commands.add_parser("encode")
    encode.add_argument("--library", choices=encoding_work.LIBRARIES, required=True)
    encode.add_argument("--vocabs", type=Path, required=True)
    encode.add_argument("--vocabulary", choices=encoding_work.VOCABULARIES, default="gpt2")
    encode.add_argument("--passes", type=int, default=1)
    merges = commands.add_parser("merges")
    merges.add_argument("--words", type=int, required=True)
    merges.add_argument("--merges", type=int, required=True)
    start = commands.add_parser("start")
    start.add_argument("--vocab-size", type=int, required=True)
    start.add_argument("--import-numba", action="store_true", help="before the first call, and timed apart")
    alone = commands.add_parser("import")
    alone.add_argument("--module", required=True)
    by_turns = [commands.add_parser(name) for name in BY_TURNS]
    for command, work in zip(by_turns, BY_TURNS.values(), strict=True):
        command.add_argument("--vocabs", type=Path, required=True)
        command.add_argument("--case", choices=work.CASES, required=True)
    for command in (train, encode, merges, start, *by_turns):
        command.add_argument("--input", required=True)
    for command in (train, encode, merges, start, alone, *by_turns):
        command.add_argument("--memory", action="store_true")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    # Some libraries print to stdout, from Rust: let them write to stderr, so that stdout has only the JSON line.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peak = PeakMemory(WATCH_INTERVAL) if arguments.memory else None
    with tempfile.TemporaryDirectory(prefix="nbbpe-measure-") as folder:
        facts = COMMANDS[arguments.command](arguments, folder, peak or nullcontext())
    if peak is not None:
        facts |= {
            "peak_bytes": peak.peak_bytes,
            "peak_anonymous_bytes": peak.peak_anonymous_bytes,
            "memory_method": peak.method,
        }
    facts["compiled_kernels"] = compiled_kernels()
    print(json.dumps(facts), file=answer, flush=True)


def measure_training(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """From a file to a tokenizer."""
    library = training_work.LIBRARIES[arguments.library]
    tie_break = arguments.tie_break or library.tie_breaks[0]
    if tie_break not in library.tie_breaks:
        raise SystemExit(f"{arguments.library} has the tie rules {', '.join(library.tie_breaks)}, not {tie_break}")
    import_seconds, training = timed(library, tie_break)
    training.workers = arguments.workers
    load_seconds, _ = timed(training_work.first_use, training, corpora.tiny(folder, arguments.input))
    warm_memory()
    processor_before = processor_seconds()
    with watch:
        seconds, result = timed(training.train, arguments.input, arguments.vocab_size)
        processor = processor_seconds() - processor_before
    return {
        "library": arguments.library,
        "version": version_of(arguments.library),
        "tie_break": tie_break,
        "import_seconds": import_seconds,
        "load_seconds": load_seconds,
        "seconds": seconds,
        "processor_seconds": processor,
        **training.facts(result),
    }


def measure_encoding(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """From text to ids."""
    import_seconds, encoding = timed(encoding_work.LIBRARIES[arguments.library], folder, arguments.vocabulary)
    encoding.look_up_regexes()
    vocabulary_seconds, _ = timed(encoding.load_vocabulary, arguments.vocabs)
    load_seconds, _ = timed(encoding_work.first_use, encoding, corpora.tiny(folder, arguments.input))
    prepared = encoding.prepare(arguments.input)
    passes = []
    warm_memory()
    processor_before = processor_seconds()
    with watch:
        for _ in range(arguments.passes):
            result = None  # so that two results are never in memory together
            seconds, result = timed(encoding.encode, prepared)
            passes.append(seconds)
        processor = processor_seconds() - processor_before
    return {
        "library": arguments.library,
        "version": version_of(arguments.library),
        "import_seconds": import_seconds,
        "vocabulary_seconds": vocabulary_seconds,
        "load_seconds": load_seconds,
        "seconds": passes[0],
        "processor_seconds": processor,
        **({"warm_seconds": median(passes[1:]), "pass_seconds": passes} if len(passes) > 1 else {}),
        "n_bytes": os.path.getsize(arguments.input),
        "held_bytes": encoding.held_bytes(prepared, result),
        **encoding.facts(result),
    }


def measure_merges(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """The merge loop of training alone: from distinct words with counts to merges."""
    import_seconds, merging = timed(importlib.import_module, "nbbpe.training.merges")
    import numpy as np

    from nbbpe.counting.word_counts import WordCounts, words_from_dict

    tiny = words_from_dict({b"hello": 2, b" world": 1})
    load_seconds, _ = timed(merging.learn_merges, tiny, 260)
    with np.load(arguments.input) as stored:
        starts = stored["starts"][: arguments.words + 1]
        counts = stored["counts"][: arguments.words]
        text = np.zeros(starts[-1] + len(words_from_dict({}).text), dtype=np.uint8)  # with the padding that kernels need
        text[: starts[-1]] = stored["text"][: starts[-1]]
    with watch:
        seconds, learned = timed(merging.learn_merges, WordCounts(text, starts, counts), 256 + arguments.merges)
    return {
        "library": "nbbpe",
        "version": version_of("nbbpe"),
        "import_seconds": import_seconds,
        "load_seconds": load_seconds,
        "seconds": seconds,
        "n_words": len(counts),
        "n_symbols": int(starts[-1]),
        "n_merges": len(learned),
    }


def measure_start(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """The first calls of a process: train on a file, then encode it."""
    import_seconds, nbbpe = timed(importlib.import_module, "nbbpe")
    facts: Facts = {"library": "nbbpe", "version": version_of("nbbpe"), "import_seconds": import_seconds}
    if arguments.import_numba:
        facts["import_numba_seconds"], _ = timed(importlib.import_module, "numba")
    text = Path(arguments.input).read_bytes()
    with watch:
        seconds, tokenizer = timed(nbbpe.train, arguments.input, arguments.vocab_size, [training_work.SEPARATOR])
        encode_seconds, ids = timed(tokenizer.encode_array, text)
    return facts | {
        "seconds": seconds,
        "encode_seconds": encode_seconds,
        "n_merges": len(tokenizer.merges),
        "n_ids": len(ids),
    }


def measure_import(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """The import of one module."""
    with watch:
        seconds, _ = timed(importlib.import_module, arguments.module)
    return {"library": arguments.module, "version": version_of(arguments.module), "seconds": seconds}


def measure_by_turns(arguments: argparse.Namespace, folder: str, watch: Watch) -> Facts:
    """Calls of several entrants by turns in this process: facts by label in `entrants`."""
    with watch:
        entrants = BY_TURNS[arguments.command].measure(arguments.case, arguments.input, arguments.vocabs, folder)
    for facts in entrants.values():
        facts["version"] = version_of(facts["library"])
    return {"entrants": entrants}


COMMANDS: dict[str, Callable[[argparse.Namespace, str, Watch], Facts]] = {
    "train": measure_training,
    "encode": measure_encoding,
    "merges": measure_merges,
    "start": measure_start,
    "import": measure_import,
    "short": measure_by_turns,
    "transformers": measure_by_turns,
}


def processor_seconds() -> float:
    """The processor time of this process, and of the children that it has waited for."""
    return sum(os.times()[:4])


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """The seconds that `work` takes, and its result."""
    began = time.perf_counter()
    result = work(*arguments)
    return time.perf_counter() - began, result


def warm_memory() -> None:
    """Take and free memory, so that it is equally warm for the work, whatever ran before.

    Memory that the host of a virtual machine has taken back is slow to get, 9 us a page of 4 kB; memory that was freed a
    moment ago takes 0.4. The host takes back memory that has been free for a few seconds, so the work must follow at once.
    Work takes small pages and, for NumPy's large arrays, large ones. Linux keeps lists of its own for both, so both are
    warmed: with large ones alone, one run of five was 0.17 s slower.
    """
    if sys.platform == "linux":
        for n_bytes, advice in ((1 << 29, mmap.MADV_NOHUGEPAGE), (1 << 30, mmap.MADV_HUGEPAGE)):
            with mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
                memory.madvise(advice)
                memory[:: mmap.PAGESIZE] = bytes(len(memory) // mmap.PAGESIZE)


def version_of(library: str) -> str:
    """The version of a library, without the part of its name from a dash on; nbbpe may be a checkout that is not
    installed."""
    from importlib.metadata import version

    name = library.partition("-")[0]
    return sys.modules["nbbpe"].__version__ if name == "nbbpe" else version(name)


def compiled_kernels() -> list[str]:
    """The kernels that this process compiled because they were not in the cache on disk."""
    jit = sys.modules.get("nbbpe.kernels.compiler.jit")
    return sorted(kernel.name for kernel in jit.KERNELS if kernel.was_compiled) if jit else []


if __name__ == "__main__":
    main()
