"""Which tokens belong to which draft, against servers whose steps are known."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.remote.alignment import ServerStep, steps_of
from specchat.remote.chunks import Drafting


def drafting(steps: list[ServerStep], *, each: bool = True) -> Drafting:
    """What a server reports about these steps."""
    drafts = [step for step in steps if step.drafted]
    drafted, accepted = tuple(step.drafted for step in drafts), tuple(step.accepted for step in drafts)
    each_draft = {"drafted": drafted, "accepted": accepted} if each else {}
    return Drafting(len(drafts), sum(drafted), sum(accepted), max(drafted, default=0), **each_draft)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[ServerStep], list[int]]:
    """The steps of an answer after its first token, and the sizes of the groups in which all tokens came."""
    steps: list[ServerStep] = []
    for _ in range(draw(st.integers(0, 12))):
        drafted = draw(st.integers(0, 5))
        accepted = draw(st.integers(0, drafted))
        steps.append(ServerStep(accepted + 1, drafted, accepted))
    if steps and steps[-1].drafted:  # the end of an answer may cut the last step
        cut = draw(st.integers(1, steps[-1].emitted))
        steps[-1] = ServerStep(cut, steps[-1].drafted, steps[-1].accepted)
    sizes = [1, *(step.emitted for step in steps)]
    ends = sorted({0, len(sizes), *draw(st.lists(st.integers(1, len(sizes)), max_size=len(sizes)))})
    return steps, [sum(sizes[begin:end]) for begin, end in pairwise(ends)]


@given(answers())
def test_the_steps_found_are_all_drafts_in_order_and_all_tokens(answer: tuple[list[ServerStep], list[int]]) -> None:
    steps, groups = answer
    found = steps_of(groups, drafting(steps))
    assert found is not None
    assert [sum(step.emitted for step in group) for group in found] == groups
    flat = [step for group in found for step in group]
    assert flat[0] == ServerStep(1)
    assert [(step.drafted, step.accepted) for step in flat if step.drafted] == [
        (step.drafted, step.accepted) for step in steps if step.drafted
    ]


def test_steps_that_arrived_one_by_one_are_found_exactly() -> None:
    steps = [ServerStep(3, 4, 2), ServerStep(1), ServerStep(5, 4, 4), ServerStep(2, 4, 1)]
    assert steps_of([1, 3, 1, 5, 2], drafting(steps)) == [[ServerStep(1)], *([step] for step in steps)]


def test_a_plain_step_before_a_rejected_draft_is_taken_for_it() -> None:
    found = steps_of([1, 1, 1], drafting([ServerStep(1), ServerStep(1, 4, 0)]))
    assert found == [[ServerStep(1)], [ServerStep(1, 4, 0)], [ServerStep(1)]]


@pytest.mark.parametrize(
    "steps",
    [
        [ServerStep(5, 4, 4), ServerStep(1, 4, 0), ServerStep(3, 4, 2)],
        [ServerStep(5, 4, 4), ServerStep(2, 2, 2)],
        [ServerStep(1, 4, 0), ServerStep(3, 4, 2), ServerStep(1), ServerStep(5, 4, 4), ServerStep(1)],
        [ServerStep(1), ServerStep(3, 4, 2), ServerStep(1), ServerStep(1, 4, 4)],
    ],
    ids=["every step had a draft", "the last is shorter", "the first are taken for drafts", "the end cut the last"],
)
def test_the_steps_follow_from_the_totals(steps: list[ServerStep]) -> None:
    groups = [1, *(step.emitted for step in steps)]
    assert steps_of(groups, drafting(steps, each=False)) == [[ServerStep(1)], *([step] for step in steps)]


@pytest.mark.parametrize(
    ("groups", "totals"),
    [
        ([1, 5], Drafting(2, 8, 4, 4)),  # two drafts in one group: not reported where one ends
        ([1, 5], Drafting(1, 4, 2, 4)),  # fewer accepted than emitted
        ([1, 2], Drafting(1, 4, 4, 4, (4, 4), (4, 4))),  # more drafts than tokens
        ([1, 5], Drafting(1, 5, 4)),  # of unknown lengths
        ([1, 5, 1], Drafting(3, 12, 4, 4)),  # more drafts than steps
        ([1, 5, 3], Drafting(1, 4, 6, 4)),  # fewer drafts than steps of several tokens
        ([], Drafting(1, 4, 4, 4)),
    ],
)
def test_what_does_not_add_up_is_not_known(groups: list[int], totals: Drafting) -> None:
    assert steps_of(groups, totals) is None


def test_without_drafts_every_token_is_a_step() -> None:
    assert steps_of([1, 2], Drafting(0, 0, 0)) == [[ServerStep(1)], [ServerStep(1), ServerStep(1)]]
