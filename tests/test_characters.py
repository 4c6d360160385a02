"""Vocabularies of characters with tokens for bytes, as Llama 2's and Gemma's: ids, what is saved and written, errors."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe import cli
from nbbpe.counting.word_counts import words_from_texts
from nbbpe.kernels.pieces.unknown_characters import KNOWN_BYTES, find_unknown
from nbbpe.model.character_merges import characters_of
from nbbpe.model.packed_vocab import PackedVocab
from nbbpe.patterns.class_pattern import SPACE, class_joins, class_pattern, joins_of
from nbbpe.patterns.pattern_argument import get_pattern
from nbbpe.text.byte_fallback import SIGN, ByteFallback, without_signs
from nbbpe.text.windows import CUT
from nbbpe.training.parity_queues import Groups
from nbbpe.vocabulary.character_words import stage_of_characters
from nbbpe.words.supply import Stage

SPELLED = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ["<unk>", "<s>", "</s>"]
# Some are characters of several bytes. Of U+6587, no token knows more than bytes.
PARTS = [
    SIGN,
    *"theca,.\n\u00e9\u4e2d\U0001f600",
    "th",
    "he",
    "the",
    f"{SIGN}t",
    f"{SIGN}the",
    f"{SIGN}{SIGN}",
    "ca",
    "cat",
]
TOKENS = [*SPECIAL, *SPELLED, *PARTS, f"{SIGN}{SIGN}{SIGN}{SIGN}", f"{SIGN}cat", ",.", "\u00e9t", "e\u4e2d", "\n\n", "A"]
VOCAB = {token: token_id for token_id, token in enumerate(TOKENS)}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SIGN}
PREPEND = {"type": "Prepend", "prepend": SIGN}
# As Oniguruma spells the letter a, and `regex` does not.
DOTS = {"type": "Replace", "pattern": {"Regex": r"\x{61}"}, "content": "."}
NO_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


def all_splits(vocab: Iterable[str]) -> list[list[str]]:
    """The merges as files have them that come from sentencepiece: all pairs of tokens that join to a token, by its id."""
    vocab = [token for token in vocab if token not in {*SPECIAL, *SPELLED}]
    splits = ((token[:at], token[at:]) for token in vocab for at in range(1, len(token)))
    return [[left, right] for left, right in splits if left in vocab and right in vocab]


MERGES = all_splits(TOKENS)


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


def metaspace(scheme: str, split: bool = False) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": SIGN, "prepend_scheme": scheme, "split": split}


# The parts of files that say what becomes of spaces.
STYLES: dict[str, dict[str, Any]] = {
    "Gemma": {"normalizer": REPLACE, "pre_tokenizer": NO_SPLIT},
    "Llama 2": {"normalizer": sequence(PREPEND, REPLACE), "pre_tokenizer": None},
    "Yi": {"normalizer": sequence(REPLACE, PREPEND), "pre_tokenizer": None},
    "lower": {"normalizer": sequence({"type": "Lowercase"}, REPLACE), "pre_tokenizer": None},
    "regex": {"normalizer": sequence(DOTS, REPLACE), "pre_tokenizer": None},
    "always": {"normalizer": None, "pre_tokenizer": metaspace("always")},
    "first": {"normalizer": None, "pre_tokenizer": metaspace("first")},
    "never": {"normalizer": None, "pre_tokenizer": metaspace("never")},
    "first, split": {"normalizer": None, "pre_tokenizer": metaspace("first", True)},
}


def document(style: str = "Gemma", **changes: Any) -> dict[str, Any]:
    """A tokenizer.json; `changes` are of its model."""
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": VOCAB, "merges": MERGES}
    return {
        "version": "1.0",
        "added_tokens": [added(token) for token in SPECIAL],
        **STYLES[style],
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [{**REPLACE, "pattern": {"String": SIGN}, "content": " "}, FALLBACK, FUSE],
        },
        "model": {**model, **changes},
    }


FALLBACK, FUSE = {"type": "ByteFallback"}, {"type": "Fuse"}


def added(content: str, token_id: int | None = None, **flags: bool) -> dict[str, Any]:
    no = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": VOCAB[content] if token_id is None else token_id, "content": content, **no, "special": True, **flags}


def written(folder: Path, content: Any) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def spelled(text: str, style: str, is_first: bool) -> list[str]:
    """A stretch of text without special tokens as the model gets it, in one part or several."""
    if style == "lower":
        text = text.lower()
    if style == "regex":
        text = text.replace("a", ".")
    text = text.replace(" ", SIGN)
    if text and style in ("Llama 2", "Yi"):
        text = SIGN + text
    if text and (style == "always" or (style.startswith("first") and is_first)) and not text.startswith(SIGN):
        text = SIGN + text
    if not style.endswith("split"):
        return [text]
    head, *others = text.split(SIGN)
    return [head, *(SIGN + each for each in others)]


def ids_of(text: str, style: str, merges: Sequence[list[str]] = MERGES) -> list[int]:
    """Textbook BPE of characters, with the special tokens of a text."""
    known = {token: token_id for token, token_id in VOCAB.items() if token not in {*SPECIAL, *SPELLED}}
    byte_ids = [VOCAB[each] for each in SPELLED]
    pairs = list(map(tuple, merges))
    ids: list[int] = []
    start = at = 0
    while at <= len(text):
        special = next((token for token in SPECIAL if text.startswith(token, at)), None)
        if special or at == len(text):
            for part in spelled(text[start:at], style, start == 0):
                ids += naive.encode_characters(part, pairs, known, byte_ids)
        if special:
            ids.append(VOCAB[special])
            start = at = at + len(special)
        else:
            at += 1
    return ids


@pytest.fixture(scope="module")
def tokenizers_of_styles(tmp_path_factory) -> dict[str, nbbpe.Tokenizer]:
    folder = tmp_path_factory.mktemp("characters")
    return {style: nbbpe.load(written(folder, document(style))) for style in STYLES}


WORDS = [
    *"thecat,. \n\u00e9\u4e2d\U0001f600\u6587A\x1b",
    "the",
    " the",
    " cat",
    "  ",
    SIGN,
    "<s>",
    "</s>",
    "<0x41>",
    "\n\n",
    "Th",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=25).map("".join)


@pytest.mark.parametrize("style", STYLES)
@given(text=TEXTS)
def test_ids_are_those_of_textbook_bpe(tokenizers_of_styles, style, text):
    tokenizer = tokenizers_of_styles[style]
    wanted = ids_of(text, style)
    assert tokenizer.encode(text, allowed_special="all") == wanted
    assert tokenizer.encode(text.encode(), allowed_special="all") == wanted
    assert tokenizer.encode_batch([text, "", text], allowed_special="all") == [wanted, [], wanted]
    assert tokenizer.count(text, allowed_special="all") == len(wanted)


@pytest.mark.parametrize("style", STYLES)
def test_dropout_leaves_out_merges_and_no_characters(tokenizers_of_styles, style):
    tokenizer, rng = tokenizers_of_styles[style], random.Random(8)
    text = "".join(rng.choices(WORDS, k=400))
    characters = ids_of(text, style, [])
    assert tokenizer.encode(text, allowed_special="all", dropout=1.0) == characters
    assert tokenizer.encode_batch([text, "the"], allowed_special="all", dropout=1.0) == [
        characters,
        ids_of("the", style, []),
    ]
    ids = tokenizer.encode(text, allowed_special="all", dropout=0.3, seed=1)
    assert len(ids_of(text, style)) < len(ids) < len(characters)
    assert tokenizer.decode(ids) == tokenizer.decode(characters)


@pytest.mark.parametrize("style", STYLES)
def test_long_texts_and_files_are_encoded_as_short_ones(tokenizers_of_styles, style, cut_everywhere, sizes, tmp_path):
    tokenizer, rng = tokenizers_of_styles[style], random.Random(5)
    text = "".join(rng.choices(WORDS, k=3000))
    wanted = ids_of(text, style)
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
    for sized in {}, {"text_window": 50}, {"text_window": 1000, "window": 300}:
        sizes(**sized)
        assert tokenizer.encode(text, allowed_special="all") == wanted
        assert tokenizer.encode_array(text.encode(), allowed_special="all").tolist() == wanted
        assert tokenizer.count(text, allowed_special="all") == len(wanted)
        assert list(tokenizer.encode_iterable([text[:700], text[700:]], allowed_special="all")) == wanted
    for n in 50, 1000:
        cut_everywhere(n)
        path = tmp_path / f"{n}.bin"
        tokenizer.encode_file(tmp_path / "text.txt", path, allowed_special="all")
        assert nbbpe.TokenFile(path).ids.tolist() == wanted


@pytest.mark.parametrize("style", STYLES)
def test_what_is_saved_and_written_is_what_was_read(tokenizers_of_styles, style, tmp_path, sizes):
    tokenizer = tokenizers_of_styles[style]
    text = " the  cat<s>the\u00e9t\u6587 \U0001f600" + SIGN
    for least in (1 << 30, 0):  # without a table, and with one
        sizes(tables=least)
        folder = tmp_path / f"saved {least}"
        tokenizer.save(folder)
        assert nbbpe.load(folder) == tokenizer
        assert nbbpe.load(folder).encode(text) == tokenizer.encode(text)
    tokenizer.to_hf(tmp_path / "again.json")
    assert nbbpe.load(tmp_path / "again.json") == tokenizer
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert again["model"]["vocab"] == VOCAB
    assert again["model"]["byte_fallback"] is True
    assert again["pre_tokenizer"] == (None if style == "Gemma" else STYLES[style]["pre_tokenizer"])


def test_a_reduced_one_encodes_as_the_file_that_is_written(tokenizers_of_styles, tmp_path):
    tokenizer = tokenizers_of_styles["Llama 2"]
    dropped = [tokenizer.token_to_id(token) for token in (" the", "cat", "\u00e9")]
    for renumber in True, False:
        smaller, _ = tokenizer.drop(dropped, renumber=renumber)
        assert smaller.decode(smaller.encode("the caf\u00e9 cat")) == "the caf\u00e9 cat"
        assert smaller.token_to_id("\u00e9") is None
        if renumber:
            smaller.to_hf(tmp_path / "smaller.json")
            assert nbbpe.load(tmp_path / "smaller.json") == smaller


def test_tokens_are_found_by_their_text(tokenizers_of_styles):
    tokenizer = tokenizers_of_styles["Gemma"]
    assert [tokenizer.token_to_id(token) for token in ("A", b"\n", " the", b"\xc3")] == [
        VOCAB[token] for token in ("A", "\n", f"{SIGN}the", "<0xC3>")
    ]
    assert tokenizer.id_to_token(VOCAB["<0x41>"]) == tokenizer.id_to_token(VOCAB["A"]) == b"A"
    assert tokenizer.decode([VOCAB["<0x41>"], VOCAB[f"{SIGN}the"], VOCAB["<0xC3>"], VOCAB["<0xA9>"]]) == "A the\u00e9"


@pytest.mark.parametrize("style", ["Gemma", "Llama 2", "Yi", "always", "first", "never", "first, split"])
def test_decoding_drops_the_space_that_encoding_adds(tokenizers_of_styles, style):
    tokenizer = tokenizers_of_styles[style]
    texts = ["the cat", "", "\u4e2d", "\u6587t", "th\ue000", "t<s>"]
    if style in ("Gemma", "Llama 2", "Yi", "never"):  # the others add none to a text that begins with one
        texts.append("   the")
    rows = [tokenizer.encode_ordinary(text) for text in texts]
    assert [tokenizer.decode(ids) for ids in rows] == [tokenizer.decode(np.array(ids, int)) for ids in rows] == texts
    assert tokenizer.decode_batch(rows) == texts
    assert tokenizer.decode_bytes_batch(rows) == [text.encode() for text in texts]
    for text, ids in zip(texts, rows, strict=True):
        decoder = tokenizer.stream_decoder()
        for _ in range(2):
            assert "".join([*map(decoder.push, ids), decoder.finish()]) == text
            assert decoder.feed([]) + decoder.feed(ids[:1]) + decoder.feed(ids[1:]) + decoder.finish() == text
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    column = arrow.array([*rows, None, *rows])
    assert tokenizer.decode_arrow(column).to_pylist() == [*texts, None, *texts]
    assert tokenizer.decode_arrow(column[3:]).to_pylist() == [*texts, None, *texts][3:]


def test_only_a_space_at_the_beginning_is_dropped(tokenizers_of_styles):
    tokenizer = tokenizers_of_styles["Llama 2"]
    ids = tokenizer.encode("the<s>cat", allowed_special="all")
    assert tokenizer.decode(ids) == "the<s> cat"
    assert tokenizer.decode(ids[1:]) == "<s> cat"
    assert tokenizer.decode(ids[1:], skip_special_tokens=True) == "cat"
    assert tokenizer.decode_with_offsets(ids) == ("the<s> cat", [0, 3, 6])
    assert tokenizer.decode_with_offsets(tokenizer.encode(" th\u00e9")) == (" th\u00e9", [0, 1, 3])
    assert tokenizer.decode_with_offsets([VOCAB[SIGN], VOCAB["the"]]) == ("the", [0, 0])
    assert tokenizer.decode_with_offsets([VOCAB["the"], VOCAB[SIGN]]) == ("the ", [0, 3])


def test_the_command_decodes_what_it_encoded(tokenizers_of_styles, tmp_path, monkeypatch):
    tokenizers_of_styles["Llama 2"].save(tmp_path / "tok")
    data = b"the cat\xff\xe4\xb8 \n the\xc3"
    (tmp_path / "text.txt").write_bytes(data)
    monkeypatch.setattr("nbbpe.cli.streams._BLOCK", 8)
    for command in ("encode", "text.txt", "-o", "ids.bin"), ("decode", "ids.bin", "-o", "again.txt"):
        paths = [tmp_path / part if "." in part else part for part in command]
        assert cli.main([*map(str, paths), "-t", str(tmp_path / "tok")]) == 0
    assert (tmp_path / "again.txt").read_bytes() == data


def test_bytes_of_invalid_utf8_become_tokens_of_bytes(tokenizers_of_styles):
    tokenizer = tokenizers_of_styles["Gemma"]
    data = b"the\xe4\xb8 \xc3the\xc3\xa9\xa9\xff\x80"  # the beginning of U+4E2D, and what goes on with none
    ids = tokenizer.encode(data)
    assert tokenizer.decode_bytes(ids) == data
    wanted = ["the", "<0xE4>", "<0xB8>", SIGN, "<0xC3>", "the", "\u00e9", "<0xA9>", "<0xFF>", "<0x80>"]
    assert ids == [VOCAB[token] for token in wanted]
    assert tokenizer.encode(data.decode(errors="surrogateescape")) == ids
    assert tokenizer.encode(data * 1000) == ids * 1000
    assert tokenizer.decode_bytes(tokenizer.encode("\ud800")) == b"\xed\xa0\x80"
    # The byte that separates texts, in one that is cut nowhere, and not left as it is.
    assert tokenizer.encode(b"\xff\xff" + SIGN.encode()) == [VOCAB[token] for token in ("<0xFF>", "<0xFF>", SIGN)]


def test_added_tokens_that_are_not_special(tmp_path):
    """One that is normalized is looked for where a space is a sign of it, or not yet, as with Metaspace."""
    for style in STYLES:
        content = document(style)
        content["added_tokens"].append(added("th cat", len(VOCAB), normalized=True, special=False))
        tokenizer = nbbpe.load(written(tmp_path, content))
        ids = tokenizer.encode("e th cat the", allowed_special="all")
        # With a space in front, by the normalizer, it is looked for with one, too.
        assert ids.count(len(VOCAB)) == 1, style
    content["added_tokens"][-1] = added("\u00e8", len(VOCAB))
    tokenizer = nbbpe.load(written(tmp_path, content))
    assert tokenizer.encode("e\u00e8", allowed_special="all")[-1] == len(VOCAB)
    tokenizer.to_hf(tmp_path / "again.json")  # not as a character of the vocabulary
    assert nbbpe.load(tmp_path / "again.json") == tokenizer
    smaller, _ = tokenizer.drop([VOCAB["cat"]], renumber=False)
    with pytest.raises(ValueError, match="special token '\u00e8' is a character, and has the id"):
        smaller.to_hf(tmp_path / "again.json")


def test_added_tokens_that_are_tokens_of_the_model(tmp_path):
    """As Gemma's runs of newlines and of spaces: the latter are found where a text has the sign itself."""
    content = document()
    shared = ["\n", "\n\n", SIGN * 2, "the", "e"]
    content["added_tokens"] += [added(token, special=False) for token in shared]
    tokenizer = nbbpe.load(written(tmp_path, content))
    assert tokenizer.encode("a\n\n\nthe") == [VOCAB[token] for token in ("a", "\n\n", "\n", "the")]
    assert tokenizer.encode_ordinary("a\n\n\nthe") == tokenizer.encode("a\n\n\nthe")
    assert tokenizer.encode(f"a  {SIGN * 2}") == [VOCAB[token] for token in ("a", SIGN * 2, SIGN * 2)]
    assert tokenizer.encode_ordinary(f"a  {SIGN * 2}") == [VOCAB[token] for token in ("a", SIGN * 4)]
    assert tokenizer.decode([VOCAB[SIGN * 2]]) == "  "
    tokenizer.save(tmp_path / "saved")
    tokenizer.to_hf(tmp_path / "again.json")
    assert nbbpe.load(tmp_path / "saved") == nbbpe.load(tmp_path / "again.json") == tokenizer
    assert tokenizer.with_special_tokens(["<pad>"]).encode("the<pad>") == [VOCAB["the"], len(VOCAB)]
    with pytest.raises(ValueError, match=r"is an added token, too, so it cannot be dropped"):
        tokenizer.drop([VOCAB["the"]])


