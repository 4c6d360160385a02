"""A tokenizer for transformers: its class for fast tokenizers, with texts encoded and ids decoded by nbbpe.

transformers does the rest: chat templates, added tokens, `convert_ids_to_tokens`, files. What nbbpe does not do
(offsets in texts that a normalizer changes, words that no pattern makes) goes to tokenizers unchanged. So both classes give
the same for every call, and most calls are faster.

This folder alone imports transformers, so `import nbbpe` does not. Read tokenizer.py first.

tokenizer.py           the class: what it hands over to nbbpe, and what to tokenizers
made.py                what nbbpe makes of a tokenizer of tokenizers, until a part of that is replaced
applied.py             such a tokenizer, applied by nbbpe
encoded.py             the texts of a call, encoded
rows.py                ids to what the call returns: cut, with tokens around, padded
encodings.py           the result of the call
characters.py          characters that `regex` and tokenizers know alike
saving.py              files that transformers writes get their names in a folder
"""

try:
    from .encodings import NbbpeEncoding
    from .tokenizer import NbbpeTokenizerFast
except ImportError as error:
    raise ImportError(
        f'nbbpe.hf needs transformers ({error}): pip install "nbbpe[hf]"', name=getattr(error, "name", None)
    ) from error

__all__ = ["NbbpeEncoding", "NbbpeTokenizerFast"]
