"""A runner-up is added where its chance is worth the wider pass, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.decoding.drafts import ROOT, Alternative, Draft
from specchat_engine.policy.acceptance import Evidence, Posterior
from specchat_engine.policy.trees import Branching
from specchat_engine.prompt.encoding import common_prefix

USUAL = (0.5, 0.5)
OWN, INSTEAD = (Posterior(Evidence((0.7,), expected, USUAL)) for expected in ((0.5, 0.9), (0.3, 0.05)))
BY_LENGTH, BY_COUNT = (
    Posterior(Evidence(edges, expected, USUAL)) for edges, expected in (((9,), (0.5, 0.9)), ((0.3,), (0.1, 0.4)))
)


def draft(*confidence: float) -> Draft:
    """A draft model's chain with a runner-up for each token."""
    tokens = tuple(range(len(confidence)))
    others = tuple(Alternative((*tokens[:place], place + 100), sure) for place, sure in enumerate(confidence))
    return Draft(tokens, confidence=confidence, alternatives=others)


def counted(*shares: float) -> Draft:
    """What a store drafts: runners-up with their shares; none where the share is 0."""
    tokens = tuple(range(len(shares)))
    others = (Alternative((*tokens[:place], place + 100), share) for place, share in enumerate(shares) if share)
    return Draft(tokens, alternatives=tuple(others))


def branching(costs: Sequence[float], *, pace: float = 1.0, most: int = 8) -> Branching:
    return Branching(most, False, OWN, INSTEAD, pass_ms=costs, pace=pace)


def following(path: tuple[int, ...], *confidence: float) -> tuple[Alternative, ...]:
    """What continues a runner-up."""
    tokens = tuple(range(len(confidence)))
    return tuple(
        Alternative((*path, *tokens[: place + 1]), sure, runner_up=False) for place, sure in enumerate(confidence)
    )


def of_match(costs: Sequence[float], match: int = 2) -> Branching:
    return Branching(8, False, BY_LENGTH, BY_COUNT, match, costs, 1.0)


def beside(tree: Draft) -> list[tuple[int, ...]]:
    """The tokens beside the chain, each with those before it, in the order of the places that they branch off at."""
    paths = [tuple(tree.tokens[one] for one in tree.path(node)) for node in range(tree.trunk, len(tree))]
    return sorted(paths, key=lambda path: (common_prefix(path, tree.tokens), len(path)))


def places(tree: Draft) -> list[int]:
    """The places of the chain that something was added at."""
    return [common_prefix(path, tree.tokens) for path in beside(tree)]


def rising_by(slope: float) -> list[float]:
    """The costs of passes over 0 to 32 tokens."""
    return [1 + slope * width for width in range(33)]


def test_doubtful_places_come_first_and_are_worth_less_behind_other_doubtful_ones() -> None:
    unsure_late = draft(0.9, 0.9, 0.2, 0.2)
    assert places(branching(rising_by(0.2))(unsure_late)) == [2]
    assert places(branching(rising_by(0.1))(unsure_late)) == [2, 3]


def test_where_width_is_free_every_place_gets_its_runner_up() -> None:
    assert places(branching(rising_by(0.0))(draft(0.9, 0.9, 0.2))) == [0, 1, 2]


def test_where_width_is_dear_none_does() -> None:
    rule = branching(rising_by(0.4))
    assert rule(draft(0.2, 0.2)) == draft(0.2, 0.2)
    assert not rule.may_pay(3)
    assert branching(rising_by(0.2)).may_pay(3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 0.5), st.integers(0, 15))
def test_no_more_are_added_than_are_allowed_or_fit(confidence: list[float], slope: float, most: int) -> None:
    costs = rising_by(slope)[:16]
    tree = branching(costs, most=most)(draft(*confidence))
    assert tree.tokens[: len(confidence)] == draft(*confidence).tokens
    assert len(beside(tree)) <= most
    assert len(tree) + 1 < max(len(costs), len(confidence) + 2)


@pytest.mark.parametrize("most", [1, 3, 9])
def test_a_fixed_number_is_added_whatever_it_costs(most: int) -> None:
    assert places(Branching(most, fixed=True)(draft(0.9, 0.9, 0.9, 0.9))) == [*range(min(most, 4))]


def test_runners_up_of_a_match_are_judged_by_their_share_and_by_how_long_it_is() -> None:
    common = counted(0.4, 0.1, 0.4)
    assert places(of_match(rising_by(0.15), 2)(common)) == [0]
    assert places(of_match(rising_by(0.15), 20)(common)) == [0, 2]


@pytest.mark.parametrize("rule", [of_match(rising_by(0.0)), Branching(8, fixed=True)])
def test_where_nothing_else_followed_there_is_no_branch(rule: Branching) -> None:
    assert rule(counted(0.0, 0.5, 0.0)).tokens == (0, 1, 2, 101)
    assert rule(counted(0.0, 0.0)).parents == ()


def test_what_follows_a_runner_up_is_judged_as_a_chain_would_be() -> None:
    unsure = replace(draft(0.2, 0.9), alternatives=(Alternative((9,), 0.2), *following((9,), 0.9, 0.9, 0.2)))
    assert beside(branching(rising_by(0.2))(unsure)) == [(9,), (9, 0), (9, 0, 1)]
    assert beside(branching(rising_by(0.26))(unsure)) == [(9,), (9, 0)]
    assert beside(branching(rising_by(0.2), most=2)(unsure)) == [(9,), (9, 0)]


