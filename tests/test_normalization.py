"""Normalizers: ids equal those of tokenizers on hard texts, however a text comes and wherever it is cut."""

from __future__ import annotations

import functools
import json
import os
import pickle
import random
import re
import unicodedata
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import texts
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from limits import takes_memory_below, takes_seconds_below
from records import compress
from timing import seconds
from vocabularies import BYTES

import nbbpe
from nbbpe import inspection
from nbbpe.encoding import threads
from nbbpe.encoding.normalizing_encoder import NormalizingEncoder
from nbbpe.formats.vocab_json.spelling import spell
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.model.extras import Extras
from nbbpe.model.model import Model
from nbbpe.model.packed_vocab import PackedVocab
from nbbpe.patterns.character_classes import character_classes
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import Tally, find_inputs
from nbbpe.text import normal_check, normalization, windows
from nbbpe.text.chunks import CutRules
from nbbpe.text.normal_characters import FORMS, changing_characters, joining_characters
from nbbpe.text.rewriting import RewritingReader
from nbbpe.text.utf8 import padded, to_bytes
from nbbpe.text.windows import NO_ID

pytestmark = pytest.mark.usefixtures("guarded_arrays")

tokenizers = pytest.importorskip("tokenizers", reason="needs Hugging Face's tokenizers")

NO_BREAKS = np.empty((0, 3), dtype=np.int64)

END = texts.SPECIAL
TOOL = "<e\u0301|>"  # a special token that is not in a normal form
SPECIAL = [END, TOOL]

JAMO = unicodedata.normalize("NFD", "한국어 각간")
HARD = [
    "",
    "plain ASCII, 'tis",
    "na\u00efve caf\u00e9",  # in NFC
    "e\u0301",
    "\u0301e\u0301 x",  # a mark at the start
    f"{END}\u0301a{END}e\u0301",  # a mark after a special token stays alone
    f"a{END}\u0338b<\u0338|>\u0338",  # and what is next to one does not make it another
    f"{TOOL}<\u00e9|>{TOOL}\u0301",
    "<|endoftext|\u003e\u0338 <|endoftext|\u226f",
    JAMO,
    "\u1112\u1161\u11ab \u1100\u1161 \uac00\u11a8\u11a8",
    "a" + "\u0301\u0323" * 40 + "b",
    "q\u0307\u0323 \u1e0b\u0323 d\u0323\u0307 s\u0323\u0307",
    "\u212b\u2126\u212a\u037e\u1fef\u00b4",  # each becomes another single character
    "\u0958\u0959 \u0928\u093c\u0915\u093c",  # compositions that NFC takes apart
    "\u09c7\u09be\u0bc6\u0bbe\u0dd9\u0dcf\u0dca\U000110a5\U000110ba\U00011131\U00011127",
    "\u0f71\u0f72\u0f74\u0f73\u0f81\u0f75",  # marks of class 0 that become marks of others
    "\ufb01\u2460\uff76\uff9e\u00bd\u33a5\ufdfa\u1e9b\u0323",
    "中文字\u304b\u3099\u30cf\u309a文",
    "\u0958" * 9 + "\u0301" * 9 + JAMO * 5,
    "x=\u0338 <\u0338 >\u0338 K\u0327 i\u0307\n\u0308 \u0301\t\u0301",
    texts.SAMPLE,
    unicodedata.normalize("NFD", texts.SAMPLE),
    unicodedata.normalize("NFKD", texts.SAMPLE) * 3,
]


@pytest.fixture(autouse=True)
def by_kernel(sizes):
    """Texts are checked as long ones are, whatever their length."""
    sizes(normal_form=0, normal_form_checked=1)


@pytest.fixture(scope="module")
def plain() -> nbbpe.Tokenizer:
    """Tokens of characters in all normal forms, and no normalizer."""
    corpus_texts = [unicodedata.normalize(form, "".join(HARD)) for form in FORMS] * 2
    found = nbbpe.train(iter(corpus_texts), 700, pattern="qwen2")
    return found.with_special_tokens(SPECIAL)


def with_normalizer(tokenizer: nbbpe.Tokenizer, form: str | None, pattern: str = "qwen2") -> nbbpe.Tokenizer:
    special = tokenizer.special_tokens
    return nbbpe.Tokenizer(tokenizer.vocab, tokenizer.merges, special, pattern, normalizer=form)


