from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from specchat.remote.chunks import Token
from specchat.remote.round_maker import drafted_round, placed, plain_rounds, sound
from specchat.traces import checks
from specchat_engine.decoding.rounds import DraftedToken, Outcome, TargetToken, TokenKind
from specchat_engine.decoding.trace_lines import round_line
from support.drawn_rounds import made_round
from support.sample_traces import traces

TOKENS = [Token(1, " a"), Token(2, " b"), Token(3, " c")]


def test_a_rejected_token_is_one_and_the_rest_is_discarded() -> None:
    event = drafted_round(TOKENS, 5, 2, ms=3.0, t_ms=9.0)
    outcomes = [*[Outcome.ACCEPTED] * 2, Outcome.REJECTED, *[Outcome.DISCARDED] * 2]
    assert [token.outcome for token in event.drafted] == outcomes
    assert [token.is_unknown for token in event.drafted] == [False, False, True, True, True]
    assert event.token == TargetToken(3, " c", None, TokenKind.CORRECTION)
    assert event.text == " a b c"
    assert (event.k, event.ms.total, event.t_ms) == (5, 3.0, 9.0)


def test_a_full_accept_ends_with_a_bonus_and_an_answer_may_end_on_an_accepted_token_or_before_all_of_them() -> None:
    assert drafted_round(TOKENS, 2, 2, ms=0.0, t_ms=0.0).token.kind is TokenKind.BONUS
    event = drafted_round(TOKENS, 4, 3, ms=0.0, t_ms=0.0)
    assert event.token == TargetToken(None, "", None, TokenKind.NONE)
    cut = drafted_round(TOKENS[:1], 4, 3, ms=0.0, t_ms=0.0)
    assert (cut.num_accepted, cut.text) == (3, " a")


def test_plain_tokens_are_rounds_of_their_own_and_take_the_time_once() -> None:
    rounds = [*plain_rounds(TOKENS, ms=6.0, t_ms=9.0)]
    assert [event.token.kind for event in rounds] == [TokenKind.PLAIN] * 3
    assert [event.ms.total for event in rounds] == [6.0, 0.0, 0.0]


def test_rounds_are_counted_and_time_does_not_go_back() -> None:
    rounds = placed([*plain_rounds(TOKENS[:1], ms=0.0, t_ms=5.0), *plain_rounds(TOKENS[:1], ms=0.0, t_ms=4.0)], 7)
    assert [(event.index, event.t_ms) for event in rounds] == [(7, 5.0), (8, 5.0)]


ODD = st.sampled_from([-1.0, 2.0, 1e300, float("nan"), float("inf")])


@given(traces(), ODD, st.integers(-3, 9))
def test_a_sound_round_is_one_that_a_trace_can_hold(trace: object, odd: float, parent: int) -> None:
    for event in getattr(trace, "rounds"):  # noqa: B009
        drafted = tuple(replace(token, q=odd) for token in event.drafted)
        ms, parents = replace(event.ms, other=odd), (parent,) * len(drafted)
        hostile = replace(event, drafted=drafted, ms=ms, k=-1, expected=odd, parents=parents)
        for one in (event, hostile):
            if (found := sound(one)) is not None:
                assert checks.round_of(round_line(found)) == found


def test_tokens_that_contradict_each_other_are_no_round() -> None:
    good = made_round(3, 1)
    assert sound(good) == good
    late = replace(good, drafted=(*good.drafted, DraftedToken(1, "x", None, None, Outcome.ACCEPTED)))
    assert sound(late) is None
    assert sound(replace(good, token=TargetToken(None, "x", None, TokenKind.NONE))) is None
    assert sound(replace(good, token=TargetToken(-4, "x", None, TokenKind.PLAIN))) is None
    assert sound(replace(good, parents=(-1,))) is None
