from __future__ import annotations

import random
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.notice import CHANCE, AlphaRecord, at_most, fallen_alpha

turns = st.lists(
    st.tuples(st.integers(24, 200), st.floats(0, 1)).map(lambda at: (at[0], round(at[0] * at[1]))), max_size=8
)


USUAL = AlphaRecord.of([(100, 78), (120, 98), (90, 70), (140, 115), (110, 86), (100, 81)])


def test_a_clear_fall_is_noticed_with_both_numbers() -> None:
    notice = fallen_alpha(150, 60, USUAL)
    assert notice is not None
    assert "α 0.40" in notice
    assert f"usual is {USUAL.mean:.2f} (over 6 answers)" in notice


@pytest.mark.parametrize(("tested", "accepted"), [(150, 118), (150, 140), (10, 0), (30, 21), (2000, 1500)])
def test_what_chance_or_the_text_explains_is_not(tested: int, accepted: int) -> None:
    assert fallen_alpha(tested, accepted, USUAL) is None


def test_a_pair_without_a_record_is_compared_with_nothing() -> None:
    assert fallen_alpha(200, 0, AlphaRecord.of([(100, 80)] * 4)) is None
    assert fallen_alpha(200, 0, AlphaRecord.of([(100, 80)] * 5)) is not None


def test_a_pair_as_ever_seldom_sounds_a_notice() -> None:
    chance = random.Random(11)

    def drawn() -> tuple[int, int]:
        alpha = min(max(chance.gauss(0.75, 0.08), 0.02), 0.98)
        tested = chance.randint(24, 400)
        return tested, sum(chance.random() < alpha for _ in range(tested))

    sounded = 0
    for _ in range(60):
        record = AlphaRecord.of(drawn() for _ in range(chance.randint(5, 30)))
        sounded += sum(fallen_alpha(*drawn(), record) is not None for _ in range(20))
    assert sounded <= 1200 * CHANCE * 4


@given(turns, turns)
def test_records_of_parts_add_up_to_the_record_of_all(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    both, whole = AlphaRecord.of(before) + AlphaRecord.of(after), AlphaRecord.of(before + after)
    assert both.turns == whole.turns
    assert both.mean == pytest.approx(whole.mean)
    assert both.squares == pytest.approx(whole.squares, abs=1e-9)


@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(0.03, 0.2))
def test_the_law_of_the_count_sums_to_one_and_rises(trials: int, mean: float, spread: float) -> None:
    chances = [at_most(hits, trials, mean, spread) for hits in range(trials + 1)]
    assert chances[-1] == pytest.approx(1)
    assert chances == sorted(chances)
    expected = sum(1 - chance for chance in chances[:-1])
    assert expected == pytest.approx(mean * trials, rel=1e-6)


def test_without_a_spread_it_is_the_binomial_law() -> None:
    binomial = sum(comb(40, x) * 0.7**x * 0.3 ** (40 - x) for x in range(21))
    assert at_most(20, 40, 0.7, 1e-4) == pytest.approx(binomial, rel=1e-3)
