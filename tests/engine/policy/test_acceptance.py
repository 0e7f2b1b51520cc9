"""The predictor follows what is accepted, and starts from what is usual."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.acceptance import EVIDENCE, RUNNER_UP, Acceptance, evidence_for, kind_of

MODEL = DrafterTraits("model", evidence="confidence", cost="step")
LOOKUP = DrafterTraits("lookup", evidence="match", cost="nothing")
drafts = st.lists(st.tuples(st.lists(st.floats(0, 1), max_size=8), st.integers(0, 8)), max_size=20)


def p_accept(acceptance: Acceptance, confidence: float, kind: str = "prose") -> float:
    evidence = EVIDENCE["confidence"]
    return acceptance.of(kind, "model", "confidence").p_accept()[evidence.classify(confidence)]


@given(drafts)
def test_probabilities_stay_probabilities(seen: list[tuple[list[float], int]]) -> None:
    acceptance = Acceptance()
    for confidence, accepted in seen:
        acceptance.learn("prose", "model", "confidence", confidence, min(accepted, len(confidence)))
    shares = acceptance.of("prose", "model", "confidence")
    assert all(0 < share < 1 for share in shares.p_accept())
    assert sum(shares.frequency()) == pytest.approx(1)


@pytest.mark.parametrize("name", EVIDENCE)
def test_the_initial_estimates_are_sound(name: str) -> None:
    evidence = EVIDENCE[name]
    assert list(evidence.expected) == sorted(evidence.expected, reverse=name == RUNNER_UP)
    assert len(evidence.expected) == len(evidence.edges) + 1


def test_the_classes_of_confidences_have_shares_of_a_whole() -> None:
    usual = EVIDENCE["confidence"].usual
    assert len(usual) == len(EVIDENCE["confidence"].expected)
    assert sum(usual) == pytest.approx(1)


def test_a_drafter_that_is_confident_and_wrong_loses_its_credit() -> None:
    acceptance = Acceptance()
    assert p_accept(acceptance, 0.999) > 0.98
    for _ in range(6):
        acceptance.learn("prose", "model", "confidence", [0.999], 0)
    assert p_accept(acceptance, 0.999) < 0.3
    assert p_accept(acceptance, 0.7) == pytest.approx(0.72), "other classes are judged by themselves"


def test_recent_tokens_count_most() -> None:
    acceptance = Acceptance()
    for accepted in (0, 1):
        for _ in range(100):
            acceptance.learn("prose", "model", "confidence", [0.9], accepted)
    assert p_accept(acceptance, 0.9) > 0.8


def test_kinds_of_text_drafters_and_sorts_of_evidence_are_learned_separately() -> None:
    acceptance = Acceptance()
    for _ in range(20):
        acceptance.learn("prose", "model", "confidence", [0.9], 0)
        acceptance.learn("prose", "lookup", "match", [9], 0)
    assert p_accept(acceptance, 0.9) < 0.2
    assert p_accept(acceptance, 0.9, "code") > 0.7
    length = EVIDENCE["match"].classify(9)
    assert acceptance.of("prose", "lookup", "match").p_accept()[length] < 0.2
    assert acceptance.of("prose", "lookup", "resumed match").p_accept()[length] > 0.7


def test_how_often_confidences_come_is_learned_too() -> None:
    acceptance = Acceptance()
    for _ in range(50):
        acceptance.learn("prose", "model", "confidence", [0.2], 1)
    frequency = acceptance.of("prose", "model", "confidence").frequency()
    assert frequency[0] > 0.9


def test_a_match_at_the_beginning_of_an_answer_or_after_an_edit_is_other_evidence() -> None:
    assert evidence_for(MODEL, Prospect(), opening=True) == "confidence"
    assert evidence_for(LOOKUP, Prospect(match=4), opening=False) == "match"
    assert evidence_for(LOOKUP, Prospect(match=4), opening=True) == "opening match"
    assert evidence_for(LOOKUP, Prospect(match=1, resumed=True), opening=True) == "resumed match"


def test_learned_values_survive_a_restart() -> None:
    acceptance = Acceptance()
    acceptance.learn("code", "model", "confidence", [0.9, 0.4, 0.99], 2)
    acceptance.learn("code", "lookup", "match", [4, 5, 6], 3)
    again = Acceptance.from_json(json.loads(json.dumps(acceptance.to_json())))
    assert again.to_json() == acceptance.to_json()
    assert p_accept(again, 0.4, "code") == pytest.approx(p_accept(acceptance, 0.4, "code"), abs=1e-3)


COUNTS = {"accepted": [1.0] * 10, "tested": [2.0] * 10, "frequency": [2.0] * 10}


@pytest.mark.parametrize(
    "damage",
    [
        {"accepted": [3.0] * 10},
        {"tested": ["x"]},
        {"frequency": [-1.0] * 10},
        {"tested": [2.0] * 11},
        {"accepted": None},
    ],
)
def test_a_damaged_record_is_rejected(damage: dict[str, object]) -> None:
    assert Acceptance.from_json({"prose": {"heads": {"confidence": COUNTS}}}).to_json()
    with pytest.raises((ValueError, TypeError)):
        Acceptance.from_json({"prose": {"heads": {"confidence": COUNTS | damage}}})


@pytest.mark.parametrize(
    ("request_text", "kind"),
    [
        ("What is a whale?", "prose"),
        ("Tell me a story", "free"),
        ("Write a Python function", "code"),
        ("Correct this:\nteh cat", "pasted"),
        ("word " * 80, "pasted"),
        ("", "prose"),
    ],
)
def test_kinds_of_text_are_recognised_from_the_request(request_text: str, kind: str) -> None:
    assert kind_of(request_text) == kind
