"""The index of matches finds what a search of the whole text finds, wherever a stretch of it ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.drafters.ngram_index import Match, NgramIndex

stretches = st.lists(st.lists(st.integers(0, 2), max_size=25), min_size=1, max_size=5)


def searched(tokens: Sequence[int], shortest: int, longest: int) -> Match | None:
    for length in range(min(longest, len(tokens) - 1), shortest - 1, -1):
        for end in range(len(tokens) - 1, length - 1, -1):
            if tokens[end - length : end] == tokens[-length:] and tokens[end] >= 0:
                return Match(end, length)
    return None


@given(stretches, st.integers(1, 9), st.integers(0, 12))
def test_it_finds_what_a_search_finds(stretches: list[list[int]], shortest: int, more: int) -> None:
    index = NgramIndex(shortest, shortest + more)
    for number, stretch in enumerate(stretches):
        if number:
            index.part()
        index.learn(stretch)
        assert [token for token in index.tokens if token >= 0] == [*chain(*stretches[: number + 1])]
        assert index.find() == searched(index.tokens, shortest, shortest + more)


def test_a_long_match_is_found_after_thousands_of_short_ones() -> None:
    """The pair 1, 2 is everywhere; the passage that the text repeats stood at its beginning."""
    passage = [7, 8, 9, 10, 11, 12, 13, 14, 1, 2]
    index = NgramIndex(2, 32)
    index.learn([*passage, 99, *[3, 1, 2] * 3000, *passage])
    assert index.find() == Match(len(passage), len(passage))


def test_a_text_that_repeats_one_token_is_searched_no_longer_than_wanted() -> None:
    index = NgramIndex(2, 32)
    index.learn([5] * 5000)
    assert index.find() == Match(4999, 32)
