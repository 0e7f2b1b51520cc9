"""How an answer ended, in the same words everywhere."""

from __future__ import annotations

import pytest

from specchat.settings.options import DEFAULT_VERIFIER
from specchat.stats.line import ending, ending_in, rule_in, statistics_line, time_shares, with_ending
from specchat.store.records import State
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.settings import LOSSY_VERIFIERS, VERIFIER_NAMES, Settings
from specchat_engine.verifiers import VERIFIERS
from support.drawn_rounds import sample_round

START = {"seed": 7, "verifier": "coupled", "lossless": True}


def test_a_rule_for_thoughts_is_named_beside_that_of_the_answer() -> None:
    start = {"seed": 7, "lossless": False, "thought_verifier": "typical"}
    assert {rule: rule_in(start | {"verifier": rule}) for rule in ("coupled", "block", "typical")} == {
        "coupled": "≈ typical in thoughts (lossy)",
        "block": "block · ≈ typical in thoughts (lossy)",
        "typical": "≈ typical (lossy) · ≈ typical in thoughts (lossy)",
    }
    assert rule_in(START) == ""


def test_the_line_names_speed_gain_acceptance_and_seed() -> None:
    stats = TurnStats(plain_ms=2.0)
    stats.observe(sample_round([("a", "a"), ("r", "b"), ("d", "c")], (TokenKind.CORRECTION, "d")))
    assert statistics_line(stats.to_json(), START) == (
        "2 tokens · 571 tok/s · 1.29 × plain · accepted 33 % · α 0.50 · τ 2.0 · "
        "draft 29 % verify 57 % other 14 % · seed 7"
    )
    stats.plain_ms = None
    assert "571 tok/s · ×? plain · accepted 33 %" in statistics_line(stats.to_json(), START)


@pytest.mark.parametrize(
    ("verifier", "lossless", "label"), [("block", True, "block"), ("typical", False, "≈ typical (lossy)")]
)
def test_an_unusual_verifier_is_named_if_it_judged_something(verifier: str, lossless: bool, label: str) -> None:
    start = {"seed": 7, "verifier": verifier, "lossless": lossless}
    stats = TurnStats()
    stats.observe(sample_round([], (TokenKind.PLAIN, "a")))
    assert verifier not in statistics_line(stats.to_json(), start)
    stats.observe(sample_round([("a", "b")], (TokenKind.BONUS, "c")))
    assert statistics_line(stats.to_json(), start).startswith(f"3 tokens · {label} · ")


def test_the_shares_of_time_add_up_also_in_a_trace_from_before_roll_backs_were_timed() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0).to_json()
    assert time_shares(stats) == {"draft": 0.25, "verify": 0.5, "rollback": 0.0, "other": 0.25}
    del stats["rollback_ms"]
    assert time_shares(stats)["verify"] == 0.5
    back = TurnStats(num_tokens=2, draft_ms=1.0, verify_ms=2.0, rollback_ms=1.0)
    assert "draft 25 % verify 50 % rollback 25 % other 0 %" in statistics_line(back.to_json(), START)
    assert time_shares(TurnStats(other_ms=5.0).to_json()) == {}
    assert statistics_line(TurnStats().to_json(), START) == "0 tokens · seed 7"


def test_every_ending_but_its_own_is_given_in_words_before_the_figures() -> None:
    assert [with_ending(reason, "9 tokens") for reason in ("end", "stop")] == ["9 tokens"] * 2
    assert ending_in(State.WHOLE) == ""
    endings = [ending(reason) for reason in ("cancelled", "length", "context", "error", None)]
    assert all(endings)
    assert len(set(endings)) == len(endings)
    assert with_ending("length", "", "≈ typical") == "max tokens · ≈ typical"
    assert ending_in(State.STOPPED) == ending("cancelled")


def test_the_names_that_settings_know_are_those_of_the_rules() -> None:
    assert tuple(VERIFIERS) == VERIFIER_NAMES
    assert tuple(name for name, rule in VERIFIERS.items() if not rule.lossless) == LOSSY_VERIFIERS
    assert Settings().verifier == DEFAULT_VERIFIER


def test_only_the_usual_rule_goes_without_a_label() -> None:
    labels = {name: rule_in({"verifier": name, "lossless": rule.lossless}) for name, rule in VERIFIERS.items()}
    assert labels == {"coupled": "", "rejection": "rejection", "block": "block", "typical": "≈ typical (lossy)"}
    assert rule_in({"verifier": "", "lossless": None}) == "", "a server did not report it"
