"""The tokens of a text: where they stand in it, in bytes and in characters, and how a person sees them."""

from __future__ import annotations

import html
import io
import itertools
import re
import sys
import threading

import naive
import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTES

import nbbpe
from nbbpe.encoding import token_display
from nbbpe.encoding import tokens as tokens_module
from nbbpe.encoding.offsets import OffsetFinder
from nbbpe.encoding.token_display import visible
from nbbpe.model.post_processor import Trimming
from nbbpe.text.utf8 import to_bytes

pytestmark = pytest.mark.usefixtures("guarded_arrays")

RESET = "\x1b[0m"


def character_bytes(text: str | bytes) -> list[bytes]:
    """The bytes of each character of a text; of bytes that are no UTF-8, each is a character."""
    characters = text.decode(errors="surrogateescape") if isinstance(text, bytes) else text
    escaped = [c.encode(errors="surrogateescape") if "\udc80" <= c <= "\udcff" else None for c in characters]
    return [e or c.encode(errors="surrogatepass") for e, c in zip(escaped, characters, strict=True)]


def assert_offsets(tokenizer: nbbpe.Tokenizer, text: str | bytes) -> None:
    found = tokenizer.tokenize(text)
    data = to_bytes(text)
    assert found.ids.tolist() == tokenizer.encode(text)
    assert found.ids.dtype == tokenizer.dtype
    assert found.tokens == [tokenizer.id_to_token(token_id) for token_id in found.ids.tolist()]
    for offsets in found.byte_offsets, found.char_offsets:
        assert offsets.dtype == np.int64
        assert offsets.shape == (len(found.ids), 2)
    assert [data[start:end] for start, end in found.byte_offsets.tolist()] == found.tokens
    assert b"".join(found.tokens) == data
    assert found.char_offsets.tolist() == naive.char_offsets(found.tokens, character_bytes(text))


# Offsets


def test_offsets_wait_for_no_other_thread(small, monkeypatch):
    """As a forked process would for good, were there a lock that a thread of its parent held (see test_lazy.py)."""
    begun, gate = threading.Event(), threading.Event()
    found = []

    def in_characters(text, *offsets):
        if text == "slow":
            begun.set()
            gate.wait(60)
        return offsets

    monkeypatch.setattr(tokens_module, "in_characters", in_characters)
    slow = threading.Thread(target=lambda: small.tokenize("slow").char_offsets)
    slow.start()
    try:
        assert begun.wait(60)
        other = threading.Thread(target=lambda: found.append(small.tokenize("the").char_offsets), daemon=True)
        other.start()
        other.join(30)
        assert found
    finally:
        gate.set()
        slow.join()


def test_offsets_by_hand():
    # é and 🙂 have a token for each byte, and each of these the offsets of the character.
    bytewise = nbbpe.Tokenizer(BYTES, [], ["<s>"])
    found = bytewise.tokenize("aé🙂<s>b")
    assert found.ids.tolist() == [97, 0xC3, 0xA9, 0xF0, 0x9F, 0x99, 0x82, 256, 98]
    assert found.byte_offsets.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 10], [10, 11]]
    assert found.char_offsets.tolist() == [[0, 1], [1, 2], [1, 2], [2, 3], [2, 3], [2, 3], [2, 3], [3, 6], [6, 7]]


@pytest.mark.parametrize("text", ["the cat", "the café"])
def test_offsets_that_are_shifted_in_place_change_no_token(small, text):
    """As by those who add where the text begins in a larger one."""
    tokens = small.tokenize(text)
    before = list(tokens)
    for offsets in tokens.byte_offsets, tokens.char_offsets:
        with pytest.raises(ValueError, match="read-only"):
            offsets += 100
    assert list(tokens) == before
    assert (tokens.byte_offsets + 100)[0].tolist() == [100, 100 + len(tokens.tokens[0])]


def test_a_token_that_holds_parts_of_two_characters_has_both():
    vocab = BYTES | {256: b"\xa9\xc3"}
    tokenizer = nbbpe.Tokenizer(vocab, [(b"\xa9", b"\xc3")], pattern=None)
    assert tokenizer.tokenize("éé").char_offsets.tolist() == [[0, 1], [0, 2], [1, 2]]


@given(text=st.one_of(texts.texts(), texts.data()))
def test_offsets_are_those_of_the_plain_twin(small, text):
    assert_offsets(small, text)


@given(text=st.text(st.sampled_from("aé中🙂\udc80\udcc3\udca9\ud800 "), max_size=30))
def test_offsets_of_text_with_lone_surrogates_count_its_own_characters(small, text):
    assert_offsets(small, text)


def test_offsets_of_a_long_text(gpt2, shared):
    for file in "cjk", "scripts_extra":
        assert_offsets(gpt2, (shared / "text" / f"{file}.txt").read_bytes()[:60_000])


