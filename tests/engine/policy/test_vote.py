"""Where a match agrees with a draft it goes on with what followed; where they part, both are tried if that pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_engine import SamplingParams
from specchat_engine.decoding.drafts import ROOT, Draft
from specchat_engine.policy.acceptance import AGREED, EVIDENCE, Evidence, Posterior
from specchat_engine.policy.vote import Voice, Vote
from support.controllers import knowing
from support.conversations import ask, conversation, letters, saying

OWN = Posterior(Evidence((0.7,), (0.6, 0.95)))
FLAT, STEEP = [1.0] * 40, [1.0 + width for width in range(40)]


def voice(*tokens: int, length: int = 20, name: str = "lookup") -> Voice:
    return Voice(name, length, tokens, Posterior(EVIDENCE["match"]))


def vote(*voices: Voice, pass_ms: list[float] = FLAT, tree: int = 0) -> Vote:
    return Vote(voices, OWN, Posterior(EVIDENCE[AGREED]), pass_ms, 1.0, tree)


def draft(*tokens: int, sure: float = 0.9) -> Draft:
    return Draft(tokens, source="model", confidence=(sure,) * len(tokens))


def test_a_match_that_agrees_makes_the_draft_longer_and_says_whose_it_is() -> None:
    longer = vote(voice(1, 2, 3, 4, 5))(draft(1, 2))
    assert longer.tokens == (1, 2, 3, 4, 5)
    assert (longer.borrowed, longer.source, longer.trunk) == (3, "model+lookup", 5)


def test_nothing_is_added_where_width_is_dear() -> None:
    short = draft(1, 2)
    assert vote(voice(1, 2, 3, 4, 5), pass_ms=STEEP)(short) is short


def test_the_longest_match_speaks_first() -> None:
    found = vote(voice(1, 2, 8, length=3), voice(1, 2, 9, length=30, name="store"))(draft(1, 2))
    assert found.tokens == (1, 2, 9)
    assert found.source == "model+store"


def test_where_they_part_the_match_becomes_a_branch_if_a_tree_is_allowed() -> None:
    parted = draft(1, 2, 3, sure=0.5)
    assert vote(voice(1, 7, 8))(parted) is parted
    tree = vote(voice(1, 7, 8), tree=4)(parted)
    assert tree.tokens == (1, 2, 3, 7, 8)
    assert tree.parents == (ROOT, 0, 1, 0, 3)
    assert tree.path(4) == [0, 3, 4]
    assert vote(voice(1, 7, 8), pass_ms=STEEP, tree=4)(parted) is parted


def test_a_draft_without_confidence_is_left_alone() -> None:
    sure = Draft((1, 2), source="model")
    assert vote(voice(1, 2, 3))(sure) is sure
    partly = replace(sure, confidence=(0.9,))
    assert vote(voice(1, 2, 3))(partly) is partly


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_voting_session_answers_as_it_would_plainly(temperature: float) -> None:
    sampling = SamplingParams(temperature=temperature)
    target, cousin = letters(3, order=2, end=-50), letters(4, order=2, end=-50)
    plain = conversation(target, max_tokens=200, sampling=sampling)
    voting = conversation(
        target,
        lambda tokens: target(tokens) + 0.1 * cousin(tokens),
        drafter="hybrid",
        k="auto",
        combine="vote",
        max_tokens=200,
        sampling=sampling,
        ngram_min=1,
    )
    assert ask(voting) == ask(plain)


def test_nobody_adds_to_a_draft_that_is_only_tried() -> None:
    law, other = letters(3, order=2, end=-50), letters(5, order=2, end=-50)
    controller = knowing(0.3, 0.05)
    voting = conversation(
        law, other, drafter="hybrid", k="auto", combine="vote", max_tokens=200, ngram_min=1, controller=controller
    )
    rounds = [event for prompt in ("hello", "hi", "a b") for event in voting.generate(prompt)]
    assert {event.source for event in rounds if "tried" in event.reason} == {"model"}


def test_the_last_drafted_token_that_fits_a_pass_is_the_last_one_added() -> None:
    text = tuple(range(40))
    assert vote(voice(*text), pass_ms=FLAT[:10])(draft(*text[:6])).tokens == text[:8]
    assert vote(voice(*text), pass_ms=FLAT[:8])(draft(*text[:6])).tokens == text[:6]


def test_what_is_added_ends_where_the_next_step_of_the_costs_is_not_worth_it() -> None:
    text = tuple(range(40))
    step = [1.0] * 9 + [9.0] * 31
    assert vote(voice(*text), pass_ms=step)(draft(*text[:4])).tokens == text[:7]
    parted = draft(0, 1, 2, sure=0.5)
    assert len(vote(voice(0, *range(50, 70)), pass_ms=step, tree=16)(parted)) == 7


def test_a_session_that_repeats_a_text_votes_and_learns_from_it() -> None:
    text = "one two three four five six seven eight nine ten. " * 4
    voting = conversation(saying(text), saying(text), drafter="hybrid", k="auto", combine="vote", max_tokens=250)
    rounds = [*voting.generate(f"repeat: {text}")]
    voted = [event for event in rounds if "+" in event.source]
    assert voted
    assert {event.source for event in voted} == {"model+lookup"}
    assert voting.text == text
    assert voting.pair.controller.posterior("vote", AGREED).tested > 3
