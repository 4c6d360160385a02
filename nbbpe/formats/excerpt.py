"""What errors show of a file that people made."""


def shown(value: object) -> str:
    """A value as errors name it: a whole file may stand on one line, and would bury what they say."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
