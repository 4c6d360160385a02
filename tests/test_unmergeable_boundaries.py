# ruff: noqa: RUF001  (ambiguous characters are the point of these texts)
"""kernels/pieces/unmergeable_boundaries.py: where words may be cut, and that cut words have the ids of whole ones."""

from __future__ import annotations

import random

import naive
import numpy as np
import pytest
from boundary_rules import classer
from effort import examples, mostly_slow
from numba import njit
from vocabularies import BYTE_RANKS, BYTES, rank_lines, textbook_ids, vocab_of

import nbbpe
from nbbpe.kernels.machine.intrinsics import BLOCK, address_of
from nbbpe.kernels.pieces import pattern_tables, unmergeable_boundaries
from nbbpe.kernels.pieces.boundaries import block_cuts, new_classes
from nbbpe.kernels.pieces.unmergeable_boundaries import (
    JOINS_BYTES,
    Joins,
    byte_ends,
    folded,
    join_ends,
    mark_joins,
    seam_cuts,
)
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.utf8 import padded

pytestmark = pytest.mark.usefixtures("guarded_arrays")

Pairs = list[tuple[bytes, bytes]]

# Ideographs and letters of one script and another, of two, three and four bytes, with marks; and what may stand beside.
ALPHABETS = [
    "中文",
    "中文亚洲あア가힣",
    "ก่ขไ์\u0e4d",
    "𠀀𠀁中",
    "עبª中ʰ",
    "中あAa",
    "亚洲AVxé ",
    "文あ'sſSʼ.,1\n ",
    "\u0301中é\u0903A あ\u3000",
]


@njit
def mark_all(lefts, rights, joins):
    """Marks the joins of tokens of these ends; returns how many bits are set."""
    n_set = 0
    for i in range(lefts.shape[0]):
        n_set += mark_joins(joins, lefts[i], rights[i])
    return n_set


@njit
def ends_of(text, out):
    """The ends of the token that each of the bytes joins to with those before it."""
    out[0] = byte_ends(np.int64(text[0]))
    for i in range(1, text.shape[0]):
        out[i] = join_ends(out[i - 1], byte_ends(np.int64(text[i])))


@njit
def join(left, right):
    return join_ends(left, right)


@njit
def mark_seams(text, n, pattern, masks, joins, is_seam):
    """Mark the seams of a text as next_pieces finds them."""
    pattern_at, classes_at = address_of(pattern), address_of(masks)
    state, seam_state = 0, np.uint64(0)
    for start in range(0, n, BLOCK):
        _, _, state = block_cuts(address_of(text) + start, state, pattern_at, classes_at)
        described = Joins(address_of(joins), 8 * joins.shape[0] - 1)
        cuts, seam_state = seam_cuts(address_of(text) + start, seam_state, described, pattern_at, classes_at)
        for bit in range(min(BLOCK, n - start)):
            is_seam[start + bit] = (cuts >> np.uint64(bit)) & np.uint64(1)


def ends(token: bytes) -> int:
    out = np.empty(len(token), dtype=np.int64)
    ends_of(np.frombuffer(token, dtype=np.uint8), out)
    return int(out[-1])


def joins_of(merges: Pairs) -> tuple[np.ndarray, int]:
    joins = np.zeros(JOINS_BYTES, dtype=np.uint8)
    columns = [np.array([ends(merge[side]) for merge in merges], dtype=np.int64) for side in (0, 1)]
    return joins, mark_all(*columns, joins)


def found(data: bytes, joins: np.ndarray, name: str) -> list[int]:
    pattern = NAMED[name]
    is_seam = np.zeros(len(data), dtype=np.uint8)
    mark_seams(padded(data), len(data), pattern.tables, new_classes(), joins, is_seam)
    return np.flatnonzero(is_seam).tolist()


def wanted(data: bytes, merges: Pairs, name: str) -> list[int]:
    numbers = NAMED[name].tables.view(np.int64)
    names = pattern_tables.SEAM_LETTERS, pattern_tables.SEAM_HARM, pattern_tables.SEAM_KEEP
    sets = [{c for c in range(64) if int(numbers[each]) >> c & 1} for each in names]
    return naive.seams(data, merges, classer(NAMED[name]), *sets)


