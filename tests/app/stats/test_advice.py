from __future__ import annotations

import random
from dataclasses import replace
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.stats.advice import (
    AT_ONCE,
    CHANCE,
    Advice,
    AdviceHistory,
    AlphaRecord,
    Answered,
    Cause,
    Reported,
    advise,
    at_most,
    fallen_alpha,
)
from specchat.stats.causes import causes
from specchat.stats.summary import Figures
from specchat_engine.decoding.costs import CostLine, MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import speedup_over_plain
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, Settings
from support.drawn_rounds import made_round, simulated

FLAT = MeasuredCosts(((1, 2.0), (2, 2.1), (9, 2.8), (17, 3.6)), 0.05)
STEEP = MeasuredCosts(((1, 2.0), (2, 3.9), (9, 17.0)), 0.4)
KNOWN = {"speedup": 1.45}
"""About the speed-up of drafts of 4 tokens at these costs if half of them are accepted."""

DRAFTERS = ("hybrid", "model", "lookup", "none")


def cost_of(costs: MeasuredCosts, width: int) -> float:
    return CostLine(costs.verify).at(width)


def answered(
    alpha: float,
    k: int,
    costs: MeasuredCosts = FLAT,
    *,
    chosen: Settings | None = None,
    rounds: int = 80,
    **others: object,
) -> Answered:
    made = simulated((alpha,) * k, k, lambda width: cost_of(costs, width), costs.draft_step or 0.0, rounds=rounds)
    measured = {"speedup": speedup_over_plain(cost_of(costs, 1), Figures.of(made))}
    return Answered(
        tuple(made),
        chosen or Settings(k=k, drafter="model"),
        costs,
        drafters=DRAFTERS,
        **({"stats": measured} | others),  # type: ignore[arg-type]
    )


def settled(turn: Answered, memory: AdviceHistory | None = None) -> tuple[Advice | None, AdviceHistory]:
    """What is said after the second of two such answers, unless it was said after the first."""
    advice, after = advise(causes(turn), memory or AdviceHistory())
    return (advice, after) if advice else advise(causes(turn), after)


def test_a_k_that_is_too_low_or_too_high_is_named_with_what_it_would_give() -> None:
    advice, _ = settled(answered(0.93, 2))
    assert advice is not None
    assert advice.cause is Cause.LENGTH
    assert advice.remedy is not None
    assert advice.remedy(Settings(k=2)).k == 4, "no further than twice what was tried"
    assert advice.sentence == f"k 4 would have been {advice.gain * 100:.0f} % faster here"
    advice, _ = settled(answered(0.7, 8, MeasuredCosts(((1, 2.0), (2, 2.2), (9, 6.0)), 0.2)))
    assert advice is not None
    assert advice.cause is Cause.LENGTH
    assert advice.remedy is not None
    assert 0 < advice.remedy(Settings(k=8)).k < 8  # type: ignore[operator]


def test_low_alpha_turns_to_auto_and_says_what_is_needed() -> None:
    advice, _ = settled(answered(0.3, 4, STEEP))
    assert advice is not None
    assert advice.cause is Cause.LOW_ALPHA
    assert advice.remedy is not None
    assert advice.remedy(Settings(k=4)).k == AUTO
    assert any("Break-even" in line for line in advice.why)


@pytest.mark.parametrize(("alpha", "k"), [(0.93, 16), (0.8, 6), (0.75, 5)])
def test_a_k_that_is_right_gets_no_advice(alpha: float, k: int) -> None:
    assert settled(answered(alpha, k))[0] is None


def test_auto_is_left_alone_unless_it_is_far_off() -> None:
    auto = Settings(k=AUTO, drafter="model")
    assert settled(answered(0.93, 8, chosen=auto))[0] is None
    advice, _ = settled(answered(0.93, 2, chosen=auto))
    assert advice is not None
    assert "than auto" in advice.sentence


