"""tiktoken's rank files and encodings: ids equal tiktoken's, for its own vocabularies and for any other."""

from __future__ import annotations

import base64
import itertools
import pickle
import random
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import naive
import numpy as np
import pytest
import texts
from effort import examples, mostly_slow
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import BYTE_RANKS, BYTES, rank_lines, ranks_of

import nbbpe
from nbbpe.patterns.pattern import NAMED
from nbbpe.patterns.pattern_argument import get_pattern

NAMES = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
SLICE = 1_500_000
WORDS = r"\w+|\W"


def encoding_of(ranks: dict[bytes, int], special: dict[str, int] | None = None, pattern: str = WORDS) -> SimpleNamespace:
    """What from_tiktoken takes of an Encoding, without tiktoken."""
    return SimpleNamespace(name="test", _mergeable_ranks=ranks, _pat_str=pattern, _special_tokens=special or {})


class Both(SimpleNamespace):
    """A vocabulary in nbbpe and in tiktoken."""

    ours: nbbpe.Tokenizer


@pytest.fixture(scope="module", params=mostly_slow(NAMES, usual=["r50k_base", "o200k_base"]))
def both(request, shared) -> Both:
    tiktoken = pytest.importorskip("tiktoken")
    path = shared / "vocabs" / f"{request.param}.tiktoken"
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}
    ours = nbbpe.Tokenizer.from_tiktoken(path)
    pattern = NAMED[NAMES[request.param]].regex
    theirs = tiktoken.Encoding(request.param, pat_str=pattern, mergeable_ranks=ranks, special_tokens=ours.special_tokens)
    return Both(name=request.param, path=path, ranks=ranks, ours=ours, theirs=theirs)


def assert_same(both: Both, strings: list[str]) -> None:
    """Ids are tiktoken's for each string."""
    for string, ids in zip(strings, both.ours.encode_batch(strings), strict=True):
        assert ids == both.theirs.encode(string, allowed_special="all"), string


# Its own encodings


@pytest.mark.parametrize("file", texts.FILES)
def test_ids_are_tiktokens_on_real_text(shared, both, file):
    text = texts.middle_of(shared, file, SLICE)
    assert np.array_equal(both.ours.encode_array(text), both.theirs.encode_to_numpy(text, allowed_special="all"))


@given(strings=st.lists(texts.texts(80), min_size=20, max_size=20))
def test_ids_are_tiktokens_on_any_text(both, strings):
    assert_same(both, strings)


CHARACTERS = "".join(texts.REPRESENTATIVES.values()).replace("\udc80", "")
# A zero-width joiner, a private use and an unassigned code point, a lone variation selector, a title-case letter
MORE = "\u200d\ue000\U000e0fff\ufe0fǅ\u0300\U0001d400\uffff\u180e\u200b\x1c\x7f"


def test_ids_are_tiktokens_for_every_pair_and_triple_of_classes(both):
    pairs = ["".join(pair) for pair in itertools.product(CHARACTERS + MORE, repeat=2)]
    members = "".join(letters.replace("\udc80", "")[:2] for letters in texts.REPRESENTATIVES.values())
    triples = ["".join(triple) for triple in itertools.product(members, repeat=3)]
    assert_same(both, [*pairs, *triples])
    assert_same(both, [" ".join(triples), "\n".join(triples), "a".join(triples)])


