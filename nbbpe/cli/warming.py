"""`nbbpe warmup`, which works without click: for images that have nothing but the package."""

from __future__ import annotations

import json


def warm_up(as_json: bool) -> None:
    """Compile all kernels, and tell how many and where they are."""
    from .. import warmup

    done = warmup()
    if as_json:
        print(json.dumps(done._asdict(), indent=2))
        return
    print(f"compiled {done.n_compiled} kernels in {done.seconds:.1f} s")
    for folder, n_kernels in done.folders.items():
        print(f"{n_kernels} kernels are kept in {folder}")
    if not done.folders:
        print("no folder takes them: each process will compile them again")
