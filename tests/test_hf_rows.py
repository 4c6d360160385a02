"""The rules of nbbpe.hf for truncation, padding and what is around texts, by hand; test_hf.py compares them with others."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers")

from nbbpe.hf.rows import Cut, Frame, RowPadding, is_padded_plainly, is_unpadded

PIECES = [[7, 8], "A", [9], "B"]


def frame(pieces=("A",), types=None, *, later=(0, 0), is_pair=False, has_ids=True, n_usual=0, is_numbered_once=True):
    pieces = list(pieces)
    return Frame(pieces, types or [0] * len(pieces), later, is_pair, has_ids, n_usual, is_numbered_once)


def cut(counts: list[int], around: Frame, from_end: bool = False, strategy: Any = "longest_first", **options: Any):
    """The places of a Cut in each of the texts, as (number of the text, start, end), and which are later ones."""
    bounds = [100, *(100 + end for end in itertools.accumulate(counts))]
    found = Cut.of(bounds, around, {"truncation_strategy": strategy, **options}, from_end)
    if found is None:
        return None
    spans = [(i, start - bounds[i], end - bounds[i]) for i, (start, end) in zip(found.numbers, found.places, strict=True)]
    return spans, found.later


ONE = frame([[7], "A", [9]], n_usual=2)
TWO = frame(["A", [9], "B"], is_pair=True, n_usual=2)


@pytest.mark.parametrize("strategy", [None, "do_not_truncate"])
def test_nothing_is_cut_where_that_is_not_asked_for(strategy):
    wanted = [(0, 0, 5), (1, 0, 0), (2, 0, 7)], [False] * 3
    assert cut([5, 0, 7], ONE, strategy=strategy, max_length=1, stride=-1) == wanted
    assert cut([5, 0, 7], ONE, max_length=9) == wanted  # just room
    assert Cut.of([0, 3], ONE, {}, False) == Cut(range(1), [(0, 3)], [False])


@pytest.mark.parametrize(
    ("counts", "options", "spans"),
    [
        ([5, 0, 7], {"max_length": 6}, [(0, 0, 4), (1, 0, 0), (2, 0, 4)]),
        ([5, 0, 7], {"max_length": 6, "from_end": True}, [(0, 1, 5), (1, 0, 0), (2, 3, 7)]),
        ([5, 0, 4], {"max_length": 2}, [(0, 0, 0), (1, 0, 0), (2, 0, 0)]),
        ([5, 4], {"max_length": 7, "stride": 4}, [(0, 0, 5), (1, 0, 4)]),
    ],
)
def test_a_text_is_cut_to_the_room_that_is_left(counts, options, spans):
    assert cut(counts, ONE, **options) == (spans, [False] * len(spans))


@pytest.mark.parametrize("from_end", [False, True])
def test_what_overflows_comes_in_stretches(from_end):
    options = {"max_length": 6, "return_overflowing_tokens": True, "from_end": from_end}
    spans = {
        0: [(0, 0, 4), (0, 4, 8), (0, 8, 9), (1, 0, 0), (2, 0, 4), (3, 0, 4), (3, 4, 5)],
        1: [(0, 0, 4), (0, 3, 7), (0, 6, 9), (1, 0, 0), (2, 0, 4), (3, 0, 4), (3, 3, 5)],
        3: [(0, i, i + 4) for i in range(6)] + [(1, 0, 0), (2, 0, 4), (3, 0, 4), (3, 1, 5)],
    }
    counts = [9, 0, 4, 5]
    for stride, wanted in spans.items():
        mirrored = [(i, counts[i] - end, counts[i] - start) for i, start, end in wanted]
        found = cut(counts, ONE, stride=stride, **options)
        assert found == (mirrored if from_end else wanted, [start > 0 for _, start, _ in wanted])


@pytest.mark.parametrize(
    ("counts", "options"),
    [
        ([5], {"max_length": 1}),  # not even the ids around fit
        *[([1], {"max_length": value}) for value in (None, -1, 1 << 64, 5.0)],
        *[([1], {"max_length": 5, "stride": value}) for value in (None, -1, 1 << 64, 4)],
        ([1], {"max_length": 5, "strategy": "shortest_first"}),
        ([3, 5, 4], {"max_length": 6, "stride": 4}),
        ([5], {"max_length": 2, "return_overflowing_tokens": True}),
    ],
)
def test_what_tokenizers_refuses_or_leaves_is_left_to_it(counts, options):
    assert cut(counts, ONE, **options) is None


def test_a_stride_must_fit_beside_the_ids_that_are_usual():
    bare = frame([[7], "A", [9]], has_ids=False, n_usual=2)
    assert cut([3], bare, max_length=5, stride=3) == ([(0, 0, 3)], [False])
    assert cut([3], bare, max_length=5, stride=4) is None
    assert cut([3], bare, max_length=1) == ([(0, 0, 1)], [False])
    largest = (1 << 64) - 1
    assert cut([3], ONE, max_length=largest, stride=largest - 2) == ([(0, 0, 3)], [False])


@pytest.mark.parametrize(
    ("strategy", "lengths", "room", "kept"),
    [
        ("longest_first", (3, 4), 7, (3, 4)),
        ("longest_first", (10, 2), 7, (5, 2)),
        ("longest_first", (2, 10), 7, (2, 5)),
        ("longest_first", (6, 5), 7, (4, 3)),
        ("longest_first", (5, 6), 7, (3, 4)),
        ("longest_first", (5, 5), 7, (3, 4)),
        ("longest_first", (9, 8), 7, (4, 3)),
        ("longest_first", (4, 3), 6, (3, 3)),
        ("longest_first", (3, 0), 0, (0, 0)),
        ("only_first", (10, 2), 7, (5, 2)),
        ("only_first", (3, 6), 7, (1, 6)),
        ("only_first", (3, 7), 7, None),
        ("only_first", (0, 7), 7, (0, 7)),
        ("only_second", (2, 10), 7, (2, 5)),
        ("only_second", (6, 3), 7, (6, 1)),
        ("only_second", (7, 3), 7, None),
        ("only_second", (10, 2), 7, None),
        ("only_second", (7, 0), 7, (7, 0)),
    ],
)
def test_two_texts_share_the_room(strategy, lengths, room, kept):
    found = cut([0, lengths[0], 0, lengths[1]], TWO, strategy=strategy, max_length=room + 1)  # beside a pair that fits
    if kept is None:
        assert found is None
    else:
        assert found == ([(0, 0, 0), (1, 0, kept[0]), (2, 0, 0), (3, 0, kept[1])], [False] * 4)


def test_texts_by_longest_first_are_as_equal_as_they_can_be():
    rng = random.Random(1)
    for _ in range(300):
        first, second, room = rng.randrange(12), rng.randrange(12), rng.randrange(12)
        ((_, _, a), (_, _, b)), _ = cut([first, second], TWO, max_length=room + 1)
        assert a <= first
        assert b <= second
        assert a + b == min(first + second, room)
        assert abs(a - b) == min(abs(2 * n - a - b) for n in range(a + b + 1) if n <= first and a + b - n <= second)
        assert (a > b) <= (first > second)


def test_one_text_is_cut_alike_by_the_first_and_by_the_longest():
    for strategy in "only_first", "longest_first":
        assert cut([5, 3], ONE, strategy=strategy, max_length=6) == ([(0, 0, 4), (1, 0, 3)], [False] * 2)
    assert cut([5], ONE, strategy="only_second", max_length=6) is None
    assert cut([5], ONE, strategy="only_first", max_length=2) is None  # nothing would be left


def test_stretches_of_pairs_are_combined_as_by_tokenizers():
    options = {"max_length": 5, "return_overflowing_tokens": True, "strategy": "longest_first"}
    counts = [4, 1, 3, 1]
    firsts = [(0, 0, 2), (0, 2, 4), (0, 2, 4), (0, 0, 2), (1, 0, 1)]
    seconds = [(2, 0, 2), (2, 0, 2), (2, 2, 3), (2, 2, 3), (3, 0, 1)]
    later = [False, True, True, False, False, False, False, True, True, False]
    assert cut(counts, TWO, **options) == (firsts + seconds, later)
    found = Cut.of([0, 4, 5, 8, 9], TWO, {"truncation_strategy": "longest_first", **options}, False)
    assert found is not None
    assert found.only(2, True) == Cut([0, 2], [(2, 4), (7, 8)], [True, True])
    assert found.only(1, False) == Cut([0], [(2, 4)], [True])
    twice = frame(["A", "B", "A"], is_pair=True)
    assert cut(counts, twice, **options) is None
    del options["return_overflowing_tokens"]
    assert cut(counts, twice, **options) == ([(0, 0, 3), (1, 0, 1), (2, 0, 2), (3, 0, 1)], [False] * 4)


def test_stretches_follow_the_texts_of_the_template():
    a, b = [(0, 0, 2), (0, 2, 4), (0, 4, 5)], [(1, 0, 2), (1, 2, 3)]
    around = {order: frame(order, is_pair=True).combined(a, b) for order in ("AB", "BA", "A", "B")}
    ends = [(a[1], b[0]), (a[1], b[1]), (a[2], b[0]), (a[2], b[1])]
    assert around["AB"] == [(a[0], b[0]), *ends, (a[0], b[1])]
    assert around["BA"] == [(a[0], b[0]), (a[0], b[1]), (a[1], b[1]), (a[2], b[1]), (a[1], b[0]), (a[2], b[0])]
    assert around["A"] == [(each, b[0]) for each in a]
    assert around["B"] == [(a[0], each) for each in b]
    assert frame("AA", is_pair=True).combined(a, b) is None


def test_what_is_around_the_texts_of_a_row():
    rows = [[1], [2, 3], [4, 5, 6], []]
    pair = frame(PIECES, [0, 0, 0, 1], later=(2, 3), is_pair=True)
    assert (pair.n_ids, pair.n_texts) == (3, 2)
    framed = pair.put(rows)
    assert framed == [[7, 8, 1, 9, 4, 5, 6], [7, 8, 2, 3, 9]]
    numbers = pair.numbers_of_texts(rows)
    assert numbers == [[None, None, 0, None, 1, 1, 1], [None, None, 0, 0, None]]
    assert {type(number) for row in numbers for number in row} == {int, type(None)}
    assert pair.type_rows(rows, framed, [False] * 4) == [[0, 0, 0, 0, 1, 1, 1], [0] * 5]
    assert pair.type_rows(rows, framed, [False, True, True, False]) == [[0, 0, 0, 0, 3, 3, 3], [0, 0, 2, 2, 0]]

    one = frame(["A", [9]], later=(2, 3))
    assert (one.n_ids, one.n_texts) == (1, 1)
    framed = one.put(rows)
    assert framed == [[1, 9], [2, 3, 9], [4, 5, 6, 9], [9]]
    assert one.numbers_of_texts(rows) == [[0, None], [0, 0, None], [0, 0, 0, None], [None]]
    assert one.type_rows(rows, framed, [False] * 4) == [[0] * len(row) for row in framed]
    assert one.type_rows(rows, framed, [False, True] * 2)[1] == [2, 2, 0]

    bare = frame(PIECES, [5, 0, 6, 1], is_pair=True, has_ids=False)
    assert (bare.pieces, bare.types, bare.n_ids) == (["A", "B"], [0, 1], 0)
    assert frame(["A"], is_pair=True).put(rows) == [[1], [2, 3]]  # no second text
    assert frame(["B", "A"], is_pair=True).put(rows) == [[4, 5, 6, 1], [2, 3]]


@pytest.mark.parametrize(("pieces", "n_texts"), [("A", 1), ("AB", 2), ("BA", 2), ("B", None), ("AA", None), ("ABA", None)])
def test_texts_have_numbers_where_each_is_there_once(pieces, n_texts):
    found = frame(pieces, is_pair=True)
    assert found.n_texts == n_texts
    assert (found.numbers_of_texts([[1], [2]]) is None) == (n_texts is None)
    assert frame(pieces, is_numbered_once=False).n_texts is None


@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({"padding_strategy": "longest"}, 5),
        ({"padding_strategy": "longest", "max_length": 9}, 5),
        ({"padding_strategy": "max_length", "max_length": 9}, 9),
        ({"padding_strategy": "max_length", "max_length": 3}, 3),
        *[
            ({"padding_strategy": "longest", "pad_to_multiple_of": n}, width)
            for n, width in ((4, 8), (5, 5), (1, 5), (0, 5))
        ],
        ({"padding_strategy": "max_length", "max_length": 9, "pad_to_multiple_of": 8}, 16),
    ],
)
def test_rows_get_the_width_that_is_asked_for(options, width):
    found = RowPadding.of([[1, 2], [3] * 5], {"x": 0}, options, "right")
    assert found == RowPadding(width, "right", {"x": 0})
    assert RowPadding.of([[1]], {}, {**options, "padding_side": "left"}, "right").side == "left"
    assert found.apply("x", [[1, 2], [3] * 5]) == [[1, 2] + [0] * (width - 2), [3] * 5 + [0] * (width - 5)]
    assert found._replace(side="left").apply("x", [[1, 2]]) == [[0] * (width - 2) + [1, 2]]


def test_which_padding_is_plain():
    for unpadded in {}, {"padding_strategy": None}, {"padding_strategy": "do_not_pad"}:
        assert is_unpadded(unpadded)
        assert is_padded_plainly({**unpadded, "max_length": -1, "padding_side": "top"}, "top")
    longest = {"padding_strategy": "longest"}
    assert not is_unpadded(longest)
    for plain in {}, {"max_length": 0}, {"pad_to_multiple_of": (1 << 64) - 1}, {"max_length": None, "padding_side": "left"}:
        assert is_padded_plainly({**longest, **plain}, "right")
    assert is_padded_plainly({**longest, "padding_side": "left"}, "top")
    for odd in {"max_length": -1}, {"max_length": 1 << 64}, {"pad_to_multiple_of": 8.0}, {"padding_side": "top"}:
        assert not is_padded_plainly({**longest, **odd}, "right")
    assert not is_padded_plainly(longest, "top")
