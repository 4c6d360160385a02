"""Files of ids: written by several workers, described by a sidecar, mapped into memory for a training loop.

Read writer.py first, then division.py and part_encoder.py, and token_file.py.
"""
