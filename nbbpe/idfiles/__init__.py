"""Files of ids: written by several workers, described by a sidecar, mapped into memory for a training loop.

Read writer.py first, then division.py and part_encoder.py.

Written
writer.py             parts of the sources, encoded by several workers and joined
division.py           how the sources are divided into parts
part_encoder.py       the work of a worker
executor_encoding.py  the same on an executor
joined_parts.py       parts joined in order
block_writer.py       a file written in large blocks
publishing.py         the files appear under their names together

Resumed
kept_parts.py         which parts of a run are whole, and what is to be encoded again
manifest.py           the progress of a run as a file

Read, and beside the ids
token_file.py         files of ids as training reads them
opening.py            maps and checks them
sidecar.py            which tokenizer made the ids
document_ends.py      where documents end
checksum.py           the checksum of the ids
"""
