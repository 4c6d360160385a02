"""Encoding in memory by one thread, first pass and warm; files by all processors; hostile texts. With other libraries."""

from __future__ import annotations

import pytest

from benchmarks.corpora import CORPORA, HOSTILE, HOSTILE_BYTES, TEXTS, beginning, hostile
from benchmarks.entrants import PASS_NAMES, PASSES, SAME, SLOW, entrants_of, race_slow
from benchmarks.race import Entry, need, race
from benchmarks.results import Claim, ratio, two_workers

# For each text: the end of its rows in headlines.py, and how many times as fast as gigatoken the first and warm passes must
# be.
GIGATOKEN_FIGURES = {
    "books_en_x8": ("", 1.5, 1.0),
    "books_en": ("", 1.5, 1.0),
    "novels_de": (", others", 1.3, 1.0),
    "bible_multilingual": (", others", 1.3, 1.0),
    "scripts_extra": (", others", 1.3, 1.0),
    "cjk": (", CJK", 1.3, 1.0),
    "code_rails": (", others", 1.3, 1.0),
}
ENCODE_FILE_FIGURE = 1.5  # times as fast as gigatoken with its ids written
TWO_WORKERS_FIGURE = 1.6  # times as fast as one worker
BATCH_FIGURE = 10  # times as fast as tiktoken's batch encoding
HOSTILE_LIMIT = 20  # times as long for each byte as English prose, for one character repeated


SLOW_RACES = [
    *(("gpt2", text, peer) for peer in SLOW for text in TEXTS if text != "books_en_x8"),
    *((vocabulary, text, "tiktoken") for vocabulary in ("cl100k", "o200k") for text in ("books_en", "cjk")),
]


@pytest.mark.parametrize("name", TEXTS)
def test_one_thread(benchmark, conclude, name: str):
    need("gigatoken")
    text = TEXTS[name]()
    libraries = {
        "nbbpe encode_array of an open file": "nbbpe-one-thread-file",
        "nbbpe encode_array of bytes in memory": "nbbpe-one-thread",
        "gigatoken encode_files, not parallel": "gigatoken-one-thread",
    }
    entries = race(benchmark, entrants_of(text.path, libraries, PASSES), 5, SAME)
    ours, in_memory, gigatoken = entries.values()
    end, *figures = GIGATOKEN_FIGURES[name]
    claims = []
    for (pass_name, fact), figure in zip(PASS_NAMES.items(), figures, strict=True):
        row = pass_name + end
        claims.append(ratio(ours, gigatoken, figure, row, fact=fact, detail=f"{pass_name} pass", case=name, rates=True))
        claims.append(ratio(in_memory, gigatoken, None, fact=fact, detail=f"{pass_name} pass, our text in memory"))
    conclude(
        f"one_thread/gpt2/{name}/gigatoken",
        f"encode {text}, one thread, first pass",
        entries.values(),
        claims,
        f"all {ours.checked['n_ids']:,} ids equal; a file to an array in memory, the file read in the time; "
        "and beside it, text that is in memory before",
    )


@pytest.mark.parametrize(("vocabulary", "name", "peer_name"), SLOW_RACES)
def test_one_thread_slow_peers(benchmark, conclude, vocabulary: str, name: str, peer_name: str):
    peer = SLOW[peer_name]
    text = beginning(name, peer.n_bytes)
    (ours, theirs), note = race_slow(benchmark, text, vocabulary, peer_name)
    figure = peer.cjk_figure if name == "cjk" else peer.figure
    claims = []
    for pass_name, fact in PASS_NAMES.items():
        detail = f"{pass_name} pass"
        case = name if vocabulary == "gpt2" else f"{vocabulary}, {name}"
        row = _slow_row(vocabulary, name, pass_name) if peer_name == "tiktoken" else ""
        claims.append(ratio(ours, theirs, figure, row, fact=fact, detail=detail, case=case, rates=True))
    title = f"encode {text} with {vocabulary}'s vocabulary, one thread, first pass"
    conclude(f"one_thread/{vocabulary}/{name}/{peer_name}", title, [ours, theirs], claims, note)


def _slow_row(vocabulary: str, name: str, pass_name: str) -> str:
    row = "tiktoken" if vocabulary == "gpt2" else "cl100k and o200k"
    return row + (", CJK" if name == "cjk" else "") + (", warm" if pass_name == "warm" else "")


