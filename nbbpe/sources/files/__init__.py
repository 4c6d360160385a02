"""Finds and opens files, and recognises in another process whether a file is still the same.

local.py               files in this machine's file system
remote.py              files behind a URL, read through fsspec
path_patterns.py       finds the files that a pattern of paths matches
portable_parts.py      prepares parts of files for processes on other machines
sampled_digest.py      a digest that is cheap for files of any size
"""
