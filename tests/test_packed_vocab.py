"""model/packed_vocab.py: a vocabulary as arrays says of ids what a dict says."""

from __future__ import annotations

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbbpe.model.packed_vocab import PackedVocab

IDS = st.sets(st.integers(0, 40)) | st.integers(0, 20).map(lambda n: set(range(n))) | st.just({0, 1, 2, 2**31 - 2})


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(ids=IDS, asked=st.lists(st.integers(-3, 45) | st.just(2**31 - 2)))
def test_ids_and_their_places(dtype, ids, asked):
    vocab = PackedVocab.of({i: b"%d" % i for i in ids})
    before = np.array(asked, dtype=dtype)
    asked_for = before.copy()
    assert vocab.has(asked_for).tolist() == [i in ids for i in asked]
    known = [i for i in asked if i in ids]
    known_ids = np.array(known, dtype=dtype)
    numbers = vocab.numbers_of(known_ids)
    assert numbers.tolist() == [sorted(ids).index(i) for i in known]
    assert (asked_for == before).all()
    assert vocab.count(known_ids).tolist() == [known.count(i) for i in sorted(ids)]
    lengths, text = vocab.gather(numbers)
    assert text.tobytes() == b"".join(b"%d" % i for i in known)
    assert lengths.tolist() == vocab.lengths_of(known_ids).tolist() == [len(b"%d" % i) for i in known]
    assert pickle.loads(pickle.dumps(vocab)).as_dict() == vocab.as_dict()


SHORT = st.binary(max_size=3).map(lambda token: token.translate(bytes([32, 60]) * 128))  # few, so that many are alike


@given(vocab=st.dictionaries(st.integers(0, 40), SHORT, max_size=12), asked=st.sets(SHORT, max_size=4))
def test_those_among_some_tokens(vocab, asked):
    found = PackedVocab.of(vocab).among(asked)
    assert found == {token_id: token for token_id, token in vocab.items() if token in asked}
    assert list(found) == sorted(found)


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True)), max_size=40))
def test_tokens_of_merges_are_those_of_the_twin(sides):
    merges = [[int(part * (256 + i)) for part in pair] for i, pair in enumerate(sides)]
    rows = np.array(merges, dtype=np.int32).reshape(-1, 2)
    found = PackedVocab.of_merges(np.column_stack([rows, rows])[:, :2])  # the first columns of others, as a model has them
    assert found.tokens() == naive.tokens_of_merges(merges)
    assert found.ids.tolist() == list(range(256 + len(merges)))
