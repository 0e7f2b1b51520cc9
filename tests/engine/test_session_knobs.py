"""Settings turned while an answer streams take effect at the next round and never harm the text."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, Round, SamplingParams
from specchat_engine.testing import ScriptedModel
from support.conversations import GREEDY, ask, conversation, letters, model_of, saying

LAW = letters(3)
COUSIN = letters(3, order=1)
CHANGES: tuple[dict[str, object], ...] = (
    {"k": 0},
    {"k": 7},
    {"drafter": "lookup"},
    {"drafter": "none"},
    {"drafter": "model"},
    {"ngram_min": 1, "ngram_max": 2},
    {"k": 2},
)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(CHANGES)), max_size=8), st.integers(0, 99))
def test_turning_the_knobs_in_mid_answer_never_changes_the_text(
    changes: list[tuple[int, dict[str, object]]], seed: int
) -> None:
    plain = conversation(letters(seed, end=-3), seed=seed)
    turned = conversation(letters(seed, end=-3), letters(seed, order=1), seed=seed)
    for prompt in ("hello hello", "once more"):
        for event in turned.generate(prompt):
            for place, change in changes:
                if place == event.index:
                    turned.settings = replace(turned.settings, **change)  # type: ignore[arg-type]
        assert turned.text == ask(plain, prompt)
    assert model_of(turned).tokens == model_of(plain).tokens


def test_a_changed_setting_takes_effect_at_the_next_round() -> None:
    session = conversation(letters(3, end=-50), letters(3, end=-50))
    sources = []
    for event in session.generate("abc abc abc"):
        sources.append((event.source, event.k, event.reason))
        if event.index == 1:
            session.settings = replace(session.settings, k=2, drafter="lookup", ngram_min=1, ngram_max=1)
        if event.index == 3:
            session.settings = replace(session.settings, k=0)
    assert sources[0] == sources[1] == ("model", 4, "fixed")
    assert [k for _, k, _ in sources[2:4]] == [2, 2]
    assert sources[4] == ("none", 0, "k is 0")


def test_a_new_temperature_counts_from_the_next_round() -> None:
    session = conversation(letters(3, end=-50), sampling=SamplingParams(temperature=1.5))
    certain = []
    for event in session.generate("hello"):
        certain.append(event.token.p == 1.0)
        if event.index == 9:
            session.settings = replace(session.settings, sampling=GREEDY)
    assert not all(certain[:10])
    assert all(certain[10:])


def test_lookup_that_joins_in_mid_answer_knows_the_whole_conversation() -> None:
    law = saying("one two three four. one two three four.", again="red green blue. red green blue. red green blue.")
    session = conversation(law, COUSIN, drafter="lookup", k=8)
    ask(session, "a much longer first question " * 8)
    other = [Message("user", "something else"), Message("assistant", "quite"), Message("user", "unlike")]
    session.settings = replace(session.settings, drafter="none")
    rounds = session.answer(other, 5)
    events = [next(rounds) for _ in range(22)]
    session.settings = replace(session.settings, drafter="lookup")
    events += rounds
    drafted = [event for event in events if event.drafted]
    assert drafted[0].source == "lookup"
    assert drafted[0].num_accepted == len(drafted[0].drafted) == 8


def test_a_draft_never_exceeds_the_reserved_rows_and_the_reason_says_so() -> None:
    law = letters(3, end=-50)
    session = conversation(ScriptedModel(law, max_rows=5), law, k=20)
    first = next(iter(session.generate("hello")))
    assert (first.k, first.reason) == (4, "all that were reserved at load")


def test_a_draft_whose_context_is_full_says_so_and_the_answer_goes_on() -> None:
    law = letters(3, end=-50)
    plain, session = conversation(law), conversation(law, ScriptedModel(law, capacity=60))
    rounds = list(session.generate("hello"))
    assert session.text == ask(plain)
    assert rounds[0].drafted
    assert not rounds[-2].drafted
    assert rounds[-2].reason == "the draft's context of 60 tokens is full"
    ask(session, "a second turn, of which the draft reads what it can")
    assert session.end_reason == "length"


def test_stop_strings_and_limits_wait_for_the_next_turn() -> None:
    session = conversation(saying("one two three"))
    rounds: list[Round] = []
    for event in session.generate("count"):
        rounds.append(event)
        session.settings = replace(session.settings, stop=("two",), max_tokens=4)
    assert session.text == "one two three"
    assert ask(session, "again") == "one "
