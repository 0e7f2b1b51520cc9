"""Several requests at a time to one engine process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from specchat.engine_process.errors import Busy, RequestFailed
from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Offer, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import Round, SamplingParams
from support.serving import (
    ENDLESS,
    PLACES,
    PROMPTS,
    SHORT,
    WAITING,
    asking,
    client_of,
    continuing,
    parts_of,
    read,
    text_of,
    until_idle,
)
from support.tiny_models import TinyModels

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory, tiny_models: TinyModels) -> AsyncIterator[SharedClient]:
    """One process for all of these tests, so that each begins with what the others left."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        client = client_of(home, tiny_models)
        await client.start()
    yield client
    assert client.deaths == 0
    await client.close()


TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
# Fewer rounds than the longest answer has without drafts, and many more than a short one.
LONG = replace(ENDLESS, max_tokens=1800)


async def nearly_full(client: SharedClient, letter: str) -> None:
    """An answer that needs all of a place's context."""
    begun, *_, finished = await parts_of(client, asking(letter * 1900, ENDLESS))
    assert isinstance(begun, Started)
    assert isinstance(finished, Ended)
    assert finished.reason == "context"
    assert begun.line["prompt_tokens"] + finished.stats["num_tokens"] == client.info.n_ctx


def talking(texts: Sequence[str]) -> Generate:
    """A request with messages of the user and answers in turn."""
    messages = tuple(ChatMessage("assistant" if place % 2 else "user", text) for place, text in enumerate(texts))
    return replace(asking(""), messages=messages)


async def test_a_request_that_cannot_be_written_leaves_its_place(client: SharedClient) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"": deep}
    request = replace(asking("Hello"), variables=deep)
    for work in (client.count(request), parts_of(client, request)):
        with pytest.raises(RequestFailed, match="nested too deeply") as failed:
            await work
        assert failed.value.theirs
    assert client.running == 0


async def test_an_answer_is_begun_its_rounds_and_its_end(client: SharedClient) -> None:
    begun, *made, finished = await parts_of(client, asking("Hello"))
    assert isinstance(begun, Started)
    assert begun.line["messages"] == [{"role": "user", "content": "Hello"}]
    assert all(isinstance(part, Round) for part in made)
    assert isinstance(finished, Ended)
    assert finished.reason in ("length", "end")
    assert finished.stats["num_rounds"] == len(made)
    assert client.info.n_ctx == 2048, "each place has the whole context"


@pytest.mark.parametrize("together", [1, 2, 4])
async def test_texts_do_not_depend_on_how_many_are_answered(client: SharedClient, together: int) -> None:
    requests = [
        asking(prompt, replace(SHORT, drafter=drafter)) for prompt in PROMPTS for drafter in ("model", "hybrid")
    ]
    alone = [await text_of(client, request) for request in requests]
    texts: list[str] = []
    for first in range(0, len(requests), together):
        texts += await asyncio.gather(*(text_of(client, request) for request in requests[first : first + together]))
    assert texts == alone
    assert len(set(alone)) == len(PROMPTS)


async def test_more_requests_than_places_wait_and_are_all_answered(client: SharedClient) -> None:
    expected = await text_of(client, asking("hello"))
    assert await asyncio.gather(*(text_of(client, asking("hello")) for _ in range(10))) == [expected] * 10


async def test_a_full_queue_is_busy_at_once_and_nobody_else_notices(client: SharedClient) -> None:
    running = [asyncio.create_task(parts_of(client, asking(f"hello {number}", ENDLESS))) for number in range(PLACES)]
    waiting = [asyncio.create_task(text_of(client, asking("hello"))) for _ in range(WAITING)]
    while client.waiting < WAITING:
        await asyncio.sleep(0)
    with pytest.raises(Busy, match=f"{WAITING} requests wait already: try again in ") as busy:
        await anext(client.answer(asking("hello")))
    assert busy.value.retry_after_seconds >= 1
    for task in running:
        task.cancel()
    assert len(set(await asyncio.gather(*waiting))) == 1


