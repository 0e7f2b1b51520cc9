"""What the target thought likely after a token is drafted the next time that the token occurs."""

from __future__ import annotations

import pytest

from specchat_engine import SamplingParams
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters.token_recycling import TokenRecyclingDrafter
from specchat_engine.policy.trees import Branching
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import Settings
from specchat_engine.testing import random_law
from support.conversations import ask, conversation, letters
from support.loops import Loop

PROMPT = [3, 1, 4, 1, 5]


def loop(temperature: float, drafter: TokenRecyclingDrafter, *, seed: int = 1, order: int = 1) -> Loop:
    law = random_law(24, order=order)
    return Loop(law, PROMPT, params=SamplingParams(temperature=temperature), seed=seed, drafter=drafter, wanted=150)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_text_in_which_each_token_follows_from_the_last_is_soon_drafted_right(temperature: float) -> None:
    drafter = TokenRecyclingDrafter()
    found = loop(temperature, drafter)
    plain = Loop(found.law, PROMPT, params=found.params, wanted=150)
    assert found.run() == plain.run()
    assert len(found.target.passes) < 0.45 * len(plain.target.passes)


def test_it_drafts_nothing_after_a_token_that_it_has_not_seen() -> None:
    drafter = TokenRecyclingDrafter()
    context = Context([1, 2, 3], 1, Sampler(SamplingParams(), 1))
    assert drafter.prospect(context).note
    assert drafter.propose(context, 4).tokens == ()


def test_it_is_less_sure_where_the_target_was() -> None:
    drafter = TokenRecyclingDrafter()
    _ = [*loop(0.8, drafter).steps()]
    confidences: list[float] = []
    context = Context([*PROMPT], 1, Sampler(SamplingParams(temperature=0.8), 1), worth_more=lambda _: True)
    draft = drafter.propose(context, 8)
    confidences += draft.confidence
    assert len(set(confidences)) > 1
    assert all(0 < sure <= 1 for sure in confidences)


def test_its_runners_up_are_other_tokens() -> None:
    drafter = TokenRecyclingDrafter()
    for temperature in (0.0, 0.8):
        _ = [*loop(temperature, drafter).steps()]
        context = Context([*PROMPT], 1, Sampler(SamplingParams(temperature=temperature), 1), branches=Branching(4))
        draft = drafter.propose(context, 6)
        assert len(draft.alternatives) == len(draft.tokens) > 1
        for place, (token, other) in enumerate(zip(draft.tokens, draft.alternatives, strict=True)):
            assert other.path[:-1] == draft.tokens[:place]
            assert other.path[-1] != token


def test_it_forgets_other_turns_where_drafts_may_not_depend_on_them() -> None:
    drafter = TokenRecyclingDrafter()
    _ = [*loop(0.0, drafter).steps()]
    context = Context([*PROMPT], 1, Sampler(SamplingParams(), 1))
    assert not drafter.prospect(context).note
    for _ in range(2):  # every turn configures it anew
        drafter.configure(Settings(), may_vary=False)
        assert drafter.prospect(context).note
        _ = [*loop(0.0, drafter).steps()]


@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block"])
def test_a_session_answers_as_it_would_plainly(verifier: str) -> None:
    law = letters(3, order=1, end=-50)
    drafted = conversation(law, drafter="recycling", k=4, verifier=verifier, max_tokens=60)
    ask(drafted)
    assert drafted.stats.num_accepted_tokens > 10
    if verifier == "coupled":
        assert drafted.text == ask(conversation(law, max_tokens=60, k=0))
