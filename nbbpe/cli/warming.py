"""`nbbpe warmup`, which works without click: for images that have nothing but the package."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..system.atomic_files import name_in_errors


def options_of(arguments: list[str]) -> dict[str, Any] | None:
    """What `warm_up` takes, of the command's arguments, where click is not there; None where there are others."""
    parser = argparse.ArgumentParser("nbbpe warmup", add_help=False, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--into")
    parser.add_argument("--cpu", default="")
    found, others = parser.parse_known_args(arguments)
    options = vars(found)
    del options["debug"]
    return None if others else options


def warm_up(as_json: bool, into: str | None = None, cpu: str = "") -> bool:
    """Compile all kernels, and tell how many and where they are. Returns whether all of them are kept."""
    from .. import warmup

    done = warmup(into, [label for label in cpu.split(",") if label])
    if as_json:
        lines = [json.dumps(done._asdict(), indent=2)]
    else:
        lines = [f"compiled {done.n_compiled} kernels in {done.seconds:.1f} s"]
        if done.n_lost:
            lines += [f"no folder takes {done.n_lost} of them: each process will compile them again"]
        lines += [f"{n_kernels} kernels are kept in {folder}" for folder, n_kernels in done.folders.items()]
    with name_in_errors("stdout"):
        print("\n".join(lines))
    return not done.n_lost
