"""The what-if chart: predicted tokens/s over k, what was measured and what lies beyond told apart by signs."""

from __future__ import annotations

from itertools import pairwise

from specchat.stats.charts import Line, Style
from specchat.stats.curve import Basis
from specchat.stats.whatif import Point, WhatIf
from specchat.terminal.blocks import per_cent
from specchat_engine.settings import AUTO

POINTS = {Basis.MEASURED: "●", Basis.INTERPOLATED: "○", Basis.EXTRAPOLATED: "◌"}
"""A prediction whose costs and positions were all measured, one between measured costs, one beyond them."""

SOLID, DOTTED = "─", "·"
BEST = "▲"

_LABELS = 8
_LEAST = 30


def what_if_chart(prediction: WhatIf, width: int, height: int = 9) -> list[Line]:
    """The chart in at most `width` columns: `height` rows of curve, the axis of k, a mark for the best, a legend."""
    room = max(width, _LEAST) - _LABELS
    points = prediction.points[:room]
    gap = max(1, (room - 1) // max(len(points) - 1, 1))
    speeds = [point.tokens_per_second for point in points]
    low, high = _scale(speeds)
    cells: dict[tuple[int, int], tuple[str, Style]] = {}
    for here, there in pairwise(points):
        for step in range(1, gap):
            speed = here.tokens_per_second + (there.tokens_per_second - here.tokens_per_second) * step / gap
            beyond = Basis.EXTRAPOLATED in (here.basis, there.basis)
            cells[here.k * gap + step, _row(speed, low, high, height)] = (DOTTED if beyond else SOLID, Style.QUIET)
    for point in points:
        cells[point.k * gap, _row(point.tokens_per_second, low, high, height)] = _sign(point, prediction)
    columns = (len(points) - 1) * gap + 1
    rows: list[Line] = []
    for row in reversed(range(height)):
        label = f"{low + (high - low) * row / (height - 1):.0f}" if row in (0, height // 2, height - 1) else ""
        drawn = tuple(cells.get((column, row), (" ", Style.PLAIN)) for column in range(columns))
        rows.append(((f"{label:>{_LABELS - 2}} │", Style.QUIET), *drawn))
    return [*rows, *_axis(points, gap, prediction), *_legend(prediction, max(width, _LEAST))]


def _scale(speeds: list[float]) -> tuple[float, float]:
    """The lowest and highest value of the axis: from 0 where the curve comes near it, else a margin below."""
    low, high = min(speeds), max(speeds)
    if low < high / 2:
        return 0.0, high
    margin = max((high - low) * 0.15, high * 0.02)
    return low - margin, high


def _row(speed: float, low: float, high: float, height: int) -> int:
    return round((speed - low) / (high - low) * (height - 1))


def _sign(point: Point, prediction: WhatIf) -> tuple[str, Style]:
    style = Style.TARGET if point.k == prediction.ran else Style.ACCEPTED
    return POINTS[point.basis], Style.QUIET if point.basis is Basis.EXTRAPOLATED else style


def _axis(points: tuple[Point, ...], gap: int, prediction: WhatIf) -> list[Line]:
    """The numbers of k that fit, and a mark under the best."""
    axis = [" "] * ((len(points) - 1) * gap + 2)
    free = 0
    for point in points:
        label, start = str(point.k), point.k * gap
        if start >= free and start + len(label) <= len(axis):
            axis[start : start + len(label)] = label
            free = start + len(label) + 1
    lines: list[Line] = [((f"{'k':>{_LABELS - 2}}  ", Style.QUIET), ("".join(axis).rstrip(), Style.PLAIN))]
    if (best := prediction.best).k < len(points):
        lines.append(((" " * (_LABELS + best.k * gap) + BEST, Style.STRONG),))
    return lines


def _legend(prediction: WhatIf, width: int) -> list[Line]:
    best, ran = prediction.best, prediction.ran
    likely = "" if prediction.firm(best.k) else ", extrapolated"
    told = f"best: k {best.k}, {best.tokens_per_second:.0f} tok/s ({_change(prediction.gain(best.k))}{likely})"
    had = f"ran: k {ran}, {prediction.measured:.0f} tok/s measured"
    if ran != AUTO and ran < len(prediction.points):
        had += f", {prediction.now:.0f} predicted"
    names = {Basis.MEASURED: "measured", Basis.INTERPOLATED: "between measured", Basis.EXTRAPOLATED: "extrapolated"}
    signs = "  ".join(f"{POINTS[basis]} {name}" for basis, name in names.items())
    texts = ((told, Style.STRONG), (had, Style.PLAIN), (signs, Style.QUIET))
    return [((text if len(text) <= width else text[: width - 1] + "…", style),) for text, style in texts]


def _change(gain: float) -> str:
    return f"{'+' if gain >= 0 else '−'}{per_cent(abs(gain))}"
