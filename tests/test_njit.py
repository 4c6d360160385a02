"""Encoding within compiled code of the user's own gives what `encode_ordinary` gives."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import threading

import naive
import numba
import numpy as np
import pytest
import regex
import texts
from texts import HARD
from vocabularies import BYTES, ranks_of

import nbbpe
import nbbpe.njit
from nbbpe.kernels.encoding import encode_into as kernel
from nbbpe.kernels.machine import secret

WORDS = r"\S+|\s"


@numba.njit(nogil=True)
def encode_each(tables, state, text, starts, out, ends):
    """The ids of documents text[starts[i]:starts[i + 1]], one after another in `out`."""
    n_ids = 0
    for i in range(len(starts) - 1):
        n_ids += nbbpe.njit.encode_into(tables, state, text, starts[i], starts[i + 1], out[n_ids:])
        ends[i + 1] = n_ids


def encoded(tokenizer, documents: list[bytes], state=None, tables=None) -> list[list[int]]:
    tables = tokenizer.njit_tables() if tables is None else tables
    if state is None:
        state = nbbpe.njit.new_state(tables, 1 << 17)
    starts = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    out, ends = np.empty(starts[-1], dtype=np.int64), np.zeros(len(starts), dtype=np.int64)
    encode_each(tables, state, np.frombuffer(b"".join(documents) or b" ", dtype=np.uint8), starts, out, ends)
    return [out[a:b].tolist() for a, b in itertools.pairwise(ends)]


def ordinary(tokenizer, documents: list[bytes]) -> list[list[int]]:
    return [tokenizer.encode_ordinary(document) for document in documents]


@pytest.fixture(scope="module")
def tokenizers_(gpt2, small, shared) -> dict[str, nbbpe.Tokenizer]:
    found = {"gpt2": gpt2, "small": small}
    found["ranks"] = nbbpe.load(shared / "vocabs" / "cl100k_base.tiktoken")
    sample = [texts.SAMPLE, "the cat sat on the mat 12345 " * 9]
    for name, pattern in {"twice": "starcoder", "three": "deepseek3", "none": None, "memo": r"\s*\n|\s|\S+"}.items():
        found[name] = nbbpe.train(iter(sample), 300, pattern=pattern)
    # Merges that do not ascend, so that long pretokens take the heap.
    found["any order"] = nbbpe.Tokenizer(
        BYTES | {256: b"ab", 257: b"abc", 258: b"bc"}, [(b"ab", b"c"), (b"b", b"c"), (b"a", b"b")], pattern=WORDS
    )
    # Tokens that merging does not give.
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    ranks = ranks_of([*BYTES.values(), b"ab", b"bc", b"abcd", b"cab"])
    found["whole"] = nbbpe.load(tiktoken.Encoding("x", pat_str=WORDS, mergeable_ranks=ranks, special_tokens={}))
    return found


NAMES = ["gpt2", "small", "ranks", "twice", "three", "none", "memo", "any order", "whole"]


def hard_documents() -> list[bytes]:
    rng = random.Random(2)
    pieces = [
        "a",
        "ab",
        "abc",
        "cab",
        "abcd",
        " ",
        "  ",
        "\n",
        "é",
        "日本",
        "\u0301",
        "🙂",
        "'s",
        "12345",
        texts.SPECIAL,
        "\x00",
    ]
    documents = [text.encode() for text in HARD]
    documents += ["".join(rng.choices(pieces, k=rng.randrange(25))).encode() for _ in range(300)]
    documents += [bytes(rng.choices(range(256), k=rng.randrange(60))) for _ in range(100)]
    # Around 8, 15 and 16 bytes, which is where a pretoken is cached or not; longer than a lane; longer than 8 kB.
    documents += [letters * n for letters in (b"a", b"ab", b"abc") for n in (3, 4, 5, 7, 8, 9, 15, 16, 17, 127, 300, 9000)]
    return [b"", *documents, *documents[::-1], b""]


@pytest.mark.filterwarnings("ignore:the text has pairs")
@pytest.mark.parametrize("name", NAMES)
def test_ids_are_those_of_encode_ordinary(tokenizers_, name, shared):
    tokenizer = tokenizers_[name]
    documents = hard_documents()
    assert encoded(tokenizer, documents) == ordinary(tokenizer, documents)
    for file in "books_en", "scripts_extra", "code_rails":
        data = (shared / "text" / f"{file}.txt").read_bytes()[:200_000]
        real = [data[i : i + 5000] for i in range(0, len(data), 5000)]
        assert encoded(tokenizer, real) == ordinary(tokenizer, real)


def test_ids_are_those_of_the_twin(small):
    ids = {token: number for number, token in small.vocab.items()}
    pattern = regex.compile(nbbpe.patterns.pattern.NAMED["gpt2"].regex)
    documents = [text.encode() for text in HARD]
    assert encoded(small, documents) == [naive.encode(data, small.merges, ids, pattern) for data in documents]


def test_a_state_serves_other_tables_and_caches_nothing_of_the_former(tokenizers_):
    documents = hard_documents()[:200]
    states = {}
    for name in ["small", "gpt2", "small", "twice", "gpt2"]:
        tokenizer = tokenizers_[name]
        state = states.setdefault("one", nbbpe.njit.new_state(tokenizers_["three"].njit_tables(), 1 << 17))
        assert encoded(tokenizer, documents, state) == ordinary(tokenizer, documents)


def test_a_state_with_too_little_room_for_other_tables_is_refused(tokenizers_):
    """Merging would write past the end of its scratch: with more ranks, with a heap, or with more states to note."""
    document = b"ab" * 450
    for made_for, used_with in ("none", "ranks"), ("none", "any order"), ("none", "memo"), ("gpt2", "none"):
        state = nbbpe.njit.new_state(tokenizers_[made_for].njit_tables(), len(document))
        if (made_for, used_with) == ("gpt2", "none"):
            assert encoded(tokenizers_["none"], [document], state) == ordinary(tokenizers_["none"], [document])
            continue
        with pytest.raises(ValueError, match="made for other tables, and has too little room for these"):
            encoded(tokenizers_[used_with], [document], state)


def test_slots_of_the_cache_are_shared_by_many_pretokens(small, monkeypatch):
    """More distinct words than slots: each takes the place of another."""
    rng = random.Random(4)
    words = ["".join(rng.choices("abcdehst", k=rng.randrange(1, 16))) for _ in range(4 << kernel.SLOT_BITS)]
    documents = [" ".join(words[i : i + 500]).encode() for i in range(0, len(words), 500)]
    assert encoded(small, documents) == ordinary(small, documents)
    assert encoded(small, documents[::-1]) == ordinary(small, documents[::-1])


def test_tables_can_be_pickled_and_shared_by_threads(small):
    documents = hard_documents()
    wanted = ordinary(small, documents)
    tables = pickle.loads(pickle.dumps(small.njit_tables()))
    results = {}

    def work(number: int) -> None:
        for _ in range(5):
            results[number] = encoded(small, documents, tables=tables)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[number] == wanted for number in range(3)] == [True] * 3


def test_copies_of_arrays_are_refused(small):
    """Kernels read whole cache lines, and would end the process."""
    tables = small.njit_tables()
    state = nbbpe.njit.new_state(tables, 1000)
    entries = tables.merges.entries
    shifted = np.empty(len(entries) + 1, dtype=np.uint64)
    shifted = shifted[1:] if shifted.ctypes.data % 64 == 0 else shifted[:-1]
    shifted[:] = entries
    assert shifted.ctypes.data % 64
    wrong = tables._replace(merges=tables.merges._replace(entries=shifted))
    with pytest.raises(ValueError, match="not copies of arrays"):
        encoded(small, [b"the cat"], state, wrong)
    again = copy.deepcopy(tables)
    assert encoded(small, [b"the cat"], state, again) == ordinary(small, [b"the cat"])


def test_tables_do_not_hold_the_secret_of_the_process(tokenizers_):
    hidden = {int(number) for number in secret.of_process()}
    for name in "small", "ranks", "whole":
        merges = tokenizers_[name].njit_tables().merges
        held = {int(merges.secret), *merges.whole.tolist()}
        assert not held & hidden
        assert tokenizers_[name].njit_tables().merges.secret != merges.secret
    assert {int(number) for number in secret.of_process()} == hidden


def test_what_does_not_fit_is_an_error(small):
    tables = small.njit_tables()
    state = nbbpe.njit.new_state(tables, 10)
    text, ends = np.frombuffer(b"the cat sat on the mat", dtype=np.uint8), np.zeros(2, dtype=np.int64)

    def encode(start: int, stop: int, room: int = 100) -> None:
        encode_each(tables, state, text, np.array([start, stop]), np.empty(room, dtype=np.int64), ends)

    encode(0, 10, 10)
    encode(22, 22, 0)
    for start, stop in (-1, 3), (3, 2), (0, 23), (30, 31):
        with pytest.raises(ValueError, match="start and stop must be within the text"):
            encode(start, stop)
    with pytest.raises(ValueError, match="more bytes than new_state made room for"):
        encode(0, 11)
    with pytest.raises(ValueError, match="out must have room for as many ids as the text has bytes"):
        encode(0, 10, 9)


@pytest.mark.slow
def test_the_type_of_out_must_hold_the_ids(tokenizers_):
    tokenizer = tokenizers_["ranks"]
    tables = tokenizer.njit_tables()
    state = nbbpe.njit.new_state(tables)

    @numba.njit
    def encode(tables, state, text, out):
        return nbbpe.njit.encode_into(tables, state, text, 0, len(text), out)

    for dtype in np.uint16, np.uint32:
        low = np.frombuffer(b"the", dtype=np.uint8)
        high = np.frombuffer(tokenizer.vocab[90_000], dtype=np.uint8)
        out = np.empty(100, dtype=dtype)
        assert out[: encode(tables, state, low, out)].tolist() == tokenizer.encode("the")
        if dtype == np.uint32:
            assert out[: encode(tables, state, high, out)].tolist() == [90_000]
        else:
            with pytest.raises(ValueError, match="the type of out cannot hold all ids"):
                encode(tables, state, high, out)


def test_tokenizers_that_cannot_be_held_say_why(small, shared):
    left = nbbpe.Tokenizer(small.vocab, small.merges, [], r"(?<=a)b|[^b]+|b")
    with pytest.raises(ValueError, match="needs a pattern that is compiled, and this one is not: a look-behind"):
        left.njit_tables()
    normal = nbbpe.Tokenizer(small.vocab, small.merges, normalizer="NFC")
    with pytest.raises(ValueError, match="changes it first"):
        normal.njit_tables()
    with pytest.raises(ValueError, match="changes it first"):
        nbbpe.load(shared / "vocabs" / "gpt_neox_20b_tokenizer.json").njit_tables()
    for longest, error in (0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError):
        with pytest.raises(error, match="longest must be"):
            nbbpe.njit.new_state(small.njit_tables(), longest)
    with pytest.raises(TypeError, match="call it from compiled code"):
        nbbpe.njit.encode_into(1, 2, 3, 4, 5, 6)
