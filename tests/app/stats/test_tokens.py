from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.manual.sections import docs
from specchat.stats.figures.figure import Explanation
from specchat.stats.tokens import Decided, explain_alternatives, explain_round
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, TargetToken, TokenKind
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import VERIFIER_NAMES
from support.drawn_rounds import made_round, rounds_drawn, sample_round

DRAFTED = (
    DraftedToken(1, " the", 0.71, 0.83, Outcome.ACCEPTED),
    DraftedToken(2, " data", 0.40, 0.08, Outcome.REJECTED),
    DraftedToken(3, " once", 0.5, None, Outcome.DISCARDED),
)
ROUND = replace(
    made_round(3, 1), drafted=DRAFTED, token=TargetToken(4, " weights", 0.57, TokenKind.CORRECTION), source="model"
)


SAMPLED = Decided(temperature=0.8)


def explained(place: int, decided: Decided = SAMPLED, event: Round = ROUND) -> str:
    return " ".join(explain_round(event, decided)[place].paragraphs)


def test_tokens_are_named_by_their_sign_and_text_and_accepted_at_most_as_often_as_the_ratio() -> None:
    assert "it is accepted at most 20 times in 100" in explained(1)
    found = explain_round(ROUND, Decided())
    assert [one.name for one in found] == ["● ·the", "○ ·data", "· ·once", "◆ ·weights"]
    assert [one.value for one in found] == ["accepted", "rejected", "discarded", "correction"]


@pytest.mark.parametrize(
    ("verifier", "accepted", "rejected"),
    [
        ("coupled", "the same random numbers, drew “·the” too", "drew “·weights”, so “·data” was rejected. With these"),
        ("rejection", "at least as much as the draft", "min(1, p/q) = 0.20; the draw was above, so it was rejected"),
        ("block", "longest beginning that passed its test", "ended before this token. “·weights” was drawn"),
        ("typical", "above the rule's threshold", "not above the rule's threshold"),
    ],
)
def test_each_rule_has_its_own_reason(verifier: str, accepted: str, rejected: str) -> None:
    decided = Decided(verifier, 0.8)
    assert "The draft (model) gave “·the” 0.71; the target 0.83." in explained(0, decided)
    assert accepted in explained(0, decided)
    assert "The draft (model) gave “·data” 0.40; the target 0.08." in explained(1, decided)
    assert rejected in explained(1, decided)
    assert ("≈ lossy" in explained(0, decided)) is (verifier == "typical")


@pytest.mark.parametrize("verifier", VERIFIER_NAMES)
def test_at_temperature_0_every_rule_compares_with_the_likeliest_token(verifier: str) -> None:
    decided = Decided(verifier, 0.0)
    why = "The draft (model) proposed “·the”. At temperature 0 the target takes its likeliest token. That was “·the”"
    assert explained(0, decided).startswith(why)
    assert "That was “·weights”, so “·data” was rejected." in explained(1, decided)
    assert "took its likeliest token, “·weights”" in explained(3, decided)


def test_a_grammar_is_the_reason_where_it_removed_the_token() -> None:
    decided = Decided(temperature=0.0, removed={2: "grammar"})
    assert "The grammar does not allow “·data” here" in explained(1, decided)
    gone = replace(ROUND, drafted=(DRAFTED[0], replace(DRAFTED[1], p=0.0), DRAFTED[2]))
    cut = Decided(temperature=0.8, removed={2: "top-p"})
    assert "The sampling stage top-p had removed “·data”" in explained(1, cut, gone)
    assert "Its sampling or a grammar had removed “·data”" in explained(1, SAMPLED, gone)


def test_discarded_tokens_are_counted_but_nobody_knows_whether_they_were_right() -> None:
    assert explained(2).startswith("“·once” was drafted to come after “·data”, which the target rejected.")
    assert "1 token drafted after it was discarded." in explained(1)
    event = sample_round([("a", "x"), ("d", "y")], (TokenKind.NONE, ""))
    found = explain_round(event, Decided())
    assert len(found) == 2, "a round that an accepted token ended has no token of the target"
    assert found[1].paragraphs[0].startswith("The answer ended before “y”.")


def test_a_copied_token_has_no_probability_of_the_draft() -> None:
    copied = replace(ROUND, source="lookup", drafted=(replace(DRAFTED[0], q=None), replace(DRAFTED[1], q=None)))
    assert explained(0, event=copied).startswith("The draft (lookup) copied “·the”. The target gave it 0.83.")
    assert "at most 8 times in 100" in explained(1, event=copied)
    assert "with probability p = 0.08" in explained(1, Decided("rejection", 0.8), copied)


def test_the_targets_own_token_says_why_it_is_there() -> None:
    assert explained(3).startswith("The target rejected “·data” and drew “·weights” with probability 0.57.")
    bonus = explain_round(made_round(3, 3), Decided())[-1]
    assert bonus.value == "bonus"
    assert bonus.paragraphs[0].startswith("The target accepted the whole draft of 3 tokens and then drew")
    plain = explain_round(made_round(0, 0, reason="no draft pays"), Decided())[-1]
    assert plain.value == "plain"
    assert plain.paragraphs[1] == "The reason: no draft pays."


def test_a_tree_has_branches_that_the_answer_did_not_take() -> None:
    tree = replace(ROUND, parents=(-1, -1, 1), token=TargetToken(4, "d", 0.5, TokenKind.BONUS))
    assert "The target took another one of them, “·the”." in explained(1, event=tree)
    assert "stood on a branch of the draft tree" in explained(2, event=tree)


def test_a_thought_is_named() -> None:
    found = explain_round(ROUND, Decided(), in_thought=(True, False))
    assert "thought" in found[0].paragraphs[-1]
    assert not any("thought" in paragraph for one in found[1:] for paragraph in one.paragraphs)


@given(rounds_drawn(), st.sampled_from([*VERIFIER_NAMES, "another"]), st.sampled_from([None, 0.0, 0.7]))
def test_every_token_of_any_round_is_explained(rounds: list[Round], verifier: str, temperature: float | None) -> None:
    places = {section.place for section in docs()}
    for event in rounds:
        found: list[Explanation] = explain_round(event, Decided(verifier, temperature))
        assert len(found) == len(event.drafted) + (event.token.kind is not TokenKind.NONE)
        assert all(one.more in places and one.paragraphs for one in found)
        assert not any("\n" in paragraph for one in found for paragraph in one.paragraphs)


def test_nothing_of_a_token_reaches_the_terminal_unfiltered() -> None:
    bad = replace(ROUND, source="x\x1b[2J", drafted=(replace(DRAFTED[0], text="\x1b[2J\n"), *DRAFTED[1:]))
    assert "\x1b" not in explained(0, event=bad)
    assert "\n" not in explained(0, event=bad)


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
    rank = "The target ranks “·a” number 1 here and gives it 0.50 before sampling, 0.60 after it."
    assert first.paragraphs[0] == rank
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