def test_few_tokens_are_no_ground_for_advice_and_nothing_is_said_of_k_without_measured_costs() -> None:
    assert causes(answered(0.3, 4, STEEP, rounds=10)) == {}
    assert advise(causes(Answered((), Settings(), FLAT)), AdviceHistory())[0] is None
    assert Cause.LENGTH not in causes(replace(answered(0.93, 2), costs=MeasuredCosts()))


@settings(max_examples=30)
@given(
    st.floats(0.05, 0.98),
    st.integers(1, 8),
    st.lists(st.floats(0.02, 2), min_size=2, max_size=3),
    st.floats(0.01, 1.5),
)
def test_what_is_advised_about_k_is_predicted_to_be_faster(
    alpha: float, k: int, steps: list[float], step_ms: float
) -> None:
    verify = [(1, 2.0)]
    for step in steps:
        width = verify[-1][0] + 5
        verify.append((width, verify[-1][1] + 5 * step))
    turn = answered(alpha, k, MeasuredCosts(tuple(verify), step_ms))
    prediction = turn.prediction
    assert prediction is not None
    for cause in (Cause.LENGTH, Cause.LOW_ALPHA):
        advice = causes(turn).get(cause)
        if advice is None:
            continue
        assert advice.remedy is not None
        chosen = advice.remedy(turn.settings).k
        better = prediction.points[0 if chosen == AUTO else chosen].tokens_per_second
        assert better > prediction.points[k].tokens_per_second
        assert advice.gain == pytest.approx(better / prediction.now - 1)
        assert 3 <= len(advice.why) <= 6


def test_rejections_of_the_targets_own_favourite_blame_the_temperature() -> None:
    rounds = tuple(simulated((0.5,) * 4, 4, lambda width: cost_of(FLAT, width), 0.05, rounds=80, missed_best=0.8))
    warm = Settings(k=4, drafter="model", sampling=SamplingParams(temperature=1.0))
    advice = causes(Answered(rounds, warm, FLAT, KNOWN))[Cause.TEMPERATURE]
    assert "the text changes" in advice.sentence
    assert advice.remedy is not None
    assert advice.remedy(warm).sampling == replace(warm.sampling, temperature=0.5)
    cold = replace(warm, sampling=SamplingParams(temperature=0.2))
    assert Cause.TEMPERATURE not in causes(Answered(rounds, cold, FLAT, KNOWN))
    other = tuple(simulated((0.5,) * 4, 4, lambda width: cost_of(FLAT, width), 0.05, rounds=80, missed_best=0.1))
    assert Cause.TEMPERATURE not in causes(Answered(other, warm, FLAT, KNOWN))


def test_a_draft_that_takes_half_of_the_time_is_too_large() -> None:
    large = MeasuredCosts(FLAT.verify, 0.8)
    advice = causes(answered(0.9, 4, large))[Cause.LARGE_DRAFT]
    assert advice.command == "/draft"
    assert "c 0.40" in advice.sentence
    assert Cause.LARGE_DRAFT not in causes(answered(0.9, 4))


def copying(drafter: str, k: int | str = 4) -> Answered:
    words = [f"word{place} " for place in range(90)]
    rounds = [made_round(2, 0, index=place, ms=(0.1, 2.5, 0.1), text=word) for place, word in enumerate(words)]
    chosen = Settings(k=k, drafter=drafter)  # type: ignore[arg-type]
    return Answered(tuple(rounds), chosen, FLAT, prompt="Copy this: " + "".join(words), drafters=DRAFTERS)


def test_lookup_is_advised_for_a_copy_without_it() -> None:
    advice = causes(copying("model"))[Cause.COPIES]
    assert advice.remedy is not None
    assert advice.remedy(Settings(k=4, drafter="model")) == Settings(k=4, drafter="hybrid")
    assert advice.remedy(Settings(k=0, drafter="none")) == Settings(k=AUTO, drafter="hybrid")
    assert advice.gain > AT_ONCE


