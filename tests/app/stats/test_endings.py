"""How an answer ended, in the same words everywhere."""

import pytest

from specchat.stats.endings import ending, ending_in, with_ending
from specchat.store.records import State


@pytest.mark.parametrize("reason", ["end", "stop"])
def test_an_answer_that_ended_by_itself_says_nothing_of_it(reason: str) -> None:
    assert with_ending(reason, "9 tokens") == "9 tokens"
    assert ending_in(State.WHOLE) == ""


def test_every_other_ending_is_told_in_words_of_its_own() -> None:
    told = [ending(reason) for reason in ("cancelled", "length", "context", "error", None)]
    assert all(told)
    assert len(set(told)) == len(told)


def test_how_it_ended_stands_before_the_figures_that_there_are() -> None:
    assert with_ending("length", "", "≈ typical") == "max tokens · ≈ typical"


def test_a_stopped_answer_is_told_alike_with_and_without_its_reason() -> None:
    assert ending_in(State.STOPPED) == ending("cancelled")
