"""The Tokenizer beside encoding: vocabularies, decoding, look-ups, special tokens, saving, the default of a process."""

from __future__ import annotations

import copy
import pickle
import re
import shutil
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import processes
import pytest
import texts
from vocabularies import BYTES, saved_as_ranks, vocab_of

import nbbpe
from nbbpe.formats.nbbpe_folder import table_file
from nbbpe.kernels.encoding import merge_table
from nbbpe.model import vocab_checks
from nbbpe.model.model import Model
from nbbpe.model.vocab_checks import NEVER
from nbbpe.patterns.named_patterns import REGEXES
from nbbpe.patterns.pattern_argument import get_pattern

SHIFTED = {i + 2: bytes([i]) for i in range(256)}


# Vocabularies


def test_the_parts_it_was_made_of_can_be_read_and_are_copies():
    vocab, merges = BYTES | {256: b"ab", 257: b"abc"}, [(b"a", b"b"), (b"ab", b"c")]
    tokenizer = nbbpe.Tokenizer(vocab, merges, ["<s>", "<t>"], r"\S+|\s+")
    assert tokenizer.vocab == vocab | {258: b"<s>", 259: b"<t>"}
    assert tokenizer.merges == merges
    assert tokenizer.special_tokens == {"<s>": 258, "<t>": 259}
    assert (tokenizer.vocab_size, len(tokenizer), tokenizer.pattern) == (260, 260, r"\S+|\s+")
    vocab[256] = b"zz"
    merges.clear()
    with pytest.raises(TypeError):
        tokenizer.vocab[256] = b"zz"
    tokenizer.merges.clear()
    tokenizer.special_tokens.clear()
    assert tokenizer.encode("abc") == [257]
    assert tokenizer.special_tokens == {"<s>": 258, "<t>": 259}
    assert len(tokenizer.vocab) == 260


def test_special_tokens_that_the_vocab_has_keep_their_ids():
    vocab = BYTES | {256: b"<s>", 300: b"<u>"}
    tokenizer = nbbpe.Tokenizer(vocab, [], ["<t>", "<s>", "<u>"])
    assert tokenizer.special_tokens == {"<t>": 301, "<s>": 256, "<u>": 300}
    assert tokenizer.encode("<s><t>") == [256, 301]


@pytest.mark.parametrize("special", ["a", "ab", "abc", " "])
def test_a_special_token_that_is_also_an_ordinary_one_is_two_tokens(special):
    vocab, merges = BYTES | {256: b"ab", 257: b"abc"}, [(b"a", b"b"), (b"ab", b"c")]
    tokenizer = nbbpe.Tokenizer(vocab, merges, [special])
    assert tokenizer.special_tokens == {special: 258}
    assert tokenizer.encode(special) == [258]
    assert tokenizer.encode_ordinary(special) == nbbpe.Tokenizer(vocab, merges).encode(special)
    assert tokenizer.decode(tokenizer.encode(f"x {special}abc")) == f"x {special}abc"
    trained = nbbpe.train(iter(["the cats abc"]), 257 + 2, [special])
    assert trained.encode(special) == [258]
    assert trained.encode_ordinary(special) != [258]


def test_ids_of_bytes_may_be_any():
    vocab = {1000 - i: bytes([i]) for i in range(256)} | {5: b"ab"}
    tokenizer = nbbpe.Tokenizer(vocab, [(b"a", b"b")])
    assert tokenizer.encode("aab") == [1000 - 97, 5]
    assert tokenizer.decode([5, 1000 - 99]) == "abc"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({99: None}, ValueError, r"lacks 1 of the 256 single bytes.*b'a'"),
        ({300: "ab"}, TypeError, "vocab must map int to bytes, and has 300: 'ab'"),
        ({"300": b"ab"}, TypeError, "vocab must map int to bytes, and has '300'"),
        ({True: b"ab"}, TypeError, "vocab must map int to bytes"),
        ({300.0: b"ab"}, TypeError, "vocab must map int to bytes"),
        ({-1: b"ab"}, ValueError, "has the id -1"),
        ({2**31: b"ab"}, ValueError, "has the id 2147483648"),
        ({300: b""}, ValueError, "empty token as id 300"),
    ],
)
def test_a_vocab_that_cannot_be_one_is_an_error(change, error, message):
    vocab = {i: token for i, token in {**SHIFTED, **change}.items() if token is not None}
    with pytest.raises(error, match=message):
        nbbpe.Tokenizer(vocab, [])


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        (None, [], "vocab must be a dict from ids to bytes, not None"),
        ([b"a", b"b"], [], r"vocab must be a dict from ids to bytes, not \[b'a', b'b'\]"),
        (BYTES, None, "merges must be a list of pairs of bytes, not None"),
        (BYTES, [3], "merge 0 must be a pair of bytes, and is 3"),
        (BYTES, {(b"a", b"b")}, "merges must be a list of pairs of bytes, not set, which has no order: give a list in"),
        (BYTES, frozenset(), "merges must be a list of pairs of bytes, not frozenset, which has no order"),
    ],
)
def test_what_is_no_vocab_and_no_merges_is_named(vocab, merges, message):
    with pytest.raises(TypeError, match=message):
        nbbpe.Tokenizer(vocab, merges)


