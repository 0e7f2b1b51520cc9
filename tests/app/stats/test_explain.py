from __future__ import annotations

from dataclasses import replace

import pytest

from specchat.stats.break_even import BreakEven, break_even
from specchat.stats.explain import Figure, explain, explanations, in_short
from specchat.stats.summary import Summary
from specchat.stats.turn import TurnView
from specchat_engine.load_options import MemoryUse
from support.drawn_rounds import made_round

ROUNDS = [made_round(4, 1, ms=(0.5, 2.0, 0.5)), made_round(4, 4, source="lookup", ms=(0.5, 2.0, 0.5))]
SHOWN = TurnView(
    Summary.of_turn(ROUNDS, {"speedup": 1.5}),
    k=4,
    reason="raised\x1b[2J: position 4",
    break_even=BreakEven(0.61, 0.48, 0.88, 2.0),
    memory=MemoryUse(4_200_000_000, None, 300_000_000, None, 90_000),
)


def test_without_a_draft_nothing_says_that_the_needed_alpha_waits_for_a_speed_up() -> None:
    shown = TurnView(Summary.of_turn([made_round(0, 0)], {"speedup": 1.0}))
    assert explain(Figure.BREAK_EVEN, shown).startswith("Nothing was drafted")


def test_every_figure_has_an_explanation_with_and_without_numbers() -> None:
    for shown in (SHOWN, TurnView()):
        sentences = explanations(shown)
        assert [*sentences] == [*Figure]
        assert len({*sentences.values()}) == len(Figure)
        assert all(sentence.endswith(".") for sentence in sentences.values())


def test_alpha_and_the_rate_differ_by_what_was_discarded() -> None:
    sentence = explain(Figure.ALPHA_AND_RATE, SHOWN)
    assert "2 tokens after a rejected one were discarded" in sentence
    assert "5/8 = 62 % accepted" in sentence
    assert "5/6 = α 0.83" in sentence


def test_numbers_are_the_turns_own() -> None:
    assert explain(Figure.SPEED, SHOWN).startswith("7 tokens in 6 ms of decoding: 1166.7 per second")
    assert "would have taken 9 ms" in explain(Figure.SPEEDUP, SHOWN)
    assert "τ 3.50" in explain(Figure.TAU, SHOWN)
    assert "needs α 0.61, has 0.48: costs 12 %" in explain(Figure.BREAK_EVEN, SHOWN)
    assert explain(Figure.MEMORY, SHOWN).startswith("The target 4.2 GB, its cache 300 MB, compute buffers 90 kB: 4.5")
    assert "100 % of 2 drafts" in explain(Figure.BY_POSITION, SHOWN)
    assert "50 % from model and 50 % from lookup" in explain(Figure.SOURCES, SHOWN)
    rounds = [*[made_round(2, 2)] * 3, *[made_round(2, 2, source="lookup")] * 5]
    mixed = replace(SHOWN, summary=Summary.of_turn(rounds))
    assert "63 % from lookup and 37 % from model" in explain(Figure.SOURCES, mixed), "as the panel shows them"


def shown(speedup: float | None, ms: tuple[float, float, float] = (0.02, 2.0, 0.1), share: float = 1.0) -> TurnView:
    summary = Summary.of_turn([made_round(4, 2, ms=ms)] * 10, {"speedup": speedup})
    gauge = break_even(summary.total, speedup)
    return TurnView(summary, 4, "fixed", gauge, disturbed=share < 0.85)


@pytest.mark.parametrize(
    ("turn", "begins"),
    [
        (shown(1.6), "1.60 times as fast as plain: 50 % of the drafted tokens were accepted."),
        (shown(1.01), "As fast as plain: drafting gained about as much as it cost."),
        (shown(0.8), "20 % slower than plain: only 50 % of the drafted tokens were accepted."),
        (shown(0.8, (2.0, 2.0, 0.1)), "20 % slower than plain: drafting took 49 % of the time"),
        (shown(0.4), "60 % slower than plain: drafts cost more here than they could gain"),
        (
            shown(1.6, share=0.4),
            "1.60 times as fast as plain: 50 % of the drafted tokens were accepted. Other",
        ),
        (
            shown(None, share=0.4),
            "Slowed down: another program was using the CPU. Drafting took 1 % of the time",
        ),
        (shown(None), "Not compared with plain: no plain passes were timed while the machine was as busy."),
        (TurnView(Summary.of_turn([made_round(0, 0)])), "As fast as plain: nothing was drafted."),
        (TurnView(), "Nothing was decoded yet."),
    ],
)
def test_one_sentence_gives_the_cause(turn: TurnView, begins: str) -> None:
    assert in_short(turn).startswith(begins)


def test_nothing_of_a_trace_reaches_the_terminal_unfiltered() -> None:
    assert "\x1b" not in explain(Figure.K, SHOWN)


def test_an_answer_of_a_server_is_not_compared_with_plain() -> None:
    drafted = TurnView(Summary.of_turn([made_round(4, 2, ms=(0.0, 0.0, 5.0))] * 10))
    assert in_short(drafted) == (
        "A server gave this answer. 50 % of the tokens that it drafted were accepted. "
        "It does not tell what a plain pass takes."
    )
    plain = TurnView(Summary.of_turn([made_round(0, 0, ms=(0.0, 0.0, 5.0))] * 10))
    assert in_short(plain) == "A server gave this answer. It told nothing of drafts."
    assert all(sentence.endswith(".") for sentence in explanations(drafted).values())
