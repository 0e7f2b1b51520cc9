"""What a grammar leaves no choice of is drafted, always accepted, and never changes the text."""

from __future__ import annotations

import pytest

from specchat_engine import SamplingParams
from specchat_engine.drafters import unaided
from specchat_engine.settings import DRAFTERS, TOGETHER
from support.conversations import ask, conversation, letters

LAW = letters(3, end=-2)
LONG = "abbaabbaabbaabba"
SAMPLING = SamplingParams(grammar=f"a{LONG}\nb{LONG} cafe\nc{LONG} babe", temperature=0.8)


def test_it_is_there_without_a_setting_and_takes_part_in_hybrid() -> None:
    assert "grammar" in DRAFTERS
    assert DRAFTERS.count("grammar") == 1
    assert "grammar" in TOGETHER
    assert "grammar" in [drafter.name for drafter in unaided()]


@pytest.mark.parametrize("k", [1, 4, 31, "auto"])
@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block"])
@pytest.mark.parametrize("seed", range(3))
def test_forced_tokens_are_all_accepted_and_the_text_stays(k: int | str, verifier: str, seed: int) -> None:
    plain = conversation(LAW, seed=seed, sampling=SAMPLING)
    drafted = conversation(LAW, seed=seed, sampling=SAMPLING, drafter="grammar", k=k, verifier=verifier)
    for prompt in ("one", "two"):
        text, usual = ask(drafted, prompt), ask(plain, prompt)
        assert text in SAMPLING.grammar.split("\n")
        assert text == usual or verifier != "coupled"
    assert drafted.stats.num_draft_tokens == drafted.stats.num_accepted_tokens > 0


def test_hybrid_drafts_what_is_forced_from_the_first_measured_round_on() -> None:
    session = conversation(LAW, letters(9), seed=1, sampling=SAMPLING, drafter="hybrid", k="auto")
    rounds = list(session.generate("one"))
    drafted = [each for each in rounds if each.source == "grammar"]
    assert drafted
    assert all(each.num_accepted == len(each.drafted) for each in drafted)
    assert len(rounds) < 10


def test_without_a_grammar_it_drafts_nothing() -> None:
    session = conversation(LAW, drafter="grammar", k=4, max_tokens=8)
    ask(session)
    assert session.stats.num_draft_tokens == 0
