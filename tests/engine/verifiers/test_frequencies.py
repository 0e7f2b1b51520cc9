"""The whole loop, noise and all, says each text as often as the target's law has it."""

from __future__ import annotations

import pytest

from specchat_engine import ModelDrafter, PromptLookupDrafter
from specchat_engine.decoding.verification import Verifier
from specchat_engine.testing import Law, ScriptedModel
from specchat_engine.verifiers import BLOCK, COUPLED, REJECTION, TYPICAL
from support.frequencies import LAWS, excess

TARGET, OTHER = LAWS[0]


@pytest.mark.parametrize(("target", "other"), LAWS, ids=["alike", "apart"])
@pytest.mark.parametrize("verifier", [COUPLED, REJECTION, BLOCK], ids=lambda verifier: verifier.name)
def test_a_small_model_drafting_leaves_the_law_as_it_is(verifier: Verifier, target: Law, other: Law) -> None:
    assert excess(target, lambda: ModelDrafter(ScriptedModel(other)), verifier) < 1


@pytest.mark.parametrize("verifier", [COUPLED, REJECTION, BLOCK], ids=lambda verifier: verifier.name)
def test_prompt_lookup_leaves_the_law_as_it_is(verifier: Verifier) -> None:
    assert excess(TARGET, lambda: PromptLookupDrafter(1, 2), verifier) < 1


def test_the_counting_notices_a_rule_that_is_lossy() -> None:
    assert excess(TARGET, lambda: ModelDrafter(ScriptedModel(OTHER)), TYPICAL) > 2