def test_an_empty_text_has_no_tokens(small):
    for empty in "", b"":
        found = small.tokenize(empty)
        assert_offsets(small, empty)
        assert list(found) == []
        assert len(found) == 0
        assert "0 tokens" in found._repr_html_()


def test_offsets_are_hugging_faces(gpt2, gpt2_of_tokenizers, shared):
    for file in "scripts_extra", "cjk", "code_rails", "tinystories_sample":
        text = (shared / "text" / f"{file}.txt").read_bytes()[:50_000].decode(errors="ignore") + texts.SAMPLE
        ours, encoding = gpt2.tokenize(text, allowed_special=()), gpt2_of_tokenizers.encode(text)
        assert ours.ids.tolist() == encoding.ids
        assert ours.char_offsets.tolist() == [list(pair) for pair in encoding.offsets]


def test_text_and_offsets_of_ids_are_tiktokens(gpt2, shared):
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {token: i for i, token in gpt2.vocab.items() if i != 50256}
    theirs = tiktoken.Encoding("gpt2", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={texts.SPECIAL: 50256})
    text = (shared / "text" / "scripts_extra.txt").read_bytes()[:20_000].decode(errors="ignore")
    for each in text, texts.SAMPLE + texts.SPECIAL + "🙂", "":
        ids = gpt2.encode(each)
        assert gpt2.decode_with_offsets(ids) == theirs.decode_with_offsets(ids)
        assert gpt2.decode_with_offsets(np.array(ids, dtype=np.int64)) == theirs.decode_with_offsets(ids)


def test_ids_that_are_no_text_have_no_offsets(small):
    with pytest.raises(UnicodeDecodeError):
        small.decode_with_offsets([0xC3])
    with pytest.raises(ValueError, match="id 400"):
        small.decode_with_offsets([97, 400])


def test_special_tokens_are_recognised_as_in_encode(small):
    text = "a" + texts.SPECIAL
    assert len(small.tokenize(text)) == 2
    assert small.tokenize(text, allowed_special=()).ids.tolist() == small.encode_ordinary(text)
    with pytest.raises(ValueError, match="disallowed"):
        small.tokenize(text, allowed_special=(), disallowed_special="all")
    with pytest.raises(TypeError, match="text must be str or bytes, not int"):
        small.tokenize(5)


def test_a_token_is_found_by_its_number(small):
    tokens = small.tokenize("the café")
    assert [tokens[i] for i in range(len(tokens))] == list(tokens)
    assert tokens[-1] == list(tokens)[-1] == tokens[np.int64(len(tokens) - 1)]
    assert all(type(value) is int for value in (tokens[0].id, *tokens[0].byte_offsets, *tokens[0].char_offsets))
    for number in len(tokens), -len(tokens) - 1:
        with pytest.raises(IndexError, match=rf"token {number} does not exist: there are {len(tokens)} tokens"):
            tokens[number]
    for wrong in slice(0, 1), "a", (0, 1):
        with pytest.raises(TypeError, match=r"the number of a token must be an integer, not .*; ids, tokens, offsets have"):
            tokens[wrong]


def test_tokens_are_a_row_of_named_tuples(small):
    found = small.tokenize("é the")
    rows = list(found)
    assert len(rows) == len(found) == len(found.ids)
    assert [row.id for row in rows] == found.ids.tolist()
    assert b"".join(row.token for row in rows).decode() == "é the"
    assert [list(row.byte_offsets) for row in rows] == found.byte_offsets.tolist()
    assert [list(row.char_offsets) for row in rows] == found.char_offsets.tolist()
    assert {type(number) for row in rows for number in (row.id, *row.byte_offsets, *row.char_offsets)} == {int}
    assert repr(small.tokenize("the")) == "Tokens(1 of 3 bytes: 'the')"


# What a person sees


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" the", " the"),
        ("é中🙂".encode(), "é中🙂"),
        (b"\xf0\x9f", r"\xf0\x9f"),
        (b"a\xffb", r"a\xffb"),
        (b"\x80", r"\x80"),
        (b"\t\r\x00\x1b[0m\x7f", "␉␍␀␛[0m␡"),
        (b"a\n\nb", "a␊\n␊\nb"),
        ("\x85\xa0\u202e\u200d\u3000".encode(), r"\u0085\u00a0\u202e\u200d\u3000"),
        ("\U000e0041".encode(), r"\U000e0041"),
        ("\u0301".encode(), "\u25cc\u0301"),
        ("e\u0301".encode(), "e\u0301"),
    ],
)
def test_everything_in_a_token_can_be_seen(token, shown):
    assert visible(token) == shown


