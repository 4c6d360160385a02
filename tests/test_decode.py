"""Ids to text: by look-ups and by the kernels, many texts at once, and id by id as a model gives them."""

from __future__ import annotations

import pickle
import random
import re
from collections import Counter, OrderedDict, UserDict

import naive
import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from limits import takes_memory_below
from vocabularies import BYTES, saved_as_ranks

import nbbpe
from nbbpe.encoding import decoder

pytestmark = pytest.mark.usefixtures("guarded_arrays")

IDS = st.lists(st.integers(0, 399), max_size=40)  # of the tokenizer `small`


@pytest.fixture(params=["look-ups", "kernels"])
def way(request, sizes, monkeypatch) -> str:
    """Decode in one way, whatever the number of ids."""
    if request.param == "kernels":
        sizes(decoded=0)
    else:
        monkeypatch.setattr(decoder.Decoder, "_copy", lambda *_: None)
    return request.param


@pytest.fixture(scope="module")
def with_gaps(small) -> nbbpe.Tokenizer:
    """A tokenizer with ids that no token has, and tokens of all lengths."""
    more = {405: b"x" * 7, 406: b"x" * 8, 408: b"x" * 9, 450: b"x" * 1000}
    return nbbpe.Tokenizer(small.vocab | more, small.merges, {"<far>": 500})


@pytest.mark.usefixtures("way")
def test_ids_are_decoded_as_the_plain_twin_does(with_gaps):
    vocab = with_gaps.vocab

    @given(st.lists(st.sampled_from(sorted(vocab)), max_size=40))
    def check(ids):
        expected = naive.decode(ids, vocab)
        for given_ids in (ids, tuple(ids), iter(ids), np.array(ids, dtype=np.uint16), np.array(ids, dtype=np.int64)):
            assert with_gaps.decode_bytes(given_ids) == expected
        assert with_gaps.decode_bytes([np.int32(i) for i in ids]) == expected
        assert with_gaps.decode_bytes(np.array(ids, dtype=object)) == expected
        assert with_gaps.decode_bytes(np.array(ids * 2, dtype=np.int64)[::2]) == naive.decode((ids * 2)[::2], vocab)

    check()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bad", [404, 499, 501, -1, 2**40, -(2**40), 2**63 - 1])
def test_an_id_that_no_token_has_is_named_with_its_place(with_gaps, bad):
    message = rf"id {bad} at index 2 is not in the vocabulary of 405 tokens"
    for ids in ([97, 500, bad, 98], np.array([97, 500, bad, 98]), np.array([97, 500, bad, bad], dtype=object)):
        with pytest.raises(ValueError, match=message):
            with_gaps.decode_bytes(ids)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bad", [2**63, 2**64 + 97, -(2**63) - 1])
def test_an_id_of_more_bits_than_any_is_named(with_gaps, bad):
    with pytest.raises(ValueError, match=rf"id {bad} at index 1 "):
        with_gaps.decode_bytes([97, bad])
    if 0 < bad < 2**64:
        with pytest.raises(ValueError, match=rf"id {bad} at index 1 "):
            with_gaps.decode_bytes(np.array([97, bad], dtype=np.uint64))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "bad", [True, False, np.True_, 1.0, 97.5, np.float64(1), "a", None, [97], np.array([97, 98]), b"a"]
)
def test_what_is_no_integer_is_no_id(small, bad):
    for ids in ([97, bad], (97, bad), iter([97, bad])):
        with pytest.raises(ValueError, match=r"^ids must be integers, and the one at index 1 is ") as error:
            small.decode(ids)
        assert repr(bad) in str(error.value)
        assert str(error.value).endswith("; decode_batch takes a text in each row") == isinstance(bad, (list, np.ndarray))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("dtype", [float, bool, complex, "U1", "datetime64[s]"])
def test_an_array_that_holds_no_integers_is_an_error_that_names_its_type(small, dtype):
    with pytest.raises(ValueError, match="ids must be integers, not an array of"):
        small.decode(np.zeros(3, dtype=dtype))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", [list, tuple, iter, np.array])
