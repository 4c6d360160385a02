"""Tables: one document a row, with its text in one of the columns, which Arrow stores as one run of bytes.

table_file.py          the interface of files of tables, cut between groups of rows
parquet.py             Parquet files
arrow_files.py         Arrow IPC files and streams
arrow_blocks.py        where the record batches of such a file are
arrow_errors.py        pyarrow's errors, with the name of the file
arrow.py               columns, tables and streams in memory, of any library with Arrow's C interface
arrow_data.py          the types of these, for annotations
columns.py             columns of strings, copied into windows
arrow_numpy.py         NumPy arrays as Arrow arrays, and back
"""
