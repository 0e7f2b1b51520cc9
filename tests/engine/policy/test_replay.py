"""On recorded answers, under frozen costs, the controller keeps up with whatever would have been best.

Deterministic: the drafts of a real pair were recorded, and what a pass costs is a formula.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from statistics import geometric_mean, median

import pytest

from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import Decision, Situation
from support.replay import MACHINES, REAL_MACHINES, REAL_RECORDING, Answer, Machine, looked_up, measured, recorded

FIXED = [("model", k) for k in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16)] + [
    ("lookup", k) for k in (2, 4, 6, 8, 12, 15, 16, 24, 31, 32)
]
ROUGHLY = {"facts": "prose", "story": "prose", "python": "code", "structured": "code", "copy": "pasted"}
WORKING_DAY_KINDS = {"edit": "pasted", "summary": "pasted", "code": "code", "structured": "code", "chat": "prose"}
each_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def first_answers(machine: Machine) -> dict[str, list[tuple[float, float]]]:
    """By kind of text, of a real pair that nothing is known of: the speed in times that of plain decoding of each
    answer, and that of the best fixed setting."""
    found = defaultdict(list)
    for answer in recorded(REAL_RECORDING):
        best = max(1.0, *(answer.plain(machine) / answer.fixed(*setting, machine) for setting in FIXED))
        auto = replace(answer, kind=WORKING_DAY_KINDS[answer.kind]).adaptive(measured(machine), machine)
        found[answer.kind].append((answer.plain(machine) / auto, best))
    return found


@pytest.mark.parametrize("machine", REAL_MACHINES.values(), ids=REAL_MACHINES)
def test_edits_with_a_real_pair_gain_in_the_first_answer_and_others_lose_next_to_nothing(machine: Machine) -> None:
    found = first_answers(machine)
    assert geometric_mean([auto for auto, _ in found["edit"]]) >= 1.4
    assert geometric_mean([auto / best for auto, best in found["edit"]]) >= 0.9
    for kind in ("code", "chat"):
        assert min(auto for auto, _ in found[kind]) >= 0.965, kind


def spent(machine: Machine) -> dict[str, dict[object, float]]:
    """By kind of text: the time of each fixed setting, of plain decoding, and of the controller.

    The controller knows the pair: it has seen these answers twice.
    """
    times: dict[str, dict[object, float]] = defaultdict(lambda: defaultdict(float))
    controller = measured(machine)
    for answer in recorded() * 2:
        answer.adaptive(controller, machine)
    for answer in recorded():
        kind = times[answer.kind]
        kind["plain"] += answer.plain(machine)
        for setting in FIXED:
            kind[setting] += answer.fixed(*setting, machine)
        kind["auto"] += answer.adaptive(controller, machine)
    return times


@each_machine
def test_it_keeps_up_with_the_best_fixed_setting_of_each_kind_and_is_ahead_over_all_kinds(machine: Machine) -> None:
    """Also if kinds come in any order and are told apart roughly, as they are in a chat: a request for a fact and one
    for a story look alike."""
    kinds = spent(machine)
    for kind, times in kinds.items():
        best = min(time for setting, time in times.items() if setting != "auto")
        assert times["auto"] <= best / 0.95, kind
    totals = {
        setting: sum(times[setting] / times["plain"] for times in kinds.values()) for setting in (*FIXED, "plain")
    }
    assert sum(times["auto"] / times["plain"] for times in kinds.values()) < min(totals.values())
    answers = [*recorded()]
    random.Random(1).shuffle(answers)
    controller = measured(machine)
    auto: dict[str, float] = defaultdict(float)
    for answer in answers:
        auto[answer.kind] += replace(answer, kind=ROUGHLY[answer.kind]).adaptive(controller, machine)
    assert min(kinds[kind]["plain"] / auto[kind] for kind in kinds) >= 0.945
    assert sum(auto[kind] / kinds[kind]["plain"] for kind in kinds) < min(totals.values())


@cache
def spent_with_trees(slope: float, most: int, *, deep: bool = True) -> float:
    """The time of all answers on a machine whose passes get dearer by `slope` with each token, the second time."""
    machine = Machine(lambda width: 1 + slope * (width - 1), 0.15)
    controller = measured(machine)
    for answer in recorded():
        answer.adaptive(controller, machine, most, deep=deep)
    return sum(answer.adaptive(controller, machine, most, deep=deep) / answer.plain(machine) for answer in recorded())


def test_trees_win_where_width_is_cheap_and_cost_nothing_where_it_is_dear() -> None:
    """The crossover lies where a further token costs a few hundredths of a pass."""
    gains = {slope: spent_with_trees(slope, 0) / spent_with_trees(slope, 15) for slope in (0.0, 0.01, 0.1, 0.4)}
    assert gains[0.0] >= gains[0.01] > 1.04
    assert gains[0.0] > 1.05
    assert all(gain > 0.99 for gain in gains.values())
    assert gains[0.4] == pytest.approx(1, abs=0.01)


def test_branches_win_more_than_their_first_tokens_alone_where_width_is_free() -> None:
    assert spent_with_trees(0.0, 15, deep=False) > 1.015 * spent_with_trees(0.0, 15)


def ignorant(confidence: str, kind: str) -> Answer:
    """Random text, and a draft model that is never right: with random confidences, or always sure."""
    chance = random.Random(1)
    prompt, text = ([chance.randrange(4000) for _ in range(length)] for length in (50, 256))
    sure = [[chance.random() if confidence == "random" else 0.995 for _ in range(16)] for _ in text]
    return Answer(kind, len(prompt), len(text), [0] * len(text), sure, looked_up(prompt, text))


@each_machine
@pytest.mark.parametrize("confidence", ["random", "always sure"])
def test_a_draft_that_knows_nothing_costs_next_to_nothing(machine: Machine, confidence: str) -> None:
    """Never under 0.965 of plain decoding: neither from a cold start, nor on a kind of text that is new to the pair."""
    answer = ignorant(confidence, "prose")
    assert answer.plain(machine) / answer.adaptive(Controller(), machine) >= 0.965
    experienced = measured(machine)
    for recorded_answer in recorded()[::3]:
        recorded_answer.adaptive(experienced, machine)
    assert answer.plain(machine) / answer.adaptive(experienced, machine) >= 0.965


def test_on_a_gpu_nearly_all_rounds_have_a_draft_and_sure_drafts_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a pass over seventeen tokens takes a tenth longer than one over one token."""
    made: list[Decision] = []
    decide = Controller.decide

    def watched(controller: Controller, situation: Situation) -> Decision:
        made.append(decide(controller, situation))
        return made[-1]

    machine = MACHINES["a GPU"]
    controller = measured(machine)
    for _ in range(2):
        made.clear()
        monkeypatch.setattr(Controller, "decide", watched)
        for answer in recorded():
            answer.adaptive(controller, machine)
    assert sum(decision.drafter is not None for decision in made) > 0.9 * len(made)
    assert median(decision.k for decision in made if decision.drafter) >= 12


