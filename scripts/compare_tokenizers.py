"""Compare two tokenizers on each other's text: what each was made for, and how it does where the other is at home.

    python scripts/compare_tokenizers.py             # TinyStories' and OpenWebText's, as the training scripts leave them
    python scripts/compare_tokenizers.py --a FOLDER --text-a FILE --b FOLDER --text-b FILE

Reads of each text at most --size megabytes, from its beginning. The figures are those of `nbbpe compare`.

Exit codes: 0 all well; 2 wrong arguments or files; 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from command_line import OneLineParser, UserError, check_text, exit_code
from stage_log import MB

N_SPLITS = 10
SIZE_MB = 50.0


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    """Return the checked arguments; raises UserError."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    homes = {"a": ("tinystories", "TinyStoriesV2-GPT4-valid.txt"), "b": ("openwebtext", "owt_valid.txt")}
    for name, (out, text) in homes.items():
        folder, file = Path("out", out, "tokenizer"), Path("data", text)
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", default=folder, help="a tokenizer (%(default)s)")
        parser.add_argument(f"--text-{name}", type=Path, metavar="FILE", default=file, help="its text (%(default)s)")
    parser.add_argument("--size", type=float, metavar="MB", default=SIZE_MB, help="of each text, at most (%(default)g)")
    arguments = parser.parse_args(argv)
    if not 0 < arguments.size < float("inf"):
        parser.error(f"--size must be a positive number of megabytes, not {arguments.size}")
    for name, (out, _) in homes.items():
        check_text(f"--text-{name}", getattr(arguments, f"text_{name}"))
        folder = getattr(arguments, name)
        if not folder.exists():
            hint = f"; scripts/train_{out}.py makes it" if folder == parser.get_default(name) else ""
            raise UserError(f"--{name} {folder} is missing{hint}")
    return arguments


def beginning(path: Path, n_bytes: int) -> bytes:
    """The first lines of a file, up to `n_bytes` bytes; of a line that is longer, its first bytes."""
    with open(path, "rb") as file:
        data = file.read(n_bytes)
        return data if not file.read(1) else data[: data.rfind(b"\n") + 1] or data


def main(argv: list[str] | None = None) -> int:
    arguments = parse_arguments(argv)
    if importlib.util.find_spec("nbbpe") is None:
        raise UserError("nbbpe is not installed for this Python: run `pip install -e .` in the repository")
    import nbbpe
    from nbbpe.cli.tables import comparison_lines, ratio, table
    from nbbpe.inspection import compare

    a, b = nbbpe.load(arguments.a), nbbpe.load(arguments.b)
    rows = [("bytes per token", "A", "B", "fewer tokens")]
    lines = []
    for text in arguments.text_a, arguments.text_b:
        found = compare(a, b, [beginning(text, int(arguments.size * MB))], N_SPLITS)
        n_a, n_b = found.a.n_tokens, found.b.n_tokens
        better = "A" if n_a < n_b else "B" if n_b < n_a else "-"
        fewer = f"{better}, by {100 * abs(n_a - n_b) / max(n_a, n_b):.1f} %"
        rows.append((text.name, ratio(found.a.bytes_per_token), ratio(found.b.bytes_per_token), fewer))
        lines += ["", *comparison_lines(str(arguments.a), str(arguments.b), str(text), found)]
    print("\n".join([*table(rows, left=[0, 3]), *lines]))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
