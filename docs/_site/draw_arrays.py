"""Draws the arrays of training, as they are in memory: docs/assets/linked-words.svg and docs/assets/merge.svg.

    python docs/_site/draw_arrays.py

The numbers come from the kernels themselves: a text of three words is counted and linked, and one merge is learned.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nbbpe.counting.word_counts import WordCounts, words_from_dict
from nbbpe.kernels.training import linked_words, merge_loop, pair_table, token_limits
from nbbpe.training.first_pairs import pairs_of_bytes
from nbbpe.training.merges import MergeQueue, tie_rule

ASSETS = Path(__file__).parents[1] / "assets"
WORDS = {b"low": 2, b"lower": 1}
CELL, ROW, LEFT = 72, 34, 150
_STYLE = """
    text { font: 14px sans-serif; fill: #222; text-anchor: middle; }
    .name { text-anchor: end; } .said { text-anchor: start; }
    .number { font-family: monospace; }
    .small { font-size: 12px; fill: #555; }
    .cell { fill: #eef2fb; stroke: #3f51b5; } .gap { fill: #f4f4f4; stroke: #bbb; }
    .new { fill: #fff3d6; stroke: #b7791f; }
"""


class Snapshot(NamedTuple):
    """What there is at one moment: the symbols in the cells, and of each pair (left, right, count, its occurrences)."""

    symbols: list[int]
    table: list[tuple[int, int, int, list[int]]]


def snapshots(counted: WordCounts) -> tuple[linked_words.LinkedWords, Snapshot, Snapshot, list[int]]:
    """The linked words, all arrays before and after the first merge, and that merge."""
    n_tokens = merge_loop.N_BYTES + 1
    linked, table = pairs_of_bytes(counted, n_tokens, n_threads=1)
    ties, queue = tie_rule("bytes", n_tokens, None), MergeQueue()
    tokens = merge_loop.new_tokens(merge_loop.N_BYTES, n_tokens)
    before = _snapshot(linked, table)
    queue.enter(table, linked, ties, 1)
    found = np.empty(2 * len(linked.cells), dtype=np.int64)
    merge_loop.merge_batch(linked, table, queue.arrays, ties, tokens, found, 1, token_limits.no_limits(None), 1000)
    return linked, before, _snapshot(linked, table), tokens.merges[0].tolist()


def _snapshot(linked: linked_words.LinkedWords, table: pair_table.PairTable) -> Snapshot:
    rows = table.rows[: table.state[pair_table.N_PAIRS]].tolist()
    pairs = [
        (key >> 32, key & 0xFFFFFFFF, count, table.occurrences[table.starts[pair] :][: table.lengths[pair]].tolist())
        for pair, (key, count) in enumerate(rows)
    ]
    return Snapshot((linked.cells & linked_words.edge_of.function(linked.symbol_bits)).tolist(), pairs)


def spelled(symbol: int, merge: Sequence[int] = (), edge: int | None = None) -> str:
    """A symbol as people read it."""
    if symbol == edge:
        return "edge"
    return f"{symbol} {''.join(map(chr, merge))}" if symbol >= 256 else f"{symbol} {chr(symbol)}"


class Canvas:
    """Lines of SVG, and how far down they go."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines: list[str] = []
        self.y = 16

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        self.lines.append(f'  <text class="{kind}" x="{x:g}" y="{y:g}">{html.escape(text)}</text>')

    def cells(self, name: str, values: Sequence[str], marked: Sequence[bool] = (), gaps: Sequence[bool] = ()) -> None:
        """A row of cells, one for each position, with its name before it."""
        self.text(LEFT - 10, self.y + 22, name, "name")
        for i, value in enumerate(values):
            kind = "new" if i < len(marked) and marked[i] else "gap" if i < len(gaps) and gaps[i] else "cell"
            self.lines.append(f'  <rect class="{kind}" x="{LEFT + CELL * i}" y="{self.y}" width="{CELL}" height="{ROW}"/>')
            self.text(LEFT + CELL * (i + 0.5), self.y + 22, value, "number")
        self.y += ROW

    def note(self, text: str) -> None:
        self.text(20, self.y + 20, text, "said small")
        self.y += 28

    def svg(self, n_columns: int) -> str:
        width, height = max(LEFT + CELL * n_columns + 20, 760), self.y + 12
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        head = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"  <title>{html.escape(self.title)}</title>",
            f"  <style>{_STYLE}  </style>",
            f'  <rect width="{width}" height="{height}" rx="8" fill="#fff"/>',
        ]
        return "\n".join([*head, *self.lines, "</svg>", ""])


def draw_words(counted: WordCounts) -> str:
    """The words in CSR form, and as cells."""
    linked, before, _, _ = snapshots(counted)
    n, edge = len(before.symbols), linked_words.edge_of.function(linked.symbol_bits)
    canvas = Canvas("Words in CSR form, and the cells that training makes of them")
    canvas.note("words in CSR form: the bytes of word w are text[starts[w] : starts[w + 1]], and it occurs counts[w] times")
    canvas.cells("text, uint8", [spelled(byte) for byte in counted.text[: counted.starts[-1]].tolist()])
    canvas.y += 8
    canvas.cells("starts, int64", list(map(str, counted.starts.tolist())))
    canvas.cells("counts, int64", list(map(str, counted.counts.tolist())))
    canvas.y += 10
    canvas.note(f"cells, uint32: the lower {linked.symbol_bits} bits are a symbol, those above are the count of its word")
    is_edge = [symbol == edge for symbol in before.symbols]
    canvas.cells("position", list(map(str, range(n))), gaps=[True] * n)
    canvas.cells("symbol", [spelled(symbol, edge=edge) for symbol in before.symbols], gaps=is_edge)
    canvas.cells("count", ["" if at else str(c) for at, c in zip(is_edge, counts_of(linked), strict=True)], gaps=is_edge)
    return canvas.svg(n)


def counts_of(linked: linked_words.LinkedWords) -> list[int]:
    """What the upper bits of the cells say."""
    return (linked.cells >> np.uint32(linked.symbol_bits)).tolist()


def draw_merge(counted: WordCounts) -> str:
    """The arrays before and after the first merge, with what it changed marked."""
    linked, before, after, merge = snapshots(counted)
    n, edge = len(before.symbols), linked_words.edge_of.function(linked.symbol_bits)
    left, right = map(chr, merge)
    canvas = Canvas(f"The merge of {left} and {right}: what it changes in the linked words and in the pair table")
    canvas.cells("position", list(map(str, range(n))), gaps=[True] * n)
    canvas.y += 8
    for moment, name in (before, "before"), (after, f"after the merge of {left} and {right} to 256"):
        canvas.note(f"symbols {name}")
        changed = [was != now for was, now in zip(before.symbols, moment.symbols, strict=True)]
        is_edge = [symbol == edge for symbol in moment.symbols]
        canvas.cells("symbol", [spelled(symbol, merge, edge) for symbol in moment.symbols], changed, is_edge)
        canvas.y += 8
    canvas.note("pair table, a column for each pair; an occurrence is the position of the right symbol, and may be stale")
    n_pairs = len(after.table)
    is_new = [pair >= len(before.table) for pair in range(n_pairs)]
    fell = [new or after.table[pair][2] != before.table[pair][2] for pair, new in enumerate(is_new)]
    canvas.cells("pair", list(map(str, range(n_pairs))), gaps=[True] * n_pairs)
    for column, name in (0, "left"), (1, "right"):
        canvas.cells(name, [spelled(pair[column], merge) for pair in after.table], is_new)
    canvas.cells("count before", [str(before.table[p][2]) if not is_new[p] else "" for p in range(n_pairs)], is_new)
    canvas.cells("count after", [str(pair[2]) for pair in after.table], fell)
    canvas.cells("occurrences", [", ".join(map(str, pair[3])) for pair in after.table], is_new)
    return canvas.svg(max(n, n_pairs))


def drawings() -> dict[str, str]:
    """The drawings by their file names."""
    counted = words_from_dict(WORDS)
    return {"linked-words.svg": draw_words(counted), "merge.svg": draw_merge(counted)}


if __name__ == "__main__":
    for name, drawn in drawings().items():
        (ASSETS / name).write_text(drawn, encoding="utf-8", newline="\n")