def with_fewer_accepted(answer: Answer, share: float) -> Answer:
    """The answer with a worse draft model: of its right tokens only this share is still right."""
    chance = random.Random(answer.length)
    kept = [next((n for n in range(right) if chance.random() > share), right) for right in answer.right]
    return replace(answer, right=kept)


@each_machine
@pytest.mark.parametrize("share", [0.7, 0.5])
def test_answers_with_a_pair_that_was_never_seen_take_no_longer_than_plain_ones(machine: Machine, share: float) -> None:
    """From the prompt to the last token, where drafts may pay or not. An answer of 18 tokens may lose three of them."""
    speedups: dict[str, list[float]] = defaultdict(list)
    for answer in recorded():
        worse, read = with_fewer_accepted(answer, share), answer.reading(machine)
        spent = read + worse.adaptive(measured(machine), machine)
        speedups[answer.kind].append((read + worse.plain(machine)) / spent)
    assert min(median(kind) for kind in speedups.values()) >= 0.945
    assert min(min(kind) for kind in speedups.values()) >= 0.82


@each_machine
def test_a_draft_that_suddenly_knows_nothing_is_given_up_within_an_answer(machine: Machine) -> None:
    controller = measured(machine)
    for answer in recorded():
        replace(answer, kind="prose").adaptive(controller, machine)
    answer = ignorant("always sure", "prose")
    assert answer.plain(machine) / answer.adaptive(controller, machine) >= 0.75
    assert answer.plain(machine) / answer.adaptive(controller, machine) >= 0.965, "in the next answer"