def test_a_special_token_that_is_spelled_like_another_token_is_not_written(tokenizers_of_styles, tmp_path):
    """Here they have other bytes: the sign, and a space."""
    larger = tokenizers_of_styles["Gemma"].with_special_tokens([f"{SIGN}the"])
    assert larger.encode(f"the the{SIGN}the") == [VOCAB["the"], VOCAB[f"{SIGN}the"], len(VOCAB)]
    with pytest.raises(
        ValueError, match=f"special token '{SIGN}the' .* is spelled like token .* \\(id {VOCAB[SIGN + 'the']}\\)"
    ):
        larger.to_hf(tmp_path / "larger.json")
    assert not (tmp_path / "larger.json").exists()


def test_merges_of_which_no_text_has_some(tmp_path, tokenizers_of_styles):
    """(the, the sign of a space) is listed nowhere; of `the`, (t, he) comes first, so that (th, e) is never used."""
    merges = tokenizers_of_styles["Gemma"].merges
    assert (b"th", b"e") in merges
    assert (b"t", b"he") not in merges
    assert len(merges) < len(MERGES)
    # Two of one token, which both are used: the second where its side came later than the token.
    odd = [["h", "e"], ["t", "he"], ["t", "h"], ["th", "e"], ["ca", "t"], ["c", "a"]]
    tokenizer = nbbpe.load(written(tmp_path, document(merges=odd)))
    known = {token: token_id for token, token_id in VOCAB.items() if token not in {*SPECIAL, *SPELLED}}
    for text in "the", "cat", "thcahecat", "tthhee":
        wanted = naive.encode_characters(text, list(map(tuple, odd)), known, [VOCAB[each] for each in SPELLED])
        assert tokenizer.encode(text) == wanted
    assert len(nbbpe.load(written(tmp_path, document(merges=[]))).encode("the cat")) == 7


