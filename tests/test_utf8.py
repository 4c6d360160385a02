"""text/utf8.py: any str and any bytes as UTF-8, and back."""

from __future__ import annotations

import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.text.utf8 import to_bytes, to_text


@given(texts.data())
def test_bytes_as_text_are_the_same_bytes_again(data):
    assert to_bytes(to_text(data)) == data
    assert to_bytes(data) is data


@given(st.text(st.characters(), max_size=50))
def test_any_str_has_bytes_character_by_character(text):
    assert to_bytes(text) == b"".join(map(to_bytes, text))


def test_lone_surrogates_become_the_bytes_they_stand_for_or_their_own_three():
    assert to_bytes("\udc80") == b"\x80"
    assert to_bytes("\udcff") == b"\xff"
    assert to_bytes("\ud800") == b"\xed\xa0\x80"
    assert to_bytes("\udfff") == b"\xed\xbf\xbf"
    assert to_bytes("\udc7f") == b"\xed\xb1\xbf"
    assert to_bytes("\udd00") == b"\xed\xb4\x80"
    assert to_bytes("a\udc80é\ud800") == b"a\x80\xc3\xa9\xed\xa0\x80"


@pytest.mark.parametrize("bad", [None, 1, ["a"], memoryview(b"abcd").cast("I"), memoryview(b"abcd").cast("B", (2, 2))])
def test_what_is_no_text_is_an_error(bad):
    with pytest.raises(TypeError, match="text must be str or bytes, not "):
        to_bytes(bad)
