"""Kernels of records: they put the texts of records into windows, with a break after each, without Python objects.

Read rows.py first.

rows.py         ends a text in a window
json_lines.py   finds the texts in lines of JSON
strings.py      copies adjacent strings, as Arrow stores them
texts.py        copies str and bytes from where Python keeps them
samples.py      copies the documents of a window that are in a sample
json_merges.py  reads the merges of a tokenizer.json
rank_lines.py   reads the lines of tiktoken's files
"""
