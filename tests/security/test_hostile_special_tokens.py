"""Special tokens that strangers chose: whatever they are, looking for them takes time linear in the text and in them."""

from __future__ import annotations

import ctypes
import functools
import json
import mmap
import pickle
import random
import string
import sys
import time

import numpy as np
import pytest
from guard_pages import at_page_end
from timing import interrupted, seconds
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.pieces.special_tokens import SpecialTokens, beginning_node, find_specials, new_special_tokens
from nbbpe.model.extras import Extras, later_tokens
from nbbpe.text import special_search, utf8
from nbbpe.text.normalizer import Normalizer

MB = 1_000_000


def looked_through(tokens: list[bytes], data: bytes) -> float:
    """Seconds that it takes to find tokens in a text."""
    specials, text = packed(tokens), utf8.padded(data)
    special_search.find_breaks(text, 0, 100, 100, specials)
    return seconds(lambda: special_search.find_breaks(text, 0, len(data), len(data), specials))


def packed(tokens: list[bytes]) -> SpecialTokens:
    return new_special_tokens(tokens, list(range(len(tokens))))


def word(source: random.Random, n: int) -> bytes:
    return bytes(source.choices(range(33, 127), k=n))


@pytest.mark.parametrize("length", [100, 10_000, 300_000])
@pytest.mark.parametrize("make", [lambda n: b"a" * n + b"b", lambda n: b"b" + b"a" * n, lambda n: b"a" * n])
@pytest.mark.parametrize("shorter", [[], [b"a"], [b"a" * n for n in range(1, 500)]], ids=["alone", "a", "many"])
def test_a_token_that_nearly_matches_everywhere_takes_linear_time(length, make, shorter):
    # Comparing it at each place would take 10,000 steps a byte and more: 51 s.
    tokens = list({make(length), *shorter})
    assert looked_through(tokens, b"a" * MB) < 0.4


def test_tokens_with_all_first_bytes_take_linear_time():
    source = random.Random(1)
    data = word(source, MB)
    few = [b"%c%s" % (first, word(source, 7)) for first in range(33, 127)]
    many = [word(source, 8) for _ in range(10_000)]
    for tokens in few, [token[::-1] for token in few], many:
        assert looked_through(tokens, data) < 0.4


