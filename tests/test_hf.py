"""nbbpe.hf: a tokenizer for transformers gives what PreTrainedTokenizerFast gives, for every call."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pickle
import random
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import processes
import pytest
import texts
from interrupts import interrupted
from limits import collects_at_most
from texts import HARD

import nbbpe
from nbbpe.formats.regexes.dialects import translated
from nbbpe.patterns.pattern import NAMED
from nbbpe.system import scratch
from nbbpe.text.normal_characters import FORMS

transformers = pytest.importorskip("transformers", reason="needs transformers")

from nbbpe.hf import NbbpeEncoding, NbbpeTokenizerFast  # noqa: E402  (after it is known that transformers is there)
from nbbpe.hf.encodings import RowEncoding  # noqa: E402
from nbbpe.hf.rows import Batch  # noqa: E402

END = texts.SPECIAL
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + END + "{% endfor %}"
BATCH = [*HARD, texts.SAMPLE, f"a{END}b", f"{END}{END}", "<pad> x", "word " * 40]


def around(start: int, end: int, kind: int = 0) -> dict[str, Any]:
    """A post_processor that puts a token before and one after a text."""
    one = [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": kind}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ]
    two = [
        {"Sequence": {"id": "B", "type_id": 1 - kind}},
        {"SpecialToken": {"id": "<s>", "type_id": 1}},
        {"Sequence": {"id": "A", "type_id": 2 * kind}},
    ]
    ids = {"<s>": start, "</s>": end}
    return {
        "type": "TemplateProcessing",
        "single": one,
        "pair": [*one, {"Sequence": {"id": "B", "type_id": 1}}] if kind == 0 else two,
        "special_tokens": {token: {"id": token, "ids": [number], "tokens": [token]} for token, number in ids.items()},
    }


def processors(start: int, end: int) -> dict[str, Any]:
    """A post_processor by the name of its folder: tokens around a text or a pair, and trimming of offsets."""
    ends = {"sep": ["</s>", end], "cls": ["<s>", start]}
    trims, trims_all, trims_not = (
        {"type": "ByteLevel", "add_prefix_space": adds, "trim_offsets": trim, "use_regex": True}
        for adds, trim in ((True, True), (False, True), (True, False))
    )
    return {
        "around": around(start, end),
        "types": around(start, end, 1),
        "trims": trims,
        "trims_all": trims_all,
        "trims_first": {"type": "Sequence", "processors": [trims_not, trims_all, around(start, end)]},
        "trims_last": {"type": "Sequence", "processors": [around(start, end), trims]},
        "roberta": {"type": "RobertaProcessing", **ends, "trim_offsets": True, "add_prefix_space": True},
        "roberta_whole": {"type": "RobertaProcessing", **ends, "trim_offsets": False, "add_prefix_space": False},
        "bert": {"type": "BertProcessing", **ends},
    }


NAMES = ["plain", *processors(0, 0)]
COLUMNS = "ids", "tokens", "type_ids", "attention_mask", "special_tokens_mask", "offsets", "word_ids", "sequence_ids"


@pytest.fixture(scope="module")
def folders(tmp_path_factory, small) -> dict[str, str]:
    """Folders of tokenizers of transformers: plain, and with each of `processors`."""
    root = tmp_path_factory.mktemp("hf")
    tokenizer = small.with_special_tokens(["<pad>", "<s>", "</s>"])
    roles = {"eos_token": END, "pad_token": "<pad>", "chat_template": TEMPLATE, "model_max_length": 512}
    found = {}
    parts = processors(tokenizer.special_tokens["<s>"], tokenizer.special_tokens["</s>"])
    for name in NAMES:
        path = root / name
        tokenizer.save_pretrained(path, **roles)
        if name in parts:
            document = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
            document["post_processor"] = parts[name]
            (path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
        found[name] = str(path)
    return found


@pytest.fixture(autouse=True)
def _short_texts_are_not_all_few(monkeypatch):
    monkeypatch.setattr("nbbpe.encoding.offsets._FEW", 20)
    monkeypatch.setattr("nbbpe.hf.applied._FEW_IDS", 10)


def both(path: str, **options: Any) -> tuple[Any, Any]:
    """Our class and theirs, from one folder."""
    classes = NbbpeTokenizerFast, transformers.PreTrainedTokenizerFast
    ours, theirs = (each.from_pretrained(path, **options) for each in classes)
    return ours, theirs


def check(ours: Any, theirs: Any, *arguments: Any, **options: Any) -> tuple[Any, Any] | None:
    """Both give the same for a call, errors included; the results, or None for an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = theirs(*arguments, **options)
        except BaseException as error:
            # Rust's errors are bare Exceptions, its panics not even that; which of them comes first depends on its threads.
            is_of_rust = type(error) is Exception or type(error).__name__ == "PanicException"
            with pytest.raises(BaseException if is_of_rust else type(error)):
                ours(*arguments, **options)
            return None
        found = ours(*arguments, **options)
    assert list(found) == list(expected), options
    for name in expected:
        if isinstance(expected[name], np.ndarray):
            assert found[name].dtype == expected[name].dtype
            assert found[name].shape == expected[name].shape
            rows = zip(found[name], expected[name], strict=True)  # arrays in an array, if their lengths differ
            assert all(np.array_equal(row, other) for row, other in rows), (name, options, arguments)
        else:
            assert found[name] == expected[name], (name, options)
    return found, expected


def refuse(*_: Any, **__: Any) -> None:
    """In the place of a function that must not be called."""
    raise AssertionError("it was asked")


