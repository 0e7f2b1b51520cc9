"""What settings allow a round to be made of."""

from __future__ import annotations

import pytest

from specchat_engine import Settings
from specchat_engine.policy.allowed_drafters import Ways


@pytest.mark.parametrize(
    ("drafter", "has_draft", "who"),
    [
        ("hybrid", True, (True, True)),
        ("hybrid", False, (False, True)),
        ("model", True, (True, False)),
        ("model", False, (False, True)),
        ("lookup", True, (False, True)),
        ("none", True, (False, False)),
    ],
)
def test_who_may_draft(drafter: str, has_draft: bool, who: tuple[bool, bool]) -> None:
    ways = Ways.under(Settings(drafter=drafter), has_draft=has_draft)
    assert (ways.model, ways.lookup) == who


def test_nobody_drafts_for_a_target_that_cannot_speculate_nor_with_a_k_of_0_and_the_reason_is_told() -> None:
    refused = Ways.under(Settings(), has_draft=True, plain_because="it cannot forget")
    plain = Ways.under(Settings(k=0), has_draft=True)
    assert [refused.model, refused.lookup, plain.model, plain.lookup] == [False] * 4
    assert (refused.because, plain.because) == ("it cannot forget", "k is 0")


@pytest.mark.parametrize(
    ("verifier", "k", "free"),
    [
        ("coupled", 4, True),
        ("coupled", "auto", True),
        ("rejection", 4, False),
        ("block", 4, False),
        ("typical", 4, False),
        ("rejection", "auto", True),
    ],
)
def test_what_was_said_elsewhere_is_searched_where_a_seed_says_the_same_all_the_same(
    verifier: str, k: int, free: bool
) -> None:
    ways = Ways.under(Settings(k=k, verifier=verifier), has_draft=True)
    assert ways.free is ways.recalls is free
    assert not Ways.under(Settings(k=k, verifier=verifier, lookup="conversation"), has_draft=True).recalls
