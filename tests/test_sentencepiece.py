"""sentencepiece's .model: ids, what cannot be honoured, broken files."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import warnings
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

import naive
import pytest
from charsmaps import compiled_charsmap
from hypothesis import given
from hypothesis import strategies as st

import nbbpe
from nbbpe.formats.equal_scores import order_of_growth

SIGN = "\u2581"
SPELLED = [f"<0x{byte:02X}>" for byte in range(256)]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
JOINED = [
    "th",
    "he",
    f"{SIGN}t",
    f"{SIGN}the",
    "the",
    f"{SIGN}{SIGN}",
    "ca",
    "cat",
    f"{SIGN}cat",
    ",.",
    "\u00e9t",
    "the\u4e2d",
]
SINGLE = [SIGN, *"theca,.\n\u00e9\u4e2d\U0001f600A"]
# Text, score and kind of each; single characters come last, as in sentencepiece's own.
PIECES = [
    *[("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)],
    *((text, 0.0, BYTE) for text in SPELLED),
    *((text, -float(i), NORMAL) for i, text in enumerate([*JOINED, *SINGLE])),
]


def number(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + number(value >> 7) if value > 0x7F else bytes([value])


def field(key: int, value: int | float | bytes) -> bytes:
    if isinstance(value, bytes):
        return number(key << 3 | 2) + number(len(value)) + value
    if isinstance(value, float):
        return number(key << 3 | 5) + struct.pack("<f", value)
    return number(key << 3) + number(value)


def message(*fields: tuple[int, int | float | bytes]) -> bytes:
    return b"".join([field(key, value) for key, value in fields])


def model(pieces=PIECES, trainer=(), normalizer=()) -> bytes:
    """A .model; `trainer` and `normalizer` are further fields, of which the last of a number counts."""
    parts = [(1, message((1, text.encode()), (2, score), (3, kind))) for text, score, kind in pieces]
    specs = (2, message((3, 2), (35, 1), *trainer)), (3, message((1, b"identity"), (4, 0), *normalizer))
    return message(*parts, *specs, (5, b"")) + number(99 << 3 | 1) + b"\0" * 8  # and fields that nobody knows


def written(folder: Path, content: bytes) -> Path:
    path = folder / "tokenizer.model"
    path.write_bytes(content)
    return path


def ids_of(text: str, pieces=PIECES, prefix: bool = True) -> list[int]:
    """Textbook BPE: of all pairs that join to a piece, the best score first."""
    if not text:
        return []
    ids = {text: token_id for token_id, (text, _, _) in enumerate(pieces)}
    known = {text: ids[text] for text, _, kind in pieces if kind == NORMAL}
    joined = sorted((piece for piece in pieces if piece[2] == NORMAL and len(piece[0]) > 1), key=lambda piece: -piece[1])
    splits = [(text[:at], text[at:]) for text, _, _ in joined for at in range(1, len(text))]
    merges = [pair for pair in splits if set(pair) <= known.keys()]
    own = [text for text, _, kind in pieces if kind == USER_DEFINED]
    found: list[int] = []
    text = SIGN * prefix + text.replace(" ", SIGN)
    start = at = 0
    while at <= len(text):
        symbol = max((each for each in own if text.startswith(each, at)), key=len, default=None)
        if symbol or at == len(text):
            found += naive.encode_characters(text[start:at], merges, known, [ids[each] for each in SPELLED])
        if symbol:
            found.append(ids[symbol])
            start = at = at + len(symbol)
        else:
            at += 1
    return found


WORDS = [*"thecat,. \n\u00e9\u4e2d\U0001f600\u6587A\x1b", "the", " the", " cat", "  ", SIGN, "<s>", "<0x41>", "\n\n"]
REPLACED = {"\n": " ", "A": "the", "\x1b": "", "\u3000": " ", "\u6587": "\u4e2d", "\u00a8": " \u00e9"}
TEXTS = st.lists(st.sampled_from(WORDS), max_size=25).map("".join)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> nbbpe.Tokenizer:
    return nbbpe.load(written(tmp_path_factory.mktemp("model"), model()))


@given(TEXTS)
def test_ids_are_those_of_textbook_bpe(tokenizer, text):
    assert tokenizer.encode_ordinary(text) == ids_of(text)
    assert tokenizer.encode_ordinary(text.encode()) == ids_of(text)


def test_special_pieces_are_special_tokens(tokenizer):
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert tokenizer.encode("the<s>the", allowed_special="all") == [*ids_of("the"), 1, *ids_of("the")]
    assert tokenizer.decode(tokenizer.encode("the \u6587")) == "the \u6587"


def test_without_a_space_in_front_and_with_symbols_of_the_user(tmp_path):
    symbols = [("\n\n", 0.0, USER_DEFINED), (f"{SIGN}{SIGN}{SIGN}", 0.0, USER_DEFINED), ("<table>", 0.0, USER_DEFINED)]
    pieces = [*PIECES[:3], *symbols, *PIECES[3:]]
    tokenizer = nbbpe.load(written(tmp_path, model(pieces, normalizer=[(3, 0)])))
    assert list(tokenizer.special_tokens)[3:] == ["\n\n", "   ", "<table>"]
    rng = random.Random(2)
    for _ in range(300):
        text = "".join(rng.choices([*WORDS, "<table>", "   ", "\n"], k=rng.randrange(12)))
        wanted = ids_of(text, pieces, prefix=False)
        assert tokenizer.encode(text, allowed_special=["<table>"]) == wanted
        if "<table>" not in text:
            assert tokenizer.encode_ordinary(text) == wanted  # whitespace is a part of ordinary text


def normalized(text: str, table: dict[str, str], strips: bool, prefix: bool, symbols: Sequence[str] = ()) -> str:
    """What sentencepiece's normalizer makes of a text, with a space for each \u2581; see its normalizer.cc."""
    if strips:
        while text and not text.startswith(tuple(symbols)) and table.get(text[0], text[0]) == " ":
            text = text[1:]
    if not text:
        return ""
    found = SIGN * prefix
    is_after_space = strips
    while text:
        symbol = max((each for each in symbols if text.startswith(each)), key=len, default=None)
        new = symbol or table.get(text[0], text[0])
        text = text[len(symbol or text[0]) :]
        if is_after_space:
            new = new.lstrip(" ")
        if new:
            found += new.replace(" ", SIGN)
            is_after_space = strips and new.endswith(" ")
    return (found.rstrip(SIGN) if strips else found).replace(SIGN, " ")


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize("table", [REPLACED, {}], ids=["table", "identity"])
def test_text_is_normalized(table, strips, prefix, tmp_path):
    data = compiled_charsmap(table) if table else b""
    tokenizer = nbbpe.load(written(tmp_path, model(normalizer=[(2, data), (3, prefix), (4, strips)])))
    tokenizer.save(tmp_path / "saved")
    loaded = nbbpe.load(tmp_path / "saved")
    rng = random.Random(5)
    texts = ["".join(rng.choices([*WORDS, *REPLACED, "   "], k=rng.choice([1, 2, 3, 12]))) for _ in range(300)]
    wanted = [ids_of(normalized(text, table, strips, prefix), prefix=False) for text in texts]
    assert list(map(tokenizer.encode_ordinary, texts)) == wanted
    assert tokenizer.encode_batch(texts, allowed_special=()) == wanted
    assert [loaded.encode_ordinary(text.encode()) for text in texts] == wanted


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("strips", [True, False])
@pytest.mark.parametrize("table", [REPLACED, {}], ids=["table", "identity"])
def test_symbols_of_the_user_are_found_in_normalized_text_and_not_normalized(table, strips, prefix, tmp_path):
    symbols = ["\n\n", SIGN * 3, "<table>", "A<", "\u3000t"]
    pieces = [*PIECES[:3], *((symbol, 0.0, USER_DEFINED) for symbol in symbols), *PIECES[3:]]
    data = compiled_charsmap(table) if table else b""
    tokenizer = nbbpe.load(written(tmp_path, model(pieces, normalizer=[(2, data), (3, prefix), (4, strips)])))
    tokenizer.save(tmp_path / "saved")
    loaded = nbbpe.load(tmp_path / "saved")
    allowed = set(tokenizer.special_tokens) - {"<unk>", "<s>", "</s>"}
    rng = random.Random(6)
    texts = ["".join(rng.choices([*WORDS, *REPLACED, *symbols, "   "], k=rng.choice([1, 2, 3, 12]))) for _ in range(300)]
    wanted = [ids_of(normalized(text, table, strips, prefix, symbols), pieces, prefix=False) for text in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "\n\n" is found in any text, and may be allowed
        assert [tokenizer.encode(text, allowed_special=allowed) for text in texts] == wanted
    assert loaded.encode_batch(texts, allowed_special=allowed) == wanted
    if table or strips or prefix:
        with pytest.raises(ValueError, match=r"tokenizer.json cannot express"):
            tokenizer.to_hf(tmp_path / "tokenizer.json")


def test_whitespace_within_a_symbol_is_no_place_to_cut(tmp_path, sizes):
    pieces = [*PIECES[:3], ("t\nh", 0.0, USER_DEFINED), *PIECES[3:]]
    tokenizer = nbbpe.load(
        written(tmp_path, model(pieces, normalizer=[(2, compiled_charsmap({"\n": "e"})), (3, 0), (4, 0)]))
    )
    wanted = ids_of("cat\nhea" * 50, pieces, prefix=False)
    for n in 40, 41, 43, 47:
        sizes(window=n, text_window=n)
        assert tokenizer.encode(io.BytesIO(b"cat\nh\na" * 50), allowed_special=["t\nh"]) == wanted


def test_what_is_put_between_texts_makes_no_symbol_with_them(tmp_path):
    """A character between short texts that are normalized at once: ~, where one of them has U+0000."""
    pieces = [*PIECES[:3], ("t~h", 0.0, USER_DEFINED), *PIECES[3:]]
    tokenizer = nbbpe.load(written(tmp_path, model(pieces, normalizer=[(2, compiled_charsmap({"t": "e"})), (3, 0)])))
    texts = ["cat\0", "at", "hea", "c", "a" * 30] * 300
    wanted = list(map(tokenizer.encode, texts))
    assert tokenizer.encode_batch(texts) == wanted
    ids = [token_id for row in wanted for token_id in [*row, tokenizer.special_tokens["</s>"]]]
    assert tokenizer.encode("</s>".join([*texts, ""])) == ids


def test_a_symbol_that_may_be_a_part_of_what_is_replaced_is_refused(tmp_path):
    pieces = [*PIECES[:3], ("\u0301x", 0.0, USER_DEFINED), *PIECES[3:]]
    path = written(tmp_path, model(pieces, normalizer=[(2, compiled_charsmap({"e\u0301": "\u00e9"}))]))
    with pytest.raises(ValueError, match=r"normalizer Charsmap: '\u0301x', which is to be kept, may lie within"):
        nbbpe.load(path)


def test_whitespace_within_a_text_of_a_table_is_no_place_to_cut(tmp_path, sizes):
    table = compiled_charsmap({"t\n": "he", "a c": "t"})
    tokenizer = nbbpe.load(written(tmp_path, model(normalizer=[(2, table), (3, 0), (4, 0)])))
    text = "cat\nca ca" * 50
    wanted = ids_of("cahecta" * 50, prefix=False)
    for n in 40, 41, 43, 47:
        sizes(window=n, text_window=n)
        assert tokenizer.encode(io.BytesIO(text.encode()), allowed_special=()) == wanted
        assert list(tokenizer.encode_iterable([text], allowed_special=())) == wanted


def test_a_table_is_not_written_to_a_tokenizer_json(tmp_path):
    tokenizer = nbbpe.load(written(tmp_path, model(normalizer=[(2, compiled_charsmap(REPLACED))])))
    with pytest.raises(ValueError, match="normalizes text by sentencepiece's table, which"):
        tokenizer.to_hf(tmp_path / "tokenizer.json")
    assert not (tmp_path / "tokenizer.json").exists()


def test_scores_say_what_is_merged_first(tmp_path):
    """In another order, and with tokens that come to be of no two others, or of a later one."""
    rng = random.Random(4)
    for _ in range(20):
        scores = list(map(float, rng.sample(range(-99, 0), len(JOINED))))
        odd = [(text, score, NORMAL) for text, score in zip(JOINED, scores, strict=True)]
        pieces = [*PIECES[:259], *odd, *PIECES[259 + len(JOINED) :]]
        tokenizer = nbbpe.load(written(tmp_path, model(pieces)))
        for _ in range(20):
            text = "".join(rng.choices("thecat, \u00e9\u4e2d", k=12))
            assert tokenizer.encode(text) == ids_of(text, pieces)


def leftmost_first(run: int, lengths: Collection[int]) -> list[int]:
    """What a run of characters becomes if the leftmost pair that makes a piece is merged first."""
    parts = [1] * run
    while place := next((at for at, pair in enumerate(pairwise(parts), 1) if sum(pair) in lengths), None):
        parts[place - 1 : place + 1] = [parts[place - 1] + parts[place]]
    return parts


def by_rank(run: int, order: Sequence[tuple[int, int]]) -> list[int]:
    """What it becomes if pairs are merged in an order of ranks."""
    merges = [("t" * left, "t" * right) for left, right in order]
    pieces = {"t" * n: n for n in (1, *map(sum, order))}
    return naive.encode_characters("t" * run, merges, pieces, [])


@given(st.sets(st.integers(2, 20), min_size=2))
def test_runs_of_one_score_grow_from_the_left(lengths):
    order = order_of_growth(lengths)
    for run in range(6 * max(lengths)):
        assert by_rank(run, order) == leftmost_first(run, lengths)


def test_an_order_has_no_pair_that_never_merges():
    assert order_of_growth([2, 3, 4]) == [(2, 1), (3, 1), (1, 1)]
    assert order_of_growth([2, 3, 5]) == [(3, 2), (2, 1), (1, 1)]
    assert order_of_growth([3, 4]) == []


def test_the_longest_run_of_one_score(tmp_path):
    pieces = [*PIECES, ("tt", -98.0, NORMAL), ("t" * 64, -98.0, NORMAL)]
    assert nbbpe.load(written(tmp_path, model(pieces))).encode("attt") == by_leftmost_score("attt", pieces)


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("odd", [True, False])
def test_runs_may_have_one_score(tmp_path, last, odd):
    """As those of spaces in Llama 1 and 2 and in Mistral's models, of 2 to 14 and 16."""
    of_equal = {SIGN: [*range(2, 15), 16], "\n": [2, 3]}
    runs = [(character * n, -99.0 if last else -4.5, NORMAL) for character, ns in of_equal.items() for n in ns]
    pieces = [piece for piece in PIECES if piece[0] != SIGN * 2] + [*runs] + [("hethe", -0.5, NORMAL)] * odd
    tokenizer = nbbpe.load(written(tmp_path, model(pieces)))
    rng = random.Random(9)
    for _ in range(300):
        text = "".join(rng.choices([*WORDS, " " * rng.randrange(50), "\n" * rng.randrange(9)], k=rng.randrange(9)))
        assert tokenizer.encode_ordinary(text) == by_leftmost_score(text, pieces)


def by_leftmost_score(text: str, pieces: Sequence[tuple[str, float, int]]) -> list[int]:
    """As sentencepiece merges: the best score first, and of equal scores the leftmost pair."""
    scores = {text: score for text, score, kind in pieces if kind == NORMAL}
    ids = {text: token_id for token_id, (text, _, _) in enumerate(pieces)}
    parts = list(SIGN + text.replace(" ", SIGN)) if text else []
    while found := [(-scores["".join(pair)], at) for at, pair in enumerate(pairwise(parts)) if "".join(pair) in scores]:
        _, at = min(found)
        parts[at : at + 2] = ["".join(parts[at : at + 2])]
    return [
        i for part in parts for i in ([ids[part]] if part in scores else [ids[SPELLED[byte]] for byte in part.encode()])
    ]


def test_it_is_saved_and_written(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "saved")
    tokenizer.to_hf(tmp_path / "tokenizer.json")
    assert nbbpe.load(tmp_path / "saved") == nbbpe.load(tmp_path / "tokenizer.json") == tokenizer
    (tmp_path / "folder").mkdir()
    written(tmp_path / "folder", model())
    assert nbbpe.load(tmp_path / "folder") == tokenizer


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("added_tokens.json", {"<|im_start|>": 9999}),
        ("special_tokens_map.json", {"pad_token": "<|im_start|>"}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9999": {"content": "<|im_start|>", "special": True}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9999": {"content": "<s>", "special": True}}}),
    ],
)
def test_a_folder_that_names_more_tokens_is_refused(tokenizer, tmp_path, name, content):
    """As a model that was tuned for chats may have them: transformers gives them ids."""
    written(tmp_path, model())
    about = {"added_tokens_decoder": {str(tokenizer.special_tokens["<s>"]): {"content": "<s>"}}, "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about))
    assert nbbpe.load(tmp_path) == tokenizer
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / name).write_text(json.dumps(content))
    text = "<s>" if "<s>" in str(content) else re.escape("'<|im_start|>'")
    with pytest.raises(ValueError, match=rf"the token '?{text}'?, which tokenizer\.model lacks or has with another id"):
        nbbpe.load(tmp_path)
    assert nbbpe.load(tmp_path / "tokenizer.model") == tokenizer


