from __future__ import annotations

from specchat.stats.explanations.alternatives import explain_alternatives
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.sampling.params import SamplingParams

INSPECTION = Inspection(
    3,
    said=1,
    tokens=(
        InspectedToken(0, " a", 0.5, 1, 0.6, None, 0.4, 2, 0.5),
        InspectedToken(1, " b", 0.3, 2, 0.4),
        InspectedToken(2, " c", 0.1, 3, 0.0, "grammar"),
        InspectedToken(3, "\x1b", 0.001, 4, 0.0, "top-p"),
    ),
    sampling=SamplingParams(),
)


def test_each_alternative_has_its_rank_its_probabilities_and_the_token_of_the_answer() -> None:
    first, said, *_ = explain_alternatives(INSPECTION)
    assert first.name.strip() == "·a"
    assert first.value == "p 0.60"
    assert (
        first.paragraphs[0] == "The target ranks “·a” number 1 here and gives it 0.50 before sampling, 0.60 after it."
    )
    assert first.paragraphs[1] == "The draft ranks it number 2 and gives it 0.40."
    assert "The answer has “·b” here, to which the target gives 0.30 before sampling." in first.paragraphs[2]
    assert said.paragraphs[1:] == ("This is the token of the answer.",)


def test_what_removed_a_token_is_named() -> None:
    *_, third, last = explain_alternatives(INSPECTION)
    assert third.value == last.value == "removed"
    assert "The grammar does not allow it, so it cannot be drawn." in third.paragraphs[0]
    assert "The sampling stage top-p removes it" in last.paragraphs[0]
    assert "gives it below 0.01 before" in last.paragraphs[0]
    assert "\x1b" not in last.name + last.paragraphs[0]
