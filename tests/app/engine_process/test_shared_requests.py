"""What a request may ask for: tools, raw prompts, log-probabilities, a count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from specchat.engine_process.errors import RequestFailed
from specchat.engine_process.protocol import Ended, Generate, Offer, Position, Scored, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import Round
from support.serving import ENDLESS, PLACES, SHORT, asking, client_of, continuing, parts_of, text_of, until_idle
from support.tiny_models import TinyModels

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory, tiny_models: TinyModels) -> AsyncIterator[SharedClient]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        client = client_of(home, tiny_models)
        await client.start()
    yield client
    await client.close()


async def begun_of(client: SharedClient, request: Generate) -> Started:
    """The first event of an answer, and none of the others."""
    answer = client.answer(request)
    begun = await anext(answer)
    await answer.aclose()
    assert isinstance(begun, Started)
    return begun


async def test_a_raw_prompt_takes_no_template_and_may_be_ids(client: SharedClient) -> None:
    told = replace(continuing("Once upon a time"), echo=True)
    begun = await begun_of(client, told)
    assert "".join(position.token.text for position in begun.prompt) == "Once upon a time"
    ids = tuple(position.token.id for position in begun.prompt)
    assert len(ids) == begun.line["prompt_tokens"]
    assert await text_of(client, continuing(ids)) == await text_of(client, told)


async def test_log_probabilities_change_nothing_and_belong_to_the_tokens_of_the_rounds(client: SharedClient) -> None:
    request = asking("hello", replace(SHORT, drafter="model"))
    expected = await text_of(client, request)
    _, *made, finished = await parts_of(client, replace(request, logprobs=3))
    assert isinstance(finished, Ended)
    assert finished.text == expected
    for scored, part in zip(made[::2], made[1::2], strict=True):
        assert isinstance(scored, Scored)
        assert isinstance(part, Round)
        assert len(scored.positions) == part.num_emitted
        assert "".join(position.token.text for position in scored.positions) == part.text
        for position in scored.positions:
            check_likeliest(position, 3)
    assert any(len(part.positions) > 1 for part in made if isinstance(part, Scored))
    _, first, *_ = await parts_of(client, replace(request, logprobs=0))
    assert isinstance(first, Scored)
    assert first.positions[0].token.logprob < 0
    assert first.positions[0].likeliest == ()


def check_likeliest(position: Position, count: int) -> None:
    """They are in order, and the token is among them if it is as likely."""
    logprobs = [token.logprob for token in position.likeliest]
    assert len(logprobs) == count
    assert logprobs == sorted(logprobs, reverse=True)
    assert position.token.logprob <= logprobs[0] < 0
    ids = [token.id for token in position.likeliest]
    assert position.token.logprob <= logprobs[-1] or position.token.id in ids


async def test_an_echoed_prompt_has_log_probabilities_if_they_were_asked_for(client: SharedClient) -> None:
    request = replace(continuing("hello hello"), echo=True, logprobs=2)
    expected = await text_of(client, replace(request, echo=False, logprobs=None))
    begun, *_, finished = await parts_of(client, request)
    assert isinstance(begun, Started)
    assert isinstance(finished, Ended)
    assert finished.text == expected
    first, *others = begun.prompt
    assert (first.token.logprob, first.likeliest) == (0.0, ())
    for position in others:
        check_likeliest(position, 2)
    assert begun.cached_tokens == 0, "all of it was read to be scored"


async def test_a_prompt_is_counted_without_a_place(client: SharedClient) -> None:
    request = asking("How many tokens are these?")
    tokens = (await begun_of(client, request)).line["prompt_tokens"]
    answers = [client.answer(asking(f"hello {number}", ENDLESS)) for number in range(PLACES)]
    for answer in answers:
        await anext(answer)
    assert client.running == PLACES
    assert await asyncio.gather(*(client.count(request) for _ in range(3))) == [tokens] * 3
    assert await client.count(replace(request, tools=Offer((TOOL,)))) > tokens
    assert await client.count(asking("x" * 5000)) > 5000, "more than the context holds"
    with pytest.raises(RequestFailed, match="the prompt is empty") as failed:
        await client.count(continuing(""))
    assert failed.value.theirs
    for answer in answers:
        await answer.aclose()
    await until_idle(client)


async def test_a_prediction_is_drafted_from_for_one_answer(client: SharedClient) -> None:
    request = asking("hello", replace(SHORT, k=8, drafter="lookup", lookup="conversation"))
    plain = await parts_of(client, request)
    assert isinstance(plain[-1], Ended)
    predicted = await parts_of(client, replace(request, prediction=plain[-1].text))
    assert isinstance(predicted[-1], Ended)
    assert predicted[-1].text == plain[-1].text
    assert len(predicted) < len(plain)
    assert len(await parts_of(client, request)) == len(plain)


async def test_the_start_tells_whether_the_prompt_opened_the_reasoning(client: SharedClient) -> None:
    assert client.info.answer_format.thinking == ("<think>", "</think>")
    for prompt, thinking in (("hello <think>\n", True), ("hello", False)):
        assert (await begun_of(client, continuing(prompt))).line.get("opens_reasoning", False) is thinking
