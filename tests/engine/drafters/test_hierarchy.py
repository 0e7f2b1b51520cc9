"""Lookup drafts for the draft model: the same drafts in fewer passes, and a memory that is right afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Engine, LoadOptions, ModelDrafter, SamplingParams, Settings
from specchat_engine.drafters import GUESSED, HierarchyDrafter
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.testing import Law, ScriptedModel, random_law
from support.loops import Loop
from support.tiny_models import EngineFiles

N_VOCAB = 12
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 3, 1, 4, 1, 5, 9, 2, 6]


def cousin(law: Law) -> Law:
    other = random_law(N_VOCAB, seed=9, order=1, spread=0.5)
    return lambda tokens: law(tokens) + other(tokens)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 500), st.sampled_from([0.0, 0.8]), st.integers(1, 8), st.sampled_from([1, 3, GUESSED + 1]))
def test_its_drafts_are_those_of_the_draft_model_alone(seed: int, temperature: float, k: int, rows: int) -> None:
    law = random_law(N_VOCAB, seed=seed, order=1)
    sampling = SamplingParams(temperature=temperature)
    drafts = []
    for kind in (ModelDrafter, HierarchyDrafter):
        model = ScriptedModel(cousin(law), max_rows=rows)
        drafter = kind(model)
        loop = Loop(law, PROMPT, params=sampling, drafter=drafter, ks=lambda _: k, wanted=80)
        found = []
        for step in loop.steps():
            loop.check()
            assert model.tokens == loop.context.tokens[: model.length]
            found.append(step.draft.tokens)
        drafts.append((found, loop.answer))
    assert drafts[0] == drafts[1]


def test_a_text_that_repeats_itself_takes_the_draft_model_fewer_passes() -> None:
    law = random_law(N_VOCAB, order=1)
    passes = []
    for kind in (ModelDrafter, HierarchyDrafter):
        model = ScriptedModel(law, max_rows=GUESSED + 1)
        Loop(law, PROMPT, params=SamplingParams(temperature=0), drafter=kind(model), ks=lambda _: 6, wanted=150).run()
        passes.append(len(model.passes))
    assert passes[1] < 0.6 * passes[0]


@pytest.mark.parametrize("turn", ["that goes on", "of another conversation", "that was edited"])
def test_a_turn_is_guessed_from_its_own_conversation(turn: str) -> None:
    """With as many passes over as many tokens as by a drafter that has read nothing else."""
    law = random_law(N_VOCAB, order=1)
    loops: list[Loop] = []

    def answer(model: ScriptedModel, drafter: HierarchyDrafter, prompt: list[int]) -> list[int]:
        drafter.open(prompt, Fitted(prompt, (), 0))
        before = len(model.passes)
        params = SamplingParams(temperature=1.5)
        loops.append(Loop(law, prompt, params=params, drafter=drafter, ks=lambda _: 6, wanted=100, seed=len(prompt)))
        loops[-1].run()
        return model.passes[before:]

    model = ScriptedModel(law, max_rows=GUESSED + 1)
    drafter = HierarchyDrafter(model)
    answer(model, drafter, PROMPT)
    said = loops[0].context.tokens
    prompt = {
        "that goes on": [*said, *PROMPT],
        "of another conversation": PROMPT[::-1],
        "that was edited": [*said[:-30], *PROMPT],
    }[turn]
    again = answer(model, drafter, prompt)
    fresh = ScriptedModel(law, max_rows=GUESSED + 1)
    read = answer(fresh, HierarchyDrafter(fresh), prompt)
    assert again[-50:] == read[-50:]
    assert max(again[-50:]) > GUESSED


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_an_engine_with_three_levels_says_what_it_would_say_plainly(files: EngineFiles, temperature: float) -> None:
    options = LoadOptions(threads=1, hierarchy="on")
    sampling = SamplingParams(temperature=temperature)
    with Engine.load(files.target, files.draft, options) as engine:
        texts = []
        for drafter, k in (("model", 6), ("none", 0)):
            engine.forget()
            session = engine.session(settings=Settings(drafter=drafter, k=k, max_tokens=60, sampling=sampling), seed=4)
            for prompt in ("one two one two", "and again: one two one two"):
                list(session.generate(prompt))
                texts.append(session.text)
        assert texts[:2] == texts[2:]
    assert Path(files.draft).exists()
