"""Text: as bytes, in windows, cut into chunks, and prepared for being split.

Read windows.py first. text_windows.py and text_rows.py are for texts in memory, chunks.py for files. normalization.py,
normalizer.py, cutting.py and preparation.py are for tokenizers that change or cut a text before a pattern splits it.
"""
