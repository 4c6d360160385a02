"""Read a tokenizer of any format."""

from __future__ import annotations

from typing import Any

from .formats.known_names import at_revision
from .formats.recognise import read_model
from .system.paths import Path
from .tokenizer import Tokenizer


def load(source: Path | tuple[Path, Path] | Any, *, check: bool = True, revision: str | None = None) -> Tokenizer:
    """Read a tokenizer of any format that nbbpe knows.

    source : a folder that `Tokenizer.save` wrote; Hugging Face's tokenizer.json, or a folder with it (and with the tokens
        that transformers finds in the files beside it); a .tiktoken file of a known encoding, or a folder with one;
        Mistral's tekken.json; minbpe's or sentencepiece's .model; GPT-2's vocab.json and merges.txt (or encoder.json and
        vocab.bpe), as a pair of paths (with the pattern gpt2, and <|endoftext|> as a special token if the vocab has it), or
        as a folder (as the class that transformers finds in the files beside them, such as RoBERTa's or CLIP's); a
        tokenizers.Tokenizer, a PreTrainedTokenizerFast, a tiktoken.Encoding; a Tokenizer, which is returned as it is. If
        there is no such path: the name of one of tiktoken's encodings, such as "cl100k_base", or of a model, such as
        "org/model" or "org/model@revision", which tiktoken or huggingface_hub downloads if it is installed

    check  : False to load a folder even if its files do not belong together, or if it was made with a version of `regex`
        that classes some characters differently; by default, these are errors

    revision : of a model of the hub, a commit, branch or tag, as after the @ of its name; None for the default branch

    Raises FileNotFoundError, ValueError or TypeError that says what was looked for, or what is broken or not supported. If
    a format lacks the pattern or the special tokens, or has a part to ignore, pass more arguments to
    `Tokenizer.from_files`, `from_hf` or `from_tiktoken`.

    >>> import nbbpe
    >>> tok = nbbpe.train("corpus.txt", 260, ["<|endoftext|>"])
    >>> tok.to_hf("tokenizer.json")
    >>> nbbpe.load("tokenizer.json") == tok
    True
    """
    if revision is not None:
        source = at_revision(source, revision)
    return source if isinstance(source, Tokenizer) else Tokenizer._of(read_model(source, check))