def test_a_copy_with_lookup_and_an_answer_of_its_own_are_not() -> None:
    assert Cause.COPIES not in causes(copying("hybrid"))
    assert Cause.COPIES in causes(copying("hybrid", 0))
    assert Cause.COPIES not in causes(replace(copying("model"), prompt="Something else. " * 60))
    assert Cause.COPIES not in causes(replace(copying("model"), drafters=("none",)))


def plain(times: list[float], other: float = 0.1) -> tuple[Round, ...]:
    return tuple(made_round(0, 0, index=place, ms=(0.0, ms, other)) for place, ms in enumerate(times))


def test_only_the_first_answer_can_have_a_cold_start() -> None:
    cold = Answered(plain([20.0] * 4 + [2.0] * 60), Settings(k=0), FLAT)
    advice, _ = advise(causes(cold), AdviceHistory())
    assert advice is not None
    assert advice.cause is Cause.COLD
    assert advice.remedy is None
    assert causes(replace(cold, earlier_turns=1)) == {}
    assert causes(Answered(plain([2.0] * 64), Settings(k=0), FLAT)) == {}


def test_time_beside_the_passes_names_what_takes_it() -> None:
    slow = plain([2.0] * 40, other=1.5)
    everything = Settings(k=0, sampling=SamplingParams(top_k=0))
    advice = causes(Answered(slow, everything, FLAT))[Cause.OTHER]
    assert advice.remedy is not None
    assert advice.remedy(everything).sampling.top_k == 40
    grammar = Settings(k=0, sampling=SamplingParams(grammar='root ::= "a"'))
    assert "grammar" in causes(Answered(slow, grammar, FLAT))[Cause.OTHER].sentence
    crowded = Answered(slow, Settings(k=0), FLAT, threads=4, cores=4)
    assert causes(crowded)[Cause.OTHER].command == "/set threads 3"
    assert causes(replace(crowded, stats={"cpu_share": 0.4})) == {}, "other programs took the time"
    assert causes(Answered(slow, Settings(k=0), FLAT)) == {}
    assert causes(Answered(plain([2.0] * 40), everything, FLAT)) == {}


def test_more_threads_than_cores_are_reported_where_rounds_are_uneven() -> None:
    uneven = plain([2.0, 2.0, 2.0, 6.0] * 10)
    advice = causes(Answered(uneven, Settings(k=0), FLAT, threads=8, cores=4, earlier_turns=1))[Cause.THREADS]
    assert advice.command == "/set threads 4"
    assert causes(Answered(uneven, Settings(k=0), FLAT, threads=4, cores=4, earlier_turns=1)) == {}
    assert causes(Answered(plain([2.0] * 40), Settings(k=0), FLAT, threads=8, cores=4)) == {}


def small_gain() -> Answered:
    """An answer for which one thing could be gained, between 6 and 15 %."""
    turn = answered(0.85, 2, MeasuredCosts(((1, 2.0), (2, 2.6), (9, 5.0)), 0.1))
    assert [0.06 < advice.gain < 0.15 for advice in causes(turn).values()] == [True]
    return turn


def test_a_small_gain_is_reported_when_it_comes_twice_in_a_row_and_few_per_cent_do_not_count() -> None:
    first, memory = advise(causes(small_gain()), AdviceHistory())
    assert first is None
    assert advise(causes(small_gain()), memory)[0] is not None
    _, forgotten = advise(causes(answered(0.75, 5)), memory)
    assert advise(causes(small_gain()), forgotten)[0] is None
    few = answered(0.75, 2, MeasuredCosts(((1, 2.0), (2, 2.6), (9, 4.8)), 0.1))
    assert [0.03 < advice.gain < 0.06 for advice in causes(few).values()] == [True]
    memory = AdviceHistory()
    for _ in range(5):
        advice, memory = advise(causes(few), memory)
        assert advice is None
    assert advise(causes(small_gain()), memory)[0] is None
    _, memory = advise(causes(small_gain()), memory)
    _, memory = advise(causes(few), memory)
    assert advise(causes(small_gain()), memory)[0] is not None


