from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.terminal.blocks import bar, columns, levels, percent, percents


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


def test_levels_are_as_high_as_their_share() -> None:
    assert levels([0, 0.5, 1], 1.0) == "▁▅█"


def test_many_values_are_averaged_over_neighbours() -> None:
    assert columns([1, 3, 5, 7], 2) == (2, 6)