@pytest.fixture
def few_tokens(monkeypatch) -> None:
    """Kernels number at most 300 tokens, and 305 merges, in place of two million."""
    monkeypatch.setattr(vocab_checks, "MOST_TOKENS", 300)
    monkeypatch.setattr(vocab_checks, "MOST_MERGES", 305)
    monkeypatch.setattr(merge_table, "NO_SYMBOL", 301)
    monkeypatch.setattr(merge_table, "MAX_RANKS", 306)


def test_a_vocabulary_that_merging_has_no_room_for_is_refused_when_it_is_made(few_tokens):
    merges = [(bytes([97 + i]), bytes([97 + j])) for i in range(20) for j in range(20)]
    for n in 44, 45:
        vocab = vocab_of(merges[:n])
        if n == 44:
            assert nbbpe.Tokenizer(vocab, merges[:n], ["<s>", "<t>"]).encode("aa<s>") == [256, 300]
        else:
            with pytest.raises(ValueError, match=r"can have 300 tokens, .* here are 301 tokens and 45 merges: leave out"):
                nbbpe.Tokenizer(vocab, merges[:n])
    # What no merge makes takes no place.
    assert nbbpe.Tokenizer(vocab_of(merges), merges[:44]).encode("aa") == [256]
    # A pair that comes twice does, as it has a rank.
    assert nbbpe.Tokenizer(vocab_of(merges[:10]), merges[:10] + merges[:1] * 295).encode("aa") == [256]
    with pytest.raises(ValueError, match=r"and 305 merges; here are 266 tokens and 306 merges: leave out the last merges"):
        nbbpe.Tokenizer(vocab_of(merges[:10]), merges[:10] + merges[:1] * 296)


@pytest.mark.parametrize("kind", ["folder", "folder with tables", "ranks", "json", "gpt2", "minbpe", "tiktoken"])
def test_a_file_with_more_tokens_than_merging_has_room_for_is_refused_by_name(request, tmp_path, monkeypatch, kind):
    merges = [(bytes([97 + i]), bytes([97 + j])) for i in range(20) for j in range(20)][:60]
    tokenizer = nbbpe.Tokenizer(vocab_of(merges), merges)
    path: Any = tmp_path / "tok"
    monkeypatch.setattr(table_file, "LEAST", 0 if kind == "folder with tables" else 10**9)
    if kind == "ranks":
        saved_as_ranks([b"ab", b"abcd", *(left + right for left, right in merges[2:])], tmp_path).save(path)
    elif kind.startswith("folder"):
        tokenizer.save(path)
    elif kind == "json":
        tokenizer.to_hf(path := tmp_path / "tokenizer.json")
    elif kind == "gpt2":
        path = tmp_path / "vocab.json", tmp_path / "merges.txt"
        tokenizer.save_gpt2(*path)
    elif kind == "tiktoken":
        path = tmp_path / "cl100k_base.tiktoken"
        tokenizer.save_tiktoken(path)
    else:
        path = tmp_path / "a.model"
        pairs = "".join(f"{left[0]} {right[0]}\n" for left, right in merges)
        path.write_text(f"minbpe v1\n{REGEXES['gpt2']}\n0\n{pairs}")
    read = partial(nbbpe.Tokenizer.from_tiktoken, path, pattern="gpt2") if kind == "tiktoken" else partial(nbbpe.load, path)
    assert read().encode("aa")
    request.getfixturevalue("few_tokens")
    name = str(path[0] if kind == "gpt2" else path)
    with pytest.raises(ValueError, match=rf"^{re.escape(name)}.*: a tokenizer can have 300 tokens"):
        read()


