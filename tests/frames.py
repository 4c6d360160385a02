"""Compressed files of many frames: of Zstandard, of gzip as `bgzip` writes it, and of bzip2."""

from __future__ import annotations

import bz2
import importlib
import zlib
from itertools import pairwise

from nbbpe.sources.optional_packages import ZSTD

MAGIC = b"\x28\xb5\x2f\xfd"  # of a frame of Zstandard
SKIPPABLE = b"\x52\x2a\x4d\x18\x05\x00\x00\x00hello"
_WRAPPING = 26  # bytes of a member of bgzip besides its compressed text


def zstd(text: bytes, knows_size: bool = True, **options: int) -> bytes:
    """One frame; its options are named as in CompressionParameter.

    knows_size : whether its header may say how long the text is
    """
    module = importlib.import_module(ZSTD)
    compressor = module.ZstdCompressor(options={module.CompressionParameter[name]: options[name] for name in options})
    if knows_size:
        compressor.set_pledged_input_size(len(text))
    return compressor.compress(text) + compressor.flush()


def bgzf(text: bytes, level: int = 6) -> bytes:
    """One member that says how long it is, see the specification of SAM, section 4.1."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    packed = deflate.compress(text) + deflate.flush()
    header = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + (len(packed) + _WRAPPING - 1).to_bytes(2, "little")
    return header + packed + zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")


def frame(text: bytes, compression: str) -> bytes:
    """One frame, one member or one stream."""
    if compression == ".bz2":
        return bz2.compress(text)
    return bgzf(text) if compression == ".gz" else zstd(text, checksum_flag=1)


def in_frames(text: bytes, cuts: list[int], compression: str) -> bytes:
    """A text cut at some places, into a frame each; cuts may be equal."""
    places = [0, *sorted(cuts), len(text)]
    return b"".join(frame(text[start:end], compression) for start, end in pairwise(places))
