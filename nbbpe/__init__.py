"""Byte-level BPE, trained and applied at the speed of native code, from Python, NumPy and Numba alone."""

from .corpus import find_chunk_boundaries
from .streaming import StreamDecoder
from .tokenizer import Tokenizer, encode_array, load, use
from .trainer import train, train_bpe

__version__ = "0.1.0"

__all__ = [
    "StreamDecoder",
    "Tokenizer",
    "encode_array",
    "find_chunk_boundaries",
    "load",
    "train",
    "train_bpe",
    "use",
]
