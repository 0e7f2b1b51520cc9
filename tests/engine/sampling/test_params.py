"""Biases by token id: what can be written, what it means, and what is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from specchat_engine import SamplingParams, SettingError
from specchat_engine.codec import to_json


def test_biases_are_kept_in_order_and_add_up() -> None:
    written: Any = [[9, 1], (3, -0.5), [9, 0.25]]
    assert SamplingParams(logit_bias=written).logit_bias == ((3, -0.5), (9, 1.25))
    mapping: Any = {9: 1.25, 3: -0.5}
    assert SamplingParams(logit_bias=mapping) == SamplingParams(logit_bias=written)
    assert hash(SamplingParams(logit_bias=mapping)) == hash(SamplingParams(logit_bias=written))


def test_a_ban_stays_a_ban_whatever_is_added() -> None:
    assert SamplingParams(logit_bias=((1, 50.0), (1, -math.inf))).logit_bias == ((1, -math.inf),)


def test_parameters_survive_the_way_through_json() -> None:
    params = SamplingParams(temperature=0.3, logit_bias=((1, 0.5), (2, -math.inf)), grammar='root ::= "é"')
    line = json.dumps(to_json(params), allow_nan=False)
    assert SamplingParams(**json.loads(line)) == params


@pytest.mark.parametrize(
    ("bias", "named"),
    [
        ([(1, math.nan)], "logit_bias is nan for token 1: use -10000 to 10000, or -inf to ban it"),
        ([(1, math.inf)], "logit_bias is inf for token 1"),
        ([(1, 1e39)], "logit_bias is 1e+39 for token 1"),
        ([(-1, 1.0)], "logit_bias names token -1: use the token's id"),
        ([("the", 1.0)], "logit_bias names token 'the'"),
        ([(1, "much")], "logit_bias holds (1, 'much'): use pairs"),
        ([7], "logit_bias holds 7"),
        ("7=1", "logit_bias holds '7=1'"),
        (7, "logit_bias holds 7"),
        ({1: None}, "logit_bias holds (1, None)"),
    ],
)
def test_a_bias_that_makes_no_sense_is_rejected_by_name(bias: Any, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        SamplingParams(logit_bias=bias)
    assert str(caught.value).startswith(named)


def test_a_bias_on_a_token_that_does_not_exist_names_the_vocabulary() -> None:
    params = SamplingParams(logit_bias=((99, 1.0), (100, 1.0)))
    params.check_tokens(101)
    with pytest.raises(SettingError, match="logit_bias names token 100: this vocabulary has 0 to 99"):
        params.check_tokens(100)


def test_a_grammar_is_a_text() -> None:
    nothing: Any = None
    with pytest.raises(SettingError, match="grammar is None"):
        SamplingParams(grammar=nothing)
