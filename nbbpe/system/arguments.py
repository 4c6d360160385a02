"""Arguments as messages name them: as in Python, or as options while the command runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .excerpt import printable, shown

Options = Mapping[str, str]
_options: Options | None = None


def argument(name: str, *value: object) -> str:
    """An argument in a message: `field`, with a value `field='body'`, or with `...` for one to give, `field=...`.

    While the command runs, it is `--field`, or with a value that is no flag's `--field body`. An argument for which the
    command has no option is said to be one of Python.
    """
    if _options is not None and name in _options:
        # By `is`, as 1 is equal to True.
        return " ".join([_options[name], *(_for_a_shell(each) for each in value if each is not True and each is not ...)])
    said = "=".join([name, *("..." if each is ... else shown(each) for each in value)])
    return said if _options is None else f"{said} (in Python)"


def _for_a_shell(value: object) -> str:
    import shlex  # here, as nearly all messages do without it

    return shlex.quote(printable(value)) if isinstance(value, str) else shown(value)


def options_in_messages() -> Options | None:
    """By what options messages call arguments now: for a worker process, which does not have it by itself."""
    return _options


def name_options(options: Options | None) -> None:
    """Have messages of this process name options in place of arguments; None for the names in Python."""
    global _options
    _options = options


@contextmanager
def naming_options(options: Options) -> Iterator[None]:
    """A context in which messages name the options of a command in place of arguments."""
    before = _options
    name_options(options)
    try:
        yield
    finally:
        name_options(before)
