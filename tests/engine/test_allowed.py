"""Which values a field of the settings may have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from specchat_engine.allowed import OneOf, Range, check, default_of, rule_of, setting
from specchat_engine.errors import SettingError


@dataclass(frozen=True, slots=True)
class Oven:
    heat: float = setting(180.0, Range(50.0, 250.0, "180 is usual"))
    minutes: int | str = setting("auto", Range(1, 120, whole=True, auto=True))
    mode: str = setting("fan", OneOf(("fan", "grill", "both")))
    label: str = ""

    def __post_init__(self) -> None:
        check(self)


def rejection(**values: object) -> str:
    with pytest.raises(SettingError) as caught:
        Oven(**values)  # type: ignore[arg-type]
    return str(caught.value)


def test_values_at_both_ends_are_allowed() -> None:
    assert Oven(heat=50, minutes=1, mode="grill") != Oven(heat=250.0, minutes=120)
    assert Oven(minutes="auto").minutes == "auto"


def test_a_rejected_value_is_named_with_those_that_can_be_used() -> None:
    assert rejection(heat=251) == "heat is 251: use a number from 50 to 250 (180 is usual)"
    assert rejection(minutes=0) == "minutes is 0: use auto, or a whole number from 1 to 120"
    assert rejection(mode="off") == "mode is 'off': use fan, grill or both"


@pytest.mark.parametrize("heat", [math.nan, math.inf, "hot", "auto", None])
def test_only_finite_numbers_are_in_a_range(heat: object) -> None:
    assert rejection(heat=heat).startswith(f"heat is {heat!r}: use a number")


def test_a_fraction_is_not_a_whole_number() -> None:
    assert rejection(minutes=1.5).startswith("minutes is 1.5")


def test_rules_and_defaults_can_be_asked_for_by_name() -> None:
    assert rule_of(Oven, "mode") == OneOf(("fan", "grill", "both"))
    assert rule_of(Oven, "label") is None
    assert (default_of(Oven, "heat"), default_of(Oven, "label")) == (180.0, "")
