"""sources/compression/frames.py: files of several frames are cut near them, and give what the plain file gives."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import shutil
import subprocess
from pathlib import Path

import frames
import numpy as np
import pytest
import texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from limits import takes_memory_below
from records import DOCUMENTS, documents_of, encoded, json_lines, needs

import nbbpe
from nbbpe.kernels.pieces.special_tokens import new_special_tokens
from nbbpe.patterns.pattern import NAMED
from nbbpe.sources import Line, Tally, find_inputs, shared_by_threads
from nbbpe.sources.compression.compressed import open_stream
from nbbpe.sources.compression.frames import find_frames
from nbbpe.sources.files.local import find_local
from nbbpe.sources.inputs import Extent
from nbbpe.sources.optional_packages import ZSTD
from nbbpe.text.chunks import CutRules
from nbbpe.text.windows import NO_ID

COMPRESSIONS = [".gz", ".zst", ".bz2"]


@pytest.fixture(autouse=True)
def _zstandard(request) -> None:
    if ".zst" in request.node.name or "compression" not in request.fixturenames:
        needs(ZSTD)


def found(data: bytes, compression: str) -> list[int]:
    """Where frames begin."""
    return list(find_frames(io.BytesIO(data), compression))


def text_of(path: Path, part_bytes: int, special_tokens: list[bytes]) -> list[bytes]:
    """The text of each part of a plain file."""
    specials = new_special_tokens(special_tokens, [0] * len(special_tokens))
    (each,) = find_inputs(path, None, "raise")
    parts = []
    n_read = 0
    for part in each.cut(part_bytes, CutRules(NAMED["gpt2"], special_tokens)):
        tally = Tally("raise")
        with part.open(specials, True, NO_ID, tally) as reader:
            window = reader.advance(0)
            parts.append(window.data[window.start : window.end].tobytes())
        n_read += tally.n_read
    assert n_read == path.stat().st_size  # each byte once, also where a part goes on into what the next one begins with
    return parts


# Finding frames


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 3)), max_size=9))
def test_frames_of_zstandard_are_found(pieces):
    needs(ZSTD)
    data, wanted = b"", []
    for text, kind in pieces:
        if kind == 3:
            data += frames.SKIPPABLE
            continue
        # A frame has its size or not, and a checksum or not; runs of one byte become blocks of another kind.
        packed = frames.zstd(text * 5000 if kind else text, checksum_flag=kind & 1, content_size_flag=int(kind == 2))
        wanted.append(len(data))
        data += packed
    assert found(data, ".zst") == wanted


@pytest.mark.parametrize("level", [-5, 1, 19])
def test_frames_of_every_level_and_kind_of_block_are_found(level):
    random = np.random.default_rng(1).integers(0, 256, 300_000, dtype=np.uint8).tobytes()
    data, wanted = b"", []
    for text in random, bytes(400_000), (texts.SAMPLE * 400).encode(), b"":
        packed = frames.zstd(text, compression_level=level)
        wanted.append(len(data))
        data += packed
    assert found(data, ".zst") == wanted


def by_hand(descriptor: int, text: bytes = b"abcde", window: int = 0, size: int = 0, kind: int = 0) -> bytes:
    """A frame of one block, see RFC 8878, sections 3.1.1.1 and 3.1.1.2; its size of the text may be wrong."""
    is_single = descriptor >> 5 & 1
    fields = bytes([] if is_single else [window]) + bytes([0, 1, 2, 4][descriptor & 3])  # the second, of a dictionary
    fields += size.to_bytes([is_single, 2, 4, 8][descriptor >> 6], "little")
    block = (1 | kind << 1 | len(text) << 3).to_bytes(3, "little") + text
    return frames.MAGIC + bytes([descriptor]) + fields + block + bytes(4 if descriptor & 4 else 0)


def test_frames_with_headers_of_every_kind_are_found():
    for descriptor in range(256):
        frame = by_hand(descriptor)
        n = len(frame)
        assert found(frame * 3, ".zst") == [0, n, 2 * n], descriptor


def test_the_window_of_a_frame_is_read_off_its_header():
    mega = 1 << 20
    for frame, is_known in (
        (by_hand(0, window=15 << 3), True),  # 32 MB
        (by_hand(0, window=15 << 3 | 1), False),
        (by_hand(0, window=15 << 3 | 4), False),
        (by_hand(0, window=14 << 3 | 7), True),
        (by_hand(0x20 | 2 << 6, size=32 * mega), True),  # of one segment
        (by_hand(0x20 | 2 << 6, size=32 * mega + 1), False),
        (by_hand(0x20 | 3 << 6 | 3, size=32 * mega), True),
        (by_hand(0x20 | 3 << 6 | 3, size=1 << 40), False),
        (by_hand(0x20 | 1 << 6, size=0xFFFF), True),
        (by_hand(2 << 6, size=1 << 31), True),  # not of one segment
    ):
        n = len(frame)
        assert found(frame * 2, ".zst") == ([0, n] if is_known else [0])


@pytest.mark.parametrize(
    "other",
    [b"Plai" + frames.SKIPPABLE[4:], b"\x60" + frames.SKIPPABLE[1:], frames.SKIPPABLE[:3] + b"\x19" + frames.SKIPPABLE[4:]],
    ids=["text", "first byte", "fourth byte"],
)
def test_other_data_after_a_frame_ends_the_search(other):
    frame = by_hand(0)
    assert found(frame + other + frame, ".zst") == [0]


def test_a_block_of_no_kind_ends_the_search():
    frame, invalid = by_hand(0), by_hand(0, kind=3)
    assert found(frame + invalid + frame, ".zst") == [0, len(frame)]


def test_skippable_frames_may_be_long(tmp_path):
    frame, n_skipped = by_hand(0), (1 << 24) + 5
    with (tmp_path / "sparse").open("w+b") as file:
        file.write(frames.SKIPPABLE[:4] + n_skipped.to_bytes(4, "little"))
        file.seek(8 + n_skipped)
        file.write(frame)
        assert list(find_frames(file, ".zst")) == [8 + n_skipped]


@given(st.lists(st.binary(max_size=300), max_size=9))
def test_members_that_say_how_long_they_are_are_found(pieces):
    members = list(map(frames.bgzf, pieces))
    *wanted, end = np.cumsum([0, *map(len, members)]).tolist()
    assert found(b"".join(members), ".gz") == wanted
    other = gzip.compress(b"other")
    after = [end] if wanted else []
    assert found(b"".join([*members, other, *members]), ".gz") == wanted + after
    assert found(b"".join([*members, b"\0\0", *members]), ".gz") == wanted


def test_a_member_with_another_header_says_nothing_of_its_length():
    member = frames.frame(b"the cat", ".gz")
    n = len(member)
    assert found(member * 2, ".gz") == [0, n]
    # The mark of gzip, the method, the flags; the length of the extra field, its name, and the length of what is in it.
    for at in (0, 1, 2, 3, *range(10, 16)):
        other = bytearray(member)
        other[at] ^= 1
        assert found(bytes(other) + member, ".gz") == []
        # After others, what begins like a member may have text, too.
        assert found(member + other, ".gz") == [0] + [n] * (at > 1)


def test_frames_that_need_much_memory_or_are_very_long_end_the_search(sizes):
    small = frames.zstd(b"small")
    wide = frames.zstd(b"wide", knows_size=False, window_log=26)  # else its window would be as small as its text
    assert found(small + wide + small, ".zst") == [0, len(small)]
    long = frames.zstd(os.urandom(1 << 20))
    sizes(most_frame=1 << 19)
    assert found(small + long + small, ".zst") == [0, len(small)]


@given(st.lists(st.binary(max_size=300), max_size=9), st.integers(10, 500))
def test_streams_of_bzip2_are_found_wherever_the_blocks_that_are_read_end(sizes, pieces, block):
    sizes(bzip2_look=block)
    streams = [bz2.compress(piece) + bytes(i % 3) for i, piece in enumerate(pieces)]  # zeros may be behind
    starts = np.cumsum([0, *map(len, streams)]).tolist()
    with_text = [start for start, piece in zip(starts, pieces, strict=False) if piece]  # the others are read on the way
    assert found(b"".join(streams), ".bz2") == with_text


def test_the_search_for_a_stream_of_bzip2_ends(sizes):
    stream = bz2.compress(os.urandom(5000))
    sizes(bzip2_look=100, most_frame=4000)
    assert found(stream * 2, ".bz2") == [0]
    assert found(b"x" * 4100 + stream, ".bz2") == []
    sizes(bzip2_look=100, most_frame=6000)
    assert found(stream * 2, ".bz2") == [0, len(stream)]


@given(st.binary(max_size=60), st.sampled_from(COMPRESSIONS), st.integers(0, 3))
def test_any_bytes_end_the_search(data, compression, n_frames):
    good = frames.frame(b"good text", compression)
    for before in good * n_frames, good * n_frames + good[:9]:
        assert found(before + data, compression)[:n_frames] == [i * len(good) for i in range(n_frames)]


# Equal to the plain file


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_documents_are_those_of_the_plain_file_wherever_frames_end(tmp_path, compression):
    data = b"\xef\xbb\xbf" + json_lines([*DOCUMENTS, "ends with the file"], ensure_ascii=False)[:-1]
    wanted = [text.encode() for text in [*DOCUMENTS, "ends with the file"]]
    path = tmp_path / f"a.jsonl{compression}"
    most = 0

    @settings(max_examples=40, deadline=None)
    @given(st.lists(st.integers(0, len(data)), max_size=12), st.sampled_from([1, 100, 1000, 1 << 20]))
    @example(list(range(0, len(data), 500)), 1)
    def check(cuts, part_bytes):
        nonlocal most
        path.write_bytes(frames.in_frames(data, cuts, compression))
        (each,) = find_inputs(path, None, "raise")
        most = max(most, len(each.cut(part_bytes, CutRules(NAMED["gpt2"], []))))
        assert documents_of(path, part_bytes=part_bytes) == wanted

    check()
    assert most > 3


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("special", ["", texts.SPECIAL])
def test_plain_text_is_cut_where_nothing_changes(tmp_path, compression, special):
    path = tmp_path / f"a.txt{compression}"
    specials = [special.encode()] if special else []
    split = NAMED["gpt2"].split
    most = 0

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(texts.data(), min_size=4, max_size=12).map(b" the end.\n".join),
        st.lists(st.floats(0, 1), min_size=1, max_size=9),
    )
    @example(b"the cat sat. " * 90, [i / 9 for i in range(9)])
    def check(data, shares):
        nonlocal most
        path.write_bytes(frames.in_frames(data, [int(share * len(data)) for share in shares], compression))
        parts = text_of(path, 1, specials)
        most = max(most, len(parts))
        assert b"".join(parts) == data

        def pretokens(text: bytes) -> list[str]:
            text = text.decode(errors="surrogateescape")
            between = re.split(f"({re.escape(special)})", text) if special else [text]
            return [word for each in between for word in ([each] if each == special else split(each)) if word]

        assert [word for part in parts for word in pretokens(part)] == pretokens(data)

    check()
    assert most > 3


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_ids_and_tokenizers_are_those_of_the_plain_file_for_any_number_of_workers(
    small, tmp_path, cut_everywhere, compression, suffix
):
    data = json_lines(DOCUMENTS, ensure_ascii=False)
    plain, packed = tmp_path / f"a{suffix}", tmp_path / f"a{suffix}{compression}"
    plain.write_bytes(data)
    packed.write_bytes(frames.in_frames(data, list(range(50, len(data), 333)), compression))
    cut_everywhere(400)
    wanted = encoded(small, plain, tmp_path)
    learned = nbbpe.train(plain, 330, workers=1)
    for workers in 1, 2, 3:
        for resume in False, True:
            assert encoded(small, packed, tmp_path, workers, resume=resume) == wanted
        assert nbbpe.train(packed, 330, workers=workers) == learned
    (each,) = find_inputs(packed, None, "raise")
    assert len(each.cut(400, CutRules(NAMED["gpt2"], []))) > 4


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_progress_reaches_the_size_of_the_file(small, tmp_path, cut_everywhere, compression):
    data = json_lines(DOCUMENTS)
    path = tmp_path / f"a.jsonl{compression}"
    path.write_bytes(frames.in_frames(data, list(range(0, len(data), 300)), compression) + frames.frame(b"", compression))
    for workers in 1, 2:
        cut_everywhere(500)
        told = []
        small.encode_file(path, tmp_path / "ids.bin", workers, lambda *args, told=told: told.append(args))
        done = [n for stage, n, _ in told if stage == "encode"]
        assert done == sorted(done)
        assert done[-1] == path.stat().st_size
        assert len(done) > 4


def test_a_line_longer_than_what_is_searched_is_in_one_part(tmp_path, sizes):
    sizes(look=64)
    documents = ["short", "x" * 5000, "short", "y" * 5000, "z"]
    data = json_lines(documents)
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(frames.in_frames(data, list(range(0, len(data), 500)), ".zst"))
    assert documents_of(path, part_bytes=1) == [text.encode() for text in documents]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_frames_of_a_line_each_are_cut(small, tmp_path, cut_everywhere, compression):
    path = tmp_path / f"a.jsonl{compression}"
    documents = [f"document {i}" for i in range(60)]
    lines = [json_lines([document]) for document in documents]
    lines[40] = b'{"text": 1}\n'
    path.write_bytes(b"".join(frames.frame(line, compression) for line in lines))
    wanted = [text.encode() for text in documents if text != "document 40"]
    for part_bytes in 1, 100, 500:
        (each,) = find_inputs(path, None, "skip")
        assert len(each.cut(part_bytes, CutRules(NAMED["gpt2"], []))) > 4
        assert documents_of(path, on_error="skip", part_bytes=part_bytes) == wanted
    cut_everywhere(100)
    with pytest.raises(ValueError, match=r"', line 41: the field 'text' is a number"):
        encoded(small, path, tmp_path, 2)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_few_of_many_frames_without_a_place_to_cut_are_looked_into(tmp_path, sizes, compression):
    sizes(block=3)  # so that the text of a frame comes in several pieces
    path = tmp_path / f"a.txt{compression}"
    path.write_bytes(frames.frame(b"the cat", compression) * 2000)
    (each,) = find_inputs(path, None, "raise")
    looked_into = []
    extents = each.cut_between_frames(each.n_text() // 4, looked_into.append)
    assert extents == [Extent()]
    assert set(looked_into) == {b"the cat"}
    assert 16 < len(looked_into) <= 4 * 16


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_two_threads_decompress_bzip2_at_once_and_others_in_turns(tmp_path, sizes, compression):
    sizes(line_chunk=200)
    data = json_lines(DOCUMENTS)
    path = tmp_path / f"a.jsonl{compression}"
    path.write_bytes(frames.in_frames(data, list(range(0, len(data), 500)), compression))
    (each,) = find_inputs(path, None, "raise")
    parts = each.cut(1000, CutRules(NAMED["gpt2"], []))
    assert len(parts) > 2
    assert (shared_by_threads(parts, len(data), 2) is parts) == (compression == ".bz2")
    (whole,) = each.cut(1 << 30, CutRules(NAMED["gpt2"], []))
    assert len(shared_by_threads([whole], len(data), 2)) > 2  # of one stream, all may only encode at once


def test_other_members_of_gzip_are_one_part(tmp_path):
    data = json_lines(DOCUMENTS)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(data[:999]) + gzip.compress(data[999:]))
    (each,) = find_inputs(path, None, "raise")
    assert len(each.cut(1, CutRules(NAMED["gpt2"], []))) == 1
    assert documents_of(path, part_bytes=1) == [text.encode() for text in DOCUMENTS]
    # Those that say how long they are, are cut; what follows is read to its end by one worker.
    path.write_bytes(frames.in_frames(data, list(range(0, len(data), 400)), ".gz") + gzip.compress(data))
    (each,) = find_inputs(path, None, "raise")
    assert len(each.cut(1, CutRules(NAMED["gpt2"], []))) > 4
    assert documents_of(path, part_bytes=1) == [text.encode() for text in DOCUMENTS * 2]


@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_other_members_after_those_of_bgzip_may_be_short(tmp_path, suffix):
    data = json_lines(["the cat sat on the mat"] * 40)
    cut = data.index(b"\n", len(data) // 2) + 3
    # The text after which the file could be cut is that of the next member.
    for short in b"", data[cut : cut + 5]:
        members = frames.bgzf(data[:cut]) + gzip.compress(short) + gzip.compress(data[cut + len(short) :])
        path = tmp_path / f"a{suffix}.gz"
        path.write_bytes(members)
        if suffix == ".txt":
            assert b"".join(text_of(path, 100, [])) == data
        else:
            assert documents_of(path, part_bytes=100) == [b"the cat sat on the mat"] * 40


def test_what_other_programs_write_is_cut(tmp_path):
    program = shutil.which("pzstd")
    if program is None:
        pytest.skip("needs the program pzstd")
    rng = np.random.default_rng(5)
    documents = [" ".join(map(str, rng.integers(0, 1 << 30, 500))) for _ in range(4000)]
    (tmp_path / "a.jsonl").write_bytes(json_lines(documents))
    subprocess.run([program, "-q", "-1", "-p", "2", str(tmp_path / "a.jsonl")], check=True)
    (each,) = find_inputs(tmp_path / "a.jsonl.zst", None, "raise")
    assert len(each.cut(1 << 20, CutRules(NAMED["gpt2"], []))) > 3
    assert documents_of(tmp_path / "a.jsonl.zst", part_bytes=1 << 20) == [text.encode() for text in documents]


# What is wrong


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_malformed_record_is_named_by_its_line_in_the_file(small, tmp_path, cut_everywhere, compression):
    good = [b'{"text": "the cat"}', b"", b'{"text": "caf\xc3\xa9"}'] * 8
    path = tmp_path / f"a.jsonl{compression}"
    cut_everywhere(40)
    for place in 1, 9, 17, 25:
        data = b"\n".join([*good[: place - 1], b"{}", *good[place - 1 :]])
        path.write_bytes(frames.in_frames(data, list(range(0, len(data), 31)), compression))
        for workers in 1, 2:
            with pytest.raises(ValueError, match=re.escape(f"{str(path)!r}, line {place}: the record has no field")):
                small.encode_file(path, tmp_path / "ids.bin", workers)
            with pytest.warns(UserWarning, match=re.escape(f"{str(path)!r}, line {place}: the record has no field")):
                encoded(small, path, tmp_path, workers, on_error="skip", resume=True)
            with pytest.warns(UserWarning, match=re.escape(f"{str(path)!r}, line {place}: the record has no field")):
                nbbpe.train(path, 260, workers=workers, on_error="skip")


def test_the_place_of_a_line_reads_nothing_before_it_is_shown(tmp_path):
    line = Line("a.jsonl.zst", 3, tmp_path / "a.jsonl.zst", 900, 7, ".zst")
    assert str(line) == "'a.jsonl.zst', line 3 after byte 900"  # where the file is gone
    data = b"1\n2\n3\n4\n5\n6\n"
    first = frames.zstd(data[:5])
    (tmp_path / "a.jsonl.zst").write_bytes(first + frames.zstd(data[5:]))
    assert str(line._replace(start=len(first), skip=5, number=1)) == "'a.jsonl.zst', line 6"


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_a_file_that_was_cut_off_or_damaged_is_an_error_that_names_it(small, tmp_path, cut_everywhere, compression, suffix):
    data = json_lines([f"{i * 7919} words" for i in range(60)])
    path = tmp_path / f"a{suffix}{compression}"
    pieces = [frames.frame(data[start : start + 500], compression) for start in range(0, len(data), 500)]
    whole = b"".join(pieces)
    cut_everywhere(700)
    path.write_bytes(whole)
    wanted = encoded(small, path, tmp_path)
    middle = len(b"".join(pieces[:4]))
    damaged = [whole[:-1], whole[: middle + 5], whole[:middle] + b"junk" + whole[middle:], whole + b"junk"]
    for place in (*range(middle, middle + 24), middle + len(pieces[4]) - 1, middle + len(pieces[4]) // 2):
        damaged.append(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    n_errors = 0
    for data in damaged:
        path.write_bytes(data)
        outcomes = []
        for workers in 1, 2:
            try:
                outcomes.append(encoded(small, path, tmp_path, workers))
            except OSError as error:
                outcomes.append(str(error))
            except ValueError as error:  # bzip2 compares a checksum when a block's text is out, which was no JSON before
                assert compression == ".bz2", outcomes
                outcomes.append(re.sub(r"', line [0-9]+: this is not JSON.*", "' is broken or truncated", str(error)))
        # A few bytes mean nothing, as the time in a header of gzip.
        if outcomes != [wanted, wanted]:
            n_errors += 1
            assert all(f"a{suffix}{compression}' is broken or truncated" in str(outcome) for outcome in outcomes), outcomes
        assert os.listdir(tmp_path) == [path.name]
    assert n_errors > 12


def test_a_block_of_no_kind_is_an_error(small, tmp_path):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(frames.zstd(b"some words") + by_hand(0, kind=3))
    with pytest.raises(OSError, match=r"a\.txt\.zst' is broken or truncated.*: .* Data corruption detected"):
        encoded(small, path, tmp_path)


@pytest.mark.parametrize("after", [b"\0", bytes(100), frames.SKIPPABLE[:3], frames.SKIPPABLE[:-1]])
def test_zeros_and_part_of_a_frame_after_a_frame_of_zstandard_are_an_error(small, tmp_path, after):
    """As for the program zstd; after members of gzip, zeros are allowed."""
    path = tmp_path / "a.txt.zst"
    path.write_bytes(frames.zstd(b"some words") + after)
    with pytest.raises(OSError, match=r"a\.txt\.zst' is broken or truncated"):
        encoded(small, path, tmp_path)


def test_a_header_that_says_another_length_never_gives_other_ids(small, tmp_path, cut_everywhere):
    """Of gzip alone, which decompresses without the length that `bgzip` adds."""
    data = [f"{i * 7919} words ".encode() * 20 for i in range(5)]
    inside = frames.bgzf(b"no member, but bytes of a text")
    path = tmp_path / "a.txt.gz"
    cut_everywhere(100)

    def written(n_bytes: int) -> Path:
        """The file, whose second member says that it has so many bytes."""
        members = [frames.bgzf(text, level=0) for text in data]
        members[1] = members[1][:16] + (n_bytes - 1).to_bytes(2, "little") + members[1][18:]
        path.write_bytes(b"".join(members))
        return path

    n_bytes = len(frames.bgzf(data[1], level=0))
    wanted = encoded(small, written(n_bytes), tmp_path)
    for wrong in 2 * n_bytes, n_bytes - 1, n_bytes + 1, 1:
        assert [encoded(small, written(wrong), tmp_path, n) for n in (1, 2)] == [wanted] * 2
    data[2] += inside * 3 + data[2]
    place = n_bytes + frames.bgzf(data[2], level=0).index(inside)
    assert encoded(small, written(place), tmp_path, 1) == small.encode(b"".join(data))
    with pytest.raises(OSError, match=r"a\.txt\.gz' is broken or truncated"):
        encoded(small, written(place), tmp_path, 2)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_part_ends_only_at_the_frame_that_it_was_to_end_at(tmp_path, compression):
    path = tmp_path / f"a.txt{compression}"
    first, second = (frames.frame(text, compression) for text in (b"first", b"second"))
    path.write_bytes(first + second)

    def read(size: int, extent: Extent) -> bytes:
        with open_stream(find_local(path), compression, Tally("raise"), extent) as stream:
            buffer = bytearray(size)
            got = b""
            while n := stream.readinto(memoryview(buffer)):
                got += buffer[:n]
            return got

    def text(*extent: int) -> bytes:
        (got,) = {read(size, Extent(*extent)) for size in (1, 3, 100)}
        return got

    assert text(0, len(first), 0, 3) == b"firstsec"
    assert text(0, len(first), 2, 6) == b"rstsecond"
    assert text(0, len(first), 5, 0) == b""
    assert text(len(first), None, 2, 0) == b"cond"
    assert text(len(first), None, 6, 0) == b""
    for end, skip in (len(first) - 1, 3), (len(first) + 1, 3), (len(first), 7):
        with pytest.raises(OSError, match=f"at byte {end:,} is not the frame that its headers lead to"):
            text(0, end, 0, skip)
    path.write_bytes(first + second + b"no frame")  # which another part may come to
    assert text(0, len(first), 0, 3) == b"firstsec"
    assert text(0, len(first), 5, 0) == b""


def test_what_becomes_very_long_is_decompressed_block_by_block(tmp_path):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(frames.zstd(bytes(300 << 20)))
    assert path.stat().st_size < 1 << 16
    buffer = memoryview(bytearray(1 << 16))
    n_bytes = 0
    with takes_memory_below(1 << 20), open_stream(find_local(path), ".zst", Tally("raise")) as stream:
        while n := stream.readinto(buffer):
            n_bytes += n
    assert n_bytes == 300 << 20
