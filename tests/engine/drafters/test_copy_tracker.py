"""A copy is taken up again behind an edit, and only a copy is."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.drafters.ngram_index import Match, NgramIndex
from specchat_engine.drafters.prompt_lookup import CopyTracker

SOURCE = "one two three four five six seven eight nine ten eleven twelve"


def ids(words: str) -> list[int]:
    return [crc32(word.encode()) for word in words.split()]


def behind(word: str) -> int:
    """The place in the source behind that word."""
    return SOURCE.split().index(word) + 1


def met(said: str, steps: int = 1, source: str = SOURCE) -> list[Match | None]:
    """What is met behind each `steps` words of what is said below the source."""
    index, tracker = NgramIndex(2, 32), CopyTracker()
    index.learn(ids(source + " --"))
    matches = []
    for start in range(0, len(ids(said)), steps):
        index.learn(ids(said)[start : start + steps])
        matches.append(tracker.update(index.tokens, index.find()))
    return matches


@pytest.mark.parametrize(
    "said",
    [
        "one two three four FIVE six",
        "one two three four five and six",
        "one two three four FIVE AND A HALF six",
        "two three four five eight",
        "one two three four A B C D E F G H six",
    ],
)
def test_after_words_that_were_replaced_added_or_left_out_one_token_is_enough(said: str) -> None:
    *before, last = met(said)
    assert last == Match(behind(said.split()[-1]), 1, resumed=True)
    assert not any(match and match.resumed for match in before)


@pytest.mark.parametrize(
    "said",
    [
        "two three four FIVE six",
        "six",
        "one five",
        "one two three four A B C D E F G H I six",
        "one two FOUR twelve",
    ],
    ids=["three copied", "nothing copied", "one copied", "much of its own", "far behind"],
)
def test_a_single_token_is_no_match_unless_a_copy_was_left_just_before(said: str) -> None:
    assert met(said)[-1] is None


def test_a_copy_that_was_taken_up_stays_one_until_a_longer_match_is_found() -> None:
    matches = met("one two three four FIVE six seven eight nine ten eleven")[5:]
    assert matches == [Match(behind(word), length, True) for length, word in enumerate(SOURCE.split()[5:11], 1)]


def test_several_tokens_at_once_leave_the_same_trail() -> None:
    said = "one two three four FIVE six seven ACHT nine"
    assert met(said, 3)[-1] == met(said)[-1]


def test_a_wrong_place_to_go_on_does_not_end_the_search() -> None:
    source = "one two three four A x B x C x"
    assert met("one two three four - x", source=source)[-1] == Match(6, 1, resumed=True)
    assert met("one two three four - x D x", source=source)[-1] == Match(6, 1, resumed=True)


def test_another_text_has_left_nothing() -> None:
    index, tracker = NgramIndex(2, 32), CopyTracker()
    for part in (SOURCE, "-- one two three four", "FIVE"):
        index.learn(ids(part))
        tracker.update(index.tokens, index.find())
    assert tracker.astray
    tracker.clear()
    assert not tracker.astray
    index.learn(ids("six"))
    assert tracker.update(index.tokens, index.find()) is None


@given(st.text("abcde", min_size=8, max_size=40), st.lists(st.text("abcdef", min_size=1, max_size=6), max_size=12))
def test_what_stands_before_a_match_is_what_was_said_last(source: str, said: list[str]) -> None:
    index, tracker = NgramIndex(2, 32), CopyTracker()
    index.learn([ord(letter) for letter in source])
    for part in said:
        index.learn([ord(letter) for letter in part])
        found = index.find()
        match = tracker.update(index.tokens, found)
        end = len(index.tokens)
        if match:
            assert match.index < end
            assert index.tokens[match.index - match.length : match.index] == index.tokens[end - match.length :]
        if found and (match is None or not match.resumed):
            assert match == found
        assert match == tracker.update(index.tokens, found), "looking twice changes nothing"
