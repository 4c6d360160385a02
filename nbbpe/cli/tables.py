"""Formats figures as text for people (aligned, at most 80 columns, thousands separated), and as plain data for JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..evaluation import Evaluation
from ..inspection import Comparison, Split, TextFigures, Token, VocabularyFigures
from ..system.excerpt import columns, cut, percent, printable, shortened, shown_pattern, shown_token
from .streams import STDIN

WIDTH = 80
_BAR = 30


def shown_path(path: str) -> str:
    """A path as one line of printable characters; "stdin" for `-`."""
    return "stdin" if path == STDIN else printable(path)


def table(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Format rows (at least one) as aligned lines. Columns are aligned right, except those in `left`."""
    widths = [max(columns(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        spaces = [" " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [cell + spaces[i] if i in left else spaces[i] + cell for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def facts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Names and values, one pair per line."""
    return table(pairs, left=[0, 1])


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def vocabulary_lines(name: str, figures: VocabularyFigures) -> list[str]:
    special = ", ".join(f"{_shown_special(token)} ({token_id:,})" for token, token_id in figures.special_tokens.items())
    n_special = f"{len(figures.special_tokens):,}"
    pairs = [
        ("tokens", f"{figures.n_tokens:,}"),
        ("merges", "none: merged by rank" if figures.n_merges is None else f"{figures.n_merges:,}"),
        ("special tokens", shortened(f"{n_special}: {special}" if special else n_special, WIDTH - 18)),
        ("split pattern", shortened(printable(shown_pattern(figures.pattern)), WIDTH - 18)),
        *([] if figures.normalizer is None else [("normalizer", printable(cut(str(figures.normalizer))))]),
        ("type of ids", figures.dtype),
    ]
    lines = [name, *indented(facts(pairs)), "", "token lengths (without special tokens)"]
    most = max(figures.length_counts.values(), default=1)
    n_tokens = sum(figures.length_counts.values())
    rows = [("bytes", "tokens", "share", "")]
    for length, count in figures.length_counts.items():
        rows.append((f"{length:,}", f"{count:,}", percent(count, n_tokens), "█" * round(_BAR * count / most)))
    lines += indented(table(rows, left=[3]))
    if figures.longest:
        longest = [(f"{len(each.token):,}", f"{each.token_id:,}", shown_token(each.token, 55)) for each in figures.longest]
        lines += ["", "longest tokens", *indented(table([("bytes", "id", "token"), *longest], left=[2]))]
    return lines


def _shown_special(token: str) -> str:
    """A special token for a list: quoted if it has spaces at its ends or a comma, else with control characters escaped.

    (A token may come from anybody's file, and control characters could change what a terminal shows.)
    """
    return repr(token) if token != token.strip() or "," in token else printable(token)


def text_lines(name: str, figures: TextFigures, n_unused: int) -> list[str]:
    """A tokenizer's figures on a text: totals, the most frequent tokens, and the first `n_unused` unused tokens."""
    used = f"{figures.n_used:,} of {figures.n_vocab:,} ({percent(figures.n_used, figures.n_vocab)})"
    pairs = [
        ("bytes", f"{figures.n_bytes:,}"),
        ("tokens", f"{figures.n_tokens:,}"),
        ("bytes per token", ratio(figures.bytes_per_token)),
        ("vocabulary used", used),
    ]
    lines = [f"on {name}", *indented(facts(pairs))]
    rows = [("count", "share", "id", "token")]
    for token, count in figures.most_frequent:
        rows.append((f"{count:,}", percent(count, figures.n_tokens), f"{token.token_id:,}", shown_token(token.token)))
    if figures.most_frequent:
        lines += ["", "most frequent tokens", *indented(table(rows, left=[3]))]
    if figures.unused and not n_unused:
        lines += ["", f"unused tokens: {len(figures.unused):,}"]
    elif figures.unused:
        lines += ["", f"unused tokens: {len(figures.unused):,}, the first learned being"]
        first = first_unused(figures, n_unused)
        lines += indented(table([("id", "token"), *((f"{t.token_id:,}", shown_token(t.token)) for t in first)], left=[1]))
    return lines


def first_unused(figures: TextFigures, n: int) -> list[Token]:
    """The first `n` tokens that a text does not use. Single bytes come last, as they are not a result of training."""
    return sorted(figures.unused, key=lambda token: len(token.token) == 1)[:n]


def count_lines(rows: Sequence[tuple[str, int, int]]) -> list[str]:
    """A table of texts, given as (name, tokens, bytes), with a total if there are several."""
    if len(rows) > 1:
        rows = [*rows, ("total", sum(row[1] for row in rows), sum(row[2] for row in rows))]
    cells = [
        (f"{tokens:,}", f"{n_bytes:,}", ratio(n_bytes / tokens if tokens else None), shown_path(name))
        for name, tokens, n_bytes in rows
    ]
    return table([("tokens", "bytes", "bytes/token", "text"), *cells], left=[3])


def evaluation_lines(rows: Sequence[Evaluation]) -> list[str]:
    """A table for each text, with a line for each tokenizer."""
    lines: list[str] = []
    of_text: dict[str, list[Evaluation]] = {}
    for row in rows:
        of_text.setdefault(row.text, []).append(row)
    for text, text_rows in of_text.items():
        size = text_rows[0]
        cells = [["tokens", "bytes/token", "chars/token", "tokens/word", "parity", "partial", "tokenizer"]]
        for row in text_rows:
            ratios = map(ratio, (row.bytes_per_token, row.characters_per_token, row.tokens_per_word, row.parity))
            partial = percent(row.n_partial_utf8, row.n_tokens)
            cells.append([f"{row.n_tokens:,}", *ratios, partial, shown_path(row.tokenizer)])
        about = f"{size.n_bytes:,} bytes, {size.n_characters:,} characters, {size.n_words:,} words"
        lines += [*([""] if lines else []), f"on {shown_path(text)}: {about}", *indented(table(cells, left=[6]))]
    return lines


def comparison_lines(found: Comparison, first: Evaluation, second: Evaluation) -> list[str]:
    """Two tokenizers on one text. Its size is that before any normalizer, as in the table of several tokenizers."""
    a, b = found.a, found.b
    rows = [
        ("", "A", "B"),
        ("tokens", f"{a.n_tokens:,}", f"{b.n_tokens:,}"),
        ("bytes per token", ratio(first.bytes_per_token), ratio(second.bytes_per_token)),
        ("characters per token", ratio(first.characters_per_token), ratio(second.characters_per_token)),
        ("tokens per word", ratio(first.tokens_per_word), ratio(second.tokens_per_word)),
        ("parts of characters", *(percent(each.n_partial_utf8, each.n_tokens) for each in (first, second))),
        ("tokens, not special", f"{a.n_vocab:,}", f"{b.n_vocab:,}"),
        ("of it used", f"{a.n_used:,}", f"{b.n_used:,}"),
        ("", percent(a.n_used, a.n_vocab), percent(b.n_used, b.n_vocab)),
        ("tokens only here", f"{found.n_only_a:,}", f"{found.n_only_b:,}"),
    ]
    names = [f"A  {shown_path(first.tokenizer)}", f"B  {shown_path(second.tokenizer)}"]
    lines = [*names, f"on {shown_path(first.text)}, {first.n_bytes:,} bytes", "", *table(rows, left=[0]), ""]
    lines += [verdict(found), f"The vocabularies share {found.n_shared:,} tokens."]
    if not a.n_bytes:
        return lines
    lines.append(
        f"{percent(found.n_differing_bytes, a.n_bytes)} of the text is split differently, "
        f"in {found.n_differing:,} stretches."
    )
    if found.splits:
        width = 26  # longer cells are cut
        cells = [("count", "A", "B")]
        for split in found.splits:
            cells.append((f"{split.count:,}", _joined(split.a, width), _joined(split.b, width)))
        lines += ["", "most frequent of these", *indented(table(cells, left=[1, 2]))]
    return lines


def verdict(found: Comparison) -> str:
    """Which of two tokenizers suits a text better, in a sentence."""
    a, b = found.a.n_tokens, found.b.n_tokens
    if a == b:
        return f"Both need {a:,} tokens."
    better, fewer = ("A", 1 - a / b) if a < b else ("B", 1 - b / a)
    return f"{better} suits this text better: {100 * fewer:.1f} % fewer tokens."


def _joined(tokens: Sequence[bytes], width: int) -> str:
    text = "|".join(token.decode(errors="backslashreplace") for token in tokens)
    return shortened(f"'{printable(text)}'", width)


def as_data(figures: Any) -> Any:
    """Convert figures to dicts, lists and numbers. A token becomes text and hex, as JSON has no bytes."""
    if isinstance(figures, Token):
        return {"id": figures.token_id, **bytes_as_data(figures.token)}
    if isinstance(figures, Split):
        both = {name: [bytes_as_data(token) for token in getattr(figures, name)] for name in ("a", "b")}
        return {"count": figures.count, **bytes_as_data(figures.text), **both}
    if isinstance(figures, TextFigures):
        shown = {name: value for name, value in vars(figures).items() if name not in ("counts", "unused", "most_frequent")}
        data = as_data(shown)
        data["bytes_per_token"] = figures.bytes_per_token
        data["most_frequent"] = [{**as_data(token), "count": count} for token, count in figures.most_frequent]
        data["n_unused"] = len(figures.unused)
        return data
    if dataclasses.is_dataclass(figures):
        return as_data(vars(figures))
    if isinstance(figures, dict):
        return {str(key): as_data(value) for key, value in figures.items()}
    if isinstance(figures, (list, tuple)):
        return [as_data(item) for item in figures]
    return figures


def bytes_as_data(token: bytes) -> dict[str, str]:
    return {"text": token.decode(errors="replace"), "hex": token.hex()}
