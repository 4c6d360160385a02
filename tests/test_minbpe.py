"""minbpe's .model: the ids are those that minbpe gives, and a file that cannot be followed is refused with its line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import regex
import texts
from real_patterns import REAL
from timing import seconds

import nbbpe

GPT4 = REAL["karpathy/minbpe GPT-4, karpathy/rustbpe"]
END = texts.SPECIAL
SPECIAL = {END: 100257, "<|a|>": 500, "<|a": 501}  # with minbpe, too, the longer one is found


def write(path: Path, tok: nbbpe.Tokenizer, pattern: str, special: dict[str, int]) -> None:
    ids = {token: token_id for token_id, token in tok.vocab.items()}
    lines = [f"{token} {token_id}" for token, token_id in special.items()]
    merges = [f"{ids[left]} {ids[right]}" for left, right in tok.merges]
    path.write_text("\n".join(["minbpe v1", pattern, str(len(special)), *lines, *merges, ""]), encoding="utf-8")


def ids_of_minbpe(path: Path, text: str) -> list[int]:
    """The ids of a text by the rules of minbpe, of a file without errors."""
    _, pattern, n, *lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    special = {token: int(token_id) for token, token_id in map(str.split, lines[: int(n)])}
    merges = {tuple(map(int, line.split())): 256 + rank for rank, line in enumerate(lines[int(n) :])}
    ids: list[int] = []
    for part in regex.split(f"({'|'.join(map(regex.escape, special))})", text) if special else [text]:
        if part in special:
            ids.append(special[part])
            continue
        for pretoken in regex.findall(pattern, part) if pattern else [part]:
            word = list(pretoken.encode())
            while len(word) > 1:
                pair = min(pairwise(word), key=lambda pair: merges.get(pair, len(merges) + 256))
                if pair not in merges:
                    break
                merged: list[int] = []
                for token_id in word:
                    if merged and (merged[-1], token_id) == pair:
                        merged[-1] = merges[pair]
                    else:
                        merged.append(token_id)
                word = merged
            ids += word
    return ids


@pytest.mark.parametrize("pattern", [GPT4, "", " [a-z]+|[\u2028\x0b]|(?s:.)"])
@pytest.mark.parametrize("special", [SPECIAL, {}])
def test_the_ids_are_those_of_minbpe(tmp_path, pattern, special):
    tok = nbbpe.train(documents=[texts.SAMPLE], vocab_size=330, pattern=pattern or None, tie_break="ids")
    write(tmp_path / "mine.model", tok, pattern, special)
    loaded = nbbpe.load(tmp_path / "mine.model")
    assert loaded == (tok.with_special_tokens(special) if special else tok)
    for text in (*texts.HARD, texts.SAMPLE, f"the{END}<|a|><|a cat"):
        if not any("\ud800" <= character <= "\udfff" for character in text):
            assert loaded.encode(text) == ids_of_minbpe(tmp_path / "mine.model", text)
    loaded.save(tmp_path / "folder")
    assert nbbpe.load(tmp_path / "folder") == loaded


@pytest.mark.parametrize("pattern", [r" ?\w+|\W", r" \w+|\w+|\W", r"\w+|[^\w ]+| "])
def test_spaces_at_the_ends_of_a_pattern_count(tmp_path, pattern):
    tok = nbbpe.train(documents=["the cat sat on the mat"] * 3, vocab_size=262, pattern=pattern)
    write(tmp_path / "x.model", tok, pattern, {})
    content = (tmp_path / "x.model").read_bytes()
    (tmp_path / "x.model").write_bytes(content.replace(b"\n", b"\r\n"))  # as written on Windows
    assert nbbpe.load(tmp_path / "x.model") == tok


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("minbpe v2\n", "is 'minbpe v2', and nbbpe reads 'minbpe v1'"),
        ("minbpe v1\n", "line 3 must have 1 numbers, and is ''"),
        ("minbpe v1\n\nx\n", "line 3 must have 1 numbers, and is 'x'"),
        ("minbpe v1\n\n\u0663\n", "line 3 must have 1 numbers, and is '\u0663'"),
        ("minbpe v1\n\n1\n<|a|> 1000000000\n", "line 4 must have a special token and its id, and is '<.a.> 1000000000'"),
        ("minbpe v1\n\n1\n<|a|>\n", "line 4 must have a special token and its id, and is '<.a.>'"),
        ("minbpe v1\n\n3\n<|a|> 256\n", "line 5 must have a special token and its id, and is ''"),
        ("minbpe v1\n\n2\n<|a 256\n<|a|> 257\n", "line 5: minbpe never finds '<.a.>', as '<.a' comes before it"),
        (
            "minbpe v1\n\n3\n<|a|>b 259\n<|a 256\n<|a|> 257\n",
            "line 6: minbpe never finds '<.a.>', as '<.a' comes before it",
        ),
        ("minbpe v1\n\n2\n<|a 256\n<|a 257\n", "line 5: special token '<.a' comes twice"),
        ("minbpe v1\n\n1\n<|a|> 97\n", "special token '<.a.>' .*97"),
        ("minbpe v1\n\n0\n97 256\n", "line 4: '97 256' are not two ids of earlier tokens"),
        ("minbpe v1\n\n0\n256 97\n", "line 4: '256 97' are not two ids of earlier tokens"),
        ("minbpe v1\n\n0\n97 98 99\n", "line 4 must have 2 numbers, and is '97 98 99'"),
        ("minbpe v1\n\n0\n97 98\n98 99\n97 257\n256 99\n", "two of its tokens have equal bytes"),
        ("minbpe v1\n\n0\n97 98\n97 98\n", "two of its tokens have equal bytes"),
        ("minbpe v1\n(a)|.\n0\n", "line 2: the pattern .* has groups"),
        ("minbpe v1\n[a-z]+\n0\n", "line 2: the pattern .* does not match all text"),
        ("minbpe v1\n[a-z\n0\n", r"pattern '\[a-z' is neither a name nor a valid regex"),
        ("minbpe v1\n\n0\n97 97\n" + "".join(f"{n} {n}\n" for n in range(256, 300)), "line 31: the tokens up to here have"),
    ],
)
def test_a_file_that_cannot_be_followed_is_refused(tmp_path, content, message):
    path = tmp_path / "x.model"
    path.write_text(content)
    with pytest.raises(ValueError, match=rf"x\.model: .*{message}"):
        nbbpe.load(path)


def test_a_file_in_another_encoding_is_named(tmp_path):
    (tmp_path / "x.model").write_bytes(b"minbpe v1\n\xff\n0\n")
    with pytest.raises(ValueError, match=r"x\.model: not valid UTF-8 \(byte 10\)"):
        nbbpe.load(tmp_path / "x.model")


def test_many_special_tokens_do_not_take_long(tmp_path):
    def time_of(n: int) -> float:
        lines = [f"<{number}> {300 + number}" for number in range(n)]
        (tmp_path / "x.model").write_text("\n".join(["minbpe v1", "", str(n), *lines, ""]))
        return seconds(lambda: nbbpe.load(tmp_path / "x.model"), rounds=2)

    time_of(100)
    assert time_of(8_000) < 1  # 3 s if each is compared with all before it
