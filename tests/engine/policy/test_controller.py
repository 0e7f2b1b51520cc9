"""The option with the most tokens per millisecond is taken, and what becomes of it is learned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from specchat_engine.decoding.drafts import Alternative, Draft, DrafterTraits, Prospect
from specchat_engine.models import SharedPass
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.cost_model import DraftCosts
from specchat_engine.policy.policy import Decision, RoundOutcome, Situation

MODEL = DrafterTraits("model", evidence="confidence", cost="step")
LOOKUP = DrafterTraits("lookup", evidence="match", cost="nothing", longest=31)
HEADS = DrafterTraits("heads", evidence="nothing", cost="draft", longest=4)
STEP = 0.1


def situation(*, match: int = 0, unread: int = 1, longest: int = 64, **more: object) -> Situation:
    prospects = {MODEL: Prospect(unread=unread), LOOKUP: Prospect(match=match)}
    return Situation(100, longest, prospects, **more)  # type: ignore[arg-type]


def knowing(slope: float, step: float = STEP, plain_ms: float = 1.0) -> Controller:
    """A controller that has measured passes, of which each further token costs `slope` plain passes."""
    controller = Controller()
    for _ in range(15):
        for width in (1, 2, 8, 33):
            controller.target.observe(width, 0, plain_ms * (1 + slope * (width - 1)))
        for length in (1, 4, 16):
            controller.costs_of("model").by_threads.current.observe(length, 0, plain_ms * step * length)
    controller.begin("prose")
    return controller


def outcome_of(
    decision: Decision, right: int, slope: float, *, sure: float = 0.95, plain_ms: float = 1.0, step: float = STEP
) -> RoundOutcome:
    """A round by this decision, of whose drafted tokens so many are right; the drafter is always as sure."""
    worth_more = decision.stop.begin() if decision.stop else None
    drafted = 0
    while drafted < decision.k:
        drafted += 1
        if worth_more and not worth_more(sure):
            break
    accepted = min(right, drafted)
    return RoundOutcome(
        drafted=drafted,
        accepted=accepted,
        compared=min(accepted + 1, drafted),
        emitted=accepted + 1,
        verify_ms=plain_ms * (1 + slope * drafted),
        draft_ms=plain_ms * step * drafted if decision.drafter is MODEL else 0.0,
        other_ms=0.0,
        confidence=(sure,) * drafted if decision.drafter is MODEL else (),
    )


def play(controller: Controller, rounds: int, slope: float, right: int, **more: object) -> list[Decision]:
    """Rounds with a draft model of whose tokens always so many are right; their decisions."""
    made = []
    for _ in range(rounds):
        now = situation(due=controller.due, **more)  # type: ignore[arg-type]
        decision = controller.decide(now)
        controller.learn(now, decision, outcome_of(decision, right, slope))
        made.append(decision)
    return made


def drafted_by_model(decisions: list[Decision]) -> list[Decision]:
    return [decision for decision in decisions if decision.drafter is MODEL]


def test_a_good_draft_model_gets_long_drafts_with_the_gain_that_is_expected() -> None:
    last = drafted_by_model(play(knowing(0.05), 20, 0.05, right=64))[-1]
    assert last.k == MODEL.longest
    assert last.reason == "a draft pays"
    assert last.expected is not None
    assert last.expected > 3


@pytest.mark.parametrize(("match", "places"), [(2, [0]), (20, [0, 4])])
def test_a_tree_of_a_match_branches_late_only_if_the_match_is_long(match: int, places: list[int]) -> None:
    stored = replace(LOOKUP, name="store")
    decision = knowing(0.02).decide(Situation(100, 32, {stored: Prospect(match=match)}, tree=8))
    draft = Draft(
        (1, 2, 3, 4, 5), alternatives=(Alternative((6,), 0.5), Alternative((1, 2, 3, 4, 7), 0.5)), source="store"
    )
    assert decision.branches is not None
    tree = decision.branches(draft)
    assert [len(tree.path(node)) - 1 for node in range(tree.trunk, len(tree))] == places


def test_a_draft_model_that_is_never_right_is_left_alone() -> None:
    decisions = play(knowing(0.3), 400, 0.3, right=0)
    assert 2 <= len(drafted_by_model(decisions)) < 20
    assert len(drafted_by_model(decisions[100:])) * (0.3 + STEP) <= 1 + 300 * 0.015
    assert decisions[-1].reason == "no draft pays"
    assert decisions[-1].expected is not None
    assert decisions[-1].expected < 1.04


def test_a_pair_to_be_watched_drafts_in_every_fourth_round_though_that_costs_time() -> None:
    controller = knowing(0.3)
    controller.most_plain = 3
    drafted = [decision.drafter is not None for decision in play(controller, 240, 0.3, right=0)]
    assert all(any(drafted[at : at + 4]) for at in range(len(drafted) - 3))
    assert sum(drafted[200:]) == 10
    assert controller.due is False
    uncharged = controller.decide(situation(match=6))
    assert (uncharged.drafter, uncharged.limited_by) == (LOOKUP, "pace"), (
        "what such drafts lose leaves others their cap"
    )


def test_a_draft_model_whose_passes_lead_to_no_token_is_left_alone() -> None:
    controller, made = knowing(0.3), []
    for _ in range(200):
        decision = controller.decide(situation())
        made.append(decision)
        outcome = replace(outcome_of(decision, 0, 0.3), drafted=0, accepted=0, compared=0, confidence=(), verify_ms=1.0)
        controller.learn(situation(), decision, outcome)
    assert {decision.k for decision in drafted_by_model(made[5:])} == {1}, "tried, within the budget"
    assert len(drafted_by_model(made[100:])) * STEP <= 100 * 0.015 + STEP


def test_an_unknown_draft_model_begins_with_short_drafts() -> None:
    assert knowing(0.05).decide(situation()).k <= 4


def test_if_passes_over_more_tokens_cost_too_much_nothing_is_ever_drafted() -> None:
    assert not drafted_by_model(play(knowing(1.2, step=0.5), 400, 1.2, right=64))


def test_drafts_that_promise_next_to_nothing_are_not_made() -> None:
    controller = knowing(0.93, step=0.05)
    decisions = drafted_by_model(play(controller, 200, 0.93, right=64))
    assert all(decision.explores for decision in decisions)


def test_a_trial_that_gains_is_followed_by_drafts() -> None:
    controller = knowing(0.5)
    play(controller, 40, 0.5, right=0)
    controller.begin("prose")
    assert len(drafted_by_model(play(controller, 90, 0.5, right=64))) > 30


def lost(decisions: list[Decision], slope: float, right: int) -> float:
    """How many plain rounds these decisions lost."""
    outcomes = [outcome_of(decision, right, slope) for decision in decisions]
    return sum(one.verify_ms + one.draft_ms + one.other_ms - one.emitted for one in outcomes)


@pytest.mark.parametrize("slope", [0.01, 0.1, 0.4, 0.8])
@pytest.mark.parametrize("right", [0, 1, 2])
def test_an_answer_with_an_unknown_draft_model_takes_little_longer_than_a_plain_one(slope: float, right: int) -> None:
    for rounds in (30, 100, 300):
        assert lost(play(knowing(slope), rounds, slope, right), slope, right) <= 2 + rounds * 0.015


def test_the_first_drafts_of_an_unknown_draft_model_are_as_short_as_it_may_lose_and_grow_with_what_they_gain() -> None:
    made = play(knowing(0.4), 12, 0.4, right=64)
    lengths = [decision.k for decision in made if decision.drafter]
    assert lengths == sorted(lengths)
    assert lengths[-1] > 2 * lengths[0]


def test_a_match_that_many_rounds_saw_right_is_drafted_from_although_earlier_drafts_lost_more_than_they_may() -> None:
    controller = knowing(0.3)
    wrong = situation(match=3)
    for _ in range(4):
        decision = Decision(LOOKUP, 3, "match of 3")
        controller.learn(wrong, decision, replace(outcome_of(decision, 0, 0.3), matched={LOOKUP: [False]}))
    copied = situation(match=20)
    plain = Decision(None, 0, "a draft could lose too much")
    for _ in range(20):
        controller.learn(copied, plain, RoundOutcome(0, 0, 0, 1, 1.0, 0.0, 0.0, matched={LOOKUP: [True]}))
    decision = controller.decide(copied)
    assert decision.drafter is LOOKUP
    assert decision.k > 3


def test_a_round_that_other_programs_slow_down_takes_nothing_from_what_drafts_may_lose() -> None:
    quiet, busy = knowing(0.2), knowing(0.2)
    now = situation()
    for _ in range(4):
        for controller, slowness in ((quiet, 1), (busy, 10)):
            decision = Decision(MODEL, 4, "a draft pays")
            made = outcome_of(decision, 4, 0.2, plain_ms=slowness, step=STEP)
            controller.learn(now, decision, made)
    assert busy.to_json()["caps"]["prose"] > 0.75 * quiet.to_json()["caps"]["prose"] > 0


def test_a_long_text_is_only_read_for_a_draft_if_that_can_be_afforded() -> None:
    assert knowing(0.1).decide(situation(unread=50)).drafter is MODEL
    refused = knowing(0.1).decide(situation(unread=500))
    assert (refused.drafter, refused.expected) == (None, pytest.approx(refused.expected))
    controller = knowing(0.1)
    play(controller, 20, 0.1, right=16)
    assert controller.decide(situation(unread=500)).drafter is MODEL


def test_unread_tokens_lower_the_expected_gain_of_a_draft() -> None:
    controller = knowing(0.3)
    play(controller, 20, 0.3, right=3)

    def gain(unread: int) -> float:
        expected = controller.decide(situation(unread=unread)).expected
        assert expected is not None
        return expected

    assert gain(1) > gain(200) > 1
    controller.learn_reading("model", 100, 1000.0)
    assert controller.decide(situation(unread=200)).drafter is None


def test_a_drafter_that_makes_few_drafts_in_an_answer_does_not_read_a_long_prompt_for_them() -> None:
    controller = knowing(0.1)
    play(controller, 20, 0.1, right=16)

    def gain() -> float:
        return controller.decide(situation(unread=600)).expected or 0.0

    before = gain()
    for _ in range(12):
        controller.begin("prose")
        play(controller, 2, 0.1, right=16)
    controller.begin("prose")
    assert gain() < 0.7 * before


def test_what_other_drafts_gain_does_not_pay_for_trials() -> None:
    controller = knowing(0.5)
    play(controller, 300, 0.5, right=0)
    copy = situation(match=30)
    for _ in range(10):
        decision = controller.decide(copy)
        assert decision.drafter is LOOKUP
        controller.learn(copy, decision, outcome_of(decision, 64, 0.5))
    trials = drafted_by_model(play(controller, 300, 0.5, right=0))
    assert 1 <= len(trials) * (0.5 + STEP) <= 5 + 300 * 0.015 + 1


def test_a_long_match_beats_the_model_and_gets_a_long_draft() -> None:
    decision = knowing(0.05).decide(situation(match=30))
    assert decision.drafter is LOOKUP
    assert decision.k > 16
    assert decision.reason == "match of 30"


def test_the_reason_says_that_a_copy_was_resumed() -> None:
    now = Situation(100, 64, {LOOKUP: Prospect(match=1, resumed=True)})
    assert knowing(0.05).decide(now).reason == "match of 1 after an edit"


def test_a_copy_that_resumes_is_followed_at_once_although_the_match_is_as_long_as_before() -> None:
    controller, now = knowing(0.6), Situation(100, 64, {LOOKUP: Prospect(match=1)})
    assert controller.decide(now).drafter is None
    assert controller.decide(replace(now, prospects={LOOKUP: Prospect(match=1, resumed=True)})).drafter is LOOKUP


def test_without_a_match_lookup_drafts_nothing() -> None:
    decision = knowing(0.05).decide(Situation(100, 64, {LOOKUP: Prospect()}))
    assert (decision.drafter, decision.reason) == (None, "no match")


def test_a_short_match_at_the_beginning_of_an_answer_is_not_followed() -> None:
    now = Situation(100, 64, {LOOKUP: Prospect(match=6)})
    assert knowing(0.3).decide(now).drafter is LOOKUP
    assert knowing(0.3).decide(replace(now, opening=True)).drafter is None


def test_misleading_matches_are_not_followed_even_if_nobody_drafted_from_them() -> None:
    controller, now = knowing(0.3), Situation(100, 64, {LOOKUP: Prospect(match=5)})
    assert controller.decide(now).drafter is LOOKUP
    for _ in range(10):
        plain = RoundOutcome(0, 0, 0, 1, 1.0, 0.0, 0.0, matched={LOOKUP: [False]})
        controller.learn(now, Decision(None, 0, ""), plain)
    assert controller.decide(now).drafter is None


def test_any_number_of_drafters_takes_part() -> None:
    controller = knowing(0.1)
    now = Situation(100, 64, {MODEL: Prospect(), LOOKUP: Prospect(match=3), HEADS: Prospect()})
    for _ in range(80):
        decision = controller.decide(now)
        outcome = outcome_of(decision, 4 if decision.drafter is HEADS else 0, 0.1)
        if decision.drafter is HEADS:
            outcome = replace(outcome, draft_ms=0.05)
        controller.learn(now, decision, outcome)
    assert (decision.drafter, decision.k) == (HEADS, 4)


@pytest.mark.parametrize("k", [3, 20])
def test_with_a_fixed_k_only_the_drafter_is_chosen(k: int) -> None:
    controller = knowing(1.2, step=0.5)
    assert (controller.decide(situation(longest=k, fixed=True)).drafter) is MODEL
    decision = controller.decide(situation(longest=k, fixed=True, match=30))
    assert (decision.drafter, decision.k) == (LOOKUP, k)


def test_a_draft_with_a_fixed_k_does_not_end_early() -> None:
    decision = knowing(1.2).decide(situation(longest=6, fixed=True))
    assert decision.stop
    worth_more = decision.stop.begin()
    assert all(worth_more(0.01) for _ in range(6))


def test_plain_passes_are_timed_before_anything_is_drafted() -> None:
    controller = Controller()
    controller.begin("prose")
    reasons = [decision.reason for decision in play(controller, 20, 0.1, right=64)]
    assert reasons[:2] == ["measures plain passes"] * 2
    assert "measures plain passes" not in reasons[2:]


@pytest.mark.parametrize("now", [situation(longest=0), Situation(100, 8, {})])
def test_if_nothing_may_be_drafted_nothing_is(now: Situation) -> None:
    assert knowing(0.05).decide(now) == Decision(None, 0, "nothing may be drafted")


def test_a_plain_pass_after_a_draft_says_nothing_about_plain_decoding() -> None:
    controller = knowing(0.1)
    play(controller, 1, 0.1, right=64)
    plain, now = Decision(None, 0, ""), situation()
    for _ in range(20):
        controller.learn(now, plain, RoundOutcome(0, 0, 0, 1, 5.0, 0.0, 0.0))
        play(controller, 1, 0.1, right=64)
    assert controller.target.at(1, 0) == pytest.approx(1.0, rel=0.1)


def test_a_round_after_a_pause_teaches_acceptance_but_no_times() -> None:
    controller, slow = knowing(0.1), situation(after_pause=True)
    decision = controller.decide(slow)
    before = controller.to_json()
    controller.learn(slow, decision, replace(outcome_of(decision, 64, 0.1), verify_ms=90.0, draft_ms=90.0))
    after = controller.to_json()
    assert (after["target"], after["drafts"]) == (before["target"], before["drafts"])
    assert after["acceptance"]["prose"]["model"]


def test_plain_passes_are_not_timed_after_a_pause() -> None:
    assert Controller().decide(situation(after_pause=True)).reason == "nothing measured yet"


def test_time_that_drafting_adds_between_passes_belongs_to_the_draft() -> None:
    controller, now = knowing(0.1), situation()
    plain = Decision(None, 0, "")
    for _ in range(60):
        controller.learn(now, plain, RoundOutcome(0, 0, 0, 1, 1.0, 0.0, 0.2))
    drafting = Decision(MODEL, 4, "")
    for _ in range(30):
        controller.learn(now, drafting, RoundOutcome(4, 4, 4, 5, 1.4, 0.4, 0.6, (0.9,) * 4))
    assert controller.costs_of("model").by_threads.current.at(4, 0) == pytest.approx(0.8, rel=0.05)


def test_reading_in_a_round_does_not_count_as_drafting() -> None:
    controller, now = knowing(0.1), situation(unread=101)
    controller.learn(now, Decision(MODEL, 4, ""), RoundOutcome(4, 4, 4, 5, 1.4, 10.4, 0.0, (0.9,) * 4))
    costs = controller.costs_of("model")
    assert costs.by_threads.current.at(4, 0) == pytest.approx(0.4, rel=0.05)
    assert costs.read_ms == pytest.approx(0.1, rel=0.1)


def test_drafts_that_cost_too_much_are_not_tried_again_because_the_number_of_threads_changed() -> None:
    controller = knowing(1.0, step=0.5)
    controller.use_threads(2, 2)
    assert not drafted_by_model(play(controller, 40, 1.0, right=9))
    controller.use_threads(1, 1)
    assert not drafted_by_model(play(controller, 40, 1.0, right=9))


def test_on_a_machine_that_gets_busy_drafts_slow_down_as_the_target_does() -> None:
    controller = knowing(0.3, step=0.9)
    controller.use_threads(2, 2)
    assert not drafted_by_model(play(controller, 40, 0.3, right=9))
    for _ in range(8):
        controller.target.observe(1, 0, 3.0)
    controller.use_threads(1, 1)
    for _ in range(8):
        controller.target.observe(1, 0, 3.0)
    controller.begin("prose")
    assert controller.decide(situation()).drafter is None


def test_while_plain_passes_take_longer_drafts_are_expected_to_as_well() -> None:
    controller = knowing(0.3, step=0.5)
    controller.use_threads(2, 2)
    costs = controller.costs_of("model").by_threads
    for _ in range(8):
        controller.target.observe(1, 0, 2.0)
    assert costs.current.at(4, 0) == pytest.approx(4.0, rel=0.01)
    for _ in range(8):
        costs.current.observe(4, 0, 4.0)
    assert costs.current.at(1, 0) == pytest.approx(1.0, rel=0.01), "what a slow machine explains is not a higher cost"
    for _ in range(8):
        controller.target.observe(1, 0, 1.0)
    assert costs.current.at(4, 0) == pytest.approx(2.0, rel=0.01)


def test_costs_belong_to_a_thread_count_and_come_back_with_it() -> None:
    controller = Controller()
    controller.use_threads(2, 1)
    controller.target.observe(1, 0, 10.0)
    controller.costs_of("model").by_threads.current.observe(1, 0, 1.0)
    controller.use_threads(4, 1)
    assert not controller.target.measured(0)
    assert controller.costs_of("model").by_threads.current.measured(0), "the draft model's number stays"
    assert controller.costs_of("model").by_threads.current.at(1, 0) == pytest.approx(1.0)
    for _ in range(8):
        controller.target.observe(1, 0, 6.0)
    kept = Controller.from_json(controller.to_json())
    controller.use_threads(2, 1)
    assert controller.target.at(1, 0) == pytest.approx(10.0)
    controller.use_threads(4, 1)
    assert controller.target.at(1, 0) == pytest.approx(6.0)
    assert kept.targets.of(2).at(1, 0) == pytest.approx(10.0)
    assert kept.targets.of(4).at(1, 0) == pytest.approx(6.0)


def test_a_decision_to_draft_nothing_ends_with_the_number_of_threads() -> None:
    controller = knowing(0.1)
    controller.use_threads(1, 1)
    controller.use_threads(2, 2)
    for width in (1, 2, 8, 33):
        for _ in range(15):
            controller.target.observe(width, 0, 1.0 * width)
    assert controller.decide(situation()).drafter is None
    controller.use_threads(1, 1)
    assert controller.decide(situation()).drafter is MODEL


def test_learned_values_survive_a_restart() -> None:
    controller = knowing(0.3)
    play(controller, 60, 0.3, right=2)
    again = Controller.from_json(json.loads(json.dumps(controller.to_json())))
    assert again.to_json()["acceptance"] == controller.to_json()["acceptance"]
    assert again.target.measured(0) == pytest.approx(controller.target.measured(0))
    again.begin("prose")
    controller.begin("prose")
    assert again.decide(situation()).k == controller.decide(situation()).k


def test_records_with_other_fields_are_read_as_far_as_they_are_known() -> None:
    kept = {"target": {"2": {"0": {"1": [2.0, 8]}}}, "draft": {}, "habits": {"prose": {}}, "tries": {}}
    kept["acceptance"] = {"prose": {"vote": {"agreed match": {"accepted": [1.0], "tested": [2.0]}}}}
    controller = Controller.from_json(kept)
    controller.use_threads(2, 2)
    assert controller.target.at(1, 0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "kept",
    [{}, {"target": 3}, {"target": {}, "drafts": []}, {"target": {}, "acceptance": {"prose": 1}}],
)
def test_a_damaged_record_is_rejected(kept: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a record of a pair"):
        Controller.from_json(kept)


def test_the_step_in_measured_costs_is_the_draft_models_whatever_else_drafts() -> None:
    controller = knowing(0.1, plain_ms=2.0)
    controller.drafts = {"heads": DraftCosts(), **controller.drafts}
    controller.drafts["heads"].observe(HEADS, 4, 0, 50.0)
    assert controller.measured_costs(100).draft_step == pytest.approx(0.2)


def test_of_two_drafters_without_a_gain_the_more_promising_one_is_tried() -> None:
    controller, other = knowing(0.5), replace(MODEL, name="other")
    controller.acceptance.learn("prose", "model", "confidence", [0.95] * 4, 0)
    controller.acceptance.learn("prose", "other", "confidence", [0.95] * 4, 3)
    for prospects in ({MODEL: Prospect(), other: Prospect()}, {other: Prospect(), MODEL: Prospect()}):
        assert controller.decide(Situation(100, 64, prospects)).drafter == other


EAGLE = DrafterTraits("eagle3", evidence="confidence", cost="step")


def contest(
    controller: Controller, rounds: int, right: dict[str, int], drafters: Sequence[DrafterTraits] = (EAGLE, MODEL)
) -> list[str]:
    """Rounds with drafters that are always as sure, of whose tokens so many are right; who drafted."""
    made = []
    for _ in range(rounds):
        now = Situation(100, 64, {drafter: Prospect() for drafter in drafters})
        decision = controller.decide(now)
        name = decision.drafter.name if decision.drafter else "none"
        outcome = outcome_of(decision, right.get(name, 0), 0.05)
        controller.learn(now, decision, replace(outcome, confidence=(0.95,) * outcome.drafted))
        made.append(name)
    return made


@pytest.mark.parametrize(("best", "other"), [("model", "eagle3"), ("eagle3", "model")])
def test_a_drafter_that_pays_does_not_hide_a_better_one(best: str, other: str) -> None:
    controller = knowing(0.05)
    for length in (1, 4, 16):
        controller.costs_of("eagle3").by_threads.current.observe(length, 0, STEP * length)
    alone = [drafter for drafter in (EAGLE, MODEL) if drafter.name == other]
    assert contest(controller, 60, {other: 4}, alone).count(other) > 50
    made = contest(controller, 120, {best: 16, other: 4})
    assert made[60:].count(best) > 50


def test_a_worse_drafter_is_tried_only_with_what_drafts_have_gained_and_not_for_long() -> None:
    controller = knowing(0.05)
    for length in (1, 4, 16):
        controller.costs_of("eagle3").by_threads.current.observe(length, 0, STEP * length)
    for _ in range(60):
        controller.acceptance.learn("prose", "model", "confidence", (0.95,) * 9, 8)
    made = contest(controller, 100, {"model": 8})
    assert 0 < made.count("eagle3") < 12
    assert made[40:].count("eagle3") < 3


@pytest.mark.parametrize(("step", "better"), [(0.4, "eagle3"), (0.02, "model")])
def test_where_width_is_free_a_head_drafts_unless_a_step_of_the_better_draft_model_is_as_fast(
    step: float, better: str
) -> None:
    """On a fast GPU a step of a small draft model takes as long as its layers, a head's as long as one of them."""
    controller, of_head, slope = knowing(0.006, step), 0.03, 0.006
    for length in (1, 4, 16):
        controller.costs_of("eagle3").by_threads.current.observe(length, 0, of_head * length)
    made = []
    for _ in range(120):
        now = Situation(100, 64, {EAGLE: Prospect(), MODEL: Prospect()})
        decision = controller.decide(now)
        name = decision.drafter.name if decision.drafter else "none"
        outcome = outcome_of(decision, {"model": 8, "eagle3": 5}.get(name, 0), slope)
        draft_ms = (step if name == "model" else of_head) * outcome.drafted
        outcome = replace(outcome, draft_ms=draft_ms, confidence=(0.95,) * outcome.drafted)
        controller.learn(now, decision, outcome)
        made.append(name)
    assert made[60:].count(better) > 50


