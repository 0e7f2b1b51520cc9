"""Dataclasses as JSON: what goes in comes out, names are read tolerantly and values strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.codec import from_json, to_json


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    colour: Colour
    corners: tuple[Point, ...]
    pair: tuple[int, float] = (1, 2.0)
    middle: Point | None = None
    size: int | Literal["auto"] = "auto"
    round: bool = False
    notes: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


points = st.builds(Point, st.floats(allow_nan=False), st.floats(allow_nan=False))
shapes = st.builds(
    Shape,
    name=st.text(),
    colour=st.sampled_from(Colour),
    corners=st.lists(points, max_size=3).map(tuple),
    pair=st.tuples(st.integers(), st.floats(allow_nan=False)),
    middle=st.none() | points,
    size=st.integers() | st.just("auto"),
    round=st.booleans(),
    notes=st.lists(st.text(), max_size=3),
    more=st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.integers())),
    counts=st.dictionaries(st.text(), st.integers()),
)


@given(shapes)
def test_what_goes_in_comes_out(shape: Shape) -> None:
    line = json.dumps(to_json(shape), allow_nan=False)
    assert from_json(Shape, json.loads(line)) == shape


PLAIN = {"name": "a", "colour": "red", "corners": [{"x": 1}]}


def test_missing_names_have_their_defaults_and_unknown_ones_are_ignored() -> None:
    assert from_json(Shape, PLAIN | {"mood": "good"}) == Shape("a", Colour.RED, (Point(1),))


def test_a_number_that_json_does_not_know_is_its_text() -> None:
    assert to_json(Point(-math.inf)) == {"x": "-inf", "y": 0.0}
    assert from_json(Point, {"x": "-inf"}) == Point(-math.inf)
    with pytest.raises(ValueError, match="not a number"):
        from_json(Point, {"x": "1.5"})


@pytest.mark.parametrize(
    "change",
    [
        {"name": 1},
        {"name": None},
        {"colour": "green"},
        {"corners": [{"y": 1}]},
        {"corners": [1]},
        {"corners": "ab"},
        {"pair": [1]},
        {"pair": [1, 2, 3]},
        {"middle": {"x": True}},
        {"size": "large"},
        {"size": 1.5},
        {"round": 1},
        {"notes": [1]},
        {"more": []},
        {"counts": {"a": "b"}},
    ],
)
def test_a_value_of_another_type_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(Shape, PLAIN | change)


@pytest.mark.parametrize("value", [None, [], "a", {}, {"name": "a"}])
def test_anything_else_is_an_error(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(Shape, value)


def test_a_field_without_a_form_in_json_is_a_mistake_of_the_program() -> None:
    @dataclass
    class Odd:
        made: object

    with pytest.raises(TypeError, match="no form in JSON"):
        from_json(Odd, {"made": 1})


@dataclass(frozen=True, slots=True)
class Celsius:
    degrees: int

    def to_json(self) -> str:
        return f"{self.degrees} °C"

    @classmethod
    def from_json(cls, value: Any) -> Celsius:
        return cls(int(str(value).removesuffix(" °C")))


@dataclass(frozen=True, slots=True)
class Weather:
    hours: tuple[Celsius, ...]


def test_a_class_may_bring_its_own_form() -> None:
    weather = Weather((Celsius(3), Celsius(-1)))
    assert to_json(weather) == {"hours": ["3 °C", "-1 °C"]}
    assert from_json(Weather, to_json(weather)) == weather
    with pytest.raises(ValueError, match="warm"):
        from_json(Weather, {"hours": ["warm"]})
