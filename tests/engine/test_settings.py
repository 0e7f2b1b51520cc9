"""A setting with an impossible value is rejected in one line that says what to use."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from specchat_engine import EngineError, SamplingParams, SettingError, Settings


def refusal(kind: type, **values: Any) -> str:
    with pytest.raises(SettingError) as caught:
        kind(**values)
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


@pytest.mark.parametrize("k", [-1, 257, 10**9])
def test_a_k_out_of_range_is_rejected(k: int) -> None:
    assert f"k is {k}: use auto, or a whole number from 0 to 256 (0 is plain decoding)" in refusal(Settings, k=k)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"drafter": ""}, "none or the name of a drafter of your own"),
        ({"max_tokens": -1}, "max_tokens is -1: use a whole number from 0"),
        ({"ngram_min": 0}, "0 to 32"),
        ({"ngram_min": 33}, "33 to 32"),
        ({"ngram_max": 65}, "2 to 65"),
        ({"lookup": "everywhere"}, "use all or conversation"),
        ({"stop": ("a", "")}, "stop string is empty"),
    ],
)
def test_other_settings_out_of_range_are_rejected(values: dict[str, Any], named: str) -> None:
    assert named in refusal(Settings, **values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("temperature", "hot"),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 1.1),
        ("min_p", -0.5),
        ("typical_p", 2),
        ("repeat_penalty", 0),
        ("frequency_penalty", -11),
        ("presence_penalty", math.nan),
        ("penalty_last_n", -2),
    ],
)
def test_sampling_out_of_range_is_rejected_by_name(name: str, value: Any) -> None:
    assert refusal(SamplingParams, **{name: value}).startswith(f"{name} is {value!r}: use a ")


def test_the_defaults_are_llama_cpps() -> None:
    sampling = Settings().sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p) == (0.8, 40, 0.95, 0.05)
    assert not sampling.penalises


@pytest.mark.parametrize("values", [{"repeat_penalty": 1.1}, {"presence_penalty": 0.1}, {"frequency_penalty": -0.1}])
def test_penalties_need_a_window(values: dict[str, Any]) -> None:
    assert SamplingParams(**values).penalises
    assert not SamplingParams(**values, penalty_last_n=0).penalises


def test_a_setting_error_is_a_value_error_and_an_engine_error() -> None:
    assert issubclass(SettingError, ValueError)
    assert issubclass(SettingError, EngineError)


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().k = 3  # type: ignore[misc]


def test_a_message_with_line_breaks_becomes_one_line() -> None:
    assert str(EngineError("no\nsuch\r\nfile\u2028here")) == "no such file here"
