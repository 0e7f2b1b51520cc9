from __future__ import annotations

import pytest

from specchat.bench.bars import BASE, GAIN, LOSS, MARK, bars, legend
from specchat.bench.plan import PLAIN, Arm
from support.bench_samples import LOOKUP, MODEL, benchmark

RUN = benchmark({PLAIN: (100.0,), MODEL: (150.0,), LOOKUP: (50.0,)})


def drawn(width: int = 80) -> list[str]:
    return [line.plain for line in bars(RUN.rows, width)]


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
