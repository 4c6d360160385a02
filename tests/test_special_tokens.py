"""Special tokens with ids of the user's choice, and those that are added to a tokenizer that is there."""

from __future__ import annotations

import collections
import copy
import enum
import json
import pickle
import warnings

import numpy as np
import pytest
import texts
from vocabularies import BYTES

import nbbpe

pytestmark = pytest.mark.usefixtures("guarded_arrays")

VOCAB, MERGES = BYTES | {256: b"ab", 257: b"abc", 300: b"<u>"}, [(b"a", b"b"), (b"ab", b"c")]


# Given as a dict


@pytest.mark.parametrize("specials", [["ab"], ["a", "abc", "<s>"], ["<u>", "<s>"], []])
def test_a_tokenizer_can_be_made_again_of_its_parts(specials):
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, specials)
    again = nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, tokenizer.special_tokens)
    assert again == tokenizer
    text = "abcab<s><u>a" + "".join(specials)
    assert again.encode(text) == tokenizer.encode(text)


def test_a_dict_is_taken_as_it_is_with_gaps():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, {"<t>": 70_000, "<s>": 280, "<u>": 300})
    assert tokenizer.special_tokens == {"<t>": 70_000, "<s>": 280, "<u>": 300}
    assert tokenizer.vocab == VOCAB | {70_000: b"<t>", 280: b"<s>"}
    assert (tokenizer.vocab_size, len(tokenizer), tokenizer.dtype) == (70_001, 261, np.uint32)
    assert tokenizer.encode("<s>ab<t><u>") == [280, 256, 70_000, 300]
    assert tokenizer.decode([70_000, 256]) == "<t>ab"
    assert nbbpe.Tokenizer(VOCAB, MERGES, collections.OrderedDict({"<s>": 280})).special_tokens == {"<s>": 280}
    assert nbbpe.Tokenizer(VOCAB, MERGES, {}).special_tokens == {}


def test_ids_may_be_numpy_integers(small, tmp_path):
    """As `truncate` gives them."""
    _, old_to_new = small.truncate(390)
    end = old_to_new[399]
    found = nbbpe.Tokenizer(dict(small.vocab), small.merges, {texts.SPECIAL: np.int64(399), "<a>": np.uint16(500)})
    assert found == small.with_special_tokens({"<a>": np.int32(500)})
    assert {type(token_id) for token_id in found.special_tokens.values()} == {int}
    found.save_tiktoken(tmp_path / "a.tiktoken")
    special = {"<a>": end + 100}
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "a.tiktoken", "gpt2", special).special_tokens == {"<a>": 489}


def test_names_may_be_of_an_enum_and_are_kept_as_str(small):
    """Else a pickle could not be loaded where the enum is not defined."""

    class Special(str, enum.Enum):
        A = "<a>"

    for found in (
        nbbpe.train(documents=["the the"], vocab_size=258, special_tokens=[Special.A]),
        nbbpe.train(documents=["the the"], vocab_size=258, special_tokens=np.array(["<a>"])),
        nbbpe.Tokenizer(BYTES, [], Special),
        nbbpe.Tokenizer(BYTES, [], {Special.A: 256}),
        small.with_special_tokens([Special.A]),
        small.with_special_tokens({Special.A: 500}),
        small.rename_special_tokens({texts.SPECIAL: Special.A}),
    ):
        assert {type(token) for token in found.special_tokens} == {str}
        assert "<a>" in found.special_tokens
        assert pickle.loads(pickle.dumps(found)) == found  # an enum of a function cannot be pickled


