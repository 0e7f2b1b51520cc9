"""Places and the queue before them."""

from __future__ import annotations

import asyncio

import pytest

from specchat.engine_process.admission import Admission, Place
from specchat.engine_process.errors import Busy


async def enough_turns() -> None:
    """Lets every task run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def entering(admission: Admission, count: int) -> list[asyncio.Task[Place]]:
    return [asyncio.create_task(admission.enter()) for _ in range(count)]


async def test_places_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    admission = Admission(places=1, waiting=3)
    place = await admission.enter()
    waiting = entering(admission, 3)
    for number in range(3):
        await enough_turns()
        assert (admission.running, admission.waiting) == (1, 3 - number)
        place.leave()
        place = await waiting[number]
        assert not any(task.done() for task in waiting[number + 1 :])
    place.leave()
    assert (admission.running, admission.waiting) == (0, 0)


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [(0, "all places are taken"), (1, "1 request waits already"), (2, "2 requests wait already")],
)
async def test_who_is_turned_away_reads_why_and_when_to_come_again(waiting: int, reason: str) -> None:
    admission = Admission(places=1, waiting=waiting)
    place = await admission.enter()
    queue = entering(admission, waiting)
    await enough_turns()
    with pytest.raises(Busy, match=f"^{reason}: try again in 1 s$"):
        await admission.enter()
    place.leave()
    for task in queue:
        task.cancel()


async def test_a_place_that_is_left_twice_is_one_place() -> None:
    admission = Admission(places=1, waiting=2)
    place = await admission.enter()
    waiting = entering(admission, 2)
    await enough_turns()
    place.leave()
    place.leave()
    await enough_turns()
    assert [task.done() for task in waiting] == [True, False]
    waiting[1].cancel()


async def test_who_gives_up_waiting_makes_room_in_the_queue_and_takes_no_place() -> None:
    admission = Admission(places=1, waiting=2)
    place = await admission.enter()
    first, second = entering(admission, 2)
    await enough_turns()
    first.cancel()
    await enough_turns()
    third = asyncio.create_task(admission.enter())
    await enough_turns()
    assert admission.waiting == 2
    place.leave()
    second.cancel()  # in the moment in which it gets the place
    assert await third
    await enough_turns()
    assert (admission.running, admission.waiting) == (1, 0)


async def test_a_full_queue_is_busy_for_about_as_long_as_places_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("specchat.engine_process.admission.monotonic", lambda: now)
    admission = Admission(places=2, waiting=3)
    for seconds in (30.0, 50.0):
        place = await admission.enter()
        now += seconds
        place.leave()
    places = [await admission.enter() for _ in range(2)]
    waiting = entering(admission, 3)
    await enough_turns()
    with pytest.raises(Busy) as busy:
        await admission.enter()
    assert busy.value.retry_after_seconds == 40 * 4 / 2
    places[0].leave()
    assert await waiting[0]
    for task in waiting[1:]:
        task.cancel()


async def test_without_a_queue_a_request_is_busy_while_all_places_are_taken() -> None:
    admission = Admission(places=1, waiting=0)
    place = await admission.enter()
    with pytest.raises(Busy) as busy:
        await admission.enter()
    assert busy.value.retry_after_seconds == 1, "nobody knows yet"
    place.leave()
    assert await admission.enter()