@pytest.mark.parametrize("n_kinds", [6, 31])
@pytest.mark.parametrize("n_lacking", [0, 5])
def test_exactly_what_merging_has_no_room_for_is_refused(few_tokens, n_kinds, n_lacking):
    rng = np.random.default_rng(n_kinds)
    lacking = rng.choice(sorted(NEVER), n_lacking, replace=False).tolist()
    n_refused = sum(is_refused(rng.integers(n_kinds, size=(n, 2)).tolist(), lacking) for n in range(30, 320, 3))
    assert 3 <= n_refused <= 93


def is_refused(numbers: list[tuple[int, int]], lacking: list[int]) -> bool:
    """Whether no model is made of merges of two letters, given by their numbers: if and only if there can be no table."""
    merges = np.array([(97 + a, 97 + b, 256 + 31 * a + b) for a, b in numbers], dtype=np.int32).reshape(-1, 3)
    tokens = {i: token for i, token in BYTES.items() if i not in lacking}
    tokens |= {256 + 31 * a + b: bytes([97 + a, 97 + b]) for a, b in numbers}
    refused = False
    try:
        model = Model(tokens, merges, {}, get_pattern("gpt2"))
    except ValueError:
        refused = True
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vocab_checks, "MOST_TOKENS", 10**6)
            patch.setattr(vocab_checks, "MOST_MERGES", 10**6)
            model = Model(tokens, merges, {}, get_pattern("gpt2"))
    with pytest.raises(ValueError, match="a tokenizer can have") if refused else nullcontext():
        model.merge_table()
    return refused


@pytest.mark.parametrize("merge", [(b"x", b"y"), (b"ab", b"a"), (b"xy", b"a")])
def test_a_merge_whose_tokens_the_vocab_lacks_is_an_error(merge):
    vocab = BYTES | {256: b"ab"}
    with pytest.raises(ValueError, match=r"merge 1 .*not in the vocab"):
        nbbpe.Tokenizer(vocab, [(b"a", b"b"), merge]).encode("a")


def test_pairs_of_merges_may_be_lists_as_json_has_them(tmp_path):
    vocab = BYTES | {256: b"ab"}
    pairs = [[b"a", b"b"]]
    tokenizer = nbbpe.Tokenizer(vocab, pairs)
    pairs[0][0] = b"x"
    assert tokenizer.merges == [(b"a", b"b")]
    tokenizer.save(tmp_path / "tok")
    assert nbbpe.load(tmp_path / "tok") == tokenizer == nbbpe.Tokenizer(vocab, [(b"a", b"b")])


@pytest.mark.parametrize("bad", ["<s>", [b"<s>"], [""], ["a", "a"], [None]])
def test_special_tokens_that_cannot_be_meant_are_an_error(bad):
    with pytest.raises((TypeError, ValueError), match="special"):
        nbbpe.Tokenizer(BYTES, [], bad)


# Ids to text, look-ups


def test_decoding_replaces_what_is_no_utf8_unless_told_otherwise(small):
    assert small.decode([0xC3]) == "\ufffd"
    assert small.decode([0xC3], errors="ignore") == ""
    assert small.decode_bytes([0xC3]) == b"\xc3"
    with pytest.raises(UnicodeDecodeError):
        small.decode([0xC3], errors="strict")


def test_any_iterable_of_ids_can_be_decoded(small):
    ids = small.encode("the cat")
    for kind in (tuple, iter, np.array, lambda i: np.array(i, dtype=np.uint16), lambda i: np.array(i).astype(np.int64)):
        assert small.decode(kind(ids)) == "the cat"
    assert small.decode([np.uint16(i) for i in ids]) == "the cat"
    assert small.decode([]) == ""
    assert small.decode_bytes(np.array([], dtype=np.uint16)) == b""


@pytest.mark.parametrize("batch", [["a", "b"], ("a", "b"), []])
def test_a_batch_in_the_place_of_a_text_is_an_error_that_names_the_method_for_it(small, batch):
    for method in small.encode, small.encode_array, small.count, small.tokenize, small.encode_ordinary:
        with pytest.raises(TypeError, match=f"not {type(batch).__name__}; encode_batch takes a list of texts$"):
            method(batch)
    with pytest.raises(TypeError, match=r"not (list|tuple): text 0 \(from 0\) is .*: give its texts one by one"):
        small.encode_batch([batch])


