"""What the messages of a watched server mean. They may come from anyone."""

from __future__ import annotations

from typing import Any

import pytest

from app.watching.samples import end, event, failure, made, start, state
from specchat.watching.events import Began, Failed, Over, RoundEvent, Running, read_message


def test_each_line_of_a_trace_is_an_event_with_the_number_of_its_request() -> None:
    began, over = read_message(start(3)), read_message(end(3, "text"))
    assert isinstance(began, Began)
    assert (began.number, began.start["seed"]) == (3, 7)
    assert read_message(made(3, 0)) == RoundEvent(3, event(0))
    assert read_message(failure(3, "no")) == Failed(3, "no")
    assert isinstance(over, Over)
    assert (over.number, over.end["text"]) == (3, "text")
    assert read_message(state(1, 2, lost=5)) == Running((1, 2), 5)


def test_a_message_of_an_unknown_kind_is_nothing() -> None:
    assert read_message({"type": "weather", "sun": True}) is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ([1], "it is no JSON object"),
        (state("x"), "running is"),  # type: ignore[arg-type] # what the test is about
        ({"type": "watch", "running": []}, "it has no lost"),
        ({**start(1), "request": -1}, "request is -1"),
        ({**start(1), "seed": "x"}, "seed is 'x'"),
        ({**start(1), "schema": 99}, "update specchat"),
        ({**made(1, 0), "drafted": 5}, "drafted is 5"),
        ({**end(1, ""), "stats": None}, "stats is None"),
        (failure(1, 5), "message is 5"),  # type: ignore[arg-type] # what the test is about
    ],
)
def test_a_message_that_cannot_be_read_names_what_is_wrong(message: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_message(message)
