"""Text to ids: equal to merging by rank in plain Python, for any vocabulary, text, window and bound on memory."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import functools
import io
import itertools
import mmap
import multiprocessing
import pickle
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
import texts
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from limits import collects_at_most, takes_seconds_below
from vocabularies import BYTES, textbook_ids, vocab_of

import nbbpe
from nbbpe.encoding import compiled_encoder, piece_regex_encoder, regex_encoder
from nbbpe.kernels.encoding import encode_new_piece
from nbbpe.kernels.encoding.piece_cache import BYTES_PER_PIECE, IDS_USED
from nbbpe.kernels.pieces.piece_table import N_ENTRIES, POOL_START
from nbbpe.kernels.pieces.piece_table import POOL_USED as KEY_BYTES
from nbbpe.model import long_merges
from nbbpe.text import utf8

pytestmark = pytest.mark.usefixtures("guarded_arrays")

PATTERNS = {"gpt2": "gpt2", "o200k": "o200k", "user": texts.SPLIT_WITH_GAPS, "none": None}
SPECIALS = ["<|end|>", "<|end|><|end|>", "<|", "é", "X<|end|>"]


@st.composite
def vocabularies(draw: st.DrawFn) -> nbbpe.Tokenizer:
    """A tokenizer of random merges of few bytes, in any order: a merge may rank before those that make its sides."""
    alphabet = draw(st.sampled_from([b"ab", b"abc ", b"a\xc3\xa9", b"a 's\n"]))
    tokens = [bytes([byte]) for byte in alphabet]
    pairs: list[tuple[bytes, bytes]] = []
    for left, right in draw(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=25)):
        pair = tokens[left % len(tokens)], tokens[right % len(tokens)]
        if pair not in pairs and len(pair[0] + pair[1]) <= 12:
            pairs.append(pair)
            tokens.append(pair[0] + pair[1])
    pairs = draw(st.permutations(pairs)) if draw(st.booleans()) else pairs
    results = list(dict.fromkeys(left + right for left, right in pairs))
    vocab = BYTES | {300 + 2 * i: token for i, token in enumerate(results)}
    pattern = draw(st.sampled_from(["gpt2", None]))
    return nbbpe.Tokenizer(vocab, pairs, draw(st.sampled_from([[], ["ab"], ["<|end|>", "a "]])), pattern)


@given(vocabularies(), st.lists(st.one_of(st.text("ab", max_size=40), texts.data(40)), min_size=1, max_size=3))
def test_ids_are_those_of_merging_by_rank_for_any_vocabulary(tokenizer, documents):
    for document in documents:
        data = utf8.to_bytes(document)
        assert tokenizer.encode(document) == textbook_ids(tokenizer, data)
        assert tokenizer.encode(document) == textbook_ids(tokenizer, data), "from memory"
        assert tokenizer.decode_bytes(tokenizer.encode(document)) == data


def test_a_merge_waits_for_its_rank_even_where_its_place_came_up_before():
    # At a the pair (a, b) of rank 1 gives way to (a, bc) of rank 3; (bc, d) of rank 2 comes first.
    merges = [(b"b", b"c"), (b"a", b"b"), (b"bc", b"d"), (b"a", b"bc")]
    assert nbbpe.Tokenizer(vocab_of(merges), merges, pattern=None).encode("abcd") == [97, 258]


@pytest.mark.exhaustive
def test_ids_are_those_of_merging_by_rank_for_thousands_of_dense_vocabularies():
    source = random.Random(17)
    for _ in range(examples(150, 600)):
        letters = source.choice(["ab", "abc", "a"])
        tokens = [letter.encode() for letter in letters]
        pairs: list[tuple[bytes, bytes]] = []
        for _ in range(source.randrange(1, 40)):
            pair = source.choice(tokens), source.choice(tokens)
            if pair not in pairs and len(pair[0] + pair[1]) <= 9:
                pairs.append(pair)
                tokens.append(pair[0] + pair[1])
        if source.random() < 0.7:
            source.shuffle(pairs)
        vocab = BYTES | dict(enumerate(dict.fromkeys(left + right for left, right in pairs), start=256))
        tokenizer = nbbpe.Tokenizer(vocab, pairs, pattern=None)
        for _ in range(8):
            data = "".join(source.choices(letters, k=source.choice([3, 8, 20, 60]))).encode()
            assert tokenizer.encode(data) == textbook_ids(tokenizer, data), (pairs, data)


@pytest.fixture(scope="module", params=PATTERNS.values(), ids=PATTERNS)
def trained(request) -> nbbpe.Tokenizer:
    """A tokenizer of 420 tokens with special tokens in and across each other."""
    return nbbpe.train(
        iter([texts.SAMPLE, "the cat sat on the mat " * 3, "abab aaa"]), 420, SPECIALS, pattern=request.param
    )


@given(data=texts.data(120))
def test_ids_of_a_trained_tokenizer_are_the_textbooks(trained, data):
    assert trained.encode(data) == textbook_ids(trained, data)
    assert trained.encode_ordinary(data) == textbook_ids(trained, data, [])


@given(data=st.one_of(st.binary(max_size=300), texts.data(300)))
def test_any_bytes_come_back_as_they_were(trained, data):
    assert trained.decode_bytes(trained.encode(data)) == data
    assert trained.decode_bytes(trained.encode_array(data)) == data
    assert trained.decode_bytes(trained.encode_ordinary(data)) == data


@given(text=texts.texts(100))
def test_any_text_comes_back_as_it_was(trained, text):
    assert trained.decode(trained.encode(text)) == text
    assert trained.encode(text) == trained.encode(text.encode())


def test_the_sample_is_encoded_as_the_textbook_does(trained):
    for n in range(0, 500, 7):
        data = texts.SAMPLE.encode()[n:]
        assert trained.encode(data) == textbook_ids(trained, data)


def test_a_run_of_lone_surrogates_is_encoded_at_once():
    rng = random.Random(3)
    for characters in "\ud800", "\udcff", "\ud800\udbff\udc00\udc7f\udc80\udcff\udd00\udfff":
        text = f"a{''.join(rng.choices(characters, k=50))}bc{characters}"
        assert utf8.to_bytes(text) == naive.utf8(text, 1000)
        with pytest.raises(UnicodeEncodeError) as caught:
            text.encode()
        # For one after the other, Python would look for the end of the run again and again: minutes for a megabyte.
        assert codecs.lookup_error("nbbpe.keep_surrogates")(caught.value)[1] == 51


def test_lone_surrogates_have_ids_and_nothing_is_lost(small):
    for text in "a\ud800b", "\udfff", "caf\udcc3", "\udc80\ud800", "é\udcff\udbff":
        assert small.decode_bytes(small.encode(text)) == utf8.to_bytes(text)
    assert small.decode(small.encode("caf\udcc3 \udcff"), errors="surrogateescape") == "caf\udcc3 \udcff"
    assert small.decode(small.encode("a\ud800"), errors="surrogatepass") == "a\ud800"


# Special tokens


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<|end|>", ["<|end|>"]),
        ("<|end|><|end|>", ["<|end|><|end|>"]),  # the longest
        ("<|end|><|end|><|end|>", ["<|end|><|end|>", "<|end|>"]),  # and from the left
        ("X<|end|>", ["X<|end|>"]),
        ("<|X<|end|>", ["<|", "X<|end|>"]),
        ("a<|end|>b", [b"a", "<|end|>", b"b"]),
        ("<|<|end", ["<|", "<|", b"end"]),
        ("éa", ["é", b"a"]),
        ("<|end|>é<|end|>", ["<|end|>", "é", "<|end|>"]),
        ("", []),
    ],
)
def test_special_tokens_are_found_leftmost_and_longest(trained, text, wanted):
    ids = []
    for part in wanted:
        ids += [trained.special_tokens[part]] if isinstance(part, str) else trained.encode_ordinary(part)
    assert trained.encode(text) == ids == textbook_ids(trained, text.encode())


@given(parts=st.lists(st.sampled_from([*SPECIALS, "<|", "|>", "end", "X", "a ", "é", b"\xc3", b"\xa9"]), max_size=12))
def test_special_tokens_anywhere_are_the_textbooks(trained, parts):
    data = b"".join(utf8.to_bytes(part) for part in parts)
    assert trained.encode(data) == textbook_ids(trained, data)


def test_only_allowed_special_tokens_become_their_ids(trained):
    text = "X<|end|><|end|>é<|"
    every = [[], ["<|end|>"], ["é", "<|"], ["X<|end|>"], SPECIALS]
    for _ in range(2):  # each after another, and once more
        for allowed in every:
            wanted = textbook_ids(trained, text.encode(), allowed)
            for kind in set, list, tuple, frozenset, iter, np.array:
                assert trained.encode(text, allowed_special=kind(allowed)) == wanted
                assert trained.count(text, allowed_special=kind(allowed)) == len(wanted)
                assert trained.encode(20_000 * " " + text, allowed_special=kind(allowed))[-len(wanted) + 1 :] == wanted[1:]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="allowed_special contains 'unknown'")
        assert trained.encode(text, allowed_special=["unknown"]) == textbook_ids(trained, text.encode(), ["unknown"])
    assert trained.encode(text, allowed_special="all") == trained.encode(text) == textbook_ids(trained, text.encode())
    assert (
        trained.encode_ordinary(text)
        == trained.encode(text, allowed_special=())
        == textbook_ids(trained, text.encode(), [])
    )


def test_a_disallowed_special_token_in_the_text_is_an_error(trained):
    for text in "a<|end|>b", b"a<|end|>b":
        for encode in trained.encode, trained.encode_array:
            with pytest.raises(ValueError, match=r"special token '<\|end\|>', which is disallowed"):
                encode(text, disallowed_special={"<|end|>"})
            for kind in tuple, iter, np.array:
                with pytest.raises(ValueError, match=r"special token '<\|end\|>', which is disallowed"):
                    encode(text, disallowed_special=kind(["<|end|>", "other"]))
            with pytest.raises(ValueError, match="disallowed"):
                encode(text, allowed_special=set(), disallowed_special="all")
            with pytest.raises(ValueError, match="disallowed"):
                encode(text, allowed_special={"<|end|>"}, disallowed_special="all")  # "<|" stands there too
    assert trained.encode("ab", allowed_special=set(), disallowed_special="all") == trained.encode("ab")


def test_many_texts_take_a_choice_of_special_tokens(trained):
    many = ["a<|end|>b", b"", "é<|", "<|end|>"] * 3
    for allowed in "all", set(), {"<|end|>"}, {"é", "<|"}:
        wanted = [trained.encode(text, allowed_special=allowed) for text in many]
        assert trained.encode_batch(many, allowed_special=allowed) == wanted
        ids, starts = trained.encode_batch_flat(many, allowed_special=allowed)
        assert [ids[start:end].tolist() for start, end in itertools.pairwise(starts)] == wanted
        padded = trained.encode_padded(many, pad_id=0, allowed_special=allowed)
        assert [row[mask].tolist() for row, mask in zip(padded.ids, padded.mask, strict=True)] == wanted
        joined = trained.encode(b"".join(map(utf8.to_bytes, many)), allowed_special=allowed)
        assert list(trained.encode_iterable(many, allowed_special=allowed)) == joined
        assert np.concatenate(list(trained.encode_stream(many, allowed_special=allowed))).tolist() == joined
    for encode in trained.encode_batch, trained.encode_batch_flat, partial(trained.encode_padded, pad_id=0):
        with pytest.raises(
            ValueError, match=r"^text 3 \(from 0\) contains the special token '<\|end\|>', which is disallowed"
        ):
            encode(["a", "b", "<", "<|end|>", "<|end|>"], allowed_special={"<|"}, disallowed_special=["<|end|>"])


def test_a_special_token_that_is_allowed_and_unknown_is_warned_of():
    tokenizer = nbbpe.Tokenizer(BYTES, [], ["<|end|>"])
    with pytest.warns(UserWarning, match=r"allowed_special contains '<\|edn\|>', which is not a special .*: '<\|end\|>'$"):
        assert tokenizer.encode_array("<|end|>", allowed_special={"<|edn|>"}).tolist() == list(b"<|end|>")
    with pytest.warns(UserWarning, match="not a special token of the tokenizer: none$"):
        nbbpe.Tokenizer(BYTES, []).encode("a", allowed_special={"<|edn|>"})


def test_a_special_token_that_is_allowed_and_known_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert nbbpe.Tokenizer(BYTES, [], ["<a>", "<b>"]).encode("<a>", allowed_special={"<a>"}) == [256]


def test_a_disallowed_token_of_bytes_that_are_no_character_is_named(trained):
    with pytest.raises(ValueError, match=r"contains the special token '\\udcff', which is disallowed"):
        trained.encode("a\udcff", disallowed_special={"\udcff"})


def test_warnings_name_the_line_that_called_nbbpe_however_deep_it_comes_from(trained, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    allowed = {"allowed_special": {"<|edn|>"}}
    calls = [
        lambda tokenizer: tokenizer.encode("a", **allowed),
        lambda tokenizer: tokenizer.count("a", **allowed),
        lambda tokenizer: tokenizer.encode(io.BytesIO(b"a"), **allowed),
        lambda tokenizer: tokenizer.encode_batch(["a"], **allowed),
        lambda tokenizer: tokenizer.encode_padded(["a"], pad_id=0, **allowed),
        lambda tokenizer: list(tokenizer.encode_iterable(["a"], **allowed)),
        lambda tokenizer: tokenizer.encode_file(tmp_path / "a.txt", tmp_path / "a.bin", **allowed),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="allowed_special contains") as seen:
            call(pickle.loads(pickle.dumps(trained)))  # which has met no choice yet
        assert {(warning.filename, warning.lineno) for warning in seen} == {(__file__, call.__code__.co_firstlineno)}


def test_any_number_of_choices_of_special_tokens_can_be_made(trained):
    for i in range(300):
        assert len(trained.encode("é<|", allowed_special={"é"}, disallowed_special={f"<{i}>"})) == 3
    assert len(trained._choices._known) <= 100


def test_a_text_is_refused_where_a_disallowed_token_is_in_its_bytes(trained):
    """Whatever the type and the characters of a text: short ones are searched in other ways than long ones."""
    chooser = random.Random(7)
    pieces = ["a", "é", "<", ">", "<a>", "aé", "é>", "\n", "\udcc3\udca9", "\udcff"]  # the last two are bytes
    for _ in range(300):
        text = "".join(chooser.choices(pieces, k=chooser.randrange(8))) * chooser.choice([1, 1, 1, 2000])
        tokens = {"".join(chooser.choices(pieces[:7], k=chooser.randrange(1, 4))) for _ in range(chooser.randrange(1, 3))}
        data = text.encode(errors="surrogateescape")
        for form, disallowed in itertools.product((text, data), (tokens, frozenset(tokens), list(tokens))):
            if any(token.encode() in data for token in tokens):
                with pytest.raises(ValueError, match="which is disallowed"):
                    trained.encode(form, allowed_special=(), disallowed_special=disallowed)
            else:
                ids = trained.encode(form, allowed_special=(), disallowed_special=disallowed)
                assert ids == trained.encode_ordinary(form)


@pytest.mark.parametrize("token", [b"<|end|>", "", 7])
def test_what_is_disallowed_must_be_text(trained, token):
    with pytest.raises(ValueError, match=f'must be "all" or a set of special tokens, and contains {token!r}'):
        trained.encode("a", disallowed_special=[token])


def test_an_array_of_byte_strings_is_texts_whatever_came_first():
    script = """
