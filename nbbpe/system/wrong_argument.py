"""The error for an argument that is wrong by itself, or beside the others or the files that they name."""

from __future__ import annotations


class WrongArgument(ValueError):
    """A ValueError that another argument would mend, and no other data: the command exits with 2 for it, and not with 1."""
