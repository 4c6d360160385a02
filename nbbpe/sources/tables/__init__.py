"""Tables: one document per row, with its text in one of the columns, which Arrow stores as concatenated bytes.

table_file.py          the base class of files of tables, which are cut between groups of rows
parquet.py             Parquet files
arrow_files.py         Arrow IPC files and streams
arrow_blocks.py        finds the record batches of such a file
arrow_errors.py        makes pyarrow's errors name the file
arrow.py               columns, tables and streams in memory, of any library with Arrow's C interface
arrow_data.py          the types of these, for annotations
columns.py             checks columns of strings, and copies them into windows
arrow_numpy.py         converts between NumPy arrays and Arrow arrays
"""
