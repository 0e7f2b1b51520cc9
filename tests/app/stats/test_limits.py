"""Each cause that limits a draft is said in words."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from specchat.stats.limits import limit, limits
from specchat_engine.decoding.rounds import LimitedBy
from support.drawn_rounds import made_round


@pytest.mark.parametrize(("drafted", "which"), [(1, "first"), (7, "seventh"), (12, "last")])
def test_a_drafter_that_was_too_unsure_is_quoted(drafted: int, which: str) -> None:
    event = replace(made_round(drafted, 0), limited_by="confidence")
    unsure = replace(event, drafted=(*event.drafted[:-1], replace(event.drafted[-1], q=0.31)))
    assert limit(unsure).endswith(f": the {which} was too unsure, 0.31")
    unknown = replace(event, drafted=(*event.drafted[:-1], replace(event.drafted[-1], q=None)))
    assert limit(unknown).endswith(f": the {which} was too unsure")


def test_the_number_of_drafted_tokens_comes_first_then_the_cause_in_words_of_its_own() -> None:
    said = [limit(replace(made_round(3, 1), limited_by=cause)) for cause in get_args(LimitedBy) if cause]
    assert all(words.startswith("3 tokens: ") for words in said)
    assert len({*said}) == len(said)
    assert limit(replace(made_round(7, 7), limited_by="fixed")) == "7 tokens: k is fixed"
    assert limit(replace(made_round(1, 0), limited_by="wanted")) == "1 token: no more tokens are wanted"


def test_a_plain_round_says_why_nothing_was_drafted() -> None:
    assert limit(replace(made_round(0, 0), limited_by="pace")) == "no draft was expected to be worth its time"
    assert "could lose more" in limit(replace(made_round(0, 0), limited_by="loss cap"))
    assert limit(made_round(0, 0)) == ""


def test_the_causes_of_a_whole_answer_are_counted_and_say_what_would_change_them() -> None:
    plain = replace(made_round(0, 0), limited_by="loss cap")
    rounds = [plain] * 12 + [replace(made_round(4, 2), limited_by="confidence")] * 7 + [made_round(0, 0)]
    assert [sentence.partition(":")[0] for sentence in limits(rounds)] == [
        "12 of 20 rounds drafted nothing",
        "7 of 20 rounds drafted no more",
    ]
    assert "/k 5" in limits(rounds)[0]
    assert limits([replace(made_round(0, 0), reason="no match")]) == ["1 of 1 rounds drafted nothing: no match."]
