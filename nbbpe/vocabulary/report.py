"""Writes a report on a vocabulary as one HTML page, without scripts or anything to load."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from html import escape

from ..model.model import Model
from ..model.version import __version__
from ..sources import total_size
from ..sources.named_texts import Texts, inputs_of_each, named_sources
from ..system.atomic_files import whole_file, write_text
from ..system.excerpt import percent, printable, shown, shown_pattern, shown_token
from ..system.paths import Path, check_not_read, checked_name
from ..system.progress import Progress, ProgressOption
from ..system.workers import check_workers
from .charts import Series, line_chart
from .report_data import ReportFigures, Row, TokenUse
from .report_figures import report_figures

_MOST_ROWS = 25
_MOST_OF_GROUP = 8
_TEXT_COLUMNS = ("token", "tokens of the group")
_LONGEST_SHOWN = 60  # columns of a token

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto;
    padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p, li { max-width: 46rem; } .about { color: #555; }
table { border-collapse: collapse; font-size: .9rem; margin: .6rem 0; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th { vertical-align: bottom; border-bottom: 1px solid #999; font-weight: 600; }
th:first-child, td:first-child, .text { text-align: left; } .text { white-space: normal; }
tr.all td { font-weight: 600; border-top: 1px solid #999; }
.wide { overflow-x: auto; }
code { font: .85rem ui-monospace, monospace; background: #f3f4f7; border-radius: 3px; padding: 0 .25rem;
    white-space: pre-wrap; overflow-wrap: anywhere; }
.chart { width: 100%; max-width: 50rem; height: auto; }
.chart text { font: 12px system-ui, sans-serif; fill: #222; }
.chart .left { text-anchor: end; } .chart .below { text-anchor: middle; }
.chart .grid { stroke: #e4e4e4; fill: none; } .chart .line { fill: none; stroke-width: 2; }
"""


