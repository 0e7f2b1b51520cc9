"""The tokens of an answer's reasoning, counted by hand."""

from __future__ import annotations

import json

import pytest

from specchat_engine import DraftedToken, Outcome, Round, TargetToken, TokenKind, TurnStats
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.decoding.reasoning import ReasoningCounter, closes_reasoning, opens_reasoning
from specchat_engine.decoding.rounds import RoundTimes
from specchat_engine.decoding.stats import ReasoningStats


def a_round(accepted: list[str], own: str, rejected: str = "", discarded: str = "") -> Round:
    """A round that takes 10 ms for each token that it emits."""
    drafted = [DraftedToken(1, text, 0.5, 0.5, Outcome.ACCEPTED) for text in accepted]
    drafted += [DraftedToken(1, rejected, 0.5, 0.5, Outcome.REJECTED)] if rejected else []
    drafted += [DraftedToken(1, discarded, 0.5, 0.5, Outcome.DISCARDED)] if discarded else []
    kind = TokenKind.CORRECTION if rejected else TokenKind.PLAIN
    times = RoundTimes(0.0, 10.0 * (len(accepted) + 1), 0.0)
    return Round(0, "model", 4, "", tuple(drafted), TargetToken(2, own, 0.5, kind), (), times, 0.0)


def counted(*rounds: Round, opened: bool = False, given: str = "") -> ReasoningStats | None:
    counter = ReasoningCounter(opened=opened)
    counter.skip(given)
    for event in rounds:
        counter.observe(event)
    return counter.stats


def test_the_tokens_between_the_tags_are_counted_with_the_tags() -> None:
    found = counted(
        a_round([], "<think>"),
        a_round([" so", " I"], " add", rejected=" guess", discarded=" it"),
        a_round(["</think>", "\n"], "Four"),
        a_round([" is", " the"], " answer", rejected=" result"),
    )
    assert found is not None
    assert (found.num_tokens, found.num_rounds, found.decode_ms) == (5, 3, 50.0)
    assert (found.num_draft_tokens, found.num_accepted_tokens, found.num_rejected_tokens) == (5, 3, 1)
    assert found.alpha == pytest.approx(3 / 4)
    assert found.tokens_per_second == pytest.approx(100)


def test_a_tag_in_pieces_counts_once_it_is_whole() -> None:
    found = counted(a_round(["\n", "<thi"], "nk>"), a_round([], "hm"), a_round(["</th"], "ink>"))
    assert found is not None
    assert found.num_tokens == 6
    assert counted(a_round(["<thi"], "s is not a tag")) is None


def test_reasoning_that_the_prompt_opened_needs_no_tag() -> None:
    found = counted(a_round([], "well"), a_round([], "</think>"), a_round([], "Yes"), opened=True)
    assert found is not None
    assert found.num_tokens == 2


def test_what_an_answer_begins_with_is_not_counted_and_may_open_the_reasoning() -> None:
    found = counted(a_round([], " so"), a_round([], "</think>"), a_round([], "Yes"), given="<think>Hm")
    assert found is not None
    assert found.num_tokens == 2


def test_an_answer_without_reasoning_has_no_such_counts() -> None:
    assert counted(a_round(["Four", " is"], " it"), a_round([], "<think>"), a_round([], " late")) is None


def test_reasoning_that_never_ends_is_counted_to_the_end() -> None:
    found = counted(a_round([], "<think>"), a_round([" a", " b"], " c"))
    assert found is not None
    assert found.num_tokens == 4


def test_the_counts_stand_in_the_statistics_of_a_turn() -> None:
    counter, stats = ReasoningCounter(), TurnStats()
    for event in (a_round([], "<think>"), a_round([" a"], "</think>"), a_round([], "Yes")):
        stats.observe(event)
        counter.observe(event)
    assert "reasoning" not in stats.to_json()
    stats.reasoning = counter.stats
    record = json.loads(json.dumps(stats.to_json()))
    assert record["reasoning"] == {
        "num_tokens": 3,
        "num_rounds": 2,
        "num_draft_tokens": 1,
        "num_accepted_tokens": 1,
        "num_rejected_tokens": 0,
        "decode_ms": 30.0,
        "alpha": 1.0,
        "tokens_per_second": pytest.approx(100),
    }
    assert record["num_tokens"] == 4


@pytest.mark.parametrize(
    ("end", "opened", "closed"),
    [
        ("<think>", True, False),
        ("<think>\n", True, False),
        ("<think>\n\n</think>\n\n", False, True),
        ("</think>Well", False, False),
    ],
)
def test_a_prompt_may_end_inside_the_reasoning_or_after_it(end: str, opened: bool, closed: bool) -> None:
    prompt = [*b"Hello", *end.encode()]
    for ends, expected in ((opens_reasoning, opened), (closes_reasoning, closed)):
        assert ends(AnswerFormat(), prompt, lambda token: bytes([token])) is expected