def test_special_tokens_can_be_left_out(small, kind):
    ids = small.encode(f"the{texts.SPECIAL} cat{texts.SPECIAL}{texts.SPECIAL}")
    assert small.decode(kind(ids), skip_special_tokens=True) == "the cat"
    assert small.decode(kind(ids)) == f"the{texts.SPECIAL} cat{texts.SPECIAL}{texts.SPECIAL}"
    assert small.decode_batch([kind(ids), []], skip_special_tokens=True) == ["the cat", ""]
    with pytest.raises(ValueError, match=r"id 9999 at index 1 "):
        small.decode(kind([small.special_tokens[texts.SPECIAL], 9999]), skip_special_tokens=True)


@pytest.mark.parametrize("shape", [(1, 3), (2, 0), (2, 2, 2)])
def test_an_array_of_other_than_one_dimension_is_an_error(small, shape):
    with pytest.raises(ValueError, match=r"must be a 1-D array, not of shape \(.*decode_batch"):
        small.decode(np.zeros(shape, dtype=np.int64))


@pytest.mark.parametrize("one", [np.int64(97), np.array(97)])
def test_one_id_of_numpy_is_no_list(small, one):
    """As argmax gives it; of tensors, too."""
    for decode in small.decode, small.decode_bytes, small.decode_with_offsets:
        with pytest.raises(TypeError, match=r"ids must be a list or an array of integers, not one, 97: give \[97\]"):
            decode(one)


@pytest.mark.parametrize("bad", [5, None, 1.5])
def test_what_is_no_list_is_an_error(small, bad):
    with pytest.raises(TypeError, match=r"ids must be a list or an array of integers, not \w+: "):
        small.decode(bad)


