"""Draws a tokenizer's figures with matplotlib (the extra "plot")."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..inspection import TextFigures, VocabularyFigures, compression_by_size, merge_counts
from ..system.atomic_files import whole_file
from ..system.scratch import scratch_folder
from ..tokenizer import Tokenizer

_SUFFIXES = (".png", ".svg", ".pdf")
_INK, _FAINT = "#1f4e79", "#8fb3d4"


def check_plot(path: str) -> None:
    """Raise ValueError, ImportError or OSError if `draw` could not write `path`; called before long work."""
    if os.path.splitext(path)[1].lower() not in _SUFFIXES:
        raise ValueError(f"--plot {path!r} must end in {', '.join(_SUFFIXES)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError('--plot needs matplotlib: pip install "nbbpe[plot]"') from None
    if os.path.isdir(path):
        raise IsADirectoryError(f"--plot {path!r} is a folder; give a file name to write")
    with scratch_folder(path):
        pass


def draw(path: str, name: str, tokenizer: Tokenizer, vocabulary: VocabularyFigures, text: TextFigures | None) -> None:
    """Draw token lengths and, for a text, how often tokens and merges are used, and compression by vocabulary size."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_columns = 2 if text else 1
    figure = Figure(figsize=(6.4 * n_columns, 4.4 * n_columns), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{name}: {vocabulary.n_tokens:,} tokens".replace("$", r"\$"))
    axes = figure.subplots(n_columns, n_columns, squeeze=False).ravel()
    _draw_lengths(axes[0], vocabulary)
    if text:
        _draw_frequencies(axes[1], text)
        _draw_merges(axes[2], merge_counts(tokenizer, text.counts))
        _draw_compression(axes[3], compression_by_size(tokenizer, text.counts))
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    with whole_file(path) as whole:
        figure.savefig(whole, dpi=120, format=os.path.splitext(path)[1][1:].lower())


def _draw_lengths(axes: Any, vocabulary: VocabularyFigures) -> None:
    lengths, counts = list(vocabulary.length_counts), list(vocabulary.length_counts.values())
    axes.bar(lengths, counts, color=_INK, width=0.8)
    axes.set(title="How long tokens are", xlabel="bytes", ylabel="tokens", yscale="log")


def _draw_frequencies(axes: Any, text: TextFigures) -> None:
    frequencies = np.sort(text.counts[text.counts > 0])[::-1]
    axes.plot(np.arange(1, len(frequencies) + 1), frequencies, color=_INK)
    axes.set(title="How often each token is in the text", xlabel="tokens, the most frequent first", ylabel="times")
    _logarithmic(axes, len(frequencies))


def _draw_merges(axes: Any, applied: Any) -> None:
    axes.set(
        title="How often each merge is applied to the text",
        xlabel="merges, in the order in which they were learned",
        ylabel="times",
    )
    if applied is None:
        _say(axes, "this is not known for merges of this kind")
        return
    used = np.flatnonzero(applied)
    axes.plot(used + 1, applied[used], ".", markersize=2, color=_INK)
    _logarithmic(axes, len(used))


def _draw_compression(axes: Any, curve: Any) -> None:
    axes.set(title="What the first tokens alone would do", xlabel="tokens in the vocabulary", ylabel="bytes per token")
    if curve is None:
        _say(axes, "the text is empty, or this is not known for merges of this kind")
        return
    sizes, ratios = curve
    axes.plot(sizes, ratios, color=_INK)
    axes.axhline(ratios[-1], color=_FAINT, linewidth=0.8)
    axes.annotate(f"{ratios[-1]:.3f}", (sizes[0], ratios[-1]), textcoords="offset points", xytext=(2, 4), color=_INK)


def _logarithmic(axes: Any, n_points: int) -> None:
    if n_points:  # a logarithmic axis without data gives a warning
        axes.set(xscale="log", yscale="log")


def _say(axes: Any, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes, color=_FAINT)