@pytest.mark.parametrize("scheme", ["always", "never"])
def test_metaspace_of_older_versions(tmp_path, scheme):
    content = document("always")
    content["pre_tokenizer"] = {"type": "Metaspace", "replacement": SIGN, "add_prefix_space": scheme == "always"}
    wanted = document("always")
    wanted["pre_tokenizer"] = metaspace(scheme, True)
    assert nbbpe.load(written(tmp_path, content)) == nbbpe.load(written(tmp_path, wanted))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pre_tokenizer": {"type": "Digits", "individual_digits": True}},
            "pre_tokenizer is Digits; with a vocabulary of ch",
        ),
        (
            {"normalizer": sequence(REPLACE, {"type": "Prepend", "prepend": 1})},
            "normalizer Prepend needs a text, and has 1",
        ),
        (
            {"pre_tokenizer": {**metaspace("first"), "prepend_scheme": []}},
            "Metaspace is not known with a vocabulary of char",
        ),
        ({"pre_tokenizer": {**metaspace("first"), "replacement": "_"}}, "Metaspace is not known with a vocabulary of char"),
        ({"normalizer": None, "pre_tokenizer": None}, f"nothing replaces a space by {SIGN}"),
        (
            {"normalizer": sequence(REPLACE, {"type": "NFC"})},
            f"normalizer has 'NFC' after each space is replaced by {SIGN}",
        ),
        ({"decoder": {"type": "WordPiece"}}, "decoder is 'WordPiece', which turns tokens into other text"),
        ({"model": {"ignore_merges": True}}, "ignore_merges is true, and nbbpe cannot honour it with byte_fallback"),
        ({"model": {"merges": [["t", "x"]]}}, r"model.merges: number 0 is \['t', 'x'\], and 'x' is not in model.vocab"),
        ({"model": {"merges": [["t", "h"], ["t", "h"]]}}, "model.merges has one pair twice"),
        ({"model": {"merges": [["t", "h", "e"]]}}, r"number 0 must be two tokens, and is \['t', 'h', 'e'\]"),
        ({"model": {"merges": [["t", "h"], "t he"]}}, "they must all be strings, or all lists"),
        (
            {"model": {"vocab": {"_" if text == SIGN else text: i for text, i in VOCAB.items()}, "merges": []}},
            "has no \u2581",
        ),
        ({"model": {"vocab": {**VOCAB, " ": 5000}}}, f"model.vocab: ' ' has a space, where {SIGN} stands for each"),
        ({"model": {"vocab": {**VOCAB, "t ": 5000, " ": 5001}, "merges": [["t", " "]]}}, "model.vocab: 't ' has a space"),
        ({"added_tokens": [added("<0x41>")]}, "added token '<0x41>' is also the token of a byte"),
        ({"model": {"vocab": {**VOCAB, "the ": 5000, f"the{SIGN}": 5001}}}, "'the ' and 'the\u2581' both stand for"),
        ({"model": {"vocab": {**VOCAB, "x": 270}}}, "id 270 is given to"),
        ({"model": {"vocab": {**VOCAB, "x": -1}}}, "'x' has the id -1; ids must be from 0"),
        ({"model": {"vocab": {**VOCAB, "\ud800": 5000}}}, "holds a lone surrogate"),
        (
            {"added_tokens": [added("<s>", lstrip=True, normalized=True)]},
            "'<s>' has lstrip or rstrip, and is searched in text where spaces are \u2581",
        ),
    ],
)
def test_what_cannot_be_honoured_is_named(tmp_path, change, message):
    model = change.pop("model", {})
    content = {**document("Gemma", **model), **change}
    with pytest.raises(ValueError, match=message) as caught:
        nbbpe.load(written(tmp_path, content))
    assert str(caught.value).startswith(str(tmp_path))