def test_ids_are_tiktokens_on_boundaries(both):
    endings = ["s", "S", "t", "re", "rE", "VE", "Ll", "lL", "m", "D", "\u017f", "k", "x"]
    contractions = [f"{a}'{b}{c}" for a in ("", "x", "X", " ", "'") for b in endings for c in "aA '"]
    digits = [a + "1234567890"[:n] + b for a in ("", " ", "x", "-") for n in range(1, 9) for b in ("", "a", " ", "٣½Ⅷ")]
    blanks = [
        "".join(s) for n in range(1, 5) for s in itertools.product([" ", "\n", "\r\n", "\t", "\u3000", "\x85"], repeat=n)
    ]
    blanks = [
        before + blank + after for blank in blanks for before, after in [("", ""), ("x", "x"), ("!", "1"), ("\xa0", "/")]
    ]
    cases = [
        "HelloWorld",
        "helloWORLD's",
        "iPhone",
        "McDONALD'Sx",
        "ǅungla",
        "中A中a中",
        "AÉé\u0301É",
        "\u0301A",
        "ʰʰAaʰA",
        "XMLHttpRequest",
    ]
    symbols = [
        "/a/b//\n/c",
        "!/\r\n/\n!",
        "//\n\n//",
        " !!\n\n x",
        "«»—\n",
        "👩\u200d👩\u200d👧 x",
        "a\u200db",
        "\u0301\u0301 \u0301",
    ]
    assert_same(both, [*contractions, *digits, *blanks, *cases, *symbols])


def test_ids_are_tiktokens_for_every_code_point(both):
    everything = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 97)]]
    for frame in ("{}", " {}a", "A{}\n"):
        text = "|".join(frame.format(character) for character in everything)
        assert np.array_equal(both.ours.encode_array(text), both.theirs.encode_to_numpy(text, disallowed_special=()))


def test_ids_are_tiktokens_for_long_runs(both):
    assert_same(
        both,
        [unit * n for unit in ("a", " ", "\n", "1", "中", "^", "é", "'s", "A", "\n ", "aA") for n in (1, 2, 3, 50, 2000)],
    )


README_IDS = {
    "cl100k_base": "9906 1917 0 220 57668 53901 3922 3574 244 98220 96270 75265 243 95980 588 28584 220 4513 1774 881 "
    "220 865",
    "o200k_base": "13225 2375 0 220 177519 979 28428 24497 98931 153475 737 26192 220 7633 2548 1414 220 1215",
}


def test_ids_of_a_known_text_are_those_of_the_vocabularies_readme(both):
    text = "Hello world! 你好，世界 안녕 naïve 🙂 12345\r\n\r\n  x"  # noqa: RUF001
    ids = both.ours.encode(text)
    assert both.ours.decode(ids) == text
    if both.name in README_IDS:
        assert ids == [int(i) for i in README_IDS[both.name].split()]


def test_ids_are_tiktokens_with_special_tokens_side_by_side(both):
    special = list(both.ours.special_tokens)
    parts = [*special, *special, "<|", "|>", "<|endof", "endoftext|>", " ", "\n", "a", "'", "1", "é"]
    source = random.Random(21)
    strings = ["".join(source.choices(parts, k=source.randrange(1, 9))) for _ in range(3000)]
    assert_same(both, strings)
    for string in strings[:300]:
        assert both.ours.encode_ordinary(string) == both.theirs.encode_ordinary(string)
        some = set(special[:1])
        wanted = both.theirs.encode(string, allowed_special=some, disallowed_special=())
        assert both.ours.encode(string, allowed_special=some) == wanted


def test_nested_and_overlapping_special_tokens_are_the_longest_where_tiktokens_rule_leaves_a_choice(both):
    # tiktoken takes them in an order that it does not promise. Where no two start at one place, it is the leftmost too.
    special = {"<a>": 200_500, "a><b": 200_501, "<b>": 200_502, "xx<a>": 200_503, "é<": 200_504}
    ours = nbbpe.Tokenizer.from_tiktoken(both.path, special_tokens=special)
    theirs = type(both.theirs)("x", pat_str=both.theirs._pat_str, mergeable_ranks=both.ranks, special_tokens=special)
    source = random.Random(22)
    for _ in range(2000):
        string = "".join(source.choices(["<a>", "<b>", "xx", "x", "é", "><", "<", " "], k=source.randrange(1, 10)))
        assert ours.encode(string) == theirs.encode(string, allowed_special="all"), string
    nested = nbbpe.Tokenizer.from_tiktoken(both.path, special_tokens={"<a>": 200_500, "<a><a>": 200_501})
    assert nested.encode("<a><a><a>") == [200_501, 200_500]


