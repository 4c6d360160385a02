"""Makes the tables of a pattern for kernels from its automata.

For their layout see kernels/pieces/pattern_tables.py.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.large_pages import zeros
from ..kernels.pieces import pattern_tables as layout
from ..system.stretches import starts_of
from .ascii_words import has_plain_words, words_of_last
from .automaton import DEAD, START, Automaton
from .boundaries import states_after
from .code_points import Edges
from .determiniser import UNDECODABLE
from .levels import Level, Levels, join_levels
from .look_automaton import LookAutomaton
from .match_facts import has_stable_pretokens, needs_memo
from .partial_automaton import PartialAutomaton, as_partial, split_if_decided
from .pattern_parser import Unsupported
from .rules import put_rules
from .seams import seam_classes

_IDEOGRAPHS, _HANGUL = (0x5000, 0x9000), (0xB000, 0xD000)
_N_BITS = 64


def new_pattern_tables(automata: Sequence[Automaton], caseless: Edges) -> layout.PatternTables:
    """The tables of automata that split in turn, followed by those for pieces that text follows, if these differ.

    caseless : letters without case, between which long words may be cut (see kernels/pieces/unmergeable_boundaries.py)

    Raises Unsupported for too many levels or classes, or if failed walks could cycle through several states.
    """
    tables = _tables_of(automata, caseless)
    # With several automata, a part that the first makes may end within a piece, and the next sees it as a whole text.
    in_pieces = automata[0].in_pieces if len(automata) == 1 else None
    if in_pieces is not None:
        with suppress(Unsupported):  # if so, every piece is split as a text
            tables = _joined(tables, _tables_of([in_pieces], caseless))
    tables.flags.writeable = False
    return tables


def _joined(of_texts: NDArray[np.uint64], of_pieces: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The tables of a pattern with those of its pieces after them."""
    n = len(of_texts)
    tables = zeros(n + len(of_pieces))
    tables[:n], tables[n:] = of_texts, of_pieces
    numbers = tables.view(np.int64)
    numbers[layout.OF_PIECES], numbers[n + layout.OF_TEXTS] = 8 * n, -8 * n
    return tables


def _tables_of(automata: Sequence[Automaton], caseless: Edges) -> NDArray[np.uint64]:
    """See `new_pattern_tables`; a multiple of 64 bytes."""
    if len(automata) > layout.MOST_LEVELS:
        raise Unsupported(f"more than {layout.MOST_LEVELS} regexes in turn")
    try:
        levels = join_levels(automata, [caseless])
    except Unsupported:
        levels, caseless = join_levels(automata), ()
    tables = _tables_of_boundaries(levels, 1 + sum(automaton.n_states - 1 for automaton in automata))
    data = tables.view(np.uint8)
    numbers = data[:256].view(np.int64)
    n_states = int(numbers[layout.N_STATES])
    moves_at, pages_at = numbers[[layout.MOVES_AT, layout.PAGES_AT]].tolist()

    moves = np.zeros((_N_BITS, n_states, 2), dtype=np.uint16)
    base = 0
    for level, (automaton, class_at) in enumerate(zip(automata, levels.class_at, strict=True)):
        following = automaton.next_state[START:, class_at].astype(np.int64)
        following = np.where(following == DEAD, 0, following + base)
        columns = moves[:, base + START : base + automaton.n_states]
        columns[: levels.n_classes, :, 0] = layout.MOVE_BYTES * following.T
        columns[: levels.n_classes, :, 1] = automaton.tells[START:, class_at].T
        columns[layout.END_CLASS, :, 1] = automaton.tells[START:, -1]
        if automaton.tells_text_end is not None:
            ends_otherwise = automaton.tells[:, -1] != automaton.tells_text_end
            columns[layout.END_CLASS, :, 0] = ends_otherwise[START:]
            after = (states_after(automaton) & ends_otherwise).any(axis=1)
            numbers[layout.ENDING] = _bits(set(np.flatnonzero(after[class_at]).tolist()))
        numbers[layout.STARTS + level] = layout.MOVE_BYTES * (base + START)
        numbers[layout.MEMO] |= needs_memo(automaton)
        base += automaton.n_states - 1
    data[moves_at:pages_at] = moves.reshape(-1).view(np.uint8)
    numbers[layout.N_LEVELS] = len(automata)

    _put_seams(levels, [*map(as_partial, automata)], caseless, numbers)
    numbers[layout.PLAIN_WORDS] = has_plain_words(levels)
    words = words_of_last(levels)
    if words is not None:
        numbers[layout.WORD_LEAST], numbers[layout.WORD_CAPITALS] = words.least, -1 if words.any_case else 1
        numbers[layout.WORD_LEADS], numbers[layout.WORD_ENDS] = _bits(words.leads), _bits(words.ends)
    numbers[layout.STABLE] = has_stable_pretokens(automata)
    return tables


