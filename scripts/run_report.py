"""What the training scripts do with their texts: train, encode, check, and tell what came of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from check_ids import STRETCH, find_fault
from stage_log import MB, StageLog

if TYPE_CHECKING:
    import nbbpe

N_LONGEST = 8  # tokens shown


@dataclass
class Split:
    """A text and the ids it was encoded to."""

    name: str
    text: Path
    ids: Path
    n_tokens: int
    fault: str = ""  # what the check found wrong; empty if nothing


def train_and_encode(
    log: StageLog,
    texts: Mapping[str, Path],
    out: Path,
    vocab_size: int,
    special_tokens: Sequence[str],
    workers: int | None = None,
) -> tuple[nbbpe.Tokenizer, list[Split]]:
    """Train on the text of the first split, encode every split, and check each result against its text.

    Writes the folder `out/tokenizer` and `out/<split>.bin` for each split: ids as raw little-endian integers. Raises
    what nbbpe raises; a fault that the check finds is not raised but noted in its Split.
    """
    import nbbpe

    names = list(texts)
    with log.stage("load kernels"):  # the first time on a machine they are compiled, which is no part of the work
        nbbpe.warmup()
    with log.stage("train the tokenizer", texts[names[0]].stat().st_size) as progress:
        tokenizer = nbbpe.train(
            texts[names[0]],
            vocab_size=vocab_size,
            special_tokens=list(special_tokens),
            workers=workers,
            progress=progress,
        )
        tokenizer.save(out / "tokenizer")
    splits = []
    for name, text in texts.items():
        ids = out / f"{name}.bin"
        with log.stage(f"encode {name}", text.stat().st_size) as progress:
            n_tokens = tokenizer.encode_file(text, ids, workers=workers, progress=progress)
        splits.append(Split(name, text, ids, n_tokens))
    with log.stage("check", sum(text.stat().st_size for text in texts.values())):
        for split in splits:
            split.fault = find_fault(tokenizer, split.ids, split.text, split.n_tokens)
    return tokenizer, splits


def machine() -> str:
    """Return a line on what the job runs on."""
    import numba

    return (
        f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, Numba {numba.__version__}"
    )


def report(log: StageLog, tokenizer: nbbpe.Tokenizer, splits: Sequence[Split], out: Path) -> str:
    """Return the final table and figures."""
    from nbbpe.cli.tables import shown
    from nbbpe.inspection import vocabulary_figures

    lines = ["", *log.table(), f"({machine()})", ""]
    for split in splits:
        size = split.text.stat().st_size
        ratio = f"{size / split.n_tokens:.3f} bytes per token" if split.n_tokens else "no tokens"
        lines.append(f"{split.name}: {split.n_tokens:,} tokens from {size:,} bytes, {ratio}")
    n_merges, n_special = len(tokenizer.merges), len(tokenizer.special_tokens)
    lines.append(f"vocabulary: {tokenizer.vocab_size:,} tokens (256 bytes, {n_merges:,} merges, {n_special} special)")
    lines.append("longest tokens:")
    longest = vocabulary_figures(tokenizer, N_LONGEST).longest
    lines += [f"  {len(each.token):3} bytes  {shown(each.token)}" for each in longest]
    for split in splits:
        good = f"{STRETCH:,} ids at start, middle and end decode to the text, all lengths add up"
        lines.append(f"check of {split.name}: " + (f"FAILED: {split.fault}" if split.fault else good))
    lines += ["files:", f"  {out / 'tokenizer'}: the tokenizer, for nbbpe.load"]
    dtype = np.dtype(tokenizer.dtype).name
    lines += [f"  {split.ids}: {split.ids.stat().st_size / MB:,.1f} MB, ids as {dtype}" for split in splits]
    return "\n".join(lines)
