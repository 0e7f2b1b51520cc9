"""Behind an answer it is found out what the draft model would have been accepted with, and nothing else changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, SamplingParams, Session
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.costs import FIRST, FURTHER
from specchat_engine.policy.rehearsal import _TOKENS
from specchat_engine.policy.situation import Decision
from specchat_engine.policy.stopping import EarlyStop
from specchat_engine.testing import ScriptedModel
from support.controllers import knowing, taught
from support.conversations import GREEDY, ask, conversation, letters, model_of, read_by_a_fresh_session, saying

PASSAGE = "the quick brown fox jumps over the lazy dog again"
FREE: dict[str, Any] = {"k": "auto", "drafter": "hybrid", "sampling": GREEDY}


class Listening(Controller):
    """Hears of imagined drafts, all of at most so many tokens where `k` is given."""

    def __init__(self, k: int | None = None) -> None:
        super().__init__()
        self.k = k
        self.heard: list[tuple[int, int, int]] = []

    def imagine(self, depth: int, longest: int):  # type: ignore[no-untyped-def]
        return super().imagine(depth, longest) if self.k is None else (self.k, None, math.inf)

    def rehearsed(self, goes: int, accepted: int, confidence: Sequence[float]) -> None:
        self.heard.append((goes, len(confidence), accepted))
        super().rehearsed(goes, accepted, confidence)


def plainly(session: Session) -> str:
    """An answer without any draft."""
    controller = session._planner._controller
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(controller, "decide", lambda _: Decision("none", 0, "not now"))
        return ask(session)


def answered(draft: str, controller: Controller, **given: Any) -> Session:
    """A session behind an answer without any draft, which would have been this text."""
    session = conversation(saying(PASSAGE), saying(draft), controller=controller, **{**FREE, **given})
    assert plainly(session) == PASSAGE
    return session


@pytest.mark.parametrize(("draft", "low", "high"), [(PASSAGE, 0.85, 1.0), ("#" * 60, 0.0, 0.15)], ids=["all", "none"])
def test_behind_an_answer_without_drafts_it_is_known_how_well_they_would_have_done(
    draft: str, low: float, high: float
) -> None:
    session = answered(draft, controller := knowing(5.0, 5.0))
    assert not controller._now.tested.tried(1)
    list(session.rehearsing())
    assert low < controller._now.tested.at(0) < high


@pytest.mark.parametrize("rehearses", [False, True])
def test_a_draft_model_that_was_given_up_is_taken_again_without_being_tried(rehearses: bool) -> None:
    controller = knowing(0.3, 0.1)
    controller.begin("prose")
    controller._try.budget = -5.0
    for _ in range(40):
        controller.rehearsed(1, 0, [0.5])
    session = answered(PASSAGE, controller, drafter="model")
    if rehearses:
        with pytest.MonkeyPatch.context() as patched:  # scripted passes take no time
            patched.setattr(controller.target, "observe", lambda *_: None)
            patched.setattr(controller.draft, "observe", lambda *_: None)
            assert len(list(session.rehearsing())) > len(PASSAGE) / 2
    ask(session, "again")
    assert (session.stats.num_drafts > 3) is rehearses


@pytest.mark.parametrize("rehearses", [False, True])
def test_what_a_try_would_tell_is_known_behind_a_rehearsal(rehearses: bool) -> None:
    session = answered("#" * 60, controller := knowing(0.2, 0.05), drafter="model")
    for _ in range(40):
        controller.rehearsed(1, 0, [0.5])
    controller._try.rehearsed = False
    if rehearses:
        list(session.rehearsing())
    ask(session, "again")
    assert (session.stats.num_drafts > 0) is not rehearses


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(0, 5), st.sampled_from([0.0, 1.0]), st.integers(1, 60))
def test_imagined_drafts_are_those_that_the_model_would_have_made(
    k: int, seed: int, temperature: float, most: int
) -> None:
    """Of k tokens each, and accepted as far as those of an answer that was really drafted for."""
    sampling = SamplingParams(temperature=temperature, top_k=0, top_p=1.0, min_p=0.0)
    laws = letters(seed, end=-50), letters(seed, end=-50, order=1)
    real = conversation(*laws, k=k, drafter="model", max_tokens=most, sampling=sampling)
    rounds = list(real.generate("hello"))
    controller = Listening(k)
    plain = conversation(*laws, controller=controller, **{**FREE, "sampling": sampling}, max_tokens=most)
    assert plainly(plain) == real.text
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("specchat_engine.policy.rehearsal._APART", 1)
        list(plain.rehearsing())
    made = [event.num_accepted for event in rounds if event.drafted]
    imagined = [accepted for _, _, accepted in controller.heard]
    assert len(imagined) - len(made) in (0, 1), "the last round drafts nothing where one token is left"
    assert imagined[: len(made) - 1] == made[:-1]
    assert all(0 <= goes - drafted <= 0 for goes, drafted, _ in controller.heard), "no draft ended by itself"


def test_a_draft_ends_where_a_real_one_would() -> None:
    """Early, by the confidence, so that what is expected of drafts stays what comes of them."""

    class Doubtful(Listening):
        def imagine(self, depth: int, longest: int):  # type: ignore[no-untyped-def]
            return 4, EarlyStop([0.5] * 4, [0.6] * 20), 1.0

    controller = Doubtful()
    list(answered(PASSAGE, controller).rehearsing())
    assert set(controller.heard[:-1]) == {(3, 2, 2)}, "of four, and it did not go on to the third"


def test_the_conversation_goes_on_as_if_nothing_had_been_rehearsed() -> None:
    session = answered(PASSAGE, knowing(5.0, 5.0))
    target, draft = model_of(session), model_of(session, "_draft")
    before = [*target.tokens]
    list(session.rehearsing())
    assert target.tokens == before
    assert draft.tokens == before[: len(draft.tokens)]
    assert len(draft.tokens) >= len(before) - 1, "it has read the answer"
    ask(session, "again")
    assert target.tokens == read_by_a_fresh_session(session)


@pytest.mark.parametrize(
    "given",
    [{"k": 4}, {"drafter": "lookup"}, {"k": 0}, {"verifier": "rejection"}, {"verifier": "typical"}],
    ids=["a fixed k", "lookup", "no drafts", "drafts with noise of their own", "a text that depends on drafts"],
)
def test_nothing_is_rehearsed_for_what_will_not_be_done(given: dict[str, Any]) -> None:
    session = conversation(saying(PASSAGE), saying("#" * 60), controller=knowing(5.0, 5.0), **{**FREE, **given})
    ask(session)
    assert not list(session.rehearsing())


def test_nothing_is_rehearsed_behind_an_answer_that_was_drafted_for() -> None:
    session = conversation(saying(PASSAGE), saying(PASSAGE), controller=knowing(0.05, 0.05), **FREE)
    ask(session)
    assert session.stats.num_accepted_tokens > 32
    assert not list(session.rehearsing())


def test_before_any_answer_there_is_nothing_to_rehearse() -> None:
    assert not list(conversation(saying(PASSAGE), saying(PASSAGE), **FREE).rehearsing())


def test_another_answer_ends_it() -> None:
    session = answered(PASSAGE, knowing(5.0, 5.0))
    steps = session.rehearsing()
    next(steps)
    for _ in session.generate("again"):
        read = model_of(session, "_draft").length
        assert not list(steps)
        assert model_of(session, "_draft").length == read
    assert session.text == PASSAGE


def test_what_is_being_written_ends_it() -> None:
    """The draft model reads ahead then, and what it remembers is no longer what it went through."""
    session = answered(PASSAGE, knowing(5.0, 5.0))
    steps = session.rehearsing()
    for _ in range(5):
        next(steps)
    session.prepare([*session.messages, Message("user", "what is being writ")], lambda: False)
    read = model_of(session, "_draft").tokens.copy()
    assert not list(steps)
    assert model_of(session, "_draft").tokens == read


def test_passes_with_other_threads_are_not_taken_for_those_of_the_answer() -> None:
    session = answered(PASSAGE, knowing(5.0, 5.0))
    model_of(session).threads = 2
    assert not list(session.rehearsing())


def test_a_long_answer_is_gone_through_at_its_beginning() -> None:
    text = "abcdefgh " * 30
    session = conversation(saying(text), saying(text), controller=Listening(3), **FREE, max_tokens=250)
    plainly(session)
    draft = model_of(session, "_draft")
    list(session.rehearsing())
    assert 0 <= len(session.prompt_ids) + _TOKENS - draft.length < 4
    assert draft.tokens == model_of(session).tokens[: draft.length]


def test_all_of_an_answer_counts_alike_although_estimates_follow_what_comes_last() -> None:
    """Here the model is right in the second half alone."""
    controller = knowing(5.0, 5.0)
    text = "abcdefgh " * 14
    session = conversation(saying(text), saying("#" * 63 + text[63:]), controller=controller, **FREE, max_tokens=126)
    plainly(session)
    list(session.rehearsing())
    assert 0.35 < controller._now.tested.at(0) < 0.75


class Slow(ScriptedModel):
    """Each pass takes so long."""

    milliseconds = 60

    def advance(self, tokens, rows):  # type: ignore[no-untyped-def]
        self.busy_ns += self.milliseconds * 1_000_000
        return super().advance(tokens, rows)


def test_a_slow_draft_model_is_left_alone_after_a_while() -> None:
    draft, controller = Slow(saying(PASSAGE)), Listening(4)
    session = conversation(saying(PASSAGE), draft, controller=controller, **FREE)
    plainly(session)
    draft.passes.clear()
    list(session.rehearsing())
    assert 1 < len(draft.passes) <= 6
    taught(controller, 0.1, 300.0)
    draft.clear()
    draft.passes.clear()
    list(session.rehearsing())
    assert not draft.passes, "reading alone would take too long"


def test_the_target_makes_the_passes_that_plain_rounds_do_not() -> None:
    """The widths that were seen least come first, and behind them the draft model's first pass is one."""
    session = answered(PASSAGE, controller := knowing(0.05, 0.05))
    seen: list[tuple[str, int]] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(controller.target, "observe", lambda width, *_: seen.append(("target", width)))
        patched.setattr(controller.draft, "observe", lambda width, *_: seen.append(("draft", width)))
        list(session.rehearsing())
    assert seen[:4] == [("target", width) for width in (4, 16, 2, 8)]
    assert seen[4] == ("draft", FIRST)
    assert set(seen[5:]) == {("draft", FURTHER)}


def test_passes_of_the_target_that_take_too_long_are_left_out() -> None:
    session = answered(PASSAGE, controller := knowing(0.05, 0.05))
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(controller.target, "observe", lambda width, *_: seen.append(width))
        patched.setattr(controller.target, "at", lambda width, _: 30.0 * width)
        patched.setattr("specchat_engine.policy.rehearsal.pass_ms", lambda _, width, __: 30.0 * width)
        list(session.rehearsing())
    assert seen == [4, 2], "of 120 and 60 ms"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(controller.target, "observe", lambda width, *_: seen.append(width))
        patched.setattr(controller.target, "at", lambda *_: 100.0)
        patched.setattr("specchat_engine.policy.rehearsal.pass_ms", lambda *_: 100.0)
        list(session.rehearsing())
    assert len(seen) == 2 + 2, "two of 100 ms, of which four would fit one by one"
