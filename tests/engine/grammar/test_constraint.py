"""An answer stays in its grammar, whoever drafts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, SamplingParams, Session, SettingError
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.sampling.sampler import constraint_of
from specchat_engine.testing import ByteTokenizer, Choices
from support.conversations import ask, conversation, letters, model_of

LAW = letters(3, end=-2)
WORDS = "abba\nabacab\nbad beef\ncafe\ncafe babe"
CHOSEN = SamplingParams(grammar=WORDS)


@pytest.fixture
def constraint() -> Constraint:
    """A constraint behind a prompt of two tokens."""
    made = constraint_of(CHOSEN, ByteTokenizer())
    assert made is not None
    made.begin(2)
    return made


def allowed(constraint: Constraint, context: bytes, drafted: bytes = b"") -> set[str]:
    state = constraint.after([*context], [*drafted])
    assert state is not None
    every = np.arange(ByteTokenizer.size)
    return {chr(token) if token < 256 else "end" for token in every[state.allows(every)].tolist()}


def test_the_prompt_is_not_part_of_the_text_that_the_grammar_describes(constraint: Constraint) -> None:
    assert allowed(constraint, b"zz") == {"a", "b", "c"}
    assert allowed(constraint, b"zza") == {"b"}


def test_each_position_of_a_draft_has_its_own_place(constraint: Constraint) -> None:
    assert [allowed(constraint, b"zza", b"bac"[:length]) for length in range(4)] == [{"b"}, {"a", "b"}, {"c"}, {"a"}]
    assert allowed(constraint, b"zza", b"bb") == {"a"}
    assert allowed(constraint, b"zza") == {"b"}


def test_an_answer_may_end_where_it_is_complete_and_only_there(constraint: Constraint) -> None:
    assert allowed(constraint, b"zzcaf") == {"e"}
    assert allowed(constraint, b"zzcafe") == {" ", "end"}
    assert allowed(constraint, b"zzcafe babe") == {"end"}


def test_after_an_excluded_token_there_is_no_place_and_no_harm(constraint: Constraint) -> None:
    assert constraint.after(b"zza", b"x") is None
    assert constraint.after(b"zza", b"xbc") is None
    assert allowed(constraint, b"zza", b"b") == {"a", "b"}


def test_an_answer_that_left_its_grammar_is_an_error_that_names_what_was_said(constraint: Constraint) -> None:
    with pytest.raises(DecodeError, match=r"\(97, 120\)"):
        constraint.after(b"zzax", b"")


def test_no_token_is_read_twice(constraint: Constraint, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    after = Choices.after

    def reading(self: Choices, token: int) -> Choices | None:
        read.append(token)
        return after(self, token)

    monkeypatch.setattr(Choices, "after", reading)
    for _ in range(3):
        for length in range(4):
            constraint.after(b"zza", b"bac"[:length])
    assert bytes(read) == b"abac"
    constraint.after(b"zzaba", b"")
    assert bytes(read) == b"abac"


def test_the_tokens_that_have_to_follow_are_known(constraint: Constraint) -> None:
    assert bytes(constraint.forced(b"zzc", 9)) == b"afe"
    assert bytes(constraint.forced(b"zzc", 2)) == b"af"
    assert constraint.forced(b"zzcafe", 9) == ()
    assert bytes(constraint.forced(b"zzcafe ", 9)) == b"babe"


@pytest.mark.parametrize("temperature", [0.0, 0.8, 3.0])
@pytest.mark.parametrize("drafter", ["model", "lookup"])
@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block", "typical"])
def test_every_answer_is_one_that_the_grammar_allows(temperature: float, drafter: str, verifier: str) -> None:
    params = replace(CHOSEN, temperature=temperature, min_p=0.0)
    answers = set()
    for seed in range(8):
        session = conversation(
            LAW, letters(3, order=1), seed=seed, sampling=params, drafter=drafter, verifier=verifier, ngram_min=1
        )
        answers |= {ask(session, "cafe abba bad"), ask(session, "again abacab")}
        assert session.end_reason == "end"
    assert answers <= set(WORDS.split("\n"))
    assert len(answers) > 1 or temperature == 0


@settings(max_examples=40)
@given(st.integers(0, 999), st.sampled_from(["model", "lookup"]), st.integers(1, 12), st.sampled_from([0.0, 0.8]))
def test_the_text_does_not_depend_on_the_drafter(seed: int, drafter: str, k: int, temperature: float) -> None:
    params = replace(CHOSEN, temperature=temperature)
    plain = conversation(letters(seed), seed=seed, sampling=params)
    fast = conversation(
        letters(seed), letters(seed, order=1), seed=seed, sampling=params, drafter=drafter, k=k, ngram_min=1
    )
    for prompt in ("cafe abba bad", "again abacab"):
        assert ask(fast, prompt) == ask(plain, prompt)


def test_a_draft_model_under_the_same_grammar_is_accepted_if_there_is_no_choice() -> None:
    session = conversation(LAW, letters(9), sampling=SamplingParams(grammar="abacab"), k=8)
    ask(session)
    assert (session.text, session.stats.num_rounds) == ("abacab", 1)
    assert session.stats.acceptance_rate == 1


def test_a_lookup_draft_outside_the_grammar_is_rejected_and_the_answer_goes_on() -> None:
    session = conversation(LAW, sampling=SamplingParams(grammar="abacab"), drafter="lookup", ngram_min=1, k=8)
    ask(session, "abaXYZ abaXYZ")
    assert session.text == "abacab"
    assert session.stats.num_draft_tokens > session.stats.num_accepted_tokens


def test_another_grammar_waits_for_the_next_turn() -> None:
    session = conversation(LAW, sampling=SamplingParams(grammar="abacab"))
    for _ in session.generate("hello"):
        session.settings = replace(session.settings, sampling=SamplingParams(grammar="cafe", temperature=0))
    assert session.text == "abacab"
    assert ask(session, "again") == "cafe"
    for _ in session.generate("and now?"):
        session.settings = replace(session.settings, sampling=SamplingParams())
    assert session.text == "cafe"


def test_a_grammar_that_is_given_in_mid_answer_does_not_bind_it() -> None:
    session = conversation(letters(3, end=-50))
    for _ in session.generate("hello"):
        session.settings = replace(session.settings, sampling=CHOSEN)
    assert session.end_reason == "length"
    assert ask(session, "again") in WORDS.split("\n")


def test_a_cancelled_answer_ends_its_grammar_and_the_next_one_begins_afresh() -> None:
    session = conversation(LAW, sampling=SamplingParams(grammar="abacab"))
    rounds = session.generate("hello")
    next(rounds)
    session.cancel()
    list(rounds)
    assert session.end_reason == "cancelled"
    abandoned = session.generate("hello again")
    next(abandoned)
    abandoned.close()
    assert ask(session, "once more") == "abacab"


def failing(session: Session, **changes: object) -> str:
    session.settings = replace(session.settings, sampling=SamplingParams(**changes))  # type: ignore[arg-type]
    with pytest.raises((SettingError, DecodeError)) as caught:
        ask(session)
    assert len(str(caught.value).splitlines()) == 1
    assert session.end_reason == "error"
    return str(caught.value)


def test_what_cannot_be_said_is_one_line_and_the_session_lives_on() -> None:
    session = conversation(LAW, LAW)
    banned = ((ord("a"), -np.inf), (ord("b"), -np.inf))
    assert "the grammar is empty" in failing(session, grammar=" ")
    assert "logit_bias names token 259: this vocabulary has 0 to 258" in failing(session, logit_bias=((259, 1.0),))
    message = failing(session, grammar="abba\nbad", logit_bias=banned)
    assert message == "logit_bias bans all that the grammar allows here (tokens 97, 98): lift a ban"
    everything = tuple((token, -np.inf) for token in range(259))
    assert "bans all that the model can say here (tokens 0, 1, 2, 3, 4 and more)" in failing(
        session, logit_bias=everything
    )
    session.settings = replace(session.settings, sampling=SamplingParams(grammar="abba\nbad", logit_bias=banned[:1]))
    session.settings = replace(session.settings, sampling=CHOSEN)
    assert ask(session) in WORDS.split("\n")
    fresh = conversation(LAW, LAW, sampling=CHOSEN)
    fresh.messages = list(session.messages[:-2])
    ask(fresh)
    assert fresh.text == session.text
    assert model_of(fresh).tokens == model_of(session).tokens


def test_a_bias_that_is_given_in_mid_answer_is_checked_too() -> None:
    session = conversation(letters(3, end=-50))
    rounds = session.generate("hello")
    next(rounds)
    session.settings = replace(session.settings, sampling=SamplingParams(logit_bias=((10**6, 1.0),)))
    with pytest.raises(SettingError, match="token 1000000"):
        next(rounds)


def test_a_bias_is_added_and_a_ban_holds_from_the_next_round_on() -> None:
    session = conversation(letters(3, end=-50), sampling=SamplingParams(logit_bias=((ord("h"), 50.0),)))
    for event in session.generate("hello"):
        if event.index == 9:
            ban = SamplingParams(logit_bias=((ord("h"), -np.inf),))
            session.settings = replace(session.settings, sampling=ban)
    assert session.text[:10] == "h" * 10
    assert "h" not in session.text[10:]


def test_the_trace_names_the_grammar_and_the_biases_in_plain_json() -> None:
    session = conversation(LAW, sampling=SamplingParams(grammar="cafe", logit_bias=((7, -np.inf), (3, 0.5))))
    params = session.start_line()["params"]
    assert (params["grammar"], params["logit_bias"]) == ("cafe", [[3, 0.5], [7, "-inf"]])
