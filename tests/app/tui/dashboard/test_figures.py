import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from app.tui.scripted_client import script
from specchat.stats.charts import as_text, position_bars
from specchat.stats.summary import Figures
from specchat.stats.turn import TurnModel, TurnView
from specchat.terminal.blocks import bar, columns, levels, percent, percents
from specchat.tui.dashboard.figures import Styled, rows, strip
from specchat_engine.decoding.costs import MeasuredCosts
from support.drawn_rounds import made_round


def turn(rounds: int) -> TurnView:
    model = TurnModel(MeasuredCosts(((1, 1.2), (4, 1.8)), 0.1))
    model.observe((script(" a b c> d| a~ b~/ c/> d|> e") * rounds)[:rounds])
    return model.view()


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.999, 1, 7])
def test_a_bar_always_has_its_width(share: float) -> None:
    assert len(bar(share, 12)) == 12


def test_a_percentage_always_has_five_cells() -> None:
    assert {len(percent(share)) for share in (None, 0, 0.076, 0.76, 1)} == {5}


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_the_percents_of_all_parts_add_up_to_a_hundred(counts: list[int]) -> None:
    shares = [count / sum(counts) for count in counts]
    found = percents(shares)
    assert sum(found) == 100
    assert all(abs(whole - 100 * share) < 1 for whole, share in zip(found, shares, strict=True))


def test_the_percents_of_shares_do_not_depend_on_their_order() -> None:
    assert percents([0.375, 0.625]) == [37, 63]
    assert percents([0.625, 0.375]) == [63, 37]


def test_the_parts_of_the_time_add_up_in_the_panel_also_with_a_long_rollback() -> None:
    for ms in ((0.5, 2.0, 0.1), (1.0, 1.0, 1.0), (0.18, 0.585, 0.235)):
        for rollback in (0.0, 0.02, 0.4):
            event = made_round(4, 2, ms=ms)
            model = TurnModel()
            model.observe([replace(event, ms=replace(event.ms, rollback=rollback))])
            line = " ".join("".join(map(text_of, row.parts)) for row in rows(model.view(), 80))
            shown = re.search(r"in %.*?drafts", line)
            assert shown
            assert sum(map(int, re.findall(r" (\d+)", shown[0]))) == 100


def text_of(part: Styled) -> str:
    return part if isinstance(part, str) else part[0]


def test_a_full_bar_does_not_touch_its_percentage() -> None:
    for rounds in (1, 9):
        model = TurnModel()
        model.observe(script(" a b c> d") * rounds)
        assert "█ 100 %" in strip(model.view(), 78).plain
    assert "█ 100 %" in as_text(position_bars(Figures.of(script(" a b c> d")), 60))


def test_levels_are_as_high_as_their_share() -> None:
    assert levels([0, 0.5, 1], 1.0) == "▁▅█"


def test_many_values_are_averaged_over_neighbours() -> None:
    assert columns([1, 3, 5, 7], 2) == (2, 6)


@pytest.mark.parametrize("rounds", [0, 1, 9, 60])
def test_the_narrow_dashboard_is_one_row(rounds: int) -> None:
    for width in (20, 60, 78, 108):
        row = strip(turn(rounds), width).plain
        assert "\n" not in row
        assert cell_len(row) <= width


@pytest.mark.parametrize("width", range(18, 78))
def test_a_figure_without_room_in_the_row_is_left_out_as_a_whole(width: int) -> None:
    row, whole = strip(turn(60), width).plain, strip(turn(60), 60).plain
    shown = re.split("  [●◆◇□]", row)[0].rstrip()
    assert whole.startswith(shown)
    assert whole[len(shown) :][:1] in ("", " ")


def test_figures_do_not_move_while_they_change() -> None:
    first, later = (strip(turn(rounds), 78).plain for rounds in (1, 9))
    assert [first.index(word) for word in ("tok/s", "acc", "α", "τ")] == [
        later.index(word) for word in ("tok/s", "acc", "α", "τ")
    ]
