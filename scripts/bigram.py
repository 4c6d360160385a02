"""Train a tiny language model on a file of ids, in NumPy alone: text -> tokenizer -> ids -> model -> text.

    python scripts/train_tinystories.py --sample     # makes out/tinystories/tokenizer and out/tinystories/train.bin
    python scripts/bigram.py
    python scripts/bigram.py corpus.bin --tokenizer tokenizer --steps 2000

The model guesses each id from the one before it: a vector for each id, a softmax over all ids. Prints its loss (in nats
an id) before and after some seconds of training, and a sample of what it writes.

Exit codes: 0 all well; 2 wrong arguments or files; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nbbpe
from command_line import OneLineParser, UserError, exit_code
from progress_bar import ProgressBar

BLOCK_SIZE, BATCH_SIZE = 64, 4  # ids in a window, windows in a step
N_TEST_BATCHES = 20
N_FEATURES = 32
LEARNING_RATE = 0.3


class Bigram:
    """Logits of the next id: features[id] @ weights + bias. Trained by Adagrad, which suits ids that are rare."""

    def __init__(self, vocab_size: int, rng: np.random.Generator) -> None:
        scale = N_FEATURES**-0.5
        self.features = rng.normal(0, scale, (vocab_size, N_FEATURES)).astype(np.float32)
        self.weights = rng.normal(0, scale / 10, (N_FEATURES, vocab_size)).astype(np.float32)
        self.bias = np.zeros(vocab_size, dtype=np.float32)
        self._seen = [np.full(part.shape, 1e-8, dtype=np.float32) for part in (self.features, self.weights, self.bias)]

    def probabilities(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Of every id to follow each of `ids`: float32[n, vocab_size] for int64[n]."""
        logits = self.features[ids] @ self.weights + self.bias
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def loss(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
        """The mean surprise in nats at `y` after `x`."""
        found = self.probabilities(x.ravel())[np.arange(x.size), y.ravel()]
        return float(-np.log(np.maximum(found, 1e-30)).mean())

    def step(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> None:
        """Move towards guessing `y` after `x`."""
        ids, rows = np.unique(x.ravel(), return_inverse=True)
        slope = self.probabilities(x.ravel())  # of the loss, by the logits
        slope[np.arange(x.size), y.ravel()] -= 1
        slope /= x.size
        by_feature = np.zeros((len(ids), N_FEATURES), dtype=np.float32)
        np.add.at(by_feature, rows.ravel(), slope @ self.weights.T)
        by_weight = self.features[x.ravel()].T @ slope
        self._move(self.features, self._seen[0], by_feature, ids)
        self._move(self.weights, self._seen[1], by_weight)
        self._move(self.bias, self._seen[2], slope.sum(axis=0))

    @staticmethod
    def _move(
        values: NDArray[np.float32],
        seen: NDArray[np.float32],
        slope: NDArray[np.float32],
        rows: NDArray[np.int64] | slice = slice(None),
    ) -> None:
        seen[rows] += slope * slope
        values[rows] -= LEARNING_RATE * slope / np.sqrt(seen[rows])

    def write(self, first: int, rng: np.random.Generator) -> Iterator[int]:
        """Ids without end, drawn one after another; `first` is the id before them."""
        token_id = first
        while True:
            chances = self.probabilities(np.array([token_id]))[0].astype(np.float64)
            token_id = int(rng.choice(len(chances), p=chances / chances.sum()))
            yield token_id


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Return the checked arguments; raises UserError."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", type=Path, nargs="?", default=Path("out/tinystories/train.bin"), help="(%(default)s)")
    parser.add_argument("--tokenizer", type=Path, metavar="DIR", help="default: the folder tokenizer beside the ids")
    parser.add_argument("--steps", type=int, default=300, metavar="N", help="batches to learn from (%(default)s)")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="ids to write in the end (%(default)s)")
    parser.add_argument("--seed", type=int, default=1337, metavar="N", help="(%(default)s)")
    arguments = parser.parse_args(argv)
    if arguments.tokenizer is None:
        arguments.tokenizer = arguments.ids.parent / "tokenizer"
    for option in "steps", "sample", "seed":
        if getattr(arguments, option) < 0:
            parser.error(f"--{option} must not be negative, and is {getattr(arguments, option)}")
    for option, path in ("tokenizer", arguments.tokenizer), ("file of ids", arguments.ids):
        if not path.exists():
            parser.error(f"the {option} {path} does not exist: scripts/train_tinystories.py --sample makes one")
    return arguments


def main(argv: list[str] | None = None) -> int:
    arguments = parse_arguments(argv)
    try:
        tokenizer = nbbpe.load(arguments.tokenizer)
        file = nbbpe.TokenFile(arguments.ids, tokenizer)
        test = list(islice(file.windows(BLOCK_SIZE, arguments.seed + 1, batch_size=BATCH_SIZE), N_TEST_BATCHES))
    except ValueError as error:
        raise UserError(str(error)) from error
    rng = np.random.default_rng(arguments.seed)
    batches = file.windows(BLOCK_SIZE, rng, batch_size=BATCH_SIZE)
    model = Bigram(tokenizer.vocab_size, rng)

    def loss() -> float:
        return sum(model.loss(x, y) for x, y in test) / len(test)

    guessing = np.log(tokenizer.vocab_size)
    print(f"{file.path}: {len(file):,} ids of {tokenizer.vocab_size:,}; guessing blindly has a loss of {guessing:.2f}")
    print(f"loss before: {loss():.2f}")
    with ProgressBar("train", arguments.steps) as bar:
        for x, y in islice(batches, arguments.steps):
            model.step(x, y)
            bar.update(1)
    print(f"loss after {arguments.steps:,} steps: {loss():.2f}")
    first = file.separator_ids[0] if file.separator_ids else int(file.ids[0])
    print(tokenizer.decode(list(islice(model.write(first, rng), arguments.sample))))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
