"""The chart of predicted speeds over k."""

from __future__ import annotations

import pytest

from app.stats.test_charts import widths
from specchat.stats.charts import DOTTED, SOLID, as_text
from specchat.stats.what_if import WhatIf, what_if
from specchat.stats.what_if_chart import BEST, POINTS, what_if_chart
from specchat_engine.decoding.costs import MeasuredCosts
from support.drawn_rounds import simulated

COSTS = MeasuredCosts(((1, 2.0), (2, 2.1), (5, 2.6), (9, 3.4)), 0.1)


def prediction(k_max: int = 12, ran: int | str = 4) -> WhatIf:
    found = what_if(simulated((0.85,) * 6, 6, lambda _: 2.9, 0.1, rounds=200), COSTS, ran, k_max)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("k_max", [0, 1, 12, 200])
def test_the_what_if_chart_fits_any_terminal(k_max: int) -> None:
    found = prediction(k_max)
    for width in (30, 140):
        lines = what_if_chart(found, width)
        assert max(widths(lines)) <= width
        assert "ran: k 4" in as_text(lines)


def test_the_what_if_chart_distinguishes_measured_from_extrapolated_by_signs() -> None:
    found = prediction()
    drawn = as_text(what_if_chart(found, 80)[:9])
    for basis, sign in POINTS.items():
        assert drawn.count(sign) == sum(point.basis is basis for point in found.points)
    dotted = [line.index(DOTTED) for line in drawn.splitlines() if DOTTED in line]
    solid = [line.rindex(SOLID) for line in drawn.splitlines() if SOLID in line]
    assert max(solid) < min(dotted) or len(solid) > 0 == len(dotted)


def test_the_best_k_is_marked_under_its_number_and_highest_in_the_curve() -> None:
    found = prediction()
    lines = as_text(what_if_chart(found, 80)).splitlines()
    axis, mark = lines[9], lines[10]
    assert axis[mark.index(BEST) :].split()[0] == str(found.best.k)
    assert lines[0][mark.index(BEST)] in POINTS.values()
    assert f"best: k {found.best.k}" in lines[11]
    columns = range(8, 9 + 12 * (71 // 12), 71 // 12)
    rows = [next(r for r, line in enumerate(lines) if line[at : at + 1] in POINTS.values()) for at in columns]
    by_speed = sorted(zip((point.tokens_per_second for point in found.points), rows, strict=True), reverse=True)
    assert [row for _, row in by_speed] == sorted(rows), "a higher prediction is never drawn lower"
