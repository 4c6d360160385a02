"""Plots of the results, as SVG files in docs/figures: rates of encoding, and times of training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.corpora import TEXTS
from benchmarks.race import Entry
from benchmarks.results import Section, number

COLORS = {"nbbpe": "#1b6ca8", "gigatoken": "#e07b39", "tiktoken": "#7a9e3f", "tokenizers": "#9a6fb0", "rustbpe": "#888888"}
VOCABULARY = "gpt2"
PALE = 0.45  # opacity of the bars of first passes


class Bar(NamedTuple):
    """One bar: its group, its library, its label in the legend, and its value."""

    group: str
    library: str
    label: str
    value: float


def encoding_bars(sections: Sequence[Section]) -> list[Bar]:
    """MB/s of one thread, first pass and warm, by text and library; for nbbpe, from the race on the whole text."""
    bars = []
    for section in sections:
        kind, *rest = section.name.split("/")
        if kind != "one_thread" or rest[0] != VOCABULARY:
            continue
        _, text, peer = rest
        for library in ("nbbpe", peer) if peer == "gigatoken" else (peer,):
            entry = _entry_of(section, library)
            for name, fact in (("first pass", "seconds"), ("warm", "warm_seconds")):
                megabytes = entry.runs[0]["n_bytes"] / 1e6
                bars.append(Bar(text, library, f"{library}, {name}", megabytes / entry.median(fact)))
    return sorted(bars, key=lambda bar: list(TEXTS).index(bar.group))


def training_bars(sections: Sequence[Section]) -> list[Bar]:
    """Seconds of training by text and library; for nbbpe, the longest of its times with the tie rules of its peers."""
    bars: dict[tuple[str, str], Bar] = {}
    for section in sections:
        kind, *rest = section.name.split("/")
        if kind != "training" or len(rest) != 2:
            continue
        text, peer = rest
        for library in ("nbbpe", peer):
            bar = Bar(text, library, library, _entry_of(section, library).seconds)
            bars[text, library] = max(bar, bars.get((text, library), bar), key=lambda bar: bar.value)
    return [bars[key] for key in sorted(bars)]


def _entry_of(section: Section, library: str) -> Entry:
    return next(entry for entry in section.entries if entry.library == library)


FIGURES: dict[str, tuple[str, str, Callable[[Sequence[Section]], list[Bar]]]] = {
    "encoding": ("Encoding with GPT-2's vocabulary, one thread", "MB/s (log scale), more is better", encoding_bars),
    "training": ("Training 32,000 tokens, all processors", "seconds (log scale), less is better", training_bars),
}


def draw(sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write each figure for which there are results, and return the paths. Raises ImportError without matplotlib."""
    paths = []
    for name, (title, axis, bars_of) in FIGURES.items():
        if bars := bars_of(sections):
            folder.mkdir(parents=True, exist_ok=True)
            paths.append(folder / f"{name}.svg")
            _draw_bars(bars, title, axis, paths[-1])
    return paths


def _draw_bars(bars: Sequence[Bar], title: str, axis: str, path: Path) -> None:
    """Groups of adjacent bars on a logarithmic scale, each with its value above it."""
    import matplotlib

    matplotlib.use("Agg")
    # The same results give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "nbbpe", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    groups = list(dict.fromkeys(bar.group for bar in bars))
    labels = sorted({bar.label for bar in bars}, key=lambda label: (list(COLORS).index(label.partition(",")[0]), label))
    width = 0.84 / len(labels)
    figure, axes = pyplot.subplots(figsize=(max(6.0, 0.32 * len(groups) * len(labels) + 1), 3.6))
    for place, label in enumerate(labels):
        mine = [bar for bar in bars if bar.label == label]
        style: dict[str, Any] = {"color": COLORS[mine[0].library], "alpha": PALE if "first" in label else 1.0}
        positions = [groups.index(bar.group) + (place - (len(labels) - 1) / 2) * width for bar in mine]
        drawn = axes.bar(positions, [bar.value for bar in mine], width * 0.92, label=label, **style)
        axes.bar_label(drawn, [number(bar.value) for bar in mine], fontsize=6, padding=1)
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(axis)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False, ncols=len(labels) // 2 or 1, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
