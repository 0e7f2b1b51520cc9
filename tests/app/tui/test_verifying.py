"""Two answers compared token by token."""

import math
from dataclasses import replace

import pytest

from specchat.tui.verifying import Compared, compared, gap_told, not_comparable
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.sampling.noise import gumbel, turn_seed
from specchat_engine.sampling.params import SamplingParams
from support.sample_rounds import sample_round
from support.sample_traces import CAT, sample_trace

ONE_BY_ONE = tuple(
    sample_round([], (TokenKind.PLAIN, word)) for word in ("The", " cat", " sat", " on", " the", " red", " mat", ".")
)


def test_the_same_tokens_are_equal_however_they_were_cut_into_rounds() -> None:
    result = compared(sample_trace(CAT), sample_trace(ONE_BY_ONE))
    assert result == Compared(8)
    assert "8 tokens, all equal" in result.sentence()


def test_the_first_token_that_differs_is_told_with_both() -> None:
    other = (*ONE_BY_ONE[:5], sample_round([], (TokenKind.PLAIN, " mad")), *ONE_BY_ONE[6:])
    result = compared(sample_trace(CAT), sample_trace(other))
    assert (result.place, result.texts) == (5, ("·red", "·mad"))
    assert "part at token 6" in result.sentence()


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
        ({"verifier": "rejection"}, "temperature 0"),
        ({"verifier": "rejection", "params": {"temperature": 0}}, ""),
        ({}, ""),
    ],
)
def test_only_what_promises_the_same_text_is_compared(changes: dict[str, object], why: str) -> None:
    told = not_comparable(sample_trace(CAT, **changes))
    assert (why in told) if why else told == ""


def test_a_plain_answer_is_not_compared_with_itself() -> None:
    assert "plain already" in not_comparable(sample_trace(ONE_BY_ONE))


def seen(temperature: float, *tokens: InspectedToken) -> Inspection:
    return Inspection(3, 5, tokens, SamplingParams(temperature=temperature))


def token(id: int, p: float, removed_by: str | None = None) -> InspectedToken:  # noqa: A002
    return InspectedToken(id, "x", p, 1, 0.0 if removed_by else p, removed_by)


def test_how_close_two_tokens_are_is_told_with_the_noise_of_their_place() -> None:
    one, other = gumbel(turn_seed(7, 1, 2), 3, (5, 6)).tolist()
    even = math.exp(one - other)
    near = seen(0.8, token(5, 0.1), token(6, 0.1 * even))
    difference = Compared(3, 3, (5, 6))
    assert "a near-tie" in gap_told(near, difference, 7, 1, 2)
    assert "no near-tie" in gap_told(near, difference, 7, 1, 3)
    assert "no near-tie" in gap_told(replace(near, sampling=SamplingParams(temperature=0)), difference, 7, 1, 2)
    cut = seen(0.8, token(5, 0.1), token(6, 0.1, "top-k"))
    assert "does not survive top-k" in gap_told(cut, difference, 7, 1, 2)
    assert gap_told("the engine died", difference, 7, 1, 2).endswith("the engine died")