import numpy as np
from nbbpe import Tokenizer
tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<s>"])
words = np.array([b"hello", b"<s>"])
print([tokenizer.encode(word) for word in words], [tokenizer.count(word) for word in words], tokenizer.encode(b"hello"))
"""
    assert processes.run(script) == "[[104, 101, 108, 108, 111], [256]] [5, 1] [104, 101, 108, 108, 111]\n"


def test_a_map_can_be_closed_while_an_error_is_on_its_way(trained, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"the cat sat " * 20_000 + b"<|end|>")
    calls = trained.encode_array, trained.count, trained.encode
    for call in calls:
        with pytest.raises(ValueError, match="which is disallowed"), mapped(path) as text:
            call(text, disallowed_special={"<|end|>"})
    for call in *calls, trained.encode_ordinary:

        def interrupt(*arguments: object) -> None:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled_encoder.CompiledEncoder, "_advance", interrupt)
            patch.setattr(regex_encoder.RegexEncoder, "_merge", interrupt)
            with pytest.raises(KeyboardInterrupt), mapped(path) as text:
                call(text)


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap]:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        yield text


def test_disallowing_all_means_all_that_are_not_allowed(trained):
    text = "éa"
    assert trained.encode(text, allowed_special={"é"}, disallowed_special="all") == trained.encode(text)
    assert trained.encode("xa", disallowed_special="all") == trained.encode("xa")
    with pytest.raises(ValueError, match="'é', which is disallowed"):
        trained.encode(text, disallowed_special="all")
    assert trained.encode(text, allowed_special=set(), disallowed_special=()) == trained.encode_ordinary(text)


def test_a_tokenizer_without_special_tokens_has_none(quiet):
    tokenizer = nbbpe.train(iter(["a<|end|>b"]), 256 + 3)
    assert tokenizer.encode("<|end|>") == tokenizer.encode_ordinary("<|end|>")
    assert tokenizer.decode(tokenizer.encode("<|end|>")) == "<|end|>"


# Arrays, batches, iterables


def by_hand(n: int) -> nbbpe.Tokenizer:
    """A tokenizer of n tokens; the last is "ab"."""
    vocab = BYTES | {i: b"<%d>" % i for i in range(256, n - 1)} | {n - 1: b"ab"}
    return nbbpe.Tokenizer(vocab, [(b"a", b"b")])


@pytest.mark.parametrize(
    ("n", "dtype"), [(300, "uint16"), (65_535, "uint16"), (65_536, "uint16"), (65_537, "uint32"), (200_000, "uint32")]
)
def test_ids_are_uint16_as_long_as_the_vocabulary_fits(n, dtype):
    tokenizer = by_hand(n)
    assert tokenizer.vocab_size == n
    assert tokenizer.dtype == np.dtype(dtype)
    for array in (
        tokenizer.encode_array("ab"),
        tokenizer.encode_batch_arrays(["ab"])[0],
        tokenizer.encode_array("ab" * 7)[:1],
    ):
        assert array.dtype == np.dtype(dtype)
        assert array.ndim == 1
        assert array.tolist() == [n - 1]


def test_the_highest_id_counts_even_where_ids_have_gaps():
    tokenizer = nbbpe.Tokenizer(BYTES | {70_000: b"ab"}, [(b"a", b"b")])
    assert tokenizer.dtype == np.uint32
    assert tokenizer.vocab_size == 70_001
    assert len(tokenizer) == 257
    assert tokenizer.encode("abab") == [70_000, 70_000]


def test_an_array_is_the_callers_own(small):
    first = small.encode_array("the cat")
    wanted = first.tolist()
    first[:] = 0
    assert small.encode_array("the cat").tolist() == wanted


def test_encode_gives_plain_ints(small):
    assert {type(i) for i in small.encode("the cat")} == {int}
    assert {type(i) for i in small.encode_iterable(["the cat"])} == {int}
    assert small.encode("") == []
    assert small.encode_array("").shape == (0,)
    assert small.encode_array(b"").dtype == small.dtype


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        ["a"],
        np.array([1]),
        np.array(7, dtype=np.uint8),
        np.zeros(9, dtype=np.uint8)[::2],
        memoryview(b"a").cast("b"),
    ],
)
def test_what_is_no_text_is_an_error(small, bad):
    for encode in small.encode, small.encode_array, small.encode_ordinary:
        with pytest.raises(TypeError, match="text must be str or bytes"):
            encode(bad)
    with pytest.raises(TypeError, match=r"text must be str or bytes.*: text 1 \(from 0\) is"):
        small.encode_batch(["a", bad])
    with pytest.raises(TypeError, match=r"text must be str or bytes.*: item 1 \(from 0\) is"):
        list(small.encode_iterable(["a", bad]))


ONE_TEXT = ["ab", b"ab", bytearray(b"ab"), np.zeros(2, dtype=np.uint8), mmap.mmap(-1, 4), ctypes.create_string_buffer(2)]


@pytest.mark.parametrize("one", ONE_TEXT)
def test_one_text_is_no_batch(small, one):
    for encode in small.encode_batch, small.encode_batch_flat:
        with pytest.raises(TypeError, match="texts must be a list of texts, or any iterable of them, not one"):
            encode(one)


@pytest.mark.parametrize("nothing", [None, 3, object])
def test_what_has_no_items_is_no_batch(small, nothing):
    for encode in small.encode_batch, small.encode_batch_flat, functools.partial(small.encode_batch, dropout=0.5):
        with pytest.raises(TypeError, match="texts must be a list of texts, or any iterable of them, not"):
            encode(nothing)
    for encode, name in (
        (lambda texts: list(small.encode_iterable(texts)), "texts"),
        (small.encode_segments, "segments"),
        (small.decode_batch, "batch"),
    ):
        with pytest.raises(TypeError, match=f"^{name} must be a list of .*, or any iterable of them, not"):
            encode(nothing)


def test_names_of_texts_are_no_stream_of_them(small):
    with pytest.raises(TypeError, match=r"^texts must be .* not dict, of which only the names would be taken"):
        list(small.encode_stream({"a": "the cat"}))


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_is_no_batch_as_it_has_no_order(small, kind):
    """A view of a dict has one."""
    for encode, name in (
        (small.encode_batch, "texts"),
        (small.encode_batch_flat, "texts"),
        (small.encode_batch_arrays, "texts"),
        (small.encode_ordinary_batch, "texts"),
        (functools.partial(small.encode_batch, dropout=0.5), "texts"),
        (lambda texts: list(small.encode_iterable(texts)), "texts"),
        (lambda texts: list(small.encode_stream(texts)), "texts"),
        (functools.partial(small.encode_padded, pad_id=0), "texts"),
        (lambda texts: small.encode_segments(kind((text, True) for text in texts)), "segments"),
        (lambda texts: small.decode_batch(kind(tuple(small.encode(text)) for text in texts)), "batch"),
    ):
        with pytest.raises(
            TypeError, match=rf"^{name} must be a list of .*, not {kind.__name__}, .*: give sorted\({name}\)"
        ):
            encode(kind(["the", "cat"]))
    there = {"the": 1, "cat": 2}
    assert small.encode_batch(there.keys()) == [small.encode("the"), small.encode("cat")]
    assert list(small.encode_iterable({1: "the"}.values())) == small.encode("the")


def test_what_gives_items_by_number_is_a_batch(small):
    class Data:
        def __getitem__(self, i):
            return ["the", "cat"][i]

    assert small.encode_batch(Data()) == [small.encode("the"), small.encode("cat")]


def test_texts_in_an_array_are_a_batch(small):
    assert small.encode_batch(np.array([b"a", b"b"])) == [[97], [98]]
    assert small.encode_batch(np.array(["a", "b"])) == [[97], [98]]
    assert small.encode_batch(np.array(["a", "b"], dtype=object)) == [[97], [98]]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":  # strings of any length, which have no buffer
        assert small.encode_batch(np.array(["a", "b"], dtype=np.dtypes.StringDType())) == [[97], [98]]


@pytest.mark.parametrize("n_bytes", [0, 1, 1000, 30_000])
@pytest.mark.parametrize("kind", ["bytearray", "memoryview", "read-only", "array", "ctypes", "mmap"])
def test_bytes_may_lie_in_any_object_that_lends_them(trained, tmp_path, sizes, kind, n_bytes):
    sizes(window=8000, text_window=8000)  # above 500 bytes, text is read where it lies
    data = (texts.SAMPLE.encode() + b" <|end|> \xff\xc3") * (n_bytes // 500 + 1)
    data = data[:n_bytes]
    wanted = trained.encode_array(data)
    with lent(data, kind, tmp_path) as text:
        assert np.array_equal(trained.encode_array(text), wanted)
        assert trained.count(text) == len(wanted)
        assert trained.encode_ordinary(text) == trained.encode_ordinary(data)
        assert trained.tokenize(text).text == data
        ids, starts = trained.encode_batch_flat([text, b"the cat", text])
        assert np.array_equal(ids[starts[2] :], wanted)
        assert list(trained.encode_iterable([text, text])) == trained.encode(data + data)
        if b"<|end|>" in data:
            with pytest.raises(ValueError, match=r"contains the special token '<\|end\|>', which is disallowed"):
                trained.encode_array(text, disallowed_special=["<|end|>"])
            with pytest.raises(ValueError, match="which is disallowed"):
                trained.count(text, allowed_special=(), disallowed_special="all")


def test_a_buffer_may_be_filled_anew_for_each_text(trained, sizes):
    sizes(window=8000, text_window=8000)
    data = [(word * 2000).encode() for word in ("the cat ", "sat on ", "é<|end|>")]

    def refilled():
        buffer = bytearray()
        for text in data:
            buffer[:] = text
            yield buffer

    assert trained.encode_batch(refilled()) == [trained.encode(text) for text in data]
    assert list(trained.encode_iterable(refilled())) == trained.encode(b"".join(data))


@contextlib.contextmanager
def lent(data, kind, folder):
    """Bytes in an object of some kind; that nothing holds on to its memory is seen by closing it."""
    if kind == "bytearray":
        text = bytearray(data)
        yield text
        text.append(0)  # BufferError while there are views of it
    elif kind == "mmap" and data:
        (folder / "text").write_bytes(data)
        with open(folder / "text", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            yield text
    elif kind == "memoryview":
        with memoryview(bytearray(data)) as text:
            yield text
    elif kind == "ctypes":
        yield (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
    else:
        array = np.frombuffer(data, dtype=np.uint8)
        yield array if kind == "read-only" else array.copy()


@pytest.mark.parametrize(("pattern", "normalizer"), [(None, None), ("gpt2", "NFC"), (texts.SPLIT_WITH_GAPS, None)])
def test_lent_bytes_are_taken_where_all_is_done_in_python_too(pattern, normalizer, sizes):
    tok = nbbpe.Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")], ["<|end|>"], pattern, normalizer=normalizer)
    sizes(copied=1000)  # the text is longer, and read where it lies
    data = "ab e\u0301 <|end|> ".encode() * 200
    text = memoryview(data)
    assert tok.encode(text) == tok.encode(data)
    assert tok.encode_ordinary(text) == tok.encode_ordinary(data)
    assert tok.count(text) == tok.count(data) == len(tok.encode(data))
    assert tok.encode_batch_flat([text])[0].tolist() == tok.encode(data)


def test_a_batch_is_each_text_by_itself(trained, processors, sizes):
    batch = [texts.SAMPLE[i : i + 150] for i in range(0, 400, 11)] + ["", "<|end|>", b"\xff"]
    wanted = [trained.encode(text) for text in batch]
    assert trained.encode_batch(batch) == wanted
    assert trained.encode_batch([]) == []
    sizes(for_threads=10)
    processors(4)
    assert trained.encode_batch(iter(batch)) == wanted


@pytest.mark.parametrize("n", [1, 2, 32, 33, 100])
def test_a_batch_of_any_size_is_each_text_by_itself(trained, n):
    batch = [texts.SAMPLE[i : i + 20 * i] for i in range(n - 1)] + ["a<|end|>\ud800"]
    for allowed in (), "all", {"<|end|>"}:
        wanted = [trained.encode(text, allowed_special=allowed) for text in batch]
        assert trained.encode_batch(batch, allowed_special=allowed) == wanted
        assert trained.encode_batch(batch[:-1], allowed_special=allowed) == wanted[:-1]
    with pytest.raises(ValueError, match=rf"text {n - 1} .from 0. contains"):
        trained.encode_batch(["a"] * (n - 1) + batch[-1:], disallowed_special="all")


def test_many_lists_are_made_without_looking_through_them_again_and_again(small):
    with collects_at_most(3):  # not 28: a list in 700
        rows = small.encode_batch(["the cat"] * 20_000)
    assert len(rows) == 20_000


def test_a_flat_batch_has_the_ids_of_each_text_between_its_starts(trained, sizes):
    parts = ["", "a", "<|end|>", "x<|end|>y", b"\xff\xff", "", "é" * 300, texts.SAMPLE, "<|en", "d|>", b"\xc3", b"\xa9", ""]
    for size in 1, 50, 1 << 20:
        sizes(batch=size, for_threads=size)
        ids, starts = trained.encode_batch_flat(iter(parts))
        assert ids.dtype == trained.dtype
        assert starts.dtype == np.int64
        assert len(starts) == len(parts) + 1
        for i, text in enumerate(parts):
            assert ids[starts[i] : starts[i + 1]].tolist() == trained.encode(text)
    ids, starts = trained.encode_batch_flat([])
    assert (len(ids), ids.dtype, starts.tolist()) == (0, trained.dtype, [0])


@pytest.mark.parametrize("text", ["", "a", texts.SAMPLE, "<|end|>" * 3 + "é", b"\xff", "x" * 100_000, "a b " * 50_000])
def test_count_is_the_number_of_ids(trained, text):
    assert trained.count(text) == len(trained.encode(text))
    assert trained.count(text, allowed_special=()) == len(trained.encode_ordinary(text))
    if "<|end|>" in str(text):
        with pytest.raises(ValueError, match="disallowed"):
            trained.count(text, allowed_special=(), disallowed_special="all")


def splittings(text: str) -> list[list[str]]:
    """All ways to cut a text into items."""
    ways = []
    for cuts in itertools.product([False, True], repeat=len(text) - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(text)]
        ways.append([text[start:end] for start, end in itertools.pairwise(edges)])
    return ways


@pytest.mark.parametrize("text", ["a<|end|>é", " the  's\n", "ab 12 cd", "x\n\n yé😀"])
@pytest.mark.parametrize("window", [1, 5, 64])
def test_an_iterable_gives_the_ids_of_the_joined_text_however_it_is_cut(trained, sizes, text, window):
    sizes(window=window, text_window=window)
    wanted = trained.encode(text)
    for items in splittings(text):
        assert list(trained.encode_iterable(items)) == wanted, items


@given(items=st.lists(st.one_of(texts.texts(30), st.sampled_from(SPECIALS)), max_size=8), window=st.integers(1, 100))
def test_any_iterable_gives_the_ids_of_the_joined_text(sizes, trained, items, window):
    sizes(window=window, text_window=window)
    assert list(trained.encode_iterable(items)) == trained.encode("".join(items))
    assert list(trained.encode_iterable(item.encode() for item in items)) == trained.encode("".join(items))


def test_items_with_lone_surrogates_give_the_ids_of_the_joined_text(small):
    for items in ["a\udc80", "b\ud800"], ["\udcc3", "\udca9"], ["\ud83d", "\ude00"]:
        assert list(small.encode_iterable(items)) == small.encode("".join(items))


def test_an_iterable_is_read_as_its_ids_are_taken(small, sizes):
    sizes(window=1000)
    n_read = 0

    def items():
        nonlocal n_read
        while True:  # never ends
            n_read += 1
            yield "the cat sat on the mat. "

    ids = list(itertools.islice(small.encode_iterable(items()), 5000))
    assert small.decode(ids).startswith("the cat sat on the mat. the cat")
    assert n_read < 5000


def test_an_error_of_the_iterable_reaches_the_user(small):
    def items():
        yield "the cat"
        raise LookupError("half-way")

    with pytest.raises(LookupError, match="half-way"):
        list(small.encode_iterable(items()))


def test_an_open_file_is_an_iterable_of_texts(small, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(texts.SAMPLE.encode())
    with open(path, encoding="utf-8", newline="") as file:
        assert list(small.encode_iterable(file)) == small.encode(texts.SAMPLE)


# Hostile input, memory


@pytest.mark.parametrize("unit", ["a", "^", " ", "中", "\n", "ab", "a ", "'", "\U0001f600", "1"])
def test_a_million_of_one_thing_takes_no_special_care(trained, unit):
    data = (unit * 1_000_000).encode()[:1_000_000]
    trained.encode(unit * 1000)  # kernels are loaded
    with takes_seconds_below(20):  # n**2 would take hours
        ids = trained.encode_array(data)
    assert trained.decode_bytes(ids) == data


def test_long_runs_that_merge_are_merged_as_short_ones(quiet):
    tokenizer = nbbpe.train(iter(["a" * 5000]), 290, pattern=None)
    for n in 1, 2, 63, 64, 65, 127, 128, 129, 700:
        assert tokenizer.encode("a" * n) == textbook_ids(tokenizer, b"a" * n)
    double = tokenizer.token_to_id("a" * 4096)  # the run was learned by doubling
    assert tokenizer.encode("a" * 4096 * 200) == [double] * 200


def random_text(source: random.Random, n: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyzé中 "
    return " ".join("".join(source.choices(letters, k=source.choice([2, 5, 9, 20, 70]))) for _ in range(n))


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("max_pieces", [0, 1, 2, 50, 1000])
def test_the_bound_on_remembered_pieces_is_kept_and_changes_no_id(small, pattern, max_pieces):
    free = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern)
    bound = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], pattern, max_pieces=max_pieces)
    source = random.Random(13)
    for _ in range(4):
        text = random_text(source, 600) + texts.SPECIAL + texts.SAMPLE
        assert np.array_equal(bound.encode_array(text), free.encode_array(text))
        for state in getattr(bound._encoder, "_idle", ()):  # by `regex`, no pieces are cached
            assert state.table.state[N_ENTRIES] <= max_pieces
            assert state.table.state[KEY_BYTES] <= POOL_START + BYTES_PER_PIECE * max_pieces
            assert state.cache_state[IDS_USED] <= len(state.ids_pool)


def test_memory_that_grows_many_times_over_changes_no_id(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges)
    source = random.Random(14)
    text = random_text(source, 30_000)  # far more distinct pieces than the first table holds
    ids = tokenizer.encode_array(text)
    assert tokenizer.decode(ids) == text
    for _ in range(3):
        start = source.randrange(len(text) - 3000)
        part = text[start : start + 3000]
        assert tokenizer.encode(part) == textbook_ids(tokenizer, part.encode())
    assert np.array_equal(tokenizer.encode_array(text), ids)


def test_a_bound_that_cannot_be_meant_is_an_error(small):
    with pytest.raises(ValueError, match="max_pieces must be at least 0, not -1"):
        nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=-1)
    for wrong in 1.5, "5", None, True:
        with pytest.raises(TypeError, match=f"max_pieces must be an integer, not {wrong!r}"):
            nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=wrong)


@pytest.mark.parametrize("max_pieces", [2**57, sys.maxsize, 2**80])
def test_a_bound_larger_than_any_memory_is_none(small, max_pieces):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=max_pieces)
    ids = tokenizer.encode_array(text := random_text(random.Random(19), 3000))
    assert tokenizer.decode(ids) == text
    assert tokenizer._encoder._idle[0].table.state[N_ENTRIES] > 1000


def test_a_cache_that_is_emptied_uses_its_room_again(small):
    tokenizer, source = nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=100), random.Random(20)
    tokenizer.encode(random_text(source, 1000))
    (state,) = tokenizer._encoder._idle
    before = len(state.ids_pool)
    for _ in range(20):
        tokenizer.encode_array(random_text(source, 3000))
    assert len(state.ids_pool) == before


def test_a_piece_larger_than_the_bound_on_all_leaves_what_is_remembered(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, max_pieces=100)
    tokenizer.encode(texts.SAMPLE[:150])  # which has fewer pieces
    (state,) = tokenizer._encoder._idle
    before = state.table.state.tolist()
    huge = "a" * (BYTES_PER_PIECE * 100)
    assert before[N_ENTRIES] > 10
    assert tokenizer.decode(tokenizer.encode(huge)) == huge
    assert state.table.state.tolist() == before


def test_what_a_huge_piece_needed_is_let_go(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges)
    tokenizer.encode("a")
    (state,) = tokenizer._encoder._idle
    before = state._scratch.nbytes, state.out.nbytes
    huge = b"ab" * 1_000_000
    ids = tokenizer.encode_array(huge)
    for _ in range(2):
        assert tokenizer.count(huge) == len(ids)
        assert (state._scratch.nbytes, state.out.nbytes) == before
        assert tokenizer.encode(texts.SAMPLE) == textbook_ids(tokenizer, texts.SAMPLE.encode())
    assert list(tokenizer._encoder._idle) == [state]


# Threads and processes


def test_many_threads_may_encode_at_once(trained):
    source = random.Random(15)
    documents = [random_text(source, 100) + texts.SAMPLE for _ in range(40)]
    wanted = [trained.encode(document) for document in documents]
    tokenizer = pickle.loads(pickle.dumps(trained))  # with nothing worked out yet
    barrier = threading.Barrier(8)

    def encode(first: int) -> list[list[int]]:
        barrier.wait()
        return [tokenizer.encode(document) for document in documents[first:] + documents[:first]]

    with ThreadPoolExecutor(8) as threads:
        for first, results in enumerate(threads.map(encode, range(8))):
            assert results == wanted[first:] + wanted[:first]


def test_a_pickled_tokenizer_is_the_same(trained):
    trained.encode(texts.SAMPLE)
    copy = pickle.loads(pickle.dumps(trained))
    assert copy == trained
    assert copy.encode(texts.SAMPLE) == trained.encode(texts.SAMPLE)
    assert copy.special_tokens == trained.special_tokens
    assert len(pickle.dumps(trained)) < 100_000  # what was remembered does not travel


def encode_in_child(tokenizer: nbbpe.Tokenizer, text: str, connection) -> None:
    connection.send(tokenizer.encode(text))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tokenizer_can_be_used_in_another_process(trained, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    wanted = trained.encode(texts.SAMPLE)  # so that a forked child inherits tables in use
    context = multiprocessing.get_context(method)
    for daemon in examples((True,), (True, False)):
        ours, theirs = context.Pipe()
        process = context.Process(target=encode_in_child, args=(trained, texts.SAMPLE, theirs), daemon=daemon)
        process.start()
        theirs.close()
        assert ours.poll(120)
        assert ours.recv() == wanted
        process.join()
        assert process.exitcode == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_threads_encode_leaves_the_child_able_to_encode(small):
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            small.encode(texts.SAMPLE)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            ours, theirs = context.Pipe()
            process = context.Process(target=encode_in_child, args=(small, texts.SAMPLE, theirs))
            process.start()
            theirs.close()
            assert ours.poll(60), "the child hangs"
            assert small.decode(ours.recv()) == texts.SAMPLE
            process.join()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("name", ["encode_state.addresses_of_cache", "merge_pretoken.new_scratch"])
def test_what_was_growing_when_an_error_came_is_not_used_again(small, monkeypatch, name, error):
    """A context half renewed points at arrays that are gone, and a size half renewed promises room that is not there."""
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges)
    text = random_text(random.Random(15), 10_000) + "a" * 5000
    tokenizer.encode("a")
    (state,) = tokenizer._encoder._idle

    def fail(*arguments):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(f"nbbpe.kernels.encoding.{name}", fail)
        with pytest.raises(error):
            tokenizer.encode_array(text)
    assert all(other is not state for other in tokenizer._encoder._idle)
    assert tokenizer.encode(text) == textbook_ids(tokenizer, text.encode())


def test_the_arrays_of_a_stream_are_the_callers_own(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges)
    text = random_text(random.Random(20), 40_000)
    parts = list(tokenizer.encode_stream([text]))
    assert len(parts) > 1
    assert np.array_equal(np.concatenate(parts), tokenizer.encode_array(text))


def test_a_stream_of_which_no_more_is_asked_leaves_what_it_learned(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges)
    stream = tokenizer.encode_stream(texts.SAMPLE for _ in range(1000))
    next(stream)
    stream.close()
    (state,) = tokenizer._encoder._idle
    assert state.table.state[N_ENTRIES] > 0
    assert tokenizer.encode(texts.SAMPLE) == textbook_ids(tokenizer, texts.SAMPLE.encode())


# Special tokens in short texts, which one call finds and encodes


@pytest.mark.exhaustive
@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_special_tokens_in_short_texts_are_kept_whole(small, pattern):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, SPECIALS, pattern)
    source = random.Random(18)
    parts = [*SPECIALS, "<|end", "end|>", "the cat", " ", "\n", "'s", "12", "é\u0301", "中"]
    for _ in range(examples(150, 400)):
        data = "".join(source.choices(parts, k=source.randrange(12))).encode()
        data = data[source.randrange(2) : len(data) - source.randrange(2)]
        wanted = textbook_ids(tokenizer, data)
        assert tokenizer.encode(data) == wanted, data
        assert tokenizer.count(data) == len(wanted)
        assert tokenizer.encode_ordinary(data) == textbook_ids(tokenizer, data, [])
        some = source.sample(SPECIALS, 2)
        assert tokenizer.encode(data, allowed_special=some) == textbook_ids(tokenizer, data, some), (data, some)
        assert tokenizer.count(data, allowed_special=some) == len(textbook_ids(tokenizer, data, some))


@pytest.mark.parametrize("n", [256, 1023, 1024, 1025, 1500, 4096, 5000])  # there is room for 1,024
@pytest.mark.parametrize("between", ["", "a", "the cat "])
def test_more_special_tokens_than_a_short_text_has_room_for(small, n, between):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, ["é"])
    special, other = tokenizer.token_to_id("é"), tokenizer.encode(between)
    for _ in range(2):
        assert tokenizer.encode(("é" + between) * n) == [special, *other] * n
        assert tokenizer.count(("é" + between) * n) == (1 + len(other)) * n
        assert tokenizer.encode_ordinary("é") == textbook_ids(tokenizer, "é".encode(), [])


@pytest.mark.parametrize("pattern", ["gpt2", None])
def test_what_takes_long_can_be_interrupted_and_called_again(small, sizes, monkeypatch, pattern):
    sizes(long=1)
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, pattern=pattern)
    text = "the cat" * 3 + "a" * 3000
    wanted = textbook_ids(tokenizer, text.encode())
    assert tokenizer.encode(text) == wanted

    def interrupted(work):
        work()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(long_merges, "interruptible", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tokenizer.encode(text + "b" * 3000)
    assert not getattr(tokenizer._encoder, "_idle", ())  # the encoder by `regex` has nothing that could be half changed
    assert tokenizer.encode(text) == wanted


@pytest.mark.parametrize("split_with", ["compiled", "regex"])
def test_what_goes_on_after_an_interruption_keeps_its_memory(small, sizes, monkeypatch, split_with):
    """The addresses that the kernel gets lie in arrays to which the call itself refers, as nothing else does then."""
    sizes(long=1)
    calls, addresses = [], []

    def interrupted(work):
        calls.append(work)
        raise KeyboardInterrupt

    def encode_long_piece(state_at, key_at, length, ids_at, id_size, ends_text):
        addresses.extend([key_at, ids_at])
        return 0

    def encode_split_piece(state_at, key_at, ends_at, n_pretokens, ids_at, id_size):
        addresses.extend([key_at, ends_at, ids_at])
        return 0

    monkeypatch.setattr(long_merges, "interruptible", interrupted)
    monkeypatch.setattr(encode_new_piece, "encode_long_piece", encode_long_piece)
    monkeypatch.setattr(piece_regex_encoder, "encode_split_piece", encode_split_piece)
    with pytest.raises(KeyboardInterrupt):
        small._splitting_with(split_with).encode_array("a" * 3000)
    (call,) = calls
    call()
    assert addresses
    kept = [cell.cell_contents for cell in call.__closure__]
    spans = [(array.ctypes.data, array.nbytes) for array in kept if isinstance(array, np.ndarray)]
    assert all(any(start <= address < start + n for start, n in spans) for address in addresses)


@pytest.mark.parametrize(("blank", "n"), [("\u00a0", 1), ("\u3000", 1), ("\u3000", 2)])
@pytest.mark.parametrize("length", [64, 128])
def test_a_character_broken_off_before_a_special_token_is_not_completed_by_another_pieces_bytes(blank, n, length):
    # A piece is split in a buffer to which it was copied 64 bytes at a time, after other pieces. Its spaces are one
    # pretoken with a blank after them, and two with a character that is none.
    vocab = BYTES | {256: b"  ", 257: b"   "}
    tokenizer = nbbpe.Tokenizer(vocab, [(b" ", b" "), (b"  ", b" ")], [texts.SPECIAL], "gpt2")
    spaces = b" " * (length - n)
    data = texts.SPECIAL.encode().join([spaces + blank.encode() + b"a", spaces + blank.encode()[:n], b""])
    assert tokenizer.encode(data) == textbook_ids(tokenizer, data)
