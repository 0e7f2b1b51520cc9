"""The loop: the text is the target's whatever drafts, and the memory is right after every step."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, Drafter, ModelDrafter, PromptLookupDrafter, SamplingParams, TokenKind
from specchat_engine.decoding.verification import Rows, Verdict
from specchat_engine.testing import Law, ScriptedModel, peaked, random_law
from specchat_engine.verifiers import COUPLED
from support.loops import FixedDrafter, Loop, RandomDrafter

N_VOCAB = 24
PROMPT = [3, 1, 4, 1, 5]


def near(law: Law, seed: int, noise: float) -> Law:
    """A law that resembles another one."""
    other = random_law(N_VOCAB, seed=seed, spread=noise)
    return lambda tokens: law(tokens) + other(tokens)


def some_drafter(kind: str, law: Law, seed: int) -> Drafter:
    if kind == "lookup":
        return PromptLookupDrafter(1, 3)
    if kind == "random":
        return RandomDrafter(N_VOCAB, seed)
    if kind == "small model":
        return ModelDrafter(ScriptedModel(near(law, seed, 0.5), capacity=20))
    return ModelDrafter(ScriptedModel(near(law, seed, {"twin": 0.0, "cousin": 1.0, "stranger": 9.0}[kind])))


params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.3, 0.8, 1.5]),
    top_k=st.sampled_from([0, 5, 40]),
    typical_p=st.sampled_from([1.0, 1.0, 0.8]),
    repeat_penalty=st.sampled_from([1.0, 1.3]),
    frequency_penalty=st.sampled_from([0.0, 0.4]),
    presence_penalty=st.sampled_from([0.0, 0.5]),
    penalty_last_n=st.sampled_from([-1, 4, 64]),
)


@settings(max_examples=120)
@given(
    st.sampled_from(["twin", "cousin", "stranger", "small model", "lookup", "random"]),
    params,
    st.integers(0, 1000),
    st.one_of(st.just(None), st.integers(0, 9)),
)
def test_the_answer_does_not_depend_on_who_drafts_or_how_much(
    kind: str, sampling: SamplingParams, seed: int, k: int | None
) -> None:
    law = random_law(N_VOCAB, seed=seed, order=1 + seed % 3)
    ends = frozenset({seed % N_VOCAB})
    changing = random.Random(seed)

    def ks(place: int) -> int:
        return changing.randint(0, 9) if k is None else k

    plain = Loop(law, PROMPT, params=sampling, seed=seed, ends=ends)
    drafted = Loop(law, PROMPT, params=sampling, seed=seed, ends=ends, drafter=some_drafter(kind, law, seed), ks=ks)
    assert drafted.run() == plain.run()


@pytest.mark.parametrize("sharpness", [0.3, 2.0, 50.0])
def test_the_answer_does_not_depend_on_how_sharp_the_draft_is(sharpness: float) -> None:
    sampling = SamplingParams(temperature=0.9)
    plain = Loop(random_law(N_VOCAB), PROMPT, params=sampling)
    drafter = ModelDrafter(ScriptedModel(random_law(N_VOCAB, seed=2)))
    drafted = Loop(random_law(N_VOCAB), PROMPT, params=sampling, drafter=drafter, sharpness=sharpness)
    assert drafted.run() == plain.run()


def test_a_perfect_draft_that_draws_from_all_tokens_is_accepted_whole_at_any_temperature() -> None:
    law = random_law(N_VOCAB)
    for temperature in (0.0, 0.8):
        sampling = SamplingParams(temperature=temperature, min_p=0.0, repeat_penalty=1.2)
        loop = Loop(law, PROMPT, params=sampling, drafter=ModelDrafter(ScriptedModel(law)), wanted=50)
        kinds = [step.verdict.kind for step in loop.steps()]
        assert kinds == [TokenKind.BONUS] * 10
        assert loop.target.passes == [5] * 10


def test_every_round_is_one_target_pass_over_the_draft_and_one_token_more() -> None:
    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=RandomDrafter(N_VOCAB, 1), ks=lambda place: place % 6)
    widths = [len(step.draft) + 1 for step in loop.steps()]
    assert loop.target.passes == widths
    assert max(widths) > 1


def test_k_is_an_upper_bound_and_the_last_round_drafts_only_what_is_wanted() -> None:
    law = random_law(N_VOCAB)
    sampling = SamplingParams(temperature=0)
    loop = Loop(law, PROMPT, params=sampling, drafter=ModelDrafter(ScriptedModel(law)), ks=lambda _: 7, wanted=10)
    assert [len(step.draft) for step in loop.steps()] == [7, 1]
    assert len(loop.answer) == 10


@pytest.mark.parametrize("kind", ["twin", "cousin", "stranger", "small model"])
def test_the_drafts_memory_is_always_a_prefix_of_the_context(kind: str) -> None:
    law = random_law(N_VOCAB)
    drafter = some_drafter(kind, law, 5)
    assert isinstance(drafter, ModelDrafter)
    loop = Loop(law, PROMPT, drafter=drafter, ks=lambda place: place % 5)
    for _ in loop.steps():
        loop.check()
        model = drafter.model
        assert isinstance(model, ScriptedModel)
        assert model.tokens == loop.context.tokens[: len(model.tokens)]


def test_an_end_inside_an_accepted_run_discards_the_tokens_after_it() -> None:
    law = peaked([7, 8, 9, 10, 11], N_VOCAB, prompt_length=len(PROMPT))
    drafter = FixedDrafter([(7, 8, 9, 10)])
    loop = Loop(law, PROMPT, drafter=drafter, ends=frozenset({8}), params=SamplingParams(temperature=0))
    (step,) = loop.steps()
    loop.check()
    assert loop.answer == [7, 8]
    verdict = step.verdict
    assert (step.num_emitted, step.end, verdict.accepted, verdict.compared) == (2, "end", 2, 2)
    assert (verdict.token, verdict.kind) == (None, TokenKind.NONE)
    assert drafter.seen == [(step.draft, verdict)], "the drafter learns what was kept, not what was compared"


def test_an_end_before_a_rejection_hides_the_rejection() -> None:
    law = peaked([7, 8, 9], N_VOCAB, prompt_length=len(PROMPT))
    loop = Loop(
        law,
        PROMPT,
        drafter=FixedDrafter([(7, 1, 9)]),
        ends=frozenset({7}),
        params=SamplingParams(temperature=0),
    )
    (step,) = loop.steps()
    assert (step.verdict.accepted, step.verdict.compared, step.verdict.kind) == (1, 1, TokenKind.NONE)


def test_the_targets_own_end_token_is_a_correction() -> None:
    law = peaked([7, 8], N_VOCAB, prompt_length=len(PROMPT))
    sampling = SamplingParams(temperature=0)
    loop = Loop(law, PROMPT, drafter=FixedDrafter([(7, 1, 9)]), ends=frozenset({8}), params=sampling)
    (step,) = loop.steps()
    assert (step.verdict.token, step.verdict.kind, loop.answer) == (8, TokenKind.CORRECTION, [7, 8])


def test_a_drafter_that_raises_leaves_the_target_as_it_was() -> None:
    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=FixedDrafter([(1, 2), ValueError("a broken plug-in")]))
    with pytest.raises(ValueError, match="plug-in"):
        loop.run()
    loop.check()


def test_a_verifier_that_raises_leaves_the_target_as_it_was() -> None:
    def broken(drafted: object, rows: Rows, proposals: object, chance: object) -> Verdict:
        raise ZeroDivisionError

    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=FixedDrafter([(1, 2)]), verifier=replace(COUPLED, decide=broken))
    with pytest.raises(ZeroDivisionError):
        loop.run()
    loop.check()


def test_a_row_of_nan_is_an_error_and_leaves_the_target_as_it_was() -> None:
    healthy = random_law(N_VOCAB)

    def law(tokens: tuple[int, ...]) -> np.ndarray:
        return healthy(tokens) if len(tokens) < 9 else np.full(N_VOCAB, np.nan, np.float32)

    loop = Loop(law, PROMPT, drafter=RandomDrafter(N_VOCAB, 2))
    with pytest.raises(DecodeError, match="weights are broken"):
        loop.run()
    loop.check()


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_reader_who_stops_leaves_the_target_as_it_was(rounds: int) -> None:
    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=RandomDrafter(N_VOCAB, 3))
    steps = loop.steps()
    for _ in range(rounds):
        next(steps)
    steps.close()
    loop.check()


def test_a_drafter_that_is_allowed_nothing_is_not_asked() -> None:
    drafter = FixedDrafter([(1, 2)])
    loop = Loop(random_law(N_VOCAB), PROMPT, drafter=drafter, ks=lambda _: 0, wanted=3)
    assert [step.verdict.kind for step in loop.steps()] == [TokenKind.PLAIN] * 3
    assert drafter.drafts == [(1, 2)]