def test_ids_may_be_of_an_enum(small, tmp_path):
    class Ids(enum.IntEnum):
        A = 97
        NEW = 700

    small.save_tiktoken(tmp_path / "x.tiktoken")
    for special_tokens in {"<s>": Ids.A}, {"<t>": Ids.NEW, "<s>": Ids.A}:
        with pytest.raises(ValueError, match="'<s>' has the id 97, which in the vocab is b'a'"):
            nbbpe.Tokenizer(VOCAB, MERGES, special_tokens)
        with pytest.raises(ValueError, match="'<s>' has the id 97, as b'a' has"):
            nbbpe.Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", "gpt2", special_tokens)
    found = nbbpe.Tokenizer(VOCAB, MERGES, {"<t>": Ids.NEW})
    assert found.encode("<t>") == [700]
    assert {type(token_id) for token_id in found.special_tokens.values()} == {int}


def test_an_iterator_is_taken_as_a_list(small, tmp_path):
    small.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    small.save_tiktoken(tmp_path / "x.tiktoken")
    ways = [
        nbbpe.Tokenizer(VOCAB, MERGES, iter(["<s>"])),
        nbbpe.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", iter(["<s>"])),
        nbbpe.Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", "gpt2", iter(["<s>"])),
        small.with_special_tokens(iter(["<s>"])),
    ]
    assert all("<s>" in tokenizer.special_tokens for tokenizer in ways)


def test_choices_from_an_iterator_hold_for_both_texts_of_a_pair():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, {"<s>": 500, "<t>": 501})
    assert tokenizer.encode_pair("<s>", "<s>", allowed_special=iter(["<s>"])) == [500, 500]
    with pytest.raises(ValueError, match="disallowed"):
        tokenizer.encode_pair("a", "<t>", disallowed_special=iter(["<t>"]))


def test_a_special_token_may_take_an_id_whose_bytes_another_id_has_too():
    vocab = VOCAB | {400: b"ab"}
    tokenizer = nbbpe.Tokenizer(vocab, MERGES, {"ab": 400})
    assert tokenizer.encode("ab") == [400]
    assert tokenizer.encode_ordinary("ab") == [256]
    # Or the first of them: ordinary text then has the other.
    tokenizer = nbbpe.Tokenizer(vocab, MERGES, {"ab": 256})
    assert tokenizer.encode("ab") == [256]
    assert tokenizer.encode_ordinary("ab") == [400]


