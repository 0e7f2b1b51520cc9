"""What watchers get, and what they cannot hold up."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from specchat.engine_process.protocol import Ended, Started
from specchat.serve.broadcast import MOST_WATCHERS, Broadcast
from specchat_engine import Round
from specchat_engine.decoding.stats import TurnStats
from support.scripted_server import made_round


def begun(number: int) -> tuple[int, Started]:
    line = {"type": "start", "target": {"name": "target", "path": "/secret/target.gguf"}, "messages": []}
    return number, Started(line)


def made(number: int, index: int) -> tuple[int, Round]:
    return number, made_round(index, ("a",), "b")


def finished(number: int) -> tuple[int, Ended]:
    return number, Ended("end", "the end", TurnStats().to_json())


async def received(watching: AsyncGenerator[bytes, None], count: int) -> list[Any]:
    """The next events."""
    found = [(await anext(watching)).decode() for _ in range(count)]
    return [json.loads(text.removeprefix("data: ")) for text in found]


async def test_an_answer_is_sent_from_its_start_to_its_end_with_its_number() -> None:
    broadcast = Broadcast(allowed=True)
    watching = broadcast.events()
    assert await received(watching, 1) == [{"type": "watch", "running": [], "lost": 0}]
    for event in (begun(7), made(7, 0), finished(7)):
        broadcast.take(*event)
    start, made_line, end = await received(watching, 3)
    assert {line["request"] for line in (start, made_line, end)} == {7}
    assert [line["type"] for line in (start, made_line, end)] == ["start", "round", "end"]
    assert start["target"] == {"name": "target"}
    assert made_line["drafted"][0]["text"] == "a"
    assert end["text"] == "the end"
    await watching.aclose()


async def test_who_comes_later_gets_what_runs_from_its_start_and_no_more() -> None:
    broadcast = Broadcast(allowed=True)
    for event in (begun(1), begun(2), made(1, 0), made(2, 0), made(1, 1), finished(2)):
        broadcast.take(*event)
    watching = broadcast.events()
    lines = await received(watching, 1)
    broadcast.take(*made(1, 2))
    lines += await received(watching, 4)
    assert lines[0] == {"type": "watch", "running": [1], "lost": 0}
    assert [line["request"] for line in lines[1:]] == [1] * 4
    assert [line.get("index") for line in lines[1:]] == [None, 0, 1, 2]
    await watching.aclose()


async def test_a_slow_watcher_loses_whole_events_in_one_gap_and_gets_what_runs_again() -> None:
    broadcast = Broadcast(allowed=True, room=3)
    slow, quick = broadcast.events(), broadcast.events()
    await received(slow, 1)
    await received(quick, 1)
    broadcast.take(*begun(1))
    broadcast.take(*begun(2))
    broadcast.take(*made(1, 0))
    assert len(await received(quick, 3)) == 3
    broadcast.take(*made(1, 1))
    broadcast.take(*finished(2))
    assert [line["type"] for line in await received(quick, 2)] == ["round", "end"]
    kept = await received(slow, 1)
    broadcast.take(*made(1, 2))  # there is room again, but the gap comes first
    kept += await received(slow, 2)
    assert [line.get("index") for line in kept] == [None, None, 0]
    gap, *again = await received(slow, 5)
    assert gap == {"type": "watch", "running": [1], "lost": 3}
    assert [line.get("index") for line in again] == [None, 0, 1, 2]
    broadcast.take(*made(1, 3))
    assert (await received(slow, 1))[0]["index"] == 3
    await slow.aclose()
    await quick.aclose()


async def test_an_answer_that_breaks_off_has_the_end_that_its_rounds_make() -> None:
    broadcast = Broadcast(allowed=True)
    watching = broadcast.events()
    await received(watching, 1)
    broadcast.take(*begun(1))
    broadcast.take(*made(1, 0))
    broadcast.break_off(1, "error", "the engine died")
    broadcast.break_off(1, "cancelled")
    broadcast.break_off(2, "cancelled")
    _, _, error, end = await received(watching, 4)
    assert error == {"request": 1, "type": "error", "message": "the engine died"}
    assert (end["reason"], end["text"], end["stats"]["num_tokens"]) == ("error", "ab", 2)
    broadcast.take(*begun(3))
    assert (await received(watching, 1))[0]["request"] == 3
    await watching.aclose()


async def test_a_watcher_that_leaves_makes_room_for_another() -> None:
    broadcast = Broadcast(allowed=True)
    watching = [broadcast.events() for _ in range(MOST_WATCHERS)]
    for one in watching:
        await received(one, 1)
    assert broadcast.is_full
    await watching[0].aclose()
    assert not broadcast.is_full
    for one in watching:
        await one.aclose()


async def test_nothing_is_kept_where_watching_is_not_allowed() -> None:
    broadcast = Broadcast(allowed=False)
    broadcast.take(*begun(1))
    watching = broadcast.events()
    assert await received(watching, 1) == [{"type": "watch", "running": [], "lost": 0}]
    await watching.aclose()
