"""Text: as bytes, in windows, cut into chunks, and prepared for being split.

Read utf8.py and windows.py first; special_search.py finds the special tokens of a window. text_windows.py and text_rows.py
are for texts in memory, byte_source.py and chunks.py for files, and text_splitter.py is for whole texts. item_checks.py
says what is accepted as many texts.

For tokenizers that change or cut a text before a pattern splits it: normalization.py puts text into normal forms, of which
normal_characters.py and normal_check.py know what they leave alone. normalizer.py and cutting.py have other steps
(steps.py), some of which pattern_cutter.py does by kernels; preparation.py does all of it in order, and rewriting.py makes
windows of the result.
unicode_sets.py, character_properties.py and scripts.py know characters.
"""