@pytest.fixture(scope="module", params=FORMS)
def form(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def ours(plain, form) -> nbbpe.Tokenizer:
    return with_normalizer(plain, form)


@pytest.fixture(scope="module")
def nfc(plain) -> nbbpe.Tokenizer:
    return with_normalizer(plain, "NFC")


def hugging(tokenizer: nbbpe.Tokenizer, form: str) -> Any:
    """As Qwen's file has it, made by tokenizers alone."""
    special = tokenizer.special_tokens
    vocab = {spell(token): i for i, token in tokenizer.vocab.items() if i not in special.values()}
    merges = [(spell(left), spell(right)) for left, right in tokenizer.merges]
    parts = tokenizers.pre_tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=merges))
    made.normalizer = getattr(tokenizers.normalizers, form)()
    split = parts.Split(tokenizers.Regex(NAMED["qwen2"].regex), behavior="isolated")
    made.pre_tokenizer = parts.Sequence([split, parts.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    made.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in special])
    return made


@pytest.fixture(scope="module")
def theirs(plain, form) -> Any:
    return hugging(plain, form)


def normal(text: str | bytes, form: str) -> str | bytes:
    """What a normalizer makes of a text: of each stretch between special tokens by itself."""
    if isinstance(text, bytes):
        made = normal(text.decode(errors="surrogateescape"), form)
        return made.encode(errors="surrogateescape")
    parts = re.split(f"({'|'.join(map(re.escape, SPECIAL))})", text)
    return "".join(part if part in SPECIAL else unicodedata.normalize(form, part) for part in parts)


def expected(plain: nbbpe.Tokenizer, text: bytes, form: str) -> list[int]:
    """The ids of a text by a tokenizer without a normalizer, stretch by stretch."""
    ids: list[int] = []
    for part in re.split(f"({'|'.join(map(re.escape, SPECIAL))})".encode(), text):
        name = part.decode(errors="replace")
        if name in SPECIAL:
            ids.append(plain.special_tokens[name])
        else:
            ids += plain.encode_ordinary(normal(part, form))
    return ids


# Equal to tokenizers


def test_hard_texts_have_the_ids_of_tokenizers(ours, theirs):
    for text in HARD:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids, ascii(text)
    assert sum(ours.encode(text) != with_normalizer(ours, None).encode(text) for text in HARD) > 5


CHARACTERS = "ae\u0301\u0323\u0338> <|\u1100\u1161\u11a8\uac00\u212b\u0f73\u09c7\u09be\uff76\uff9e\u304b\u3099é中'1\n"


@given(text=st.lists(st.sampled_from([*CHARACTERS, *SPECIAL]), max_size=30).map("".join))
def test_any_such_text_has_the_ids_of_tokenizers(ours, theirs, text):
    assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.exhaustive
def test_real_texts_have_the_ids_of_tokenizers(gpt2, form, shared, tmp_path):
    tokenizer = nbbpe.Tokenizer(gpt2.vocab, gpt2.merges, gpt2.special_tokens, normalizer=form)
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for name in "bible_multilingual", "cjk", "scripts_extra", "novels_de":
        data = (shared / "text" / f"{name}.txt").read_bytes()
        text = data[len(data) // 2 :][: examples(10_000, 30_000)].decode(errors="ignore")
        for string in text, unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text):
            assert list(tokenizer.encode_iterable([string])) == theirs.encode(string).ids, name


