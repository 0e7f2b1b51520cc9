from __future__ import annotations

from pathlib import Path

import pytest

from specchat.settings.options import ChatOptions
from specchat.settings.schema import LONGEST_ANSWER
from specchat_engine import LoadOptions
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams

BOTH = ("hybrid", "model", "lookup", "none")


def options(sampling: dict[str, object] | None = None, **chosen: object) -> ChatOptions:
    return ChatOptions(Path("t"), None, LoadOptions(), chosen, sampling or {})


def test_the_users_choice_overrides_the_models_recommendation() -> None:
    recommended = SamplingParams(temperature=0.6, top_k=20)
    assert options(sampling={"temperature": 0.0}).sampled(recommended) == SamplingParams(temperature=0.0, top_k=20)


def test_a_grammar_and_biases_reach_the_engine() -> None:
    chosen = options(sampling={"grammar": 'root ::= "a"', "logit_bias": ((5, -1.0),)})
    assert chosen.sampled(SamplingParams()) == SamplingParams(grammar='root ::= "a"', logit_bias=((5, -1.0),))


def test_a_value_out_of_range_is_rejected() -> None:
    with pytest.raises(SettingError, match="temperature is -1"):
        options(sampling={"temperature": -1}).sampled(SamplingParams())


def test_whatever_is_there_drafts_unless_one_that_can_was_chosen() -> None:
    assert options().settings(SamplingParams(), BOTH).drafter == "hybrid"
    assert options(drafter="none").settings(SamplingParams(), BOTH).drafter == "none"
    assert options(drafter="model").settings(SamplingParams(), ("hybrid", "lookup", "none")).drafter == "hybrid"


def test_the_verifier_and_lookup_reach_the_settings_of_the_first_turn() -> None:
    assert options().settings(SamplingParams(), BOTH).verifier == "coupled"
    assert options(verifier="block").settings(SamplingParams(), BOTH).verifier == "block"
    assert options(lookup="conversation").settings(SamplingParams(), BOTH).lookup == "conversation"


def test_an_answer_ends_in_a_chat_even_if_the_model_never_ends_it_and_the_user_may_choose_another_limit() -> None:
    limits = [
        options(**chosen).settings(SamplingParams(), BOTH).max_tokens
        for chosen in ({}, {"max_tokens": 0}, {"max_tokens": 64})
    ]
    assert limits == [LONGEST_ANSWER, 0, 64]
