"""Mixtures: weights beside repeated text, samples that no cut and no order change, and what is held out is never seen."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import random
import re
import warnings
from fractions import Fraction
from itertools import pairwise

import naive
import numpy as np
import pytest
import warned
from limits import takes_memory_below
from records import filled_pipe
from vocabularies import BYTES

import nbbpe
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.sources import Tally, find_inputs
from nbbpe.sources.sampling import _LONGEST_LINE, Sample, SampledInput
from nbbpe.text.chunks import CutRules
from nbbpe.text.windows import NO_ID
from nbbpe.words.mixture import count_mixture

SPECIAL = "<|endoftext|>"


def letters(seed: int, n: int = 4000) -> str:
    source = random.Random(seed)
    return "".join(source.choice("abcde fgh\n") for _ in range(n))


def naive_has(document: bytes, seed: int, low: float, high: float) -> bool:
    return low <= naive.document_digest(document, seed) / 2**64 < high


def documents_of(path, sample: Sample, special_tokens=(), part_bytes: int = 1 << 16) -> list[bytes]:
    """What a sample leaves of a file, document by document."""
    specials = new_special_tokens(list(special_tokens), [0] * len(special_tokens))
    found = []
    for each in find_inputs(path, None, "raise"):
        for part in SampledInput(each, sample).cut(part_bytes, CutRules(get_pattern("gpt2"), special_tokens)):
            with part.open(specials, False, NO_ID, Tally("raise")) as windows:
                taken = 0
                while (window := windows.advance(taken)) is not None:
                    found += [document for document, _ in window.documents()]
                    taken = window.end
    return [document for document in found if document]


def test_weights_count_a_source_as_if_it_were_repeated():
    a, b = letters(1), letters(2)
    mixture = nbbpe.Mixture({"a": iter([a]), "b": iter([b])}, weights={"a": Fraction(3, 2), "b": 2})
    assert nbbpe.train(mixture, 320).merges == nbbpe.train(documents=[a] * 3 + [b] * 4, vocab_size=320).merges


def test_a_weight_may_be_a_float_which_is_the_decimal_that_it_is_written_as():
    """As in the other arguments `weights`, and in a file for --mixture."""
    sources = {"a": letters(1), "b": letters(2)}
    weights = {"a": 0.3, "b": np.float64(1.5)}
    mixture = nbbpe.Mixture({name: iter([text]) for name, text in sources.items()}, weights=weights)
    trained = nbbpe.train(mixture, 320)
    assert trained.provenance["training"]["corpus"]["denominator"] == 10
    told = trained.provenance["training"]["mixture"]["sources"]
    assert [told[name]["multiplier"] for name in sources] == [3, 15]


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("numbers", [{"weights": {"a": Fraction(1, 2)}}, {"shares": {"a": 6, "b": 15}}])
@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_least_counts_are_of_weighted_text(numbers, parity):
    def trained(**arguments):
        sources = {"a": ["xy. xy. xy. "], "b": ["qz. qz. uv. "]}
        mixture = nbbpe.Mixture({name: iter(texts) for name, texts in sources.items()}, **numbers, parity=parity)
        return nbbpe.train(mixture, 300, pattern=r"\w+|\W", **arguments)

    # "xy" stands one and a half times in the text; by shares it is the least, and stands three times, "qz" five times.
    times = {b"xy": 3 / 2, b"qz": 2, b"uv": 1} if "weights" in numbers else {b"xy": 3, b"qz": 5, b"uv": 5 / 2}
    for least in range(1, 7):
        wanted = {word for word, n in times.items() if n >= least}
        tok = trained(min_frequency=least)
        assert set(map(b"".join, tok.merges)) == wanted
        assert tok.provenance["training"]["corpus"]["denominator"] == (2 if "weights" in numbers else 1000)
        if least < 3:
            assert set(map(b"".join, trained(min_word_count=least).merges)) == wanted


def test_shares_are_rounded_to_the_nearest_multiplier():
    mixture = nbbpe.Mixture({"a": iter(["ab"]), "b": iter(["cd"])}, shares={"a": 1, "b": 1.0006}, seed=-(2**63))
    sources = nbbpe.train(mixture, 257).provenance["training"]["mixture"]["sources"]
    assert {name: source["multiplier"] for name, source in sources.items()} == {"a": 1000, "b": 1001}


def test_shares_make_up_for_sizes():
    a, b = letters(1, 1000), letters(2, 16_000)
    tok = nbbpe.train(nbbpe.Mixture({"a": iter([a]), "b": iter([b])}, shares={"a": 0.5, "b": 0.5}), 300)
    told = tok.provenance["training"]["mixture"]["sources"]
    assert told["a"]["bytes"] == 1000
    assert told["a"]["multiplier"] == 16 * told["b"]["multiplier"]
    assert tok.merges == nbbpe.train(documents=[a] * 16 + [b], vocab_size=300).merges


@pytest.mark.parametrize(
    "numbers",
    [
        {"weights": {"a": 2**40, "b": Fraction(1, 2**20)}},
        {"weights": {"a": Fraction(2**40, 3), "b": 2**20}},
        {"shares": {"a": 2**60, "b": 2**59}},
    ],
)
@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_numbers_of_numpy_are_taken_exactly(numbers):
    def of_numpy(number):
        if isinstance(number, Fraction):
            return Fraction(np.int64(number.numerator), np.int64(number.denominator))
        return np.int64(number)

    told = []
    for convert in (lambda number: number), of_numpy:
        given = {kind: {name: convert(number) for name, number in each.items()} for kind, each in numbers.items()}
        tok = nbbpe.train(nbbpe.Mixture({"a": iter(["xy"]), "b": iter(["the cat"])}, **given), 257)
        told.append(tok.provenance["training"])
    assert told[0] == told[1]


@pytest.mark.parametrize("share", [1e-9, 1e30])
@pytest.mark.filterwarnings("ignore:the text has pairs for only")
def test_a_source_without_text_changes_no_count_of_the_others(share):
    def trained(sources, shares):
        return nbbpe.train(nbbpe.Mixture(sources, shares=shares), 258, min_frequency=3)

    alone = trained({"a": iter(["the the"])}, {"a": 1})
    beside = trained({"a": iter(["the the"]), "b": iter([])}, {"a": 1, "b": share})
    assert beside.merges == alone.merges == []
    told = beside.provenance["training"]["mixture"]["sources"]
    assert told == {"a": {"bytes": 7, "multiplier": 1000}, "b": {"bytes": 0, "multiplier": 1000}}
    with pytest.raises(ValueError, match="there is no text"):
        trained({"a": iter([]), "b": iter([])}, {"a": 1, "b": share})


def test_a_sample_of_lines_is_what_the_digests_say(tmp_path):
    long_line = ("x" + "é" * _LONGEST_LINE).encode()  # it is cut before a character
    data = letters(3, 200_000).encode() + b"\r\n\xff\xfe\n" + long_line
    (tmp_path / "a.txt").write_bytes(data)
    with gzip.open(tmp_path / "b.txt.gz", "wb") as file:
        file.write(data)
    with open(tmp_path / "c.txt.bz2", "wb") as file:  # streams that begin anywhere, where the file may be cut
        file.writelines(bz2.compress(data[start : start + 9999]) for start in range(0, len(data), 9999))
    lines = data[: -len(long_line)].splitlines(keepends=True)
    # What splitlines takes for an end of line, too, is not one here.
    lines = [line + b"\n" for line in data[: -len(long_line)].split(b"\n")[:-1]]
    assert len(long_line) == 2 * _LONGEST_LINE + 1
    lines += [long_line[: _LONGEST_LINE - 1], long_line[_LONGEST_LINE - 1 : 2 * _LONGEST_LINE - 1], long_line[-2:]]
    for low, high in (0.0, 0.3), (0.3, 0.45), (0.0, 1.0):
        expected = [line for line in lines if naive_has(line, 7, low, high)]
        for name in "a.txt", "b.txt.gz", "c.txt.bz2":
            for part_bytes in 1 << 12, 1 << 30:
                assert documents_of(tmp_path / name, Sample(7, low, high), part_bytes=part_bytes) == expected
    assert documents_of(tmp_path / "a.txt", Sample(8, 0.0, 0.3)) != documents_of(tmp_path / "a.txt", Sample(7, 0.0, 0.3))


def test_a_file_of_lines_is_sampled_in_parts_of_whole_lines(tmp_path):
    def spans(path, part_bytes):
        (source,) = find_inputs(path, None, "raise")
        parts = SampledInput(source, Sample(0, 0.0, 0.5)).cut(part_bytes, CutRules(get_pattern("gpt2"), []))
        return [part.span() for part in parts]

    text = letters(3, 20_000)
    (tmp_path / "a.txt").write_text(text, newline="")
    starts, ends = zip(*spans(tmp_path / "a.txt", 1000), strict=True)
    assert (starts[0], starts[1:], ends[-1]) == (0, ends[:-1], 20_000)
    assert all(text[end - 1] == "\n" for end in ends[:-1])
    assert len(starts) == 20
    assert max(end - start for start, end in zip(starts, ends, strict=True)) < 1500
    assert len(spans(tmp_path / "a.txt", 13_000)) == 2
    assert spans(tmp_path / "a.txt", 14_000) == [(0, None)]
    (tmp_path / "b.txt").write_text(text.replace("\n", " "))
    assert spans(tmp_path / "b.txt", 1000) == [(0, 20_000)]
    with open(tmp_path / "c.txt.bz2", "wb") as file:
        file.writelines(bz2.compress(text[start : start + 1000].encode()) for start in range(0, 20_000, 1000))
    starts, ends = zip(*spans(tmp_path / "c.txt.bz2", 4000), strict=True)
    assert (starts[0], starts[1:], ends[-1]) == (0, ends[:-1], None)
    assert len(starts) > 5
    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe("memory://lines.txt", text.encode())
    assert spans("memory://lines.txt", 1000) == [(0, None)]  # read from its beginning to its end


@pytest.mark.parametrize("n_more", [-1, 0, 1])
def test_a_line_as_long_as_a_line_may_be_is_one_document(tmp_path, n_more):
    line = b"x" * (_LONGEST_LINE + n_more)
    (tmp_path / "a.txt").write_bytes(line)
    wanted = [line] if n_more <= 0 else [line[:-1], b"x"]
    assert documents_of(tmp_path / "a.txt", Sample(0, 0.0, 1.0)) == wanted
    between = line[:-1] + b"\n"
    (tmp_path / "a.txt").write_bytes(b"the\n" + between + b"cat\n")
    wanted = [b"the\n", *([between] if n_more <= 0 else [between[:-1], b"\n"]), b"cat\n"]
    assert documents_of(tmp_path / "a.txt", Sample(0, 0.0, 1.0)) == wanted


def test_a_long_line_of_bytes_within_no_character_is_cut_three_bytes_earlier_at_most(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\x80" * (_LONGEST_LINE + 1))
    assert [len(each) for each in documents_of(tmp_path / "a.txt", Sample(0, 0.0, 1.0))] == [_LONGEST_LINE - 3, 4]


def test_of_samples_side_by_side_each_digest_is_in_one():
    bounds, n = (0.0, 0.0, 1e-30, 2**-64, 0.1, 0.1, 0.7, 1.0), 0
    for low, high in pairwise(bounds):
        first, last = Sample(0, low, high).digests()
        assert 0 <= last < 2**64
        if first <= last:
            assert first == n
            n = last + 1
    assert n == 2**64


def test_a_sample_of_documents_and_records_is_what_the_digests_say(tmp_path):
    documents = [letters(i, 500) for i in range(200)]
    (tmp_path / "a.txt").write_text(SPECIAL.join(documents), newline="")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in documents))
    expected = [each.encode() for each in documents if naive_has(each.encode(), -5, 0.25, 0.75)]
    assert 60 < len(expected) < 140
    for name in "a.txt", "a.jsonl":
        for part_bytes in 1000, 1 << 20:
            assert documents_of(tmp_path / name, Sample(-5, 0.25, 0.75), [SPECIAL.encode()], part_bytes) == expected


def test_a_record_that_spells_a_special_token_is_one_document(tmp_path):
    records = [f"{letters(2 * i, 20)}{SPECIAL}{letters(2 * i + 1, 20)}" for i in range(100)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in records))
    expected = [each.encode() for each in records if naive_has(each.encode(), 3, 0.25, 0.75)]
    assert 30 < len(expected) < 70
    halves = [half for each in expected for half in each.split(SPECIAL.encode())]
    assert documents_of(tmp_path / "a.jsonl", Sample(3, 0.25, 0.75), [SPECIAL.encode()]) == halves


def test_a_file_is_sampled_window_by_window(tmp_path, sizes):
    source = random.Random(6)
    documents = [letters(i, source.choice([0, 1, 30, 300])) for i in range(2000)]
    path, special = tmp_path / "a.txt", SPECIAL.encode()
    path.write_text(SPECIAL.join(documents), newline="")
    for window in 40, 1000:
        sizes(window=window, batch=window)
        found = documents_of(path, Sample(0, 0.0, 1.0), [special])
        assert found == [each.encode() for each in documents if each]
        (part,) = SampledInput(*find_inputs(path, None, "raise"), Sample(0, 0.0, 0.3)).cut(
            1000, CutRules(get_pattern("gpt2"), [special])
        )
        opened = part.open(new_special_tokens([special], [0]), False, NO_ID, Tally("raise"))
        with takes_memory_below(path.stat().st_size / 2), opened as windows:
            while windows.advance(0) is not None:
                pass


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_nothing_is_held_out_of_a_pipe(tmp_path):
    with filled_pipe(tmp_path / "pipe", b"the the cat") as pipe:
        with pytest.raises(ValueError, match="'a' is a pipe, which cannot be read twice: nothing can be held out of it"):
            nbbpe.train(nbbpe.Mixture({"a": pipe}, held_out=0.1), 300)
        mixture = nbbpe.Mixture({"a": pipe, "b": iter(["hat"])}, weights={"b": 2})
        assert nbbpe.train(mixture, 258).merges == [(b"a", b"t"), (b"t", b"h")]


def test_what_is_held_out_is_not_trained_on_and_told(tmp_path):
    documents = [letters(i, 500) for i in range(100)]
    (tmp_path / "a.txt").write_text(SPECIAL.join(documents), newline="")
    mixture = nbbpe.Mixture({"a": tmp_path / "a.txt"}, held_out=0.2, seed=3)
    said = []
    tok = nbbpe.train(mixture, 300, [SPECIAL], progress=lambda *each: said.append(each))
    size = 2 * (tmp_path / "a.txt").stat().st_size  # as it is read twice
    assert [each for each in said if each[0] == "count words"][-1] == ("count words", size, size)
    held_out = [each for each in documents if naive_has(each.encode(), 3, 0.0, 0.2)]
    kept = [each for each in documents if each not in held_out]
    assert 5 < len(held_out) < 40
    assert tok.merges == nbbpe.train(documents=kept, vocab_size=300, special_tokens=[SPECIAL]).merges
    told = tok.provenance["training"]["mixture"]
    assert (told["held_out"], told["seed"]) == (0.2, 3)
    n_tokens = sum(tok.count(each) for each in held_out)
    assert told["sources"]["a"]["held_out_bytes_per_token"] == pytest.approx(500 * len(held_out) / n_tokens)
    tok.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok").provenance["training"]["mixture"] == told


def test_what_is_held_out_is_measured_as_the_tokenizer_splits_it(tmp_path):
    documents = ["and " * (i % 3) + f"so it was that {letters(i, 9)} and so it was" for i in range(60)]
    (tmp_path / "a.txt").write_text(SPECIAL.join(documents), newline="")
    superwords = nbbpe.Superwords(after=300, window=2)
    tok = nbbpe.train(nbbpe.Mixture({"a": tmp_path / "a.txt"}, held_out=0.2), 340, [SPECIAL], superwords=superwords)
    held_out = [each for each in documents if naive_has(each.encode(), 0, 0.0, 0.2)]
    told = tok.provenance["training"]["mixture"]["sources"]["a"]["held_out_bytes_per_token"]
    assert told == pytest.approx(sum(map(len, held_out)) / sum(tok.count(each) for each in held_out))


def test_a_limit_takes_about_so_many_bytes_of_each_source(tmp_path):
    (tmp_path / "a.txt").write_text("".join(letters(i, 100) for i in range(2000)), newline="")
    (tmp_path / "b.txt").write_text(letters(5, 3000), newline="")
    sources = {"a": tmp_path / "a.txt", "b": [tmp_path / "b.txt"]}
    for max_bytes in 50_000, {"a": np.int64(50_000), "b": None}, {"a": "50 kB"}, "0.05MB":
        tok = nbbpe.train(nbbpe.Mixture(sources, max_bytes=max_bytes), 300)
        told = tok.provenance["training"]["mixture"]["sources"]
        assert 40_000 < told["a"]["bytes"] < 60_000
        assert told["b"]["bytes"] == 3000
        # With the held-out share and the seed, the limit says which documents were trained on.
        tok.save(tmp_path / "tok")
        limits = nbbpe.load(tmp_path / "tok").provenance["training"]["mixture"]["max_bytes"]
        assert limits == ({"a": 50_000} if isinstance(max_bytes, dict) else dict.fromkeys(sources, 50_000))
    (tmp_path / "empty.txt").touch()
    tok = nbbpe.train(nbbpe.Mixture({**sources, "empty": tmp_path / "empty.txt"}, max_bytes=50_000), 300)
    assert tok.provenance["training"]["mixture"]["sources"]["empty"]["bytes"] == 0
    assert "max_bytes" not in nbbpe.train(nbbpe.Mixture(sources), 300).provenance["training"]["mixture"]


def test_a_source_below_its_limit_is_trained_on_as_it_is(tmp_path):
    """A sample would have a document for each line, so that no newlines would merge."""
    (tmp_path / "a.txt").write_text("the cat\n\n\nsat\n\n\n" * 9)
    mixture = nbbpe.Mixture({"a": tmp_path / "a.txt"}, max_bytes=1000)
    assert nbbpe.train(mixture, 260).merges == nbbpe.train(tmp_path / "a.txt", 260).merges
    assert (b"\n", b"\n") in nbbpe.train(mixture, 260).merges


def test_a_limit_needs_the_size_of_a_remote_file(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = pytest.importorskip("fsspec.implementations.memory")

    class Sizeless(memory.MemoryFileSystem):
        """As a web server that does not tell sizes."""

        protocol = "sizeless"

        def info(self, path, **options):
            return {**super().info(path, **options), "size": None}

    fsspec.register_implementation("sizeless", Sizeless, clobber=True)
    with fsspec.open("sizeless://a.txt", "w") as file:
        file.write("".join(f"the cat {i % 9}\n" for i in range(800)))
    (tmp_path / "a.txt").write_text("the cat")
    for source in "sizeless://a.txt", [str(tmp_path / "a.txt"), "sizeless://a.txt"]:
        with pytest.raises(ValueError, match=r"size of 'a' is not known \(a pipe\?\): max_bytes cannot be applied"):
            nbbpe.train(nbbpe.Mixture({"a": source}, max_bytes=10), 300)
    tok = nbbpe.train(nbbpe.Mixture({"a": "sizeless://a.txt"}, held_out=0.5), 258)
    assert 0 < tok.provenance["training"]["mixture"]["sources"]["a"]["bytes"] < 8000


@pytest.mark.parametrize("held_out", [0.25, 0.75])
def test_a_limit_is_about_what_is_trained_on_beside_what_is_held_out(tmp_path, held_out):
    (tmp_path / "a.txt").write_text("".join(letters(i, 100) for i in range(4000)), newline="")
    for most, wanted in (50_000, 50_000), (390_000, (1 - held_out) * 400_000):
        mixture = nbbpe.Mixture({"a": tmp_path / "a.txt"}, max_bytes=most, held_out=held_out)
        n_bytes = nbbpe.train(mixture, 300).provenance["training"]["mixture"]["sources"]["a"]["bytes"]
        assert 0.85 * wanted < n_bytes < 1.15 * wanted


def test_numbers_may_be_as_large_as_64_bits_are():
    most = 2**63 - 1
    for seed in -(2**63), most:
        assert nbbpe.Mixture({"a": iter([])}, seed=seed).seed == seed
    assert nbbpe.train(nbbpe.Mixture({"a": iter(["ab"])}, weights={"a": most}), 257).merges == [(b"a", b"b")]
    with pytest.raises(OverflowError, match="9,223,372,036,854,775,808, which does not fit in 64 bits"):
        nbbpe.train(nbbpe.Mixture({"a": iter(["ab"])}, weights={"a": most + 1}), 257)


def test_a_limit_may_be_given_for_a_source_without_text(tmp_path):
    for name, text in ("a", ""), ("b", "the cat"):
        (tmp_path / name).write_text(text)
    mixture = nbbpe.Mixture({name: tmp_path / name for name in "ab"}, max_bytes=100)
    assert len(nbbpe.train(mixture, 258).merges) == 2


def test_a_field_is_that_of_the_sources_which_have_records(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"body": "the cat", "text": "xyz"}))
    (tmp_path / "b.txt").write_text("the hat")
    sources = {"a": tmp_path / "a.jsonl", "b": tmp_path / "b.txt"}
    both = nbbpe.train(list(sources.values()), 258, field="body")
    assert nbbpe.train(nbbpe.Mixture(sources), 258, field="body").merges == both.merges
    parity = nbbpe.Parity(parallel={"a": sources["b"], "b": sources["b"]})
    assert nbbpe.train(nbbpe.Mixture(sources, parity=parity), 258, field="body").merges == both.merges
    with pytest.raises(ValueError, match=r"field='body' names a field of records, and .*b\.txt' is plain text"):
        nbbpe.train(nbbpe.Mixture({"b": sources["b"]}), 258, field="body")
    parity = nbbpe.Parity(parallel={"b": sources["a"]})  # whose field it is
    assert len(nbbpe.train(nbbpe.Mixture({"b": sources["b"]}, parity=parity), 258, field="body")) == 258


def test_documents_are_held_out_whole_where_text_is_normalized(tmp_path):
    documents = [letters(i, 500) for i in range(60)]
    (tmp_path / "a.txt").write_text(SPECIAL.join(documents), newline="")
    plain, normal = (
        nbbpe.Tokenizer(BYTES, [], [SPECIAL], normalizer=normalizer).extend(
            nbbpe.Mixture({"a": tmp_path / "a.txt"}, held_out=0.3), 300
        )
        for normalizer in (None, "NFC")
    )
    assert normal.merges == plain.merges
    assert normal.provenance["training"]["mixture"] == plain.provenance["training"]["mixture"]


@pytest.mark.parametrize(("normalizer", "normalized"), [("NFC", False), ("Lowercase", True)])
def test_runs_of_spaces_divide_no_documents_but_normalized_tokens_do(normalizer, normalized, tmp_path):
    """Plain text is sampled as records of the same documents are."""
    documents = [letters(i, 300).replace("e", "  ") for i in range(60)]
    (tmp_path / "a.txt").write_text(SPECIAL.join(documents), newline="")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": document}) + "\n" for document in documents))
    nbbpe.Tokenizer(BYTES, [], [SPECIAL, "  "]).to_hf(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    document["normalizer"] = {"type": normalizer}
    for token in document["added_tokens"]:
        is_space = token["content"].isspace()
        token.update(normalized=is_space or normalized, special=not is_space)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    tokenizer = nbbpe.load(tmp_path / "tokenizer.json")
    of_text, of_records = (
        tokenizer.extend(nbbpe.Mixture({"a": tmp_path / name}, held_out=0.3), 300) for name in ("a.txt", "a.jsonl")
    )
    assert of_text.merges == of_records.merges
    told = of_text.provenance["training"]["mixture"]
    assert told == of_records.provenance["training"]["mixture"]
    assert 0 < told["sources"]["a"]["bytes"] < sum(map(len, documents))


def test_the_number_of_workers_changes_nothing(tmp_path, sizes):
    sizes(for_workers=0)
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(letters(ord(name), 50_000), newline="")
    sources = {"all": [tmp_path / "a.txt", tmp_path / "b.txt"]}
    one, two = (
        nbbpe.train(nbbpe.Mixture(sources, held_out=0.1, max_bytes=60_000), 320, workers=workers) for workers in (1, 2)
    )
    assert one.merges == two.merges
    assert one.provenance == two.provenance


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sources": ["a.txt"]}, TypeError, "sources must be a dict of sources by name"),
        ({"sources": {1: "a.txt"}}, TypeError, "sources must be a dict of sources by name"),
        ({"sources": {}}, ValueError, "sources is empty"),
        ({"weights": {"b": 1}}, ValueError, "weights names 'b', which is not a source: those are a"),
        ({"weights": {"a": "3/2"}}, TypeError, r"weights\['a'\] must be a number, not '3/2'"),
        ({"weights": {"a": True}}, TypeError, r"weights\['a'\] must be a number, not True"),
        ({"weights": {"a": 0}}, ValueError, r"weights\['a'\] must be positive, not 0"),
        ({"weights": {"a": float("nan")}}, ValueError, r"weights\['a'\] must be positive, not nan"),
        ({"weights": 2}, TypeError, "weights must be a dict of numbers by name, not 2"),
        ({"shares": {}}, ValueError, "shares has no number for 'a'"),
        ({"shares": {"a": float("nan")}}, ValueError, r"shares\['a'\] must be positive, not nan"),
        ({"shares": {"a": float("inf")}}, ValueError, r"shares\['a'\] must be positive, not inf"),
        ({"shares": {"a": 1}, "weights": {"a": 1}}, TypeError, "give weights or shares, not both"),
        ({"shares": {"a": 1}, "weights": {}}, TypeError, "give weights or shares, not both"),
        ({"max_bytes": 0}, ValueError, "max_bytes must be at least 1, not 0"),
        (
            {"max_bytes": {"a": "1 acre"}},
            ValueError,
            'max_bytes must be a number of bytes, or a size such as "4GB" or "512MiB"',
        ),
        ({"max_bytes": 1.5}, TypeError, 'max_bytes must be a number of bytes, or a size such as "4GB", not 1.5'),
        ({"max_bytes": {"b": 1}}, ValueError, "max_bytes names 'b'"),
        ({"held_out": 1}, ValueError, "held_out must be at least 0 and less than 1, not 1"),
        ({"held_out": False}, TypeError, "held_out must be a number, not False"),
        ({"held_out": "0.1"}, TypeError, "held_out must be a number, not '0.1'"),
        ({"seed": 2**63}, ValueError, "seed must fit in 64 bits"),
        ({"seed": -(2**63) - 1}, ValueError, "seed must fit in 64 bits"),
        ({"seed": 0.5}, TypeError, "seed must be an integer, not 0.5"),
    ],
)
def test_invalid_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        nbbpe.Mixture(**{"sources": {"a": "a.txt"}, **arguments})


@pytest.mark.parametrize(
    ("sources", "parallel", "message"),
    [
        ({"a": []}, "a.txt", r"^sources\['a'\] is an empty list: name at least one file"),
        ({"a": [b"the cat"]}, "a.txt", r"^item 0 of sources\['a'\] is bytes"),
        ({"a": "a.txt"}, [], r"^parallel\['a'\] is an empty list: name at least one file"),
    ],
)
def test_the_error_for_a_source_names_it_as_a_source(tmp_path, monkeypatch, sources, parallel, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("the cat")
    with pytest.raises((TypeError, ValueError), match=message):
        nbbpe.train(nbbpe.Mixture(sources, parity=nbbpe.Parity(parallel={"a": parallel})), 260)


def test_what_takes_no_mixture_says_what_to_give(small, tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    mixture = nbbpe.Mixture({"a": tmp_path / "a.txt"})
    for call in (
        lambda: small.encode_file(mixture, tmp_path / "a.bin"),
        lambda: small.unused(mixture),
        lambda: nbbpe.count_words(mixture),
    ):
        with pytest.raises(TypeError, match=r" is a Mixture, .*list\(mixture\.sources\.values\(\)\)"):
            call()
    assert small.encode_file(list(mixture.sources.values()), tmp_path / "a.bin")
    with pytest.raises(TypeError, match=r"not Mixture: give mixture\.sources, which is such a dict"):
        small.report(tmp_path / "a.html", mixture)
    assert small.report(tmp_path / "a.html", mixture.sources)


def test_what_cannot_be_sampled_is_refused():
    for arguments in {"held_out": 0.1}, {"max_bytes": 10}:
        with pytest.raises(ValueError, match="'a' is in memory"):
            nbbpe.train(nbbpe.Mixture({"a": iter(["the"])}, **arguments), 300)


def test_weights_that_are_too_large_are_refused():
    for text in "the cat", "":  # Python writes out no number of so many digits
        with pytest.raises(OverflowError, match=r"are about 2\*\*16,6\d\d, which does not fit in 64 bits"):
            nbbpe.train(nbbpe.Mixture({"a": iter([text]), "b": iter(["hat"])}, weights={"a": 10**5000}), 258)
    with pytest.raises(OverflowError, match="does not fit in 64 bits: use smaller weights"):
        nbbpe.train(nbbpe.Mixture({"a": iter(["the the"])}, weights={"a": 2**62}), 300)
    for parity, huge in (False, 1e21), (True, 1e16):
        mixture = nbbpe.Mixture({"a": iter(["the" * 999]), "b": iter(["hat"])}, shares={"a": huge, "b": 1}, parity=parity)
        with pytest.raises(OverflowError, match="shares that differ less"):
            nbbpe.train(mixture, 300)


def test_words_of_all_sources_leave_memory_when_there_is_no_room_for_them_together():
    class Words:
        """As many words as one source may have, and no more."""

        in_memory = True

        def n_bytes(self):
            return 10 * self.in_memory

        def n_text(self):
            return 1

        total = n_text

        def move_to_run(self):
            self.in_memory = False

    class Limit:
        def is_reached(self, n_bytes):
            return n_bytes > 25

    found = {name: [] for name in "abcd"}
    trained = count_mixture(nbbpe.Mixture(found), found, Limit(), lambda inputs: Words(), lambda inputs: None).trained
    assert [words.in_memory for words in trained.values()] == [False, False, False, True]


def test_a_source_that_is_missing_is_named_by_its_path():
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        nbbpe.train(nbbpe.Mixture({"a": "missing.txt"}), 300)


@pytest.mark.parametrize("superwords", [None, nbbpe.Superwords(after=262)])
@pytest.mark.parametrize("held_out", [0, 0.3])
@pytest.mark.parametrize("is_mixed", [True, False])
def test_a_source_that_is_read_again_brings_one_warning_of_its_records(tmp_path, is_mixed, held_out, superwords):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "the end of {i} the end"}}\n' for i in range(50)) + '{"x": 1}\n')
    source = nbbpe.Mixture({"a": path}, held_out=held_out) if is_mixed else path
    with pytest.warns(UserWarning, match="was skipped") as caught:
        nbbpe.train(source, 264, on_error="skip", superwords=superwords)
    assert [str(each.message)[:31] for each in warned.here(caught)] == ["1 malformed record was skipped:"]


@pytest.mark.parametrize("parity", [False, True])
def test_one_warning_is_of_the_records_of_all_sources(tmp_path, parity):
    sources = {}
    for name in "b", "a", "parallel":
        sources[name] = tmp_path / f"{name}.jsonl"
        sources[name].write_text('{"text": "the end the end"}\n{"x": 1}\n')
    measure = sources.pop("parallel")
    mixture = nbbpe.Mixture(sources, parity=nbbpe.Parity(parallel=dict.fromkeys(sources, measure)) if parity else False)
    with pytest.warns(UserWarning, match="were skipped") as caught:
        nbbpe.train(mixture, 260, on_error="skip")
    (told,) = [str(each.message) for each in warned.here(caught)]
    assert told.startswith(f"{4 if parity else 2} malformed records were skipped: ")
    assert 0 < told.index("b.jsonl") < told.index("a.jsonl")


@pytest.mark.parametrize(("limits", "said"), [({"max_bytes": 3}, "max_bytes=3"), ({"held_out": 0.99}, "held_out=0.99")])
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.filterwarnings("error")  # the error says enough
def test_limits_that_leave_no_text_are_named(tmp_path, limits, said, parity):
    (tmp_path / "a.txt").write_text("the cat sat on the mat")
    with pytest.raises(ValueError, match=f"^there is no text: {said} leaves no document of the sources"):
        nbbpe.train(nbbpe.Mixture({"a": tmp_path / "a.txt"}, parity=parity, **limits), 260)


@pytest.mark.parametrize("parity", [False, True])
def test_where_sources_have_no_text_they_are_named(tmp_path, parity):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match=r"^there is no text: the source \('.*a\.txt'\) is empty"):
        nbbpe.train(nbbpe.Mixture({"a": tmp_path / "a.txt"}, parity=parity), 260)


@pytest.mark.parametrize("limits", [{"max_bytes": {"a": 3}}, {"held_out": 0.9}])
@pytest.mark.parametrize("parity", [False, True])
def test_a_source_of_which_a_sample_has_no_document_is_named_once(tmp_path, limits, parity):
    (tmp_path / "a.txt").write_text("the cat sat on the mat\n" * 1000)  # one document
    (tmp_path / "b.txt").write_text(SPECIAL.join(f"the hat {i} sat on the cat" for i in range(200)))
    (tmp_path / "empty.txt").write_text(SPECIAL)
    sources = {name: tmp_path / f"{name}.txt" for name in ("a", "b", "empty")}
    mixture = nbbpe.Mixture(sources, parity=parity, **limits)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tok = nbbpe.train(mixture, 300, [SPECIAL], superwords=None if parity else nbbpe.Superwords(after=280))
    said = [str(each.message) for each in caught if "leaves no text" in str(each.message)]
    assert len(said) == 1
    assert re.match(r"(max_bytes=\{'a': 3\}|held_out=0\.9) leaves no text of 'a' to train on, as whole documents", said[0])
    told = tok.provenance["training"]["mixture"]["sources"]
    assert told["a"]["bytes"] == 0 < told["b"]["bytes"]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"held_out": 0.01}, "held_out=0.01 holds out no text of 'a', as whole documents"),
        ({"max_bytes": 10_000}, "max_bytes=10000 leaves more than twice as much text"),
    ],
)
@pytest.mark.parametrize("parity", [False, True])
def test_a_source_that_a_sample_has_whole_is_named_once(tmp_path, limits, said, parity):
    (tmp_path / "a.txt").write_text("the cat sat on the mat\n" * 1000)  # one document
    (tmp_path / "b.txt").write_text(SPECIAL.join(f"the hat {i} sat on the cat" for i in range(2000)))
    (tmp_path / "empty.txt").write_text("")
    sources = {name: tmp_path / f"{name}.txt" for name in ("a", "b", "empty")}
    mixture = nbbpe.Mixture(sources, parity=parity, seed=5, **limits)  # whose digest of the first is low
    with pytest.warns(UserWarning, match=re.escape(said)) as caught:
        tok = nbbpe.train(mixture, 300, [SPECIAL], superwords=None if parity else nbbpe.Superwords(after=280))
    (warned,) = [str(each.message) for each in caught if "whole documents" in str(each.message)]
    assert "'a'" in warned.split("whole documents")[0].split(" of ")[-1]
    assert " 'b'" not in warned.split(" of ", 1)[1]
    told = tok.provenance["training"]["mixture"]["sources"]
    assert told["a"]["bytes"] == 23_000


def test_a_compressed_source_that_is_larger_than_estimated_is_named_with_the_reason(tmp_path):
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.writelines(f'{{"text": "the cat {i % 9} sat on the mat, and the mat lay on it"}}\n' for i in range(5000))
    with pytest.warns(UserWarning, match="of 'a' to train on, as compressed text may be larger than estimated"):
        nbbpe.train(nbbpe.Mixture({"a": tmp_path / "a.jsonl.gz"}, max_bytes=50_000), 270)


def test_a_source_of_empty_records_is_named_once(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n' * 9)
    (tmp_path / "b.jsonl").write_text("".join(f'{{"text": "the cat {i}"}}\n' for i in range(99)))
    with pytest.warns(UserWarning, match="^there is no text of 'a', neither to train on nor to hold out") as caught:
        nbbpe.train(nbbpe.Mixture({name: tmp_path / f"{name}.jsonl" for name in "ab"}, held_out=0.1), 260)
    assert len(warned.here(caught)) == 1
