from __future__ import annotations

from specchat.bench.choice import choose, in_words
from specchat.bench.estimates import Estimate
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.summary import Overall

AUTO = Arm("hybrid", "auto")


def means(**values: float) -> list[Overall]:
    arms = {"plain": PLAIN, "model4": Arm("model", 4), "lookup8": Arm("lookup", 8), "auto": AUTO}
    return [
        Overall(None, arms[name], Estimate(value, None, (value - 0.1, value + 0.1), 9))
        for name, value in values.items()
    ]


def sentence(**values: float) -> str:
    choice = choose(means(**values))
    assert choice is not None
    return in_words(choice)


def test_the_best_arm_and_the_best_fixed_k_are_told_in_one_sentence() -> None:
    assert sentence(plain=1.0, model4=1.2, lookup8=1.1, auto=1.4) == (
        "Use --drafter hybrid -k auto: 1.40 × plain (95 % 1.30 to 1.50) over all kinds, from 9 pairs of answers; "
        "the best fixed k is --drafter model -k 4 with 1.20 × plain (95 % 1.10 to 1.30)."
    )


def test_a_fixed_k_that_is_best_is_told_once() -> None:
    assert sentence(plain=1.0, model4=1.2, lookup8=1.5, auto=1.4) == (
        "Use --drafter lookup -k 8: 1.50 × plain (95 % 1.40 to 1.60) over all kinds, from 9 pairs of answers."
    )


def test_where_only_the_adaptive_arm_gains_it_says_that_no_fixed_k_does() -> None:
    assert sentence(plain=1.0, model4=0.8, auto=1.2).endswith(
        "over all kinds, from 9 pairs of answers; no fixed k gains."
    )


def test_a_gain_that_may_be_chance_is_called_one() -> None:
    chance = "that may be chance, so measure more with --repeats"
    assert chance in sentence(plain=1.0, model4=1.05)
    assert chance not in sentence(plain=1.0, model4=1.2)
    single = [Overall(None, arm, Estimate(value, None, None, 1)) for arm, value in ((PLAIN, 1.0), (AUTO, 3.0))]
    choice = choose(single)
    assert choice is not None
    assert chance in in_words(choice)


def test_where_nothing_gains_it_says_plain() -> None:
    assert sentence(plain=1.0, model4=0.8, lookup8=0.9, auto=0.97).startswith("Decode plainly (--drafter none)")


def test_where_nothing_was_compared_nothing_is_chosen() -> None:
    assert choose([]) is None
    assert choose(means(plain=1.0)) is None
