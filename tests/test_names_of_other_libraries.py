"""The names of tiktoken and transformers: the same calls give the same results."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import processes
import pytest
import texts
from vocabularies import BYTE_RANKS, BYTES

import nbbpe
import nbbpe.tiktoken
from nbbpe.cli.commands import nbbpe as subcommands
from nbbpe.patterns.pattern import NAMED
from nbbpe.text.utf8 import CHECKED_CHARACTERS
from nbbpe.tokenizer_methods import names_of_other_libraries

tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
END = texts.SPECIAL


@pytest.fixture(scope="module")
def both(shared) -> tuple[nbbpe.tiktoken.Encoding, tiktoken.Encoding]:
    """cl100k_base, of ours and of theirs, made with the same arguments."""
    from tiktoken.load import load_tiktoken_bpe

    arguments = {
        "pat_str": NAMED["cl100k"].regex,
        "mergeable_ranks": load_tiktoken_bpe(str(shared / "vocabs" / "cl100k_base.tiktoken")),
        "special_tokens": {END: 100257, "<|fim_prefix|>": 100258, "<|endofprompt|>": 100276},
    }
    return nbbpe.tiktoken.Encoding("cl100k_base", **arguments), tiktoken.Encoding("cl100k_base", **arguments)


# The last are in a long text: a pair of which each is looked at with other characters, and a single one far from the start.
LONG = "é " * (CHECKED_CHARACTERS // 2)
SURROGATES = ["a\ud83d b", "\ud83d\udc4d", f"{LONG[1:]}\ud83d\udc4d", f"{LONG}{LONG} \udc4d"]
STRINGS = ["hello world", "", " ", texts.SAMPLE, "0" * 50, "\n\n  x", "请考试我的软件12345"]


def test_the_drop_in_gives_what_tiktoken_gives(both):
    ours, theirs = both
    for string in STRINGS:
        ids = theirs.encode(string)
        assert ours.encode(string) == ours.encode_ordinary(string) == ids
        assert ours.decode(ids) == theirs.decode(ids)
        assert ours.decode_bytes(ids) == theirs.decode_bytes(ids)
        assert ours.decode_tokens_bytes(ids) == theirs.decode_tokens_bytes(ids)
        array = ours.encode_to_numpy(string)
        assert array.dtype == theirs.encode_to_numpy(string).dtype == np.uint32
        assert array.tolist() == ids
    for string in SURROGATES:
        assert ours.encode(string) == ours.encode_ordinary(string) == theirs.encode(string)
    for n_threads in 1, 8:
        assert ours.encode_batch(STRINGS, num_threads=n_threads) == theirs.encode_batch(STRINGS)
        assert ours.encode_ordinary_batch(STRINGS, num_threads=n_threads) == theirs.encode_ordinary_batch(STRINGS)
    batch = theirs.encode_batch(STRINGS)
    assert ours.decode_batch(batch, num_threads=2) == theirs.decode_batch(batch)
    assert ours.decode_batch(ours.encode_batch_flat(["ab", "", "c"])) == ["ab", "", "c"]
    assert ours.decode_bytes_batch(batch) == theirs.decode_bytes_batch(batch)
    for name in "n_vocab", "max_token_value", "eot_token", "name", "special_tokens_set":
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert repr(ours) == repr(theirs)
    assert ours.decode_with_offsets(theirs.encode("h é 中")) == theirs.decode_with_offsets(theirs.encode("h é 中"))


def test_all_attributes_can_be_looked_at_where_there_is_no_end_of_text():
    made = {"pat_str": ".", "mergeable_ranks": BYTE_RANKS, "special_tokens": {}}
    for tok in nbbpe.Tokenizer(BYTES, []), nbbpe.tiktoken.Encoding("bytes", **made):
        assert inspect.getmembers(tok)
        assert not hasattr(tok, "eot_token")
        with pytest.raises(KeyError, match="endoftext"):  # as in tiktoken
            tok.eot_token  # noqa: B018


def test_a_special_token_that_is_added_is_one_only_where_it_was_added():
    tok = nbbpe.Tokenizer(BYTES, [], ["<a>"])
    assert [tok.is_special_token(token_id) for token_id in (97, 256, 257)] == [False, True, False]
    assert tok.with_special_tokens(["<b>"]).is_special_token(257)
    assert not tok.is_special_token(257)


def test_a_token_in_place_of_an_id_and_an_id_in_place_of_a_token_are_told():
    tok = nbbpe.Tokenizer(BYTES, [], ["<a>"])
    with pytest.raises(TypeError, match=r"token must be an id, an integer, not '<a>' \(special_tokens_set has the tokens"):
        tok.is_special_token("<a>")
    with pytest.raises(TypeError, match=r"token must be one token as str or bytes, not 97 \(id_to_token takes ids\)"):
        tok.token_to_id(97)
    assert tok.is_special_token(np.uint16(256))


def test_single_tokens_are_those_of_tiktoken(both):
    ours, theirs = both
    for token in "hello", b"hello", END, b"\xff", "the":
        assert ours.encode_single_token(token) == theirs.encode_single_token(token)
    for token_id in 0, 5000, 100257:
        assert ours.decode_single_token_bytes(token_id) == theirs.decode_single_token_bytes(token_id)
        assert ours.is_special_token(token_id) == theirs.is_special_token(token_id)
    for encoding in both:
        with pytest.raises(KeyError):
            encoding.encode_single_token("no single token")
        with pytest.raises(KeyError):
            encoding.decode_single_token_bytes(100300)
        with pytest.raises(KeyError):
            encoding.decode([100300])
        with pytest.raises(KeyError):
            encoding.decode_bytes_batch([[100300]])
        with pytest.raises(TypeError):
            encoding.decode_tokens_bytes([5000.5])


def test_a_token_comes_before_a_special_token_of_equal_bytes():
    ranks = BYTE_RANKS | {b"ab": 256}
    given = {"pat_str": r"\w+|\W", "mergeable_ranks": ranks, "special_tokens": {"ab": 300, "<s>": 301}}
    ours, theirs = nbbpe.tiktoken.Encoding("x", **given), tiktoken.Encoding("x", **given)
    for token in "ab", b"ab", "<s>", b"<s>":
        assert ours.encode_single_token(token) == theirs.encode_single_token(token)


def test_each_of_two_special_tokens_with_one_id_is_a_single_token():
    # As in tiktoken's o200k_harmony.
    given = {"pat_str": r"\w+|\W", "mergeable_ranks": BYTE_RANKS, "special_tokens": {"<a>": 300, "<b>": 300}}
    ours, theirs = nbbpe.tiktoken.Encoding("x", **given), tiktoken.Encoding("x", **given)
    for token in "<a>", "<b>", b"<a>", b"<b>":
        assert ours.encode_single_token(token) == theirs.encode_single_token(token)
        assert ours.token_to_id(token) == 300


class Scalar:
    """An id that is an integer by `__index__` alone, as a tensor of torch."""

    def __index__(self) -> int:
        return 5000


def test_special_tokens_are_skipped_where_that_is_asked_for(both):
    ours = both[0]
    end = ours.eot_token
    ids = [end, *ours.encode_ordinary("naïve 🙂"), end]
    assert ours.decode(ids, skip_special_tokens=True) == "naïve 🙂"
    assert ours.decode_bytes(iter(ids), skip_special_tokens=True) == "naïve 🙂".encode()
    assert ours.decode_batch([ids, [end]], skip_special_tokens=True) == ["naïve 🙂", ""]
    stream = ours.stream_decoder(skip_special_tokens=True)
    assert "".join(map(stream.push, ids)) + stream.finish() == "naïve 🙂"
    with pytest.raises(KeyError, match="id 100261"):
        ours.decode([end, 100261], skip_special_tokens=True)


def test_arguments_and_their_errors_are_those_of_tiktoken(both):
    ours, theirs = both
    ids = theirs.encode("h é 中")
    assert ours.decode_with_offsets(tokens=ids) == theirs.decode_with_offsets(tokens=ids)
    for none in None, False, "", [], frozenset():  # people pass False, too
        for name in "encode", "encode_to_numpy":
            found, expected = (getattr(each, name)(END, disallowed_special=none) for each in both)
            assert list(found) == list(expected)
    for encoding in both:
        assert encoding.decode_single_token_bytes(Scalar()) == encoding.decode_bytes([5000])
        for wrong in [1.5], [None], ["1"], "ab", [[1]], np.array([1.5]), np.array([[1, 2]]), 5, iter([5000, "1"]):
            for call in encoding.decode, encoding.decode_bytes, encoding.decode_tokens_bytes, encoding.decode_with_offsets:
                with pytest.raises(TypeError):
                    call(iter([5000, "1"]) if hasattr(wrong, "__next__") else wrong)
        for wrong in 1.0, None, "a":
            with pytest.raises(TypeError):
                encoding.decode_single_token_bytes(wrong)
        assert encoding.decode([True, 5000]) == encoding.decode([1, 5000])  # a bool is an integer
        assert encoding.decode_with_offsets([True])[0] == encoding.decode([1])
        with pytest.raises(KeyError):
            encoding.decode([True, 100300])
    assert ours.decode(iter([5000])) == theirs.decode([5000])
    assert ours.id_to_token(Scalar()) == theirs.decode_single_token_bytes(5000)


def error_of(encoding: Any, call: Callable[[Any], object]) -> type[Exception]:
    with pytest.raises((KeyError, OverflowError)) as caught:
        call(encoding)
    return caught.type


@pytest.mark.parametrize(
    "wrong",
    [100300, -1, 2**32 - 1, 2**32, 2**63, 2**64, 10**30, -(2**40), np.int64(-1), np.int32(-1), np.uint64(2**40)],
)
def test_ids_out_of_range_raise_what_they_raise_in_tiktoken(both, wrong):
    has_32_bits = 0 <= int(wrong) < 2**32
    # Of two wrong ids, not all of tiktoken's methods look at the first one first.
    rows: list[Any] = [[5000, wrong], [100300, wrong]]
    if abs(int(wrong)) < 2**63:
        rows.append(np.array([5000, int(wrong)]))
    for ids in rows:
        calls: list[Callable[[Any], object]] = [
            lambda encoding, ids=ids: encoding.decode(ids),
            lambda encoding, ids=ids: encoding.decode_bytes(ids),
            lambda encoding, ids=ids: encoding.decode_tokens_bytes(ids),
            lambda encoding, ids=ids: encoding.decode_with_offsets(ids),
            lambda encoding, ids=ids: encoding.decode_batch([[5000], ids]),
            lambda encoding, ids=ids: encoding.decode_bytes_batch([[5000], ids]),
            lambda encoding, ids=ids: encoding.decode_single_token_bytes(ids[1]),
        ]
        for call in calls:
            ours, theirs = (error_of(encoding, call) for encoding in both)
            assert ours is theirs
            assert ids[0] != 5000 or ours is (KeyError if has_32_bits else OverflowError)
    assert error_of(both[0], lambda ours: ours.decode_with_offsets(iter(rows[0]))) is error_of(both[0], calls[0])
    assert not any(encoding.is_special_token(int(wrong)) for encoding in both)


def test_special_tokens_in_text_raise_as_in_tiktoken(both):
    text = f"a{END}b<|fim_prefix|>"
    for encoding in both:
        for call, argument in (encoding.encode, text), (encoding.encode_to_numpy, text), (encoding.encode_batch, [text]):
            with pytest.raises(ValueError, match="disallowed"):
                call(argument)
        with pytest.raises(ValueError, match="disallowed"):
            encoding.encode(text, allowed_special={END})
    ours, theirs = both
    for choice in (
        {"allowed_special": "all"},
        {"disallowed_special": ()},
        {"allowed_special": {END}, "disallowed_special": ()},
        {"allowed_special": {END, "<|fim_prefix|>"}},
    ):
        assert ours.encode(text, **choice) == theirs.encode(text, **choice)
        assert ours.encode_to_numpy(text, **choice).tolist() == theirs.encode(text, **choice)
        assert ours.encode_batch([text], **choice) == theirs.encode_batch([text], **choice)
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)


def test_an_encoding_is_made_and_extended_as_people_do_it(both):
    ours, theirs = both
    extended = [
        module.Encoding(
            name="cl100k_im",
            pat_str=base._pat_str,
            mergeable_ranks=base._mergeable_ranks,
            special_tokens={**base._special_tokens, "<|im_start|>": 100264},
        )
        for module, base in ((nbbpe.tiktoken, ours), (tiktoken, theirs))
    ]
    text = f"<|im_start|>x{END}"
    assert extended[0].encode(text, allowed_special="all") == extended[1].encode(text, allowed_special="all")
    assert pickle.loads(pickle.dumps(extended[0])).encode("x", allowed_special="all") == extended[0].encode("x")
    assert pickle.loads(pickle.dumps(ours)).name == "cl100k_base"
    assert [extended[0].to_tiktoken(*name).name for name in ((), ("other",))] == ["cl100k_im", "other"]


@pytest.mark.parametrize(
    ("n", "special", "is_right"),
    [
        (256, {}, True),
        (257, {"<s>": 256}, True),
        *[(n, {}, False) for n in (255, 257)],
        *[(n, {"<s>": 256}, False) for n in (256, 258)],
        *[(n, {"<s>": 300}, False) for n in (257, 301)],
    ],
)
def test_the_number_of_tokens_is_checked_as_by_tiktoken(n, special, is_right):
    ranks = {bytes([byte]): byte for byte in range(256)}
    arguments = {"pat_str": r"\w+|\W", "mergeable_ranks": ranks, "special_tokens": special, "explicit_n_vocab": n}
    if is_right:
        made = [module.Encoding("x", **arguments).n_vocab for module in (nbbpe.tiktoken, tiktoken)]
        assert made == [n, n]
    else:
        with pytest.raises(AssertionError):
            tiktoken.Encoding("x", **arguments)
        with pytest.raises(ValueError, match=f"explicit_n_vocab is {n}, and there are {256 + len(special)} tokens"):
            nbbpe.tiktoken.Encoding("x", **arguments)


def test_a_split_regex_that_reads_like_a_name_is_a_regex():
    ranks = BYTE_RANKS | {b"2g": 256, b"t2": 257}
    for regex in "gpt2", "the":
        ours, theirs = (
            module.Encoding("x", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
            for module in (nbbpe.tiktoken, tiktoken)
        )
        assert ours.encode(regex * 3) == theirs.encode(regex * 3)
        assert nbbpe.load(theirs) == ours


def test_encodings_are_found_by_name_and_model(both, monkeypatch):
    asked = []

    def get_encoding(name):
        asked.append(name)
        return both[1]

    monkeypatch.setattr(tiktoken, "get_encoding", get_encoding)
    monkeypatch.setattr(nbbpe.tiktoken, "_encodings", {})
    found = nbbpe.tiktoken.get_encoding("cl100k_base")
    assert nbbpe.tiktoken.encoding_for_model("gpt-4") is found is nbbpe.tiktoken.get_encoding("cl100k_base")
    assert asked == ["cl100k_base"]
    assert found.encode("hello") == both[1].encode("hello")
    assert nbbpe.tiktoken.encoding_name_for_model("gpt-4o") == "o200k_base"
    assert "o200k_base" in nbbpe.tiktoken.list_encoding_names()
    with pytest.raises(KeyError):
        nbbpe.tiktoken.encoding_for_model("no such model")
    with pytest.raises(ValueError, match="Expected a string"):
        nbbpe.tiktoken.get_encoding(None)


PLUGIN = """
from tiktoken.load import load_tiktoken_bpe
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"th": 256}
ENCODING_CONSTRUCTORS = {
    "mine": lambda: {"name": "mine", "pat_str": ".+", "mergeable_ranks": RANKS, "special_tokens": {"<|x|>": 257}}
}
"""
REPLACED = """
import sys
sys.path.insert(0, sys.argv[1])
if sys.argv[2]: import tiktoken
import nbbpe, nbbpe.tiktoken
ours = sys.modules["tiktoken"] = nbbpe.tiktoken
import tiktoken
assert tiktoken is ours
assert {"mine", "gpt2"} <= set(tiktoken.list_encoding_names())
assert tiktoken.encoding_name_for_model("gpt-4") == "cl100k_base"
found = tiktoken.get_encoding("mine")
assert type(found) is ours.Encoding and found.encode("the") == [256, 101]
assert nbbpe.load(found) == found
theirs = found.to_tiktoken()
assert type(theirs).__module__ == "tiktoken.core" and theirs.encode("the") == [256, 101]
from nbbpe.formats.verification import verify_written
found.save_tiktoken(sys.argv[1] + "/x.tiktoken")
verify_written(found._model, nbbpe.load(found).encode, "tiktoken", [sys.argv[1] + "/x.tiktoken"])
assert sys.modules["tiktoken"] is ours
"""


@pytest.mark.parametrize("is_imported_before", ["", "yes"])
def test_a_program_may_put_it_in_the_place_of_tiktoken(tmp_path, is_imported_before):
    (tmp_path / "tiktoken_ext").mkdir()
    (tmp_path / "tiktoken_ext" / "mine.py").write_text(PLUGIN)
    processes.run(REPLACED, tmp_path, is_imported_before)


MODULES = """
import os, sys
if sys.argv[1]: import tiktoken
import nbbpe.tiktoken
sys.modules["tiktoken"] = nbbpe.tiktoken
from tiktoken.load import load_tiktoken_bpe
from tiktoken.core import Encoding
import tiktoken.model, tiktoken.registry
assert tiktoken is nbbpe.tiktoken
assert load_tiktoken_bpe.__module__ == "tiktoken.load" and Encoding.__module__ == "tiktoken.core"
assert tiktoken.model.MODEL_TO_ENCODING["gpt-4"] == tiktoken.encoding_name_for_model("gpt-4") == "cl100k_base"
ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256}
arguments = {"pat_str": ".+", "mergeable_ranks": ranks, "special_tokens": {}}
theirs, ours = Encoding("x", **arguments), tiktoken.Encoding("x", **arguments)
assert theirs.encode("the") == ours.encode("the") == [256, 101]
assert type(ours.to_tiktoken()) is Encoding
try: import tiktoken.none
except ModuleNotFoundError as error: print(error)
"""


@pytest.mark.parametrize("is_imported_before", ["", "yes"])
def test_modules_of_tiktoken_are_found_where_this_is_in_its_place(is_imported_before):
    assert "No module named 'tiktoken.none'" in processes.run(MODULES, is_imported_before)


def test_modules_of_tiktoken_are_attributes():
    assert nbbpe.tiktoken.model is tiktoken.model
    assert nbbpe.tiktoken.registry.list_encoding_names() == nbbpe.tiktoken.list_encoding_names()
    assert nbbpe.tiktoken.core.Encoding is tiktoken.Encoding
    assert nbbpe.tiktoken.load.load_tiktoken_bpe.__module__ == "tiktoken.load"
    assert nbbpe.tiktoken.__version__ == tiktoken.__version__
    for missing in "none", "__wrapped__":
        assert not hasattr(nbbpe.tiktoken, missing)


def test_where_tiktoken_is_missing_and_this_is_in_its_place_that_is_said():
    script = """
