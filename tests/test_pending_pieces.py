"""kernels/encoding/pending_pieces.py: pieces that wait change no id, and what it takes for granted of pieces holds."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator

import naive
import numpy as np
import pytest
import texts
from effort import examples, mostly_slow
from numba import njit
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.encoding import pending_pieces
from nbbpe.kernels.encoding.merge_short import SHORT
from nbbpe.kernels.machine.intrinsics import address_of
from nbbpe.kernels.pieces.piece_table import INLINE_BYTES, key_of
from nbbpe.kernels.pieces.plain_words import is_plain_key, is_plain_word
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.utf8 import padded

pytestmark = pytest.mark.usefixtures("guarded_arrays")


@njit
def are_plain(text, starts, state_at, found, found_of_keys):
    """Fill `found` with what is_plain_word says of pieces that stand side by side, or of short ones is_plain_key."""
    for i in range(starts.shape[0] - 1):
        key_at, length = address_of(text) + starts[i], starts[i + 1] - starts[i]
        found[i] = found_of_keys[i] = is_plain_word(key_at, length)
        if length <= INLINE_BYTES:
            low, high = key_of(key_at, length, state_at)
            found_of_keys[i] = is_plain_key(low, high, length)


def random_pieces() -> list[bytes]:
    """Every short length with each byte somewhere, and words of every length up to beyond a block."""
    source = random.Random(1)
    pieces = [*BYTES.values(), *(b" " + byte for byte in BYTES.values())]
    for length in range(1, 80):
        for lead in (b"", b" ", b"  "):
            word = bytes(source.choices(b"abcxyz", k=length))
            place = source.randrange(length)
            pieces += [
                lead + word,
                lead + word.capitalize(),
                lead + source.choice([b"@", b"["]) + word[1:],
                lead + word[:place] + word[place:].capitalize(),
                lead + word[:place] + source.choice([b"`", b"{", b" ", b"A", b"\xe1", b"'"]) + word[place + 1 :],
            ]
    return pieces


def test_plain_words_are_those_of_the_twin_whatever_stands_beside_them():
    pieces = random_pieces()
    random.Random(2).shuffle(pieces)
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    found, found_of_keys = np.empty((2, len(pieces)), dtype=np.bool_)
    are_plain(padded(b"".join(pieces)), starts, 0, found, found_of_keys)  # keys of short pieces need no secret
    wanted = [naive.is_plain_word(piece) for piece in pieces]
    assert found.tolist() == found_of_keys.tolist() == wanted
    assert 100 < sum(wanted) < len(wanted) - 100


@pytest.mark.parametrize("name", NAMED)
def test_a_plain_word_is_one_pretoken_in_each_pattern(name):
    plain = [piece.decode() for piece in random_pieces() if naive.is_plain_word(piece)]
    assert all(NAMED[name].split(piece) == [piece] for piece in plain)


# How many of a thousand pieces are new, and how many of those are more than a pretoken, and long.
KINDS = {
    "all wait": (900, 0, 0),
    "few wait": (2, 0, 0),
    "one waits behind much that is known": (0, 0, 0),
    "several pretokens among them": (300, 400, 0),
    "long ones among them": (300, 100, 100),
}


def text_of(kind: str, n: int, source: random.Random) -> bytes:
    """A text of `n` pieces; the first is new, and some new ones stand twice."""
    new, several, long = KINDS[kind]
    known = [b" the", b" cat", b" sat on", b" mat", b"\n", b",", " naïve".encode(), " Страна".encode()]
    parts, recent = [b"begin"], [b" of"]
    for _ in range(n):
        if source.randrange(1000) >= new:
            parts.append(source.choice(known))
            continue
        length = source.randint(2, 20)
        tail = b""
        which = source.randrange(1000)
        if which < several:
            tail = bytes(source.choices(b"=>(!)", k=3)) + b"\n"
        elif which < several + long:
            length = source.randint(SHORT - 2, SHORT + 300)
        recent.append(b" " + bytes(source.choices(b"abcdehst", k=length)) + tail)
        parts.append(recent[-1] if source.randrange(4) else source.choice(recent[-12:]))
        if source.randrange(20) == 0:
            parts.append(texts.SPECIAL.encode())
    return b"".join(parts)


def huge_text(source: random.Random) -> bytes:
    """New words, and among them digits that are one piece and have more ids than those that wait have room for."""
    words = [b" " + bytes(source.choices(b"abcdehst", k=7)) for _ in range(40)]
    words[10] = words[30] = b" " + bytes(source.choices(b"0123456789", k=3 * pending_pieces.BEHIND_BYTES))
    words[20] = b" " + b"7" * (pending_pieces.BEHIND_BYTES // 2 + 1)
    return b"begin" + b"".join(words)


def by_pretoken(tokenizer: nbbpe.Tokenizer, data: bytes) -> list[int]:
    """The ids of a text, each distinct pretoken merged by the twin."""
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(tokenizer.merges)))}
    ids = {token: i for i, token in reversed(tokenizer.vocab.items())}
    merged = functools.cache(lambda pretoken: [ids[token] for token in naive.encode_pretoken(pretoken, ranks)])
    compiled = get_pattern(tokenizer.pattern).compiled
    out = []
    for document, special in naive.documents(data, [texts.SPECIAL.encode()]):
        for pretoken in naive.split(document, compiled):
            out += merged(pretoken)
        if special is not None:
            out.append(ids[special])
    return out


def tokenizers(small: nbbpe.Tokenizer, pattern: str, special_id: int) -> Iterator[nbbpe.Tokenizer]:
    """Tokenizers that remember nothing yet, and more or fewer pieces."""
    for max_pieces in 1_000_000, 200, 17, 1, 0:
        vocab = {i: token for i, token in small.vocab.items() if token != texts.SPECIAL.encode()}
        vocab[special_id] = texts.SPECIAL.encode()
        yield nbbpe.Tokenizer(vocab, small.merges, [texts.SPECIAL], pattern, max_pieces=max_pieces)


@pytest.mark.exhaustive
@pytest.mark.parametrize("special_id", [400, 70_000])  # ids of two bytes, and of four
@pytest.mark.parametrize("pattern", mostly_slow(["gpt2", "o200k"], usual=["gpt2"]))
@pytest.mark.parametrize("kind", [*KINDS, "huge"])
def test_what_waits_changes_no_id(small, sizes, kind, pattern, special_id):
    n = examples(8000, 20_000) if "few" in kind or "one" in kind else examples(1000, 3000)
    data = huge_text(random.Random(6)) if kind == "huge" else text_of(kind, n, random.Random(kind))
    wanted = by_pretoken(next(tokenizers(small, pattern, special_id)), data)
    sizes(out=1 << 12)  # the output of counting and of streams is full again and again
    for tokenizer in tokenizers(small, pattern, special_id):
        assert tokenizer.count(data) == len(wanted)
    for tokenizer in tokenizers(small, pattern, special_id):
        for _ in range(2):
            assert tokenizer.encode_array(data).tolist() == wanted
    for tokenizer in tokenizers(small, pattern, special_id):
        assert list(tokenizer.encode_iterable([data.decode()])) == wanted


def test_the_ids_of_many_documents_start_where_they_do_whatever_waits(small):
    source = random.Random(4)
    documents = [text_of(kind, source.randrange(40), source) for kind in source.choices(list(KINDS), k=300)]
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], max_pieces=500)
    flat, starts = tokenizer.encode_batch_flat(documents)
    wanted = [by_pretoken(small, document) for document in documents]
    assert [part.tolist() for part in np.split(flat, starts[1:-1])] == wanted
    assert starts[-1] == len(flat)


def test_each_number_of_pieces_may_wait_when_a_text_ends(small):
    source = random.Random(5)
    for n in range(3 * pending_pieces.MOST_PENDING):
        data = b"".join(b" " + bytes(source.choices(b"abcdehst", k=6)) for _ in range(n))
        tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL])
        assert tokenizer.encode(data) == by_pretoken(small, data)
