"""How many tokens a question has."""

from __future__ import annotations

from specchat_engine.split.length import QuestionLength


def settled(accepted: int, *, step_ms: float, asked_ms: float, token_ms: float = 0.0) -> int:
    """The length after many questions of seven to nine tokens, of which so many were accepted."""
    length = QuestionLength(16)
    for number in range(60):
        drafted = 7 + number % 3
        length.observe(drafted, min(accepted, drafted), asked_ms + token_ms * drafted, step_ms)
    return length.best


def test_half_of_what_is_possible_is_asked_about_first() -> None:
    assert QuestionLength(16).best == 8
    assert QuestionLength(1).best == 1


def test_the_longer_an_answer_travels_the_more_is_drafted_for_it() -> None:
    lengths = [settled(4, step_ms=2.0, asked_ms=asked_ms) for asked_ms in (1.0, 10.0, 100.0)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_the_more_a_token_adds_to_the_targets_pass_the_less_is_drafted() -> None:
    lengths = [settled(5, step_ms=1.0, asked_ms=50.0, token_ms=token_ms) for token_ms in (0.0, 5.0, 50.0)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1]


def test_the_less_is_accepted_the_less_is_drafted() -> None:
    lengths = [settled(accepted, step_ms=2.0, asked_ms=20.0) for accepted in (8, 4, 0)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == 1
