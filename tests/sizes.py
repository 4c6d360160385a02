"""How much is read, encoded and written at once, and from which size on something pays.

Tests make that a few bytes, so that small texts are cut everywhere, and go the ways of large ones.

No other module of the tests knows where these sizes stand (see the fixtures `sizes` and `cut_everywhere`).
"""

from __future__ import annotations

from typing import Any

from nbbpe.counting import counters, executor_counting, gathering, parallel_counting, sorted_runs, word_table
from nbbpe.encoding import (
    alignment,
    batches,
    compiled_encoder,
    decoder,
    dropout,
    encoder,
    encoder_state,
    piece_regex_encoder,
    regex_encoder,
    threads,
)
from nbbpe.formats.nbbpe_folder import table_file
from nbbpe.formats.ranks import tiktoken
from nbbpe.idfiles import block_writer, division, part_encoder, publishing, token_file
from nbbpe.kernels.pieces import special_tokens
from nbbpe.model import long_merges
from nbbpe.patterns import given_regex, pattern, regex_splitter
from nbbpe.sources import json_array, jsonl
from nbbpe.sources.compression import compressed, compressible, frames, line_chunks, read_ahead
from nbbpe.sources.tables import columns, parquet
from nbbpe.system import kept_folder, part_joiner
from nbbpe.text import chunks, normal_check, preparation, text_rows, text_splitter, utf8, windows
from nbbpe.training import first_pairs, merges
from nbbpe.words import forecast

SIZES: dict[str, list[tuple[Any, str]]] = {
    "window": [(windows, "WINDOW"), (columns, "WINDOW")],
    "text_window": [(windows, "TEXT_WINDOW"), (encoder, "WINDOW")],
    "copied": [(utf8, "_COPIED")],
    "batch": [(windows, "BATCH")],
    "counted": [(parallel_counting, "BATCH")],
    "chunk": [(parallel_counting, "_CHUNK_BYTES"), (parallel_counting, "_SHARED_CHUNK_BYTES"), (division, "_CHUNK_BYTES")],
    "ahead": [(piece_regex_encoder, "_LEAST_AHEAD"), (piece_regex_encoder, "MOST_AHEAD")],
    "split": [(word_table, "_SPLIT_BYTES"), (word_table, "_SENT_BYTES"), (counters, "_SENT_TEXTS")],
    "report": [(part_encoder, "_REPORT_BYTES")],
    "block": [
        *[(compressed, "_BLOCK"), (compressed, "_ROOM"), (read_ahead, "_BLOCK")],
        *[(parquet, "_BATCH_BYTES"), (json_array, "_BLOCK")],
    ],
    "read_ahead": [(compressed, "_READ_AHEAD")],
    "line_chunk": [(line_chunks, "CHUNK_BYTES"), (jsonl, "CHUNK_BYTES")],
    "joined": [(block_writer, "BLOCK")],
    "held": [(part_joiner, "_HELD_BYTES")],
    "parts": [
        *[(regex_splitter, "AT_ONCE"), (regex_splitter, "_MATCHES_AT_ONCE"), (pattern, "_PARTS_AT_ONCE")],
        *[(pattern, "_LONG_PART"), (regex_encoder, "_AT_ONCE")],
    ],
    "for_workers": [(parallel_counting, "MIN_BYTES_FOR_WORKERS"), (division, "MIN_BYTES_FOR_WORKERS")],
    "for_threads": [(threads, "BYTES_PER_THREAD")],
    "thread_part": [(threads, "PART_BYTES")],
    "rows_window": [(text_rows, "ROWS_WINDOW"), (batches, "SHORT")],
    "stretches": [(alignment, "_MAX_STRETCHES")],
    "added": [(word_table, "_WORDS_TOGETHER")],
    "first_slots": [(word_table, "_FIRST_SLOTS")],
    "run_block": [(sorted_runs, "_BLOCK_BYTES")],
    "runs": [(sorted_runs, "MOST_RUNS")],
    "own": [(gathering, "_OWN_BYTES")],
    "table_share": [(gathering, "_TABLE_SHARE")],
    "table_of_text": [(gathering, "_TABLE_BYTES_OF_TEXT")],
    "sort_room": [(gathering, "_SORT_ROOM")],
    "counted_batch": [(gathering, "BATCH_BYTES")],
    "first_pairs": [(first_pairs, "_PER_THREAD")],
    "budget": [(merges, "BATCH_BUDGET")],
    "executor_counting": [(executor_counting, "_LEAST_BYTES")],
    "forecast": [(forecast, "MIN_BYTES")],
    "forecast_place": [(forecast, "_PLACE_BYTES")],
    "look": [(chunks, "_LOOK"), (compressible, "_LOOK")],
    "near": [(chunks, "_NEAR")],
    "most_frame": [(frames, "MOST_FRAME")],
    "bzip2_look": [(frames, "_BZIP2_LOOK")],
    "nodes": [(special_tokens, "_NODES_AT_ONCE")],
    "most_special": [(special_tokens, "_MOST_BYTES")],
    "out": [(compiled_encoder, "OUT_BYTES"), (encoder_state, "OUT_BYTES")],
    "long": [(long_merges, "LONG")],
    "decoded": [(decoder, "_FEW"), (decoder, "_MANY"), (decoder, "_VERY_MANY")],
    "dropped": [(text_splitter, "_AT_ONCE"), (dropout, "_FIRST_SCRATCH")],
    "ids_looked_at": [(token_file, "_IDS_AT_ONCE"), (token_file, "_DOCUMENTS_AT_ONCE")],
    "least_cut": [(preparation, "_LEAST_CUT"), (preparation, "_PAYS")],
    "tables": [(table_file, "LEAST")],
    "normal_form": [(normal_check, "_FEW"), (normal_check, "_MANY"), (normal_check, "_LEAST")],
    "normal_form_checked": [(normal_check, "CHECKED_CHARACTERS")],
    "rank_lines": [(tiktoken, "_SMALL")],
    # In seconds:
    "patience": [(publishing, "_PATIENCE"), (kept_folder, "_PATIENCE")],
    "slow": [(piece_regex_encoder, "_SLOW")],
    "splitting": [(given_regex, "BASE_SECONDS")],
}
OF_EVERYTHING = [
    "window",
    "batch",
    "counted",
    "chunk",
    "split",
    "report",
    "block",
    "read_ahead",
    "line_chunk",
    "held",
    "parts",
]
