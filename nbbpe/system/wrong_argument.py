"""The error for an argument that is invalid by itself, or together with other arguments or files."""

from __future__ import annotations


class WrongArgument(ValueError):
    """A ValueError to be fixed by another argument, not by other data: the command exits with 2 for it, not with 1."""
