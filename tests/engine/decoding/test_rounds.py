"""A round survives the trip through a trace file unchanged."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import DraftedToken, Outcome, Round, TargetToken, TokenKind
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Candidate, RoundTimes
from specchat_engine.decoding.trace_lines import round_line

shares = st.one_of(st.none(), st.floats(0, 1))
times = st.floats(0, 1e6)
drafted_tokens = st.builds(DraftedToken, st.integers(0, 10**6), st.text(), shares, shares, st.sampled_from(Outcome))
rounds = st.builds(
    Round,
    index=st.integers(0, 1000),
    source=st.sampled_from(["model", "lookup", "none"]),
    k=st.integers(0, 32),
    reason=st.text(),
    drafted=st.lists(drafted_tokens, max_size=5).map(tuple),
    token=st.builds(
        TargetToken, st.one_of(st.none(), st.integers(0, 9)), st.text(), shares, st.sampled_from(TokenKind)
    ),
    top=st.lists(st.builds(Candidate, st.integers(0, 9), st.text(), st.floats(0, 1)), max_size=5).map(tuple),
    ms=st.builds(RoundTimes, times, times, times, times),
    t_ms=times,
)


@given(rounds)
def test_a_round_comes_back_from_its_trace_line(event: Round) -> None:
    assert from_json(Round, json.loads(json.dumps(round_line(event)))) == event


@given(rounds)
def test_a_line_from_before_roll_backs_were_timed_has_none(event: Round) -> None:
    line = round_line(event)
    del line["ms"]["rollback"]
    assert from_json(Round, line).ms == RoundTimes(event.ms.draft, event.ms.verify, event.ms.other)


@given(rounds)
def test_the_text_is_what_was_accepted_and_the_targets_own(event: Round) -> None:
    accepted = [token.text for token in event.drafted if token.outcome is Outcome.ACCEPTED]
    assert event.text == "".join(accepted) + event.token.text
    assert event.num_accepted == len(accepted)
    assert event.num_emitted == len(accepted) + (event.token.kind is not TokenKind.NONE)
    assert [token.text for token in event.emitted[: len(accepted)]] == accepted
    assert [*event.emitted[len(accepted) :]] == [event.token] * (event.num_emitted - len(accepted))


@pytest.mark.parametrize("line", [{}, {"index": 0}, {"drafted": None}])
def test_anything_else_is_an_ordinary_error(line: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_json(Round, line)
