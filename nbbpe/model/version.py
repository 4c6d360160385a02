"""The version of nbbpe: here, so that what is below the public names can tell it too."""

__version__ = "0.1.0"
