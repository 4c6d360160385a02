"""Draws line charts as the text of an SVG, without a library, a script, or anything to load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ..system.excerpt import columns, shortened

_WIDTH, _HEIGHT = 720, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 190, 14, 44
# Colours of Okabe and Ito, which colour-blind people can distinguish, too. More lines have the same colours with dashes.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("", "6 3", "2 3")
_LINE_OF_LEGEND = 17
_NAME = 22  # columns of a name in the legend
_STEPS = (1, 2, 2.5, 5, 10)
_X_LABEL = "tokens in the vocabulary"


class Series(NamedTuple):
    """A line of a chart: its name and its points, by ascending x."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def line_chart(title: str, y_label: str, series: Sequence[Series]) -> str:
    """The text of an SVG element. Its horizontal axis is the size of the vocabulary, logarithmic, with powers of two.

    A line shows a description under the pointer; `title` is for screen readers.
    """
    series = [each for each in series if len(each.x)]
    if not series:
        return ""
    low_x, high_x = min(min(each.x) for each in series), max(max(each.x) for each in series)
    high_x = max(high_x, low_x * 1.01)
    ticks_y = _ticks(max(max(each.y) for each in series))
    height = max(_HEIGHT, _TOP + _BOTTOM + _LINE_OF_LEGEND * len(series))
    right, bottom = _WIDTH - _RIGHT, height - _BOTTOM

    def place_x(x: float) -> float:
        return _LEFT + (right - _LEFT) * math.log(x / low_x) / math.log(high_x / low_x)

    def place_y(y: float) -> float:
        return bottom - (bottom - _TOP) * y / ticks_y[-1]

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" class="chart">',
        f"<title>{escape(title)}</title>",
    ]
    for tick in ticks_y:
        y = place_y(tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<text class="left" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick:g}</text>')
    last = -math.inf
    for power in range(math.ceil(math.log2(low_x)), math.floor(math.log2(high_x)) + 1):
        x = place_x(2**power)
        parts.append(f'<path class="grid" d="M{x:.1f} {_TOP}V{bottom}"/>')
        if x - last > 40:
            parts.append(f'<text class="below" x="{x:.1f}" y="{bottom + 16}">{_short(2**power)}</text>')
            last = x
    parts.append(f'<text class="below" x="{(_LEFT + right) / 2:.0f}" y="{height - 8}">{_X_LABEL}</text>')
    middle = (_TOP + bottom) / 2
    parts.append(f'<text class="below" transform="rotate(-90)" x="{-middle:.0f}" y="14">{escape(y_label)}</text>')
    for number, each in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        style = f'stroke="{colour}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        points = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in zip(each.x, each.y, strict=True))
        about = escape(f"{each.name}: {each.y[0]:.3g} to {each.y[-1]:.3g}")
        parts.append(f'<polyline class="line" {style} points="{points}"><title>{about}</title></polyline>')
        y = _TOP + 10 + _LINE_OF_LEGEND * number
        parts.append(f'<path class="line" {style} d="M{right + 12} {y - 4}h22"/>')
        parts.append(f'<text x="{right + 40}" y="{y}">{escape(_cut(each.name))}</text>')
    return "\n".join([*parts, "</svg>"])


def _ticks(highest: float) -> list[float]:
    """Round numbers from 0 to at least `highest`, about five."""
    if not highest > 0:
        return [0.0, 1.0]
    size = 10 ** math.floor(math.log10(highest / 5))
    step = next(size * each for each in _STEPS if 5 * size * each >= highest)
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


def _short(number: int) -> str:
    return f"{number // 1024}k" if number >= 1024 else str(number)


def _cut(name: str) -> str:
    """A name shortened to the width of the legend. Its end is kept, as ends tell names apart."""
    return name if columns(name) <= _NAME else shortened(name[::-1], _NAME)[::-1]
