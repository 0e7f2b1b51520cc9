"""The whole loop, noise and all, says each text as often as the target's law has it."""

from __future__ import annotations

from functools import partial

import pytest

from specchat_engine import ModelDrafter, PromptLookupDrafter
from specchat_engine.decoding.verification import Verifier
from specchat_engine.testing import Law, ScriptedModel
from specchat_engine.verifiers import BLOCK, COUPLED, REJECTION, TYPICAL
from support.frequencies import LAWS, excess

TARGET, OTHER = LAWS[0]


def drafting(law: Law) -> ModelDrafter:
    return ModelDrafter(ScriptedModel(law))


@pytest.mark.parametrize("verifier", [COUPLED, REJECTION, BLOCK], ids=lambda verifier: verifier.name)
def test_a_small_model_drafting_leaves_the_law_as_it_is(verifier: Verifier) -> None:
    for target, other in LAWS[: 1 if verifier is COUPLED else 2]:
        assert excess(target, partial(drafting, other), verifier) < 1


@pytest.mark.parametrize("verifier", [COUPLED, REJECTION, BLOCK], ids=lambda verifier: verifier.name)
def test_prompt_lookup_leaves_the_law_as_it_is(verifier: Verifier) -> None:
    assert excess(TARGET, lambda: PromptLookupDrafter(1, 2), verifier) < 1


def test_the_counting_notices_a_rule_that_is_lossy() -> None:
    assert excess(TARGET, partial(drafting, OTHER), TYPICAL) > 2
