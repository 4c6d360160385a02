"""Draws an automaton as SVG: states in columns by their distance from the start, arrows labelled with classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from .automaton import DEAD, START, Automaton

_COLUMN, _ROW, _RADIUS, _MARGIN = 230, 96, 20, 70
_MOST_LABEL = 30  # characters

_STYLE = """
    text { font: 12px sans-serif; fill: #222; text-anchor: middle; }
    .label { paint-order: stroke; stroke: #fff; stroke-width: 4px; }
    .state { fill: #eef2fb; stroke: #3f51b5; stroke-width: 1.5; }
    .line { stroke: #777; fill: none; marker-end: url(#tip); }
"""


def draw_automaton(automaton: Automaton, labels: Sequence[str], descriptions: Sequence[str]) -> str:
    """The text of an SVG file. State 0, which leads to no match, and the arrows to it are not drawn.

    labels, descriptions : for each class, the label at its arrows, and the text shown under the pointer

    States in which a match ends at the end of a text have a double circle. A state with a dot looks ahead: whether a match
    ends there depends on the character that follows.
    """
    places, width, height = _layout(automaton)
    lines, texts = [], []
    for (state, following), classes in _arrows(automaton, places).items():
        path, (x, y) = _path(places[state], places[following])
        label = ", ".join(labels[each] for each in classes)
        label = label if len(label) <= _MOST_LABEL else label[: _MOST_LABEL - 1].rstrip(", ") + "…"
        title = escape("; ".join(descriptions[each] for each in classes))
        lines.append(f'  <path class="line" d="{path}"/>')
        texts.append(f'  <text class="label" x="{x:.0f}" y="{y:.0f}"><title>{title}</title>{escape(label)}</text>')
    for state, (x, y) in places.items():
        lines.append(f'  <circle class="state" cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS}"/>')
        if automaton.tells[state, -1]:
            lines.append(f'  <circle class="state" cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS - 4}"/>')
        looks = (automaton.next_state[state] == DEAD) & (automaton.tells[state, :-1] != automaton.tells[state, -1])
        number = f"{state}·" if looks.any() else f"{state}"
        texts.append(f'  <text x="{x:.0f}" y="{y + 4:.0f}">{number}</text>')
    tip = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img">',
            f"  <title>An automaton of {automaton.n_states} states and {automaton.n_classes} classes</title>",
            f"  <style>{_STYLE}  </style>",
            f'  <defs>{tip}<path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>',
            f'  <rect width="{width}" height="{height}" rx="8" fill="#fff"/>',
            *lines,
            *texts,
            "</svg>\n",
        ]
    )


def _layout(automaton: Automaton) -> tuple[dict[int, tuple[float, float]], int, int]:
    """Where each state is drawn, in a column for each distance from the start, and the width and height of the drawing."""
    depths = _distances(automaton)
    columns: list[list[int]] = [[] for _ in range(max(depths.values()) + 1)]
    for state, depth in depths.items():
        columns[depth].append(state)
    most = max(map(len, columns))
    places: dict[int, tuple[float, float]] = {
        state: (_MARGIN + _COLUMN * depth, _MARGIN + _ROW * (row + (most - len(states)) / 2))
        for depth, states in enumerate(columns)
        for row, state in enumerate(states)
    }
    return places, 2 * _MARGIN + _COLUMN * (len(columns) - 1), 2 * _MARGIN + _ROW * (most - 1)


def _arrows(automaton: Automaton, states: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    """The arrows, from a state to the one that follows, with their classes of characters."""
    arrows: dict[tuple[int, int], list[int]] = {}
    for state in states:
        for character_class, following in enumerate(automaton.next_state[state].tolist()):
            if following != DEAD:
                arrows.setdefault((state, following), []).append(character_class)
    return arrows


def _distances(automaton: Automaton) -> dict[int, int]:
    """The least number of characters from the start to each state, the nearest first; without the dead state."""
    found = {START: 0}
    for state in (waiting := [START]):
        for following in automaton.next_state[state].tolist():
            if following != DEAD and following not in found:
                found[following] = found[state] + 1
                waiting.append(following)
    return found


def _path(start: tuple[float, float], end: tuple[float, float]) -> tuple[str, tuple[float, float]]:
    """The path of an arrow between two states, and the position of its label."""
    (x, y), (to_x, to_y) = start, end
    if start == end:
        top = y - _RADIUS
        return (
            f"M{x - 8:.0f} {top + 2:.0f}C{x - 28:.0f} {top - 32:.0f} {x + 28:.0f} {top - 32:.0f} {x + 8:.0f} {top + 2:.0f}",
            (x, top - 26),
        )
    way = np.array([to_x - x, to_y - y])
    length = float(np.hypot(*way))
    along = way / length
    aside = np.array([-along[1], along[0]])
    # Arrows within a column, backwards, or across a column are curved, so that they do not cross states.
    bend = 0.0 if to_x - x == _COLUMN else 44.0 + 0.12 * length
    middle = (np.array(start) + end) / 2 + bend * aside
    leaving, arriving = middle - start, np.array(end) - middle
    first = np.array(start) + _RADIUS * leaving / np.hypot(*leaving)
    last = np.array(end) - (_RADIUS + 1) * arriving / np.hypot(*arriving)
    t = 0.62
    label = (1 - t) ** 2 * first + 2 * t * (1 - t) * middle + t * t * last
    path = f"M{first[0]:.0f} {first[1]:.0f}Q{middle[0]:.0f} {middle[1]:.0f} {last[0]:.0f} {last[1]:.0f}"
    return path, (float(label[0]), float(label[1]) - 4)
