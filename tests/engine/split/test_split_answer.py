"""Split speculation: only token ids travel, and the text is the one that the target gives alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, ModelDrafter, SamplingParams
from specchat_engine.decoding.drafts import Context
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.split import Draws, SplitRound, split_answer
from specchat_engine.testing import Law, ScriptedModel
from support.conversations import ask, conversation, letters

LENGTH, MOST = 40, 12
LAW = letters(seed=1, end=-30.0)
NEAR = letters(seed=2, end=-30.0)
ASKED = (Message("user", "hello"),)


def near(tokens: tuple[int, ...]) -> object:
    return LAW(tokens) + 0.5 * NEAR(tokens)


class Target:
    """The side of the target: a session that verifies what it is asked about."""

    def __init__(self, sampling: SamplingParams) -> None:
        model = ScriptedModel(LAW, max_rows=MOST + 1)
        self.session = conversation(model, sampling=sampling, max_tokens=LENGTH)
        self.session.drafts_for = self._next
        self._rounds = self.session.answer(ASKED, 0)
        self._question: Sequence[int] = ()

    def draws(self, position: int, drafted: Sequence[int]) -> Draws:
        self._question = drafted
        assert position == (len(self.session.answer_ids) if self.session.prompt_ids else 0)
        next(self._rounds)
        reason = self.session.end_reason
        return Draws(tuple(self.session.answer_ids[position:]), None if reason == "error" else reason)

    def _next(self, position: int) -> Sequence[int]:
        assert position == len(self.session.answer_ids)
        return self._question


def alone(sampling: SamplingParams) -> tuple[list[int], Context]:
    """The answer of the target alone, and a context that begins as its answer does."""
    session = conversation(LAW, sampling=sampling, max_tokens=LENGTH)
    ask(session)
    prompt = session.prompt_ids
    return session.answer_ids, Context([*prompt], len(prompt), Sampler(sampling, session.turn_seed))


def split(
    law: Law, sampling: SamplingParams, k: int, *, pipelined: bool, draws_for: Callable[..., Draws] | None = None
) -> tuple[list[int], list[SplitRound]]:
    _, context = alone(sampling)
    drafter = ModelDrafter(ScriptedModel(law))
    ask_target = draws_for or Target(sampling).draws
    rounds = list(split_answer(drafter, context, ask_target, k=k, most=MOST, pipelined=pipelined))
    return context.tokens[context.prompt_length :], rounds


@settings(max_examples=60)
@given(
    st.sampled_from([0.0, 0.5, 1.2]), st.integers(0, 12), st.booleans(), st.sampled_from(["twin", "near", "stranger"])
)
def test_the_text_is_that_of_the_target_alone(temperature: float, k: int, pipelined: bool, draft: str) -> None:
    law = {"twin": LAW, "near": near, "stranger": letters(seed=8)}[draft]
    sampling = SamplingParams(temperature=temperature, repeat_penalty=1.2)
    assert split(law, sampling, k, pipelined=pipelined)[0] == alone(sampling)[0]  # type: ignore[arg-type]


def test_a_draft_model_like_the_target_saves_questions() -> None:
    _, rounds = split(LAW, SamplingParams(temperature=0.8), 4, pipelined=False)
    assert len(rounds) == LENGTH / 5
    assert all(one.accepted == 4 for one in rounds)


def test_it_drafts_on_while_an_answer_travels() -> None:
    sampling = SamplingParams(temperature=0.8)
    target, drafted = Target(sampling), threading.Event()
    drafter = ModelDrafter(ScriptedModel(LAW))
    propose = drafter.propose

    def noticing(context: Context, k: int) -> object:
        found = propose(context, k)
        if context.position - 4 == 5:  # four tokens of the question, and five ahead
            drafted.set()
        return found

    drafter.propose = noticing  # type: ignore[method-assign,assignment]

    def slow(position: int, tokens: Sequence[int]) -> Draws:
        if position == 0:
            assert drafted.wait(10), "it stopped drafting although no answer was there"
        return target.draws(position, tokens)

    rounds = list(split_answer(drafter, alone(sampling)[1], slow, k=4, most=MOST))
    assert len(rounds[0].drafted) == 4
    assert rounds[0].ahead >= 6
    assert rounds[0].useful == rounds[0].ahead - 1, "the token after the accepted ones was drafted too"
    assert len(rounds[1].drafted) == 4, "the others wait for the next question"


def test_what_was_drafted_on_a_wrong_hope_is_dropped() -> None:
    _, rounds = split(letters(seed=8), SamplingParams(temperature=0.0), 3, pipelined=True)
    assert all(one.useful == 0 for one in rounds if one.accepted < len(one.drafted))


def test_a_failure_of_the_target_ends_the_answer() -> None:
    def fails(position: int, tokens: Sequence[int]) -> Draws:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        split(LAW, SamplingParams(), 4, pipelined=True, draws_for=fails)


def test_a_question_longer_than_a_pass_is_verified_as_far_as_it_fits() -> None:
    target, (text, _) = Target(SamplingParams(temperature=0.8)), alone(SamplingParams(temperature=0.8))
    draws = target.draws(0, text[:30])
    assert draws == Draws(tuple(text[: MOST + 1]), None)


def test_no_other_drafter_adds_to_what_was_given() -> None:
    target = Target(SamplingParams(temperature=0.8))
    position = 0
    while (draws := target.draws(position, ())).end is None:
        position += len(draws.tokens)
    assert target.session.stats.num_draft_tokens == 0
    assert position == LENGTH - 1