def test_ten_thousand_disallowed_tokens_take_no_longer_than_one(small):
    source = random.Random(2)
    text = ("<|0" * (MB // 3)).encode()
    some, many = ({f"<|{i:05d}|>{word(source, 8).decode()}" for i in range(n)} for n in (1, 10_000))
    times = []
    for tokens in some, many:
        small.count(text[:100], disallowed_special=tokens)
        times.append(seconds(lambda tokens=tokens: small.count(text, disallowed_special=tokens)))
    assert times[1] < 10 * times[0] + 0.2  # 7,000 times as long with a regex


def test_making_the_automaton_takes_time_and_memory_linear_in_the_tokens():
    for make in lambda n: [b"a" * n], lambda n: [b"%07d" % i + b"x" * 100 for i in range(n // 107)]:
        short, long = (make(n) for n in (200_000, 1_600_000))
        packed(short)
        assert seconds(lambda short=short, long=long: packed(long)) < 30 * seconds(lambda short=short: packed(short)) + 0.1
    specials = packed([b"%07d" % i + b"x" * 100 for i in range(5000)])
    assert sum(array.nbytes for array in specials[:4]) <= 16 * 5000 * 107 + 10_000 + 16 * 5000


@pytest.mark.parametrize("turns", [[False], [False, True]])
def test_loading_a_file_with_many_added_tokens_takes_linear_time(tmp_path, turns):
    nbbpe.train(iter(["the cat sat on the mat " * 9]), 262).to_hf(tmp_path / "t.json")
    document = json.loads((tmp_path / "t.json").read_text())
    n_tokens = len(document["model"]["vocab"])

    def load(n: int) -> None:
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "special": True}
        document["added_tokens"] = [
            {"id": n_tokens + i, "content": f"<|added {i}|>", "normalized": turns[i % len(turns)], **flags}
            for i in range(n)
        ]
        (tmp_path / "t.json").write_text(json.dumps(document))
        assert len(nbbpe.load(tmp_path / "t.json").special_tokens) == n

    load(10)
    assert seconds(lambda: load(8000)) < 10 * seconds(lambda: load(2000)) + 0.1


def test_which_of_many_added_tokens_are_looked_for_later_is_told_in_linear_time():
    # A set of the normalized tokens, made again for each token, took 30 s.
    special = [f"<|added {i}|>" for i in range(40_000)]
    extras = Extras(dict.fromkeys(special[::2], ("normalized",)))
    assert seconds(lambda: later_tokens(special, extras, Normalizer.of(["NFC"])), rounds=2) < 4


def test_the_first_text_of_a_tokenizer_with_many_added_tokens_takes_linear_time(small, tmp_path):
    # All flags, looked through for each token that is looked for in normalized text, took 10 s.
    small.to_hf(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    first = document["added_tokens"][-1]["id"] + 1
    document["normalizer"] = {"type": "Lowercase"}

    def with_added(n: int) -> nbbpe.Tokenizer:
        added = [
            {"id": first + i, "content": f"<|Added {i}|>", "normalized": i % 2 == 0, "special": True} for i in range(n)
        ]
        whole = document | {"added_tokens": document["added_tokens"] + added}
        (tmp_path / "tokenizer.json").write_text(json.dumps(whole), encoding="utf-8")
        return nbbpe.load(tmp_path / "tokenizer.json")

    with_added(10).encode("a <|added 6|> b")  # kernels are compiled or loaded
    tokenizer = with_added(8000)
    assert seconds(lambda: tokenizer.encode("a <|added 6|> b"), rounds=1) < 2
    assert tokenizer.encode("a <|added 6|> b <|Added 7|>")[-1] == first + 7
    # A set of all tokens, made for each text, took 4 s.
    assert seconds(lambda: [tokenizer.encode("a") for _ in range(2000)]) < 1.5


def test_added_tokens_that_are_ordinary_tokens_take_linear_time(tmp_path):
    # A list of them, made or looked through for each, took 5 s where the file is read, and 1 s where the folder is.
    nbbpe.train(iter(["the the"]), 257).to_hf(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    model = document["model"]
    letters = string.ascii_letters + string.digits
    pairs = [[left, right] for left in letters for right in letters]
    pairs += [[left + right, third] for left, right in pairs[:100] for third in letters]
    merges = [pair for pair in pairs if "".join(pair) not in model["vocab"]]
    model["vocab"] |= {"".join(pair): len(model["vocab"]) + i for i, pair in enumerate(merges)}
    model["merges"] += merges
    document["added_tokens"] = [
        {"id": model["vocab"]["".join(pair)], "content": "".join(pair), "normalized": False, "special": True}
        for pair in merges
    ]
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    assert seconds(lambda: nbbpe.load(tmp_path / "tokenizer.json"), rounds=2) < 2
    tokenizer = nbbpe.load(tmp_path / "tokenizer.json")
    assert len(tokenizer._model.extras.shared) == len(merges) > 9_000
    tokenizer.save(tmp_path / "folder")
    assert seconds(lambda: nbbpe.load(tmp_path / "folder"), rounds=2) < 0.7


def test_many_added_tokens_and_many_steps_of_a_normalizer_take_linear_time(small, tmp_path):
    # The JSON of all steps, read again for each token, took 4 s.
    small.to_hf(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    model = document["model"]
    added = {f"ad{i}": len(model["vocab"]) + i for i in range(3000)}
    model["vocab"] |= added
    model["ignore_merges"] = True
    document["added_tokens"] += [
        {"id": token_id, "content": token, "normalized": False, "special": True} for token, token_id in added.items()
    ]
    document["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x"}] * 3000}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    assert seconds(lambda: nbbpe.load(tmp_path / "tokenizer.json"), rounds=2) < 1.5


def test_tokens_with_flags_are_found_once_and_not_pickled():
    # Made again at each use, they made code quadratic wherever a loop used them.
    extras = Extras({"<m>": ("lstrip", "shared"), " ": ("normalized", "plain")})
    sent = pickle.dumps(extras)
    for name in "ruled", "stripping", "text_tokens", "shared":
        assert len(getattr(extras, name)) == 1
        assert getattr(extras, name) is getattr(extras, name)
    assert pickle.dumps(extras) == sent
    assert pickle.loads(sent) == extras != extras.with_tokens([" "])


@pytest.mark.parametrize("rules", [("lstrip",), ("rstrip",), ("lstrip", "rstrip")], ids="-".join)
def test_tokens_that_take_whitespace_and_are_whitespace_take_linear_time(small, tmp_path, rules):
    # If each looked through all the whitespace beside it, 8,000 spaces would take 30 s.
    small.with_special_tokens([" "]).to_hf(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    document["added_tokens"][-1].update(dict.fromkeys(rules, True))
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    tokenizer, n = nbbpe.load(tmp_path / "tokenizer.json"), 8000
    assert len(tokenizer.encode("x" + " " * n + "x")) == 2 + (1 if len(rules) == 2 else n)
    assert seconds(lambda: tokenizer.encode("x" + " " * n + "x"), rounds=2) < 1


def test_many_special_tokens_are_checked_in_linear_time(quiet):
    def train(n: int) -> None:
        nbbpe.train(iter(["the cat"]), 256 + n, [f"<|{i}|>" for i in range(n)])

    train(10)
    assert seconds(lambda: train(20_000)) < 10 * seconds(lambda: train(5000)) + 0.1  # by the square, 16 times


@pytest.mark.skipif(sys.platform == "win32", reason="signals of one thread are POSIX's")
def test_ctrl_c_is_answered_while_a_long_text_is_looked_through():
    specials = packed([b"b" + b"a" * 1000])
    text = utf8.padded(b"a" * (100 * MB))
    find = functools.partial(special_search.find_breaks, text, 0, 100 * MB, 100 * MB, specials)
    whole = seconds(find, rounds=2)
    began = time.process_time()
    interrupted(find, whole / 4)
    assert time.process_time() - began < whole * 3 / 4


# Nothing is read outside of the text and its padding


@pytest.mark.skipif(sys.platform == "win32", reason="pages are guarded by POSIX's mprotect")
def test_looking_for_tokens_reads_nothing_but_the_text_and_its_padding():
    source = random.Random(3)
    every = list(BYTES.values())
    for tokens in [b"a"], [b"ab", b"ba", b"b" * 70], every, [b"a" * 200, b"b"]:
        specials = packed(tokens)
        breaks = np.empty((600, 3), dtype=np.int64)
        for n in [*range(130), 500]:
            data = bytes(source.choices(b"ab", k=n))
            wanted = special_search.find_breaks(utf8.padded(data), 0, len(data), len(data), specials).tolist()
            padded = utf8.padded(data).tobytes()
            with at_page_end(len(padded)) as at:
                ctypes.memmove(at, padded, len(padded))
                found, _ = find_specials(at, 0, len(data), len(data), specials, breaks, False)
                assert breaks[:found].tolist() == wanted
            with at_page_end(len(data)) as at:  # this one reads no block
                ctypes.memmove(at, data, len(data))
                beginning_node(at, len(data), specials)
    # And nothing before it: the text begins where a page does.
    size = 2 * mmap.PAGESIZE
    with at_page_end(size) as at:
        n = size - 128
        ctypes.memset(at, ord("a"), n)
        ctypes.memset(at + n, 0, 128)
        room = np.empty((n, 3), dtype=np.int64)
        for start in 0, 1, 63, 64, 65, n - 1, n:
            assert find_specials(at, start, n, n, packed([b"a"]), room, False) == (n - start, n)
            assert find_specials(at, start, n, n, packed([b"b"]), room, False) == (0, n)
