"""`nbbpe warmup`, which works without click: for images that have nothing but the package."""

from __future__ import annotations

import json

from ..system.atomic_files import name_in_errors


def warm_up(as_json: bool) -> bool:
    """Compile all kernels, and tell how many and where they are. Returns whether all of them are kept."""
    from .. import warmup

    done = warmup()
    if as_json:
        lines = [json.dumps(done._asdict(), indent=2)]
    else:
        lines = [f"compiled {done.n_compiled} kernels in {done.seconds:.1f} s"]
        if done.n_lost:
            lines += [f"no folder takes {done.n_lost} of them: each process will compile them again"]
        if not done.folders and not done.n_lost:
            lines += ["no folder takes them: each process will compile them again"]
        lines += [f"{n_kernels} kernels are kept in {folder}" for folder, n_kernels in done.folders.items()]
    with name_in_errors("stdout"):
        print("\n".join(lines))
    return not done.n_lost and bool(done.folders)
