"""Rounds are learned from together, and each as if that had been done at once."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from specchat_engine.decoding.books import Made, Marks
from specchat_engine.decoding.drafts import Draft
from specchat_engine.decoding.generate import Plan, Step
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Verdict
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.heard import Heard
from specchat_engine.policy.patience import Patience
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.sampling.candidates import Candidates

NOW = Situation(depth=10, unread=1, match=5, longest=16, model=True, lookup=True, opening=True, resumed=True)
DRAFTS, PLAINLY = Decision("model", 3, "", lasts=True), Decision("none", 0, "", lasts=True)
MILLISECOND = 1_000_000


class Listening:
    """In place of a controller and of patience: remembers what they are told."""

    def __init__(self) -> None:
        self.learned: list[tuple[Situation, Decision, Outcome]] = []
        self.times: list[float] = []

    def learn(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        self.learned.append((now, decision, outcome))

    def took(self, round_ms: float) -> None:
        self.times.append(round_ms)


def heard() -> tuple[Heard, Listening]:
    listening = Listening()
    made = Heard(cast(Controller, listening), cast(Patience, listening))
    made.begin(opens=14)
    return made, listening


def marks(*milliseconds: float) -> Marks:
    now, draft, verify, rollback = (int(MILLISECOND * value) for value in milliseconds)
    return now, draft, verify, rollback


def round_of(drafted: int, accepted: int, compared: int) -> Step:
    row = Candidates.certain(7)
    verdict = Verdict(accepted, 7, TokenKind.BONUS, (row,) * compared, row)
    draft = Draft((7,) * drafted, confidence=(0.5,) * drafted, first_ms=0.25 * (drafted > 0))
    return Step(cast(Plan, None), draft, verdict, accepted + 1, None)


def lasting(before: Marks, after: Marks, *, rested: bool = False) -> Made:
    return 0, 0, 1, before, after, 0, rested


def test_nothing_is_learned_before_it_is_asked_for_and_nothing_twice() -> None:
    rounds, listening = heard()
    made = lasting(marks(0, 0, 0, 0), marks(10, 2, 6, 1))
    for accepted in (3, 1):
        rounds.hear(NOW, DRAFTS, round_of(3, accepted, 3), (True, False), made, MILLISECOND // 2)
    assert not listening.learned
    assert not rounds.tested
    rounds.settle()
    rounds.settle()
    assert [outcome.accepted for _, _, outcome in listening.learned] == [3, 1]
    now, decision, outcome = listening.learned[0]
    assert (now, decision) == (NOW, DRAFTS)
    assert outcome == Outcome(3, 3, 3, 4, (0.5,) * 3, (True, False), 6.0, 2.0, 1.5, 1, 0.25)
    assert listening.times == [9.5, 9.5]
    assert rounds.tested == 6


def test_what_was_made_by_the_plan_of_before_is_learned_from_where_it_was_made() -> None:
    rounds, listening = heard()
    made = lasting(marks(0, 0, 0, 0), marks(10, 2, 6, 1))
    for place in (NOW, (13, 2, False), (14, 1, True)):
        rounds.hear(place, DRAFTS, round_of(3, 2, 3), (), made, 0)
    rounds.settle()
    there = replace(NOW, match=0, resumed=False)
    assert [now for now, _, _ in listening.learned] == [
        NOW,
        replace(there, depth=13, unread=2),
        replace(there, depth=14, opening=False, rested=True),
    ]
    assert listening.times == [10, 10], "what was made behind a rest tells nothing of others"


def test_plain_rounds_that_nobody_looked_at_are_learned_from_with_the_next_one() -> None:
    """It took 2 ms beside its pass, since something was looked for; the four before it 0.25 ms each."""
    rounds, listening = heard()
    rounds.hear(NOW, PLAINLY, round_of(0, 0, 0), (), lasting(marks(0, 0, 0, 0), marks(3, 0, 1, 0)), 0)
    for _ in range(4):
        rounds.skip()
    rounds.hear(NOW, PLAINLY, round_of(0, 0, 0), (), lasting(marks(8, 0, 5, 0), marks(11, 0, 6, 0)), 0)
    rounds.hear(NOW, PLAINLY, round_of(0, 0, 0), (), lasting(marks(11, 0, 6, 0), marks(14, 0, 7, 0)), 0)
    rounds.settle()
    assert [(outcome.rounds, outcome.other_ms) for _, _, outcome in listening.learned] == [(1, 2), (5, 0.25), (1, 2)]


def test_a_new_turn_knows_nothing_of_what_the_last_one_skipped_or_tested() -> None:
    rounds, listening = heard()
    made = lasting(marks(0, 0, 0, 0), marks(10, 2, 6, 1))
    rounds.hear(NOW, DRAFTS, round_of(3, 2, 3), (), made, 0)
    rounds.settle()
    rounds.skip()
    rounds.begin(opens=0)
    assert not rounds.tested
    rounds.hear((3, 1, False), PLAINLY, round_of(0, 0, 0), (), made, 0)
    rounds.settle()
    now, _, outcome = listening.learned[-1]
    assert (now.opening, outcome.rounds) == (False, 1)