def test_a_file_of_tokenizers_is_read_with_its_normalizer_and_written_again(theirs, ours, form, tmp_path):
    theirs.save(str(tmp_path / "tokenizer.json"))
    read = nbbpe.load(tmp_path / "tokenizer.json")
    assert read == ours
    assert read.normalizer == form
    assert nbbpe.Tokenizer.from_hf(tmp_path / "tokenizer.json", normalizer="ignore") == with_normalizer(ours, None)
    assert nbbpe.load(theirs) == read
    read.to_hf(tmp_path / "again.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    for text in HARD:
        assert again.encode(text).ids == read.encode(text)


def test_a_sequence_of_one_normal_form_is_that(theirs, ours, form):
    made = json.loads(theirs.to_str())
    made["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [{"type": form}]}]}
    assert nbbpe.load(tokenizers.Tokenizer.from_str(json.dumps(made))) == ours


def test_added_tokens_are_looked_for_in_normalized_text_where_they_say_so(plain):
    made = hugging(plain, "NFC")
    made.add_tokens([tokenizers.AddedToken("<t>", normalized=True)])
    new = made.token_to_id("<t>")
    ours = nbbpe.load(made)
    for text in "<t>x", "<t>\u0338x", "e<t>\u0301":
        assert ours.encode(text) == made.encode(text).ids
    assert new in ours.encode("<t>x")
    assert new not in ours.encode("<t>\u0338x")
    assert nbbpe.Tokenizer.from_hf(made, normalizer="ignore").special_tokens["<t>"] == new


# Every way of encoding


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_every_way_of_encoding_gives_the_same(nfc, plain, text, tmp_path):
    ids = expected(plain, text.encode(), "NFC")
    assert nfc.encode(text) == nfc.encode(text.encode()) == ids
    assert nfc.encode_array(text).tolist() == ids
    assert nfc.count(text) == len(ids)
    assert nfc.encode_batch([text, "x", text]) == [ids, nfc.encode("x"), ids]
    flat, starts = nfc.encode_batch_flat(["\u0301", text, "e", "\u0301"])
    assert flat[starts[1] : starts[2]].tolist() == ids
    assert flat[starts[3] :].tolist() == nfc.encode("\u0301")  # documents do not join
    assert list(nfc.encode_iterable([text])) == list(nfc.encode_iterable(text)) == ids
    padded, mask = nfc.encode_padded([text, "x"], pad_token=END)
    assert padded[0][mask[0]].tolist() == ids
    assert nfc.encode_ordinary(text) == plain.encode_ordinary(normal_ordinary(text))
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8", newline="")
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}) + "\n" + json.dumps({"text": "\u0301" + text}) + "\n")
    assert nfc.encode_file(path, tmp_path / "a.bin") == len(ids)
    assert np.fromfile(tmp_path / "a.bin", dtype=nfc.dtype).tolist() == ids
    end = plain.special_tokens[END]
    nfc.encode_file(iter([text, "e\u0301"]), tmp_path / "b.npy", separator=END, allowed_special="all")
    assert np.load(tmp_path / "b.npy").tolist() == [*ids, end, *nfc.encode("é"), end]
    nfc.encode_file(tmp_path / "a.jsonl", tmp_path / "c.bin", allowed_special="all")
    assert np.fromfile(tmp_path / "c.bin", dtype=nfc.dtype).tolist() == ids + nfc.encode("\u0301" + text)


def normal_ordinary(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+", None])
def test_with_any_pattern(plain, pattern, tmp_path):
    tokenizer = with_normalizer(plain, "NFC", pattern)
    without = with_normalizer(plain, None, pattern)
    for text in HARD:
        ids = expected(without, text.encode(), "NFC")
        assert tokenizer.encode(text) == list(tokenizer.encode_iterable(text)) == ids
        assert tokenizer.encode_batch([text])[0] == ids
        assert tokenizer.count(text) == len(ids)


def test_choices_of_special_tokens_are_made_in_the_text_as_it_is(nfc, plain):
    text = f"e\u0301{TOOL}\u0301{END}\u0301"
    kept = nfc.encode(text, allowed_special={END})
    stretch = f"e\u0301{TOOL}\u0301"
    assert kept == [*plain.encode_ordinary(normal_ordinary(stretch)), plain.special_tokens[END], *plain.encode("\u0301")]
    with pytest.raises(ValueError, match="which is disallowed"):
        nfc.encode(text, allowed_special={END}, disallowed_special="all")
    assert nfc.encode(unicodedata.normalize("NFC", TOOL), disallowed_special={TOOL}) == plain.encode("<\u00e9|>")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"e\xcc",
        b"e\xcc\x81\xff\xcc\x81",
        b"\xcc\x81e\xe1\x84\x80\xe1\x85",
        b"\xa1\xcc\x81e\xcc\x81\x80\x81e\xcc\xa3\xcc",
        b"\xed\xa0\x80e\xcc\x81\xed\xb0\x80",
        b"a\xcc\xcc\x81\xe1\xe1\x84\x92\xe1\x85\xa1",
    ],
)
def test_bytes_that_are_no_utf8_stay_where_they_are(ours, plain, form, data):
    ids = expected(plain, data, form)
    assert ours.encode(data) == ids
    assert ours.encode(data.decode(errors="surrogateescape")) == ids
    assert ours.decode_bytes(ids) == normal(data, form)
    for at in range(len(data) + 1):
        stream = [part for array in ours.encode_stream([data[:at], data[at:]]) for part in array.tolist()]
        assert stream == ids


def test_a_lone_surrogate_is_kept(nfc):
    text = "\ud800e\u0301\udcff"
    assert nfc.decode_bytes(nfc.encode(text)) == b"\xed\xa0\x80\xc3\xa9\xff"


