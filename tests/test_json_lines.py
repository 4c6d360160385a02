"""kernels/records/json_lines.py: what it takes of JSON lines is what `json` makes of them; all else it leaves to `json`."""

from __future__ import annotations

import ctypes
import itertools
import json
import random

import guard_pages
import naive
import numpy as np
import pytest
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st

from nbbpe.kernels.machine.intrinsics import PADDING
from nbbpe.kernels.records import rows
from nbbpe.kernels.records.json_lines import MOST_DEPTH, take_lines
from nbbpe.text import windows

GUARD = 64
BREAK_ID = 7


def take(data: bytes, is_last: bool = True, field: str = "text", n_rows: int = 1000) -> tuple[int, int, list[bytes]]:
    """What `take_lines` says of lines, and the texts that it writes; nothing else is written."""
    lines = np.zeros(len(data) + PADDING, dtype=np.uint8)
    lines[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    lines[len(data) + 1 :: 2], lines[len(data) + 2 :: 2] = b'"\n'  # which would end a string, and a line
    out = np.full(len(data) + PADDING + GUARD, 0xAB, dtype=np.uint8)
    breaks = np.zeros((n_rows, 3), dtype=np.int64)
    name = np.frombuffer(field.encode(), dtype=np.uint8)
    start, after, n_bytes, n = take_lines(lines, 0, len(data), is_last, name, out, 0, breaks, 0, BREAK_ID)
    assert (out[-GUARD:] == 0xAB).all()
    found, begin = [], 0
    for end, next_begin, break_id in breaks[:n].tolist():
        assert (next_begin, break_id) == (end + 1, BREAK_ID)
        assert out[end : end + 1].tobytes() == windows.SEPARATOR
        found.append(out[begin:end].tobytes())
        begin = next_begin
    assert begin == n_bytes
    return start, after, found


def taken(line: bytes, field: str = "text") -> bytes | None:
    """The text of a line, None where it is left to `json`."""
    start, after, found = take(line, field=field)
    assert (start, after) == ((len(line), len(line)) if found else (0, len(line)))
    return found[0] if found else None


# Lines


strings = st.text(st.characters()) | st.text(
    st.sampled_from('a"\\/\n\x00\x1f\x7f é\ud800\udc00\udfff中😀\uffff'), max_size=90
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings | st.just("text"), inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(st.sampled_from(["text", "id", "te", "texts", "é"]), values, max_size=5)


@given(records, st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from(["text", "é"]))
def test_any_record_is_taken_or_left_as_the_twin_says(record, ensure_ascii, indent, field):
    line = json.dumps(record, ensure_ascii=ensure_ascii, indent=indent).replace("\n", "\r").encode(errors="surrogatepass")
    assert taken(line, field) == naive.json_record_text(line, field, MOST_DEPTH)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
@example("a" * 63 + "é", False)
@example("a" * 62 + "中" + "b" * 61 + "😀", False)
@example("\n" * 200, True)
def test_any_text_is_taken(text, ensure_ascii):
    for blanks in 0, 1, 31, 63:
        line = b" " * blanks + json.dumps({"text": text}, ensure_ascii=ensure_ascii).encode()
        assert taken(line) == text.encode()


TAKEN = {
    b'{"text":""}': b"",
    b' \t\r{ \t"text" \r: "a" } \r': b"a",
    b'{"a":0,"b":-0,"c":1.5e-3,"d":2E+8,"e":1e5,"f":12,"text":"a","g":-7.25}': b"a",
    b'{"n":' + b"7" * 5000 + b',"text":"a"}': b"a",
    b'{"a":null,"b":true,"c":false,"text":"a"}': b"a",
    b'{"a":[],"b":{},"c":[{"text":"b"},[1,"x"]],"text":"a","d":{"text":{"text":1}}}': b"a",
    b'{"te\\u0078t":"a","x":"b"}': b"a",
    rb'{"text":"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00\u0000"}': '"\\/\b\f\n\r\té😀\0'.encode(),
    b'{"a":1,"a":2,"text":"a"}': b"a",
    b'{"text":"\x7f\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\xe0\xa0\x80"}': (
        "\x7f\U00010000\U0010ffff\ud7ff\ue000\u0800".encode()
    ),
    b'{"a":' + b"[" * (MOST_DEPTH - 1) + b"]" * (MOST_DEPTH - 1) + b',"text":"a"}': b"a",
}
LEFT = [
    *(b"", b" ", b"{", b"}", b"[]", b'"text"', b"null", b"{}", b'{"text"}', b'{"text":}', b'{"text":"a"', b'{"text":"a'),
    *(b'{"text":"a"}}', b'{"text":"a"} x', b'{"text":"a"},', b'{"text":"a",}', b'{,"text":"a"}', b'{"text":"a" "b":1}'),
    *(b'{"a":[1,],"text":"a"}', b'{"a":[,1],"text":"a"}', b'{"a":[1 2],"text":"a"}', b'{"a":[1},"text":"a"}'),
    *(b'{"a":{"b":1],"text":"a"}', b"{'text':'a'}", b'{text:"a"}', b'{"text":"a"\x0b}', b'\xef\xbb\xbf{"text":"a"}'),
    *(b'{"text":1}', b'{"text":null}', b'{"text":["a"]}', b'{"text":{"text":"a"}}', b'{"Text":"a"}', b'{"a":{"text":"a"}}'),
    *(b'{"text":"a","text":"b"}', b'{"text":1,"text":"b"}', b'{"text":"a","te\\u0078t":1}'),
    *(rb'{"text":"\ud800"}', rb'{"text":"\udc00"}', rb'{"text":"\ud800\ud800"}', rb'{"text":"\ud800\n"}'),
    *(rb'{"text":"\ud800u0000"}', rb'{"a":"\udfff","text":"a"}', rb'{"\udfff":1,"text":"a"}'),
    *(
        rb'{"text":"\x41"}',
        rb'{"text":"\u12"}',
        rb'{"text":"\u+123"}',
        rb'{"text":"\u00g0"}',
        rb'{"text":"\'}',
        b'{"text":"\\',
    ),
    *(b'{"text":"a\nb"}', b'{"text":"a\x00b"}', b'{"text":"a\x1fb"}', b'{"text":"a\tb"}', b'{"a\t":1,"text":"a"}'),
    *(b'{"text":"\xff"}', b'{"text":"\xc3"}', b'{"text":"\xa9"}', b'{"text":"\xc0\x80"}', b'{"text":"\xed\xa0\x80"}'),
    *(
        b'{"text":"\xe0\x9f\xbf"}',
        b'{"text":"\xf0\x8f\xbf\xbf"}',
        b'{"text":"\xf4\x90\x80\x80"}',
        b'{"text":"\xf5\x80\x80\x80"}',
    ),
    *(b'{"text":"a","b":"\xff"}', b'{"text":"a"\xc3\xa9}', b'{"text":"' + b"a" * 62 + b"\xe4\xb8" + b'"}'),
    *(
        b'{"n":%s,"text":"a"}' % n
        for n in (b"01", b"-", b"+1", b".5", b"1.", b"1.e5", b"1e", b"1e+", b"0x1", b"1_0", b"--1")
    ),
    *(
        b'{"n":%s,"text":"a"}' % n
        for n in (b"NaN", b"Infinity", b"-Infinity", b"nul", b"nulls", b"True", b"truefalse", b"fals")
    ),
    b'{"a":' + b"[" * MOST_DEPTH + b"]" * MOST_DEPTH + b',"text":"a"}',
]


@pytest.mark.parametrize("line", TAKEN)
def test_what_is_usual_is_taken(line):
    assert taken(line) == TAKEN[line] == naive.json_record_text(line, "text", MOST_DEPTH)


@pytest.mark.parametrize("line", LEFT)
def test_what_is_unusual_or_no_record_is_left(line):
    start, after, found = take(line)
    first = line.find(b"\n") + 1 or len(line)
    assert (start, after, found) == (0, first, [])
    assert naive.json_record_text(line, "text", MOST_DEPTH) is None


SEEDS = [
    *TAKEN,
    json.dumps(
        {"id": 17, "text": 'It\'s a cat.\n"Quite" é 中文 😀 ' * 3, "meta": {"n": [1, 2.5e3, None], "ok": True}}
    ).encode(),
    json.dumps({"url": "http://a/b", "text": "é中文😀ü" * 9, "x": ["\x07", -0.5]}, ensure_ascii=False).encode(),
]
PIECES = [
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"0", b"-", b".", b"e", b"\\u", b"\\ud83d", b"\\ude00"),
    *(
        b'"text":',
        b"null",
        b"NaN",
        b"\xc3",
        b"\xa9",
        b"\xed",
        b"\xa0",
        b"\xf0\x9f",
        b"\x80",
        b"\xff",
        b"\x00",
        b"\x1f",
        b"\r",
    ),
]


def mutated(line: bytes, source: random.Random) -> bytes:
    """A line with one to three changes: a byte or a piece put in, taken out, put in another's place or twice."""
    for _ in range(source.choice([1, 1, 2, 3])):
        at = source.randrange(len(line) + 1)
        until = min(at + source.choice([0, 1, 1, 2, 8]), len(line))
        new = source.choice([b"", source.choice(PIECES), bytes([source.randrange(256)]), line[at:until] * 2])
        line = line[:at] + new + line[until:]
    return line.replace(b"\n", b"")


@pytest.mark.exhaustive
def test_mutated_lines_are_taken_or_left_as_the_twin_says():
    source = random.Random(1)
    n = examples(25_000, 100_000)
    n_taken, found = 0, set()
    for _ in range(n):
        line = mutated(source.choice(SEEDS), source)
        text = naive.json_record_text(line, "text", MOST_DEPTH)
        assert taken(line) == text, line
        n_taken += text is not None
        found.add(text)
    assert n // 10 < n_taken < n // 2
    assert len(found) > n // 100


def test_every_sequence_of_bytes_that_begins_a_character_is_taken_where_it_is_utf8():
    places = 0, 57, 58, 59, 60, 61, 62, 63
    later = 0x00, 0x22, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE1, 0xFF
    for first in range(0x7F, 0x100):
        for second in later:
            for third in later:
                for place in places[:: 1 if third in (0x80, 0x22) else 5]:
                    # Where three bytes are a character, the next one is wrong.
                    data = b"a" * place + bytes([first, second, third]) + b"\x80" * (first >= 0xF0 or place % 2)
                    line = b'{"text":"' + data + b'b"}'
                    assert taken(line) == naive.json_record_text(line, "text", MOST_DEPTH), line


def test_two_escapes_are_one_character_where_they_are_a_pair_of_surrogates():
    for codes in itertools.product(("d7ff", "d800", "DBFF", "dc00", "DFFF", "e000"), repeat=2):
        line = b'{"text":"\\u%s\\u%s"}' % tuple(code.encode() for code in codes)
        assert taken(line) == naive.json_record_text(line, "text", MOST_DEPTH), line


# Many lines


def test_lines_are_taken_up_to_one_that_is_left():
    data = b'{"text":"a"}\n{"text":"bc"}\r\n{"text":1}\n{"text":"d"}\n'
    assert take(data) == (28, 39, [b"a", b"bc"])
    assert take(data[39:]) == (13, 13, [b"d"])
    assert take(b"\n" + data) == (0, 1, [])
    assert take(data, n_rows=1) == (13, 13, [b"a"])
    assert take(b'{"text":1}\n{"text":"a', is_last=False) == (0, 11, [])
    assert take(b'{"text":"\xc3\xa9"}\n{"text":"\x80"}\n') == (14, 27, [b"\xc3\xa9"])


@pytest.mark.parametrize("is_last", [False, True])
def test_a_line_without_a_newline_is_whole_at_the_end_only(is_last):
    for line in b'{"text":"a"}', b'{"text":"a', b"{", b"x" * 200:
        whole = is_last and line.endswith(b"}")
        for before in b"", b'{"text":"b"}\n':
            n = len(before)
            start, after, found = take(before + line, is_last)
            assert found == [b"b"] * (n > 0) + [b"a"] * whole
            assert start == (n + len(line) if whole else n)
            assert after == (n + len(line) if is_last else n)
            assert take(before + line + b"\n", is_last)[1] == n + len(line) + 1


def test_records_are_written_behind_those_that_are_there():
    lines = np.zeros(200, dtype=np.uint8)
    data = b'{"text":"a"}\n{"text":"bc"}\n'
    lines[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    out, breaks = np.full(400, 9, dtype=np.uint8), np.zeros((4, 3), dtype=np.int64)
    name = np.frombuffer(b"text", dtype=np.uint8)
    assert take_lines(lines, 13, len(data), False, name, out, 5, breaks, 2, -1) == (27, 27, 8, 3)
    assert out[:8].tolist() == [9] * 5 + [ord("b"), ord("c"), 0xFF]
    assert breaks.tolist() == [[0, 0, 0], [0, 0, 0], [7, 8, -1], [0, 0, 0]]


@pytest.mark.skipif(not guard_pages.AVAILABLE, reason="needs mprotect")
def test_nothing_is_read_behind_the_padding():
    """Lines that end before a page which nobody may read; the process would die."""
    page = guard_pages.PAGE
    data = np.frombuffer((ctypes.c_uint8 * page).from_address(guard_pages.new_pages(page)), dtype=np.uint8)
    name = np.frombuffer(b"text", dtype=np.uint8)
    out, breaks = np.empty(2 * page, dtype=np.uint8), np.empty((9, 3), dtype=np.int64)
    begun = [b'{"text":"' + end for end in (b"a" * 100, b"\\", b"\\u", b"\\ud83d")]
    for line in [*TAKEN, *LEFT, *begun, b"-", b"t"]:
        line = line[-page // 2 :]
        for tail in range(min(len(line), 12)):
            part = line[: len(line) - tail]
            end = page - PADDING
            data[:] = 0
            data[end - len(part) : end] = np.frombuffer(part, dtype=np.uint8)
            take_lines(data, end - len(part), end, True, name, out, 0, breaks, 0, -1)


def test_the_separator_is_that_of_windows():
    assert bytes([rows.SEPARATOR]) == windows.SEPARATOR
