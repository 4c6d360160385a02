"""Generate English children's stories in the manner of TinyStories, from a seed.

    python scripts/stories.py stories.txt --megabytes 100

A story is a plot (`story_grammar.py`): sentence after sentence with slots, which are filled with a cast of words
(`story_cast.py`) that stays the same until the story ends. Words are drawn Zipf-like from lists (`story_words.py`), and
some are made of parts (names, towns, compounds, numbers, drawn-out sounds), so that new words keep coming, ever more
slowly, as in real text.

The same seed gives the same stories on every platform and Python version: all chance is `random.Random.random()`, whose
sequence Python guarantees, and exact arithmetic on it. A longer text starts with the shorter one's stories.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from story_cast import SLOT, Cast, Random
from story_grammar import INTERLUDES, PLOTS, SENTENCES

SEPARATOR = "\n<|endoftext|>\n"  # follows each story, as in the published TinyStories text files
BLOCK_BYTES = 1 << 20  # written at once
# A text ends with the story that makes it long enough, so one of n bytes is shorter than n + MAX_STORY_BYTES.
MAX_STORY_BYTES = 1 << 14
CURLY_SHARE = 0.02  # of the stories have typographic quotes and apostrophes
INTERLUDE_SHARE = 0.4  # of the stories have an interlude, as many of those a second one, and so on


def expand(sentence: str) -> list[str]:
    """Return all the ways to choose from the `[a|b]` of a sentence, without the blanks that an empty choice leaves."""
    parts = [part.split("|") for part in re.split(r"[\[\]]", sentence)]
    choices = ("".join(choice) for choice in itertools.product(*parts))
    return [re.sub(r" +(?=[ .,!?])", "", choice) for choice in choices]


def read_pools(text: str) -> dict[str, list[list[str]]]:
    """Return the pools of `SENTENCES`: name -> sentences -> their expanded forms, as %-format strings."""
    pools: dict[str, list[list[str]]] = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("= "):
            pool = pools[line[2:]] = []
        else:
            pool.append(expand(SLOT.sub(r"%(\1)s", line)))
    return pools


Beat = tuple[list[list[str]], bool]  # a pool of sentences, and whether its sentence comes only half of the time
Plot = list[list[Beat]]  # paragraphs


def read_plots(text: str, pools: dict[str, list[list[str]]]) -> list[Plot]:
    """Return the plots of `PLOTS` or `INTERLUDES`. Raises KeyError for a pool that does not exist."""
    return [
        [[(pools[name.rstrip("?")], name.endswith("?")) for name in line.split()] for line in plot.splitlines()]
        for plot in text.strip().split("\n\n")
    ]


POOLS = read_pools(SENTENCES)
MAIN_PLOTS = read_plots(PLOTS, POOLS)
INTERLUDE_PLOTS = read_plots(INTERLUDES, POOLS)


def choose_plot(random: Random) -> Plot:
    """Return a plot with none, one or more interludes before its last paragraph."""
    plot = MAIN_PLOTS[int(random() * len(MAIN_PLOTS))]
    while random() < INTERLUDE_SHARE:
        interlude = INTERLUDE_PLOTS[int(random() * len(INTERLUDE_PLOTS))]
        plot = plot[:-1] + interlude + plot[-1:]
    return plot


def tell(random: Random) -> str:
    """Return one story, without the separator."""
    paragraphs = []
    told = set()  # the sentences, by the identity of their lists of variants: no sentence comes twice in a story
    for beats in choose_plot(random):
        sentences = []
        for pool, by_halves in beats:
            if by_halves and random() < 0.5:
                continue
            variants = pool[int(random() * len(pool))]
            if id(variants) in told:
                untold = [others for others in pool if id(others) not in told]
                if not untold:
                    continue
                variants = untold[int(random() * len(untold))]
            told.add(id(variants))
            sentences.append(variants[int(random() * len(variants))])
        if sentences:
            paragraphs.append(" ".join(sentences))
    story = "\n\n".join(paragraphs) % Cast(random)
    return curly(story) if random() < CURLY_SHARE else story


def curly(text: str) -> str:
    """Return `text` with typographic quotes and apostrophes."""
    return re.sub(r'(^|\s)"', "\\1\u201c", text).replace('"', "\u201d").replace("'", "\u2019")


def stories(seed: int = 0) -> Iterator[str]:
    """Yield stories without end, without separators."""
    chance = random.Random(seed).random
    while True:
        yield tell(chance)


def write_stories(
    path: str | os.PathLike[str], n_bytes: int, seed: int = 0, progress: Callable[[int], object] | None = None
) -> int:
    """Write whole stories, each followed by `SEPARATOR`, until there are at least `n_bytes` bytes of UTF-8.

    The file appears under its name only when it is whole. `progress` is called with the number of bytes just written
    (as `tqdm.update` takes it). Memory is that of one block, about 1 MB. Returns the size of the file in bytes: less
    than `n_bytes + MAX_STORY_BYTES`. Raises OSError if the file cannot be written.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    size = 0
    try:
        with open(partial, "wb") as file:
            block: list[bytes] = []
            block_size = 0
            for story in stories(seed):
                document = (story + SEPARATOR).encode()
                block.append(document)
                block_size += len(document)
                whole = size + block_size >= n_bytes
                if whole or block_size >= BLOCK_BYTES:
                    file.write(b"".join(block))
                    size += block_size
                    if progress is not None:
                        progress(block_size)
                    block, block_size = [], 0
                if whole:
                    break
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return size


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generate children's stories from a seed.")
    parser.add_argument("path", help="the text file to write")
    parser.add_argument("--megabytes", type=float, default=100.0, help="at least this many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    size = write_stories(arguments.path, int(arguments.megabytes * 1e6), arguments.seed)
    print(f"{arguments.path}: {size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
