"""The tables of a pattern that kernels work with, made from its automata.

For their layout see kernels/pieces/pattern_tables.py.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from ..kernels.machine.large_pages import zeros
from ..kernels.pieces import pattern_tables as layout
from ..system.stretches import starts_of
from .ascii_words import AsciiWords, ascii_words
from .automaton import DEAD, START, Automaton
from .boundaries import Relation, can_fail, states_after
from .code_points import Edges
from .determiniser import UNDECODABLE, reached
from .levels import Level, Levels, join_levels
from .partial_automaton import PartialAutomaton, as_partial
from .pattern_parser import Unsupported
from .seams import seam_classes

_IDEOGRAPHS, _HANGUL = (0x5000, 0x9000), (0xB000, 0xD000)
_N_BITS = 64
_MOST_TRIED = 40  # places that a rule is grown from


def new_pattern_tables(automata: Sequence[Automaton], caseless: Edges) -> layout.PatternTables:
    """The tables of automata that split in turn; after them those of pieces that text follows, if they are others.

    caseless : letters without case, between which long words may be cut (see kernels/pieces/unmergeable_boundaries.py)

    Raises Unsupported where there are too many levels or classes, or where failed walks could go round several states.
    """
    tables = _tables_of(automata, caseless)
    # Of several that split in turn, a part of the first may end within a piece, and is a whole text for the next.
    in_pieces = automata[0].in_pieces if len(automata) == 1 else None
    if in_pieces is not None:
        with suppress(Unsupported):  # then every piece is split as a text
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
    """The tables by which boundaries are found, with room for the moves of some states; a multiple of 64 bytes."""
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
    _put_rules(levels, classes[:128], data, numbers)
    return tables


def boundary_tables(levels: Sequence[Level], caseless: Edges) -> layout.PatternTables | None:
    """The tables of levels that split in turn, not all of which have an automaton: for pieces, of which `regex` splits
    those that partial automata do not decide.

    caseless : as of `new_pattern_tables`

    None if no boundary is between a word of ASCII and a space, so that pieces would be long, and a cache of no use. Raises
    Unsupported for too many classes.
    """
    joined = join_levels(levels)
    letters, space = joined.classes_of(string.ascii_letters), joined.classes_of(" ")
    pairs = joined.certain("pairs")
    if not (pairs[letters, space].all() or pairs[space, letters].all()):
        return None
    automata = partial_automata(levels)
    tables = None
    if len(automata) == len(levels) <= layout.MOST_LEVELS:
        with suppress(Unsupported):  # too many classes
            tables = _tables_of_partial(levels, automata, caseless)
    if tables is None:
        tables = _tables_of_boundaries(joined, n_states=1)
    tables.view(np.int64)[layout.BY_REGEX] = True
    tables.flags.writeable = False
    return tables


def partial_automata(levels: Sequence[Level]) -> list[PartialAutomaton]:
    """The partial automaton of each level that has one."""
    found = [as_partial(level) if isinstance(level, Automaton) else level.automaton for level in levels]
    return [each for each in found if each is not None]


def _tables_of_partial(
    of_regexes: Sequence[Level], automata: Sequence[PartialAutomaton], caseless: Edges
) -> NDArray[np.uint64]:
    """As `_tables_of_boundaries`, with the moves of an automaton for each level, and of those that it asks."""
    looks = [look for automaton in automata for look in automaton.looks]
    try:
        levels = join_levels(of_regexes, [caseless], [*automata, *looks])
    except Unsupported:
        levels, caseless = join_levels(of_regexes, (), [*automata, *looks]), ()
    all_automata = [each for automaton in automata for each in (automaton, *automaton.looks)]
    bases = starts_of([automaton.n_states for automaton in all_automata])
    n_states = int(bases[-1])
    if layout.MOVE_BYTES * n_states > 1 << 16:
        raise Unsupported(f"automata of {n_states:,} states together")
    tables = _tables_of_boundaries(levels, n_states)
    numbers = tables.view(np.int64)
    moves = np.zeros((_N_BITS, n_states, 2), dtype=np.uint16)
    starts = layout.MOVE_BYTES * (bases[:-1] + START)
    at = 0
    for level, automaton in enumerate(automata):
        numbers[layout.STARTS + level] = starts[at]
        looks_end = at + 1 + len(automaton.looks)
        for number in range(at, looks_end):
            _put_moves(all_automata[number], levels, moves[:, bases[number] : bases[number + 1]], int(bases[number]))
        asking = np.flatnonzero(automaton.tells[:, -1] >= layout.ASKS)
        numbers_of_looks = automaton.tells[asking, -1].astype(np.int64) - layout.ASKS
        moves[layout.END_CLASS, bases[at] + asking, 0] = starts[at + 1 : looks_end][numbers_of_looks]
        at = looks_end
    moves_at = int(numbers[layout.MOVES_AT])
    tables.view(np.uint8)[moves_at : moves_at + moves.nbytes] = moves.reshape(-1).view(np.uint8)
    numbers[layout.N_LEVELS] = len(automata)
    _put_seams(levels, automata, caseless, numbers)
    return tables


def _put_moves(automaton: PartialAutomaton, levels: Levels, moves: NDArray[np.uint16], base: int) -> None:
    """Write the moves of one automaton, of which the dead state is the state `base` of all."""
    offsets = layout.MOVE_BYTES * (np.arange(automaton.n_states) + base)
    rows = np.where(automaton.next_state == DEAD, 0, offsets[automaton.next_state])
    class_at = levels.class_in(automaton)
    moves[: levels.n_classes, :, 0] = rows[:, class_at].T
    moves[: levels.n_classes, :, 1] = automaton.tells[:, class_at].T
    moves[layout.END_CLASS, :, 1] = automaton.tells[:, -1]
    asking = automaton.tells[:, -1] >= layout.ASKS
    moves[layout.IF_NOT, asking, 0] = rows[asking, -1]  # and IF_SO, class 0, has what is next if it matches


def have_partial_automata(tables: layout.PatternTables) -> bool:
    """Whether tables by which pieces are found for `regex` have automata that split most of them."""
    numbers = tables.view(np.int64)
    return bool(numbers[layout.BY_REGEX] and numbers[layout.N_LEVELS])


def tables_for_regex(tables: layout.PatternTables) -> layout.PatternTables:
    """The tables of a pattern that finds pieces, and leaves splitting them, each as a text, to `regex`."""
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
    """The classes of all code points in pages of 256: the page of each range, and the distinct pages one after another."""
    numbers: dict[bytes, int] = {}
    page_of = [numbers.setdefault(page.tobytes(), len(numbers)) for page in classes.reshape(-1, 256)]
    return np.array(page_of, dtype=np.uint16), np.frombuffer(b"".join(numbers), dtype=np.uint8)


def _put_rules(levels: Levels, of_ascii: NDArray[np.uint8], data: NDArray[np.uint8], numbers: NDArray[np.int64]) -> None:
    """Write the rules by which boundaries are found."""
    pairs, all_triples = levels.certain("pairs"), levels.certain("triples")
    is_ascii = np.zeros(levels.n_classes, dtype=bool)
    is_ascii[of_ascii] = True
    # The character in the middle has one byte.
    triples = all_triples & ~pairs[:, :, None] & is_ascii[:, None]
    # Rules that hold within ASCII come first: mostly there is room for these in the first parts. (A rule for three may
    # repeat what rules for two say.)
    two_of_ascii, three_of_ascii = _product([is_ascii] * 2), _product([is_ascii] * 3)
    for_two = cover(pairs & two_of_ascii, 2 * layout.RULES, pairs, two_of_ascii)
    for_three = cover(triples & three_of_ascii, layout.RULES, all_triples, three_of_ascii)
    n_of_ascii = len(for_two)
    for_two += cover(pairs & ~_union(for_two, pairs), 2 * layout.RULES - len(for_two), pairs)
    room = layout.RULES - n_of_ascii - len(for_three)
    for_three += cover(triples & ~_union(for_three, triples), max(room, 0), all_triples)
    while True:
        rules = _packed(for_two, for_three, levels.n_classes)
        of_kinds, kinds = np.unique(rules[:, of_ascii], axis=1, return_inverse=True)
        n_kinds = of_kinds.shape[1]
        if n_kinds <= layout.MOST_KINDS:
            break
        (for_three or for_two).pop()  # fewer boundaries cost time only
    n_first = min(len(for_two), layout.RULES - len(for_three))
    numbers[layout.PAIR_RULES] = (1 << n_first) - 1
    if n_first < len(for_two):
        numbers[layout.MORE_RULES] = layout.OUTSIDE_ASCII if n_of_ascii <= n_first else layout.ALSO_IN_ASCII
    data[layout.ASCII_RULES : layout.ASCII_CLASSES] = rules[:, of_ascii].reshape(-1)
    of_classes = data[layout.CLASS_RULES : layout.ASCII_KINDS].reshape(layout.N_PARTS, 64)
    of_classes[:, : levels.n_classes] = rules
    data[layout.ASCII_KINDS :][:128] = kinds.reshape(-1)
    of_each_kind = data[layout.ASCII_KINDS + 128 :][: layout.N_PARTS * layout.MOST_KINDS]
    of_each_kind.reshape(layout.N_PARTS, -1)[:, :n_kinds] = of_kinds


def _packed(
    for_two: list[list[NDArray[np.bool_]]], for_three: list[list[NDArray[np.bool_]]], n_classes: int
) -> NDArray[np.uint8]:
    """The rules of each class, uint8[5, n_classes]: rules for three are in the first parts, together with as many rules for
    two as there is room for."""
    rules = np.zeros((layout.N_PARTS, n_classes, layout.RULES), dtype=bool)
    n_first = min(len(for_two), layout.RULES - len(for_three))
    for rule, parts in enumerate(for_two[:n_first] + for_three):
        for part, members in enumerate(parts):
            rules[part, :, rule] = members
    for rule, parts in enumerate(for_two[n_first:][: layout.RULES]):
        for part, members in enumerate(parts):
            rules[3 + part, :, rule] = members
    return np.packbits(rules, axis=2, bitorder="little")[:, :, 0]


def cover(wanted: Relation, most: int, allowed: Relation, first: Relation | None = None) -> list[list[NDArray[np.bool_]]]:
    """Sets of classes whose products cover a relation, as far as `most` of them can: of each an array for each index.

    allowed : what products may cover
    first   : what products may also be grown within, before they are grown to what is allowed

    Each is grown from the remaining place that makes it the largest; fewer boundaries cost time only.
    """
    left = wanted.copy()
    found: list[list[NDArray[np.bool_]]] = []
    while left.any() and len(found) < most:
        places = np.argwhere(left)
        tried = [_of_place(allowed, place) for place in places[:: 1 + len(places) // _MOST_TRIED]]
        grown = [_grown(allowed, parts) for parts in tried]
        if first is not None:
            grown += [_grown(allowed, _grown(allowed & first, parts)) for parts in tried]
        best = max(grown, key=lambda parts: int((left & _product(parts)).sum()))
        found.append(best)
        left &= ~_product(best)
    return found


def _product(parts: Sequence[NDArray[np.bool_]]) -> Relation:
    result = np.array(True)
    for part in parts:
        result = result[..., None] & part
    return result


def _union(products: Sequence[Sequence[NDArray[np.bool_]]], like: Relation) -> Relation:
    """What some products cover, a relation of the shape of another."""
    found: Relation = np.zeros(like.shape, dtype=bool)
    for parts in products:
        found |= _product(parts)
    return found


def _of_place(like: Relation, place: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """The product of one place of a relation."""
    return [np.arange(n) == at for n, at in zip(like.shape, place, strict=True)]


def _grown(allowed: Relation, parts: list[NDArray[np.bool_]]) -> list[NDArray[np.bool_]]:
    """A product that is allowed, grown along one index after the other, from the last one."""
    parts = list(parts)
    for index in reversed(range(len(parts))):
        rows = np.moveaxis(allowed, index, 0)
        others = _product([part for i, part in enumerate(parts) if i != index])
        parts[index] = np.asarray((rows | ~others).reshape(len(rows), -1).all(axis=1))
    return parts


def needs_memo(automaton: Automaton) -> bool:
    """Whether walk after walk may go over the same text in one state and then fail (see kernels/pieces/pretokens.py).

    That requires a state that a walk stays in without reporting a match, and that can fail; and walks that begin inside the
    text of that walk, or before it without a match between, and reach the same state. Raises Unsupported if walks could
    cycle through several such states.
    """
    n = automaton.n_states
    steps = np.zeros((n, n), dtype=bool)  # from one state to another without a match that ends before
    for state in range(START, n):
        steps[state, automaton.next_state[state][~automaton.tells[state, :-1]]] = True
    fails = can_fail(automaton)
    steps &= fails[:, None] & fails
    steps[:, DEAD] = False
    loops = np.flatnonzero(np.diagonal(steps)).tolist()
    np.fill_diagonal(steps, False)
    n_next = steps.sum(axis=1)  # of each state, how many follow that may be on a cycle
    on_none = np.flatnonzero(n_next == 0).tolist()
    for state in on_none:
        before = steps[:, state]
        n_next -= before
        on_none += np.flatnonzero(before & (n_next == 0)).tolist()
    if len(on_none) < n:
        raise Unsupported("a match that could be searched for again and again without success")
    first = np.flatnonzero(steps[loops].any(axis=0)).tolist()
    after_loops = set(reached(first, lambda state: np.flatnonzero(steps[state]).tolist()))
    return any(_comes_again(automaton, state) or state in after_loops for state in loops)


def _comes_again(automaton: Automaton, loop: int) -> bool:
    """Whether a walk that begins with the characters that keep another in a state reaches that state, too."""
    classes = np.flatnonzero((automaton.next_state[loop] == loop) & ~automaton.tells[loop, :-1])
    return loop in reached([START], lambda state: automaton.next_state[state, classes].tolist())


def has_stable_pretokens(automata: Sequence[Automaton]) -> bool:
    """Whether each pretoken, split as a text, is known to be one pretoken again.

    For one automaton it is enough that a match which ends before some character would end as well if the text did, and
    that no run which finds nothing would find a match if the text ended sooner. All but the last of several must also
    leave a part of a match whole, as it comes to them when a pretoken of a later one is a text.
    """
    for level, automaton in enumerate(automata):
        tells, fails = automaton.tells, can_fail(automaton)
        if (tells[:, :-1] & ~tells[:, -1:]).any():
            return False
        if any(tells[state, -1] and fails[state] for state in _states_without_match(automaton)):
            return False
        if level < len(automata) - 1 and not _matches_parts_of_matches(automaton):
            return False
    return True


def _states_without_match(automaton: Automaton) -> Iterator[int]:
    """The states that a run can be in before any match is reported."""
    next_state, tells = automaton.next_state, automaton.tells
    return reached([START], lambda state: next_state[state][~tells[state, :-1]].tolist())


def _matches_parts_of_matches(automaton: Automaton) -> bool:
    """Whether each part of a match is known to be one match as a separate text."""

    def following(states: tuple[int, int]) -> list[tuple[int, int]]:
        """Of a run through a match, and of one that begins within it, the states of both after the same character."""
        outer, inner = automaton.next_state[list(states)].tolist()
        return [pair for pair in zip(outer, inner, strict=True) if pair[0] != DEAD]

    first = [pair for state in range(START, automaton.n_states) for pair in following((state, START))]
    return all(automaton.tells[inner, -1] for _, inner in reached(first, following))  # not of the dead state


def has_plain_words(levels: Levels) -> bool:
    """Whether words of ASCII are one pretoken: perhaps a space, and letters, of which only the first may be a capital."""
    small, large = _ascii_letters(levels)
    space = set(levels.classes_of(" ").tolist())
    for automaton, class_at in zip(levels.automata, levels.class_at, strict=True):
        next_state = automaton.next_state[:, class_at]
        everything = list(small | large | space)
        if (next_state[:, everything] == DEAD).all():
            continue  # left between matches as a whole

        def after(states: set[int], classes: set[int], next_state: NDArray[np.uint16] = next_state) -> set[int]:
            return {int(next_state[q, c]) for q in states for c in classes}

        led = after({START}, space)
        ends = after({START} | led, small | large)
        ends = set(reached(ends, lambda q: after({q}, small)))
        if DEAD in led or DEAD in ends or not automaton.tells[list(ends), -1].all():
            return False
    return True


def _ascii_letters(levels: Levels) -> tuple[set[int], set[int]]:
    """The classes of small letters of ASCII, and those of capitals."""
    small, large = levels.classes_of(string.ascii_lowercase), levels.classes_of(string.ascii_uppercase)
    return set(small.tolist()), set(large.tolist())


def words_of_last(levels: Levels) -> AsciiWords | None:
    """The words of ASCII that the last automaton matches as a whole, by the classes of all levels."""
    automaton, class_at = levels.automata[-1], levels.class_at[-1]
    return ascii_words(automaton.next_state[:, class_at], automaton.tells[:, [*class_at, -1]], *_ascii_letters(levels))
