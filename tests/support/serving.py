"""A client with a real engine process for several answers at a time, and requests to it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Load, Started
from specchat.engine_process.shared_client import AnswerEvent, SharedClient
from specchat_engine import LoadOptions, Round, SamplingParams, Settings
from support.tiny_models import TinyModels

PLACES, WAITING = 4, 8
PROMPTS = ("Hello there", "Tell me a story, tell me a story", "hello hello hello hello", "What is 1 + 1?")
# Passes of another width may differ in the last bits of their logits. Nothing is truncated here, and with this seed no
# token is nearly as good as the one that is said.
SHORT = Settings(k=3, max_tokens=40, sampling=SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0))
SEED = 7
# Greedy, these models never end an answer: only a full context does.
ENDLESS = Settings(k=2, sampling=SamplingParams(temperature=0.0))


def client_of(folder: Path, models: TinyModels, *, places: int = PLACES, waiting: int = WAITING) -> SharedClient:
    """A client that has started nothing yet; its log is in the folder."""
    load = Load(str(models.target), str(models.draft), LoadOptions(threads=1, n_ctx=2048))
    return SharedClient(folder / "logs" / "serve.log", load, places=places, waiting=waiting)


def asking(text: str, settings: Settings = SHORT, seed: int = SEED) -> Generate:
    """A request with one message."""
    return Generate((ChatMessage("user", text),), seed=seed, settings=settings)


def continuing(prompt: str | tuple[int, ...]) -> Generate:
    """A request with a raw prompt."""
    return Generate((), seed=SEED, settings=SHORT, prompt=prompt)


async def parts_of(client: SharedClient, request: Generate) -> list[AnswerEvent]:
    """The whole answer."""
    return [part async for part in client.answer(request)]


async def text_of(client: SharedClient, request: Generate) -> str:
    """The text of the whole answer, of which all parts are checked to be there and to agree."""
    started, *rounds, ended = await parts_of(client, request)
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert ended.text == "".join(part.text for part in rounds if isinstance(part, Round))
    return ended.text


async def read(client: SharedClient, request: Generate, parts: int) -> int:
    """Reads so many parts of an answer and leaves, or all if there are fewer; returns how many there were."""
    count = 0
    async with aclosing(client.answer(request)) as answer:
        async for _ in answer:
            count += 1
            if count == parts:
                break
    return count


async def until_idle(client: SharedClient) -> None:
    """Waits until nobody has a place, ten minutes at most."""
    async with asyncio.timeout(600):
        while client.running or client.waiting:
            await asyncio.sleep(0)
