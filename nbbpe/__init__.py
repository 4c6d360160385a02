"""Byte-level BPE, trained and applied at the speed of native code, from Python, NumPy and Numba alone."""

from . import early_interrupt as early_interrupt  # first: it handles Ctrl-C while the rest is imported

# isort: split
from typing import TYPE_CHECKING, Any

from .model.version import __version__ as __version__
from .warmup import warmup  # not on first use, as the module has the same name

if TYPE_CHECKING:
    from . import arrow_functions as arrow_functions
    from . import evaluation as evaluation
    from . import inspection as inspection
    from . import njit as njit
    from . import tiktoken as tiktoken
    from .default_tokenizer import decode, encode, encode_array, use
    from .encoding.stream_decoder import StreamDecoder
    from .idfiles.token_file import TokenFile
    from .loading import load
    from .pattern_explanation import explain_pattern
    from .text.chunks import find_chunk_boundaries
    from .tokenizer import Tokenizer
    from .trainer import train, train_bpe
    from .training.superwords import Superwords
    from .training.token_rules import TokenRules
    from .words.count_words import count_words
    from .words.mixture import Mixture
    from .words.parity import Parity

__all__ = [
    "Mixture",
    "Parity",
    "StreamDecoder",
    "Superwords",
    "TokenFile",
    "TokenRules",
    "Tokenizer",
    "count_words",
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

# The modules of the other names. A name is imported on first use, with all that its module needs.
_MODULES = {
    "Mixture": "words.mixture",
    "Parity": "words.parity",
    "StreamDecoder": "encoding.stream_decoder",
    "TokenFile": "idfiles.token_file",
    "Superwords": "training.superwords",
    "TokenRules": "training.token_rules",
    "Tokenizer": "tokenizer",
    "count_words": "words.count_words",
    "decode": "default_tokenizer",
    "encode": "default_tokenizer",
    "encode_array": "default_tokenizer",
    "explain_pattern": "pattern_explanation",
    "find_chunk_boundaries": "text.chunks",
    "load": "loading",
    "train": "trainer",
    "train_bpe": "trainer",
    "use": "default_tokenizer",
}


if not TYPE_CHECKING:  # with this function, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        import importlib

        if name in _MODULES:
            found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
            return found
        from importlib.util import find_spec

        # So `import nbbpe` is enough to use any module. Names with underscores are those that Python itself looks up.
        if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
            try:
                return importlib.import_module(f"{__name__}.{name}")
            except ImportError as error:  # the only error that hasattr, and getattr with a default, handle
                raise AttributeError(f"{__name__}.{name} cannot be imported: {error}") from error
        from .tokenizer_methods.names_of_other_libraries import OF_MODULE

        hint = f"; use {OF_MODULE[name]}" if name in OF_MODULE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    # For tab completion, which looks up each name: `hf` is not listed, as it would import transformers.
    modules = ["arrow_functions", "evaluation", "inspection", "njit", "tiktoken"]
    return sorted({*__all__, *modules, *(name for name in globals() if name.startswith("__"))})
