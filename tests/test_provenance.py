"""Fingerprint and provenance: the same wherever ids are the same, kept by files and pickles, and a mismatch is an error."""

from __future__ import annotations

import copy
import json
import pickle
import random
from itertools import chain
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from vocabularies import BYTES

import nbbpe
from nbbpe.counting import word_counts
from nbbpe.model import provenance
from nbbpe.model.packed_vocab import PackedVocab
from nbbpe.patterns import character_classes, pattern

VOCAB = BYTES | {256: b"th", 257: b"the", 258: b"<s>"}
MERGES = [(b"t", b"h"), (b"th", b"e")]
PINNED = "ced3c3446c71397f"


def pinned() -> nbbpe.Tokenizer:
    return nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"])


# Fingerprint


def test_the_fingerprint_is_the_same_everywhere():
    # Whoever changes this on purpose makes every saved folder and every file of ids unreadable.
    assert pinned().fingerprint == PINNED
    script = (
        "import nbbpe; vocab = {i: bytes([i]) for i in range(256)} | {256: b'th', 257: b'the', 258: b'<s>'}\n"
        "print(nbbpe.Tokenizer(vocab, [(b't', b'h'), (b'th', b'e')], ['<s>']).fingerprint)"
    )
    for seed in "1", "2":
        assert processes.run(script, PYTHONHASHSEED=seed).strip() == PINNED


def test_the_fingerprint_does_not_tell_how_a_tokenizer_was_made(small, tmp_path):
    vocab = list(small.vocab.items())
    random.Random(0).shuffle(vocab)
    small.save(tmp_path / "folder")
    gpt2 = pattern.NAMED["gpt2"]
    for other in (
        nbbpe.Tokenizer(dict(vocab), small.merges, [texts.SPECIAL]),
        nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], gpt2.regex, max_pieces=7),
        nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern.Pattern("mine", gpt2.regex)),
        nbbpe.Tokenizer.from_files(tmp_path / "folder" / "vocab.json", tmp_path / "folder" / "merges.txt", [texts.SPECIAL]),
        nbbpe.load(tmp_path / "folder"),
        pickle.loads(pickle.dumps(small)),
        copy.deepcopy(small),
    ):
        assert other.fingerprint == small.fingerprint


def test_whatever_changes_ids_changes_the_fingerprint():
    changed = [
        nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"], pattern=None),
        nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"], pattern=r"\w+"),
        nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"], pattern=r"\w+|\W+"),
        nbbpe.Tokenizer(VOCAB, MERGES, []),
        nbbpe.Tokenizer(VOCAB, MERGES, ["<t>"]),
        nbbpe.Tokenizer(VOCAB, MERGES, ["<s>", "<t>"]),
        nbbpe.Tokenizer(VOCAB, MERGES[:1], ["<s>"]),
        nbbpe.Tokenizer(VOCAB, MERGES[::-1], ["<s>"]),
        nbbpe.Tokenizer(VOCAB, [(b"t", b"h"), (b"t", b"h")], ["<s>"]),
        nbbpe.Tokenizer(VOCAB | {256: b"the", 257: b"th"}, MERGES, ["<s>"]),
        nbbpe.Tokenizer(VOCAB | {0: b"\x01", 1: b"\x00"}, MERGES, ["<s>"]),
        nbbpe.Tokenizer(VOCAB | {300: b"x y"}, MERGES, ["<s>"]),
    ]
    found = [tokenizer.fingerprint for tokenizer in [pinned(), *changed]]
    assert len(set(found)) == len(found)
    assert all(len(fingerprint) == 16 and int(fingerprint, 16) >= 0 for fingerprint in found)


@given(texts.word_counts(alphabet="abé", max_words=5, max_size=4), texts.word_counts(max_words=5, max_size=4))
def test_different_merges_of_the_same_bytes_have_different_fingerprints(first, second):
    first, second = ([(left, b"x") for left in words] for words in (first, second))
    packed = [PackedVocab.of(dict(enumerate(chain.from_iterable(merges)))) for merges in (first, second)]
    sides = [(each.lengths, each.text) for each in packed]
    bytes_alone = PackedVocab.of(BYTES)
    found = [provenance.tokenizer_fingerprint(bytes_alone, each, {}, pattern.NAMED["gpt2"]) for each in sides]
    assert (found[0] == found[1]) == (first == second)


# The corpus


@given(texts.word_counts(alphabet="abcé\x00", max_words=12))
def test_the_digest_of_words_is_that_of_the_twin_in_any_order(counts):
    wanted = f"{naive.digest_words(counts):016x}"
    assert word_counts.corpus_fingerprint(word_counts.words_from_dict(counts)) == wanted
    backwards = word_counts.words_from_dict(dict(reversed(list(counts.items()))))
    assert word_counts.corpus_fingerprint(backwards) == wanted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_counts, "_WORDS_PER_THREAD", 2)
        assert word_counts.corpus_fingerprint(backwards, n_threads=3) == wanted


