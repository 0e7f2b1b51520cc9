"""An answer that repeats itself is noticed, and nothing else happens to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import Repetition
from support.conversations import ask, conversation, saying


def of(tokens: list[str]) -> Round:
    """A round that emits these tokens: all but the last were accepted, and one was rejected."""
    drafted = [DraftedToken(1, text, 0.5, 0.5, Outcome.ACCEPTED) for text in tokens[:-1]]
    wrong = DraftedToken(2, "wrong", 0.5, 0.1, Outcome.REJECTED)
    token = TargetToken(3, tokens[-1], 0.5, TokenKind.CORRECTION)
    return Round(0, "model", 9, "fixed", (*drafted, wrong), token, (), RoundTimes(0, 1, 0), 1.0)


def noticed(tokens: list[str], at_once: int = 1) -> tuple[int, int]:
    """The period that is noticed in this text, and after how many tokens; (0, 0) if it is none."""
    repetition = Repetition()
    for end in range(at_once, len(tokens) + 1, at_once):
        repetition.observe(of(tokens[end - at_once : end]))
        if repetition.period:
            return repetition.period, end
    return 0, 0


def words(count: int) -> list[str]:
    return [f"word{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("period", "enough"), [(1, 192), (2, 192), (7, 192), (63, 192), (64, 192), (65, 195), (100, 300), (256, 768)]
)
def test_the_same_64_tokens_three_times_are_noticed_and_shorter_and_longer_ones_alike(period: int, enough: int) -> None:
    beginning = ["It", " begins", ":"]
    assert noticed(beginning + words(period) * 200) == (period, len(beginning) + enough)


def test_what_is_repeated_too_seldom_is_not_noticed() -> None:
    assert noticed([*words(64) * 2, *words(63), "other", *words(400)]) == (0, 0)
    assert noticed([*words(12) * 15, "end"]) == (0, 0)
    assert noticed(words(257) * 6) == (0, 0)


def test_a_list_whose_lines_differ_is_no_repetition() -> None:
    lines = [[f"{number}", ".", " the", " same", " words", " again", "\n"] for number in range(200)]
    assert noticed([token for line in lines for token in line]) == (0, 0)


def test_rounds_of_several_tokens_count_like_single_ones() -> None:
    assert noticed(words(10) * 30, at_once=5) == (10, 195)


def test_an_answer_that_repeats_itself_goes_on_and_its_statistics_say_so() -> None:
    session = conversation(saying("no. " * 60), saying("no. " * 60))
    session.settings = replace(session.settings, max_tokens=220)
    assert ask(session, "Is it?") == ("no. " * 60)[:220]
    assert (session.end_reason, session.stats.repeats) == ("length", 4)
    assert session.end_line()["stats"]["repeats"] == 4


def test_statistics_of_other_answers_do_not_mention_it() -> None:
    session = conversation(saying("Yes."), saying("Yes."))
    ask(session, "Is it?")
    assert "repeats" not in session.end_line()["stats"]
