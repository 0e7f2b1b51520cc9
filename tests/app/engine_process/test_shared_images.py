"""Requests with images, answered by a real engine, several at a time."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from specchat.engine_process.errors import RequestFailed
from specchat.engine_process.images import PNG_URL
from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import Engine, Image, LoadOptions, Message
from specchat_engine.llama.mtmd import has_mtmd
from support.serving import SEED, SHORT, asking, client_of, parts_of, text_of
from support.tiny_models import TinyModels
from support.vision_models import png, write_seeing_pair

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1"),
]


FEW = replace(SHORT, max_tokens=16)
"""Passes of another width may differ in the last bits: no token of these is nearly as good as another."""


@pytest.fixture(scope="module", params=["rope", "mrope"])
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """A tiny llama, and a tiny qwen2vl, each with a projector beside it."""
    return write_seeing_pair(tmp_path_factory.mktemp("seeing"), mrope=request.param == "mrope")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory, models: TinyModels) -> AsyncIterator[SharedClient]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        client = client_of(home, models)
        await client.start()
    yield client
    await client.close()


def seeing(text: str, *seeds: int) -> Generate:
    """A question about random pictures."""
    images = tuple(PNG_URL + b64encode(png(seed)).decode() for seed in seeds)
    return replace(asking(text, FEW), messages=(ChatMessage("user", text, images=images),))


def alone(models: TinyModels, text: str, *seeds: int) -> str:
    """What an engine answers that has read nothing before and drafts nothing."""
    with Engine.load(models.target, None, LoadOptions(threads=1, n_ctx=2048)) as engine:
        session = engine.session(settings=replace(FEW, k=0, drafter="none"), seed=SEED)
        message = Message("user", text, images=tuple(Image(png(seed)) for seed in seeds))
        for _ in session.answer([message], 0):
            pass
        return session.text


async def test_answers_at_the_same_time_see_their_own_images_only(client: SharedClient, models: TinyModels) -> None:
    questions = [("What is this?", 1), ("What is this?", 2), ("What is this?",), ("And this? And this?", 4, 1)]
    expected = [alone(models, *question) for question in questions]
    assert len(set(expected)) == len(expected)
    for _ in range(2):
        found = await asyncio.gather(*(text_of(client, seeing(*question)) for question in questions))
        assert found == expected
        questions.reverse()
        expected.reverse()


async def test_a_conversation_goes_on_from_the_image_in_memory(client: SharedClient) -> None:
    request = seeing("What is this?", 5)
    begun, *_, finished = await parts_of(client, request)
    assert isinstance(begun, Started)
    assert begun.line["messages"][0].keys() == {"role", "content", "images"}
    assert png(5) not in str(begun.line).encode()
    assert isinstance(finished, Ended)
    later = (ChatMessage("assistant", finished.text, reasoning=""), ChatMessage("user", "And?"))
    begun, *_ = await parts_of(client, replace(request, messages=(*request.messages, *later)))
    assert isinstance(begun, Started)
    assert begun.cached_tokens > 20


async def test_the_tokens_of_images_are_counted(client: SharedClient) -> None:
    counts = [await client.count(seeing("What is this?", *seeds)) for seeds in ((), (1,), (1, 2))]
    newline = 1
    each = counts[1] - counts[0] - newline
    assert counts[2] - counts[0] - newline == 2 * each > 2


async def test_an_image_that_cannot_be_read_is_the_clients_mistake(client: SharedClient) -> None:
    message = ChatMessage("user", "?", images=(PNG_URL + b64encode(b"no image").decode(),))
    with pytest.raises(RequestFailed, match="an image cannot be read") as failed:
        await text_of(client, replace(asking("?", FEW), messages=(message,)))
    assert failed.value.theirs
