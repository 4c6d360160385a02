"""Train a tiny language model on a file of ids, in NumPy alone: text -> tokenizer -> ids -> model -> text.

    python scripts/train_tinystories.py --sample     # writes out/tinystories/tokenizer and out/tinystories/train.bin
    python examples/bigram.py

The model predicts each id from the one before it: a vector for each id, a softmax over all ids.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nbbpe

BLOCK_SIZE, BATCH_SIZE = 64, 4  # ids in a window, windows in a step
N_FEATURES = 32
LEARNING_RATE = 0.3


class Bigram:
    """Logits of the next id: features[id] @ weights + bias. Trained by Adagrad, which is suited to rare ids."""

    def __init__(self, vocab_size: int, rng: np.random.Generator) -> None:
        self.features = rng.normal(0, N_FEATURES**-0.5, (vocab_size, N_FEATURES))
        self.weights = rng.normal(0, N_FEATURES**-0.5 / 10, (N_FEATURES, vocab_size))
        self.bias = np.zeros(vocab_size)
        self._squares = [np.full(part.shape, 1e-8) for part in (self.features, self.weights, self.bias)]

    def probabilities(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The probability of each id to follow each of `ids`: float64[n, vocab_size] for int64[n]."""
        logits = self.features[ids] @ self.weights + self.bias
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def loss(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
        """The mean cross-entropy of `y` after `x`, in nats."""
        return float(-np.log(self.probabilities(x.ravel())[np.arange(x.size), y.ravel()]).mean())

    def step(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> None:
        """One step of gradient descent."""
        slope = self.probabilities(x.ravel())  # becomes the gradient of the loss with respect to the logits
        slope[np.arange(x.size), y.ravel()] -= 1
        slope /= x.size
        by_feature = np.zeros_like(self.features)
        np.add.at(by_feature, x.ravel(), slope @ self.weights.T)
        slopes = by_feature, self.features[x.ravel()].T @ slope, slope.sum(axis=0)
        for part, squares, by_part in zip((self.features, self.weights, self.bias), self._squares, slopes, strict=True):
            squares += by_part**2
            part -= LEARNING_RATE * by_part / np.sqrt(squares)

    def write(self, token_id: int, rng: np.random.Generator) -> Iterator[int]:
        """An endless iterator of ids, each drawn from the distribution after the one before it."""
        while True:
            token_id = int(rng.choice(len(self.bias), p=self.probabilities(np.array([token_id]))[0]))
            yield token_id


def number(text: str) -> int:
    """The type of an option that is a number from 0 on."""
    if int(text) < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", type=Path, nargs="?", default=Path("out/tinystories/train.bin"), help="(%(default)s)")
    parser.add_argument("--tokenizer", type=Path, metavar="DIR", help="default: the folder tokenizer next to the ids")
    parser.add_argument("--steps", type=number, default=300, metavar="N", help="batches to learn from (%(default)s)")
    parser.add_argument("--sample", type=number, default=100, metavar="N", help="ids to generate at the end (%(default)s)")
    parser.add_argument("--seed", type=number, default=1337, metavar="N", help="(%(default)s)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(arguments.seed)
    try:
        tokenizer = nbbpe.load(arguments.tokenizer or arguments.ids.parent / "tokenizer")
        file = nbbpe.TokenFile(arguments.ids, tokenizer)
        batches = file.windows(BLOCK_SIZE, rng, batch_size=BATCH_SIZE)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    test = list(islice(batches, 20))
    model = Bigram(tokenizer.vocab_size, rng)

    def loss() -> float:
        return sum(model.loss(x, y) for x, y in test) / len(test)

    print(f"{len(file):,} ids; guessing blindly has a loss of {np.log(tokenizer.vocab_size):.2f} nats an id")
    print(f"loss before: {loss():.2f}")
    for x, y in islice(batches, arguments.steps):
        model.step(x, y)
    print(f"loss after {arguments.steps:,} steps: {loss():.2f}")
    first = file.separator_ids[0] if file.separator_ids else int(file.ids[0])
    print(tokenizer.decode(list(islice(model.write(first, rng), arguments.sample))))


if __name__ == "__main__":
    main()
