from __future__ import annotations

from specchat.statistics import statistics_line, time_shares
from specchat_engine.rounds import TokenKind
from specchat_engine.stats import TurnStats
from support.sample_rounds import sample_round


def test_the_line_names_speed_gain_acceptance_and_seed() -> None:
    stats = TurnStats(plain_ms=2.0)
    stats.observe(sample_round([("a", "a"), ("r", "b"), ("d", "c")], (TokenKind.CORRECTION, "d")))
    assert statistics_line(stats.to_json(), 7) == (
        "2 tokens · 571 tok/s · 1.14 × plain · accepted 33% · α 0.50 · τ 2.0 · draft 29% verify 57% other 14% · seed 7"
    )


def test_what_was_not_measured_is_left_out() -> None:
    assert statistics_line(TurnStats().to_json(), 7) == "0 tokens · seed 7"


def test_the_shares_of_time_add_up() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0)
    assert time_shares(stats.to_json()) == {"draft": 0.25, "verify": 0.5, "other": 0.25}
