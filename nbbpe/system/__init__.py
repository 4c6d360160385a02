"""Services of the system: worker processes, atomic writes, symlinks, progress; nothing about text or tokens.

Read workers.py and atomic_files.py first.
"""
