"""The chart of predicted tokens/s over k."""

from __future__ import annotations

from itertools import pairwise

from specchat.stats.charts import DOTTED, LABELS, SOLID, Line, Plot, Style, wrapped
from specchat.stats.what_if import Point, WhatIf
from specchat.terminal.blocks import per_cent
from specchat_engine.decoding.costs import Basis
from specchat_engine.settings import AUTO

POINTS = {Basis.MEASURED: "●", Basis.INTERPOLATED: "○", Basis.EXTRAPOLATED: "◌"}
"""The mark of a predicted speed by how its costs were found."""

BEST = "▲"

_LEAST = 30


def what_if_chart(prediction: WhatIf, width: int, height: int = 9) -> list[Line]:
    """Predicted tokens/s over k in at most `width` columns: `height` rows, an axis, a mark for the best k, a legend."""
    room = max(width, _LEAST) - LABELS
    points = prediction.points[:room]
    gap = max(1, (room - 1) // max(len(points) - 1, 1))
    low, high = _scale([point.tokens_per_second for point in points])
    plot = Plot((len(points) - 1) * gap + 1, height, low, high)
    for here, there in pairwise(points):
        beyond = Basis.EXTRAPOLATED in (here.basis, there.basis)
        ends = (here.k * gap, here.tokens_per_second), (there.k * gap, there.tokens_per_second)
        plot.line(*ends, DOTTED if beyond else SOLID)
    for point in points:
        plot.mark(point.k * gap, point.tokens_per_second, *_sign(point, prediction))
    labels = {row: f"{plot.value(row):.0f}" for row in (0, height // 2, height - 1)}
    return [*plot.lines(labels), *_axis(points, gap, prediction), *_legend(prediction, max(width, _LEAST))]


def _scale(speeds: list[float]) -> tuple[float, float]:
    """The lowest and highest value of the axis. It starts at 0 if the lowest speed is below half of the highest."""
    low, high = min(speeds), max(speeds)
    if low < high / 2:
        return 0.0, high
    margin = max((high - low) * 0.15, high * 0.02)
    return low - margin, high


def _sign(point: Point, prediction: WhatIf) -> tuple[str, Style]:
    style = Style.TARGET if point.k == prediction.ran else Style.ACCEPTED
    return POINTS[point.basis], Style.QUIET if point.basis is Basis.EXTRAPOLATED else style


def _axis(points: tuple[Point, ...], gap: int, prediction: WhatIf) -> list[Line]:
    """The values of k that fit, and a mark below the best."""
    axis = [" "] * ((len(points) - 1) * gap + 2)
    free = 0
    for point in points:
        label, start = str(point.k), point.k * gap
        if start >= free and start + len(label) <= len(axis):
            axis[start : start + len(label)] = label
            free = start + len(label) + 1
    lines: list[Line] = [((f"{'k':>{LABELS - 2}}  ", Style.QUIET), ("".join(axis).rstrip(), Style.PLAIN))]
    if (best := prediction.best).k < len(points):
        lines.append(((" " * (LABELS + best.k * gap) + BEST, Style.STRONG),))
    return lines


def _legend(prediction: WhatIf, width: int) -> list[Line]:
    best, ran = prediction.best, prediction.ran
    likely = "" if prediction.firm(best.k) else ", extrapolated"
    best_words = f"best: k {best.k}, {best.tokens_per_second:.0f} tok/s ({_change(prediction.gain(best.k))}{likely})"
    had = f"ran: k {ran}, {prediction.measured:.0f} tok/s measured"
    if ran != AUTO and ran < len(prediction.points):
        had += f", {prediction.now:.0f} predicted"
    names = {Basis.MEASURED: "measured", Basis.INTERPOLATED: "between measured", Basis.EXTRAPOLATED: "extrapolated"}
    signs = "  ".join(f"{POINTS[basis]} {name}" for basis, name in names.items())
    texts = ((best_words, Style.STRONG), (had, Style.PLAIN), (signs, Style.QUIET))
    return [line for text, style in texts for line in wrapped(text, width, style)]


def _change(gain: float) -> str:
    return f"{'+' if gain >= 0 else '−'}{per_cent(abs(gain))}"