def test_a_reported_cause_is_not_repeated_for_eight_answers() -> None:
    memory, answers = AdviceHistory(), []
    for answer in range(1, 13):
        advice, memory = advise(causes(small_gain()), memory)
        if advice:
            answers.append(answer)
    assert answers == [2, 11]


def test_a_cause_is_reported_again_when_it_is_twice_as_bad() -> None:
    turn = answered(0.3, 4, STEEP)
    gain = causes(turn)[Cause.LOW_ALPHA].gain
    before = AdviceHistory(5, {}, {Cause.LOW_ALPHA: Reported(4, gain / 2.1)})
    assert advise(causes(turn), before)[0] is not None
    assert advise(causes(turn), replace(before, reported={Cause.LOW_ALPHA: Reported(4, gain / 1.9)}))[0] is None


def test_of_several_causes_the_largest_is_reported() -> None:
    turn = replace(answered(0.93, 2), threads=8, cores=4)
    found = causes(turn)
    advice, _ = settled(turn)
    assert advice is not None
    assert advice.gain == max(one.gain for one in found.values())


turns = st.lists(
    st.tuples(st.integers(24, 200), st.floats(0, 1)).map(lambda at: (at[0], round(at[0] * at[1]))), max_size=8
)


USUAL = AlphaRecord.of([(100, 78), (120, 98), (90, 70), (140, 115), (110, 86), (100, 81)])


def test_a_clear_fall_is_noticed_with_both_numbers() -> None:
    notice = fallen_alpha(150, 60, USUAL)
    assert notice is not None
    assert "α 0.40" in notice
    assert f"the mean of this pair is {USUAL.mean:.2f} (over 6 answers)" in notice
    assert fallen_alpha(200, 0, AlphaRecord.of([(100, 80)] * 4)) is None, "too short a record"
    assert fallen_alpha(200, 0, AlphaRecord.of([(100, 80)] * 5)) is not None


@pytest.mark.parametrize(("tested", "accepted"), [(150, 118), (150, 140), (10, 0), (30, 21), (2000, 1500)])
def test_a_fall_that_chance_or_the_text_explains_is_not_noticed(tested: int, accepted: int) -> None:
    assert fallen_alpha(tested, accepted, USUAL) is None


def test_an_unchanged_pair_rarely_gets_a_notice() -> None:
    chance = random.Random(11)

    def drawn() -> tuple[int, int]:
        alpha = min(max(chance.gauss(0.75, 0.08), 0.02), 0.98)
        tested = chance.randint(24, 400)
        return tested, sum(chance.random() < alpha for _ in range(tested))

    noticed = 0
    for _ in range(60):
        record = AlphaRecord.of(drawn() for _ in range(chance.randint(5, 30)))
        noticed += sum(fallen_alpha(*drawn(), record) is not None for _ in range(20))
    assert noticed <= 1200 * CHANCE * 4


@given(turns, turns)
def test_records_of_parts_add_up_to_the_record_of_all(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    both, whole = AlphaRecord.of(before) + AlphaRecord.of(after), AlphaRecord.of(before + after)
    assert both.turns == whole.turns
    assert both.mean == pytest.approx(whole.mean)
    assert both.squares == pytest.approx(whole.squares, abs=1e-9)


@given(st.integers(1, 60), st.floats(0.05, 0.95), st.floats(0.03, 0.2))
def test_the_distribution_sums_to_one(trials: int, mean: float, spread: float) -> None:
    chances = [at_most(hits, trials, mean, spread) for hits in range(trials + 1)]
    assert chances[-1] == pytest.approx(1)
    assert chances == sorted(chances)
    expected = sum(1 - chance for chance in chances[:-1])
    assert expected == pytest.approx(mean * trials, rel=1e-6)


def test_without_a_spread_it_is_the_binomial_distribution() -> None:
    binomial = sum(comb(40, x) * 0.7**x * 0.3 ** (40 - x) for x in range(21))
    assert at_most(20, 40, 0.7, 1e-4) == pytest.approx(binomial, rel=1e-3)
