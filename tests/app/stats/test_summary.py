from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.summary import Figures, Summary
from specchat.store.turns import Counters
from specchat_engine.codec import from_json, to_json
from specchat_engine.decoding.rounds import Round, TokenKind
from specchat_engine.decoding.stats import TurnStats
from support.drawn_rounds import made_round, rounds_drawn, sample_round


def engine_stats(rounds: list[Round]) -> TurnStats:
    stats = TurnStats(plain_ms=2.0, ttft_ms=30.0)
    for event in rounds:
        stats.observe(event)
    return stats


@given(rounds_drawn())
def test_figures_agree_with_the_engines_own_statistics(rounds: list[Round]) -> None:
    figures, stats = Figures.of(rounds), engine_stats(rounds)
    assert figures.alpha == stats.alpha
    assert figures.acceptance_rate == stats.acceptance_rate
    assert figures.block_efficiency == stats.block_efficiency
    assert figures.tokens_per_second == pytest.approx(stats.tokens_per_second)
    counts = [*stats.num_accepted_tokens_per_pos]
    assert [*figures.accepted_at] == counts + [0] * (len(figures.accepted_at) - len(counts))


@given(st.lists(rounds_drawn(6), max_size=4))
def test_turns_add_up_to_what_all_their_rounds_give(turns: list[list[Round]]) -> None:
    merged = sum((Figures.of(rounds) for rounds in turns), Figures())
    assert merged == Figures.of([event for rounds in turns for event in rounds])


@given(rounds_drawn())
def test_kinds_and_sources_add_up_to_the_total(rounds: list[Round]) -> None:
    summary = Summary.of_turn(rounds, engine_stats(rounds).to_json())
    assert sum(summary.by_kind.values(), Figures()) == summary.total
    assert sum(summary.by_source.values(), Figures()) == summary.total


@given(rounds_drawn(6), rounds_drawn(6))
def test_a_summary_survives_being_kept_and_added_to(before: list[Round], after: list[Round]) -> None:
    kept = json.loads(json.dumps(to_json(Summary.of_turn(before, engine_stats(before).to_json()))))
    later = Summary.of_turn(after)
    assert from_json(Summary, kept) + later == Summary.of_turn(before, engine_stats(before).to_json()) + later
    assert later + Summary() == later


@given(rounds_drawn())
def test_the_store_counts_the_same(rounds: list[Round]) -> None:
    figures = Figures.of(rounds)
    counted = Counters.of_turn(figures.to_stats())
    assert counted.alpha == figures.alpha
    assert counted.block_efficiency == figures.block_efficiency
    assert counted.tokens_per_second == figures.tokens_per_second
    assert counted.acceptance_rate == figures.acceptance_rate


def test_discarded_tokens_were_drafted_and_never_tested() -> None:
    figures = Figures.of([made_round(4, 1), made_round(2, 2)])
    assert figures.drafted_at == (2, 2, 1, 1)
    assert figures.tested_at == (2, 2, 0, 0)
    assert figures.accepted_at == (2, 1, 0, 0)
    assert figures.alpha == pytest.approx(3 / 4)
    assert figures.acceptance_rate == pytest.approx(3 / 6)


def test_the_tokens_of_a_tree_at_one_place_are_compared_once() -> None:
    outcomes = [("a", "The"), ("a", " cat"), ("r", " dog"), ("d", " ran")]
    tree = replace(sample_round(outcomes, (TokenKind.BONUS, " sat")), parents=(-1, 0, 0, 2))
    figures = Figures.of([tree, made_round(2, 1)])
    assert (figures.drafted_at, figures.tested_at, figures.accepted_at) == ((2, 2, 1), (2, 2, 0), (2, 1, 0))
    assert figures.accepted_by_place == (1, 0.5, 0)
    assert (figures.num_draft_tokens, figures.num_siblings) == (6, 1)
    assert figures.alpha == engine_stats([tree, made_round(2, 1)]).alpha == pytest.approx(3 / 4)


def test_turns_without_a_plain_cost_do_not_count_in_the_speed_up() -> None:
    rounds = [made_round(4, 3)] * 5
    known = Summary.of_turn(rounds, {"speedup": 1.5, "ttft_ms": 20.0})
    assert (known + Summary.of_turn(rounds, {"speedup": None, "ttft_ms": 0.0})).speedup == pytest.approx(1.5)
    assert (known + Summary.of_turn(rounds, {"speedup": 0.5})).speedup == pytest.approx(1.0)
    assert Summary.of_turn(rounds).speedup is None


def test_code_and_prose_have_figures_of_their_own() -> None:
    rounds = [made_round(2, 0, text=text) for text in ("so ", "\n", "```", "py\n", "x")]
    by_kind = Summary.of_turn(rounds).by_kind
    assert {kind: figures.num_rounds for kind, figures in by_kind.items()} == {"prose": 2, "code": 3}
