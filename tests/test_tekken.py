"""Mistral's tekken.json both ways, and Whisper's rank file: ids equal those of their owners."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from texts import HARD, random_texts, real_texts
from vocabularies import BYTE_RANKS, BYTES, rank_lines

import nbbpe

SPECIALS = ["<unk>", "<s>", "</s>", "[INST]"]


def document(tokens=(b"th", b"the", b" the", b"ab", b"unused"), **config) -> dict:
    """A tekken.json of few tokens."""
    return {
        "config": {
            "pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "num_vocab_tokens": 261,
            "default_vocab_size": 270,
            "default_num_special_tokens": 10,
            "version": "v3",
            **config,
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate([*BYTES.values(), *tokens])
        ],
    }


def written(tmp_path: Path, content: dict) -> Path:
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(content))
    return path


def test_special_tokens_come_first_and_the_vocabulary_is_cut(tmp_path):
    tokenizer = nbbpe.load(written(tmp_path, document()))
    assert len(tokenizer) == 270  # without the last token
    assert tokenizer.special_tokens["</s>"] == 2
    assert tokenizer.special_tokens["[TOOL_CALLS]"] == 9
    assert tokenizer.encode("the the<s>") == [267, 268, 1]
    assert nbbpe.load(tmp_path) == tokenizer
    tokenizer.save_tekken(tmp_path / "tekken_again.json")
    assert nbbpe.load(tmp_path / "tekken_again.json") == tokenizer
    some = document()
    some["special_tokens"] = [{"rank": i, "token_str": f"<{i}>", "is_control": True} for i in range(3)]
    assert list(nbbpe.load(written(tmp_path, some)).special_tokens) == ["<0>", "<1>", "<2>"] + [
        f"<SPECIAL_{i}>" for i in range(3, 10)
    ]


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v7"])
@pytest.mark.parametrize(("n_tokens", "n_special"), [(256, 0), (260, 1 << 13)])
def test_the_fewest_tokens_and_the_most_special_ones_are_read(tmp_path, version, n_tokens, n_special):
    sizes = {"default_vocab_size": n_tokens + n_special, "default_num_special_tokens": n_special}
    tokenizer = nbbpe.load(written(tmp_path, document(version=version, **sizes)))
    assert (len(tokenizer), len(tokenizer.special_tokens)) == (n_tokens + n_special, n_special)


def test_a_token_that_no_merge_makes_is_found_where_it_is_a_pretoken(tmp_path):
    tokenizer = nbbpe.load(written(tmp_path, document([b"xyz", b"ab"], default_vocab_size=268)))
    assert tokenizer.encode("xyz,ab") == [266, 10 + ord(","), 267]
    assert tokenizer.encode("xyzab") == [10 + ord("x"), 10 + ord("y"), 10 + ord("z"), 267]


def test_a_tokenizer_without_a_pattern_is_the_same_again(tmp_path):
    vocab = {0: b"<s>"} | {byte + 1: bytes([byte]) for byte in range(256)} | {257: b"e "}
    whole = nbbpe.Tokenizer(vocab, [(b"e", b" ")], ["<s>"], pattern=None)
    whole.save_tekken(tmp_path / "tekken.json")
    again = nbbpe.load(tmp_path / "tekken.json")
    assert again == whole
    assert again.fingerprint == whole.fingerprint


BROKEN = {
    "no size": ({"config": {}}, "config.default_num_special_tokens must be an integer"),
    "too large": (document(default_vocab_size=500), "leaves 490 tokens of a vocab of 261"),
    "very many": (
        document(default_vocab_size=10**9 + 260, default_num_special_tokens=10**9),
        r"default_num_special_tokens is 1,000,000,000, and at most 8,192 are read",
    ),
    "too large for ids": (document(default_vocab_size=2**40), "config.default_vocab_size must be an integer from 0 up"),
    "too few": (document(default_vocab_size=265), "leaves 255 tokens of a vocab of 261"),
    "another byte": ({"vocab": document()["vocab"][:255] + [{"rank": 255, "token_bytes": "AAA="}] * 6}, "be the byte 255"),
    "twice": (document([b"ab"] * 5), r"vocab\[257\] is .*ab.*, which comes twice"),
    "more special tokens": ({"special_tokens": [{}] * 11}, r"special_tokens must be a list of at most 10 \(default_num"),
    "a version that must say": (document(version="v11"), r"version 'v11' needs special_tokens"),
    "pattern": (document(pattern=3), "config.pattern must be a regex"),
    "rank": ({**document(), "vocab": [{"rank": 1, "token_bytes": "AA=="}] * 300}, r"vocab\[0\] must have the rank 0"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_named(tmp_path, content, message):
    path = written(tmp_path, {**document(), **content})
    with pytest.raises(ValueError, match=message) as caught:
        nbbpe.load(path)
    assert "tekken.json: " in str(caught.value)


def test_what_the_format_cannot_hold_is_named(small, tmp_path):
    with pytest.raises(ValueError, match="special tokens first"):
        small.save_tekken(tmp_path / "tekken.json")
    shuffled = {i: bytes([255 - i]) for i in range(256)}
    with pytest.raises(ValueError, match="256 bytes in their order"):
        nbbpe.Tokenizer(shuffled, []).save_tekken(tmp_path / "tekken.json")
    ranks = tmp_path / "empty.tiktoken"  # Whisper's has an empty token, too
    ranks.write_bytes(rank_lines(BYTE_RANKS | {b"": 256}))
    with pytest.raises(ValueError, match=r"here id 256 is b''"):
        nbbpe.Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens={}).save_tekken(tmp_path / "tekken.json")
    assert list(tmp_path.iterdir()) == [ranks]


@pytest.fixture(scope="module", params=["tekken_240718.json", "tekken_240911.json"])
def tekken(request):
    common = pytest.importorskip("mistral_common", reason="needs mistral-common")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(common.__file__).parent / "data" / request.param
    return nbbpe.load(path), Tekkenizer.from_file(path)


def test_tekken_gives_the_ids_of_mistral_common(tekken, shared, tmp_path):
    ours, theirs = tekken
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    strings = [*HARD, *random_texts(6, 600), *real_texts(shared)]
    for string in strings:
        assert ours.encode_ordinary(string) == theirs.encode(string, bos=False, eos=False), string
    assert all(theirs.get_special_token(token) == token_id for token, token_id in ours.special_tokens.items())
    ours.save_tekken(tmp_path / "tekken.json")
    again = Tekkenizer.from_file(tmp_path / "tekken.json")
    for string in strings[:200]:
        assert again.encode(string, bos=True, eos=True) == theirs.encode(string, bos=True, eos=True)
    assert nbbpe.load(tmp_path / "tekken.json") == ours
    assert ours.verify()["mistral_common"].startswith("equal")


@given(strings=st.lists(texts.texts(60), min_size=10, max_size=10))
def test_tekken_on_any_text(tekken, strings):
    ours, theirs = tekken
    for string in strings:
        assert ours.encode_ordinary(string) == theirs.encode(string, bos=False, eos=False)


def test_whisper(shared, tmp_path):
    tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken")
    path = shared / "vocabs" / "whisper_multilingual.tiktoken"
    if not path.exists():
        pytest.skip(f"needs {path}")
    from tiktoken.load import load_tiktoken_bpe

    special = {"<|endoftext|>": 50257, "<|startoftranscript|>": 50258, "<|en|>": 50259}
    ours = nbbpe.Tokenizer.from_tiktoken(path, special_tokens=special)
    theirs = tiktoken.Encoding(
        "whisper",
        explicit_n_vocab=50260,
        pat_str=r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=special,
    )
    for string in [*HARD, *random_texts(7, 600), *real_texts(shared), "<|startoftranscript|><|en|> Hello."]:
        assert ours.encode(string) == theirs.encode(string, allowed_special="all"), string
    assert ours.id_to_token(50256) == b""
    assert ours.decode([50256, 33]) == theirs.decode([50256, 33])
    assert nbbpe.load(path).special_tokens == {"<|endoftext|>": 50257, "<|startoftranscript|>": 50258}
    ours.save(tmp_path / "t")
    assert nbbpe.load(tmp_path / "t") == ours
    ours.save_tiktoken(tmp_path / "w.tiktoken")
    assert (tmp_path / "w.tiktoken").read_bytes() == path.read_bytes()
    assert ours.verify()["tokenizers"].startswith("equal")
