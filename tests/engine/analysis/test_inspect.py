"""Any token of an answer can be looked at again, and looking changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from specchat_engine import EngineError, Message, SamplingParams, Session, SettingError
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.codec import from_json, to_json
from specchat_engine.errors import Cancelled
from specchat_engine.testing import END, ScriptedModel
from support.conversations import N_VOCAB, ask, conversation, letters, model_of, read_by_a_fresh_session

TARGET, DRAFT = letters(3, end=-50), letters(3, end=-50, order=1)
HELLO = [Message("user", "hello")]


def answered(**given: object) -> Session:
    """A session behind its first answer."""
    session = conversation(TARGET, DRAFT, **({"max_tokens": 24} | given))
    ask(session)
    return session


def softmax(row: Sequence[float]) -> np.ndarray:
    weights = np.exp(np.array(row, np.float64) - max(row))
    return weights / weights.sum()


def test_an_inspection_shows_what_both_models_make_of_the_place() -> None:
    session = answered()
    for position in (0, 1, 11, 23):
        before = (*session.prompt_ids, *session.answer_ids[:position])
        target, draft = TARGET(before), DRAFT(before)
        found = session.inspect(position, asked=[7])
        assert (found.position, found.said) == (position, session.answer_ids[position])
        assert [token.rank for token in found.tokens] == sorted(token.rank for token in found.tokens)
        best = np.argsort(-target, kind="stable").tolist()
        assert [token.id for token in found.tokens[:8]] == best[:8]
        for token in found.tokens:
            assert token.raw_p == pytest.approx(softmax(target)[token.id])
            assert token.raw_q == pytest.approx(softmax(draft)[token.id])
            assert best[token.rank - 1] == token.id
            assert token.draft_rank is not None
            assert np.argsort(-draft, kind="stable")[token.draft_rank - 1] == token.id
        assert {found.said, 7} <= {token.id for token in found.tokens}
        assert found.of(7).removed_by in ("top-p", "top-k")
        assert sum(token.p for token in found.tokens) == pytest.approx(1)


def test_p_and_q_are_those_of_the_rounds() -> None:
    session = conversation(TARGET, DRAFT, max_tokens=40, k=4)
    rounds = list(session.generate("hello"))
    position = compared = 0
    for event in rounds:
        for token in event.drafted:
            place = position + event.drafted.index(token)
            found = session.inspect(place, asked=[token.id], sharpness=event.sharpness)
            if token.p is not None:
                assert found.of(token.id).p == pytest.approx(token.p)
                assert found.of(token.id).q == pytest.approx(token.q)
                compared += 1
            if token.p == 0:
                assert found.of(token.id).removed_by is not None
            if token.outcome != "accepted":
                break
        position += event.num_emitted
        if position and event.token.id is not None:
            assert session.inspect(position - 1).of(event.token.id).p == pytest.approx(event.token.p)
    assert compared > 10


def test_at_temperature_0_p_is_a_point_mass_and_the_raw_probabilities_stay() -> None:
    session = answered(sampling=SamplingParams(temperature=0))
    found = session.inspect(5)
    first, second = found.tokens[:2]
    assert (first.id, first.p, first.removed_by) == (found.said, 1.0, None)
    assert (second.p, second.removed_by) == (0.0, "temperature")
    assert 0 < second.raw_p < first.raw_p < 1


@pytest.mark.parametrize("position", [0, 3, 23])
@pytest.mark.parametrize("k", [0, 4])
def test_the_answer_after_an_inspection_is_that_of_a_fresh_session(position: int, k: int) -> None:
    session = answered(k=k, max_tokens=60)
    session.inspect(position, asked=[1, 2])
    ask(session, "and then?")
    assert model_of(session).tokens == read_by_a_fresh_session(session)


def test_an_inspection_reads_one_token_where_the_cache_holds_the_rest() -> None:
    session = answered()
    target = model_of(session)
    target.passes.clear()
    session.inspect(10)
    assert target.passes == [1]
    session.inspect(11)
    assert target.passes == [1, 1]
    assert target.tokens == [*session.prompt_ids, *session.answer_ids[:11]]


def test_an_old_answer_is_inspected_by_its_ids() -> None:
    session = answered()
    ids = session.answer_ids
    expected = session.inspect(9)
    ask(session, "something else")
    assert session.inspect(9) != expected
    assert session.inspect(9, messages=HELLO, tokens=ids) == expected
    session.settings = replace(session.settings, sampling=SamplingParams(temperature=0))
    assert session.inspect(9, messages=HELLO, tokens=ids).sampling.temperature == 0


def test_what_was_in_force_at_the_position_counts() -> None:
    session = conversation(TARGET, DRAFT, max_tokens=24, k=2)
    first, changed = 0, 0
    greedy = SamplingParams(temperature=0)
    for event in session.generate("hello"):
        first += event.num_emitted if not changed else 0
        if first > 6 and not changed:
            session.settings = replace(session.settings, sampling=greedy)
            changed = first
    session.settings = replace(session.settings, sampling=SamplingParams(top_k=1))
    assert session.inspect(changed - 1).sampling == SamplingParams()
    assert session.inspect(changed).sampling == greedy
    assert session.inspect(23).sampling == greedy


def test_bias_and_penalties_come_before_the_stages_and_not_into_the_raw_probabilities() -> None:
    sampling = SamplingParams(repeat_penalty=1.5, penalty_last_n=8, logit_bias=((97, -math.inf), (98, 2.0)), top_k=4)
    session = answered(sampling=sampling)
    found = session.inspect(12, asked=[97])
    raw = softmax(TARGET((*session.prompt_ids, *session.answer_ids[:12])))
    assert found.of(97).removed_by == "logit-bias"
    assert found.of(97).raw_p == pytest.approx(raw[97])
    assert found.of(97).p == 0
    assert found.of(found.said).p > 0
    for position in range(24):
        tokens = session.inspect(position).tokens
        assert all((token.p > 0) == (token.removed_by is None) for token in tokens)
    left = [token for token in found.tokens if token.removed_by is None]
    assert len(left) <= 4
    assert sum(token.p for token in left) == pytest.approx(1)


def test_a_grammar_is_followed_to_the_position() -> None:
    session = conversation(
        letters(3), letters(3, order=1), sampling=SamplingParams(grammar="abba\nabed\nfade", top_k=0), max_tokens=9
    )
    assert ask(session) in ("abba", "abed", "fade")
    for position, token in enumerate(session.answer_ids):
        found = session.inspect(position, asked=[104])
        assert found.of(token).p > 0
        assert found.of(104).removed_by == "grammar"
    with pytest.raises(SettingError, match="token 99 at position 0, which its grammar excludes"):
        session.inspect(1, messages=HELLO, tokens=b"cde")
    assert session.inspect(1, messages=HELLO, tokens=b"fa").of(97).p == 1


def test_without_a_draft_model_its_values_are_none() -> None:
    session = conversation(TARGET, max_tokens=5)
    ask(session)
    token = session.inspect(2).tokens[0]
    assert (token.raw_q, token.q, token.draft_rank) == (None, None, None)
    short = conversation(TARGET, ScriptedModel(DRAFT, capacity=20), max_tokens=5)
    ask(short)
    assert short.inspect(2).tokens[0].raw_q is None


def test_a_memory_that_goes_back_to_its_beginning_only_is_read_again() -> None:
    class Forgetful(ScriptedModel):
        """Goes back one token, as behind a checkpoint, or to nothing."""

        def keep(self, tokens: Sequence[int]) -> None:
            super().keep(tokens)
            if len(self.tokens) < len(tokens):
                self.clear()

    session = conversation(Forgetful(TARGET), max_tokens=12)
    expected = conversation(TARGET, max_tokens=12)
    for each in (session, expected):
        ask(each)
    model_of(session).goes_back_freely = False
    assert session.inspect(4) == expected.inspect(4)
    assert ask(session, "on") == ask(expected, "on")


@pytest.mark.parametrize(
    ("position", "asked", "complaint"),
    [
        (24, [], "no position 24 in an answer of 24 tokens: use 0 to 23"),
        (-1, [], "no position -1"),
        (0, [N_VOCAB], "no token 259: this vocabulary has 0 to 258"),
    ],
)
def test_what_does_not_fit_is_rejected_and_the_session_goes_on(position: int, asked: list[int], complaint: str) -> None:
    session = answered()
    with pytest.raises(SettingError, match=complaint):
        session.inspect(position, asked)
    assert ask(session)


def test_a_place_that_the_context_cannot_hold_is_rejected() -> None:
    session = conversation(ScriptedModel(TARGET, capacity=100))
    with pytest.raises(SettingError, match="the context holds 100: load with a larger -c"):
        session.inspect(150, messages=HELLO, tokens=[97] * 200)


def test_nothing_is_inspected_while_an_answer_is_being_given() -> None:
    session = answered()
    rounds = session.generate("more")
    next(rounds)
    with pytest.raises(EngineError, match="an answer is being given"):
        session.inspect(0)
    assert list(rounds)
    assert session.inspect(0).position == 0


def test_an_inspection_that_is_cancelled_while_it_reads_leaves_the_session_usable() -> None:
    session = answered(max_tokens=60)
    with pytest.raises(Cancelled):
        session.inspect(0, messages=[Message("user", "x" * 400)], tokens=b"abc", cancelled=lambda: True)
    ask(session, "and then?")
    assert model_of(session).tokens == read_by_a_fresh_session(session)


def test_nothing_was_answered_yet() -> None:
    with pytest.raises(SettingError, match="no position 0"):
        conversation(TARGET).inspect(0)


def test_an_end_token_is_inspected_like_any_other() -> None:
    session = conversation(letters(3, end=9.0), max_tokens=40)
    ask(session)
    assert session.answer_ids[-1] == END
    found = session.inspect(len(session.answer_ids) - 1)
    assert (found.said, found.of(END).text) == (END, "")


def test_an_inspection_comes_out_of_json_as_it_went_in() -> None:
    found = Inspection(
        1,
        5,
        (InspectedToken(5, "a", 0.5, 1, 1.0), InspectedToken(6, "b", 0.1, 2, 0.0, "min-p", 0.2, 1, 0.3)),
        SamplingParams(logit_bias=((3, -math.inf),)),
    )
    assert from_json(Inspection, to_json(found)) == found
    with pytest.raises(KeyError):
        found.of(7)