def test_a_character_may_take_the_place_of_its_byte(tmp_path, sizes):
    """As in Gemma 1 and 2, where the token of the tab has the id that <0x09> has in others."""
    vocab = {("\t" if token == "<0x09>" else token): token_id for token, token_id in VOCAB.items()} | {"\t\t": len(VOCAB)}
    merges = [*MERGES, ["\t", "\t"]]
    tokenizer = nbbpe.load(written(tmp_path, document(vocab=vocab, merges=merges)))
    other = nbbpe.load(written(tmp_path, document(vocab={**vocab, "<0x09>": len(vocab)}, merges=merges)))
    data = b"the\t\t\tcat\t \xff\t\xc3\t\t\t\t\xe4\xb8\xad\t"
    ids = tokenizer.encode(data)
    assert ids == other.encode(data)
    assert {vocab["\t"], vocab["\t\t"]} < set(ids)
    assert tokenizer.decode_bytes(ids) == data
    assert (tokenizer.token_to_id("\t"), tokenizer.id_to_token(vocab["\t"])) == (vocab["\t"], b"\t")
    for least in (1 << 30, 0):  # without a table, and with one
        sizes(tables=least)
        tokenizer.save(tmp_path / f"saved {least}")
        assert nbbpe.load(tmp_path / f"saved {least}") == tokenizer
    tokenizer.to_hf(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["model"]["vocab"] == vocab
    assert nbbpe.load(tmp_path / "again.json") == tokenizer
    smaller, new_ids = tokenizer.drop([vocab["the"], vocab[f"{SIGN}the"]])
    assert smaller.decode_bytes(smaller.encode(data)) == data
    assert smaller.token_to_id("\t") == new_ids[vocab["\t"]]
    larger = tokenizer.extend(vocab_size=tokenizer.vocab_size + 2, documents=[data] * 9)
    assert larger.decode_bytes(larger.encode(data)) == data
    with pytest.raises(ValueError, match=r"is the byte b'\\t', which cannot be dropped"):
        tokenizer.drop([vocab["\t"]])


def test_the_token_of_a_byte_may_be_missing_for_ascii_only(tmp_path):
    for byte in ("<0x41>", "<0xC3>"):
        vocab = {token: token_id for token, token_id in VOCAB.items() if token not in (byte, "A")} | {"\u00c3": len(VOCAB)}
        with pytest.raises(ValueError, match="byte_fallback and its 256 tokens only"):
            nbbpe.load(written(tmp_path, document(vocab=vocab)))


def test_merges_may_be_strings(tmp_path, tokenizers_of_styles):
    """Also those with newlines, which lines could not hold."""
    merges = list(map(" ".join, MERGES))
    assert "\n \n" in merges
    assert nbbpe.load(written(tmp_path, document(merges=merges))) == tokenizers_of_styles["Gemma"]
    for merge, place in ("thecat", 0), ("t h e", 1):
        with pytest.raises(ValueError, match=rf"model.merges: number {place} must be two tokens, and is '{merge}'"):
            nbbpe.load(written(tmp_path, document(merges=[*merges[:place], merge, *merges])))


def test_a_merge_of_a_byte_is_refused(tmp_path):
    vocab = {**VOCAB, "<0x41>t": len(VOCAB)}
    with pytest.raises(ValueError, match=r"model.merges\[0\] is \['<0x41>', 't'\], which has a token of a byte"):
        nbbpe.load(written(tmp_path, document(vocab=vocab, merges=[["<0x41>", "t"]])))


def test_a_config_that_denies_the_space_in_front_is_refused(tmp_path):
    """Of LlamaTokenizer, transformers does what the config says, and of PreTrainedTokenizerFast what the file says."""
    for style, has_space in {"Gemma": False, "Llama 2": True, "first": True, "always": True, "never": False}.items():
        written(tmp_path, document(style))
        for said in True, False, None:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps({"add_prefix_space": said}))
            if said is False and has_space:
                with pytest.raises(ValueError, match=r"add_prefix_space is False, and in tokenizer\.json it is True"):
                    nbbpe.load(tmp_path)
            else:
                nbbpe.load(tmp_path)