def random_merges(source: random.Random, alphabet: str, n: int) -> Pairs:
    """Merges in an order in which each comes after those that make its sides, of whole characters and of parts of them."""
    whole = source.random() < 0.5
    tokens = list(dict.fromkeys(bytes([byte]) for byte in alphabet.encode()))
    merges: dict[bytes, tuple[bytes, bytes]] = {}
    if whole:
        for character in alphabet:
            token = character.encode()[:1]
            for byte in character.encode()[1:]:
                merges.setdefault(token + bytes([byte]), (token, bytes([byte])))
                token += bytes([byte])
            tokens.append(token)
    for _ in range(n):
        left, right = source.choice(tokens), source.choice(tokens)
        if len(left + right) <= 12 and left + right not in merges:
            merges[left + right] = left, right
            tokens.append(left + right)
    return list(merges.values())


def random_text(source: random.Random, alphabet: str, n: int) -> bytes:
    characters = [*alphabet] + ["中", "あ"] * (source.random() < 0.3)
    data = "".join(source.choices(characters, k=n)).encode()
    if source.random() < 0.2:  # and bytes that are no UTF-8
        place = source.randrange(len(data))
        data = data[:place] + source.choice([b"\x81", b"\xe4", b"\xe4\xb8", b"\xff", b"\xc3"]) + data[place:]
    return data


def test_the_ends_of_tokens_are_their_bytes():
    source = random.Random(1)
    for _ in range(500):
        token = source.randbytes(source.randrange(1, 9))
        first, last, n = int.from_bytes(token[:3], "little"), token[-2:].rjust(2, b"\0"), min(len(token), 3)
        assert ends(token) == first | int.from_bytes(last, "little") << 24 | n << 40
        for middle in range(1, len(token)):
            assert join(ends(token[:middle]), ends(token[middle:])) == ends(token), (token, middle)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", mostly_slow(NAMED, ["gpt2", "o200k"]))
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_seams_are_where_no_merge_joins(alphabet, name):
    source = random.Random(2)
    n_found = 0
    for _ in range(examples(15, 40)):
        merges = random_merges(source, alphabet, source.choice([0, 2, 5, 20]))
        joins, _ = joins_of(merges)
        data = random_text(source, alphabet, source.choice([5, 20, 200]))
        cuts, twins = found(data, joins, name), wanted(data, merges, name)
        n_found += len(cuts)
        assert set(cuts) <= set(twins), (data, merges)
        blocks = [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]
        if all(max(block) >= 0xE0 for block in blocks[:-1]):  # else what stands before the next block is forgotten
            assert cuts == twins, (data, merges)
    assert n_found > examples(15, 40) or alphabet == "עبª中ʰ"


def test_seams_are_the_same_at_every_alignment():
    merges = [(b"\xe4\xb8", b"\xad"), (b"\xe6\x96", b"\x87"), ("中".encode(), "文".encode())]
    joins, _ = joins_of(merges)
    text = "中文中中文文中𠀀中\u0301文中é文文"
    for filler in "。", "あ":
        for n in range(BLOCK + 3):
            data = (filler * n + " " * (n % 3) + text + filler * 30).encode()
            for name in "gpt2", "o200k":
                assert found(data, joins, name) == wanted(data, merges, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", mostly_slow(NAMED, ["gpt2", "o200k"]))
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_cut_words_have_the_ids_of_whole_words(alphabet, name):
    source = random.Random(3)
    for _ in range(examples(15, 20)):
        merges = random_merges(source, alphabet, source.choice([2, 5, 20, 60]))
        tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, ["<|x|>", "中A"], name)
        assert len(tokenizer._encoder.merges.joins) > 0
        data = random_text(source, alphabet, source.choice([5, 20, 200]))
        assert tokenizer.encode(data, allowed_special=set()) == textbook_ids(tokenizer, data, []), (data, merges)
        data = data.replace(b"1", b"<|x|>")
        assert tokenizer.encode(data) == textbook_ids(tokenizer, data), (data, merges)