def settled(slope: float, shared_pass: SharedPass) -> Decision:
    """What is decided once the drafts of many rounds were accepted nine times out of ten."""
    controller = knowing(slope)
    for number in range(60):
        now = situation()
        decision = controller.decide(now)
        controller.learn(now, decision, outcome_of(decision, 9 if number % 2 else 4, slope))
    return controller.decide(situation(shared_pass=shared_pass))


def others(count: int) -> SharedPass:
    return SharedPass(answers=count, tokens=count, usual_tokens=count, usual_emitted=count)


def test_the_more_answers_share_a_pass_the_less_is_drafted() -> None:
    lengths = [settled(0.3, others(count)).k for count in (0, 1, 3, 7, 15)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_nothing_is_drafted_where_it_would_cost_other_answers_more_than_it_gains() -> None:
    assert settled(0.6, others(0)).k > 0
    alone_no_more = settled(0.6, others(7))
    assert (alone_no_more.k, alone_no_more.reason) == (0, "no draft pays beside 7 other answers")


def test_drafts_go_on_in_shared_passes_where_wide_passes_are_cheap() -> None:
    assert settled(0.02, others(7)).k > 1


def test_a_shared_pass_is_learned_at_its_whole_width() -> None:
    controller = knowing(0.2)
    now = situation(shared_pass=others(3))
    decision = Decision(None, 0, "no draft pays")
    made = replace(outcome_of(decision, 0, 0.2), verify_ms=5.0, shared_pass=others(3))
    for _ in range(20):
        controller.learn(now, decision, made)
    assert controller.target.at(4, 100) == pytest.approx(5.0, rel=0.3)
    assert controller.target.at(1, 100) == pytest.approx(1.0, rel=0.3), "plain passes are not taken for longer"


def test_passes_that_read_the_prompt_of_another_answer_teach_no_costs() -> None:
    controller = knowing(0.2)
    now, decision = situation(shared_pass=others(1)), Decision(None, 0, "no draft pays")
    reading = SharedPass(answers=1, tokens=64, usual_tokens=1, usual_emitted=1, reading=True)
    for _ in range(20):
        controller.learn(now, decision, replace(outcome_of(decision, 0, 0.2), verify_ms=500.0, shared_pass=reading))
    assert controller.target.at(33, 100) == pytest.approx(1 + 0.2 * 32, rel=0.01)


def test_a_neighbour_that_once_reads_much_changes_no_plan() -> None:
    for count, slope in ((3, 0.3), (7, 0.6)):
        once = replace(others(count), tokens=200, reading=True)
        assert settled(slope, once).k == settled(slope, others(count)).k


def test_answers_at_the_same_time_learn_together_and_decide_apart() -> None:
    first = knowing(0.3)
    second = first.beside()
    first.begin("code")
    second.begin("prose")
    assert second.target is first.target
    now = situation()
    first.learn(now, decision := first.decide(now), outcome_of(decision, 4, 0.3))
    assert second.acceptance is first.acceptance
    assert first.posterior("model", "confidence").known
    assert not second.posterior("model", "confidence").known, "its text is of another kind"


def test_a_new_answer_begins_with_what_its_kind_let_expect() -> None:
    controller = knowing(0.2)
    now = situation()
    for _ in range(40):
        decision = controller.decide(now)
        controller.learn(now, decision, outcome_of(decision, 9, 0.2))
    usual = controller.posterior("model", "confidence").p_of(0.95)
    for _ in range(5):
        decision = Decision(MODEL, 4, "a draft pays")
        controller.learn(now, decision, outcome_of(decision, 0, 0.2))
    doubted = controller.posterior("model", "confidence").p_of(0.95)
    controller.begin("prose")
    anew = controller.posterior("model", "confidence").p_of(0.95)
    assert doubted < anew < usual
