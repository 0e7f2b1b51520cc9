"""Where a prompt parts from the one that the memory held, as a sentence that shows the new one alone."""

from __future__ import annotations

import pytest

from specchat_engine.prompt.cache_miss import cache_miss


def ids(text: str) -> list[int]:
    return [*text.encode()]


def because(before: list[int], now: list[int], kept: int) -> str:
    return cache_miss([before], now, kept, lambda token: bytes([token]))


LONG = "The quick brown fox jumps over the lazy dog again and again. " * 3


def test_it_shows_what_changed() -> None:
    before, now = ids(f"cch=1a2b; {LONG}"), ids(f"cch=3c4d; {LONG}")
    found = because(before, now, 4)
    assert found.startswith("only the first 4 tokens were in memory: no text there goes on with '3c4d; The quick")
    assert "1a2b" not in found, "it may be another client's"


def test_a_part_of_a_character_does_no_harm() -> None:
    before, now = ids("ä" + LONG), ids("ö" + LONG)
    assert "\N{REPLACEMENT CHARACTER}The" in because(before, now, 1)


@pytest.mark.parametrize(
    ("before", "now"),
    [([], ids(LONG)), (ids("short"), ids(LONG)), (ids(LONG), ids("short")), (ids(LONG[:63]), ids("x" + LONG[:62]))],
)
def test_little_is_no_loss(before: list[int], now: list[int]) -> None:
    assert because(before, now, 0) == ""


def test_a_longer_prompt_that_begins_with_the_last_one_lost_nothing() -> None:
    assert because(ids(LONG), ids(LONG * 2), len(LONG)) == ""


def test_of_several_texts_the_one_that_is_most_alike_counts() -> None:
    texts, now = [ids("x" * 500), ids(LONG)], ids(LONG * 2)
    assert cache_miss(texts, now, len(LONG), lambda token: bytes([token])) == ""


def test_of_texts_that_are_equally_alike_the_longest_counts() -> None:
    texts, now = [ids("ab"), ids("ac" + LONG), ids("ad")], ids("az" + LONG)
    assert "goes on with 'zThe quick" in cache_miss(texts, now, 1, lambda token: bytes([token]))


def test_a_memory_that_cannot_go_back_is_the_reason_if_the_prompts_are_alike_there() -> None:
    now = ids(LONG + "one")
    assert "cannot go back" in because(ids(LONG + "two"), now, 0)


def test_an_image_has_no_text() -> None:
    now = [7, *[-3] * 99]
    assert because(ids("\x07" + LONG), now, 1).endswith("goes on with this image")
