"""Answers whose drafts the clients make, over a scripted engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from specchat.serve.api_errors import ApiError
from specchat.serve.broadcast import Broadcast
from specchat.serve.errors import EngineDied
from specchat.serve.metrics import Metrics
from specchat.serve.protocol import Request
from specchat.serve.requests.verify import VerifyRequest
from specchat.serve.verifying import Verifying
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.settings import Settings
from support.scripted_server import HELLO, Script, ScriptedEngine, made_round

ASKED = Request(Settings(drafter="model"), 5, ({"role": "user", "content": "hi"},))
LONGEST = 4


class Opened:
    """An answer that was begun over a scripted engine."""

    def __init__(self, patience: float = 60.0, script: Script = HELLO) -> None:
        self.engine = ScriptedEngine([script])
        self.broadcast = Broadcast(allowed=True)
        metrics = Metrics(self.engine, "target")
        self.verifying = Verifying(self.engine, metrics, self.broadcast, longest=LONGEST, patience=patience)
        self.told: dict[str, Any] = {}

    async def begin(self) -> None:
        self.told = await self.verifying.open(ASKED)

    async def draws(self, position: int, *drafted: int, close: bool = False) -> dict[str, Any]:
        question = VerifyRequest(id=self.told["id"], position=position, drafted=[*drafted], close=close)
        return await self.verifying.draws(question)

    async def refusal(self, position: int, *drafted: int) -> tuple[int, str]:
        with pytest.raises(ApiError) as caught:
            await self.draws(position, *drafted)
        return caught.value.status, str(caught.value)


def run(work: Callable[[Opened], Awaitable[None]], **given: Any) -> Opened:
    async def whole() -> Opened:
        opened = Opened(**given)
        await opened.begin()
        await work(opened)
        return opened

    return asyncio.run(whole())


async def told_to_watchers(work: Callable[[Opened], Awaitable[None]], **given: Any) -> list[dict[str, Any]]:
    """What watchers are told of an answer: the lines of its trace."""
    opened = Opened(**given)
    watching = opened.broadcast.events()
    lines = [await anext(watching)]
    await opened.begin()
    await work(opened)
    while b'"type":"end"' not in lines[-1]:
        lines.append(await anext(watching))
    await watching.aclose()
    return [json.loads(line.decode().removeprefix("data: ")) for line in lines[1:]]


async def nothing(_: Opened) -> None:
    pass


def test_a_client_is_told_all_that_it_needs_to_draft() -> None:
    opened = run(nothing)
    told = opened.told
    assert told["seed"] == turn_seed(5, 0, 0)
    assert told["prompt_ids"] == [1, 1, 1]
    assert told["prompt_text"] == "<a><b><c>"
    assert told["longest"] == LONGEST
    assert told["sampling"]["temperature"] == ASKED.settings.sampling.temperature
    asked = opened.engine.asked[0]
    assert (asked.settings.drafter, asked.settings.verifier) == ("none", "coupled")


def test_a_round_tells_the_targets_tokens_and_how_many_there_are_then() -> None:
    async def work(opened: Opened) -> None:
        assert await opened.draws(0, 7, 8) == {"id": opened.told["id"], "position": 1, "tokens": [50], "end": None}
        second = await opened.draws(1, 10, 11, 12)
        assert (second["position"], second["tokens"], second["end"]) == (4, [10, 11, 50], None)
        last = await opened.draws(4)
        assert (last["position"], last["end"]) == (5, "end")
        assert (await opened.refusal(5))[0] == 404

    opened = run(work)
    assert [tokens for _, tokens in opened.engine.drafted] == [(7, 8), (10, 11, 12), ()]
    assert opened.engine.running == 0


@pytest.mark.parametrize(
    ("position", "drafted", "message"),
    [
        (3, (1,), "position is 3: the answer has 0 tokens"),
        (0, (1, 2, 3, 4, 5), "5 tokens were drafted: at most 4"),
        (0, (300,), "not in the vocabulary: use 0 to 299"),
        (0, (-1,), "not in the vocabulary"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_and_the_next_one_answered(
    position: int, drafted: tuple[int, ...], message: str
) -> None:
    async def work(opened: Opened) -> None:
        status, told = await opened.refusal(position, *drafted)
        assert status == 400
        assert message in told
        assert (await opened.draws(0, 7))["tokens"] == [50]

    run(work)


def test_an_answer_that_nobody_asks_about_leaves_its_place() -> None:
    async def work(opened: Opened) -> None:
        async with asyncio.timeout(20):
            while opened.engine.running:
                await asyncio.sleep(0.001)
        status, told = await opened.refusal(0)
        assert status == 404
        assert "nobody asked for 0.01 s" in told

    run(work, patience=0.01)


def test_a_client_may_end_its_answer() -> None:
    async def work(opened: Opened) -> None:
        assert (await opened.draws(0, close=True))["end"] == "cancelled"
        assert opened.engine.running == 0
        assert (await opened.refusal(0))[0] == 404

    run(work)


def test_two_questions_at_the_same_time_get_one_answer() -> None:
    async def work(opened: Opened) -> None:
        answers = await asyncio.gather(opened.draws(0, 7), opened.draws(0, 7), return_exceptions=True)
        assert [type(answer) for answer in answers] == [dict, ApiError]

    run(work)


def test_an_answer_whose_client_leaves_in_the_middle_of_a_question_ends() -> None:
    async def work(opened: Opened) -> None:
        asking = asyncio.create_task(opened.draws(0, 7))
        while not opened.engine.started.is_set():
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert opened.engine.running == 0
        assert (await opened.refusal(0))[0] == 404

    run(work, script=Script([made_round(0, (), "a"), made_round(1, (), "b")], waits_at=1))


def test_the_death_of_the_engine_ends_the_answer() -> None:
    async def work(opened: Opened) -> None:
        assert await opened.refusal(0, 7) == (502, "it died")
        assert (await opened.refusal(0))[0] == 404

    run(work, script=Script(HELLO.rounds, error=EngineDied("it died"), fails_at=1))


async def test_watchers_are_told_its_rounds_and_how_it_ends() -> None:
    async def whole(opened: Opened) -> None:
        await opened.draws(0)
        await opened.draws(1, 10, 11, 12)
        await opened.draws(4)

    async def left(opened: Opened) -> None:
        await opened.draws(0)
        await opened.draws(1, close=True)

    async def failing(opened: Opened) -> None:
        await opened.draws(0)
        await opened.refusal(1)

    lines = await told_to_watchers(whole)
    assert [line["type"] for line in lines] == ["start", "round", "round", "round", "end"]
    assert (lines[-1]["reason"], lines[-1]["text"]) == ("end", "Hello world")
    lines = await told_to_watchers(left)
    assert (lines[-1]["reason"], lines[-1]["text"]) == ("cancelled", "Hel")
    died = Script(HELLO.rounds, error=EngineDied("it was killed"), fails_at=2)
    *_, error, end = await told_to_watchers(failing, script=died)
    assert (error["message"], end["reason"]) == ("it was killed", "error")
