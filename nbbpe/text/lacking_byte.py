"""The error for a text that a vocabulary without tokens for all bytes cannot encode."""

from __future__ import annotations


class LackingByte(ValueError):
    """A text has a byte of invalid UTF-8 for which the vocabulary has no token. Callers that know the file add its name."""