BROKEN = [
    b"\xff",
    b"caf\xc3",
    b"\xc3\xa9\xc3 \xe2\x82x",
    b"'\xc3s",
    b"\xf0\x9f\x98 \xed\xa0\x80",
    b"\xe4\xb8\n\xad",
    b"a\x80B\xbf1\xc2",
]


def test_bytes_that_are_no_utf8_are_symbols(both):
    pattern = NAMED[NAMES[both.name]].compiled
    for data in [*BROKEN, *(a + b for a in BROKEN for b in BROKEN)]:
        ids = both.ours.encode(data)
        assert ids == naive.encode_by_ranks(data, both.ranks, pattern), data
        assert both.ours.decode_bytes(ids) == data


def test_what_an_encoding_is_comes_with_it(both):
    tokenizer = nbbpe.Tokenizer.from_tiktoken(both.theirs)
    assert tokenizer == both.ours
    assert tokenizer.pattern == NAMES[both.name]
    assert tokenizer.special_tokens == both.theirs._special_tokens
    assert tokenizer.vocab_size == both.theirs.n_vocab
    ids = [*range(0, len(both.ranks), 97), *tokenizer.special_tokens.values()]
    assert tokenizer.decode_bytes(ids) == both.theirs.decode_bytes(ids)
    gap = max(both.ranks.values()) + 1 if both.name != "r50k_base" else 50257
    assert tokenizer.id_to_token(gap) is None
    with pytest.raises(ValueError, match=f"id {gap} "):
        tokenizer.decode([gap])


def test_the_recovered_merges_are_the_vocabularys_own(both, gpt2):
    merges = both.ours.merges
    assert [left + right for left, right in merges] == [token for token in both.ranks if len(token) > 1]
    assert all(both.ranks[side] < both.ranks[left + right] for left, right in merges for side in (left, right))
    if both.name == "r50k_base":
        assert both.ours == gpt2


def test_a_tokenizer_of_ranks_is_saved_pickled_and_equal(both, tmp_path):
    both.ours.save(tmp_path / "folder")
    loaded = nbbpe.load(tmp_path / "folder")
    assert loaded == both.ours
    assert pickle.loads(pickle.dumps(both.ours)) == both.ours
    assert loaded.encode(texts.SAMPLE) == both.theirs.encode(texts.SAMPLE)


# Any vocabulary of ranks


def random_ranks(source: random.Random) -> dict[bytes, int]:
    """Bytes, and tokens of few letters that need not come from any merges, in an order that need not fit."""
    letters = source.choice([b"a", b"ab", b"abc"])
    tokens: list[bytes] = [bytes([letter]) for letter in letters]
    joined = source.choice([0.6, 1])
    for _ in range(source.randrange(1, 30)):
        if source.random() < joined:
            token = source.choice(tokens) + source.choice(tokens)
        else:
            token = bytes(source.choices(letters, k=source.randrange(2, 7)))
        if token not in tokens and len(token) <= 9:
            tokens.append(token)
    if source.random() < 0.5:
        source.shuffle(tokens)
    gap = source.choice([1, 1, 3])
    rest = [byte for byte in BYTES.values() if byte not in tokens]
    order = rest + tokens if source.random() < 0.5 else tokens + rest
    return {token: rank * gap for rank, token in enumerate(order)}