def write_report(
    path: Path | None,
    name: str,
    model: Model,
    on: Texts,
    workers: int | None = None,
    progress: ProgressOption = None,
    field: str | None = None,
    on_error: str = "raise",
) -> ReportFigures:
    """See Tokenizer.report; `name` is what the page calls the tokenizer."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, what the page calls the tokenizer, not {shown(name)}")
    # If `path` and `on` are swapped, this keeps a text from being replaced.
    if path is not None and not checked_name(path).endswith((".html", ".htm")):
        raise ValueError(f"path must be a name that ends in .html, for the page, not {shown(path)}")
    n_workers = check_workers(workers)
    texts = inputs_of_each(named_sources(on), field, on_error)
    inputs = [each for of_text in texts.values() for each in of_text]
    if path is not None:
        check_not_read((each.path() for each in inputs), path)
    # Opened first, so that a path that cannot be written is an error before the long work.
    with nullcontext() if path is None else whole_file(path) as whole:
        with Progress(progress, "count words", total_size(inputs), "B") as bar:
            figures = report_figures(model, texts, n_workers, bar.advance, on_error)
        if whole is not None:
            write_text(whole, page(name, model, figures))
    return figures


def page(name: str, model: Model, figures: ReportFigures) -> str:
    """The text of the page."""
    name = printable(name)
    n_merges = "merged by rank" if model.merge_ids is None else f"{len(model.merge_ids):,} merges"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
        f"<title>{escape(name)}: report on a vocabulary</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(name)}</h1>",
        f'<p class="about">{len(model.vocab):,} tokens ({n_merges}, {len(model.special):,} special), '
        f"pattern {_code(shown_pattern(model.pattern.spelling))}, "
        f"fingerprint {_code(model.fingerprint)}, nbbpe {escape(__version__)}</p>",
        *_summary(figures),
        *_compression(figures),
        *_scripts(figures),
        *_doubling(model, figures),
        *_longest(figures),
        *_broken(figures),
        *_idle(figures),
        *_duplicates(figures),
        *_lost(figures),
        "<h2>How this was measured</h2>",
        '<p class="about">Each text was split into words by the pattern, special tokens skipped, and each distinct word '
        "was encoded once. A word with a letter is one that has at least one; its script is that of its first letter. "
        "Sizes of the vocabulary are prefixes of its merges: the vocabularies that training to a smaller size would have "
        "made. Bytes are those of the text after the tokenizer's normalizer, if it has one.</p>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _summary(figures: ReportFigures) -> list[str]:
    total, tokens = figures.total, figures.tokens
    n = tokens.n_ordinary
    n_used = n - len(tokens.intermediate) - len(tokens.unseen)
    and_parts = (
        f", and {len(tokens.intermediate):,} ({percent(len(tokens.intermediate), n)}) only as parts of longer ones"
        if tokens.knows_made
        else ", or only as parts of longer ones"
    )
    points = [
        f"A token holds {_ratio(total.bytes_per_token)} bytes of these texts, and a word with a letter takes "
        f"{_ratio(total.tokens_per_word)} tokens.",
        f"{len(tokens.unseen):,} tokens of several bytes ({percent(len(tokens.unseen), n)}) are never used{and_parts}; "
        f"{n_used:,} are bytes, or used.",
        f"{len(tokens.partial_utf8):,} tokens ({percent(len(tokens.partial_utf8), n)}) begin or end inside a character.",
    ]
    if total.bytes_per_token_doubled:
        n_fewer = 100 * (1 - total.n_bytes / total.n_tokens / total.bytes_per_token_doubled)
        points.append(
            f"Twice the vocabulary ({figures.doubled_vocab_size:,} tokens) would take at best {n_fewer:.1f} % fewer tokens."
        )
    return ["<ul>", *(f"<li>{point}</li>" for point in points), "</ul>"]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[str] = ()) -> list[str]:
    """A table. Cells are HTML already; they are numbers, except in the first column and in `_TEXT_COLUMNS`."""
    if not rows:
        return []
    is_text = [title in _TEXT_COLUMNS for title in head]
    lines = [[_cell(cell, is_text[i]) for i, cell in enumerate(row)] for row in rows]
    body = [f"<tr>{''.join(line)}</tr>" for line in lines]
    if last:
        body.append(f'<tr class="all">{"".join(_cell(cell, False) for cell in last)}</tr>')
    titles = "".join(f"<th{' class=text' if is_text[i] else ''}>{escape(title)}</th>" for i, title in enumerate(head))
    return ['<div class="wide"><table>', f"<thead><tr>{titles}</tr></thead><tbody>", *body, "</tbody></table></div>"]


def _cell(cell: str, is_text: bool) -> str:
    return f"<td class=text>{cell}</td>" if is_text else f"<td>{cell}</td>"


def _row(row: Row, total: int) -> list[str]:
    return [
        escape(printable(row.name)),
        f"{row.n_bytes:,}",
        percent(row.n_bytes, total),
        f"{row.n_tokens:,}",
        _ratio(row.bytes_per_token),
        _ratio(row.characters_per_token),
        _ratio(row.tokens_per_word),
    ]


_HEAD = ["bytes", "share", "tokens", "bytes per token", "characters per token", "tokens per word"]


def _compression(figures: ReportFigures) -> list[str]:
    total = figures.total
    rows = [_row(row, total.n_bytes) for row in figures.texts]
    last = _row(total, total.n_bytes) if len(rows) > 1 else ()
    parts = ["<h2>Compression of each text</h2>", *_table(["text", *_HEAD], rows, last)]
    sizes = figures.vocab_sizes
    lines = [Series(printable(row.name), sizes, row.bytes_per_token_by_size) for row in figures.texts if row.n_bytes]
    return [
        *parts,
        "<p>A word is a pretoken with a letter. Special tokens are not among the bytes and tokens.</p>",
        "<p>What each text would take with only the first tokens of this vocabulary. Where a line is flat, more tokens "
        "gain nothing for that text.</p>",
        line_chart("Bytes per token of each text, by size of the vocabulary", "bytes per token", lines),
    ]


def _scripts(figures: ReportFigures) -> list[str]:
    total, sizes = figures.total.n_bytes, figures.vocab_sizes
    parts = [
        "<h2>Compression of each script</h2>",
        "<p>A script that takes many more tokens per word or per character than another one costs its readers more, and "
        "fills a model's context sooner. Characters per token compare texts in one script; bytes per token do not compare "
        "scripts, whose characters have one to four bytes.</p>",
        *_table(["script", *_HEAD], [_row(row, total) for row in figures.scripts]),
    ]
    lines = [
        Series(printable(row.name), sizes, [each * row.n_characters / row.n_bytes for each in row.bytes_per_token_by_size])
        for row in figures.scripts
        if row.n_words
    ]
    title = "Characters per token of each script, by size of the vocabulary"
    return [*parts, line_chart(title, "characters per token", lines)]


def _doubling(model: Model, figures: ReportFigures) -> list[str]:
    sizes = figures.vocab_sizes
    wanted = [size for size in (len(model.vocab) // 4, len(model.vocab) // 2, len(model.vocab)) if size in sizes]
    places = [sizes.index(size) for size in wanted]
    head = ["text", *(f"{sizes[place]:,} tokens" for place in places)]
    head += [f"{figures.doubled_vocab_size:,} tokens", "fewer tokens"]
    rows = []
    for row in [*figures.texts, figures.total]:
        now = row.n_bytes / row.n_tokens if row.n_tokens else 0.0
        cells = [_ratio(row.bytes_per_token_by_size[place] or None) for place in places]
        gain = f"{100 * (1 - now / row.bytes_per_token_doubled):.1f} %" if row.bytes_per_token_doubled else "-"
        rows.append([escape(printable(row.name)), *cells, _ratio(row.bytes_per_token_doubled or None), gain])
    all_found = figures.doubled_vocab_size == 2 * len(model.vocab)
    note = "" if all_found else " The texts have pairs that occur twice for only so many tokens."
    return [
        "<h2>What a doubling would gain</h2>",
        "<p>Bytes per token at a quarter and a half of the vocabulary, now, and with as many tokens again, trained on "
        f"these very texts. So the last columns are the most that a doubling can gain: new text gains less.{note}</p>",
        *_table(head, rows[:-1], rows[-1] if len(rows) > 2 else ()),
    ]


def _token_table(uses: Sequence[TokenUse]) -> list[str]:
    rows = [
        [
            f"{each.token_id:,}",
            _shown(each.token),
            f"{len(each.token):,}",
            f"{each.n_uses:,}",
            "-" if each.n_made is None else f"{each.n_made:,}",
        ]
        for each in uses[:_MOST_ROWS]
    ]
    return _table(["id", "token", "bytes", "in the texts", "made"], rows)


def _longest(figures: ReportFigures) -> list[str]:
    return [
        "<h2>Longest tokens</h2>",
        "<p>Long tokens are mostly rulers, runs of spaces, or lines that one source repeats. “Made” counts also those that "
        "went into longer tokens.</p>",
        *_token_table(figures.tokens.longest),
    ]


def _broken(figures: ReportFigures) -> list[str]:
    n_uses = sum(each.n_uses for each in figures.tokens.partial_utf8)
    return [
        "<h2>Tokens that begin or end inside a character</h2>",
        f"<p>{len(figures.tokens.partial_utf8):,} tokens of several bytes, {percent(n_uses, figures.total.n_tokens)} of "
        "the tokens of these texts. A model that stops after one has written half a character.</p>",
        *_token_table(figures.tokens.partial_utf8),
    ]


def _idle(figures: ReportFigures) -> list[str]:
    if not figures.tokens.knows_made:
        return [
            "<h2>Tokens that are never used alone</h2>",
            f"<p>{len(figures.tokens.unseen):,} tokens are in none of these texts by themselves. Which of them are made on "
            "the way to longer ones is not known for merges of this kind. The first of them are:</p>",
            *_token_table(figures.tokens.unseen),
        ]
    return [
        "<h2>Tokens that are never used alone</h2>",
        f"<p>{len(figures.tokens.intermediate):,} tokens are in none of these texts by themselves: they are made only on "
        "the way to longer ones. Their rows of an embedding are never trained by such text. These are made most often:</p>",
        *_token_table(figures.tokens.intermediate),
        f"<p>{len(figures.tokens.unseen):,} more are neither used nor made"
        f"{', the first learned being' if figures.tokens.unseen else ''}:</p>",
        *_token_table(figures.tokens.unseen),
    ]


def _duplicates(figures: ReportFigures) -> list[str]:
    rows = []
    for group in figures.tokens.near_duplicates[:_MOST_ROWS]:
        named = ", ".join(f"{_shown(each.token)} {each.n_uses:,}" for each in group[:_MOST_OF_GROUP])
        more = f", and {len(group) - _MOST_OF_GROUP:,} more" if len(group) > _MOST_OF_GROUP else ""
        rows.append([f"{len(group):,}", f"{named}{more}"])
    tokens = figures.tokens
    return [
        "<h2>Near duplicates</h2>",
        f"<p>{tokens.n_by_space:,} tokens ({percent(tokens.n_by_space, tokens.n_ordinary)}) have a twin that differs by a "
        f"space in front, {tokens.n_by_case:,} ({percent(tokens.n_by_case, tokens.n_ordinary)}) one that differs by case. "
        "The largest groups, each token with how often these texts have it:</p>",
        *_table(["tokens", "tokens of the group"], rows),
    ]


def _lost(figures: ReportFigures) -> list[str]:
    if not figures.tokens.unreachable:
        return []
    return [
        "<h2>Unreachable tokens</h2>",
        f"<p>{len(figures.tokens.unreachable):,} tokens are never the result of merging, as other tokens are made of "
        "their bytes.</p>",
        *_token_table(figures.tokens.unreachable),
    ]


def _shown(token: bytes) -> str:
    """A token as HTML: no byte of it acts as markup, or changes the direction of the text around it."""
    return f"<bdi>{_code(shown_token(token, _LONGEST_SHOWN))}</bdi>"


def _code(text: str) -> str:
    return f"<code>{escape(printable(text))}</code>"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