@pytest.mark.parametrize(
    "bad",
    [
        b"ab",
        bytearray(b"ab"),
        memoryview(b"ab"),
        {97: 1},
        OrderedDict({97: 1}),
        Counter([97, 98]),
        UserDict({97: 1}),
        {97, 98},
        frozenset([97]),
        np.ma.masked_array([97, 98], mask=[False, True]),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_numbers_that_are_no_ids_in_an_order_are_an_error(small, bad):
    """As the bytes of a file of ids: each would be decoded as one id."""
    of_one_text = small.decode, small.decode_bytes, small.decode_with_offsets, small.decode_tokens_bytes
    for decode in *of_one_text, small.stream_decoder().feed, lambda ids: small.decode_batch([ids]):
        with pytest.raises(TypeError, match=rf"ids must be a list or an array of integers, not {type(bad).__name__}[:,] "):
            decode(bad)
    assert small.decode(np.frombuffer(b"ab", dtype=np.uint8)) == small.decode({97: 1, 98: 1}.keys()) == "ab"
    assert small.decode(memoryview(np.array([97, 98], dtype=np.uint16))) == "ab"
    assert (
        small.decode_with_offsets({97: 1, 98: 1}.keys())
        == small.decode_with_offsets({1: 97, 2: 98}.values())
        == ("ab", [0, 1])
    )


def test_an_error_of_the_iterable_reaches_the_user(small):
    def ids():
        yield 97
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        small.decode(ids())


def test_an_array_of_another_library_is_taken_as_one(small):
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array(small.encode("the cat"))

    assert small.decode(Tensor()) == "the cat"


def test_a_tensor_on_a_gpu_is_copied_from_there(small):
    class Tensor:
        ndim = 1

        def __init__(self, ids):
            self.ids = ids

        def __array__(self, dtype=None, copy=None):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to ...")

        def __iter__(self):
            return iter(self.ids)

        def tolist(self):
            return self.ids

    ids = small.encode("the cat")
    assert small.decode(Tensor(ids)) == "the cat"
    assert small.decode_batch([Tensor(ids), Tensor([])]) == ["the cat", ""]
    assert small.decode_with_offsets(Tensor(ids)) == small.decode_with_offsets(ids)
    with pytest.raises(ValueError, match="an array of float64"):
        small.decode(Tensor([1.5]))


@pytest.mark.parametrize(
    ("ids", "starts"),
    [
        ([97, 256], [0, 1]),
        ([256, 195, 169, 256, 97, 256], [0, 0, 0, 1, 1, 2]),
        ([195, 256, 256, 169], [0, 0, 0, 0]),
        ([256], [0]),
    ],
)
def test_an_empty_token_starts_where_the_next_one_does(tmp_path, ids, starts):
    """Whisper's vocabulary has one."""
    tokenizer = saved_as_ranks([b"", b"ab"], tmp_path)
    assert tokenizer.decode_with_offsets(ids) == (tokenizer.decode(ids), starts)


def test_many_ids_give_what_few_at_a_time_do(gpt2, shared):
    data = (shared / "text" / "scripts_extra.txt").read_bytes()[:300_000]
    ids = gpt2.encode_array(data)
    assert len(ids) > decoder._MANY
    assert gpt2.decode_bytes(ids) == gpt2.decode_bytes(ids.tolist()) == data
    assert b"".join(gpt2.decode_bytes(ids[i : i + 50]) for i in range(0, len(ids), 50)) == data


def test_a_long_array_is_decoded_in_little_memory(small):
    ids = np.full(2_000_000, 97, dtype=np.uint16)
    ids[-1] = 0xFF
    small.decode_bytes(ids)  # tables are made now
    with takes_memory_below(16_000_000):  # all ids as int64 take as much
        assert small.decode_bytes(ids) == b"a" * 1_999_999 + b"\xff"
        assert small.decode(ids) == "a" * 1_999_999 + "\ufffd"


@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_ids_of_several_blocks_are_decoded_as_one(small, monkeypatch, is_known, as_list):
    monkeypatch.setattr(decoder, "_AT_ONCE", 200)
    text = "é" * 300 + "<far>" * (not is_known)  # a character may be in two blocks, and the compiled loop lacks far ids
    tok = small.with_special_tokens({"<far>": 2**31 - 2})
    array = tok.encode_array(text).astype(np.int64)
    ids = array.tolist() if as_list else array
    assert tok.decode(ids, errors="strict") == text
    assert tok.decode_bytes(ids) == text.encode()
    ids[450] = 5000
    with pytest.raises(ValueError, match="id 5000 at index 450 is not in the vocabulary"):
        tok.decode(ids)
    ids[450], ids[400] = 97, 0xFF
    with pytest.raises(UnicodeDecodeError, match="position 400"):
        tok.decode(ids, errors="strict")


def test_what_is_no_int_is_decoded_or_named_in_any_block(small, monkeypatch):
    monkeypatch.setattr(decoder, "_AT_ONCE", 200)
    small.decode(list(range(97, 123)) * 1000)  # by the compiled loop from now on, which takes only int
    ids = [97] * 500
    ids[450] = np.uint16(98)
    assert small.decode(ids) == "a" * 450 + "b" + "a" * 49
    for wrong in (True, 97.0, None, 2**70):
        ids[450] = wrong
        with pytest.raises(ValueError, match="at index 450"):
            small.decode(ids)


def test_who_decodes_little_again_and_again_gets_the_compiled_loop(small):
    fresh = nbbpe.Tokenizer(small.vocab, small.merges)
    small.encode("a")  # kernels are in use
    for n_calls in range(1, 9):
        assert fresh.decode([97] * (decoder._MANY // 5)) == "a" * (decoder._MANY // 5)
        assert bool(fresh._decoder._idle) == (n_calls > 5)


def test_a_vocabulary_with_a_huge_gap_needs_no_huge_table(small):
    far = small.with_special_tokens({"<far>": 2**31 - 2})
    ids = [97] * 5000 + [2**31 - 2]
    assert far.decode(ids) == far.decode(np.array(ids)) == "a" * 5000 + "<far>"


def test_a_short_text_is_decoded_without_numba(small, tmp_path):
    small.save(tmp_path)
    script = "import sys, nbbpe; print(nbbpe.load(sys.argv[1]).decode([97] * 2000)[:2], 'numba' in sys.modules)"
    assert processes.run(script, tmp_path).split() == ["aa", "False"]


# Many texts


def test_a_batch_is_decoded_text_by_text(small):
    documents = ["the cat", "", "é 中", texts.SPECIAL]
    rows = [small.encode(text) for text in documents]
    assert small.decode_batch(rows) == small.decode_batch(map(np.array, map(np.int64, rows))) == documents
    assert small.decode_batch(iter(rows)) == documents
    assert small.decode_batch(np.array([[97, 98], [99, 100]])) == ["ab", "cd"]
    assert small.decode_batch([]) == []
    assert small.decode_batch([[0xC3], [97]], errors="ignore") == ["", "a"]


@pytest.mark.parametrize("dtype", [None, "int64"])
@pytest.mark.parametrize("documents", [["the cat", "", "é 中", "a" * 1000], [""], []])
def test_a_flat_batch_is_decoded_text_by_text(small, documents, dtype):
    flat = small.encode_batch_flat(documents, dtype=dtype)
    again = pickle.loads(pickle.dumps(flat))
    assert small.decode_batch(flat) == small.decode_batch(again) == documents
    assert small.decode_bytes_batch(flat) == [text.encode() for text in documents]
    ids, starts = flat
    assert (ids is flat.ids, starts is flat.starts, len(starts)) == (True, True, len(documents) + 1)


def test_the_bad_id_of_a_flat_batch_is_named(small):
    flat = small.encode_batch_flat(["a", "bc"])
    with pytest.raises(ValueError, match=r"^batch\[1\]: id 400 at index 1 "):
        small.decode_batch(flat._replace(ids=np.array([97, 98, 400])))


def test_a_stream_without_a_tokenizer_is_refused_at_once():
    for wrong in None, "gpt2":
        with pytest.raises(TypeError, match=rf"tokenizer must be a Tokenizer .*, not {wrong!r}"):
            nbbpe.StreamDecoder(wrong)


def test_no_errors_are_no_way_to_bytes(small):
    for decode in (
        small.decode,
        lambda ids, errors: small.decode_batch([ids], errors),
        lambda ids, errors: small.stream_decoder(errors).feed(ids),
        lambda ids, errors: nbbpe.StreamDecoder(small, errors),
    ):
        with pytest.raises(TypeError, match=r"errors must be a str .* not None; decode_bytes gives bytes"):
            decode([97], None)
        with pytest.raises(TypeError, match=r"errors must be a str .* not True; skip_special_tokens is given by its name"):
            decode([97], True)  # which is skip_special_tokens in tokenizers and transformers


def test_no_errors_are_an_error_for_arrow_data_that_is_valid_utf8(small):
    pa = pytest.importorskip("pyarrow")
    for errors in None, True:
        with pytest.raises(TypeError, match=f"errors must be a str .* not {errors}; "):
            small.decode_arrow(pa.array([[97]]), errors)


@pytest.mark.parametrize("bad", [[97, 98], np.array([97, 98])])
def test_a_batch_that_is_one_text_is_an_error(small, bad):
    message = rf"batch must hold lists of ids, and batch\[0\] is {re.escape(repr(bad[0]))}: decode takes"
    with pytest.raises(TypeError, match=message):
        small.decode_batch(bad)


def test_the_bad_id_of_a_batch_is_named(small):
    with pytest.raises(ValueError, match=r"^batch\[1\]: id 400 at index 1 "):
        small.decode_batch([[97], [97, 400]])


# As ids come


@given(
    ids=IDS, seed=st.integers(0, 1000), errors=st.sampled_from(["replace", "ignore", "surrogateescape", "backslashreplace"])
)
def test_a_stream_gives_what_decode_gives(small, ids, seed, errors):
    stream = small.stream_decoder(errors)
    for _ in range(2):  # after finish it can be used again
        pushed = [stream.push(token_id) for token_id in ids] + [stream.finish()]
        assert "".join(pushed) == small.decode(ids, errors)
    source = random.Random(seed)
    fed, rest = [], ids
    while rest:
        n = source.randrange(len(rest) + 1)
        fed.append(stream.feed(rest[:n] if n % 2 else np.array(rest[:n], dtype=np.uint16)))
        rest = rest[n:]
    assert "".join([*fed, stream.finish()]) == small.decode(ids, errors)


@given(ids=IDS, errors=st.sampled_from(["replace", "ignore"]))
def test_a_stream_skips_the_special_tokens_that_decode_skips(small, ids, errors):
    expected = small.decode(ids, errors, skip_special_tokens=True)
    assert small.decode_bytes(ids, skip_special_tokens=True).decode(errors=errors) == expected
    stream = small.stream_decoder(errors, skip_special_tokens=True)
    for _ in range(2):
        assert "".join(map(stream.push, ids)) + stream.finish() == expected
        assert stream.feed(ids) + stream.feed(np.array(ids, dtype=np.uint16)) + stream.finish() == (
            small.decode([*ids, *ids], errors, skip_special_tokens=True)
        )


def test_a_character_may_go_on_after_a_special_token_that_a_stream_skips(small):
    special = small.special_tokens[texts.SPECIAL]
    stream = nbbpe.StreamDecoder(small, skip_special_tokens=True)
    assert [stream.push(i) for i in [0xC3, special, 0xA9, special, 0x62]] == ["", "", "é", "", "b"]
    with pytest.raises(ValueError, match="not in the vocabulary"):
        stream.push(400)


@given(data=texts.data(60))
def test_a_stream_of_any_bytes_gives_what_decode_gives(data):
    bytewise = nbbpe.Tokenizer(BYTES, [])
    stream = nbbpe.StreamDecoder(bytewise)
    assert "".join(map(stream.push, data)) + stream.finish() == data.decode(errors="replace")


@given(text=texts.texts(40))
def test_a_stream_never_gives_half_a_character(small, text):
    ids = small.encode(text)
    stream = small.stream_decoder()
    so_far, data = "", b""
    for token_id in ids:
        so_far += stream.push(token_id)
        data += small.id_to_token(token_id)
        assert text.startswith(so_far)
        assert so_far == data.decode(errors="ignore")  # and nothing that is whole is kept back
    assert stream.finish() == ""


def test_a_stream_waits_for_the_rest_of_a_character_and_flushes_at_the_end(small):
    stream = small.stream_decoder()
    special = small.special_tokens[texts.SPECIAL]
    assert [stream.push(i) for i in [0x61, 0xF0, 0x9F, 0x99, 0x82]] == ["a", "", "", "", "🙂"]
    assert [stream.push(i) for i in [0xE4, 0xB8, special, 0x62]] == ["", "", "\ufffd" + texts.SPECIAL, "b"]
    assert stream.feed([]) == stream.finish() == ""
    assert stream.push(0xC3) == ""
    assert stream.finish() == "\ufffd"
    assert stream.finish() == ""
    assert stream.push(0xA9) == "\ufffd"  # nothing is left of what was before


def test_a_stream_takes_nothing_of_ids_that_hold_a_bad_one(small):
    stream = small.stream_decoder()
    stream.push(0xC3)
    no_integer = "ids must be integers"
    for bad, message in ([0xA9, 400], "not in the vocabulary"), ([0xA9, True], no_integer), ([1.0], no_integer):
        with pytest.raises(ValueError, match=message):
            stream.feed(bad)
    for bad, message in (400, "not in the vocabulary"), (True, no_integer), (1.0, no_integer):
        with pytest.raises(ValueError, match=message):
            stream.push(bad)
    for several in [0xA9], (0xA9, 97), np.array([0xA9]):
        with pytest.raises(ValueError, match=rf"^push takes one id, not {re.escape(repr(several))}; feed takes several"):
            stream.push(several)
    assert stream.push(np.uint16(0xA9)) == "é"


def test_a_stream_shows_the_bytes_that_wait(small):
    stream = small.stream_decoder("strict")
    stream.push(0xC3)
    assert repr(stream) == r"StreamDecoder(errors='strict', incomplete=b'\xc3')"


def test_a_strict_stream_fails_where_decode_does_and_goes_on(small):
    stream = small.stream_decoder("strict")
    stream.push(0xC3)
    with pytest.raises(UnicodeDecodeError):
        stream.push(0x61)
    assert stream.push(0xA9) == "é"
    stream.push(0xC3)
    with pytest.raises(UnicodeDecodeError):
        stream.finish()
    assert stream.push(0x61) == "a"
    with pytest.raises(LookupError, match="no such"):
        small.stream_decoder("no such handler")