@pytest.mark.parametrize("few", [0, 1 << 12])  # so that the kernel, or `unicodedata` alone, checks short texts
def test_surrogates_may_be_the_bytes_of_a_character(ours, plain, form, few, monkeypatch):
    monkeypatch.setattr(normal_check, "_FEW", few)
    for data in b"e\xcc\x81", "\ufb01 e\u0327\u0301".encode(), "\u1100\u1161 \ud55c".encode(), b"\xc3\xa9\xff e\xcc\x81":
        text = data.decode("ascii", "surrogateescape")
        ids = expected(plain, data, form)
        assert ours.encode(text) == ours.encode_array(text).tolist() == ours.encode_batch([text])[0] == ids
        assert list(ours.encode_iterable([text])) == ours.encode(data) == ids
        assert ours.encode(text * 2000) == ours.encode(data * 2000)


# Wherever it is cut


@pytest.mark.parametrize("window", mostly_slow([16, 23, 40, 100], usual=[16, 40]))
def test_a_text_may_be_cut_into_windows_anywhere(ours, plain, form, window, sizes):
    sizes(window=window, text_window=window)
    for text in HARD:
        for before in range(0, 9, 2):
            whole = ("x y\u0301"[:before] + text * 2).encode()
            stream = ours.encode_stream([whole[i : i + 7] for i in range(0, len(whole), 7)])
            assert [part for array in stream for part in array.tolist()] == expected(plain, whole, form), ascii(whole)


def test_items_of_an_iterable_join(nfc, plain):
    for text in HARD:
        ids = expected(plain, text.encode(), "NFC")
        for at in range(0, len(text) + 1, 1 + len(text) // 60):
            assert list(nfc.encode_iterable([text[:at], text[at:]])) == ids


def parts_of(path: Path, tokenizer: nbbpe.Tokenizer, part_bytes: int) -> list[Any]:
    special = [token.encode() for token in tokenizer.special_tokens]
    rules = CutRules(tokenizer._model.pattern, special, tokenizer.normalizer)
    return [part for each in find_inputs(path, None, "raise") for part in each.cut(part_bytes, rules)]


@pytest.mark.exhaustive
def test_a_file_may_be_cut_into_parts_anywhere(ours, plain, form, tmp_path):
    path = tmp_path / "a.txt"
    n_parts = 0
    for text in HARD:
        path.write_text(text, encoding="utf-8", newline="")
        for part_bytes in examples((1, 3, 9), (1, 2, 3, 5, 9, 17)):
            parts = parts_of(path, ours, part_bytes)
            n_parts += len(parts)
            lists = [ids.tolist() for part in parts for ids, _ in ours.encode_part(part, NO_ID, Tally("raise"))]
            ids = [token_id for some in lists for token_id in some]
            assert ids == expected(plain, text.encode(), form), ascii(text)
    assert n_parts > 5 * len(HARD)


# Text that its normal form splits otherwise at a boundary before ASCII: by itself a letter or a sign comes before it, and
# then a mark, or a letter.
CHANGING = {
    "NFC": ("qwen2", "\u0958. "),
    "NFD": ("qwen2", "\u00e9's "),
    "NFKC": ("gpt2", "x\u2122y "),
    "NFKD": ("gpt2", "x\u2122y "),
}


@pytest.mark.parametrize("compression", ["", ".zst"])
def test_a_file_is_cut_only_where_its_normal_form_is_split_alike(form, compression, tmp_path, sizes):
    sizes(for_workers=0, chunk=100)
    pattern, once = CHANGING[form]
    text = once * 300
    trained = nbbpe.train(iter([unicodedata.normalize(form, text)]), 259, pattern=pattern)
    tokenizer = with_normalizer(trained, form, pattern)
    path = tmp_path / f"a.txt{compression}"
    if compression:
        blocks = [text[at : at + 101].encode() for at in range(0, len(text), 101)]
        path.write_bytes(b"".join(compress(block, compression) for block in blocks))
    else:
        path.write_text(text, encoding="utf-8")
    for begin in range(4):
        parts = parts_of(path, tokenizer, 40 + begin)
        lists = [ids.tolist() for part in parts for ids, _ in tokenizer.encode_part(part, NO_ID, Tally("raise"))]
        assert [token_id for some in lists for token_id in some] == tokenizer.encode(text)
    tokenizer.encode_file(path, tmp_path / "a.bin", workers=2)
    assert np.fromfile(tmp_path / "a.bin", dtype=tokenizer.dtype).tolist() == tokenizer.encode(text)


def test_a_file_is_not_cut_two_characters_before_a_mark_that_changes_what_is_between(tmp_path):
    """Here a letter, of which a boundary depends. Of so many places, most are looked at together."""
    pattern, text = " +(?![a-z])| |[a-z]+|[^ a-z]+", "  e\u0301" * 300
    trained = nbbpe.train(documents=["  e  \u00e9"], vocab_size=258, pattern=pattern)
    tokenizer = with_normalizer(trained, "NFC", pattern)
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    parts = parts_of(path, tokenizer, 300)
    arrays = [ids for part in parts for ids, _ in tokenizer.encode_part(part, NO_ID, Tally("raise"))]
    assert np.concatenate(arrays).tolist() == tokenizer.encode(text)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        *((text, 4) for text in ("plain words, ", "\u00e9l\u00e8ve et caf\u00e9; ", "\u4e2d\u6587\n", "\u00bd cup. ")),
        ("\u0958" + texts.SPECIAL, 10),  # a special token, and before it what every normal form changes
    ],
)
def test_a_file_is_cut_beside_what_is_in_the_normal_form_and_at_special_tokens(ours, text, n, tmp_path):
    """Also where little of it is ASCII, or most changes."""
    path = tmp_path / "a.txt"
    path.write_text(text * 100, encoding="utf-8", newline="")
    assert len(parts_of(path, ours, 100)) > n


