"""Distinct pieces in CSR form, split into words by partial automata."""

from ..compiler.jit import kernel
from ..compiler.signature import int64, reads, uint8, uint64
from ..machine.intrinsics import address_of
from .marked_pretokens import mark_pretokens, marked_end


@kernel(reads(uint8[:]), reads(int64[:]), reads(int64[:]), reads(uint64[:]), uint8[:], int64[:], int64[:], int64[:])
def split_decided(text, starts, counts, pattern, marks, word_starts, word_counts, undecided):
    """Split pieces into words, unless this is undecided. The words lie in the text of the pieces.

    text        : uint8[* + PADDING], starts : int64[n + 1], counts : int64[n], read    the pieces, none of them empty
    pattern     : uint64[*], read    see pattern_tables.py
    marks       : uint8[MARK_BYTES * bytes of the longest piece], scratch
    word_starts : int64[n_bytes + 1], word_counts : int64[n_bytes], filled    n_bytes are those of all pieces. An undecided
                  piece is one word, with the count 0
    undecided   : int64[n], filled with the numbers of such pieces

    Returns (number of words, number of undecided pieces). Cost: a few ns a character.
    """
    text_at, pattern_at, marks_at = address_of(text), address_of(pattern), address_of(marks)
    n_words = n_undecided = 0
    word_starts[0] = starts[0]
    for piece in range(counts.shape[0]):
        start, end = starts[piece], starts[piece + 1]
        is_decided = mark_pretokens(text_at + start, text_at + end, pattern_at, marks_at) > 0
        if not is_decided:
            undecided[n_undecided] = piece
            n_undecided += 1
        word = start
        while word < end:
            to_mark = marks_at - start
            word = marked_end(text_at + word, text_at + end, to_mark + word) - text_at if is_decided else end
            word_counts[n_words] = counts[piece] if is_decided else 0
            n_words += 1
            word_starts[n_words] = word
    return n_words, n_undecided
