from __future__ import annotations

import pytest

from specchat.manual.docs import docs
from specchat.stats.break_even import break_even
from specchat.stats.explain import Figure
from specchat.stats.explanations.figures import EXPLAINED, explain_figure, explain_figures
from specchat.stats.summary import Summary
from specchat.stats.turn import TurnView
from specchat_engine.settings import VERIFIER_NAMES
from support.drawn_rounds import made_round

ROUNDS = [made_round(4, 1), made_round(4, 4, source="lookup"), made_round(0, 0)] * 10


def shown(speedup: float | None = 1.3, verifier: str = "coupled") -> TurnView:
    summary = Summary.of_turn(ROUNDS, {"speedup": speedup})
    return TurnView(summary, 4, "fixed", break_even(summary.total, speedup), verifier=verifier)


def told(figure: Figure, of: TurnView | None = None) -> str:
    return " ".join(explain_figure(figure, of or shown()).paragraphs)


@pytest.mark.parametrize("of", [shown(), shown(0.8), shown(1.0), shown(None), TurnView()])
def test_every_figure_is_explained_with_and_without_numbers(of: TurnView) -> None:
    found = explain_figures(of)
    assert [*found] == [*EXPLAINED]
    for explanation in found.values():
        assert explanation.paragraphs
        assert all(paragraph.endswith((".", ")")) for paragraph in explanation.paragraphs)
        assert len({*explanation.paragraphs}) == len(explanation.paragraphs)
    assert {figure for figure in Figure if explain_figure(figure, of)} == {*Figure}


def test_every_explanation_leads_to_a_section_that_exists() -> None:
    places = {section.place for section in docs()}
    assert {explanation.more for explanation in explain_figures(shown()).values()} <= places


def test_alpha_is_counted_judged_and_told_apart_from_the_rate() -> None:
    text = told(Figure.ALPHA)
    assert "Of 60 drafted tokens that were compared with the target, 50 were accepted: 83 %." in text
    assert "a draft of 4 tokens gives 3.6 tokens a pass" in text
    assert f"Break-even here is {shown().break_even.needed:.2f}, so drafting gained 30 %." in text  # type: ignore[union-attr]
    assert "50/80 = 62 % accepted" in text
    assert "so drafting cost 20 %." in told(Figure.ALPHA, shown(0.8))
    assert "drafting gained about as much as it cost" in told(Figure.ALPHA, shown(1.0))


def test_the_speed_up_says_what_was_saved() -> None:
    assert "So drafting saved 23 ms: the answer was 30 % faster." in told(Figure.SPEEDUP)
    assert "So drafting cost 16 ms: the answer was 20 % slower." in told(Figure.SPEEDUP, shown(0.8))


def test_each_source_has_its_own_alpha() -> None:
    text = told(Figure.SOURCES)
    assert "model: 10 of 40 drafted tokens accepted, α 0.50." in text
    assert "lookup: 40 of 40 drafted tokens accepted, α 1.00." in text


def test_the_saved_passes_are_the_tokens_beyond_one_a_round() -> None:
    assert "80 in all. Drafting saved 50 of them." in told(Figure.SO_FAR)


@pytest.mark.parametrize("verifier", VERIFIER_NAMES)
def test_every_verifier_is_explained_and_only_the_lossy_one_is_called_so(verifier: str) -> None:
    explanation = explain_figure(Figure.VERIFIER, shown(verifier=verifier))
    assert explanation.value == verifier
    assert len(explanation.paragraphs) > 1
    assert ("lossy" in told(Figure.VERIFIER, shown(verifier=verifier))) is (verifier == "typical")
