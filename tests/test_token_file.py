"""Files of ids and the JSON beside them: what encode_file leaves, what TokenFile makes of it, and what it refuses."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import pickle
import shutil
from pathlib import Path

import naive
import numpy as np
import processes
import pytest
import texts
from hypothesis import given
from hypothesis import strategies as st
from limits import takes_memory_below
from vocabularies import BYTES

import nbbpe
from nbbpe.idfiles import sidecar
from nbbpe.idfiles.checksum import Checksum
from nbbpe.model import provenance
from nbbpe.patterns import character_classes

PARTS = [texts.SAMPLE, "the cat", "", " a\n", "the cat sat on the mat " * 5]
DATA = texts.SPECIAL.join(PARTS).encode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_bytes(DATA)
    return tmp_path / "text.txt"


@pytest.fixture(params=[".bin", ".npy"])
def encoded(request, small, source, tmp_path: Path) -> Path:
    """A file of ids that encode_file wrote."""
    path = tmp_path / f"ids{request.param}"
    small.encode_file(source, path)
    return path


def bare(path: Path, ids, dtype="<u2") -> Path:
    """A file of raw ids, as another program would write it."""
    np.asarray(ids, dtype=dtype).tofile(path)
    return path


def about(path: Path) -> dict:
    return json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))


def change(path: Path, **changes) -> None:
    """Change entries of the JSON beside a file of ids."""
    Path(f"{path}.json").write_text(json.dumps(about(path) | changes), encoding="utf-8")


# The JSON


def test_encode_file_says_whose_ids_they_are(encoded, small, source):
    found = about(encoded)
    assert found == {
        "format": "nbbpe ids",
        "version": 1,
        "dtype": "uint16",
        "byte_order": "little",
        "n_ids": len(small.encode(DATA)),
        "checksum": f"{naive.checksum(small.encode_array(DATA).tobytes()):016x}",
        "fingerprint": small.fingerprint,
        "vocab_size": 400,
        "separator_ids": [399],
        "separator_first": False,
        "document_ends": 0,
        "sources": [{"name": "text.txt", "bytes": len(DATA), "mtime_ns": source.stat().st_mtime_ns}],
        "character_classes": character_classes.classes_digest(),
        "versions": provenance.library_versions(),
        "tokenizer": small.provenance,
    }
    assert encoded.stat().st_size >= 2 * found["n_ids"]
    assert Path(f"{encoded}.json").read_bytes().endswith(b"\n}\n")


def test_separators_may_be_some_of_the_special_tokens(small):
    tokenizer = nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL, "<|pad|>", "<|x|>"])
    ids = tokenizer.special_tokens
    sources = [("a/b", 3, 5), ("c", None, None)]
    some = sidecar.describe_ids(tokenizer, 5, Checksum(), sources, ["<|x|>", texts.SPECIAL, "<|x|>"], False, n_ends=0)
    assert some["separator_ids"] == sorted([ids["<|x|>"], ids[texts.SPECIAL]])
    assert some["sources"] == [{"name": "b", "bytes": 3, "mtime_ns": 5}, {"name": "c", "bytes": None, "mtime_ns": None}]


def test_a_pipe_has_no_size(small, tmp_path):
    ended = processes.run(
        "import sys, nbbpe; nbbpe.load(sys.argv[1]).encode_file('/dev/stdin', sys.argv[2])",
        *(small.save(tmp_path / "t") or tmp_path / "t", tmp_path / "ids.bin"),
    )
    assert ended == ""
    assert about(tmp_path / "ids.bin")["sources"][0]["name"] == "stdin"


def test_a_file_name_that_is_no_text_is_kept(small, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    Path(path).write_bytes(DATA)
    small.encode_file(path, tmp_path / "ids.bin")
    assert about(tmp_path / "ids.bin")["sources"][0]["name"] == "caf\udce9.txt"


def test_an_older_json_is_replaced(encoded, small, source):
    other = nbbpe.train(iter([texts.SAMPLE]), 300, ["<|e|>"])
    other.encode_file(source, encoded)
    assert about(encoded)["fingerprint"] == other.fingerprint
    assert np.array_equal(nbbpe.TokenFile(encoded, other).ids, other.encode_array(DATA))


@pytest.mark.parametrize("content", ["precious", "{}", "", '{"format": "other"}', "[" * 100_000])
def test_a_file_that_is_not_ours_is_not_replaced(small, source, tmp_path, content):
    beside = tmp_path / "ids.bin.json"
    beside.write_text(content)
    with pytest.raises(FileExistsError, match=r"ids\.bin\.json' was not written by nbbpe"):
        small.encode_file(source, tmp_path / "ids.bin", progress=lambda *_: pytest.fail("work was begun"))
    # The text itself may lie there; by its name it is records.
    with pytest.raises((FileExistsError, ValueError), match=r"ids\.bin\.json'"):
        small.encode_file(beside, tmp_path / "ids.bin")
    assert beside.read_text() == content
    assert sorted(os.listdir(tmp_path)) == ["ids.bin.json", "text.txt"]


def test_a_folder_or_a_pipe_in_the_place_of_the_json_is_told_before_work(small, source, tmp_path):
    (tmp_path / "a.bin.json").mkdir()
    os.mkfifo(tmp_path / "b.bin.json")
    for name in "a.bin", "b.bin":
        with pytest.raises(FileExistsError, match="was not written by nbbpe"):
            small.encode_file(source, tmp_path / name)


def test_a_dangling_link_in_the_place_of_the_json_is_replaced(small, source, tmp_path):
    os.symlink(tmp_path / "nowhere", tmp_path / "ids.bin.json")
    small.encode_file(source, tmp_path / "ids.bin")
    assert not (tmp_path / "nowhere").exists()
    assert len(nbbpe.TokenFile(tmp_path / "ids.bin", small)) == len(small.encode(DATA))


# The ids


def test_a_token_file_is_the_ids_of_the_text(encoded, small):
    file = nbbpe.TokenFile(encoded, small)
    wanted = small.encode_array(DATA)
    assert isinstance(file.ids, np.memmap)
    assert file.ids.ndim == 1
    assert np.array_equal(file.ids, wanted)
    assert len(file) == len(wanted)
    assert file.dtype == file.ids.dtype == np.uint16
    assert (file.fingerprint, file.vocab_size, file.separator_ids) == (small.fingerprint, 400, (399,))
    assert "ids of uint16" in repr(file)
    with pytest.raises(ValueError, match="read-only"):
        file.ids[0] = 1
    for place in len(file), -len(file) - 1, 2**63:
        with pytest.raises(IndexError, match=f"{place} is out of bounds"):
            file[place]


def test_numpy_takes_a_token_file_as_the_array_of_its_ids(encoded, small):
    file = nbbpe.TokenFile(encoded, small)
    assert np.asarray(file).dtype == np.uint16
    assert np.shares_memory(np.asarray(file), file.ids)
    assert type(np.asarray(file)) is np.ndarray
    assert np.array(file).flags.writeable
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert np.shares_memory(np.array(file, copy=False), file.ids)
        with pytest.raises(ValueError, match="copy"):
            np.array(file, dtype=np.int64, copy=False)
    wide = np.asarray(file, dtype=np.int64)
    assert wide.dtype == np.int64
    assert wide.tolist() == list(file)
    assert (file == np.asarray(file)).all()
    assert small.decode(file) == small.decode(file.ids)


def test_a_token_file_needs_no_tokenizer_and_takes_any_kind_of_path(encoded, monkeypatch, small):
    monkeypatch.chdir(encoded.parent)
    for path in encoded, str(encoded), encoded.name, os.fsencode(encoded):
        file = nbbpe.TokenFile(path)
        assert file.path == str(encoded)
        assert small.decode_bytes(file.ids) == DATA


def test_a_large_vocabulary_is_read_as_uint32(tmp_path, source):
    vocab = BYTES | {70_000: b"th"}
    tokenizer = nbbpe.Tokenizer(vocab, [(b"t", b"h")])
    for name in "ids.bin", "ids.npy":
        tokenizer.encode_file(source, tmp_path / name)
        file = nbbpe.TokenFile(tmp_path / name, tokenizer)
        assert file.dtype == np.uint32
        assert file.ids.max() == 70_000
        assert file.separator_ids == ()


def test_a_bare_file_of_nanogpts_is_taken_with_its_dtype(tmp_path, small):
    path = bare(tmp_path / "train.bin", [5, 1, 399, 2, 65_535])
    for dtype in np.uint16, "uint16", "<u2", np.dtype(np.uint16):
        file = nbbpe.TokenFile(path, dtype=dtype)
        assert file.ids.tolist() == [5, 1, 399, 2, 65_535]
        assert (file.fingerprint, file.vocab_size, file.separator_ids) == (None, None, ())
    file = nbbpe.TokenFile(path, small, dtype=np.uint16, check=False)
    assert file.separator_ids == (399,)
    assert file.document_starts.tolist() == [0, 3]
    assert nbbpe.TokenFile(bare(path, [1, 2], ">u2"), dtype=">u2").ids.tolist() == [1, 2]


def test_a_bare_npy_file_says_its_dtype_itself(tmp_path):
    for dtype in "<u2", "<i4", ">i8", "u1":
        np.save(tmp_path / "a.npy", np.array([1, 2, 3], dtype=dtype))
        file = nbbpe.TokenFile(tmp_path / "a.npy")
        assert file.ids.tolist() == [1, 2, 3]
        assert file.dtype == np.dtype(dtype)
    with open(tmp_path / "a.npy", "wb") as out:
        np.lib.format.write_array(out, np.array([7, 8]), version=(2, 0))
    assert nbbpe.TokenFile(tmp_path / "a.npy", dtype=np.int64).ids.tolist() == [7, 8]
    with pytest.raises(ValueError, match=r"a\.npy holds ids of int64, and dtype says uint16"):
        nbbpe.TokenFile(tmp_path / "a.npy", dtype=np.uint16)


def test_the_header_of_a_bare_npy_file_says_how_many_ids_there_are(tmp_path):
    path = tmp_path / "a.npy"
    header = b"{'descr': '<u2', 'fortran_order': False, 'shape': (3,)}".ljust(5000) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path.write_bytes(start + bytes([1, 0, 2, 0, 3, 0]))
    assert nbbpe.TokenFile(path).ids.tolist() == [1, 2, 3]
    for n in 2, 4:
        path.write_bytes(start + bytes(2 * n))
        with pytest.raises(ValueError, match=rf"a\.npy holds {n} ids, and its header says 3: it was truncated or added to"):
            nbbpe.TokenFile(path)


# Documents


def naive_documents(ids: list[int], separators) -> list[list[int]]:
    documents, current = [], []
    for token_id in ids:
        current.append(token_id)
        if token_id in separators:
            documents.append(current)
            current = []
    return [*documents, current] if current else documents


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=40),
    st.sets(st.sampled_from([0, 1, 2, 9, 70_000]), min_size=1),
    st.integers(1, 9),
)
def test_documents_end_after_their_separators(sizes, tmp_path, ids, separators, at_once):
    path = bare(tmp_path / "a.bin", ids)
    sizes(ids_looked_at=at_once)
    file = nbbpe.TokenFile(path, dtype=np.uint16, separator_ids=separators)
    wanted = naive_documents(ids, separators)
    assert [document.tolist() for document in file.documents()] == wanted
    starts = file.document_starts
    assert starts.dtype == np.int64
    assert starts.tolist() == [0, *itertools.accumulate(map(len, wanted))][:-1]
    assert file.document_starts is starts


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=40),
    st.sets(st.sampled_from([0, 1, 2, 9, 70_000]), min_size=1),
    st.integers(1, 9),
)
def test_documents_may_begin_with_their_separators(sizes, tmp_path, ids, separators, at_once):
    path = bare(tmp_path / "a.bin", ids)
    sizes(ids_looked_at=at_once)
    file = nbbpe.TokenFile(path, dtype=np.uint16, separator_ids=separators, separator_first=True)
    backwards = naive_documents(ids[::-1], separators)
    assert [document.tolist() for document in file.documents()] == [document[::-1] for document in backwards[::-1]]
    assert pickle.loads(pickle.dumps(file)).document_starts.tolist() == file.document_starts.tolist()
    with pytest.raises(TypeError, match="separator_first must be True, False or None, not 0"):
        nbbpe.TokenFile(path, dtype=np.uint16, separator_first=0)


def test_the_highest_id_of_a_type_may_be_a_separator(tmp_path):
    file = nbbpe.TokenFile(bare(tmp_path / "a.bin", [1, 65535, 2]), dtype=np.uint16, separator_ids=[65535, 65536])
    assert [document.tolist() for document in file.documents()] == [[1, 65535], [2]]


def test_the_documents_of_an_encoded_text_are_its_parts(encoded, small):
    file = nbbpe.TokenFile(encoded, small)
    found = [small.decode(document) for document in file.documents()]
    assert found == [part + texts.SPECIAL for part in PARTS[:-1]] + PARTS[-1:]
    with pytest.raises(ValueError, match="read-only"):
        next(file.documents())[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        file.document_starts[0] = 1


def test_the_first_of_many_documents_needs_no_list_of_all(tmp_path):
    file = nbbpe.TokenFile(bare(tmp_path / "a.bin", [7, 0] * 200_000), dtype=np.uint16, separator_ids=[0])
    assert len(file.document_starts) == 200_000
    with takes_memory_below(1 << 20):
        assert next(file.documents()).tolist() == [7, 0]


def test_without_known_separators_there_are_no_documents(tmp_path):
    file = nbbpe.TokenFile(bare(tmp_path / "a.bin", [1, 2]), dtype=np.uint16)
    for ask in lambda: file.document_starts, file.documents:
        with pytest.raises(ValueError, match=r"a\.bin: no ids are known that end documents.*separator_ids=\[50256\]"):
            ask()


def test_a_text_in_which_no_special_token_was_allowed_has_no_documents(small, source, tmp_path):
    small.encode_file(source, tmp_path / "a.bin", allowed_special=[])
    with pytest.raises(ValueError, match=r"a\.bin: .*\(no special token was recognised in the text, or .*with separator="):
        nbbpe.TokenFile(tmp_path / "a.bin", small).documents()


def test_documents_of_plain_text_and_records_may_end_with_special_tokens(small, tmp_path):
    (tmp_path / "a.txt").write_text("the cat")
    (tmp_path / "b.jsonl").write_text('{"text": "sat"}\n')
    for names, separator_ids in (["a.txt", "b.jsonl"], [399]), (["b.jsonl", "b.jsonl"], []):
        small.encode_file([tmp_path / name for name in names], tmp_path / "ids.bin")
        assert about(tmp_path / "ids.bin")["separator_ids"] == separator_ids


def test_given_separators_come_before_those_of_the_json(encoded):
    with pytest.raises(TypeError, match=r"separator_ids must be a list of ids, such as \[50256\], not 399"):
        nbbpe.TokenFile(encoded, separator_ids=399)
    file = nbbpe.TokenFile(encoded, separator_ids=[32, np.int64(10), 32])
    assert file.separator_ids == (10, 32)
    for bad, error in (([1.5], TypeError), (["a"], TypeError), ([-1], ValueError)):
        with pytest.raises(error, match="a separator id must be"):
            nbbpe.TokenFile(encoded, separator_ids=bad)


RECORDS = ["the cat", "", f"sat{texts.SPECIAL}on", "the mat", ""]


@pytest.fixture
def records(small, tmp_path: Path) -> Path:
    """A file of ids of records without a separator."""
    small.encode_file(iter(RECORDS), tmp_path / "records.bin", allowed_special="all")
    return tmp_path / "records.bin"


def test_records_without_separators_say_beside_the_file_where_they_end(records, small):
    ends = np.cumsum([len(small.encode(text)) for text in RECORDS])
    assert Path(f"{records}.ends").read_bytes() == b"nbbpeEND" + ends.astype("<i8").tobytes()
    assert (about(records)["document_ends"], about(records)["separator_ids"]) == (5, [])
    file = nbbpe.TokenFile(records, small)
    assert file.document_starts.tolist() == [0, *ends[:-1].tolist()]
    assert [small.decode(document) for document in file.documents()] == RECORDS
    assert np.array_equal(pickle.loads(pickle.dumps(nbbpe.TokenFile(records))).document_starts, file.document_starts)
    with_separators = nbbpe.TokenFile(records, small, separator_ids=[399])
    assert len(with_separators.document_starts) == 6
    x, y = next(file.epoch(2, 2))
    assert x.ravel().tolist() == file.ids[:4].tolist()
    assert y.ravel().tolist() == file.ids[1:5].tolist()


def test_without_records_there_is_no_file_of_ends(small, source, records):
    for text, separator in (source, None), (iter(RECORDS), texts.SPECIAL), (iter([]), None):
        small.encode_file(iter(RECORDS), records)
        assert Path(f"{records}.ends").exists()
        small.encode_file(text, records, separator=separator)
        assert not Path(f"{records}.ends").exists()
        assert about(records)["document_ends"] == 0


def test_a_file_of_ends_that_does_not_belong_to_the_ids_is_an_error(records, small):
    ends = Path(f"{records}.ends")
    good = ends.read_bytes()
    longer = good[:-8] + np.array([1000], dtype="<i8").tobytes()
    swapped = good[:8] + good[-8:] + good[16:-8] + good[8:16]
    negative = good[:8] + np.array([-1], dtype="<i8").tobytes() + good[16:]
    in_parts = good[:8], good[:-3], good + b"xyz", b""
    for bad in good[:-8], good + bytes(8), longer, swapped, negative, b"x" + good[1:], *in_parts:
        ends.write_bytes(bad)
        with pytest.raises(ValueError, match=r"records\.bin\.ends .* the 5 ends of documents that records\.bin has"):
            nbbpe.TokenFile(records, small).documents()
    ends.unlink()
    file = nbbpe.TokenFile(records, small)  # the ids are good all the same
    with pytest.raises(FileNotFoundError, match=r"records\.bin\.ends' is missing, which says where"):
        _ = file.document_starts


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("report", [1, 20, 1 << 20])
def test_ends_are_kept_whether_some_were_written_before_the_last_ones_or_not(small, tmp_path, sizes, n, report):
    sizes(report=report, batch=1, window=30)
    records = ["the cat"] * (n - 1) + ["a mat"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in records))
    small.encode_file(documents=records, output_path=tmp_path / "one.bin")
    small.encode_file([tmp_path / "a.jsonl"] * 3, tmp_path / "more.bin", workers=1)
    for name, n_times in ("one.bin", 1), ("more.bin", 3):
        file = nbbpe.TokenFile(tmp_path / name, small, verify=True)
        assert [small.decode(document) for document in file.documents()] == records * n_times


def test_a_file_that_is_not_ours_is_not_replaced_by_ends(small, records, source):
    ends = Path(f"{records}.ends")
    os.remove(f"{records}.json")
    small.encode_file(iter(RECORDS), records)  # what an end at the wrong moment left is ours
    for text in iter(RECORDS), source:
        ends.write_bytes(b"precious")
        with pytest.raises(FileExistsError, match=r"records\.bin\.ends' was not written by nbbpe"):
            small.encode_file(text, records)
        assert ends.read_bytes() == b"precious"


def test_a_json_from_before_there_were_ends_is_read(encoded, small):
    older = about(encoded)
    del older["document_ends"], older["separator_first"]
    Path(f"{encoded}.json").write_text(json.dumps(older), encoding="utf-8")
    read = nbbpe.TokenFile(encoded, small)
    assert not read.separator_first
    assert len(read.document_starts) == len(PARTS)
    change(encoded, document_ends="5")
    with pytest.raises(ValueError, match="document_ends must be an integer from 0 up, and is '5'"):
        nbbpe.TokenFile(encoded, small)


# Random windows


def counting(tmp_path: Path, n_ids: int) -> nbbpe.TokenFile:
    """A file in which each id is its own place."""
    return nbbpe.TokenFile(bare(tmp_path / f"{n_ids}.bin", range(n_ids)), dtype=np.uint16)


def test_windows_are_stretches_of_the_file_and_what_follows(tmp_path):
    batches = counting(tmp_path, 100).windows(8, np.random.default_rng(0), batch_size=5)
    for x, y in itertools.islice(batches, 50):
        for array in x, y:
            assert array.shape == (5, 8)
            assert array.dtype == np.int64
            assert array.flags.c_contiguous
            assert array.flags.writeable
        assert np.array_equal(y, x + 1)
        assert np.array_equal(x, x[:, :1] + np.arange(8))
        assert not np.shares_memory(x, y)


def test_windows_start_at_every_place_that_has_room(tmp_path):
    file = counting(tmp_path, 12)
    starts = np.concatenate([x[:, 0] for x, _ in itertools.islice(file.windows(8, 0, batch_size=50), 20)])
    assert np.bincount(starts).size == 4
    assert np.bincount(starts).min() > 150  # of 1000, with equal chance 250 each
    x, y = next(counting(tmp_path, 9).windows(8))
    assert (x.tolist(), y.tolist()) == ([list(range(8))], [list(range(1, 9))])


def test_windows_depend_on_the_generator_alone(tmp_path):
    file = counting(tmp_path, 1000)

    def firsts(rng) -> list[int]:
        return [int(x[0, 0]) for x, _ in itertools.islice(file.windows(4, rng), 20)]

    assert firsts(7) == firsts(7) == firsts(np.random.default_rng(7))
    assert firsts(7) != firsts(8)
    assert firsts(None) != firsts(None)
    rng = np.random.default_rng(7)
    assert firsts(rng) != firsts(rng)


# Epochs


def blocks_of(batches) -> list[int]:
    """The number of each block of an epoch of a counting file with blocks of 4."""
    found = []
    for x, y in batches:
        assert np.array_equal(y, x + 1)
        assert np.array_equal(x, x[:, :1] + np.arange(4))
        assert x.dtype == y.dtype == np.int64
        assert not (x[:, 0] % 4).any()
        found += (x[:, 0] // 4).tolist()
    return found


@given(
    n_ids=st.integers(5, 200),
    batch_size=st.integers(1, 5),
    world_size=st.integers(1, 5),
    seed=st.one_of(st.none(), st.integers(0, 5), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
)
def test_every_block_comes_once_over_all_ranks(tmp_path, n_ids, batch_size, world_size, seed):
    file = counting(tmp_path, n_ids)
    n_blocks = (n_ids - 1) // 4
    options = {"world_size": world_size, "seed": seed}
    shares = [list(file.epoch(4, batch_size, rank=r, drop_last=False, **options)) for r in range(world_size)]
    found = [block for share in shares for block in blocks_of(share)]
    assert sorted(found) == list(range(n_blocks))
    if seed is None and world_size == 1:
        assert found == sorted(found)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    for share in shares:
        assert all(len(x) == batch_size for x, _ in share[:-1])

    n_full = n_blocks // (batch_size * world_size)
    if not n_full:
        with pytest.raises(ValueError, match="too few for a batch"):
            file.epoch(4, batch_size, **options)
        return
    dropped = [list(file.epoch(4, batch_size, rank=r, **options)) for r in range(world_size)]
    assert [[len(x) for x, _ in share] for share in dropped] == [[batch_size] * n_full] * world_size
    used = [block for share in dropped for block in blocks_of(share)]
    assert len(set(used)) == len(used) == n_full * batch_size * world_size
    for whole, part in zip(shares, dropped, strict=True):  # what is dropped is the end of the same order
        assert blocks_of(whole)[: len(blocks_of(part))] == blocks_of(part)


def test_an_epoch_is_decided_by_its_seed(tmp_path):
    file = counting(tmp_path, 400)

    def order(seed) -> list[int]:
        return blocks_of(file.epoch(4, 3, seed=seed, drop_last=False))

    assert order(None) == list(range(99))
    assert order(5) == order(5)
    assert len({tuple(order(seed)) for seed in (None, 0, 1, 2, (1, 1), (1, 2))}) == 6
    assert order(5)[:6] == [88, 31, 48, 29, 7, 8]  # the same in every process, on every platform, with every NumPy


def test_an_epoch_leaves_out_only_a_tail_that_is_no_block(tmp_path):
    for n_ids, n_blocks in (5, 1), (8, 1), (9, 2), (12, 2), (13, 3):
        assert blocks_of(counting(tmp_path, n_ids).epoch(4, 1)) == list(range(n_blocks))


# What is refused


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block_size": 0}, ValueError, "block_size must be at least 1, not 0"),
        ({"block_size": 2.0}, TypeError, r"block_size must be an integer, not 2\.0"),
        ({"block_size": True}, TypeError, "block_size must be an integer, not True"),
        ({"block_size": 20}, ValueError, r"20\.bin holds 20 ids, and block_size=20 needs at least 21"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"batch_size": "4"}, TypeError, "batch_size must be an integer, not '4'"),
    ],
)
def test_bad_sizes_are_told_at_once(tmp_path, options, error, message):
    file = counting(tmp_path, 20)
    for make in file.windows, file.epoch:
        with pytest.raises(error, match=message):
            make(**{"block_size": 4, "batch_size": 1} | options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rank": 2, "world_size": 2}, ValueError, "rank must be below world_size=2, and is 2"),
        ({"rank": -1}, ValueError, "rank must be at least 0"),
        ({"world_size": 0}, ValueError, "world_size must be at least 1"),
        ({"world_size": 5}, ValueError, r"has 4 blocks of 4 ids, too few for a batch of 1 in each of 5 processes"),
        ({"batch_size": 5}, ValueError, r"use smaller ones, or drop_last=False"),
        ({"seed": -1}, ValueError, "seed must be an integer from 0 on, a list of these, or None, not -1"),
        ({"seed": 1.5}, TypeError, "seed must be an integer from 0 on, a list of these, or None, not 1.5"),
        ({"seed": [1, "a"]}, ValueError, r"seed must be an integer .*, not \[1, 'a'\]"),
    ],
)
def test_a_bad_epoch_is_told_at_once(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        counting(tmp_path, 20).epoch(**{"block_size": 4, "batch_size": 1} | options)


def test_a_bad_generator_is_told_at_once(tmp_path):
    with pytest.raises(TypeError, match=r"rng must be a NumPy generator, or a seed: an integer from 0 on, .*, not 'seed'"):
        counting(tmp_path, 20).windows(4, "seed")


@pytest.mark.parametrize("seed", [None, 1])
def test_more_processes_than_any_integer_of_numpys_share_an_epoch(tmp_path, seed):
    file = counting(tmp_path, 20)
    few, many = (
        [list(file.epoch(4, 1, rank=rank, world_size=n, seed=seed, drop_last=False)) for rank in (0, 3, n - 1)]
        for n in (5, 10**30)
    )
    assert [len(batches) for batches in many] == [1, 1, 0]
    assert np.array_equal(many[:2], few[:2])


def test_the_ids_of_another_tokenizer_are_an_error_with_a_way_out(encoded, small):
    other = nbbpe.train(iter([texts.SAMPLE]), 400, [texts.SPECIAL])
    message = rf"holds ids of another tokenizer, with fingerprint {small.fingerprint} and 400 tokens; this one has "
    with pytest.raises(ValueError, match=message + f"{other.fingerprint}.*check=False"):
        nbbpe.TokenFile(encoded, other)
    assert len(nbbpe.TokenFile(encoded, other, check=False)) == about(encoded)["n_ids"]


def test_ids_made_under_other_character_classes_are_an_error(encoded, small):
    change(encoded, character_classes="0" * 16, versions={"regex": "2019.1.1"})
    with pytest.raises(ValueError, match=r"encoded with regex 2019\.1\.1, .*digests 0000000000000000 and"):
        nbbpe.TokenFile(encoded, small)
    assert nbbpe.TokenFile(encoded, small, check=False).fingerprint == small.fingerprint
    change(encoded, character_classes=None)
    assert nbbpe.TokenFile(encoded, small).fingerprint == small.fingerprint


def test_a_path_in_the_place_of_the_tokenizer_is_told(encoded, tmp_path):
    with pytest.raises(TypeError, match=r"tokenizer must be a Tokenizer \(see nbbpe.load\) or None, not 'tokenizer'"):
        nbbpe.TokenFile(encoded, "tokenizer")


def test_a_missing_json_is_told(encoded, small):
    os.remove(f"{encoded}.json")
    with pytest.raises(
        ValueError, match=rf"{encoded.name} has no sidecar {encoded.name}\.json .*which tokenizer .*check=False"
    ):
        nbbpe.TokenFile(encoded, small, dtype=np.uint16)
    if encoded.suffix == ".bin":
        with pytest.raises(ValueError, match=r"has no sidecar ids\.bin\.json .*give their type \(dtype='uint16'"):
            nbbpe.TokenFile(encoded)


def test_a_dtype_that_is_not_the_files_is_an_error(encoded):
    assert nbbpe.TokenFile(encoded, dtype=np.uint16).dtype == np.uint16
    for dtype in np.uint32, np.int16, ">u2":
        with pytest.raises(ValueError, match="holds ids of uint16, and dtype says"):
            nbbpe.TokenFile(encoded, dtype=dtype)
    for dtype in float, "S2", bool, object:
        with pytest.raises(TypeError, match="dtype must be an integer type of NumPy"):
            nbbpe.TokenFile(encoded, dtype=dtype)


def test_a_file_cut_short_or_added_to_is_an_error(encoded):
    whole = encoded.read_bytes()
    for content in whole[:-1], whole[:-2], whole + b"\0\0", whole[:-4], whole + b"\0" * 3:
        encoded.write_bytes(content)
        with pytest.raises(ValueError, match=r"truncated|one was changed without the other"):
            nbbpe.TokenFile(encoded)
    encoded.write_bytes(whole)
    change(encoded, dtype="uint32")
    with pytest.raises(ValueError, match=r"multiple of the 4|one was changed without the other|says .* of uint32"):
        nbbpe.TokenFile(encoded)


def test_a_bare_file_whose_size_is_no_multiple_is_an_error(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"12345")
    for dtype in np.uint16, np.uint32:
        with pytest.raises(ValueError, match=r"a\.bin has 5 bytes of ids, which is not a multiple of the"):
            nbbpe.TokenFile(path, dtype=dtype)


@pytest.mark.parametrize("name", ["a.bin", "a.npy", "bare.bin", "bare.npy"])
@pytest.mark.parametrize("text", ["empty.txt", "empty.jsonl"])
def test_a_file_of_an_empty_text_has_no_ids(small, tmp_path, name, text):
    path, is_ours = tmp_path / name, name.startswith("a")
    (tmp_path / text).touch()
    if is_ours:
        assert small.encode_file(tmp_path / text, path) == 0
    elif path.suffix == ".npy":
        np.save(path, np.empty(0, dtype=np.uint16))
    else:
        path.touch()
    file = nbbpe.TokenFile(path, small if is_ours else None, dtype=None if is_ours else np.uint16, verify=is_ours)
    for data in file, pickle.loads(pickle.dumps(file)):
        assert isinstance(data.ids, np.memmap)
        assert not data.ids.flags.writeable
        assert (len(data), data.dtype, np.asarray(data).tolist(), data[:5].tolist()) == (0, np.uint16, [], [])
        assert (data.document_starts.tolist(), list(data.documents())) == ([], [])
        for batches in data.windows, lambda size, data=data: data.epoch(size, 1):
            with pytest.raises(ValueError, match=f"{name} holds 0 ids, and block_size=1 needs at least 2"):
                batches(1)


def test_empty_documents_alone_are_documents(small, tmp_path):
    small.encode_file(documents=["", ""], output_path=tmp_path / "a.bin")
    assert [len(document) for document in nbbpe.TokenFile(tmp_path / "a.bin", small).documents()] == [0, 0]


def test_raw_ids_without_sidecar_need_a_dtype_even_if_there_are_none(tmp_path):
    (tmp_path / "bare.bin").touch()
    with pytest.raises(ValueError, match="has no sidecar"):
        nbbpe.TokenFile(tmp_path / "bare.bin")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", None)])
def test_what_is_no_file_in_the_place_of_a_sidecar_or_of_ends_is_named(records, small, make):
    for ending, message in (".ends", "does not hold the 5 ends of documents"), (".json", "must be a file that nbbpe wrote"):
        os.remove(f"{records}{ending}")
        make(f"{records}{ending}")  # whoever opened a pipe would wait for ever
        with pytest.raises(ValueError, match=rf"records\.bin\{ending}:? {message}"):
            nbbpe.TokenFile(records, small).documents()
    with pytest.raises(FileExistsError, match=r"records\.bin\.ends' was not written by nbbpe"):
        small.encode_file(documents=["a"], output_path=records)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("name", ["ids.bin", "ids.npy"])
def test_a_pipe_is_an_error_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    for path in tmp_path / name, os.devnull:
        with pytest.raises(ValueError, match=f"{path}' is a pipe or a device"):
            nbbpe.TokenFile(path, dtype=np.uint16)


def test_what_is_no_file_of_ids_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.bin"):
        nbbpe.TokenFile(tmp_path / "nothing.bin")
    with pytest.raises(IsADirectoryError):
        nbbpe.TokenFile(tmp_path, dtype=np.uint16)
    with pytest.raises(TypeError):
        nbbpe.TokenFile(5)
    path = tmp_path / "a.npy"
    for content in b"", b"junk", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff{", b"\x93NUMPY\x09\x00" + b" " * 90:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"a\.npy is not a NumPy array file"):
            nbbpe.TokenFile(path)
    with pytest.raises(NotADirectoryError, match=r"a\.npy/b\.bin'"):
        nbbpe.TokenFile(path / "b.bin", dtype=np.uint16)
    assert sidecar.find_sidecar(path / "b.bin") == (str(path / "b.bin"), None)
    for array in np.zeros((2, 2), dtype=np.uint16), np.zeros(3), np.zeros(3, dtype=bool), np.array(5), np.array([None]):
        np.save(path, array)
        with pytest.raises(ValueError, match=r"a\.npy must hold a 1-D array of integers, and holds one of"):
            nbbpe.TokenFile(path)


def test_a_header_that_says_it_is_huge_takes_no_memory(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + (1 << 29).to_bytes(4, "little") + b" " * 90)
    with takes_memory_below(1 << 24), pytest.raises(ValueError, match=r"a\.npy is not a NumPy array file"):
        nbbpe.TokenFile(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", 'must be an object with "format": "nbbpe ids"'),
        ('{"format": "nbbpe"}', 'must be an object with "format": "nbbpe ids"'),
        ('{"format": "nbbpe ids", "version": 2}', "has version 2, and this nbbpe reads 1"),
    ],
)
def test_a_broken_json_is_named(encoded, content, message):
    Path(f"{encoded}.json").write_text(content)
    with pytest.raises(ValueError, match=rf"ids\.\w+\.json(, line 1)?: {message}"):
        nbbpe.TokenFile(encoded)


def test_ids_are_checked_on_wish(encoded, small, source):
    nbbpe.TokenFile(encoded, small, verify=True).verify()
    good = encoded.read_bytes()
    for place in len(good) - 1, len(good) // 2 | 1:
        bad = bytearray(good)
        bad[place] ^= 1
        encoded.write_bytes(bad)
        file = nbbpe.TokenFile(encoded, small)
        for check in file.verify, lambda: nbbpe.TokenFile(encoded, small, verify=True), pickled(file).verify:
            with pytest.raises(ValueError, match=r"ids\.\w+ does not hold the ids that were written: .* says [0-9a-f]{16}"):
                check()
    encoded.write_bytes(good)
    change(encoded, checksum=None)
    with pytest.raises(ValueError, match=r"has no checksum .*: ids\.\w+\.json is missing, or of an older nbbpe; encode"):
        nbbpe.TokenFile(encoded, small, verify=True)
    older = about(encoded)
    del older["checksum"]
    Path(f"{encoded}.json").write_text(json.dumps(older), encoding="utf-8")
    assert len(nbbpe.TokenFile(encoded, small)) == len(small.encode(DATA))
    os.remove(f"{encoded}.json")
    with pytest.raises(ValueError, match="has no checksum"):
        nbbpe.TokenFile(encoded, dtype=np.uint16, verify=True)
    bytes_of_another = encoded.with_name("bytes.npy")
    np.save(bytes_of_another, np.arange(3, dtype=np.uint8))
    with pytest.raises(ValueError, match=r"bytes\.npy has no checksum"):
        nbbpe.TokenFile(bytes_of_another, verify=True)


@pytest.mark.parametrize("left", [10, 0])
def test_a_file_that_is_truncated_while_it_is_open_is_not_read_beyond_its_end(encoded, small, left):
    file = nbbpe.TokenFile(encoded, small)
    n_bytes = os.path.getsize(encoded)
    os.truncate(encoded, left)
    with pytest.raises(ValueError, match=rf"ids\.\w+ was truncated since .*, from {n_bytes:,} bytes to {left}: encode"):
        file.verify()


def pickled(file: nbbpe.TokenFile) -> nbbpe.TokenFile:
    return pickle.loads(pickle.dumps(file))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_checksum_is_that_of_the_ids_however_they_are_cut(small, source, tmp_path, sizes, workers):
    sizes(chunk=100, report=10, for_workers=0)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in PARTS))
    for text in source, [source, tmp_path / "a.jsonl"], [source] * 3, tmp_path / "a.jsonl":
        for name in "a.bin", "a.npy":
            small.encode_file(text, tmp_path / name, workers)
            file = nbbpe.TokenFile(tmp_path / name, small, verify=True)
            assert about(tmp_path / name)["checksum"] == f"{naive.checksum(file.ids.tobytes()):016x}"


def test_ends_are_those_of_the_ids_that_are_open(records, small):
    file = nbbpe.TokenFile(records, small)
    small.encode_file(iter([RECORDS[0], *reversed(RECORDS[1:])]), records)
    assert [small.decode(document) for document in file.documents()] == RECORDS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checksum": 5}, "checksum must be 16 hexadecimal digits, and is 5"),
        ({"checksum": "123"}, "checksum must be 16 hexadecimal digits, and is '123'"),
        ({"checksum": "0x12345678901234"}, "checksum must be 16 hexadecimal digits"),
        ({"checksum": "0" * 17}, "checksum must be 16 hexadecimal digits"),
        ({"dtype": "float32"}, "dtype must be uint16 or uint32, and is 'float32'"),
        ({"dtype": ["uint16"]}, "dtype must be uint16 or uint32"),
        ({"n_ids": -1}, "n_ids must be an integer from 0 up, and is -1"),
        ({"n_ids": 2**63}, "n_ids must be an integer from 0 up, and is 9223372036854775808"),
        ({"n_ids": 1.5}, "n_ids must be an integer"),
        ({"n_ids": True}, "n_ids must be an integer"),
        ({"vocab_size": None}, "vocab_size must be an integer"),
        ({"fingerprint": None}, "fingerprint must be a string"),
        ({"separator_ids": 5}, "separator_ids must be a list of ids"),
        ({"separator_ids": ["a"]}, "separator_ids must be a list of ids"),
        ({"separator_first": 1}, "separator_first must be true or false, and is 1"),
        ({"fingerprint": "a" * 65}, "fingerprint must be a string of up to 64 characters"),
        ({"separator_ids": [-1]}, "separator_ids must be a list of ids"),
        ({"versions": None}, "versions must be an object"),
        ({"versions": {"numpy": 2}}, "versions must be an object of short strings"),
        ({"character_classes": 5}, "character_classes must be null or a string of up to 64 characters, and is 5"),
    ],
)
def test_a_json_with_a_wrong_entry_is_named(encoded, changes, message):
    change(encoded, **changes)
    with pytest.raises(ValueError, match=rf"ids\.\w+\.json(, line 1)?: {message}"):
        nbbpe.TokenFile(encoded)


# Other processes


def test_a_pickle_holds_no_ids_and_maps_the_file_anew(encoded, small, monkeypatch, tmp_path):
    monkeypatch.chdir(encoded.parent)
    file = nbbpe.TokenFile(encoded.name, small)
    assert len(file.document_starts) == len(PARTS)
    data = pickle.dumps(file)
    assert len(data) < 2000
    monkeypatch.chdir(Path("/"))
    again = pickle.loads(data)
    assert isinstance(again.ids, np.memmap)
    assert np.array_equal(again.ids, file.ids)
    assert np.array_equal(again.document_starts, file.document_starts)
    assert not again.document_starts.flags.writeable
    assert [x.tolist() for x in next(again.windows(5, 3))] == [x.tolist() for x in next(file.windows(5, 3))]


def test_a_file_that_has_changed_since_it_was_pickled_is_an_error(encoded, small, source):
    data = pickle.dumps(nbbpe.TokenFile(encoded, small))
    nbbpe.Tokenizer(small.vocab, small.merges, [texts.SPECIAL], None).encode_file(source, encoded)
    with pytest.raises(ValueError, match="has changed since this TokenFile was opened"):
        pickle.loads(data)
    os.remove(encoded)
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_other_ids_of_the_same_number_and_tokenizer_are_not_those_that_were_pickled(small, tmp_path):
    path = tmp_path / "ids.bin"
    small.encode_file(documents=["123"], output_path=path)
    data = pickle.dumps(nbbpe.TokenFile(path, small))
    small.encode_file(documents=["123"], output_path=path)
    n_ids = len(pickle.loads(data))
    assert small.encode_file(documents=["132"], output_path=path) == n_ids
    with pytest.raises(ValueError, match="has changed since this TokenFile was opened"):
        pickle.loads(data)


def test_a_file_that_is_replaced_stays_what_it_was_while_it_is_open(encoded, small, source):
    file = nbbpe.TokenFile(encoded, small)
    before = file.ids.tolist()
    source.write_bytes(b"other")
    small.encode_file(source, encoded)
    assert file.ids.tolist() == before
    assert len(nbbpe.TokenFile(encoded, small)) == len(small.encode(b"other"))


def share(file: nbbpe.TokenFile, rank: int) -> list[list[int]]:
    return [x.ravel().tolist() for x, _ in file.epoch(6, 2, rank=rank, world_size=2, seed=1)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_token_file_works_in_other_processes(encoded, small, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    file = nbbpe.TokenFile(encoded, small)
    with multiprocessing.get_context(method).Pool(2) as pool:
        shares = pool.starmap(share, [(file, 0), (file, 1)])
    assert shares == [share(file, 0), share(file, 1)]
    assert len({tuple(x) for part in shares for x in part}) == 2 * len(shares[0])


def test_reading_ids_needs_no_numba(encoded):
    script = (
        "import sys, nbbpe; file = nbbpe.TokenFile(sys.argv[1]); next(file.windows(4)); len(file.document_starts)\n"
        "print('numba' in sys.modules)"
    )
    assert processes.run(script, encoded).strip() == "False"
    shutil.rmtree(encoded.parent)


def test_ids_are_read_beside_ends_that_cannot_be(records, small):
    os.remove(f"{records}.ends")
    os.symlink(os.path.basename(f"{records}.ends"), f"{records}.ends")  # a circle
    data = nbbpe.TokenFile(records, small)
    data.verify()
    with pytest.raises(FileNotFoundError, match="is missing, which says where the documents"):
        data.documents()