@given(st.binary(min_size=1, max_size=8))
def test_nothing_shown_can_steer_a_terminal(token):
    assert visible(token).replace("\n", "").isprintable()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_tokens_are_shown_on_coloured_ground_in_a_terminal(small, terminal):
    text = "the cat" + texts.SPECIAL + "\n\xa0\x1b[31m é" * 3
    small.show(text, file=terminal)
    shown = terminal.getvalue()
    colours = re.findall(r"\x1b\[30;48;5;(\d+)m", shown)
    assert len(set(colours)) == len(token_display.COLOURS)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert plain == "".join(map(visible, small.tokenize(text).tokens)) + "\n"
    assert all(line.endswith(RESET) for line in shown.splitlines())  # no colour goes on over a line's end


def test_each_token_has_a_colour_of_its_own(small, terminal):
    small.show("the cat", file=terminal)
    spans = re.findall(r"\x1b\[30;48;5;(\d+)m(.*?)\x1b\[0m", terminal.getvalue())
    assert [shown for _, shown in spans] == [visible(token) for token in small.tokenize("the cat").tokens]
    assert all(one != other for (one, _), (other, _) in itertools.pairwise(spans))


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_can_ask_for_no_colours(small, terminal, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    small.show("the cat", file=terminal)
    assert terminal.getvalue() == "|".join(map(visible, small.tokenize("the cat").tokens)) + "\n"
    asked = Terminal()
    small.show("the cat", file=asked, color=True)
    assert RESET in asked.getvalue()


def test_an_empty_no_color_asks_for_nothing(small, terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "")
    small.show("the cat", file=terminal)
    assert RESET in terminal.getvalue()


def test_elsewhere_tokens_are_separated(small, capsys):
    small.show("the cat\n" + texts.SPECIAL)
    assert capsys.readouterr().out == "|".join(map(visible, small.tokenize("the cat\n" + texts.SPECIAL).tokens)) + "\n"
    small.show("")
    assert capsys.readouterr().out == "\n"
    small.show(b"\xff\xfe")
    assert capsys.readouterr().out == "\\xff|\\xfe\n"


def test_a_file_may_have_no_more_than_write(small):
    class File:
        def __init__(self) -> None:
            self.parts: list[str] = []
            self.write = self.parts.append

    file = File()
    small.show("the cat", file=file)
    assert "".join(file.parts) == "|".join(map(visible, small.tokenize("the cat").tokens)) + "\n"


def test_where_there_is_no_standard_output_nothing_is_shown(small, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it where it is closed, and in pythonw
    small.show("the cat")


def test_a_file_that_cannot_hold_a_character_gets_an_escape(small):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    small.with_special_tokens(["中"]).show("中\n", file=file)
    file.flush()
    assert raw.getvalue().decode("ascii") == "\\u4e2d|\\u240a\n\n"


def test_the_html_form_escapes_the_text_and_names_ids_and_offsets(small):
    text = '<script>alert("x & y")</script>\n' + texts.SPECIAL + "é\x00"
    found = small.tokenize(text)
    page = found._repr_html_()
    assert "<script" not in page
    spans = re.findall(r'<span title="([^"]*)" style="([^"]*)">(.*?)</span>', page, re.DOTALL)
    assert [html.unescape(shown) for _, _, shown in spans] == list(map(visible, found.tokens))
    for (title, _, _), token in zip(spans, found, strict=True):
        (start, end), (first, last) = token.byte_offsets, token.char_offsets
        assert title == f"id {token.id}, bytes {start} to {end}, characters {first} to {last}"
    styles = [style for _, style, _ in spans]
    assert all(one != other for one, other in itertools.pairwise(styles))
    assert re.sub(r"<[^>]*>", "", page).endswith(f"{len(found)} tokens")


def test_the_html_form_of_a_long_text_is_cut(small):
    found = small.tokenize("the cat sat on the mat " * 2000)
    page = found._repr_html_()
    assert page.count("<span") == 5000
    assert f"and {len(found) - 5000:,} more" in page
    assert f"{len(found):,} tokens" in page


@pytest.mark.parametrize("few", [0, 20])
def test_ids_that_begin_elsewhere_than_their_texts_have_no_offsets(small, monkeypatch, few):
    monkeypatch.setattr("nbbpe.encoding.offsets._FEW", few)
    finder = OffsetFinder(small._model, Trimming(trims=False, keeps_first=False))
    ids = [97, 98, 99]
    found = finder.find(["ab", "c"], ids, [0, 2, 3])
    assert finder.offsets(found, [(0, 2), (2, 3)]) == [[(0, 1), (1, 2)], [(0, 1)]]
    assert finder.find(["ab", "c"], ids, [0, 1, 3]) is None  # of "a" and "bc"
    assert finder.find(["ab", "d"], ids, [0, 2, 3]) is None
    assert finder.find(["abc", ""], ids, [0, 2, 3]) is None
    assert finder.find(["ab", "c"], ids, [0, 3, 3]) is None
