"""Split speculation: only token ids travel, and the text is the one that the target gives alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import ModelDrafter, SamplingParams, SettingError
from specchat_engine.decoding.drafts import Context
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.split import Draws, SplitRound, VerifiedText, split_answer
from specchat_engine.testing import Law, ScriptedModel, random_law

N_VOCAB, LENGTH, MOST = 24, 40, 12
PROMPT = [3, 1, 4, 1, 5]
LAW = random_law(N_VOCAB, seed=1)
NEAR = random_law(N_VOCAB, seed=2, spread=0.7)


def near(tokens: tuple[int, ...]) -> object:
    return LAW(tokens) + NEAR(tokens)


def context_of(sampling: SamplingParams) -> Context:
    return Context(PROMPT.copy(), len(PROMPT), Sampler(sampling, seed=9))


def verified(sampling: SamplingParams) -> VerifiedText:
    target = ScriptedModel(LAW, max_rows=MOST + 1)
    target.advance(PROMPT[:-1], 0)
    left = [LENGTH]

    def limit(tokens: Sequence[int]) -> tuple[int, str | None]:
        kept = min(len(tokens), left[0])
        left[0] -= kept
        return kept, None if left[0] else "length"

    return VerifiedText(target, context_of(sampling), limit, max_rows=MOST + 1, n_vocab=N_VOCAB)


def alone(sampling: SamplingParams) -> list[int]:
    text, tokens, end = verified(sampling), [], None
    while end is None:
        draws = text.draws(len(tokens), ())
        tokens += draws.tokens
        end = draws.end
    return tokens


def split(
    law: Law, sampling: SamplingParams, k: int, *, pipelined: bool, draws_for: Callable[..., Draws] | None = None
) -> tuple[list[int], list[SplitRound]]:
    context = context_of(sampling)
    drafter = ModelDrafter(ScriptedModel(law))
    ask = draws_for or verified(sampling).draws
    rounds = list(split_answer(drafter, context, ask, k=k, most=MOST, pipelined=pipelined))
    return context.tokens[len(PROMPT) :], rounds


@settings(max_examples=60)
@given(
    st.sampled_from([0.0, 0.5, 1.2]), st.integers(0, 12), st.booleans(), st.sampled_from(["twin", "near", "stranger"])
)
def test_the_text_is_that_of_the_target_alone(temperature: float, k: int, pipelined: bool, draft: str) -> None:
    law = {"twin": LAW, "near": near, "stranger": random_law(N_VOCAB, seed=8)}[draft]
    sampling = SamplingParams(temperature=temperature, repeat_penalty=1.2)
    assert split(law, sampling, k, pipelined=pipelined)[0] == alone(sampling)  # type: ignore[arg-type]


def test_a_draft_model_like_the_target_saves_questions() -> None:
    _, rounds = split(LAW, SamplingParams(temperature=0.8), 4, pipelined=False)
    assert len(rounds) == LENGTH / 5
    assert all(one.accepted == 4 for one in rounds)


def test_it_drafts_on_while_an_answer_travels() -> None:
    sampling = SamplingParams(temperature=0.8)
    text, drafted = verified(sampling), threading.Event()
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
        return text.draws(position, tokens)

    rounds = list(split_answer(drafter, context_of(sampling), slow, k=4, most=MOST))
    assert len(rounds[0].drafted) == 4
    assert rounds[0].ahead >= 6
    assert rounds[0].useful == rounds[0].ahead - 1, "the token after the accepted ones was drafted too"
    assert rounds[1].drafted[: rounds[0].useful]
    assert len(rounds[1].drafted) >= rounds[0].useful


def test_what_was_drafted_on_a_wrong_hope_is_dropped() -> None:
    _, rounds = split(random_law(N_VOCAB, seed=8), SamplingParams(temperature=0.0), 3, pipelined=True)
    assert all(one.useful == 0 for one in rounds if one.accepted < len(one.drafted))


def test_a_failure_of_the_target_ends_the_answer() -> None:
    def fails(position: int, tokens: Sequence[int]) -> Draws:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        split(LAW, SamplingParams(), 4, pipelined=True, draws_for=fails)


@pytest.mark.parametrize(
    ("position", "tokens", "message"),
    [
        (3, (1,), "position is 3: the answer has 0 tokens"),
        (0, range(MOST + 1), "13 tokens were drafted: at most 12"),
        (0, (N_VOCAB,), "not in the vocabulary, which has 0 to 23"),
        (0, (-1,), "not in the vocabulary"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(position: int, tokens: Sequence[int], message: str) -> None:
    text = verified(SamplingParams())
    with pytest.raises(SettingError, match=message):
        text.draws(position, tokens)
    assert text.draws(0, ()).tokens, "the next question is answered"


def test_an_answer_that_has_ended_cannot_be_continued() -> None:
    text = verified(SamplingParams())
    position = 0
    while (draws := text.draws(position, ())).end is None:
        position += len(draws.tokens)
    with pytest.raises(SettingError, match="has ended"):
        text.draws(LENGTH, ())