BAD = [
    ({"<s>": 97}, ValueError, r"'<s>' has the id 97, which in the vocab is b'a': give it an id that is free"),
    ({"<s>": 300}, ValueError, r"special token '<s>' has the id 300, which in the vocab is b'<u>'"),
    ({"<s>": 500, "<t>": 500}, ValueError, "special tokens '<s>' and '<t>' both have the id 500"),
    ({"a": 97}, ValueError, "special token 'a' has the id 97, which ordinary text needs for b'a': give it an id that is"),
    ({"ab": 256}, ValueError, "special token 'ab' has the id 256, which ordinary text needs"),
    ({"<s>": -1}, ValueError, "special token '<s>' has the id -1; ids must be from 0 to 2,147,483,646"),
    ({"<s>": 2**31 - 1}, ValueError, "ids must be from 0 to 2,147,483,646"),
    ({"<s>": 1.0}, TypeError, "the id of special token '<s>' must be an integer, not 1.0"),
    ({"<s>": True}, TypeError, "the id of special token '<s>' must be an integer, not True"),
    ({"<s>": None}, TypeError, "must be an integer, not None"),
    ({"": 500}, ValueError, "special token 0 is the empty string"),
    ({b"<s>": 500}, TypeError, "special token 0 must be str, not bytes"),
    ({"\ud800": 500}, ValueError, "lone surrogate"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_a_dict_that_does_not_fit_is_an_error(bad, error, message):
    with pytest.raises(error, match=message):
        nbbpe.Tokenizer(VOCAB, MERGES, bad)
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES)
    with pytest.raises(error, match=message):
        tokenizer.with_special_tokens(bad)
    assert tokenizer.vocab == VOCAB


@pytest.mark.parametrize("bad", [{"<s>"}, frozenset("a"), {"a": 1}, {}.keys()])
def test_training_takes_special_tokens_in_an_order(bad):
    with pytest.raises(TypeError, match="special_tokens must be a list of str, not one"):
        nbbpe.train(iter(["text"]), 300, bad)


# Added later


def test_added_tokens_follow_the_highest_id_and_the_first_tokenizer_stays(small):
    before = small.vocab
    more = small.with_special_tokens(["<pad>", texts.SPECIAL, "<bos>"])
    assert more.special_tokens == {texts.SPECIAL: 399, "<pad>": 400, "<bos>": 401}
    assert more.vocab == before | {400: b"<pad>", 401: b"<bos>"}
    assert more.encode(f"<bos>the{texts.SPECIAL}<pad>") == [401, *small.encode("the"), 399, 400]
    assert more.decode([401, 97]) == "<bos>a"
    assert more.encode_ordinary("<bos>") == small.encode("<bos>")
    assert (more.pattern, more.merges) == (small.pattern, small.merges)
    assert small.vocab == before
    assert small.special_tokens == {texts.SPECIAL: 399}
    assert 400 not in small.encode("<pad>")
    assert more != small
    assert small.with_special_tokens([]) == small.with_special_tokens({}) == small


def test_a_tokenizer_that_has_encoded_and_decoded_shares_no_tables_with_the_new_one():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, ["<s>"])
    ids = tokenizer.encode("ab<s><t>") + tokenizer.encode_batch(["x<t>"])[0]
    assert tokenizer.decode(ids) == "ab<s><t>x<t>"
    assert tokenizer.token_to_id("<t>") is None
    more = tokenizer.with_special_tokens(["<t>"])
    assert more.encode("ab<s><t>") == [256, 301, 302]
    assert more.decode([302] * 1000) == "<t>" * 1000
    assert more.token_to_id("<t>") == 302
    assert tokenizer.encode("ab<s><t>") == ids[: len(tokenizer.encode("ab<s><t>"))]


def test_a_dict_adds_exact_ids(small):
    more = small.with_special_tokens({"<far>": 70_000, "<near>": 410, texts.SPECIAL: 399})
    assert more.special_tokens == {texts.SPECIAL: 399, "<far>": 70_000, "<near>": 410}
    assert more.encode("<near><far>") == [410, 70_000]
    assert more.dtype == np.uint32
    assert more.with_special_tokens(["<last>"]).special_tokens["<last>"] == 70_001


def test_a_token_of_the_vocab_becomes_special_where_no_merge_needs_it():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES)
    assert tokenizer.with_special_tokens(["<u>", "ab"]).special_tokens == {"<u>": 300, "ab": 301}
    assert tokenizer.with_special_tokens({"<u>": 300}).encode("<u>") == [300]
    twice = nbbpe.Tokenizer(BYTES | {300: b"<u>", 299: b"<u>"}, [])
    assert twice.with_special_tokens(["<u>"]).special_tokens == {"<u>": 299}


def test_another_id_for_a_token_that_is_there_is_an_error(small):
    with pytest.raises(ValueError, match=r"special token '<\|endoftext\|>' is given the id 500, but has 399 already"):
        small.with_special_tokens({texts.SPECIAL: 500})
    with pytest.raises(ValueError, match=r"'<s>' is given the id 399, which '<\|endoftext\|>' has; rename_special_tokens "):
        small.with_special_tokens({"<s>": 399})


@pytest.mark.parametrize("bad", ["<s>", b"<s>", [b"<s>"], [""], ["<s>", "<s>"], [None], {"<s>"}, ["\ud800"]])
def test_what_cannot_be_a_special_token_is_an_error(small, bad):
    with pytest.raises((TypeError, ValueError), match="special"):
        small.with_special_tokens(bad)


