from __future__ import annotations

import re
from dataclasses import replace

import pytest

from specchat.manual.sections import docs
from specchat.stats.break_even import BreakEven, break_even
from specchat.stats.figures import FIGURES, NAMED, figure_called
from specchat.stats.figures.acceptance import ALPHA, ALPHA_AND_RATE, BY_POSITION, TAU
from specchat.stats.figures.answer import MEMORY, SO_FAR, VERIFIER
from specchat.stats.figures.costs import BREAK_EVEN, MEMORY_BOUND
from specchat.stats.figures.drafts import SOURCES, K
from specchat.stats.figures.figure import Figure
from specchat.stats.figures.speed import SPEED, SPEEDUP, in_short
from specchat.stats.summary import Summary
from specchat.stats.turn import TurnView
from specchat_engine.load_options import MemoryUse
from specchat_engine.settings import VERIFIER_NAMES
from support.drawn_rounds import made_round

ANSWER = [made_round(4, 1), made_round(4, 4, source="lookup"), made_round(0, 0)] * 10


def answer(speedup: float | None = 1.3, verifier: str = "coupled") -> TurnView:
    summary = Summary.of_turn(ANSWER, {"speedup": speedup})
    return TurnView(summary, 4, "fixed", break_even(summary.total, speedup), verifier=verifier)


def explained(figure: Figure, of: TurnView | None = None) -> str:
    return " ".join(figure.explanation(of or answer()).paragraphs)


@pytest.mark.parametrize("of", [answer(), answer(0.8), answer(1.0), answer(None), TurnView()])
def test_every_figure_is_explained_with_and_without_numbers(of: TurnView) -> None:
    for figure in NAMED.values():
        explanation = figure.explanation(of)
        assert explanation.paragraphs
        assert all(paragraph.endswith((".", ")")) for paragraph in explanation.paragraphs)
        assert len({*explanation.paragraphs}) == len(explanation.paragraphs)


@pytest.mark.parametrize("figure", NAMED.values(), ids=NAMED)
def test_every_figure_is_found_by_its_words_and_leads_to_a_section_of_a_page_that_names_it(figure: Figure) -> None:
    for name in (figure.name, figure.label, *figure.aliases):
        assert figure_called(name) is figure
    page = [section for section in docs() if section.place.page == figure.more.page]
    assert figure.more in {section.place for section in page}
    assert re.search(rf"(?<!\w){re.escape(figure.label)}(?!\w)", " ".join(section.text for section in page))


def test_alpha_is_counted_judged_and_told_apart_from_the_rate() -> None:
    text = explained(ALPHA)
    assert "Of 60 drafted tokens that were compared with the target, 50 were accepted: 83 %." in text
    assert "a draft of 4 tokens gives 3.6 tokens a pass" in text
    assert f"Break-even here is {answer().break_even.needed:.2f}, so drafting gained 30 %." in text  # type: ignore[union-attr]
    assert "50/80 = 62 % accepted" in text
    assert "so drafting cost 20 %." in explained(ALPHA, answer(0.8))
    assert "drafting gained about as much as it cost" in explained(ALPHA, answer(1.0))


def test_the_speed_up_says_what_was_saved() -> None:
    assert "So drafting saved 23 ms: the answer was 30 % faster." in explained(SPEEDUP)
    assert "So drafting cost 16 ms: the answer was 20 % slower." in explained(SPEEDUP, answer(0.8))
    assert "80 in all. Drafting saved 50 of them." in explained(SO_FAR)


def test_the_memory_bound_speed_up_counts_the_weights_of_the_draft_models_passes() -> None:
    """Of 30 rounds 10 had 4 passes of a draft model with a tenth of the weights, and 80 tokens came out."""
    bound = 80 / 30 / (40 / 30 * 0.1 + 1)
    known = replace(answer(), memory=MemoryUse(1000, 100, 0, 0, 0))
    assert MEMORY_BOUND.value(known) == f"{bound:.2f} ×"
    assert f"would give {bound:.2f} × plain" in explained(MEMORY_BOUND, known)
    assert MEMORY_BOUND.value(replace(known, memory=MemoryUse(1000, 0))) == ""
    assert MEMORY_BOUND.value(TurnView()) == ""


def test_each_source_has_its_own_alpha() -> None:
    text = explained(SOURCES)
    assert "model: 10 of 40 drafted tokens accepted, α 0.50." in text
    assert "lookup: 40 of 40 drafted tokens accepted, α 1.00." in text