def test_a_digest_of_words_tells_counts_and_bytes_apart():
    variants = [{b"a": 1}, {b"a": 2}, {b"b": 1}, {b"b": 2}, {b"ab": 1}, {b"ba": 1}, {b"a": 1, b"b": 1}, {}, {b"\x00": 1}]
    variants += [{b"\x00\x00": 1}, {b"a": 2**62}, {b"a": 1, b"b": 2}, {b"a": 2, b"b": 1}]
    digests = {word_counts.corpus_fingerprint(word_counts.words_from_dict(counts)) for counts in variants}
    assert len(digests) == len(variants)


def fingerprint_of(source, *args, **options) -> str:
    return nbbpe.train(source, *args, **options).provenance["training"]["corpus"]["fingerprint"]


@pytest.mark.usefixtures("quiet")
def test_the_corpus_fingerprint_is_of_the_text_alone(tmp_path, sizes):
    parts = [texts.SAMPLE, "the cat sat on the mat ", "ababab aaa"]
    documents = texts.SPECIAL.join(parts * 9)
    paths = [tmp_path / f"{i}.txt" for i in range(3)]
    for path, part in zip(paths, parts, strict=True):
        path.write_text(part, encoding="utf-8", newline="")
    whole = tmp_path / "whole.txt"
    whole.write_text(documents, encoding="utf-8", newline="")
    wanted = fingerprint_of(whole, 300, [texts.SPECIAL])
    assert wanted == fingerprint_of(whole, 290, [texts.SPECIAL], tie_break="ids", min_frequency=2)
    assert wanted == fingerprint_of(iter(parts * 9), 300)
    assert wanted == fingerprint_of(iter(parts[::-1] * 9), 300, ["<|other|>"])
    assert wanted == fingerprint_of([*paths, *paths[::-1], *paths] * 3, 300)
    sizes(for_workers=50, counted=700, window=100)
    for workers in 2, 3:
        assert wanted == fingerprint_of(whole, 300, [texts.SPECIAL], workers=workers)
    assert wanted != fingerprint_of(whole, 300)
    assert wanted != fingerprint_of(iter([*parts * 9, "x"]), 300)
    assert wanted != fingerprint_of(whole, 300, [texts.SPECIAL], pattern=r"\w+")


# Provenance


def test_training_leaves_its_provenance():
    tokenizer = nbbpe.train(iter(["the cat sat on the mat"]), 259, ["<s>"], tie_break="ids", min_frequency=2)
    found = tokenizer.provenance
    corpus = found["training"].pop("corpus")
    words = {b"the": 1, b" cat": 1, b" sat": 1, b" on": 1, b" the": 1, b" mat": 1}
    assert corpus == {"fingerprint": f"{naive.digest_words(words):016x}", "words": 6, "distinct_words": 6}
    asked = {"vocab_size": 259, "tie_break": "ids", "min_frequency": 2, "max_token_length": None}
    assert found["training"] == asked
    assert found["pattern"] == "gpt2"
    assert found["character_classes"] == character_classes.classes_digest()
    assert list(found["versions"]) == ["nbbpe", "numba", "numpy", "regex"]
    assert found["versions"]["nbbpe"] == nbbpe.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert json.loads(json.dumps(found)) == found


@pytest.mark.usefixtures("quiet")
def test_the_vocab_size_that_was_asked_for_is_kept_where_pairs_run_out():
    tokenizer = nbbpe.train(iter(["ab"]), np.int64(5000))
    assert tokenizer.vocab_size == 257
    assert tokenizer.provenance["training"]["vocab_size"] == 5000


def test_provenance_cannot_be_changed_from_outside():
    tokenizer = nbbpe.train(iter(["the cat sat on the mat"]), 257)
    found = tokenizer.provenance
    found["training"]["corpus"]["words"] = 0
    found["versions"].clear()
    assert tokenizer.provenance["training"]["corpus"]["words"] == 6
    assert tokenizer.provenance["versions"]
    with pytest.raises(AttributeError):
        tokenizer.provenance = {}
    assert "training" not in pinned().provenance  # and tokenizers do not share it


def test_provenance_is_kept_by_folders_and_pickles(small, tmp_path):
    small.save(tmp_path / "one")
    loaded = nbbpe.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    for other in loaded, nbbpe.load(tmp_path / "two"), pickle.loads(pickle.dumps(small)), copy.copy(loaded):
        assert other.provenance == small.provenance
    for name in "nbbpe.json", "vocab.json", "merges.txt":
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_no_pattern_depends_on_no_character_classes(tmp_path):
    assert nbbpe.Tokenizer(VOCAB, MERGES, pattern=None).provenance["character_classes"] is None
    of_words = nbbpe.Tokenizer(VOCAB, MERGES, pattern=r"\w+").provenance
    assert of_words["character_classes"] == character_classes.classes_digest()