def test_there_is_no_id_after_the_last():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, {"<one before>": 2**31 - 3}).with_special_tokens(["<last>"])
    assert tokenizer.special_tokens["<last>"] == 2**31 - 2
    with pytest.raises(ValueError, match=r"'<s>' would have the id 2147483647; ids must be from 0 to 2,147,483,646"):
        tokenizer.with_special_tokens(["<s>"])


def test_a_tokenizer_with_added_tokens_is_saved_pickled_and_extended(small, tmp_path):
    more = small.with_special_tokens({"<pad>": 450}).with_special_tokens(["<bos>", "a"])
    assert more.special_tokens == {texts.SPECIAL: 399, "<pad>": 450, "<bos>": 451, "a": 452}
    more.save(tmp_path)
    for other in nbbpe.load(tmp_path), pickle.loads(pickle.dumps(more)), copy.deepcopy(more):
        assert other == more
        assert other.encode("<pad><bos>bcd a") == more.encode("<pad><bos>bcd a")
        assert list(other.special_tokens) == list(more.special_tokens)


# Other names


def test_renamed_tokens_keep_ids_and_rules(tmp_path):
    first = nbbpe.Tokenizer(VOCAB, MERGES, {"<r0>": 258, "<s>": 301, "<r1>": 302})
    first.encode("<r0>ab")
    found = first.rename_special_tokens({"<r1>": "<end>", "<r0>": "<user>"})
    assert found.special_tokens == {"<user>": 258, "<s>": 301, "<end>": 302}
    assert found.vocab == first.vocab | {258: b"<user>", 302: b"<end>"}
    assert found.encode("<user>ab<end><s>") == [258, 256, 302, 301]
    assert found.encode("<r0>") == list(b"<r0>")
    assert found.decode([258, 256]) == "<user>ab"
    assert first.encode("<r0>ab") == [258, 256]
    assert found == nbbpe.Tokenizer(VOCAB, MERGES, {"<user>": 258, "<s>": 301, "<end>": 302})
    assert found != first
    assert first.rename_special_tokens({"<r0>": "<r1>", "<r1>": "<r0>"}).encode("<r0><r1>") == [302, 258]
    assert first.rename_special_tokens({"<s>": "<s>"}) == first.rename_special_tokens({}) == first
    found.save(tmp_path)
    assert nbbpe.load(tmp_path) == found


