"""Statistics of tokenizers: the vocabulary, how well it compresses a text, how two tokenizers differ. Prints nothing.

Read figures.py first.

figures.py             figures of a vocabulary and of texts
comparison.py          compares two tokenizers on a text
compression.py         how often merges are applied, and compression by size of the vocabulary
source_ids.py          the ids of a source
arguments.py           checks of arguments that these functions share
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
