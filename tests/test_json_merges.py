"""The merges of a tokenizer.json: the kernels read and look up what their twins do, and `json` reads all else."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe.formats.tokenizer_json import merges_text
from nbbpe.formats.tokenizer_json.merges_text import MergesText, ids_of, read_file
from nbbpe.formats.vocab_json import packed_entries
from nbbpe.formats.vocab_json.packed_entries import packed_merges
from nbbpe.kernels.machine.intrinsics import BLOCK
from nbbpe.kernels.records.json_merges import read_merges
from nbbpe.text.utf8 import padded

SIDES = st.text(st.sampled_from('ab"\\/#\n\t\u0120\u00e9\u2581\u4e2d\U0001f600\x7f{}[],:'), max_size=70)
PAIRS = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def kernels_for_all(monkeypatch):
    """Kernels read and look up the merges of small files, too."""
    monkeypatch.setattr(merges_text, "_LARGE", 0)
    monkeypatch.setattr(packed_entries, "_FEW_SIDES", 0)


def read(data: bytes) -> tuple[list[bytes], int] | None:
    """What the kernel reads, with no more room than it asks for."""
    text = np.empty(len(data) + BLOCK, dtype=np.uint8)
    starts = np.empty(data.count(b'"') + 2, dtype=np.int64)
    n, end = read_merges(padded(data + b"\0"), text, starts)
    if n < 0:
        return None
    return [text[start:stop].tobytes() for start, stop in itertools.pairwise(starts[: 2 * n + 1].tolist())], end


@given(PAIRS, st.booleans(), st.booleans(), st.sampled_from([None, 1, "\t"]), st.sampled_from(["", "}\n}", " , 1"]))
def test_lists_are_read_as_they_were_written(pairs, as_strings, is_ascii, indent, after):
    lines = [f"{left} {right}" for left, right in pairs] if as_strings else pairs
    data = (json.dumps(lines, ensure_ascii=is_ascii, indent=indent) + after).encode()
    wanted = [side.encode() for pair in pairs for side in pair], len(data) - len(after)
    if as_strings and any(line.startswith("#version") for line in lines):
        wanted = None
    assert read(data) == naive.json_merges(data) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b'["a b", "\\u0120 c\\"", "\\ud83d\\ude00 \\\\"] ',
        b'[["a", "b"],\n["\\u0120", ""]]',
        b'["#version x", "#versio n"]',
        b'["\xc4\xa0 \xf0\x9f\x98\x80"]',
    ],
)
def test_whatever_byte_is_changed_put_in_or_taken_out_it_is_read_as_by_the_twin(data):
    for at in range(len(data) + 1):
        changed = [data[:at], data[:at] + data[at + 1 :]]
        for byte in b'"\\[],: \n\r\t0du#\x00\x1f\x7f\x80\xa0\xc4\xf0\xff':
            changed += [data[:at] + bytes([byte]) + data[after:] for after in (at, at + 1)]
        for each in changed:
            if each.startswith(b"["):
                assert read(each) == naive.json_merges(each), each


TOKENS = st.sampled_from(
    ["a", "b", "ab", "aa", "\u0120", "\u0120a", "\u4e2d", "a" * 16, "a" * 17, "b" * 40, "", "x", "\ud800"]
)


@given(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=5), st.sets(TOKENS))
def test_merges_are_looked_up_as_by_the_twin(pairs, known):
    """Also the empty token, and one that has no UTF-8; by kernels and by a dict."""
    known |= {left + right for left, right in pairs[1:]} | {side for pair in pairs[2:] for side in pair}
    ids = {token: 7 * number for number, token in enumerate(sorted(known))}
    wanted = naive.merge_ids(pairs, {token: token_id for token, token_id in ids.items() if token})
    lines = [f"{left} {right}" for left, right in pairs]
    for few in 0, 2 * len(pairs), 2 * len(pairs) + 1:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(packed_entries, "_FEW_SIDES", few)
            for found in ids_of(lines, ids), ids_of(list(map(list, pairs)), ids), packed_merges("\n".join(lines), ids):
                assert (found if found is None else found.tolist()) == wanted


def test_ids_that_are_none_are_left_to_the_slow_way():
    assert ids_of([["a", "b"]], {"a": 1 << 40, "b": 1, "ab": 2}) is None
    assert ids_of([["a", "b"]], {"a": "1", "b": 1, "ab": 2}) is None


def written(folder: Path, text: str) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def document(small, tmp_path) -> dict[str, Any]:
    small.to_hf(tmp_path / "small.json")
    document = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))
    assert document["model"]["merges"]
    return document


def merges_in(path: Path) -> Any:
    return read_file(path)["model"]["merges"]


def test_a_file_is_read_with_its_merges_as_text(small, document, tmp_path):
    lines = document["model"]["merges"]
    for each in lines, list(map(" ".join, lines)):
        document["model"]["merges"] = each
        for indent in None, 2:
            path = written(tmp_path, json.dumps(document, indent=indent))
            merges = merges_in(path)
            assert isinstance(merges, MergesText)
            assert (merges.lines, len(merges)) == (each, len(each))
            assert nbbpe.load(path) == small


def test_other_lists_of_merges_are_no_merges_of_the_model(small, document, tmp_path):
    other = {"merges": [["x", "y"]], "a": '"merges": [["x", "y"]]'}
    del document["post_processor"]
    first = {"post_processor": other, **document}
    assert isinstance(merges_in(written(tmp_path, json.dumps(first))), list)
    last = {**document, "post_processor": other}
    assert isinstance(merges_in(written(tmp_path, json.dumps(last))), MergesText)
    text = json.dumps(document)
    twice = text.replace('"merges": ', '"merges": [["a", "b"]], "merges": ')
    with pytest.raises(ValueError, match="the key 'merges' comes twice"):
        nbbpe.load(written(tmp_path, twice))


@pytest.mark.parametrize(
    "merges", [[], [1], [["a"]], ["a"], ["#version 1", "a b"], [["a", "b"], "a b"], {"a": ["b"]}, "a b"]
)
def test_unusual_merges_are_read_by_json(document, tmp_path, merges):
    document["model"]["merges"] = merges
    assert merges_in(written(tmp_path, json.dumps(document))) == merges


def test_errors_name_the_place_in_the_whole_file(document, tmp_path):
    text = json.dumps(document, indent=1)
    n_lines = text.count("\n") + 1
    with pytest.raises(ValueError, match=rf"line {n_lines}: not valid JSON"):
        nbbpe.load(written(tmp_path, text[:-1] + ","))
    for wrong in ["\u0120", "q"], ["q", 'q"'], ["q", ""]:
        document["model"]["merges"] = [*json.loads(text)["model"]["merges"], wrong]
        with pytest.raises(ValueError, match=rf"model.merges\[{len(document['model']['merges']) - 1}\]"):
            nbbpe.load(written(tmp_path, json.dumps(document)))


def test_whatever_is_changed_a_file_is_read_as_without_the_kernel(document, tmp_path, monkeypatch):
    """Or is the same error."""
    rng = random.Random(3)
    text = json.dumps(document)
    place = text.index('"merges"')

    def outcome() -> tuple[str, Any]:
        try:
            return "read", nbbpe.load(path)
        except ValueError as error:
            return "error", str(error)

    for _ in range(60):
        at = rng.randrange(place - 20, min(place + 400, len(text)))
        path = written(
            tmp_path, text[:at] + rng.choice(['"', "[", "]", "a", " ", ",", "\\", "#", ""]) + text[at + rng.randrange(2) :]
        )
        found = outcome()
        with monkeypatch.context() as patched:
            patched.setattr(merges_text, "_read_merges", lambda *_: None)
            assert found == outcome()