def test_the_digest_of_the_classes_is_of_every_character():
    classes = character_classes.character_classes().copy()
    digest = character_classes.digest_of(classes)
    assert character_classes.classes_digest() == character_classes.classes_digest.__wrapped__() == digest
    classes[0x10FFFF] = 0
    assert character_classes.digest_of(classes) != digest


def test_versions_of_what_is_no_package_are_unknown(monkeypatch):
    monkeypatch.setattr(provenance, "_PACKAGES", ["no_such_package", "numpy"])
    found = provenance.library_versions()
    assert (found["no_such_package"], found["numpy"]) == ("unknown", np.__version__)


# Mismatches


@pytest.fixture
def folder(small: nbbpe.Tokenizer, tmp_path: Path) -> Path:
    small.save(tmp_path / "folder")
    return tmp_path / "folder"


def change(folder: Path, without: tuple[str, ...] = (), **changes) -> None:
    """Change entries of a folder's nbbpe.json, and take some away."""
    about = json.loads((folder / "nbbpe.json").read_text(encoding="utf-8")) | changes
    about = {name: value for name, value in about.items() if name not in without}
    (folder / "nbbpe.json").write_text(json.dumps(about), encoding="utf-8")


def test_other_character_classes_are_an_error_with_a_way_out(folder, small):
    foreign = small.provenance | {"character_classes": "0" * 16, "versions": {"regex": "2019.1.1"}}
    change(folder, provenance=foreign)
    message = r"folder: was made with regex 2019\.1\.1, .* installed regex .*0000000000000000 and .*check=False"
    for load in nbbpe.load, nbbpe.Tokenizer.load, nbbpe.use:
        with pytest.raises(ValueError, match=message):
            load(folder)
    tokenizer = nbbpe.load(folder, check=False)
    assert tokenizer == small
    assert tokenizer.provenance == small.provenance | {"versions": provenance.library_versions()}
    tokenizer.encode_file(iter(["the cat"]), folder / "ids.bin")
    assert len(nbbpe.TokenFile(folder / "ids.bin", tokenizer)) > 0
    tokenizer.save(folder)
    assert nbbpe.load(folder) == small


def test_what_is_taken_unchecked_keeps_its_provenance_where_that_holds_here(folder, small):
    older = small.provenance | {"versions": {"regex": "2019.1.1"}}
    change(folder, provenance=older)
    assert nbbpe.load(folder, check=False).provenance == older


def test_another_version_of_regex_with_the_same_classes_is_no_error(folder, small):
    change(folder, provenance=small.provenance | {"versions": {"regex": "2019.1.1"}})
    assert nbbpe.load(folder) == small


def test_other_character_classes_do_not_matter_without_a_pattern(tmp_path):
    nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"], None).save(tmp_path)
    foreign = {"pattern": None, "character_classes": "0" * 16, "versions": {}}
    change(tmp_path, provenance=foreign)
    assert nbbpe.load(tmp_path).provenance == foreign


def test_files_that_do_not_belong_together_are_an_error_with_a_way_out(folder, tmp_path):
    other = nbbpe.train(iter(["other text, other words " * 3]), 270, [texts.SPECIAL])
    other.save(tmp_path / "other")
    for name in "vocab.json", "merges.txt":
        (folder / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(ValueError, match=r"folder: the files are not those that were saved together.*check=False"):
        nbbpe.load(folder)
    assert nbbpe.load(folder, check=False).merges == other.merges


def test_a_folder_of_an_older_nbbpe_is_read(folder, small):
    change(folder, ("provenance", "fingerprint"), regex_version="2023.1.1")
    tokenizer = nbbpe.load(folder)
    assert tokenizer == small
    assert tokenizer.fingerprint == small.fingerprint
    assert tokenizer.provenance == nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL]).provenance


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fingerprint": 5}, r"nbbpe\.json: fingerprint must be a string, and is 5"),
        ({"provenance": [1]}, r"nbbpe\.json: provenance must be an object"),
        ({"provenance": {"versions": "1.0"}}, r"nbbpe\.json: provenance must be an object with versions as an object"),
    ],
)
def test_a_broken_provenance_is_named(folder, changes, message):
    change(folder, **changes)
    with pytest.raises(ValueError, match=message):
        nbbpe.load(folder)


def test_what_stands_for_invalid_bytes_is_saved(tmp_path):
    rules = nbbpe.TokenRules(seeds=[b"\xff\xfe"], forbidden="[\udc80-\udc8f]")
    tok = nbbpe.train(documents=["the the"], vocab_size=258, pattern="[\udc80-\udcff]+|[^\udc80-\udcff]+", rules=rules)
    tok.save(tmp_path / "tokenizer")
    loaded = nbbpe.load(tmp_path / "tokenizer")
    assert loaded.provenance["training"]["rules"] == {"seeds": ["\udcff\udcfe"], "forbidden": ["[\udc80-\udc8f]"]}
    assert (loaded.pattern, loaded.merges) == (tok.pattern, tok.merges)
    with pytest.raises(ValueError, match="holds a lone surrogate, which has no UTF-8"):
        tok.to_hf(tmp_path / "tokenizer.json")