@pytest.mark.parametrize("kind", ["template", "roberta", "sequence"])
def test_renamed_tokens_of_a_tokenizer_json_are_those_of_tokenizers(tmp_path, kind):
    """What else its file says stays: tokens around a text, rules of tokens, tokens that are whole."""
    tokenizers = pytest.importorskip("tokenizers")

    def written(begin: str, mask: str) -> dict:
        template = [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        of_template = {
            "type": "TemplateProcessing",
            "single": template,
            "pair": [*template, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<b>": {"id": "<b>", "ids": [300], "tokens": [begin]}},
        }
        roberta = {"type": "RobertaProcessing", "cls": [begin, 300], "sep": [mask, 301]}
        roberta |= {"trim_offsets": False, "add_prefix_space": False}
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
        sequence = {"type": "Sequence", "processors": [byte_level, of_template]}
        document["added_tokens"] = [
            {**added, "content": content, "lstrip": content == mask}
            for added, content in zip(document["added_tokens"], [begin, mask], strict=True)
        ]
        ids = {token: token_id for token, token_id in document["model"]["vocab"].items() if token_id < 300}
        document["model"] |= {"ignore_merges": True, "vocab": {**ids, begin: 300, mask: 301}}
        return document | {"post_processor": {"template": of_template, "roberta": roberta, "sequence": sequence}[kind]}

    start = nbbpe.Tokenizer(BYTES | {256: b"ab", 257: b"abc"}, MERGES, {"<b>": 300, "<m>": 301})
    start.to_hf(tmp_path / "start.json")
    document = json.loads((tmp_path / "start.json").read_text(encoding="utf-8"))
    for name, tokens in ("old", ("<b>", "<m>")), ("new", ("<begin>", "<mask>")):
        (tmp_path / f"{name}.json").write_text(json.dumps(written(*tokens)), encoding="utf-8")
    found = nbbpe.load(tmp_path / "old.json").rename_special_tokens({"<b>": "<begin>", "<m>": "<mask>"})
    assert found == nbbpe.load(tmp_path / "new.json")
    found.to_hf(tmp_path / "found.json")
    theirs, expected = (tokenizers.Tokenizer.from_file(str(tmp_path / f"{name}.json")) for name in ("found", "new"))
    for text in "<begin>ab <mask> abc", "<b><m>":
        assert found.encode(text, add_special_tokens=True) == theirs.encode(text).ids == expected.encode(text).ids
        assert theirs.encode(text).tokens == expected.encode(text).tokens


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ({"<x>": "<y>"}, ValueError, "'<x>' is not a special token of the tokenizer"),
        ({"ab": "<y>"}, ValueError, "'ab' is not a special token"),
        ({"<s>": "<t>"}, ValueError, "'<s>' cannot be renamed to '<t>', which is another special token"),
        ({"<s>": "<y>", "<t>": "<y>"}, ValueError, "'<y>' is given twice"),
        ({"<s>": ""}, ValueError, "the empty string"),
        ({"<s>": 300}, TypeError, "must be str, not int: 300"),
        ({"<s>": ["<y>"]}, TypeError, "must be str, not list"),
        (["<s>", "<y>"], TypeError, "names must be a dict from special tokens to their new names"),
    ],
)
def test_what_cannot_be_renamed_is_an_error(names, error, message):
    with pytest.raises(error, match=message):
        nbbpe.Tokenizer(VOCAB, MERGES, ["<s>", "<t>"]).rename_special_tokens(names)


def test_the_bound_on_pieces_is_kept():
    tokenizer = nbbpe.Tokenizer(VOCAB, MERGES, max_pieces=3).with_special_tokens(["<s>"])
    tokenizer.encode(texts.SAMPLE)
    assert tokenizer._encoder._idle[0].table.state[0] <= 3


@pytest.mark.parametrize(
    ("argument", "choice"),
    [
        *(("allowed_special", choice) for choice in (texts.SPECIAL, "none", "", b"all", None, True)),
        *(("disallowed_special", choice) for choice in (texts.SPECIAL, "none", "", b"all", None)),
    ],
)
def test_a_choice_of_special_tokens_is_all_or_a_set(small, argument, choice):
    for method in small.encode, small.encode_array, small.count, small.tokenize:
        with pytest.raises(TypeError, match=f'{argument} must be "all" or a set of special tokens, not {choice!r}'):
            method(f"a{texts.SPECIAL}", **{argument: choice})


@pytest.mark.parametrize("argument", ["allowed_special", "disallowed_special"])
def test_a_list_of_lists_is_no_choice_of_special_tokens(small, argument):
    for method in small.encode, small.encode_array, small.count, small.tokenize, small.encode_batch:
        with pytest.raises(
            TypeError, match=rf"{argument} must be \"all\" or a set of special tokens, not \[\['<.*: .*unhashable"
        ):
            method(f"a{texts.SPECIAL}", **{argument: [[texts.SPECIAL]]})


# Disallowed wins


@pytest.mark.parametrize("text", [f"a{texts.SPECIAL}", "b" * 100_000 + texts.SPECIAL], ids=["short", "long"])
def test_disallowing_all_raises_for_all_that_is_not_allowed_by_name(small, text):
    more = small.with_special_tokens(["<other>"])

    def in_batch(text, **choice):
        return more.encode_batch([text], **choice)

    for allowed in {}, {"allowed_special": "all"}, {"allowed_special": ()}, {"allowed_special": {"<other>"}}:
        for method in more.encode, more.encode_array, more.count, more.tokenize, in_batch:
            with pytest.raises(ValueError, match=r"special token '<\|endoftext\|>', which is disallowed"):
                method(text, disallowed_special="all", **allowed)
    assert more.encode(text, allowed_special={texts.SPECIAL}, disallowed_special="all") == more.encode(text)
    assert more.encode("<other", disallowed_special="all") == more.encode("<other")
    letter = small.with_special_tokens(["a"])  # as in "all"
    with pytest.raises(ValueError, match="special token 'a', which is disallowed"):
        letter.encode("a", disallowed_special="all")
    with pytest.raises(ValueError, match='must be "all" or a set of special tokens, and contains'):
        small.encode("a", disallowed_special={""})


