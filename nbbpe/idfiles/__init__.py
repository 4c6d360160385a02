"""Files of ids: written by several workers, described by a sidecar, mapped into memory for a training loop.

Read writer.py first, then division.py and part_encoder.py.

Writing
writer.py             encodes text into a file of ids: `encode_file`
division.py           divides the sources into parts, one task each
part_encoder.py       encodes one part, in a worker
executor_encoding.py  encodes parts on an executor
joined_parts.py       concatenates the encoded parts in order
block_writer.py       writes a file in large blocks
publishing.py         puts the finished files in place together

Resuming
kept_parts.py         which parts of an earlier run are undamaged, and which to encode again
manifest.py           stores the progress of a run in a file

Reading, and what is stored with the ids
token_file.py         reads a file of ids for training: `TokenFile`
opening.py            maps a file of ids into memory and checks it
sidecar.py            which tokenizer made the ids
document_ends.py      where documents end
checksum.py           the checksum of the ids
"""
