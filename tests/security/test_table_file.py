"""nbbpe.tables beside a saved tokenizer: used where it is a true copy of the readable files, else as if it were missing."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import BYTES, rank_lines, ranks_of

import nbbpe
from nbbpe.formats.nbbpe_folder import table_file
from nbbpe.formats.vocab_json import gpt2

TEXT = "the cat sat on the mat, and the dog did not see her here<|end|> é\x00"


@pytest.fixture(autouse=True)
def for_all_sizes(sizes):
    sizes(tables=0)


def trained() -> nbbpe.Tokenizer:
    return nbbpe.train(iter([TEXT * 3]), 280, ["<|end|>"])


def with_gaps() -> nbbpe.Tokenizer:
    vocab = {3 * i + 7: bytes([i]) for i in range(256)} | {9000: b"th", 9001: b"the", 8000: b" the"}
    return nbbpe.Tokenizer(vocab, [(b"t", b"h"), (b"th", b"e"), (b" ", b"the")], {"<|end|>": 2, "<s>": 8500}, "cl100k")


def by_ranks(folder: Path) -> nbbpe.Tokenizer:
    path = folder / "x.tiktoken"
    path.write_bytes(rank_lines(ranks_of([*BYTES.values(), b"abcd", b"bc", b"th", b"the"])))
    return nbbpe.Tokenizer.from_tiktoken(path, "cl100k", {"<|end|>": 300})


@pytest.fixture(params=["trained", "with gaps", "by ranks"])
def tokenizer(request, tmp_path) -> nbbpe.Tokenizer:
    return (
        by_ranks(tmp_path) if request.param == "by ranks" else {"trained": trained, "with gaps": with_gaps}[request.param]()
    )


@pytest.fixture
def used(monkeypatch) -> list[str]:
    """What was read of readable files since the test began."""
    read: list[str] = []
    for name in "read", "read_vocab":
        whole = getattr(gpt2, name)
        monkeypatch.setattr(gpt2, name, lambda *paths, whole=whole: read.append("readable") or whole(*paths))
    return read


def test_a_tokenizer_from_tables_is_that_from_readable_files(tokenizer, tmp_path, used):
    tokenizer.save(tmp_path / "a")
    fast = nbbpe.load(tmp_path / "a")
    assert not used, "the tables were not used"
    (tmp_path / "a" / table_file.TABLES).unlink()
    slow = nbbpe.load(tmp_path / "a")
    assert used
    for each in fast, slow:
        assert each == tokenizer
        assert each.fingerprint == tokenizer.fingerprint
        assert dict(each.vocab) == dict(tokenizer.vocab)
        assert list(each.vocab) == list(slow.vocab)
        assert each.special_tokens == tokenizer.special_tokens
        assert each.encode(TEXT) == tokenizer.encode(TEXT)
        assert each.decode(each.encode(TEXT)) == TEXT
    assert fast.with_special_tokens(["<x>"]) == slow.with_special_tokens(["<x>"])
    fast.save(tmp_path / "b")
    assert nbbpe.load(tmp_path / "b") == tokenizer
    for name in "vocab.json", "nbbpe.json":
        assert (tmp_path / "b" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_whatever_is_damaged_the_tokenizer_is_the_same(tokenizer, tmp_path, used):
    tokenizer.save(tmp_path / "a")
    path = tmp_path / "a" / table_file.TABLES
    good = path.read_bytes()
    chance = np.random.default_rng(0)
    damaged = [good[:n] for n in (0, 1, 15, 16, 111, 112, 130, 136, len(good) - 1)] + [good + b"\0"]
    for at in [*range(140), *chance.integers(140, len(good), 40).tolist()]:
        damaged.append(good[:at] + bytes([good[at] ^ 1 << int(chance.integers(8))]) + good[at + 1 :])
    for content in damaged:
        path.write_bytes(content)
        assert nbbpe.load(tmp_path / "a") == tokenizer
    assert len(used) == len(damaged)
    path.unlink()
    path.mkdir()
    assert nbbpe.load(tmp_path / "a") == tokenizer


def signed(content: bytes) -> bytes:
    """Changed tables with the digest of what they are now, as a stranger can make them."""
    head, body = content[:80], content[112:]
    return head + hashlib.sha256(body).digest() + body


class Lies:
    """Parts of tables, to be changed: int64[3], int32[n], int32[n], int32[m, 3], uint8[t]."""

    def __init__(self, content: bytes) -> None:
        self.head = content[:112]
        self.counts = np.frombuffer(content, "<i8", 3, 112).copy()
        n, m, _ = self.counts.tolist()
        self.ids, self.lengths = np.frombuffer(content, "<i4", 2 * n, 136).copy().reshape(2, n)
        self.merges = np.frombuffer(content, "<i4", 3 * m, 136 + 8 * n).copy().reshape(m, 3)
        self.text = np.frombuffer(content, np.uint8, offset=136 + 8 * n + 12 * m).copy()

    def content(self) -> bytes:
        parts = self.counts, self.ids, self.lengths, self.merges, self.text
        return signed(self.head + b"".join(part.tobytes() for part in parts))


def change(name: str, at: int, value: int) -> Callable[[Lies], None]:
    def apply(lies: Lies) -> None:
        getattr(lies, name).ravel()[at] = value

    return apply


def fit(n_tokens: int, n_merges: int) -> Callable[[Lies], None]:
    """Other counts, whose sum is still the size of the file."""

    def apply(lies: Lies) -> None:
        n_bytes = len(lies.content()) - 136 - 8 * n_tokens - 12 * n_merges
        lies.counts[:] = n_tokens, n_merges, n_bytes

    return apply


LIES = {
    "another token": change("text", 300, ord("q")),
    "another byte": change("text", 97, ord("b")),
    "a result that is another token": change("merges", 2, 258),
    "a side that is another token": change("merges", 0, 98),
    "a side that is no token": change("merges", 0, 2**31 - 1),
    "a side below all": change("merges", 1, -5),
    "a negative id": change("ids", 0, -1),
    "an id twice": change("ids", 5, 4),
    "an id too large": change("ids", -1, 2**31 - 1),
    "a negative length": change("lengths", 3, -1),
    "a length too large": change("lengths", 3, 2**31 - 1),
    "more tokens than there are": change("counts", 0, 2**60),
    "more merges than there are": change("counts", 1, 2**62),
    "fewer tokens": change("counts", 0, 0),
    "negative bytes": change("counts", 2, -8),
    "no tokens, and nothing else": fit(0, 0),
    "a negative number of tokens that fits": fit(-1, 3),
    "a negative number of merges that fits": fit(256, -1),
    "a negative number of bytes that fits": fit(1000, 0),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_tables_that_lie_are_not_believed(lie, tmp_path, used):
    tokenizer = trained()
    tokenizer.save(tmp_path / "a")
    path = tmp_path / "a" / table_file.TABLES
    lies = Lies(path.read_bytes())
    assert lies.content() == path.read_bytes()
    lie(lies)
    path.write_bytes(lies.content())
    assert nbbpe.load(tmp_path / "a") == tokenizer
    assert used


@settings(max_examples=60)
@given(data=st.data())
def test_any_lies_give_the_tokenizer_of_the_readable_files(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("lies") / "a"
    tokenizer = trained()
    tokenizer.save(folder)
    lies = Lies((folder / table_file.TABLES).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        part = getattr(lies, data.draw(st.sampled_from(["counts", "ids", "lengths", "merges", "text"]))).ravel()
        at = data.draw(st.integers(0, len(part) - 1))
        values = st.integers(0, 255) if part.dtype == np.uint8 else st.integers(-(2**31), 2**31 - 1) | st.integers(0, 300)
        part[at] = data.draw(values)
    (folder / table_file.TABLES).write_bytes(lies.content())
    found = nbbpe.load(folder)
    assert found == tokenizer
    assert found.encode(TEXT) == tokenizer.encode(TEXT)


def test_readable_files_that_were_edited_are_what_counts(tmp_path):
    trained().save(tmp_path / "a")
    vocab = tmp_path / "a" / "vocab.json"
    vocab.write_text(vocab.read_text().replace('"!": 33', '"!": 400'))
    with pytest.raises(ValueError, match="not those that were saved together"):
        nbbpe.load(tmp_path / "a")
    assert nbbpe.load(tmp_path / "a", check=False).token_to_id("!") == 400


def test_tables_of_another_tokenizer_are_not_used(tmp_path, used):
    """As after an nbbpe that knows nothing of them has saved to the folder."""
    trained().save(tmp_path / "a")
    with_gaps().save(tmp_path / "b")
    for name in "vocab.json", "merges.txt", "tokenizer.json", "nbbpe.json":
        shutil.copy(tmp_path / "b" / name, tmp_path / "a" / name)
    assert nbbpe.load(tmp_path / "a") == with_gaps()
    assert used


def test_a_file_too_large_is_not_read(tmp_path, used):
    trained().save(tmp_path / "a")
    with open(tmp_path / "a" / table_file.TABLES, "r+b") as file:
        file.truncate(1 << 40)  # which takes no room on the disk
    assert nbbpe.load(tmp_path / "a") == trained()
    assert used


def test_a_small_tokenizer_has_none_and_takes_away_those_that_are_there(tmp_path, sizes):
    trained().save(tmp_path / "a")
    assert (tmp_path / "a" / table_file.TABLES).exists()
    sizes(tables=1000)
    with_gaps().save(tmp_path / "a")
    assert not (tmp_path / "a" / table_file.TABLES).exists()
    assert nbbpe.load(tmp_path / "a") == with_gaps()


def test_a_file_of_somebody_elses_is_not_replaced(tmp_path):
    (tmp_path / table_file.TABLES).write_text("mine")
    with pytest.raises(FileExistsError, match=r"has a nbbpe\.tables and no nbbpe\.json"):
        trained().save(tmp_path)
