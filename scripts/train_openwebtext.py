"""Train a tokenizer on OpenWebText and encode the dataset with it.

    python scripts/train_openwebtext.py              # 32,000 tokens with <|endoftext|>, then both splits encoded
    python scripts/train_openwebtext.py --sample     # a quick run on 5 MB of generated stories
    python scripts/train_openwebtext.py --input FILE

Takes the course's sample of OpenWebText (owt_train.txt and owt_valid.txt, or the same with .gz) from the data folder, or
downloads it there from the Hugging Face hub, or, if the hub cannot be reached, trains on stories that it generates itself.
Ends with a table of times, memory and results. The text takes 12 GB on disk, its ids half of that again.

Exit codes: 0 all well; 1 the ids do not decode to the text; 2 wrong arguments or files; 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

from command_line import exit_code
from training_job import Dataset, run

OPENWEBTEXT = Dataset(
    name="OpenWebText",
    hub_folder="datasets/stanford-cs336/owt-sample/resolve/main",
    hub_files={"train": "owt_train.txt.gz", "valid": "owt_valid.txt.gz"},
    vocab_size=32_000,
    out=Path("out/openwebtext"),
)


def main(argv: list[str] | None = None) -> int:
    return run(argv, OPENWEBTEXT, __doc__)


if __name__ == "__main__":
    sys.exit(exit_code(main))
