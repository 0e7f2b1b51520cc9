from __future__ import annotations

from specchat.stats.curve import BreakEven
from specchat.stats.explain import Figure, Shown, explain, explanations
from specchat.stats.summary import Summary
from specchat_engine.load_options import MemoryUse
from support.drawn_rounds import made_round

ROUNDS = [made_round(4, 1, ms=(0.5, 2.0, 0.5)), made_round(4, 4, source="lookup", ms=(0.5, 2.0, 0.5))]
SHOWN = Shown(
    Summary.of_turn(ROUNDS, {"speedup": 1.5}),
    k=4,
    reason="raised\x1b[2J: position 4",
    break_even=BreakEven(6, 0.61, 0.48, 0.88, 0.1, 2.0),
    memory=MemoryUse(4_200_000_000, None, 300_000_000, None, 90_000),
)


def test_every_figure_has_an_explanation_with_and_without_numbers() -> None:
    for shown in (SHOWN, Shown(Summary())):
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
    assert "needs α 0.61 at k = 6, has 0.48: costs 12 %" in explain(Figure.BREAK_EVEN, SHOWN)
    assert explain(Figure.MEMORY, SHOWN).startswith("The target 4.2 GB, its cache 300 MB, compute buffers 90 kB: 4.5")
    assert "100 % of 2 drafts" in explain(Figure.BY_POSITION, SHOWN)
    assert "50 % from model and 50 % from lookup" in explain(Figure.SOURCES, SHOWN)


def test_nothing_of_a_trace_reaches_the_terminal_unfiltered() -> None:
    assert "\x1b" not in explain(Figure.K, SHOWN)
