"""Several requests at a time to one engine process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from specchat.engine_process.errors import Busy, RequestFailed
from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Offer, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import SamplingParams
from support.serving import (
    ENDLESS,
    PLACES,
    PROMPTS,
    SHORT,
    WAITING,
    asking,
    continuing,
    parts_of,
    read,
    text_of,
    until_idle,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")


TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
# Fewer rounds than the longest answer has without drafts, and many more than a short one.
LONG = replace(ENDLESS, max_tokens=1800)


async def nearly_full(shared: SharedClient, letter: str) -> None:
    """An answer that needs all of a place's context."""
    begun, *_, finished = await parts_of(shared, asking(letter * 1900, ENDLESS))
    assert isinstance(begun, Started)
    assert isinstance(finished, Ended)
    assert finished.reason == "context"
    assert begun.line["prompt_tokens"] + finished.stats["num_tokens"] == shared.info.n_ctx


def talking(texts: Sequence[str]) -> Generate:
    """A request with messages of the user and answers in turn."""
    messages = tuple(ChatMessage("assistant" if place % 2 else "user", text) for place, text in enumerate(texts))
    return replace(asking(""), messages=messages)


async def test_a_request_that_cannot_be_written_leaves_its_place(shared: SharedClient) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"": deep}
    request = replace(asking("Hello"), variables=deep)
    for work in (shared.count(request), parts_of(shared, request)):
        with pytest.raises(RequestFailed, match="nested too deeply") as failed:
            await work
        assert failed.value.theirs
    assert shared.running == 0


async def test_texts_do_not_depend_on_how_many_are_answered(shared: SharedClient) -> None:
    assert shared.info.n_ctx == 2048, "each place has the whole context"
    requests = [
        asking(prompt, replace(SHORT, drafter=drafter)) for prompt in PROMPTS for drafter in ("model", "hybrid")
    ]
    alone = [await text_of(shared, request) for request in requests]
    assert len(set(alone)) == len(PROMPTS)
    for together in (2, 4):
        texts: list[str] = []
        for first in range(0, len(requests), together):
            texts += await asyncio.gather(*(text_of(shared, request) for request in requests[first : first + together]))
        assert texts == alone, together


async def test_more_requests_than_places_wait_and_are_all_answered(shared: SharedClient) -> None:
    expected = await text_of(shared, asking("hello"))
    assert await asyncio.gather(*(text_of(shared, asking("hello")) for _ in range(10))) == [expected] * 10


async def test_a_full_queue_is_busy_at_once_and_nobody_else_notices(shared: SharedClient) -> None:
    running = [asyncio.create_task(parts_of(shared, asking(f"hello {number}", ENDLESS))) for number in range(PLACES)]
    waiting = [asyncio.create_task(text_of(shared, asking("hello"))) for _ in range(WAITING)]
    while shared.waiting < WAITING:
        await asyncio.sleep(0)
    with pytest.raises(Busy, match=f"{WAITING} requests wait already: try again in ") as busy:
        await anext(shared.answer(asking("hello")))
    assert busy.value.retry_after_seconds >= 1
    for task in running:
        task.cancel()
    assert len(set(await asyncio.gather(*waiting))) == 1


async def test_whoever_leaves_makes_room_long_before_an_answer_ends(shared: SharedClient) -> None:
    longest = shared.answer(asking("hello", replace(ENDLESS, k=0)))
    assert isinstance(await anext(longest), Started)
    others = [asyncio.create_task(parts_of(shared, asking(f"hello {number}", LONG))) for number in range(PLACES - 1)]
    next_one = asyncio.create_task(text_of(shared, asking("hello")))
    while not shared.waiting:
        await asyncio.sleep(0)
    await longest.aclose()
    assert await next_one
    assert not any(other.done() for other in others), "which would have made room too"
    for other in others:
        other.cancel()
    await until_idle(shared)


async def test_a_hundred_disconnects_at_random_moments_leave_nothing_behind(shared: SharedClient) -> None:
    random = Random(1)
    expected = await text_of(shared, asking("hello"))
    at_once = asyncio.Semaphore(WAITING)
    progress = asyncio.Condition()
    seen = 0

    async def reading(request: Generate) -> None:
        nonlocal seen
        async with aclosing(shared.answer(request)) as answer:
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
                await read(shared, request, parts + 1)
                return
            task = asyncio.create_task(reading(request))
            async with progress:
                until = seen + random.randrange(20)
                await progress.wait_for(lambda: seen >= until or task.done())
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    await asyncio.gather(*(disconnecting(number) for number in range(100)))
    await until_idle(shared)
    await asyncio.gather(*(nearly_full(shared, letter) for letter in "abcd"))
    assert (shared.running, shared.waiting) == (0, 0)
    assert await text_of(shared, asking("hello")) == expected


async def test_a_request_that_fails_disturbs_nobody(shared: SharedClient) -> None:
    expected = [await text_of(shared, asking(prompt)) for prompt in PROMPTS[:2]]
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
        neighbours = [asyncio.create_task(text_of(shared, asking(prompt))) for prompt in PROMPTS[:2]]
        with pytest.raises(RequestFailed, match=reason) as failed:
            await parts_of(shared, request)
        assert failed.value.theirs
        assert await asyncio.gather(*neighbours) == expected


async def test_a_prompt_with_another_beginning_is_a_cache_miss(shared: SharedClient) -> None:
    for number in (17, 42):
        begun, *_ = await parts_of(shared, talking([f"{number} " + "A long question about many things. " * 10]))
        assert isinstance(begun, Started)
    assert "no text there goes on with '42" in begun.cache_miss
    again, *_ = await parts_of(shared, talking(["42 " + "A long question about many things. " * 10]))
    assert isinstance(again, Started)
    assert again.cache_miss == ""


async def test_a_long_talk_leaves_the_others_memories_alone(shared: SharedClient) -> None:
    early = ["A long question about many things. " * 10]
    first, *_ = await parts_of(shared, talking(early))
    assert isinstance(first, Started)
    talk = ["Something else, which is talked about for long. "]
    for turn in range(2 * PLACES):
        begun, *_ = await parts_of(shared, talking(talk))
        assert isinstance(begun, Started)
        assert begun.cached_tokens > len(talk[0]) or turn == 0
        talk += [f"Answer {turn}.", f"And then, {turn}?"]
    again, *_ = await parts_of(shared, talking([*early, "An answer.", "And then?"]))
    assert isinstance(again, Started)
    assert again.cached_tokens >= first.line["prompt_tokens"]
