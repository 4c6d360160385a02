"""`nbbpe warmup`, for images and clusters."""

from __future__ import annotations

import json

from ..system.atomic_files import name_in_errors


def warm_up(as_json: bool) -> bool:
    """Compile all kernels, and print how many there are and where. Returns whether all of them are stored."""
    from .. import warmup

    done = warmup()
    if as_json:
        lines = [json.dumps(done._asdict(), indent=2)]
    else:
        lines = [f"compiled {done.n_compiled} kernels in {done.seconds:.1f} s"]
        if done.n_lost:
            lines += [f"{done.n_lost} of them could not be stored: each process will compile them again"]
        lines += [f"{n_kernels} kernels are stored in {folder}" for folder, n_kernels in done.folders.items()]
    with name_in_errors("stdout"):
        print("\n".join(lines))
    return not done.n_lost
