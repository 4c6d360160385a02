"""Encode text to ids and decode ids to text: also batches, padding, tokens with offsets, and streams.

Read encoder.py first, then compiled_encoder.py.

Encoders
encoder.py             the interface of all encoders
new_encoder.py         which encoder a model needs
compiled_encoder.py    kernels from text to ids, for a pattern with certain boundaries
piece_regex_encoder.py kernels find the pieces, and `regex` splits new ones
regex_encoder.py       `regex` splits whole documents
normalizing_encoder.py puts text into a normal form first
prepared_encoder.py    makes other changes to text first
dropout.py             skips merges at random (BPE dropout)
encoder_state.py       the state of a thread that encodes: the cache of pieces, scratch
pretoken_ids.py        the ids of separate pretokens
special_choice.py      which special tokens a text may contain

Many texts
threads.py             parts of text encoded by several threads
batches.py             many texts in one call
arrow.py               Arrow arrays of strings to arrays of ids, and back
encoded_inputs.py      the ids of the parts of a source, in turn
padding.py             texts of different lengths as one array

Ids
id_types.py            the dtype that a user asks for
id_lists.py            ids as lists of int
decoder.py             ids to bytes and text
stream_decoder.py      the same, id by id as they arrive
unstable.py            the ids that the end of a text may get when more text follows
njit_tables.py         tables for the user's own compiled code

Tokens in a text
tokens.py              tokens with their offsets
token_display.py       how tokens are displayed
offsets.py             offsets as Hugging Face's tokenizers counts them
pretoken_numbers.py    the number of each token's pretoken, as Hugging Face's tokenizers numbers words
alignment.py           two encodings of one text, aligned
"""
