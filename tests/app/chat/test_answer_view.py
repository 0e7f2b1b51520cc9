from __future__ import annotations

from dataclasses import replace

import pytest

from specchat.chat.answer_view import explained_round, in_thought, view_of
from specchat.stats.figures.answer import SO_FAR
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import TokenKind
from support.drawn_rounds import sample_round
from support.sample_traces import sample_trace


def thinking(*texts: str, **start: object) -> Trace:
    return sample_trace([sample_round([], (TokenKind.PLAIN, text)) for text in texts], **start)


def test_the_figures_of_a_trace_are_its_own() -> None:
    shown = view_of(sample_trace())
    assert shown.verifier == "coupled"
    assert "4 rounds gave 8 tokens" in SO_FAR.sentence(shown)
    assert view_of(sample_trace(())).figures.num_rounds == 0


def test_tokens_are_explained_with_the_rule_and_the_temperature_of_the_answer() -> None:
    greedy = sample_trace(params={"k": 3, "temperature": 0.0}, verifier="rejection")
    found = explained_round(greedy, 2, {})
    assert [one.value for one in found] == ["accepted", "rejected", "discarded", "correction"]
    assert "At temperature 0" in found[0].paragraphs[0]
    sampled = explained_round(sample_trace(verifier="rejection"), 2, {})
    assert "min(1, p/q)" in sampled[1].paragraphs[0]


def test_a_round_with_a_rule_of_its_own_is_explained_with_it() -> None:
    (drafted,) = sample_trace(verifier="coupled").rounds[2:3]
    trace = sample_trace([replace(drafted, verifier="rejection")], verifier="coupled")
    assert "min(1, p/q)" in explained_round(trace, 0, {})[1].paragraphs[0]


@pytest.mark.parametrize(
    ("trace", "num_thought"),
    [
        (thinking("<think>", "well", "</think>", "Yes", "."), 3),
        (thinking("well", "</think>", "Yes"), 2),
        (thinking("well", " so", opens_reasoning=True), 2),
        (thinking("well", " so"), 0),
        (thinking("```\n", "<think>", "\n```\n", "Yes"), 0),
        (thinking("well", "</think>", "Yes", prefix=[1], prefix_text="<think>"), 2),
    ],
    ids=[
        "between marks",
        "open before",
        "opened by the prompt",
        "without marks",
        "marks in code",
        "opened by a prefix",
    ],
)
def test_tokens_up_to_the_closing_mark_belong_to_the_thought(trace: Trace, num_thought: int) -> None:
    assert in_thought(trace) == tuple(place < num_thought for place in range(len(trace.rounds)))


def test_every_drafted_and_own_token_of_a_thought_is_named() -> None:
    rounds = [sample_round([("a", "<think>"), ("a", "so"), ("r", "x")], (TokenKind.CORRECTION, "</think>"))]
    rounds.append(sample_round([("a", "Yes")], (TokenKind.BONUS, ".")))
    trace = sample_trace(rounds)
    mentions = [["thought" in one.paragraphs[-1] for one in explained_round(trace, place, {})] for place in (0, 1)]
    assert mentions == [[True, True, False, True], [False, False]]
