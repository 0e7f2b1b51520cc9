from dataclasses import replace

import pytest

from app.tui.scripted_client import ended, script
from specchat.stats.turn import TurnModel, TurnView
from specchat.terminal.palette import word_of
from specchat_engine.decoding.costs import MeasuredCosts


def seen(notation: str) -> TurnView:
    model = TurnModel()
    model.observe(script(notation))
    return model.view()


def test_a_round_is_a_word_of_glyphs_one_for_each_outcome_and_kind() -> None:
    words = [word_of(event) for event in script(" a b c> d| a~ b~/ c/> d|> e")]
    assert words == ["●●●◇", "●○·◆", "□"]


def test_the_figures_of_a_turn_count_what_was_drafted_compared_and_said() -> None:
    discarded = seen(" a~ b~/ c/> d").figures
    assert (discarded.acceptance_rate, discarded.alpha) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert seen(" a b c> d|> e").figures.block_efficiency == pytest.approx(2.5), "with the target's own token"
    assert seen(" a b> c|~ a~> d").figures.accepted_by_place == (0.5, 1.0), "of the rounds that drafted so far"
    assert sum(seen(" a b> c|> d").figures.shares.values()) == pytest.approx(1)


def test_a_snapshot_does_not_change_afterwards() -> None:
    model = TurnModel()
    rounds = script(" a> b| c> d")
    model.observe(rounds[:1])
    view = model.view()
    copy = replace(view)
    model.observe(rounds[1:])
    assert view == copy
    assert model.view() != view


def test_the_final_figures_are_the_engines_own() -> None:
    rounds = script(" a b> c|> d")
    model = TurnModel()
    model.observe(rounds)
    totals = ended(rounds).stats | {"speedup": 1.58, "tokens_per_second": 612.0}
    view = model.final_view(totals)
    assert view.line() == "612 tok/s · 1.58 × plain · accepted 100 % · α 1.00 · τ 2.0"


def test_a_speed_up_is_expected_while_it_streams_and_measured_at_the_end() -> None:
    model, rounds = TurnModel(MeasuredCosts(((1, 2.0), (3, 3.0)), 0.2)), script(" a b> c")
    assert (model.view().speedup, model.view().expected) == (None, None)
    model.observe(rounds)
    assert model.view().speedup is None
    assert model.view().expected == pytest.approx((3 * 1.0 + 0.05) / 1.75), "passes take half as long as in the record"
    final = model.final_view(ended(rounds).stats | {"speedup": 1.58})
    assert (final.speedup, final.expected) == (1.58, None)


def test_a_very_long_turn_keeps_a_short_history_and_ribbon() -> None:
    model = TurnModel()
    model.observe(script(" a> b") * 10_000)
    view = model.view()
    assert len(view.history) <= 64
    assert len(view.k_history) <= 64
    assert len(view.ribbon) <= 192
    assert view.figures.num_rounds == 10_000


def test_plain_answers_are_as_fast_as_plain_while_they_stream() -> None:
    assert TurnView().line() == ""
    model = TurnModel(MeasuredCosts(((1, 0.01), (4, 0.02)), 0.1))
    model.observe(script("> a|> b|> c"))
    assert model.view().expected == 1
