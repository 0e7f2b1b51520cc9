from __future__ import annotations

import pytest

from specchat.stats.line import statistics_line, time_shares
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.stats import TurnStats
from support.sample_rounds import sample_round

START = {"seed": 7, "verifier": "coupled", "lossless": True}


def test_the_line_names_speed_gain_acceptance_and_seed() -> None:
    stats = TurnStats(plain_ms=2.0)
    stats.observe(sample_round([("a", "a"), ("r", "b"), ("d", "c")], (TokenKind.CORRECTION, "d")))
    assert statistics_line(stats.to_json(), START) == (
        "2 tokens · 571 tok/s · 1.14 × plain · accepted 33% · α 0.50 · τ 2.0 · draft 29% verify 57% other 14% · seed 7"
    )


@pytest.mark.parametrize(
    ("verifier", "lossless", "label"), [("block", True, "block"), ("typical", False, "≈ typical (lossy)")]
)
def test_a_rule_that_is_not_the_usual_one_is_named_where_it_judged_something(
    verifier: str, lossless: bool, label: str
) -> None:
    start = {"seed": 7, "verifier": verifier, "lossless": lossless}
    stats = TurnStats()
    stats.observe(sample_round([], (TokenKind.PLAIN, "a")))
    assert verifier not in statistics_line(stats.to_json(), start)
    stats.observe(sample_round([("a", "b")], (TokenKind.BONUS, "c")))
    assert statistics_line(stats.to_json(), start).startswith(f"3 tokens · {label} · ")


def test_what_was_not_measured_is_left_out() -> None:
    assert statistics_line(TurnStats().to_json(), START) == "0 tokens · seed 7"


def test_the_shares_of_time_add_up() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0)
    assert time_shares(stats.to_json()) == {"draft": 0.25, "verify": 0.5, "rollback": 0.0, "other": 0.25}


def test_going_back_is_named_where_it_took_time() -> None:
    stats = TurnStats(num_tokens=2, draft_ms=1.0, verify_ms=2.0, rollback_ms=1.0)
    assert "draft 25% verify 50% rollback 25% other 0%" in statistics_line(stats.to_json(), START)


def test_a_trace_from_before_roll_backs_were_timed_can_be_read() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0).to_json()
    del stats["rollback_ms"]
    assert time_shares(stats)["verify"] == 0.5
