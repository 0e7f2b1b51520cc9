"""Which place a request gets."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from types import SimpleNamespace
from typing import Any, cast

import pytest

from specchat.engine_process.places import Places
from specchat_engine import Engine


def places_of(count: int) -> Places:
    """The places of an engine whose sessions only know their number and what they have read."""
    cleared: list[int] = []

    def session(seed: int, place: int) -> Any:
        pair = SimpleNamespace(lock=RLock(), clear=lambda: cleared.append(place))
        return SimpleNamespace(number=place, prompt_ids=[], answer_ids=[], pair=pair, cleared=cleared)

    engine = SimpleNamespace(options=SimpleNamespace(parallel=count), session=session)
    return Places(cast(Engine, engine))


def asked(places: Places, prompt: Sequence[int], answer: Sequence[int] = ()) -> int:
    """Asks in some place; returns its number."""
    with places.taken(prompt) as session:
        found = cast(Any, session)
        found.prompt_ids, found.answer_ids = [*prompt], [*answer]
        number: int = found.number
    return number


def test_a_conversation_stays_where_it_is() -> None:
    places = places_of(3)
    conversation = [1, 2, 3, 4]
    assert asked(places, conversation, [5, 6]) == 0
    assert asked(places, [7, 8, 9]) == 1
    for _ in range(4):
        conversation += [5, 6, 7, 8]
        assert asked(places, conversation, [5, 6]) == 0


def test_a_new_conversation_takes_the_place_that_was_not_used_for_longest() -> None:
    places = places_of(3)
    assert [asked(places, [number] * 4) for number in range(10, 16)] == [0, 1, 2, 0, 1, 2]


def test_what_all_prompts_begin_with_makes_none_of_them_another_ones_continuation() -> None:
    places = places_of(3)
    system = [1, 2, 3]
    assert [asked(places, [*system, *[number] * 9]) for number in range(10, 16)] == [0, 1, 2, 0, 1, 2]


def test_of_two_beginnings_the_longer_one_is_gone_on_with() -> None:
    places = places_of(3)
    assert asked(places, [1, 2]) == 0
    assert asked(places, [9, 9, 9]) == 1
    with places.taken([1, 2, 3, 4]):
        assert asked(places, [1, 2, 3, 4, 5]) == 2, "while the one that goes on is taken"
    assert asked(places, [1, 2, 3, 4, 5, 6]) == 2


def test_a_place_is_free_after_an_error_and_emptied_only_if_nobody_foresaw_it() -> None:
    from specchat_engine.errors import SettingError

    places = places_of(1)
    for error, cleared in ((SettingError("foreseen"), []), (ZeroDivisionError(), [0])):
        with pytest.raises(type(error)), places.taken([1]) as session:
            raise error
        assert cast(Any, session).cleared == cleared
        assert asked(places, [1, 2]) == 0


def test_no_request_waits_for_the_measurement_of_the_one_before() -> None:
    with places_of(1).taken([1]) as session:
        assert session.measures_plain is False