def words_of(tokenizer: nbbpe.Tokenizer, text: str) -> list[bytes]:
    """The pretokens of a text, with a space for each \u2581."""
    return [word.encode() for word in get_pattern(tokenizer.pattern).split(text.replace(SIGN, " "))]


@pytest.mark.parametrize("style", ["Gemma", "Llama 2"])
def test_an_extended_one_has_more_merges_of_characters(tokenizers_of_styles, style, tmp_path):
    tokenizer, rng = tokenizers_of_styles[style], random.Random(9)
    text = "".join(rng.choices([*"thecat,. \n\u00e9\u4e2d\u6587\U0001f601", "the", " cat", " hat", "\u6587\u6587"], k=2000))
    larger = tokenizer.extend(documents=[text], vocab_size=tokenizer.vocab_size + 12)
    new = [larger.id_to_token(tokenizer.vocab_size + i).decode() for i in range(12)]  # which is no part of a character
    assert not set("".join(new)) & set("\u6587\U0001f601")
    larger.to_hf(tmp_path / "larger.json")
    loaded = nbbpe.load(tmp_path / "larger.json")
    found = json.loads((tmp_path / "larger.json").read_text())["model"]
    known = {token: i for token, i in found["vocab"].items() if token not in {*SPECIAL, *SPELLED}}
    for _ in range(100):
        part = text[rng.randrange(1900) :][: rng.randrange(60)]
        wanted = [
            token_id
            for each in spelled(part, style, True)
            for token_id in naive.encode_characters(
                each, list(map(tuple, found["merges"])), known, [found["vocab"][each] for each in SPELLED]
            )
        ]
        assert larger.encode(part) == loaded.encode(part) == wanted


