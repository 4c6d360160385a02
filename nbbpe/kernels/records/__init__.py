"""Kernels of records: their texts put into windows, with a break after each; no Python object is made for a record.

json_lines.py finds the texts in lines of JSON, and strings.py copies adjacent strings, as Arrow stores them.
"""
