"""The error for a text that a vocabulary without tokens for all bytes cannot encode."""

from __future__ import annotations


class LackingByte(ValueError):
    """A byte of invalid UTF-8 in a text, for which the vocabulary has no token. Who knows the file's name adds it."""