@pytest.mark.parametrize("name", NAMED)
def test_a_word_that_case_ends_is_not_cut_before(name):
    # By o200k a word ends before the A of x中亚洲AV, but that of 中亚洲AV goes on; 亚洲A must not be merged across.
    merges = [(b"\xe4", b"\xba"), (b"\xe4\xba", b"\x9a"), (b"\xe6", b"\xb4"), (b"\xe6\xb4", b"\xb2")]
    merges += [(left.encode(), right.encode()) for left, right in [("亚", "洲"), ("亚洲", "A"), ("亚洲A", "V")]]
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, [], name)
    whole = "亚洲AV"
    if name not in ("kimi-k2", "deepseek3", "deepseek-coder"):  # which split between the two scripts
        assert tokenizer.encode(whole + "a") == [262, ord("a")]
    for before in "", "x", "x中", "中", "é中", "A中", "x中中", " 中", "x'中", "xA中", "x\u0301中", "ǅ中", "ſ中中":
        for after in "", "a", "中", "A", "'s":
            for fill in "", "。" * 20, "。" * 21 + "x", "x" * BLOCK, "é" * (BLOCK // 2), " " * BLOCK:
                text = (fill + before + whole + after).encode()
                assert tokenizer.encode(text) == textbook_ids(tokenizer, text), text


@pytest.mark.parametrize("name", NAMED)
def test_a_run_of_symbols_is_not_cut_between_marks(name):
    # These marks belong to the symbols around them; a part that began with one would be a word, and end before the '.
    mark = "\u0903"
    merges = [(b"\xa4", b"\x83"), (b"\xa4\x83", b"'")]
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, [], name)
    for before in "", ".", "..", " .", "中", "中.", "中..", "a", "1", " ", "\n..", "x" * (BLOCK - 4) + "..":
        for marks in mark, mark * 2, mark * 3, mark + "中", "中" + mark, mark + "\u0301" + mark, mark * 2 + "中" * 2 + mark:
            for after in "'", "'s", "''", ".", "a'", "中'", "":
                text = (before + marks + after).encode()
                assert tokenizer.encode(text) == textbook_ids(tokenizer, text), text


@pytest.mark.parametrize("pattern", [r"[^\n]|[^a]{2,}", [r"\d", r"[^\n]|[^a]{2,}"]])
def test_what_matches_as_the_letters_do_keeps_harm_as_they_do(pattern):
    # A match that begins with a newline goes on over x, which is no seam letter; alone, each 文 would be a match.
    merges = [(b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad"), (b"\xe6", b"\x96"), (b"\xe6\x96", b"\x87")]
    merges.append(("文".encode(), "文".encode()))
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges, [], pattern)
    for text in "\nx中文文", "\n中x中文文", "\nxxx中文文a中文文", "中文文", "\n中文文", f"\n{'x' * BLOCK}中文文":
        assert tokenizer.encode(text) == textbook_ids(tokenizer, text.encode()), text


def test_a_smaller_table_has_all_joins_of_a_larger_one():
    source = random.Random(5)
    for n in 0, 1, 30, 1000:
        letters = [chr(code) for code in range(0x4E00, 0x4E00 + 20 * n + 2)]
        merges = [(source.choice(letters).encode(), source.choice(letters).encode()) for _ in range(n)]
        merges += [(b"\x81", b"\xe4\xb8"), ("中".encode(), b"\xe4")] * (n > 1)
        joins, n_set = joins_of(merges)
        assert n_set == np.unpackbits(joins).sum()
        smaller = folded(joins, n_set)
        assert len(smaller) == min(
            JOINS_BYTES, max(8, 2 ** int(np.ceil(np.log2(max(n_set, 1) * unmergeable_boundaries.BITS_PER_JOIN / 8))))
        )
        data = "".join(left.decode() + right.decode() for left, right in merges[:n]).encode()
        assert set(found(data, smaller, "gpt2")) <= set(found(data, joins, "gpt2"))


def test_words_are_not_cut_where_parts_might_be_merged_in_another_way(tmp_path):
    ordered = [(b"\xe4", b"\xb8"), (b"\xe4\xb8", b"\xad")]
    ids = {left + right: 256 + i for i, (left, right) in enumerate(ordered)}
    for merges, known in (ordered, True), (ordered[::-1], False):
        vocab = BYTES | {token_id: token for token, token_id in ids.items()}
        tokenizer = nbbpe.Tokenizer(vocab, merges, [], "gpt2")
        assert (len(tokenizer._encoder.merges.joins) > 0) == known
    # A pretoken that is a token, though merging does not give it: a part of one must not be taken for it.
    ranks = BYTE_RANKS | {"中".encode(): 256, "中文".encode(): 257}
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(rank_lines(ranks))
    tokenizer = nbbpe.Tokenizer.from_tiktoken(path, pattern="gpt2")
    assert len(tokenizer._encoder.merges.whole) > 0
    assert len(tokenizer._encoder.merges.joins) == 0
    for text in "中文", "中", "中中文", " 中文", "文中文文中":
        wanted_ids = naive.encode_by_ranks(text.encode(), ranks, get_pattern("gpt2").compiled)
        assert tokenizer.encode(text) == wanted_ids