@pytest.mark.parametrize("bad", [400, -1, 2**40, None, "the", 97.5, [97]])
def test_an_id_outside_the_vocabulary_is_an_error_that_names_it(small, bad):
    message = r"id .*at index 2 is not in the vocabulary"
    if not isinstance(bad, int):
        message = "ids must be integers, and the one at index 2 is"
    for decode in small.decode, small.decode_bytes:
        with pytest.raises(ValueError, match=message) as error:
            decode([97, 98, bad])
        assert repr(bad) in str(error.value)
    if isinstance(bad, int):
        with pytest.raises(ValueError, match=str(bad)):
            small.decode(np.array([97, 98, bad]))


def test_tokens_and_ids_are_found_by_each_other(small):
    for token_id, token in small.vocab.items():
        assert small.id_to_token(token_id) == token
        assert small.token_to_id(token) == token_id
    assert small.token_to_id("a") == small.token_to_id(b"a") == 97
    assert small.token_to_id(texts.SPECIAL) == small.token_to_id(texts.SPECIAL.encode()) == 399
    assert small.id_to_token(399) == texts.SPECIAL.encode()
    assert small.token_to_id("no such token") is None
    assert small.id_to_token(400) is None
    assert small.id_to_token(-1) is None
    for wrong in "a", None, 1.5, np.array([97, 98]):
        with pytest.raises(TypeError, match=rf"token_id must be an integer, not {re.escape(repr(wrong))} \(token_to_id "):
            small.id_to_token(wrong)


# As an object


def test_equal_tokenizers_are_equal_and_others_are_not(small):
    same = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL])
    assert small == same
    assert small == copy.deepcopy(small) == copy.copy(small) == pickle.loads(pickle.dumps(small))
    assert small != nbbpe.Tokenizer(small.vocab, small.merges)
    assert small != nbbpe.Tokenizer(small.vocab, small.merges[:-1], [texts.SPECIAL])
    assert small != nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern=None)
    assert small != 5
    assert hash(small) == hash(same)


def test_its_repr_says_what_it_is(small):
    assert repr(small) == "Tokenizer(400 tokens, 143 merges, 1 special, pattern='gpt2')"


class OfAUser(nbbpe.Tokenizer):
    """A subclass with an attribute of its own."""

    language = "none"


def test_copies_and_pickles_keep_the_attributes_of_a_subclass_and_no_tables(small):
    tokenizer = OfAUser(small.vocab, small.merges, small.special_tokens, small.pattern)
    tokenizer.language = "de"
    kept = set(tokenizer.__getstate__())
    tokenizer.decode(tokenizer.encode("the cat"))
    tokenizer.token_to_id("the")
    assert set(tokenizer.__getstate__()) == kept
    for other in pickle.loads(pickle.dumps(tokenizer)), copy.copy(tokenizer), copy.deepcopy(tokenizer):
        assert (type(other), other.language) == (OfAUser, "de")
        assert other == tokenizer


def test_a_pickle_keeps_the_bound_on_pieces(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=3)
    loaded = pickle.loads(pickle.dumps(tokenizer))
    loaded.encode(texts.SAMPLE)
    assert loaded._encoder._idle[0].table.state[0] <= 3


# Saving


OWN_FILES = {"merges.txt", "nbbpe.json", "vocab.json"}
FOR_OTHERS = {"tokenizer.json", "tokenizer_config.json"}
ODD_SPECIALS = ["<|a b|>", "two\nlines", '"quoted" \\ back', "é 😀", " ", "\x00", "a", "#version: 0.2", "\u2028", "Ġ"]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("pattern", ["gpt2", texts.SPLIT_WITH_GAPS, "é+|\n|.", None])
@pytest.mark.parametrize("specials", [[], [texts.SPECIAL], ODD_SPECIALS])
def test_what_was_saved_is_loaded_the_same(tmp_path, specials, pattern):
    tokenizer = nbbpe.train(iter([texts.SAMPLE]), 300 + len(specials), specials, pattern=pattern)
    tokenizer.save(tmp_path / "new" / ".." / "folder")
    loaded = nbbpe.load(tmp_path / "folder")
    assert loaded == tokenizer
    assert list(loaded.special_tokens) == specials
    assert loaded.encode(texts.SAMPLE + "".join(specials)) == tokenizer.encode(texts.SAMPLE + "".join(specials))
    # A tokenizer.json cannot hold the odd ones.
    others = set() if specials is ODD_SPECIALS else FOR_OTHERS
    assert {path.name for path in (tmp_path / "folder").iterdir()} == OWN_FILES | others
    for path in (tmp_path / "folder").iterdir():
        assert b"\r" not in path.read_bytes()


