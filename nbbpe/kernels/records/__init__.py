"""Kernels of records: their texts are put into windows, with a break after each; no Python object is made for a record.

Read rows.py first, which ends a text in a window. json_lines.py finds the texts in lines of JSON, strings.py
copies adjacent strings, as Arrow stores them, and texts.py copies str and bytes from where Python keeps them. rank_lines.py
reads the lines of tiktoken's files.
"""
