"""Parity and superwords compared with their authors' code.

    python benchmarks/authors.py parity|superwords TEXT [MEGABYTES]

parity     : `tokenizers.trainers.ParityBpeTrainer`, by the paper's authors. Each document of TEXT is a source; the last
             20,000 characters of each, which are also trained on, are used as its parallel text.
superwords : the authors of SuperBPE have a fork of `tokenizers` that continues from merges without splitting at whitespace.
             `tokenizers` itself cannot continue; here it is trained in one stage, on the pretokens of the second stage.

Each way runs in a separate process. Printed are processor time, wall time, and by how much the peak of memory exceeds the
memory before training. The measured work is reading, counting and merging.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SPECIAL = "<|endoftext|>"
PHRASES = r"(?:'(?:[sdmt]|ll|ve|re)| ?\p{L}+)+"
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SUPERWORDS = {"first": 16_000, "all": 32_000}
N_PARITY = 8000
HELD_OUT = 2_000_000  # characters, at the end


def documents_of(path: str, megabytes: float | None) -> list[str]:
    """Documents from the start of a text, or all of them."""
    with open(path, "rb") as file:
        text = file.read() if megabytes is None else file.read(int(megabytes * 1e6))
    return text.decode(errors="ignore").split(SPECIAL)


def memory(name: str) -> int:
    """VmRSS or VmHWM of this process, in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def parity_by_nbbpe(documents: list[str]) -> Any:
    import nbbpe

    names = [f"{number:04}" for number in range(len(documents))]
    parallel = {name: iter([text[-20_000:]]) for name, text in zip(names, documents, strict=True)}
    sources = {name: iter([text]) for name, text in zip(names, documents, strict=True)}
    mixture = nbbpe.Mixture(sources, parity=nbbpe.Parity(parallel=parallel))
    tok = nbbpe.train(mixture, 256 + N_PARITY, tie_break="huggingface", workers=1, progress=False)
    return tok.count


def parity_by_tokenizers(documents: list[str]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.ParityBpeTrainer(
        num_merges=N_PARITY, min_frequency=1, initial_alphabet=alphabet, show_progress=False
    )
    trainer.train_from_iterator(
        tok,
        train_iterators=[iter([text]) for text in documents],
        dev_iterators=[iter([text[-20_000:]]) for text in documents],
    )
    return lambda text: len(tok.encode(text).ids)


def superwords_by_nbbpe(documents: list[str]) -> Any:
    import nbbpe

    superwords = nbbpe.Superwords(after=SUPERWORDS["first"])
    tok = nbbpe.train(documents=documents, vocab_size=SUPERWORDS["all"], superwords=superwords, workers=1, progress=False)
    return tok.count


def words_by_nbbpe(documents: list[str]) -> Any:
    import nbbpe

    return nbbpe.train(documents=documents, vocab_size=SUPERWORDS["all"], workers=1, progress=False).count


def _by_tokenizers(documents: list[str], regex: str) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(regex), "isolated")
    tok.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=SUPERWORDS["all"], initial_alphabet=alphabet, show_progress=False)
    tok.train_from_iterator(iter(documents), trainer)
    return lambda text: len(tok.encode(text).ids)


def superwords_by_tokenizers(documents: list[str]) -> Any:
    return _by_tokenizers(documents, f"{PHRASES}|{GPT2}")


def words_by_tokenizers(documents: list[str]) -> Any:
    return _by_tokenizers(documents, GPT2)


WAYS = {
    "parity": [parity_by_nbbpe, parity_by_tokenizers],
    "superwords": [words_by_nbbpe, superwords_by_nbbpe, words_by_tokenizers, superwords_by_tokenizers],
}


def measure(way: str, path: str, megabytes: float | None) -> None:
    """Run one way, and print its figures as JSON."""
    run = globals()[way]
    documents = [document for document in documents_of(path, megabytes) if document]
    run([documents[0][:100_000], documents[-1][:100_000]])  # imports and kernels
    held_out = ""
    if way.startswith(("words", "superwords")):
        held_out, documents[-1] = documents[-1][-HELD_OUT:], documents[-1][:-HELD_OUT]
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts again
    wall, cpu = time.perf_counter(), time.process_time()
    count = run(documents)
    figures = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    figures["peak_mb"] = (memory("VmHWM") - before) / 1e6
    if held_out:
        figures["bytes_per_token"] = len(held_out.encode()) / count(held_out)
    else:
        tokens = [count(document[-20_000:]) for document in documents]
        figures |= {"least_tokens": min(tokens), "most_tokens": max(tokens)}
    print(json.dumps(figures))


def compare(what: str, path: str, megabytes: float | None, n_rounds: int) -> None:
    """Run all ways in turns, and print the median of each figure."""
    part = [] if megabytes is None else [str(megabytes)]
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(n_rounds):
        for way in WAYS[what]:
            command = [sys.executable, __file__, what, path, *part, "--way", way.__name__]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found.setdefault(way.__name__, []).append(json.loads(done.stdout.splitlines()[-1]))
    for name, rounds in found.items():
        median = {key: sorted(each[key] for each in rounds)[len(rounds) // 2] for key in rounds[0]}
        print(f"{name:26}", {key: round(value, 3) for key, value in median.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WAYS)
    parser.add_argument("text")
    parser.add_argument("megabytes", type=float, nargs="?", help="from the start of the text (all of it)")
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        measure(options.way, options.text, options.megabytes)
    else:
        compare(options.what, options.text, options.megabytes, options.rounds)


if __name__ == "__main__":
    main()
