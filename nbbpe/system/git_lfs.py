"""Pointers of Git LFS, which stand in the place of large files in a checkout until these are fetched."""

from __future__ import annotations

from typing import BinaryIO

LFS_POINTER = b"version https://git-lfs"  # how one begins
IS_LFS_POINTER = "is a pointer of Git LFS in the place of the file, which `git lfs pull` fetches"
LARGEST_LFS_POINTER = 1023  # bytes, by the specification of Git LFS


def is_lfs_pointer(file: BinaryIO, size: int | None) -> bool:
    """Whether a file, open at its start, is a pointer. A file too large to be one is not read.

    size : of the file in bytes, None if it is not known
    """
    return size is not None and size <= LARGEST_LFS_POINTER and file.read(len(LFS_POINTER)) == LFS_POINTER
