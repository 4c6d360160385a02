"""What the scripts share as commands: errors in one line, exit codes, checks of paths."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


class UserError(Exception):
    """Something the user has to put right; the message is one line."""


class OneLineParser(argparse.ArgumentParser):
    """Raises UserError for wrong arguments, where argparse prints the usage and exits."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (--help tells more)")


def exit_code(main: Callable[[], int]) -> int:
    """Run `main` and return the exit code: its own, or that of an error, which is told in one line on stderr."""
    program = Path(sys.argv[0]).name
    try:
        return main()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except (UserError, OSError) as error:
        print(f"{program}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_USAGE


def check_text(option: str, path: Path) -> None:
    """Raise UserError unless `path` can be read and holds something."""
    try:
        with open(path, "rb") as file:
            if not file.read(1):
                raise UserError(f"{option} {path} is empty")
    except OSError as error:
        raise UserError(f"cannot read {option} {path}: {error.strerror}") from error


def make_folder(option: str, path: Path) -> None:
    """Create a folder unless it is there; raise UserError if that fails or nothing can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot create {option} {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"cannot write into {option} {path}")
