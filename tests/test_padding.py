"""Texts of different lengths as one array with a mask."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("guarded_arrays")

SPECIAL_ID = 399  # of the tokenizer `small`
DOCUMENTS = ["the cat sat on the mat", "", "é", texts.SPECIAL + "a", b"\xff\xfe\xfd"]


def test_texts_are_cut_and_filled_up_by_hand(small):
    ids, mask = small.encode_padded(["a b", "x"], pad_token=texts.SPECIAL)
    row = small.encode("a b")
    assert len(row) > 1
    assert ids.tolist() == [row, [120] + [SPECIAL_ID] * (len(row) - 1)]
    assert mask.tolist() == [[True] * len(row), [True] + [False] * (len(row) - 1)]
    assert (ids.dtype, mask.dtype) == (np.int64, np.bool_)
    padded = small.encode_padded(["a b", "x"], max_length=1, pad_id=0)
    assert padded.ids.tolist() == [row[:1], [120]]
    assert padded.mask.all()


@given(
    documents=st.lists(st.sampled_from(DOCUMENTS), max_size=5),
    max_length=st.one_of(st.none(), st.integers(1, 12)),
    sides=st.tuples(*[st.sampled_from(["left", "right"])] * 2),
    padding=st.sampled_from(["longest", "max_length"]),
    multiple=st.one_of(st.none(), st.integers(1, 9)),
)
def test_rows_are_those_of_the_plain_twin(small, documents, max_length, sides, padding, multiple):
    padding_side, truncation_side = sides
    if max_length is None:
        padding = "longest"
    ids, mask = small.encode_padded(
        documents,
        max_length,
        pad_id=7,
        padding=padding,
        padding_side=padding_side,
        truncation_side=truncation_side,
        pad_to_multiple_of=multiple,
    )
    width = max_length if padding == "max_length" else None
    encoded = [small.encode(text) for text in documents]
    if multiple is not None:
        longest = max(map(len, naive.pad(encoded, max_length, width, padding_side, truncation_side)), default=0)
        width = next(n for n in range(longest, longest + multiple) if n % multiple == 0)
    rows = naive.pad(encoded, max_length, width, padding_side, truncation_side)
    assert ids.tolist() == [[7 if token_id is None else token_id for token_id in row] for row in rows]
    assert mask.tolist() == [[token_id is not None for token_id in row] for row in rows]
    assert ids.shape == mask.shape
    assert ids.shape[0] == len(documents)
    assert ids.ndim == 2


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint16, "uint32"])
def test_ids_have_the_type_that_is_asked_for(small, dtype):
    ids, _ = small.encode_padded(["the cat", "a"], pad_id=0, dtype=dtype)
    assert ids.dtype == np.dtype(dtype)
    assert ids[0].tolist() == small.encode("the cat")


def test_texts_may_be_any_iterable(small):
    assert small.encode_padded(iter(["a", "b"]), pad_id=0).ids.tolist() == [[97], [98]]
    assert small.encode_padded([], pad_id=0).ids.shape == (0, 0)
    assert small.encode_padded([], 5, pad_id=0, padding="max_length").mask.shape == (0, 5)
    assert small.encode_padded(["", ""], pad_id=0).ids.shape == (2, 0)


@pytest.mark.parametrize("max_length", [2**63 - 1, 2**63, int(1e30)])
def test_a_length_beyond_all_texts_truncates_none(small, max_length):
    """transformers has int(1e30) as the `model_max_length` of a tokenizer without a limit."""
    documents = ["the cat", "", "a"]
    found = small.encode_padded(documents, max_length, pad_id=0)
    assert np.array_equal(found.ids, small.encode_padded(documents, pad_id=0).ids)
    assert small.encode_padded([], max_length, pad_id=0).ids.shape == (0, 0)


def test_padded_rows_agree_with_hugging_faces(gpt2, gpt2_of_tokenizers):
    theirs = gpt2_of_tokenizers
    documents = texts.SAMPLE.split("\n")
    for side, multiple in ("left", None), ("right", None), ("left", 8), ("right", 8):
        for cut in "left", "right":
            theirs.enable_padding(direction=side, pad_id=50256, pad_token=texts.SPECIAL, pad_to_multiple_of=multiple)
            theirs.enable_truncation(20, direction=cut)
            encoded = theirs.encode_batch(documents)
            ids, mask = gpt2.encode_padded(
                documents,
                20,
                pad_token=texts.SPECIAL,
                padding_side=side,
                truncation_side=cut,
                pad_to_multiple_of=multiple,
            )
            assert ids.tolist() == [row.ids for row in encoded]
            assert mask.astype(int).tolist() == [row.attention_mask for row in encoded]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, r"give one of pad_token and pad_id.*'<\|endoftext\|>'.*with_special_tokens"),
        ({"pad_id": 0, "pad_token": "a"}, TypeError, "give one of pad_token and pad_id"),
        ({"pad_token": "<pad>"}, ValueError, r"pad_token '<pad>' is not in the vocabulary; tok.with_special_tokens"),
        ({"pad_token": 5}, TypeError, "pad_token must be a token as a str, not 5"),
        ({"pad_id": 400}, ValueError, "pad_id 400 is not in the vocabulary of 400 tokens"),
        ({"pad_id": -1}, ValueError, "pad_id -1 is not in the vocabulary"),
        ({"pad_id": "0"}, TypeError, "pad_id must be an integer, not '0'"),
        ({"pad_id": True}, TypeError, "pad_id must be an integer, not True"),
        ({"pad_id": 0, "max_length": 0}, ValueError, "max_length must be at least 1, not 0"),
        ({"pad_id": 0, "max_length": 2.0}, TypeError, "max_length must be a positive integer or None, not 2.0"),
        ({"pad_id": 0, "max_length": True}, TypeError, "max_length must be a positive integer or None"),
        ({"pad_id": 0, "pad_to_multiple_of": 0}, ValueError, "pad_to_multiple_of must be at least 1, not 0"),
        ({"pad_id": 0, "pad_to_multiple_of": 1.5}, TypeError, "pad_to_multiple_of must be a positive integer or None"),
        ({"pad_id": 0, "padding": "max_length"}, ValueError, "needs a max_length"),
        ({"pad_id": 0, "padding": True}, ValueError, "padding must be one of 'longest', 'max_length', not True"),
        ({"pad_id": 0, "padding_side": np.array([1, 2])}, ValueError, r"padding_side must be one of .* not array"),
        ({"pad_id": 0, "padding_side": "top"}, ValueError, "padding_side must be .*not 'top'"),
        ({"pad_id": 0, "truncation_side": None}, ValueError, "truncation_side must be .*not None"),
        ({"pad_id": 0, "dtype": np.uint8}, ValueError, "dtype uint8 cannot hold all ids, which go up to 399"),
        ({"pad_id": 0, "dtype": "x"}, TypeError, "dtype must be an integer type of NumPy, such as 'uint16', not 'x'"),
        ({"pad_id": 0, "dtype": float}, TypeError, "dtype must be an integer type of NumPy"),
        (
            {"pad_id": 0, "texts": "the cat"},
            TypeError,
            "texts must be a list of texts, or any iterable of them, not one str",
        ),
        ({"pad_id": 0, "texts": b"the cat"}, TypeError, "not one bytes"),
        ({"pad_id": 0, "texts": ["a", 5]}, TypeError, "text must be str or bytes, not int"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_an_error(small, arguments, error, message):
    with pytest.raises(error, match=message):
        small.encode_padded(**{"texts": ["a"], **arguments})


def test_the_error_names_the_way_to_a_pad_token(small):
    padded = small.with_special_tokens(["<pad>"]).encode_padded(["a b", "x"], pad_token="<pad>")
    assert padded.ids[1, -1] == 400
