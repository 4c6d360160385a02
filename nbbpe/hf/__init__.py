"""A tokenizer class for transformers: its PreTrainedTokenizerFast, with texts encoded and ids decoded by nbbpe.

transformers does the rest: chat templates, added tokens, `convert_ids_to_tokens`, files. Calls that nbbpe does not handle
(offsets in texts that a normalizer changes, words that are not made by a pattern) are passed on unchanged to tokenizers,
the library of Hugging Face. So both classes return the same for every call, and most calls are faster.

Only this folder imports transformers; `import nbbpe` does not. In its comments, "the backend" is the object of tokenizers
that transformers holds, and "None if tokenizers must decide" means that a call is passed on. Read tokenizer.py first.

tokenizer.py           the class: which calls nbbpe handles, and which tokenizers
made.py                caches what nbbpe makes from a backend, until a part of the backend changes
applied.py             encodes and decodes with nbbpe as the backend would
encoded.py             the encoded texts of a call, from which the columns of its result are made
rows.py                truncates, adds special tokens, pads
encodings.py           the result of a call
characters.py          finds characters that `regex` and tokenizers classify differently
saving.py              moves the files that transformers writes to their folder
"""

try:
    from .encodings import NbbpeEncoding
    from .tokenizer import NbbpeTokenizerFast
except ImportError as error:
    raise ImportError(
        f'nbbpe.hf needs transformers ({error}): pip install "nbbpe[hf]"', name=getattr(error, "name", None)
    ) from error

__all__ = ["NbbpeEncoding", "NbbpeTokenizerFast"]