def test_gpt2s_vocabulary_is_loaded_as_it_was_saved(gpt2, tmp_path):
    gpt2.save(tmp_path)
    loaded = nbbpe.load(tmp_path)
    assert loaded == gpt2
    assert loaded.special_tokens == {texts.SPECIAL: 50256}


def test_saving_again_replaces_the_older_files_and_leaves_others(small, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    nbbpe.Tokenizer(BYTES, []).save(tmp_path)
    small.save(str(tmp_path))
    assert nbbpe.Tokenizer.load(tmp_path) == small
    assert {path.name for path in tmp_path.iterdir()} == OWN_FILES | FOR_OTHERS | {"notes.txt"}


def test_saving_where_it_cannot_be_is_an_error_that_leaves_nothing(small, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(NotADirectoryError, match="is a file; give a folder"):
        small.save(file)
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        small.save(tmp_path / "no" / "such" / "folder")
    with pytest.raises(NotADirectoryError, match="not a folder"):
        small.save(file / "folder")
    assert file.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_two_ids_with_the_same_bytes_cannot_be_saved_and_leave_nothing(tmp_path):
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"ab"}, [(b"a", b"b")])
    with pytest.raises(ValueError, match="ids 256 and 257 are both b'ab'"):
        tokenizer.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


# The default of a process


@pytest.mark.usefixtures("no_default")
def test_without_a_default_an_error_says_how_to_set_one():
    with pytest.raises(RuntimeError, match=r"nbbpe\.use\(.*NBBPE_TOKENIZER.*only forked processes inherit"):
        nbbpe.encode_array("text")


@pytest.mark.usefixtures("no_default")
def test_a_default_that_is_missing_is_named_by_the_environment(monkeypatch):
    monkeypatch.setenv("NBBPE_TOKENIZER", "nowhere")
    with pytest.raises(FileNotFoundError, match="the environment variable NBBPE_TOKENIZER: 'nowhere' is missing"):
        nbbpe.encode_array("text")


def test_a_tokenizer_that_is_chosen_while_the_environments_is_loaded_stays(small, monkeypatch):
    from nbbpe import default_tokenizer

    def load(source: object) -> nbbpe.Tokenizer:
        if source is small:
            return small
        nbbpe.use(small)  # another thread does
        return nbbpe.Tokenizer(BYTES, [])

    monkeypatch.setattr(default_tokenizer, "_default", None)
    monkeypatch.setattr(default_tokenizer, "load", load)
    monkeypatch.setenv("NBBPE_TOKENIZER", "named")
    assert nbbpe.encode("the cat") == small.encode("the cat")


@pytest.mark.usefixtures("no_default")
def test_use_sets_the_default_to_a_tokenizer_or_a_folder(small, tmp_path):
    assert nbbpe.use(small) is small
    assert np.array_equal(nbbpe.encode_array("the cat"), small.encode_array("the cat"))
    assert nbbpe.encode_array("the cat").dtype == small.dtype
    assert nbbpe.encode_array("the cat", dtype="int64").dtype == "int64"
    other = nbbpe.Tokenizer(BYTES, [])
    other.save(tmp_path)
    assert nbbpe.use(tmp_path) == other
    assert nbbpe.encode_array("the").tolist() == list(b"the")
    with pytest.raises(FileNotFoundError, match="missing"):
        nbbpe.use(tmp_path / "nothing")
    assert nbbpe.encode_array("the").tolist() == list(b"the")


@pytest.mark.usefixtures("no_default")
def test_the_environment_names_a_default_that_use_overrides(small, tmp_path, monkeypatch):
    nbbpe.Tokenizer(BYTES, []).save(tmp_path / "folder")
    monkeypatch.setenv("NBBPE_TOKENIZER", str(tmp_path / "folder"))
    assert nbbpe.encode_array("the").tolist() == list(b"the")
    shutil.rmtree(tmp_path / "folder")
    assert nbbpe.encode_array("the").tolist() == list(b"the")  # it is read once
    nbbpe.use(small)
    assert nbbpe.encode_array("the").tolist() == small.encode("the")


@pytest.mark.usefixtures("no_default")
def test_a_default_in_the_environment_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NBBPE_TOKENIZER", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match=r"nothing.*missing"):
        nbbpe.encode_array("text")


def test_the_environment_works_in_a_new_process(small, tmp_path):
    small.save(tmp_path)
    script = "import nbbpe; print(nbbpe.encode_array('the cat').tolist())"
    assert processes.run(script, NBBPE_TOKENIZER=str(tmp_path)).strip() == str(small.encode("the cat"))
