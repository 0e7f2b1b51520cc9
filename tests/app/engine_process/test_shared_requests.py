"""What a request may ask for: tools, raw prompts, log-probabilities, a count."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from specchat.engine_process.errors import RequestFailed
from specchat.engine_process.protocol import Ended, Generate, Offer, Position, Scored, Started
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import Round
from support.serving import ENDLESS, PLACES, SHORT, asking, continuing, parts_of, text_of, until_idle

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


async def begun_of(shared: SharedClient, request: Generate) -> Started:
    """The first event of an answer, and none of the others."""
    answer = shared.answer(request)
    begun = await anext(answer)
    await answer.aclose()
    await until_idle(shared)
    assert isinstance(begun, Started)
    return begun


async def test_a_raw_prompt_takes_no_template_and_may_be_ids(shared: SharedClient) -> None:
    echoed = replace(continuing("Once upon a time"), echo=True)
    begun = await begun_of(shared, echoed)
    assert "".join(position.token.text for position in begun.prompt) == "Once upon a time"
    ids = tuple(position.token.id for position in begun.prompt)
    assert len(ids) == begun.line["prompt_tokens"]
    assert await text_of(shared, continuing(ids)) == await text_of(shared, echoed)


async def test_log_probabilities_change_nothing_and_belong_to_the_tokens_of_the_rounds(shared: SharedClient) -> None:
    request = asking("hello", replace(SHORT, drafter="model"))
    expected = await text_of(shared, request)
    _, *made, finished = await parts_of(shared, replace(request, logprobs=3))
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
    plain = await parts_of(shared, replace(request, settings=replace(SHORT, drafter="none"), logprobs=3))
    logprobs, expected_logprobs = (
        [position.token.logprob for part in parts if isinstance(part, Scored) for position in part.positions]
        for parts in (made, plain)
    )
    assert logprobs == pytest.approx(expected_logprobs, abs=0.01), "whatever drafts"
    _, first, *_ = await parts_of(shared, replace(request, logprobs=0))
    assert isinstance(first, Scored)
    assert first.positions[0].token.logprob < 0
    assert first.positions[0].likeliest == ()


def check_likeliest(position: Position, count: int) -> None:
    """They are in order, and the token is one of them: the last one, if others are likelier."""
    logprobs = [token.logprob for token in position.likeliest]
    ids = [token.id for token in position.likeliest]
    assert len(ids) == count + (position.token.id not in ids[:count])
    assert position.token.id in ids
    assert logprobs == sorted(logprobs, reverse=True)
    assert position.token.logprob <= logprobs[0] < 0


async def test_each_token_has_its_own_bytes_also_inside_a_character(shared: SharedClient) -> None:
    prompt = "\U0001f9ff 日本"
    echoed = replace(continuing(prompt), echo=True, logprobs=2)
    positions = (await begun_of(shared, echoed)).prompt
    assert b"".join(bytes(position.token.octets) for position in positions) == prompt.encode()
    assert any("\ufffd" in position.token.text for position in positions), "characters in pieces"
    for position in positions[1:]:
        assert position.token.octets in [token.octets for token in position.likeliest]


async def test_an_echoed_prompt_has_log_probabilities_if_they_were_asked_for(shared: SharedClient) -> None:
    request = replace(continuing("hello hello"), echo=True, logprobs=2)
    expected = await text_of(shared, replace(request, echo=False, logprobs=None))
    begun, *_, finished = await parts_of(shared, request)
    assert isinstance(begun, Started)
    assert isinstance(finished, Ended)
    assert finished.text == expected
    first, *others = begun.prompt
    assert (first.token.logprob, first.likeliest) == (0.0, ())
    for position in others:
        check_likeliest(position, 2)
    assert begun.cached_tokens == 0, "all of it was read to be scored"


async def test_a_prompt_is_counted_without_a_place(shared: SharedClient) -> None:
    request = asking("How many tokens are these?")
    tokens = (await begun_of(shared, request)).line["prompt_tokens"]
    answers = [shared.answer(asking(f"hello {number}", ENDLESS)) for number in range(PLACES)]
    for answer in answers:
        await anext(answer)
    assert shared.running == PLACES
    assert await asyncio.gather(*(shared.count(request) for _ in range(3))) == [tokens] * 3
    assert await shared.count(replace(request, tools=Offer((TOOL,)))) > tokens
    assert await shared.count(asking("x" * 5000)) > 5000, "more than the context holds"
    with pytest.raises(RequestFailed, match="the prompt is empty") as failed:
        await shared.count(continuing(""))
    assert failed.value.theirs
    for answer in answers:
        await answer.aclose()
    await until_idle(shared)


async def test_a_prediction_is_drafted_from_for_one_answer(shared: SharedClient) -> None:
    request = asking("hello", replace(SHORT, k=8, drafter="lookup", lookup="conversation"))
    plain = await parts_of(shared, request)
    assert isinstance(plain[-1], Ended)
    predicted = await parts_of(shared, replace(request, prediction=plain[-1].text))
    assert isinstance(predicted[-1], Ended)
    assert predicted[-1].text == plain[-1].text
    assert len(predicted) < len(plain)
    assert len(await parts_of(shared, request)) == len(plain)


async def test_the_start_says_whether_the_prompt_opened_the_reasoning(shared: SharedClient) -> None:
    assert shared.info.answer_format.thinking == ("<think>", "</think>")
    for prompt, thinking in (("hello <think>\n", True), ("hello", False)):
        assert (await begun_of(shared, continuing(prompt))).line.get("opens_reasoning", False) is thinking
