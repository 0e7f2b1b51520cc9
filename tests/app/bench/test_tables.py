from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from rich.console import Console

from specchat.bench.comparison import compare
from specchat.bench.document import Benchmark
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.tables import BASE, GAIN, LOSS, MARK, bars, comparison_tables, hindsight_table, legend, tables
from support.bench_samples import LOOKUP, MODEL, benchmark

RUN = benchmark({PLAIN: (100.0, 102.0, 98.0), MODEL: (150.0, 155.0, 145.0), LOOKUP: (90.0, 91.0, 89.0)})


def drawn_on(width: int, tables: Iterable[object], *, colour: bool = False) -> str:
    """What a console of this width shows of tables."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    for table in tables:
        console.print(table)
    return file.getvalue()


def printed(run: Benchmark, width: int, *, colour: bool = False) -> str:
    return drawn_on(width, tables(run, 0.0, Console(width=width)), colour=colour)


def test_a_wide_console_has_one_table_with_everything() -> None:
    text = printed(RUN, 200)
    header = next(line for line in text.splitlines() if "× plain" in line)
    assert header.split() == [
        "kind", "drafting", "tok/s", "quartiles", "×", "plain", "95", "%", "first", "ms",
        "α", "τ", "draft", "verify", "back", "other", "decode", "theory", "same",
    ]  # fmt: skip
    assert text.count("temperature 0") == 1


def test_eighty_columns_hold_every_figure_too() -> None:
    wide, narrow = printed(RUN, 200), printed(RUN, 80)
    assert narrow.count("temperature 0") == 2
    assert max(len(line.rstrip()) for line in narrow.splitlines()) <= 80
    assert "…" not in narrow
    assert {word for word in wide.split() if "─" not in word} <= set(narrow.split())


def test_the_own_choice_stands_beside_the_best_fixed_one_of_each_kind() -> None:
    run = benchmark({PLAIN: (100.0, 100.0), MODEL: (150.0, 150.0), Arm("hybrid", "auto"): (165.0, 165.0)})
    lines = [line.split() for line in drawn_on(80, [hindsight_table(run, 0.0)]).splitlines()]
    assert ["facts", "hybrid", "auto", "model", "4", "1.10", "1.10–1.10"] in lines
    assert ["all", "kinds", "hybrid", "auto", "–", "1.10", "1.10–1.10"] in lines
    assert hindsight_table(RUN, 0.0) is None


def test_a_kind_is_named_once_and_the_mean_over_all_kinds_comes_last() -> None:
    text = printed(RUN, 200)
    assert (text.count("facts"), text.count("copy")) == (1, 1)
    assert text.index("copy") < text.index("all kinds")
    assert "all kinds" not in printed(benchmark({PLAIN: (1.0,), MODEL: (2.0,)}, kinds=("facts",)), 200)


def test_a_sure_gain_and_a_sure_loss_have_their_colours() -> None:
    text = printed(RUN, 200, colour=True)
    assert "\x1b[1;38;2;79;157;234m   1.50" in text
    assert "\x1b[38;2;232;145;45m   0.90" in text


def test_what_was_not_measured_is_a_dash() -> None:
    text = printed(benchmark({MODEL: (100.0,)}), 200)
    assert "model 4" in text
    assert "–" in text


def test_a_kind_that_would_obey_a_terminal_is_filtered() -> None:
    assert "\x1b" not in printed(benchmark({PLAIN: (1.0,)}, kinds=("\x1b[2Jx",)), 200)


def test_a_comparison_has_both_gains_beside_the_change() -> None:
    second = benchmark({PLAIN: (100.0, 102.0, 98.0), MODEL: (300.0, 310.0, 290.0), LOOKUP: (90.0, 91.0, 89.0)})
    shown = drawn_on(80, comparison_tables(compare(RUN, second)))
    line = next(line for line in shown.splitlines() if "model 4" in line)
    assert line.split() == ["model", "4", "2.00", "2.00–2.00", "1.50", "3.00"]


BARS_RUN = benchmark({PLAIN: (100.0,), MODEL: (150.0,), LOOKUP: (50.0,)})


def drawn(width: int = 80) -> list[str]:
    return [line.plain for line in bars(BARS_RUN.rows, width)]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_console(width: int) -> None:
    assert all(len(line) <= width for line in drawn(width))


def test_without_colour_a_gain_and_a_loss_look_different() -> None:
    _, gain, loss, *_ = drawn()
    assert GAIN in gain
    assert LOSS not in gain
    assert GAIN not in loss
    assert LOSS in loss


def test_the_marks_of_all_bars_stand_below_each_other_where_plain_ends() -> None:
    axis, *lines = drawn()
    (place,) = {line.index(MARK) for line in lines}
    assert axis.rstrip().endswith("plain = 1")
    assert axis.index("plain") <= place <= len(axis)


def test_a_bar_is_as_long_as_its_ratio() -> None:
    _, gain, loss, *_ = drawn()
    assert gain.count(GAIN) == pytest.approx(0.5 * gain.count(BASE), abs=1)
    assert loss.count(LOSS) == pytest.approx(loss.count(BASE), abs=1)
    assert gain.endswith(" 1.50")
    assert loss.endswith(" 0.50")


def test_a_kind_is_named_at_its_first_bar_and_plain_decoding_has_none() -> None:
    _, *lines = drawn()
    assert [line[:12].strip() for line in lines] == ["facts", "", "copy", ""]
    assert not any("plain" in line for line in lines)


def test_where_nothing_was_compared_nothing_is_drawn() -> None:
    assert [*bars(benchmark({PLAIN: (1.0,)}).rows, 80)] == []
    assert [*bars(benchmark({Arm("model", 2): (1.0,)}).rows, 80)] == []


def test_the_legend_has_every_sign() -> None:
    assert all(sign in legend().plain for sign in (BASE, GAIN, LOSS))
    assert len(legend().plain) <= 100