@pytest.mark.parametrize("verifier", VERIFIER_NAMES)
def test_every_verifier_is_explained_and_only_the_lossy_one_is_called_so(verifier: str) -> None:
    explanation = VERIFIER.explanation(answer(verifier=verifier))
    assert explanation.value == verifier
    assert len(explanation.paragraphs) > 1
    assert ("lossy" in explained(VERIFIER, answer(verifier=verifier))) is (verifier == "typical")


TWO_ROUNDS = [made_round(4, 1, ms=(0.5, 2.0, 0.5)), made_round(4, 4, source="lookup", ms=(0.5, 2.0, 0.5))]
SHOWN = TurnView(
    Summary.of_turn(TWO_ROUNDS, {"speedup": 1.5}),
    k=4,
    reason="raised\x1b[2J: position 4",
    break_even=BreakEven(0.61, 0.48, 0.88, 2.0),
    memory=MemoryUse(4_200_000_000, None, 300_000_000, None, 90_000),
)


def test_every_figure_has_a_sentence_of_its_own_with_and_without_numbers() -> None:
    for view in (SHOWN, TurnView()):
        sentences = [sentence for figure in FIGURES if (sentence := figure.sentence(view))]
        assert len(sentences) == len({*sentences}) == len(NAMED) + 1
        assert all(sentence.endswith(".") for sentence in sentences)


def test_alpha_and_the_rate_differ_by_what_was_discarded() -> None:
    sentence = ALPHA_AND_RATE.sentence(SHOWN)
    assert "2 tokens after a rejected one were discarded" in sentence
    assert "5/8 = 62 % accepted" in sentence
    assert "5/6 = α 0.83" in sentence


def test_alpha_and_the_rate_are_equal_where_nothing_was_discarded() -> None:
    every, one = ([made_round(drafted, 1, ms=(0.5, 2.0, 0.5))] for drafted in (1, 3))
    assert "No token was discarded" in ALPHA_AND_RATE.sentence(TurnView(Summary.of_turn(every)))
    sentence = ALPHA_AND_RATE.sentence(TurnView(Summary.of_turn(one)))
    assert "1 token after a rejected one was discarded. It counts as drafted" in sentence


def test_numbers_are_the_turns_own() -> None:
    assert SPEED.sentence(SHOWN).startswith("7 tokens in 6 ms of decoding: 1166.7 per second")
    assert "would have taken 9 ms" in SPEEDUP.sentence(SHOWN)
    assert "τ 3.50" in TAU.sentence(SHOWN)
    assert "needs α 0.61, has 0.48: costs 12 %" in BREAK_EVEN.sentence(SHOWN)
    assert MEMORY.sentence(SHOWN).startswith("The target 4.2 GB, its cache 300 MB, compute buffers 90 kB: 4.5")
    assert "100 % of 2 drafts" in BY_POSITION.sentence(SHOWN)
    assert "50 % from model and 50 % from lookup" in SOURCES.sentence(SHOWN)
    plain = TurnView(Summary.of_turn([made_round(0, 0)], {"speedup": 1.0}))
    assert BREAK_EVEN.sentence(plain).startswith("Nothing was drafted")
    assert "\x1b" not in K.sentence(SHOWN)
    rounds = [*[made_round(2, 2)] * 3, *[made_round(2, 2, source="lookup")] * 5]
    mixed = replace(SHOWN, summary=Summary.of_turn(rounds))
    assert "63 % from lookup and 37 % from model" in SOURCES.sentence(mixed), "as the panel shows them"


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
        (shown(1.6, share=0.4), "1.60 times as fast as plain: 50 % of the drafted tokens were accepted. Other"),
        (shown(None, share=0.4), "Slowed down: another program was using the CPU. Drafting took 1 % of the time"),
        (shown(None), "Not compared with plain: no plain passes were timed while the machine was as busy."),
        (TurnView(Summary.of_turn([made_round(0, 0)])), "As fast as plain: nothing was drafted."),
        (TurnView(), "Nothing was decoded yet."),
    ],
)
def test_one_sentence_gives_the_cause(turn: TurnView, begins: str) -> None:
    assert in_short(turn).startswith(begins)


def test_an_answer_of_a_server_is_not_compared_with_plain() -> None:
    drafted = TurnView(Summary.of_turn([made_round(4, 2, ms=(0.0, 0.0, 5.0))] * 10))
    assert in_short(drafted) == (
        "A server gave this answer. 50 % of the tokens that it drafted were accepted. "
        "It does not report what a plain pass takes."
    )
    plain = TurnView(Summary.of_turn([made_round(0, 0, ms=(0.0, 0.0, 5.0))] * 10))
    assert in_short(plain) == "A server gave this answer. It did not report its drafts."
    assert all(figure.sentence(drafted).endswith(".") for figure in NAMED.values())
