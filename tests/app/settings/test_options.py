from __future__ import annotations

from pathlib import Path

import pytest

from specchat.settings.options import ChatOptions, SamplingOverrides
from specchat_engine import LoadOptions
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams

BOTH = ("hybrid", "model", "lookup", "none")


def options(**changes: object) -> ChatOptions:
    return ChatOptions(**{"target": Path("t"), "draft": None, "options": LoadOptions(), **changes})  # type: ignore[arg-type]


def test_the_user_comes_before_the_models_recommendation() -> None:
    recommended = SamplingParams(temperature=0.6, top_k=20)
    assert SamplingOverrides(temperature=0.0).over(recommended) == SamplingParams(temperature=0.0, top_k=20)


def test_a_grammar_and_biases_reach_the_engine() -> None:
    overrides = SamplingOverrides(grammar='root ::= "a"', logit_bias=((5, -1.0),))
    assert overrides.over(SamplingParams()) == SamplingParams(grammar='root ::= "a"', logit_bias=((5, -1.0),))


def test_a_value_out_of_range_is_refused() -> None:
    with pytest.raises(SettingError, match="temperature is -1"):
        SamplingOverrides(temperature=-1).over(SamplingParams())


def test_the_draft_model_or_lookup_drafts_where_both_can() -> None:
    assert options().settings(SamplingParams(), BOTH).drafter == "hybrid"
    assert options().settings(SamplingParams(), BOTH[2:]).drafter == "lookup"


def test_a_chosen_drafter_is_kept_where_it_can_work() -> None:
    assert options(drafter="none").settings(SamplingParams(), BOTH).drafter == "none"
    assert options(drafter="model").settings(SamplingParams(), BOTH[2:]).drafter == "lookup"


def test_the_verifier_reaches_the_settings_of_the_first_turn() -> None:
    assert options().settings(SamplingParams(), BOTH).verifier == "coupled"
    assert options(verifier="block").settings(SamplingParams(), BOTH).verifier == "block"
