"""Where files are, and how another process finds and recognises them.

local.py               files of this machine's file system
remote.py              files behind a URL, read through fsspec
path_patterns.py       files that a pattern of paths matches
portable_parts.py      parts of files, for processes on other machines
sampled_digest.py      a digest that is cheap for files of any size
"""
