"""What happened before leaves no trace: the next answer is that of a fresh session with the same transcript."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, SamplingParams, Session, Settings
from specchat_engine.models import SharedPass
from specchat_engine.policy.controller import Controller
from support.controllers import knowing
from support.conversations import ask, conversation, letters, model_of

KINDS = ["cancelled", "drafter failed", "stopped", "edited", "answered twice", "abandoned"]


class BrokenDrafter(Exception):
    """What a plug-in may raise."""


def begin(verifier: str, drafter: str, seed: int, stop: tuple[str, ...] = ()) -> Session:
    """A conversation whose draft is right about half of the time."""
    session = conversation(letters(seed, end=-9), letters(seed, order=1), seed=seed, drafter=drafter, k=5)
    sampling = SamplingParams(temperature=0.7, repeat_penalty=1.1)
    session.settings = Settings(
        k=5, drafter=drafter, verifier=verifier, sampling=sampling, max_tokens=40, stop=stop, ngram_min=1
    )
    return session


def disturb(session: Session, kind: str, rounds: int) -> None:
    """Lets something happen to the first answers."""
    ask(session, "tell me")
    if kind == "edited":
        session.messages = [Message("user", "tell me more"), Message("assistant", "abcabc")]
        return
    events = session.generate("and then")
    try:
        for index, _ in enumerate(events):
            if index == rounds and kind == "cancelled":
                session.cancel()
            if index == rounds and kind == "abandoned":
                events.close()
            if index == rounds and kind == "drafter failed":
                fail_once(session)
    except BrokenDrafter:
        pass
    if kind == "answered twice":
        list(session.answer(session.messages[:-1], 1, attempt=1))


def fail_once(session: Session) -> None:
    """Makes the next proposal raise."""
    drafter = session._planner.drafters[session.settings.drafter]
    propose: Callable[..., object] = drafter.propose

    def broken(context: object, k: int) -> object:
        del drafter.propose  # type: ignore[union-attr]
        propose(context, k)
        raise BrokenDrafter

    drafter.propose = broken  # type: ignore[method-assign, assignment]


@settings(max_examples=30)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["coupled", "rejection", "block", "typical"]),
    st.sampled_from(["model", "lookup"]),
    st.integers(0, 200),
    st.integers(0, 4),
)
def test_the_next_answer_is_a_fresh_sessions(kind: str, verifier: str, drafter: str, seed: int, rounds: int) -> None:
    session = begin(verifier, drafter, seed, stop=("a", "cb") if kind == "stopped" else ())
    disturb(session, kind, rounds)
    fresh = begin(verifier, drafter, seed)
    session.settings = fresh.settings
    fresh.messages = list(session.messages)
    assert ask(session, "go on") == ask(fresh, "go on")
    if verifier != "coupled":  # where the draft model may wait for the first token, if it has much to read
        assert session.stats.num_rounds == fresh.stats.num_rounds
        assert session.stats.num_accepted_tokens == fresh.stats.num_accepted_tokens


def test_a_stop_string_inside_a_drafted_run_is_met() -> None:
    met = 0
    for seed in range(12):
        session = begin("coupled", "model", seed, stop=("a", "b"))
        for event in session.generate("tell me"):
            met += session.end_reason == "stop" and event.num_accepted > 0 and event.token.id is None
    assert met > 0


def test_without_measuring_an_answer_makes_no_further_passes_and_knows_what_plain_ones_usually_take() -> None:
    passes = []
    for measures in (True, False):
        session = conversation(letters(3, end=-50), letters(3, end=-50, order=1), controller=knowing(0.05, 0.05))
        session.measures_plain = measures
        ask(session)
        assert session.stats.num_drafts
        passes.append(len(model_of(session).passes) - session.stats.num_rounds)
    assert passes[1] < passes[0]
    assert session.stats.plain_ms == session.pair.controller.target.at(1, len(session.prompt_ids))


def test_what_a_plain_pass_takes_is_not_guessed_from_wider_ones() -> None:
    controller = Controller()
    controller.target.observe(5, 0, 3.0)
    session = conversation(letters(3, end=-50), letters(3, end=-50, order=1), controller=controller)
    session.measures_plain = False
    ask(session)
    assert session.stats.num_drafts
    assert (session.stats.plain_ms, session.stats.speedup) == (None, None)


def test_an_answer_that_shared_its_passes_knows_no_plain_one() -> None:
    session = conversation(letters(3, end=-50), letters(3, end=-50, order=1), controller=knowing(0.05, 0.05))
    session.measures_plain = False
    session.pair.shared_pass = lambda: SharedPass(answers=1, usual_tokens=1, usual_emitted=1)
    ask(session)
    assert session.stats.plain_ms is None
