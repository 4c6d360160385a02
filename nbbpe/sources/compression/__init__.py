"""Compressed files, decompressed while other text is worked on, and cut where several workers can begin.

compressed.py          the bytes of a file as a stream, decompressed if its name says so
read_ahead.py          the thread that reads such a stream in advance
compressible.py        files of text that may be compressed, and where they can be cut
frames.py              where the frames of a compressed file begin
line_chunks.py         a compressed file of lines that several threads read
"""
