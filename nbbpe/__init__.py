"""Byte-level BPE, trained and applied at the speed of native code, from Python, NumPy and Numba alone."""

from . import early as early  # before all that takes time, see there
from .conversion import load
from .default import decode, encode, encode_array, use
from .encoding.stream_decoder import StreamDecoder
from .explanation import explain_pattern
from .idfiles.token_file import TokenFile
from .model.version import __version__ as __version__
from .text.chunks import find_chunk_boundaries
from .tokenizer import Tokenizer
from .trainer import train, train_bpe
from .warmup import warmup

__all__ = [
    "StreamDecoder",
    "TokenFile",
    "Tokenizer",
    "decode",
    "encode",
    "encode_array",
    "explain_pattern",
    "find_chunk_boundaries",
    "load",
    "train",
    "train_bpe",
    "use",
    "warmup",
]
