"""Train a tokenizer on TinyStories and encode the dataset with it.

    python scripts/train_tinystories.py              # 10,000 tokens with <|endoftext|>, then both splits encoded
    python scripts/train_tinystories.py --sample     # a quick run on 5 MB of generated stories
    python scripts/train_tinystories.py --input FILE

Takes TinyStoriesV2-GPT4 from the data folder, or downloads it there from the Hugging Face hub, or, if the hub cannot be
reached, trains on stories that it generates itself. Ends with a table of times, memory and results.

Exit codes: 0 all well; 1 the ids do not decode to the text; 2 wrong arguments or files; 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

from command_line import exit_code
from training_job import Dataset, run

TINYSTORIES = Dataset(
    name="TinyStories",
    hub_folder="datasets/roneneldan/TinyStories/resolve/main",
    hub_files={"train": "TinyStoriesV2-GPT4-train.txt", "valid": "TinyStoriesV2-GPT4-valid.txt"},
    vocab_size=10_000,
    out=Path("out/tinystories"),
)


def main(argv: list[str] | None = None) -> int:
    return run(argv, TINYSTORIES, __doc__)


if __name__ == "__main__":
    sys.exit(exit_code(main))