@pytest.mark.parametrize("corpus", CORPORA)
def test_encode_file(benchmark, conclude, corpus: str):
    need("gigatoken")
    libraries = {
        "nbbpe encode_file": "nbbpe",
        "gigatoken encode_files, ids written as uint16": "gigatoken-written",
        "gigatoken encode_files, ids left in memory": "gigatoken",
    }
    text = CORPORA[corpus]()
    entries = race(benchmark, entrants_of(text.path, libraries), 5, SAME)
    ours, written, in_memory = entries.values()
    claims = [
        ratio(ours, written, ENCODE_FILE_FIGURE, "file", case=corpus, rates=True),
        ratio(ours, in_memory, None),
    ]
    note = f"all {ours.checked['n_ids']:,} ids equal; from a text file to a finished file of ids, or to ids in memory"
    conclude(f"encode_file/{corpus}/gigatoken", f"encode {text}, all processors", entries.values(), claims, note)


@pytest.mark.parametrize("name", ["books_en_x8"])
def test_encode_file_with_one_and_two_workers(benchmark, conclude, name: str):
    text = TEXTS[name]()
    libraries = {"nbbpe encode_file, workers=2": "nbbpe-two-workers", "nbbpe encode_file, workers=1": "nbbpe-one-worker"}
    entries = race(benchmark, entrants_of(text.path, libraries), 5, SAME)
    two, one = entries.values()
    claims = two_workers(two, one, TWO_WORKERS_FIGURE)
    note = (
        f"all {two.checked['n_ids']:,} ids equal; in threads of a fresh process, from a text file to a finished file of ids"
    )
    conclude(f"encode_file/{name}/workers", f"encode {text} with one and two workers", [two, one], claims, note)


@pytest.mark.parametrize("corpus", CORPORA)
def test_encode_file_and_tiktoken(benchmark, conclude, corpus: str):
    need("tiktoken")
    libraries = {
        "nbbpe encode_file": "nbbpe",
        "tiktoken encode_ordinary_batch": "tiktoken",
        "tiktoken encode_batch with special tokens": "tiktoken-special",
    }
    text = CORPORA[corpus]()
    rounds = 3 if corpus == "books_en" else 1  # half a minute each
    entries = race(benchmark, entrants_of(text.path, libraries), rounds, SAME)
    ours, *peers = entries.values()
    assert ours.checked["n_separators"] == peers[-1].checked["n_separators"]
    claims = [ratio(ours, peer, BATCH_FIGURE, "file, tiktoken", case=corpus, rates=True) for peer in peers]
    note = (
        f"all {ours.checked['n_ids']:,} ids equal; nbbpe reads a file and writes one; tiktoken has its documents in "
        "memory, split before time counts, and leaves its ids there. The separators' ids are not compared with those that "
        "leave them out"
    )
    conclude(f"encode_file/{corpus}/tiktoken", f"encode {text}, all processors", entries.values(), claims, note)


def test_hostile_texts(benchmark, conclude):
    need("tiktoken")
    prose = TEXTS["books_en"]()
    entrants = entrants_of(prose.path, {"nbbpe, English prose": "nbbpe-one-thread"})
    entrants |= entrants_of(beginning("books_en", HOSTILE_BYTES).path, {"nbbpe, a megabyte of it": "nbbpe-one-thread"})
    for name in HOSTILE:
        libraries = {f"nbbpe, {name}": "nbbpe-one-thread", f"tiktoken, {name}": "tiktoken-one-thread"}
        entrants |= entrants_of(hostile(name), libraries)
    entries = race(benchmark, entrants, 3)
    english, megabyte = (_ns_for_byte(entries[f"nbbpe, {text}"]) for text in ("English prose", "a megabyte of it"))
    claims = []
    for name in HOSTILE:
        ours, theirs = entries[f"nbbpe, {name}"], entries[f"tiktoken, {name}"]
        assert ours.checked["n_ids"] == theirs.checked["n_ids"]
        assert ours.checked["digest"] == theirs.checked["digest"]
        nanoseconds = _ns_for_byte(ours)
        is_one_word = name == "one word of random letters"
        claims.append(
            Claim(
                f"times as slow by the byte as English prose, {name}",
                nanoseconds / english,
                None if is_one_word else HOSTILE_LIMIT,
                at_least=False,
                row="hostile, one word" if is_one_word else "hostile",
                ours=f"{nanoseconds:.3g} ns/byte",
                theirs=f"English prose {english:.3g} ns/byte",
                case=name,
                unit="x",
            )
        )
        what = f"times as slow by the byte as the first megabyte of English prose, {name}"
        claims.append(Claim(what, nanoseconds / megabyte, unit="x"))
        claims.append(ratio(ours, theirs, None))
    title = "encode a megabyte of hostile text beside English prose, one thread, first pass"
    note = "all ids equal to tiktoken's; prose is the whole of books_en.txt, which is faster by the byte than a part of it"
    conclude("hostile", title, entries.values(), claims, note)


def _ns_for_byte(entry: Entry) -> float:
    """The median time in nanoseconds for each byte."""
    return 1e9 * entry.seconds / entry.runs[0]["n_bytes"]