@pytest.mark.exhaustive
def test_ids_of_any_vocabulary_of_ranks_are_those_of_merging_by_rank():
    source = random.Random(23)
    n_regular = n_whole = 0
    n = examples(70, 250)
    for _ in range(n):
        ranks = random_ranks(source)
        tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks))
        bad = naive.irregular(ranks)
        assert (tokenizer._model.merges is None) == bool(bad)
        n_regular += not bad
        n_whole += any(len(naive.merge_by_ranks(token, ranks)) > 1 for token in ranks if len(token) > 1)
        for _ in range(12):
            data = bytes(source.choices(b"abc ", weights=[9, 9, 3, 1], k=source.choice([2, 5, 12, 40])))
            assert tokenizer.encode(data) == naive.encode_by_ranks(data, ranks, get_pattern(WORDS).compiled), (ranks, data)
        for token in ranks:
            if token.isalpha() and token.isascii():
                assert tokenizer.encode(token) == [ranks[token]]  # a pretoken that is a token
    assert n_regular > n // 5
    assert n_whole > n // 5


def test_ids_of_any_vocabulary_of_ranks_are_tiktokens():
    tiktoken = pytest.importorskip("tiktoken")
    source = random.Random(24)
    for _ in range(60):
        ranks = random_ranks(source)
        theirs = tiktoken.Encoding("x", pat_str=NAMED["o200k"].regex, mergeable_ranks=ranks, special_tokens={})
        ours = nbbpe.Tokenizer.from_tiktoken(theirs)
        assert ours.pattern == "o200k"
        for _ in range(10):
            text = "".join(source.choices("abc AB", weights=[9, 9, 3, 1, 1, 1], k=source.choice([3, 20, 300])))
            assert ours.encode(text) == theirs.encode(text), (ranks, text)


def test_where_no_tokens_make_a_token_the_ranks_rule():
    # No merges give "abcd", but the pretoken that it is: elsewhere its bytes stay apart.
    ranks = ranks_of([*BYTES.values(), b"abcd", b"bc"])
    for pattern in WORDS, NAMED["cl100k"].regex:
        tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks, pattern=pattern))
        assert tokenizer.encode("abcd") == [256]
        assert tokenizer.encode("abcde") == [97, 257, 100, 101]
        assert tokenizer.encode("abcd!abcd")[0] == 256
        assert "merged by rank" in repr(tokenizer)
        with pytest.raises(ValueError, match=r"has no list of merges.*b'abcd' \(id 256\) does not"):
            tokenizer.merges  # noqa: B018


def test_long_tokens_that_merging_does_not_give_are_looked_up_whole():
    long = [b"x" * n + b"y" for n in (13, 14, 15, 16, 17, 40, 200)]
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks_of([*BYTES.values(), *long])))
    for i, token in enumerate(long):
        assert tokenizer.encode(token) == [256 + i]
        assert tokenizer.encode(token + b"y") == [*token, ord("y")]
    assert tokenizer.encode(b" ".join(long))[::2] == [256 + i for i in range(len(long))]


@pytest.mark.parametrize("n", [2, 14, 15, 16, 17, 40, 300])
def test_the_only_token_that_merging_does_not_give_is_looked_up_whole(n):
    token = b"x" * (n - 1) + b"y"
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks_of([*BYTES.values(), b"zzz", token])))
    assert tokenizer.encode(token) == [257]
    assert tokenizer.encode("zzz") == [256]
    alone = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks_of([*BYTES.values(), token])))
    assert alone.encode(token + b" " + token) == [256, ord(" "), 256]


def test_ranks_without_merges_are_saved_pickled_and_compared(tmp_path):
    ranks = ranks_of([*BYTES.values(), b"abcd", b"bc"])
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks, {"<s>": 300}))
    folder = tmp_path / "folder"
    nbbpe.train(iter(["ab ab"]), 257).save(folder)  # so that an older file must go
    tokenizer.save(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "nbbpe.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
    ]
    for copy in (
        nbbpe.load(folder),
        pickle.loads(pickle.dumps(tokenizer)),
        nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks, {"<s>": 300})),
    ):
        assert copy == tokenizer
        assert copy.encode("abcd<s>abcde") == tokenizer.encode("abcd<s>abcde") == [256, 300, 97, 257, 100, 101]
    plain = nbbpe.Tokenizer(tokenizer.vocab, [])
    assert plain != tokenizer
    about = (folder / "nbbpe.json").read_text(encoding="utf-8").replace('"ranks"', '"magic"')
    (folder / "nbbpe.json").write_text(about, encoding="utf-8")
    with pytest.raises(ValueError, match=r"nbbpe\.json: has merging 'magic'"):
        nbbpe.load(folder)


