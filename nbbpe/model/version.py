"""The version of nbbpe, in the lowest layer that needs it."""

__version__ = "0.1.0"
