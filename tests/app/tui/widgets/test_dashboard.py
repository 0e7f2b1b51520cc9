import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from app.tui.scripted_client import ended, script
from specchat.stats.charts import as_text, position_bars
from specchat.stats.figures import NAMED
from specchat.stats.figures.acceptance import ALPHA, BY_POSITION
from specchat.stats.figures.answer import MEMORY
from specchat.stats.figures.figure import Figure
from specchat.stats.figures.speed import SPEED
from specchat.stats.summary import Figures
from specchat.stats.turn import TurnModel, TurnView
from specchat.tui.widgets.dashboard import MARKABLE, Panel, following, panel, strip
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.load_options import MemoryUse
from support.drawn_rounds import made_round

COSTS = MeasuredCosts(((1, 1.5), (4, 1.8), (8, 2.4)), 0.1)
LOADED = MemoryUse(36_000_000, 4_000_000, 12_000_000, 3_000_000, 9_000_000)
WIDTH = 45


def turn(rounds: int, costs: MeasuredCosts = COSTS) -> TurnView:
    model = TurnModel(costs, LOADED)
    model.observe((script(" a b c> d| a~ b~/ c/> d|> e") * rounds)[:rounds])
    return model.view()


def texts(drawn: Panel) -> list[str]:
    return [line.plain for line in drawn.lines]


def shown(view: TurnView, height: int = 40, marked: Figure | None = None) -> list[str]:
    return texts(panel(view, WIDTH, height, marked))


def places(rows: list[str]) -> list[str]:
    return [row[:9] for row in rows]


@pytest.mark.parametrize("width", [30, 45, 60, 80])
@pytest.mark.parametrize("rounds", [0, 1, 2, 9, 60])
@pytest.mark.parametrize("marked", [None, ALPHA])
def test_no_row_is_wider_than_the_panel(rounds: int, width: int, marked: Figure | None) -> None:
    rows = texts(panel(turn(rounds), width, 40, marked))
    assert max(cell_len(row) for row in rows) <= width


@pytest.mark.parametrize("width", [30, 36, 45])
@pytest.mark.parametrize("figure", ["5 at most", "▒ other 3", "░work 9", "gains 79 %"])
def test_figures_of_a_narrow_panel_go_on_in_another_row(width: int, figure: str) -> None:
    words = " ".join(" ".join(texts(panel(turn(60), width, 60))).split())
    assert figure in words


@pytest.mark.parametrize("k", [1, 7, 12, 32, 64])
def test_however_large_k_is_the_positions_stay_in_their_row(k: int) -> None:
    model = TurnModel()
    model.observe(script(" a" * k + "> b"))
    assert max(cell_len(row) for row in shown(model.view())) <= WIDTH


@pytest.mark.parametrize("height", [40, 24, 18, 9])
@pytest.mark.parametrize("marked", [None, MEMORY])
def test_rows_do_not_move_while_figures_change(height: int, marked: Figure | None) -> None:
    first, later = (shown(turn(rounds), height, marked) for rounds in (9, 60))
    assert len(first) == len(later)
    labels = [place for place in places(first) if place.strip(" ▸●○·◆◇□").isalpha()]
    assert [place in places(later) for place in labels] == [True] * len(labels)


@pytest.mark.parametrize("height", [1, 6, 12, 18, 30])
def test_rows_without_room_are_dropped(height: int) -> None:
    rows = texts(panel(turn(60), WIDTH, height))
    assert len(rows) <= height


def test_a_low_panel_keeps_what_matters_most() -> None:
    text = "\n".join(shown(turn(60), 10))
    assert all(word in text for word in ("tok/s", "× plain", "accepted", "α", "needs α", "●●●◇"))
    assert "so far" not in text


@pytest.mark.parametrize("width", [33, 45, 60])
def test_what_the_gauge_says_never_stands_without_its_label(width: int) -> None:
    sentence = turn(60).break_even
    assert sentence is not None
    for height in range(1, 40):
        rows = "\n".join(texts(panel(turn(60), width, height)))
        assert sentence.sentence()[:12] not in rows or "α needed" in rows


def test_a_high_panel_shows_more_rounds() -> None:
    assert "\n".join(shown(turn(120), 50)).count("◇") > "\n".join(shown(turn(120), 24)).count("◇")


def test_the_marked_figure_stays_when_there_is_little_room() -> None:
    rows = shown(turn(60), 14, MEMORY)
    assert len(rows) == 14
    assert any(row.startswith("▸memory   64 MB") for row in rows)


def test_the_mark_goes_through_all_figures_and_wraps_around() -> None:
    seen: list[Figure] = [SPEED]
    while (next_one := following(seen[-1], 1)) != SPEED:
        seen.append(next_one)
    assert tuple(seen) == MARKABLE
    assert following(SPEED, -1) == MARKABLE[-1]


@pytest.mark.parametrize("marked", MARKABLE)
def test_every_figure_has_a_row_and_a_sentence_that_fits(marked: Figure) -> None:
    rows = shown(turn(60), 40, marked)
    assert sum(row.startswith("▸") for row in rows) == 1
    said = " ".join(row.strip() for row in rows[-6:]).split()
    assert said == marked.caption(turn(60)).split()


def test_alpha_and_acceptance_rate_are_explained_with_this_turns_numbers() -> None:
    said = ALPHA.caption(turn(60))
    assert "80 of the 100 drafted tokens" in said
    assert "80/120 = 67 % accepted" in said


