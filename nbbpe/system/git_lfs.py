"""Pointers of Git LFS: what stands in the place of a large file in a checkout of which the large files were not fetched."""

LFS_POINTER = b"version https://git-lfs"  # how one begins
IS_LFS_POINTER = "is a pointer of Git LFS in the place of the file, which `git lfs pull` fetches"