def _put_seams(levels: Levels, automata: Sequence[PartialAutomaton], caseless: Edges, numbers: NDArray[np.int64]) -> None:
    """Write the classes by which seams are found."""
    letters, harm, keep = seam_classes(levels, automata, caseless)
    numbers[layout.SEAM_LETTERS], numbers[layout.SEAM_HARM], numbers[layout.SEAM_KEEP] = map(_bits, (letters, harm, keep))


def _tables_of_boundaries(levels: Levels, n_states: int) -> NDArray[np.uint64]:
    """The tables that find boundaries, with room for the moves of `n_states` states; a multiple of 64 bytes."""
    classes = levels.classes()
    page_of, pages = _pages(classes)
    moves_at = layout.FIXED_BYTES
    pages_at = moves_at + layout.MOVE_BYTES * _N_BITS * n_states
    tables = zeros(-(-(pages_at + len(pages)) // 64) * 8)
    data = tables.view(np.uint8)
    numbers = data[:256].view(np.int64)
    data[pages_at : pages_at + len(pages)] = pages
    numbers[layout.N_STATES], numbers[layout.MOVES_AT], numbers[layout.PAGES_AT] = n_states, moves_at, pages_at
    data[layout.PAGE_OF : layout.FIXED_BYTES] = page_of.view(np.uint8)

    numbers[layout.N_CLASSES] = levels.n_classes
    numbers[layout.UNDECODABLE] = classes[UNDECODABLE[0]]
    if len(np.unique(classes[UNDECODABLE[0] : UNDECODABLE[1] + 1])) > 1:
        raise Unsupported("a set that distinguishes bytes that are invalid UTF-8")
    for name, (first, end) in (layout.IDEOGRAPHS, _IDEOGRAPHS), (layout.HANGUL, _HANGUL):
        members = np.unique(classes[first:end])
        numbers[name] = members[0] if len(members) == 1 else -1
    data[layout.LOW_CLASSES : layout.PAGE_OF] = classes[:0x10000]
    data[layout.ASCII_CLASSES : layout.CLASS_RULES] = classes[:128]
    put_rules(levels, classes[:128], data, numbers)
    return tables


def boundary_tables(levels: Sequence[Level], caseless: Edges) -> layout.PatternTables | None:
    """The tables of levels that split in turn, not all of which have an automaton. They find pieces; partial automata split
    those that they decide, and `regex` the others.

    caseless : as in `new_pattern_tables`

    None if there is no boundary between a word of ASCII and a space, as pieces are then long, and a cache is of no use;
    unless the pretokens are as long. Raises Unsupported for too many classes.
    """
    joined = join_levels(levels)
    letters, space = joined.classes_of(string.ascii_letters), joined.classes_of(" ")
    automata = partial_automata(levels)
    have_automata = len(automata) == len(levels) <= layout.MOST_LEVELS
    are_short = joined.pairs[letters, space].all() or joined.pairs[space, letters].all()
    if not are_short and not (have_automata and _join_words(automata)):
        return None
    tables = None
    if have_automata:
        with suppress(Unsupported):  # too many classes
            tables = _tables_of_partial(levels, automata, caseless)
    if tables is None:
        tables = _tables_of_boundaries(joined, n_states=1)
    tables.view(np.int64)[layout.BY_REGEX] = True
    tables.flags.writeable = False
    return tables


def _join_words(automata: Sequence[PartialAutomaton]) -> bool:
    """Whether automata in turn leave words of ASCII in one pretoken, as in SuperBPE's patterns."""
    words = f"{string.ascii_letters} {string.ascii_letters}"
    return all(split_if_decided(automaton, words) == [words] for automaton in automata)


def partial_automata(levels: Sequence[Level]) -> list[PartialAutomaton]:
    """The partial automaton of each level that has one."""
    found = [as_partial(level) if isinstance(level, Automaton) else level.automaton for level in levels]
    return [each for each in found if each is not None]


def _tables_of_partial(
    of_regexes: Sequence[Level], automata: Sequence[PartialAutomaton], caseless: Edges
) -> NDArray[np.uint64]:
    """As `_tables_of_boundaries`, with the moves of an automaton for each level, and of its look-aheads."""
    looks = [look for automaton in automata for look in automaton.looks]
    try:
        levels = join_levels(of_regexes, [caseless], [*automata, *looks])
    except Unsupported:
        levels, caseless = join_levels(of_regexes, (), [*automata, *looks]), ()
    # The states of each look-ahead have one more state before them; an automaton has its dead state there.
    n_states_of = [[automaton.n_states, *(1 + look.n_states for look in automaton.looks)] for automaton in automata]
    bases = starts_of([n for of_level in n_states_of for n in of_level])
    n_states = int(bases[-1])
    if layout.MOVE_BYTES * n_states > 1 << 16:
        raise Unsupported(f"automata of {n_states:,} states together")
    tables = _tables_of_boundaries(levels, n_states)
    numbers = tables.view(np.int64)
    moves = np.zeros((_N_BITS, n_states, 2), dtype=np.uint16)
    room = iter(pairwise(bases.tolist()))
    for level, automaton in enumerate(automata):
        base, end = next(room)
        numbers[layout.STARTS + level] = layout.MOVE_BYTES * (base + START)
        _put_moves(automaton, levels, moves[:, base:end], base)
        for look in automaton.looks:
            before, (base, end) = base, next(room)
            moves[layout.END_CLASS, before, 0] = layout.MOVE_BYTES * base
            _put_look_moves(look, levels, moves[:, base + 1 : end], base + 1)
    moves_at = int(numbers[layout.MOVES_AT])
    tables.view(np.uint8)[moves_at : moves_at + moves.nbytes] = moves.reshape(-1).view(np.uint8)
    numbers[layout.N_LEVELS] = len(automata)
    _put_seams(levels, automata, caseless, numbers)
    return tables


def _put_moves(automaton: PartialAutomaton, levels: Levels, moves: NDArray[np.uint16], base: int) -> None:
    """Write the moves of one automaton, whose dead state is the state `base` of all."""
    offsets = layout.MOVE_BYTES * (np.arange(automaton.n_states) + base)
    rows = np.where(automaton.next_state == DEAD, 0, offsets[automaton.next_state])
    class_at = levels.class_in(automaton)
    moves[: levels.n_classes, :, 0] = rows[:, class_at].T
    moves[: levels.n_classes, :, 1] = automaton.tells[:, class_at].T
    moves[layout.END_CLASS, :, 1] = automaton.tells[:, -1]
    asking = automaton.tells[:, -1] >= layout.ASKS
    moves[layout.IF_NOT, asking, 0] = rows[asking, -1]  # IF_SO is class 0, which has the next state if it matches


def _put_look_moves(look: LookAutomaton, levels: Levels, moves: NDArray[np.uint16], base: int) -> None:
    """Write the moves of a look-ahead, whose first state is the state `base` of all."""
    class_at = levels.class_in(look)
    moves[: levels.n_classes, :, 0] = layout.MOVE_BYTES * (base + look.next_state[:, class_at].T.astype(np.int64))
    moves[: levels.n_classes, :, 1] = look.matches[:, class_at].T
    moves[layout.END_CLASS, :, 1] = look.matches[:, -1]


def have_partial_automata(tables: layout.PatternTables) -> bool:
    """Whether tables that find pieces for `regex` have automata, which split most of the pieces."""
    numbers = tables.view(np.int64)
    return bool(numbers[layout.BY_REGEX] and numbers[layout.N_LEVELS])


def tables_for_regex(tables: layout.PatternTables) -> layout.PatternTables:
    """A copy of tables that only finds pieces, and leaves it to `regex` to split each as a text."""
    n_of_texts = int(tables.view(np.int64)[layout.OF_PIECES]) // 8 or len(tables)
    copy: layout.PatternTables = zeros(n_of_texts)
    copy[:] = tables[:n_of_texts]
    numbers = copy.view(np.int64)
    numbers[layout.OF_PIECES], numbers[layout.STABLE], numbers[layout.BY_REGEX] = 0, False, True
    numbers[layout.N_LEVELS] = numbers[layout.SEAM_LETTERS] = 0
    copy.flags.writeable = False
    return copy


def _bits(members: set[int]) -> int:
    return sum(1 << member for member in members)


def _pages(classes: NDArray[np.uint8]) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """The classes of all code points in pages of 256: the number of each page, and the distinct pages one after another."""
    numbers: dict[bytes, int] = {}
    page_of = [numbers.setdefault(page.tobytes(), len(numbers)) for page in classes.reshape(-1, 256)]
    return np.array(page_of, dtype=np.uint16), np.frombuffer(b"".join(numbers), dtype=np.uint8)