async def test_whoever_leaves_makes_room_long_before_an_answer_ends(client: SharedClient) -> None:
    longest = client.answer(asking("hello", replace(ENDLESS, k=0)))
    assert isinstance(await anext(longest), Started)
    others = [asyncio.create_task(parts_of(client, asking(f"hello {number}", LONG))) for number in range(PLACES - 1)]
    next_one = asyncio.create_task(text_of(client, asking("hello")))
    while not client.waiting:
        await asyncio.sleep(0)
    await longest.aclose()
    assert await next_one
    assert not any(other.done() for other in others), "which would have made room too"
    for other in others:
        other.cancel()
    await until_idle(client)


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_hundred_disconnects_at_random_moments_leave_nothing_behind(client: SharedClient, seed: int) -> None:
    random = Random(seed)
    expected = await text_of(client, asking("hello"))
    at_once = asyncio.Semaphore(WAITING)
    progress = asyncio.Condition()
    seen = 0

    async def reading(request: Generate) -> None:
        nonlocal seen
        async with aclosing(client.answer(request)) as answer:
            async for _ in answer:
                async with progress:
                    seen += 1
                    progress.notify_all()

    async def disconnecting(number: int) -> None:
        """Stops reading after some parts, or is cancelled when others have read some, perhaps while it waits."""
        async with at_once:
            request = asking(random.choice("hx") * random.randrange(1, 1000), ENDLESS)
            parts = random.randrange(6)
            if number % 2:
                await read(client, request, parts + 1)
                return
            task = asyncio.create_task(reading(request))
            async with progress:
                until = seen + random.randrange(20)
                await progress.wait_for(lambda: seen >= until or task.done())
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    await asyncio.gather(*(disconnecting(number) for number in range(100)))
    await until_idle(client)
    await asyncio.gather(*(nearly_full(client, letter) for letter in "abcd"))
    assert (client.running, client.waiting) == (0, 0)
    assert await text_of(client, asking("hello")) == expected


async def test_a_request_that_fails_disturbs_nobody(client: SharedClient) -> None:
    expected = [await text_of(client, asking(prompt)) for prompt in PROMPTS[:2]]
    wrong = {
        "loaded for at most 32": asking("hello", replace(SHORT, k=33)),
        "the context holds 2048": asking("x" * 3000),
        "grammar": asking("hello", replace(SHORT, sampling=SamplingParams(grammar="root ::= nothing"))),
        "the prompt is empty": continuing(""),
        "the prompt has token 1000000": continuing((5, 10**6)),
        "no messages and no tools": replace(continuing("hello"), tools=Offer((TOOL,))),
        "token 9999": asking("hello", replace(SHORT, sampling=SamplingParams(logit_bias=((9999, 1.0),)))),
    }
    for reason, request in wrong.items():
        neighbours = [asyncio.create_task(text_of(client, asking(prompt))) for prompt in PROMPTS[:2]]
        with pytest.raises(RequestFailed, match=reason) as failed:
            await parts_of(client, request)
        assert failed.value.theirs
        assert await asyncio.gather(*neighbours) == expected


async def test_a_long_talk_leaves_the_others_memories_alone(client: SharedClient) -> None:
    early = ["A long question about many things. " * 10]
    first, *_ = await parts_of(client, talking(early))
    assert isinstance(first, Started)
    talk = ["Something else, which is talked about for long. "]
    for turn in range(2 * PLACES):
        begun, *_ = await parts_of(client, talking(talk))
        assert isinstance(begun, Started)
        assert begun.cached_tokens > len(talk[0]) or turn == 0
        talk += [f"Answer {turn}.", f"And then, {turn}?"]
    again, *_ = await parts_of(client, talking([*early, "An answer.", "And then?"]))
    assert isinstance(again, Started)
    assert again.cached_tokens >= first.line["prompt_tokens"]
