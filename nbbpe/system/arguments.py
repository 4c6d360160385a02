"""How messages name arguments: as in Python, or as command-line options while the command runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .excerpt import printable, shown

Options = Mapping[str, str]
_options: Options | None = None


def argument(name: str, *value: object) -> str:
    """Return an argument as messages name it: `field`, with a value `field='body'`, with the value `...` `field=...`.

    While the command runs, this is `--field` or `--field body` (the values True and `...` are left out), or
    `field='body' (in Python)` if the command has no such option.
    """
    if _options is not None and name in _options:
        # Compared by `is`, as 1 == True.
        return " ".join([_options[name], *(_for_a_shell(each) for each in value if each is not True and each is not ...)])
    text = "=".join([name, *("..." if each is ... else shown(each) for each in value)])
    return text if _options is None else f"{text} (in Python)"


def _for_a_shell(value: object) -> str:
    import shlex  # here, as few messages need it

    return shlex.quote(printable(value)) if isinstance(value, str) else shown(value)


def options_in_messages() -> Options | None:
    """Return the options that messages name now, to be set by `name_options` in a worker process."""
    return _options


def name_options(options: Options | None) -> None:
    """Make messages of this process name these options in place of arguments; with None, the arguments in Python."""
    global _options
    _options = options


@contextmanager
def naming_options(options: Options) -> Iterator[None]:
    """Make messages name the options of a command in place of arguments during this context."""
    before = _options
    name_options(options)
    try:
        yield
    finally:
        name_options(before)