@pytest.mark.parametrize("seed", range(5))
def test_the_first_new_token_is_of_the_most_frequent_pair(tokenizers_of_styles, seed):
    tokenizer, rng = tokenizers_of_styles["Gemma"], random.Random(seed)
    text = "".join(rng.choices([*"thecat,.\n\u00e9\u4e2d\u6587\x1b", " ", "the", " cat"], k=300))
    counts: dict[tuple[bytes, bytes], int] = {}
    byte_ids = {VOCAB[each] for each in SPELLED}
    for word in words_of(tokenizer, text):
        for left, right in pairwise(ids_of(word.decode(), "Gemma")):
            if not byte_ids & {left, right}:
                pair = tokenizer.id_to_token(left), tokenizer.id_to_token(right)
                counts[pair] = counts.get(pair, 0) + 1
    left, right = max(counts, key=lambda pair: (counts[pair], pair))
    larger = tokenizer.extend(documents=[text], vocab_size=tokenizer.vocab_size + 1)
    assert larger.id_to_token(tokenizer.vocab_size) == left + right


def test_it_is_extended_by_counts_of_any_words_and_by_seeds(tokenizers_of_styles):
    tokenizer = tokenizers_of_styles["Gemma"]
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    words = [b"the\xe4\xb8", b"\xadcat", "\u6587\u6587".encode(), "the\u6587".encode(), b"\xff\xff", b"eth"]
    table = pa.table({"word": pa.array(words, pa.binary()), "count": pa.array([9] * len(words), pa.int64())})
    with pytest.warns(UserWarning, match="changes text before it splits it"):
        larger = tokenizer.extend(counts=table, vocab_size=tokenizer.vocab_size + 1)
    assert larger.id_to_token(tokenizer.vocab_size) == b"eth"
    rules = nbbpe.TokenRules(seeds=["tat", "t\u00e9e"])
    seeded = tokenizer.extend(documents=[], rules=rules)
    assert {b"tat", "t\u00e9e".encode()} <= set(seeded.vocab.values())
    with pytest.raises(ValueError, match="cannot be a token: it has a character that the vocabulary lacks"):
        tokenizer.extend(documents=[], rules=nbbpe.TokenRules(seeds=["tat", "th\u00e8"]))


def test_words_that_are_cut_stay_in_their_groups(tokenizers_of_styles):
    """Groups are the words of sources that are compressed alike."""
    words = ["the\u6587cat", "cat", "\u6587\u6587", "\u00e9t\u6587", "the"]
    groups = Groups(np.array([0, 2, 3, 5]), np.array([9, 9, 9]), np.arange(3), 0)
    stage = Stage(words_from_texts(dict.fromkeys(words, 2)), 300, groups)
    cut = stage_of_characters(tokenizers_of_styles["Gemma"]._model, stage)
    assert len(cut.words.counts) > len(words)
    found = [
        cut.words.text[slice(*cut.words.starts[[first, end]])].tobytes().decode()
        for first, end in pairwise(cut.groups.starts)
    ]
    assert found == ["".join(words[:2]), words[2], "".join(words[3:])]


