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


def test_a_speed_up_that_is_not_known_is_a_question_mark() -> None:
    stats = TurnStats()
    stats.observe(sample_round([("a", "a"), ("r", "b"), ("d", "c")], (TokenKind.CORRECTION, "d")))
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


def test_what_was_not_measured_is_left_out() -> None:
    assert statistics_line(TurnStats().to_json(), START) == "0 tokens · seed 7"


def test_the_shares_of_time_add_up() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0)
    assert time_shares(stats.to_json()) == {"draft": 0.25, "verify": 0.5, "rollback": 0.0, "other": 0.25}


def test_going_back_is_named_where_it_took_time() -> None:
    stats = TurnStats(num_tokens=2, draft_ms=1.0, verify_ms=2.0, rollback_ms=1.0)
    assert "draft 25 % verify 50 % rollback 25 % other 0 %" in statistics_line(stats.to_json(), START)


def test_a_trace_from_before_roll_backs_were_timed_can_be_read() -> None:
    stats = TurnStats(draft_ms=1.0, verify_ms=2.0, other_ms=1.0).to_json()
    del stats["rollback_ms"]
    assert time_shares(stats)["verify"] == 0.5


def test_no_part_has_a_share_where_no_pass_was_timed() -> None:
    assert time_shares(TurnStats(other_ms=5.0).to_json()) == {}


@pytest.mark.parametrize("reason", ["end", "stop"])
def test_an_answer_that_ended_by_itself_says_nothing_of_it(reason: str) -> None:
    assert with_ending(reason, "9 tokens") == "9 tokens"
    assert ending_in(State.WHOLE) == ""


def test_every_other_ending_is_told_in_words_of_its_own() -> None:
    told = [ending(reason) for reason in ("cancelled", "length", "context", "error", None)]
    assert all(told)
    assert len(set(told)) == len(told)


def test_how_it_ended_stands_before_the_figures_that_there_are() -> None:
    assert with_ending("length", "", "≈ typical") == "max tokens · ≈ typical"


def test_a_stopped_answer_is_told_alike_with_and_without_its_reason() -> None:
    assert ending_in(State.STOPPED) == ending("cancelled")


def test_the_names_that_settings_know_are_those_of_the_rules() -> None:
    assert tuple(VERIFIERS) == VERIFIER_NAMES
    assert tuple(name for name, rule in VERIFIERS.items() if not rule.lossless) == LOSSY_VERIFIERS
    assert Settings().verifier == DEFAULT_VERIFIER


def test_only_the_usual_rule_goes_without_a_label() -> None:
    labels = {name: rule_in({"verifier": name, "lossless": rule.lossless}) for name, rule in VERIFIERS.items()}
    assert labels == {
        "coupled": "",
        "rejection": "rejection",
        "block": "block",
        "typical": "≈ typical (lossy)",
    }


def test_a_rule_that_a_server_did_not_tell_has_no_label() -> None:
    assert rule_in({"verifier": "", "lossless": None}) == ""