def test_the_gauge_says_what_alpha_is_needed_and_what_that_costs() -> None:
    model = TurnModel(MeasuredCosts(((1, 1.0), (4, 2.0), (8, 4.0)), 0.1))
    model.observe(script("~ a~/ b//c/> d| a~ b~/ c/> d") * 9)
    view = model.view()
    gauge = view.break_even
    assert gauge is not None
    assert not gauge.pays
    rows = shown(view)
    assert gauge.sentence() in " ".join(row.strip() for row in rows)
    stroke = next(row for row in rows if "α needed" in row).index("┃")
    assert stroke - 10 == pytest.approx((gauge.needed or 0) * (WIDTH - 10), abs=1)


@pytest.mark.parametrize("width", [33, 45, 60])
@pytest.mark.parametrize("height", [12, 18, 40])
def test_why_drafting_does_not_pay_is_never_cut(width: int, height: int) -> None:
    rounds = script("~ a~/ b//c/> d| a~ b~/ c/> d") * 9
    model = TurnModel()
    model.observe(rounds)
    view = model.final_view(ended(rounds).stats | {"speedup": 0.13})
    gauge = view.break_even
    assert gauge is not None
    assert gauge.sentence().startswith("no α pays off: 0.3")
    assert gauge.sentence() in " ".join(row.strip() for row in texts(panel(view, width, height)))


def test_a_forecast_and_a_measurement_can_be_told_apart() -> None:
    rounds = script(" a b c> d| a~ b~/ c/> d|> e") * 9
    model = TurnModel(COSTS)
    model.observe(rounds)
    streaming, over = model.view(), model.final_view(ended(rounds).stats | {"speedup": 1.58})
    unknown = model.final_view(ended(rounds).stats | {"speedup": None, "cpu_share": 0.3})
    for view, end in ((streaming, "expected"), (over, "58 % faster"), (unknown, "other programs use the CPU")):
        row = next(row for row in shown(view) if "plain" in row)
        assert row.endswith(end)
        assert ("×?" in row) is (view is unknown)
    assert "× expected" in strip(streaming, 78).plain
    assert "1.58 × plain" in strip(over, 78).plain
    assert "×? plain" in strip(unknown, 78).plain


def test_there_is_no_gauge_before_passes_are_timed() -> None:
    rows = "\n".join(shown(turn(60, MeasuredCosts())))
    assert "needs" not in rows
    assert "waits for the speed-up" in rows


def test_a_missing_gauge_says_what_is_missing_and_nothing_before_the_first_round() -> None:
    before, plain, drafted = TurnModel(), TurnModel(), TurnModel()
    plain.observe(script("> a") * 9)
    drafted.observe(script(" a> b") * 9)
    unknown = ended(script("> a")).stats | {"speedup": None}
    for view, words in (
        (before.view(), ""),
        (plain.view(), "nothing drafted yet"),
        (plain.final_view(unknown), "nothing was drafted"),
        (drafted.final_view(unknown), "the speed-up is not known"),
    ):
        rows = shown(view)
        place = next(at for at, row in enumerate(rows) if "α needed" in row)
        assert [rows[place].split()[-1], rows[place + 1].strip(), rows[place + 2].strip()] == ["–", words, ""]


def test_k_is_shown_over_the_turn_with_its_reason() -> None:
    model = TurnModel()
    model.observe(script(" a> b") * 30)
    rows = shown(model.view())
    place = next(at for at, row in enumerate(rows) if row.startswith(" k "))
    assert rows[place].startswith(" k        4   ███")
    assert rows[place + 1].strip() == "fixed"


def test_memory_is_known_before_the_first_turn() -> None:
    assert any("memory   64 MB" in row for row in shown(TurnView(memory=LOADED)))


def test_a_click_finds_the_figure_of_its_row() -> None:
    drawn = panel(turn(9), WIDTH, 40)
    rows = texts(drawn)
    assert drawn.figures[next(at for at, row in enumerate(rows) if "by place" in row)] == BY_POSITION


@pytest.mark.parametrize("width", [30, 45])
@pytest.mark.parametrize("rounds", [0, 1, 60])
def test_everything_that_the_panel_shows_can_be_marked_and_has_a_whole_explanation(rounds: int, width: int) -> None:
    drawn = panel(turn(rounds), width, 60)
    figures = [figure for row, figure in zip(texts(drawn), drawn.figures, strict=False) if row.strip()]
    assert None not in figures
    assert {*figures} <= {*MARKABLE}
    assert {*MARKABLE} <= {*NAMED.values()}


def test_the_parts_of_the_time_add_up_in_the_panel_also_with_a_long_rollback() -> None:
    for ms in ((0.5, 2.0, 0.1), (1.0, 1.0, 1.0), (0.18, 0.585, 0.235)):
        for rollback in (0.0, 0.02, 0.4):
            event = made_round(4, 2, ms=ms)
            model = TurnModel()
            model.observe([replace(event, ms=replace(event.ms, rollback=rollback))])
            line = " ".join(texts(panel(model.view(), 81, 60)))
            shown = re.search(r"in %.*?drafts", line)
            assert shown
            assert sum(map(int, re.findall(r" (\d+)", shown[0]))) == 100


def test_a_full_bar_does_not_touch_its_percentage() -> None:
    for rounds in (1, 9):
        model = TurnModel()
        model.observe(script(" a b c> d") * rounds)
        assert "█ 100 %" in strip(model.view(), 78).plain
    assert "█ 100 %" in as_text(position_bars(Figures.of(script(" a b c> d")), 60))


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
