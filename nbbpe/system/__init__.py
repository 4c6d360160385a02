"""Services of the system: worker processes, threads for kernels, atomic writes, symlinks, progress; nothing about text.

Read workers.py and atomic_files.py first.
"""