# Files


@pytest.fixture
def write(tmp_path: Path):
    """Write a rank file of some name."""

    def write(data: bytes, name: str = "my.tiktoken") -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


GOOD = rank_lines(ranks_of([*BYTES.values(), b"ab", b"abc"]))
BAD_LINES = {
    "no base64": (b"#### 258", "line 259: must be a token in base64, one space and its rank, and is b'#### 258'"),
    "base64 cut short": (b"YWI 258", "line 259: must be"),
    "base64 with a stray character": (b"YW*I= 258", "line 259: must be"),
    "no rank": (b"YWI=", "line 259: must be"),
    "three fields": (b"YWI= 1 2", "line 259: must be"),
    "a rank that is no number": (b"YWJi x", "line 259: must be"),
    "a negative rank": (b"YWJi -1", "line 259: must be"),
    "a rank with an underscore": (b"YWJi 2_58", "line 259: must be"),
    "a token twice": (b"YWI= 258", "line 259: token b'ab' has a rank in line 257 already"),
    "a rank twice": (b"YWJi 256", "line 259: rank 256 is that of b'ab' in line 257 already"),
    "a rank too large": (b"YWJi 2147483647", "line 259: rank 2147483647 is too large"),
    "a long line": (b"x" * 500, r"and is b'x{75}\.\.\."),
}


