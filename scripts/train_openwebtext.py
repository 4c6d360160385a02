"""Train a tokenizer on OpenWebText, encode the dataset with it, and check the ids.

    python scripts/train_openwebtext.py              # 32,000 tokens with <|endoftext|>, both splits encoded

Takes the course's sample of OpenWebText from the data folder, or downloads it there. Otherwise it works as
train_tinystories.py, with the same options. The text takes 12 GB on disk, and its ids half as much.
"""

from __future__ import annotations

from dataset import Dataset
from train_tinystories import main

OPENWEBTEXT = Dataset(
    name="OpenWebText",
    repository="stanford-cs336/owt-sample",
    files={"train": "owt_train.txt.gz", "valid": "owt_valid.txt.gz"},
    vocab_size=32_000,
)


if __name__ == "__main__":
    main(OPENWEBTEXT, __doc__)