def test_the_class_of_a_character_does_not_depend_on_what_composes_with_it():
    """A file is cut between two ASCII characters by their classes, before anybody knows what the second becomes."""
    classes = character_classes()
    n_composed = 0
    for code in filter(lambda code: not 0xD800 <= code < 0xE000, range(0x80, 0x110000)):
        parts = unicodedata.normalize("NFD", chr(code))
        if len(parts) > 1 and parts[0].isascii() and unicodedata.normalize("NFC", parts) == chr(code):
            n_composed += 1
            assert classes[code] == classes[ord(parts[0])], hex(code)
    assert n_composed > 300


def test_nothing_reaches_across_the_end_of_a_line(form):
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    ends = {line[-1] for line in everything.splitlines(keepends=True)} - {everything[-1]}
    assert {"\n", "\r", "\x85", "\u2028"} <= ends
    around = ["e", "\u0301", "\u0323\u0301", "\u0301\u0323", "\u1100", "\u1161", "\u3099", "\u212b", "\u00bc", "\r", "\n"]
    for end in ends:
        for before in around:
            for after in around:
                text = before + end + after
                data, _ = normalization.normalized(text.encode(), NO_BREAKS, form)
                assert data == unicodedata.normalize(form, text).encode(), text


@pytest.mark.exhaustive
def test_what_is_between_breaks_is_normalized_alone(form):
    """Breaks of special tokens, also of such as are not normal or have a space, and of what separates documents."""
    rng = random.Random(form)
    parts = ["the cat ", "th\u00e9 ", "e\u0301", "\u0323\u0301", "\ufb01", "\u1100\u1161", "\u4e2d", "\n", " ", "\udcfe"]
    parts += ["\udcff"] * (form == "NFC")  # the byte that is put between stretches
    tokens = ["<s>", "<e\u0301 \u0301>", "\u0301", "\udcff"]
    for _ in range(examples(300, 5000)):
        data = expected = b""
        breaks, moved = [], []
        for _ in range(rng.randrange(8)):
            stretch = "".join(rng.choices(parts, k=rng.randrange(5)))
            token = rng.choice(tokens).encode(errors="surrogateescape")
            data += stretch.encode(errors="surrogateescape")
            expected += unicodedata.normalize(form, stretch).encode(errors="surrogateescape")
            breaks.append([len(data), len(data) + len(token), rng.randrange(-2, 5)])
            moved.append([len(expected), len(expected) + len(token), breaks[-1][2]])
            data, expected = data + token, expected + token
        found, found_breaks = normalization.normalized(data, np.array(breaks, dtype=np.int64).reshape(-1, 3), form)
        assert (found, found_breaks.tolist()) == (expected, moved)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_clusters_that_may_change_are_normalized_alone(form, monkeypatch):
    monkeypatch.setattr(normalization, "_SHORT", 0)
    monkeypatch.setattr(normalization, "_PAYS", 0)
    by_lines = normalization._by_lines
    lines: list[str] = []
    monkeypatch.setattr(normalization, "_by_lines", lambda text, form: lines.append(text) or by_lines(text, form))
    rng = random.Random(form)
    marks = [each for each in changing_characters() if unicodedata.combining(each)]
    pools = [
        list(changing_characters()),
        marks,
        ["\u0301", "\u0323", "\u0344", "\u0f73", "\u0345", "\u05bc", "\u05b4", "\u09be", "\u09c7", "\U0001d165"],
        ["\u1100", "\u1112", "\u1161", "\u1175", "\u11a7", "\u11a8", "\uac00", "\uac01", "\ud7a3"],
        ["\udc80", "\udcff", "\udcc3", "\ud800", "\r\n", "\x85", "\u2028", "\uff01", "\u3000", "\ufb01", "\u1e9b"],
        ["e", "A", " ", "   ", "\n", "xyz", "\u4e2d\u56fd"],
    ]
    n = examples(2000, 20_000)
    for _ in range(n):
        some = rng.sample(pools, rng.randrange(1, 4))
        text = "".join(rng.choice(rng.choice(some)) + rng.choice(["", "ab", "\u4e2d"]) for _ in range(rng.randrange(1, 20)))
        assert normalization.normalized_text(text, form) == unicodedata.normalize(form, text), ascii(text)
    assert 0 < len(lines) < n  # where most characters may change
    lines.clear()
    long = "x" * 200 + "e" + "\u0301\u0323" * 40
    assert normalization.normalized_text(long, form) == unicodedata.normalize(form, long)
    assert lines[-1][-1] == "\u0323"


