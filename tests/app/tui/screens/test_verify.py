"""The verify window: the last answer decoded again without speculation."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from textual.widgets import Static

from app.tui.chatting import Chat, ask, chat, command, note, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.screens.verify import TextComparison, VerifyScreen, compared, describe_gap, not_comparable
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.sampling.noise import gumbel, turn_seed
from specchat_engine.sampling.params import SamplingParams
from support.drawn_rounds import sample_round
from support.sample_traces import CAT, sample_trace


async def result_text(pilot: Chat) -> str:
    for _ in range(1800):
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, VerifyScreen)
        text = str(pilot.app.screen.query_one("#result", Static).render())
        if text[0] in "✓✕" and "looking closer" not in text:
            return text
    raise AssertionError(text)


async def test_equal_texts_are_reported_the_conversation_is_unchanged_and_a_difference_is_inspected() -> None:
    client = ScriptedClient(script("> one| two> three"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/verify")
        assert "all 3 tokens are equal" in await result_text(pilot)
        assert (client.settings[-1].k, client.settings[-1].max_tokens) == (0, 3)
        assert client.noises[0] == client.noises[1]
        await pilot.press("escape")
        assert shown(pilot) == ["Who?", " one two three"]
        client.variants = [script("> one|> two")]
        await command(pilot, "/verify")
        text = await result_text(pilot)
        assert "differ at token 2: the answer says ·two, plain decoding ·two" in text
        assert "survive top-k" in text
        assert [(position, asked) for _, position, asked in client.inspected] == [(1, (1, 2))]


async def test_a_plain_answer_needs_no_window() -> None:
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/verify")
        assert "plain already" in note(pilot)


ONE_BY_ONE = tuple(
    sample_round([], (TokenKind.PLAIN, word)) for word in ("The", " cat", " sat", " on", " the", " red", " mat", ".")
)


def test_the_same_tokens_are_equal_however_they_were_cut_into_rounds() -> None:
    result = compared(sample_trace(CAT), sample_trace(ONE_BY_ONE))
    assert result == TextComparison(8)
    assert "all 8 tokens are equal" in result.sentence()


def test_the_first_token_that_differs_is_reported_with_both() -> None:
    other = (*ONE_BY_ONE[:5], sample_round([], (TokenKind.PLAIN, " mad")), *ONE_BY_ONE[6:])
    result = compared(sample_trace(CAT), sample_trace(other))
    assert (result.place, result.texts) == (5, ("·red", "·mad"))
    assert "differ at token 6" in result.sentence()


def test_an_answer_that_ends_before_the_other_differs_there() -> None:
    result = compared(sample_trace(CAT), sample_trace(ONE_BY_ONE[:7]))
    assert (result.place, result.texts[1]) == (7, "nothing more")
    assert result.tokens[1] is None


def test_given_tokens_count_and_differ_never() -> None:
    begun = {"prefix": [1, 2], "prefix_text": "ab"}
    assert compared(sample_trace(CAT, **begun), sample_trace(ONE_BY_ONE, **begun)).equal == 10
    result = compared(sample_trace(CAT, **begun), sample_trace(ONE_BY_ONE[:2], **begun))
    assert (result.place, result.texts[0]) == (4, "·sat")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"verifier": "typical", "lossless": False}, "lossy"),
        ({"thought_verifier": "typical", "lossless": False}, "the rule typical for thoughts is lossy"),
        ({"verifier": "rejection"}, "temperature 0"),
        ({"verifier": "rejection", "params": {"temperature": 0}}, ""),
        ({}, ""),
    ],
)
def test_only_what_promises_the_same_text_is_compared(changes: dict[str, object], why: str) -> None:
    result_text = not_comparable(sample_trace(CAT, **changes))
    assert (why in result_text) if why else result_text == ""


@pytest.mark.parametrize(
    ("begun", "later", "why"),
    [
        ("coupled", "typical", "the rule typical is lossy"),
        ("coupled", "rejection", "the rule rejection keeps"),
        ("typical", "coupled", "the rule typical is lossy"),
    ],
)
def test_a_rule_that_was_changed_within_the_answer_counts(begun: str, later: str, why: str) -> None:
    rounds = (*(replace(event, verifier=begun) for event in CAT), *(replace(event, verifier=later) for event in CAT))
    answer = sample_trace(rounds, verifier=begun, lossless=begun != "typical", params={"temperature": 0.8})
    assert why in not_comparable(answer)


def test_a_rule_that_verified_no_draft_does_not_count() -> None:
    rounds = tuple(replace(event, verifier="coupled") for event in CAT)
    assert not_comparable(sample_trace(rounds, verifier="typical", lossless=False)) == ""


def test_a_plain_answer_is_not_compared_with_itself() -> None:
    assert "plain already" in not_comparable(sample_trace(ONE_BY_ONE))


def seen(temperature: float, *tokens: InspectedToken) -> Inspection:
    return Inspection(3, 5, tokens, SamplingParams(temperature=temperature))


def token(id: int, p: float, removed_by: str | None = None) -> InspectedToken:  # noqa: A002
    return InspectedToken(id, "x", p, 1, 0.0 if removed_by else p, removed_by)


def test_the_distance_of_two_tokens_counts_the_noise_of_their_position() -> None:
    one, other = gumbel(turn_seed(7, 1, 2), 3, (5, 6)).tolist()
    even = math.exp(one - other)
    near = seen(0.8, token(5, 0.1), token(6, 0.1 * even))
    difference = TextComparison(3, 3, (5, 6))
    assert "a near-tie" in describe_gap(near, difference, 7, 1, 2)
    assert "no near-tie" in describe_gap(near, difference, 7, 1, 3, "F16")
    assert "no near-tie" in describe_gap(replace(near, sampling=SamplingParams(temperature=0)), difference, 7, 1, 2)
    cut = seen(0.8, token(5, 0.1), token(6, 0.1, "top-k"))
    assert "does not survive top-k" in describe_gap(cut, difference, 7, 1, 2)
    assert describe_gap("the engine died", difference, 7, 1, 2).endswith("the engine died")
