"""Text to ids and ids to text, and what surrounds both: batches, padding, tokens with offsets, streams.

Read encoder.py first, then compiled_encoder.py, piece_regex_encoder.py and regex_encoder.py.
"""
