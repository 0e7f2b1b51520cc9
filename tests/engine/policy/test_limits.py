"""Every draft says what kept it from being longer."""

from __future__ import annotations

from dataclasses import replace

from engine.policy.test_controller import LOOKUP, MODEL, knowing, outcome_of, play, situation
from specchat_engine.decoding.drafts import Alternative, Draft, Prospect
from specchat_engine.decoding.generate import Plan, Step
from specchat_engine.decoding.verification import Verdict
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import Decision, Possible, Situation, decide
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import SamplingParams
from specchat_engine.verifiers import COUPLED


def experienced(slope: float = 0.05) -> Controller:
    controller = knowing(slope)
    play(controller, 30, slope, right=64)
    return controller


def test_a_longer_draft_that_is_not_worth_its_time_is_limited_by_the_pace() -> None:
    decision = knowing(0.3).decide(Situation(100, 64, {LOOKUP: Prospect(match=4)}))
    assert 0 < decision.k < LOOKUP.longest
    assert decision.limited_by == "pace"


def test_an_unknown_draft_model_is_limited_by_few_samples() -> None:
    assert knowing(0.05).decide(situation()).limited_by == "few samples"


def test_a_draft_that_stays_shorter_than_it_may_for_want_of_samples_says_so() -> None:
    """More than ten tokens would pay for the step after seven, but not ten."""
    chances = [0.95] * 15
    round_ms = (1.0, *(1 + 0.05 * k for k in range(1, 8)), *[1.8] * 8)
    for sampled, k, cause in ((15, 15, "few samples"), (10, 7, "few samples"), (7, 7, "few samples")):
        one = Possible(MODEL, Prospect(), (chances, chances, chances), round_ms, sampled, tried=True)
        decision = decide(Situation(100, 64, {MODEL: Prospect()}), [one], cap=24.0)
        assert (decision.k, decision.limited_by) == (k, cause)
    dear = (*round_ms[:8], *[4.0] * 8)
    one = Possible(MODEL, Prospect(), (chances, chances, chances), dear, 10, tried=True)
    decision = decide(Situation(100, 64, {MODEL: Prospect()}), [one], cap=24.0)
    assert (decision.k, decision.limited_by) == (7, "pace"), "where no longer draft would pay either"


def test_a_sure_drafter_is_limited_by_what_it_may_draft() -> None:
    decision = experienced().decide(situation())
    assert (decision.k, decision.limited_by) == (MODEL.longest, "longest")


def test_the_end_of_an_answer_and_the_rows_of_a_pass_limit_drafts() -> None:
    for cause in ("wanted", "rows"):
        now = replace(situation(longest=5), longest_by=cause)
        decision = experienced().decide(now)
        assert (decision.k, decision.limited_by) == (5, cause)


def test_what_drafts_may_lose_limits_them() -> None:
    controller = knowing(0.6, step=0.02)
    for _ in range(4):
        lost = Decision(LOOKUP, 6, "match of 3")
        now = situation(match=3)
        controller.learn(now, lost, replace(outcome_of(lost, 0, 0.6), matched={LOOKUP: [False]}))
    decision = controller.decide(Situation(100, 64, {MODEL: Prospect()}))
    assert (decision.drafter, decision.limited_by) == (None, "loss cap")


def test_a_fixed_k_is_the_limit() -> None:
    assert knowing(0.05).decide(situation(longest=3, fixed=True)).limited_by == "fixed"


def test_a_plain_round_says_whether_no_draft_pays_or_none_is_there() -> None:
    assert knowing(1.2, step=0.5).decide(situation()).limited_by == "pace"
    assert knowing(0.05).decide(Situation(100, 64, {LOOKUP: Prospect()})).limited_by == ""


def step_of(draft: Draft, k: int, stop_at: float | None = None) -> Step:
    stop = None if stop_at is None else lambda: lambda sure: sure >= stop_at
    plan = Plan(_Anyone(), k, Sampler(SamplingParams(), 1), "", COUPLED, "pace", stop)  # type: ignore[arg-type]
    row = Candidates.certain(1)
    return Step(plan, draft, Verdict(0, 1, "correction", row, ()), 1, None)  # type: ignore[arg-type]


class _Anyone:
    """A drafter whose draft is given."""


def test_a_draft_that_its_drafter_ends_early_is_limited_by_its_confidence_or_its_end() -> None:
    assert step_of(Draft((1, 2, 3), confidence=(0.9, 0.9, 0.2)), 8, stop_at=0.5).limited_by == "confidence"
    assert step_of(Draft((1, 2, 3), confidence=(0.9, 0.9, 0.9)), 8, stop_at=0.5).limited_by == "end"
    assert step_of(Draft(()), 8).limited_by == "end"
    assert step_of(Draft((1, 2, 3)), 3).limited_by == "pace", "as planned"


def test_drafts_that_others_change_say_so() -> None:
    chain = Draft((1, 2, 3), alternatives=(Alternative((4,), 0.5),))
    assert step_of(chain.branched(chain.alternatives), 3).limited_by == "tree"