def test_a_folder_may_name_the_symbols_of_the_user(tmp_path):
    symbol = SIGN * 3
    pieces = [*PIECES[:3], (symbol, 0.0, USER_DEFINED), *PIECES[3:]]
    path = written(tmp_path, model(pieces, normalizer=[(3, 0)]))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {"3": {"content": symbol}}}))
    assert nbbpe.load(tmp_path) == nbbpe.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (model(trainer=[(3, 1)]), "is a model of Unigram, and nbbpe reads BPE only"),
        (model(trainer=[(35, 0)]), "has no byte_fallback"),
        (model(trainer=[(24, 1)]), "puts spaces after words"),
        (model(normalizer=[(2, b"table")]), "the table of replaced texts is not in the format of sentencepiece"),
        (
            model(normalizer=[(2, compiled_charsmap({"  ": " "}))]),
            r"replaces spaces .*, and puts one in front of each text .*, which nbbpe cannot honour together",
        ),
        (
            model(normalizer=[(2, compiled_charsmap({"\t": "  "})), (4, 1)]),
            r"replaces text by several spaces .*, and removes extra ones .*, which nbbpe cannot honour together",
        ),
        (
            model(trainer=[(24, 1)], normalizer=[(5, 0)]),
            r"keeps spaces as they are .*, and puts spaces after .*, which nbbpe",
        ),
        (model([*PIECES, PIECES[300 - 30]]), "has two pieces with the same text"),
        (model(PIECES[:100] + PIECES[101:]), "or lacks the piece of a byte"),
        (model([*PIECES, ("x", 0.0, UNUSED)]), "has unused pieces"),
        (model([*PIECES, ("a b", -50.0, NORMAL)]), "has no piece \u2581 for a space, or has a piece with a space"),
        (model([*PIECES, ("xt", -50.0, NORMAL)]), "of several characters with 'x', which is not a piece by itself"),
        (model([*PIECES, ("heca", -1.0, NORMAL)]), "gives one score to several pieces, such as 'he' and 'heca', and nbbpe"),
        (
            model([*PIECES, ("ttt", -98.0, NORMAL), ("tttt", -98.0, NORMAL), ("tt", -99.0, NORMAL)]),
            "such as 'ttt' and 'tttt'",
        ),
        (model([*PIECES, ("tt", -98.0, NORMAL), ("ttt", -98.0, NORMAL), ("att", -1.5, NORMAL)]), "such as 'tt' and 'ttt'"),
        (model([*PIECES, ("t" * 2, -98.0, NORMAL), ("t" * 65, -98.0, NORMAL)]), "gives one score to several pieces"),
        (model()[:-1], "is not a model of sentencepiece, or was truncated"),
        (model()[:3000], "is not a model of sentencepiece, or was truncated"),
    ],
)
def test_what_cannot_be_honoured_is_named(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=message) as caught:
        nbbpe.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_broken_files_give_no_other_error(tmp_path):
    rng = random.Random(6)
    content = model()
    for _ in range(300):
        at = rng.randrange(8, len(content))
        broken = bytearray(content)
        broken[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        try:
            nbbpe.load(written(tmp_path, bytes(broken)))
        except ValueError as error:
            assert str(error).startswith(str(tmp_path))  # noqa: PT017


@pytest.mark.parametrize(
    ("rule", "strips", "prefix"), [("identity", False, True), ("identity", False, False), ("nmt_nfkc", True, True)]
)
def test_ids_are_those_of_sentencepiece(shared, tmp_path, rule, strips, prefix):
    sentencepiece = pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    texts = [(shared / "text" / f"{name}.txt").read_text(encoding="utf-8")[:200_000] for name in ("books_en", "cjk")]
    (tmp_path / "corpus.txt").write_text("\n".join(texts), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "corpus.txt"),
        model_prefix=str(tmp_path / "tokenizer"),
        model_type="bpe",
        vocab_size=4000,
        character_coverage=0.99,
        byte_fallback=True,
        normalization_rule_name=rule,
        remove_extra_whitespaces=strips,
        add_dummy_prefix=prefix,
        user_defined_symbols=[] if prefix and not strips else ["\n\n", SIGN * 3, "<sep>"],
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    ours = nbbpe.load(tmp_path / "tokenizer.model")
    rng = random.Random(7)
    for text in [*texts, *("".join(rng.choices([*WORDS, *REPLACED, "e\u0301", *texts[0][:50]], k=30)) for _ in range(300))]:
        assert ours.encode_ordinary(text) == theirs.encode(text)


def test_real_files_of_mistral_give_the_ids_of_sentencepiece(shared, tmp_path):
    common = pytest.importorskip("mistral_common", reason="needs mistral-common")
    sentencepiece = pytest.importorskip("sentencepiece", reason="needs sentencepiece")
    texts = [
        (shared / "text" / f"{name}.txt").read_text(encoding="utf-8")[:50_000] for name in ("books_en", "code_rails", "cjk")
    ]
    rng = random.Random(8)
    texts += ["".join(rng.choices([*WORDS, " " * 20, "\n" * 5, "[INST]", "\t"], k=20)) for _ in range(200)]
    paths = sorted((Path(common.__file__).parent / "data").glob("*.model*"))
    assert paths
    for path in paths:
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
        ours = nbbpe.load(written(tmp_path, path.read_bytes()))
        for text in texts:
            ids = ours.encode_ordinary(text)
            assert ids == theirs.encode(text), (path.name, text[:50])
            assert ours.decode(ids) == theirs.decode(ids)
