"""Statistics of tokenizers: the vocabulary, how well it compresses a text, how two tokenizers differ. Prints nothing.

Read figures.py first. comparison.py is for two tokenizers on one text, compression.py for what merges do to a text, and
source_ids.py gives the ids themselves.
"""

from .comparison import Comparison, Split, compare
from .compression import compression_by_size, merge_counts
from .figures import (
    TextFigures,
    Token,
    VocabularyFigures,
    count_tokens_of_each,
    text_figures,
    vocabulary_figures,
)
from .source_ids import encoded

__all__ = [
    "Comparison",
    "Split",
    "TextFigures",
    "Token",
    "VocabularyFigures",
    "compare",
    "compression_by_size",
    "count_tokens_of_each",
    "encoded",
    "merge_counts",
    "text_figures",
    "vocabulary_figures",
]
