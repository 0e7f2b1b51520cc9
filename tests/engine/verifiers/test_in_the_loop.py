"""Verifiers in the decoding loop: what all of them share, and which drafters they refuse."""

from __future__ import annotations

import pytest

from specchat_engine import (
    DecodeError,
    Drafter,
    ModelDrafter,
    PromptLookupDrafter,
    SamplingParams,
    SettingError,
    Settings,
)
from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.verification import ProposalLaw, Verifier
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.testing import ScriptedModel, random_law
from specchat_engine.verifiers import BLOCK, COUPLED, REJECTION, TYPICAL, VERIFIERS
from support.loops import FixedDrafter, Loop, RandomDrafter

N_VOCAB = 24
PROMPT = [3, 1, 4, 1, 5]
LAW = random_law(N_VOCAB)
EVERY = pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=VERIFIERS)
WEIGHING = pytest.mark.parametrize("verifier", [REJECTION, BLOCK], ids=["rejection", "block"])


def drafters() -> list[Drafter]:
    return [
        ModelDrafter(ScriptedModel(random_law(N_VOCAB, seed=2))),
        ModelDrafter(ScriptedModel(LAW)),
        PromptLookupDrafter(1, 2),
        RandomDrafter(N_VOCAB, 1),
    ]


@EVERY
def test_at_temperature_0_every_rule_is_greedy(verifier: Verifier) -> None:
    for params in (SamplingParams(temperature=0), SamplingParams(temperature=0, repeat_penalty=1.5)):
        plain = Loop(LAW, PROMPT, params=params).run()
        for drafter in drafters():
            assert Loop(LAW, PROMPT, params=params, drafter=drafter, verifier=verifier).run() == plain


@EVERY
def test_the_targets_memory_follows_the_text_under_every_rule(verifier: Verifier) -> None:
    for drafter in drafters():
        loop = Loop(LAW, PROMPT, drafter=drafter, ks=lambda place: place % 5, verifier=verifier)
        assert len(loop.run()) == 40


@EVERY
def test_a_seed_repeats_the_text(verifier: Verifier) -> None:
    first, second = (
        Loop(LAW, PROMPT, seed=9, drafter=ModelDrafter(ScriptedModel(random_law(N_VOCAB, seed=2))), verifier=verifier)
        for _ in range(2)
    )
    assert first.run() == second.run()


@WEIGHING
def test_a_twin_of_the_target_is_accepted_whole(verifier: Verifier) -> None:
    loop = Loop(LAW, PROMPT, drafter=ModelDrafter(ScriptedModel(LAW)), verifier=verifier, wanted=50)
    assert all(step.verdict.accepted == len(step.draft) for step in loop.steps())


@WEIGHING
def test_a_drafter_that_does_not_say_what_it_draws_from_is_rejected(verifier: Verifier) -> None:
    drafter = FixedDrafter([(1, 2)], law="unknown")
    with pytest.raises(SettingError, match=f"{verifier.name}.*cannot be lossless.*'fixed'.*coupled"):
        Loop(LAW, PROMPT, drafter=drafter, verifier=verifier).run()


@pytest.mark.parametrize("verifier", [COUPLED, TYPICAL], ids=["coupled", "typical"])
def test_a_rule_that_does_not_weigh_q_takes_any_drafter(verifier: Verifier) -> None:
    assert len(Loop(LAW, PROMPT, drafter=FixedDrafter([(1, 2)], law="unknown"), verifier=verifier).run()) == 40


class Mislabelled(RandomDrafter):
    """Declares one law and proposes by another."""

    def __init__(self, law: ProposalLaw, rows: tuple[Candidates, ...]) -> None:
        super().__init__(N_VOCAB, 1)
        self.law = law
        self._rows = rows

    def propose(self, context: Context, k: int) -> Draft:
        return Draft((1, 2)[:k], self._rows[:k], self.name)


@WEIGHING
@pytest.mark.parametrize(("law", "rows"), [("drawn", 0), ("drawn", 1), ("point", 2), ("either", 1)])
def test_rows_that_contradict_the_declared_law_are_rejected(verifier: Verifier, law: ProposalLaw, rows: int) -> None:
    drafter = Mislabelled(law, (Candidates.certain(1), Candidates.certain(2))[:rows])
    with pytest.raises(SettingError, match=f"'random' declares the law '{law}' and gives {rows} rows of q for 2"):
        Loop(LAW, PROMPT, drafter=drafter, verifier=verifier).run()


@WEIGHING
def test_a_token_that_q_rules_out_is_an_error_and_not_a_division_by_zero(verifier: Verifier) -> None:
    drafter = Mislabelled("drawn", (Candidates.certain(5), Candidates.certain(6)))
    with pytest.raises(DecodeError, match=r"proposed token 1.*gives no chance"):
        Loop(LAW, PROMPT, drafter=drafter, verifier=verifier).run()


def test_an_unknown_verifier_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(SettingError, match="'greedy': use coupled, rejection, block or typical"):
        Settings(verifier="greedy")