def test_a_choice_among_tokens_of_one_id_leaves_those_of_ordinary_text(tmp_path):
    """As GPT-NeoX's runs of spaces are found in all text. Only in a folder can there be both."""
    nbbpe.train(documents=[texts.SAMPLE], vocab_size=260, special_tokens=["<a>"]).save(tmp_path / "folder")
    path = tmp_path / "folder" / "nbbpe.json"
    about = json.loads(path.read_bytes())
    about["special_tokens"] = {"  ": 260, "<a>": 261, "<b>": 261}
    about["special_token_flags"] = {"  ": ["normalized", "plain"]}
    about["normalizer"] = ["Lowercase"]
    path.write_text(json.dumps(about))
    tokenizer = nbbpe.load(tmp_path / "folder", check=False)
    assert tokenizer.encode("A  B<a><b>", allowed_special={"<a>"}) == [97, 260, 98, 261, *b"<b>"]
    assert tokenizer.encode("A  B<a><b>", allowed_special=set()) == [97, 260, 98, *b"<a><b>"]
    with warnings.catch_warnings():  # of a token that needs no leave
        warnings.simplefilter("error", UserWarning)
        assert tokenizer.encode("A  B", allowed_special={"  "}) == [97, 260, 98]


# Records


def test_records_recognise_no_special_tokens_unless_asked(small, tmp_path):
    end = small.special_tokens[texts.SPECIAL]
    records = [f"the{texts.SPECIAL} cat", "sat", texts.SPECIAL]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": record}) + "\n" for record in records))
    sources = {"iterable": lambda: iter(records), "json lines": lambda: tmp_path / "a.jsonl"}
    for name, source in sources.items():
        for allowed, encode in (None, small.encode_ordinary), ("all", small.encode), ((), small.encode_ordinary):
            options = {} if allowed is None else {"allowed_special": allowed}
            small.encode_file(source(), tmp_path / "ids.bin", separator=texts.SPECIAL, **options)
            ids = nbbpe.TokenFile(tmp_path / "ids.bin", small)
            assert ids.ids.tolist() == [token_id for record in records for token_id in [*encode(record), end]], name
            assert len(ids.document_starts) == (5 if allowed == "all" else 3), name


def test_plain_text_beside_records_has_its_special_tokens(small, tmp_path):
    end = small.special_tokens[texts.SPECIAL]
    text = f"the{texts.SPECIAL} cat"
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}))
    (tmp_path / "a.txt").write_text(text)
    small.encode_file([tmp_path / "a.txt", tmp_path / "a.jsonl"], tmp_path / "ids.bin", separator=texts.SPECIAL)
    wanted = [*small.encode(text), end, *small.encode_ordinary(text), end]
    assert nbbpe.TokenFile(tmp_path / "ids.bin", small).ids.tolist() == wanted
    small.encode_file([tmp_path / "a.txt", tmp_path / "a.jsonl"], tmp_path / "ids.bin")
    assert json.loads((tmp_path / "ids.bin.json").read_text())["separator_ids"] == [end]
    small.encode_file(tmp_path / "a.txt", tmp_path / "ids.bin", allowed_special=())
    assert nbbpe.TokenFile(tmp_path / "ids.bin", small).ids.tolist() == small.encode_ordinary(text)
