"""Whatever interrupts an answer, the conversation goes on as if it had ended there."""

from __future__ import annotations

import pytest

from specchat_engine import DecodeError, EngineError, Message, TemplateError
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.testing import ScriptedModel
from support.conversations import ask, conversation, letters, model_of, read_by_a_fresh_session, saying

COUSIN = letters(3, order=1)


@pytest.mark.parametrize("drafter", ["model", "lookup", "none"])
def test_a_cancel_between_rounds_keeps_what_was_said(drafter: str) -> None:
    law = letters(3, end=-50)
    session = conversation(law, COUSIN, drafter=drafter)
    rounds = session.generate("hello")
    first = [next(rounds), next(rounds)]
    session.cancel()
    assert list(rounds) == []
    assert (session.end_reason, session.text) == ("cancelled", "".join(event.text for event in first))
    assert session.messages[-1] == Message("assistant", session.text)
    ask(session, "go on")
    assert model_of(session).tokens == read_by_a_fresh_session(session)


@pytest.mark.parametrize("who", ["target", "draft"])
def test_a_cancel_inside_a_long_prompt_stops_at_once_and_is_not_read_again(who: str) -> None:
    session = conversation(saying("Yes."), saying("Yes."))
    model = model_of(session, who)
    read = model.advance

    def cancel_at_the_third_chunk(tokens: list[int], rows: int) -> object:
        if len(model.passes) == 2:
            session.cancel()
        return read(tokens, rows)

    model.advance = cancel_at_the_third_chunk  # type: ignore[method-assign, assignment]
    behind_the_first_token = "Y" if who == "draft" else ""
    assert ask(session, "x" * 500) == behind_the_first_token
    assert (session.end_reason, bool(session.messages)) == ("cancelled", bool(behind_the_first_token))
    assert len(model.passes) == 3
    session.messages = []
    assert ask(session, "x" * 500) == "Yes."
    assert model.passes.count(64) == 8


def test_a_reader_who_stops_early_leaves_the_session_usable() -> None:
    session = conversation(letters(3, end=-50), COUSIN)
    for event in session.generate("hello"):
        if event.index == 1:
            break
    assert session.end_reason == "cancelled"
    ask(session, "go on")
    assert model_of(session).tokens == read_by_a_fresh_session(session)


def test_a_reader_who_stops_at_the_last_round_sees_how_the_answer_ended() -> None:
    session = conversation(saying("Hi"))
    rounds = session.generate("hello")
    while next(rounds).text:
        pass
    rounds.close()  # type: ignore[attr-defined]
    assert (session.text, session.end_reason) == ("Hi", "end")


def test_a_cancel_inside_a_character_leaves_no_debris() -> None:
    session = conversation(saying("ä" * 5))
    rounds = session.generate("hello")
    seen = [next(rounds).text for _ in range(3)]
    session.cancel()
    assert list(rounds) == []
    assert session.text == "".join(seen) == "ä"


def test_a_failing_model_is_an_error_and_the_next_turn_works() -> None:
    session = conversation(saying("Yes, of course."), saying("Yes, of course."), k=2)
    target = model_of(session)
    read = target.advance

    def fail(tokens: list[int], rows: int) -> object:
        if len(target.passes) > 3:
            raise DecodeError("llama.cpp could not read 3 tokens")
        return read(tokens, rows)

    target.advance = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(DecodeError):
        ask(session)
    assert session.end_reason == "error"
    assert target.tokens == model_of(session, "draft").tokens == [], "who knows what a failed pass left behind"
    del target.advance
    assert ask(session) == "Yes, of course."


def test_a_template_that_refuses_leaves_the_session_usable() -> None:
    session = conversation(saying("Yes."))
    good = session.pair.template
    session.pair.template = ChatTemplate("{{ raise_exception('no') }}")
    with pytest.raises(TemplateError):
        ask(session)
    session.pair.template = good
    assert ask(session) == "Yes."


def test_two_answers_at_once_on_one_memory_are_an_error_and_never_a_wrong_text() -> None:
    target = ScriptedModel(letters(3, end=-50))
    first, second = conversation(target, seed=1), conversation(target, seed=2)
    alone = ask(second)
    one, two = first.generate("hello"), second.answer([Message("user", "hello")], 0)
    next(one)
    next(two)
    with pytest.raises(EngineError, match="finish or close one first"):
        next(one)
    assert first.end_reason == "error"
    list(two)
    assert second.text == alone


def test_an_answer_that_was_left_open_ends_when_the_next_one_begins_as_if_it_had_been_closed() -> None:
    session = conversation(saying("Yes, of course.", again="No."), saying("Yes, of course."), k=2)
    left = session.generate("first")
    said = next(left).text
    assert ask(session, "second") == "No."
    left.close()  # type: ignore[attr-defined]
    assert [message.content for message in session.messages] == ["first", said, "second", "No."]
    assert (session.end_reason, session.stats.num_tokens) == ("end", len("No.") + 1)
    assert list(left) == []
    assert model_of(session).tokens == read_by_a_fresh_session(session)


def test_a_transcript_can_be_answered_while_an_answer_is_left_open() -> None:
    session = conversation(saying("Yes."))
    left = session.answer([Message("user", "hello")], 0)
    next(left)
    assert "".join(event.text for event in session.answer([Message("user", "hello")], 0, attempt=1)) == "Yes."
    assert list(left) == []


def test_an_answer_cannot_begin_inside_a_round_of_another() -> None:
    session = conversation(saying("Yes."))
    session.hold = lambda: ask(session, "in between") and None
    with pytest.raises(EngineError, match="cancel the answer before the next one"):
        ask(session, "hello")
    session.hold = None
    assert ask(session, "hello") == "Yes."


def test_nothing_is_read_ahead_while_an_answer_is_open() -> None:
    session = conversation(saying("Yes."))
    rounds = session.generate("hello")
    text = next(rounds).text
    with pytest.raises(EngineError, match="read ahead when it has ended"):
        session.prepare([Message("user", "something else")], bool)
    assert text + "".join(event.text for event in rounds) == "Yes."