def test_it_has_a_report(tokenizers_of_styles, tmp_path):
    tokenizer = tokenizers_of_styles["Gemma"]
    text = "the cat, \u6587\u4e2d\u00e9t the cat the\u6587 hat\n\n" * 3
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
    found = tokenizer.report(tmp_path / "report.html", tmp_path / "text.txt")
    row = found.texts[0]
    assert (row.n_bytes, row.n_tokens) == (len(text.encode()), len(tokenizer.encode_ordinary(text)))
    for size, rate in zip(found.vocab_sizes, row.bytes_per_token_by_size, strict=True):
        smaller, _ = tokenizer.truncate(size)
        assert rate == row.n_bytes / len(smaller.encode_ordinary(text))
    with pytest.warns(UserWarning, match="has pairs for only"):
        larger = tokenizer.extend(documents=[text], vocab_size=2 * len(tokenizer), min_frequency=2)
    assert row.bytes_per_token_doubled == row.n_bytes / len(larger.encode_ordinary(text))


def test_what_is_only_for_bytes_is_refused(tokenizers_of_styles, tmp_path):
    tokenizer = tokenizers_of_styles["Llama 2"]
    with pytest.raises(ValueError, match="and has a vocabulary of characters, which a file of ranks cannot express"):
        tokenizer.save_tiktoken(tmp_path / "ranks.tiktoken")
    assert not (tmp_path / "ranks.tiktoken").exists()


def test_a_changed_folder_is_named(tokenizers_of_styles, tmp_path):
    folder = tmp_path / "saved"
    tokenizers_of_styles["Gemma"].save(folder)
    about = json.loads((folder / "nbbpe.json").read_text())
    for fallback, message in (
        ([1, 2], "byte_fallback must be the ids of 256 tokens"),
        ([*about["byte_fallback"][:255], 3], "byte_fallback must be the ids of 256 tokens"),
        ([*about["byte_fallback"][1:], 0], "byte_fallback has the id 4, which must be <0x00>, and is b'<0x01>'"),
        ([-1, *about["byte_fallback"][1:]], r"vocab lacks 1 of the 256 single bytes.*: b'\\x00'"),
    ):
        (folder / "nbbpe.json").write_text(json.dumps({**about, "byte_fallback": fallback}))
        with pytest.raises(ValueError, match=message):
            nbbpe.load(folder, check=False)


# Beside tokenizers

HARD = [
    *WORDS,
    *["e\u0301", "\u00a0", "\u3000", "\ufb01", "\u0130", "\u0378", "\r\n\t", "3.14", "don't", "<unk>", "\u65e5\u672c"],
]


