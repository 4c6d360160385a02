"""The tables of a split pattern, as kernels read them: the parts of one array, which `patterns/pattern_tables.py` makes.

    numbers        int64[32]                see the names below
    ASCII_RULES    uint8[5, 128]            the rules in which each ASCII character takes part, bit r for rule r
    ASCII_CLASSES  uint8[128]               the class of each
    CLASS_RULES    uint8[5, 64]             as ASCII_RULES, for each class
    ASCII_KINDS    uint8[128]               ASCII characters of one kind take part in the same rules;
                                            then uint8[5, MOST_KINDS], as ASCII_RULES, for each kind
    LOW_CLASSES    uint8[0x10000]           the class of each code point below 0x10000
    PAGE_OF        uint16[0x1100]           the page of each 256 code points
    MOVES_AT       uint16[64, n_states, 2]  for a class and a state: the next state, and what it tells of a match before the
                                            character (NO_MATCH, MATCH_ENDS, ...); class END_CLASS is the end. A state is
                                            given by its offset in a row, so that a walk from state to state is only a chain
                                            of loads
    PAGES_AT       uint8[n_pages, 256]      the class of each code point on a page

MOVES_AT and PAGES_AT are indexes of the numbers that are the offsets of these parts; the other names are offsets.

A *rule* finds certain boundaries by the classes of adjacent characters. Rules for two: "after any class of one set, before
any of another". Rules for three: "after the first of three characters whose classes are in three sets". Parts 0 and 1 are
the first and the second set of up to eight rules, of which PAIR_RULES are for two; part 2 is the third set of the other
rules. Parts 3 and 4 are the two sets of up to eight more rules for two: MORE_RULES is 0 if there are none, OUTSIDE_ASCII if
they find nothing between two characters of ASCII, else ALSO_IN_ASCII.

*Pieces.* If the pattern needs it for `$` (see patterns/automaton.py), a second set of tables follows, for pieces that text
follows: OF_PIECES is the offset from the first set to the second, OF_TEXTS the offset back. If a match ends in a state
at the end of the text, but not at the end of a piece, the second set has 1 as its next state of END_CLASS. ENDING is the
set of classes after which a run can be in such a state.

*Partial.* With BY_REGEX, N_LEVELS is 0 if `regex` splits all pieces; else `regex` splits only those in which something is
UNDECIDED (see patterns/partial_automaton.py). If a move ASKS, its next state stands for the question whether a look-ahead
matches here: the entry of END_CLASS tells ASKS + the look-ahead's number, and the walk goes on, before the same character,
with the next state of class IF_SO or IF_NOT. The state before the start of an automaton is in no walk: its next states are
those in which a match starts after a character of each class. For END_CLASS, its next state is the state before the start
of the first look-ahead, whose own entry there leads to the second, and so on; the last one has 0. A look-ahead is read from
the end of a text to its start: the next state is that before the character, and a move tells whether it matches after it.
"""

import numpy as np
from numpy.typing import NDArray

from ..compiler.jit import inlined
from ..machine.intrinsics import read_i64, read_u8, read_u16
from ..machine.intrinsics_look_up import ROW

MOST_CLASSES = 63  # and one number for the end
END_CLASS = 63
MOVE_BYTES = 4  # of a state and a class
MOST_LEVELS = 6
MOST_KINDS = ROW
RULES = 8  # in a part

# Numbers.
UNDECODABLE, IDEOGRAPHS, HANGUL = 0, 1, 2  # classes: of a byte that is not UTF-8; of U+5000-8FFF and U+B000-CFFF, or -1
N_CLASSES, PAIR_RULES, MORE_RULES = 3, 4, 5
SEAM_LETTERS, SEAM_HARM, SEAM_KEEP = 6, 7, 8  # sets of classes, see unmergeable_boundaries.py
PLAIN_WORDS = 9  # whether ASCII letters with a space before them are always one pretoken
N_STATES, MEMO = 10, 11  # MEMO: whether failed walks are noted, see pretokens.py
MOVES_AT, PAGES_AT = 12, 13  # the offsets of these parts
STABLE = 15  # whether each pretoken, split as a text, is one pretoken again
N_LEVELS, STARTS = 16, 17  # how many automata split in turn, and the offset of the start state of each
BY_REGEX = 23  # whether `regex` splits pieces, and kernels only by partial automata
# Words of ASCII that the last automaton matches as a whole, see patterns/ascii_words.py: their minimum number of letters,
# or 0 if there are none; a mask of the letters that may be capitals; and the classes that lead words and that end them.
WORD_LEAST, WORD_CAPITALS, WORD_LEADS, WORD_ENDS = 24, 25, 26, 27
OF_PIECES, OF_TEXTS, ENDING = 28, 29, 30  # 0 if pieces that text follows are split as texts are

NO_MATCH, MATCH_ENDS, UNDECIDED, ASKS = range(4)  # what a move tells of the match before the character
IF_SO, IF_NOT = 0, 1  # the classes of the moves from a state that asks
OUTSIDE_ASCII, ALSO_IN_ASCII = 1, 2  # what MORE_RULES says
N_PARTS = 5
ASCII_RULES = 256
ASCII_CLASSES = ASCII_RULES + N_PARTS * 128
CLASS_RULES = ASCII_CLASSES + 128
ASCII_KINDS = CLASS_RULES + N_PARTS * 64
LOW_CLASSES = ASCII_KINDS + 128 + N_PARTS * MOST_KINDS + 48  # which makes it a multiple of 64
PAGE_OF = LOW_CLASSES + 0x10000
FIXED_BYTES = PAGE_OF + 2 * 0x1100

PatternTables = NDArray[np.uint64]  # the bytes described above; 64-byte aligned


@inlined
def number_of(pattern_at, name):
    """One of a pattern's numbers."""
    return read_i64(pattern_at + 8 * name)


@inlined
def class_of(code_point, pattern_at):
    """The class of a code point."""
    page = np.int64(read_u16(pattern_at + PAGE_OF + 2 * (code_point >> 8)))
    return np.int64(read_u8(pattern_at + number_of(pattern_at, PAGES_AT) + (page << 8 | code_point & 255)))