import sys, nbbpe.tiktoken
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "tiktoken": raise ModuleNotFoundError("No module named 'tiktoken'", name=name)
sys.meta_path.insert(0, Hidden())
sys.modules["tiktoken"] = nbbpe.tiktoken
try: nbbpe.tiktoken.get_encoding("gpt2")
except FileNotFoundError as error: print(error)
try: nbbpe.tiktoken.list_encoding_names()
except ModuleNotFoundError as error: print(error)
assert sys.modules["tiktoken"] is nbbpe.tiktoken
assert not hasattr(nbbpe.tiktoken, "model")
"""
    said = processes.run(script)
    assert "is not installed" in said
    assert "No module named 'tiktoken'" in said


def test_a_tokenizer_has_the_names_with_its_own_defaults(small):
    assert small.n_vocab == small.vocab_size == small.max_token_value + 1
    assert small.eot_token == 399
    assert small.encode_batch([END, "a"], num_threads=2) == [[399], [97]]
    assert small.encode_to_numpy(END).tolist() == [399]
    assert small.encode_ordinary_batch([END]) == [small.encode_ordinary(END)]
    assert small.decode_bytes_batch([[97], []]) == [b"a", b""]
    with pytest.raises(ValueError, match="num_threads must be at least 1"):
        small.encode_batch(["a"], num_threads=0)


# Names of our own


def test_batches_are_lists_or_arrays(small):
    assert small.encode_batch(["ab", ""]) == [small.encode("ab"), []]
    arrays = small.encode_batch_arrays(["ab", ""])
    assert [array.dtype for array in arrays] == [small.dtype] * 2
    assert [array.tolist() for array in arrays] == small.encode_batch(["ab", ""])
    assert small.encode_batch_arrays(["ab"], dtype="int64")[0].dtype == np.int64
    assert small.encode_array("ab", dtype="int64").dtype == np.int64
    for options in {}, {"seed": 1, "dropout": 0.5}:
        plain, plain_starts = small.encode_batch_flat(["ab", "", "the"], **options)
        ids, starts = small.encode_batch_flat(["ab", "", "the"], dtype="int64", **options)
        assert (ids.dtype, ids.tolist(), starts.tolist()) == (np.int64, plain.tolist(), plain_starts.tolist())


def test_a_dtype_that_cannot_hold_all_ids_is_refused(small):
    for call in (
        lambda dtype: small.encode_array("ab", dtype=dtype),
        lambda dtype: small.encode_array("ab", dtype=dtype, dropout=0.5),
        lambda dtype: small.encode_batch_arrays(["ab"], dtype=dtype),
        lambda dtype: small.encode_batch_flat(["ab"], dtype=dtype),
    ):
        with pytest.raises(ValueError, match=r"dtype uint8 cannot hold all ids, which go up to \d+"):
            call("uint8")
        for dtype in "float32", bool, "no dtype":
            with pytest.raises(TypeError, match="dtype must be an integer type of NumPy"):
                call(dtype)


def test_the_default_tokenizer_encodes_and_decodes(small):
    nbbpe.use(small)
    assert nbbpe.encode("the cat") == small.encode("the cat") == nbbpe.encode_array("the cat").tolist()
    assert nbbpe.decode(nbbpe.encode("the cat")) == "the cat"


def test_the_default_may_be_an_encoding(both):
    nbbpe.use(both[0])
    text = f"the cat{END}"
    assert nbbpe.encode(text) == nbbpe.encode(text.encode()) == nbbpe.encode_array(text).tolist()
    assert nbbpe.decode(nbbpe.encode(text)) == text
    with pytest.raises(ValueError, match="is not in the vocabulary"):
        nbbpe.decode([10**9])


def test_tokenizers_are_hashable(small, tmp_path):
    small.save(tmp_path / "t")
    again = nbbpe.load(tmp_path / "t")
    assert hash(again) == hash(small)
    assert {small: 1}[again] == 1
    assert len({small, again, small.with_special_tokens(["<x>"])}) == 2


def test_a_vocab_is_looked_up_without_a_copy(small):
    assert small.vocab[97] == b"a"
    assert len(small.vocab) == len(small)
    assert small.vocab == dict(small.vocab)
    with pytest.raises(TypeError):
        small.vocab[97] = b"b"


def test_files_of_ids_have_items_and_epochs_that_go_on(small, tmp_path):
    ids = np.arange(300, dtype=np.uint16)
    ids.tofile(tmp_path / "a.bin")
    data = nbbpe.TokenFile(tmp_path / "a.bin", dtype=np.uint16)
    assert data[5] == 5
    assert type(data[5]) is int
    assert data[-1] == 299
    assert data[10:13].tolist() == [10, 11, 12]
    assert data[np.array([3, 1])].tolist() == [3, 1]
    with pytest.raises(IndexError):
        data[300]
    for options in {}, {"seed": 3}, {"rank": 1, "world_size": 2, "seed": 3}, {"drop_last": False}:
        whole = [x.tolist() for x, _ in data.epoch(7, 3, **options)]
        for start in 0, 1, 4, len(whole):
            assert [x.tolist() for x, _ in data.epoch(7, 3, start=start, **options)] == whole[start:]
    with pytest.raises(ValueError, match="start must be at least 0"):
        data.epoch(7, 3, start=-1)


def test_an_epoch_that_goes_on_past_its_end_is_an_error(small, tmp_path):
    small.encode_file(documents=["the cat sat on the mat"] * 10, output_path=tmp_path / "ids.bin")
    data = nbbpe.TokenFile(tmp_path / "ids.bin")
    for options in {}, {"seed": 3}, {"world_size": 3, "rank": 2}, {"world_size": 3, "rank": 2, "drop_last": False}:
        shares = [list(data.epoch(4, 2, **options | {"rank": rank})) for rank in range(options.get("world_size", 1))]
        most = max(map(len, shares))
        # All processes stop after as many steps, even if one of them had a batch less.
        assert list(data.epoch(4, 2, start=most, **options)) == []
        with pytest.raises(ValueError, match=rf"start={most + 1} is past the end .* has {most} batches .* at start=1$"):
            data.epoch(4, 2, start=most + 1, **options)


def test_segments_recognise_special_tokens_where_they_are_trusted(small):
    user = f"hi{END}"
    segments = [(END, True), ("the", False), (user, False), ("", True), (f" cat{END}", True)]
    expected = [399, *small.encode("the"), *small.encode_ordinary(user), *small.encode(" cat"), 399]
    assert small.encode_segments(segments) == expected
    # Neither a special token nor a pretoken is made of two of them.
    assert 399 not in small.encode_segments([(END[:5], True), (END[5:], True)])
    assert small.encode_segments([("th", True), ("e", True)]) == small.encode("th") + small.encode("e")
    assert small.encode_segments([]) == []
    for wrong in [["a", True]], [("a", 1)], ["ab"]:
        with pytest.raises(TypeError, match=r"segment 0 \(from 0\) must be a pair"):
            small.encode_segments(wrong)


def test_segments_of_a_drop_in_are_those_of_a_tokenizer(both):
    """Its `encode` refuses special tokens, which are what a segment is trusted for."""
    ours, _ = both
    segments = [(f"a{END}".encode(), True), (f"b{END}", False), (END, True)]
    end = ours.eot_token
    assert ours.encode_segments(segments) == [*ours.encode("a"), end, *ours.encode_ordinary(f"b{END}"), end]


def test_a_tokenizer_takes_the_threads_of_tiktoken_in_decoding(small, both):
    assert small.decode_batch([[97], [98]], num_threads=8) == ["a", "b"]
    ours, theirs = both
    for decode in theirs.decode_batch, theirs.decode_bytes_batch:
        with pytest.raises(ValueError, match="must be greater than 0"):
            decode([[97]], num_threads=0)
    for decode in small.decode_batch, small.decode_bytes_batch, ours.decode_batch, ours.decode_bytes_batch:
        with pytest.raises(ValueError, match="num_threads must be"):
            decode([[97]], num_threads=0)


def test_a_pretrained_folder_is_what_transformers_reads(small, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("jinja2", reason="needs jinja2")
    tokenizer = small.with_special_tokens(["<pad>"])
    template = "{% for m in messages %}{{ m['content'] }}" + END + "{% endfor %}"
    tokenizer.save_pretrained(
        tmp_path / "t", eos_token=END, pad_token="<pad>", chat_template=template, model_max_length=128
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "t"))
    assert (theirs.eos_token_id, theirs.pad_token_id, theirs.model_max_length) == (399, 400, 128)
    assert theirs(texts.SAMPLE + END)["input_ids"] == tokenizer.encode(texts.SAMPLE + END)
    assert theirs.decode(tokenizer.encode(texts.SAMPLE)) == texts.SAMPLE
    chat = theirs.apply_chat_template([{"role": "user", "content": "hello"}], tokenize=False)
    assert chat == "hello" + END
    padded = theirs(["a b c", "a"], padding=True)
    assert padded["input_ids"][1][-1] == 400
    assert nbbpe.load(tmp_path / "t") == tokenizer
    # Beside our own files, which say more.
    tokenizer.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == tokenizer


def test_a_role_must_be_a_special_token(small, tmp_path):
    with pytest.raises(ValueError, match=r"eos_token='</s>' is not a special token of the tokenizer"):
        small.save_pretrained(tmp_path / "t", eos_token="</s>")
    for wrong in None, [END], 3:
        with pytest.raises(TypeError, match=f"eos_token must be a special token as a str, not {re.escape(repr(wrong))}"):
            small.save_pretrained(tmp_path / "t", eos_token=wrong)
    with pytest.raises(TypeError, match=r"save_pretrained takes bos_token, .*, and not 'end_token'"):
        small.save_pretrained(tmp_path / "t", end_token=END)
    with pytest.raises(TypeError, match="chat_template must be a str"):
        small.save_pretrained(tmp_path / "t", chat_template=3)
    with pytest.raises(ValueError, match=r"chat_template '.*' holds a lone surrogate"):
        small.save_pretrained(tmp_path / "t", chat_template="\ud800")
    for wrong in 5.5, "512", True:
        with pytest.raises(TypeError, match="model_max_length must be a positive integer"):
            small.save_pretrained(tmp_path / "t", model_max_length=wrong)
    refused = nbbpe.Tokenizer(small.vocab, small.merges, pattern=r"(?i:\bx)|[^x]")
    with pytest.raises(ValueError, match="has different meanings"):
        refused.save_pretrained(tmp_path / "t")
    assert not list(tmp_path.iterdir())


def test_older_files_of_transformers_do_not_win_over_new_ones(small, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    (tmp_path / "chat_template.jinja").write_text("older")
    (tmp_path / "added_tokens.json").write_text('{"<older>": 500}')
    files = small.save_pretrained(tmp_path, eos_token=END, chat_template="newer", model_max_length=np.int64(128))
    assert files[-1] == str(tmp_path / "chat_template.jinja")
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert (theirs.chat_template, theirs.model_max_length, len(theirs)) == ("newer", 128, len(small))
    assert theirs("a<older>")["input_ids"] == small.encode("a<older>")
    assert theirs.eos_token == END
    # What is not given anew stays, as it is not nbbpe's.
    assert len(small.save_pretrained(tmp_path)) == 3
    assert (tmp_path / "chat_template.jinja").read_text() == "newer"


def test_a_name_of_another_library_says_what_it_is_called_here(small):
    for name in names_of_other_libraries.OF_TOKENIZER:
        for asked in small, nbbpe.Tokenizer:  # the class, as for from_file and from_pretrained
            with pytest.raises(AttributeError, match=f"a Tokenizer has no '{name}'; use "):
                getattr(asked, name)
        with pytest.raises(AttributeError, match=f"a Tokenizer has no '{name}'; use "):
            setattr(small, name, "<pad>")
        assert name not in dir(small)
    for name in names_of_other_libraries.OF_MODULE:
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; use nbbpe"):
            getattr(nbbpe, name)
    names = {name.replace("-", "_") for name in subcommands.list_commands(None)}
    assert {name for name in names if not hasattr(nbbpe, name)} <= set(names_of_other_libraries.OF_MODULE)
    with pytest.raises(AttributeError, match=r"^'Tokenizer' object has no attribute 'encod'$") as raised:
        small.encod  # noqa: B018
    assert raised.value.name == "encod"  # by which Python suggests a name


def test_a_subclass_may_have_such_a_name(small):
    class Chat(nbbpe.Tokenizer):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.bos_id = 3

        def batch_decode(self, rows):
            return self.decode_batch(rows)

    chat = Chat(small.vocab, small.merges, list(small.special_tokens), small.pattern)
    for tok in chat, copy.copy(chat):
        assert tok.bos_id == 3
        assert tok.batch_decode([[97]]) == ["a"]
        assert {"bos_id", "batch_decode"} <= set(dir(tok))
        assert "eos_id" not in dir(tok)
    chat.bos_id = 4
    assert (chat.bos_id, tok.bos_id) == (4, 3)
    with pytest.raises(AttributeError, match="a Tokenizer has no 'eos_id'; use "):
        chat.eos_id  # noqa: B018


def test_a_call_as_in_transformers_says_what_to_use(small):
    for texts_given, options in ("a", {}), (["a", "b"], {"padding": True, "return_tensors": "pt"}):
        with pytest.raises(TypeError, match=r"a Tokenizer cannot be called: use encode\(text\), .*NbbpeTokenizerFast"):
            small(texts_given, **options)


def test_a_tokenizer_has_no_getattr_which_would_slow_down_all_calls():
    """Python looks up the names of such an object in more time."""
    assert not any("__getattr__" in vars(each) for each in nbbpe.Tokenizer.__mro__)


def test_what_names_of_other_libraries_are_said_to_be_called_here_is_there(small):
    for hint in [*names_of_other_libraries.OF_TOKENIZER.values(), *names_of_other_libraries.OF_MODULE.values()]:
        if hint.startswith("nbbpe.hf.") and find_spec("transformers") is None:
            continue
        found: object = nbbpe if hint.startswith("nbbpe.") else small
        for name in hint.removeprefix("nbbpe.").split(".") if found is nbbpe else [hint]:
            found = getattr(found, re.match(r"\w+", name)[0])
            if not re.fullmatch(r"\w+", name):
                break


def test_an_attribute_that_cannot_be_computed_raises_its_own_error(small):
    class Broken(nbbpe.Tokenizer):
        @property
        def figures(self):
            return None.missing

    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'missing'"):
        Broken(small.vocab, small.merges, list(small.special_tokens), small.pattern).figures  # noqa: B018
