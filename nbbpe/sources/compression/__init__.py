"""Reads compressed files: decompresses them in a separate thread, and cuts them into parts for several workers.

compressed.py          opens a file as a stream, decompressed if its name says that it is compressed
read_ahead.py          reads a stream in advance, in a thread
compressible.py        cuts files of text that may be compressed
frames.py              finds where the frames of a compressed file begin
line_chunks.py         divides a compressed file of lines among threads
"""
