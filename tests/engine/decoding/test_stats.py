"""A turn's statistics, counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specchat_engine import DraftedToken, Outcome, Round, TargetToken, TokenKind, TurnStats
from specchat_engine.decoding.rounds import RoundTimes

ACCEPTED, REJECTED, DISCARDED = Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED


def a_round(kind: TokenKind, *outcomes: Outcome, t_ms: float = 5.0) -> Round:
    return Round(
        index=0,
        source="model",
        k=4,
        reason="fixed",
        drafted=tuple(DraftedToken(1, "a", 0.5, 0.5, outcome) for outcome in outcomes),
        token=TargetToken(None, "", None, kind) if kind is TokenKind.NONE else TargetToken(2, "b", 0.5, kind),
        top=(),
        ms=RoundTimes(1.0, 2.0, 0.25, rollback=0.25),
        t_ms=t_ms,
    )


@pytest.fixture
def stats() -> TurnStats:
    """Four rounds: a rejection, a bonus, a plain token, and an end inside an accepted run."""
    stats = TurnStats(prompt_tokens=7)
    stats.observe(a_round(TokenKind.CORRECTION, ACCEPTED, REJECTED, DISCARDED, DISCARDED))
    stats.observe(a_round(TokenKind.BONUS, ACCEPTED, ACCEPTED))
    stats.observe(a_round(TokenKind.PLAIN))
    stats.observe(a_round(TokenKind.NONE, ACCEPTED, DISCARDED, t_ms=30.0))
    return stats


def test_the_counters(stats: TurnStats) -> None:
    assert (stats.num_tokens, stats.num_rounds, stats.num_drafts) == (7, 4, 3)
    assert (stats.num_draft_tokens, stats.num_accepted_tokens, stats.num_rejected_tokens) == (8, 4, 1)
    assert stats.num_accepted_tokens_per_pos == [3, 1]


def test_the_rates(stats: TurnStats) -> None:
    assert stats.acceptance_rate == pytest.approx(4 / 8)
    assert stats.alpha == pytest.approx(4 / 5), "discarded tokens were never tested"
    assert stats.block_efficiency == pytest.approx(7 / 4)
    assert stats.tokens_per_second == pytest.approx(7 / 14e-3)
    assert (stats.decode_ms, stats.wall_ms, stats.rollback_ms) == (14.0, 30.0, 1.0)


def test_the_siblings_of_an_accepted_token_cost_no_alpha() -> None:
    stats = TurnStats()
    tree = a_round(TokenKind.CORRECTION, ACCEPTED, ACCEPTED, REJECTED, REJECTED, REJECTED, DISCARDED)
    stats.observe(replace(tree, parents=(-1, 0, 0, 1, 1, 3)))
    assert (stats.num_draft_tokens, stats.num_accepted_tokens) == (6, 2)
    assert stats.alpha == pytest.approx(2 / 3), "the third place was compared and missed, by both of its tokens"


def test_a_tree_whose_trunk_is_right_has_an_alpha_of_one() -> None:
    stats = TurnStats()
    stats.observe(replace(a_round(TokenKind.BONUS, ACCEPTED, ACCEPTED, REJECTED), parents=(-1, 0, 0)))
    assert stats.alpha == 1


def test_the_speed_up_waits_for_a_measurement(stats: TurnStats) -> None:
    assert stats.speedup is None
    stats.plain_ms = 3.0
    assert stats.speedup == pytest.approx((7 * 3 + stats.other_ms) / 14), "time between passes counts on both sides"


def test_plain_decoding_is_as_fast_as_plain_decoding() -> None:
    stats = TurnStats(plain_ms=0.1)
    for _ in range(3):
        stats.observe(a_round(TokenKind.PLAIN))
    assert stats.speedup == 1


def test_a_turn_without_a_round_has_no_rates() -> None:
    empty = TurnStats()
    rates = (empty.acceptance_rate, empty.alpha, empty.block_efficiency, empty.tokens_per_second, empty.speedup)
    assert rates == (None,) * 5


def test_a_turn_without_drafts_has_no_acceptance_but_a_block_efficiency_of_one() -> None:
    stats = TurnStats()
    stats.observe(a_round(TokenKind.PLAIN))
    assert (stats.acceptance_rate, stats.alpha, stats.block_efficiency) == (None, None, 1.0)


def test_the_trace_holds_exactly_the_contracts_names(stats: TurnStats) -> None:
    names = (
        "num_tokens num_rounds num_drafts num_draft_tokens num_accepted_tokens num_accepted_tokens_per_pos "
        "acceptance_rate alpha block_efficiency tokens_per_second ttft_ms prompt_tokens cached_tokens prompt_ms "
        "draft_prompt_ms draft_ms verify_ms rollback_ms other_ms wall_ms speedup cpu_share"
    )
    line = json.loads(json.dumps(stats.to_json()))
    assert set(line) == set(names.split())