def test_the_unlikely_end_of_a_match_makes_room_for_likelier_tokens() -> None:
    """Passes over four tokens at most: of three drafted ones the third is less likely than the runner-up of the
    first."""
    said = counted(0.4, 0.0, 0.0)
    few = of_match(rising_by(0.0)[:5])
    assert few(said).tokens == (0, 1, 100)
    assert few(said).parents == (ROOT, 0, ROOT)
    assert replace(few, fixed=True)(said).tokens == (0, 1, 2)
    assert few(counted(0.0, 0.0, 0.1)).tokens == (0, 1, 2)


def test_a_branch_stands_beside_the_token_of_the_chain_that_it_may_replace() -> None:
    """Even if runners-up were right more often than the chain."""
    often = Posterior(Evidence((), (0.6,), (1.0,)))
    said = counted(0.5, 0.5)
    one, two = (Branching(8, False, BY_LENGTH, often, 2, rising_by(0.0)[: room + 2], 1.0) for room in (1, 2))
    assert one(said).tokens == (0,)
    assert two(replace(said, alternatives=said.alternatives[1:])).tokens == (0, 1)


@pytest.mark.parametrize("rule", [branching, of_match])
def test_a_tree_is_as_wide_as_passes_are_cheap(rule: Callable[[Sequence[int]], Branching]) -> None:
    assert len(rule([1, 1, 1, 1, 1, 9, 9, 9, 9])(draft(0.5, 0.5, 0.5))) + 1 == 4
    assert len(rule([1, 1, 1, 1, 1, 1, 9, 9, 9])(draft(0.5, 0.5, 0.5))) + 1 == 5


def test_the_end_of_a_match_goes_if_it_is_not_worth_a_wider_pass() -> None:
    assert of_match(rising_by(0.2))(counted(0.4, 0.0, 0.0, 0.0)).tokens == (0, 1, 100)
    assert len(branching(rising_by(0.2))(draft(0.2, 0.2, 0.2, 0.2)).tokens) == 5


def test_a_branch_goes_on_while_that_is_worth_wider_passes_of_both_models() -> None:
    unsure = draft(0.9, 0.2, 0.9)
    ends = unsure.alternatives
    assert branching(rising_by(0.0)).next_read(unsure, ends) is ends[1]
    assert branching(rising_by(0.0)).next_read(unsure, ends[2:]) is ends[2]
    assert branching(rising_by(0.0)).next_read(unsure, []) is None
    worth = 0.9 * 0.3 * 0.8
    for slope, step_ms, read in ((worth - 0.01, 0, 1), (worth + 0.01, 0, 0), (0.1, 1.2, 1), (0.1, 1.4, 0)):
        rule = replace(branching(rising_by(slope)), step_ms=step_ms)
        wider = slope + step_ms * slope / (1 + slope)
        assert (wider < worth) == bool(read)
        assert rule.next_read(unsure, ends) is (ends[1] if read else None)
        assert replace(rule, fixed=True).next_read(unsure, ends) is ends[1]


def test_the_likeliest_end_of_a_branch_goes_on() -> None:
    runner_up, other = Alternative((9,), 0.2), Alternative((0, 9), 0.2)
    continued = Alternative((9, 3), 0.9, runner_up=False)
    sure, unsure = (
        Draft((0, 1), confidence=(confidence, 0.9), alternatives=(runner_up, other, continued))
        for confidence in (0.9, 0.2)
    )
    rule = branching(rising_by(0.0))
    assert rule.next_read(sure, [continued, other]) is continued
    assert rule.next_read(unsure, [continued, other]) is continued
    doubtful = replace(continued, evidence=0.2)
    sure = replace(sure, alternatives=(runner_up, other, doubtful))
    assert rule.next_read(sure, [doubtful, other]) is other


@given(st.data())
def test_a_tree_holds_what_each_of_its_tokens_follows(data: st.DataObject) -> None:
    chain = tuple(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)))
    paths = {chain[:end] for end in range(len(chain) + 1)}
    others = []
    for _ in range(data.draw(st.integers(0, 8))):
        path = (*data.draw(st.sampled_from(sorted(paths))), data.draw(st.integers(0, 3)))
        if path not in paths and path[:-1] != chain:
            paths.add(path)
            others.append(Alternative(path, data.draw(st.sampled_from([0.1, 0.5, 12])), data.draw(st.booleans())))
    rule = Branching(4, data.draw(st.booleans()), BY_LENGTH, BY_COUNT, 2, rising_by(data.draw(st.floats(0, 0.5))), 1.0)
    offered = Draft(chain, alternatives=tuple(others))
    tree = rule(offered)
    read = [tuple(tree.tokens[one] for one in tree.path(node)) for node in range(len(tree))]
    assert len(set(read)) == len(read)
    assert set(read) <= paths
    assert tree.tokens[: tree.trunk] == chain[: tree.trunk]
    assert len(tree) - tree.trunk <= 4
    assert tree.alternatives == offered.alternatives