def trained(rng: random.Random, corpus: str, size: int) -> tuple[dict[str, int], list[Any]]:
    """A vocabulary of characters and its merges, trained by tokenizers: of each token one merge, or all."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    theirs.normalizer = tokenizers.normalizers.Replace(" ", SIGN)
    if rng.random() < 0.7:
        theirs.pre_tokenizer = tokenizers.pre_tokenizers.Split(SIGN, "merged_with_next")
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *SPELLED],
        limit_alphabet=rng.randrange(60, 600),
        max_token_length=12,
        show_progress=False,
    )
    theirs.train_from_iterator([corpus[i : i + 2000] for i in range(0, len(corpus), 2000)], trainer)
    model = json.loads(theirs.to_str())["model"]
    vocab = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    merges = model["merges"] if rng.random() < 0.3 else all_splits(vocab)
    if rng.random() < 0.1:
        rng.shuffle(merges)
    return vocab, merges


@pytest.mark.exhaustive
def test_ids_are_those_of_tokenizers(shared, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    names = ["books_en", "bible_multilingual", "cjk", "code_rails", "scripts_extra"]
    corpora = [(shared / "text" / f"{name}.txt").read_bytes()[:60_000].decode(errors="ignore") for name in names]
    for seed in examples(range(4), range(60)):
        rng = random.Random(seed)
        corpus = rng.choice(corpora)
        vocab, merges = trained(rng, corpus, rng.choice([500, 1500, 3000]))
        content = document(rng.choice(list(STYLES)), vocab=vocab, merges=merges)
        content["added_tokens"] = [added(token, vocab[token], rstrip=rng.random() < 0.3) for token in SPECIAL]
        for token in rng.sample(list(vocab)[259:], 3):  # of the text that it is written as
            content["added_tokens"].append(added(token, vocab[token], special=False))
        path = written(tmp_path, content)
        theirs, ours = tokenizers.Tokenizer.from_file(str(path)), nbbpe.load(path)
        pieces = [corpus[at : at + rng.randrange(40)] for at in rng.choices(range(len(corpus)), k=60)]
        documents = ["".join(rng.choices([*HARD, *pieces], k=rng.randrange(12))) for _ in range(100)] + [corpus[:9000]]
        wanted = [each.ids for each in theirs.encode_batch(documents, add_special_tokens=False)]
        assert ours.encode_batch(documents, allowed_special="all") == wanted, (seed, path)
        ours.to_hf(tmp_path / "again.json")
        again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
        assert [each.ids for each in again.encode_batch(documents, add_special_tokens=False)] == wanted


def test_the_class_for_transformers_gives_what_its_own_class_gives(tmp_path):
    transformers = pytest.importorskip("transformers", reason='needs transformers: pip install "nbbpe[hf]"')
    from nbbpe.hf import NbbpeTokenizerFast

    for style in "Gemma", "Llama 2", "first":
        written(tmp_path, document(style))
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
        theirs, ours = (
            each.from_pretrained(tmp_path) for each in (transformers.PreTrainedTokenizerFast, NbbpeTokenizerFast)
        )
        text = "the cat  \u6587 \U0001f600,.<s>the A"
        wanted, found = (each(text, return_offsets_mapping=True) for each in (theirs, ours))
        assert dict(found) == dict(wanted)
        assert found.word_ids() == wanted.word_ids()
        assert ours.decode(found["input_ids"]) == theirs.decode(wanted["input_ids"])
        assert ours.tokenize(text) == theirs.tokenize(text)


# The parts

PIECES = st.sampled_from(
    [
        b"a" * 70,
        b"a",
        *map(str.encode, "\u00e9\u4e2d\U0001f600\u6587\u00ff\U000e0001"),
        b"\xc3",
        b"\xa9",
        b"\xe4\xb8",
        b"\xff",
        b"\xed\xa0\x80",
    ]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(0, 5))
def test_the_kernel_finds_what_its_twin_finds(data, room):
    known = {*"\u00e9\u4e2d\U0001f600"}
    bits = np.zeros(8 * KNOWN_BYTES, dtype=np.bool_)
    bits[list(map(ord, known))] = True
    places = np.full(room, -1, dtype=np.int64)
    text = np.frombuffer(data, dtype=np.uint8)
    n_found = find_unknown(text, np.packbits(bits, bitorder="little"), places)
    wanted = naive.find_unknown(data, known)
    assert n_found == len(wanted)
    assert places[:n_found].tolist() == wanted[:room]
    fallback = ByteFallback(known)
    assert fallback.places(data).tolist() == wanted
    assert fallback.leaves(data) == (not wanted)
    text = data.decode(errors="surrogateescape")
    assert fallback.leaves(text) == known.issuperset(each for each in text if each > "\x7f")
    assert fallback.leaves(text * 600) == (not naive.find_unknown(data * 600, known))


def test_characters_of_every_length_are_told_from_other_tokens():
    characters = ["\x80", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff"]
    tokens = [*"a\x7f", "ab", "abc", "\u00e9a", "\u00e9\u00e9", "\u4e2da", *characters]
    found = characters_of(PackedVocab.of_list([token.encode() for token in tokens]))
    assert [token.decode() for token in found.values()] == characters


def test_all_of_ascii_needs_no_token_and_the_last_character_may_have_one():
    fallback = ByteFallback(["\u00e9", "\U0010ffff"])
    for text in "\u00e9\x7f", "\u00e9\x80", "\u00e9\U0010ffff":
        for form in text, text.encode():
            assert fallback.leaves(form) == ("\x80" not in text), form


def test_what_is_in_a_break_stays():
    breaks = np.array([[2, 5, 7], [9, 10, CUT]])
    fallback = ByteFallback([])
    data, found = fallback.cut("\u00e9\u4e2d\u00e8a\u4e2d".encode()[:9] + b"\xff" + "\u00e9".encode(), breaks)
    assert found.tolist() == [[1, 2, CUT], [3, 6, 7], [7, 8, CUT], [11, 12, CUT], [13, 14, CUT]]
    assert data == b"\xc3\xff\xa9\xe4\xb8\xad\xc3\xff\xa8a\xe4\xff\xc3\xff\xa9"
    signs = f"{SIGN}a{SIGN}b{SIGN}".encode()
    data, found = without_signs(signs, np.array([[4, 7, 5]]))
    assert (data, found.tolist()) == (f" a{SIGN}b ".encode(), [[2, 5, 5]])


TOKEN_TEXTS = st.lists(st.text(st.sampled_from(" \n\u4e2d\u00e9e1,"), min_size=1, max_size=4), max_size=12)


@given(TOKEN_TEXTS, st.text(st.sampled_from(" \n\u4e2d\u00e9e1,"), max_size=20), st.booleans())
def test_a_class_pattern_cuts_where_no_token_could_be(tokens, text, before_spaces):
    joins = class_joins(tokens)
    if before_spaces:
        joins[:, SPACE] = False
    regex = class_pattern(joins)
    assert np.array_equal(joins_of([] if regex is None else [regex]), joins)
    parts = [text] if regex is None else get_pattern(regex).split(text)
    assert "".join(parts) == text
    ends = set(np.cumsum(list(map(len, parts))).tolist())
    of = {" ": 0, "\n": 1, "\u4e2d": 2, "\u00e9": 3, "e": 3, "1": 4, ",": 5}
    joined = {(of[a], of[b]) for token in tokens for a, b in pairwise(token) if not (before_spaces and b == " ")}
    assert ends == {at for at in range(1, len(text)) if (of[text[at - 1]], of[text[at]]) not in joined} | {len(text)} - {0}


def test_other_patterns_are_no_class_patterns():
    for regex in r"\w+", "(?:a(?=b))*(?s:.)", "(?s:.)x", "(?:)*(?s:.)":
        assert joins_of([regex]) is None
    assert joins_of([r"(?s:.)", r"(?s:.)"]) is None
    assert not joins_of([r"(?s:.)"]).any()
