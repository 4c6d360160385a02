"""The command `nbbpe`: its start, its exit codes, and its error messages.

Read this file first, then commands.py and options.py.

commands.py            the group of all subcommands
training_commands.py   make vocabularies: train, count-words, extend
encoding_commands.py   text to ids and back: encode, decode, count
inspection_commands.py show a tokenizer, a pattern or a file of ids: inspect
comparison_commands.py measure tokenizers on texts: compare, report
conversion_commands.py write other formats, or kernels to disk: convert, warmup
options.py             what the subcommands share
training_options.py    options of training: token rules, superwords, mixtures
formats.py             the formats that the command writes, and how it reads a tokenizer
streams.py             input and output: text from stdin, ids as text and as raw integers
tables.py              figures as text for people, and for JSON
plots.py               draws figures into an image
signals.py             handles signals that ask the command to end
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from ..system.atomic_files import name_in_errors
from ..system.excerpt import printable
from ..system.wrong_argument import WrongArgument
from .signals import Ended, ending_signals

EXIT_FAILED, EXIT_USAGE = 1, 2
EXIT_SIGNAL = 128  # plus the number of the signal, as a shell reports it: 130 for Ctrl-C
EXIT_NOBODY_READS = 141  # as a shell reports a program that wrote into a pipe without a reader


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0: success. 1: an error in the data or the system. 2: a wrong command line, one that does not fit the files it names, or
    a missing file. 130: interrupted by Ctrl-C (143 by SIGTERM, 129 by SIGHUP). 141: the reader of the output has closed the
    pipe.
    """
    if sys.stderr is None:  # closed; print would write to stdout, where the ids go
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        _say("error: standard output is closed, so nothing could be written there (> /dev/null to discard it)")
        return EXIT_FAILED
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    # Names of files and tokens may have characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = _run_and_report(arguments, debug="--debug" in options)
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)
    return code


def _run_and_report(arguments: list[str], debug: bool) -> int:
    """Run the command, print an error if there is one, and return the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show_warning
        try:
            with ending_signals():
                code = _run(arguments)
                with name_in_errors("stdout"):
                    sys.stdout.flush()
                return code
        except BrokenPipeError:
            return EXIT_NOBODY_READS
        except KeyboardInterrupt as ended:
            number, left = (ended.number, ended.left) if isinstance(ended, Ended) else (signal.SIGINT, "")
            if number == signal.SIGINT and sys.stderr.isatty():
                print(file=sys.stderr)  # ends the line in which the terminal shows ^C
            _say(f"{'interrupted' if number == signal.SIGINT else f'ended by {signal.Signals(number).name}'}{left}", debug)
            return EXIT_SIGNAL + number
        except Exception as error:
            _say(f"error: {_message(error)}", debug)
            return EXIT_USAGE if isinstance(error, (*_WRONG_PATHS, WrongArgument)) else EXIT_FAILED


def _flush(stream: TextIO) -> None:
    """Flush a stream, and drop data that cannot be written.

    Else Python would try again at exit, print a message, and exit with 120 instead of our exit code.
    """
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # a stream without a file descriptor
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            stream.flush()


COPIES: dict[str, str] = {}  # paths of temporary copies, as messages quote them, and the names to show instead
_WRONG_PATHS = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
_COMPLETE = "_NBBPE_COMPLETE"  # the environment variable with which a shell asks for completions of a command line
_EXPECTED = (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError, OverflowError, LookupError)


def _run(arguments: list[str]) -> int:
    """Run the click command. (click's own `main` is not used: it would end the process when a pipe is closed.)"""
    import click
    from click.shell_completion import shell_complete

    from .commands import nbbpe

    if asked := os.environ.get(_COMPLETE):
        return shell_complete(nbbpe, {}, "nbbpe", _COMPLETE, asked)
    try:
        with name_in_errors("stdout"):  # help and the version are printed here
            context = nbbpe.make_context("nbbpe", [*arguments] or ["--help"])
        with context:
            return nbbpe.invoke(context) or 0
    except click.exceptions.Exit as done:  # of --help and --version
        return done.exit_code if arguments else EXIT_USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "nbbpe"
        message = _in_one_line(error.format_message()).rstrip(".")
        if isinstance(error, click.MissingParameter) and error.param is not None and error.param.envvar:
            option = next((f" (with {name})" for name in error.param.opts if name.startswith("-")), "")
            message = f"no tokenizer is given{option}, and the environment variable {error.param.envvar} is not set"
        _say(f"error: {message} (see {command} --help)", command=command)
        return EXIT_USAGE


def _message(error: Exception) -> str:
    """An error as one line of text."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        name = os.fsdecode(error.filename) if not isinstance(error.filename, int) else str(error.filename)
        return f"{printable(name) or repr(name)}: {_in_one_line(error.strerror)}"
    text = _in_one_line(error) or type(error).__name__
    return text if isinstance(error, _EXPECTED) else f"{type(error).__name__}: {text} (--debug shows where)"


def _in_one_line(message: object) -> str:
    """A message as one line, with the path of a temporary copy replaced by the name of the original."""
    # Spaces within a line are kept: a file name may contain two in a row.
    text = " ".join(filter(None, map(str.strip, str(message).splitlines())))
    for copy, original in COPIES.items():
        text = text.replace(copy, original)
    return text


def _say(text: str, debug: bool = False, command: str = "nbbpe") -> None:
    """Print a line on stderr; with `debug`, print the traceback of the error first. Prints nothing if stderr is closed."""
    with suppress(OSError):
        if debug:
            import traceback

            traceback.print_exc()
        print(f"{command}: {text}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {_in_one_line(message)}")
