"""Log-probabilities are those of the raw logits, for every emitted token and for prompts of any length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import Cancelled, LogProbs, Message, Prompt, SamplingParams, Session
from specchat_engine.decoding.logprobs import ScoredToken, scored
from specchat_engine.errors import EngineError
from specchat_engine.testing import END, ScriptedModel
from support.controllers import knowing
from support.conversations import N_VOCAB, conversation, letters, model_of, saying

LAW = letters(3, end=-50)


def expected(context: list[int], token: int, likeliest: int, law: object = LAW) -> ScoredToken:
    """By the definition, in double precision, over the whole vocabulary."""
    logits = law(tuple(context)).astype(np.float64)  # type: ignore[operator]
    log_p = logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())
    best = sorted(range(len(log_p)), key=lambda one: (-logits[one], one))[:likeliest]
    return ScoredToken(token, float(log_p[token]), tuple((one, float(log_p[one])) for one in best))


def assert_same(found: ScoredToken, wanted: ScoredToken) -> None:
    assert found.id == wanted.id
    assert found.logprob == pytest.approx(wanted.logprob, abs=1e-5)
    assert [one for one, _ in found.likeliest] == [one for one, _ in wanted.likeliest]
    assert [p for _, p in found.likeliest] == pytest.approx([p for _, p in wanted.likeliest], abs=1e-5)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.integers(0, 20), st.data())
def test_a_row_is_scored_by_the_definition_and_the_lowest_id_wins_a_tie(
    row: list[int], likeliest: int, data: st.DataObject
) -> None:
    token = data.draw(st.sampled_from(range(len(row))))
    logits = np.array(row, np.float32)
    assert_same(scored(logits, token, likeliest), expected([], token, likeliest, lambda _: logits))


def test_a_token_without_any_chance_has_minus_infinity() -> None:
    found = scored(np.array([0, -np.inf, -2000], np.float32), 1, 2)
    assert (found.logprob, found.likeliest) == (-math.inf, ((0, 0.0), (2, -2000.0)))


@pytest.mark.parametrize(
    ("drafter", "k", "tree"),
    [("none", 0, 0), ("model", 4, 0), ("model", 4, 6), ("lookup", 5, 0), ("hybrid", "auto", 0)],
)
def test_every_emitted_token_is_scored_whatever_drafts(drafter: str, k: int | str, tree: int) -> None:
    sampling = SamplingParams(temperature=0.9, top_k=3, repeat_penalty=1.3, logit_bias=((98, 2.0),))
    session = conversation(
        LAW,
        letters(3, end=-50, order=1),
        drafter=drafter,
        k=k,
        tree=tree,
        sampling=sampling,
        ngram_min=1,
        controller=knowing(0.05, 0.05),
    )
    session.watch = logprobs = LogProbs(4)
    found = [one for event in session.answer([Message("user", "hi")], 0) for one in logprobs.of(event)]
    assert [one.id for one in found] == session.answer_ids
    assert len(found) == 60
    for place, one in enumerate(found):
        before = [*session.prompt_ids, *session.answer_ids[:place]]
        assert_same(one, expected(before, session.answer_ids[place], 4))


def test_an_end_inside_a_round_cuts_what_is_scored() -> None:
    law = saying("ab ab ab ab.")
    session = conversation(law, law, k=8, stop=("b a",))
    session.watch = logprobs = LogProbs()
    counts = [len(logprobs.of(event)) for event in session.generate("x")]
    assert sum(counts) == len(session.answer_ids) < 8


@pytest.mark.parametrize("length", [1, 2, 6, 7, 8, 13, 40])
def test_a_prompt_is_scored_in_passes_of_as_many_rows_as_there_may_be(length: int) -> None:
    session = conversation(ScriptedModel(LAW, max_rows=6))
    ids = [97 + place * place % 8 for place in range(length)]
    session.score(Prompt(raw=[*ids[:3], 98, 99]))
    model = model_of(session)
    model.passes.clear()
    found = session.score(Prompt(raw=ids), 3)
    assert found[0] == ScoredToken(ids[0], None)
    for place in range(1, length):
        assert_same(found[place], expected(ids[:place], ids[place], 3))
    assert model.tokens == ids[:-1]
    assert model.passes == [6] * ((length - 1) // 6) + [(length - 1) % 6] * ((length - 1) % 6 > 0)


def test_an_answer_goes_on_from_a_scored_prompt() -> None:
    session = conversation(LAW)
    asked = [Message("user", "hello there")]
    found = session.score(asked)
    assert bytes(one.id for one in found if one.id < 256).decode() == "user\nhello there\nassistant\n"
    model_of(session).passes.clear()
    rounds = session.answer(asked, 0)
    next(rounds)
    assert model_of(session).passes == [1]
    assert session.stats.cached_tokens == len(found) - 1
    with pytest.raises(EngineError, match="score a prompt when it has ended"):
        session.score(asked)


def test_a_score_can_be_cancelled() -> None:
    session: Session = conversation(ScriptedModel(LAW, max_rows=4))
    asked = iter([False, False, True])
    with pytest.raises(Cancelled):
        session.score(Prompt(raw=[97] * 30), cancelled=lambda: next(asked))
    assert model_of(session).length == 8
    assert [one.id for one in session.score(Prompt(raw=[97] * 3))] == [97] * 3


def test_control_tokens_are_scored_like_others() -> None:
    session = conversation(LAW)
    assert session.score(Prompt(raw=[97, END]), N_VOCAB)[1].logprob == pytest.approx(
        expected([97], END, 0).logprob, abs=1e-5
    )