@pytest.fixture(params=["line by line", "by the kernel"])
def way(request, sizes):
    """The two ways in which files are read: by the kernel, these small ones would not be."""
    if request.param == "by the kernel":
        sizes(rank_lines=0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("line", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_broken_line_is_named_by_file_and_line(write, line, message):
    with pytest.raises(ValueError, match=rf"my\.tiktoken.*{message}"):
        nbbpe.Tokenizer.from_tiktoken(write(GOOD + line + b"\n"), "gpt2")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("data", [b"", b"\n\n", rank_lines(ranks_of([token for token in BYTES.values() if token != b"a"]))])
def test_a_file_that_lacks_a_byte_is_an_error(write, data):
    with pytest.raises(ValueError, match=r"my\.tiktoken: vocab lacks (243|1) of the 256 single bytes"):
        nbbpe.Tokenizer.from_tiktoken(write(data), "gpt2")


@pytest.mark.usefixtures("way")
def test_line_ends_of_windows_empty_lines_and_any_order_do_no_harm(write):
    wanted = nbbpe.Tokenizer.from_tiktoken(write(GOOD), "gpt2")
    lines = GOOD.splitlines()
    random.Random(1).shuffle(lines)
    again = nbbpe.Tokenizer.from_tiktoken(str(write(b"\r\n\r\n".join(lines))), "gpt2")
    assert again == wanted
    assert again.encode("abcab") == [257, 256]
    assert again.merges == [(b"a", b"b"), (b"ab", b"c")]


def test_a_pattern_is_never_guessed(write):
    with pytest.raises(ValueError, match=r"my\.tiktoken: neither name nor content .*cl100k_base.*pattern="):
        nbbpe.Tokenizer.from_tiktoken(write(GOOD))
    assert nbbpe.Tokenizer.from_tiktoken(write(GOOD), "o200k_base").pattern == "o200k"
    assert nbbpe.Tokenizer.from_tiktoken(write(GOOD), WORDS).pattern == WORDS
    with pytest.raises(ValueError, match="unknown pattern 'gpt5'"):
        nbbpe.Tokenizer.from_tiktoken(write(GOOD), "gpt5")
    with pytest.raises(ValueError, match="matches the empty string"):
        nbbpe.Tokenizer.from_tiktoken(write(GOOD), "")


def test_an_encoding_is_known_by_its_files_name_or_its_content(write, tmp_path, shared):
    by_name = nbbpe.Tokenizer.from_tiktoken(write(GOOD, "cl100k_base.tiktoken"))
    assert by_name.pattern == "cl100k"
    assert by_name.special_tokens["<|endofprompt|>"] == 100276
    assert nbbpe.Tokenizer.from_tiktoken(write(GOOD, "p50k_base.tiktoken")).pattern == "gpt2"
    # What the content says comes before what the name says.
    for name in "renamed", "cl100k_base.tiktoken":
        shutil.copy(shared / "vocabs" / "r50k_base.tiktoken", tmp_path / name)
        by_content = nbbpe.Tokenizer.from_tiktoken(tmp_path / name)
        assert by_content.pattern == "gpt2"
        assert by_content.special_tokens == {texts.SPECIAL: 50256}
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "renamed", "o200k", {}).special_tokens == {}
    assert nbbpe.Tokenizer.from_tiktoken(tmp_path / "renamed", "o200k").pattern == "o200k"


def test_what_is_neither_file_nor_encoding_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'cl100k_base' is not a file; .*tiktoken\.get_encoding\('cl100k_base'\)"):
        nbbpe.Tokenizer.from_tiktoken("cl100k_base")
    with pytest.raises(FileNotFoundError, match=r"'gpt2' is not a file; .*an encoding, as tiktoken\.get_encoding"):
        nbbpe.Tokenizer.from_tiktoken("gpt2")
    with pytest.raises(FileNotFoundError, match="nothing"):
        nbbpe.Tokenizer.from_tiktoken(tmp_path / "nothing")
    for bad in None, 5, b"path", {b"a": 1}:
        with pytest.raises(TypeError, match=re.escape("give a path or a tiktoken.Encoding")):
            nbbpe.Tokenizer.from_tiktoken(bad)
    with pytest.raises(ValueError, match=r"the encoding 'test': gives rank 97 to b'(a|ab)' and to b'(a|ab)'"):
        nbbpe.Tokenizer.from_tiktoken(encoding_of(BYTE_RANKS | {b"ab": 97}))
    with pytest.raises(ValueError, match="the encoding 'test': vocab lacks 1 of the 256 single bytes"):
        nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks_of(list(BYTES.values())[1:])))


# Special tokens


@pytest.mark.usefixtures("way")
def test_special_tokens_have_the_ids_given_or_the_next(write):
    path = write(GOOD)
    listed = nbbpe.Tokenizer.from_tiktoken(path, "gpt2", ["<a>", "<b>"])
    assert listed.special_tokens == {"<a>": 258, "<b>": 259}
    exact = nbbpe.Tokenizer.from_tiktoken(path, "gpt2", {"<a>": 1000, "<b>": 300})
    assert exact.special_tokens == {"<a>": 1000, "<b>": 300}
    assert exact.encode("ab<b><a>") == [256, 300, 1000]
    assert exact.vocab_size == 1001
    assert exact.decode([300, 1000]) == "<b><a>"
    assert nbbpe.Tokenizer.from_tiktoken(path, "gpt2").special_tokens == {}
    assert nbbpe.Tokenizer.from_tiktoken(encoding_of(BYTE_RANKS, {"<a>": 256}), special_tokens=[]).special_tokens == {}


@pytest.mark.usefixtures("way")
def test_a_special_token_may_be_spelled_as_a_token_is(write):
    tokenizer = nbbpe.Tokenizer.from_tiktoken(write(GOOD), "gpt2", {"ab": 1000})
    assert tokenizer.encode("abc") == [1000, 99]
    assert tokenizer.encode_ordinary("abc") == [257]


