"""The chart of α while a draft learns: a plot for each kind, and a mark at each adoption."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.learning.alpha_history import AlphaEntry
from specchat.learning.page import ADOPTED, LEARNED, ORIGINAL, UNDONE, learning_curve
from specchat.stats.charts import UPRIGHT, as_text


def entries(kind: str, *alphas: float, learned: bool = False, first: int = 1000) -> list[AlphaEntry]:
    """Entries at every 1,000 tokens with these values of α."""
    return [
        AlphaEntry(first + 1000 * place, kind, learned, round(200 * alpha), 200 - round(200 * alpha))
        for place, alpha in enumerate(alphas)
    ]


def drawn(history: list[AlphaEntry], adopted: dict[int, bool], width: int = 80) -> list[str]:
    return as_text(learning_curve(history, adopted, width)).splitlines()


def test_each_kind_has_a_plot_with_both_drafts_and_the_kind_with_the_most_tokens_comes_first() -> None:
    history = entries("code", 0.9) + entries("free", 0.7, 0.7, 0.7) + entries("free", 0.8, 0.95, learned=True)
    rows = drawn(history, {})
    titles = [row for row in rows if row.startswith(("free", "code"))]
    assert titles == [f"free  {ORIGINAL} 0.70 → 0.70  {LEARNED} 0.80 → 0.95", f"code  {ORIGINAL} 0.90"]
    plots = "\n".join(row for row in rows if "│" in row)
    assert plots.count(ORIGINAL) == 4
    assert plots.count(LEARNED) == 2


def test_points_stand_beside_their_value_and_in_the_order_of_tokens() -> None:
    rows = drawn(entries("free", 0.7, 0.8, 0.9), {})
    found = {row[:6].strip(): row.index(ORIGINAL) for row in rows if ORIGINAL in row and "│" in row}
    assert [*found] == ["0.90", "0.80", "0.70"]
    assert found["0.70"] < found["0.80"] < found["0.90"]


def test_an_adoption_is_a_line_through_every_plot_and_a_mark_on_the_axis() -> None:
    history = entries("free", 0.7, 0.7) + entries("code", 0.9, 0.9)
    rows = drawn(history, {1000: True, 1500: False})
    axis = next(row for row in rows if "└" in row)
    crossed = [row for row in rows if "│" in row]
    assert axis.count(ADOPTED) == axis.count(UNDONE) == 1
    assert axis.index(ADOPTED) < axis.index(UNDONE)
    for place in (axis.index(ADOPTED), axis.index(UNDONE)):
        assert sum(row[place : place + 1] == UPRIGHT for row in crossed) >= len(crossed) - 4
    assert f"{ADOPTED} adopted" in rows[0]
    assert f"{UNDONE} undone" in rows[0]


def test_few_tokens_make_one_point_instead_of_noise() -> None:
    noisy = [AlphaEntry(100 * place, "free", False, place % 2 * 9, 1) for place in range(1, 10)]
    rows = drawn(noisy, {})
    assert "\n".join(row for row in rows if "│" in row).count(ORIGINAL) == 1
    assert f"free  {ORIGINAL} 0.83" in rows


def test_without_an_answer_there_is_no_chart() -> None:
    assert learning_curve([], {500: True}, 80) == []


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_constant_alpha_is_drawn_on_an_axis_between_0_and_1(alpha: float) -> None:
    labels = [float(row[:6]) for row in drawn(entries("free", alpha, alpha), {}) if "│" in row]
    assert len(labels) >= 4
    assert min(labels) >= 0
    assert max(labels) <= 1
    assert alpha in labels


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            AlphaEntry,
            st.integers(0, 10**9),
            st.sampled_from(["", "code", "pasted", "free \x1b[31m"]),
            st.booleans(),
            st.integers(0, 500),
            st.integers(0, 500),
        ),
        max_size=20,
    ),
    st.dictionaries(st.integers(0, 10**9), st.booleans(), max_size=5),
    st.integers(30, 120),
)
def test_it_fits_any_terminal(history: list[AlphaEntry], adopted: dict[int, bool], width: int) -> None:
    rows = drawn(history, adopted, width)
    assert max(map(len, rows), default=0) <= width
    assert not any("\x1b" in row for row in rows)
