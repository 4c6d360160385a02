"""Text to ids and ids to text, and what surrounds both: batches, padding, tokens with offsets, streams.

Read encoder.py first, then compiled_encoder.py, piece_regex_encoder.py and regex_encoder.py; new_encoder.py says which one
a model needs. normalizing_encoder.py and prepared_encoder.py rewrite text before one of these encodes it, and dropout.py
skips merges. threads.py encodes in several threads, batches.py and arrow.py many texts at once, and encoded_inputs.py the
parts of a source in turn. decoder.py decodes, and stream_decoder.py does so id by id. tokens.py has the tokens of a text,
and token_display.py displays them. njit_tables.py is for the user's own compiled code.
"""
