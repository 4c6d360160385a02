"""Byte-level BPE, trained and applied at the speed of native code, from Python, NumPy and Numba alone."""

from . import early as early  # before all that takes time, see there
from .conversion import load
from .corpus import find_chunk_boundaries
from .default import encode_array, use
from .explanation import explain_pattern
from .idfile import TokenFile
from .streaming import StreamDecoder
from .tokenizer import Tokenizer
from .trainer import train, train_bpe
from .version import __version__ as __version__
from .warmup import warmup

__all__ = [
    "StreamDecoder",
    "TokenFile",
    "Tokenizer",
    "encode_array",
    "explain_pattern",
    "find_chunk_boundaries",
    "load",
    "train",
    "train_bpe",
    "use",
    "warmup",
]
