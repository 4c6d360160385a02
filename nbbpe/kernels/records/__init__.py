"""Kernels of records: their texts are put into windows, with a break after each; no Python object is made for a record.

Read rows.py first.

rows.py         the end of a text in a window
json_lines.py   finds the texts in lines of JSON
strings.py      copies adjacent strings, as Arrow stores them
texts.py        copies str and bytes from where Python keeps them
samples.py      copies those of a window that are in a sample
json_merges.py  reads the merges of a tokenizer.json
rank_lines.py   reads the lines of tiktoken's files
"""
