"""A decision is followed for longer where deciding is dear, and longest where nothing is drafted anyway."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_engine.policy.patience import Patience
from specchat_engine.policy.situation import Decision

PLAIN = Decision("none", 0, "", lasts=True)
DRAFT = Decision("model", 4, "", lasts=True)
PROBE = Decision("model", 2, "", probe=True)


def after(round_ms: float, decisions: int = 30) -> Patience:
    """In an answer of which some decisions have been made, as long ones as may be."""
    patience = Patience()
    for _ in range(decisions):
        patience.rounds(PROBE, 0.301)
    patience.took(round_ms)
    return patience


@pytest.mark.parametrize(("round_ms", "rounds"), [(12.5, 16), (20.0, 10), (60.0, 3), (200.0, 1), (400.0, 0), (0.5, 24)])
def test_deciding_takes_some_thousandths_of_the_time(round_ms: float, rounds: int) -> None:
    assert after(round_ms).rounds(DRAFT, 0.301) == rounds


def test_where_nothing_is_drafted_it_takes_six_tenths_of_that() -> None:
    assert after(20.0).rounds(PLAIN, 0.301) == 16


def test_the_first_decisions_of_an_answer_to_draft_are_followed_but_shortly() -> None:
    patience = after(0.5, decisions=0)
    assert [patience.rounds(DRAFT, 0.3) for _ in range(14)] == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 24, 24]
    patience.begin()
    assert patience.rounds(DRAFT, 0.3) == 2
    patience.begin(known=True)
    assert [patience.rounds(DRAFT, 0.3) for _ in range(3)] == [24, 24, 24], "there is less to be learned"


def test_before_any_round_was_seen_a_decision_counts_what_it_expects_of_one() -> None:
    patience = Patience()
    patience.begin(known=True)
    expecting = replace(DRAFT, milliseconds=60.0)
    assert patience.rounds(expecting, 0.301) == 3
    patience.took(200.0)
    assert patience.rounds(expecting, 0.301) == 1


def test_a_decision_that_is_to_be_followed_by_another_at_once_is_not_followed() -> None:
    assert after(0.1).rounds(PROBE, 0.3) == 0
    assert Patience().rounds(PLAIN, 0.3) == 0, "nothing is known of rounds yet"


def test_decisions_for_no_draft_one_behind_the_other_last_longer_and_look_more_rarely() -> None:
    patience = after(0.5)
    found = [(patience.rounds(PLAIN, 0.3), [left for left in range(33) if patience.looks(left)][1]) for _ in range(4)]
    assert found == [(24, 4), (48, 8), (96, 16), (96, 16)]
    patience.rounds(PROBE, 0.3)
    assert patience.rounds(PLAIN, 0.3) == 96, "a try changes nothing"
    patience.rounds(DRAFT, 0.3)
    assert patience.rounds(PLAIN, 0.3) == 24
    patience.rounds(PLAIN, 0.3)
    patience.begin()
    assert patience.rounds(PLAIN, 0.3) == 24, "another answer begins"
    patience.begin(hopeless=True)
    assert patience.rounds(PLAIN, 0.3) == 96, "and the last of its kind was drafted for in vain"


def test_a_copy_is_looked_for_in_each_round_where_one_is_likely() -> None:
    """At the beginning of an answer to a pasted text, however hopeless drafts are, and behind each copy."""
    patience = after(0.5)
    patience.begin(hopeless=True, copies=True)
    looks = 0
    while patience.looks(1):
        patience.planned()
        looks += 1
    assert looks == 24
    patience.rounds(Decision("lookup", 8, "", lasts=True), 0.3)
    assert patience.watches
    assert patience.struck(PLAIN, 3)
    assert patience.struck(DRAFT, 4)
    assert not patience.struck(DRAFT, 3)
    patience.begin()
    assert not patience.watches
    assert not patience.struck(PLAIN, 3)


@pytest.mark.parametrize(("decision", "match"), [(PLAIN, 4), (DRAFT, 8)])
def test_a_long_match_ends_what_was_decided_without_one(decision: Decision, match: int) -> None:
    patience = after(0.5)
    assert patience.struck(decision, match)
    assert not patience.struck(decision, match - 1)


def test_what_is_decided_in_an_opening_is_good_for_the_rest_of_it_and_calms_nobody() -> None:
    patience = after(0.5)
    assert [patience.rounds(PLAIN, 0.3, opening) for opening in (3, 2, 1, 0)] == [3, 2, 1, 0]
    assert patience.rounds(PLAIN, 0.3) == 24


def test_where_something_is_drafted_every_eighth_round_looks_for_a_match() -> None:
    patience = after(0.5)
    patience.rounds(DRAFT, 0.3)
    assert [left for left in range(25) if patience.looks(left)] == [0, 8, 16, 24]


@pytest.mark.parametrize(
    ("held", "emitted", "ends"), [(4, 10, True), (4, 11, False), (8, 21, True), (8, 22, False), (3, 0, False)]
)
def test_a_decision_ends_that_gives_clearly_less_than_it_promised(held: int, emitted: int, ends: bool) -> None:
    """Of 3.1 tokens a round 85 % are 2.6."""
    patience = after(0.5)
    promising = replace(DRAFT, tokens=3.1)
    left = patience.rounds(promising, 0.3) - held
    assert patience.falls_short(promising, left, emitted) is ends
    assert not patience.falls_short(replace(PLAIN, tokens=9.0), left, 0), "who drafts nothing promises nothing"