def outcome(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a call returns, or the type of its error."""
    try:
        return call(*arguments, **options)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize(
    ("arguments", "batch"),
    [
        ((["a", "b"],), (["a", "b"], False)),
        ((("a",), ("b",)), (["a", "b"], True)),
        (([("a", "b"), ("c", "d")],), (["a", "c", "b", "d"], True)),
        *[((texts,), None) for texts in ("ab", [], [3], [("a", "b"), "c"], [["a", "b"]], [("a", "b", "c")], [("a", 3)])],
        *[((["a"], others), None) for others in ("b", ["b", "c"], [3], [])],
        (([("a", "b")], ["c"]), None),
    ],
)
def test_a_batch_of_texts_is_told_from_all_else(arguments, batch):
    """Where it is not, tokenizers encodes the texts, more slowly."""
    assert Batch.of(*arguments) == (batch and Batch(*batch))


@pytest.mark.parametrize(
    ("arguments", "batch"),
    [
        (([["a", "b"], ("c",)],), (["a", "b", "c"], False, [2, 1])),
        (([[], [np.str_("a")]],), (["a"], False, [0, 1])),
        (([["a"]], (("b", "c"),)), (["a", "b", "c"], True, [1, 2])),
        (([(["a"], ["b", "c"]), [("d",), []]],), (["a", "d", "b", "c"], True, [1, 1, 2, 0])),
        *[((texts,), None) for texts in ("ab", [], {"a": 1}, ["ab"], [["a"], "b"], [["a", 3]], [[["a"], "b"]])],
        *[(([["a"]], others), None) for others in ("b", ["b"], [["b"], ["c"]])],
        (([[["a"], ["b"], ["c"]]],), None),
        (([[], (["a"], ["b"])],), None),
        (([[["a"], ["b"]]], [["c"]]), None),
    ],
)
def test_a_batch_of_words_is_told_from_all_else(arguments, batch):
    assert Batch.of(*arguments, is_split=True) == (batch and Batch(*batch))


@pytest.mark.parametrize("name", NAMES)
def test_every_option_gives_what_transformers_gives(folders, name):
    ours, theirs = both(folders[name])
    rng = random.Random(5)
    choices: dict[str, list[Any]] = {
        "padding": [False, True, "max_length"],
        "truncation": [False, True, "only_first", "only_second"],
        "max_length": [None, 1, 2, 3, 7, 40],
        "pad_to_multiple_of": [None, 8],
        "padding_side": [None, "left", "right"],
        "return_tensors": [None, "np"],
        "add_special_tokens": [True, False],
        "return_token_type_ids": [None, True, False],
        "return_attention_mask": [None, True, False],
        "return_special_tokens_mask": [False, True],
        "return_offsets_mapping": [False, True],
        "return_overflowing_tokens": [False, True],
        "return_length": [False, True],
        "stride": [0, 0, 1, 2, 6],
        "split_special_tokens": [False, False, True],
    }
    for number in range(80):
        ours.truncation_side = theirs.truncation_side = ("left", "right")[number % 2]
        options = {key: rng.choice(values) for key, values in choices.items()}
        # What is not chosen is left out now and then, as callers do.
        options = {key: value for key, value in options.items() if rng.random() < 0.6}
        sample, others = (rng.sample(BATCH, n) for n in [rng.choice((1, 2, 5))] * 2)
        check(ours, theirs, rng.choice((sample, tuple(sample), sample[0])), **options)
        pairs = list(zip(sample, others, strict=True))
        for arguments in [(sample, others), (tuple(sample), others), (pairs,), (sample[0], others[0])]:
            if rng.random() < 0.5:
                check(ours, theirs, *arguments, **options)
    for arguments in [
        (sample, others[1:]),
        (sample, "the"),
        ("the", {}),
        (["the"], 0),
        ([*pairs, "the"],),
        ("the", ""),
        (["the"], [""]),
        ("the", others),
        (["a", "b", "c"], ["d"]),
        ([("a", "b", "c")],),
        ([("a", "b"), ("c",)],),
    ]:
        check(ours, theirs, *arguments)
    check(ours, theirs, BATCH)
    check(ours, theirs, BATCH, truncation=True, max_length=9, stride=2)
    check(ours, theirs, BATCH, truncation=True, max_length=9, stride=2, return_overflowing_tokens=True)
    for side in "left", "right":
        ours.truncation_side = theirs.truncation_side = side
        check(ours, theirs, BATCH, truncation=True, max_length=5, padding=True)
        for adds in False, True:
            rows = {"truncation": True, "max_length": 12, "return_overflowing_tokens": True, "return_token_type_ids": True}
            check(ours, theirs, "the cat " * 9, "a mat " * 9, add_special_tokens=adds, **rows)


@pytest.mark.parametrize("name", ["around", "types", "roberta"])
def test_lengths_that_leave_little_room_give_what_transformers_gives(folders, name):
    ours, theirs = both(folders[name])
    calls = ("",), ("a",), ("the cat",), ("a", "a"), ("a", "the cat"), ("the cat", "a"), ("the cat", "")
    for side, adds, truncation, length, stride in itertools.product(
        ("left", "right"), (True, False), (True, "only_first", "only_second"), range(6), range(3)
    ):
        ours.truncation_side = theirs.truncation_side = side
        options = {"add_special_tokens": adds, "truncation": truncation, "max_length": length, "stride": stride}
        for arguments in calls:
            check(ours, theirs, *arguments, **options)
            check(ours, theirs, *arguments, **options, return_overflowing_tokens=True)


def test_invalid_padding_is_refused_as_by_transformers(folders):
    ours, theirs = both(folders["plain"])
    for options in (
        {"padding": True, "padding_side": "middle"},
        {"padding": "max_length", "max_length": -4},
        {"padding": "max_length", "max_length": 2.5},
        {"padding": "max_length", "max_length": np.int64(9)},
        {"padding": True, "pad_to_multiple_of": -3},
        {"padding": True, "pad_to_multiple_of": 2.5},
        {"padding": True, "pad_to_multiple_of": 0},
        {"padding": True, "pad_to_multiple_of": 1 << 64},
        {"padding": True, "padding_side": ""},
    ):
        check(ours, theirs, ["the cat", "x"], **options)


@pytest.mark.parametrize("value", [None, 0, 1, "x", "", np.True_, 1 << 64, np.int64(2), np.array([1, 2])])
def test_odd_values_are_refused_as_by_transformers(folders, value):
    ours, theirs = both(folders["around"])
    for options in (
        {"add_special_tokens": value},
        {"split_special_tokens": value},
        {"truncation": True, "max_length": value},
        {"truncation": True, "max_length": 3, "stride": value},
        {"unknown": value},
    ):
        check(ours, theirs, ["the cat", "x"], **options)
    found, expected = (outcome(each.tokenize, "the cat", add_special_tokens=value) for each in (ours, theirs))
    assert found == expected
    check_decoding(ours, theirs, [[5, 6] * 20], skip_special_tokens=value)


@pytest.mark.parametrize("sequences", ["A", "B", "BA", "AA", "ABA"])
def test_a_template_of_pairs_may_have_a_text_once_or_twice_or_not(folders, sequences):
    from tokenizers import Tokenizer

    classes = NbbpeTokenizerFast, transformers.PreTrainedTokenizerFast
    document = json.loads(both(folders["around"])[0].backend_tokenizer.to_str())
    document["post_processor"]["pair"] = [{"Sequence": {"id": each, "type_id": 1}} for each in sequences]
    backend = Tokenizer.from_str(json.dumps(document))
    ours, theirs = (each(tokenizer_object=backend, pad_token="<pad>") for each in classes)
    for options in (
        {"return_offsets_mapping": True, "return_token_type_ids": True},
        {"truncation": True, "max_length": 3, "padding": True},
        {"truncation": True, "max_length": 5, "stride": 1, "return_overflowing_tokens": True},
    ):
        for arguments in (
            (["the cat", "x"], ["a mat on a mat", "sat"]),
            ("the cat", "a mat"),
            ("the cat " * 9, "a mat " * 9),
        ):
            results = check(ours, theirs, *arguments, **options)
            if results is not None:
                assert results[0].n_sequences == results[1].n_sequences
                for row, other in zip(*(result.encodings for result in results), strict=True):
                    assert row.sequence_ids == other.sequence_ids
                    for told in "token_to_word", "token_to_chars", "char_to_word", "word_to_tokens":
                        numbers = range(len(row))
                        assert [getattr(row, told)(i) for i in numbers] == [getattr(other, told)(i) for i in numbers]


def test_truncation_of_an_earlier_call_is_not_saved(folders, tmp_path):
    for each in both(folders["plain"]):
        each("the cat sat", return_offsets_mapping=True, truncation=True, padding=True, max_length=2)
        each("the cat sat")
        each.save_pretrained(tmp_path)
        saved = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
        assert saved["truncation"] is None
        assert saved["padding"] is None
        assert len(each.backend_tokenizer.encode("the cat sat").ids) > 2


def test_other_calls_are_those_of_transformers(folders):
    ours, theirs = both(folders["around"])
    # transformers 4 takes two texts for a pair.
    for one in ["the cat", "a mat"], ("the", "a mat"), [("the", "cat"), ("a", "mat")]:
        assert outcome(ours.encode, one) == outcome(theirs.encode, one)
    for arguments in [
        ("a b", "c d"),
        (["a", "b"], ["c", "d e"]),
        ([("a", "b"), ("c", "d")],),
        ([],),
        (None,),
        (3,),
        ([3],),
    ]:
        check(ours, theirs, *arguments)
    check(ours, theirs, ["two", "words"], is_split_into_words=True)
    check(ours, theirs, text_target=["a b", "c"])
    check(ours, theirs, "a b", text_target="c")
    for text in BATCH:
        assert ours.encode(text) == theirs.encode(text)
        assert ours.tokenize(text) == theirs.tokenize(text)
        assert ours.tokenize(text, add_special_tokens=True) == theirs.tokenize(text, add_special_tokens=True)
        assert ours.tokenize(text, "a cat") == theirs.tokenize(text, "a cat")
        ids = ours.encode(text)
        assert ours.decode(ids) == theirs.decode(ids)
        assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
        assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
        assert ours.convert_tokens_to_ids(ours.convert_ids_to_tokens(ids)) == ids
    rows = ours(BATCH)["input_ids"]
    assert ours.batch_decode(rows) == theirs.batch_decode(rows)
    assert (len(ours), ours.vocab_size, ours.get_vocab()) == (len(theirs), theirs.vocab_size, theirs.get_vocab())
    assert ours.is_fast


def test_tokens_and_offsets_are_worked_out_when_asked_for(folders):
    ours, theirs = both(folders["plain"])
    for arguments in "the cat sat", ["the cat", "on a mat"]:
        found, expected = ours(arguments), theirs(arguments)
        assert found.is_fast
        assert found.n_sequences == expected.n_sequences
        assert found.tokens() == expected.tokens()
        assert found.word_ids() == expected.word_ids()
        assert found.char_to_token(5) == expected.char_to_token(5)
    again = pickle.loads(pickle.dumps(ours("the cat")))
    assert again["input_ids"] == theirs("the cat")["input_ids"]
    assert not again.is_fast
    assert again.n_sequences == 1
    assert pickle.loads(pickle.dumps(found)).n_sequences == 1


def test_a_pickled_result_says_how_to_keep_what_it_lacks(folders):
    ours, theirs = both(folders["plain"])
    found, expected = ours("the cat"), theirs("the cat")
    again = pickle.loads(pickle.dumps(found))
    calls = [
        lambda batch: batch.tokens(),
        lambda batch: batch.word_ids(0),
        lambda batch: batch.char_to_token(char_index=5, batch_or_char_index=0),
    ]
    for call in calls:
        for batch in again, pickle.loads(pickle.dumps(again)):
            with pytest.raises(
                ValueError, match=r"\w+\(\) is not available, as only the columns of this result were pickled: call it"
            ):
                call(batch)
    assert again[:1] == {name: column[:1] for name, column in again.items()}
    assert again.encodings is None
    assert len(found.encodings) == 1
    again = pickle.loads(pickle.dumps(found))
    assert again.is_fast
    assert [call(again) for call in calls] == [call(found) for call in calls] == [call(expected) for call in calls]
    made = type(found)({"input_ids": [1]})  # as trainers do
    with pytest.raises(ValueError, match="not available when using"):
        made.tokens()


@pytest.mark.parametrize("name", NAMES)
def test_rows_tell_what_those_of_tokenizers_tell(folders, name):
    ours, theirs = both(folders[name])
    long = " the cat\u3000 sat on  a mat é日 " * 8
    calls: list[tuple[Any, ...]] = [(long,), ([long, "x", long[40:]],), ([long, "y"], ["the", long]), (long, "the cat")]
    for arguments in calls:
        for options in {}, {"padding": True, "truncation": True, "max_length": 20}, {"return_overflowing_tokens": True}:
            results = [each(*arguments, **options) for each in (ours, theirs)]
            assert results[0].n_sequences == results[1].n_sequences
            for found, expected in zip(*(result.encodings for result in results), strict=True):
                for attribute in *COLUMNS, "n_sequences":
                    assert getattr(found, attribute) == getattr(expected, attribute), (attribute, options)
                assert len(found.overflowing) == len(expected.overflowing)
                assert (len(found), repr(found)) == (len(expected), repr(expected))
                for position in range(len(long) + 1):
                    for sequence in range(3):
                        assert found.char_to_token(position, sequence) == expected.char_to_token(position, sequence)
                    assert found.token_to_chars(position) == expected.token_to_chars(position)
                    for sequence in -1, 1 << 32, True:
                        call = "char_to_token", position, sequence
                        assert outcome(methodcaller(*call), found) == outcome(methodcaller(*call), expected)
                    if name != "trims_last":  # there tokenizers gives each token two numbers, in any order
                        assert found.token_to_sequence(position) == expected.token_to_sequence(position)
                for other in copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)):
                    assert other.offsets == expected.offsets
                with pytest.raises(AttributeError):
                    found.missing  # noqa: B018


ASKED = {
    "token": ["token_to_chars", "token_to_word", "token_to_sequence"],
    "number": ["char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"],
}


@pytest.mark.parametrize("name", ["plain", "around", "types", "trims", "roberta"])
@pytest.mark.parametrize("sizes", [(0, 0), (1 << 20, 1 << 20)], ids=["many", "few"])
def test_results_of_short_texts_tell_what_those_of_transformers_tell(folders, monkeypatch, name, sizes):
    few_bytes, few_ids = sizes
    monkeypatch.setattr("nbbpe.encoding.offsets._FEW", few_bytes)
    monkeypatch.setattr("nbbpe.hf.applied._FEW_IDS", few_ids)
    ours, theirs = both(folders[name])
    batch = ["", " ", "the cat", f"a{END}é{END}", f"{END}<pad>{END}", "日本🙂e\u0301", " the  cat\u3000", "ééé" * 5]
    for side, text in itertools.product(("left", "right"), batch):
        for arguments, options in [
            ((text,), {}),
            ((text, "a 日"), {}),
            ((text,), {"padding": "max_length", "truncation": True, "max_length": 9, "padding_side": side}),
            ((text, "é the"), {"padding": "max_length", "max_length": 40, "padding_side": side}),
            ((text, "é the"), {"padding": "max_length", "max_length": 1, "padding_side": side}),  # fewer than there are
            ((["a", text, "", "日本"],), {"is_split_into_words": True}),
            ((["a", text], ["é"]), {"is_split_into_words": True, "pad_to_multiple_of": 16, "padding_side": side}),
        ]:
            found, expected = (each(*arguments, **options) for each in (ours, theirs))
            for told in "tokens", "word_ids", "sequence_ids":
                assert getattr(found, told)() == getattr(expected, told)(), (told, arguments, options)
            for number in range(len(expected["input_ids"])):
                for told in ASKED["token"]:
                    assert getattr(found, told)(number) == getattr(expected, told)(number), (told, arguments, options)
            for number, sequence in itertools.product(range(len(text) + 2), range(2)):
                for told in ASKED["number"]:
                    asked = (outcome(getattr(each, told), 0, number, sequence) for each in (found, expected))
                    assert len(set(asked)) == 1, (told, number, sequence, arguments, options)
            assert ours(*arguments, **options).char_to_word(0, 1, 0) == expected.char_to_word(0, 1, 0)  # asked at first


def test_a_text_alone_is_encoded_by_what_is_set_in_the_tokenizer(folders):
    ours, theirs = both(folders["around"])
    for splits, names in itertools.product((False, True, None), (["input_ids"], ["input_ids", "token_type_ids"])):
        for each in ours, theirs:
            each.split_special_tokens, each.model_input_names = splits, names
        for text in *BATCH, "\ud83d", texts.Words("the"), None, b"the":
            check(ours, theirs, text)
            check(ours, theirs, text=text)


@pytest.mark.parametrize("is_split", [False, True])
def test_a_token_or_word_is_found_without_looking_at_all_of_them(folders, is_split):
    class Counted(list):
        n = 0

        def __getitem__(self, key: Any) -> Any:
            Counted.n += 1
            return super().__getitem__(key)

    ours, _ = both(folders["around"])
    words = ["the", "cat", "sat"] * 200
    row = ours(words if is_split else " ".join(words), is_split_into_words=is_split).encodings[0]
    row.__dict__["_offsets"] = Counted(row.offsets)
    row.char_to_token(0)  # for words, the token of each character is worked out once
    Counted.n = 0
    if is_split:
        row.__dict__["_word_ids"] = Counted(row.word_ids)
        assert row.word_to_tokens(599)[1] == len(row) - 1
        assert row.word_to_tokens(600) is None
    else:
        assert row.char_to_token(2000) is not None
    assert row.char_to_token(10_000) is None
    assert Counted.n < 100


WORDS = [*BATCH[:8], "", " ", "  ", "the", " cat", "\u3000", "mat ", END, "\n", "<pad>"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("puts_space", [False, True])
def test_texts_split_into_words_give_what_transformers_gives(folders, name, puts_space):
    from tokenizers import normalizers, pre_tokenizers

    ours, theirs = both(folders[name])
    rng = random.Random(6)
    if puts_space:
        for each in ours, theirs:
            each.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
            each.backend_tokenizer.normalizer = normalizers.Lowercase() if name in NAMES[::2] else None
    choices: dict[str, list[Any]] = {
        "padding": [False, True],
        "padding_side": ["left", "right"],
        "truncation": [False, True, "only_second"],
        "max_length": [4, 9, 20],
        "stride": [0, 1],
        "return_offsets_mapping": [False, True],
        "return_overflowing_tokens": [False, True],
        "return_token_type_ids": [False, True],
        "add_special_tokens": [True, True, False],
    }
    for number in range(30):
        ours.truncation_side = theirs.truncation_side = ("left", "right")[number % 2]
        options = {key: rng.choice(values) for key, values in choices.items()} | {"is_split_into_words": True}
        texts, others = ([rng.choices(WORDS, k=rng.choice((0, 1, 3, 9))) for _ in range(3)] for _ in range(2))
        pairs = list(zip(texts, others, strict=True))
        calls = [(texts,), (tuple(map(tuple, texts)),), (texts[0],), (texts, others), (pairs,), (list(map(list, pairs)),)]
        for arguments in rng.sample([*calls, (texts[0], others[0])], 3):
            results = check(ours, theirs, *arguments, **options)
            if results is not None:
                check_words(*results)


def check_words(found: Any, expected: Any) -> None:
    """Both results tell the same of words."""
    for row, other in zip(found.encodings, expected.encodings, strict=True):
        for told in "word_ids", "tokens", "offsets", "sequence_ids":
            assert getattr(row, told) == getattr(other, told)
        for number in [*range(-1, len(other) + 2), (1 << 32) - 1, 1 << 32]:
            for told in "token_to_word", "token_to_chars":
                assert outcome(getattr(row, told), number) == outcome(getattr(other, told), number)
            for told in "word_to_tokens", "char_to_word", "char_to_token", "word_to_chars":
                for sequence in range(3):
                    asked = [outcome(getattr(each, told), number, sequence) for each in (row, other)]
                    assert asked[0] == asked[1], (told, number, sequence)


def splits(name: str) -> list[Any]:
    """The steps of a pre_tokenizer that splits by a named pattern."""
    from tokenizers import Regex, pre_tokenizers

    regexes = [Regex(translated(each, "regex", "Oniguruma")) for each in NAMED[name].regexes]
    return [
        *(pre_tokenizers.Split(each, "isolated") for each in regexes),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]


# By name, the steps of a pre_tokenizer, and whether nbbpe numbers their words.
STEPS: dict[str, tuple[Callable[[Any], list[Any]], bool]] = {
    "gpt2": (lambda steps: [steps.ByteLevel(add_prefix_space=False)], True),
    "space in front": (lambda steps: [steps.ByteLevel(add_prefix_space=True)], True),
    "llama3": (lambda _: splits("llama3"), True),
    "deepseek3": (lambda _: splits("deepseek3"), True),
    "digits": (lambda steps: [steps.Digits(individual_digits=True), steps.ByteLevel(add_prefix_space=False)], True),
    "digits of bytes": (lambda steps: [steps.ByteLevel(add_prefix_space=False), steps.Digits()], False),
    "no regex": (lambda steps: [steps.ByteLevel(add_prefix_space=False, use_regex=False)], True),
    "dropped": (lambda steps: [steps.Split(" ", "removed"), steps.ByteLevel(add_prefix_space=False)], False),
}


@pytest.mark.parametrize("name", STEPS)
def test_words_of_whole_texts_are_those_of_tokenizers(folders, name):
    from tokenizers import normalizers, pre_tokenizers

    rng = random.Random(7)
    parts = ["the", "The", " ", "  ", "\n", "\n\n", "\t", "é", "e\u0301", "日本語。", "ไทย", "🙂", "👨\u200d👩"]
    parts += [END, "<pad>", "<new>", "123", "4", "²", "½", "'s", "'LL", "\u3000", "<|end", "!", "...", "\x00", "\r\n"]
    tokens = [transformers.AddedToken("<new>", lstrip=True), transformers.AddedToken("   ", normalized=True), "本"]
    for normalizer in None, normalizers.NFC(), normalizers.Replace("the", "a  b"):
        ours, theirs = both(folders[rng.choice(["plain", "around", "trims"])])
        added = rng.sample(tokens, rng.randrange(4))
        for each in ours, theirs:
            each.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(STEPS[name][0](pre_tokenizers))
            each.backend_tokenizer.normalizer = normalizer
            each.add_tokens(copy.deepcopy(added))
        for _ in range(12):
            batch, others = (["".join(rng.choices(parts, k=rng.randrange(20))) for _ in range(4)] for _ in range(2))
            options = {
                "padding": rng.choice([False, True]),
                "truncation": rng.choice([False, True]),
                "max_length": rng.choice([7, 20]),
                "return_overflowing_tokens": rng.choice([False, True]),
                "split_special_tokens": rng.choice([False, False, True]),
            }
            results = check(ours, theirs, *rng.choice([(batch,), (batch, others), (batch[0],)]), **options)
            if results is None:
                continue
            for row, other in zip(*(result.encodings for result in results), strict=True):
                assert (row.word_ids, row.sequence_ids) == (other.word_ids, other.sequence_ids)
                for told in "word_to_tokens", "char_to_word", "word_to_chars", "token_to_word":
                    for number in rng.sample(range(20), 3):
                        assert getattr(row, told)(number) == getattr(other, told)(number), (told, number)
            told_by_nbbpe = all(isinstance(row, RowEncoding) and row._word_ids is not None for row in results[0].encodings)
            assert told_by_nbbpe == STEPS[name][1]


@pytest.mark.parametrize("category", ["L", "N", "P", "S", "M"])
def test_words_with_a_character_of_a_later_unicode_are_those_of_tokenizers(folders, category):
    import regex
    from tokenizers import Regex, normalizers

    unknown = normalizers.Replace(Regex(r"\P{Cn}+"), "")
    found = regex.findall(rf"\p{{{category}}}", unknown.normalize_str("".join(map(chr, range(0x80, 0x3400)))))
    found += regex.findall(rf"\p{{{category}}}", unknown.normalize_str("".join(map(chr, range(0x10000, 0x1FFFF)))))
    if not found:
        pytest.skip(f"`regex` and tokenizers know the same characters of category {category}")
    ours, theirs = both(folders["plain"])
    for new in found[0], found[-1]:
        for text in f"the{new} cat{new}s 1{new}1 !{new}! {new}", f"日本{new}":
            assert ours([text, "the cat"]).word_ids() == theirs([text, "the cat"]).word_ids()
    assert ours("日本 é")._encodings[0]._word_ids is not None


def test_words_are_those_of_the_pre_tokenizer_that_split_the_texts(folders):
    from tokenizers import pre_tokenizers

    ours, theirs = both(folders["plain"])
    results = [each("the cat 12") for each in (ours, theirs)]
    ours.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits("llama3"))
    ours("the cat")
    ours.backend_tokenizer.pre_tokenizer = None
    assert results[0].word_ids() == results[1].word_ids()


@pytest.mark.parametrize(
    "texts", ["the", [["the"], "cat"], [["the"], [3]], [3], [["the", ["cat"]]], [["a", "\udc80"]], [[], []]]
)
def test_what_is_no_list_of_words_is_refused_as_by_transformers(folders, texts):
    ours, theirs = both(folders["around"])
    for value in True, 1, None:
        check(ours, theirs, texts, is_split_into_words=value)
        check(ours, theirs, ["the"], texts, is_split_into_words=value)
        check(ours, theirs, [["the"]], texts, is_split_into_words=value)
        check(ours, theirs, [(["the"], ["cat"]), (["a"], texts)], is_split_into_words=value)


@pytest.mark.parametrize("name", ["around", "trims_first"])
def test_a_result_tells_its_rows_without_encoding_again(folders, monkeypatch, name):
    ours, theirs = both(folders[name])
    options = {"is_split_into_words": True, "return_overflowing_tokens": True, "truncation": True, "max_length": 4}
    batch = [["the", "cat sat", "", "on a"], [], ["mat " * 9]]
    found, expected = (each(batch, batch[::-1], **options, padding=True) for each in (ours, theirs))

    for name in "encode", "encode_batch_flat":
        monkeypatch.setattr(nbbpe.Tokenizer, name, refuse)
    monkeypatch.setattr("nbbpe.hf.encodings.RowEncoding.of_tokenizers", refuse)
    for row, other in zip(found.encodings, expected.encodings, strict=True):
        for told in COLUMNS:
            assert getattr(row, told) == getattr(other, told)
            getattr(row, told).clear()  # a list is the caller's
            assert getattr(row, told) == getattr(other, told)
        assert (row.token_to_chars(1), row.char_to_token(1, 1)) == (other.token_to_chars(1), other.char_to_token(1, 1))
    del found["input_ids"][0][:]
    assert found.tokens(0) == expected.tokens(0)


def test_plain_calls_never_reach_tokenizers(folders, monkeypatch):
    ours, _ = both(folders["around"])
    for name in "_encode_plus", "_batch_encode_plus", "decode", "batch_decode":
        if hasattr(transformers.PreTrainedTokenizerFast, name):
            monkeypatch.setattr(transformers.PreTrainedTokenizerFast, name, refuse)
    ours("the cat", truncation=True, max_length=4)
    ours(["the cat", "a"], padding=True, return_tensors="np")
    assert not hasattr(ours("the cat").encodings[0], "__array__")  # which NumPy looks for
    for ids in [5, 6] * 20, (5, 6) * 20, np.array([5, 6] * 20), 5, np.int64(5):
        ours.decode(ids)
    if transformers.__version__ >= "5":  # 4 takes no rows here
        ours.decode(np.array([[5, 6] * 20] * 2))
    ours.batch_decode([[5, 6], []], skip_special_tokens=True)
    ours("the", "cat", return_offsets_mapping=True)
    rows = ours(["the cat " * 30, "a"], padding=True).encodings  # as a chat template with a mask of the assistant's tokens
    assert rows[0].offsets[2] == (3, 7)
    assert rows[0].char_to_token(4) == 2
    assert len(rows[1].tokens) == len(rows[0].tokens)
    ours(BATCH, truncation=True, max_length=5, stride=2, return_overflowing_tokens=True, return_length=True)
    ours(BATCH, BATCH[::-1], truncation=True, max_length=30, stride=2, return_overflowing_tokens=True)
    assert [number for number in ours("the", "cat").sequence_ids() if number is not None] == [0, 1]
    words = ours([["the", "cat"], ["a"]], is_split_into_words=True, padding=True)
    assert words.word_ids(1)[:2] == [None, 0]
    assert words.word_to_tokens(0, 1).start == words.char_to_token(0, 2) + 1 == 2
    assert words.char_to_word(0, 0) == words.token_to_word(0, 1) == words.token_to_sequence(0, 1) == 0
    pair = ours("the", "cat")
    assert pair.token_to_chars(pair.char_to_token(0, 0, sequence_index=1)).start == 0
    ours([[], ["the", "cat"]], is_split_into_words=True)
    assert ours(["the"], ["cat", "a"], is_split_into_words=True).word_ids()[-1] == 1
    whole = ours(["the cat", "a mat on a mat"], ["the", "cat"], padding=True)
    assert [number for number in whole.word_ids(1) if number is not None] == [0, 1, 2, 3, 4, 0]
    assert whole.word_to_tokens(1, 1).start == whole.char_to_token(1, 2) == 2
    assert whole.word_to_chars(1, 1) == (1, 5)
    with pytest.raises(AssertionError, match="was asked"):
        whole.encodings[0].overflowing  # noqa: B018


@pytest.mark.parametrize(
    ("variables", "n_threads"),
    [
        ({}, None),
        ({"TOKENIZERS_PARALLELISM": "true"}, None),
        ({"TOKENIZERS_PARALLELISM": "False"}, 1),
        ({"TOKENIZERS_PARALLELISM": "0", "RAYON_NUM_THREADS": "4"}, 1),
        ({"RAYON_NUM_THREADS": "3"}, 3),
        ({"RAYON_NUM_THREADS": "0"}, None),
        ({"RAYON_NUM_THREADS": "many"}, None),
        ({"RAYON_NUM_THREADS": "٣"}, None),
    ],
)
def test_threads_are_limited_by_the_variables_of_tokenizers(folders, monkeypatch, variables, n_threads):
    for name in "TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS":
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    fast = NbbpeTokenizerFast.from_pretrained(next(iter(folders.values())))
    asked, real = [], nbbpe.Tokenizer.encode_batch_flat

    def encode_batch_flat(self, texts, **options):
        asked.append(options["num_threads"])
        return real(self, texts, **options)

    monkeypatch.setattr(nbbpe.Tokenizer, "encode_batch_flat", encode_batch_flat)
    rows = ["the cat sat on the mat"] * 200
    assert fast(rows)["input_ids"] == [fast("the cat sat on the mat")["input_ids"]] * 200
    assert asked == [n_threads]


def test_many_rows_are_made_without_looking_through_them_again_and_again(folders):
    fast = NbbpeTokenizerFast.from_pretrained(folders["plain"])
    fast("a")  # which compiles and loads what there is
    with collects_at_most(10):  # not 127: an object of 700
        result = fast(["the cat sat on the mat"] * 10_000, return_offsets_mapping=True)
    assert len(result["offset_mapping"]) == 10_000


def test_a_chat_template_gives_the_same_ids(folders):
    pytest.importorskip("jinja2", reason="needs jinja2")
    ours, theirs = both(folders["plain"])
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": f"hi{END}"}]
    assert ours.apply_chat_template(messages, tokenize=False) == theirs.apply_chat_template(messages, tokenize=False)
    found, expected = (each.apply_chat_template(messages, tokenize=True) for each in (ours, theirs))
    assert found == expected
    options = {"padding": True, "return_dict": True, "return_tensors": "np"}
    found, expected = (each.apply_chat_template([messages, messages[:1]], **options) for each in (ours, theirs))
    np.testing.assert_array_equal(found["input_ids"], expected["input_ids"])


@pytest.mark.parametrize("is_special", [False, True])
@pytest.mark.parametrize("rules", [{}, {"single_word": True}, {"lstrip": True, "rstrip": True}])
def test_words_that_are_tokens_can_be_added(folders, rules, is_special):
    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each.add_tokens([transformers.AddedToken(word, special=is_special, **rules) for word in ("the", "a", "<new>")])
    batch = ["the cat then a mat", " the a there", "xthe 1a<new>a", ""]
    for options in {}, {"return_offsets_mapping": True}, {"split_special_tokens": True}:
        result, expected = check(ours, theirs, batch, **options)
        for row, other in zip(result.encodings, expected.encodings, strict=True):
            assert (row.word_ids, row.tokens, row.offsets) == (other.word_ids, other.tokens, other.offsets)
        for ids in result["input_ids"]:
            assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
    assert ours.tokenize(batch[0]) == theirs.tokenize(batch[0])
    check(pickle.loads(pickle.dumps(ours)), theirs, batch)


def test_added_tokens_are_found(folders, tmp_path):
    ours, theirs = both(folders["around"])
    text = "the cat<new> <word>sat <strip>  x"
    offsets = {"return_offsets_mapping": True}
    check(ours, theirs, text, **offsets)
    for each in ours, theirs:
        assert each.add_special_tokens({"mask_token": "<new>"}) == 1
        assert each.add_tokens(["<word>", transformers.AddedToken("<strip>", rstrip=True)]) == 2
    for _ in range(2):
        check(ours, theirs, text, **offsets)
        check(ours, theirs, [text, "x<word>"], split_special_tokens=True, **offsets)
        assert ours.mask_token_id == theirs.mask_token_id == len(ours) - 3
        assert ours.all_special_ids == theirs.all_special_ids
        ours.save_pretrained(tmp_path / "saved")
        ours = NbbpeTokenizerFast.from_pretrained(str(tmp_path / "saved"))


def test_offsets_of_tokens_with_spaces_at_either_end(tmp_path):
    tokens = [b"a ", b"  ", b" a", b" a ", b"   ", b" \xc3", b"a  "]
    vocab = {byte: bytes([byte]) for byte in range(256)} | dict(enumerate(tokens, 256))
    merges = [(b"a", b" "), (b" ", b" "), (b" ", b"a"), (b" ", b"a "), (b"  ", b" "), (b" ", b"\xc3"), (b"a ", b" ")]
    nbbpe.Tokenizer(vocab, merges, pattern=None).save_pretrained(tmp_path)
    for adds, trims in itertools.product((False, True), repeat=2):
        document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
        document["post_processor"] = {
            "type": "ByteLevel",
            "add_prefix_space": adds,
            "trim_offsets": trims,
            "use_regex": True,
        }
        (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
        ours, theirs = both(str(tmp_path))
        found = ["".join(letters) for n in range(6) for letters in itertools.product("a é", repeat=n)]
        check(ours, theirs, found, return_offsets_mapping=True)


@pytest.mark.parametrize("name", ["plain", "trims"])
@pytest.mark.parametrize("is_normalized", [False, True])
def test_offsets_of_a_token_that_takes_whitespace(folders, name, is_normalized):
    ours, theirs = both(folders[name])
    for each in ours, theirs:
        strips = transformers.AddedToken("<strip>", rstrip=True, normalized=is_normalized)
        # Whitespace that is a token, too, belongs to both in tokenizers.
        each.add_tokens([strips, transformers.AddedToken("   ", normalized=True), " \u3000<wide>\u0120 "])
        each.add_tokens(["<plain>", transformers.AddedToken("<left>", lstrip=True)])
    batch = ["a <left><plain> b", "the<strip>cat", "the <strip>cat", "the<strip>   cat", "a \u3000<wide>\u0120 b"]
    for text in *batch, "\u3000<wide>":
        check(ours, theirs, text, return_offsets_mapping=True)
        assert ours.tokenize(text) == theirs.tokenize(text)


@pytest.mark.parametrize("form", FORMS)
def test_offsets_in_texts_that_are_in_the_normal_form(folders, form):
    from tokenizers import normalizers

    rng = random.Random(9)
    parts = ["the", " ", "\n", END, "<pad>", "é", "e\u0301", "\u0323\u0301", "가", "\u1100\u1161", "が", "ё"]
    parts += ["ﬁ", "½", "\u212b", "🙂"]
    for name in "plain", "around", "trims":
        ours, theirs = both(folders[name])
        for each in ours, theirs:
            each.backend_tokenizer.normalizer = getattr(normalizers, form)()
        for _ in range(15):
            texts = ["".join(rng.choices(parts, k=rng.randrange(12))) for _ in range(rng.choice([1, 3]))]
            check(ours, theirs, texts, return_offsets_mapping=True)
            texts = [unicodedata.normalize(form, text) for text in texts]
            check(ours, theirs, texts, texts[::-1], return_offsets_mapping=True)
            found, _ = check(ours, theirs, texts, return_offsets_mapping=True)
            assert unicodedata.is_normalized(form, "".join(texts)) == isinstance(found.encodings[0], RowEncoding)


@pytest.mark.parametrize("plain", ["tool", "ol>", "xy", ">x", "  "])
@pytest.mark.parametrize("is_normalized", [False, True])
def test_a_token_within_a_special_token_that_is_split_is_not_found(folders, plain, is_normalized):
    from tokenizers import normalizers

    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each.backend_tokenizer.normalizer = normalizers.Lowercase()
        each.add_special_tokens({"sep_token": "<tool>"})
        each.add_special_tokens({"mask_token": transformers.AddedToken("<TOOL>", normalized=True)})
        each.add_tokens([transformers.AddedToken(plain, normalized=is_normalized)])
    for text in "<tool>", "a<tool>x tool", "<TOOL> x<tool", "<Tool>x  >x":
        check(ours, theirs, text, split_special_tokens=True)
        check(ours, theirs, [text, "x"], split_special_tokens=True)
        check(ours, theirs, text)
        assert ours.tokenize(text) == theirs.tokenize(text)


def test_a_special_token_that_is_a_pretoken_is_looked_up_when_it_is_split(folders, tmp_path):
    shutil.copytree(folders["plain"], tmp_path, dirs_exist_ok=True)
    document = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    document["model"]["ignore_merges"] = True
    document["model"]["vocab"]["word"] = special_id = len(document["model"]["vocab"])
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    document["added_tokens"].append({"id": special_id, "content": "word", **added})
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    ours, theirs = both(str(tmp_path))
    for text in "word", "a word the", "words", f"word\n{END}":
        check(ours, theirs, text)
        check(ours, theirs, text, split_special_tokens=True)
    assert ours("word", split_special_tokens=True)["input_ids"] == [special_id]


@pytest.mark.parametrize("is_special", [False, True])
def test_a_special_token_that_is_added_again_is_still_split(folders, is_special):
    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each.add_tokens([END, "<new>", transformers.AddedToken("<pad>", special=is_special)])
        if is_special:
            each.add_special_tokens({"bos_token": "\n"})
            each.add_tokens([transformers.AddedToken("\n", normalized=True)])
    text = f"the{END} cat\n<pad><new>"
    check(ours, theirs, text)
    check(ours, theirs, text, split_special_tokens=True)
    check_decoding(ours, theirs, [theirs(text)["input_ids"]] * 9, skip_special_tokens=True)


@pytest.mark.parametrize("name", ["Prepend", "Lowercase"])
def test_a_special_token_that_the_normalizer_changes_is_still_split_when_it_is_added_again(folders, name):
    from tokenizers import normalizers

    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each.backend_tokenizer.normalizer = normalizers.Prepend("_") if name == "Prepend" else normalizers.Lowercase()
        each.add_special_tokens({"sep_token": transformers.AddedToken("<SEP>", normalized=True)})
        each.add_tokens([transformers.AddedToken("<SEP>", normalized=True)])
    for text in "<SEP> cat", "the <SEP> <sep>", f"the{END}":
        check(ours, theirs, text)
        check(ours, theirs, text, split_special_tokens=True)


def test_tokens_that_are_parts_of_ordinary_text_give_no_warning(folders):
    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each.add_tokens([transformers.AddedToken("  ", normalized=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ours(f"the  cat{END}", split_special_tokens=True)
    assert found["input_ids"] == theirs(f"the  cat{END}", split_special_tokens=True)["input_ids"]


def check_decoding(ours: Any, theirs: Any, rows: Any, **options: Any) -> None:
    """Both give the same text for ids, errors included."""
    for method in "decode", "batch_decode":
        found, expected = (outcome(getattr(each, method), rows, **options) for each in (ours, theirs))
        assert found == expected, (method, rows, options)


def test_decoding_gives_what_transformers_gives(folders):
    from tokenizers import normalizers

    ours, theirs = both(folders["around"])
    for each in ours, theirs:
        each.backend_tokenizer.normalizer = normalizers.Lowercase()
        # Characters that stand for bytes, one that does not, and tokens that the normalizer changes.
        odd = ["éé", "日é", "\u0120x", transformers.AddedToken("<ONE>", normalized=True)]
        each.add_tokens(odd)
        each.add_special_tokens({"mask_token": transformers.AddedToken("<TWO>", normalized=True), "sep_token": "üü"})
        each("the cat")  # from then on, nbbpe decodes
    rng = random.Random(4)
    rows = [[rng.randrange(len(ours)) for _ in range(rng.randrange(30))] for _ in range(200)]  # seldom valid UTF-8
    rows += [[token_id] for token_id in range(len(ours))]
    array = np.array([rng.choices(range(len(ours)), k=8) for _ in range(20)])
    arrays = array, array.astype(np.uint16), array * 1.0, array > 5, array[:0], array[0][:0], np.array(5), np.array("a")
    for skips in False, True:
        options = {"skip_special_tokens": skips}
        check_decoding(ours, theirs, rows, **options)
        check_decoding(ours, theirs, [], **options)
        for each in arrays:
            check_decoding(ours, theirs, each, **options)
        for odd_id in -1, 10**6, 2**63:
            check_decoding(ours, theirs, np.array([odd_id] * 9, dtype=np.uint64 if odd_id > 0 else None), **options)
        check_decoding(ours, theirs, rows, clean_up_tokenization_spaces=True, **options)
        for row in [5], [], (5, 6), array[0], 5, [5, 10**6], [10**6], [5, -1], [5, True], [5, 2.0], ["x"], "x", None:
            for each in (row, row * 30) if isinstance(row, (list, tuple)) else (row,):
                check_decoding(ours, theirs, each, **options)
                check_decoding(ours, theirs, [[5], each], **options)
                check_decoding(ours, theirs, [each, [5]], **options)


def test_a_decoder_that_is_replaced_is_used(folders):
    from tokenizers import decoders

    ours, theirs = both(folders["plain"])
    rows = ours(BATCH)["input_ids"]
    check_decoding(ours, theirs, rows)
    for decoder in decoders.Fuse(), decoders.Sequence([decoders.ByteLevel(), decoders.Strip("t", 1, 0)]), None:
        for each in ours, theirs:
            each.backend_tokenizer.decoder = decoder
        check_decoding(ours, theirs, rows)


def test_decoding_follows_what_is_added_or_replaced(folders):
    from tokenizers import normalizers, pre_tokenizers

    ours, theirs = both(folders["plain"])
    ours("the cat")  # from then on, nbbpe decodes
    for each in ours, theirs:
        each.backend_tokenizer.add_special_tokens([transformers.AddedToken("<NEW>", normalized=True)])
    rows = [[5, len(ours) - 1] * 4, [5] * 9]
    for normalizer, pre_tokenizer in [
        (None, pre_tokenizers.ByteLevel()),
        (normalizers.Lowercase(), pre_tokenizers.ByteLevel()),
        (None, pre_tokenizers.Whitespace()),
    ]:
        for each in ours, theirs:
            each.backend_tokenizer.normalizer = normalizer
            each.backend_tokenizer.pre_tokenizer = pre_tokenizer
        for skips in False, True:
            check_decoding(ours, theirs, rows, skip_special_tokens=skips)
            check_decoding(ours, theirs, rows[0], skip_special_tokens=skips)


def test_texts_that_are_not_cleaned_up_are_decoded_by_nbbpe(folders, monkeypatch):
    """transformers 5 cleans up no text of BPE unless it is told to, though many folders ask for it."""
    name = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
    ours, theirs = both(folders["plain"], clean_up_tokenization_spaces=True)
    if not hasattr(theirs, name):
        pytest.skip("needs transformers 5")
    ids = ours("the cat . ")["input_ids"] * 2
    for value in True, False:
        for each in ours, theirs:
            setattr(each, name, value)
        check_decoding(ours, theirs, ids)
        check_decoding(ours, theirs, [ids] * 2)
    assert ours.decode(ids) == "the cat . " * 2
    backend = ours._tokenizer
    decode = SimpleNamespace(
        **{name: getattr(backend, name) for name in ("model", "normalizer", "decoder", "get_vocab_size", "id_to_token")},
        decode=lambda ids, **_: backend.decode(ids) if not ids else pytest.fail("tokenizers was asked"),
    )
    ours._made = ours._made._replace(tokens=[decode, *ours._made.tokens[1:]])
    monkeypatch.setattr(ours, "_tokenizer", decode)
    assert ours.decode(ids) == "the cat . " * 2
    assert ours.batch_decode([ids]) == ["the cat . " * 2]


def test_what_nbbpe_cannot_encode_is_named_and_decoded(folders):
    from tokenizers import pre_tokenizers

    ours, theirs = both(folders["plain"])
    rows = ours(BATCH)["input_ids"]
    ours.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    for _ in range(2):
        with pytest.raises(ValueError, match="Whitespace"):
            ours("the cat")
        check_decoding(ours, theirs, rows)


def test_a_process_that_only_decodes_makes_a_tokenizer_when_it_pays(folders, monkeypatch):
    ours, theirs = both(folders["plain"])
    rows = theirs(BATCH)["input_ids"]
    check_decoding(ours, theirs, rows)
    assert ours._made is None
    monkeypatch.setattr("nbbpe.hf.tokenizer._MANY_IDS", 10)
    check_decoding(ours, theirs, rows)
    assert ours._made is not None


@pytest.mark.parametrize("text", ["\ud83d", "é \udcff", "x" * 100 + "\udc80"])
def test_a_lone_surrogate_is_refused_as_by_transformers(folders, text):
    ours, theirs = both(folders["plain"])
    check(ours, theirs, text)
    check(ours, theirs, ["the cat", text])


def test_a_part_that_is_replaced_is_used(folders):
    from tokenizers import normalizers, pre_tokenizers

    ours, theirs = both(folders["around"])
    for each in ours, theirs:
        each("the cat")
        each.backend_tokenizer.post_processor = None
    check(ours, theirs, ["THE cat 123", "x"])
    for each in ours, theirs:
        each.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        each.backend_tokenizer.normalizer = normalizers.Lowercase()
    check(ours, theirs, ["THE cat 123", "x"])


def test_what_is_added_or_set_behind_transformers_is_used(folders):
    ours, theirs = both(folders["plain"])
    for each in ours, theirs:
        each("the<new>")
        each.backend_tokenizer.add_special_tokens(["<new>"])
    check(ours, theirs, ["the<new>", "x"])
    for each in ours, theirs:
        backend = each.backend_tokenizer
        each._tokenizer = type(backend).from_str(backend.to_str())
        each._tokenizer.add_tokens(["cat<new>"])
    check(ours, theirs, ["the cat<new>", "x"])
    for each in ours, theirs:
        each._tokenizer.add_tokens(["<newest>"])
    check(ours, theirs, ["the<newest>", "x"])
    made = ours.nbbpe
    assert ours.nbbpe is made
    ours.backend_tokenizer.model.ignore_merges = True
    assert ours.nbbpe is not made
    ours.backend_tokenizer.model.ignore_merges = False
    ours.backend_tokenizer.model.dropout = 0.1
    with pytest.raises(ValueError, match=r"model\.dropout is 0\.1, which makes encoding random"):
        ours("the cat")
    ours.backend_tokenizer.model.dropout = None
    check(ours, theirs, ["the cat<new>", "x"])


def test_short_texts_are_not_encoded_twice_or_as_a_batch(folders, monkeypatch):
    from tokenizers import normalizers

    ours, theirs = both(folders["plain"])
    monkeypatch.setattr(nbbpe.Tokenizer, "encode_batch", refuse)  # takes 0.1 ms, with a normalizer
    check(ours, theirs, ["the cat", "x"])
    check(ours, theirs, "the", "cat")
    monkeypatch.setattr("nbbpe.hf.applied.Applied.encode", refuse)
    for each in ours, theirs:
        each.backend_tokenizer.normalizer = normalizers.Lowercase()
    check(ours, theirs, "the cat", return_offsets_mapping=True)


def test_texts_that_take_no_short_way_are_encoded(folders):
    ours, theirs = both(folders["plain"])
    long = END + "日本 " * 2500  # few characters, but many bytes
    for splits in False, True:
        check(ours, theirs, long, split_special_tokens=splits)
        check(ours, theirs, [long, "the cat", texts.Words("a mat")], split_special_tokens=splits)
        check(ours, theirs, ["the", long, texts.Words("cat")], split_special_tokens=splits, is_split_into_words=True)
        check(ours, theirs, [f"the{END} cat"] * 200, split_special_tokens=splits)


def test_no_call_counts_all_tokens(folders):
    ours, theirs = both(folders["plain"])
    backend = ours._tokenizer

    class Counted:
        """The tokenizer of tokenizers, which takes milliseconds to count all its tokens before 0.23."""

        def __getattr__(self, name: str) -> Any:
            return getattr(backend, name)

        def get_vocab_size(self, with_added_tokens: bool = True) -> int:
            assert not with_added_tokens
            return int(backend.get_vocab_size(with_added_tokens=False))

    ours._tokenizer = Counted()
    check(ours, theirs, ["the cat", "x"], ["a", "b"])
    assert ours.tokenize("the cat") == theirs.tokenize("the cat")
    check_decoding(ours, theirs, [[5, 6] * 20])
    for each in ours, theirs:
        each.backend_tokenizer.add_tokens(["<new>", "<newer>"])
    check(ours, theirs, ["the<newer>", "x"])


def test_tokens_are_those_of_the_texts_that_were_encoded(folders):
    ours, _ = both(folders["plain"])
    batch = ["the cat", "x"]
    found = ours(batch)
    batch[0] = "another"
    assert found.tokens(0) == ours("the cat").tokens()
    words = [["the", "cat"], ["x"]]
    pairs: list[Any] = [(words[0], words[1]), [words[1], words[0]]]
    split = ours(words, is_split_into_words=True)
    is_new = not hasattr(transformers.PreTrainedTokenizerFast, "_batch_encode_plus")  # transformers 4 refuses such pairs
    of_pairs = ours(*([pairs] if is_new else [words, words[::-1]]), is_split_into_words=True)
    expected = split.input_ids[0]
    words[0][1] = "dog"
    for told in split.encodings[0], of_pairs.encodings[0]:
        assert told.of_tokenizers().ids[: len(expected)] == told.ids[: len(expected)] == expected


def test_a_result_is_merged_and_made_again_as_that_of_transformers(folders):
    ours, theirs = both(folders["plain"])
    for combine in (
        lambda result: result | {"labels": [1]},
        lambda result: {"labels": [1]} | result,
        lambda result: type(result)({name: row[:1] for name, row in result.items()}),  # as trainers do
        lambda result: type(result)(result.data, result.encodings, "np", True, 1),
    ):
        found, expected = (combine(each("the cat")) for each in (ours, theirs))
        assert isinstance(found, NbbpeEncoding)
        assert list(found) == list(expected)
        assert all(np.array_equal(found[name], expected[name]) for name in expected)
        assert (found.is_fast, found.n_sequences) == (expected.is_fast, expected.n_sequences)


def test_a_deep_copy_has_tokens(folders):
    ours, theirs = both(folders["plain"])
    expected = theirs(["the cat", "x"]).tokens(0)
    found = ours(["the cat", "x"])
    for _ in range(2):  # before and after they are worked out
        copied = copy.deepcopy(found)
        copied["input_ids"][0].append(0)
        assert copied.is_fast
        assert copied.tokens(0) == found.tokens(0) == expected
        assert len(found["input_ids"][0]) < len(copied["input_ids"][0])
    assert copy.copy(found).tokens(0) == expected


@pytest.mark.parametrize("name", ["plain", "around"])
def test_a_row_that_is_changed_tells_what_that_of_tokenizers_tells(folders, name):
    results = [each(["the cat", "on é the mat"], ["a", ""]) for each in both(folders[name])]
    copied = copy.deepcopy(results[0])
    calls: list[Callable[[Any], Any]] = [
        lambda rows: rows[0].ids,
        lambda rows: rows[0].pad(12, direction="left", pad_id=5, pad_token="<x>"),
        lambda rows: rows[0].truncate(9, stride=1),
        lambda rows: [len(rows[0].overflowing), rows[0].overflowing[0].ids],
        lambda rows: rows[1].set_sequence_id(1),
        lambda rows: rows[1].truncate("x"),
        lambda rows: rows[0].merge([rows[0], *rows[1].overflowing, rows[1]]).ids,
        lambda rows: copy.copy(rows[0]).ids,
        lambda rows: pickle.loads(pickle.dumps(rows[0])).ids,
    ]
    for call in calls:
        found, expected = (outcome(call, result.encodings) for result in results)
        assert found == expected
        for row, theirs in zip(results[0].encodings, results[1].encodings, strict=True):
            for column in *COLUMNS, "n_sequences":
                assert getattr(row, column) == getattr(theirs, column)
            assert len(row) == len(theirs)
            assert [row.token_to_chars(i) for i in range(9)] == [theirs.token_to_chars(i) for i in range(9)]
            assert [row.char_to_token(i) for i in range(9)] == [theirs.char_to_token(i) for i in range(9)]
    assert [row.ids for row in copied.encodings] == copied["input_ids"]


def test_how_a_folder_is_found_is_not_saved(small, tmp_path):
    small.save(tmp_path / "own")
    (tmp_path / "own" / "tokenizer.json").unlink()
    finding = {"token": "hf_secret", "revision": "main", "cache_dir": str(tmp_path), "local_files_only": True}
    ours = NbbpeTokenizerFast.from_pretrained(tmp_path / "own", eos_token=END, **finding)
    ours.save_pretrained(tmp_path / "saved")
    config = json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())
    assert config["eos_token"] == END
    assert not set(finding) & set(config)


def test_copies_and_pickles_encode_alike_and_encoding_changes_no_state(folders):
    ours, theirs = both(folders["around"])
    before = ours.__getstate__().keys()
    for each in copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)):
        check(each, theirs, BATCH)
    check(ours, theirs, BATCH)
    assert ours.__getstate__().keys() == before
    check(pickle.loads(pickle.dumps(ours)), theirs, BATCH)
    ours.batch_decode([[5, 6] * 10_000] * 5)
    assert ours.__dict__.keys() == before  # which `datasets` looks at
    # As datasets.map calls it: columns of a batch to columns.
    columns = ours({"text": BATCH}["text"], truncation=True, max_length=16)
    assert set(columns) == set(theirs(BATCH))
    assert len(columns["input_ids"]) == len(BATCH)
    assert dict(columns)["input_ids"] == [
        row[:15] + row[-1:] if len(row) > 16 else row for row in theirs(BATCH)["input_ids"]
    ]


def test_from_a_tokenizer_or_a_path(small, tmp_path):
    tokenizer = small.with_special_tokens(["<pad>"])
    ours = NbbpeTokenizerFast.from_tokenizer(tokenizer, eos_token=END, pad_token="<pad>", model_max_length=8)
    assert ours.nbbpe == tokenizer
    assert ours(BATCH)["input_ids"] == tokenizer.encode_batch(BATCH)
    assert (ours.eos_token_id, ours.pad_token_id) == (tokenizer.special_tokens[END], tokenizer.special_tokens["<pad>"])
    assert len(ours(texts.SAMPLE, truncation=True)["input_ids"]) == 8
    tokenizer.save(tmp_path / "own")
    assert NbbpeTokenizerFast.from_tokenizer(tmp_path / "own").nbbpe == tokenizer
    for given, options in ((tokenizer,), {}), ((), {"tokenizer_object": tokenizer}):
        with pytest.raises(TypeError, match=r"NbbpeTokenizerFast\.from_tokenizer\(tok"):
            NbbpeTokenizerFast(*given, **options)
    ours = NbbpeTokenizerFast.from_pretrained(tmp_path / "own", eos_token=END)
    assert ours.nbbpe == tokenizer
    assert ours.eos_token == END


def test_who_reads_a_saved_folder(folders, tmp_path):
    ours, theirs = both(folders["around"])
    ours.save_pretrained(tmp_path / "portable")
    ours.save_pretrained(tmp_path / "kept", keep_class=True)
    for name, kind in ("portable", transformers.PreTrainedTokenizerFast), ("kept", NbbpeTokenizerFast):
        read = transformers.AutoTokenizer.from_pretrained(str(tmp_path / name))
        assert type(read) is kind
        check(read, theirs, BATCH)
        assert read.chat_template == TEMPLATE
        assert read.model_max_length == 512
    assert nbbpe.load(tmp_path / "portable").encode("the cat") == ours.nbbpe.encode("the cat")


@pytest.mark.parametrize("name", ["around", "bert"])
def test_tokens_are_spelled_as_the_post_processor_spells_them(folders, tmp_path, name):
    shutil.copytree(folders[name], tmp_path / "model")
    path = tmp_path / "model" / "tokenizer.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    part = document["post_processor"]
    if name == "bert":
        part["cls"][0] = "[CLS]"
    else:
        part["special_tokens"]["<s>"]["tokens"] = ["[CLS]"]
    path.write_text(json.dumps(document), encoding="utf-8")
    ours, theirs = both(str(tmp_path / "model"))
    for options in {}, {"add_special_tokens": False}:
        found, expected = ours(["the cat", "a"], **options), theirs(["the cat", "a"], **options)
        assert [found.tokens(i) for i in range(2)] == [expected.tokens(i) for i in range(2)]
    assert ours("a").tokens()[0] == "[CLS]"


def test_a_folder_is_saved_where_a_symlink_leads_and_not_in_a_file(folders, tmp_path):
    ours, _ = both(folders["around"])
    os.symlink("missing", tmp_path / "link")
    ours.save_pretrained(tmp_path / "link")
    assert nbbpe.load(tmp_path / "missing").encode("the cat") == ours.nbbpe.encode("the cat")
    ours.save_pretrained(tmp_path / scratch._OWNER)
    assert set(os.listdir(tmp_path / scratch._OWNER)) == set(os.listdir(tmp_path / "missing"))
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is not a folder; give one"):  # transformers logs it, and saves nothing
        ours.save_pretrained(tmp_path / "file")


def test_the_class_is_named_in_every_file_that_is_saved_or_uploaded(folders, tmp_path, monkeypatch):
    ours, _ = both(folders["around"])
    found = {}

    def upload(self: Any, working_dir: Any, *_: Any, **__: Any) -> None:
        assert set(os.listdir(working_dir)) == {name for name in os.listdir(tmp_path / "up") if name[0] != "."}
        found["uploaded"] = json.loads((Path(working_dir) / "tokenizer_config.json").read_text())["tokenizer_class"]

    base = sys.modules[transformers.PreTrainedTokenizerBase.__module__]
    monkeypatch.setattr(transformers.PreTrainedTokenizerBase, "_upload_modified_files", upload)
    hub = SimpleNamespace(create_repo=lambda *_, **__: SimpleNamespace(repo_id="a/b"))
    monkeypatch.setattr(base, "hf_api", lambda: hub, raising=False)  # of transformers 5
    monkeypatch.setattr(transformers.PreTrainedTokenizerBase, "_create_repo", lambda *_, **__: "a/b", raising=False)  # of 4
    ours.save_pretrained(str(tmp_path / "up"), push_to_hub=True)
    names = ours.save_pretrained(tmp_path / "named", None, "prefix")
    found["prefixed"] = json.loads((tmp_path / "named" / "prefix-tokenizer_config.json").read_text())["tokenizer_class"]
    assert found == {"uploaded": "PreTrainedTokenizerFast", "prefixed": "PreTrainedTokenizerFast"}
    assert all(map(os.path.isfile, names))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_file_that_cannot_be_written_again_is_still_there(folders, tmp_path, monkeypatch, name):
    copied = shutil.copyfile

    def no_space(path: str, *arguments: Any) -> None:
        if os.path.basename(path) == name:
            raise OSError(28, "No space left on device")
        copied(path, *arguments)

    ours, _ = both(folders["around"])
    ours.chat_template = {"default": TEMPLATE}
    ours.save_pretrained(tmp_path / "saved")
    before = {path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()}
    monkeypatch.setattr(shutil, "copyfile", no_space)
    ours.chat_template = {"default": "another", "other": "x"}
    with pytest.raises(OSError, match=f"saved/{name}"):
        ours.save_pretrained(tmp_path / "saved")
    assert {path.name: path.read_bytes() for path in (tmp_path / "saved").iterdir()} == before
    with pytest.raises(OSError, match=f"new/{name}"):
        ours.save_pretrained(tmp_path / "new")
    assert os.listdir(tmp_path) == ["saved"]


def test_after_ctrl_c_all_files_are_the_old_ones_or_the_new_ones(folders, tmp_path):
    ours, _ = both(folders["plain"])
    ours.save_pretrained(tmp_path / "old")
    other = copy.deepcopy(ours)
    other.add_tokens(["<new>"])
    other.chat_template, other.model_max_length = "another", 9
    other.save_pretrained(tmp_path / "new")
    shutil.copytree(tmp_path / "old", tmp_path / "saved")
    states = set()
    for end in interrupted(lambda: other.save_pretrained(tmp_path / "saved"), ["tokenizer.py", "atomic_files.py"]):
        assert isinstance(end.error, KeyboardInterrupt)
        where, end = end.where, None  # its traceback keeps what it went through
        of_files = set()
        for path in (tmp_path / "saved").iterdir():
            found = [(tmp_path / each / path.name).read_bytes() == path.read_bytes() for each in ("old", "new")]
            assert any(found), (path, where)
            of_files.add(tuple(found))
        of_files.discard((True, True))  # transformers 4 also writes one that is the same
        assert len(of_files) == 1, where
        states |= of_files
    assert states == {(True, False), (False, True)}
    assert NbbpeTokenizerFast.from_pretrained(str(tmp_path / "saved"))("<new>")["input_ids"] == [len(ours)]


def test_templates_by_name_are_saved_in_a_folder_of_their_own(folders, tmp_path):
    ours, theirs = both(folders["plain"])
    for each, name in (ours, "ours"), (theirs, "theirs"):
        each.chat_template = {"default": TEMPLATE, "other": "x"}
        names = each.save_pretrained(str(tmp_path / name))
        assert all(map(os.path.exists, names))
    found = [
        sorted(str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*"))
        for name in ("ours", "theirs")
    ]
    assert found[0] == found[1]
    assert NbbpeTokenizerFast.from_pretrained(str(tmp_path / "ours")).chat_template == ours.chat_template


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("later", [False, True])
def test_an_unknown_name_of_padding_is_shown_as_it_is_given(folders, side, later):
    """Its id is that of unk_token."""
    made = both(folders["plain"], unk_token=END, padding_side=side)
    shown = []
    for each in made:
        each.pad_token = "<nowhere>"
        batch = each(["the cat sat", "a"], padding=True)
        if later:  # the name of the call counts
            each.pad_token = "<pad>"
        shown.append([(row.ids, row.tokens) for row in batch.encodings])
    assert shown[0] == shown[1]
    assert "<nowhere>" in shown[0][1][1]


def test_a_special_token_that_is_spelled_like_a_byte_is_named(folders):
    ours = NbbpeTokenizerFast.from_pretrained(folders["plain"])
    ours.add_special_tokens({"pad_token": "Ġ"})
    with pytest.raises(ValueError, match=r"lacks 1 of the 256 .* cannot be an added token too, as 'Ġ' is"):
        ours("the cat")


def test_without_transformers_the_extra_is_named():
    code = "import sys; sys.modules['transformers'] = None; import nbbpe; import nbbpe.hf"
    done = processes.ended("-c", code)
    assert done.returncode == 1
    assert "ImportError: nbbpe.hf needs transformers" in done.stderr
    assert 'pip install "nbbpe[hf]"' in done.stderr


def test_without_transformers_nbbpe_has_no_attribute_hf():
    code = "import sys; sys.modules['transformers'] = None; import nbbpe; assert not hasattr(nbbpe, 'hf'); nbbpe.hf"
    done = processes.ended("-c", code)
    assert "AttributeError: nbbpe.hf cannot be imported: nbbpe.hf needs transformers" in done.stderr


def test_import_nbbpe_does_not_import_transformers():
    processes.run("import sys, nbbpe; nbbpe.Tokenizer; assert not {'transformers', 'tokenizers'} & set(sys.modules)")


@pytest.mark.torch
def test_tensors_of_torch(folders):
    torch = pytest.importorskip("torch", reason="needs torch")
    ours, theirs = both(folders["around"])
    found, expected = (each(["the cat", "a"], padding=True, return_tensors="pt") for each in (ours, theirs))
    for name in expected:
        assert torch.equal(found[name], expected[name])
    for decode in "decode", "batch_decode":
        assert getattr(ours, decode)(found["input_ids"]) == getattr(theirs, decode)(expected["input_ids"])


@pytest.mark.torch
def test_collators_and_chats_give_the_same_tensors(folders):
    torch = pytest.importorskip("torch", reason="needs torch")
    batches, chats = [], []
    for each in both(folders["around"]):
        rows = [each(text, truncation=True, max_length=8) for text in ("the cat sat on the mat", "a", "the cat")]
        batches.append(transformers.DataCollatorForLanguageModeling(each, mlm=False)(rows))
        messages = [[{"role": "user", "content": "the cat"}], [{"role": "user", "content": "a"}]]
        chats.append(each.apply_chat_template(messages, padding=True, return_dict=True, return_tensors="pt"))
    for found, expected in batches, chats:
        assert set(found) == set(expected)
        assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_random_texts_of_gpt2(gpt2, shared, tmp_path):
    gpt2.save_pretrained(tmp_path / "gpt2", eos_token=END, pad_token=END)
    ours, theirs = both(str(tmp_path / "gpt2"))
    rng = random.Random(8)
    alphabet = ["a", "the", " ", "\n", "é", "\u0301", "日本", END, "\x00", "🙂", "123", "'s", "\t", "<|end"]
    batch = ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(300)]
    real = (shared / "text" / "scripts_extra.txt").read_text(encoding="utf-8")[:100_000]
    batch += [real[start : start + 500] for start in range(0, len(real), 500)]
    long = {"padding": True, "truncation": True, "max_length": 64, "return_tensors": "np"}
    for options in {}, long, {"return_offsets_mapping": True}, {"return_offsets_mapping": True, **long}:
        check(ours, theirs, batch, **options)
        check(ours, theirs, batch, batch[::-1], **options)
