"""Special tokens take the whitespace beside them as the twin and tokenizers say, in texts of all lengths and in batches."""

from __future__ import annotations

import random
from typing import Any

import naive
import numpy as np
import pytest
import texts
from effort import examples

import nbbpe
from nbbpe.kernels.pieces.token_whitespace import AFTER, BEFORE, with_whitespace
from nbbpe.text.unicode_sets import WHITESPACE

pytestmark = pytest.mark.usefixtures("guarded_arrays")

TEXTS = [*WHITESPACE, " ", " ", "\n", "a", "é", "\x1c", "\u200b", "\u2007", "\u303f", "\u180e", "中"]
INVALID = [b"\xe2\x80", b"\xc2", b"\x85", b"\xa0", b"\xe3\x80", b"\xf0\x9f"]
TOKENS = [b"<a>", b"<b>", b" ", b"\n\n", b"\xe2\x80\x80"]


def random_text(rng: random.Random) -> tuple[bytes, list[tuple[int, int, int, bool, bool]]]:
    text, tokens = b"", []
    takes = [(rng.random() < 0.5, rng.random() < 0.5) for _ in TOKENS]
    for _ in range(rng.randrange(16)):
        kind = rng.random()
        if kind < 0.4:
            number = rng.randrange(len(TOKENS))
            tokens.append((len(text), len(text) + len(TOKENS[number]), number, *takes[number]))
            text += TOKENS[number]
        elif kind < 0.5:
            tokens.append((len(text), len(text) + 1, rng.choice([-1, -2, 0]), False, False))
            text += b"\xff"
        else:
            text += rng.choice(INVALID) if rng.random() < 0.1 else rng.choice(TEXTS).encode() * rng.randrange(1, 4)
    return text, tokens


def taken(text: bytes, tokens: list[tuple[int, int, int, bool, bool]]) -> list[tuple[int, ...]]:
    """What the kernel makes of the tokens, whatever is after the text."""
    rows = [(start, end, token_id + BEFORE * before + AFTER * after) for start, end, token_id, before, after in tokens]
    found = []
    for following in b"", b" " * 8:
        data = np.frombuffer(text + following, dtype=np.uint8).copy()  # before a page that may not be read
        breaks = np.array(rows, dtype=np.int64).reshape(-1, 3)
        found.append(breaks[: with_whitespace(data.ctypes.data, len(text), breaks)].tolist())
    assert found[0] == found[1]
    return list(map(tuple, found[0]))


@pytest.mark.exhaustive
def test_the_kernel_takes_what_its_twin_does():
    rng = random.Random(1)
    for _ in range(examples(5_000, 50_000)):
        text, tokens = random_text(rng)
        assert taken(text, tokens) == naive.take_whitespace(text, tokens), (text, tokens)


def test_each_character_of_whitespace_is_taken_and_no_other():
    for code in [*range(0x3100), 0xFEFF, 0x1F600, 0xE0020]:
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code).encode()
        text = character + b"<a>" + character
        whole = len(text)
        n = len(character)
        is_space = chr(code) in WHITESPACE
        assert taken(text, [(n, n + 3, 1, True, True)]) == [(0, whole, 1) if is_space else (n, n + 3, 1)], hex(code)


@pytest.mark.parametrize("normalizer", [None, "NFC"])
@pytest.mark.parametrize("takes", [(True, False), (False, True), (True, True)], ids=["before", "after", "both"])
def test_ids_are_those_of_tokenizers_however_a_text_comes(tmp_path, normalizer, takes):
    tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
    trained = nbbpe.train(documents=[texts.SAMPLE], vocab_size=350)
    path = tmp_path / "tokenizer.json"
    nbbpe.Tokenizer(trained.vocab, trained.merges, normalizer=normalizer).to_hf(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    added: dict[str, Any] = {"<|user|>": dict(zip(("lstrip", "rstrip"), takes, strict=True)), "<|end|>": {"rstrip": True}}
    added |= {f"<|dummy_{i}|>": {"lstrip": True} for i in range(30)} | {"<s>": {}, "\n\n": {"rstrip": takes[1]}}
    theirs.add_special_tokens([tokenizers.AddedToken(token, normalized=False, **of) for token, of in added.items()])
    theirs.save(str(path))
    ours = nbbpe.load(path)
    assert ours._encoder._turns(ours._specials).marked is not None  # which the kernel takes
    rng = random.Random(f"{normalizer} {takes}")
    documents = ["".join(rng.choices([*added, *TEXTS, "the cat", "e\u0301"], k=rng.randrange(12))) for _ in range(300)]
    expected = [theirs.encode(text, add_special_tokens=False).ids for text in documents]
    assert [ours.encode(text) for text in documents] == expected
    assert [ours.encode(text.encode()) for text in documents] == expected
    assert [ours.count(text) for text in documents] == list(map(len, expected))
    assert ours.encode_batch(documents) == expected
    ours.encode_file(documents=documents, output_path=tmp_path / "a.bin", allowed_special="all")
    assert nbbpe.TokenFile(tmp_path / "a.bin", ours)[:].tolist() == [each for ids in expected for each in ids]
    whole = " x".join(documents)
    wanted = theirs.encode(whole, add_special_tokens=False).ids
    assert list(ours.encode_iterable([whole])) == ours.encode(whole) == wanted
    allowed = ["<|user|>", "\n\n"]
    for text in documents:  # with other tokens as plain text, the paths agree
        ids = ours.encode(text, allowed_special=allowed)
        assert ids == ours.encode(text.encode(), allowed_special=allowed)


@pytest.mark.parametrize("rule", ["lstrip", "single_word"])
@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_surrogates_may_be_the_bytes_of_a_token(tmp_path, rule, add_prefix_space):
    tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")
    path = tmp_path / "tokenizer.json"
    nbbpe.train(documents=[texts.SAMPLE], vocab_size=300).to_hf(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    theirs.add_special_tokens([tokenizers.AddedToken("\xe9>", normalized=False, **{rule: True})])
    theirs.save(str(path))
    ours = nbbpe.load(path)
    for text in "a \xe9>b", "a\xe9> b", " \xe9> ":
        expected = theirs.encode(text, add_special_tokens=False).ids
        escaped = text.encode().decode("ascii", "surrogateescape")
        for each in text, text.encode(), escaped:
            assert ours.encode(each) == ours.encode_array(each).tolist() == ours.encode_batch([each])[0] == expected
            assert list(ours.encode_iterable([each])) == expected
            assert ours.count(each) == len(expected)


def test_whitespace_is_read_once():
    """A token that is whitespace, and takes more of it, in a long run of it."""
    text = b"\n" * 200_000
    tokens = [(i, i + 1, 0, True, True) for i in range(len(text))]
    assert taken(text, tokens) == [(0, len(text), 0)]