def test_two_special_tokens_may_have_one_id(tmp_path):
    # As in tiktoken's o200k_harmony.
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(BYTE_RANKS, {"<a>": 300, "<b>": 300, "<c>": 301}))
    assert tokenizer.encode("<b><a><c>") == [300, 300, 301]
    assert tokenizer.decode([300, 301]) == "<a><c>"
    tokenizer.save(tmp_path / "folder")
    assert nbbpe.load(tmp_path / "folder") == tokenizer


@pytest.mark.parametrize("lacking", [b"", b"\xff"])  # without a byte, texts are prepared
def test_of_two_special_tokens_with_one_id_one_may_be_allowed(lacking):
    ranks = {byte: rank for byte, rank in BYTE_RANKS.items() if byte != lacking}
    tokenizer = nbbpe.Tokenizer.from_tiktoken(encoding_of(ranks, {"<a>": 300, "<b>": 300, "<a><c>": 301}))
    text = "<a><c><b><a>"
    names = {"<a>": 300, "<b>": 300, "<a><c>": 301}
    for allowed in *({name} for name in names), {"<a>", "<b>"}, {"<b>", "<a><c>"}, set(names), set():
        parts = re.split(f"({'|'.join(sorted(allowed, reverse=True, key=len)) or '$'})", text)
        expected = [each for part in parts for each in ([names[part]] if part in allowed else list(part.encode()))]
        assert tokenizer.encode(text, allowed_special=allowed) == expected
        assert tokenizer.encode(text.encode(), allowed_special=allowed) == expected
        assert list(tokenizer.encode_iterable([text], allowed_special=allowed)) == expected


@pytest.mark.parametrize(
    ("special", "error", "message"),
    [
        ({"<a>": 97}, ValueError, "special token '<a>' has the id 97, as b'a' has"),
        ({"<a>": -1}, ValueError, "has the id -1"),
        ({"<a>": 300, "<b>": 300}, ValueError, "special tokens '<a>' and '<b>' both have the id 300"),
        ({"<a>": "300"}, ValueError, "has the id '300'"),
        ({"<a>": True}, ValueError, "has the id True"),
        ({"<a>": 2**31}, ValueError, "has the id 2147483648"),
        ({"": 300}, ValueError, "is the empty string"),
        ({5: 300}, TypeError, "must be str, not int"),
        (["<a>", "<a>"], ValueError, "given twice"),
        ("<a>", TypeError, "must be a list of str"),
        ({"\ud800": 300}, ValueError, "lone surrogate"),
    ],
)
def test_a_special_token_that_cannot_be_is_an_error(write, special, error, message):
    with pytest.raises(error, match=message):
        nbbpe.Tokenizer.from_tiktoken(write(GOOD), "gpt2", special)


def test_the_end_of_a_text_is_written_as_tiktoken_means_it():
    r"""Read as \Z of `regex`, which fancy-regex takes for the place before a last newline, too."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = BYTE_RANKS | {b"ab": 256}
    theirs = tiktoken.Encoding("x", pat_str=r"ab$|[ab\n]", mergeable_ranks=ranks, special_tokens={})
    ours = nbbpe.load(theirs)
    back = ours.to_tiktoken()
    for text in "ab", "ab\n", "abab", "ab\nab":
        assert ours.encode(text) == back.encode(text) == theirs.encode(text) == nbbpe.load(back).encode(text)


@pytest.mark.parametrize(
    ("name", "pattern", "special", "token_id"),
    [
        ("llama3", "llama3", "<|eot_id|>", 128009),
        ("llama4", "o200k", "<|eot|>", 200008),
        ("qwen", "qwen2", "<|im_end|>", 151645),
    ],
)
def test_files_of_other_models_are_known_too(tmp_path, name, pattern, special, token_id):
    """By their content, or by their names, as here."""
    path = tmp_path / f"{name}.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)))
    tokenizer = nbbpe.load(path)
    assert tokenizer.pattern == pattern
    assert tokenizer.special_tokens[special] == token_id
