"""A draft model proposes with the target's own rule and noise, and never reads more than its context holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specchat_engine import Cancelled, ModelDrafter, SamplingParams
from specchat_engine.decoding.drafts import Context
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import ScriptedModel, peaked, random_law
from support.loops import Loop

N_VOCAB = 24
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
LAW = random_law(N_VOCAB)
WHOLE = SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0)


def context(sampling: SamplingParams = WHOLE, ends: frozenset[int] = frozenset()) -> Context:
    return Context(list(PROMPT), len(PROMPT) - 2, Sampler(sampling, 5), ends)


def begun(**options: int) -> tuple[ModelDrafter, ScriptedModel]:
    model = ScriptedModel(LAW, **options)
    drafter = ModelDrafter(model)
    drafter.begin(PROMPT, lambda: False)
    model.passes.clear()
    return drafter, model


def test_it_proposes_what_the_target_would_draw_from_the_same_law() -> None:
    drafter, _ = begun()
    own = context()
    draft = drafter.propose(own, 5)
    said = list(PROMPT)
    for place, token in enumerate(draft.tokens):
        row = own.sampler.candidates(LAW(tuple(said)), said)
        assert token == own.sampler.draw(row, 2 + place)
        assert draft.rows[place].probability(token) == pytest.approx(row.probability(token))
        said.append(token)
    assert len(draft) == 5
    assert draft.source == "model"


def test_a_sharper_draft_is_drawn_from_the_power_of_q_that_it_reports() -> None:
    plain, sharp = context(), context()
    sharp.sharpness = 2.0
    (row,) = begun()[0].propose(plain, 1).rows
    draft = begun()[0].propose(sharp, 1)
    assert np.array_equal(draft.rows[0].log_p, row.sharpened(2.0).log_p)
    assert draft.tokens[0] == sharp.sampler.draw(row.sharpened(2.0), 2)


def test_its_confidence_stays_that_of_q_itself() -> None:
    plain, sharp = context(), context()
    sharp.sharpness = 50.0
    for each in (plain, sharp):
        each.worth_more = lambda _: False
    assert begun()[0].propose(sharp, 1).confidence[0] <= max(np.exp(begun()[0].propose(plain, 1).rows[0].log_p)) + 1e-9


def test_q_is_the_probability_after_truncation() -> None:
    drafter, _ = begun()
    draft = drafter.propose(context(SamplingParams(temperature=0)), 3)
    assert [row.only for row in draft.rows] == [*draft.tokens]


def test_it_penalises_its_own_draft_as_the_target_will() -> None:
    always_seven = peaked([7], N_VOCAB, prompt_length=len(PROMPT), peak=5.0)
    drafter = ModelDrafter(ScriptedModel(always_seven))
    drafter.begin(PROMPT, lambda: False)
    sampling = SamplingParams(temperature=0, presence_penalty=9)
    first, second = drafter.propose(context(sampling), 2).tokens
    assert first == 7 != second


def test_a_round_costs_one_pass_a_token_also_after_a_full_accept() -> None:
    drafter, model = begun()
    loop = Loop(LAW, PROMPT, params=WHOLE, drafter=drafter, wanted=25)
    model.passes.clear()
    for _ in loop.steps():
        pass
    assert model.passes == [1, 1, 1, 1] + [2, 1, 1, 1] * 4


def test_after_a_rejection_it_reads_only_the_correction() -> None:
    drafter, model = begun()
    loop = Loop(random_law(N_VOCAB, seed=77), PROMPT, drafter=drafter, wanted=25)
    steps = list(loop.steps())
    assert all(step.verdict.accepted < 4 for step in steps)
    assert set(model.passes) == {1}


def test_it_stops_after_a_token_that_ends_the_answer() -> None:
    drafter, _ = begun()
    free = drafter.propose(context(), 5).tokens
    again, _ = begun()
    assert again.propose(context(ends=frozenset({free[1]})), 5).tokens == free[: free.index(free[1]) + 1]


@pytest.mark.parametrize(("capacity", "drafted"), [(7, 0), (8, 1), (9, 2), (10, 3), (100, 6)])
def test_it_drafts_only_what_its_context_holds(capacity: int, drafted: int) -> None:
    drafter, model = begun(capacity=capacity)
    draft = drafter.propose(context(), 6)
    assert len(draft) == drafted
    assert len(model.tokens) <= capacity
    assert ("full" in draft.note) == (drafted == 0)


def test_a_prompt_longer_than_its_context_is_read_as_far_as_it_goes() -> None:
    _, model = begun(capacity=5)
    assert model.tokens == PROMPT[:5]


def test_a_cancel_stops_the_reading_of_its_prompt() -> None:
    model = ScriptedModel(LAW, chunk=2)
    with pytest.raises(Cancelled):
        ModelDrafter(model).begin(PROMPT, lambda: len(model.passes) == 2)
    assert model.tokens == PROMPT[:4]


def test_a_second_turn_reads_only_what_is_new() -> None:
    drafter, model = begun()
    drafter.begin([*PROMPT, 8, 8, 8], lambda: False)
    assert model.passes == [3]


def test_every_q_is_a_probability() -> None:
    drafter, _ = begun()
    draft = drafter.propose(context(), 12)
    q = [row.probability(token) for row, token in zip(draft.rows, draft.tokens, strict=True)]
    assert all(0 < value <= 1 and math.isfinite(value) for value in q)
    assert np.ptp(q) > 0