def test_several_processes_give_the_same(nfc, plain, tmp_path, sizes):
    sizes(for_workers=0)
    whole = "".join(HARD) * 3
    (tmp_path / "a.txt").write_text(whole, encoding="utf-8", newline="")
    nfc.encode_file(tmp_path / "a.txt", tmp_path / "a.bin", workers=2)
    data = nbbpe.TokenFile(tmp_path / "a.bin", nfc)
    assert data.ids.tolist() == expected(plain, whole.encode(), "NFC")
    with pytest.raises(ValueError, match="holds ids of another tokenizer"):
        nbbpe.TokenFile(tmp_path / "a.bin", plain)


# What it costs


def test_memory_does_not_grow_with_a_file(nfc, tmp_path):
    """Decomposed Hangul without any ASCII, of which the same is true that is of the text without a normalizer."""
    path = tmp_path / "a.txt"
    path.write_text((JAMO.replace(" ", "\u3002") + "e\u0301\u0323") * 200_000, encoding="utf-8")
    assert path.stat().st_size > 9 << 20
    list(nfc.encode_iterable(["\u1100" * 10, "中\u0301"]))
    joining_characters("NFC")
    normalization._long_runs("NFD")
    with takes_memory_below(40 << 20):
        nfc.encode_file(path, tmp_path / "a.bin", workers=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "run",
    [
        *("\u0301\u0323", "\u0308", "\u0344\u0327", "\u0f71\u0f72\u0f74", "\u1161", "\u3099\u0301"),
        *("\u0f73", "\u0f81\u0301", "\u0301\uff9e"),
    ],
)
def test_a_long_run_of_marks_takes_no_time_by_its_square(ours, form, run):
    """50,000 marks in turns take unicodedata more than a second, and 200,000, as CI has it, a minute."""

    def encoded(text: str) -> tuple[list[int], list[int]]:
        return ours.encode_array(text).tolist(), np.concatenate(list(ours.encode_stream([text]))).tolist()

    short = "a" + run * (2000 // len(run))
    ids, stream = encoded(short)  # kernels are compiled or loaded
    assert stream == ids
    assert ours.decode(ids) == unicodedata.normalize(form, short)
    text = "a" + run * (examples(50_000, 200_000) // len(run))
    with takes_seconds_below(1):
        ids, stream = encoded(text)
    assert stream == ids


def test_marks_that_only_a_decomposition_gives_are_sorted_before(form):
    """U+0F73 is no mark, but two marks in its decomposition; so is U+FF9E in NFKC and NFKD, and a letter in the others."""
    for run in "\u0f73", "\u0f73\u0301", "\uff9e\u0301", "\u0301\uff9e\u0f81\u0323":
        short = "a" + run * 1100 + "e\u0301\n" + run * 1100
        assert normalization.normalized_text(short, form) == unicodedata.normalize(form, short)
        # By the square of their number, five.
        assert seconds(partial(normalization.normalized_text, "a" + run * 10_000, form), rounds=2) < 1


def test_a_long_piece_is_looked_through_a_few_times_only(sizes):
    sizes(window=100)
    specials = new_special_tokens([], [])
    stream = windows.TextStream(["e\u0301" * 100_000])
    to_nfc = functools.partial(normalization.normalized, form="NFC")
    reader = RewritingReader(windows.Reader(stream, None, specials), partial(normalization.last_cut, form="NFC"), to_nfc)
    n_windows = 1
    while (window := reader.advance(0)).limit < window.end:  # whoever cannot take anything yet
        n_windows += 1
    assert window.data[: window.end].tobytes().decode() == "é" * 100_000
    assert n_windows < 20


def test_a_cut_is_found_at_the_end_of_a_window_as_in_all_of_it(monkeypatch):
    rng = random.Random(3)
    parts = [
        "a",
        " ",
        "\u0301",
        "\u0323",
        "\u00e9",
        "\u1161",
        "\uac00",
        "\u4e2d",
        "\U0001f600",
        "\udc80",
        "\udce2",
        "\udcf0",
    ]
    for _ in range(500):
        data = "".join(rng.choices(parts, k=rng.randrange(30))).encode(errors="surrogateescape")
        start, limit = sorted(rng.choices(range(len(data) + 1), k=2))
        window = windows.Window(padded(data), start, len(data), limit, NO_BREAKS)
        found = []
        for n in 1, 5, 1000:
            monkeypatch.setattr(normalization, "_LOOKED_AT", n)
            found.append(normalization.last_cut(window, "NFC"))
        assert found == [found[-1]] * 3, (data, start, limit)
        assert start <= found[0] <= limit


def test_a_tokenizer_without_a_normalizer_never_asks(plain):
    assert not isinstance(plain._encoder, NormalizingEncoder)
    assert plain.decode(plain.encode("e\u0301 x")) == "e\u0301 x"
    list(plain.encode_iterable(["e\u0301"]))
    assert plain.normalizer is None


# What it is


def test_it_is_part_of_the_tokenizer(ours, plain, form, tmp_path):
    assert ours != plain
    assert ours.fingerprint != plain.fingerprint
    assert f"normalizer='{form}'" in repr(ours)
    assert "normalizer" not in repr(plain)
    ours.save(tmp_path / "ours")
    plain.save(tmp_path / "plain")
    assert "normalizer" not in json.loads((tmp_path / "plain" / "nbbpe.json").read_text(encoding="utf-8"))
    more = ours.with_special_tokens(["<x>"])
    for same in nbbpe.load(tmp_path / "ours"), pickle.loads(pickle.dumps(ours)), more:
        assert same.normalizer == form
        assert same.encode("e\u0301\u212b") == ours.encode("e\u0301\u212b")
    assert nbbpe.load(tmp_path / "ours") == ours
    assert nbbpe.load(tmp_path / "ours").fingerprint == ours.fingerprint


def test_every_form_has_a_fingerprint_of_its_own(plain):
    assert len({with_normalizer(plain, form).fingerprint for form in (None, *FORMS)}) == 5


def test_the_fingerprint_of_one_without_is_what_it_was():
    tokenizer = nbbpe.Tokenizer(BYTES | {256: b"ab"}, [(b"a", b"b")], ["<s>"])
    assert tokenizer.fingerprint == "da98e8d8a085985b"


def test_an_unknown_normalizer_is_told(plain, tmp_path):
    with pytest.raises(ValueError, match="normalizer must be NFC, NFD, NFKC, NFKD or None, and is 'nfc'"):
        with_normalizer(plain, "nfc")
    plain.save(tmp_path)
    about = json.loads((tmp_path / "nbbpe.json").read_text(encoding="utf-8"))
    (tmp_path / "nbbpe.json").write_text(json.dumps(about | {"normalizer": ["nfc"]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"nbbpe\.json: normalizer 'nfc' is none of NFC"):
        nbbpe.load(tmp_path)


def test_formats_that_cannot_say_it_are_refused(nfc, tmp_path):
    message = r"normal form NFC, which .* cannot express\. .* Tokenizer\.from_hf\(path, normalizer=\"ignore\"\)"
    with pytest.raises(ValueError, match=message):
        nfc.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    with pytest.raises(ValueError, match=message):
        nfc.save_tiktoken(tmp_path / "a.tiktoken")
    with pytest.raises(ValueError, match=message):
        nfc.to_tiktoken()
    assert os.listdir(tmp_path) == []


def test_offsets_are_places_in_the_text_that_the_normalizer_makes(ours, form):
    for text in HARD:
        for given_text in text, text.encode():
            found = ours.tokenize(given_text)
            assert found.text == normal(given_text, form)
            data = found.text if isinstance(found.text, bytes) else found.text.encode()
            assert all(data[slice(*token.byte_offsets)] == token.token for token in found)
    assert nbbpe.Tokenizer.tokenize(ours, "\ud800").text == "\ud800"  # as it was given, where nothing is changed


def test_figures_say_it_and_two_different_texts_are_not_compared(nfc, plain):
    assert inspection.vocabulary_figures(nfc).normalizer == "NFC"
    assert inspection.vocabulary_figures(plain).normalizer is None
    same = inspection.compare(nfc, plain, documents=["caf\u00e9 x"])
    assert (same.n_differing, same.a.n_bytes) == (0, 7)
    for text in ["cafe\u0301 x"], ["x cafe\u0301"], ["\u212b"]:
        with pytest.raises(ValueError, match="make different texts of this one"):
            inspection.compare(nfc, plain, documents=text)


def test_texts_with_spaces_in_front_of_other_parts_are_not_compared(tmp_path, plain):
    """As many spaces in both, so that sizes alone do not tell."""
    packed = PackedVocab.of(BYTES)
    extras = Extras(prefix_space=True)
    a, b = (nbbpe.Tokenizer._of(Model.fitting(packed, [], [special], "gpt2", extras=extras)) for special in ("<a>", "<b>"))
    assert inspection.compare(a, b, documents=["x"]).n_differing == 0
    path = tmp_path / "text.txt"
    for one, other, text in (a, b, "x<a>yyyyyyyyy<b>z"), (a, plain, "x"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"make different texts of this one .*a space in front"):
            inspection.compare(one, other, path)


def test_texts_of_which_tokens_take_other_spaces_are_not_compared(tmp_path):
    packed = PackedVocab.of(BYTES)
    a, b = (
        nbbpe.Tokenizer._of(Model.fitting(packed, [], ["<m>"], "gpt2", extras=Extras({"<m>": (rule,)})))
        for rule in ("lstrip", "rstrip")
    )
    path = tmp_path / "text.txt"
    path.write_text("x <m> y")
    assert inspection.compare(a, a, path).n_differing == 0
    with pytest.raises(ValueError, match="make different texts of this one"):
        inspection.compare(a, b, path)


def test_a_long_text_in_normal_form_is_encoded_by_several_threads(nfc, monkeypatch):
    called = []

    def encode_parts(*arguments: Any) -> Any:
        called.append(arguments)
        return real(*arguments)

    real = threads.encode_parts
    monkeypatch.setattr(threads, "BYTES_PER_THREAD", 1000)
    monkeypatch.setattr(threads, "encode_parts", encode_parts)
    normal = "th\u00e9 c\u00e2t<s> \u4e2d\u6587 " * 200
    for text, n_calls in (normal, 2), (normal + "e\u0301", 0):
        called.clear()
        expected = nfc.encode_array(text, num_threads=1)
        for each in text, text.encode():
            assert np.array_equal(nfc.encode_array(each, num_threads=2), expected)
            assert nfc.count(each, num_threads=2) == len(expected)
        assert len(called) == n_calls


def test_a_short_text_is_normalized_without_a_window(plain, nfc, monkeypatch):
    monkeypatch.setattr(NormalizingEncoder, "window_of", None)
    for text in "e\u0301", "the e\u0301 cat", "\udc80e\u0301", "\ud83de\u0301", "e\u0301\udced\udca0\udc80":
        assert nfc.encode(text) == expected(plain, to_bytes(text), "NFC")
        assert nfc.encode_ordinary(text) == nfc.encode(text)
    for text in "e\u0301>", f"e\u0301{END}", f"{END}e\u0301{END}{END} e\u0301\u0301":
        ids = nfc.encode(text)
        assert nfc.count(text) == len(ids)
        assert nfc.encode_array(text).tolist() == ids == expected(plain, text.encode(), "NFC")


def test_a_batch_in_several_windows_is_encoded_as_each_text(sizes):
    sizes(rows_window=20)
    tok = nbbpe.Tokenizer(BYTES | {256: b"th"}, [(b"t", b"h")], [texts.SPECIAL], normalizer="NFC")
    batch = ["the cate\u0301 sat", "", "the the", f"a{texts.SPECIAL}e\u0301"] * 10
    assert tok.encode_batch(batch) == [tok.encode(text) for text in batch]
