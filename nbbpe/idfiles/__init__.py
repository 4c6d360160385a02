"""Files of ids: written by several workers, described by a sidecar, mapped into memory for a training loop.

Read writer.py first, then division.py and part_encoder.py, which do the work in parts. joined_parts.py puts these together,
document_ends.py and sidecar.py are about the files beside the ids, and publishing.py gives all of them their names. Runs
that can be resumed have kept_parts.py and manifest.py. token_file.py reads the result, which opening.py maps and checks.
"""
