"""Files of ids: written by several workers, described by a sidecar, mapped into memory for a training loop.

Read writer.py first, then token_file.py.
"""
